"""What the operations of a program compute with: values, and numbers that are known.

They are apart from `ir`, as the machine code of an earlier process is found without a program.
"""

from __future__ import annotations

import math
from typing import Any

Type = str  # "float", "float32", "int", "uint" or "bool"; with "[]" of a buffer of those


def is_buffer(kind: Type) -> bool:
    return kind.endswith("[]")


def element_of(kind: Type) -> Type:
    """The type of what is in a buffer."""
    return kind.removesuffix("[]")


class Value:
    """A number that is not known before the program runs."""

    __slots__ = ("type",)

    def __init__(self, type: Type) -> None:
        self.type = type


Atom = Value | float | int | bool


def type_of(x: Atom) -> Type:
    return x.type if isinstance(x, Value) else type(x).__name__


def is_number(x: Any) -> bool:
    """Whether an object may stand for an atom."""
    return type(x) in (float, int, bool)


def same(a: Any, b: Any) -> bool:
    """Whether two atoms are the same, known numbers to the sign of zero; NaN is itself."""
    if a is b or type(a) is not type(b) or isinstance(a, Value):
        return a is b
    if isinstance(a, float):
        return math.copysign(1, a) == math.copysign(1, b) and (a == b or (a != a and b != b))
    return bool(a == b)
