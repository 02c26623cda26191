"""Where CPython and NumPy keep what machine code reads of their objects."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from types import GetSetDescriptorType
from typing import Any

import numpy as np

from zyg.compiler.kinds import DTYPES

HEAD = 16  # bytes of an object before its own: references, type
LIST = 24  # bytes of a list before what points at its items
ITEMS = tuple.__basicsize__  # bytes of a tuple before its items: more where it keeps its hash
DATA, NDIM, SHAPE, DESCR, FLAGS = 16, 24, 32, 56, 64  # in an array
CONTIGUOUS, STRIDES, OWNED, ALIGNED, WRITEABLE = 0x1, 40, 0x4, 0x100, 0x400


@cache
def readable() -> bool:
    """Whether objects lie in memory as this module reads them: told by a look at a few."""
    if sys.implementation.name != "cpython" or object.__basicsize__ != HEAD:
        return False  # as without the interpreter's lock, where objects have more before their own
    x, y, z = np.ones((2, 3), np.float32), 0.7, np.float64(0.7)

    def word(place: int, type: Any = ctypes.c_void_p) -> Any:
        return type.from_address(id(x) + place).value

    shape, pair, row = word(SHAPE), (x, y), [x, y]
    items = id(pair) + ITEMS, ctypes.c_void_p.from_address(id(row) + LIST).value or 0
    return (
        ctypes.sizeof(ctypes.c_void_p) == 8
        and word(8) == id(np.ndarray)
        and all(ctypes.c_void_p.from_address(at + 8).value == id(y) for at in items)
        and word(DATA) == x.ctypes.data
        and word(NDIM, ctypes.c_int) == 2
        and [ctypes.c_int64.from_address(shape + 8 * k).value for k in (0, 1)] == [2, 3]
        and word(DESCR) == id(x.dtype) == id(DTYPES["float32"])
        and word(FLAGS, ctypes.c_int) & 0x7FF == CONTIGUOUS | OWNED | ALIGNED | WRITEABLE
        and all(ctypes.c_double.from_address(id(number) + HEAD).value == y for number in (y, z))
    )


def place_of(slot: str, owner: Any) -> int:
    """How many bytes from its start objects of a class have one of its ``__slots__``."""
    x, value = owner.__new__(owner), object()
    setattr(x, slot, value)
    words = range(HEAD, owner.__basicsize__, 8)
    return next(k for k in words if ctypes.c_void_p.from_address(id(x) + k).value == id(value))


@cache
def version_place() -> int:
    """How many bytes from its start a class has a number that another one is after a change."""

    class One:
        here: Any = 0

    size: Any = type.__basicsize__

    def words() -> list[int]:
        _ = One.here  # Python counts when it looks for something
        places = range(id(One) + HEAD, id(One) + size, 8)
        return [ctypes.c_uint64.from_address(k).value for k in places]

    seen = []
    for k in range(3):
        One.here = k
        seen.append(words())
    is_counted = [0 < a < b < c < 2**32 for a, b, c in zip(*seen, strict=True)]
    return HEAD + 8 * is_counted.index(True)


def has_dict(cls: type) -> bool:
    """Whether objects of a class have as attributes what Python keeps in a dictionary."""
    found = [vars(base) for base in cls.__mro__ if base is not object]
    own = next((names["__dict__"] for names in found if "__dict__" in names), None)
    names = {name for each in found for name in each}
    return type(own) is GetSetDescriptorType and "__getattribute__" not in names


class Unreadable(TypeError):  # noqa: N818
    """A kind of object that only Python takes apart."""
