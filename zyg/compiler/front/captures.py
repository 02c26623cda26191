"""What a scalar function takes from outside: globals, closure cells, defaults, attributes.

A floating point number becomes an operand, so that a change of it needs no new kernel, and a
watched one gets its gradient. Everything else is baked into the kernel: ints, flags, helper
functions. Each use is remembered with its *path* from the function, so that the next call can tell
whether the kernel still fits. An int that keeps changing becomes an operand too.
"""

from __future__ import annotations

import builtins
import enum
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from zyg.base.marks import maker_of
from zyg.base.registry import own_verbs
from zyg.compiler.atoms import Type, same
from zyg.errors import CaptureError, is_users

if TYPE_CHECKING:
    from zyg.compiler.ints import Width
    from zyg.compiler.numbers import Number

Path = tuple[tuple[str, Any], ...]

_GONE = (AttributeError, LookupError, ValueError, TypeError)  # where a path leads nowhere
_BAKED = (str, bytes, int, enum.Enum, type(None), type(Ellipsis), np.ufunc, BuiltinFunctionType)
_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float"}


def type_for(dtype: np.dtype[Any]) -> Type | None:
    """What elements of a dtype are in a kernel; None where kernels have no such numbers."""
    if dtype.itemsize > 8:
        return None
    return "uint" if dtype.kind == "u" and dtype.itemsize == 8 else _KINDS.get(dtype.kind)


class Outside:
    """A captured object that is no number; its parts are looked up by path."""

    def __init__(self, value: Any, path: Path) -> None:
        self.value, self.path = value, path


class Members:
    """What a class and its bases have, but for data: that is guarded where it is used."""

    def __init__(self, cls: type) -> None:
        self.of = cls
        self._bases = cls.__mro__
        own = [vars(c) for c in cls.__mro__ if may_change(c)]
        self._own = [
            (names, len(names), {k: x for k, x in names.items() if hasattr(type(x), "__get__")})
            for names in own
        ]

    def stand(self, cls: Any) -> bool:
        """Whether this is the class, and has them all, and no others."""
        return cls is self.of and cls.__mro__ == self._bases and all(
            len(now) == count and all(now.get(k) is x for k, x in then.items())
            for now, count, then in self._own
        )  # fmt: skip


def file_of(cls: type) -> str:
    """The file of a class's module."""
    return getattr(sys.modules.get(cls.__module__), "__file__", None) or "<string>"


def may_change(cls: type) -> bool:
    """Whether a class is made by a statement of the user's."""
    return cls.__module__ != "builtins" and is_users(file_of(cls))


@dataclass(eq=False, repr=False)
class Captures:
    """What one kernel takes from outside. `plain` takes the watching off a watched value.

    With `baking`, numbers are baked in like everything else: a function that has a rule of its own
    is a function of its arguments alone. `parallel` says that loops over `prange` are, `assuming`
    that arrays have the usual sizes. Ranges of few rounds are read one by one up to `most_unrolled`
    operations.
    """

    plain: Callable[[Any], Any]
    varying: frozenset[Path] = frozenset()
    baking: bool = False
    parallel: bool = False
    assuming: bool = True
    most_unrolled: float = math.inf
    guards: dict[Path, Any] = field(default_factory=dict)
    operands: dict[Path, Number] = field(default_factory=dict)
    kinds: dict[Path, tuple[Type, Width]] = field(default_factory=dict)  # of the operands

    def found(self, value: Any, path: Path, lift: Callable[[Type], Number]) -> Any:
        """What a captured value is to the function that is read."""
        if path in self.operands:
            return self.operands[path]
        kind = self._lifted(value, path)
        if kind is not None and self.baking:
            return self._baked(value, path)
        if kind is not None:
            self.kinds[path] = kind
            self.operands[path] = number = lift(kind[0])
            return number
        plain = self.plain(value)
        if isinstance(plain, np.ndarray):
            raise CaptureError(
                f"the kernel uses the array {named(path)}, of shape {plain.shape}, which is not "
                "among its operands.",
                "a kernel runs once for each element of its operands, and sees single numbers.",
                "pass the array to the function as an operand, with an argument for it.",
            )
        if path[-1][0] == "builtin":
            self.guards[path] = value  # which a global may hide some day
            return value
        if isinstance(value, _BAKED):
            self.guards[path] = value
            return value
        if isinstance(value, FunctionType):
            self.guards[path] = value.__code__
        elif isinstance(value, type):
            self.class_used(value, path)
        elif not isinstance(value, ModuleType):  # what is used of a module is guarded itself
            self.guards[path] = outline(value)
            if may_change(type(value)):
                self.class_used(type(value), (*path, ("attr", "__class__")))
        return Outside(value, path)

    def class_used(self, cls: type, path: Path) -> None:
        """Note that a class is to stay as it is."""
        self.guards[path] = Members(cls) if may_change(cls) else cls

    def _baked(self, value: Any, path: Path) -> Any:
        """A captured number of a function that has a rule of its own."""
        if self.plain(value) is not value:
            raise CaptureError(
                f"the watched number {named(path)} is used inside a function that has a rule.",
                "the rule has derivatives with respect to its arguments only.",
                "pass it to the function as an argument.",
            )
        self.guards[path] = value
        return value

    def _lifted(self, value: Any, path: Path) -> tuple[Type, Width] | None:
        """What a captured value that becomes an operand is, and the type of an int of NumPy's."""
        plain = self.plain(value)
        if isinstance(plain, (np.ndarray, np.generic)) and plain.ndim == 0:
            kind = type_for(plain.dtype)
            width = plain.dtype if plain.dtype.kind in "iu" else None
            return None if kind is None else (kind, width)
        if isinstance(plain, float):
            return "float", None
        if type(plain) is int and (plain is not value or path in self.varying):
            return "int", None
        return None

    def fits(self, f: Any) -> bool:
        """Whether everything that was baked in is still what it was."""
        try:
            return agree(f, self.guards) and all(
                self._lifted(follow(f, path), path) == kind for path, kind in self.kinds.items()
            )
        except _GONE:
            return False

    def widths(self) -> list[Width]:
        """NumPy's types of the captured operands that are ints of NumPy's."""
        return [width for _, width in self.kinds.values()]

    def values(self, f: Any) -> list[Any]:
        """The captured operands, as they are now."""
        return [follow(f, path) for path in self.operands]


