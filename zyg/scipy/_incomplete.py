"""The incomplete gamma and beta functions, differentiated in their shape parameters.

With a density p(t; a), whose logarithm has the slope log(t) - m in a, where m is the mean of
log(t), the derivative of the distribution function is an integral over either side of x:

    d/da P(a, x) = int_0^x p(t) (log(t) - m) dt = -int_x^inf p(t) (log(t) - m) dt

Taken over the side on which log(t) - m keeps its sign, nothing cancels. The integral runs by the
double exponential formula for functions that decay exponentially (H. Takahasi and M. Mori 1974),
whose nodes lie densely at the near end. Near an end of the support, where a small parameter spreads
the integrand over more scales than they reach, the density's series is summed instead. Against
mpmath, for parameters from 1e-3 to 1e4, the relative error is below 1e-9, and mostly that of
rounding in log p(x). Written in np operations, it can be differentiated again.
"""

from typing import Any

import numpy as np

from zyg.functions.kit import is_nowhere, strip
from zyg.scipy._theirs import special as sp

_TIMES = np.arange(-80, 85) * 0.05
_NODES = np.exp(_TIMES - np.exp(-_TIMES))
_WEIGHTS = 0.05 * _NODES * (1 + np.exp(-_TIMES))

# Gauss and Legendre's, from 0 to 1.
_PLACES, _SHARES = (0.5 * x for x in np.polynomial.legendre.leggauss(64))
_PLACES = _PLACES + 0.5


def last(x):
    """Numbers in columns, to meet a row of others."""
    return np.expand_dims(x, -1)


def _integral(scale, integrand):
    """int_0^inf integrand(s) ds, of an integrand that falls off over about `scale`."""
    s = last(scale) * _NODES
    return scale * np.sum(_WEIGHTS * integrand(s), axis=-1)


def _as(y, d):
    """The derivative `d` in the precision of the value `y`."""
    y = strip(y)
    narrow = isinstance(y, np.ndarray) and y.dtype == np.float32
    return np.astype(d, np.float32) if narrow else d


def gammainc_a(a, x, y):
    """d/da of gammainc(a, x): the slope of the log density is log(t) - psi(a)."""
    inside, a, x = _gamma_inside(a, x)
    height = np.exp(a * np.log(x) - x - sp.gammaln(a))
    return _as(y, np.where(inside, height * _gamma_side(a, x), 0.0))


def gamma_slope(a, x):
    """dx/da where gammainc(a, x) stays."""
    none = strip(a) <= 0  # all of it lies at 0, and nothing stays in its place
    inside, a, x = _gamma_inside(a, x)
    return np.where(none, np.nan, np.where(inside, -x * _gamma_side(a, x), 0.0))


def _gamma_inside(a, x):
    inside = (strip(x) > 0) & np.isfinite(strip(x)) & (strip(a) > 0)
    return (
        inside,
        np.where(inside, a, 1.0) * np.float64(1),
        np.where(inside, x, 1.0) * np.float64(1),
    )


def _gamma_side(a, x):
    """d/da of gammainc(a, x), over x times the density at x; by its series where x is small."""
    near = strip(x) < 0.5
    if is_nowhere(near):
        return _gamma_integral(a, x)
    inner, total = np.where(near, x, 0.25), 0.0
    factor: Any = 1.0
    log_x = np.log(inner) - sp.psi(1 + a)
    for n in range(18):
        total = total + factor * _term(a, n, log_x)
        factor = factor * -inner / (n + 1)
    return np.where(near, np.exp(inner) * total, _gamma_integral(a, np.where(near, 1.0, x)))


def _term(a, n, log_x):
    """d/da of x^(a + n) / (a + n) / Gamma(a), over x^(a + n) / Gamma(a)."""
    return log_x / (a + n) + n / (a * (a + n) ** 2)


def _gamma_integral(a, x):
    ahead = np.log(x) - sp.psi(a)
    below = strip(ahead) <= 0  # t = x exp(-s) runs below x, t = x (1 + s) above
    excess = np.maximum(a - 1, 0.0)
    rate = np.where(below, a - x + np.sqrt(x), x - excess + np.sqrt(excess))
    a_, x_, ahead_, below_ = last(a), last(x), last(ahead), last(below)

    def integrand(s):
        log_t = np.where(below_, -s, np.log1p(s))
        decay = np.where(below_, a_ * log_t - x_ * np.expm1(-s), (a_ - 1) * log_t - x_ * s)
        return np.exp(decay) * (ahead_ + log_t)

    return np.where(below, 1.0, -1.0) * _integral(1 / strip(rate), integrand)


def betainc_a(a, b, x, y):
    """d/da of betainc(a, b, x): the slope of the log density is log(t) - psi(a) + psi(a + b)."""
    return _as(y, _betainc_a(a, b, x, 1 - x))


def betainc_b(a, b, x, y):
    return _as(y, -_betainc_a(b, a, 1 - x, x))


def beta_slopes(a, b, x):
    """dx/da and dx/db where betainc(a, b, x) stays."""
    inside, a, b, x, rest = _beta_inside(a, b, x, 1 - x)
    by_a, by_b = _beta_side(a, b, x, rest), _beta_side(b, a, rest, x)
    return np.where(inside, -x * rest * by_a, 0.0), np.where(inside, x * rest * by_b, 0.0)


