"""Formulas of distributions that are families of others, by their names in scipy.stats.

A row is as in `_distributions_line`. What no elementary function gives, a constant that makes a
density one, is an integral by the trapezoidal rule over the whole line: of an analytic function
that falls off at both ends it is exact but for rounding (L. N. Trefethen and J. A. C. Weideman
2014). Written in np operations, it moves with every parameter.
"""

from typing import Any

import numpy as np

from zyg.functions.kit import strip, with_value
from zyg.scipy import _distribution_functions as _by_scipy
from zyg.scipy._distribution_functions import LOG_ROOT_2PI, log_normal
from zyg.scipy._distributions_line import UNIT, WHOLE
from zyg.scipy._distributions_noncentral import log_sum
from zyg.scipy._incomplete import last
from zyg.scipy._special_slopes import log1p_over, series
from zyg.scipy._theirs import special as sp
from zyg.scipy._theirs import stats

_HALF_LINE = (0.0, np.inf)


def as_scipys(name, method, formula):
    """A formula with SciPy's values."""
    scipys = getattr(getattr(stats, name), method)
    return lambda *args: with_value(formula(*args), (scipys(*map(strip, args)),))


# Of four parameters (J. R. M. Hosking 1994)


def _kappa_log(z, h, k):
    """The logarithm of the distribution function: smooth where h or k is 0."""
    u = np.exp(_by_scipy.log_extreme(z, k))
    return -u * log1p_over(-h * u)


def _kappa_density(z, h, k):
    return (1 - k) * _by_scipy.log_extreme(z, k) + (1 - h) * _kappa_log(z, h, k)


def _kappa_quantile(log, h, k):
    inner = np.log(-log * sp.exprel(h * log))
    return -inner * sp.exprel(k * inner)


def _kappa_least(h, k):
    bounded = strip(h) > 0
    log = np.log(np.where(bounded, h, 1.0))
    below = strip(k) < 0
    other = np.where(below, 1 / np.where(below, k, -1.0), -np.inf)
    return np.where(bounded, log * sp.exprel(-k * log), other)


def _kappa_most(h, k):
    bounded = strip(k) > 0
    return np.where(bounded, 1 / np.where(bounded, k, 1.0), np.inf) + 0 * h


# Of Pearson, of the third type: of mean 0 and variance 1, smooth where the skewness is 0


def _pearson_least(skew):
    right = strip(skew) > 0
    return np.where(right, -2 / np.where(right, skew, 1.0), -np.inf)


def _pearson_most(skew):
    left = strip(skew) < 0
    return np.where(left, -2 / np.where(left, skew, -1.0), np.inf)


def _log1p_second(u):
    """(log1p(u) - u) / u^2"""
    terms = [(-1) ** (k + 1) / (k + 2) for k in range(18)]
    return series(u, 0.1, terms, lambda u: (np.log1p(u) - u) / (u * u))


def _stirling(rest):
    """What Stirling's formula of log(gamma(1 / rest)) leaves."""
    terms = [1 / 12, 0, -1 / 360, 0, 1 / 1260, 0, -1 / 1680, 0, 1 / 1188]
    near = strip(rest) < 0.03
    small, a = np.where(near, rest, 0.0), 1 / np.where(near, 1.0, rest)
    by_series = small * sum(c * small**k for k, c in enumerate(terms) if c)
    return np.where(near, by_series, sp.gammaln(a) - (a - 0.5) * np.log(a) + a - LOG_ROOT_2PI)


def _pearson_density(z, skew):
    skew = np.where(np.abs(strip(skew)) < 0.000016, skew - strip(skew), skew)  # 0, as SciPy has it
    u = 0.5 * skew * z
    return z * z * _log1p_second(u) - np.log1p(u) - _stirling(0.25 * skew * skew) - LOG_ROOT_2PI


# The modified Bessel function of the second kind, by its order, too


def _log_bessel(order, x):
    """The logarithm of K times exp(x): int_0^inf exp(-x (cosh t - 1)) cosh(v t) dt."""
    order, x = np.broadcast_arrays(order, x)
    v, plain = np.abs(strip(order)), np.where(strip(x) > 0, strip(x), 1.0)
    most = np.arcsinh((v + 50) / plain) + np.arccosh(1 + 50 / plain)
    width = np.minimum(0.25, 0.5 * (v * v + plain * plain) ** -0.25)
    count = int(np.ceil(np.max(most / width, where=np.isfinite(v), initial=1.0)))
    t = last(most / count) * np.arange(count + 1)
    half = np.where(np.arange(count + 1) == 0, np.log(0.5), 0.0)
    order, x = last(order), last(x)
    logs = half - 2 * x * np.sinh(0.5 * t) ** 2
    u = order * t
    log_cosh = np.logaddexp(u, -u) - np.log(2.0)  # even, and smooth at 0
    return np.log(most / count) + log_sum(logs + log_cosh)


