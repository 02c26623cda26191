"""Rearranging, joining and splitting arrays: the pullback undoes the rearrangement."""

import itertools

import numpy as np

from zyg.errors import ConversionError
from zyg.functions.kit import (
    adjoint,
    axes_in_memory,
    composed,
    inverse,
    is_complex,
    joined,
    like,
    lowering,
    no_out,
    order_read,
    strip,
    unbroadcast,
)


def _restored(function):
    """The rule of a function that only arranges the elements of its argument in another shape."""

    def rearrange(a, *args, **kwargs):
        def rearrange_pullback(y_bar):
            return (np.reshape(y_bar, np.shape(a)), *[None] * len(args))

        return function(a, *args, **kwargs), rearrange_pullback

    adjoint(function, linear=(0,))(rearrange)


_restored(np.squeeze)
_restored(np.expand_dims)


@adjoint(np.reshape, linear=(0,))
def reshape(a, /, shape, order="C", *, copy=None):
    order, how = order_read(a, order), {} if copy is None else {"copy": copy}

    def reshape_pullback(y_bar):
        return np.reshape(y_bar, np.shape(a), order=order), None, None

    return np.reshape(a, shape, order=order, **how), reshape_pullback


@reshape.pushforward
def reshape_push(a, /, shape, order="C", *, copy=None):
    order, how = order_read(a, order), {} if copy is None else {"copy": copy}

    def reshape_pushforward(a_dot, _shape, _order=None):
        return np.reshape(a_dot, shape, order=order)

    return np.reshape(a, shape, order=order, **how), reshape_pushforward


@adjoint(np.ravel, linear=(0,))
def ravel(a, order="C"):
    if order == "K":
        return _ravel_in_memory_order(a)
    order = order_read(a, order)

    def ravel_pullback(y_bar):
        return np.reshape(y_bar, np.shape(a), order=order), None

    return np.ravel(a, order=order), ravel_pullback


def _ravel_in_memory_order(a):
    axes = axes_in_memory(a)

    def ravel_pullback(y_bar):
        shape = [np.shape(a)[k] for k in axes]
        return np.transpose(np.reshape(y_bar, shape), inverse(axes)), None

    return np.ravel(np.transpose(a, axes)), ravel_pullback


@ravel.pushforward
def ravel_push(a, order="C"):
    axes = axes_in_memory(a) if order == "K" else None
    order = "C" if order == "K" else order_read(a, order)

    def arranged(a):
        return np.ravel(a if axes is None else np.transpose(a, axes), order=order)

    return arranged(a), lambda a_dot, _order=None: arranged(a_dot)


@adjoint(np.transpose, linear=(0,))
def transpose(a, axes=None):
    def transpose_pullback(y_bar):
        back = None if axes is None else inverse([int(k) % len(axes) for k in axes])
        return (np.transpose(y_bar, back),)

    return np.transpose(a, axes), transpose_pullback


@adjoint(np.swapaxes, linear=(0,))
def swapaxes(a, axis1, axis2):
    def swapaxes_pullback(y_bar):
        return np.swapaxes(y_bar, axis1, axis2), None, None

    return np.swapaxes(a, axis1, axis2), swapaxes_pullback


@adjoint(np.moveaxis, linear=(0,))
def moveaxis(a, source, destination):
    def moveaxis_pullback(y_bar):
        return np.moveaxis(y_bar, destination, source), None, None

    return np.moveaxis(a, source, destination), moveaxis_pullback


@adjoint(np.broadcast_to, linear=(0,))
def broadcast_to(array, shape, subok=False):
    def broadcast_to_pullback(y_bar):
        return unbroadcast(y_bar, np.shape(array)), None

    return np.broadcast_to(array, shape), broadcast_to_pullback


@adjoint(np.flip, linear=(0,))
def flip(m, axis=None):
    def flip_pullback(y_bar):
        return (np.flip(y_bar, axis),)

    return np.flip(m, axis), flip_pullback


@adjoint(np.roll, linear=(0,))
def roll(a, shift, axis=None):
    def roll_pullback(y_bar):
        return np.roll(y_bar, np.negative(shift), axis), None

    return np.roll(a, shift, axis), roll_pullback


@adjoint(np.copy, linear=(0,))
def copy(a, order="K", subok=False):
    def copy_pullback(y_bar):
        return (y_bar,)

    return np.copy(a, order=order), copy_pullback


@adjoint(np.astype)
def astype(x, dtype, /, *, copy=True, device=None):
    def astype_pullback(y_bar):
        return y_bar, None

    if is_complex(x) and np.dtype(dtype).kind != "c":
        raise ConversionError(
            "astype from complex to real drops the imaginary part.",
            "its derivative would be dropped too.", "write x.real.",
        )  # fmt: skip
    return np.astype(x, dtype, copy=copy), astype_pullback


# Joining


@composed(np.concatenate)
def concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    no_out(out)
    return _concatenate([*map(joined, arrays)], axis, dtype, casting)