def odds_slopes(a, b, odds):
    """dv/da and dv/db where betainc(a, b, v / (1 + v)) stays."""
    away = (strip(odds) > 0) & np.isfinite(strip(odds))
    v = np.where(away, odds, 1.0)
    inside, a, b, x, rest = _beta_inside(a, b, 1 / (1 + 1 / v), 1 / (1 + v))
    by_a, by_b = _beta_side(a, b, x, rest), _beta_side(b, a, rest, x)
    inside = inside & away
    return np.where(inside, -v * by_a, 0.0), np.where(inside, v * by_b, 0.0)


def _betainc_a(a, b, x, rest):
    inside, a, b, x, rest = _beta_inside(a, b, x, rest)
    height = np.exp(a * np.log(x) + b * np.log(rest) - sp.betaln(a, b))
    return np.where(inside, height * _beta_side(a, b, x, rest), 0.0)


def _beta_inside(a, b, x, rest):
    inside = (strip(x) > 0) & (strip(rest) > 0)
    one = np.float64(1)
    x, rest = np.where(inside, x, 0.5) * one, np.where(inside, rest, 0.5) * one
    return inside, a * one, b * one, x, rest


def _beta_side(a, b, x, rest):
    """d/da of betainc(a, b, x), over x (1 - x) times the density at x; by series near its ends."""
    left = (strip(x) < 0.1) & (strip(b * x) < 1)
    right = (strip(rest) < 0.1) & (strip(a * rest) < 1)
    if is_nowhere(left | right):
        return _beta_integral(a, b, x, rest)
    middle = [np.where(left | right, 0.5, y) for y in (x, rest)]
    low = [np.where(left, y, inner) for y, inner in ((a, 1.0), (b, 1.0), (x, 0.05))]
    high = [np.where(right, y, inner) for y, inner in ((a, 1.0), (b, 1.0), (rest, 0.05))]
    y = np.where(left, _beta_left(*low), _beta_integral(a, b, *middle))
    return np.where(right, _beta_right(*high), y)


def _beta_left(a, b, x):
    log_x, factor, total = np.log(x) - sp.psi(1 + a) + sp.psi(a + b), 1.0, 0.0
    for n in range(22):
        total = total + factor * _term(a, n, log_x)
        factor = factor * (n + 1 - b) / (n + 1) * x
    return np.exp(-b * np.log1p(-x)) * total


def _beta_right(a, b, rest):
    """By what lies above: the factors of the series move with a, and so does the beta function."""
    mean, factor, slope, total = sp.psi(a) - sp.psi(a + b), 1.0, 0.0, 0.0
    for n in range(22):
        total = total + (slope - mean * factor) / (b + n)
        slope = (slope * (n + 1 - a) - factor) / (n + 1) * rest
        factor = factor * (n + 1 - a) / (n + 1) * rest
    return -np.exp(-a * np.log1p(-rest)) * total


def _beta_integral(a, b, x, rest):
    ahead = np.log(x) - sp.psi(a) + sp.psi(a + b)
    below = strip(ahead) <= 0  # t = x exp(-s) runs below x; 1 - t = (1 - x) exp(-s) above
    p, q = np.where(below, a, b), np.where(below, b, a)
    odds = np.where(below, x / rest, rest / x)
    bend = np.maximum(strip(q) - 1, 0.0) * strip(odds)
    scale = 1 / (strip(p) - bend + np.sqrt(bend * (1 + strip(odds))))
    p_, q_, odds_, ahead_, below_ = map(last, (p, q, odds, ahead, below))

    def integrand(s):
        log_other = np.log1p(-odds_ * np.expm1(-s))
        return np.exp((q_ - 1) * log_other - p_ * s) * (ahead_ + np.where(below_, -s, log_other))

    return _integral(scale, integrand) / np.where(below, rest, -x)


def angle_slope(kappa, x):
    """dx/dkappa where the distribution function of von Mises stays, for -pi <= x <= pi.

    The slope of the log density is cos(t) - i1(kappa) / i0(kappa); the integral runs from 0 to
    |x|, or from there to pi, as that changes its sign.
    """
    kappa = kappa * np.float64(1)
    mean = sp.i1e(kappa) / sp.i0e(kappa)
    turned = np.where(strip(x) < 0, -1.0, 1.0)
    x = x * turned
    below, far = np.cos(strip(x)) >= strip(mean), -1.0 + 0 * strip(x)
    steep = strip(kappa) > 20  # from there on, beyond `far` it is below exp(-40)
    far = np.where(steep, np.cos(strip(x)) - 40 / np.where(steep, strip(kappa), 40.0), far)
    start, end = np.where(below, 0.0, x), np.where(below, x, np.arccos(np.maximum(far, -1.0)))
    x_, start_, width_, kappa_, mean_ = map(last, (x, start, end - start, kappa, mean))
    t = start_ + width_ * _PLACES
    high = -2 * np.sin(0.5 * (t - x_)) * np.sin(0.5 * (t + x_))  # cos(t) - cos(x)
    integral = np.sum(_SHARES * width_ * np.exp(kappa_ * high) * (np.cos(t) - mean_), axis=-1)
    return turned * np.where(below, -integral, integral)