def _inverse_gauss(z, p, b):
    return (p - 1) * np.log(z) - 0.5 * b * (z - 1) ** 2 / z - np.log(2.0) - _log_bessel(p, b)


def _hyperbolic(z, p, a, b):
    root, spread = np.sqrt(1 + z * z), np.sqrt((a - b) * (a + b))
    scale = p * np.log(spread) - (p - 0.5) * np.log(a) - _log_bessel(p, spread) + spread
    density = b * z + _log_bessel(p - 0.5, a * root) - a * root + (p - 0.5) * np.log(root)
    return scale + density - LOG_ROOT_2PI


def _is_hyperbolic(p, a, b):
    return (np.abs(b) < a) & np.isfinite(p)


# Of Pareto on both sides, times a lognormal number (W. J. Reed and M. Jorgensen 2004)


def _log_ratio(x):
    """Of the probability above x to the density there."""
    return sp.log_ndtr(-x) - log_normal(x)


def _pareto_sides(z, u, s, a, b):
    w = (np.log(z) - u) / s
    return w, _log_ratio(a * s - w) + log_normal(w), _log_ratio(b * s + w) + log_normal(w)


def _pareto_density(z, u, s, a, b):
    _, right, left = _pareto_sides(z, u, s, a, b)
    return np.log(a) + np.log(b) - np.log(a + b) - np.log(z) + np.logaddexp(right, left)


def _pareto_part(side):
    def formula(z, u, s, a, b):
        w, right, left = _pareto_sides(z, u, s, a, b)
        return sp.ndtr(side * w) - side * (b * np.exp(right) - a * np.exp(left)) / (a + b)

    return formula


# Of Gauss's hypergeometric function


_TIMES = np.arange(-70, 71) * 0.08
_PLACES, _LOG_WEIGHTS = np.pi * np.sinh(_TIMES), np.log(0.08 * np.pi * np.cosh(_TIMES))


def _hypergeometric(x, a, b, c, z):
    a_, b_, c_, z_ = map(last, (a, b, c, z))
    # log(t^a (1 - t)^b (1 + z t)^-c) at t = 1 / (1 + exp(-s)).
    logs = a_ * sp.log_expit(_PLACES) + b_ * sp.log_expit(-_PLACES)
    total = log_sum(logs - c_ * np.log1p(z_ * sp.expit(_PLACES)) + _LOG_WEIGHTS)
    return sp.xlogy(a - 1, x) + sp.xlog1py(b - 1, -x) - c * np.log1p(z * x) - total


# As in `_distributions_line`.
SHAPED: dict[str, tuple[str, tuple[Any, Any], Any, dict[str, Any]]] = {
    "kappa4": (
        "h k",
        (_kappa_least, _kappa_most),
        lambda h, k: np.isfinite(h) & np.isfinite(k),
        {
            "logpdf": _kappa_density,
            "logcdf": _kappa_log,
            "cdf": lambda z, h, k: np.exp(_kappa_log(z, h, k)),
            "sf": lambda z, h, k: -np.expm1(_kappa_log(z, h, k)),
            "ppf": lambda q, h, k: _kappa_quantile(np.log(q), h, k),
            "isf": as_scipys("kappa4", "isf", lambda q, h, k: _kappa_quantile(np.log1p(-q), h, k)),
        },
    ),
    "vonmises_line": (
        "kappa",
        (-np.pi, np.pi),
        lambda kappa: kappa >= 0,
        {
            "logpdf": _by_scipy.log_angle_density,
            "cdf": lambda z, kappa: _by_scipy.angle_cdf(z, kappa),
            "sf": lambda z, kappa: _by_scipy.angle_sf(z, kappa),
        },
    ),
    "pearson3": (
        "skew",
        (_pearson_least, _pearson_most),
        np.isfinite,
        {"logpdf": _pearson_density},
    ),
    "geninvgauss": (
        "p b",
        _HALF_LINE,
        lambda p, b: np.isfinite(p) & (b > 0),
        {"logpdf": _inverse_gauss},
    ),
    "genhyperbolic": ("p a b", WHOLE, _is_hyperbolic, {"logpdf": _hyperbolic}),
    "dpareto_lognorm": (
        "u s a b",
        _HALF_LINE,
        lambda u, s, a, b: np.isfinite(u) & (s > 0) & (a > 0) & (b > 0),
        {"logpdf": _pareto_density, "cdf": _pareto_part(1), "sf": _pareto_part(-1)},
    ),
    "gausshyper": (
        "a b c z",
        UNIT,
        lambda a, b, c, z: (a > 0) & (b > 0) & (c == c) & (z > -1),
        {"logpdf": _hypergeometric},
    ),
}
