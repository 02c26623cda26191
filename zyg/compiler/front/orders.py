"""Functions of NumPy's that sort, search and pick, written in the language of whole functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from zyg.compiler.front.library import demand, demand_read, lies_like, stack_of


def order_of(row: Any) -> Any:
    """The indices that sort a row, those of equal elements in their order; NaN comes last."""
    n = len(row)
    order = np.arange(n)
    other = np.zeros(n, int)
    width = 1
    while width < n:
        low = 0
        while low < n:
            middle = min(low + width, n)
            end = min(low + 2 * width, n)
            i = low
            j = middle
            for k in range(low, end):
                second = i >= middle
                if i < middle and j < end:
                    x = row[order[i]]
                    y = row[order[j]]
                    second = (y < x) or ((x != x) and (y == y))
                if second:
                    other[k] = order[j]
                    j += 1
                else:
                    other[k] = order[i]
                    i += 1
            low = end
        order[:] = other
        width *= 2
    return order


def argsort(a: Any, axis: Any = -1, kind: Any = None, stable: Any = None) -> Any:
    c = np.ravel(a) if axis is None else np.moveaxis(a, axis, -1)
    if c.ndim == 1:
        return order_of(c)
    rows = stack_of(c, 1)
    made = np.empty(rows.shape, int)
    for i in range(len(rows)):
        made[i] = order_of(rows[i])
    return np.ascontiguousarray(np.moveaxis(made.reshape(c.shape), -1, axis))


def sort(a: Any, axis: Any = -1, kind: Any = None, stable: Any = None) -> Any:
    c = np.ravel(a) if axis is None else np.moveaxis(a, axis, -1)
    if c.ndim == 1:
        return c[order_of(c)]
    rows = stack_of(c, 1)
    made = np.empty(rows.shape, a.dtype)
    for i in range(len(rows)):
        made[i] = rows[i][order_of(rows[i])]
    return lies_like(np.moveaxis(made.reshape(c.shape), -1, axis), a)


def sort_in_place(a: Any, axis: Any = -1, kind: Any = None, stable: Any = None) -> None:
    a[...] = sort(a, axis)


def median(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    demand_read(axis is None or type(axis) is int)
    along = 0 if axis is None else axis
    s = np.moveaxis(np.sort(np.ravel(a) if axis is None else a, along), along, 0)
    n = len(s)
    demand(np.all(s[n - 1 :] == s[n - 1 :]))  # no NaN, which comes last
    middle = s[(n - 1) // 2 : n // 2 + 1].mean(axis=0)
    if not keepdims:
        return middle
    return np.reshape(middle, (1,) * a.ndim) if axis is None else np.expand_dims(middle, axis)


def is_before(x: Any, y: Any) -> Any:
    """Whether x comes before y where NaN comes last."""
    return x < y or (y != y and x == x)


def place_in(a: Any, v: Any, right: Any) -> Any:
    low = 0
    high = len(a)
    while low < high:
        middle = (low + high) // 2
        if not is_before(v, a[middle]) if right else is_before(a[middle], v):
            low = middle + 1
        else:
            high = middle
    return np.int64(low)


def searchsorted(a: Any, v: Any, side: Any = "left") -> Any:
    demand_read(a.ndim == 1)
    right = side == "right"
    if np.ndim(v) == 0:
        return place_in(a, v, right)
    w = np.asarray(v)
    flat = w.ravel()
    made = np.empty(len(flat), int)
    for i in range(len(flat)):
        made[i] = place_in(a, flat[i], right)
    return made.reshape(w.shape)


def demand_finite(x: Any) -> None:
    demand(x - x == 0)


def interpolated(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    n = len(xp)
    if x > xp[n - 1]:
        y = fp[n - 1] if right is None else right
    elif x < xp[0]:
        y = fp[0] if left is None else left
    elif x == xp[n - 1]:  # whose slope is that of the last piece
        y = fp[n - 1]
        if n > 1 and xp[n - 1] != xp[n - 2]:
            demand_finite((fp[n - 1] - fp[n - 2]) + (xp[n - 1] - xp[n - 2]))
            y = (fp[n - 1] - fp[n - 2]) / (xp[n - 1] - xp[n - 2]) * (x - xp[n - 1]) + y
    else:
        j = place_in(xp, x, True) - 1
        demand_finite((fp[j + 1] - fp[j]) + (xp[j + 1] - xp[j]))
        y = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j]) * (x - xp[j]) + fp[j]
    return np.float64(y)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    p = np.asarray(xp, float)
    f = np.asarray(fp, float)
    demand(len(p) > 0)
    demand(len(p) == len(f))
    if np.ndim(x) == 0:
        demand(x == x)
        return interpolated(x, p, f, left, right)
    w = np.asarray(x, float)
    flat = w.ravel()
    made = np.empty(len(flat))
    for i in range(len(flat)):
        demand(flat[i] == flat[i])
        made[i] = interpolated(flat[i], p, f, left, right)
    return made.reshape(w.shape)


def take(a: Any, indices: Any, axis: Any = None) -> Any:
    demand_read(np.asarray(indices).dtype != bool)
    if axis is None:
        return np.ravel(a)[indices]
    demand_read(-a.ndim <= axis < a.ndim)
    if np.ndim(indices) == 0:
        return np.moveaxis(a, axis, 0)[indices].copy()
    made = np.moveaxis(a, axis, 0)[indices]
    for _ in range(np.ndim(indices)):
        made = np.moveaxis(made, 0, axis % a.ndim + np.ndim(indices) - 1)
    return made.copy()


def take_along_axis(arr: Any, indices: Any, axis: Any) -> Any:
    b = np.moveaxis(arr, axis, -1)
    k = np.moveaxis(indices, axis, -1)
    if b.ndim == 1:
        return b[k]
    rows = stack_of(b, 1)
    places = stack_of(k, 1)
    demand(len(rows) == len(places))
    made = np.empty(places.shape, arr.dtype)
    for i in range(len(rows)):
        made[i] = rows[i][places[i]]
    return np.ascontiguousarray(np.moveaxis(made.reshape(k.shape), -1, axis))


def flatnonzero(a: Any) -> Any:
    return np.nonzero(np.ravel(a))[0]


def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    demand_read(x.ndim == 1 and x.dtype != float)
    demand(weights is None or len(weights) == len(x) > 0)
    n = minlength
    for k in x:
        demand(k >= 0)
        n = max(n, int(k) + 1)
    made = np.zeros(n, int if weights is None else float)
    for i in range(len(x)):
        if weights is None:
            made[x[i]] += 1
        else:
            made[x[i]] += weights[i]
    return made


def quantile(a: Any, q: Any, axis: Any = None) -> Any:
    b = np.ravel(a) if axis is None else a
    s = np.moveaxis(np.sort(b, 0 if axis is None else axis), 0 if axis is None else axis, 0)
    demand(len(s) > 0)
    demand(np.all(s[-1] == s[-1]))
    demand(q >= 0)
    demand(q <= 1)
    at = q * (len(s) - 1)
    low = int(np.floor(at))
    high = min(low + 1, len(s) - 1)
    t = at - low
    y = s[low] + (s[high] - s[low]) * t
    return np.ascontiguousarray(y) if s.ndim > 1 else y


def percentile(a: Any, q: Any, axis: Any = None) -> Any:
    return quantile(a, q / 100, axis)


ORDERS: dict[Any, Any] = {
    np.argsort: argsort, np.sort: sort, np.median: median, np.searchsorted: searchsorted,
    np.interp: interp, np.take: take, np.take_along_axis: take_along_axis,
    np.flatnonzero: flatnonzero, np.bincount: bincount, np.quantile: quantile,
    np.percentile: percentile,
}  # fmt: skip
# Methods of arrays.
METHODS: dict[str, Any] = {
    "argsort": argsort, "sort": sort_in_place,
}  # fmt: skip
