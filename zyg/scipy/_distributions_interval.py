"""More rows of such formulas: of powers, cut distributions and those of circles."""

import numpy as np

from zyg.functions.kit import strip
from zyg.scipy._distributions_line import UNIT, Row, positive
from zyg.scipy._theirs import special as sp


def _trapezoid(z, c, d, rising, flat, falling):
    """One of three values; slopes are those of its own part."""
    return np.where(strip(z) < strip(c), rising, np.where(strip(z) <= strip(d), flat, falling))


def _trapezoid_below(z, c, d):
    height = 1 / (d - c + 1)
    c_, d_ = np.where(strip(c) == 0, 1.0, c), np.where(strip(d) == 1, 0.0, d)
    return _trapezoid(
        z, c, d, z * z / c_ * height, (2 * z - c) * height, 1 - (1 - z) ** 2 / (1 - d_) * height
    )


def _trapezoid_density(z, c, d):
    c_, d_ = np.where(strip(c) == 0, 1.0, c), np.where(strip(d) == 1, 0.0, d)
    log = np.log(2.0) - np.log(d - c + 1)
    return log + _trapezoid(z, c, d, np.log(z / c_), 0.0 * z, np.log((1 - z) / (1 - d_)))


def _trapezoid_quantile(q, c, d):
    width, low, high = d - c + 1, _trapezoid_below(c, c, d), _trapezoid_below(d, c, d)
    rising = np.sqrt(np.where(strip(q) < strip(low), q * c * width, 1.0))
    falling = np.sqrt(np.where(strip(q) > strip(high), (1 - q) * width * (1 - d), 1.0))
    return _trapezoid(q, low, high, rising, 0.5 * (q * width + c), 1 - falling)


_DISC = {
    "logpdf": lambda z: np.log(2 / np.pi) + 0.5 * np.log1p(-z * z),
    "cdf": lambda z: 0.5 + (z * np.sqrt(1 - z * z) + np.arcsin(z)) / np.pi,
    "ppf": lambda q: 2 * sp.betaincinv(1.5, 1.5, q) - 1,
}
_WEIGHT = lambda b, c: -np.expm1(-b * np.log(c))  # noqa: E731 - of truncpareto


def _log_weight(b, c):
    """log|1 - c**-b|, of truncpareto."""
    rising = strip(b) < 0
    above = np.log(np.expm1(np.where(rising, -b, 1.0) * np.log(c)))
    return np.where(rising, above, np.log1p(-(c ** -np.where(rising, 1.0, b))))


INTERVAL: dict[str, Row] = {
    "rdist": (
        "c",
        (-1.0, 1.0),
        positive,
        {
            "logpdf": lambda z, c: (
                sp.xlog1py(0.5 * c - 1, -z * z) - sp.betaln(0.5, 0.5 * c)
            ),
            "cdf": lambda z, c: sp.betainc(0.5 * c, 0.5 * c, 0.5 * (1 + z)),
            "sf": lambda z, c: sp.betainc(0.5 * c, 0.5 * c, 0.5 * (1 - z)),
            "ppf": lambda q, c: 2 * sp.betaincinv(0.5 * c, 0.5 * c, q) - 1,
        },
    ),
    "semicircular": ("", (-1.0, 1.0), positive, _DISC),
    "trapezoid": (
        "c d",
        UNIT,
        lambda c, d: (c >= 0) & (c <= d) & (d <= 1),
        {
            "logpdf": _trapezoid_density,
            "cdf": _trapezoid_below,
            "ppf": _trapezoid_quantile,
        },
    ),
    "triang": (
        "c",
        UNIT,
        lambda c: (c >= 0) & (c <= 1),
        {
            "logpdf": lambda z, c: _trapezoid_density(z, c, c),
            "cdf": lambda z, c: _trapezoid_below(z, c, c),
            "ppf": lambda q, c: _trapezoid_quantile(q, c, c),
        },
    ),
    "truncpareto": (
        "b c",
        (1.0, lambda b, c: c),
        lambda b, c: (b != 0) & (c > 1),
        {
            "logpdf": lambda z, b, c: np.log(b / _WEIGHT(b, c)) - (b + 1) * np.log(z),
            "cdf": lambda z, b, c: _WEIGHT(b, z) / _WEIGHT(b, c),
            "logcdf": lambda z, b, c: _log_weight(b, z) - _log_weight(b, c),
            "sf": lambda z, b, c: (z**-b - c**-b) / _WEIGHT(b, c),
            "ppf": lambda q, b, c: (1 - q * _WEIGHT(b, c)) ** (-1 / b),
            "isf": lambda q, b, c: (c**-b + q * _WEIGHT(b, c)) ** (-1 / b),
        },
    ),
}  # fmt: skip
