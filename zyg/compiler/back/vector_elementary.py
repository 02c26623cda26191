"""Elementary functions without branches, for several numbers at once, made for whoever computes.

The C library computes one number at a time, and that call, not the derivative, would be most of the
time of a kernel. The functions here are arithmetic, selections and operations on the bits of a
number, so that a loop around them runs in vector registers. All are within 4 units in the last
place over the whole range, and treat infinities, NaN, signed zeros and subnormal numbers as IEEE
754 says. The sine of a number in the millions and beyond is the C library's, and as good.

Numbers are those of `simd`, vectors or single ones: both compute the same bits.

What shapes the text: numbers become integers by adding a large number, as AVX2 converts no int64;
bounds are written so that NaN fails the comparison and passes; the order of a sum is the one that
loses least; products are fused with sums in polynomials, not where error terms are computed.

Sources: sine and cosine: FreeBSD's msun (k_sin.c, k_cos.c, k_sinf.c, k_cosf.c); arctan and erf:
S. Moshier's Cephes (atan.c, ndtr.c); exact sums and products: T. J. Dekker, "A floating-point
technique for extending the available precision", Numer. Math. 18 (1971).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zyg.compiler.back.simd import Lanes
from zyg.compiler.back.vector_exponentials import exponentials
from zyg.functions.operations import OPERATIONS

_TO_INTEGER = 1.5 * 2.0**52  # where added, the nearest integer is in the last bits
VECTORISED = frozenset(row.name for row in OPERATIONS.values() if row.simd)
_ONE, _TWO, _TO_SIGN = np.uint64(1), np.uint64(2), np.uint64(62)


def elementary(m: Lanes) -> dict[str, Any]:
    """The functions by their names: that of the ufunc, and the width of the float they are of.

    Float32 functions that lose nothing else are the rounded float64 ones.
    """
    (of32, _), (of64, parts) = exponentials(m, 32), exponentials(m, 64)
    made = {f"{name}32": f for name, f in of32.items()}
    made |= {f"{name}64": f for name, f in of64.items()}
    made |= _trigonometric(m, 32, _sin_cos_of_float32(m), 2.0**27)
    made |= _trigonometric(m, 64, _sin_cos_of_float64(m), 2.0**23)
    wide = {"arctan": _arctan(m, parts), "erf": _erf(m, parts), **_hyperbolic(m, parts)}
    made |= {f"{name}64": f for name, f in wide.items()}
    made |= {f"{name}32": _rounded(m, f) for name, f in wide.items()}
    return made | _powers(m, parts)


def _difference(m: Lanes) -> Any:
    def difference(x: Any, y: Any) -> Any:
        """x - y and its rounding error."""
        z = x - y
        x_rounded = z + y
        return z, (x - x_rounded) + (x_rounded - z - y)

    return difference


def _sin_cos_of_float32(m: Lanes) -> Any:
    fma, as_bits = m.fma, m.as_bits

    def sin_cos(x: Any) -> Any:
        """sin and cos of x reduced by a multiple of pi/2, and that multiple in the last bits."""
        shifted = fma(x, 2 / math.pi, _TO_INTEGER)
        n = shifted - _TO_INTEGER
        r = fma(n, -1.5893254773528196e-08, fma(n, -1.5707963109016418, x))
        z = r * r
        p = fma(z, 0.0000027183114939898219, -0.000198393348360966317347)
        p = fma(z, fma(z, p, 0.0083333293858894631756), -0.166666666416265235595)
        q = fma(z, 0.0000243904487962774090654, -0.00138867637746099294692)
        q = fma(z, fma(z, q, 0.0416666233237390631894), -0.499999997251031003120)
        return r * fma(z, p, 1.0), fma(z, q, 1.0), as_bits(shifted)

    return sin_cos


def _sin_cos_of_float64(m: Lanes) -> Any:
    as_bits, difference = m.as_bits, _difference(m)

    def sin_cos(x: Any) -> Any:
        """sin and cos of x reduced by a multiple of pi/2, and that multiple in the last bits."""
        shifted = x * (2 / math.pi) + _TO_INTEGER
        n = shifted - _TO_INTEGER
        # n times a part of pi/2 is exact, as the parts have 30 bits. The three differences cancel
        # where x is next to a multiple: each keeps its error.
        a, a_error = difference(x - n * 1.570796325802803, n * 9.920935791635221e-10)
        b, b_error = difference(a, n * 5.17018297889025e-19)
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
        w = 1.0 - half_square
        cos = w + (((1.0 - w) - half_square) + (z * p - r * tail))
        return sin, cos, as_bits(shifted)

    return sin_cos


def _trigonometric(m: Lanes, width: int, sin_cos: Any, limit: float) -> dict[str, Any]:
    """sin, cos and tan, computed in float64. Beyond the limit, where `sin_cos` is not exact enough
    and few numbers are, the C library's are called."""
    select, as_bits, as_real = m.select, m.as_bits, m.as_real
    real, wide = m.real[width], m.real[64]
    rare_sin, rare_cos, rare_tan = (m.rare(name) for name in ("sin", "cos", "tan"))

    def negated(y: Any, quadrant: Any) -> Any:
        """y with its sign changed in the third and the fourth quadrant."""
        return as_real(as_bits(y) ^ ((quadrant & _TWO) << _TO_SIGN))

    def sin(x: Any) -> Any:
        s, c, quadrant = sin_cos(wide(x))
        y = negated(select((quadrant & _ONE) == _ONE, c, s), quadrant)
        return select(x == 0, x, real(rare_sin(abs(x) > limit, wide(x), y)))

    def cos(x: Any) -> Any:
        s, c, quadrant = sin_cos(wide(x))
        odd = quadrant & _ONE
        y = negated(select(odd == _ONE, s, c), quadrant + odd)
        return real(rare_cos(abs(x) > limit, wide(x), y))

    def tan(x: Any) -> Any:
        s, c, quadrant = sin_cos(wide(x))
        odd = (quadrant & _ONE) == _ONE
        y = select(odd, -c, s) / select(odd, s, c)
        return select(x == 0, x, real(rare_tan(abs(x) > limit, wide(x), y)))

    return {f"sin{width}": sin, f"cos{width}": cos, f"tan{width}": tan}


