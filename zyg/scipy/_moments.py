"""Mean, variance and entropy of the standard distributions, by their names in scipy.stats.

Where the integral diverges, what SciPy answers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.functions.kit import strip
from zyg.scipy._special_slopes import log_bessel
from zyg.scipy._theirs import special as sp


def _above(least, s, y, otherwise=np.inf):
    """`y` where the shape `s` is above `least`, and what SciPy has below."""
    return np.where(strip(s) > least, y, otherwise)


def _weibull_variance(c):
    return sp.gamma(1 + 2 / c) - sp.gamma(1 + 1 / c) ** 2


def _gengamma_variance(a, c):
    return sp.poch(a, 2 / c) - sp.poch(a, 1 / c) ** 2


def _f_variance(n, m):
    return _above(4, m, 2 * m * m * (n + m - 2) / (n * (m - 2) ** 2 * (m - 4)))


def _skewness(a):
    return np.sqrt(2 / np.pi) * a / np.sqrt(1 + a * a)


def _t_variance(df):
    return _above(1, df, _above(2, df, df / (df - 2)), np.nan)


def _gamma_entropy(a):
    return a + sp.gammaln(a) + (1 - a) * sp.psi(a)


def _t_entropy(df):
    half = 0.5 * df
    return (
        (half + 0.5) * (sp.psi(half + 0.5) - sp.psi(half)) + 0.5 * np.log(df) + sp.betaln(half, 0.5)
    )


def _beta_entropy(a, b):
    ends = (a - 1) * sp.psi(a) + (b - 1) * sp.psi(b)
    return sp.betaln(a, b) - ends + (a + b - 2) * sp.psi(a + b)


def _f_entropy(n, m):
    n, m = 0.5 * n, 0.5 * m
    spread = (1 - n) * sp.psi(n) - (1 + m) * sp.psi(m) + (n + m) * sp.psi(n + m)
    return np.log(m) - np.log(n) + sp.betaln(n, m) + spread


_NORMAL = 0.5 * (np.log(2 * np.pi) + 1)
_EULER = np.euler_gamma


def _noncentral_t_mean(df, nc):
    ratio = np.exp(sp.gammaln(0.5 * (df - 1)) - sp.gammaln(0.5 * df))
    return _above(1, df, nc * np.sqrt(0.5 * df) * ratio, np.nan)


def _noncentral_t_variance(df, nc):
    beyond = np.where(strip(df) > 2, df - 2, 1.0)
    variance = df * (1 + nc * nc) / beyond - _noncentral_t_mean(df, nc) ** 2
    return _above(2, df, variance, np.nan)


MOMENTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {  # the mean, the variance
    "norm": (lambda: 0.0, lambda: 1.0),
    "halfnorm": (lambda: np.sqrt(2 / np.pi), lambda: 1 - 2 / np.pi),
    "lognorm": (lambda s: np.exp(0.5 * s * s), lambda s: np.expm1(s * s) * np.exp(s * s)),
    "t": (lambda df: _above(1, df, 0 * df), _t_variance),
    "nct": (_noncentral_t_mean, _noncentral_t_variance),
    "laplace": (lambda: 0.0, lambda: 2.0),
    "logistic": (lambda: 0.0, lambda: np.pi**2 / 3),
    "gumbel_r": (lambda: _EULER, lambda: np.pi**2 / 6),
    "uniform": (lambda: 0.5, lambda: 1 / 12),
    "expon": (lambda: 1.0, lambda: 1.0),
    "rayleigh": (lambda: np.sqrt(np.pi / 2), lambda: 2 - np.pi / 2),
    "weibull_min": (lambda c: sp.gamma(1 + 1 / c), _weibull_variance),
    "pareto": (
        lambda b: _above(1, b, b / (b - 1)),
        lambda b: _above(2, b, b / ((b - 2) * (b - 1) ** 2)),
    ),
    "gamma": (lambda a: a, lambda a: a),
    "chi2": (lambda df: df, lambda df: 2 * df),
    "gengamma": (lambda a, c: sp.poch(a, 1 / c), _gengamma_variance),
    "invgamma": (
        lambda a: _above(1, a, 1 / (a - 1)),
        lambda a: _above(2, a, 1 / ((a - 1) ** 2 * (a - 2))),
    ),
    "beta": (lambda a, b: a / (a + b), lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1))),
    "f": (lambda n, m: _above(2, m, m / (m - 2)) + 0 * n, _f_variance),
    "skewnorm": (_skewness, lambda a: 1 - _skewness(a) ** 2),
    "poisson": (lambda mu: mu, lambda mu: mu),
    "binom": (lambda n, p: n * p, lambda n, p: n * p * (1 - p)),
    "nbinom": (lambda n, p: n * (1 - p) / p, lambda n, p: n * (1 - p) / (p * p)),
    "geom": (lambda p: 1 / p, lambda p: (1 - p) / (p * p)),
    "bernoulli": (lambda p: p, lambda p: p * (1 - p)),
}
ENTROPIES: dict[str, Callable[..., Any]] = {
    "norm": lambda: _NORMAL,
    "halfnorm": lambda: _NORMAL - np.log(2.0),
    "lognorm": lambda s: _NORMAL + np.log(s),
    "t": _t_entropy,
    "cauchy": lambda: np.log(4 * np.pi),
    "laplace": lambda: np.log(2.0) + 1,
    "logistic": lambda: 2.0,
    "gumbel_r": lambda: _EULER + 1,
    "uniform": lambda: 0.0,
    "expon": lambda: 1.0,
    "rayleigh": lambda: _EULER / 2 + 1 - 0.5 * np.log(2.0),
    "weibull_min": lambda c: _EULER - _EULER / c - np.log(c) + 1,
    "pareto": lambda b: 1 + 1 / b - np.log(b),
    "gamma": _gamma_entropy,
    "chi2": lambda df: _gamma_entropy(0.5 * df) + np.log(2.0),
    "invgamma": lambda a: a - (a + 1) * sp.psi(a) + sp.gammaln(a),
    "beta": _beta_entropy,
    "f": _f_entropy,
    "halfcauchy": lambda: np.log(2 * np.pi),
    "vonmises": lambda kappa: (
        np.log(2 * np.pi) + log_bessel(kappa) + kappa * (1 - sp.i1e(kappa) / sp.i0e(kappa))
    ),
    "genextreme": lambda c: _EULER * (1 - c) + 1,
    "bernoulli": lambda p: sp.entr(p) + sp.entr(1 - p),
}
