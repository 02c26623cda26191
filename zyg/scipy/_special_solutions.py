"""Special functions that come with their slopes, or are integrals: by differential equations.

The second value of a pair is the slope of the first, and the slope of the second is what the
equation says. Sources: the NIST Digital Library of Mathematical Functions (dlmf.nist.gov), chapters
10, 12, 14, 28 and 30; W. J. Thompson, Atlas for Computing Mathematical Functions (1997).
"""

import math
from typing import Any

import numpy as np

from zyg.errors import MissingRuleError, unknown_call
from zyg.functions.kit import adjoint, conj, is_complex, strip, unbroadcast
from zyg.scipy import _special_table as _special_table
from zyg.scipy._namespace import called_as, rule_for
from zyg.scipy._special_functions import pulled, several, times
from zyg.scipy._special_slopes import ROOT_PI, be_second, ke_second, refused, series
from zyg.scipy._theirs import special as sp

_DEGREE = math.pi / 180


# Pairs: a function of numbers and its slope, in the last of its arguments


def _pair(function, parameters, second, unit=1.0):
    """The rule of `function`: `second` is of (*parameters, x, value, slope); x is in this unit."""

    def pair(*args):
        *given, x = args
        y = function(*args)

        def pair_pullback(y_bar):
            slopes = unit * y[1], unit * second(*map(strip, given), x * unit, *y)
            refusals = (refused(function.__name__, name) for name in parameters)
            return *refusals, unbroadcast(pulled(y_bar, slopes, x), np.shape(x))

        return y, pair_pullback

    adjoint(function)(called_as(function, pair))


def _even(m, q, x, y, slope):
    return (2 * q * np.cos(2 * x) - sp.mathieu_a(m, q)) * y


def _odd(m, q, x, y, slope):
    return (2 * q * np.cos(2 * x) - sp.mathieu_b(m, q)) * y


def _even_radial(m, q, x, y, slope):
    return (sp.mathieu_a(m, q) - 2 * q * np.cosh(2 * x)) * y


def _odd_radial(m, q, x, y, slope):
    return (sp.mathieu_b(m, q) - 2 * q * np.cosh(2 * x)) * y


def _prolate(m, n, c, cv, x, y, slope):
    rest = 1 - x * x
    return (2 * x * slope - (cv - c * c * x * x - m * m / rest) * y) / rest


def _oblate_angular(m, n, c, cv, x, y, slope):
    rest = 1 - x * x
    return (2 * x * slope - (cv + c * c * x * x - m * m / rest) * y) / rest


def _oblate_radial(m, n, c, cv, x, y, slope):
    rest = 1 + x * x
    return ((cv - c * c * x * x - m * m / rest) * y - 2 * x * slope) / rest


def _of_value(value, second):
    """`second` without the characteristic value, which is that of (m, n, c)."""
    return lambda m, n, c, x, y, slope: second(m, n, c, value(m, n, c), x, y, slope)


_PAIRS: dict[Any, tuple[Any, ...]] = {
    sp.pbdv: ("v", lambda v, x, y, slope: (0.25 * x * x - v - 0.5) * y),
    sp.pbvv: ("v", lambda v, x, y, slope: (0.25 * x * x - v - 0.5) * y),
    sp.pbwa: ("a", lambda a, x, y, slope: (a - 0.25 * x * x) * y),
    sp.mathieu_cem: ("m q", _even, _DEGREE),
    sp.mathieu_sem: ("m q", _odd, _DEGREE),
    sp.mathieu_modcem1: ("m q", _even_radial),
    sp.mathieu_modcem2: ("m q", _even_radial),
    sp.mathieu_modsem1: ("m q", _odd_radial),
    sp.mathieu_modsem2: ("m q", _odd_radial),
    sp.pro_ang1: ("m n c", _of_value(sp.pro_cv, _prolate)),
    sp.pro_rad1: ("m n c", _of_value(sp.pro_cv, _prolate)),
    sp.pro_ang1_cv: ("m n c cv", _prolate),
    sp.pro_rad1_cv: ("m n c cv", _prolate),
    sp.obl_ang1: ("m n c", _of_value(sp.obl_cv, _oblate_angular)),
    sp.obl_rad1: ("m n c", _of_value(sp.obl_cv, _oblate_radial)),
    sp.obl_ang1_cv: ("m n c cv", _oblate_angular),
    sp.obl_rad1_cv: ("m n c cv", _oblate_radial),
}
for _function, (_names, _second, *_unit) in _PAIRS.items():
    _pair(_function, _names.split(), _second, *_unit)


