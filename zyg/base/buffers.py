"""Memory of results, kept for later results of the same size.

The system hands out fresh memory in pages that it clears at their first touch, which takes longer
than a kernel takes to fill them. So the memory of a large result goes back to a pool when the array
and all its views are gone. The array does not own its memory: its base is a `Lease`, which every
view holds on to, and whose end is the end of the last of them.

A kernel has an element of each of its arrays in the cache at the same time. Where those lie at the
same place of their pages, there is room for a few only: so pieces of memory are staggered. They
begin at multiples of `LINE` bytes, which is a line of the cache and a vector.

There are no locks. The end of a lease can come at any line of any thread, also inside this module,
where a lock might be held by that thread itself; the steps that matter are single operations of a
dictionary, which are atomic. (``list(_idle)`` is one, and so of its values; that of its items makes
tuples, and making a tuple may start the collector, which may end a lease.)
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from zyg.base.config import setting

SMALLEST = 1 << 18  # bytes; below, the allocator of the C library reuses memory itself
LINE = 64  # bytes
_STEP = 1 << 16  # sizes are rounded up to these, so that similar ones share


class Piece:
    """Memory that is lent: `size` bytes from `address` on, in an array of NumPy's."""

    __slots__ = ("address", "room", "size", "streamed")

    def __init__(self, size: int, streamed: bool) -> None:
        self.room, self.size = np.empty(size + _PAGE, np.uint8), size
        self.streamed = streamed  # whether what is written to it goes past the cache
        start = self.room.ctypes.data
        self.address = start + (_STAGGER * next(_places) - start) % _PAGE


_idle: dict[int, Piece] = {}  # in the order of return
_returns, _places = itertools.count(), itertools.count()
_PAGE, _STAGGER = 4096, 3 * LINE  # bytes


class Alone:
    """The base of an array whose memory nobody else writes to."""

    __slots__ = ()


class Lease(Alone):
    """The base of an array whose memory is on loan."""

    __slots__ = ("__array_interface__", "_piece")

    def __init__(self, piece: Piece, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._piece, place = piece, (piece.address, False)
        self.__array_interface__ = {
            "version": 3, "data": place, "shape": shape, "typestr": dtype.str, "strides": None,
        }  # fmt: skip

    def __del__(self) -> None:
        if _returns is not None:  # else the process ends, and this module is no more
            _idle[next(_returns)] = self._piece
            _shrink()


def says_read_only(error: BaseException) -> bool:
    """Whether an error is NumPy's refusal to write; of np.dot's `out` it says so in other words."""
    said = "read-only", "output array is not acceptable"
    return isinstance(error, ValueError) and any(words in str(error) for words in said)


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], streamed: bool = False) -> np.ndarray:
    """An array in C order whose elements are not set; memory is reused where it is large.

    It is a view, as NumPy makes read-only memory writable again only where its base is writable.
    What is to be `streamed`, that is written past the cache, gets memory to which others were: what
    lies in the cache is left to the rest.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < SMALLEST:
        return np.empty(shape, dtype)
    lease: Any = Lease(_take(-(-size // _STEP) * _STEP, streamed), shape, dtype)
    return np.asarray(lease, dtype).view()


def _take(size: int, streamed: bool) -> Piece:
    """Memory of `size` bytes: that which came back last is the likeliest to be in the cache."""
    for key in reversed(list(_idle)):
        piece = _idle.get(key)
        if piece is None or (piece.size, piece.streamed) != (size, streamed):
            continue
        if _idle.pop(key, None) is not None:  # no other thread has taken it meanwhile
            return piece
    return Piece(size, streamed)


def _shrink() -> None:
    """Drop what came back longest ago, until the pool is not larger than it may be."""
    excess = sum([piece.size for piece in list(_idle.values())]) - setting("pool_bytes")
    for key in list(_idle) if excess > 0 else ():
        piece = _idle.pop(key, None)
        excess -= 0 if piece is None else piece.size
        if excess <= 0:
            break


def clear() -> None:
    """Give back what is kept for later results."""
    _idle.clear()


def copy(x: np.ndarray) -> np.ndarray:
    """A copy of an array, in memory of the pool where it is large."""
    if x.nbytes < SMALLEST or not x.flags.c_contiguous or x.dtype.hasobject:
        return x.copy(order="K")
    y = empty(x.shape, x.dtype)
    np.copyto(y, x)
    return y
