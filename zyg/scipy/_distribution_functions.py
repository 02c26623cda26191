"""Distribution functions and quantiles whose values SciPy knows better than a formula does.

Their partial derivatives are formulas. Where F(z; p) is the distribution function, a quantile z
moves by dz/dp = -(dF/dp) / (dF/dz).
"""

from typing import Any

import numpy as np

from zyg.errors import MissingRuleError
from zyg.functions.kit import is_complex, scalar_rule, strip
from zyg.scipy import _special_table as _special_table
from zyg.scipy._incomplete import angle_slope
from zyg.scipy._special_probabilities import kolmogorov_x
from zyg.scipy._special_slopes import log1p_over, log_bessel
from zyg.scipy._theirs import special as sp
from zyg.scipy._theirs import stats

LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)


def _rule(name: str, method: str, *partials: Any) -> Any:
    """A method of a distribution of SciPy's, and its partial derivatives."""
    scipys = getattr(getattr(stats, name), method)

    def value(*args):
        if any(map(is_complex, args)):  # SciPy would take the real parts
            raise TypeError(f"scipy.stats.{name}.{method} is a function of real numbers")
        return scipys(*args)

    return scalar_rule(value, *partials)


def _quantiles(name, density, slope):
    """The rules of `ppf` and `isf`: of the density, and of how a place moves with the parameter."""

    def rule(method, sign):
        return _rule(
            name, method, lambda q, p, z: sign / density(z, p), lambda q, p, z: slope(z, p)
        )

    return rule("ppf", 1), rule("isf", -1)


# Angles (von Mises)


def log_angle_density(z, kappa):
    half = np.sin(0.5 * z)
    return -2 * kappa * half * half - np.log(2 * np.pi) - log_bessel(kappa)


def _angle_density(z, kappa):
    return np.exp(log_angle_density(z, kappa))


def _by_kappa(z, kappa):
    turned = z - 2 * np.pi * np.round(strip(z) / (2 * np.pi))  # between -pi and pi
    return -angle_slope(kappa, turned) * _angle_density(z, kappa)


angle_cdf = _rule(
    "vonmises",
    "cdf",
    lambda z, kappa, y: _angle_density(z, kappa),
    lambda z, kappa, y: _by_kappa(z, kappa),
)
angle_sf = _rule(
    "vonmises",
    "sf",
    lambda z, kappa, y: -_angle_density(z, kappa),
    lambda z, kappa, y: -_by_kappa(z, kappa),
)
angle_ppf, angle_isf = _quantiles("vonmises", _angle_density, lambda z, k: angle_slope(k, z))


# The skew normal distribution


def log_skew_density(z, a):
    return np.log(2.0) - 0.5 * z * z - LOG_ROOT_2PI + sp.log_ndtr(a * z)


def _skew_density(z, a):
    return np.exp(log_skew_density(z, a))


def _skew_slope(z, a):
    """How the quantile moves with a."""
    log_slope = -0.5 * (a * z) ** 2 - LOG_ROOT_2PI - sp.log_ndtr(a * z)
    return np.exp(log_slope) / (1 + a * a)


skew_cdf = _rule(
    "skewnorm",
    "cdf",
    lambda z, a, y: _skew_density(z, a),
    # By the function of D. B. Owen, of which the rest of the distribution function is made.
    lambda z, a, y: -np.exp(-0.5 * z * z * (1 + a * a)) / (np.pi * (1 + a * a)),
)
skew_ppf, skew_isf = _quantiles("skewnorm", _skew_density, _skew_slope)


# The normal distribution between two ends


def _log_mass_value(a, b):
    """log(ndtr(b) - ndtr(a)), in the left tail."""
    turned = a > 0
    low, high = sp.log_ndtr(np.where(turned, -b, a)), sp.log_ndtr(np.where(turned, -a, b))
    less = low - high
    near = less > -np.log(2.0)
    inner, outer = np.where(near, less, -1.0), np.where(near, -1.0, less)
    return high + np.where(near, np.log(-np.expm1(inner)), np.log1p(-np.exp(outer)))


