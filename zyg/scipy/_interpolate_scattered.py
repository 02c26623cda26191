"""Values at scattered points: radial functions, triangles, neighbours; griddata.

Where a point is one of the data, the radial function of that one has slope 0, as a kink has, and
the second derivative leaves it out: that is infinite, or none, for "linear" and
"thin_plate_spline".
"""

from typing import Any

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import as_array, strip
from zyg.scipy import _interpolate_data as data
from zyg.scipy._closures import plain
from zyg.scipy._interpolate_classes import CLASSES, Watching, in_place_of, on_watched
from zyg.scipy._interpolate_pieces import columns, real_points
from zyg.scipy._interpolate_tables import coordinates
from zyg.scipy._theirs import interpolate

# Radial functions, of the square of a distance, the distance, and its logarithm (0 for that of 0).
_KERNELS: dict[str, Any] = {
    "linear": lambda q, r, log: -r,
    "thin_plate_spline": lambda q, r, log: q * log,
    "cubic": lambda q, r, log: q * r,
    "quintic": lambda q, r, log: -(q * q * r),
    "multiquadric": lambda q, r, log: -np.sqrt(q + 1),
    "inverse_multiquadric": lambda q, r, log: 1 / np.sqrt(q + 1),
    "inverse_quadratic": lambda q, r, log: 1 / (q + 1),
    "gaussian": lambda q, r, log: np.exp(-q),
}


def _radial(kernel, x, y):
    """The kernel between all points of two sets."""
    gaps = np.expand_dims(x, 1) - y
    square = np.sum(gaps * gaps, axis=-1)
    none = strip(square) == 0
    known = np.where(none, 1.0, square)
    return _KERNELS[kernel](square, np.where(none, 0.0, np.sqrt(known)), 0.5 * np.log(known))


def _monomials(x, powers):
    """The products of coordinates, a column for each row of powers."""
    made = []
    for row in powers:
        term = np.ones(len(x))
        for axis, power in enumerate(row):
            for _ in range(power):
                term = term * x[:, axis]
        made.append(term)
    return np.stack(made, axis=1) if made else np.zeros((len(x), 0))


class Radial(Watching):
    """RBFInterpolator: radial functions around the points, and a polynomial."""

    kept = ("y", "d", "smoothing", "epsilon")
    y: Any
    d: Any
    d_shape: tuple[int, ...]
    d_dtype: Any
    smoothing: Any
    epsilon: Any
    kernel: str
    powers: Any
    neighbors: Any
    _shift: Any
    _scale: Any
    _coeffs: Any

    def take(self, y, d, smoothing, epsilon, **options):
        self._demand_all()
        y, d = data.wide(real_points(y)), data.wide(d)
        smoothing = np.broadcast_to(data.wide(smoothing), (len(d),))
        epsilon = self.epsilon if epsilon is None else epsilon
        self.keep(y, np.reshape(d, (len(d), -1)), smoothing, epsilon)

    def _demand_all(self):
        if self.neighbors is not None:
            why = "its rule does not know 'neighbors'"
            raise unknown_call("scipy.interpolate.RBFInterpolator", why)

    def _terms(self, x):
        """A row for each point, to be multiplied with the coefficients."""
        scaled = (x - self._shift) / self._scale
        near = _radial(self.kernel, x * self.epsilon, self.y * self.epsilon)
        return np.concatenate([near, _monomials(scaled, self.powers)], axis=1)

    def _coefficients(self):
        if not self.watches():
            c = self._coeffs
            return c[:, ::2] + 1j * c[:, 1::2] if self.d_dtype == np.complex128 else c
        count, terms = len(self.powers), self._terms(self.y)
        sides = np.transpose(terms[:, len(self.y) :])
        below = np.concatenate([sides, np.zeros((count, count))], axis=1)
        smooth = np.concatenate([self.smoothing, np.zeros(count)])
        matrix = np.concatenate([terms, below]) + np.diag(smooth)
        given = np.concatenate([self.d, np.zeros((count, np.shape(self.d)[1]))])
        return np.linalg.solve(matrix, given)

    def __call__(self, x):
        if (y := self.by_scipy("__call__", x)) is not NotImplemented:
            return y
        self._demand_all()
        x = data.wide(real_points(x))
        if np.ndim(x) != 2 or np.shape(x)[1] != np.shape(self.y)[1]:
            raise ValueError("x must have two axes, and as many columns as the points")
        return np.reshape(self._terms(x) @ self._coefficients(), (len(x), *self.d_shape))


