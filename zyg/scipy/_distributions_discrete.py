"""Formulas of more distributions of whole numbers, by their names in scipy.stats.

A row is of the shapes' names, the support, which shapes are valid, and the formulas. Where there is
none of a distribution function, only the probabilities of the numbers have derivatives.
"""

from typing import Any

import numpy as np
from scipy import special as sp

from zyg.scipy._distributions_line import positive
from zyg.scipy._special_probabilities import noncentral_density

_LINE, _FROM_0 = (-np.inf, np.inf), (0.0, np.inf)


def _log_choose(n, k):
    return -np.log(n + 1) - sp.betaln(n - k + 1, k + 1)


def _laplace_below(k, a):
    right = k >= 0
    late = 1 - np.exp(-a * np.where(right, k, 0.0)) / (np.exp(a) + 1)
    return np.where(right, late, np.exp(a * (np.where(right, 0.0, k) + 1)) / (np.exp(a) + 1))


def _laplace_above(k, a):
    right = k >= 0
    late = np.exp(-a * np.where(right, k, 0.0)) / (np.exp(a) + 1)
    return np.where(right, late, 1 - np.exp(a * (np.where(right, 0.0, k) + 1)) / (np.exp(a) + 1))


def _difference(k, one, other):
    """The logarithm of the probability of k, the difference of two numbers of Poisson."""
    left = k < 0
    a, b = np.where(left, other, one), np.where(left, one, other)
    return np.log(2 * noncentral_density(2 * a, 2 * (np.abs(k) + 1), 2 * b))


def _difference_below(k, one, other):
    left = k < 0
    below = sp.chndtr(2 * other, np.where(left, -2 * k, 2.0), 2 * one)
    above = sp.chndtr(2 * one, np.where(left, 2.0, 2 * (k + 1)), 2 * other)
    return np.where(left, below, 1 - above)


DISCRETE: dict[str, tuple[str, tuple[Any, Any], Any, dict[str, Any]]] = {
    "betabinom": (
        "n a b",
        (0.0, lambda n, a, b: n),
        lambda n, a, b: (n >= 0) & (a > 0) & (b > 0),
        {
            "logpmf": lambda k, n, a, b: (
                _log_choose(n, k) + sp.betaln(k + a, n - k + b) - sp.betaln(a, b)
            )
        },
    ),
    "betanbinom": (
        "n a b",
        _FROM_0,
        lambda n, a, b: (n >= 0) & (a > 0) & (b > 0),
        {
            "logpmf": lambda k, n, a, b: (
                -np.log(n + k) - sp.betaln(n, k + 1) + sp.betaln(a + n, b + k) - sp.betaln(a, b)
            )
        },
    ),
    "boltzmann": (
        "lambda_ N",
        (0.0, lambda rate, n: n - 1),
        lambda rate, n: (rate > 0) & (n > 0),
        {
            "logpmf": lambda k, rate, n: np.log(np.expm1(-rate) / np.expm1(-rate * n)) - rate * k,
            "cdf": lambda k, rate, n: np.expm1(-rate * (k + 1)) / np.expm1(-rate * n),
        },
    ),
    "dlaplace": (
        "a",
        _LINE,
        positive,
        {
            "logpmf": lambda k, a: np.log(np.tanh(0.5 * a)) - a * np.abs(k),
            "cdf": _laplace_below,
            "sf": _laplace_above,
        },
    ),
    "logser": (
        "p",
        (1.0, np.inf),
        lambda p: (p > 0) & (p < 1),
        {"logpmf": lambda k, p: k * np.log(p) - np.log(k) - np.log(-np.log1p(-p))},
    ),
    "planck": (
        "lambda_",
        _FROM_0,
        positive,
        {
            "logpmf": lambda k, rate: np.log(-np.expm1(-rate)) - rate * k,
            "cdf": lambda k, rate: -np.expm1(-rate * (k + 1)),
            "sf": lambda k, rate: np.exp(-rate * (k + 1)),
            "logsf": lambda k, rate: -rate * (k + 1),
        },
    ),
    "skellam": (
        "mu1 mu2",
        _LINE,
        positive,
        {"logpmf": _difference, "cdf": _difference_below},
    ),
    "yulesimon": (
        "alpha",
        (1.0, np.inf),
        positive,
        {
            "logpmf": lambda k, alpha: np.log(alpha) + sp.betaln(k, alpha + 1),
            "cdf": lambda k, alpha: 1 - k * sp.beta(k, alpha + 1),
            "sf": lambda k, alpha: k * sp.beta(k, alpha + 1),
        },
    ),
}
