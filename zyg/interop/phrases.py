"""NumPy's joins, choices, creation and products, said in words that every library has.

What ``says(np.f)`` is given the library, f, and the arguments of f, guests among them.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from zyg.interop.words import CREATORS, NO, in_standard, plain_call, says

# Joining, splitting, choosing


@says(np.concatenate)
def _concatenate(library, f, arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    plain_call(out, dtype)
    arrays = library.alike(arrays)
    if axis is None:
        arrays, axis = [np.ravel(a) for a in arrays], 0
    return library.wrap(library.xp.concat([a.raw for a in arrays], axis=axis))


@says(np.stack)
def _stack(library, f, arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    plain_call(out, dtype)
    return library.wrap(library.xp.stack([a.raw for a in library.alike(arrays)], axis=axis))


@says(np.vstack, np.hstack, np.dstack, np.column_stack)
def _xstack(library, f, tup, *, dtype=None, casting="same_kind"):
    plain_call(dtype)
    arrays = library.alike(tup)
    if f is np.column_stack:
        return np.concatenate([a[:, None] if a.ndim == 1 else a for a in arrays], 1)
    if f is np.dstack:
        arrays = [
            a[None, :, None] if a.ndim == 1 else a[..., None] if a.ndim == 2 else a for a in arrays
        ]
        return np.concatenate(arrays, 2)
    if f is np.vstack:
        return np.concatenate([np.atleast_2d(a) for a in arrays], 0)
    return np.concatenate([np.atleast_1d(a) for a in arrays], 1 if arrays[0].ndim > 1 else 0)


@says(np.split, np.array_split)
def _split(library, f, ary, indices_or_sections, axis=0):
    n, cuts = ary.shape[axis], indices_or_sections
    if isinstance(cuts, (int, np.integer)):
        if f is np.split and n % cuts:
            raise ValueError("array split does not result in an equal division")
        sizes = [n // cuts + (k < n % cuts) for k in range(cuts)]
        cuts = [*np.cumsum(sizes)[:-1]]
    ends = [0, *map(int, cuts), n]
    before = (slice(None),) * (axis % ary.ndim)
    return [ary[(*before, slice(a, b))] for a, b in pairwise(ends)]


@says(np.flip)
def _flip(library, f, m, axis=None):
    axes = None if axis is None else axis
    return library.wrap(
        library.xp.flip(m.raw, axis=axes if axes is not None else tuple(range(m.ndim)))
    )


@says(np.tile)
def _tile(library, f, a, reps):
    reps = reps if isinstance(reps, (tuple, list)) else (reps,)
    reps = (1,) * (a.ndim - len(reps)) + tuple(reps)
    a = np.reshape(a, (1,) * (len(reps) - a.ndim) + a.shape)
    for k, n in enumerate(reps):
        a = a if n == 1 else np.concatenate([a] * n, k)
    return a


@says(np.repeat)
def _repeat(library, f, a, repeats, axis=None):
    if axis is None:
        a, axis = np.ravel(a), 0
    places = np.repeat(np.arange(a.shape[axis]), repeats)
    return np.take(a, places, axis)


@says(np.take)
def _take(library, f, a, indices, axis=None, out=None, mode="raise"):
    plain_call(out, None if mode == "raise" else mode)
    if axis is None:
        a, axis = np.ravel(a), 0
    before = (slice(None),) * (int(axis) % a.ndim)
    return a[(*before, np.asarray(indices).astype(np.intp))]


@says(np.take_along_axis)
def _take_along_axis(library, f, arr, indices, axis=-1):
    return library.wrap(
        library.xp.take_along_axis(arr.raw, library.guest_of(indices).raw, axis=axis)
    )


@says(np.where)
def _where(library, f, condition, x=NO, y=NO):
    if x is NO:
        return np.nonzero(condition)
    arrays = (np.ndarray, np.generic, library.guest)
    dtype = np.result_type(*[v.dtype if isinstance(v, arrays) else v for v in (x, y)])
    condition, x, y = (library.guest_of(v) for v in (condition, x, y))
    condition = condition if condition.dtype.kind == "b" else condition != 0
    return library.wrap(
        library.chosen(condition.raw, library.cast_to(x, dtype), library.cast_to(y, dtype))
    )


@says(np.clip)
def _clip(library, f, a, a_min=NO, a_max=NO, out=None, *, min=NO, max=NO, **kwargs):
    plain_call(out, *kwargs.values())
    low, high = (y if x is NO or x is None else x for x, y in ((a_min, min), (a_max, max)))
    a = a if low is NO or low is None else np.maximum(a, low)
    return a if high is NO or high is None else np.minimum(a, high)


@says(np.tril, np.triu)
def _triangle(library, f, m, k=0):
    return library.wrap(getattr(library.xp, f.__name__)(m.raw, k=k))


@says(np.diagonal)
def _diagonal(library, f, a, offset=0, axis1=0, axis2=1):
    if (axis1 % a.ndim, axis2 % a.ndim) != (a.ndim - 2, a.ndim - 1):
        a = np.moveaxis(a, (axis1, axis2), (-2, -1))
    n = min(a.shape[-2] + min(offset, 0), a.shape[-1] - max(offset, 0))
    flat = np.reshape(a, (*a.shape[:-2], a.shape[-2] * a.shape[-1]))
    start = max(-offset, 0) * a.shape[-1] + max(offset, 0)
    return flat[..., start :: a.shape[-1] + 1][..., : max(n, 0)]


@says(np.trace)
def _trace(library, f, a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    plain_call(out)
    return np.sum(np.diagonal(a, offset, axis1, axis2), -1, dtype)


@says(np.diff)
def _diff(library, f, a, n=1, axis=-1, prepend=NO, append=NO):
    plain_call(prepend, append)
    before = (slice(None),) * (axis % a.ndim)
    for _ in range(n):
        a = a[(*before, slice(1, None))] - a[(*before, slice(None, -1))]
    return a


# Making


@says(np.zeros_like, np.ones_like, np.empty_like)
def _like(library, f, a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    value = int(f is np.ones_like)
    return np.full_like(a, value, dtype, shape=shape)


@says(np.full_like)
def _full_like(library, f, a, fill_value, dtype=None, order="K", subok=True, shape=None, **kwargs):
    shape = a.shape if shape is None else shape
    shape = shape if isinstance(shape, tuple) else (shape,)
    return library.wrap(
        library.full(shape, fill_value, np.dtype(dtype or a.dtype), library.device(a.raw))
    )


@says(*CREATORS[:4])
def _made(library, f, shape, *args, like, **kwargs):
    plain = f(1, *args, **kwargs)
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    return library.wrap(
        library.full(tuple(shape), plain[0].item(), plain.dtype, library.device(like.raw))
    )


@says(*CREATORS[4:])
def _made_on_host(library, f, *args, like, **kwargs):
    if args and type(args[0]) is library.guest:
        return args[0]
    return library.guest_of(f(*args, **kwargs), like)


@says(np.copy)
def _copy(library, f, a, order="K", subok=False):
    return library.copy(a)


@says(np.roll)
def _roll(library, f, a, shift, axis=None):
    if axis is None:
        return np.reshape(np.roll(np.ravel(a), shift, 0), a.shape)
    shift, axis = ([int(k) for k in np.reshape(x, -1)] for x in np.broadcast_arrays(shift, axis))
    for n, k in zip(shift, axis, strict=True):
        n = n % max(a.shape[k], 1)
        before = (slice(None),) * (k % a.ndim)
        if n:
            a = np.concatenate([a[(*before, slice(-n, None))], a[(*before, slice(None, -n))]], k)
    return a


@says(np.round, np.around)
def _round(library, f, a, decimals=0, out=None):
    plain_call(out)
    if not decimals:
        return library.wrap(library.xp.round(a.raw))
    return library.wrap(library.xp.round((a * 10.0**decimals).raw)) / 10.0**decimals


@says(np.astype)
def _astype(library, f, x, dtype, /, *, copy=True, device=None):
    return library.wrap(library.cast(x.raw, np.dtype(dtype)))


@says(np.result_type)
def _result_type(library, f, *args):
    return np.result_type(*[x.dtype if type(x) is library.guest else x for x in args])


@says(np.can_cast)
def _can_cast(library, f, from_, to, casting="safe"):
    return np.can_cast(from_.dtype, to, casting)


@says(np.iscomplexobj)
def _iscomplexobj(library, f, x):
    return x.dtype.kind == "c"


@says(np.isrealobj)
def _isrealobj(library, f, x):
    return x.dtype.kind != "c"


@says(np.real, np.imag)
def _part(library, f, val):
    if val.dtype.kind == "c":
        return library.wrap(getattr(library.xp, f.__name__)(val.raw))
    return val if f is np.real else np.zeros_like(val)


@says(np.isclose)
def _isclose(library, f, a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    return (np.abs(a - b) <= atol + rtol * np.abs(b)) | (a == b)


@says(np.nan_to_num)
def _nan_to_num(library, f, x, copy=True, nan=0.0, posinf=None, neginf=None):
    if x.dtype.kind != "f":
        return x
    most = np.finfo(x.dtype).max
    x = np.where(np.isnan(x), nan, x)
    x = np.where(x == np.inf, most if posinf is None else posinf, x)
    return np.where(x == -np.inf, -most if neginf is None else neginf, x)


@says(np.sinc)
def _sinc(library, f, x):
    y = np.pi * np.where(x == 0, 1.0e-20, x)
    return np.sin(y) / y


@says(np.angle)
def _angle(library, f, z, deg=False):
    y = np.arctan2(np.imag(z), np.real(z))
    return y * (180 / math.pi) if deg else y


# Products


@says(np.dot)
def _dot(library, f, a, b, out=None):
    plain_call(out)
    a, b = (library.guest_of(x) for x in (a, b))
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if np.ndim(b) <= 2:
        return (
            np.matmul(a, b)
            if np.ndim(a) <= 2
            else np.tensordot(a, b, (-1, 0 if b.ndim == 1 else -2))
        )
    return np.tensordot(a, b, (-1, -2))


@says(np.inner)
def _inner(library, f, a, b):
    a, b = (library.guest_of(x) for x in (a, b))
    return a * b if a.ndim == 0 or b.ndim == 0 else np.tensordot(a, b, (-1, -1))


@says(np.outer)
def _outer(library, f, a, b, out=None):
    plain_call(out)
    a, b = (library.guest_of(x) for x in (a, b))
    return np.ravel(a)[:, None] * np.ravel(b)[None, :]


@says(np.vdot)
def _vdot(library, f, a, b):
    a, b = (library.guest_of(x) for x in (a, b))
    return np.sum(np.conjugate(np.ravel(a)) * np.ravel(b))


@says(np.tensordot)
def _tensordot(library, f, a, b, axes=2):
    a, b = (library.guest_of(x) for x in (a, b))
    if isinstance(axes, int):
        axes = [*range(a.ndim - axes, a.ndim)], [*range(axes)]
    i, j = ([int(k) for k in (x if isinstance(x, (tuple, list)) else (x,))] for x in axes)
    i, j = [k % a.ndim for k in i], [k % b.ndim for k in j]
    if not i and not j:
        return np.reshape(a, a.shape + (1,) * b.ndim) * b
    dtype = np.result_type(a.dtype, b.dtype)
    a, b = library.cast_to(a, dtype), library.cast_to(b, dtype)
    return library.wrap(library.xp.tensordot(a, b, axes=(tuple(i), tuple(j))))


@says(np.einsum)
def _einsum(library, f, text, *operands, **kwargs):
    plain_call(*[v for k, v in kwargs.items() if k != "optimize"])
    operands = tuple(library.guest_of(x) for x in operands)
    dtype = np.result_type(*[x.dtype for x in operands])
    return library.wrap(library.xp.einsum(text, *[library.cast_to(x, dtype) for x in operands]))


@says(np.linalg.norm, np.linalg.vector_norm)
def _norm(library, f, x, ord=None, axis=None, keepdims=False):
    is_vector = x.ndim == 1 if axis is None else np.size(axis) == 1
    is_vector = is_vector or f is np.linalg.vector_norm
    if ord in (None, "fro") or (ord == 2 and is_vector):
        square = np.real(x * np.conjugate(x)) if x.dtype.kind == "c" else x * x
        return np.sqrt(np.sum(square, axis, keepdims=keepdims))
    if not is_vector or isinstance(ord, str):
        raise TypeError(f"a norm of order {ord!r}")
    x = np.abs(x)
    if ord in (math.inf, -math.inf):
        return (np.max if ord > 0 else np.min)(x, axis, keepdims=keepdims)
    if ord == 0:
        return np.sum(np.astype(x != 0, x.dtype), axis, keepdims=keepdims)
    return np.sum(x**ord, axis, keepdims=keepdims) ** (1 / ord)


@says(np.linalg.cholesky, np.linalg.eigh, np.linalg.eigvalsh)
def _of_triangle(library, f, a, /, UPLO="L", *, upper=False):  # noqa: N803
    """Of the one triangle that NumPy reads: some libraries read both, and take their mean."""
    upper = upper or UPLO in ("U", "u")
    one = np.triu(a) if upper else np.tril(a)
    rest = np.triu(a, 1) if upper else np.tril(a, -1)
    a = one + np.conjugate(np.matrix_transpose(rest))
    if f is not np.linalg.cholesky:
        return in_standard(library, f, (a,), {})
    y = library.wrap(library.cholesky(library.whole(a.raw)))
    return np.conjugate(np.matrix_transpose(y)) if upper else y


@says(np.cross, np.linalg.cross)
def _cross(library, f, a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    axisa, axisb, axisc = (axis,) * 3 if axis is not None else (axisa, axisb, axisc)
    a, b = (library.guest_of(x) for x in (a, b))
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise TypeError("vectors of two elements")
    turned = [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return np.moveaxis(np.stack(turned, -1), -1, axisc)
