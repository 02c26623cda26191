"""Exponentials and logarithms without branches, in float32 and float64, of `vector_elementary`.

One text serves both types, which choose the constants (`exponentials`). The exponentials take x to
n ln 2 + r with an integer n, and expm1(r) from a polynomial: Chebyshev interpolation on
[-ln(2)/2, ln(2)/2], evaluated by Estrin's scheme, since in a chain of functions each waits for the
one before. The logarithms take x to 2**k m with m next to 1, and ln(m) from a series in
(m - 1) / (m + 1): FreeBSD's msun, e_log.c and e_logf.c.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from zyg.compiler.back.simd import Lanes

NAMES = "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh"
_LN2 = math.log(2)


class _Format(NamedTuple):
    """A type of floats: its representation is an unsigned `bits`."""

    real: Any
    bits: Any
    digits: int  # behind the leading one
    bias: int  # of the exponent
    parts: tuple[
        float, ...
    ]  # ln 2 and log10(2) as high + low, where high times an exponent is exact


FORMATS = {
    32: _Format(
        np.float32,
        np.uint32,
        23,
        127,
        (0.693145751953125, 1.4286068203094173e-06, 0.301025390625, 4.605038981195214e-06),
    ),
    64: _Format(
        np.float64,
        np.uint64,
        52,
        1023,
        (0.693147180559663, 2.8235290563031577e-13, 0.30102999566383914, 1.42050232272661e-13),
    ),
}


def _polynomials_32(m: Lanes) -> tuple[Any, Any]:
    real, fma = np.float32, m.fma

    def expm1_near_0(r: Any) -> Any:
        r2 = r * r
        low = fma(r, real(0.16666667), real(0.5))
        high = fma(r, real(0.0083333105), real(0.041666463))
        high = fma(r2, fma(r, real(0.0001989108), real(0.0013933731)), high)
        return fma(r2, fma(r2, high, low), r)

    def log_series(z: Any) -> Any:
        p = fma(z, real(0.24279078841), real(0.28498786688))
        return z * fma(z, fma(z, p, real(0.40000972152)), real(0.66666662693))

    return expm1_near_0, log_series


def _polynomials_64(m: Lanes) -> tuple[Any, Any]:
    fma = m.fma

    def expm1_near_0(r: Any) -> Any:
        r2 = r * r
        r4 = r2 * r2
        low = fma(r, 0.16666666666666669, 0.5)
        high = fma(r, 2.7557268276905696e-06, 2.4801521057868204e-05)
        high = fma(r2, fma(r, 2.5100472505694996e-08, 2.7620201591031547e-07), high)
        p = fma(r, 0.008333333333330039, 0.041666666666623824)
        p = fma(r2, fma(r, 0.00019841269863171557, 0.0013888888917367081), p)
        return fma(r2, fma(r2, fma(r4, high, p), low), r)

    def log_series(z: Any) -> Any:
        p = fma(z, 1.479819860511658591e-01, 1.531383769920937332e-01)
        p = fma(z, fma(z, p, 1.818357216161805012e-01), 2.222219843214978396e-01)
        p = fma(z, fma(z, p, 2.857142874366239149e-01), 3.999999999940941908e-01)
        return z * fma(z, p, 6.666666666666735130e-01)

    return expm1_near_0, log_series


def exponentials(m: Lanes, width: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The functions of the type of this width, and besides them parts that others are made of."""
    real, unsigned, digits, bias, parts = FORMATS[width]
    as_bits, as_real, select, fma = m.as_bits, m.as_real, m.select, m.fma
    expm1_near_0, log_series = (_polynomials_32 if width == 32 else _polynomials_64)(m)
    zero, half, one, two = real(0), real(0.5), real(1), real(2)
    infinity, not_a_number = real(math.inf), real(math.nan)
    ln2, log2_e, log10_e = real(_LN2), real(1 / _LN2), real(1 / math.log(10))
    ln2_high, ln2_low, log10_2_high, log10_2_low = (real(p) for p in parts)

    mantissa, one_bit, bias_bits = unsigned(digits), unsigned(1), unsigned(bias)
    mirror = unsigned(2 * bias + 1)
    sign_bit, fraction = real(-0.0).view(unsigned), unsigned(2**digits - 1)
    to_integer = real(2.0**digits + 2 * bias)  # where added, n + 2 bias is in the last bits
    from_integer, offset = real(2.0**digits).view(unsigned), real(2.0**digits + bias)
    root_half = real(math.sqrt(0.5)).view(unsigned)
    from_root_half = one.view(unsigned) - root_half
    least_normal, to_normal, shift = real(2.0 ** (1 - bias)), real(2.0**digits), real(digits)

    exp2_least, exp2_most = real(-bias - digits - 1), real(bias + 2)  # give 0 and infinity
    exp_least, exp_most = real(math.floor(exp2_least * _LN2)), real(math.ceil(exp2_most * _LN2))
    expm1_least, expm1_is_exp = real(-(digits + 3) * _LN2), real(1.5 * digits)
    tanh_is_1 = real((digits + 5) * _LN2 / 2)  # there 1 - 2 / exp(2 x) is 1, with room

    def with_sign(y: Any, x: Any) -> Any:
        """y >= 0 with the sign of x."""
        return as_real(as_bits(y) | (as_bits(x) & sign_bit))

    def power_of_2(e: Any) -> Any:
        return as_real(e << mantissa)

    def scales(shifted: Any) -> Any:
        """a and b with a * b = 2**n: one factor alone cannot be subnormal, nor near infinity."""
        e = as_bits(shifted)
        e_half = e >> one_bit
        return power_of_2(e_half), power_of_2(e - e_half)

    def scale_normal(shifted: Any) -> Any:
        """2**n, where that is no subnormal number."""
        return power_of_2(as_bits(shifted) - bias_bits)

    if (scale := m.scale) is not None:

        def scaled(p: Any, shifted: Any) -> Any:
            """(1 + p) 2**n"""
            return scale(p + one, shifted - to_integer)

    else:

        def scaled(p: Any, shifted: Any) -> Any:
            a, b = scales(shifted)
            return fma(p, a, a) * b

    def exp_parts(x: Any) -> Any:
        """p, and n in the last bits, with exp(x) = (1 + p) 2**n, for a bounded x."""
        shifted = fma(x, log2_e, to_integer)
        n = shifted - to_integer
        return expm1_near_0(fma(n, -ln2_low, fma(n, -ln2_high, x))), shifted

    def exp(x: Any) -> Any:
        x = select(x < exp_least, exp_least, x)
        p, shifted = exp_parts(select(x > exp_most, exp_most, x))
        return scaled(p, shifted)

    def exp2(x: Any) -> Any:
        x = select(x < exp2_least, exp2_least, x)
        x = select(x > exp2_most, exp2_most, x)
        shifted = x + to_integer
        return scaled(expm1_near_0((x - (shifted - to_integer)) * ln2), shifted)

    def expm1(x: Any) -> Any:
        bounded = select(x < expm1_least, expm1_least, x)
        bounded = select(x > exp_most, exp_most, bounded)
        p, shifted = exp_parts(bounded)
        w = scale_normal(shifted)
        y = select(x > expm1_is_exp, scaled(p, shifted), fma(p, w, w - one))
        return select(x == zero, x, y)

    def tanh(x: Any) -> Any:
        x_abs = abs(x)
        p, shifted = exp_parts(two * select(x_abs > tanh_is_1, tanh_is_1, x_abs))
        w = scale_normal(shifted)
        t = fma(p, w, w - one)
        return with_sign(t / (t + two), x)

    def split(x: Any) -> Any:
        """k and m - 1 with x = 2**k m and m in [sqrt(1/2), sqrt(2)); and the biased exponent."""
        subnormal = x < least_normal
        e = as_bits(select(subnormal, x * to_normal, x)) + from_root_half
        exponent = e >> mantissa
        k = as_real(exponent | from_integer) - offset
        m = as_real((e & fraction) + root_half)
        return k - select(subnormal, shift, zero), m - one, exponent

    def log_tail(f: Any) -> Any:
        """f - ln(1 + f)"""
        s = f / (f + two)
        half_square = half * f * f
        return fma(-s, half_square + log_series(s * s), half_square)

    def where_defined(x: Any, y: Any) -> Any:
        """y as a logarithm of x, except where that is not a finite number."""
        y = select(x < infinity, y, x)
        y = select(x == zero, -infinity, y)
        return select(x < zero, not_a_number, y)

    def log(x: Any) -> Any:
        k, f, _ = split(x)
        return where_defined(x, fma(k, ln2_high, -(fma(-k, ln2_low, log_tail(f)) - f)))

    def log2(x: Any) -> Any:
        k, f, _ = split(x)
        return where_defined(x, fma(f - log_tail(f), log2_e, k))

    def log10(x: Any) -> Any:
        k, f, _ = split(x)
        y = fma(k, log10_2_high, fma(k, log10_2_low, (f - log_tail(f)) * log10_e))
        return where_defined(x, y)

    def log1p(x: Any) -> Any:
        u = x + one
        x_rounded = u - one
        lost = (one - (u - x_rounded)) + (x - x_rounded)
        k, f, exponent = split(u)
        f = fma(lost, half * power_of_2(mirror - exponent), f)
        y = where_defined(u, fma(k, ln2_high, -(fma(-k, ln2_low, log_tail(f)) - f)))
        return select(x == zero, x, y)

    made = (exp, exp2, expm1, log, log2, log10, log1p, tanh)
    public = dict(zip(NAMES, made, strict=True))
    parts_of_others = (with_sign, exp_parts, scales, scaled, split)
    return public, {**public, **{f.__name__: f for f in parts_of_others}}
