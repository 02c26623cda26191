"""Exponentials and logarithms without branches, in float32 and float64: a part of vector_math.

One text serves both types, which choose the constants (`_family`). The exponentials take x to
n ln 2 + r with an integer n, and expm1(r) from a polynomial: Chebyshev interpolation on
[-ln(2)/2, ln(2)/2], evaluated by Estrin's scheme, since in a chain of functions each waits for the
one before; a product and a sum are one instruction where the processor has it. The logarithms take
x to 2**k m with m next to 1, and ln(m) from a series in (m - 1) / (m + 1): FreeBSD's msun, e_log.c
and e_logf.c.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from zyg.compiler.back.vector_intrinsics import as_bits, as_real

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"forceinline": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_OPTIONS_OF_PART = {**_OPTIONS, "no_cpython_wrapper": True}

inline = cast("Callable[[Function], Function]", njit(**_OPTIONS))
# Without the wrapper for calls from Python a function that only compiled ones call compiles faster.
inline_part = cast("Callable[[Function], Function]", njit(**_OPTIONS_OF_PART))
# A product and a sum may be one instruction, rounded once; not where an error term is computed.
fused = cast("Callable[[Function], Function]", njit(**_OPTIONS, fastmath={"contract"}))
fused_part = cast("Callable[[Function], Function]", njit(**_OPTIONS_OF_PART, fastmath={"contract"}))

_LN2 = math.log(2)


@inline_part
def _expm1_near_0_32(r: Any) -> Any:
    real = np.float32
    r2 = r * r
    high = real(0.041666463) + r * real(0.0083333105)
    high += r2 * (real(0.0013933731) + r * real(0.0001989108))
    return r + r2 * ((real(0.5) + r * real(0.16666667)) + r2 * high)


@inline_part
def _expm1_near_0_64(r: Any) -> Any:
    r2 = r * r
    r4 = r2 * r2
    high = 2.4801521057868204e-05 + r * 2.7557268276905696e-06
    high += r2 * (2.7620201591031547e-07 + r * 2.5100472505694996e-08)
    p = (0.041666666666623824 + r * 0.008333333333330039) + r2 * (
        0.0013888888917367081 + r * 0.00019841269863171557
    )
    return r + r2 * ((0.5 + r * 0.16666666666666669) + r2 * (p + r4 * high))


@inline_part
def _log_series32(z: Any) -> Any:
    real = np.float32
    p = real(0.28498786688) + z * real(0.24279078841)
    return z * (real(0.66666662693) + z * (real(0.40000972152) + z * p))


@inline_part
def _log_series64(z: Any) -> Any:
    p = 1.531383769920937332e-01 + z * 1.479819860511658591e-01
    p = 2.222219843214978396e-01 + z * (1.818357216161805012e-01 + z * p)
    p = 3.999999999940941908e-01 + z * (2.857142874366239149e-01 + z * p)
    return z * (6.666666666666735130e-01 + z * p)


def _family(
    real: Any,
    bits: Any,
    digits: int,
    bias: int,
    parts: tuple[float, ...],
    expm1_near_0: Any,
    log_series: Any,
) -> tuple[Any, ...]:
    """The functions of the type `real`, whose representation is an unsigned `bits`.

    ``digits`` is the number of bits behind the leading one, ``bias`` that of the exponent;
    ``parts`` are ln 2 and log10(2) as high + low, where high times any exponent is exact.
    """
    zero, half, one, two = real(0), real(0.5), real(1), real(2)
    infinity, not_a_number = real(math.inf), real(math.nan)
    ln2, log2_e, log10_e = real(_LN2), real(1 / _LN2), real(1 / math.log(10))
    ln2_high, ln2_low, log10_2_high, log10_2_low = (real(part) for part in parts)

    mantissa, one_bit, mirror = bits(digits), bits(1), bits(2 * bias + 1)
    sign_bit, fraction = real(-0.0).view(bits), bits(2**digits - 1)
    to_integer = real(2.0**digits + 2 * bias)  # where added, n + 2 bias is in the last bits
    from_integer, offset = real(2.0**digits).view(bits), real(2.0**digits + bias)
    root_half = real(math.sqrt(0.5)).view(bits)
    from_root_half = one.view(bits) - root_half
    least_normal, to_normal, shift = real(2.0 ** (1 - bias)), real(2.0**digits), real(digits)

    exp2_least, exp2_most = real(-bias - digits - 1), real(bias + 2)  # give 0 and infinity
    exp_least, exp_most = real(math.floor(exp2_least * _LN2)), real(math.ceil(exp2_most * _LN2))
    expm1_least, expm1_is_exp = real(-(digits + 3) * _LN2), real(1.5 * digits)
    tanh_is_1 = real((digits + 5) * _LN2 / 2)  # there 1 - 2 / exp(2 x) is 1, with room

    @inline_part
    def with_sign(y: Any, x: Any) -> Any:
        """y >= 0 with the sign of x."""
        return as_real(bits(as_bits(y) | bits(as_bits(x) & sign_bit)))

    @inline_part
    def power_of_2(e: Any) -> Any:
        return as_real(bits(e << mantissa))

    @inline_part
    def scales(shifted: Any) -> Any:
        """a and b with a * b = 2**n: one factor alone cannot be subnormal, nor near infinity."""
        e = as_bits(shifted)
        e_half = bits(e >> one_bit)
        return power_of_2(e_half), power_of_2(bits(e - e_half))

    @inline_part
    def exp_parts(x: Any) -> Any:
        """p, a and b with exp(x) = (1 + p) a b, for a bounded x."""
        shifted = x * log2_e + to_integer
        n = shifted - to_integer
        p = expm1_near_0((x - n * ln2_high) - n * ln2_low)
        a, b = scales(shifted)
        return p, a, b

    @fused
    def exp(x: Any) -> Any:
        x = exp_least if x < exp_least else x
        x = exp_most if x > exp_most else x
        p, a, b = exp_parts(x)
        return (p + one) * a * b

    @fused
    def exp2(x: Any) -> Any:
        x = exp2_least if x < exp2_least else x
        x = exp2_most if x > exp2_most else x
        shifted = x + to_integer
        p = expm1_near_0((x - (shifted - to_integer)) * ln2)
        a, b = scales(shifted)
        return (p + one) * a * b

    @fused
    def expm1(x: Any) -> Any:
        bounded = expm1_least if x < expm1_least else x
        bounded = exp_most if x > exp_most else bounded
        p, a, b = exp_parts(bounded)
        y = p * (a * b) + (a * b - one)
        y = (p + one) * a * b if x > expm1_is_exp else y
        return x if x == zero else y

    @fused
    def tanh(x: Any) -> Any:
        x_abs = abs(x)
        p, a, b = exp_parts(two * (tanh_is_1 if x_abs > tanh_is_1 else x_abs))
        t = p * (a * b) + (a * b - one)
        return with_sign(t / (t + two), x)

    @inline_part
    def split(x: Any) -> Any:
        """k and m - 1 with x = 2**k m and m in [sqrt(1/2), sqrt(2)); and the biased exponent."""
        subnormal = x < least_normal
        e = bits(as_bits(x * to_normal if subnormal else x) + from_root_half)
        exponent = bits(e >> mantissa)
        k = as_real(bits(from_integer | exponent)) - offset
        m = as_real(bits(bits(e & fraction) + root_half))
        return k - (shift if subnormal else zero), m - one, exponent

    @inline_part
    def log_tail(f: Any) -> Any:
        """f - ln(1 + f)"""
        s = f / (f + two)
        half_square = half * f * f
        return half_square - s * (half_square + log_series(s * s))

    @inline_part
    def where_defined(x: Any, y: Any) -> Any:
        """y as a logarithm of x, except where that is not a finite number."""
        y = y if x < infinity else x
        y = -infinity if x == zero else y
        return not_a_number if x < zero else y

    @fused
    def log(x: Any) -> Any:
        k, f, _ = split(x)
        return where_defined(x, k * ln2_high - ((log_tail(f) - k * ln2_low) - f))

    @fused
    def log2(x: Any) -> Any:
        k, f, _ = split(x)
        return where_defined(x, k + (f - log_tail(f)) * log2_e)

    @fused
    def log10(x: Any) -> Any:
        k, f, _ = split(x)
        y = k * log10_2_high + (k * log10_2_low + (f - log_tail(f)) * log10_e)
        return where_defined(x, y)

    @fused
    def log1p(x: Any) -> Any:
        u = one + x
        x_rounded = u - one
        lost = (one - (u - x_rounded)) + (x - x_rounded)
        k, f, exponent = split(u)
        f += lost * (half * power_of_2(bits(mirror - exponent)))
        y = where_defined(u, k * ln2_high - ((log_tail(f) - k * ln2_low) - f))
        return x if x == zero else y

    return exp, exp2, expm1, tanh, log, log2, log10, log1p, with_sign, exp_parts, split


exp32, exp232, expm132, tanh32, log32, log232, log1032, log1p32, *_ = _family(
    np.float32,
    np.uint32,
    23,
    127,
    (0.693145751953125, 1.4286068203094173e-06, 0.301025390625, 4.605038981195214e-06),
    _expm1_near_0_32,
    _log_series32,
)
exp64, exp264, expm164, tanh64, log64, log264, log1064, log1p64, with_sign, exp_parts, split = (
    _family(
        np.float64,
        np.uint64,
        52,
        1023,
        (0.693147180559663, 2.8235290563031577e-13, 0.30102999566383914, 1.42050232272661e-13),
        _expm1_near_0_64,
        _log_series64,
    )
)
