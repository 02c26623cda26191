"""The rules of scipy.ndimage: splines through images, and their values at other places."""

import functools
import itertools
import math
from typing import Any

import numpy as np

from zyg.functions.kit import (
    as_array,
    composed,
    is_complex,
    normal_axes,
    normal_axis,
    strip,
    with_value,
)
from zyg.scipy._namespace import dispatching, rule_for
from zyg.scipy._ndimage_filters import filtering
from zyg.scipy._ndimage_rules import _dtype_only, _for_each
from zyg.scipy._theirs import scipy

# Coefficients


@rule_for(scipy.ndimage.spline_filter1d, linear=(0,))
def spline_filter1d(input, order=3, axis=-1, output=np.float64, mode="mirror"):
    _dtype_only("spline_filter1d", output, input)
    y = spline_filter1d(input, order, axis, output, mode)

    def spline_filter1d_pullback(y_bar):
        if np.ndim(y_bar) == 0 or order < 2:
            return y_bar, *[None] * 4
        k = normal_axis(axis, np.ndim(y_bar))
        matrix = scipy.ndimage.spline_filter1d(np.eye(np.shape(y_bar)[k]), order, 0, mode=mode)
        x_bar = np.matmul(np.moveaxis(y_bar, k, -1), matrix)
        return np.moveaxis(x_bar, -1, k), *[None] * 4

    return y, spline_filter1d_pullback


@filtering(scipy.ndimage.spline_filter, "input")
def spline_filter(input, order, mode, axes=None):
    y = as_array(input)
    dtype = complex if is_complex(y) else float
    for axis in normal_axes(axes, np.ndim(y)):
        y = spline_filter1d(y, order, axis, dtype, mode)
    return y


_BEYOND = 12  # how many elements SciPy adds at each end, in these modes
_FILLED = "grid-constant"


def _coefficients(x, axes, order, mode, cval, prefilter):
    """The coefficients of the spline along these axes, and how many lie before the first."""
    if not (prefilter and order > 1):
        return x, 0
    before = _BEYOND if mode in (_FILLED, "nearest") else 0
    if before:
        pads = [(before, before) if k in axes else (0, 0) for k in range(np.ndim(x))]
        x = np.pad(x, pads, constant_values=cval) if mode == _FILLED else np.pad(x, pads, "edge")
    return spline_filter(x, order, mode, tuple(axes)), before


# Places along an axis


def _near(t, n, mode):
    """Where SciPy computes the spline for places along an axis, and the slope of that."""
    if mode not in _FOLDS:
        return t, 1.0
    if n == 1 and mode in ("mirror", "wrap"):
        return 0.0 * t, 0.0
    return _FOLDS[mode](t, n)


def _within(t, period):
    """A place, less as many periods as it is away from 0."""
    return t - period * np.trunc(t / period)


def _wrapped(t, n):
    below = t + (n - 1) * (np.trunc(-t / (n - 1)) + 1)
    return np.where(t < 0, below, np.where(t > n - 1, _within(t, n - 1), t)), 1.0


def _mirrored(t, n):
    a = _within(t, 2 * n - 2)
    back = np.where(t < 0, a > 1 - n, a >= n)
    below, above = np.where(back, -a, a + 2 * n - 2), np.where(back, 2 * n - 2 - a, a)
    return _folded(t, n, below, above, back)


def _reflected(t, n):
    a = _within(t, 2 * n)
    back = np.where(t < 0, a >= -n, a >= n)
    below = np.where(back, np.where(a > -1e-15, 1e-15, -a) - 1, a + 2 * n)
    return _folded(t, n, below, np.where(back, 2 * n - 1 - a, a), back)


def _folded(t, n, below, above, back):
    beyond = (t < 0) | (t > n - 1)
    return np.where(t < 0, below, np.where(beyond, above, t)), np.where(beyond & back, -1.0, 1.0)


_FOLDS = {
    "wrap": _wrapped, "mirror": _mirrored, "reflect": _reflected, "grid-mirror": _reflected,
}  # fmt: skip


