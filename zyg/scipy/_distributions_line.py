"""Formulas of distributions on the line and on intervals, by their names in scipy.stats.

A row is of the shapes' names, the support, which shapes are valid, and the formulas of the standard
distribution. A quantile that has no formula is found by SciPy, and moves by the distribution
function.
"""

import functools
import math
from typing import Any

import numpy as np
from scipy import special as sp

from zyg.errors import unknown_call
from zyg.functions.kit import is_complex, strip
from zyg.scipy._distributions_half_line import log_normal
from zyg.scipy._special_slopes import series

_LOG_2, _TURN = np.log(2.0), 2 * np.pi
WHOLE, LEFT, UNIT = (-np.inf, np.inf), (-np.inf, 0.0), (0.0, 1.0)


def positive(*shapes):
    return np.logical_and.reduce([s > 0 for s in np.broadcast_arrays(*shapes)], initial=True)


def of_reals(formula):
    """A formula that is given real numbers only: SciPy would take the real parts of others."""

    @functools.wraps(formula)
    def checked(*args):
        if any(map(is_complex, args)):
            why = "SciPy would take their real parts"
            raise unknown_call("a distribution of scipy.stats, of complex numbers,", why, "")
        return formula(*args)

    return checked


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


def _gennorm_height(b):
    return 0.5 * b / sp.gamma(1 / b)


def _gennorm_rest(z, b):
    middle = strip(z) == 0
    outer = sp.gammaincc(1 / b, np.where(middle, 1.0, z) ** b)
    return np.where(middle, 0.5 - _gennorm_height(b) * z, 0.5 * outer)


def _gennorm_quantile(p, b):
    middle = strip(p) == 0.5
    outer = sp.gammainccinv(1 / b, 2 * np.where(middle, 0.25, p)) ** (1 / b)
    return np.where(middle, (0.5 - p) / _gennorm_height(b), outer)


def _cosine_below(u):
    """(u - sin(u)) / 2 pi, of the distance from the end."""
    terms = [(-1) ** k / math.factorial(2 * k + 3) for k in range(9)]
    return u**3 * series(u * u, 1.0, terms, lambda v: (1 - np.sinc(v**0.5 / np.pi)) / v) / _TURN


def _bounded_density(z, a, b):
    end = (strip(z) == 0) | (strip(z) == 1)
    z = np.where(end, 0.5, z)
    y = np.log(b) - np.log(z) - np.log1p(-z) + log_normal(a + b * sp.logit(z))
    return np.where(end, -np.inf, y)


def _of_johnson(place, point):
    """The formulas where a + b place(z) is a standard normal number; `point` is the inverse."""
    return {
        "cdf": lambda z, a, b: sp.ndtr(a + b * place(z)),
        "sf": lambda z, a, b: sp.ndtr(-a - b * place(z)),
        "ppf": lambda q, a, b: point((sp.ndtri(q) - a) / b),
        "isf": lambda q, a, b: point((-sp.ndtri(q) - a) / b),
    }


Row = tuple[str, tuple[Any, Any], Any, dict[str, Any]]
LINE: dict[str, Row] = {
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
    "johnsonsb": (
        "a b",
        UNIT,
        lambda a, b: (b > 0) & (a == a),
        {"logpdf": _bounded_density, **_of_johnson(sp.logit, sp.expit)},
    ),
    "johnsonsu": (
        "a b",
        WHOLE,
        lambda a, b: (b > 0) & (a == a),
        {
            "logpdf": lambda z, a, b: (
                np.log(b) - 0.5 * np.log1p(z * z) + log_normal(a + b * np.arcsinh(z))
            ),
            **_of_johnson(np.arcsinh, np.sinh),
        },
    ),
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
    "cosine": (
        "",
        (-np.pi, np.pi),
        positive,
        {
            "logpdf": lambda z: 2 * np.log(np.abs(np.cos(0.5 * z))) - np.log(np.pi),
            "cdf": lambda z: _cosine_below(np.pi + z),
            "sf": lambda z: _cosine_below(np.pi - z),
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
    "dgamma": (
        "a",
        WHOLE,
        positive,
        {
            "logpdf": lambda z, a: sp.xlogy(a - 1, np.abs(z)) - np.abs(z) - sp.gammaln(a) - _LOG_2,
            **_mirrored(
                lambda z, a: 0.5 * sp.gammaincc(a, z), lambda q, a: sp.gammainccinv(a, 2 * q)
            ),
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
            **_mirrored(_gennorm_rest, _gennorm_quantile),
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
}  # fmt: skip
