"""The special functions that are no functions of numbers, or have several values."""

import math

import numpy as np

from zyg.errors import MissingRuleError, unknown_call
from zyg.functions.kit import (
    adjoint,
    composed,
    conj,
    is_complex,
    is_watched,
    spread,
    strip,
    unbroadcast,
)
from zyg.scipy._namespace import called_as, rule_for
from zyg.scipy._special_slopes import refused, series
from zyg.scipy._theirs import special as sp


@rule_for(sp.logsumexp)
def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    made = logsumexp(a, axis, b, keepdims, return_sign)
    y, sign = made if return_sign else (made, None)
    if return_sign and is_complex(sign):
        raise MissingRuleError(
            "scipy.special.logsumexp with return_sign=True has no rule for complex numbers.",
            "the logarithm of a modulus is not complex-differentiable.",
            "use return_sign=False: the sign is then in the imaginary part.",
        )
    shape = np.broadcast_shapes(np.shape(a), np.shape(b) if b is not None else ())

    def logsumexp_pullback(y_bar):
        bar = spread(y_bar[0] if return_sign else y_bar, shape, axis)
        total, plain = spread(y, shape, axis), strip(a)
        # Where a term and the sum are infinite alike, that term is the sum.
        same = np.isinf(plain) & (plain == strip(total))
        weights = np.exp(np.where(same, 0.0, np.where(same, 0.0, a) - np.where(same, 0.0, total)))
        weights = np.where(plain == -np.inf, 0.0, weights)
        if return_sign:
            weights = weights * spread(strip(sign), shape, axis)
        a_bar = bar * conj(weights if b is None else weights * b)
        return (
            unbroadcast(a_bar, np.shape(a)),
            None,
            lambda: unbroadcast(bar * conj(weights), np.shape(b)),
        )

    return made, logsumexp_pullback


@rule_for(sp.softmax)
def softmax(x, axis=None):
    y = softmax(x, axis)

    def softmax_pullback(y_bar):
        bar = conj(y) * y_bar
        return (bar - conj(y) * np.sum(bar, axis=axis, keepdims=True),)

    return y, softmax_pullback


@rule_for(sp.log_softmax)
def log_softmax(x, axis=None):
    y = log_softmax(x, axis)

    def log_softmax_pullback(y_bar):
        return (y_bar - conj(np.exp(y)) * np.sum(y_bar, axis=axis, keepdims=True),)

    return y, log_softmax_pullback


@rule_for(sp.multigammaln)
def multigammaln(a, d):
    def multigammaln_pullback(y_bar):
        terms = np.expand_dims(a, -1) - 0.5 * np.arange(d)
        return y_bar * np.sum(sp.psi(terms), axis=-1), None

    return multigammaln(a, d), multigammaln_pullback


@rule_for(sp.lambertw)
def lambertw(z, k=0, tol=1e-8):
    y = lambertw(z, k, tol)

    def lambertw_pullback(y_bar):
        return (unbroadcast(y_bar * conj(1 / (z + np.exp(y))), np.shape(z)),)

    return y, lambertw_pullback


@rule_for(sp.factorial)
def factorial(n, exact=False, extend="zero"):
    y = factorial(n, exact, extend)

    def factorial_pullback(y_bar):
        defined = (strip(y) != 0) & np.isfinite(strip(y))
        inner = np.where(defined, n, 1.0)
        return (np.where(defined, y_bar * conj(y * sp.psi(inner + 1)), 0.0),)

    return y, factorial_pullback


@rule_for(sp.comb)
def comb(N, k, *, exact=False, repetition=False):
    y = comb(N, k, exact=exact, repetition=repetition)

    def comb_pullback(y_bar):
        some = strip(y) != 0
        total = N + k - 1 if repetition else N
        n, m = np.where(some, total, 2.0), np.where(some, k, 1.0)
        over, under, between = sp.psi(n + 1), sp.psi(m + 1), sp.psi(n - m + 1)
        bar = np.where(some, y_bar * y, 0.0)
        n_bar = bar * (over - between)
        k_bar = bar * ((over if repetition else between) - under)
        return unbroadcast(n_bar, np.shape(N)), unbroadcast(k_bar, np.shape(k))

    return y, comb_pullback


@rule_for(sp.perm)
def perm(N, k, exact=False):
    y = perm(N, k, exact)

    def perm_pullback(y_bar):
        some = strip(y) != 0
        n, m = np.where(some, N, 2.0), np.where(some, k, 1.0)
        bar = np.where(some, y_bar * y, 0.0)
        between = sp.psi(n - m + 1)
        n_bar = bar * (sp.psi(n + 1) - between)
        return unbroadcast(n_bar, np.shape(N)), unbroadcast(bar * between, np.shape(k))

    return y, perm_pullback


