"""Tables: values at points of a line (interp1d) and of a grid (RegularGridInterpolator)."""

import itertools
import math
from typing import Any

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import as_array, strip
from zyg.scipy import _interpolate_data as data
from zyg.scipy._closures import plain
from zyg.scipy._interpolate_classes import (
    CLASSES,
    Watching,
    attribute,
    in_place_of,
    on_watched,
)
from zyg.scipy._interpolate_pieces import blanked, columns, real_points, spline_at
from zyg.scipy._theirs import interpolate

_DEGREES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
_STEPS: dict[str, Any] = {
    "nearest": "left", "nearest-up": "right", "previous": "left", "next": "right",
}  # fmt: skip


class Line(Watching):
    """interp1d: `_y` are the values in columns, `_fill` are those below and above."""

    x: Any
    _y: Any
    _kind: str
    _call: Any
    _extrapolate: bool
    _check_bounds: Any
    _finish_y: Any
    kept = ("x", "y", "_y", "_fill_value_below", "_fill_value_above", "_spline")
    _fill_value_below: Any = None  # as the others, until SciPy sets them
    _fill_value_above: Any = None
    _spline: Any = None

    def take(self, x, y, kind, axis, fill_value, assume_sorted, **options):
        x, y = as_array(x), as_array(y)
        if not assume_sorted:
            order = np.argsort(strip(x), kind="mergesort")
            x, y = x[order], np.take(y, order, axis=axis)
        y = y if strip(y).dtype.kind in "fc" else data.wide(y)
        rows = np.moveaxis(y, axis, 0)
        below, above = self._filled(fill_value, rows)
        rows, spline = np.reshape(rows, (len(x), -1)), None
        if self._kind == "spline":
            degree = _DEGREES.get(kind, kind)
            t, c = data.interpolating(data.wide(x), data.wide(rows), degree)
            spline = CLASSES["BSpline"](t, c, degree)
        self.keep(x, y, rows, below, above, spline)

    def _filled(self, value, rows):
        """The rows of values below and above the points, if they are not extrapolated."""
        shape = np.shape(rows)[1:] or (1,)
        if isinstance(value, str):
            ends = {"previous": (np.nan, rows[-1]), "next": (rows[0], np.nan)}
            if self._kind not in ends:
                return None, None
            value = ends[self._kind]
        pair = value if isinstance(value, tuple) and len(value) == 2 else (value, value)
        return [np.ravel(np.broadcast_to(as_array(v), shape)) for v in pair]

    def __call__(self, x):
        if (y := self.by_scipy("__call__", x)) is not NotImplemented:
            return y
        x = as_array(x)
        flat = np.ravel(x)
        y, place = self._at(flat), strip(flat)
        if not self._extrapolate:
            below, above = self._check_bounds(place)
            y = np.where(below[:, None], self._fill_value_below, y)
            y = np.where(above[:, None], self._fill_value_above, y)
        return self._finish_y(y, np.shape(x))

    def _at(self, x):
        if self._kind == "linear":
            return self._on_lines(x)
        if self._kind in _STEPS:
            return self._y[self._step(strip(x))]
        if self._call is self.scipys._call_nan_spline:
            return np.full((len(x), np.shape(self._y)[1]), np.nan) * columns(x, 1)
        t, c, k = self._spline.tck
        return spline_at(data.wide(t), data.wide(c), k, x)

    def _on_lines(self, x):
        by_numpy = self._call is self.scipys._call_linear_np  # which goes right of a point
        side: Any = "right" if by_numpy else "left"
        places = strip(self.x)
        above = np.clip(np.searchsorted(places, strip(x), side), 1, len(places) - 1)
        below, a, b = above - 1, self.x, self._y
        share = columns((x - a[below]) / (a[above] - a[below]), 1)
        return blanked(b[below] + share * (b[above] - b[below]), x, False)

    def _step(self, x):
        """The points whose values hold at others."""
        side, places = _STEPS[self._kind], strip(self.x)
        if self._kind in ("nearest", "nearest-up"):
            halves = places / 2.0
            found = np.searchsorted(halves[1:] + halves[:-1], x, side)
        else:
            ahead = self._kind == "next"
            shifted = np.nextafter(places, np.inf if ahead else -np.inf)
            found = np.searchsorted(shifted, x, side) - (not ahead)
        return np.clip(found, 0, len(places) - 1)


in_place_of(interpolate.interp1d, Line)


_BY_SPLINES = {
    "slinear": 1, "cubic": 3, "quintic": 5,
    "slinear_legacy": 1, "cubic_legacy": 3, "quintic_legacy": 5,
}  # fmt: skip


