"""All that a function can take from outside, as one digest that is the same in every process.

It is more than a reader looks at: the code of the function, and whatever its names lead to: helpers
with theirs, classes with all that is in them, objects, constants. Two functions of the same digest
have the same program for arguments of the same kinds, but for numbers, which may be operands of it
and so are apart. What zyg, NumPy, SciPy and Python bring themselves is known by its name.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import hashlib
import sys
from abc import ABCMeta
from collections import namedtuple
from collections.abc import Iterator, Sequence
from dataclasses import Field
from functools import cached_property, partial
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from zyg import errors
from zyg.base.adoptable import code_of_source
from zyg.base.caches import remembered
from zyg.base.marks import maker_of
from zyg.base.registry import ScalarRule, own_verbs, rules
from zyg.compiler.front.captures import Path
from zyg.compiler.kinds import Unkind, kind_of
from zyg.core.strand import is_watched
from zyg.errors import is_installed, is_users

_MOST = 20_000  # words
_DEEPEST = 100
_LARGEST = 1 << 20  # bytes of an array that is no operand
_PLAIN = (type(None), bool, int, complex, str, bytes, type(Ellipsis), type(NotImplemented))
_OF_TUPLES = type(vars(namedtuple("One", ["field"]))["field"])
_SENTINELS = (type(dataclasses.MISSING), type(dataclasses._HAS_DEFAULT_FACTORY))  # type: ignore[attr-defined]
# What classes have for other readers.
_UNREAD = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__annotate__",
    "__annotate_func__", "__annotations_cache__", "__firstlineno__", "__static_attributes__",
    "__dataclass_params__", "__abstractmethods__", "_abc_impl", "__orig_bases__", "__parameters__",
    "__repr__",
}  # fmt: skip


class Unknown(Exception):  # noqa: N818 - an answer
    """Something is reached that has no digest."""


class Fingerprint:
    """What a function reaches: words for all of it, and the numbers, by their paths.

    Raises Unknown.
    """

    def __init__(self, f: Any) -> None:
        self.words: list[Any] = []
        self.numbers: dict[Path, Any] = {}
        self._seen: dict[Any, int] = {}
        self._alive: list[Any] = []  # so that no two have the same id
        if _has_rules_of_others(rules.version):
            raise Unknown
        self._value(f, (), (), 0)

    def but_for(self, operands: Any) -> str:
        """A digest of the numbers that are not among these paths."""
        rest = {path: x for path, x in self.numbers.items() if path not in operands}
        return digest([(path, *_content(x)) for path, x in rest.items()])

    def _note(self, *words: Any) -> None:
        self.words.append(words)
        if len(self.words) > _MOST:
            raise Unknown

    def _value(self, x: Any, path: Path, names: Names, depth: int) -> None:
        """Note what is at a path, of which these names may be asked."""
        if type(x) in _PLAIN:
            self._note(type(x).__name__, repr(x))
        elif type(x) is float or isinstance(x, (np.ndarray, np.generic)):
            try:
                self._note("number", repr(kind_of(x)))
            except Unkind:
                raise Unknown from None
            self.numbers[path] = x
        elif is_watched(x) or depth > _DEEPEST:
            raise Unknown
        elif (known := self._seen.get(key := (id(x), isinstance(x, ModuleType) and names))) is None:
            self._seen[key] = len(self._seen)
            self._alive.append(x)
            words, parts, names = _taken_apart(x, names)
            self._note(type(x).__name__, *words)
            for steps, part in parts:
                self._note(*((kind, key) for kind, key in steps if type(key) in (str, int)))
                self._value(part, (*path, *steps), names, depth + 1)
        else:
            self._note("again", known)


# How things are taken apart: into words, and parts with the steps to them, of which names are asked

Names = Sequence[str]
Parts = list[tuple[Path, Any]]
_ATTRIBUTES: dict[type, tuple[str, ...]] = {
    MethodType: ("__func__", "__self__"), partial: ("func", "args", "keywords"),
    staticmethod: ("__func__",), classmethod: ("__func__",), property: ("fget", "fset", "fdel"),
    cached_property: ("func",), slice: ("start", "stop", "step"),
    Field: ("name", "init", "compare", "kw_only", "default", "default_factory"),
}  # fmt: skip


def _taken_apart(x: Any, names: Names) -> tuple[Sequence[Any], Parts, Names]:
    if isinstance(x, ModuleType):
        return _module(x, names)
    if (name := _name_in_library(x)) is not None:
        return ("library", name), [], ()
    if (made := maker_of(x)) is not None:
        return ("made", repr(made)), _attributes(x, "__wrapped__"), ()
    if isinstance(x, FunctionType):
        return _function(x)
    if isinstance(x, type):
        return _class(x)
    if isinstance(x, (tuple, list, dict, set, frozenset)):
        return _container(x)
    if type(x) in own_verbs:
        return ("compiled",), _attributes(x, "__wrapped__"), ()
    if type(x) in _ATTRIBUTES:
        return (), _attributes(x, *_ATTRIBUTES[type(x)]), ()
    if isinstance(x, BuiltinFunctionType) and isinstance(x.__self__, type):
        return (x.__name__,), _attributes(x, "__self__"), ()
    if isinstance(x, enum.Enum):
        return (), _attributes(x, "name", "value", "__class__"), ()
    if isinstance(x, (range, np.dtype)):
        return (repr(x),), [], ()
    if isinstance(x, (GetSetDescriptorType, MemberDescriptorType)):
        return (x.__name__,), [], ()
    if type(x) is _OF_TUPLES:
        return (repr(x.__reduce__()[1]),), [], ()
    return (), [] if type(x) in _SENTINELS else _instance(x), ()


def _attributes(x: Any, *names: str) -> Parts:
    return [((("attr", name),), getattr(x, name)) for name in names]


def _instance(x: Any) -> Parts:
    kind = type(x)
    is_plain = kind is SimpleNamespace or "__dataclass_fields__" in vars(kind)
    slots = [name for c in kind.__mro__ for name, part in [*vars(c).items()]
             if isinstance(part, MemberDescriptorType) and hasattr(x, name)]  # fmt: skip
    if not (hasattr(x, "__dict__") or slots) or not (is_plain or not _is_library(kind.__module__)):
        raise Unknown
    return _attributes(x, "__class__", *dict.fromkeys([*slots, *getattr(x, "__dict__", {})]))


def _container(x: Any) -> tuple[Sequence[Any], Parts, Names]:
    parts = _attributes(x, "__class__")
    if isinstance(x, (set, frozenset)):
        if not all(type(part) in _PLAIN for part in x):
            raise Unknown
        return sorted(map(repr, x)), parts, ()
    if isinstance(x, dict):
        parts += [((("key", repr(key)),), key) for key in [*x]]
    items = [*x.items()] if isinstance(x, dict) else enumerate(x)
    return (len(x),), parts + [((("item", key),), part) for key, part in items], ()


def _module(x: ModuleType, names: Names) -> tuple[Sequence[Any], Parts, Names]:
    """Those of the names that a module has."""
    late = x.__name__ == errors.__package__  # which has what it is asked for
    there = [name for name in names if name in vars(x) or (late and name in dir(x))]
    return (x.__name__,), _attributes(x, *there), names


def _class(x: type) -> tuple[Sequence[Any], Parts, Names]:
    if type(x) not in (type, ABCMeta, enum.EnumMeta) or _is_library(x.__module__):
        raise Unknown
    parts: Parts = [((("attr", "__bases__"), ("item", k)), c) for k, c in enumerate(x.__bases__)]
    own = [(name, part) for name, part in [*vars(x).items()] if name not in _UNREAD]
    parts += [((("attr", name),), part) for name, part in own]
    return (x.__module__, x.__qualname__), parts, ()


def _function(f: FunctionType) -> tuple[Sequence[Any], Parts, Names]:
    code = f.__code__
    if code_of_source(code) is not code or f in rules:
        raise Unknown
    names = tuple(sorted({*names_in(code)}))
    parts: Parts = []
    for name in names:  # which may be that of an attribute
        if name in f.__globals__:
            parts.append(((("global", name),), f.__globals__[name]))
        elif name in vars(builtins):
            parts.append(((("builtin", name),), vars(builtins)[name]))
    for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
        if cell == _EMPTY:
            raise Unknown
        parts.append(((("closure", name),), cell.cell_contents))
    given = f.__defaults__ or ()
    first = code.co_argcount - len(given)
    defaults = {**dict(zip(code.co_varnames[first:], given, strict=False)),
                **(f.__kwdefaults__ or {})}  # fmt: skip
    parts += [((("default", name),), part) for name, part in defaults.items()]
    parts += [((("attr", name),), part) for name, part in vars(f).items()]
    return (is_users(code.co_filename), *words_of(code)), parts, names


_EMPTY = CellType()


def digest(x: Any) -> str:
    return hashlib.sha256(repr(x).encode()).hexdigest()


def words_of(code: CodeType) -> list[Any]:
    """What a code says, wherever it stands."""
    found: list[Any] = [
        code.co_name, code.co_code, code.co_names, code.co_varnames, code.co_freevars,
        code.co_cellvars, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount,
        code.co_flags, code.co_exceptiontable,
    ]  # fmt: skip
    return found + [
        words_of(c) if isinstance(c, CodeType)
        else sorted(map(repr, c)) if isinstance(c, frozenset)
        else repr(c)
        for c in code.co_consts
    ]  # fmt: skip


def names_in(code: CodeType) -> Iterator[str]:
    """The names that a code, and those within it, have."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def _content(x: Any) -> tuple[Any, ...]:
    if type(x) is float:
        return (x.hex(),)
    if x.nbytes > _LARGEST:
        raise Unknown
    return str(x.dtype), x.shape, x.tobytes()


