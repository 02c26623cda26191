"""Integrals of functions, by their slopes and by their ends."""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from zyg.functions.kit import (
    as_array,
    at_once,
    composed,
    is_watched,
    own_verbs,
    raised,
    remembered,
    strip,
    warn,
    watched_leaves,
)
from zyg.scipy._closures import as_tuple, joined, parted, plain, refuse
from zyg.scipy._estimates import as_estimates
from zyg.scipy._jumps import Partition
from zyg.scipy._namespace import dispatching
from zyg.scipy._quadrature_at_places import rule_on_cube
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import by_names, unknown, valued
from zyg.verbs.checkpoints import one_entry
from zyg.verbs.gradients import pullback
from zyg.verbs.held import Held
from zyg.verbs.pushforward import pushforward

_QUAD, _INSTEAD = "scipy.integrate.quad", "compute with the integral"
_MOST_PARTS = 32  # of an interval
_FEW = 4  # parts, by whose sums it is faster
_MANY, _MOST_SLOPES = 42, 2_000_000  # places of a batch, and numbers of all
_TINY = np.finfo(float).tiny
_TOLERANCES = {"epsabs": 1e-200, "epsrel": 1e-8}


def _on_finite(a, b, nodes):
    """An interval from node to node, a place in int_a^b for each of its places, and how densely
    they lie."""
    if math.isfinite(a) and math.isfinite(b):
        inner, ends, placed = nodes, (a, b), lambda u: (u, np.ones_like(u))
    elif math.isfinite(a) or math.isfinite(b):
        end, sign = (a, 1.0) if math.isfinite(a) else (b, -1.0)
        inner, ends = 1 / (1 + sign * (nodes - end)), (0.0, 1.0)
        placed = lambda u: (end + sign * (1 - u) / u, 1 / u**2)  # noqa: E731
    else:
        inner, ends = 2 * nodes / (1 + np.sqrt(1 + 4 * nodes**2)), (-1.0, 1.0)
        placed = lambda u: (u / (1 - u**2), (1 + u**2) / (1 - u**2) ** 2)  # noqa: E731
    inside = sorted(x for x in inner.tolist() if ends[0] < x < ends[1])
    return np.array([ends[0], *inside, ends[1]]), placed


@remembered(1)
def _kronrod():
    """The places from -1 to 1 of QUADPACK's rule, its weights, and those of the rule within it."""
    places, weights = rule_on_cube("gk21", 1)
    within = np.zeros(len(weights))
    within[1::2] = np.polynomial.legendre.leggauss(10)[1]
    return places[:, 0], np.stack([weights, within])


def _length(x):
    return np.sqrt(np.vecdot(x, x))


def _at_once(slopes, a, b, way):
    """int_a^b of the slopes, of many places at once; None where that is not exact enough.

    Each part of the interval that is not is halved. As the error falls geometrically, that of
    Kronrod's rule is that of Gauss's to the power 3/2 (as in QUADPACK).
    """
    if not (way.options.get("points") is None and a < b):
        return None
    epsabs, epsrel = (way.options.get(k, v) for k, v in _TOLERANCES.items())
    edges, placed = _on_finite(a, b, np.asarray(way.nodes, float))
    parts, total, missed, count = np.stack([edges[:-1], edges[1:]], axis=1), 0.0, 0.0, 0
    places, weights = _kronrod()
    while (count := count + len(parts)) <= _MOST_PARTS + 2 * len(edges):
        half = (parts[:, 1:] - parts[:, :1]) / 2
        at, density = placed(parts[:, :1] + half * (1 + places))
        both = slopes(at, half[:, :, None] * density[:, None, :] * weights)
        size, change = _length(both[:, 0]), _length(both[:, 0] - both[:, 1])
        scale = _length(total + both[:, 0].sum(axis=0))
        share = (parts[:, 1] - parts[:, 0]) / (edges[-1] - edges[0])
        allowed = max(epsabs, epsrel * scale) * share
        error = np.minimum(
            change, (200 * change) ** 1.5 / np.sqrt(np.maximum(size, change) + _TINY)
        )
        near = error <= allowed
        total, missed = total + both[near, 0].sum(axis=0), missed + error[near].sum()
        if near.all():
            return total if missed <= max(epsabs, epsrel * _length(total)) else None
        low_ends, high_ends = parts[~near].T
        middle = (low_ends + high_ends) / 2
        halves = [(low_ends, middle), (middle, high_ends)]
        parts = np.concatenate([np.stack(pair, axis=1) for pair in halves])
    return None


