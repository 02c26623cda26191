"""Splines as FITPACK keeps them: knots, coefficients and a degree."""

from typing import Any

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import as_array, raised, strip, with_value
from zyg.scipy import _interpolate_data as data
from zyg.scipy._closures import plain
from zyg.scipy._interpolate_classes import (
    Watching,
    in_place_of,
    on_watched,
    refusing,
)
from zyg.scipy._interpolate_pieces import real_points, spline_at
from zyg.scipy._interpolate_splines import spline_derivative, spline_integral
from zyg.scipy._theirs import interpolate
from zyg.scipy._valued import real_and_wide

BY_DATA = "which knots a smoothing spline has depends on the data, by a search"


def of_tuple(tck):
    """Knots, coefficients and degree; several splines, if there are lists of coefficients."""
    t, c, k = tck
    several = isinstance(c, (list, tuple)) and np.ndim(c[0]) > 0
    return real_and_wide(t), [*map(real_and_wide, c)] if several else real_and_wide(c), k


def _at(x, t, c, k, nu, ext):
    """The derivative of a spline, with what FITPACK gives outside of the knots."""
    x = real_points(x)
    start, end = t[k], t[len(t) - k - 1]
    if ext == 3 and not nu:  # derivatives go on
        x = np.clip(x, start, end)
    y, inside = spline_at(t, c, k, x, nu), (strip(x) >= strip(start)) & (strip(x) <= strip(end))
    return np.where(inside, y, 0.0) if ext == 1 else y


@on_watched(interpolate.splev)
def splev(x, tck, der, ext):
    if isinstance(tck, interpolate.BSpline):
        if np.ndim(tck.c) > 1 or ext:
            raised(interpolate.splev, x, plain(tck), der, ext)
        return tck(x, der, True)
    t, c, k = of_tuple(tck)
    if isinstance(c, list) or np.ndim(c) > 1:
        return [splev(x, (t, part, k), der, ext) for part in c]
    interpolate.splev(strip(x), (strip(t), strip(c), k), der, ext)  # raises where SciPy does
    return _at(x, t, c, k, der, ext)


@on_watched(interpolate.splint)
def splint(a, b, tck, full_output):
    if isinstance(tck, interpolate.BSpline):
        return tck.integrate(a, b, extrapolate=False)
    if full_output:
        raise unknown_call("scipy.interpolate.splint", "its rule does not know 'full_output'")
    t, c, k = of_tuple(tck)
    if isinstance(c, list) or np.ndim(c) > 1:
        return [spline_integral(a, b, (t, part, k)) for part in c]
    y = spline_integral(a, b, (t, c, k))
    return with_value(y, (strip(y).item(),)) if np.ndim(y) == 0 else y


@on_watched(interpolate.splder)
def splder(tck, n):
    return tck.derivative(n) if isinstance(tck, interpolate.BSpline) else _derived(tck, n)


@on_watched(interpolate.splantider)
def splantider(tck, n):
    return tck.antiderivative(n) if isinstance(tck, interpolate.BSpline) else _derived(tck, -n)


def _derived(tck, n):
    t, c, k = of_tuple(tck)
    if isinstance(c, list):
        raise unknown_call("scipy.interpolate.splder", "its rule takes one spline at a time")
    return spline_derivative((t, c, k), n)


@on_watched(interpolate.splrep)
def splrep(x, y, w, xb, xe, k, task, s, t, full_output, per, quiet):
    interpolate.splrep(*plain((x, y, w, xb, xe, k, task, s, t, full_output, per, quiet)))
    if full_output or per or task == 1:
        why = "its rule does not know 'full_output', 'per' and task=1"
        raise unknown_call("scipy.interpolate.splrep", why)
    x, y = (real_and_wide(np.atleast_1d(as_array(v))) for v in (x, y))
    if t is None and (s if s is not None else w is not None):
        raise unknown_call("scipy.interpolate.splrep", f"with s > 0, {BY_DATA}")
    t, c = through(x, y, k, xb, xe) if t is None else nearest_to(x, y, t, k, w, xb, xe)
    return t, np.concatenate([c, np.zeros(k + 1)]), k


def through(x, y, k, start, end):
    return data.interpolating(x, y, k, data.inner_knots(x, k, start, end))


def nearest_to(x, y, inner, k, w, start, end):
    first, last = (x[:1] if start is None else start), (x[-1:] if end is None else end)
    ends = [[np.reshape(as_array(end), (1,))] * (k + 1) for end in (first, last)]
    t = real_and_wide(np.concatenate([*ends[0], as_array(inner), *ends[1]]))
    return t, data.fitted(x, y, t, k, w)


class Univariate(Watching):
    """Splines of one variable as objects, which keep them as FITPACK does."""

    ext: Any
    _eval_args: Any
    kept = ("_eval_args",)
    refused = ("roots", "derivatives", "get_knots", "get_coeffs", "get_residual")
    roots, derivatives, get_knots, get_coeffs, get_residual = map(refusing, refused)
    set_smoothing_factor = refusing("set_smoothing_factor")

    def take(self, x, y, w=None, bbox=(None, None), k=3, s=0, t=None, **options):
        if t is None and (s is None or s > 0):
            raise unknown_call("scipy.interpolate.UnivariateSpline", f"with s > 0, {BY_DATA}")
        x, y = real_and_wide(x), real_and_wide(y)
        made = through(x, y, k, *bbox) if t is None else nearest_to(x, y, t, k, w, *bbox)
        self._eval_args = (*made, k)

    def __call__(self, x, nu=0, ext=None):
        if (y := self.by_scipy("__call__", x, nu, ext)) is not NotImplemented:
            return y
        mode = _MODES.get(self.ext if ext is None else ext)
        if mode in (None, 2) or not 0 <= nu <= self._eval_args[2]:
            inner = self.with_kept(plain(self._eval_args))
            self.scipys.__call__(inner, strip(x), nu, ext)  # raises where SciPy does
        t, c, k = self._eval_args
        return _at(x, t, c, k, nu, mode)

    def _of(self, tck, ext):
        made = self.with_kept(tck)
        made.ext = ext
        return made

    def derivative(self, n=1):
        if not self.watches():
            made = self.scipys.derivative(self, n)
            return self._of(made._eval_args, made.ext)
        return self._of(spline_derivative(self._eval_args, n), 1 if self.ext == 3 else self.ext)

    def antiderivative(self, n=1):
        return self._of(spline_derivative(self._eval_args, -n), self.ext)

    def integral(self, a, b):
        if (y := self.by_scipy("integral", a, b)) is not NotImplemented:
            return y
        return spline_integral(a, b, self._eval_args)


_MODES = {0: 0, "extrapolate": 0, 1: 1, "zeros": 1, 2: 2, "raise": 2, 3: 3, "const": 3}
for _class in (
    interpolate.UnivariateSpline,
    interpolate.InterpolatedUnivariateSpline,
    interpolate.LSQUnivariateSpline,
):
    in_place_of(_class, Univariate)
