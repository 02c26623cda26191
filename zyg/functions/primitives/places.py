"""Places and comparisons, which carry no derivative, in loops for machine code."""

import numpy as np

from zyg.functions.kit import demand, demand_read, lowering, routine


@lowering(np.tri)
def tri_loops(N, M=None, k=0, dtype=float):
    columns = N if M is None else M
    i = np.arange(N)
    j = np.arange(columns)
    return (i[:, None] + k >= j).astype(dtype)


def stack_of(a, n):
    """What the last n axes have, one after the other; there may be no elements at all."""
    count = 1
    for k in range(a.ndim - n):
        count = count * a.shape[k]
    return a.reshape((count, *a.shape[a.ndim - n :]))


def order_of(row, how="argsort, stable"):
    """The indices that sort a row; NaN comes last."""
    order = np.arange(len(row))
    whole = row.astype(float if row.dtype in (float, np.float32) else int)
    demand(routine(how, len(row), whole, 0, order, 0))
    return order


_STABLE = "stable", "mergesort"


@lowering(np.argsort)
def argsort_loops(a, axis=-1, kind=None, stable=None):
    demand_read(kind in (None, "quicksort", *_STABLE) and (kind is None or stable is None))
    in_order = stable or kind in _STABLE
    demand_read(in_order or a.dtype in (float, np.int64))
    how = "argsort, stable" if in_order else "argsort"
    c = np.ravel(a) if axis is None else np.moveaxis(a, axis, -1)
    if c.ndim == 1:
        return order_of(c, how)
    rows = stack_of(c, 1)
    made = np.empty(rows.shape, int)
    for i in range(len(rows)):
        made[i] = order_of(rows[i], how)
    return np.ascontiguousarray(np.moveaxis(made.reshape(c.shape), -1, axis))


def is_before(x, y):
    """Whether x comes before y where NaN comes last."""
    return x < y or (y != y and x == x)


def place_in(a, v, right):
    low = 0
    high = len(a)
    while low < high:
        middle = (low + high) // 2
        if not is_before(v, a[middle]) if right else is_before(a[middle], v):
            low = middle + 1
        else:
            high = middle
    return np.int64(low)


@lowering(np.searchsorted)
def searchsorted_loops(a, v, side="left"):
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


@lowering(np.flatnonzero)
def flatnonzero_loops(a):
    return np.nonzero(np.ravel(a))[0]


@lowering(np.triu_indices)
def triu_indices_loops(n, k=0, m=None):
    return np.nonzero(~np.tri(n, m, k - 1, bool))


@lowering(np.tril_indices)
def tril_indices_loops(n, k=0, m=None):
    return np.nonzero(np.tri(n, m, k, bool))


@lowering(np.triu_indices_from)
def triu_indices_from_loops(arr, k=0):
    demand_read(arr.ndim == 2)
    return np.triu_indices(arr.shape[0], k, arr.shape[1])


@lowering(np.tril_indices_from)
def tril_indices_from_loops(arr, k=0):
    demand_read(arr.ndim == 2)
    return np.tril_indices(arr.shape[0], k, arr.shape[1])


@lowering(np.diag_indices)
def diag_indices_loops(n, ndim=2):
    return (np.arange(n),) * ndim


@lowering(np.diag_indices_from)
def diag_indices_from_loops(arr):
    demand_read(arr.ndim == 2)
    if arr.shape[0] != arr.shape[1]:
        raise ValueError("All dimensions of input must be of equal length")
    return np.diag_indices(len(arr))


def points_of(bounds):
    """Those of an axis of a grid: with a step, or so many, as the length of a complex number."""
    start, stop, step, count = bounds
    first = 0 if start is None else start
    if count is not None:
        return np.linspace(first, stop, int(abs(count)))
    return np.arange(first, stop, 1 if step is None else step)


@lowering(np.ogrid)  # type: ignore[arg-type]
def ogrid_loops(*bounds):
    axes = [points_of(b) for b in bounds]
    dtype = np.result_type(*axes)
    return np.meshgrid(*[x.astype(dtype) for x in axes], indexing="ij", sparse=True)


@lowering(np.mgrid)  # type: ignore[arg-type]
def mgrid_loops(*bounds):
    return np.stack(np.meshgrid(*[points_of(b) for b in bounds], indexing="ij"))


@lowering(np.array_equal)
def array_equal_loops(a1, a2):
    if a1.ndim != a2.ndim:
        return False
    for k in range(a1.ndim):
        if a1.shape[k] != a2.shape[k]:
            return False
    return bool((a1 == a2).all())


@lowering(np.isclose)
def isclose_loops(a, b, rtol=1e-05, atol=1e-08):
    near = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b)
    return near | (a == b)


@lowering(np.allclose)
def allclose_loops(a, b, rtol=1e-05, atol=1e-08):
    return bool(np.all(np.isclose(a, b, rtol, atol)))


@lowering(np.ndarray.tolist)
def tolist_loops(a):
    if a.ndim > 1:
        return [row.tolist() for row in a]
    if a.dtype == int:
        return [int(v) for v in a]
    return [bool(v) for v in a] if a.dtype == bool else [float(v) for v in a]
