"""Partial derivatives of distribution functions of scipy.special, and of their inverses.

A parameter p of F(p, x) = y, as a function of y and x, moves by 1 and by -dF/dx, over dF/dp.
"""

import math

import numpy as np

from zyg.functions.kit import composed, for_any_number, is_nowhere, scalar_rule, strip, with_value
from zyg.scipy import _special_table as _special_table
from zyg.scipy._incomplete import betainc_a, betainc_b, gammainc_a
from zyg.scipy._namespace import called_as
from zyg.scipy._special_slopes import (
    ROOT_2PI,
    betainc_x,
    boxcox_power,
    gammainc_x,
    of_parameters,
    stdtr_df,
    stdtr_t,
)
from zyg.scipy._theirs import special as sp

for_any_number(__name__)
_LEAST, _MOST = 1e-9, 1e10  # beyond these, a search from 0 on has found nothing

# Of counts: k is cut to a whole number, as SciPy does


def _binomial(k, n, p, y):
    k = np.floor(k)
    end = k >= np.floor(n)  # all is below
    return np.where(end, 0.0, -betainc_x(np.where(end, 1.0, n - k), k + 1, 1 - p, y))


def _negative_binomial(k, n, p, y):
    return betainc_x(n, np.floor(k) + 1, p, y)


def _ratio_slopes(n, m, x):
    """Those of the distribution of Fisher."""
    total = m + n * x
    w, a, b = n * x / total, 0.5 * n, 0.5 * m
    y = sp.betainc(a, b, w)
    steep = betainc_x(a, b, w, y) / total**2
    by_n = 0.5 * betainc_a(a, b, w, y) + steep * m * x
    return by_n, 0.5 * betainc_b(a, b, w, y) - steep * n * x, steep * n * m


def _searched(found, slope, least=0.0):
    """The slope of what a search has found; 0 where it has ended at one of its ends."""
    plain = strip(found)
    return np.where((plain <= least) | (plain >= _MOST), 0.0, slope)


def inverse(place, slopes, least=lambda *given: 0.0):
    """The partials of the argument at a place, where the value stands instead of it."""

    def partial(k):
        def of_arguments(*args):
            *given, found = args
            all_slopes = slopes(*given[:place], found, *given[place + 1 :])
            steep = all_slopes[place]
            slope = (1.0 if k == place else -all_slopes[k]) / steep
            return _searched(found, slope, least(*map(strip, given)))

        return of_arguments

    return tuple(map(partial, range(3)))


def _binomial_slopes(k, n, p):
    """Those of the distribution function, of which k and n are any numbers."""
    end = strip(k) >= strip(n)  # all is below
    a, b, rest = np.where(end, 1.0, n - k), k + 1, 1 - p
    y = sp.betainc(a, b, rest)
    by_a = betainc_a(a, b, rest, y)
    slopes = betainc_b(a, b, rest, y) - by_a, by_a, -betainc_x(a, b, rest, y)
    if is_nowhere(end):
        return slopes
    steep = p**b / b * sp.hyp2f1(b, 1, b + 1, p)
    ends = steep, -steep, 0.0
    return tuple(np.where(end, one, other) for one, other in zip(ends, slopes, strict=True))


def _negative_binomial_slopes(k, n, p):
    y = sp.betainc(n, k + 1, p)
    return betainc_b(n, k + 1, p, y), betainc_a(n, k + 1, p, y), betainc_x(n, k + 1, p, y)


# Noncentral chi squared


def noncentral_density(x, df, nc):
    """The density at x; by a power series where x or nc is small."""
    half, product = 0.5 * df, nc * x
    near = strip(product) < 1
    inner, root = np.where(near, product, 0.0), np.sqrt(np.where(near, 1.0, product))
    scale = np.exp(sp.xlogy(half - 1, 0.5 * x) - 0.5 * (x + nc) - sp.gammaln(half))
    by_series = 0.5 * scale * sp.hyp0f1(half, 0.25 * inner)
    ratio = np.where(near, 1.0, x) / np.where(near, 1.0, nc)
    distance = np.sqrt(np.where(near, 1.0, x)) - np.sqrt(np.where(near, 1.0, nc))
    waves = np.exp(-0.5 * distance**2) * sp.ive(half - 1, root)
    return np.where(near, by_series, 0.5 * ratio ** (0.5 * (half - 1)) * waves)


def _chndtr_nc(x, df, nc):
    return -noncentral_density(x, df + 2, nc)


# Of Kolmogorov


