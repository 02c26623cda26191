"""Formulas of distributions of positive numbers, by their names in scipy.stats.

A row is of the shapes' names and the formulas of the standard distribution, and, where those are
others, the support and which shapes are valid. A quantile that has no
formula is found by SciPy, and moves by the distribution function.
"""

from typing import Any

import numpy as np
from scipy import special as sp

from zyg.functions.kit import strip
from zyg.scipy import _special_probabilities as _special_probabilities
from zyg.scipy._special_slopes import log1p_over

_LOG_ROOT_2PI = 0.5 * np.log(2 * np.pi)


def log_normal(z):
    return -0.5 * z * z - _LOG_ROOT_2PI


def _both_sides(z, mean, sign):
    """The logarithms of the two terms of the inverse Gaussian distribution function."""
    root = 1 / np.sqrt(z)
    near = sp.log_ndtr(sign * root * (z / mean - 1))
    return near, 2 / mean + sp.log_ndtr(-root * (z / mean + 1))


def gauss_below(z, mean):
    near, far = _both_sides(z, mean, 1)
    return np.exp(near) + np.exp(far)


def gauss_above(z, mean):
    near, far = _both_sides(z, mean, -1)
    return np.exp(near) * -np.expm1(far - near)


def gauss_density(z, mean):
    return -_LOG_ROOT_2PI - 1.5 * np.log(z) - 0.5 * ((z - mean) / mean) ** 2 / z


def _decay(z, a, b, c):
    """The logarithm of the rest of genexpon."""
    return -(a + b) * z - b * np.expm1(-c * z) / c


def _fatigue(z, c):
    return (np.sqrt(z) - 1 / np.sqrt(z)) / c


def _fatigue_quantile(t, c):
    return 0.25 * (c * t + np.sqrt((c * t) ** 2 + 4)) ** 2


def _pareto_log(z, c):
    """log(1 + c z) / c, which is z at c = 0."""
    return z * log1p_over(c * z)


def _pareto_end(c):
    ends = strip(c) < 0
    return np.where(ends, -1 / np.where(ends, c, -1.0), np.inf)


def _not_negative(s):
    return s >= 0


