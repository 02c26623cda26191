"""Formulas of distributions on the line and on intervals, by their names in scipy.stats.

A row is of the shapes' names, the support, which shapes are valid, and the formulas of the standard
distribution. A quantile that has no formula is found by SciPy, and moves by the distribution
function.
"""

from typing import Any

import numpy as np
from scipy import special as sp

from zyg.functions.kit import strip
from zyg.scipy._distributions_half_line import log_normal

WHOLE, LEFT, UNIT = (-np.inf, np.inf), (-np.inf, 0.0), (0.0, 1.0)


def positive(*shapes):
    return np.logical_and.reduce([s > 0 for s in np.broadcast_arrays(*shapes)], initial=True)


def by_sides(z, left, right):
    """`left(-|z|)` below 0, `right(|z|)` above, with the slopes of their side at 0."""
    below = strip(z) < 0
    return np.where(below, left(np.where(below, z, 0.0)), right(np.where(below, 0.0, z)))


def _halves(q, left, right):
    """`left` of a probability below 1/2, `right` of the rest of another."""
    below = strip(q) < 0.5
    return np.where(below, left(np.where(below, q, 0.5)), right(1 - np.where(below, 0.5, q)))


def _mirrored(rest, quantile):
    """The formulas of a symmetric distribution, from those of its right half.

    `rest` is the probability above z > 0, `quantile` where it is p < 1/2.
    """
    return {
        "cdf": lambda z, *s: by_sides(z, lambda z: rest(-z, *s), lambda z: 1 - rest(z, *s)),
        "sf": lambda z, *s: by_sides(z, lambda z: 1 - rest(-z, *s), lambda z: rest(z, *s)),
        "ppf": lambda q, *s: _halves(q, lambda p: -quantile(p, *s), lambda p: quantile(p, *s)),
    }


def _tail(z, k):
    """The logarithm of what exponnorm has beside the normal distribution."""
    return 0.5 / (k * k) - z / k + sp.log_ndtr(z - 1 / k)


def _gennorm_rest(z, b):
    middle = strip(z) == 0
    height = 0.5 * b / sp.gamma(1 / b)
    outer = sp.gammaincc(1 / b, np.where(middle, 1.0, z) ** b)
    return np.where(middle, 0.5 - height * z, 0.5 * outer)


def _bounded_density(z, a, b):
    end = (strip(z) == 0) | (strip(z) == 1)
    z = np.where(end, 0.5, z)
    y = np.log(b) - np.log(z) - np.log1p(-z) + log_normal(a + b * sp.logit(z))
    return np.where(end, -np.inf, y)


def _student(z, a, b):
    return z / np.sqrt(a + b + z * z)


def _skew_quantile(d, a, b):
    return (2 * d - 1) * np.sqrt(a + b) / (2 * np.sqrt(d * (1 - d)))


def _argus_mass(chi):
    return sp.gammainc(1.5, 0.5 * chi * chi)