# Sequences of such pairs, of all orders up to one


def _sequence(function, order, second, wrong=lambda n, x: n < 0):
    """The rule of a function of an order and one number; `second` takes the orders, x, the pair.

    Where it is `wrong`, SciPy's values are those of another function.
    """

    def sequence(n, x):
        y = sequence(n, x)
        if wrong(strip(n), strip(x)):
            why = "at these values SciPy's own result is that of another function"
            raise unknown_call(f"scipy.special.{function.__name__}", why, "")

        def sequence_pullback(y_bar):
            orders = strip(n) - int(strip(n)) + np.arange(np.size(y[0]))
            slopes = y[1], second(orders, x, *y)
            total = sum(np.sum(c * conj(d)) for c, d in zip(y_bar, slopes, strict=True))
            return refused(function.__name__, order), total if is_complex(x) else np.real(total)

        return y, sequence_pullback

    sequence = rule_for(function)(called_as(function, sequence))


def _lambda_second(v, x, y, slope):
    """Of the function of Jahnke and Emde, even in x: gamma(v + 1) (2 / x)^v J_v(x)."""
    none = strip(x) == 0
    return -y - (2 * v + 1) * np.where(none, -y / (2 * v + 2), slope / np.where(none, 1.0, x))


_sequence(sp.riccati_jn, "n", lambda n, x, y, slope: (n * (n + 1) / (x * x) - 1) * y)
_sequence(
    sp.riccati_yn,
    "n",
    lambda n, x, y, slope: (n * (n + 1) / (x * x) - 1) * y,
    wrong=lambda n, x: x <= 0,
)
_sequence(
    sp.lqn,
    "n",
    lambda n, z, y, slope: (2 * z * slope - n * (n + 1) * y) / (1 - z * z),
    wrong=lambda n, z: n < 2 and not is_complex(z) and z > 1,
)
_sequence(sp.pbdv_seq, "v", lambda v, x, y, slope: (0.25 * x * x - v - 0.5) * y)
_sequence(
    sp.pbdn_seq,
    "n",
    lambda n, z, y, slope: (0.25 * z * z - n - 0.5) * y,
    wrong=lambda n, z: n < 0 or is_complex(z),
)
_sequence(
    sp.lmbda,
    "v",
    _lambda_second,
    wrong=lambda v, x: (x == 0 and v >= 1) or (x < 0 and v % 1 != 0) or x < -20,
)
_sequence(sp.pbvv_seq, "v", lambda v, x, y, slope: (0.25 * x * x - v - 0.5) * y)


@rule_for(sp.lqmn)
def lqmn(m, n, z):
    y = lqmn(m, n, z)

    def lqmn_pullback(y_bar):
        shape = np.shape(z)
        orders, degrees = (np.arange(strip(k) + 1.0) for k in (m, n))
        order, degree = np.ix_(orders, degrees)
        order, degree = (np.reshape(k, k.shape + (1,) * len(shape)) for k in (order, degree))
        rest = 1 - z * z
        second = (2 * z * y[1] - (degree * (degree + 1) - order**2 / rest) * y[0]) / rest
        bar = times(y_bar[0], conj(y[1])) + times(y_bar[1], conj(second))
        return refused("lqmn", "m"), refused("lqmn", "n"), unbroadcast(bar, shape)

    return y, lqmn_pullback


# Several values of one number


def _one_less_bessel(x, sign, bessel):
    """(J0(x) - 1) / x, and for sign = 1 (I0(x) - 1) / x"""
    square = 0.25 * x * x
    terms = [sign ** (k + 1) / math.factorial(k + 1) ** 2 for k in range(14)]
    return 0.25 * x * series(square, 1.0, terms, lambda u: (bessel(2 * np.sqrt(u)) - 1) / u)