@adjoint
def _concatenate(arrays, axis, dtype, casting):
    def concatenate_pullback(y_bar):
        if axis is None:
            flat = _split_like(y_bar, [np.size(x) for x in arrays], 0)
            bars = [np.reshape(c, np.shape(x)) for c, x in zip(flat, arrays, strict=True)]
        else:
            bars = _split_like(y_bar, [np.shape(x)[axis] for x in arrays], axis)
        return bars, None, None, None

    y = np.concatenate(arrays, axis=axis, dtype=dtype, casting=casting)
    return y, concatenate_pullback


_concatenate.linear = (0,)


def _split_like(y_bar, lengths, axis):
    before = [slice(None)] * (axis % np.ndim(y_bar))
    ends = np.cumsum([0, *lengths]).tolist()
    return [y_bar[(*before, slice(a, b))] for a, b in itertools.pairwise(ends)]


@composed(np.stack)
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    no_out(out)
    return _stack([*map(joined, arrays)], axis, dtype, casting)


@adjoint
def _stack(arrays, axis, dtype, casting):
    y = np.stack(arrays, axis=axis, dtype=dtype, casting=casting)

    def stack_pullback(y_bar):
        before = (slice(None),) * (axis % np.ndim(y))
        return [y_bar[(*before, k)] for k in range(len(arrays))], None, None, None

    return y, stack_pullback


_stack.linear = (0,)


# Splitting: slices, so that each part's cotangent touches its part only


# Choosing


@composed(np.where)
def where(condition, x=None, y=None, /):
    condition = strip(condition)
    return np.nonzero(condition) if x is None and y is None else _where(condition, x, y)


@adjoint
def _where(condition, x, y):
    def where_pullback(z_bar):
        return (
            None,
            lambda: unbroadcast(np.where(condition, z_bar, 0.0), np.shape(x)),
            lambda: unbroadcast(np.where(condition, 0.0, z_bar), np.shape(y)),
        )

    return np.where(condition, x, y), where_pullback


@_where.pushforward
def where_push(condition, x, y):
    def where_pushforward(_condition, x_dot, y_dot):
        parts = (_false(v) if d is None else d for v, d in ((x, x_dot), (y, y_dot)))
        return np.where(condition, *parts)

    return np.where(condition, x, y), where_pushforward


def _false(x):
    """The zero of every dtype, in the shape of `x`."""
    return np.zeros(np.shape(x), bool, like=like(x)) if np.ndim(x) else False


@composed(np.clip)
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None):
    no_out(out)
    if min is None and max is None:
        return _clip(a, a_min, a_max)
    if a_min is not None or a_max is not None:
        np.clip(strip(a), strip(a_min), strip(a_max), min=strip(min), max=strip(max))  # raises
    return _clip(a, min, max)


@adjoint
def _clip(a, low, high):
    def clip_pullback(y_bar):
        # Slope 1 on the closed interval; at low > high NumPy answers high.
        plain, least, most = strip(a), strip(low), strip(high)
        raised = plain if least is None else np.maximum(plain, least)
        above = np.False_ if most is None else np.greater(raised, most)
        below = np.False_ if least is None else np.less(plain, least) & ~above

        def part(mask, x):
            return unbroadcast(np.where(mask, y_bar, 0.0), np.shape(x))

        return (
            lambda: part(~(above | below), a),
            lambda: part(below, low),
            lambda: part(above, high),
        )

    return np.clip(a, low, high), clip_pullback


# Diagonals and triangles


@adjoint(np.diagonal)
def diagonal(a, offset=0, axis1=0, axis2=1):
    def diagonal_pullback(y_bar):
        # Of a device array: on the host a diagonal is a view, and a view needs no pullback.
        n, m, last = np.shape(a)[axis1], np.shape(a)[axis2], np.shape(y_bar)[-1] - 1
        if last < 0:
            return (np.zeros_like(a),)
        rows = y_bar[..., np.clip(np.arange(n) + min(offset, 0), 0, last).tolist()]
        below, on = (np.tri(n, m, k, bool, like=like(a)) for k in (offset - 1, offset))
        return (np.moveaxis(np.where(on & ~below, rows[..., None], 0.0), (-2, -1), (axis1, axis2)),)

    return np.diagonal(a, offset, axis1, axis2), diagonal_pullback


@composed(np.diag)
def diag(v, k=0):
    return _diag(v, k) if np.ndim(v) == 1 else np.diagonal(v, k)


@adjoint
def _diag(v, k):
    def diag_pullback(y_bar):
        return np.diagonal(y_bar, k), None

    return np.diag(v, k), diag_pullback


_diag.linear = (0,)


# In loops, for machine code


@lowering(np.roll)
def roll_loops(a, shift, axis=None):
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


@lowering(_diag)
def diag_loops(v, k):
    n = len(v) + abs(k)
    made = np.zeros((n, n), v.dtype)
    for i in range(len(v)):
        made[i + max(-k, 0), i + max(k, 0)] = v[i]
    return made
