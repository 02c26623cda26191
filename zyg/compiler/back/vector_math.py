"""Elementary functions without branches, which LLVM inlines into a loop and vectorises.

numba calls the C library one number at a time, and that call, not the derivative, is most of the
time of a kernel. The functions here are arithmetic, selects and operations on the bits of a number,
so that a loop around them runs in vector registers. All are within 4 units in the last place over
the whole range, and treat infinities, NaN, signed zeros and subnormal numbers as IEEE 754 says. The
sine of a number in the millions and beyond is the C library's, and as good.

A name is the ufunc's and the width: `exp32` takes and returns a float32, `log1064` is log10 of a
float64. Float32 functions that lose nothing else are the rounded float64 ones.

What shapes the text: numbers become integers by adding a large number, as AVX2 converts no int64; a
shift names its unsigned type, as numba widens to 64 bits; bounds are written so that NaN fails the
comparison and passes; the order of a sum is the one that loses least; what computes with error
terms has its products rounded.

Sources: sine and cosine: FreeBSD's msun (k_sin.c, k_cos.c, k_sinf.c, k_cosf.c); arctan and erf:
S. Moshier's Cephes (atan.c, ndtr.c); exact sums and products: T. J. Dekker, "A floating-point
technique for extending the available precision", Numer. Math. 18 (1971).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zyg.compiler.back.vector_exponentials import (
    exp32,
    exp64,
    exp232,
    exp264,
    exp_parts,
    expm132,
    expm164,
    fused,
    fused_part,
    inline,
    inline_part,
    log1p32,
    log1p64,
    log32,
    log64,
    log232,
    log264,
    log1032,
    log1064,
    split,
    tanh32,
    tanh64,
    with_sign,
)
from zyg.compiler.back.vector_intrinsics import as_bits, as_real, fused_multiply_add, rare_call

# fmt: off
__all__ = [  # noqa: RUF022 - by function
    "exp32", "exp64", "exp232", "exp264", "expm132", "expm164", "log32", "log64", "log232",
    "log264", "log1032", "log1064", "log1p32", "log1p64", "power32", "power64", "sin32", "sin64",
    "cos32", "cos64", "tan32", "tan64", "arctan32", "arctan64", "sinh32", "sinh64", "cosh32",
    "cosh64", "tanh32", "tanh64", "erf32", "erf64",
]
# fmt: on

_F32, _F64, _U64 = np.float32, np.float64, np.uint64
_TO_INTEGER = 1.5 * 2.0**52  # where added, the nearest integer is in the last bits


@inline_part
def _difference(x: Any, y: Any) -> Any:
    """x - y and its rounding error."""
    z = x - y
    x_rounded = z + y
    return z, (x - x_rounded) + (x_rounded - z - y)


@fused_part
def _sin_cos_of_float32(x: Any) -> Any:
    """sin and cos of x reduced by a multiple of pi/2, and that multiple in the last bits."""
    shifted = x * (2 / math.pi) + _TO_INTEGER
    n = shifted - _TO_INTEGER
    r = (x - n * 1.5707963109016418) - n * 1.5893254773528196e-08
    z = r * r
    p = 0.0083333293858894631756 + z * (-0.000198393348360966317347 + z * 0.0000027183114939898219)
    sin = r * (1 + z * (-0.166666666416265235595 + z * p))
    p = 0.0416666233237390631894 + z * (
        -0.00138867637746099294692 + z * 0.0000243904487962774090654
    )
    cos = 1 + z * (-0.499999997251031003120 + z * p)
    return sin, cos, as_bits(shifted)


@inline_part
def _sin_cos_of_float64(x: Any) -> Any:
    """sin and cos of x reduced by a multiple of pi/2, and that multiple in the last bits."""
    shifted = x * (2 / math.pi) + _TO_INTEGER
    n = shifted - _TO_INTEGER
    # n times a part of pi/2 is exact, as the parts have 30 bits. The three differences cancel where
    # x is next to a multiple: each keeps its error.
    a, a_error = _difference(x - n * 1.570796325802803, n * 9.920935791635221e-10)
    b, b_error = _difference(a, n * 5.17018297889025e-19)
    c = a_error + b_error - n * 2.9038559739793605e-28
    r = b + c
    tail = (b - r) + c
    z = r * r
    p = -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10
    p = -1.98412698298579493134e-04 + z * (2.75573137070700676789e-06 + z * p)
    p = 8.33333333332248946124e-03 + z * p
    cube = z * r
    sin = r - ((z * (0.5 * tail - cube * p) - tail) + cube * 1.66666666666666324348e-01)
    p = 2.08757232129817482790e-09 + z * -1.13596475577881948265e-11
    p = 2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07 + z * p)
    p = z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * p))
    half_square = 0.5 * z
    w = 1 - half_square
    cos = w + (((1 - w) - half_square) + (z * p - r * tail))
    return sin, cos, as_bits(shifted)


@inline_part
def _negated(y: Any, quadrant: Any) -> Any:
    """y with its sign changed in the third and the fourth quadrant."""
    return as_real(as_bits(y) ^ ((quadrant & _U64(2)) << _U64(62)))


def _trigonometric(real: Any, sin_cos: Any, limit: float) -> tuple[Any, Any, Any]:
    """sin, cos and tan, computed in float64. Beyond the limit, where `sin_cos` is not exact enough
    and few numbers are, the C library's are called."""
    rare_sin, rare_cos, rare_tan = rare_call("sin"), rare_call("cos"), rare_call("tan")

    @inline
    def sin(x: Any) -> Any:
        s, c, quadrant = sin_cos(_F64(x))
        y = _negated(c if quadrant & _U64(1) else s, quadrant)
        if abs(x) > limit:
            y = rare_sin(_F64(x))
        return x if x == 0 else real(y)

    @inline
    def cos(x: Any) -> Any:
        s, c, quadrant = sin_cos(_F64(x))
        y = _negated(s if quadrant & _U64(1) else c, quadrant + (quadrant & _U64(1)))
        if abs(x) > limit:
            y = rare_cos(_F64(x))
        return real(y)

    @inline
    def tan(x: Any) -> Any:
        s, c, quadrant = sin_cos(_F64(x))
        odd = quadrant & _U64(1)
        y = (-c if odd else s) / (s if odd else c)
        if abs(x) > limit:
            y = rare_tan(_F64(x))
        return x if x == 0 else real(y)

    return sin, cos, tan


