"""Formulas of distributions on the line and on intervals, by their names in scipy.stats.

A row is of the shapes' names, the support, which shapes are valid, and the formulas of the standard
distribution. A quantile that has no formula is found by SciPy, and moves by the distribution
function.
"""

import functools
import math
from typing import Any

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import is_complex, strip
from zyg.scipy._special_slopes import series
from zyg.scipy._theirs import special as sp

_TURN = 2 * np.pi
WHOLE, UNIT = (-np.inf, np.inf), (0.0, 1.0)


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


Row = tuple[str, tuple[Any, Any], Any, dict[str, Any]]
LINE: dict[str, Row] = {
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
    "gennorm": (
        "beta",
        WHOLE,
        positive,
        {
            "logpdf": lambda z, b: np.log(0.5 * b) - sp.gammaln(1 / b) - np.abs(z) ** b,
            **_mirrored(_gennorm_rest, _gennorm_quantile),
        },
    ),
}  # fmt: skip
