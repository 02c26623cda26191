"""Operands as a kernel takes them, and the arrays that it writes its results into."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from zyg.base import buffers
from zyg.compiler.back.compiled import Adapter, Layout, Shape
from zyg.kernels.geometry import Loop, packed_layout


def _bits(x: Any) -> Any:
    """A uint64 as the int64 of the same bits."""
    return np.uint64(x).astype(np.int64)


_NUMBERS: dict[str, Adapter] = {"float": float, "int": int, "uint": _bits, "bool": bool}
# of NumPy: what each type is loaded from
_KINDS = {"float": "fiub", "int": "iub", "uint": "u", "bool": "b"}


def is_array(x: Any) -> bool:
    """Whether an operand is more than one number."""
    return isinstance(x, np.ndarray) and x.size != 1


def has_type(dtype: np.dtype[Any]) -> bool:
    """Whether a kernel loads and stores elements of this type."""
    return dtype.isnative and (dtype.kind in "iub" or dtype in (np.float32, np.float64))


def adapter(x: Any, type: str, dtype: np.dtype[Any]) -> Adapter | None:
    """What turns operands such as x into what a kernel takes; None where they are that already.

    Raises TypeError for an operand that an input of this type cannot take.
    """
    kind = np.asarray(x).dtype.kind if not isinstance(x, int) or type == "bool" else "i"
    if kind not in _KINDS[type]:
        raise TypeError(f"an input of type {type} cannot be {np.asarray(x).dtype}")
    if not isinstance(x, np.ndarray):
        return _NUMBERS[type]
    if x.size == 1:
        return lambda x: _NUMBERS[type](x.item())
    if type == "uint":
        return lambda x: x.astype(np.int64)
    if type == "int" and x.dtype.kind == "u" and x.dtype.itemsize == 8:
        return _signed
    if has_type(x.dtype):
        return None if x.flags.aligned else lambda x: x.copy("K")
    native = x.dtype.newbyteorder("=")
    return lambda x: x.astype(native if has_type(native) else dtype)


def _signed(x: np.ndarray) -> np.ndarray:
    if x.size and x.max() > np.iinfo(np.int64).max:
        raise OverflowError("an unsigned operand is too large for int64")
    return x.astype(np.int64)


def finisher(loop: Loop, shape: Shape, stored: np.dtype[Any], dtype: np.dtype[Any]) -> Adapter:
    """What turns an array in the order of the loops into a result."""
    padded = (1,) * (len(loop.order) - len(shape)) + shape
    ordered = tuple(padded[a] for a in loop.order)
    back = tuple(np.argsort(loop.order).tolist())
    turned = back != tuple(range(len(back)))

    def finish(array: np.ndarray) -> np.ndarray:
        if turned:
            array = array.reshape(ordered).transpose(back)
        if array.shape != shape:
            array = array.reshape(shape)
        if stored == dtype:
            return array
        with np.errstate(all="ignore"):  # as in a kernel: too large for float16 is infinite
            return array.astype(dtype)

    return finish


def _handed_over(array: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    if out is None:
        return array
    np.copyto(out, array, casting="same_kind")
    return out


@dataclass(frozen=True)
class Fresh:
    """A result in new memory."""

    shape: Shape  # in the order of the loops
    stored: np.dtype[Any]
    finished: Adapter | None  # None where the array is the result, made in its shape:
    final: Shape
    streamed: bool  # whether the kernel stores past the cache
    partial = False  # whether each chunk has its own

    @property
    def layout(self) -> Layout:
        return packed_layout(self.shape, self.stored.itemsize)

    @cached_property
    def fresh(self) -> Callable[[], np.ndarray]:
        """Makes the array: by NumPy at once where `buffers.empty` would leave it to NumPy."""
        shape = self.final if self.finished is None else self.shape
        if math.prod(shape) * self.stored.itemsize < buffers.SMALLEST:
            return partial(np.empty, shape, self.stored)
        return lambda: buffers.empty(shape, self.stored, self.streamed)

    def make(self, out: np.ndarray | None) -> np.ndarray:
        return self.fresh()

    def part(self, array: np.ndarray, chunk: int) -> np.ndarray:
        return array

    def finish(self, array: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        return _handed_over(array if self.finished is None else self.finished(array), out)


@dataclass(frozen=True)
class Given:
    """A result that the kernel writes straight into the array that was given for it."""

    layout: Layout
    partial = False

    def make(self, out: np.ndarray) -> np.ndarray:
        return out

    def part(self, array: np.ndarray, chunk: int) -> np.ndarray:
        return array

    def finish(self, array: np.ndarray, out: np.ndarray) -> np.ndarray:
        return out


@dataclass(frozen=True)
class Sum:
    """A result that is summed: one sum per chunk, or one in all where chunks do not meet in it."""

    shape: Shape  # in the order of the loops; 1 where it is summed
    stored: np.dtype[Any]
    finished: Adapter
    chunks: int

    @property
    def partial(self) -> bool:
        return self.chunks > 1

    @property
    def layout(self) -> Layout:
        return packed_layout(self.shape, self.stored.itemsize)

    def make(self, out: np.ndarray | None) -> np.ndarray:
        return np.zeros((self.chunks, *self.shape), self.stored)

    def part(self, array: np.ndarray, chunk: int) -> np.ndarray:
        own: np.ndarray = array[chunk if self.partial else 0]
        return own

    def finish(self, array: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        total: np.ndarray = (
            np.add.reduce(array, axis=0, dtype=wide(self.stored)) if self.partial else array[0]
        )
        return _handed_over(self.finished(total), out)


def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What sums of this type are taken in."""
    return np.dtype(np.float64 if dtype.kind == "f" else np.int64)