# What is known by its name


def _is_library(module: Any) -> bool:
    """Whether a module, by its name, is Python's, NumPy's, SciPy's or zyg's."""
    if not isinstance(module, str) or module not in sys.modules:
        return False
    if module in sys.builtin_module_names:
        return True
    file = getattr(sys.modules[module], "__file__", None) or ""
    own = not is_users(file) if file else False
    return own or (module.partition(".")[0] == "scipy" and is_installed(file))


def _name_in_library(x: Any) -> str | None:
    """Where a library has a function or a class, with its version if it is not part of the key."""
    if not isinstance(x, (type, FunctionType, BuiltinFunctionType, np.ufunc, type(np.sum))):
        return None
    if isinstance(x, FunctionType) and not _is_library(x.__globals__.get("__name__")):
        return None
    name = x.__name__ if isinstance(x, np.ufunc) else x.__qualname__
    own = getattr(x, "__module__", None)
    for module in (own, "numpy", "scipy.special") if isinstance(x, np.ufunc) else (own,):
        if _is_library(module):
            found: Any = sys.modules[str(module)]
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is x:
                version = getattr(sys.modules.get(str(module).partition(".")[0]), "__version__", "")
                return f"{module}.{name} {version}"
    return None


@remembered(1)
def _has_rules_of_others(version: int) -> bool:
    """Whether anyone has given a rule to a function that is known by its name."""
    return any(
        _is_of_others(rule) and _name_in_library(f) is not None for f, rule in [*rules.items()]
    )


def _is_of_others(rule: Any) -> bool:
    parts = rule.partials if isinstance(rule, ScalarRule) else (getattr(rule, "rule", None),)
    return any(is_users(part.__code__.co_filename) for part in parts
               if isinstance(part, FunctionType))  # fmt: skip