def _airye(z, ai, ai_slope, bi, bi_slope):
    """Ai and Bi, times and over exp(2/3 z^1.5); left of 0 that has modulus 1 for Bi."""
    if is_complex(z):
        raise MissingRuleError(
            "scipy.special.airye of complex numbers has no rule.",
            "it contains a real part, so it is not complex-differentiable.",
            "use scipy.special.airy, and multiply by the factor yourself.",
        )
    root = np.sqrt(np.maximum(z, 0.0))
    return (
        ai_slope + root * ai,
        z * ai + root * ai_slope,
        bi_slope - root * bi,
        z * bi - root * bi_slope,
    )


def _kelvin(x, be, ke, be_slope, ke_slope):
    """ber + i bei = J0(x e^(3 pi i / 4)), ker + i kei = K0(x e^(pi i / 4)): DLMF 10.61."""
    return be_slope, ke_slope, be_second(x), ke_second(x)


def _modified_fresnel(sign):
    """The slopes of the integral of exp(i t^2) from x on, and of it scaled; or of conjugates."""

    def slopes(x, integral, scaled):
        turn = sign * 1j
        rest = np.exp(-0.25 * turn * math.pi) / ROOT_PI
        return -np.exp(turn * x * x), -2 * turn * x * scaled - rest

    return slopes


_VALUES = {
    sp.airye: _airye,
    sp.kelvin: _kelvin,
    sp.modfresnelp: _modified_fresnel(1),
    sp.modfresnelm: _modified_fresnel(-1),
    sp.itj0y0: lambda x, j, y: (sp.j0(x), sp.y0(x)),
    sp.iti0k0: lambda x, i, k: (sp.i0(x), sp.k0(x)),
    sp.it2j0y0: lambda x, j, y: (-_one_less_bessel(x, -1, sp.j0), -sp.y0(x) / x),
    sp.it2i0k0: lambda x, i, k: (_one_less_bessel(x, 1, sp.i0), -sp.k0(x) / x),
}
for _function, _slopes in _VALUES.items():
    several(_function, _slopes)


# Spherical harmonics


@rule_for(sp.sph_harm_y)
def sph_harm_y(n, m, theta, phi):
    y = sph_harm_y(n, m, theta, phi)

    def sph_harm_y_pullback(y_bar):
        turn = np.exp(1j * phi)
        up, down = _ladder(n, m)
        above, below = sph_harm_y(n, m + 1, theta, phi), sph_harm_y(n, m - 1, theta, phi)
        by_theta = _side(theta) * (up * conj(turn) * above - down * turn * below)
        by_phi = 1j * m * y
        bars = (np.real(y_bar * conj(d)) for d in (by_theta, by_phi))
        theta_bar, phi_bar = map(unbroadcast, bars, (np.shape(theta), np.shape(phi)))
        return refused("sph_harm_y", "n"), refused("sph_harm_y", "m"), theta_bar, phi_bar

    return y, sph_harm_y_pullback


def _ladder(n, m):
    """What the orders m + 1 and m - 1 have as factors in the slope by theta: DLMF 14.30."""
    n, m = np.asarray(strip(n)), np.asarray(strip(m))
    above, below = (n - m) * (n + m + 1.0), (n + m) * (n - m + 1.0)
    return np.sqrt(np.maximum(above, 0.0)), np.sqrt(np.maximum(below, 0.0))


def _side(theta):
    """Half the sign of the sine, whose modulus SciPy takes; of angles from 0 to pi, 1/2."""
    return np.where(np.sin(strip(theta)) < 0, -0.5, 0.5)


@rule_for(sp.sph_legendre_p)
def sph_legendre_p(n, m, theta):
    y = sph_legendre_p(n, m, theta)

    def sph_legendre_p_pullback(y_bar):
        up, down = _ladder(n, m)
        slope = up * sph_legendre_p(n, m + 1, theta) - down * sph_legendre_p(n, m - 1, theta)
        bar = np.sum(_side(theta) * slope * y_bar, axis=0)
        name = "sph_legendre_p"
        return refused(name, "n"), refused(name, "m"), unbroadcast(bar, np.shape(theta))

    return y, sph_legendre_p_pullback


def _legendre_slope(name, degree, z):
    if is_complex(z) or np.any(degree < 0):
        raise unknown_call(f"scipy.special.{name}", "its rule covers real points and n >= 0", "")
    slope = 0.5 * (degree + 1) * sp.eval_jacobi(np.maximum(degree - 1, 0), 1, 1, z)
    return np.where(degree > 0, slope, 0.0)


