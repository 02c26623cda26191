"""Integrals and sums of functions that take many places at once: of all places by one tape.

H. Takahasi, M. Mori, "Double exponential formulas for numerical integration" (1974).
"""

import functools

import numpy as np

from zyg.errors import ConvergenceError, unknown_call
from zyg.functions.kit import as_array, is_watched, remembered, strip, with_value
from zyg.scipy._closures import as_tuple, plain, refuse
from zyg.scipy._estimates import Estimate, as_estimates
from zyg.scipy._jumps import demand_still_in_boxes
from zyg.scipy._namespace import dispatching
from zyg.scipy._theirs import scipy
from zyg.scipy._valued import by_names
from zyg.verbs.checkpoints import one_entry
from zyg.verbs.gradients import pullback
from zyg.verbs.held import Held
from zyg.verbs.pushforward import pushforward

_NEAR = 1e-6  # how near SciPy's value is to that of the places here, of its size
_TINY = 1e-14
_SMOOTH = 1e-9  # by how much of its size an integral may change with twice as many places
_ROUGH = 1e-4  # by how much of its size an integral of slopes may change in smaller regions
_INSTEAD = "compute with the integral, or the sum"
_DIFFERENT = "at these values its places do not give what SciPy does"


def _check(name, y, found):
    """Refuse where the places do not give what SciPy has found."""
    near = max(_NEAR, 100 * np.finfo(found.dtype).eps) * np.max(np.abs(found), initial=0.0)
    if not np.all(np.abs(strip(y) - found) <= near + _TINY):
        raise unknown_call(name, _DIFFERENT, "")


# Integrals over boxes

_AT_ONCE = 100_000  # places on one tape


@remembered(64)
def rule_on_cube(name, count):
    """The places and the weights of a rule on the cube from -1 to 1."""
    seen = []

    def unit(x):
        seen.append(x)
        return np.eye(len(x), 2 * len(seen[0]))  # there is a check, with fewer places besides

    axes = count if name == "genz-malik" else 1
    ends = -np.ones(axes), np.ones(axes)
    weights = scipy.integrate.cubature(unit, *ends, rule=name, atol=np.inf).estimate
    weights = weights[: len(seen[0])]
    if axes == count:
        return seen[0], weights
    places = np.stack(np.meshgrid(*[seen[0][:, 0]] * count, indexing="ij"), axis=-1)
    products = functools.reduce(np.multiply.outer, [weights] * count)
    return np.reshape(places, (-1, count)), np.ravel(products)


def _on_box(a, b, t):
    """The places that SciPy makes of those in the box without infinite ends, and the density."""
    both, half = np.isinf(a) & np.isinf(b), np.isinf(a) ^ np.isinf(b)
    start = np.where(np.isinf(a), -b, a)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(both, (1 - np.abs(t)) / t, np.where(half, start + (1 - t) / t, t))
        density = np.prod(np.where(both | half, 1 / t**2, 1.0), axis=-1)
    return far, density


