"""Making arrays out of others: parts chosen, parts put between, around and beside them.

Whatever only chooses elements is done once by NumPy on their places, and then on the elements.
"""

import functools
from typing import Any

import numpy as np

from zyg.errors import unknown_call
from zyg.functions.kit import (
    as_array,
    at_places,
    cast,
    composed,
    flat_indices,
    in_order,
    is_coefficient,
    is_host_array,
    lowering,
    no_out,
    normal_axis,
    plain_array,
    raised,
    read,
    strip,
    windows,
)

# Repeating and choosing


@composed(np.tile)
def tile(A, reps):
    reps = (*reps,) if isinstance(reps, (tuple, list, np.ndarray)) else (reps,)
    shape = (1,) * (len(reps) - np.ndim(A)) + np.shape(A)
    reps = (1,) * (len(shape) - len(reps)) + reps
    if all(n == 1 for n in reps):
        return np.copy(np.reshape(A, shape))
    pairs = [n for r, s in zip(reps, shape, strict=True) for n in (1, s)]
    wide = [n for r, s in zip(reps, shape, strict=True) for n in (r, s)]
    whole = [r * s for r, s in zip(reps, shape, strict=True)]
    return np.reshape(np.copy(np.broadcast_to(np.reshape(A, pairs), wide), order="C"), whole)


@composed(np.repeat)
def repeat(a, repeats, axis=None):
    flat = np.ravel(a) if axis is None or np.ndim(a) == 0 else a
    k = normal_axis(0 if axis is None else axis, np.ndim(flat))
    source = np.repeat(np.arange(np.shape(flat)[k]), repeats)
    return _taken(flat, source, k)


@composed(np.take)
def take(a, indices, axis=None, out=None, mode="raise"):
    no_out(out)
    if mode not in ("raise", "wrap", "clip"):
        raised(np.take, a, indices, axis, mode=mode)
    if np.ndim(a) == 0 and axis is not None:
        np.take(strip(a), 0, axis)  # raises where the axis is none
    flat = np.ravel(a) if axis is None or np.ndim(a) == 0 else a
    k = normal_axis(0 if axis is None else axis, np.ndim(flat))
    listed, indices = isinstance(indices, (list, tuple)), plain_array(indices)
    if indices.dtype.kind == "b" or (listed and indices.dtype.kind == "f"):
        indices = indices.astype(int)  # as NumPy reads them: [] is no list of floats, True is 1
    if mode == "wrap":
        indices = indices % np.shape(flat)[k]
    elif mode == "clip":
        indices = np.clip(indices, 0, np.shape(flat)[k] - 1)
    return _taken(flat, indices, k)


def _taken(x, indices, axis):
    """A read whose value np.take makes: in C order, which that of an index of arrays is not."""
    index = (*(slice(None),) * axis, indices)
    if not is_host_array(x):
        return in_order(x[index], "C")
    return read(x, index, functools.partial(np.take, indices=indices, axis=axis))


@composed(np.delete)
def delete(arr, obj, axis=None):
    return at_places(arr, np.delete(flat_indices(arr), strip(obj), axis))