def kolmogorov_x(x, y):
    """Minus the density: of the theta function, by the series that converges."""
    low = strip(x) < 1
    left, right = np.where(low, x, 0.5), np.where(low, 1.0, x)
    odd = [(2 * k - 1) ** 2 * math.pi**2 / 4 for k in range(1, 6)]
    inner = sum((c / left**2 - 1) * np.exp(-0.5 * c / left**2) for c in odd)
    outer = sum((-1) ** (k - 1) * k * k * np.exp(-2 * k * k * right**2) for k in range(1, 6))
    far = -8 * right * outer
    none = strip(x) <= 0.04  # no number is as small as the density there
    return np.where(none, 0.0, np.where(low, -ROOT_2PI / left**2 * inner, far))


# Of Smirnov


def smirnov_d(n, d, y):
    """Minus the density, by the sum of the formula of Birnbaum and Tingey (1951)."""
    n, d = np.expand_dims(n, -1), np.expand_dims(d, -1)
    j = np.arange(np.max(strip(n), initial=0) + 1)
    above, below, first = 1 - d - j / n, d + j / n, j == 0
    inside = (j <= n) & (first | (strip(above) > 0))
    j = np.where(inside, j, 0.0)
    above, below = np.where(inside, above, 0.5), np.where(inside & ~first, below, 1.0)
    logs = sp.xlogy(n - j - 1, above) + j * np.log(below)
    weight = np.exp(logs - sp.betaln(j + 1, n - j + 1)) / (n + 1)
    share = np.where(first, 1.0, d / below)
    terms = weight * (j * above * (1 / n + d) / (below * below) - (n - j) * share)
    return np.sum(np.where(inside, terms, 0.0), axis=-1) + 0.0 * y


# Of Tukey: given by its quantiles (y^l - (1 - y)^l) / l


def _inside(y):
    inside = (strip(y) > 0) & (strip(y) < 1)
    return inside, np.where(inside, y, 0.5)


def _tukey_density(power, y):
    inside, y = _inside(y)
    return np.where(inside, 1 / (y ** (power - 1) + (1 - y) ** (power - 1)), 0.0)


def _tukey_power(x, power, y):
    _, inner = _inside(y)
    high, low = (
        boxcox_power(log, power, sp.boxcox(v, power))
        for log, v in ((np.log(inner), inner), (np.log1p(-inner), 1 - inner))
    )
    return -_tukey_density(power, y) * (high - low)


# Of beta, by the odds x / (1 - x)


def _of_odds(near, far):
    def formula(a, b, odds):
        large = strip(odds) > 1
        x = -np.expm1(-np.log1p(np.where(large, 1.0, odds)))  # the odds stand there once
        rest = 1 / (1 + np.where(large, odds, 1.0))  # of 1, where x is 1 but for rounding
        return np.where(large, far(b, a, rest), near(a, b, x))

    return formula


beta_below, beta_above = _of_odds(sp.betainc, sp.betaincc), _of_odds(sp.betaincc, sp.betainc)


