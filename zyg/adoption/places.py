"""Where a module holds originals: under its names, and in what hangs on them.

That is, in class bodies, in defaults and closures of functions, in containers, partial calls, and
objects of the adopted classes. What belongs to modules that are not adopted is left alone, and what
is compiled.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from contextlib import suppress
from enum import EnumMeta
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType
from typing import Any, NamedTuple

from zyg.adoption.wrapped import Wrapping


class Kind(NamedTuple):
    """A kind of holders: what one holds where, and how that is got and put there."""

    entries: Callable[[Any], list[tuple[Any, Any]]]
    get: Callable[[Any, Any], Any]
    put: Callable[[Any, Any, Any], None]


class Place(NamedTuple):
    """One place, what is there, what is to be there, and the module's name that leads to it."""

    name: str
    kind: Kind
    holder: Any
    key: Any
    before: Any
    now: Any

    def change(self) -> None:
        """Put one thing in the place of the other, if nobody has put something else there."""
        _, kind, holder, key, before, now = self
        if kind.get(holder, key) is before:
            kind.put(holder, key, now)


def _of(*names: str) -> Kind:
    """Holders that hold something in these attributes; a cell may be empty."""

    def entries(x: Any) -> list[tuple[Any, Any]]:
        return [(name, getattr(x, name)) for name in names if hasattr(x, name)]

    return Kind(entries, lambda x, name: getattr(x, name, None), setattr)


def _put_in_partial(call: Any, key: str, value: Any) -> None:
    func, args = {"func": call.func, "args": call.args, key: value}.values()
    call.__setstate__((func, args, call.keywords, call.__dict__))


_ITEMS = Kind(lambda d: [*dict.items(d)], dict.get, dict.__setitem__)
_ELEMENTS = Kind(
    lambda x: [*enumerate(list.__iter__(x))],
    lambda x, k: x[k] if k < len(x) else None,
    list.__setitem__,
)
_BODY = Kind(
    lambda cls: [*vars(cls).items()],
    lambda cls, name: vars(cls).get(name),
    type.__setattr__,
)
_ATOMS = {type(None), bool, int, float, complex, str, bytes, BuiltinFunctionType, ModuleType}
_FUNCTION = _of("__code__", "__defaults__", "__kwdefaults__", "__closure__")
_OTHERS: dict[type, Kind] = {
    CellType: _of("cell_contents"),
    functools.partial: Kind(
        lambda call: [(name, getattr(call, name)) for name in ("func", "args", "keywords")],
        getattr,
        _put_in_partial,
    ),
}
# In these are functions, in which there may be places.
_AROUND: dict[type, tuple[str, ...]] = {
    FunctionType: ("__wrapped__",),
    type(functools.lru_cache(print)): ("__wrapped__",),
    functools.cached_property: ("func",),
    property: ("fget", "fset", "fdel"),
}


class Walk:
    """All places of a module at which `instead` gives something else for what is there."""

    def __init__(
        self, names: dict[str, Any], is_adopted: Callable[[str], bool], instead: Callable[..., Any]
    ) -> None:
        self._names, self._is_adopted, self._instead = names, is_adopted, instead
        self._met: dict[int, Any] = {}  # holders, which stay alive for their ids' sake
        self._waiting: list[tuple[Kind, Any]] = []

    def places(self) -> list[Place]:
        found: list[Place] = []
        for name, value in list(self._names.items()):
            if not (name.startswith("__") and name.endswith("__")):
                found += self._look(name, _ITEMS, self._names, name, value)
            while self._waiting:
                kind, holder = self._waiting.pop()
                for key, part in kind.entries(holder):
                    found += self._look(name, kind, holder, key, part)
        return found

    def _look(self, name: str, kind: Kind, holder: Any, key: Any, value: Any) -> list[Place]:
        now = self._renewed(value)
        return [] if now is value else [Place(name, kind, holder, key, value, now)]

    def _renewed(self, value: Any) -> Any:
        """What is to stand in the place of a value; holders are looked into later."""
        now, cls = self._instead(value), type(value)
        if now is not value:
            if isinstance(now, Wrapping):
                self._renewed(value.__wrapped__)
            return now
        if cls in _ATOMS:
            return value
        if cls is tuple or cls is frozenset:
            parts = [*map(self._renewed, value)]
            return value if all(map(operator.is_, parts, value)) else cls(parts)
        if cls is staticmethod or cls is classmethod:
            now = self._renewed(value.__func__)
            return value if now is value.__func__ else cls(now)
        for kind, holder in self._holders(value, cls):
            if id(holder) not in self._met:
                self._met[id(holder)] = holder
                self._waiting.append((kind, holder))
        for name in _AROUND.get(cls, ()):
            self._renewed(getattr(value, name, None))
        return value

    def _holders(self, x: Any, cls: type) -> list[tuple[Kind, Any]]:
        if cls is FunctionType:
            home = x.__globals__
            ours = home is self._names or self._is_adopted(str(home.get("__name__")))
            return [(_FUNCTION, x)] if ours else []
        if cls in _OTHERS:
            return [(_OTHERS[cls], x)]
        if issubclass(cls, type):
            ours = x.__module__ == self._names.get("__name__") and cls is not EnumMeta
            return [(_BODY, x)] if ours else []
        found: list[tuple[Kind, Any]] = []
        if issubclass(cls, dict):
            found.append((_ITEMS, x))
        elif issubclass(cls, list):
            found.append((_ELEMENTS, x))
        if self._is_adopted(cls.__module__):
            with suppress(AttributeError):  # an object with slots
                found.append((_ITEMS, object.__getattribute__(x, "__dict__")))
        return found
