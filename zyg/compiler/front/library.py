"""Functions of NumPy's, written in the language of whole functions: they are read where called.

Reductions and elementwise functions are loops of the reader's own; these are what is made of them.
"""

# ruff: noqa: N803 - NumPy's names

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


def demand(condition: Any) -> None:
    """Python runs the function where a condition is false, and raises what NumPy raises."""
    raise NotImplementedError


def slopes_hold(condition: Any) -> None:
    """Where a condition is false, the derivatives are those of the function's rule."""
    raise NotImplementedError


def lies_like(x: Any, a: Any) -> Any:
    """An array, or a copy, whose axes are in the order that np.copy(a) has."""
    raise NotImplementedError


def demand_read(condition: Any) -> None:
    """The function is called back, by its rule, where a condition on shapes or types is false."""
    raise NotImplementedError


def stack_of(a: Any, n: int) -> Any:
    """What the last n axes have, one after the other; there may be no elements at all."""
    count = 1
    for k in range(a.ndim - n):
        count = count * a.shape[k]
    return a.reshape((count, *a.shape[a.ndim - n :]))


@dataclass(frozen=True)
class WithAdjoint:
    """A function whose text gives the result and, for a cotangent of it, that of the argument."""

    rule: Any

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError  # it is read


# Along an axis, in order


def scanned(a: Any, axis: Any, kind: Any) -> Any:
    """A new array for a scan of another one, whose axis comes first."""
    return np.moveaxis(np.empty_like(a + 0, kind), axis, 0)  # in the order that a ufunc gives


def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    b = np.ravel(a) if axis is None else np.moveaxis(a, axis, 0)
    kind = dtype if dtype is not None else int if a.dtype == bool else a.dtype
    made = np.empty_like(b, kind) if axis is None else scanned(a, axis, kind)
    if len(b) > 0:
        made[0] = b[0]
    for i in range(1, len(b)):
        made[i] = made[i - 1] + b[i]
    return made if axis is None else np.moveaxis(made, 0, axis)


def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    b = np.ravel(a) if axis is None else np.moveaxis(a, axis, 0)
    kind = dtype if dtype is not None else int if a.dtype == bool else a.dtype
    made = np.empty_like(b, kind) if axis is None else scanned(a, axis, kind)
    if len(b) > 0:
        made[0] = b[0]
    for i in range(1, len(b)):
        made[i] = made[i - 1] * b[i]
    slopes_hold(np.all(np.isfinite(made)))
    return made if axis is None else np.moveaxis(made, 0, axis)


def add_accumulate(array: Any, axis: Any = 0) -> Any:
    demand_read(type(axis) is int)
    return cumsum(array, axis)


def multiply_accumulate(array: Any, axis: Any = 0) -> Any:
    demand_read(type(axis) is int)
    return cumprod(array, axis)


def maximum_accumulate(array: Any, axis: Any = 0) -> Any:
    b = np.moveaxis(array, axis, 0)
    made = np.moveaxis(+array, axis, 0)
    for i in range(1, len(b)):
        made[i] = np.maximum(b[i], made[i - 1])  # of equals the first
    return np.moveaxis(made, 0, axis)


def minimum_accumulate(array: Any, axis: Any = 0) -> Any:
    b = np.moveaxis(array, axis, 0)
    made = np.moveaxis(+array, axis, 0)
    for i in range(1, len(b)):
        made[i] = np.minimum(made[i - 1], b[i])
    return np.moveaxis(made, 0, axis)


def diff(a: Any, n: Any = 1, axis: Any = -1) -> Any:
    b = np.moveaxis(a, axis, 0)
    for _ in range(n):
        b = b[1:] != b[:-1] if a.dtype == bool else b[1:] - b[:-1]
    return lies_like(np.moveaxis(b, 0, axis), a + 0) if n else a


def ediff1d(ary: Any) -> Any:
    b = np.ravel(ary)
    return b[1:] - b[:-1]


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    b = np.moveaxis(y, axis, 0)
    if x is None:
        return (dx * (b[1:] + b[:-1]) / 2.0).sum(0)
    demand_read(x.ndim == 1)
    d = x[1:] - x[:-1]
    if b.ndim > 1:
        d = d.reshape((-1,) + (1,) * (b.ndim - 1))
    return (d * (b[1:] + b[:-1]) / 2.0).sum(0)


# Shapes


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None and a.ndim != 1:
        return np.roll(a.ravel(), shift, 0).reshape(a.shape)
    along = 0 if axis is None else axis
    b = np.moveaxis(a, along, 0)
    made = np.empty_like(b)
    n = len(b)
    k = shift % n if n > 0 else 0
    made[k:] = b[: n - k]
    made[:k] = b[n - k :]
    return np.moveaxis(made, 0, along)


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    b = np.ravel(a) if axis is None else np.moveaxis(a, axis, 0)
    made = np.empty((len(b) * repeats, *b.shape[1:]), b.dtype)
    for i in range(len(b)):
        for k in range(repeats):
            made[i * repeats + k] = b[i]
    return made if axis is None else np.ascontiguousarray(np.moveaxis(made, 0, axis))


