"""The kernels of the HM-LSTM update, written by hand with numba: the limit for generated ones.

Nothing of zyg is in them: derivatives are worked out on paper, the loads stand before the branches,
which are selections, so that LLVM vectorises the loops; products and sums are fused; exp and tanh
are polynomials of the precision's own, as LLVM has none; results go into memory that is reused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numba.core.compiler import Compiler

RATIONAL_TANH = {  # of x^2; x P/Q is tanh up to where float32's is 1, to 5 ulp
    "P": (1.353409029292152e-08, 2.073741597996559e-05, 3.503353334963322e-03, 0.1338755339384079),
    "Q": (7.849625944800209e-07, 3.298354276921600e-04, 2.590649761259556e-02, 0.467208653688431),
}  # fmt: skip


class NoAlias(Compiler):
    """Compiles a function whose arrays do not overlap, which nothing has to find out then."""

    def define_pipelines(self) -> Any:
        self.state.flags.noalias = True
        return super().define_pipelines()


by_hand = njit(error_model="numpy", fastmath={"contract"}, pipeline_class=NoAlias)
inlined = njit(error_model="numpy", fastmath={"contract"}, forceinline=True)


def programs(
    wrt: list[np.ndarray], controls: list[np.ndarray], y_bar: np.ndarray
) -> dict[str, Callable[[], Any]]:
    """Value and gradient in two phases, by the operands or by kept derivatives, and in one pass.

    "kept" and "recompute" could pull back again, as zyg's can; "in place" has used up what it kept.
    """
    value, pullback, partials, products, one_pass = _kernels(y_bar.dtype)
    y, *slopes = (np.empty_like(y_bar) for _ in range(5))
    cotangents = [np.empty_like(y_bar) for _ in range(4)]

    def recompute() -> list[np.ndarray]:
        value(*wrt, *controls, y)
        pullback(y_bar, *wrt, *controls, *cotangents)
        return cotangents

    def kept() -> list[np.ndarray]:
        partials(*wrt, *controls, y, *slopes)
        products(y_bar, *slopes, *cotangents)
        return cotangents

    def in_place() -> list[np.ndarray]:
        partials(*wrt, *controls, y, *slopes)
        products_in_place(y_bar, *slopes)
        return slopes

    def once() -> list[np.ndarray]:
        one_pass(y_bar, *wrt, *controls, y, *cotangents)
        return cotangents

    return {"recompute": recompute, "kept": kept, "in place": in_place, "one pass": once}


# Of numbers


def _exp(dtype: np.dtype) -> Any:
    """2^k times a polynomial in x - k ln 2; k is in the bits of a sum with a large number."""
    number, bits = dtype.type, np.dtype(f"int{8 * dtype.itemsize}").type
    mantissa, bias, degree = {4: (23, 127, 7), 8: (52, 1023, 13)}[dtype.itemsize]
    top, bottom = number(math.log(2) * bias), number(-math.log(2) * (bias - 1))
    per_ln2, magic = number(1 / math.log(2)), number(1.5 * 2.0**mantissa)
    high, low = number(0.693359375), number(-2.1219444005469058e-4)  # ln 2; k times high is exact
    series = _polynomial(*(number(1 / math.factorial(n)) for n in range(degree, 1, -1)))
    one, shift, bias = number(1), bits(mantissa), bits(bias)

    @inlined
    def exp(x):
        x = min(max(x, bottom), top)
        shifted = x * per_ln2 + magic
        k = shifted - magic
        r = (x - k * high) - k * low
        power = bits((number(shifted).view(bits) + bias) << shift).view(number)
        return (series(r) * r * r + r + one) * power

    return exp


def _polynomial(*coefficients: Any) -> Any:
    """By Horner's rule, highest power first, written out as text."""
    names = {f"c{k}": c for k, c in enumerate(coefficients)}
    text = "c0"
    for k in range(1, len(coefficients)):
        text = f"({text} * x + c{k})"
    exec(f"def polynomial(x): return {text}", names)
    return inlined(names["polynomial"])


def _tanh(dtype: np.dtype, exp: Any) -> Any:
    number = dtype.type
    one, two = number(1), number(2)
    if dtype.itemsize == 4:
        flat = number(8.9)
        P, Q = (_polynomial(*map(number, RATIONAL_TANH[k]), one) for k in "PQ")  # noqa: N806

        @inlined
        def rational(x):
            x = min(max(x, -flat), flat)
            return x * P(x * x) / Q(x * x)

        return rational

    sinh = _polynomial(*(number(2 / math.factorial(n)) for n in range(15, 0, -2)))

    @inlined
    def tanh(x):
        e = exp(two * abs(x))  # (cosh + sinh)^2
        root = math.sqrt(e)
        near = x * sinh(x * x) / (root + one / root)
        far = one - two / (e + one)
        return near if abs(x) < number(0.25) else (-far if x < number(0) else far)

    return tanh


