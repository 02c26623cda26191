"""Partial derivatives of the noncentral distributions of Fisher and of Student.

Fisher's is a mixture of incomplete beta functions by a distribution of Poisson. Student's is a
normal distribution whose scale is random; its slopes are integrals over the logarithm of that
scale, by the trapezoidal rule about the peak. Source: N. Johnson, S. Kotz and N. Balakrishnan,
Continuous Univariate Distributions, volume 2 (1995), chapters 30 and 31.
"""

import math

import numpy as np

from zyg.functions.kit import for_any_number, scalar_rule, strip
from zyg.scipy._incomplete import betainc_a, betainc_b, gammainc_a, last
from zyg.scipy._special_probabilities import inverse
from zyg.scipy._special_slopes import ROOT_2PI, betainc_x, gammainc_x
from zyg.scipy._theirs import special as sp

for_any_number(__name__)
_STEP = 1 / 24
_TIMES = np.arange(-7 / _STEP, 5 / _STEP) * _STEP
_LEAST = -80.0  # of the logarithms of scales, as powers of smaller ones overflow
_FARTHEST = -700.0  # where there are none, and small degrees of freedom reach so far


# Of Fisher


def _mixed(of_terms, nc):
    """The mean over the number of a distribution of Poisson, of what it is a function of."""
    mean = 0.5 * nc
    most = np.max(strip(mean), initial=0.0, where=np.isfinite(strip(mean)))
    count = np.arange(most + 12 * math.sqrt(most) + 40)
    mean = last(mean)
    shares = np.exp(sp.xlogy(count, mean) - mean - sp.gammaln(count + 1))
    return np.sum(shares * of_terms(count), axis=-1)


def _fisher(n, m, f):
    """The shapes and the place of the incomplete beta functions."""
    return map(last, (0.5 * n, 0.5 * m, n * f / (m + n * f)))


def _flow(a, b, x):
    """The density of a beta distribution, times x (1 - x)."""
    return np.exp(sp.xlogy(a, x) + sp.xlog1py(b, -x) - sp.betaln(a, b))


def _by_n(n, m, nc, f, y):
    a, b, x = _fisher(n, m, f)
    shape = 0.5 * _mixed(lambda j: betainc_a(a + j, b, x, 0.0), nc)
    return shape + _mixed(lambda j: _flow(a + j, b, x), nc) / n


def _by_m(n, m, nc, f, y):
    a, b, x = _fisher(n, m, f)
    shape = 0.5 * _mixed(lambda j: betainc_b(a + j, b, x, 0.0), nc)
    return shape - _mixed(lambda j: _flow(a + j, b, x), nc) / m


def _by_nc(n, m, nc, f, y):
    a, b, x = _fisher(n, m, f)
    return -0.5 * _mixed(lambda j: _flow(a + j, b, x) / (a + j), nc)


def _by_f(n, m, nc, f, y):
    a, b, x = _fisher(n, m, f)
    return _mixed(lambda j: betainc_x(a + j, b, x, None), nc) * n * m / (m + n * f) ** 2


def _quantile(partial):
    return lambda n, m, nc, p, f: -partial(n, m, nc, f, p) / _by_f(n, m, nc, f, p)


# Of Student


def _scales(df, nc, t, least):
    """Scales s about the peak of s^(df + 1) exp(-(df s^2 + (t s - nc)^2) / 2), and weights."""
    df, nc, t = map(strip, (df, nc, t))
    square, power, product = df + t * t, df + 1, t * nc
    root = np.sqrt(product * product + 4 * square * power)
    with np.errstate(all="ignore"):
        peak = np.where(product > 0, (product + root) / (2 * square), 2 * power / (root - product))
        width = 1 / np.sqrt(square * peak * peak + power)
    peak, width = map(last, (peak, width))
    far = np.maximum(width * np.sinh(_TIMES), least)
    return peak * np.exp(far), _STEP * width * np.cosh(_TIMES)


def _over_scales(of_scales, df, nc, t, least=_LEAST):
    """The integral of a function of scales by their logarithms, times a normal density."""
    s, weights = _scales(df, nc, t, least)
    df, nc, t = map(last, (df, nc, t))
    height = np.exp(-0.5 * (t * s - nc) ** 2) / ROOT_2PI
    return np.sum(weights * height * of_scales(s, df, t), axis=-1)


def _of_scale(s, df):
    """The density of log(s), where df s^2 is one of chi squared."""
    half = 0.5 * df
    return 2 * np.exp(half * np.log(half) - half - sp.gammaln(half) + df * (
        np.log(s) - 0.5 * (s * s - 1)))  # fmt: skip


def _moved_scale(s, df, t):
    """How the distribution of scales moves with df, times -t s."""
    half, place = 0.5 * df, 0.5 * df * s * s
    moved = gammainc_a(half, place, 0.0) + s * s * gammainc_x(half, place, None)
    return -0.5 * t * s * moved


def _by_df(df, nc, t, y=None):
    return _over_scales(_moved_scale, df, nc, t)


def _by_shift(df, nc, t, y=None):
    return -_over_scales(lambda s, df, t: _of_scale(s, df), df, nc, t, _FARTHEST)


def student_density(df, nc, t, y=None):
    return _over_scales(lambda s, df, t: s * _of_scale(s, df), df, nc, t)


def _student(df, nc, t):
    return _by_df(df, nc, t), _by_shift(df, nc, t), student_density(df, nc, t)


def _anywhere(*given):
    return -np.inf


_TABLE = {
    sp.ncfdtr: (_by_n, _by_m, _by_nc, _by_f),
    sp.ncfdtri: (
        *map(_quantile, (_by_n, _by_m, _by_nc)),
        lambda n, m, nc, p, f: 1 / _by_f(n, m, nc, f, p),
    ),
    sp.nctdtr: (_by_df, _by_shift, student_density),
    sp.nctdtridf: inverse(0, _student),
    sp.nctdtrinc: inverse(1, _student, least=_anywhere),
    sp.nctdtrit: inverse(2, _student, least=_anywhere),
}


def _of_numbers(partial):
    """A partial derivative that is NaN where the value is."""
    return lambda *args: partial(*args) + 0.0 * args[-1]


for _function, _partials in _TABLE.items():
    scalar_rule(_function, *map(_of_numbers, _partials))