def _arctan(m: Lanes, parts: dict[str, Any]) -> Any:
    select, fma, with_sign = m.select, m.fma, parts["with_sign"]

    def arctan(x: Any) -> Any:
        x_abs = abs(x)
        steep, middle = x_abs > 2.414213562373095, x_abs > 0.66  # tan(3 pi/8)
        t_over = select(steep, -1.0, select(middle, x_abs - 1.0, x_abs))
        t = t_over / select(steep, x_abs, select(middle, x_abs + 1.0, 1.0))
        z = t * t
        p = fma(z, -0.8750608600031904122785, -16.15753718733365076637)
        p = fma(z, fma(z, p, -75.00855792314704667340), -122.8866684490136173410)
        p = z * fma(z, p, -64.85021904942025371773)
        q = fma(z, 24.85846490142306297962 + z, 165.0270098316988542046)
        q = fma(z, fma(z, q, 432.8810604912902668951), 485.3903996359136964868)
        q = fma(z, q, 194.5506571482613964425)
        share = select(steep, 1.0, select(middle, 0.5, 0.0))
        # The second constant is what pi/2 is beyond its double.
        angle = t + fma(t, p / q, share * 6.123233995736766e-17)
        return with_sign(fma(share, math.pi / 2, angle), x)

    return arctan


def _hyperbolic(m: Lanes, parts: dict[str, Any]) -> dict[str, Any]:
    select, fma, with_sign = m.select, m.fma, parts["with_sign"]
    exp_parts, scales = parts["exp_parts"], parts["scales"]

    def exp_half(x: Any) -> Any:
        """exp(x) / 2 and expm1(x), which is infinite sooner, for x >= 0."""
        p, shifted = exp_parts(select(x > 711.0, 711.0, x))
        a, b = scales(shifted)
        w = a * b
        return fma(p, a, a) * (0.5 * b), fma(p, w, w - 1.0)

    def sinh(x: Any) -> Any:
        x_abs = abs(x)
        h, t = exp_half(x_abs)
        return with_sign(select(x_abs < 1.0, 0.5 * (t + t / (t + 1.0)), h - 0.25 / h), x)

    def cosh(x: Any) -> Any:
        h, _ = exp_half(abs(x))
        return h + 0.25 / h

    return {"sinh": sinh, "cosh": cosh}