class Grid(Watching):
    """RegularGridInterpolator."""

    method: str
    bounds_error: bool
    fill_value: Any
    _spline: Any
    grid: Any
    values: Any
    kept = "grid", "values", "fill_value"
    if hasattr(interpolate.RegularGridInterpolator, "values"):
        grid, values = attribute("grid"), attribute("values")

    def take(self, points, values, fill_value, **options):
        points, values = [data.wide(real_points(p)) for p in points], as_array(values)
        values = values if strip(values).dtype.kind in "fc" else data.wide(values)
        down = [axis for axis, p in enumerate(points) if strip(p)[0] > strip(p)[-1]]
        grid = tuple(np.flip(p) if axis in down else p for axis, p in enumerate(points))
        self.keep(grid, np.flip(values, tuple(down)) if down else values, fill_value)
        self._spline = None

    def __call__(self, xi, method=None, *, nu=None):
        if (y := self.by_scipy("__call__", xi, method, nu=nu)) is not NotImplemented:
            return y
        method = self.method if method is None else method
        if method not in ("linear", "nearest", *_BY_SPLINES):
            raise unknown_call("scipy.interpolate.RegularGridInterpolator", f"method={method!r}")
        if nu is not None and method not in ("slinear", "cubic", "quintic"):
            raise ValueError(f"Can only compute derivatives by splines, got method={method!r}.")
        xi = coordinates(xi, len(self.grid))
        rows = np.reshape(xi, (-1, np.shape(xi)[-1]))
        outside = self._outside(strip(rows))
        y = self._rows(rows, method, nu)
        if not self.bounds_error and self.fill_value is not None:
            y = np.where(columns(outside, np.ndim(y) - 1), self.fill_value, y)
        absent = np.isnan(strip(rows)).any(axis=1)
        y = np.where(columns(absent, np.ndim(y) - 1), np.nan, y)
        return np.reshape(y, np.shape(xi)[:-1] + np.shape(y)[1:])

    def _outside(self, rows):
        """Which points are; an error, if none may be."""
        if np.shape(rows)[1] != len(self.grid):
            raise ValueError("the points xi have another dimension than the grid")
        found = np.zeros(len(rows), bool)
        for i, (x, places) in enumerate(zip(rows.T, self.grid, strict=True)):
            beyond = (x < strip(places)[0]) | (x > strip(places)[-1])
            if self.bounds_error and not np.all((x >= strip(places)[0]) & ~beyond):
                raise ValueError(f"One of the requested xi is out of bounds in dimension {i}")
            found |= beyond
        return found

    def _rows(self, rows, method, nu):
        """The values at points in rows."""
        grid, values = self.grid, self.values
        if method in _BY_SPLINES:
            orders = np.zeros(len(grid), int) if nu is None else np.asarray(nu)
            known = None if self.watches() or method != self.method else self._spline
            return _by_splines(grid, values, rows, _BY_SPLINES[method], orders, known)
        below, shares = zip(*map(_cell, grid, np.transpose(rows)), strict=True)
        if method == "nearest":
            near = [i + ~(strip(s) <= 0.5) for i, s in zip(below, shares, strict=True)]
            return values[tuple(near)]
        return _by_corners(values, below, shares)


def _cell(places, x):
    """The cell of the places in which each point is, and how far it is in it."""
    if len(places) == 1:
        return np.full(np.shape(x), -1), 0 * x
    below = np.clip(np.searchsorted(strip(places), strip(x), "right") - 1, 0, len(places) - 2)
    return below, (x - places[below]) / (places[below + 1] - places[below])


def _by_corners(values, below, shares):
    """Linear in every direction: the corners of a cell, each by its weight."""
    y, rest = 0.0, np.ndim(values) - len(below)
    for corner in itertools.product((0, 1), repeat=len(below)):
        weights = [s if upper else 1 - s for s, upper in zip(shares, corner, strict=True)]
        at = tuple(i + upper for i, upper in zip(below, corner, strict=True))
        y = y + values[at] * columns(math.prod(weights[1:], start=weights[0]), rest)
    return y


def _by_splines(grid, values, rows, degree, orders, known):
    """A product of B-splines, whose coefficients are solved for along each axis, if not known."""
    values, weights = data.wide(values) if known is None else known.c, []
    for axis, places in enumerate(grid):
        if known is None:
            values = np.moveaxis(values, axis, 0)
            t, c = data.interpolating(data.wide(places), values, degree)
            values = np.moveaxis(c, 0, axis)
        else:
            t = known.t[axis]
        weights.append(data.collocation(t, degree, rows[:, axis], orders[axis]))
    y = np.tensordot(weights[0], values, 1)
    for w in weights[1:]:
        y = np.sum(columns(w, np.ndim(y) - 2) * y, axis=1)
    return y


def coordinates(xi, count):
    """Points as an array whose last axis has their coordinates; arrays of each may be given."""
    if isinstance(xi, tuple) and len(xi) == 1 and np.ndim(as_array(xi[0])):
        xi = xi[0]
    if isinstance(xi, tuple):
        return np.stack(np.broadcast_arrays(*map(real_points, xi)), axis=-1)
    xi = real_points(xi)
    if np.ndim(xi) == 1:
        xi = np.reshape(xi, (-1, 1) if count == 1 else (1, -1))
    return xi


in_place_of(interpolate.RegularGridInterpolator, Grid)


@on_watched(interpolate.interpn)
def interpn(points, values, xi, method, bounds_error, fill_value):
    if method == "splinef2d":
        raise unknown_call("scipy.interpolate.interpn", f"method={method!r}")
    interpolate.interpn(*plain((points, values, xi, method, bounds_error, fill_value)))
    table = CLASSES["RegularGridInterpolator"](points, values, method, bounds_error, fill_value)
    return table(xi)