def tiled(a: Any, times: Any, axis: Any) -> Any:
    b = np.moveaxis(a, axis, 0)
    n = len(b)
    made = np.empty((times * n, *b.shape[1:]), b.dtype)
    for k in range(times):
        for i in range(n):
            made[k * n + i] = b[i]
    return np.ascontiguousarray(np.moveaxis(made, 0, axis))


def tile(A: Any, reps: Any) -> Any:
    b = np.asarray(A)
    times = reps if isinstance(reps, tuple) else (reps,)
    for _ in range(len(times) - b.ndim):
        b = b[None]
    if all(n == 1 for n in times):
        return b.copy("K")
    for k in range(len(times)):
        b = tiled(b, times[k], b.ndim - len(times) + k)
    return b


def flipud(m: Any) -> Any:
    return m[::-1]


def fliplr(m: Any) -> Any:
    return m[:, ::-1]


def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    demand(axes[0] % m.ndim != axes[1] % m.ndim)
    turns = k % 4
    if turns == 0:
        return m[:]
    if turns == 2:
        return np.flip(np.flip(m, axes[0]), axes[1])
    if turns == 1:
        return np.swapaxes(np.flip(m, axes[1]), axes[0], axes[1])
    return np.flip(np.swapaxes(m, axes[0], axes[1]), axes[1])


def meshgrid(x: Any, y: Any, indexing: Any = "xy") -> Any:
    if indexing == "ij":
        shape = (len(x), len(y))
        return np.broadcast_to(x[:, None], shape).copy(), np.broadcast_to(y, shape).copy()
    shape = (len(y), len(x))
    return np.broadcast_to(x, shape).copy(), np.broadcast_to(y[:, None], shape).copy()


# Matrices


def diag(v: Any, k: Any = 0) -> Any:
    if v.ndim == 2:
        return np.diagonal(v, k)
    n = len(v) + abs(k)
    made = np.zeros((n, n), v.dtype)
    for i in range(len(v)):
        made[i + max(-k, 0), i + max(k, 0)] = v[i]
    return made


def fill_diagonal(a: Any, val: Any) -> None:
    demand(a.ndim == 2)
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = val


def trace(a: Any, offset: Any = 0) -> Any:
    return np.diagonal(a, offset).sum(-1)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Any:
    columns = N if M is None else M
    i = np.arange(N)
    j = np.arange(columns)
    return (i[:, None] + k >= j).astype(dtype)


def tril(m: Any, k: Any = 0) -> Any:
    i = np.arange(m.shape[-2])
    j = np.arange(m.shape[-1])
    return np.where(i[:, None] + k >= j, m, np.zeros(1, m.dtype))


def triu(m: Any, k: Any = 0) -> Any:
    i = np.arange(m.shape[-2])
    j = np.arange(m.shape[-1])
    return np.where(i[:, None] + k <= j, m, np.zeros(1, m.dtype))


def kron(a: Any, b: Any) -> Any:
    n = max(a.ndim, b.ndim)
    demand_read(n > 0)
    x = a[(None,) * (n - a.ndim)] if a.ndim < n else a
    y = b[(None,) * (n - b.ndim)] if b.ndim < n else b
    shape = tuple([x.shape[k] * y.shape[k] for k in range(n)])
    for k in range(n):
        x = np.expand_dims(x, 2 * k + 1)
        y = np.expand_dims(y, 2 * k)
    return (x * y).reshape(shape)


def cross(a: Any, b: Any, axis: Any = -1) -> Any:
    x = np.moveaxis(a, axis, 0)
    y = np.moveaxis(b, axis, 0)
    demand(x.shape[0] == 3)
    demand(y.shape[0] == 3)
    parts = (x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0])
    return np.moveaxis(np.stack(parts, -1), -1, axis)


