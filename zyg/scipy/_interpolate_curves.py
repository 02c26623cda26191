"""Curves and surfaces of FITPACK: through points in space, on a grid; knots, roots.

C. de Boor, "A Practical Guide to Splines" (1978); W. Boehm, "Inserting new knots into B-spline
curves" (1980).
"""

import numpy as np

from zyg.errors import AdjointError, unknown_call
from zyg.functions.kit import as_array, plainly, raised, strip
from zyg.scipy import _interpolate_data as data
from zyg.scipy._closures import plain
from zyg.scipy._interpolate_classes import (
    CLASSES,
    FUNCTIONS,
    Making,
    making_splines,
    on_watched,
)
from zyg.scipy._interpolate_fitpack import BY_DATA, nearest_to, of_tuple, through
from zyg.scipy._interpolate_pieces import columns, spline_at
from zyg.scipy._theirs import interpolate
from zyg.scipy._valued import arguments_of, real_and_wide
from zyg.verbs.implicit import solution

_FLAT = 1e-6  # the slope of a spline that touches 0, of the largest there may be

# Curves, whose points have a parameter each


def _lengths(points):
    """The parameters of points along a curve: the lengths of the chords so far, of the whole."""
    squares = np.sum(np.square(np.diff(points, axis=1)), axis=0)
    so_far = np.cumsum(np.sqrt(squares))
    return np.concatenate([np.zeros(1), so_far / so_far[-1]])


@on_watched(interpolate.splprep)
def splprep(x, w, u, ub, ue, k, task, s, t, full_output, nest, per, quiet):
    name = "scipy.interpolate.splprep"
    if full_output or per or task == 1:
        raise unknown_call(name, "its rule does not know 'full_output', 'per' and task=1")
    if task == 0 and (s is None or s > 0):
        raise unknown_call(name, f"with s > 0, {BY_DATA}", "pass s=0")
    interpolate.splprep(*plain((x, w, u, ub, ue, k, task, s, t)))  # raises where SciPy does
    x = real_and_wide(x)
    ub, ue = (None, None) if u is None else (ub, ue)
    u = _lengths(x) if u is None else real_and_wide(u)
    if task == 0:
        made = [through(u, row, k, ub, ue) for row in x]
    else:
        inner = as_array(t)[k + 1 : len(t) - k - 1]
        made = [nearest_to(u, row, inner, k, w, ub, ue) for row in x]
    return [made[0][0], [part for _, part in made], k], u


@making_splines(interpolate.make_splrep)
def make_splrep(x, y, k, s, bc_type=None, **options):
    if s:
        raise unknown_call("scipy.interpolate.make_splrep", f"with s > 0, {BY_DATA}", "pass s=0")
    periodic = "periodic" if bc_type == "periodic" else None
    return data.interpolating(data.wide(x), data.wide(y), k, None, periodic)


def _make_splprep(*args, **kwargs):
    original = interpolate.make_splprep
    made = plainly(original, args, kwargs)
    if made is not NotImplemented:
        return CLASSES["BSpline"].of(made[0]), made[1]
    given = arguments_of(original, args, kwargs)
    if given["s"]:
        raise unknown_call("scipy.interpolate.make_splprep", f"with s > 0, {BY_DATA}", "pass s=0")
    spline = CLASSES["BSpline"].of(original(**plain(given))[0])
    x = as_array(given["x"])
    u = _lengths(x) if given["u"] is None else as_array(given["u"])
    points = np.transpose(data.wide(x))
    ends = "periodic" if spline.extrapolate == "periodic" else None  # SciPy knew none till 1.17
    made = data.interpolating(data.wide(u), points, given["k"], None, ends)
    spline.follow(original, lambda: made, given)
    return spline, u


FUNCTIONS["make_splprep"] = Making(interpolate.make_splprep, _make_splprep)