def _slopes(held, make, values, y_bar):
    """Of what is held, at values, times `y_bar`, by the values: a function of a place, or of the
    places of parts with rows of weights for each, whose sums it gives.
    """
    number = np.shape(y_bar) == ()

    def by_loop(t, rows):
        found = []
        for places, weights in zip(t.tolist(), rows, strict=True):

            def at_each(*values, places=places):
                f = make(values)
                return np.stack([f(x) for x in places])

            back = pullback(at_each, *values)[1]
            bars = (np.multiply.outer(row, y_bar) for row in weights)
            found.append(np.stack([joined(back(bar, zeros=True)) for bar in bars]))
        return np.stack(found)

    def by_arrays(t, rows):
        places = np.ravel(t)
        if not _takes_arrays(make(values), places):
            return None
        back = pullback(lambda *values: make(values)(places.copy()), *values)[1]
        bars = [joined(back(row * y_bar, zeros=True)) for row in _apart(rows)]
        return np.reshape(np.stack(bars), (*rows.shape[:2], -1))

    def at_each_place(t, rows):
        """By the slopes at each place, from machine code or in a batch."""
        if any(map(is_watched, (*values, y_bar))):
            return None
        found = _by_code(held, values, t) if held.holds_code else _by_batch(make, values, t)
        return None if found is None else y_bar * (rows @ np.reshape(found, (*t.shape, -1)))

    def slopes(t, rows=None):
        if rows is None:
            back = pullback(lambda *values: make(values)(t), *values)[1]
            return joined(back(y_bar, zeros=True))
        ways = [at_each_place] if held.holds_code else [by_arrays, at_each_place]
        for way in ways if len(t) <= _FEW else ways[::-1]:
            if number and (found := way(t, rows)) is not None:
                return found
        return by_loop(t, rows)

    return slopes


def _takes_arrays(f, t):
    """Whether a call with many places gives what a call for each gives."""
    try:
        y = strip(f(t.copy()))
    except Exception:  # what is wrong with one place is said there
        return False
    return _is_of_each(f, t, y)


def _is_of_each(f, t, y):
    """Whether these are the values of f at each place."""
    if np.shape(y) != np.shape(t):
        return False
    each = np.array([strip(f(x)) for x in t.tolist()], float)
    return bool(np.all(np.abs(y - each) <= 1e-12 * np.abs(each)))


def _apart(rows):
    """The weights of each part, for the places of all: a row for each of its rules."""
    count, rules, places = rows.shape
    full = np.zeros((count, rules, count, places))
    full[np.arange(count), :, np.arange(count)] = rows
    return full.reshape(count * rules, count * places)


def _by_code(held, values, t):
    """The slopes at each place by machine code; None where it is not all that there is."""
    (f, args), (_, own) = held.parts_with(values), held.root
    places = [k for k, x in enumerate(own) if is_watched(x)]
    by_places = own_verbs.get(type(f), {}).get("by places")
    if by_places is None or [id(own[k]) for k in places] != [*map(id, held.leaves)]:
        return None
    wanted, found = tuple(1 + k for k in places), []
    for x in np.ravel(t).tolist():
        both = by_places(f, "value_and_gradient", wanted, (x, *args))
        if both is NotImplemented:
            return None
        found.append(joined(both[1][k] for k in wanted))
    return np.stack(found)


def _by_batch(make, values, t):
    """The slopes at each place from one run for all that go the same way; None where few are."""
    count = np.size(t)
    if count < _MANY or count * sum(map(np.size, values)) > _MOST_SLOPES:
        return None
    mapped = at_once(lambda x, *values: make(values)(x))
    copies = [np.repeat(np.expand_dims(v, 0), count, axis=0) for v in values]
    try:
        y, back = pullback(lambda *copies: mapped(np.ravel(t), *copies), *copies)
    except Exception:  # as of arrays
        return None
    if not _is_of_each(make(values), np.ravel(t), y):
        return None
    return np.concatenate(
        [np.reshape(c, (count, -1)) for c in back(np.ones(count), zeros=True)], axis=1
    )


class _Gradient:
    """The gradient of a number by leaves, from a pullback: one integral for all directions."""

    def __init__(self, pull):
        self.pull = pull
        self.known: Any = None, None

    def along(self, y, leaves, tangents):
        if self.known[0] is not leaves:
            self.known = leaves, self.pull(y, leaves, 1.0)
        pairs = zip(self.known[1], tangents, strict=True)
        return sum(np.sum((c() if callable(c) else c) * x) for c, x in pairs if x is not None)