def _cell(dtype: np.dtype) -> Any:
    exp = _exp(dtype)
    tanh = _tanh(dtype, exp)
    zero, one = dtype.type(0), dtype.type(1)

    @inlined
    def cell(c, f, i, g, z1, z2):
        """The value and its derivatives with respect to c, f, i and g."""
        e_f, e_i, t = exp(-f), exp(-i), tanh(g)
        s_f, s_i = one / (one + e_f), one / (one + e_i)
        fresh = s_i * t
        flush = z1 == one
        copy = (z2 == zero) & (not flush)
        update = not (flush | copy)
        y = s_f * c + fresh if update else (c if copy else fresh)
        y_c = s_f if update else (one if copy else zero)
        y_f = c * (e_f * s_f * s_f) if update else zero
        y_i = zero if copy else fresh * (e_i * s_i)
        y_g = zero if copy else s_i * (one - t * t)
        return y, y_c, y_f, y_i, y_g

    return cell


# Of arrays


@by_hand
def products(y_bar, y_c, y_f, y_i, y_g, c_bar, f_bar, i_bar, g_bar):
    for j in range(y_bar.shape[0]):
        for k in range(y_bar.shape[1]):
            b = y_bar[j, k]
            c_bar[j, k], f_bar[j, k] = b * y_c[j, k], b * y_f[j, k]
            i_bar[j, k], g_bar[j, k] = b * y_i[j, k], b * y_g[j, k]


@by_hand
def products_in_place(y_bar, y_c, y_f, y_i, y_g):
    for j in range(y_bar.shape[0]):
        for k in range(y_bar.shape[1]):
            b = y_bar[j, k]
            y_c[j, k] *= b
            y_f[j, k] *= b
            y_i[j, k] *= b
            y_g[j, k] *= b


def _kernels(dtype: np.dtype) -> tuple[Callable[..., None], ...]:
    cell = _cell(dtype)

    @by_hand
    def value(c, f, i, g, z1, z2, y):
        for j in range(c.shape[0]):
            for k in range(c.shape[1]):
                y[j, k] = cell(c[j, k], f[j, k], i[j, k], g[j, k], z1[k], z2[k])[0]

    @by_hand
    def pullback(y_bar, c, f, i, g, z1, z2, c_bar, f_bar, i_bar, g_bar):
        for j in range(c.shape[0]):
            for k in range(c.shape[1]):
                b = y_bar[j, k]
                _, y_c, y_f, y_i, y_g = cell(c[j, k], f[j, k], i[j, k], g[j, k], z1[k], z2[k])
                c_bar[j, k], f_bar[j, k] = b * y_c, b * y_f
                i_bar[j, k], g_bar[j, k] = b * y_i, b * y_g

    @by_hand
    def partials(c, f, i, g, z1, z2, y, y_c, y_f, y_i, y_g):
        for j in range(c.shape[0]):
            for k in range(c.shape[1]):
                y[j, k], y_c[j, k], y_f[j, k], y_i[j, k], y_g[j, k] = cell(
                    c[j, k], f[j, k], i[j, k], g[j, k], z1[k], z2[k]
                )

    @by_hand
    def one_pass(y_bar, c, f, i, g, z1, z2, y, c_bar, f_bar, i_bar, g_bar):
        for j in range(c.shape[0]):
            for k in range(c.shape[1]):
                b = y_bar[j, k]
                y[j, k], y_c, y_f, y_i, y_g = cell(c[j, k], f[j, k], i[j, k], g[j, k], z1[k], z2[k])
                c_bar[j, k], f_bar[j, k] = b * y_c, b * y_f
                i_bar[j, k], g_bar[j, k] = b * y_i, b * y_g

    return value, pullback, partials, products, one_pass


def triad(n: int) -> Callable[[], None]:
    """a = b + s c over three arrays of n numbers: how fast memory is, as STREAM measures it."""
    a, b, c = np.ones((3, n), np.float32)
    s = np.float32(3)

    @by_hand
    def run(a, b, c):
        for k in range(a.size):
            a[k] = b[k] + s * c[k]

    return lambda: run(a, b, c)
