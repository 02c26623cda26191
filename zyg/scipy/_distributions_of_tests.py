"""Formulas of the distributions of statistics of tests, and of sums of uniform numbers.

A row is as in `_distributions_line`. The range of k normal numbers, over a deviation that is
estimated, is a double integral of analytic functions that fall off on all sides: by the trapezoidal
rule, over the numbers and over the logarithm of the deviation.
"""

from typing import Any

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import strip
from zyg.scipy import _distribution_functions as _by_scipy
from zyg.scipy._distribution_functions import LOG_ROOT_2PI, log_normal
from zyg.scipy._distributions_line import UNIT, of_reals
from zyg.scipy._distributions_shaped import as_scipys
from zyg.scipy._incomplete import last
from zyg.scipy._special_probabilities import smirnov_d
from zyg.scipy._theirs import special as sp

_HALF_LINE = (0.0, np.inf)


# Of Kolmogorov: the series that converge fast below 1, and above


def _sides(z):
    low = strip(z) < 1
    return low, np.where(low, z, 0.5), np.where(low, 1.0, z)


def _low_series(x, weight):
    """log(sum of weight(c) exp(-c / 2)), where c = ((2 k - 1) pi / 2 x)^2."""
    inverse = (0.5 * np.pi / x) ** 2
    odd = [(2 * k - 1) ** 2 for k in range(1, 6)]
    terms = (weight(c * inverse) * np.exp(-0.5 * (c - 1) * inverse) for c in odd)
    return np.log(sum(terms)) - 0.5 * inverse


def _high_series(x, power):
    """log(sum of (-1)^(k - 1) k^power exp(-2 k^2 x^2))"""
    terms = ((-1) ** (k - 1) * k**power * np.exp(-2 * (k * k - 1) * x * x) for k in range(1, 6))
    return np.log(sum(terms)) - 2 * x * x


def _log_below(x):
    return LOG_ROOT_2PI - np.log(x) + _low_series(x, lambda c: 1.0)


def _log_above(x):
    return np.log(2.0) + _high_series(x, 0)


def _kolmogorov_density(z):
    low, left, right = _sides(z)
    inner = LOG_ROOT_2PI - 2 * np.log(left) + _low_series(left, lambda c: c - 1)
    return np.where(low, inner, np.log(8 * right) + _high_series(right, 2))


def _kolmogorov_below(z):
    low, left, right = _sides(z)
    return np.where(low, _log_below(left), np.log1p(-np.exp(_log_above(right))))


def _kolmogorov_above(z):
    low, left, right = _sides(z)
    return np.where(low, np.log1p(-np.exp(_log_below(left))), _log_above(right))


# The studentized range

_PLACES = np.arange(-60, 61) * 0.15
_LOG_WEIGHTS = log_normal(_PLACES) + np.log(0.15)


def _between(r):
    """The probability of normal numbers up to r less than each place."""
    below = sp.ndtr(_PLACES) - sp.ndtr(_PLACES - r)
    above = sp.ndtr(r - _PLACES) - sp.ndtr(-_PLACES)
    return np.where(_PLACES > 0, above, below)


def _to_power(x, power):
    positive = strip(x) > 0
    return np.where(positive, np.exp(power * np.log(np.where(positive, x, 1.0))), 0.0)


def _range_below(r, k):
    r, k = last(r), last(k)
    return np.sum(k * np.exp(_LOG_WEIGHTS) * _to_power(_between(r), k - 1), axis=-1)


def _range_density(r, k):
    r, k = last(r), last(k)
    both = np.exp(_LOG_WEIGHTS + log_normal(_PLACES - r))
    return np.sum(k * (k - 1) * both * _to_power(_between(r), k - 2), axis=-1)