@rule_for(sp.diric)
def diric(x, n):
    y = diric(x, n)

    def diric_pullback(y_bar):
        degrees = np.asarray(strip(n))
        if np.any(degrees != np.floor(degrees)):
            raise unknown_call("scipy.special.diric", "its rule covers only whole n")
        total = np.zeros(())  # of cosines: sin(n x / 2) / sin(x / 2)
        for k in range(int(np.max(degrees, initial=0)) // 2):
            wave = k + np.where(degrees % 2, 1.0, 0.5)
            total = total - np.where(2 * wave < degrees, 2 * wave * np.sin(wave * x), 0.0)
        x_bar = y_bar * total / np.where(degrees > 0, degrees, 1)
        return unbroadcast(x_bar, np.shape(x)), refused("diric", "n")

    return y, diric_pullback


@rule_for(sp.assoc_laguerre)
def assoc_laguerre(x, n, k=0.0):
    y = assoc_laguerre(x, n, k)

    def assoc_laguerre_pullback(y_bar):
        degree, order = np.asarray(strip(n)), strip(k)
        slope = -sp.eval_genlaguerre(np.maximum(degree - 1, 0), order + 1, x)
        x_bar = unbroadcast(y_bar * conj(np.where(degree > 0, slope, 0.0)), np.shape(x))
        return x_bar, refused("assoc_laguerre", "n"), refused("assoc_laguerre", "k")

    return y, assoc_laguerre_pullback


# Functions of several values


def several(function, slopes):
    """The rule of a function of one number with several values: `slopes` of (z, *values)."""

    def values(z):
        y = function(z)

        def values_pullback(y_bar):
            return (pulled(y_bar, slopes(z, *y), z),)

        return y, values_pullback

    adjoint(function)(called_as(function, values))


def pulled(y_bar, slopes, z):
    """The cotangent of a number of which there are several values."""
    terms = [times(c, conj(d)) for c, d in zip(y_bar, slopes, strict=True)]
    total = sum(terms[1:], terms[0])
    return np.real(total) if is_complex(total) and not is_complex(z) else total


def times(c, d):
    """c d; 0 where the value is not asked for, even if its slope is infinite."""
    if is_watched(c) or np.all(np.isfinite(strip(d))):
        return c * d
    return np.where((strip(c) == 0) & ~np.isfinite(strip(d)), 0.0, c * d)


def _sinh_over(x):
    """sinh(x) / x"""
    terms = [1 / math.factorial(2 * k + 1) for k in range(10)]
    square = x * x
    return series(square, 1.0, terms, lambda u: np.sinh(np.sqrt(u)) / np.sqrt(u))


several(sp.sici, lambda x, si, ci: (np.sinc(x / math.pi), np.cos(x) / x))
several(sp.shichi, lambda x, shi, chi: (_sinh_over(x), np.cosh(x) / x))
several(
    sp.fresnel,
    lambda z, s, c: (np.sin(0.5 * math.pi * z * z), np.cos(0.5 * math.pi * z * z)),
)
several(sp.airy, lambda z, ai, ai_slope, bi, bi_slope: (ai_slope, z * ai, bi_slope, z * bi))


@adjoint(sp.ellipj)
def ellipj(u, m):
    """The slopes in m are those of the amplitude, at which the integral of the first kind is u."""
    sn, cn, dn, ph = sp.ellipj(u, m)

    def ellipj_pullback(y_bar):
        by_amplitude = y_bar[0] * cn - y_bar[1] * sn + y_bar[3]

        def u_bar():
            return dn * by_amplitude - y_bar[2] * m * sn * cn

        def m_bar():
            moved = -dn * _elliptic_by_m(m, sn, cn, dn, ph)
            of_dn = times(y_bar[2], -sn * (0.5 * sn + m * cn * moved) / dn)
            return times(by_amplitude, moved) + of_dn

        return (
            lambda: unbroadcast(u_bar(), np.shape(u)),
            lambda: unbroadcast(m_bar(), np.shape(m)),
        )

    return (sn, cn, dn, ph), ellipj_pullback


def _elliptic_by_m(m, sn, cn, dn, ph):
    """The slope of F(ph | m) in m, by Carlson's R_D: DLMF 19.18.1 and 19.25.5."""
    halves = np.round(strip(ph) / math.pi)  # of a period, by which the integral grows alike
    sine = np.where(halves % 2 == 0, sn, -sn)
    rest = np.where(halves == 0, 1.0, 1 - m)  # at m = 1 there is no period
    whole = halves * sp.elliprd(0.0, 1.0, rest) / 3
    return whole + sine**3 * sp.elliprd(cn * cn, 1.0, dn * dn) / 6


@composed(sp.softplus)
def softplus(x):
    return np.logaddexp(0, x)


# What SciPy writes in functions that have rules
for _function in (sp.jvp, sp.yvp, sp.kvp, sp.ivp, sp.h1vp, sp.h2vp):
    composed(_function)(_function)
