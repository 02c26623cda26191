"""What several domains of rules share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zyg._strand import TRACED, strip
from zyg.errors import MutationError


def is_complex(x: Any) -> bool:
    """Whether a number or an array is complex, watched or not."""
    return np.iscomplexobj(strip(x))


def conj(x: Any) -> Any:
    """The complex conjugate; `x` itself where it is real."""
    return np.conjugate(x) if is_complex(x) else x


def as_array(x: Any) -> Any:
    """`x`, a list of plain numbers made an array."""
    return x if type(x) in TRACED or isinstance(x, np.ndarray) else np.asarray(x)


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes of a reduction as a tuple of numbers from 0; None means all."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(int(k) % ndim for k in axes) if ndim else ()


def kept(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The shape of a reduction over `axis` with keepdims."""
    axes = normal_axes(axis, len(shape))
    return tuple(1 if k in axes else n for k, n in enumerate(shape))


def count(shape: tuple[int, ...], axis: Any) -> int:
    """How many elements a reduction over `axis` makes one of."""
    return math.prod(shape[k] for k in normal_axes(axis, len(shape)))


def spread(c: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """The cotangent of a reduction over `axis`, broadcast back to the shape that was reduced.

    For plain arrays a view with strides of zero, made directly: np.broadcast_to costs ten times it.
    """
    if type(c) in TRACED:
        return np.broadcast_to(np.reshape(c, kept(shape, axis)), shape)
    c = np.ascontiguousarray(c).reshape(kept(shape, axis))
    steps = [0 if n == 1 else step for n, step in zip(c.shape, c.strides, strict=True)]
    return np.ndarray(shape, c.dtype, c, 0, steps) if c.size else np.zeros(shape, c.dtype)


def no_out(out: Any) -> None:
    """Refuse a positional out= of a function that has one."""
    if out is not None:
        raise MutationError(
            "a watched result cannot be written into out=.",
            "a plain array has room for numbers only, so the derivative would be lost.",
            "use the value that the function returns.",
        )
