"""NumPy's reductions and shapes, said in words that every library has, as in `phrases`."""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from zyg.interop.words import NO, plain_call, says


def _axes(axis: Any, ndim: int) -> Any:
    if axis is None or axis is NO:
        return None
    return tuple(int(k) % ndim for k in axis) if isinstance(axis, (tuple, list)) else int(axis)


def _keeps(keepdims: Any) -> bool:
    return bool(keepdims) if keepdims is not NO else False


@says(np.sum, np.prod)
def _sum(library, f, a, axis=None, dtype=None, out=None, keepdims=NO, initial=NO, where=NO):
    plain_call(out, initial, where)
    if dtype is None and a.dtype.kind in "fc":
        dtype = a.dtype
    elif dtype is None:
        dtype = f(np.zeros(1, a.dtype)).dtype
    return library.reduced(f.__name__, a, _axes(axis, a.ndim), _keeps(keepdims), np.dtype(dtype))


@says(np.mean, np.max, np.min, np.amax, np.amin, np.any, np.all)
def _mean(library, f, a, axis=None, *more, out=None, keepdims=NO, initial=NO, where=NO, dtype=None):
    if more:
        rest = inspect.signature(f).bind(a, axis, *more).arguments
        keepdims = rest.get("keepdims", keepdims)
        dtype, out = rest.get("dtype", dtype), rest.get("out", out)
        initial, where = rest.get("initial", initial), rest.get("where", where)
    plain_call(out, where)
    if f is np.mean and (dtype is not None or a.dtype.kind not in "fc"):
        a = np.astype(a, dtype or np.float64)
    name = {"amax": "max", "amin": "min"}.get(f.__name__, f.__name__)
    y = library.reduced(name, a, _axes(axis, a.ndim), _keeps(keepdims))
    if initial is NO or initial is None:
        return y
    return np.maximum(y, initial) if name == "max" else np.minimum(y, initial)


@says(np.var, np.std)
def _var(library, f, a, axis=None, dtype=None, out=None, ddof=0, keepdims=NO, *, where=NO, mean=NO,
         correction=NO):  # fmt: skip
    plain_call(out, mean, where)
    a = np.astype(a, dtype or np.float64) if dtype or a.dtype.kind not in "fc" else a
    ddof = ddof if correction is NO else correction
    m = np.mean(a, axis, keepdims=True)
    d = a - m
    count = a.size // max(m.size, 1)
    squares = np.real(d * np.conjugate(d)) if a.dtype.kind == "c" else d * d
    y = np.sum(squares, axis, keepdims=_keeps(keepdims)) / max(count - ddof, 0)
    return np.sqrt(y) if f is np.std else y


@says(np.argmax, np.argmin)
def _argmax(library, f, a, axis=None, out=None, *, keepdims=NO):
    plain_call(out)
    y = library.wrap(getattr(library.xp, f.__name__)(a.raw, axis=axis))
    return np.expand_dims(y, axis) if _keeps(keepdims) and axis is not None else y


@says(np.cumsum, np.cumprod)
def _cumsum(library, f, a, axis=None, dtype=None, out=None):
    plain_call(out)
    if axis is None:
        a, axis = np.ravel(a), 0
    dtype = np.dtype(dtype or f(np.zeros(1, a.dtype)).dtype)
    a = a if a.dtype == dtype else np.astype(a, dtype)
    return library.wrap(library.cumulated(f.__name__, a.raw, int(axis) % a.ndim))


@says(np.sort, np.argsort)
def _sort(library, f, a, axis=-1, kind=None, order=None, *, stable=None):
    if axis is None:
        a, axis = np.ravel(a), -1
    return library.wrap(getattr(library.xp, f.__name__)(a.raw, axis=axis))


# Shapes


@says(np.shape)
def _shape(library, f, a):
    return a.shape


@says(np.ndim)
def _ndim(library, f, a):
    return a.ndim


@says(np.size)
def _size(library, f, a, axis=None):
    return a.size if axis is None else a.shape[axis]


@says(np.reshape)
def _reshape(library, f, a, /, shape=None, order="C", *, newshape=None, copy=None):
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    if order == "F":
        return np.transpose(np.reshape(np.transpose(a), shape[::-1]))
    if a.shape == tuple(shape):
        return a
    known = math.prod(n for n in shape if n != -1)
    fixed = tuple(int(a.size // known) if n == -1 and known else int(n) for n in shape)
    has_chunks = getattr(shape, "chunks", None) is not None
    return library.wrap(library.reshaped(a.raw, shape if has_chunks else fixed))


@says(np.ravel)
def _ravel(library, f, a, order="C"):
    return np.reshape(a, (-1,), order) if a.ndim != 1 else a


@says(np.broadcast_to)
def _broadcast_to(library, f, array, shape, subok=False):
    shape = (
        shape if isinstance(shape, tuple) else (shape,) if isinstance(shape, int) else tuple(shape)
    )
    return array if array.shape == shape else library.wrap(library.spread(array.raw, shape))


@says(np.broadcast_arrays)
def _broadcast_arrays(library, f, *args, subok=False):
    shape = np.broadcast_shapes(*[np.shape(x) for x in args])
    return tuple([np.broadcast_to(library.guest_of(x), shape) for x in args])


@says(np.transpose)
def _transpose(library, f, a, axes=None):
    axes = range(a.ndim)[::-1] if axes is None else [int(k) % a.ndim for k in axes]
    return library.wrap(library.xp.permute_dims(a.raw, tuple(axes)))


@says(np.matrix_transpose)
def _matrix_transpose(library, f, x):
    return np.swapaxes(x, -1, -2)


@says(np.swapaxes)
def _swapaxes(library, f, a, axis1, axis2):
    axes = [*range(a.ndim)]
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return np.transpose(a, axes)


@says(np.moveaxis)
def _moveaxis(library, f, a, source, destination):
    pairs = [(x,) if isinstance(x, (int, np.integer)) else x for x in (source, destination)]
    source, destination = ([int(k) % a.ndim for k in p] for p in pairs)
    order = [k for k in range(a.ndim) if k not in source]
    for to, k in sorted(zip(destination, source, strict=True)):
        order.insert(to, k)
    return np.transpose(a, order)


@says(np.squeeze)
def _squeeze(library, f, a, axis=None):
    gone = [k for k, n in enumerate(a.shape) if n == 1] if axis is None else axis
    gone = {int(k) % a.ndim for k in (gone if isinstance(gone, (tuple, list)) else (gone,))}
    if any(a.shape[k] != 1 for k in gone):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return np.reshape(a, tuple(n for k, n in enumerate(a.shape) if k not in gone))


@says(np.expand_dims)
def _expand_dims(library, f, a, axis):
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    places = {int(k) % (a.ndim + len(axes)) for k in axes}
    sizes = iter(a.shape)
    full = range(a.ndim + len(axes))
    return np.reshape(a, tuple(1 if k in places else next(sizes) for k in full))


@says(np.atleast_1d, np.atleast_2d)
def _atleast(library, f, *arrays):
    n = 1 if f is np.atleast_1d else 2
    made = [x if x.ndim >= n else np.reshape(x, (1,) * (n - x.ndim) + x.shape) for x in arrays]
    return made[0] if len(made) == 1 else tuple(made)
