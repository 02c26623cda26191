"""Formulas of the noncentral distributions of chi squared, of Fisher and of Student.

The first two are mixtures: of central ones whose first degrees of freedom are 2 j more, where j is
a number of Poisson. A density is the central one, times a hypergeometric series; of the numbers j,
those around the largest term are summed, so that all terms are positive, and none is lost.
"""

from typing import Any

import numpy as np

from zyg.functions.kit import is_complex, strip
from zyg.scipy._special_noncentral import student_density
from zyg.scipy._special_probabilities import beta_above, beta_below
from zyg.scipy._theirs import special as sp

_HALF_LINE = (0.0, np.inf)


def _numbers(most_likely):
    """Whole numbers around these places, along a new last axis, as many as have weight."""
    plain = np.nan_to_num(np.asarray(most_likely, float), nan=0.0, posinf=0.0)
    low, high = np.maximum(plain[..., 0], 0.0), np.maximum(plain[..., 1], 0.0)
    first = np.floor(np.maximum(low - 10 * np.sqrt(low) - 30, 0))
    count = np.max(np.ceil(high + 10 * np.sqrt(high) + 30) - first, initial=1)
    return np.expand_dims(first, -1) + np.arange(int(count))


def _peak(v, a, c):
    """Where the largest term of the series stands."""
    if c is None:
        return 0.5 * (np.sqrt(a * a + 4 * v) - a)
    return 0.5 * (v - a + np.sqrt((v - a) ** 2 + 4 * v * c))


def log_sum(logs):
    """The logarithm of the sum of exponentials along the last axis."""
    most = np.max(strip(logs), axis=-1, keepdims=True)
    most = np.where(np.isfinite(most), most, 0.0)
    return most[..., 0] + np.log(np.sum(np.exp(logs - most), axis=-1))


def _log_series(v, a, c=None):
    """The logarithm of the sum of v^j (c)_j / (a)_j / j!: of 1F1, or of 0F1 without c."""
    v, a, *above = np.broadcast_arrays(v, a, *(() if c is None else (c,)))
    ratio = strip(v) / strip(a) * (strip(above[0]) if above else 1.0)
    near = ratio < 1
    small, large = np.where(near, v, 0.0), np.where(near, 1.0, v)
    term = total = 1.0 + 0 * small
    for j in range(24):  # at least as fast as that of exp(1)
        term = term * small / ((j + 1) * (a + j)) * ((above[0] + j) if above else 1.0)
        total = total + term
    peak = _peak(strip(large), strip(a), strip(above[0]) if above else None)
    j = _numbers(np.stack([peak, peak], -1))
    large, a, *above = (np.expand_dims(x, -1) for x in (large, a, *above))
    logs = j * np.log(large) - sp.gammaln(j + 1) - sp.gammaln(a + j) + sp.gammaln(a)
    if above:
        logs = logs + sp.gammaln(above[0] + j) - sp.gammaln(above[0])
    return np.where(near, np.log(total), log_sum(logs))


def _mixed(nc, peak, part):
    """The sum of ``part(j)`` over the numbers j of Poisson."""
    mean = 0.5 * nc
    plain, peak = np.broadcast_arrays(strip(mean), peak)
    ends = np.stack([np.minimum(plain, peak), np.maximum(plain, peak)], -1)
    j, mean = _numbers(ends), np.expand_dims(mean, -1)
    near = strip(mean) < 1  # at 0, a power has the derivatives that its logarithm has not
    small, large = np.where(near, mean, 0.0), np.where(near, 1.0, mean)
    far = np.exp(j * np.log(large) - large - sp.gammaln(j + 1))
    weights = np.where(near, small**j * np.exp(-small) / sp.gamma(j + 1), far)
    return np.sum(weights * part(j), axis=-1)


# Of chi squared


def _log_chi2(z, df, nc):
    half = 0.5 * df
    central = sp.xlogy(half - 1, 0.5 * z) - 0.5 * z - sp.gammaln(half) - np.log(2.0)
    return central - 0.5 * nc + _log_series(0.25 * nc * z, half)


def _of_chi2(function):
    def formula(z, df, nc):
        peak = _peak(strip(0.25 * nc * z), strip(0.5 * df), None)
        half, z = (0.5 * np.expand_dims(x, -1) for x in (df, z))
        return _mixed(nc, peak, lambda j: function(half + j, z))

    return formula


# Of Fisher


def odds_of(z, n, m):
    """n z / m; at 0 it moves with z alone where the density there is infinite, and not inf * 0."""
    ratio, end = n / m, (strip(z) == 0) & (strip(n) < 2)
    return z * np.where(end, strip(ratio), ratio)


def _log_f(z, n, m, nc):
    a, b, odds = 0.5 * n, 0.5 * m, n * z / m
    central = sp.xlogy(a - 1, z) + a * np.log(n / m) - (a + b) * np.log1p(odds) - sp.betaln(a, b)
    return central - 0.5 * nc + _log_series(0.5 * nc * odds / (1 + odds), a, a + b)


def _of_fisher(function):
    def formula(z, n, m, nc):
        odds, a, b = odds_of(z, n, m), 0.5 * n, 0.5 * m
        share = strip(odds) / (1 + strip(odds))
        peak = _peak(0.5 * strip(nc) * share, strip(a), strip(a + b))
        odds, a, b = (np.expand_dims(x, -1) for x in (odds, a, b))
        return _mixed(nc, peak, lambda j: function(a + j, b, odds))

    return formula


def _positive_but_last(*shapes):
    *positive, nc = np.broadcast_arrays(*shapes)
    return np.logical_and.reduce([s > 0 for s in positive]) & (nc >= 0)


# Of Student


def _log_t(z, df, nc):
    if any(map(is_complex, (z, df, nc))):
        raise TypeError("scipy.stats.nct is a distribution of real numbers")
    return np.log(student_density(df, nc, z))


# As in `_distributions_line`.
NONCENTRAL: dict[str, tuple[str, tuple[float, float], Any, dict[str, Any]]] = {
    "ncx2": (
        "df nc",
        _HALF_LINE,
        lambda df, nc: _positive_but_last(df, nc) & np.isfinite(df),
        {
            "logpdf": _log_chi2,
            "cdf": _of_chi2(lambda a, z: sp.gammainc(a, z)),
            "sf": _of_chi2(lambda a, z: sp.gammaincc(a, z)),
        },
    ),
    "ncf": (
        "dfn dfd nc",
        _HALF_LINE,
        _positive_but_last,
        {
            "logpdf": _log_f,
            "cdf": _of_fisher(beta_below),
            "sf": _of_fisher(beta_above),
        },
    ),
    "nct": (
        "df nc",
        (-np.inf, np.inf),
        lambda df, nc: (df > 0) & (nc == nc),
        {
            "logpdf": _log_t,
            "cdf": lambda z, df, nc: sp.nctdtr(df, nc, z),
            "sf": lambda z, df, nc: sp.nctdtr(df, -nc, -z),
            "ppf": lambda q, df, nc: sp.nctdtrit(df, nc, q),
            "isf": lambda q, df, nc: -sp.nctdtrit(df, -nc, q),
        },
    ),
}
