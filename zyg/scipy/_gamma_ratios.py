"""The slopes of quotients of gamma functions: rising factorials, binomials, beta.

As value times a difference of psi they are accurate on the right of the poles. Where the value is
0 because a gamma function below the line is infinite, the slope is that of 1/gamma, which is an
entire function; where poles above and below the line cancel, both are reflected (DLMF 5.5.3).
"""

import math

import numpy as np

from zyg.functions.kit import is_nowhere, strip
from zyg.scipy._theirs import special as sp


def _sinpi(x):
    """sin(pi x), exactly 0 at integers."""
    turns = np.rint(strip(x))
    return (1 - 2 * (turns % 2)) * np.sin(math.pi * (x - turns))


def _is_pole(x):
    x = strip(x)
    return (x <= 0) & (x == np.floor(x))


def _steep(z, log_scale):
    """exp(log_scale) times the slope of 1/gamma at z < 1/2, reflected."""
    inner = 1 - z
    turn = _sinpi(inner + 0.5) + sp.psi(inner) * _sinpi(inner) / math.pi
    return -np.exp(log_scale + sp.gammaln(inner)) * turn


def _rise_z(z, m, top, y, log_scale=0.0, sign=1.0):
    """d/dz of y = scale gamma(top) / gamma(z), where m = top - z is constant."""
    low = strip(z) < 0.5
    if is_nowhere(low):
        return y * (sp.psi(top) - sp.psi(z))
    left = low & (strip(top) < 0.5)
    zero = low & ~left
    above = np.where(left, 1.0, top)
    right = y * (sp.psi(above) - sp.psi(np.where(low, 1.0, z)))
    at_zero = sign * _steep(np.where(zero, z, 0.0), sp.gammaln(above) + log_scale)
    z, top = np.where(left, z, 0.0), np.where(left, top, 0.0)
    pole = _is_pole(top)
    scale = np.exp(sp.gammaln(1 - z) - sp.gammaln(1 - top) + log_scale) * sign * math.pi
    term = np.where(pole, 0.0, scale * _sinpi(m) / _sinpi(np.where(pole, 0.25, top)) ** 2)
    reflected = y * (sp.psi(1 - top) - sp.psi(1 - z)) + term
    return np.where(left, reflected, np.where(zero, y * sp.psi(above) + at_zero, right))


def poch_z(z, m, y):
    return _rise_z(z, m, z + m, y)


def binom_n(n, k, y):
    return _rise_z(n - k + 1, k, n + 1, y, -sp.gammaln(k + 1), sp.gammasgn(strip(k) + 1))


def binom_k(n, k, y):
    one, other = n - k + 1, k + 1
    first, second = strip(one) < 0.5, strip(other) < 0.5
    if is_nowhere(first | second):
        return y * (sp.psi(one) - sp.psi(other))
    nearer = _to_integer(one) < _to_integer(other)  # of two on the left: it may be a pole
    first, second = first & (nearer | ~second), second & ~(first & nearer)
    return _below(n, other, one, y, second) - _below(n, one, other, y, first)


def _to_integer(x):
    return np.abs(strip(x) - np.rint(strip(x)))


def _below(n, k, other, y, low):
    """gamma(n + 1) / gamma(other) times the slope of 1/gamma at k, which is -y psi(k)."""
    n, other = np.where(low, n, 0.0) + 1, np.where(low, other, 1.0)
    sign = sp.gammasgn(strip(n)) * sp.gammasgn(strip(other))
    slope = sign * _steep(np.where(low, k, 0.0), sp.gammaln(n) - sp.gammaln(other))
    return np.where(low, slope, -y * sp.psi(np.where(low, 1.0, k)))


def beta_a(a, b, y):
    total = a + b
    low = strip(total) < 0.5
    if is_nowhere(low):
        return y * (sp.psi(a) - sp.psi(total))
    left = low & (strip(a) < 0.5)
    zero = low & ~left
    start = np.where(left, 1.0, a)
    right = y * (sp.psi(start) - sp.psi(np.where(low, 1.0, total)))
    above, below = np.where(zero, a, 1.0), np.where(zero, b, 1.0)
    at_zero = _steep(np.where(zero, total, 0.0), sp.gammaln(above) + sp.gammaln(below))
    at_zero = y * sp.psi(start) + sp.gammasgn(strip(below)) * at_zero
    a, total = np.where(left, a, 0.0), np.where(left, total, 0.0)
    pole = _is_pole(a)
    scale = math.pi**2 * np.exp(sp.gammaln(1 - total) - sp.gammaln(1 - a)) * sp.rgamma(1 - b)
    term = np.where(pole, 0.0, scale / _sinpi(np.where(pole, 0.25, a)) ** 2)
    reflected = y * (sp.psi(1 - a) - sp.psi(1 - total)) - term
    return np.where(left, reflected, np.where(zero, at_zero, right))


def betaln_a(a, b, y):
    both = _is_pole(a) & _is_pole(a + b)
    if is_nowhere(both):
        return sp.psi(a) - sp.psi(a + b)
    inner, total = np.where(both, 1 - a, a), np.where(both, 1 - a - b, a + b)
    return sp.psi(inner) - sp.psi(total)
