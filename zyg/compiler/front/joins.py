"""Joining what a variable is on two sides of an `if`, or in two rounds of a loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.compiler.ir import is_number
from zyg.compiler.record import Number


class Unknown:
    """A variable that has no value here, and why not."""

    def __init__(self, why: str) -> None:
        self.why = why


class Different(Exception):  # noqa: N818 - an answer, which never leaves the reader
    """Two values that no number can join."""


def is_leaf(x: Any) -> bool:
    return isinstance(x, Number) or is_number(x)


def described(x: Any) -> str:
    """What a value is, for a message."""
    return "None" if x is None else "a number" if is_leaf(x) else f"a {type(x).__name__}"


def children(x: Any) -> tuple[Any, list[Any], Callable[[list[Any]], Any]] | None:
    """The kind of a structure, its parts, and how it is made of them; None if it has none."""
    if isinstance(x, (tuple, list)):
        kind: Any = type(x)
        make = kind._make if hasattr(kind, "_make") else kind
        return (kind, len(x)), [*x], make
    if hasattr(x, "structure"):
        return (type(x), x.structure()), x.parts(), x.made
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        names = tuple(f.name for f in dataclasses.fields(x))
        return (type(x), names), [getattr(x, n) for n in names], lambda v: type(x)(*v)
    return None


def join(a: Any, b: Any, pairs: list[tuple[Any, Any]]) -> Callable[[list[Any]], Any]:
    """How what two sides have in common is made of numbers; appends the pairs of those to `pairs`.

    Raises Different where the two are not alike.
    """
    if a is b or (is_number(a) and type(a) is type(b) and repr(a) == repr(b)):
        return lambda made: a
    if is_leaf(a) and is_leaf(b):
        place = len(pairs)
        pairs.append((a, b))
        return lambda made: made[place]
    one, other = children(a), children(b)
    if one is None or other is None or one[0] != other[0]:
        raise Different
    inner = [join(x, y, pairs) for x, y in zip(one[1], other[1], strict=True)]
    make = one[2]
    return lambda made: make([part(made) for part in inner])


def split(x: Any, found: list[Any]) -> Callable[[list[Any]], Any]:
    """How `x` is made of its numbers, which are appended to `found`."""
    if is_leaf(x):
        place = len(found)
        found.append(x)
        return lambda made: made[place]
    inner = children(x)
    if inner is None:
        return lambda made: x
    rest = [split(part, found) for part in inner[1]]
    make = inner[2]
    return lambda made: make([part(made) for part in rest])


def zeros(like: Any) -> Any:
    """Something like a value, where there is none; it is never read."""
    found: list[Any] = []
    make = split(like, found)
    nothing = {"float": 0.0, "int": 0, "uint": 0, "bool": False}
    return make([nothing[x.atom.type] if isinstance(x, Number) else x for x in found])


def plain(x: Any) -> Any:
    """A number of NumPy's as Python's."""
    return x.item() if isinstance(x, np.generic) else x