class _Boxes:
    """The places of all regions of an integral, with their weights."""

    def __init__(self, starts, halves, rule, a, b):
        places, weights = rule_on_cube(rule, len(a))
        low, high = np.minimum(a, b), np.maximum(a, b)
        many = max(1, _AT_ONCE // len(weights))
        self._given = starts, halves, rule, a, b
        self._sign = (-1.0) ** np.sum(a > b)
        self._parts = []
        for first in range(0, len(starts), many):
            start, half = (v[first : first + many] for v in (starts, halves))
            t = (start + half)[:, None] + half[:, None] * places
            x, density = _on_box(low, high, np.reshape(t, (-1, len(a))))
            self._parts.append((x, density * np.ravel(np.prod(half, axis=-1)[:, None] * weights)))

    def finer(self):
        """The same, each region halved along each axis, of many along two."""
        starts, halves, *rest = self._given
        count = np.shape(starts)[1]
        for step in range(min(count, 2)):
            axis = (np.arange(len(starts)) + step) % count
            along = np.eye(count)[axis]
            halves = halves * (1 - along / 2)
            starts = np.concatenate([starts, starts + 2 * halves * along])
            halves = np.concatenate([halves, halves])
        return _Boxes(starts, halves, *rest)

    def sums(self):
        """For each part, the function that gives the sum of f over its places."""
        return [functools.partial(self._sum, x, w) for x, w in self._parts]

    def _sum(self, x, w, f):
        y = f(x.copy())
        return self._sign * np.tensordot(w, y, 1)


@by_names(scipy.integrate.cubature)
def cubature(f, a, b, rule, args, **options):
    """By the regions that SciPy has found; by an end, the integral over that side of the box."""
    name = "scipy.integrate.cubature"
    if not isinstance(rule, str):
        refuse(name, "a rule of one's own", "its rule knows only those with a name.")
    ends, rest = plain(((a, b), options))
    held = Held(f, as_tuple(args))
    found = held.run(
        name,
        lambda f, args: scipy.integrate.cubature(f, *ends, rule=rule, args=args, **rest),
        (a, b),
        moving=slice(int(is_watched(a) or is_watched(b))),
    )
    kind = "gk21" if rule == "gauss-kronrod" else rule
    given = np.broadcast_arrays(*(np.asarray(end, float) for end in ends))
    starts, ends = (np.stack([getattr(r, end) for r in found.regions]) for end in "ab")
    boxes = _Boxes(starts, (ends - starts) / 2, kind, *given)
    f, values = plain(f), plain(as_tuple(args))
    _check(name, sum(add(lambda x: f(x, *values)) for add in boxes.sums()), found.estimate)
    if held.leaves:
        errors = np.array([np.max(r.error, initial=0.0) for r in found.regions])
        at = functools.partial(_on_box, np.minimum(*given), np.maximum(*given))
        demand_still_in_boxes(name, held, starts, ends, errors, lambda t: at(t)[0])
    a, b = (np.broadcast_to(as_array(end), given[0].shape) for end in (a, b))
    options = {"rule": rule, **rest}
    for region in found.regions:
        as_estimates(vars(region), name, _INSTEAD)
    found.error = Estimate(found.error, name, _INSTEAD)
    found.estimate = _Integral(held, boxes, found.estimate, options).entry(a, b)
    return found


def _check_slopes(found, finer):
    """Refuse the integrals of slopes that are other ones in smaller regions."""
    for x, y in zip(found, finer, strict=True):
        if not np.all(np.abs(x - y) <= _ROUGH * np.max(np.abs(y), initial=0.0) + _TINY):
            raise ConvergenceError(
                "the derivative of scipy.integrate.cubature was not found.",
                "the slopes by parameters are rougher than the values, by which it chose regions.",
                "pass a smaller rtol=, or points= where the slopes are rough.",
            )


class _Integral:
    """The `value` of what is held over a box, with its derivatives."""

    def __init__(self, held, boxes, value, options):
        self._held, self._boxes, self._value, self._options = held, boxes, value, options

    def entry(self, a, b):
        return one_entry(
            "cubature", lambda *_: self._value, self._pull, (a, b, *self._held.leaves), self._push
        )

    def _side(self, f, a, b, k, end):
        """The integral over one side, where the place along an axis is the end."""
        if np.isinf(strip(end[k])):
            return np.zeros(np.shape(self._value))
        others = [j for j in range(len(a)) if j != k]

        def on_side(x):
            columns = [x[:, j] for j in range(len(others))]
            columns.insert(k, end[k] * np.ones(len(x)))
            return f(np.stack(columns, axis=1))

        if not others:
            return on_side(np.zeros((1, 0)))[0]
        points = [np.asarray(p)[others] for p in self._options["points"] or ()]
        options = {**self._options, "points": points or None}
        return _cubature(on_side, a[others], b[others], **options).estimate

    def _sums(self, a, b):
        """The sums by which parameters have their derivatives, once."""
        if any(map(is_watched, (a, b))):
            option = "ends that move, twice, beside parameters that do,"
            why = "its rule holds the places still in which it integrates the slopes by parameters."
            refuse("scipy.integrate.cubature", option, why)
        return self._boxes.sums()

    def _slopes(self, sums, make, values, y_bar):
        totals = [np.zeros(np.shape(v)) for v in values]
        for add in sums:
            _, back = pullback(lambda *values, add=add: add(make(values)), *values)
            totals = [x + c for x, c in zip(totals, back(y_bar, zeros=True), strict=True)]
        return totals

    def _pull(self, y, leaves, y_bar):
        a, b, *values = leaves
        make = self._held.again()
        totals = self._slopes(self._sums(a, b), make, values, y_bar) if values else []
        if values and not any(map(is_watched, (a, b, y_bar, *values))):
            _check_slopes(totals, self._slopes(self._boxes.finer().sums(), make, values, y_bar))

        def bar(end, sign):
            sides = (self._side(make(values), a, b, k, end) for k in range(len(a)))
            return np.stack([sign * np.sum(side * y_bar) for side in sides])

        return lambda: bar(a, -1.0), lambda: bar(b, 1.0), *totals

    def _push(self, y, leaves, tangents):
        a, b, *values = leaves
        a_dot, b_dot, *values_dot = tangents
        make, total = self._held.again(), np.zeros(np.shape(y))
        for end, end_dot, sign in ((a, a_dot, -1.0), (b, b_dot, 1.0)):
            for k in range(len(a)) if end_dot is not None else ():
                total = total + sign * end_dot[k] * self._side(make(values), a, b, k, end)
        if any(v is not None for v in values_dot):

            def moved(sums):
                parts = [functools.partial(lambda add, *v: add(make(v)), add) for add in sums]
                return sum(pushforward(part, values, values_dot)[1] for part in parts)

            by_values = moved(self._sums(a, b))
            if not any(map(is_watched, (*leaves, *tangents))):
                _check_slopes([by_values], [moved(self._boxes.finer().sums())])
            total = total + by_values
        return total


_cubature = dispatching(scipy.integrate.cubature)

# Integrals of numbers, by places that come doubly exponentially near to the ends

_FARTHEST = 5.0
_LATE = 0.3  # of a step
_LEVEL = 5  # at least, for slopes may be less smooth than values


def _shares(level, late=0.0):
    """Shares of an interval, those that are left, and weights; with all places a part of a step
    late.
    """
    t = np.arange(-_FARTHEST, _FARTHEST + 1e-9, 0.5 ** (level + 1)) + late * 0.5 ** (level + 1)
    s, r = (1 / (1 + np.exp(sign * np.pi * np.sinh(t))) for sign in (-1.0, 1.0))
    return s, r, 0.5 ** (level + 1) * np.pi * np.cosh(t) * s * r


def _between(a, b, s, r):
    """The place in each interval for each share, and how densely the places lie."""
    far_a, far_b = np.isinf(strip(a)), np.isinf(strip(b))
    a, b = np.where(far_a, 0.0, a), np.where(far_b, 0.0, b)
    with np.errstate(over="ignore", divide="ignore"):
        inside = np.where(s < r, a + (b - a) * s, b - (b - a) * r)
        whole, ahead, back = (s - r) / (4 * s * r), s / r, r / s
        densities = 2 * (1 + (s - r) ** 2) / (4 * s * r) ** 2, 1 / r**2, 1 / s**2
    x = np.where(far_b, a + ahead, np.where(far_a, b - back, inside))
    density = np.where(far_b, densities[1], np.where(far_a, densities[2], b - a))
    both = far_a & far_b
    return np.where(both, whole, x), np.where(both, densities[0], density)


def _summed(f, a, b, args, level, late=0.0):
    """int_a^b of f(x, *args) for each of many intervals, columns of numbers."""
    s, r, w = _shares(level, late)
    with np.errstate(all="ignore"):
        x, density = _between(strip(a), strip(b), s, r)
        y = plain(f)(x, *map(strip, args)) * density * w
        known = np.isfinite(y) & np.isfinite(density) & (x > strip(a)) & (x < strip(b))
    s, r, w = (np.where(known, v, u) for v, u in ((s, 0.5), (r, 0.5), (w, 0.0)))
    x, density = _between(a, b, s, r)
    return np.sum(f(x, *args) * density * w, axis=-1)


def _settled(f, a, b, args, level):
    """The same, at a level at which half as many places give it, too: slopes are rougher.

    These lie otherwise, so that a jump in the middle does not look the same.
    """
    plainly = functools.partial(_summed, plain(f), strip(a), strip(b), [*map(strip, args)])
    for fine in range(level, level + 3):
        x, y = plainly(fine - 1, _LATE), plainly(fine)
        if np.all(np.abs(y - x) <= _SMOOTH * np.max(np.abs(y), initial=0.0) + _TINY):
            return _summed(f, a, b, args, fine)
    raise ConvergenceError(
        "the derivative of scipy.integrate.tanhsinh was not found.",
        "its value converges slowly, and the slopes by parameters do so more slowly.",
        "split the interval where the function has kinks or jumps.",
    )


def _columns(numbers):
    """Numbers that are broadcast, as columns, and their shape."""
    numbers = [as_array(v) for v in numbers]
    shape = np.broadcast_shapes(*map(np.shape, numbers))
    return [np.reshape(np.broadcast_to(v, shape), (-1, 1)) for v in numbers], shape


@by_names(scipy.integrate.tanhsinh)
def tanhsinh(f, a, b, args, log, preserve_shape, **options):
    name = "scipy.integrate.tanhsinh"
    for option, value in (("log", log), ("preserve_shape", preserve_shape)):
        if value:
            refuse(name, option, "its rule covers only integrals of numbers themselves.")
    found, f, (a, b, *args), shape = _run(scipy.integrate.tanhsinh, f, (a, b), args, plain(options))
    sign = np.where(strip(b) < strip(a), -1.0, 1.0)
    low, high = np.where(sign > 0, a, b), np.where(sign > 0, b, a)
    y = sign[:, 0] * _settled(f, low, high, args, int(np.max(found.maxlevel, initial=_LEVEL)))
    y = np.reshape(y, shape)[()]
    _check(name, y, found.integral)
    found.integral = with_value(y, (found.integral,))
    found.error = Estimate(found.error, name, _INSTEAD)
    return found


def _run(function, f, numbers, args, options, others=()):
    """What SciPy finds; f; the numbers, the others and args as columns, and their shape."""
    args = as_tuple(args)
    held = Held(f)
    given = plain((*numbers, *args))
    first, rest = given[: len(numbers)], given[len(numbers) :]
    found = held.run(
        f"scipy.integrate.{function.__name__}",
        lambda f, _: function(f, *first, args=rest, **options),
        (*numbers, *others, *args),
        moving=slice(None),
    )
    return found, f, *_columns((*numbers, *others, *args))


# Sums

_TERMS = 64  # that are added one by one, before the rest is an integral and slopes


@by_names(scipy.integrate.nsum)
def nsum(f, a, b, step, args, log, maxterms, **options):
    """Terms one by one, and of infinitely many the rest by Euler and Maclaurin's formula."""
    name = "scipy.integrate.nsum"
    if log:
        refuse(name, "log", "its rule covers only sums of numbers themselves.")
    rest = plain({**options, "maxterms": maxterms, "step": step})
    found, f, columns, shape = _run(scipy.integrate.nsum, f, (a, b), args, rest, (step,))
    (a, b, step), args = columns[:3], columns[3:]
    ends = [np.isinf(strip(end)) for end in (a, b)]
    if np.any(ends[0] != ends[0][0]) or np.any(ends[1] != ends[1][0]):
        refuse(name, "finite and infinite ends in one call", "its rule takes one kind at a time.")
    below, above = (bool(end[0, 0]) for end in ends)
    if below and above:
        y = _series(f, 0.0 * step, step, args) + _series(f, -step, -step, args)
    elif above:
        y = _series(f, a, step, args)
    elif below:
        y = _series(f, b, -step, args)
    else:
        y = _counted(f, a, b, step, args, maxterms)
    y = np.reshape(y, shape)[()]
    _check(name, y, found.sum)
    found.sum = with_value(y, (found.sum,))
    found.error = Estimate(found.error, name, _INSTEAD)
    return found


def _counted(f, a, b, step, args, most):
    """The sum from a to b, of at most so many terms."""
    counts = np.floor((strip(b) - strip(a)) / strip(step)) + 1
    if np.any(counts > most):
        refuse("scipy.integrate.nsum", "more than maxterms terms", "its rule adds them one by one.")
    k = np.arange(max(np.max(counts, initial=0.0), 1.0))
    terms = f(a + np.minimum(k, np.maximum(counts - 1, 0)) * step, *args)
    return np.sum(np.where(k < counts, terms, 0.0), axis=-1)


def _series(f, a, step, args):
    """The sum from a on, in steps that may go down."""
    first = f(a + np.arange(_TERMS) * step, *args)
    end, up = a + _TERMS * step, np.where(strip(step) > 0, 1.0, -1.0)
    tail = _summed(
        lambda x, *args: f(up * x, *args), up * end, np.inf * np.ones_like(strip(end)), args, 3
    )

    def slope(x):
        return pushforward(lambda x: f(x, *args), (x,), (np.ones_like(strip(x)),))[1]

    def third(x):
        one = np.ones_like(strip(x))
        return pushforward(lambda x: pushforward(slope, (x,), (one,))[1], (x,), (one,))[1]

    rest = f(end, *args) / 2 - step * slope(end) / 12 + step**3 * third(end) / 720
    return np.sum(first, axis=-1) + tail / np.abs(step)[:, 0] + rest[:, 0]