sin32, cos32, tan32 = _trigonometric(np.float32, _sin_cos_of_float32, 2.0**27)
sin64, cos64, tan64 = _trigonometric(np.float64, _sin_cos_of_float64, 2.0**23)


@fused
def arctan64(x: Any) -> Any:
    x_abs = abs(x)
    steep, middle = x_abs > 2.414213562373095, x_abs > 0.66  # tan(3 pi/8)
    t_over = -1.0 if steep else (x_abs - 1 if middle else x_abs)
    t = t_over / (x_abs if steep else (x_abs + 1 if middle else 1.0))
    z = t * t
    p = -16.15753718733365076637 + z * -0.8750608600031904122785
    p = -122.8866684490136173410 + z * (-75.00855792314704667340 + z * p)
    p = z * (-64.85021904942025371773 + z * p)
    q = 165.0270098316988542046 + z * (24.85846490142306297962 + z)
    q = 485.3903996359136964868 + z * (432.8810604912902668951 + z * q)
    q = 194.5506571482613964425 + z * q
    share = 1.0 if steep else (0.5 if middle else 0.0)
    angle = t + (t * (p / q) + share * 6.123233995736766e-17)  # pi/2 beyond its double
    return with_sign(share * (math.pi / 2) + angle, x)


@fused_part
def _exp_half(x: Any) -> Any:
    """exp(x) / 2 and expm1(x), which is infinite sooner, for x >= 0."""
    p, a, b = exp_parts(711.0 if x > 711.0 else x)
    return (p + 1) * a * (0.5 * b), p * (a * b) + (a * b - 1)


@fused
def sinh64(x: Any) -> Any:
    h, t = _exp_half(abs(x))
    return with_sign(0.5 * (t + t / (t + 1)) if abs(x) < 1 else h - 0.25 / h, x)


@fused
def cosh64(x: Any) -> Any:
    h, _ = _exp_half(abs(x))
    return h + 0.25 / h


