"""Formulas of more distributions of whole numbers, by their names in scipy.stats.

A row is of the shapes' names, the support, which shapes are valid, and the formulas. Where there is
none of a distribution function, only the probabilities of the numbers have derivatives.
"""

from typing import Any

import numpy as np

from zyg.functions.kit import strip
from zyg.scipy._distributions_line import of_reals, positive
from zyg.scipy._distributions_noncentral import log_sum
from zyg.scipy._special_probabilities import noncentral_density
from zyg.scipy._theirs import special as sp

_LINE, _FROM_0 = (-np.inf, np.inf), (0.0, np.inf)


def _is_count(n):
    return (n >= 0) & (n == np.floor(n)) & np.isfinite(n)


def is_probability(p):
    return (p >= 0) & (p <= 1)


def log_choose(n, k):
    return -np.log(n + 1) - sp.betaln(n - k + 1, k + 1)


def with_ends(log, product):
    """A density, which moves at chances of 0 and 1, and its logarithm, which is infinite there."""

    def pmf(k, *shapes):
        end = (strip(shapes[-1]) == 0) | (strip(shapes[-1]) == 1)
        return np.where(end, product(k, *shapes), np.exp(log(k, *shapes)))

    return {"logpmf": log, "pmf": pmf}


def choose(n, k):
    return np.exp(np.minimum(log_choose(n, k), 700.0))  # beyond, beside a power that is 0


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


# Sums of powers, by the formula of Euler and Maclaurin

_EULER_MACLAURIN = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000,
)  # fmt: skip
_HEAD = 12  # terms that are added one by one


def _after(a, q):
    """The sum of k^-a from k = q on, less the integral."""
    total, factor = 0.5, a / q
    for j, c in enumerate(_EULER_MACLAURIN):
        total = total + c * factor
        factor = factor * (a + 2 * j + 1) * (a + 2 * j + 2) / (q * q)
    return total * np.exp(-a * np.log(q))


def _head(a, first):
    k = np.expand_dims(first, -1) + np.arange(_HEAD)
    return np.sum(np.exp(-np.expand_dims(a, -1) * np.log(k)), axis=-1)


def _powers_from(a, first):
    """The sum of k^-a over k from `first` on, for a > 1."""
    q = first + _HEAD
    return _head(a, first) + _after(a, q) + np.exp((1 - a) * np.log(q)) / (a - 1)


def _powers(a, first, last):
    """The sum of k^-a over k from `first` to `last`."""
    q, end = first + _HEAD, last + 1 + _HEAD
    log = np.log(end / q)
    integral = np.exp((1 - a) * np.log(q)) * log * sp.exprel((1 - a) * log)
    rest = _head(a, first) - _head(a, last + 1) + _after(a, q) - _after(a, end)
    return rest + integral


# Of R. A. Fisher: of numbers that do not move, and of odds


def _log_weights(total, marked, drawn, odds):
    """Of each number of marked ones, along a new last axis."""
    total, marked, drawn = (np.expand_dims(x, -1) for x in (total, marked, drawn))
    j = np.arange(int(np.max(drawn, where=np.isfinite(drawn), initial=0.0)) + 1.0)
    others, rest = total - marked, drawn - j
    known = (j <= marked) & (rest >= 0) & (rest <= others)
    least = np.where(known, log_choose(marked, j) + log_choose(others, rest), -np.inf)
    return j, least + j * np.log(np.expand_dims(odds, -1))


def _share(keep):
    @of_reals
    def formula(k, *parameters):
        j, logs = _log_weights(*parameters)
        part = np.where(keep(j, np.expand_dims(k, -1)), logs, -np.inf)
        return np.exp(log_sum(part) - log_sum(logs))

    return formula


def _is_fisher(total, marked, drawn, odds):
    whole = _is_count(total) & _is_count(marked) & _is_count(drawn)
    return whole & (marked <= total) & (drawn <= total) & (odds > 0)