class Scattered(Watching):
    """What both have: `_places` and `_heights` are the data, if some is watched."""

    kept = ("_places", "_heights", "fill_value")
    options: tuple[str, ...] = ()  # that a call may have
    _places: Any = None  # until they are taken
    _heights: Any = None
    points: Any
    values: Any
    fill_value: Any
    tri: Any
    tree: Any
    _scale_x: Any

    def take(self, points=None, values=None, x=None, y=None, fill_value=np.nan, **options):
        points, values = (x, y) if points is None else (points, values)
        known = getattr(points, "points", points)  # of a triangulation
        self.keep(data.wide(coordinates(known, 2)), data.wide(values), fill_value)

    def __call__(self, *args, **options):
        if (y := self.by_scipy("__call__", *args, **options)) is not NotImplemented:
            return y
        for option in options:
            if option not in self.options:
                name = f"scipy.interpolate.{self.scipys.__name__}"
                raise unknown_call(name, f"its rule does not know {option!r}")
        if options:
            inner = self.with_kept(None, None, plain(self.fill_value))
            self.scipys.__call__(inner, *plain(args), **plain(options))  # raises where SciPy does
        xi = coordinates(args if len(args) > 1 else args[0], np.shape(self.points)[1])
        rows = data.wide(np.reshape(xi, (-1, np.shape(xi)[-1])))
        places, heights = self._data()
        y = self._at(rows, self._scale_x(strip(rows)), places, heights, **options)
        return np.reshape(y, (*np.shape(xi)[:-1], *np.shape(heights)[1:]))

    def _data(self):
        raise NotImplementedError

    def _at(self, rows, scaled, places, heights):
        raise NotImplementedError


class Triangles(Scattered):
    """LinearNDInterpolator."""

    scale: Any
    offset: Any
    values_shape: tuple[int, ...]
    options = ("simplex_tolerance",)

    def _data(self):
        if self._places is not None:
            return self._places, self._heights
        points = self.tri.points
        if self.scale is not None:
            points = points * self.scale + self.offset
        return points, np.reshape(self.values, (len(points), *self.values_shape))

    def _at(self, rows, scaled, places, heights, *, simplex_tolerance=1.0):
        """By the barycentric coordinates in the triangle that holds a point."""
        found = self.tri.find_simplex(scaled, tol=simplex_tolerance * 100 * np.finfo(float).eps)
        corners = self.tri.simplices[np.maximum(found, 0)]
        vertices = places[corners]
        edges = vertices[:, :-1] - vertices[:, -1:]
        steps = np.expand_dims(rows - vertices[:, -1], -1)
        outside = found < 0
        safe = np.where(columns(outside, 1), 0.0, steps[..., 0])
        shares = np.linalg.solve(np.swapaxes(edges, 1, 2), np.expand_dims(safe, -1))[..., 0]
        shares = np.concatenate([shares, 1 - np.sum(shares, axis=1, keepdims=True)], axis=1)
        tall = heights[corners]
        y = np.sum(columns(shares, np.ndim(tall) - 2) * tall, axis=1)
        return np.where(columns(outside, np.ndim(y) - 1), self.fill_value, y)


class Nearest(Scattered):
    """NearestNDInterpolator."""

    def _data(self):
        return self.points, self.values if self._heights is None else self._heights

    def _at(self, rows, scaled, places, heights):
        if not np.isfinite(scaled).all():
            raise ValueError("the points must be finite")
        return heights[self.tree.query(scaled)[1]]


in_place_of(interpolate.RBFInterpolator, Radial)
in_place_of(interpolate.LinearNDInterpolator, Triangles)
in_place_of(interpolate.NearestNDInterpolator, Nearest)


@on_watched(interpolate.griddata)
def griddata(points, values, xi, method, fill_value, rescale, **options):
    interpolate.griddata(
        *plain((points, values, xi, method, fill_value, rescale)), **plain(options)
    )
    points = coordinates(points, 1) if isinstance(points, tuple) else as_array(points)
    if np.ndim(points) < 2 or np.shape(points)[-1] == 1:
        return _on_line(np.ravel(points), values, xi, method, fill_value)
    if method == "nearest":
        return CLASSES["NearestNDInterpolator"](points, values, rescale)(xi)
    if method != "linear":
        raise unknown_call("scipy.interpolate.griddata", f"method={method!r}")
    return CLASSES["LinearNDInterpolator"](points, values, fill_value, rescale)(xi, **options)


def _on_line(points, values, xi, method, fill_value):
    if isinstance(xi, tuple):
        (xi,) = xi
    outside = "extrapolate" if method == "nearest" else fill_value
    table = CLASSES["interp1d"](
        points, values, kind=method, axis=0, bounds_error=False, fill_value=outside
    )
    return table(xi)


@on_watched(interpolate.pchip_interpolate)
def pchip_interpolate(xi, yi, x, der, axis):
    spline = CLASSES["PchipInterpolator"](xi, yi, axis=axis)
    return spline(x, der) if np.ndim(der) == 0 else [spline(x, nu) for nu in der]
