"""numpy.linalg, written in the language of whole functions: they are read where called."""

from __future__ import annotations

from typing import Any

import numpy as np

from zyg.compiler.front.library import demand


def eliminated(a: Any, b: Any) -> Any:
    """Gauss's elimination with pivots, in place: a becomes triangular; the sign of the order."""
    n = len(a)
    sign = 1.0
    for k in range(n):
        p = k
        best = abs(a[k, k])
        for i in range(k + 1, n):
            if abs(a[i, k]) > best:
                best = abs(a[i, k])
                p = i
        if p != k:
            sign = -sign
            for j in range(n):
                t = a[k, j]
                a[k, j] = a[p, j]
                a[p, j] = t
            for j in range(b.shape[1]):
                t = b[k, j]
                b[k, j] = b[p, j]
                b[p, j] = t
        if best > 0:
            for i in range(k + 1, n):
                f = a[i, k] / a[k, k]
                for j in range(k + 1, n):
                    a[i, j] -= f * a[k, j]
                for j in range(b.shape[1]):
                    b[i, j] -= f * b[k, j]
    return sign


def solved(a: Any, b: Any) -> Any:
    """The solution for the columns of a matrix."""
    demand(a.shape[0] == a.shape[1])
    demand(a.shape[0] == b.shape[0])
    u = np.array(a, float)
    x = np.array(b, float)
    eliminated(u, x)
    n = len(u)
    for i in range(n - 1, -1, -1):
        demand(u[i, i] != 0)
        for j in range(i + 1, n):
            for k in range(x.shape[1]):
                x[i, k] -= u[i, j] * x[j, k]
        for k in range(x.shape[1]):
            x[i, k] /= u[i, i]
    return x


def solve(a: Any, b: Any) -> Any:
    if a.ndim > 2:
        rows = a.reshape((-1, *a.shape[-2:]))
        made = np.empty((len(rows), *b.shape[-2:]))
        shape = (*a.shape[:-2], *b.shape[-2:])
        sides = np.broadcast_to(b, shape).reshape((-1, *b.shape[-2:]))
        for i in range(len(rows)):
            made[i] = solved(rows[i], sides[i])
        return made.reshape(shape)
    if b.ndim == 1:
        return solved(a, b[:, None])[:, 0]
    return solved(a, b)


def matrix_power(a: Any, n: Any) -> Any:
    base = np.linalg.inv(a) if n < 0 else np.array(a)
    made = np.eye(len(a), dtype=base.dtype)
    for _ in range(abs(n)):
        made = made @ base
    return made


def outer(x1: Any, x2: Any) -> Any:
    return np.outer(x1, x2)


MATRICES: dict[Any, Any] = {
    np.linalg.solve: solve, np.linalg.matrix_power: matrix_power,
}  # fmt: skip
