"""Piecewise polynomials and B-splines at points, whose coefficients and places may be watched.

C. de Boor, "A Practical Guide to Splines" (1978).
"""

import math

import numpy as np

from zyg.functions.kit import as_array, cast, is_complex, strip


def moved(y, axis, count):
    """Values at points, whose `count` axes go where the data had the axis that is interpolated."""
    axes = [*range(np.ndim(y))]
    places = axes[count : count + axis] + axes[:count] + axes[count + axis :]
    return np.transpose(y, places) if axis else y


def real_points(x):
    """Points as SciPy takes them: the real parts of complex ones, with its warning."""
    x = as_array(x)
    return cast(x, np.dtype(float)) if is_complex(x) else x


def wrapped(x, start, end):
    """The points of the period from start to end."""
    return start + (x - start) % (end - start)


def blanked(y, x, outside):
    """NaN for the values at points that are NaN or `outside`; the points have the first axes."""
    absent = np.isnan(strip(x)) | outside
    rest = np.ndim(y) - np.ndim(absent)
    return np.where(np.reshape(absent, np.shape(absent) + (1,) * rest), np.nan, y)


def columns(v, rest):
    """Numbers at points, to be multiplied with values that have `rest` more axes."""
    return np.reshape(v, np.shape(v) + (1,) * rest)


# Piecewise polynomials: c[k, i] is the coefficient of (x - breaks[i])**(len(c) - 1 - k)


def _piece_of(breaks, x):
    """The piece in which each point is, or to which it is nearest."""
    sign = -1 if breaks[-1] < breaks[0] else 1
    found = np.searchsorted(sign * breaks, sign * x, "right")
    return np.clip(found - 1, 0, len(breaks) - 2)


def polynomial_at(c, breaks, x, nu=0, extrapolate=True):
    """The derivative of this order, 0 for the values, at points of any shape."""
    x = real_points(x)
    if extrapolate == "periodic":
        x, extrapolate = wrapped(x, breaks[0], breaks[-1]), False
    plain, places = strip(x), strip(breaks)
    pieces, rest = _piece_of(places, plain), np.ndim(c) - 2
    step, parts = columns(x - breaks[pieces], rest), c[:, pieces]
    y = np.zeros(np.shape(parts)[1:], strip(c).dtype)
    for k in range(len(c) - nu):
        y = y * step + parts[k] * math.perm(len(c) - 1 - k, nu)
    outside = (plain < min(places[0], places[-1])) | (plain > max(places[0], places[-1]))
    return blanked(y, x, outside & (not extrapolate))


def polynomial_slopes(c, nu):
    """The coefficients of the derivative of this order."""
    count = len(c) - nu
    if count <= 0:
        return np.zeros_like(c[:1])
    factors = np.array([math.perm(k, nu) for k in range(len(c) - 1, nu - 1, -1)], float)
    return c[:count] * columns(factors, np.ndim(c) - 1)


def polynomial_sums(c, breaks):
    """The coefficients of the integral from the first of the breaks."""
    raised = c / columns(np.arange(len(c), 0.0, -1), np.ndim(c) - 1)
    width = columns(np.diff(breaks), np.ndim(c) - 2)
    growth = np.zeros_like(c[0])
    for part in raised:
        growth = (growth + part) * width
    starts = np.concatenate([np.zeros_like(growth[:1]), np.cumsum(growth[:-1], axis=0)])
    return np.concatenate([raised, np.expand_dims(starts, 0)])


def definite(integral, a, b, start, end, periodic):
    """int_a^b, where integral(x) is that from the start of a period, or from some place."""
    if not periodic:
        return integral(b) - integral(a)

    def from_start(x):
        turns = np.floor((strip(x) - strip(start)) / (strip(end) - strip(start)))
        return turns * (integral(end) - integral(start)) + integral(wrapped(x, start, end))

    return from_start(b) - from_start(a)


# B-splines: `t` are the knots, `k` is the degree


def span_of(t, k, x):
    """The interval of the knots in which each point is, or to which it is nearest."""
    return np.clip(np.searchsorted(t, x, "right") - 1, k, len(t) - k - 2)


def _by_de_boor(parts, t, k, x, nu, spans):
    """The derivative of a spline, of which parts[j] are the coefficients spans - k + j."""
    for r in range(1, k + 1):
        j = np.reshape(np.arange(r, k + 1), (-1,) + (1,) * np.ndim(x))
        left, right = t[spans - k + j], t[spans + j - r + 1]
        rest, empty = np.ndim(parts) - np.ndim(left), strip(right) == strip(left)
        density = np.where(empty, 0.0, 1 / np.where(empty, 1.0, right - left))
        if r <= nu:
            parts = (parts[1:] - parts[:-1]) * columns((k - r + 1) * density, rest)
        else:
            before, after = (right - x) * density, (x - left) * density
            parts = columns(before, rest) * parts[:-1] + columns(after, rest) * parts[1:]
    return parts[0]


def spline_at(t, c, k, x, nu=0, extrapolate=True):
    """The derivative of this order, 0 for the values, of a spline at points of any shape."""
    x, count = real_points(x), len(t) - k - 1
    if extrapolate == "periodic":
        x, extrapolate = wrapped(x, t[k], t[count]), False
    plain, places = strip(x), strip(t)
    spans = span_of(places, k, plain)
    offsets = np.reshape(np.arange(-k, 1), (-1,) + (1,) * np.ndim(x))
    parts = c[spans + offsets]
    y = _by_de_boor(parts, t, k, x, nu, spans) if nu <= k else np.zeros_like(parts[0])
    outside = (plain < places[k]) | (plain > places[count])
    return blanked(y, x, outside & (not extrapolate))


def basis_at(t, k, x, nu=0):
    """Of points in a row the spans, and the k + 1 basis functions that are not 0 there."""
    spans = span_of(strip(t), k, strip(x))
    unit = np.broadcast_to(np.eye(k + 1)[:, None, :], (k + 1, len(spans), k + 1))
    if nu > k:
        return spans, np.zeros((len(spans), k + 1))
    return spans, _by_de_boor(unit, t, k, x, nu, spans)


def spline_slopes(t, c, k):
    """The knots, the coefficients and the degree of the first derivative."""
    count = len(t) - k - 1
    width = columns(t[k + 1 : count + k] - t[1:count], np.ndim(c) - 1)
    slopes = k * (c[1:count] - c[: count - 1]) / width
    padding = np.zeros((k, *np.shape(c)[1:]), strip(c).dtype)
    return t[1:-1], np.concatenate([slopes, padding]), k - 1


def spline_sums(t, c, k):
    """The knots, the coefficients and the degree of the integral from the first knot."""
    count = len(t) - k - 1
    width = columns(t[k + 1 :] - t[:count], np.ndim(c) - 1)
    sums = np.cumsum(c[:count] * width, axis=0) / (k + 1)
    sums = np.concatenate([np.zeros_like(sums[:1]), sums, *[sums[-1:]] * (k + 2)])
    return np.concatenate([t[:1], t, t[-1:]]), sums, k + 1
