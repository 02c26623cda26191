"""A kind of container: how its instances are taken apart and put together again.

A kind lists the parts of a container as (key, value) pairs: an int for a place, a `Key` for a key
of a dict, a name for an attribute, None for a closure's cell. A mutable kind makes an empty copy
(`shell`) and puts values in (`fill`), so that cycles can close; an immutable one is made at once
(`make`). The gradient of a `bag` is a `Tangent`, that of any other kind a container of its own
kind. No method of the user's runs.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable
from typing import Any

from zyg.base.caches import remembered

_WITHOUT_ATTRIBUTES = {list, tuple, dict, deque}


class Key:
    """A key of a dict: kept apart from the attributes of a dict subclass."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __repr__(self) -> str:
        return repr(self.key)


CellOf = Callable[[types.CellType], types.CellType]


class Kind:
    """A container as its attributes; the other kinds differ from it."""

    bag = False
    mutable = True
    watchable = True  # or its parts are refused
    labels = False  # whether it is an array of which more is known
    builtin = True  # a container of Python's, whose identity means nothing

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return attributes(x)

    def shell(self, x: Any, cell_of: CellOf) -> Any:
        return bare(type(x))

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        set_attributes(copy, values)

    def make(self, x: Any, values: dict[Any, Any]) -> Any:
        raise NotImplementedError

    def tangent(self, x: Any, values: dict[Any, Any], gradient: bool) -> Any:
        """A tangent or the gradient of `x`, immutable, of its parts', None for those without."""
        return self.make(x, values)

    def blank(self, x: Any) -> Any:
        """The gradient of `x`, yet without parts; `fill` puts them in."""
        return self.shell(x, lambda cell: cell)

    def beside(self, x: Any, function: Any, operands: Any) -> Any:
        """An operation with `x`, which has labels, and something watched, which has none."""
        return NotImplemented  # which leaves it to `x`

    def misfit(self, x: Any, c: Any) -> str | None:
        """What the cotangent `c` of `x` lacks, so that it can have its parts; None if nothing."""
        return None

    def part(self, x: Any, c: Any, key: Any) -> Any:
        """The part of the cotangent `c` of `x` that belongs to a part of `x`."""
        if isinstance(key, Key):
            return c.get(key.key)
        if key is None:
            return c
        return getattr(c, key) if isinstance(key, str) else c[key]


@remembered(4096)
def slots(cls: Any) -> dict[str, types.MemberDescriptorType]:
    """The slots of a class, by the names under which they are stored (private names mangled)."""
    return {
        name: member
        for base in reversed(cls.__mro__)
        if "__slots__" in vars(base)
        for name, member in vars(base).items()
        if isinstance(member, types.MemberDescriptorType)
    }


def attributes(x: Any) -> list[tuple[Any, Any]]:
    if type(x) in _WITHOUT_ATTRIBUTES:
        return []
    fields = getattr(x, "__dict__", None)
    pairs = list(fields.items()) if isinstance(fields, dict) else []
    cls: Any = type(x)
    for name, member in slots(cls).items():
        try:
            pairs.append((name, member.__get__(x)))
        except AttributeError:  # a slot that is empty
            continue
    return pairs


def set_attributes(copy: Any, values: dict[Any, Any]) -> None:
    cls: Any = type(copy)
    own = slots(cls)
    for name, value in values.items():
        if isinstance(name, str):
            if name in own:
                own[name].__set__(copy, value)
            else:
                copy.__dict__[name] = value


@remembered(4096)
def maker(cls: Any) -> Callable[..., Any]:
    """The `__new__` of the class in C that decides the layout of `cls`."""
    makers = (vars(base).get("__new__") for base in cls.__mro__)
    return next(m for m in makers if isinstance(m, types.BuiltinFunctionType))


def bare(cls: type) -> Any:
    """An instance of `cls` that nothing has initialised."""
    return maker(cls)(cls)


class _Around(Kind):
    """What is made around a function, of which a copy knows what it knows."""

    bag, builtin = True, False

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return [("__wrapped__", x.__wrapped__)]

    def shell(self, x: Any, cell_of: CellOf) -> Any:
        copy = bare(type(x))
        set_attributes(copy, dict(attributes(x)))
        return copy


AROUND = _Around()