class _Way(NamedTuple):
    """How an integral is found: SciPy's options; nodes around which the function may change fast;
    and at which of its ends it jumps, so that there it is that of the inside."""

    options: Any
    nodes: Any = ()
    jumps: Any = (False, False)

    def places(self, a, b):
        """The ends, or the places inside of the integral that are next to them."""
        if not any(self.jumps):
            return a, b
        low, high = strip(a), strip(b)
        step = 16 * np.spacing(max(abs(x) for x in (low, high) if np.isfinite(x)))
        step = step * np.sign(high - low)
        return a + step * self.jumps[0], b - step * self.jumps[1]

    def by_scipy(self, f, a, b, like):
        """The integral, as SciPy finds it."""
        names = ("epsabs", "epsrel", "limit", "points")
        known = {k: v for k, v in self.options.items() if k in names}
        if np.size(self.nodes) and known.get("points") is None and np.isfinite(b - a):
            known["points"] = self.nodes
        found = scipy.integrate.quad if np.shape(like) == () else scipy.integrate.quad_vec
        return found(f, a, b, **known)[0]


def _integral(held, a, b, way, like, value=None, of_slopes=False):
    """int_a^b of what is held, a number or arrays of the shape of `like`; `value` if known."""

    def run(a, b, *values):
        if value is not None:
            return value
        f = held.again()(values)
        y = _at_once(f, a, b, way) if of_slopes else None
        return way.by_scipy(f, a, b, like) if y is None else y

    def pull(y, leaves, y_bar):
        a, b, *values = leaves
        make, places = held.again(), way.places(a, b)

        def at(place):
            return np.sum(y_bar * make(values)(place))

        bars = []
        if values:
            slopes = _slopes(held, make, values, y_bar)
            plain = not any(map(is_watched, (a, b, y_bar, *values)))
            found = _at_once(slopes, a, b, way) if plain else None
            if found is None:
                found = _integral(Held(slopes), a, b, way, joined(values), of_slopes=not plain)
            bars = parted(found, values)
        return lambda: -at(places[0]), lambda: at(places[1]), *bars

    gradient = _Gradient(pull)

    def push(y, leaves, tangents):
        if np.shape(like) == ():
            y_dot = gradient.along(y, leaves, tangents)
            if np.isfinite(strip(y_dot)):
                return y_dot
        a, b, *values = leaves
        a_dot, b_dot, *values_dot = tangents
        make, places = held.again(), way.places(a, b)
        parts = [make(values)(places[1]) * b_dot] if b_dot is not None else []
        if a_dot is not None:
            parts.append(-make(values)(places[0]) * a_dot)
        if any(v is not None for v in values_dot):

            def slope(t):
                return pushforward(lambda *values: make(values)(t), values, values_dot)[1]

            parts.append(_integral(Held(slope), a, b, way, y))
        return sum(parts[1:], parts[0])

    return one_entry("integral", run, pull, (a, b, *held.leaves), push)


@composed(scipy.integrate.quad)
def quad(func, a, b, args=(), full_output=0, **options):
    for option in ("weight", "complex_func"):
        if options.get(option):
            refuse(_QUAD, option, "its rule covers only the plain integral.")
    held, points = Held(func, as_tuple(args)), options.get("points")
    ends, rest = (strip(a), strip(b)), plain(options) if options else {}
    watched = held.leaves or is_watched(a) or is_watched(b) or watched_leaves(points)
    result = held.run(
        _QUAD,
        lambda f, args: scipy.integrate.quad(f, *ends, args, full_output or bool(watched), **rest),
        (a, b),
        moving=slice(int(is_watched(a) or is_watched(b))),
    )
    if not watched:
        return result
    if not full_output and len(result) > 3:
        warn(result[3], scipy.integrate.IntegrationWarning)
    moving = _within(points, *ends)
    lists = (result[2][k][: result[2]["last"]] for k in ("alist", "blist", "rlist", "elist"))
    partition = Partition(ends, *lists)
    if held.leaves:
        partition.demand_still(_QUAD, held, [strip(p) for p in moving])
    said = as_estimates(result[1 : None if full_output else 2], _QUAD, _INSTEAD)
    rest = {k: v for k, v in rest.items() if not (moving and k == "points")}
    y = _in_pieces(held, (a, *moving, b), rest, 0.0, result[0], partition.nodes())
    return y, *said


def _within(points, a, b):
    """The watched ones of some points that are between a and b, from a on."""
    moves = points is not None and watched_leaves(points)
    each = [p for p in points if is_watched(p)] if moves else []
    inside = [p for p in each if min(a, b) < strip(p) < max(a, b)]
    return sorted(inside, key=lambda p: abs(strip(p) - a))


def _in_pieces(held, ends, options, like, value, nodes):
    """The integral, of known value, of a function that may jump at each of the inner `ends`."""
    last = len(ends) - 2
    total: Any = 0.0
    for k, (a, b) in enumerate(pairwise(ends)):
        known = value if k == 0 else 0.0 * value
        part = _integral(held, a, b, _Way(options, nodes, (k > 0, k < last)), like, known)
        total = part if k == 0 else total + part
    return total