def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    x = a if len(a) >= len(v) else v
    w = v if len(a) >= len(v) else a
    n = len(x)
    m = len(w)
    demand(m > 0)
    slopes_hold(np.all(np.isfinite(x)) and np.all(np.isfinite(w)))
    made = np.zeros(n + m - 1, (x[:1] * w[:1]).dtype)
    for i in range(n):
        for j in range(m):
            made[i + j] += x[i] * w[j]
    if mode == "full":
        return made
    if mode == "same":
        return made[(m - 1) // 2 : (m - 1) // 2 + n].copy()
    return made[m - 1 : n].copy()


def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    if len(a) >= len(v):
        return np.convolve(a, v[::-1], mode)
    return np.convolve(v, a[::-1], mode)[::-1].copy()


def polyval(p: Any, x: Any) -> Any:
    demand(len(p) > 0)
    y = np.multiply(x, 0)
    for i in range(len(p)):
        y = y * x + p[i]
    return y


def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    if weights is None:
        return np.mean(a, axis)
    if axis is not None and a.ndim != weights.ndim:
        shape = [1] * a.ndim
        shape[axis] = -1
        demand(len(weights) == a.shape[axis])
        total = weights.sum()
        demand(total != 0.0)
        return (a * weights.reshape(tuple(shape))).sum(axis) / total
    for k in range(a.ndim):
        demand(a.shape[k] == weights.shape[k])
    total = weights.sum(axis)
    demand(np.all(total != 0.0))
    return (a * weights).sum(axis) / total


def logaddexp_reduce(array: Any, axis: Any = 0) -> Any:
    top = array.max(axis=axis, keepdims=True)
    away = np.exp(array - top).sum(axis=axis)
    return np.log(away) + top.sum(axis=axis)


def nansum(a: Any, axis: Any = None) -> Any:
    return np.where(np.isnan(a), 0.0, a).sum(axis)


def array_equal(a1: Any, a2: Any) -> Any:
    if a1.ndim != a2.ndim:
        return False
    for k in range(a1.ndim):
        if a1.shape[k] != a2.shape[k]:
            return False
    return bool((a1 == a2).all())


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08) -> Any:
    near = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b)
    return near | (a == b)


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08) -> Any:
    return bool(np.all(isclose(a, b, rtol, atol)))


def vander(x: Any, N: Any = None, increasing: Any = False) -> Any:
    demand_read(x.ndim == 1)
    columns = len(x) if N is None else N
    made = np.ones((len(x), columns), x.dtype)
    powers = made if increasing else made[:, ::-1]
    for j in range(1, columns):
        powers[:, j] = powers[:, j - 1] * x
    slopes_hold(np.all(np.isfinite(x)))
    return made


def gradient(f: Any, dx: Any = 1.0) -> Any:
    n = len(f)
    demand(n > 1)
    made = np.empty(n)
    made[1:-1] = (f[2:] - f[:-2]) / (2.0 * dx)
    made[0] = (f[1] - f[0]) / dx
    made[-1] = (f[-1] - f[-2]) / dx
    return made


def cov(m: Any) -> Any:
    demand(m.ndim == 1 or m.shape[0] != 1)
    x = m if m.ndim == 2 else m[None]
    away = x - x.mean(axis=1, keepdims=True)
    made = away @ away.T / max(x.shape[1] - 1, 0)
    return made if m.ndim == 2 else made.reshape(())


def logspace(start: Any, stop: Any, num: Any = 50) -> Any:
    return 10.0 ** np.linspace(start, stop, num)


def pad(array: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0) -> Any:
    demand_read(array.ndim == 1 and mode in ("constant", "edge", "wrap"))
    before = pad_width if isinstance(pad_width, int) else pad_width[0]
    after = pad_width if isinstance(pad_width, int) else pad_width[1]
    n = len(array)
    made = np.full(n + before + after, constant_values, array.dtype)
    made[before : before + n] = array
    demand(n > 0 or mode == "constant")
    if mode == "edge":
        made[:before] = array[0]
        made[before + n :] = array[n - 1]
    elif mode == "wrap":
        for i in range(before):
            made[i] = array[(i - before) % n]
        for i in range(after):
            made[before + n + i] = array[i % n]
    return made


def tolist(a: Any) -> Any:
    if a.ndim > 1:
        return [row.tolist() for row in a]
    if a.dtype == int:
        return [int(v) for v in a]
    return [bool(v) for v in a] if a.dtype == bool else [float(v) for v in a]


LIBRARY: dict[Any, Any] = {
    np.cumsum: cumsum, np.cumprod: cumprod, np.diff: diff, np.ediff1d: ediff1d,
    np.trapezoid: trapezoid, np.roll: roll, np.repeat: repeat,
    np.tile: tile, np.flipud: flipud, np.fliplr: fliplr, np.rot90: rot90,
    np.meshgrid: meshgrid, np.diag: diag,
    np.fill_diagonal: fill_diagonal, np.trace: trace, np.tri: tri,
    np.tril: tril, np.triu: triu, np.kron: kron, np.cross: cross, np.convolve: convolve,
    np.correlate: correlate, np.polyval: polyval, np.average: average, np.nansum: nansum,
    np.vander: vander, np.gradient: gradient, np.cov: cov, np.logspace: logspace, np.pad: pad,
    np.array_equal: array_equal, np.isclose: isclose, np.allclose: allclose,
    np.logaddexp.reduce: logaddexp_reduce, np.maximum.accumulate: maximum_accumulate,
    np.minimum.accumulate: minimum_accumulate, np.add.accumulate: add_accumulate,
    np.multiply.accumulate: multiply_accumulate,
}  # fmt: skip
# Methods of arrays.
METHODS: dict[str, Any] = {
    "tolist": tolist, "cumsum": cumsum, "cumprod": cumprod,
    "repeat": repeat, "trace": trace,
}  # fmt: skip