_TABLE = {
    sp.bdtr: of_parameters(sp.bdtr, ["k", "n"], _binomial),
    sp.bdtrc: of_parameters(sp.bdtrc, ["k", "n"], lambda k, n, p, y: -_binomial(k, n, p, y)),
    sp.bdtri: of_parameters(
        sp.bdtri, ["k", "n"], lambda k, n, y, p: 1 / (_binomial(k, n, p, y) + 0 * p)
    ),
    sp.nbdtr: of_parameters(sp.nbdtr, ["k", "n"], _negative_binomial),
    sp.nbdtrc: of_parameters(
        sp.nbdtrc, ["k", "n"], lambda k, n, p, y: -_negative_binomial(k, n, p, y)
    ),
    sp.nbdtri: of_parameters(
        sp.nbdtri, ["k", "n"], lambda k, n, y, p: 1 / _negative_binomial(k, n, p, y)
    ),
    sp.fdtridfd: inverse(1, _ratio_slopes),
    sp.bdtrik: inverse(0, _binomial_slopes),
    sp.bdtrin: inverse(1, _binomial_slopes, least=lambda k, y, p: k),
    sp.nbdtrik: inverse(0, _negative_binomial_slopes),
    sp.nbdtrin: inverse(1, _negative_binomial_slopes),
    sp.pdtri: of_parameters(
        sp.pdtri, ["k"], lambda k, y, m: -1 / gammainc_x(np.floor(k) + 1, m, y)
    ),
    sp.pdtrik: (
        lambda p, m, k: _searched(k, -1 / gammainc_a(k + 1, m, p), _LEAST),
        lambda p, m, k: _searched(k, -gammainc_x(k + 1, m, p) / gammainc_a(k + 1, m, p), _LEAST),
    ),
    sp.gdtrib: (
        lambda a, p, x, b: -x * gammainc_x(b, a * x, p) / gammainc_a(b, a * x, p),
        lambda a, p, x, b: 1 / gammainc_a(b, a * x, p),
        lambda a, p, x, b: -a * gammainc_x(b, a * x, p) / gammainc_a(b, a * x, p),
    ),
    sp.chdtriv: (
        lambda p, x, v: 2 / gammainc_a(0.5 * v, 0.5 * x, p),
        lambda p, x, v: -gammainc_x(0.5 * v, 0.5 * x, p) / gammainc_a(0.5 * v, 0.5 * x, p),
    ),
    sp.stdtridf: (
        lambda p, t, df: _searched(df, 1 / stdtr_df(df, t, p)),
        lambda p, t, df: _searched(df, -stdtr_t(df, t, p) / stdtr_df(df, t, p)),
    ),
    sp.btdtria: (
        lambda p, b, x, a: 1 / betainc_a(a, b, x, p),
        lambda p, b, x, a: -betainc_b(a, b, x, p) / betainc_a(a, b, x, p),
        lambda p, b, x, a: -betainc_x(a, b, x, p) / betainc_a(a, b, x, p),
    ),
    sp.btdtrib: (
        lambda a, p, x, b: -betainc_a(a, b, x, p) / betainc_b(a, b, x, p),
        lambda a, p, x, b: 1 / betainc_b(a, b, x, p),
        lambda a, p, x, b: -betainc_x(a, b, x, p) / betainc_b(a, b, x, p),
    ),
    sp.chndtr: (
        lambda x, df, nc, y: noncentral_density(x, df, nc),
        of_parameters(sp.chndtr, ["df"], lambda *args: 0.0)[0],
        lambda x, df, nc, y: _chndtr_nc(x, df, nc),
    ),
    sp.chndtrix: (
        lambda p, df, nc, x: 1 / noncentral_density(x, df, nc),
        of_parameters(sp.chndtrix, ["df"], lambda *args: 0.0)[0],
        lambda p, df, nc, x: -_chndtr_nc(x, df, nc) / noncentral_density(x, df, nc),
    ),
    sp.chndtrinc: (
        lambda x, df, p, nc: _searched(
            nc, -noncentral_density(x, df, nc) / _chndtr_nc(x, df, nc), _LEAST
        ),
        of_parameters(sp.chndtrinc, ["df"], lambda *args: 0.0)[0],
        lambda x, df, p, nc: _searched(nc, 1 / _chndtr_nc(x, df, nc), _LEAST),
    ),
    sp.smirnov: of_parameters(sp.smirnov, ["n"], smirnov_d),
    sp.smirnovi: of_parameters(sp.smirnovi, ["n"], lambda n, p, d: 1 / smirnov_d(n, d, p)),
    sp.kolmogorov: (kolmogorov_x,),
    sp.kolmogi: (lambda p, x: 1 / kolmogorov_x(x, p),),
    sp.tklmbda: (lambda x, power, y: _tukey_density(power, y), _tukey_power),
}
for _function, _partials in _TABLE.items():
    scalar_rule(_function, *_partials)

# What is written in functions that have rules, as SciPy's value


def _by_formula(function):
    """Register a formula, for the derivative of a function whose values are SciPy's."""

    def register(formula):
        def of_numbers(*args):
            return with_value(formula(*args), (function(*map(strip, args)),))

        composed(function)(called_as(function, of_numbers))
        return formula

    return register


def _f_quantile(n, m, p):
    n, m = 0.5 * n, 0.5 * m
    return m / n * sp.betaincinv(n, m, p) / sp.betainccinv(m, n, p)


_FORMULAS = {
    sp.fdtr: lambda n, m, x: beta_below(0.5 * n, 0.5 * m, n * x / m),
    sp.fdtrc: lambda n, m, x: beta_above(0.5 * n, 0.5 * m, n * x / m),
    sp.fdtri: _f_quantile,
    sp.gdtr: lambda a, b, x: sp.gammainc(b, a * x),
    sp.gdtrc: lambda a, b, x: sp.gammaincc(b, a * x),
    sp.gdtrix: lambda a, b, p: sp.gammaincinv(b, p) / a,
    sp.gdtria: lambda p, b, x: sp.gammaincinv(b, p) / x,
    sp.chdtri: lambda v, p: 2 * sp.gammainccinv(0.5 * v, p),
    sp.nrdtrimn: lambda p, std, x: x - std * sp.ndtri(p),
    sp.nrdtrisd: lambda mean, p, x: (x - mean) / sp.ndtri(p),
}
for _function, _formula in _FORMULAS.items():
    _by_formula(_function)(_formula)
