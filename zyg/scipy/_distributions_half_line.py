"""Formulas of distributions of positive numbers, by their names in scipy.stats.

A row is of the shapes' names and the formulas of the standard distribution, and, where those are
others, the support and which shapes are valid. A quantile that has no
formula is found by SciPy, and moves by the distribution function.
"""

from typing import Any

import numpy as np

from zyg.functions.kit import strip
from zyg.scipy._distribution_functions import LOG_ROOT_2PI
from zyg.scipy._special_probabilities import beta_above, beta_below
from zyg.scipy._special_slopes import log1p_over, log_bessel
from zyg.scipy._theirs import special as sp


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
    return -LOG_ROOT_2PI - 1.5 * np.log(z) - 0.5 * ((z - mean) / mean) ** 2 / z


def _pareto_log(z, c):
    """log(1 + c z) / c, which is z at c = 0."""
    return z * log1p_over(c * z)


def _pareto_end(c):
    ends = strip(c) < 0
    return np.where(ends, -1 / np.where(ends, c, -1.0), np.inf)


def _not_negative(s):
    return s >= 0


HALF_LINE: dict[str, tuple[Any, ...]] = {
    "betaprime": (
        "a b",
        {
            "logpdf": lambda z, a, b: sp.xlogy(a - 1, z) - sp.xlog1py(a + b, z) - sp.betaln(a, b),
            "cdf": lambda z, a, b: beta_below(a, b, z),
            "sf": lambda z, a, b: beta_above(a, b, z),
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
            "sf": lambda z, c, d: -np.expm1(-d * np.log1p(z**-c)),
            "ppf": lambda q, c, d: (q ** (-1 / d) - 1) ** (-1 / c),
            "isf": lambda q, c, d: np.expm1(-np.log1p(-q) / d) ** (-1 / c),
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
    "invgauss": (
        "mu",
        {"logpdf": gauss_density, "cdf": gauss_below, "sf": gauss_above},
    ),
    "rice": (
        "b",
        {
            "logpdf": lambda z, b: np.log(z) - 0.5 * (z - b) ** 2 + log_bessel(z * b),
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
FLAT = (  # all derivatives are 0 at the ends
    "alpha", "dpareto_lognorm", "fatiguelife", "geninvgauss", "invgauss", "invweibull",
    "johnsonsb", "kstwobign", "levy", "levy_l", "powerlognorm", "wald",
)  # fmt: skip