@rule_for(sp.legendre_p)
def legendre_p(n, z):
    y = legendre_p(n, z)

    def legendre_p_pullback(y_bar):
        slope = _legendre_slope("legendre_p", np.asarray(strip(n)), z)
        return refused("legendre_p", "n"), unbroadcast(y_bar[0] * slope, np.shape(z))

    return y, legendre_p_pullback


# All degrees, and orders, up to one


@rule_for(sp.legendre_p_all)
def legendre_p_all(n, z):
    y = legendre_p_all(n, z)

    def legendre_p_all_pullback(y_bar):
        degree = np.reshape(np.arange(strip(n) + 1), (-1,) + (1,) * np.ndim(z))
        bar = y_bar[0] * _legendre_slope("legendre_p_all", degree, z)
        return refused("legendre_p_all", "n"), unbroadcast(bar, np.shape(z))

    return y, legendre_p_all_pullback


def _orders(n, m, like):
    """Degrees and orders along the axes of all, beside those of angles."""
    m = abs(m)
    degree, order = np.ix_(np.arange(n + 1), [*range(m + 1), *range(-m, 0)])
    beside = (1,) * (np.ndim(like) - 2)
    return (np.reshape(k, k.shape + beside) for k in (degree, order))


@rule_for(sp.sph_legendre_p_all)
def sph_legendre_p_all(n, m, theta):
    y = sph_legendre_p_all(n, m, theta)

    def sph_legendre_p_all_pullback(y_bar):
        slope = _by_theta(n, m, sph_legendre_p_all(n, abs(m) + 1, theta)[0], theta)
        name = "sph_legendre_p_all"
        bar = unbroadcast(slope * y_bar[0], np.shape(theta))
        return refused(name, "n"), refused(name, "m"), bar

    return y, sph_legendre_p_all_pullback


@rule_for(sp.sph_harm_y_all)
def sph_harm_y_all(n, m, theta, phi):
    y = sph_harm_y_all(n, m, theta, phi)

    def sph_harm_y_all_pullback(y_bar):
        _, order = _orders(n, m, y)
        turn = np.exp(1j * phi)
        wide = sph_harm_y_all(n, abs(m) + 1, theta, phi)
        by_theta = _by_theta(n, m, wide, theta, turn)
        bars = (np.real(y_bar * conj(d)) for d in (by_theta, 1j * order * y))
        theta_bar, phi_bar = map(unbroadcast, bars, (np.shape(theta), np.shape(phi)))
        name = "sph_harm_y_all"
        return refused(name, "n"), refused(name, "m"), theta_bar, phi_bar

    return y, sph_harm_y_all_pullback


def _by_theta(n, m, wide, theta, turn=1.0):
    """The slopes by theta of all of these orders, by the values of one order more."""
    degree, order = _orders(n, m, wide)
    up, down = _ladder(degree, order)
    above, below = (np.take(wide, np.ravel(order) + step, axis=1) for step in (1, -1))
    return _side(theta) * (up * conj(turn) * above - down * turn * below)


def _by_degree(rule, n, m, z, branch_cut, norm, diff_n):
    """What a rule gives: its values, and the next slopes of SciPy's as theirs."""
    y, name = rule(n, m, z, branch_cut=branch_cut, norm=norm, diff_n=diff_n), rule.key.__name__

    def pullback(y_bar):
        if diff_n == 2 or (diff_n == 1 and np.any(strip(z) == -1)):
            why = "its rule covers no third derivatives, and at -1 no second"
            raise unknown_call(f"scipy.special.{name}", why, "")
        following = rule(n, m, z, branch_cut=branch_cut, norm=norm, diff_n=diff_n + 1)
        bar = unbroadcast(times(y_bar, conj(following[1:])), np.shape(z))
        return refused(name, "n"), refused(name, "m"), bar

    return y, pullback


@rule_for(sp.assoc_legendre_p)
def assoc_legendre_p(n, m, z, *, branch_cut=2, norm=False, diff_n=0):
    return _by_degree(assoc_legendre_p, n, m, z, branch_cut, norm, diff_n)


@rule_for(sp.assoc_legendre_p_all)
def assoc_legendre_p_all(n, m, z, *, branch_cut=2, norm=False, diff_n=0):
    return _by_degree(assoc_legendre_p_all, n, m, z, branch_cut, norm, diff_n)