@on_watched(interpolate.generate_knots)
def generate_knots(x, y, k, s, bc_type=None, **options):
    """The one set of knots by which a spline goes through all points."""
    if s:
        raise unknown_call("scipy.interpolate.generate_knots", f"with s > 0, {BY_DATA}", "pass s=0")
    known = {"k": k, "bc_type": bc_type} if bc_type else {"k": k}
    next(interpolate.generate_knots(*plain((x, y)), **known, **plain(options)))
    x = as_array(x)
    periodic = bc_type == "periodic" and k > 1
    return iter([data.periodic_knots(x, k) if periodic else data.inner_knots(x, k)])


# Splines of one variable, by their coefficients


def _each(function, tck):
    """A function of the knots, the coefficients and the degree of every spline in `tck`."""
    t, c, k = of_tuple(tck)
    many = isinstance(c, list) or np.ndim(c) > 1
    return [function(t, part, k) for part in c] if many else function(t, c, k)


@on_watched(interpolate.spalde)
def spalde(x, tck):
    """All derivatives at each point."""
    if isinstance(tck, interpolate.BSpline):
        raised(interpolate.spalde, x, plain(tck))
    at = np.atleast_1d(real_and_wide(x))
    interpolate.spalde(strip(at), plain(tck))  # raises where SciPy does

    def one(t, c, k):
        rows = [np.stack([spline_at(t, c, k, p, nu) for nu in range(k + 1)]) for p in at]
        return rows if len(rows) > 1 else rows[0]

    return _each(one, tck)


@on_watched(interpolate.sproot)
def sproot(tck, mest):
    """The places where a cubic spline is 0, by the implicit function theorem."""
    if isinstance(tck, interpolate.BSpline):
        interpolate.sproot(tck.with_kept(*plain((tck.t, tck.c))), mest)  # raises where SciPy does
        tck = tck.tck

    def one(t, c, k):
        found = interpolate.sproot((strip(t), strip(c), k), mest)
        return solution(lambda: lambda x, t, c: spline_at(t, c, k, x), found, (t, c), solve=crossed)

    def crossed(turned, bar, levels):
        """A root is in no equation but its own."""
        slopes = turned(np.ones(np.shape(bar)))
        if np.any(np.abs(strip(slopes)) <= flat):
            raise AdjointError(
                "a root of a spline has no derivative: the spline only touches 0 there.",
                "a small change makes two roots of it, or none.",
                "use zyg.stop_gradient of the roots.",
            )
        return bar / slopes

    t, c = plain(tck[:2])
    flat = _FLAT * np.max(np.abs(c), initial=0.0) / (t[-1] - t[0])
    return _each(one, tck)


def _inserted(x, t, c, k):
    """The knots and coefficients of a spline that has one knot more."""
    place = np.searchsorted(strip(t), strip(x), "right")
    count = len(t) - k - 1
    j = np.arange(1, count)
    before, after = j <= place - 1 - k, j > place - 1
    low, high = t[j], t[j + k]
    apart = strip(high) != strip(low)
    inside = (x - low) / np.where(apart, high - low, 1.0)
    share = columns(np.where(before, 1.0, np.where(after, 0.0, inside)), np.ndim(c) - 1)
    middle = share * c[1:count] + (1.0 - share) * c[: count - 1]
    knots = np.concatenate([t[:place], np.reshape(x, (1,)), t[place:]])
    return knots, np.concatenate([c[:1], middle, c[count - 1 : count]])