def _element_at(k, n, mode):
    """The coefficient that stands at a place, or -1."""
    if mode == _FILLED:
        return np.where((k < 0) | (k >= n), -1, k)
    if mode == "nearest":
        return np.clip(k, 0, n - 1)
    if mode == "grid-wrap":
        return k % n
    if mode in ("reflect", "grid-mirror"):
        k = k % (2 * n)
        return np.minimum(k, 2 * n - 1 - k)
    period = max(2 * n - 2, 1)
    k = k % period
    return np.minimum(k, period - k) if n > 1 else 0 * k


def _pieces(u, order):
    """The B-splines of an order that are not 0, in the part u of an interval (de Boor)."""
    row = [1.0]
    for d in range(1, order + 1):
        left, right = [0.0, *row], [*row, 0.0]
        row = [((u + (d - j)) * left[j] + (1 + j - u) * right[j]) / d for j in range(d + 1)]
    return row


def _taps(t, n, order, mode):
    """The coefficients that a place along an axis meets, their weights, and whether it is in."""
    seen = strip(t)
    near, slope = _near(seen, n, mode)
    t = near if t is seen else with_value(t * slope, (near,))
    half = 0.0 if order % 2 else 0.5
    first = np.floor(near + half).astype(int)
    if order == 1 and mode in ("constant", "wrap") and n > 1:
        first = np.where(near == n - 1, n - 2, first)  # the last piece has its end
    places = [_element_at(first - order // 2 + j, n, mode) for j in range(order + 1)]
    inside = (seen >= 0) & (seen <= n - 1) | (mode != "constant")
    return places, _pieces(t - (first - half), order), inside


# Values


def _at_points(c, coordinates, order, mode, cval):
    """The spline along the first axes, at places of which each has a coordinate for each axis."""
    shape = np.shape(c)[: len(coordinates)]
    rest = np.shape(c)[len(shape) :]
    flat = np.reshape(c, (math.prod(shape), *rest))
    found = [_taps(t, n, order, mode) for t, n in zip(coordinates, shape, strict=True)]
    inside = functools.reduce(np.logical_and, [f[2] for f in found])
    over = (..., *[None] * len(rest))
    y: Any = 0.0
    for taps in itertools.product(range(order + 1), repeat=len(shape)):
        weight: Any = 1.0
        known: Any = True
        place = 0
        for k, (places, weights, _), n in zip(taps, found, shape, strict=True):
            weight = weight * weights[k]
            place, known = place * n + places[k], known & (places[k] >= 0)
        values = flat[np.where(inside & known, place, 0)]
        values = np.where(np.asarray(known)[over], values, cval)
        y = y + (weight[over] if np.ndim(weight) else weight) * values
    return np.where(inside[over], y, cval)


def _at_grid(c, coordinates, order, mode, cval):
    """The spline at the points of a grid, whose lines have these places along the axes."""
    inside: Any = True
    for axis, t in enumerate(coordinates):
        n = np.ndim(c)
        places, weights, here = _taps(t, np.shape(c)[axis], order, mode)
        shape = [-1 if k == axis else 1 for k in range(n)]
        y: Any = 0.0
        for place, weight in zip(places, weights, strict=True):
            values = np.take(c, np.where(here & (place >= 0), place, 0), axis)
            values = np.where(np.reshape(place >= 0, shape), values, cval)
            y = y + (np.reshape(weight, shape) if np.ndim(weight) else weight) * values
        c, inside = y, inside & np.reshape(here, shape)
    return np.where(inside, c, cval)


@filtering(scipy.ndimage.map_coordinates, "input", "coordinates")
def map_coordinates(input, coordinates, order, mode, cval, prefilter):
    x, places = as_array(input), np.astype(as_array(coordinates), float)
    c, before = _coefficients(x, range(np.ndim(x)), order, mode, cval, prefilter)
    return _at_points(c, [t + before for t in places], order, mode, cval)


_mapped = dispatching(scipy.ndimage.map_coordinates)


@composed(scipy.ndimage.geometric_transform)
def geometric_transform(
    input, mapping, output_shape=None, output=None, order=3, mode="constant", cval=0.0,
    prefilter=True, extra_arguments=(), extra_keywords=None,
):  # fmt: skip
    shape = np.shape(input) if output_shape is None else tuple(output_shape)
    rows = [mapping(k, *extra_arguments, **(extra_keywords or {})) for k in np.ndindex(shape)]
    columns = zip(*rows, strict=True)
    made = [np.reshape(np.stack([*map(as_array, column)]), shape) for column in columns]
    coordinates = np.stack(made) if rows else np.zeros((np.ndim(input), *shape))
    return _mapped(input, coordinates, output, order, mode, cval, prefilter)


@filtering(scipy.ndimage.shift, "input", "shift")
def shift(input, shift, order, mode, cval, prefilter):
    x = as_array(input)
    axes = range(np.ndim(x))
    c, before = _coefficients(x, axes, order, mode, cval, prefilter)
    moves = _for_each(shift, axes)
    places = [np.arange(n) - by + before for n, by in zip(np.shape(x), moves, strict=True)]
    return _at_grid(c, places, order, mode, cval)


@filtering(scipy.ndimage.zoom, "input")
def zoom(input, zoom, order, mode, cval, prefilter, grid_mode):
    x = as_array(input)
    axes = range(np.ndim(x))
    factors = _for_each(zoom, axes)
    if prefilter and all(f == 1 for f in factors):
        return x
    c, before = _coefficients(x, axes, order, mode, cval, prefilter)
    places, less = [], int(not grid_mode)
    for n, factor in zip(np.shape(x), factors, strict=True):
        made = round(n * factor)
        step = (n - less) / (made - less) if made != less else 1.0
        k = np.arange(made)
        places.append(((k + 0.5) * step - 0.5 if grid_mode else k * step) + before)
    return _at_grid(c, places, order, mode, cval)


def _moved(shape, matrix, offset):
    """The places that a matrix and an offset make of the elements of an image of this shape."""
    lines = np.ogrid[tuple(slice(n) for n in shape)]
    for row, place in zip(matrix, offset, strict=True):
        for factor, line in zip(row, lines, strict=True):
            place = place + factor * line
        yield np.broadcast_to(place, shape)


@filtering(scipy.ndimage.affine_transform, "input", "matrix", "offset")
def affine_transform(input, matrix, offset, output_shape, order, mode, cval, prefilter):
    x, matrix = as_array(input), np.astype(as_array(matrix), float)
    n = np.ndim(x)
    shape = np.shape(x) if output_shape is None else tuple(output_shape)
    if np.ndim(matrix) == 2 and np.shape(matrix)[1] == n + 1:
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    offset = _for_each(offset, range(n))
    c, before = _coefficients(x, range(n), order, mode, cval, prefilter)
    if np.ndim(matrix) == 2:
        places = [t + before for t in _moved(shape, matrix, offset)]
        return _at_points(c, places, order, mode, cval)
    rows = zip(shape, matrix, offset, strict=True)
    places = [(np.arange(m) + by / factor) * factor + before for m, factor, by in rows]
    return _at_grid(c, places, order, mode, cval)


@filtering(scipy.ndimage.rotate, "input", "angle")
def rotate(input, angle, axes, reshape, order, mode, cval, prefilter):
    x = as_array(input)
    axes = sorted(normal_axes(tuple(map(int, axes)), np.ndim(x)))
    plane = np.array(np.shape(x))[axes]
    turn = angle * (math.pi / 180)
    cosine = with_value(np.cos(turn), (scipy.special.cosdg(strip(angle)),))
    sine = with_value(np.sin(turn), (scipy.special.sindg(strip(angle)),))
    matrix = np.stack([np.stack([cosine, sine]), np.stack([-sine, cosine])])
    shape = plane
    if reshape:
        iy, ix = plane
        bounds = strip(matrix) @ [[0, 0, iy, iy], [0, ix, 0, ix]]
        shape = (np.ptp(bounds, axis=1) + 0.5).astype(int)
    offset = (plane - 1) / 2 - np.matmul(matrix, (shape - 1) / 2)
    x = np.moveaxis(x, axes, (0, 1))
    c, before = _coefficients(x, (0, 1), order, mode, cval, prefilter)
    places = [t + before for t in _moved(tuple(shape), matrix, offset)]
    return np.moveaxis(_at_points(c, places, order, mode, cval), (0, 1), axes)