def log_normal(z):
    return -0.5 * z * z - LOG_ROOT_2PI


_log_mass: Any = scalar_rule(
    _log_mass_value,
    lambda a, b, y: -np.exp(log_normal(a) - y),
    lambda a, b, y: np.exp(log_normal(b) - y),
)


def log_cut_density(z, a, b):
    return log_normal(z) - _log_mass(a, b)


def _cut_density(z, a, b):
    return np.exp(log_cut_density(z, a, b))


cut_cdf: Any = _rule(
    "truncnorm",
    "cdf",
    lambda z, a, b, y: _cut_density(z, a, b),
    lambda z, a, b, y: -_cut_density(a, a, b) * cut_sf(z, a, b),
    lambda z, a, b, y: -_cut_density(b, a, b) * y,
)
cut_sf: Any = _rule(
    "truncnorm",
    "sf",
    lambda z, a, b, y: -_cut_density(z, a, b),
    lambda z, a, b, y: _cut_density(a, a, b) * y,
    lambda z, a, b, y: _cut_density(b, a, b) * cut_cdf(z, a, b),
)
cut_logcdf: Any = _rule(
    "truncnorm",
    "logcdf",
    lambda z, a, b, y: np.exp(log_cut_density(z, a, b) - y),
    lambda z, a, b, y: -_cut_density(a, a, b) * np.exp(cut_logsf(z, a, b) - y),
    lambda z, a, b, y: -_cut_density(b, a, b),
)
cut_logsf: Any = _rule(
    "truncnorm",
    "logsf",
    lambda z, a, b, y: -np.exp(log_cut_density(z, a, b) - y),
    lambda z, a, b, y: _cut_density(a, a, b),
    lambda z, a, b, y: _cut_density(b, a, b) * np.exp(cut_logcdf(z, a, b) - y),
)


def _start_slope(z, a, b):
    """How a quantile moves with the start of the support: by 1 where it lies there."""
    return np.exp(0.5 * (z * z - a * a)) * cut_sf(z, a, b)


def _end_slope(z, a, b):
    return np.exp(0.5 * (z * z - b * b)) * cut_cdf(z, a, b)


cut_ppf = _rule(
    "truncnorm",
    "ppf",
    lambda q, a, b, y: 1 / _cut_density(y, a, b),
    lambda q, a, b, y: _start_slope(y, a, b),
    lambda q, a, b, y: _end_slope(y, a, b),
)
cut_isf = _rule(
    "truncnorm",
    "isf",
    lambda q, a, b, y: -1 / _cut_density(y, a, b),
    lambda q, a, b, y: _start_slope(y, a, b),
    lambda q, a, b, y: _end_slope(y, a, b),
)


# Of Kolmogorov

kolmogorov_cdf = _rule("kstwobign", "cdf", lambda z, y: -kolmogorov_x(z, y))


def _no_slope(*args):
    raise MissingRuleError(
        "scipy.stats.kstwo.pdf has no rule: nor have second derivatives of kstwo.",
        "SciPy's density is a difference of values of its distribution function.",
        "differentiate once, or take kstwobign, the limit of large samples.",
    )


two_density: Any = _rule("kstwo", "pdf", _no_slope, _no_slope)


def _two_sided(method, sign):
    def by_z(z, n, y):
        return sign * two_density(z, n)

    def by_q(q, n, z):
        return sign / two_density(z, n)

    return _rule("kstwo", method, by_q if method in ("ppf", "isf") else by_z, _no_slope)


two_cdf, two_sf = _two_sided("cdf", 1), _two_sided("sf", -1)
two_ppf, two_isf = _two_sided("ppf", 1), _two_sided("isf", -1)


# Extreme values


def log_extreme(z, c):
    """log(1 - c z) / c, which is -z at c = 0."""
    return -z * log1p_over(-c * z)
