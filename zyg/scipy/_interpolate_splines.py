"""The classes of piecewise polynomials and splines of one variable, and functions of splines."""

import numpy as np
from scipy import interpolate

from zyg.errors import unknown_call
from zyg.functions.kit import as_array, composed, is_watched, strip, watched_leaves
from zyg.scipy import _interpolate_data as data
from zyg.scipy._interpolate_classes import Watching, attribute, in_place_of, refusing
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

# What SciPy's classes call the arrays that they keep; under the plain names are copies, if need be.
_HIDDEN = hasattr(interpolate.PPoly, "construct_fast") and hasattr(interpolate.PPoly, "_c")
_C, _X, _T = ("_c", "_x", "_t") if _HIDDEN else ("c", "x", "t")


class Polynomials(Watching):
    """Piecewise polynomials."""

    kept = _C, _X
    if _HIDDEN:
        c, x = attribute(_C), attribute(_X)
    solve, roots, extend = map(refusing, ("solve", "roots", "extend"))

    def __call__(self, x, nu=0, extrapolate=None):
        if not self.watches(x):
            return self.scipys.__call__(self, x, nu, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        y = polynomial_at(self.c, self.x, x, nu, extrapolate)
        return moved(y, self.axis, np.ndim(x))

    def derivative(self, nu=1):
        if not self.watches():
            return self.scipys.derivative(self, nu)
        if nu < 0:
            return self.antiderivative(-nu)
        return self.with_kept(polynomial_slopes(self.c, nu), self.x)

    def antiderivative(self, nu=1):
        if not self.watches():
            return self.scipys.antiderivative(self, nu)
        if nu <= 0:
            return self.derivative(-nu)
        made, c = self, self.c
        for _ in range(nu):
            c = polynomial_sums(c, self.x)
            made = self.with_kept(c, self.x)
        made.extrapolate = made.extrapolate if made.extrapolate != "periodic" else False
        return made

    def integrate(self, a, b, extrapolate=None):
        if not self.watches(a, b):
            return self.scipys.integrate(self, a, b, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        periodic, sums = extrapolate == "periodic", polynomial_sums(self.c, self.x)

        def integral(p):
            return polynomial_at(sums, self.x, p, 0, periodic or extrapolate)

        return definite(integral, a, b, self.x[0], self.x[-1], periodic)


class Interpolants(Polynomials):
    """Piecewise polynomials made of data; `coefficients` makes them."""

    def take(self, **given):
        x, c = type(self).coefficients(**given)
        setattr(self, _X, x)
        setattr(self, _C, c)


class _Plain(Polynomials):
    """Those made of their coefficients."""

    def take(self, c, x, extrapolate, axis):
        c = data.wide(c)
        setattr(self, _X, data.wide(x))
        setattr(self, _C, np.moveaxis(c, (axis, axis + 1), (0, 1)) if axis else c)


in_place_of(interpolate.PPoly, _Plain)
for _class, _coefficients in (
    (interpolate.CubicHermiteSpline, data.cubic_hermite),
    (interpolate.PchipInterpolator, data.pchip),
    (interpolate.Akima1DInterpolator, data.akima),
    (interpolate.CubicSpline, data.cubic_spline),
):
    in_place_of(_class, Interpolants, coefficients=staticmethod(_coefficients))