def _erf(m: Lanes, parts: dict[str, Any]) -> Any:
    select, fma, exp, with_sign = m.select, m.fma, parts["exp"], parts["with_sign"]

    def erf(x: Any) -> Any:
        z, x_abs = x * x, abs(x)
        p = fma(z, 9.60497373987051638749, 90.0260197203842689217)
        p = fma(z, fma(z, p, 2232.00534594684319226), 7003.32514112805075473)
        p = fma(z, p, 55592.3013010394962768)
        q = fma(z, 33.5617141647503099647 + z, 521.357949780152679795)
        q = fma(z, fma(z, q, 4594.32382970980127987), 22629.0000613890934246)
        q = fma(z, q, 49267.3942608635921086)
        near = x * (p / q)
        w = select(x_abs > 6.0, 6.0, x_abs)  # erf(6) rounds to 1
        p = fma(w, 2.46196981473530512524e-10, 0.564189564831068821977)
        p = fma(w, fma(w, p, 7.46321056442269912687), 48.6371970985681366614)
        p = fma(w, fma(w, p, 196.520832956077098242), 526.445194995477358631)
        p = fma(w, fma(w, p, 934.528527171957607540), 1027.55188689515710272)
        p = fma(w, p, 557.535335369399327526)
        q = fma(w, 13.2281951154744992508 + w, 86.7072140885989742329)
        q = fma(w, fma(w, q, 354.937778887819891062), 975.708501743205489753)
        q = fma(w, fma(w, q, 1823.90916687909736289), 2246.33760818710981792)
        q = fma(w, fma(w, q, 1656.66309194161350182), 557.535340817727675546)
        far = fma(-exp(-w * w), p / q, 1.0)
        return select(x_abs < 1.0, near, with_sign(far, x))

    return erf


def _rounded(m: Lanes, function: Any) -> Any:
    narrow, wide = m.real[32], m.real[64]

    def rounded(x: Any) -> Any:
        return narrow(function(wide(x)))

    return rounded


def _precise_log(m: Lanes, parts: dict[str, Any], product: Any) -> Any:
    select, difference, split = m.select, _difference(m), parts["split"]

    def precise_log(x: Any) -> Any:
        """ln(x) to about 65 bits, as a sum, for x >= 0.

        With x = 2**k m and s = (m - 1) / (m + 1): k ln 2 + 2 s + 2/3 s**3, each with its error, and
        a Chebyshev interpolation of the rest.
        """
        k, f, _ = split(x)
        d = f + 2.0
        s = f / d
        sd, sd_error = product(s, d)
        s_low = (((f - sd) - sd_error) - s * (f - (d - 2.0))) / d
        z, z_low = product(s, s)
        z_low += 2.0 * s * s_low
        cube, cube_low = product(s, z)
        cube_low += s * z_low + s_low * z
        t, t_low = product(cube, 0.6666666666666666)
        t_low += cube * 3.700743415417188e-17 + cube_low * 0.6666666666666666
        p = 0.133348065173055 + z * (0.11706187519978793 + z * 0.11723689023649227)
        p = 0.222222222216545 + z * (0.1818181833570672 + z * (0.1538459492898411 + z * p))
        p = cube * z * (0.4 + z * (0.2857142857142937 + z * p))
        u, u_error = difference(k * 0.693147180559663, -2.0 * s)
        v, v_error = difference(u, -t)
        low = p + (t_low + 2.0 * s_low + u_error + v_error + k * 2.8235290563031577e-13)
        y = v + low
        y_low = (v - y) + low
        y = select(x < math.inf, y, x)
        return select(x == 0, -math.inf, y), y_low

    return precise_log


def _powers(m: Lanes, parts: dict[str, Any]) -> dict[str, Any]:
    select, rint, exact_fma = m.select, m.rint, m.exact_fma
    narrow, wide = m.real[32], m.real[64]
    with_sign, exp_parts, exp, log = (parts[p] for p in ("with_sign", "exp_parts", "exp", "log"))
    scaled = parts["scaled"]

    def product(x: Any, y: Any) -> Any:
        """x * y and its rounding error."""
        z = x * y
        return z, exact_fma(x, y, -z)

    precise_log = _precise_log(m, parts, product)

    def signed(x: Any, y: Any, magnitude: Any) -> Any:
        """x**y, where `magnitude` is exp(y log(abs(x)))."""
        half, whole = 0.5 * y, rint(y) == y
        z = select(whole & (rint(half) != half), with_sign(magnitude, x), magnitude)
        z = select((x < 0) & (x > -math.inf) & (rint(y) != y), math.nan, z)
        return select((x == 1) | (y == 0), 1.0, z)

    def bounded(x: Any, limit: Any) -> Any:
        x = select(x < -limit, -limit, x)
        return select(x > limit, limit, x)

    def power64(x: Any, y: Any) -> Any:
        log_x, log_x_low = precise_log(abs(x))
        y = wide(y)
        exponent = bounded(y, 1e20)  # as good as infinite: abs(ln(x)) > 1e-16 where x is not 1
        z, z_low = product(exponent, log_x)
        z_low += exponent * log_x_low
        p, shifted = exp_parts(bounded(z, 750.0))
        p += (p + 1.0) * select(abs(z) < 750.0, z_low, 0.0)
        return signed(x, y, scaled(p, shifted))

    def power32(x: Any, y: Any) -> Any:
        x, y = wide(x), wide(y)
        return narrow(signed(x, y, exp(bounded(y, 1e20) * log(abs(x)))))

    return {"power64": power64, "power32": power32}
