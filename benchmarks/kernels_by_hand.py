"""The kernels of the HM-LSTM update, written by hand with numba: the limit for generated ones.

Derivatives are worked out on paper, the loads stand before the branches, which are selections, so
that LLVM vectorises the loops; results go into memory that is reused. The exponentials are those of
the generated kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from zyg.compiler.back import vector_math
from zyg.compiler.back.native import NoAlias, inlined

by_hand = njit(error_model="numpy", pipeline_class=NoAlias)


def programs(
    wrt: list[np.ndarray], controls: list[np.ndarray], y_bar: np.ndarray
) -> dict[str, Callable[[], Any]]:
    """Value and gradient in two phases, by the operands or by kept derivatives, and in one pass."""
    value, pullback, partials, products, one_pass = _kernels(y_bar.dtype)
    y, *cotangents = (np.empty_like(y_bar) for _ in range(5))

    def recompute() -> list[np.ndarray]:
        value(*wrt, *controls, y)
        pullback(y_bar, *wrt, *controls, *cotangents)
        return cotangents

    def cache() -> list[np.ndarray]:
        partials(*wrt, *controls, y, *cotangents)
        products(y_bar, *cotangents)
        return cotangents

    def once() -> list[np.ndarray]:
        one_pass(y_bar, *wrt, *controls, y, *cotangents)
        return cotangents

    return {"recompute": recompute, "cache": cache, "one pass": once}


def _cell(dtype: np.dtype) -> Any:
    exp = getattr(vector_math, f"exp{8 * dtype.itemsize}")
    tanh = getattr(vector_math, f"tanh{8 * dtype.itemsize}")
    zero, one = dtype.type(0), dtype.type(1)

    @inlined
    def cell(c, f, i, g, z1, z2):
        """The value and its derivatives with respect to c, f, i and g."""
        s_f, s_i, t = one / (one + exp(-f)), one / (one + exp(-i)), tanh(g)
        fresh = s_i * t
        flush = z1 == one
        copy = (z2 == zero) & (not flush)
        update = not (flush | copy)
        y = s_f * c + fresh if update else (c if copy else fresh)
        y_c = s_f if update else (one if copy else zero)
        y_f = c * s_f * (one - s_f) if update else zero
        y_i = zero if copy else fresh * (one - s_i)
        y_g = zero if copy else s_i * (one - t * t)
        return y, y_c, y_f, y_i, y_g

    return cell


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
    def products(y_bar, y_c, y_f, y_i, y_g):
        for j in range(y_bar.shape[0]):
            for k in range(y_bar.shape[1]):
                b = y_bar[j, k]
                y_c[j, k] *= b
                y_f[j, k] *= b
                y_i[j, k] *= b
                y_g[j, k] *= b

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