_MAXWELL = 0.5 * np.log(2 / np.pi)
HALF_LINE: dict[str, tuple[Any, ...]] = {
    "alpha": (
        "a",
        {
            "logpdf": lambda z, a: -2 * np.log(z) - sp.log_ndtr(a) + log_normal(a - 1 / z),
            "cdf": lambda z, a: sp.ndtr(a - 1 / z) / sp.ndtr(a),
            "ppf": lambda q, a: 1 / (a - sp.ndtri(q * sp.ndtr(a))),
        },
    ),
    "betaprime": (
        "a b",
        {
            "logpdf": lambda z, a, b: sp.xlogy(a - 1, z) - sp.xlog1py(a + b, z) - sp.betaln(a, b),
            "cdf": lambda z, a, b: sp.betainc(a, b, z / (1 + z)),
            "sf": lambda z, a, b: sp.betainc(b, a, 1 / (1 + z)),
            "ppf": lambda q, a, b: sp.betaincinv(a, b, q) / sp.betainccinv(b, a, q),
        },
    ),
    "burr": (
        "c d",
        {
            "logpdf": lambda z, c, d: (
                np.log(c) + np.log(d) + sp.xlogy(c * d - 1, z) - (d + 1) * np.log1p(z**c)
            ),
            "cdf": lambda z, c, d: z ** (c * d) * (1 + z**c) ** -d,
            "ppf": lambda q, c, d: (q ** (-1 / d) - 1) ** (-1 / c),
            "isf": lambda q, c, d: np.expm1(-np.log1p(-q) / d) ** (-1 / c),
        },
    ),
    "burr12": (
        "c d",
        {
            "logpdf": lambda z, c, d: (
                np.log(c) + np.log(d) + sp.xlogy(c - 1, z) - (d + 1) * np.log1p(z**c)
            ),
            "cdf": lambda z, c, d: -np.expm1(-d * np.log1p(z**c)),
            "sf": lambda z, c, d: np.exp(-d * np.log1p(z**c)),
            "logsf": lambda z, c, d: -d * np.log1p(z**c),
            "ppf": lambda q, c, d: np.expm1(-np.log1p(-q) / d) ** (1 / c),
            "isf": lambda q, c, d: np.expm1(-np.log(q) / d) ** (1 / c),
        },
    ),
    "chi": (
        "df",
        {
            "logpdf": lambda z, df: (
                (1 - 0.5 * df) * np.log(2.0)
                + sp.xlogy(df - 1, z)
                - 0.5 * z * z
                - sp.gammaln(0.5 * df)
            ),
            "cdf": lambda z, df: sp.gammainc(0.5 * df, 0.5 * z * z),
            "sf": lambda z, df: sp.gammaincc(0.5 * df, 0.5 * z * z),
            "ppf": lambda q, df: np.sqrt(2 * sp.gammaincinv(0.5 * df, q)),
            "isf": lambda q, df: np.sqrt(2 * sp.gammainccinv(0.5 * df, q)),
        },
    ),
    "exponpow": (
        "b",
        {
            "logpdf": lambda z, b: np.log(b) + sp.xlogy(b - 1, z) + z**b - np.expm1(z**b),
            "cdf": lambda z, b: -np.expm1(-np.expm1(z**b)),
            "sf": lambda z, b: np.exp(-np.expm1(z**b)),
            "ppf": lambda q, b: np.log1p(-np.log1p(-q)) ** (1 / b),
            "isf": lambda q, b: np.log1p(-np.log(q)) ** (1 / b),
        },
    ),
    "exponweib": (
        "a c",
        {
            "logpdf": lambda z, a, c: (
                np.log(a)
                + np.log(c)
                + sp.xlogy(a - 1, -np.expm1(-(z**c)))
                - z**c
                + sp.xlogy(c - 1, z)
            ),
            "cdf": lambda z, a, c: (-np.expm1(-(z**c))) ** a,
            "sf": lambda z, a, c: -sp.powm1(-np.expm1(-(z**c)), a),
            "ppf": lambda q, a, c: (-np.log1p(-(q ** (1 / a)))) ** (1 / c),
        },
    ),
    "fatiguelife": (
        "c",
        {
            "logpdf": lambda z, c: (
                np.log1p(z) - np.log(2 * c) - 1.5 * np.log(z) + log_normal(_fatigue(z, c))
            ),
            "cdf": lambda z, c: sp.ndtr(_fatigue(z, c)),
            "sf": lambda z, c: sp.ndtr(-_fatigue(z, c)),
            "ppf": lambda q, c: _fatigue_quantile(sp.ndtri(q), c),
            "isf": lambda q, c: _fatigue_quantile(-sp.ndtri(q), c),
        },
    ),
    "fisk": (
        "c",
        {
            "logpdf": lambda z, c: np.log(c) + sp.xlogy(c - 1, z) - 2 * np.log1p(z**c),
            "cdf": lambda z, c: z**c / (1 + z**c),
            "sf": lambda z, c: 1 / (1 + z**c),
            "ppf": lambda q, c: (q / (1 - q)) ** (1 / c),
            "isf": lambda q, c: ((1 - q) / q) ** (1 / c),
        },
    ),
    "foldcauchy": (
        "c",
        {
            "logpdf": lambda z, c: (
                np.log(1 / (1 + (z - c) ** 2) + 1 / (1 + (z + c) ** 2)) - np.log(np.pi)
            ),
            "cdf": lambda z, c: (np.arctan(z - c) + np.arctan(z + c)) / np.pi,
            "sf": lambda z, c: (np.arctan2(1.0, z - c) + np.arctan2(1.0, z + c)) / np.pi,
        },
        (0.0, np.inf),
        _not_negative,
    ),
    "foldnorm": (
        "c",
        {
            "logpdf": lambda z, c: np.logaddexp(log_normal(z - c), log_normal(z + c)),
            "cdf": lambda z, c: 0.5 * sum(sp.erf(v / np.sqrt(2)) for v in (z - c, z + c)),
            "sf": lambda z, c: sp.ndtr(c - z) + sp.ndtr(-z - c),
        },
        (0.0, np.inf),
        _not_negative,
    ),
    "genexpon": (
        "a b c",
        {
            "logpdf": lambda z, a, b, c: np.log(a - b * np.expm1(-c * z)) + _decay(z, a, b, c),
            "cdf": lambda z, a, b, c: -np.expm1(_decay(z, a, b, c)),
            "sf": lambda z, a, b, c: np.exp(_decay(z, a, b, c)),
            "logsf": _decay,
        },
    ),
    "genpareto": (
        "c",
        {
            "logpdf": lambda z, c: -(c + 1) * _pareto_log(z, c),
            "cdf": lambda z, c: -np.expm1(-_pareto_log(z, c)),
            "sf": lambda z, c: np.exp(-_pareto_log(z, c)),
            "logsf": lambda z, c: -_pareto_log(z, c),
            "ppf": lambda q, c: -np.log1p(-q) * sp.exprel(-c * np.log1p(-q)),
            "isf": lambda q, c: -np.log(q) * sp.exprel(-c * np.log(q)),
        },
        (0.0, _pareto_end),
        np.isfinite,
    ),
    "gompertz": (
        "c",
        {
            "logpdf": lambda z, c: np.log(c) + z - c * np.expm1(z),
            "cdf": lambda z, c: -np.expm1(-c * np.expm1(z)),
            "sf": lambda z, c: np.exp(-c * np.expm1(z)),
            "ppf": lambda q, c: np.log1p(-np.log1p(-q) / c),
            "isf": lambda q, c: np.log1p(-np.log(q) / c),
        },
    ),
    "halfgennorm": (
        "beta",
        {
            "logpdf": lambda z, b: np.log(b) - sp.gammaln(1 / b) - z**b,
            "cdf": lambda z, b: sp.gammainc(1 / b, z**b),
            "sf": lambda z, b: sp.gammaincc(1 / b, z**b),
            "ppf": lambda q, b: sp.gammaincinv(1 / b, q) ** (1 / b),
            "isf": lambda q, b: sp.gammainccinv(1 / b, q) ** (1 / b),
        },
    ),
    "halflogistic": (
        "",
        {
            "logpdf": lambda z: np.log(2.0) - z - 2 * np.log1p(np.exp(-z)),
            "cdf": lambda z: np.tanh(0.5 * z),
            "sf": lambda z: 2 * sp.expit(-z),
            "ppf": lambda q: 2 * np.arctanh(q),
            "isf": lambda q: -sp.logit(0.5 * q),
        },
    ),
    "invgauss": (
        "mu",
        {"logpdf": gauss_density, "cdf": gauss_below, "sf": gauss_above},
    ),
    "invweibull": (
        "c",
        {
            "logpdf": lambda z, c: np.log(c) - (c + 1) * np.log(z) - z**-c,
            "cdf": lambda z, c: np.exp(-(z**-c)),
            "sf": lambda z, c: -np.expm1(-(z**-c)),
            "ppf": lambda q, c: (-np.log(q)) ** (-1 / c),
            "isf": lambda q, c: (-np.log1p(-q)) ** (-1 / c),
        },
    ),
    "kappa3": (
        "a",
        {
            "logpdf": lambda z, a: np.log(a) - (1 / a + 1) * np.log(a + z**a),
            "cdf": lambda z, a: z * (a + z**a) ** (-1 / a),
            "ppf": lambda q, a: (a / (q**-a - 1)) ** (1 / a),
            "isf": lambda q, a: (a / np.expm1(-a * np.log1p(-q))) ** (1 / a),
        },
    ),
    "levy": (
        "",
        {
            "logpdf": lambda z: -_LOG_ROOT_2PI - 1.5 * np.log(z) - 0.5 / z,
            "cdf": lambda z: sp.erfc(np.sqrt(0.5 / z)),
            "sf": lambda z: sp.erf(np.sqrt(0.5 / z)),
            "ppf": lambda q: 1 / sp.ndtri(0.5 * q) ** 2,
            "isf": lambda q: 0.5 / sp.erfinv(q) ** 2,
        },
    ),
    "loglaplace": (
        "c",
        {
            "logpdf": lambda z, c: (
                np.log(0.5 * c)
                + np.where(z < 1, sp.xlogy(c - 1, z), -(c + 1) * np.log(np.where(z < 1, 1.0, z)))
            ),
            "cdf": lambda z, c: np.where(
                z < 1, 0.5 * z**c, 1 - 0.5 * np.where(z < 1, 1.0, z) ** -c
            ),
            "sf": lambda z, c: np.where(z < 1, 1 - 0.5 * z**c, 0.5 * np.where(z < 1, 1.0, z) ** -c),
            "ppf": lambda q, c: np.where(q < 0.5, 2 * q, 1 / (2 * (1 - q))) ** (1 / c),
            "isf": lambda q, c: np.where(q > 0.5, 2 * (1 - q), 1 / (2 * q)) ** (1 / c),
        },
    ),
    "lomax": (
        "c",
        {
            "logpdf": lambda z, c: np.log(c) - (c + 1) * np.log1p(z),
            "cdf": lambda z, c: -np.expm1(-c * np.log1p(z)),
            "sf": lambda z, c: np.exp(-c * np.log1p(z)),
            "logsf": lambda z, c: -c * np.log1p(z),
            "ppf": lambda q, c: np.expm1(-np.log1p(-q) / c),
            "isf": lambda q, c: np.expm1(-np.log(q) / c),
        },
    ),
    "maxwell": (
        "",
        {
            "logpdf": lambda z: _MAXWELL + 2 * np.log(z) - 0.5 * z * z,
            "cdf": lambda z: sp.gammainc(1.5, 0.5 * z * z),
            "sf": lambda z: sp.gammaincc(1.5, 0.5 * z * z),
            "ppf": lambda q: np.sqrt(2 * sp.gammaincinv(1.5, q)),
            "isf": lambda q: np.sqrt(2 * sp.gammainccinv(1.5, q)),
        },
    ),
    "mielke": (
        "k s",
        {
            "logpdf": lambda z, k, s: np.log(k) + sp.xlogy(k - 1, z) - (1 + k / s) * np.log1p(z**s),
            "cdf": lambda z, k, s: z**k * (1 + z**s) ** (-k / s),
            "ppf": lambda q, k, s: np.expm1(-np.log(q) * s / k) ** (-1 / s),
        },
    ),
    "nakagami": (
        "nu",
        {
            "logpdf": lambda z, nu: (
                np.log(2.0)
                + sp.xlogy(nu, nu)
                - sp.gammaln(nu)
                + sp.xlogy(2 * nu - 1, z)
                - nu * z * z
            ),
            "cdf": lambda z, nu: sp.gammainc(nu, nu * z * z),
            "sf": lambda z, nu: sp.gammaincc(nu, nu * z * z),
            "ppf": lambda q, nu: np.sqrt(sp.gammaincinv(nu, q) / nu),
            "isf": lambda q, nu: np.sqrt(sp.gammainccinv(nu, q) / nu),
        },
    ),
    "powerlognorm": (
        "c s",
        {
            "logpdf": lambda z, c, s: (
                np.log(c / s)
                - np.log(z)
                + log_normal(np.log(z) / s)
                + (c - 1) * sp.log_ndtr(-np.log(z) / s)
            ),
            "cdf": lambda z, c, s: -np.expm1(c * sp.log_ndtr(-np.log(z) / s)),
            "sf": lambda z, c, s: np.exp(c * sp.log_ndtr(-np.log(z) / s)),
            "logsf": lambda z, c, s: c * sp.log_ndtr(-np.log(z) / s),
            "ppf": lambda q, c, s: np.exp(-s * sp.ndtri((1 - q) ** (1 / c))),
            "isf": lambda q, c, s: np.exp(-s * sp.ndtri(q ** (1 / c))),
        },
    ),
    "rice": (
        "b",
        {
            "logpdf": lambda z, b: np.log(z) - 0.5 * (z - b) ** 2 + np.log(sp.i0e(z * b)),
            "cdf": lambda z, b: sp.chndtr(z * z, 2, b * b),
            "ppf": lambda q, b: np.sqrt(sp.chndtrix(q, 2, b * b)),
        },
        (0.0, np.inf),
        _not_negative,
    ),
    "wald": (
        "",
        {
            "logpdf": lambda z: gauss_density(z, 1.0),
            "cdf": lambda z: gauss_below(z, 1.0),
            "sf": lambda z: gauss_above(z, 1.0),
        },
    ),
}
STARTS_FLAT = (  # all derivatives are 0 at 0
    "alpha", "fatiguelife", "invgauss", "invweibull", "levy", "powerlognorm",
    "wald",
)  # fmt: skip
