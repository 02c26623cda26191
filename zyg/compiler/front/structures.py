"""What values are made of: numbers, structures of them, choices between structures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from zyg.compiler.ir import is_buffer, is_number, type_of
from zyg.compiler.numbers import Number


class Unknown:
    """A variable that has no value here, and why not; `unset` if Python would say so, too."""

    def __init__(self, why: str, unset: bool = False) -> None:
        self.why, self.unset = why, unset


class Different(Exception):  # noqa: N818 - an answer, which never leaves the reader
    """Two values that no number can join."""


class Dead(Exception):  # noqa: N818 - an answer, which never leaves the reader
    """Python raises here."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Compound:
    """Something made of numbers: an array, a range, an inner function and its defaults."""

    def structure(self) -> Any:
        """What is alike in two of them that can be joined."""
        raise NotImplementedError

    def parts(self) -> list[Any]:
        raise NotImplementedError

    def made(self, parts: Sequence[Any]) -> Any:
        """The same, of other parts."""
        raise NotImplementedError


class Choice:
    """One of several things, which one the program knows: the one whose flag is true."""

    def __init__(self, flags: list[Any], options: list[Any]) -> None:
        self.flags, self.options = flags, options


class Ref:
    """Something with a content: a list, a dict, a set, an object of a class, a call's variables.

    `fixed` says why it must not be changed, of what comes from outside.
    """

    __slots__ = ("fixed", "kind", "path")

    def __init__(self, kind: Any, path: Any = (), fixed: str = "") -> None:
        self.kind, self.path, self.fixed = kind, path, fixed


class Items(tuple[Any, ...]):
    """The items of a list of known length."""


def is_leaf(x: Any) -> bool:
    return isinstance(x, Number) or is_number(x)


def described(x: Any) -> str:
    """What a value is, for a message."""
    if isinstance(x, Choice):
        return " or ".join(map(described, x.options))
    if words := getattr(x, "words", ""):
        return str(words)
    kind = getattr(x, "kind", type(x))
    name = kind.__name__ if isinstance(kind, type) else "thing"
    return "None" if x is None else "a number" if is_leaf(x) else f"a {name}"


Parts = tuple[Any, list[Any], Callable[[list[Any]], Any]]


def children(x: Any) -> Parts | None:
    """The kind of a structure, its parts, and how it is made of them; None if it has none."""
    if is_leaf(x):
        return None
    if isinstance(x, (tuple, list)):
        kind: Any = type(x)
        make = kind._make if hasattr(kind, "_make") else kind
        return (kind, len(x)), [*x], make
    if hasattr(x, "structure"):
        return (type(x), x.structure()), x.parts(), x.made
    if type(x) is slice:
        return (slice,), [x.start, x.stop, x.step], lambda v: slice(*v)
    if type(x) is dict:
        return (dict, *x), [*x.values()], lambda v: dict(zip(x, v, strict=True))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        names = tuple(f.name for f in dataclasses.fields(x))
        return (type(x), names), [getattr(x, n) for n in names], lambda v: _remade(x, names, v)
    return None


def _remade(x: Any, names: Sequence[str], values: Sequence[Any]) -> Any:
    made = object.__new__(type(x))
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


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


NOTHING = {"float": 0.0, "int": 0, "uint": 0, "bool": False}


def is_memory(x: Any) -> bool:
    """Whether a leaf is a buffer."""
    return isinstance(x, Number) and is_buffer(type_of(x.atom))