def agree(f: Any, guards: Mapping[Path, Any]) -> bool:
    """Whether what a function has at these paths is what was seen there."""
    try:
        for path, seen in guards.items():
            if not _agrees(follow(f, path), seen):
                return False
    except _GONE:
        return False
    return True


def _agrees(value: Any, seen: Any) -> bool:
    if type(seen) is CodeType:
        return isinstance(value, FunctionType) and value.__code__ is seen
    if type(seen) is tuple:
        return seen == outline(value)
    if type(seen) is Members:
        return seen.stand(value)
    return value is seen or (type(seen) in (float, int, bool, str, bytes) and same(value, seen))


def outline(value: Any) -> tuple[type, int | None]:
    """What must not change of a captured object; its parts are guarded as far as they are used."""
    return type(value), len(value) if hasattr(type(value), "__len__") else None


def follow(f: Any, path: Path) -> Any:
    """The object at a path from a function; LookupError, AttributeError where it is gone."""
    for kind, key in path:
        f = _STEPS[kind](f, key)
    return f


def _cell(f: Any, name: str) -> Any:
    return f.__closure__[f.__code__.co_freevars.index(name)].cell_contents


def _default(f: Any, name: str) -> Any:
    if f.__kwdefaults__ and name in f.__kwdefaults__:
        return f.__kwdefaults__[name]
    code = f.__code__
    place = code.co_varnames.index(name) - code.co_argcount
    return f.__defaults__[place]


_STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "closure": _cell,
    "global": lambda f, name: f.__globals__[name],
    "builtin": lambda f, name: f.__globals__.get(name, getattr(builtins, name)),
    "default": _default,
    "attr": getattr,
    "has": hasattr,
    "item": lambda f, key: f[key],
    "itself": lambda f, key: key,  # where no path leads from the function
}


def named(path: Path) -> str:
    """A path as the program spells it, from the last name on."""
    text = ""
    for kind, key in path:
        part = f".{key}" if kind == "attr" else f"[{key!r}]"
        text = text + part if kind in ("attr", "item") else str(key)
    return text.removeprefix(".")


def lookup(f: FunctionType, name: str) -> tuple[Any, tuple[str, str]] | None:
    """A name of a function's surroundings: its value, and the step that leads to it."""
    if name in f.__code__.co_freevars:
        try:
            return _cell(f, name), ("closure", name)
        except ValueError:  # not assigned yet
            return None
    if name in f.__globals__:
        return f.__globals__[name], ("global", name)
    if hasattr(builtins, name):
        return getattr(builtins, name), ("builtin", name)
    return None


def code_of(f: Any) -> Any:
    """What two functions have in common that differ in what they take from outside only."""
    kinds: list[Any] = []
    while True:
        if (made := maker_of(f)) is not None or type(f) in own_verbs:
            kinds.append(repr(made))
            f = f.__wrapped__
            continue
        if isinstance(f, FunctionType):
            return (*kinds, f.__code__)
        kinds.append(type(f))
        if isinstance(f, (partial, MethodType)):
            f = f.func if isinstance(f, partial) else f.__func__
        elif callable(f) and isinstance(type(f).__call__, FunctionType):
            f = type(f).__call__
        else:
            return f