_LOG_RANGE = {
    "logpdf": lambda z, a, b: -np.log(z) - np.log(np.log(b / a)),
    "cdf": lambda z, a, b: np.log(z / a) / np.log(b / a),
    "sf": lambda z, a, b: np.log(b / z) / np.log(b / a),
    "ppf": lambda q, a, b: a * (b / a) ** q,
    "isf": lambda q, a, b: b * (b / a) ** -q,
}
_ENDS = (lambda a, *more: a, lambda a, b: b)
Row = tuple[str, tuple[Any, Any], Any, dict[str, Any]]
LINE: dict[str, Row] = {
    "anglit": (
        "",
        (-np.pi / 4, np.pi / 4),
        positive,
        {
            "logpdf": lambda z: np.log(np.cos(2 * z)),
            "cdf": lambda z: np.sin(z + np.pi / 4) ** 2,
            "sf": lambda z: np.cos(z + np.pi / 4) ** 2,
            "ppf": lambda q: np.arcsin(np.sqrt(q)) - np.pi / 4,
        },
    ),
    "arcsine": (
        "",
        UNIT,
        positive,
        {
            "logpdf": lambda z: -np.log(np.pi) - 0.5 * (np.log(z) + np.log1p(-z)),
            "cdf": lambda z: 2 / np.pi * np.arcsin(np.sqrt(z)),
            "sf": lambda z: 2 / np.pi * np.arcsin(np.sqrt(1 - z)),
            "ppf": lambda q: np.sin(0.5 * np.pi * q) ** 2,
        },
    ),
    "argus": (
        "chi",
        UNIT,
        positive,
        {
            "logpdf": lambda z, chi: (
                3 * np.log(chi) + np.log(z) + 0.5 * np.log1p(-z * z)
                - 0.5 * chi * chi * (1 - z * z) - 0.5 * np.log(0.5 * np.pi)
                - np.log(_argus_mass(chi))
            ),
            "sf": lambda z, chi: _argus_mass(chi * np.sqrt(1 - z * z)) / _argus_mass(chi),
            "cdf": lambda z, chi: 1 - _argus_mass(chi * np.sqrt(1 - z * z)) / _argus_mass(chi),
        },
    ),
    "bradford": (
        "c",
        UNIT,
        positive,
        {
            "logpdf": lambda z, c: np.log(c) - np.log1p(c * z) - np.log(np.log1p(c)),
            "cdf": lambda z, c: np.log1p(c * z) / np.log1p(c),
            "ppf": lambda q, c: np.expm1(q * np.log1p(c)) / c,
        },
    ),
    "cosine": (
        "",
        (-np.pi, np.pi),
        positive,
        {
            "logpdf": lambda z: np.log1p(np.cos(z)) - np.log(2 * np.pi),
            "cdf": lambda z: (np.pi + z + np.sin(z)) / (2 * np.pi),
            "sf": lambda z: (np.pi - z - np.sin(z)) / (2 * np.pi),
        },
    ),
    "norminvgauss": (
        "a b",
        WHOLE,
        lambda a, b: (a > 0) & (np.abs(b) < a),
        {
            "logpdf": lambda z, a, b: (
                np.log(a / np.pi) + np.log(sp.k1e(a * np.sqrt(1 + z * z)))
                - 0.5 * np.log1p(z * z) + b * z - a * np.sqrt(1 + z * z) + np.sqrt(a * a - b * b)
            ),
        },
    ),
    "dweibull": (
        "c",
        WHOLE,
        positive,
        {
            "logpdf": lambda z, c: (
                np.log(0.5 * c) + sp.xlogy(c - 1, np.abs(z)) - np.abs(z) ** c
            ),
            **_mirrored(
                lambda z, c: 0.5 * np.exp(-(z**c)), lambda p, c: (-np.log(2 * p)) ** (1 / c)
            ),
        },
    ),
    "exponnorm": (
        "K",
        WHOLE,
        positive,
        {
            "logpdf": lambda z, k: _tail(z, k) - np.log(k),
            "cdf": lambda z, k: sp.ndtr(z) - np.exp(_tail(z, k)),
            "sf": lambda z, k: sp.ndtr(-z) + np.exp(_tail(z, k)),
        },
    ),
    "genhalflogistic": (
        "c",
        (0.0, lambda c: 1 / c),
        positive,
        {
            "logpdf": lambda z, c: (
                np.log(2.0) + (1 / c - 1) * np.log1p(-c * z)
                - 2 * np.log1p((1 - c * z) ** (1 / c))
            ),
            "cdf": lambda z, c: 2 / (1 + (1 - c * z) ** (1 / c)) - 1,
            "sf": lambda z, c: 2 - 2 / (1 + (1 - c * z) ** (1 / c)),
            "ppf": lambda q, c: (1 - ((1 - q) / (1 + q)) ** c) / c,
        },
    ),
    "genlogistic": (
        "c",
        WHOLE,
        positive,
        {
            "logpdf": lambda z, c: np.log(c) + sp.log_expit(-z) + c * sp.log_expit(z),
            "cdf": lambda z, c: np.exp(c * sp.log_expit(z)),
            "sf": lambda z, c: -np.expm1(c * sp.log_expit(z)),
            "logcdf": lambda z, c: c * sp.log_expit(z),
            "ppf": lambda q, c: -np.log(np.expm1(-np.log(q) / c)),
            "isf": lambda q, c: -np.log(np.expm1(-np.log1p(-q) / c)),
        },
    ),
    "gennorm": (
        "beta",
        WHOLE,
        positive,
        {
            "logpdf": lambda z, b: np.log(0.5 * b) - sp.gammaln(1 / b) - np.abs(z) ** b,
            **_mirrored(
                _gennorm_rest,
                lambda p, b: sp.gammainccinv(1 / b, 2 * p) ** (1 / b),
            ),
        },
    ),
    "gumbel_l": (
        "",
        WHOLE,
        positive,
        {
            "logpdf": lambda z: z - np.exp(z),
            "cdf": lambda z: -np.expm1(-np.exp(z)),
            "sf": lambda z: np.exp(-np.exp(z)),
            "logsf": lambda z: -np.exp(z),
            "ppf": lambda q: np.log(-np.log1p(-q)),
            "isf": lambda q: np.log(-np.log(q)),
        },
    ),
    "hypsecant": (
        "",
        WHOLE,
        positive,
        {
            "logpdf": lambda z: np.log(2 / np.pi) - np.logaddexp(z, -z),
            "cdf": lambda z: 2 / np.pi * np.arctan(np.exp(z)),
            "sf": lambda z: 2 / np.pi * np.arctan(np.exp(-z)),
            "ppf": lambda q: np.log(np.tan(0.5 * np.pi * q)),
            "isf": lambda q: -np.log(np.tan(0.5 * np.pi * q)),
        },
    ),
    "jf_skew_t": (
        "a b",
        WHOLE,
        positive,
        {
            "logpdf": lambda z, a, b: (
                (a + 0.5) * np.log1p(_student(z, a, b)) + (b + 0.5) * np.log1p(-_student(z, a, b))
                - (a + b - 1) * np.log(2.0) - sp.betaln(a, b) - 0.5 * np.log(a + b)
            ),
            "cdf": lambda z, a, b: sp.betainc(a, b, 0.5 * (1 + _student(z, a, b))),
            "sf": lambda z, a, b: sp.betainc(b, a, 0.5 * (1 - _student(z, a, b))),
            "ppf": lambda q, a, b: _skew_quantile(sp.betaincinv(a, b, q), a, b),
        },
    ),
    "johnsonsb": (
        "a b",
        UNIT,
        lambda a, b: (b > 0) & (a == a),
        {
            "logpdf": _bounded_density,
            "cdf": lambda z, a, b: sp.ndtr(a + b * sp.logit(z)),
            "sf": lambda z, a, b: sp.ndtr(-a - b * sp.logit(z)),
            "ppf": lambda q, a, b: sp.expit((sp.ndtri(q) - a) / b),
            "isf": lambda q, a, b: sp.expit((-sp.ndtri(q) - a) / b),
        },
    ),
    "johnsonsu": (
        "a b",
        WHOLE,
        lambda a, b: (b > 0) & (a == a),
        {
            "logpdf": lambda z, a, b: (
                np.log(b) - 0.5 * np.log1p(z * z) + log_normal(a + b * np.arcsinh(z))
            ),
            "cdf": lambda z, a, b: sp.ndtr(a + b * np.arcsinh(z)),
            "sf": lambda z, a, b: sp.ndtr(-a - b * np.arcsinh(z)),
            "ppf": lambda q, a, b: np.sinh((sp.ndtri(q) - a) / b),
            "isf": lambda q, a, b: np.sinh((-sp.ndtri(q) - a) / b),
        },
    ),
    "laplace_asymmetric": (
        "kappa",
        WHOLE,
        positive,
        {
            "logpdf": lambda z, k: (
                by_sides(z, lambda z: z / k, lambda z: -k * z) - np.log(k + 1 / k)
            ),
            "cdf": lambda z, k: by_sides(
                z,
                lambda z: np.exp(z / k) * k / (k + 1 / k),
                lambda z: 1 - np.exp(-k * z) / (k * k + 1),
            ),
            "sf": lambda z, k: by_sides(
                z,
                lambda z: 1 - np.exp(z / k) * k / (k + 1 / k),
                lambda z: np.exp(-k * z) / (k * k + 1),
            ),
            "ppf": lambda q, k: np.where(
                q < k * k / (k * k + 1),
                np.log(q * (1 + 1 / (k * k))) * k,
                -np.log((1 - q) * (k * k + 1)) / k,
            ),
        },
    ),
    "levy_l": (
        "",
        LEFT,
        positive,
        {
            "logpdf": lambda z: -0.5 * np.log(2 * np.pi) - 1.5 * np.log(-z) + 0.5 / z,
            "cdf": lambda z: sp.erf(np.sqrt(0.5 / np.abs(z))),
            "sf": lambda z: sp.erfc(np.sqrt(0.5 / np.abs(z))),
            "ppf": lambda q: -1 / sp.ndtri(0.5 * (q + 1)) ** 2,
            "isf": lambda q: -1 / sp.ndtri(0.5 * q) ** 2,
        },
    ),
    "loggamma": (
        "c",
        WHOLE,
        positive,
        {
            "logpdf": lambda z, c: c * z - np.exp(z) - sp.gammaln(c),
            "cdf": lambda z, c: sp.gammainc(c, np.exp(z)),
            "sf": lambda z, c: sp.gammaincc(c, np.exp(z)),
            "ppf": lambda q, c: np.log(sp.gammaincinv(c, q)),
            "isf": lambda q, c: np.log(sp.gammainccinv(c, q)),
        },
    ),
    "loguniform": ("a b", _ENDS, lambda a, b: (a > 0) & (b > a), _LOG_RANGE),
    "reciprocal": ("a b", _ENDS, lambda a, b: (a > 0) & (b > a), _LOG_RANGE),
    "moyal": (
        "",
        WHOLE,
        positive,
        {
            "logpdf": lambda z: -0.5 * (z + np.exp(-z) + np.log(2 * np.pi)),
            "cdf": lambda z: sp.erfc(np.exp(-0.5 * z) / np.sqrt(2)),
            "sf": lambda z: sp.erf(np.exp(-0.5 * z) / np.sqrt(2)),
            "ppf": lambda q: -np.log(2 * sp.erfcinv(q) ** 2),
            "isf": lambda q: -np.log(2 * sp.erfinv(q) ** 2),
        },
    ),
}  # fmt: skip