_quad = dispatching(scipy.integrate.quad)


def _at(end, *x):
    return end(*x) if callable(end) else end


@composed(scipy.integrate.dblquad)
def dblquad(func, a, b, gfun, hfun, args=(), epsabs=1.49e-8, epsrel=1.49e-8):
    """An integral of integrals, the inner one as exact as the outer."""
    exact = {"epsabs": epsabs, "epsrel": epsrel}

    def inner(x, *args):
        return _quad(func, _at(gfun, x), _at(hfun, x), (x, *args), **exact)[0]

    return _quad(inner, a, b, as_tuple(args), **exact)


@composed(scipy.integrate.tplquad)
def tplquad(func, a, b, gfun, hfun, qfun, rfun, args=(), epsabs=1.49e-8, epsrel=1.49e-8):
    exact = {"epsabs": epsabs, "epsrel": epsrel}

    def inner(y, x, *args):
        return _quad(func, _at(qfun, x, y), _at(rfun, x, y), (y, x, *args), **exact)[0]

    return dblquad(inner, a, b, gfun, hfun, args, **exact)


@composed(scipy.integrate.nquad)
def nquad(func, ranges, args=None, opts=None, full_output=False):
    """Integrals of integrals, the last variable outermost, whose error is returned."""
    if full_output:
        refuse("scipy.integrate.nquad", "full_output", "its rule covers only the integral.")
    if opts is None or isinstance(opts, dict):
        opts = [opts or {}] * len(ranges)

    def integral(depth, *outer):
        (low, high), given = _at(ranges[depth], *outer), dict(_at(opts[depth], *outer))
        places = given.pop("points", None)
        given = plain(given)
        if places is not None:
            given["points"] = [p for p in places if strip(low) <= strip(p) <= strip(high)]
        inner = func if depth == 0 else lambda *x: integral(depth - 1, *x)[0]
        return _quad(inner, low, high, outer, **given)

    return integral(len(ranges) - 1, *(() if args is None else args))


@by_names(scipy.integrate.quad_vec)
def quad_vec(f, a, b, full_output, args=(), **options):
    name = "scipy.integrate.quad_vec"
    if full_output:
        refuse(name, "full_output", "its rule covers only the integral.")
    held, points = Held(f, as_tuple(args)), options["points"]
    ends, rest = plain(((a, b), options))
    y, error, info = held.run(
        name,
        lambda f, args: scipy.integrate.quad_vec(
            f, *ends, **rest, full_output=True, **({"args": args} if args else {})
        ),
        (a, b),
        moving=slice(int(is_watched(a) or is_watched(b))),
    )
    if np.iscomplexobj(y):
        refuse(name, "complex values", "its rule covers only real ones.")
    moving = _within(points, *ends)
    low, high = np.transpose(info.intervals)
    partition = Partition(ends, low, high, info.integrals, info.errors)
    if held.leaves:
        partition.demand_still(name, held, [strip(p) for p in moving])
    known = {k: rest[k] for k in ("epsabs", "epsrel", "limit", "points")}
    known["points"] = None if moving else rest["points"]
    integral = _in_pieces(held, (a, *moving, b), known, y, y, partition.nodes())
    return integral, as_estimates(error, name, _INSTEAD)


@composed(scipy.integrate.fixed_quad)
def fixed_quad(func, a, b, args=(), n=5):
    if np.isinf(strip(a)) or np.isinf(strip(b)):
        raised(scipy.integrate.fixed_quad, np.cos, a, b)
    places, weights = scipy.special.roots_legendre(strip(n))
    y = (b - a) * (places + 1) / 2.0 + a
    return (b - a) / 2.0 * np.sum(weights * func(y, *as_tuple(args)), axis=-1), None


@valued(scipy.integrate.newton_cotes)
def newton_cotes(rn, equal=0):
    """The weights by which all powers are summed exactly, and the factor of the error."""
    if equal:
        return None, None
    if np.all(np.diff(strip(rn)) == 1):
        why = "places at equal distances, where its error is another"
        raise unknown(scipy.integrate.newton_cotes, why, "pass zyg.stop_gradient(rn)")
    n = len(rn) - 1
    y, k = as_array(rn) / n, np.arange(n + 1)
    powers = np.transpose(np.vander(2 * y - 1, increasing=True))
    weights = np.linalg.solve(powers, np.where(k % 2 == 0, 2.0 / (k + 1), 0.0)) * (n / 2)
    left = n / (n + 2.0) - np.sum(y ** (n + 1) * weights)
    size = np.exp((n + 1) * np.log(n) - scipy.special.gammaln(n + 2))
    return weights, left * size
