"""The coefficients of what interpolates data: cubic pieces, and B-splines.

F. N. Fritsch, J. Butland, "A method for constructing local monotone piecewise cubic interpolants"
(1984); H. Akima, "A new method of interpolation and smooth curve fitting" (1970).
"""

from typing import Any

import numpy as np

from zyg.functions.kit import as_array, is_complex, strip
from zyg.scipy._interpolate_pieces import basis_at, columns
from zyg.scipy._linalg_systems import solve_banded
from zyg.scipy._theirs import interpolate
from zyg.scipy._valued import written


def wide(x):
    """An array in 64 bits, or in 128 if it is complex."""
    x = as_array(x)
    dtype = np.dtype(complex if is_complex(x) else float)
    return x if strip(x).dtype == dtype else np.astype(x, dtype)


def points_and_values(x, y, axis):
    """The data, whose points go along the first axis, and the widths and slopes between them."""
    x, y = wide(x), np.moveaxis(wide(y), axis, 0)
    width = columns(np.diff(x), np.ndim(y) - 1)
    return x, y, width, np.diff(y, axis=0) / width


# Cubic pieces, by their slopes at the points


def hermite_cubics(y, slopes, width, secants):
    """The coefficients of cubic pieces with these values and slopes at the points."""
    bend = (slopes[:-1] + slopes[1:] - 2 * secants) / width
    return np.stack([bend / width, (secants - slopes[:-1]) / width - bend, slopes[:-1], y[:-1]])


def cubic_hermite(x, y, dydx, axis=0, extrapolate=None):
    x, y, width, secants = points_and_values(x, y, axis)
    slopes = np.moveaxis(wide(dydx), axis, 0)
    return hermite_cubics(y, slopes, width, secants), x