@fused
def erf64(x: Any) -> Any:
    z = x * x
    p = 90.0260197203842689217 + z * 9.60497373987051638749
    p = 7003.32514112805075473 + z * (2232.00534594684319226 + z * p)
    p = 55592.3013010394962768 + z * p
    q = 521.357949780152679795 + z * (33.5617141647503099647 + z)
    q = 22629.0000613890934246 + z * (4594.32382970980127987 + z * q)
    q = 49267.3942608635921086 + z * q
    near = x * (p / q)
    w = 6.0 if abs(x) > 6.0 else abs(x)  # erf(6) rounds to 1
    p = 7.46321056442269912687 + w * (0.564189564831068821977 + w * 2.46196981473530512524e-10)
    p = 196.520832956077098242 + w * (48.6371970985681366614 + w * p)
    p = 934.528527171957607540 + w * (526.445194995477358631 + w * p)
    p = 557.535335369399327526 + w * (1027.55188689515710272 + w * p)
    q = 86.7072140885989742329 + w * (13.2281951154744992508 + w)
    q = 975.708501743205489753 + w * (354.937778887819891062 + w * q)
    q = 2246.33760818710981792 + w * (1823.90916687909736289 + w * q)
    q = 557.535340817727675546 + w * (1656.66309194161350182 + w * q)
    far = 1 - exp64(-w * w) * (p / q)
    return near if abs(x) < 1 else with_sign(far, x)


def _rounded(function: Any) -> Any:
    @inline
    def rounded(x: Any) -> Any:
        return _F32(function(_F64(x)))

    return rounded


arctan32, sinh32, cosh32, erf32 = map(_rounded, (arctan64, sinh64, cosh64, erf64))


@inline_part
def _product(x: Any, y: Any) -> Any:
    """x * y and its rounding error."""
    z = x * y
    return z, fused_multiply_add(x, y, -z)


@inline_part
def _precise_log(x: Any) -> Any:
    """ln(x) to about 65 bits, as a sum, for x >= 0.

    With x = 2**k m and s = (m - 1) / (m + 1): k ln 2 + 2 s + 2/3 s**3, each with its error, and a
    Chebyshev interpolation of the rest.
    """
    k, f, _ = split(x)
    d = f + 2
    s = f / d
    sd, sd_error = _product(s, d)
    s_low = (((f - sd) - sd_error) - s * (f - (d - 2))) / d
    z, z_low = _product(s, s)
    z_low += 2 * s * s_low
    cube, cube_low = _product(s, z)
    cube_low += s * z_low + s_low * z
    t, t_low = _product(cube, 0.6666666666666666)
    t_low += cube * 3.700743415417188e-17 + cube_low * 0.6666666666666666
    p = 0.133348065173055 + z * (0.11706187519978793 + z * 0.11723689023649227)
    p = 0.222222222216545 + z * (0.1818181833570672 + z * (0.1538459492898411 + z * p))
    p = cube * z * (0.4 + z * (0.2857142857142937 + z * p))
    u, u_error = _difference(k * 0.693147180559663, -2 * s)
    v, v_error = _difference(u, -t)
    low = p + (t_low + 2 * s_low + u_error + v_error + k * 2.8235290563031577e-13)
    y = v + low
    y_low = (v - y) + low
    y = y if x < math.inf else x
    return -math.inf if x == 0 else y, y_low


@inline_part
def _power(x: Any, y: Any, magnitude: Any) -> Any:
    """x**y, where `magnitude` is exp(y log(abs(x)))."""
    odd = (np.rint(y) == y) & (np.rint(0.5 * y) != 0.5 * y)
    z = with_sign(magnitude, x) if odd else magnitude
    z = math.nan if (x < 0) & (x > -math.inf) & (np.rint(y) != y) else z
    return 1.0 if (x == 1) | (y == 0) else z


@inline_part
def _bounded(x: Any, limit: Any) -> Any:
    x = -limit if x < -limit else x
    return limit if x > limit else x


@inline
def power64(x: Any, y: Any) -> Any:
    log_x, log_x_low = _precise_log(abs(x))
    exponent = _bounded(y, 1e20)  # as good as infinite: abs(ln(x)) > 1e-16 where x is not 1
    z, z_low = _product(exponent, log_x)
    z_low += exponent * log_x_low
    p, a, b = exp_parts(_bounded(z, 750.0))
    p += (p + 1) * (z_low if abs(z) < 750 else 0.0)
    return _power(x, y, (p + 1) * a * b)


@inline
def power32(x: Any, y: Any) -> Any:
    z = _bounded(_F64(y), 1e20) * log64(abs(_F64(x)))
    return _F32(_power(_F64(x), _F64(y), exp64(z)))
