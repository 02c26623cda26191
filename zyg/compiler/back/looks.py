"""Lists of what machine code looks at of objects before it runs.

A look is a word in memory, or what a function of Python's C interface says of an object and a key.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from zyg.base.containers import Engine
from zyg.compiler.back.object_layout import ITEMS, version_place

LOOKED_UP = {
    "name": "PyDict_GetItem", "code": "PyFunction_GetCode",
    "defaults": "PyFunction_GetDefaults", "keywords": "PyFunction_GetKwDefaults",
    "length": "PyObject_Size",
}  # fmt: skip
_LOOK = struct.Struct("=4Q")


class Looks(Engine):
    """What an ask looks at: what is to be there, and what is taken from there."""

    def __init__(self) -> None:
        self.guards: list[bytes] = []
        self.operands: list[bytes] = []
        self.held: list[Any] = []  # so that no other object is at its address

    def at(self, how: str, x: Any, key: Any = None) -> tuple[int, int, int]:
        """What a function of Python's says of an object and a key."""
        self.held += (x, key)
        function = ctypes.cast(getattr(ctypes.pythonapi, LOOKED_UP[how]), ctypes.c_void_p)
        return function.value or 0, id(x), id(key)

    def word(self, x: Any, place: int) -> tuple[int, int, int]:
        """What is in memory of an object."""
        self.held.append(x)
        return 0, id(x), place

    def version(self, cls: type) -> tuple[tuple[int, int, int], int]:
        """Where Python numbers the states of a class and its bases, and what this one has.

        LookupError where it gives it no number.
        """
        getattr(cls, "__doc__", None)  # it does when it looks for something
        look = self.word(cls, version_place())
        if not (number := ctypes.c_uint64.from_address(id(cls) + look[2]).value):
            raise LookupError
        return look, number

    def item(self, x: tuple[Any, ...], k: int) -> tuple[int, int, int]:
        """What a tuple has at a place; IndexError if it has none."""
        if not 0 <= k < len(x):
            raise IndexError
        return self.word(x, ITEMS + 8 * k)

    def demand(self, look: tuple[int, int, int], there: int) -> None:
        """A number, or an object with such an address, is to be there; nothing, if 0."""
        self.guards.append(_LOOK.pack(*look, there))

    def take(self, look: tuple[int, int, int]) -> None:
        """What is there is behind the arguments."""
        self.operands.append(_LOOK.pack(*look, 0))

    def words(self, f: Any) -> bytes:
        """All, for a function."""
        self.held.append(f)
        head = struct.pack("=3Q", len(self.guards), len(self.operands), id(f))
        return b"".join([head, *self.guards, *self.operands])