def _convolved(p):
    """The probabilities of each number of successes, along a new last axis."""
    found = np.where(np.arange(len(p) + 1) == 0, 1.0, 0.0)
    for chance in p:
        chance = np.expand_dims(chance, -1)
        one_more = np.concatenate([0 * found[..., :1], found[..., :-1]], axis=-1)
        found = found * (1 - chance) + one_more * chance
    return found


def successes(keep):
    """The probability of the numbers j of successes that ``keep(j, k)``, of chances p."""

    @of_reals
    def formula(k, *p):
        kept = keep(np.arange(len(p) + 1), np.expand_dims(k, -1))
        return np.sum(np.where(kept, _convolved(p), 0.0), axis=-1)

    return formula


DISCRETE: dict[str, tuple[str, tuple[Any, Any], Any, dict[str, Any]]] = {
    "betabinom": (
        "n a b",
        (0.0, lambda n, a, b: n),
        lambda n, a, b: (n >= 0) & (a > 0) & (b > 0),
        {
            "logpmf": lambda k, n, a, b: (
                log_choose(n, k) + sp.betaln(k + a, n - k + b) - sp.betaln(a, b)
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
    "bernoulli": (
        "p",
        (0.0, 1.0),
        is_probability,
        {
            **with_ends(
                lambda k, p: sp.xlogy(k, p) + sp.xlog1py(1 - k, -p),
                lambda k, p: p**k * (1 - p) ** (1 - k),
            ),
            "cdf": lambda k, p: 1 - p + 0 * k,
            "sf": lambda k, p: p + 0 * k,
        },
    ),
    "geom": (
        "p",
        (1.0, np.inf),
        lambda p: (p > 0) & (p <= 1),
        {
            **with_ends(
                lambda k, p: sp.xlog1py(k - 1, -p) + np.log(p),
                lambda k, p: p * (1 - p) ** (k - 1),
            ),
            "cdf": lambda k, p: -np.expm1(k * np.log1p(-p)),
            "sf": lambda k, p: np.exp(k * np.log1p(-p)),
            "logsf": lambda k, p: k * np.log1p(-p),
        },
    ),
    "nbinom": (
        "n p",
        _FROM_0,
        lambda n, p: (n > 0) & (p > 0) & (p <= 1),
        {
            **with_ends(
                lambda k, n, p: (
                    sp.gammaln(n + k)
                    - sp.gammaln(k + 1)
                    - sp.gammaln(n)
                    + n * np.log(p)
                    + sp.xlog1py(k, -p)
                ),
                lambda k, n, p: choose(n + k - 1, k) * p**n * (1 - p) ** k,
            ),
            "cdf": lambda k, n, p: sp.betainc(n, k + 1, p),
            "sf": lambda k, n, p: sp.betaincc(n, k + 1, p),
        },
    ),
    "nchypergeom_fisher": (
        "M n N odds",
        (0.0, lambda total, marked, drawn, odds: np.minimum(marked, drawn)),
        _is_fisher,
        {"pmf": _share(np.equal), "cdf": _share(np.less_equal), "sf": _share(np.greater)},
    ),
    "zipf": (
        "a",
        (1.0, np.inf),
        lambda a: a > 1,
        {
            "logpmf": lambda k, a: -a * np.log(k) - np.log(_powers_from(a, 1.0)),
            "cdf": lambda k, a: 1 - _powers_from(a, k + 1) / _powers_from(a, 1.0),
            "sf": lambda k, a: _powers_from(a, k + 1) / _powers_from(a, 1.0),
        },
    ),
    "zipfian": (
        "a n",
        (1.0, lambda a, n: n),
        lambda a, n: (a >= 0) & (n >= 1) & _is_count(n),
        {
            "logpmf": lambda k, a, n: -a * np.log(k) - np.log(_powers(a, 1.0, n)),
            "cdf": lambda k, a, n: _powers(a, 1.0, k) / _powers(a, 1.0, n),
            "sf": lambda k, a, n: _powers(a, k + 1, n) / _powers(a, 1.0, n),
        },
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