@composed(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    if is_host_array(x):
        return windows(x, window_shape, axis, writeable)
    if writeable:
        raise unknown_call("sliding_window_view", "its windows are copies, so writeable=True")
    places = np.lib.stride_tricks.sliding_window_view(flat_indices(x), window_shape, axis)
    return at_places(x, places)


@composed(np.resize)
def resize(a, new_shape):
    places = np.resize(flat_indices(a), new_shape)
    return at_places(a, places) if np.size(a) else np.zeros(places.shape, as_array(strip(a)).dtype)


@composed(np.append)
def append(arr, values, axis=None):
    if axis is None:
        return np.concatenate([np.ravel(arr), np.ravel(values)])
    return np.concatenate([arr, values], axis=axis)


@composed(np.insert)
def insert(arr, obj, values, axis=None):
    dtype = as_array(strip(arr)).dtype
    values = as_array(values)
    # Place -1 - k stands for values[k], which lies that far from the end of both together.
    source = np.insert(flat_indices(arr), strip(obj), -1 - flat_indices(values), axis)
    both = [np.ravel(arr), np.flip(np.ravel(cast(values, dtype)))]
    return at_places(np.concatenate(both), source)


@composed(np.trim_zeros)
def trim_zeros(filt, trim="fb", axis=None):
    filt, plain = as_array(filt), as_array(strip(filt))
    if is_coefficient():
        return filt  # a zero that moves
    np.trim_zeros(plain, trim, *[] if axis is None else [axis])  # raises where NumPy does
    nonzero = np.argwhere(plain != 0)
    index = [slice(None)] * plain.ndim
    every = axis is None or plain.ndim == 1  # NumPy 2.2 takes any axis of a row
    for k in range(plain.ndim) if every else np.atleast_1d(axis):
        places = nonzero[:, k].tolist()
        start = min(places, default=0) if "f" in trim.lower() or not places else None
        stop = max(places, default=-1) + 1 if "b" in trim.lower() or not places else None
        index[k] = slice(start, stop)
    return filt[(*index, ...)]  # of no axes, an array too


@composed(np.rollaxis)
def rollaxis(a, axis, start=0):
    order = list(np.rollaxis(np.empty(range(np.ndim(a))), axis, start).shape)
    return np.transpose(a, order)


@composed(np.rot90)
def rot90(m, k=1, axes=(0, 1)):
    (first, second), n = axes, np.ndim(m)
    if not (-n <= first < n and -n <= second < n) or (first - second) % n == 0:
        raised(np.rot90, m, k, axes)
    if k % 4 == 0:
        return m[:]
    if k % 4 == 2:
        return np.flip(np.flip(m, first), second)
    if k % 4 == 1:
        return np.swapaxes(np.flip(m, second), first, second)
    return np.flip(np.swapaxes(m, first, second), second)


@composed(np.unstack)
def unstack(x, /, *, axis=0):
    if np.ndim(x) == 0:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(np.moveaxis(x, axis, 0))


@composed(np.block)
def block(arrays):
    y = np.block(_stripped(arrays))  # raises where NumPy does
    depth, ndim = _depth(arrays), _ndim(arrays)

    def joined(part, level):
        if isinstance(part, list):
            return np.concatenate([joined(p, level - 1) for p in part], axis=-level)
        part = as_array(part)
        return np.reshape(part, (1,) * (max(ndim, depth) - np.ndim(part)) + np.shape(part))

    d = joined(arrays, depth) if depth else np.copy(joined(arrays, 0))
    return in_order(d, y)


def _stripped(part):
    return [*map(_stripped, part)] if isinstance(part, list) else strip(part)


def _depth(part):
    return 1 + _depth(part[0]) if isinstance(part, list) else 0


def _ndim(part):
    return max(map(_ndim, part)) if isinstance(part, list) else np.ndim(part)


@composed(np.broadcast_arrays)
def broadcast_arrays(*args, subok=False):
    args = tuple(map(as_array, args))
    shape = np.broadcast_shapes(*map(np.shape, args))
    size = np.prod(shape, dtype=int)
    return tuple(
        x if np.shape(x) == shape
        else np.reshape(x, shape) if np.size(x) == size  # which may be written to
        else np.broadcast_to(x, shape)
        for x in args
    )  # fmt: skip


@composed(np.meshgrid)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raised(np.meshgrid, indexing=indexing)
    places = list(range(len(xi)))
    if indexing == "xy":
        places[:2] = places[1::-1]
    grids: Any = [
        np.reshape(x, [-1 if k == place else 1 for k in range(len(xi))])
        for x, place in zip(xi, places, strict=True)
    ]
    if not sparse:
        shape = np.broadcast_shapes(*map(np.shape, grids))
        grids = [np.broadcast_to(x, shape) for x in grids]
    return tuple(np.copy(x, order="C") for x in grids) if copy else grids


@composed(np.ix_)
def ix_(*args):
    np.ix_(*map(strip, args))  # raises where NumPy does
    flat = [np.nonzero(strip(x))[0] if strip(x).dtype == bool else x for x in map(as_array, args)]
    shapes = [[-1 if j == k else 1 for j in range(len(args))] for k in range(len(args))]
    return tuple(map(np.reshape, flat, shapes))


@composed(np.diagflat)
def diagflat(v, k=0):
    return np.diag(np.ravel(v), k)


@composed(np.vander)
def vander(x, N=None, increasing=False):
    if np.ndim(x) != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n, dtype = np.size(x), np.promote_types(strip(x).dtype, int)
    width = n if N is None else N
    powers = np.broadcast_to(np.reshape(cast(x, dtype), (n, 1)), (n, max(width - 1, 0)))
    columns = [np.ones((n, min(width, 1)), dtype), np.cumprod(powers, axis=1)]
    made = np.concatenate(columns, axis=1)
    return in_order(made if increasing else np.flip(made, 1), "C")


# In loops, for machine code


@lowering(np.repeat)
def repeat_loops(a, repeats, axis=None):
    b = np.ravel(a) if axis is None else np.moveaxis(a, axis, 0)
    made = np.empty((len(b) * repeats, *b.shape[1:]), b.dtype)
    for i in range(len(b)):
        for k in range(repeats):
            made[i * repeats + k] = b[i]
    return made if axis is None else np.ascontiguousarray(np.moveaxis(made, 0, axis))
