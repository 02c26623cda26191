"""Memory of results, kept for later results of the same size.

The system hands out fresh memory in pages that it clears at their first touch, which takes longer
than a kernel takes to fill them. So the memory of a large result goes back to a pool when the array
and all its views are gone. The array does not own its memory: its base is a `Lease`, which every
view holds on to, and whose end is the end of the last of them.

A kernel has an element of each of its arrays in the cache at the same time. Where those lie at the
same place of their pages, there is room for a few only: so pieces of memory are staggered. They
begin at multiples of 64 bytes, which is a line of the cache and a vector.

There are no locks. The end of a lease can come at any line of any thread, also inside this module,
where a lock might be held by that thread itself; the steps that matter are single operations of a
dictionary, which are atomic. (``list(_idle)`` is one; that of its items makes tuples, and making a
tuple may start the collector, which may end a lease.)
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from zyg.base.config import setting

SMALLEST = 1 << 18  # bytes; below, the allocator of the C library reuses memory itself
_STEP = 1 << 16  # sizes are rounded up to these, so that similar ones share

_idle: dict[int, np.ndarray] = {}  # in the order of return
_returns, _places = itertools.count(), itertools.count()
_PAGE, _STAGGER = 4096, 192  # bytes


class Lease:
    """The base of an array whose memory is on loan."""

    __slots__ = ("__array_interface__", "_memory")

    def __init__(self, memory: np.ndarray, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._memory = memory
        owned = memory.__array_interface__
        self.__array_interface__ = {**owned, "shape": shape, "typestr": dtype.str, "strides": None}

    def __del__(self) -> None:
        _idle[next(_returns)] = self._memory
        _shrink()


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An array in C order whose elements are not set; memory is reused where it is large.

    It is a view, as NumPy makes read-only memory writable again only where its base is writable.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < SMALLEST:
        return np.empty(shape, dtype)
    lease: Any = Lease(_take(-(-size // _STEP) * _STEP), shape, dtype)
    return np.asarray(lease, dtype).view()


def _take(size: int) -> np.ndarray:
    """Memory of `size` bytes: that which came back last is the likeliest to be in the cache."""
    for key in reversed(list(_idle)):
        memory = _idle.get(key)
        if memory is not None and memory.size == size and _idle.pop(key, None) is not None:
            return memory  # which no other thread has taken meanwhile
    room = np.empty(size + _PAGE, np.uint8)
    start = (_STAGGER * next(_places) - room.ctypes.data) % _PAGE
    return room[start : start + size]


def _shrink() -> None:
    """Drop what came back longest ago, until the pool is not larger than it may be."""
    found = [(key, _idle.get(key)) for key in list(_idle)]
    excess = sum(memory.size for _, memory in found if memory is not None) - setting("pool_bytes")
    for key, memory in found:
        if excess <= 0:
            break
        if memory is not None:
            excess -= memory.size
            _idle.pop(key, None)


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
