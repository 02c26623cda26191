"""Symmetric elliptic integrals, of watched numbers, and slopes that are made of them.

Sources: B. C. Carlson, Numerical computation of real or complex elliptic integrals, Numerical
Algorithms 10 (1995); NIST Digital Library of Mathematical Functions (dlmf.nist.gov), chapter 19.
"""

import math

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import composed, is_complex, is_nowhere, strip, with_value
from zyg.scipy._theirs import special as sp


def _duplicated(x, y, z):
    """R_D: the arguments doubled until they nearly agree, then a series in how they differ."""
    total, scale = 0.0, 1.0
    for _ in range(60):
        mean = (x + y + 3 * z) / 5
        plain = strip(mean)
        if is_nowhere(np.abs(strip(x) - plain) + np.abs(strip(z) - plain) > 1e-3 * np.abs(plain)):
            break
        one, two, three = np.sqrt(x), np.sqrt(y), np.sqrt(z)
        more = one * (two + three) + two * three
        total = total + 3 * scale / (three * (z + more))
        scale, x, y, z = scale / 4, (x + more) / 4, (y + more) / 4, (z + more) / 4
    one, two = (mean - x) / mean, (mean - y) / mean
    three = -(one + two) / 3
    product = one * two
    second = product - 6 * three**2
    third = (3 * product - 8 * three**2) * three
    fourth = 3 * (product - three**2) * three**2
    fifth = product * three**3
    return total + scale * _near_1(second, third, fourth, fifth) / (mean * np.sqrt(mean))


def _near_1(second, third, fourth, fifth):
    """The series of arguments that nearly agree, by the symmetric functions of how they differ."""
    near = 1 - 3 / 14 * second + third / 6 + 9 / 88 * second**2 - 3 / 22 * fourth
    return near - 9 / 52 * second * third + 3 / 26 * fifth


@composed(sp.elliprd)
def elliprd(x, y, z):
    return with_value(
        _duplicated(*(v + 0.0 for v in (x, y, z))), (sp.elliprd(*map(strip, (x, y, z))),)
    )


def _fourth(x, y, z, p):
    """R_J, in the same way; each step adds an elementary integral."""
    total, scale = 0.0, 1.0
    product = (p - x) * (p - y) * (p - z)
    for _ in range(60):
        mean = (x + y + z + 2 * p) / 5
        plain = strip(mean)
        apart = sum(np.abs(strip(v) - plain) for v in (x, y, z, p))
        if is_nowhere(apart > 1e-3 * np.abs(plain)):
            break
        one, two, three, four = (np.sqrt(v) for v in (x, y, z, p))
        d = (four + one) * (four + two) * (four + three)
        total = total + 6 * scale / d * sp.elliprc(1.0, 1 + scale**3 * product / (d * d))
        more = one * (two + three) + two * three
        scale, x, y, z, p = scale / 4, *((v + more) / 4 for v in (x, y, z, p))
    one, two, three = ((mean - v) / mean for v in (x, y, z))
    four = -(one + two + three) / 2
    second = one * (two + three) + two * three - 3 * four**2
    product = one * two * three
    third = product + 2 * second * four + 4 * four**3
    fourth = (2 * product + second * four + 3 * four**3) * four
    return total + scale * _near_1(second, third, fourth, product * four**2) / (
        mean * np.sqrt(mean)
    )


def _principal(x, y, z, p):
    """R_J(x, y, z, p), p < 0: DLMF 19.20.14, by another place, beyond the middle of the others."""
    x, y, z = np.sort(np.stack(np.broadcast_arrays(x, y, z)), axis=0)
    p, q = y - (y - x) * (y - z) / (y - p), -p
    both = x * z + p * q
    outer = np.sqrt(x) * np.sqrt(y) * np.sqrt(z) / np.sqrt(both) * sp.elliprc(both, p * q)
    return ((p - y) * _fourth(x, y, z, p) + 3 * (outer - sp.elliprf(x, y, z))) / (q + y)


@composed(sp.elliprj)
def elliprj(x, y, z, p):
    args = x, y, z, p
    value = sp.elliprj(*map(strip, args))
    x, y, z, p = (v + 0.0 for v in args)
    known = np.where(np.isfinite(value), 1.0, np.nan)  # no slopes of what is no number
    left = np.real(strip(p)) < 0
    if is_nowhere(left):
        return with_value(known * _fourth(x, y, z, p), (value,))
    if any(map(is_complex, args)):
        raise unknown_call("scipy.special.elliprj", "its rule knows no complex principal values")
    right = (np.where(left, 1.0, v) for v in (x, y, z, p))
    inner = (np.where(left, *pair) for pair in ((x, 1.0), (y, 1.0), (z, 1.0), (p, -1.0)))
    made = np.where(left, _principal(*inner), _fourth(*right))
    return with_value(known * made, (value,))


def elliprg_x(x, y, z):
    alone = (strip(y) == 0) & (strip(z) == 0)  # then it is half the root of x
    y = np.where(alone, 1.0, y)
    slope = 0.25 * sp.elliprf(x, y, z) - x / 12 * sp.elliprd(y, z, x)
    return np.where(alone, 0.25 / np.sqrt(x), slope)


def agm_a(a, b, y):
    """Of y = pi / 2 over R_F(0, a^2, b^2); steep where a is 0, and b is not."""
    none = strip(y) == 0
    steep = np.where((strip(a) == 0) & (strip(b) != 0), np.inf, 0.0)
    a, b = np.where(none, 1.0, a), np.where(none, 1.0, b)
    slope = 2 / (3 * math.pi) * y * y * np.abs(a) * sp.elliprd(0.0, b * b, a * a)
    return np.where(none, steep, slope)


def _halves(x, y):
    """The slopes of R_C(x, y), y > 0, in both."""
    return -sp.elliprd(y, y, x) / 6, -sp.elliprd(x, y, y) / 3


def elliprc_slopes(x, y):
    """For y < 0 of a principal value: R_C(x - y, -y) sqrt(x / (x - y))."""
    left = strip(y) < 0
    inner = np.where(left, 1.0, x), np.where(left, 1.0, y)
    x, y = np.where(left, x, 1.0), np.where(left, y, -1.0)
    u, whole = x - y, sp.elliprc(x - y, -y)
    by_u, by_v = _halves(u, -y)
    scale = np.sqrt(x / u)
    by_x = scale * (0.5 * (1 / x - 1 / u) * whole + by_u)
    by_y = scale * (0.5 * whole / u - by_u - by_v)
    sides = zip((by_x, by_y), _halves(*inner), strict=True)
    return [np.where(left, one, other) for one, other in sides]