@on_watched(interpolate.insert)
def insert(x, tck, m, per):
    """The same spline with m knots more at x."""
    name = "scipy.interpolate.insert"
    if per:
        raise unknown_call(name, "its rule does not know 'per'")
    x, spline = real_and_wide(x), isinstance(tck, interpolate.BSpline)
    if spline:
        t, c, k = tck.tck
        interpolate.splev(0.0, (strip(t), np.zeros(len(t)), k))
    else:
        interpolate.insert(strip(x), plain(tck), m, per)  # raises where SciPy does
        t, c, k = of_tuple(tck)

    def one(t, c):
        for _ in range(m):
            t, c = _inserted(x, t, c, k)
        return t, c

    if spline:
        made = CLASSES["BSpline"].of(tck)
        return made.with_kept(*one(t, c))
    several = isinstance(c, list)
    parts = [one(t, part) for part in (c if several else [c])]
    ended = [np.concatenate([part, np.zeros(k + 1)]) for _, part in parts]
    return parts[0][0], ended if several else ended[0], k


# Surfaces


@on_watched(interpolate.bisplrep)
def bisplrep(x, y, z, w, xb, xe, yb, ye, kx, ky, task, s, eps, tx, ty, full_output, nxest, nyest,
             quiet):  # fmt: skip
    """The surface with given knots that is nearest to the points."""
    name = "scipy.interpolate.bisplrep"
    if full_output or task != -1:
        why = f"its rule knows only task=-1; otherwise {BY_DATA}"
        raise unknown_call(name, why, "pass task=-1 and the knots tx, ty")
    x, y, z = (np.ravel(real_and_wide(v)) for v in (x, y, z))
    ends = [x.min() if xb is None else xb, x.max() if xe is None else xe]
    ends += [y.min() if yb is None else yb, y.max() if ye is None else ye]
    knots = [_between(real_and_wide(v), k, *both) for v, k, both in (
        (tx, kx, ends[:2]), (ty, ky, ends[2:])
    )]  # fmt: skip
    inner = [strip(t)[k + 1 : len(t) - k - 1] for t, k in zip(knots, (kx, ky), strict=True)]
    given = *plain((x, y, z)), *inner, *plain((w, ends)), kx, ky, eps
    known = interpolate.LSQBivariateSpline(*given).tck  # bisplrep of SciPy 1.18 forgets the knots
    across, along = (
        data.collocation(t, k, v) for t, k, v in zip(knots, (kx, ky), (x, y), strict=True)
    )
    matrix = np.reshape(across[:, :, None] * along[:, None, :], (len(z), -1))
    if w is not None:
        matrix, z = matrix * np.reshape(w, (-1, 1)), z * np.reshape(w, (-1,))
    if np.linalg.matrix_rank(strip(matrix)) < np.shape(matrix)[1]:
        raise unknown_call(name, "more than one surface is nearest to the points", "add points")
    c = np.linalg.lstsq(matrix, z)[0]
    if not np.allclose(strip(c), known[2], rtol=1e-6, atol=1e-6 * np.max(np.abs(known[2]))):
        raise unknown_call(name, "at these values its formula does not give what SciPy does", "")
    return [*knots, c, kx, ky]


def _between(t, k, start, end):
    """The inner ones of these knots, with k + 1 at each end."""
    first, last = (np.reshape(real_and_wide(v), (1,)) for v in (start, end))
    return np.concatenate([*[first] * (k + 1), t[k + 1 : len(t) - k - 1], *[last] * (k + 1)])


@on_watched(interpolate.bisplev)
def bisplev(x, y, tck, dx, dy):
    """A surface on a grid; a point outside is moved to the edge."""
    interpolate.bisplev(*plain((x, y, tck)), dx, dy)  # raises where SciPy does
    tx, ty, c, kx, ky = tck
    parts = []
    for v, t, k, nu in ((x, tx, kx, dx), (y, ty, ky, dy)):
        v, t = np.atleast_1d(real_and_wide(v)), real_and_wide(t)
        v = np.clip(v, t[k], t[len(t) - k - 1])
        parts.append(data.collocation(t, k, v, nu))
    c = np.reshape(real_and_wide(c), (np.shape(parts[0])[1], -1))
    z = np.matmul(np.matmul(parts[0], c), np.transpose(parts[1]))
    z = z if len(z) > 1 else z[0]
    return z[0] if np.shape(z) == (1,) else z
