"""The classes of piecewise polynomials and B-splines."""

from typing import Any

import numpy as np

from zyg.functions.kit import as_array, strip
from zyg.scipy import _interpolate_data as data
from zyg.scipy._interpolate_classes import (
    Watching,
    attribute,
    in_place_of,
    making_splines,
    refusing,
)
from zyg.scipy._interpolate_pieces import (
    definite,
    moved,
    polynomial_at,
    polynomial_slopes,
    polynomial_sums,
    spline_at,
    spline_slopes,
    spline_sums,
)
from zyg.scipy._theirs import interpolate
from zyg.scipy._valued import with_formula

_MADE = isinstance(getattr(interpolate.BSpline, "c", None), property)  # of what is kept


class Polynomials(Watching):
    """Piecewise polynomials."""

    axis: int
    c: Any
    x: Any
    kept = "c", "x"
    if _MADE:
        c, x = attribute("c"), attribute("x")
    solve, roots, extend = map(refusing, ("solve", "roots", "extend"))

    def __call__(self, x, nu=0, extrapolate=None):
        if (y := self.by_scipy("__call__", x, nu, extrapolate)) is not NotImplemented:
            return y
        x, extrapolate = as_array(x), self.extrapolate if extrapolate is None else extrapolate
        y = polynomial_at(self.c, self.x, x, nu, extrapolate)
        return moved(y, self.axis, np.ndim(x))

    def derivative(self, nu=1):
        if (y := self.by_scipy("derivative", nu)) is not NotImplemented:
            return y
        if nu < 0:
            return self.antiderivative(-nu)
        return self.with_kept(polynomial_slopes(self.c, nu), self.x)

    def antiderivative(self, nu=1):
        if (y := self.by_scipy("antiderivative", nu)) is not NotImplemented:
            return y
        if nu <= 0:
            return self.derivative(-nu)
        made, c = self, self.c
        for _ in range(nu):
            c = polynomial_sums(c, self.x)
            made = self.with_kept(c, self.x)
        return made.without_period()

    def integrate(self, a, b, extrapolate=None):
        if (y := self.by_scipy("integrate", a, b, extrapolate)) is not NotImplemented:
            return y
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        periodic, sums = extrapolate == "periodic", polynomial_sums(self.c, self.x)

        def integral(p):
            return polynomial_at(sums, self.x, p, 0, periodic or extrapolate)

        return definite(integral, a, b, self.x[0], self.x[-1], periodic)


class Interpolants(Polynomials):
    """Piecewise polynomials made of data; `coefficients` makes them."""

    coefficients: Any

    def take(self, **given):
        self.follow(self.scipys, lambda: type(self).coefficients(**given), given)


class _Plain(Polynomials):
    """Those made of their coefficients."""

    def take(self, c, x, extrapolate, axis):
        c = data.wide(c)
        self.keep(np.moveaxis(c, (axis, axis + 1), (0, 1)) if axis else c, data.wide(x))


in_place_of(interpolate.PPoly, _Plain)
for _class, _coefficients in (
    (interpolate.CubicHermiteSpline, data.cubic_hermite),
    (interpolate.PchipInterpolator, data.pchip),
    (interpolate.Akima1DInterpolator, data.akima),
    (interpolate.CubicSpline, data.cubic_spline),
):
    in_place_of(_class, Interpolants, coefficients=staticmethod(_coefficients))


class Splines(Watching):
    """B-splines."""

    axis: int
    k: int
    tck: Any
    kept = "t", "c"
    if _MADE:
        t, c = attribute("t"), attribute("c")
    insert_knot = refusing("insert_knot")

    def take(self, t, c, k, extrapolate, axis):
        self.keep(data.wide(t), np.moveaxis(data.wide(c), axis, 0))

    def __call__(self, x, nu=0, extrapolate=None):
        if (y := self.by_scipy("__call__", x, nu, extrapolate)) is not NotImplemented:
            return y
        x, extrapolate = as_array(x), self.extrapolate if extrapolate is None else extrapolate
        y = spline_at(self.t, self.c, self.k, x, nu, extrapolate)
        return moved(y, self.axis, np.ndim(x))

    def follow(self, function, formula, given):
        """The same by the knots alone: of coefficients, few digits may be known."""
        t, c = formula()
        self.keep(with_formula(function, self.t, lambda: t, given), c)

    def _with(self, t, c, k):
        made = self.with_kept(t, c)
        made.k = k
        return made

    def derivative(self, nu=1):
        if (y := self.by_scipy("derivative", nu)) is not NotImplemented:
            return y
        return self._with(*spline_derivative(self.tck, nu))

    def antiderivative(self, nu=1):
        if (y := self.by_scipy("antiderivative", nu)) is not NotImplemented:
            return y
        return self._with(*spline_derivative(self.tck, -nu)).without_period()

    def integrate(self, a, b, extrapolate=None):
        if (y := self.by_scipy("integrate", a, b, extrapolate)) is not NotImplemented:
            return y
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        return spline_integral(a, b, self.tck, extrapolate)


in_place_of(interpolate.BSpline, Splines)


def spline_derivative(tck, nu):
    """The knots, the coefficients and the degree of a derivative; of an integral, if nu < 0."""
    if nu > 0:
        interpolate.splder(_plain_tck(tck), nu)  # raises where SciPy does
    for _ in range(abs(nu)):
        tck = spline_slopes(*tck) if nu > 0 else spline_sums(*tck)
    return tck


def _plain_tck(tck):
    t, c, k = tck
    t, c = strip(t), strip(c)
    missing = np.zeros((max(len(t) - len(c), 0), *c.shape[1:]))
    return t, np.concatenate([c, missing]), k


def spline_integral(a, b, tck, extrapolate=False):
    """int_a^b of a spline; of what is 0 outside of its knots, if it is not to be extrapolated."""
    t, c, k = tck
    start, end, (t, c, k) = t[k], t[len(t) - k - 1], spline_sums(t, c, k)
    periodic = extrapolate == "periodic"
    if not extrapolate:
        a, b = np.clip(a, start, end), np.clip(b, start, end)
    return definite(lambda x: spline_at(t, c, k, x), a, b, start, end, periodic)


@making_splines(interpolate.make_interp_spline)
def _interpolating(x, y, k, t, bc_type, axis, **options):
    x, y = data.wide(x), np.moveaxis(data.wide(y), axis, 0)
    return data.interpolating(x, y, k, None if t is None else data.wide(t), bc_type)


@making_splines(interpolate.make_lsq_spline)
def _nearest(x, y, t, k, w, axis, **options):
    x, t, y = data.wide(x), data.wide(t), np.moveaxis(data.wide(y), axis, 0)
    return t, data.fitted(x, y, t, k, w)


making_splines(interpolate.make_smoothing_spline)(None)
