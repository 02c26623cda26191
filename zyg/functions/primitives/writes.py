"""Functions that make buffers and functions that write into them."""

import numpy as np

from zyg.functions.kit import (
    as_objects,
    buffer,
    composed,
    demand,
    is_watched,
    joined,
    lowering,
    refuse_store,
    strip,
    write,
)


def _like(function):
    def like(*args, **kwargs):
        plain = [strip(joined(x)) for x in args]
        return buffer(function(*plain, **{k: strip(v) for k, v in kwargs.items()}))

    composed(function)(like)


_like(np.zeros_like)
_like(np.ones_like)
_like(np.empty_like)


@composed(np.full_like)
def full_like(a, fill_value, dtype=None, **kwargs):
    y = buffer(np.empty_like(strip(joined(a)), dtype=dtype, **kwargs))
    y[...] = fill_value
    return y


def _target(a):
    if not is_watched(a):
        refuse_store()
    return a


@composed(np.copyto)
def copyto(dst, src, casting="same_kind", where=True):
    if not is_watched(dst) and dst.dtype.hasobject:
        np.copyto(dst, as_objects(src), where=strip(where))
        return
    src = joined(src)
    np.positive(
        np.empty(0, np.asarray(strip(src)).dtype), out=np.empty(0, dst.dtype), casting=casting
    )
    if where is True:
        write(_target(dst), ..., src)
    else:
        mask = np.broadcast_to(strip(where), dst.shape)
        write(_target(dst), mask, np.broadcast_to(src, dst.shape)[mask])


def _repeated(values, n):
    """The first n of the values, repeated as often as it takes."""
    flat = np.ravel(values)
    return flat if np.shape(flat) == (n,) else flat[np.arange(n) % np.size(flat)]


@composed(np.put)
def put(a, ind, v, mode="raise"):
    flat = np.atleast_1d(strip(ind)).ravel()
    n = np.size(a)
    if mode == "wrap":
        flat = flat % n
    elif mode == "clip":
        flat = np.clip(flat, 0, n - 1)
    elif flat.size and (flat.min() < -n or flat.max() >= n):
        worst = flat[(flat < -n) | (flat >= n)][0]
        raise IndexError(f"index {worst} is out of bounds for axis 0 with size {n}")
    places = np.unravel_index(flat % n, a.shape) if a.shape else ()
    write(_target(a), places, _repeated(v, flat.size if a.shape else 1))


@composed(np.place)
def place(arr, mask, vals):
    mask = np.reshape(np.asarray(strip(mask), bool), arr.shape)
    write(_target(arr), mask, _repeated(vals, int(mask.sum())))


@composed(np.putmask)
def putmask(a, /, mask, values):
    mask = np.reshape(np.asarray(strip(mask), bool), a.shape)
    write(_target(a), mask, np.reshape(_repeated(values, mask.size), a.shape)[mask])


@composed(np.put_along_axis)
def put_along_axis(arr, indices, values, axis):
    if axis is None:
        write(_target(arr), np.unravel_index(strip(indices), arr.shape), values)
        return
    index = list(np.ogrid[tuple(slice(n) for n in np.shape(indices))])
    index[axis] = strip(indices)
    write(_target(arr), tuple(index), values)


@composed(np.fill_diagonal)
def fill_diagonal(a, val, wrap=False):
    flat = np.zeros(a.shape, bool)
    np.fill_diagonal(flat, True, wrap)
    write(_target(a), flat, _repeated(val, int(flat.sum())))


# In loops, for machine code


@lowering(np.fill_diagonal)
def fill_diagonal_loops(a, val):
    demand(a.ndim == 2)
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = val