def _over_deviations(df, part):
    """The integral of ``part(s)`` over the deviations s that df degrees of freedom estimate."""
    plain = np.minimum(np.where(strip(df) > 0, strip(df), 1.0), 1e12)
    low, high = 40 / plain + 7 / np.sqrt(plain), 0.5 * np.log1p(100 / plain) + 7 / np.sqrt(plain)
    width = np.minimum(0.1, 0.35 / np.sqrt(plain))
    count = int(np.ceil(np.max((low + high) / width, initial=1.0)))
    if count > 10_000:
        raise unknown_call(
            "scipy.stats.studentized_range", "its rule needs df of 0.05 and more", ""
        )
    step = (low + high) / count
    t = last(step) * np.arange(count + 1) - last(low)
    half = 0.5 * last(df)
    logs = half * (2 * t - np.expm1(2 * t)) + half * np.log(half) - half - sp.gammaln(half)
    return np.sum(2 * last(step) * np.exp(logs) * part(np.exp(t)), axis=-1)


@of_reals
def _studentized_below(z, k, df):
    wide = last(z), last(k)
    return _over_deviations(df, lambda s: _range_below(wide[0] * s, wide[1] + 0 * s))


def _studentized_density(z, k, df):
    wide = last(z), last(k)
    return _over_deviations(df, lambda s: s * _range_density(wide[0] * s, wide[1] + 0 * s))


# Sums of n uniform numbers


def _splines(z, n, found):
    """``found(f)`` of the densities f of the sums of n uniform numbers at z, z - 1, and so on."""
    z, n = np.broadcast_arrays(z, n)
    most = int(np.max(n, where=np.isfinite(n), initial=1.0))
    shifted = last(z) - np.arange(most + 1)
    plain = strip(shifted)
    f, y = np.where((plain >= 0) & (plain < 1), 1.0, 0.0) + 0 * shifted, 0 * z
    for m in range(1, most + 1):
        y = np.where(n == m, found(f), y)
        later = np.concatenate([f[..., 1:], 0 * f[..., :1]], axis=-1)
        f = (shifted * f + (m + 1 - shifted) * later) / m
    return y


@of_reals
def _sum_density(z, n):
    return _splines(z, n, lambda f: f[..., 0])


@of_reals
def _sum_below(z, n):
    return _splines(z, n + 1, lambda f: np.sum(f, axis=-1))


def _is_whole(n):
    return (n >= 1) & (n == np.round(n))


# As in `_distributions_line`.
OF_TESTS: dict[str, tuple[str, tuple[Any, Any], Any, dict[str, Any]]] = {
    "kstwobign": (
        "",
        _HALF_LINE,
        lambda: True,
        {
            "pdf": as_scipys("kstwobign", "pdf", lambda z: np.exp(_kolmogorov_density(z))),
            "logpdf": as_scipys("kstwobign", "logpdf", _kolmogorov_density),
            "cdf": lambda z: _by_scipy.kolmogorov_cdf(z),
            "sf": lambda z: sp.kolmogorov(z),
            "logcdf": _kolmogorov_below,
            "logsf": _kolmogorov_above,
            "isf": lambda q: sp.kolmogi(q),
        },
    ),
    "ksone": (
        "n",
        UNIT,
        _is_whole,
        {
            "pdf": lambda z, n: -smirnov_d(n, z, 0.0),
            "sf": lambda z, n: sp.smirnov(n, z),
            "cdf": lambda z, n: 1 - sp.smirnov(n, z),
            "isf": lambda q, n: sp.smirnovi(n, q),
        },
    ),
    "kstwo": (
        "n",
        (lambda n: 0.5 / n, 1.0),
        _is_whole,
        {
            "pdf": lambda z, n: _by_scipy.two_density(z, n),
            "cdf": lambda z, n: _by_scipy.two_cdf(z, n),
            "sf": lambda z, n: _by_scipy.two_sf(z, n),
            "ppf": lambda q, n: _by_scipy.two_ppf(q, n),
            "isf": lambda q, n: _by_scipy.two_isf(q, n),
        },
    ),
    "studentized_range": (
        "k df",
        _HALF_LINE,
        lambda k, df: (k > 1) & (df > 0),
        {
            "pdf": as_scipys("studentized_range", "pdf", _studentized_density),
            "cdf": _studentized_below,
        },
    ),
    "irwinhall": (
        "n",
        (0.0, lambda n: n),
        _is_whole,
        {
            "pdf": _sum_density,
            "cdf": _sum_below,
            "sf": lambda z, n: _sum_below(n - z, n),
        },
    ),
}