def _at_end(h0, h1, m0, m1):
    """The slope at an end point, from two widths and secants; it keeps the shape of the data."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    plain, sign = strip(d), np.sign(strip(m0))
    steep = (sign != np.sign(strip(m1))) & (np.abs(plain) > 3 * np.abs(strip(m0)))
    return np.where(np.sign(plain) != sign, 0.0, np.where(steep, 3 * m0, d))


def pchip(x, y, axis=0, extrapolate=None):
    """Weighted harmonic means of secants; 0 where they change their sign."""
    x, y, h, m = points_and_values(x, y, axis)
    if len(m) == 1:
        return hermite_cubics(y, np.concatenate([m, m]), h, m), x
    signs = np.sign(strip(m))
    alike = (signs[1:] == signs[:-1]) & (signs[1:] != 0)
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    shares = w1 / np.where(alike, m[:-1], 1.0) + w2 / np.where(alike, m[1:], 1.0)
    inner = np.where(alike, (w1 + w2) / np.where(alike, shares, 1.0), 0.0)
    first, last = _at_end(h[:1], h[1:2], m[:1], m[1:2]), _at_end(h[-1:], h[-2:-1], m[-1:], m[-2:-1])
    return hermite_cubics(y, np.concatenate([first, inner, last]), h, m), x


def akima(x, y, axis=0, method="akima", extrapolate=None):
    """Means of secants, weighted by how much the secants on the other side differ."""
    x, y, h, secants = points_and_values(x, y, axis)
    if len(secants) == 1:
        return hermite_cubics(y, np.concatenate([secants, secants]), h, secants), x
    m = secants
    for _ in range(2):
        m = np.concatenate([2 * m[:1] - m[1:2], m, 2 * m[-1:] - m[-2:-1]])
    turns = np.abs(np.diff(m, axis=0))
    if method == "makima":
        turns = turns + 0.5 * np.abs(m[1:] + m[:-1])
    before, after = turns[:-2], turns[2:]
    total = before + after
    defined = strip(total) > 1e-9 * np.max(strip(total), initial=-np.inf)  # as SciPy has it
    share = before / np.where(defined, total, 1.0)
    weighted = m[1:-2] + share * (m[2:-1] - m[1:-2])
    slopes = np.where(defined, weighted, 0.5 * (m[3:] + m[:-3]))
    return hermite_cubics(y, slopes, h, secants), x


def _conditions(bc_type):
    """What holds at both ends: a name, or the order of a derivative and its value."""
    known = {"clamped": (1, 0.0), "natural": (2, 0.0)}
    both = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    return [known.get(bc, bc) if isinstance(bc, str) else bc for bc in both]


def _row_at_end(condition, h, m, sign):
    """The coefficients of the slopes at an end point and the next one, and their sum."""
    h0, m0 = h[:1], m[:1]
    if isinstance(condition, str):  # "not-a-knot"
        if len(h) == 1:
            return np.ones(1), np.zeros(1), m0
        h1, both = h[1:2], h[:1] + h[1:2]
        return h1, both, ((h0 + 2 * both) * h1 * m0 + h0**2 * m[1:2]) / both
    order, value = condition
    if order == 1:
        return np.ones(1), np.zeros(1), value + 0 * m0
    return 2 * h0, h0, 3 * h0 * m0 + sign * 0.5 * value * h0**2


def _solved(solve, b):
    """solve(b), of right-hand sides of any shape."""
    return np.reshape(solve(np.reshape(b, (len(b), -1))), np.shape(b))


def _slopes_of_spline(h, m, conditions):
    """The slopes of a cubic spline at the points: a system with three diagonals."""
    rows = [_row_at_end(conditions[0], h, m, -1), _row_at_end(conditions[1], h[::-1], m[::-1], 1)]
    (d0, above, b0), (d1, below, b1) = [(np.ravel(d), np.ravel(o), b) for d, o, b in rows]
    w, zero = np.ravel(h), np.zeros(1)
    diagonals = [
        np.concatenate([zero, above, w[:-1]]),
        np.concatenate([d0, 2 * (w[:-1] + w[1:]), d1]),
        np.concatenate([w[1:], below, zero]),
    ]
    b = np.concatenate([b0, 3 * (h[1:] * m[:-1] + h[:-1] * m[1:]), b1])
    return _solved(lambda b: solve_banded((1, 1), np.stack(diagonals), b), b)


def _periodic_slopes(h, m):
    """The slopes of a periodic cubic spline: the matrix has two corners, too."""
    before, secants_before, count = np.roll(h, 1, axis=0), np.roll(m, 1, axis=0), len(h)
    if count == 1:
        return np.concatenate([m, m])
    unit = np.eye(count)
    w, v = np.reshape(h, (-1, 1)), np.reshape(before, (-1, 1))
    a = 2 * (w + v) * unit + w * np.roll(unit, -1, axis=1) + v * np.roll(unit, 1, axis=1)
    slopes = _solved(lambda b: np.linalg.solve(a, b), 3 * (h * secants_before + before * m))
    return np.concatenate([slopes, slopes[:1]])


def cubic_spline(x, y, axis=0, bc_type="not-a-knot", extrapolate=None):
    x, y, h, m = points_and_values(x, y, axis)
    conditions = _conditions(bc_type)
    ends = [bc if isinstance(bc, str) else bc[0] for bc in conditions]
    if not np.size(y):
        slopes = np.zeros_like(y)
    elif ends[0] == "periodic":
        slopes = _periodic_slopes(h, m)
    elif len(h) == 2 and ends == ["not-a-knot"] * 2:
        bend = (m[1:] - m[:1]) / (h[:1] + h[1:])  # one parabola
        slopes = np.concatenate([m[:1] - h[:1] * bend, m[:1] + h[:1] * bend, m[1:] + h[1:] * bend])
    else:
        slopes = _slopes_of_spline(h, m, conditions)
    return hermite_cubics(y, slopes, h, m), x


# B-splines


def inner_knots(x, k, start=None, end=None):
    """The knots of a spline through all points, without conditions at the ends."""
    half = (k + 1) // 2
    inner = x[half:-half] if k % 2 else 0.5 * (x[1:] + x[:-1])[half : len(x) - 1 - half]
    ends = (x[:1] if start is None else start), (x[-1:] if end is None else end)
    first, last = (np.reshape(as_array(end), (1,)) for end in ends)
    return np.concatenate([*[first] * (k + 1), inner, *[last] * (k + 1)])


def periodic_knots(x, k):
    width = np.diff(x)
    if k % 2 == 0:
        x = np.concatenate([x[:1], x[1:-1] - 0.5 * width[:-1], x[-1:]])
        width = np.diff(x)
    turns = -(-k // len(width))
    before = x[:1] - np.cumsum(np.tile(np.flip(width), turns)[:k])
    after = x[-1:] + np.cumsum(np.tile(width, turns)[:k])
    return np.concatenate([np.flip(before), x, after])


def collocation(t, k, x, nu=0):
    """The matrix of all basis functions at points in a row."""
    spans, values = basis_at(t, k, x, nu)
    matrix = np.zeros_like(values, shape=(len(spans), len(t) - k - 1))
    matrix[np.arange(len(spans))[:, None], spans[:, None] + np.arange(-k, 1)] = values
    return matrix


def _banded(t, k, rows):
    """The diagonals of a matrix, by (points, the order of the derivative, the first row) of each
    part."""
    found, at = [], []
    for x, nu, first in rows:
        spans, values = basis_at(t, k, x, nu)
        column = spans[:, None] + np.arange(-k, 1)
        row = first + np.arange(len(spans))[:, None]
        found.append(values)
        at.append((k + row - column, column))
    values = np.concatenate(found)
    bands = np.zeros_like(values, shape=(2 * k + 1, len(t) - k - 1))
    diagonals, places = (np.concatenate(part) for part in zip(*at, strict=True))
    bands[diagonals, places] = values
    return bands


def _at_ends(bc_type, shape):
    """The derivatives at both ends: lists of orders and values."""
    known = {"clamped": [(1, np.zeros(shape))], "natural": [(2, np.zeros(shape))]}
    both = (bc_type, bc_type) if bc_type is None or isinstance(bc_type, str) else bc_type
    return [known[bc] if isinstance(bc, str) else list(bc or ()) for bc in both]


def _periodic_coefficients(t, y, k, x):
    ends = x[:1], x[-1:]
    smooth = [collocation(t, k, ends[0], nu) - collocation(t, k, ends[1], nu) for nu in range(1, k)]
    matrix = np.concatenate([*smooth, collocation(t, k, x)])
    b = np.concatenate([np.zeros((k - 1, *np.shape(y)[1:])), y])
    return _solved(lambda b: np.linalg.solve(matrix, b), b)


def interpolating(x, y, k, t=None, bc_type=None):
    """The knots and the coefficients of the B-spline of this degree through the points."""
    if k < 2 and t is None:
        first, last = x[:1], x[-1:]
        return np.concatenate([*[first] * k, x, last]), y
    if bc_type == "periodic":
        t = periodic_knots(x, k)
        return t, _periodic_coefficients(t, y, k, x)
    starts, ends = _at_ends(None if bc_type == "not-a-knot" else bc_type, np.shape(y)[1:])
    if t is None:
        known = starts or ends
        padded = [*[x[:1]] * k, x, *[x[-1:]] * k]
        t = np.concatenate(padded) if known else inner_knots(x, k)
    count, first, last = len(t) - k - 1, x[:1], x[-1:]
    rows = [(first, nu, place) for place, (nu, _) in enumerate(starts)]
    rows += [(x, 0, len(starts))]
    rows += [(last, nu, count - len(ends) + place) for place, (nu, _) in enumerate(ends)]
    known = [[np.expand_dims(wide(v), 0) for _, v in given] for given in (starts, ends)]
    b = np.concatenate([*known[0], y, *known[1]])
    bands = _banded(t, k, rows)
    return t, _solved(lambda b: solve_banded((k, k), bands, b), b)


def fitted(x, y, t, k, w=None):
    """The coefficients of the B-spline with these knots that is nearest to the points."""
    matrix = collocation(t, k, x)
    if w is not None:
        matrix, y = matrix * np.reshape(w, (-1, 1)), y * columns(w, np.ndim(y) - 1)
    flat = np.linalg.lstsq(matrix, np.reshape(y, (len(y), -1)))[0]
    return np.reshape(flat, (-1, *np.shape(y)[1:]))


# The polynomial through all points


def _through_all(xi, yi, x, axis):
    """By Lagrange's formula, at an x whose axes take the place of one of yi's."""
    xi, yi, x = wide(xi), np.moveaxis(wide(yi), axis, 0), wide(x)
    at: Any = np.reshape(x, (-1,))
    total: Any = 0.0
    for k in range(np.size(xi)):
        others = [j for j in range(np.size(xi)) if j != k]
        weight = np.prod((at[:, None] - xi[others]) / (xi[k] - xi[others]), axis=1)
        total = total + np.reshape(weight, (-1,) + (1,) * (np.ndim(yi) - 1)) * yi[k]
    total = np.reshape(total, (*np.shape(x), *np.shape(yi)[1:]))
    places = range(np.ndim(x))
    start = axis % np.ndim(yi)
    return np.moveaxis(total, list(places), [start + k for k in places])


@written(interpolate.barycentric_interpolate, "xi", "yi", "x", der=0)
def barycentric_interpolate(xi, yi, x, axis, der, rng=None):
    return _through_all(xi, yi, x, axis)


@written(interpolate.krogh_interpolate, "xi", "yi", "x", der=0)
def krogh_interpolate(xi, yi, x, der, axis):
    return _through_all(xi, yi, x, axis)
