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
from zyg.base.registry import ScalarRule, own_verbs, rules
from zyg.compiler.front.captures import Path
from zyg.compiler.front.kinds import Unkind, kind_of
from zyg.core.strand import is_watched
from zyg.errors import is_installed, is_users

_MOST = 20_000  # words
_DEEPEST = 100
_LARGEST = 1 << 20  # bytes of an array that is no operand
_PLAIN = (type(None), bool, int, complex, str, bytes, type(Ellipsis), type(NotImplemented))
_OF_CLASSES = (GetSetDescriptorType, MemberDescriptorType)
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


class Reach:
    """What a function reaches: words for all of it, and the numbers, by their paths.

    Raises Unknown.
    """

    def __init__(self, f: Any) -> None:
        self.words: list[Any] = []
        self.numbers: dict[Path, Any] = {}
        self._seen: dict[Any, int] = {}
        self._alive: list[Any] = []  # so that no two have the same id
        self._depth = 0
        if _has_rules_of_others(rules.version):
            raise Unknown
        self.value(f, (), ())

    def but_for(self, operands: Any) -> str:
        """A digest of the numbers that are not among these paths."""
        rest = {path: x for path, x in self.numbers.items() if path not in operands}
        return digest([(path, *_content(x)) for path, x in rest.items()])

    def note(self, *words: Any) -> None:
        self.words.append(words)
        if len(self.words) > _MOST:
            raise Unknown

    def value(self, x: Any, path: Path, names: Sequence[str]) -> None:
        """Note what is at a path, of which these names may be asked."""
        if type(x) in _PLAIN:
            self.note(type(x).__name__, repr(x))
        elif type(x) is float or isinstance(x, (np.ndarray, np.generic)):
            self._number(x, path)
        elif is_watched(x):
            raise Unknown
        elif (known := self._seen.get(key := (id(x), isinstance(x, ModuleType) and names))) is None:
            self._seen[key] = len(self._seen)
            self._alive.append(x)
            self._depth += 1
            if self._depth > _DEEPEST:
                raise Unknown
            self._object(x, path, names)
            self._depth -= 1
        else:
            self.note("again", known)

    def _number(self, x: Any, path: Path) -> None:
        try:
            self.note("number", repr(kind_of(x)))
        except Unkind:
            raise Unknown from None
        self.numbers[path] = x

    def _object(self, x: Any, path: Path, names: Sequence[str]) -> None:
        if type(x) in own_verbs:
            self.note("compiled")
            self.value(x.__wrapped__, (*path, ("attr", "__wrapped__")), ())
        elif isinstance(x, ModuleType):
            self._module(x, path, names)
        elif (name := _name_in_library(x)) is not None:
            self.note("library", name)
        elif isinstance(x, FunctionType):
            self._function(x, path)
        elif isinstance(x, type):
            self._class(x, path)
        elif isinstance(x, (tuple, list, dict, set, frozenset)):
            self._container(x, path)
        else:
            self._parts(x, path)

    def _attributes(self, x: Any, path: Path, *names: str) -> None:
        self.note(type(x).__name__, *names)
        for name in names:
            self.value(getattr(x, name), (*path, ("attr", name)), ())

    def _parts(self, x: Any, path: Path) -> None:
        """An object that Python or the user made."""
        if isinstance(x, MethodType):
            self._attributes(x, path, "__func__", "__self__")
        elif isinstance(x, BuiltinFunctionType) and isinstance(x.__self__, type):
            self.note("method", x.__name__)
            self.value(x.__self__, (*path, ("attr", "__self__")), ())
        elif type(x) is partial:
            self._attributes(x, path, "func", "args", "keywords")
        elif isinstance(x, (staticmethod, classmethod)):
            self._attributes(x, path, "__func__")
        elif type(x) is property:
            self._attributes(x, path, "fget", "fset", "fdel")
        elif type(x) is cached_property:
            self._attributes(x, path, "func")
        elif type(x) is slice:
            self._attributes(x, path, "start", "stop", "step")
        elif type(x) is Field:
            self.note(x.name, x.init, x.compare, repr(x.kw_only))
            self._attributes(x, path, "default", "default_factory")
        elif type(x) is range or isinstance(x, np.dtype):
            self.note(repr(x))
        elif isinstance(x, _OF_CLASSES):
            self.note(type(x).__name__, x.__name__)
        elif type(x) in _SENTINELS:
            self.note(type(x).__name__)
        elif type(x) is _OF_TUPLES:
            self.note(repr(x.__reduce__()[1]))
        elif isinstance(x, enum.Enum):
            self._attributes(x, path, "name", "value", "__class__")
        else:
            self._instance(x, path)

    def _instance(self, x: Any, path: Path) -> None:
        kind = type(x)
        is_plain = kind is SimpleNamespace or "__dataclass_fields__" in vars(kind)
        slots = [name for c in kind.__mro__ for name, part in [*vars(c).items()]
                 if isinstance(part, MemberDescriptorType)]  # fmt: skip
        if not (hasattr(x, "__dict__") or slots) or not (is_plain or _is_users_class(kind)):
            raise Unknown
        self.value(kind, (*path, ("attr", "__class__")), ())
        parts = {**{s: getattr(x, s) for s in slots if hasattr(x, s)}, **getattr(x, "__dict__", {})}
        for name, part in parts.items():
            self.note("has", name)
            self.value(part, (*path, ("attr", name)), ())

    def _container(self, x: Any, path: Path) -> None:
        self.note("container", len(x))
        self.value(type(x), (*path, ("attr", "__class__")), ())
        if isinstance(x, (set, frozenset)):
            if not all(type(part) in _PLAIN for part in x):
                raise Unknown
            self.note(*sorted(map(repr, x)))
            return
        if isinstance(x, dict):
            for key in [*x]:
                self.value(key, (*path, ("key", repr(key))), ())
        for key, part in [*x.items()] if isinstance(x, dict) else enumerate(x):
            self.value(part, (*path, ("item", key)), ())

    def _module(self, x: ModuleType, path: Path, names: Sequence[str]) -> None:
        """Those of the names that a module has."""
        self.note("module", x.__name__)
        late = x.__name__ == errors.__package__  # which has what it is asked for
        for name in names:
            if name in vars(x) or (late and name in dir(x)):
                self.note("has", name)
                self.value(getattr(x, name), (*path, ("attr", name)), names)

    def _class(self, x: type, path: Path) -> None:
        if type(x) not in (type, ABCMeta, enum.EnumMeta) or not _is_users_class(x):
            raise Unknown
        self.note("class", x.__module__, x.__qualname__)
        for k, base in enumerate(x.__bases__):
            self.value(base, (*path, ("attr", "__bases__"), ("item", k)), ())
        for name, part in [*vars(x).items()]:
            if name not in _UNREAD:
                self.note("has", name)
                self.value(part, (*path, ("attr", name)), ())

    def _function(self, f: FunctionType, path: Path) -> None:
        code = f.__code__
        if code_of_source(code) is not code or f in rules:
            raise Unknown
        self.note("function", is_users(code.co_filename), *words_of(code))
        names = tuple(sorted({name for c in _codes(code) for name in c.co_names}))
        for name in names:
            self._name(f, name, path, names)
        for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            if _is_empty(cell):
                raise Unknown
            self.value(cell.cell_contents, (*path, ("closure", name)), names)
        given = f.__defaults__ or ()
        first = code.co_argcount - len(given)
        defaults = {**dict(zip(code.co_varnames[first:], given, strict=False)),
                    **(f.__kwdefaults__ or {})}  # fmt: skip
        for kind, parts in (("default", defaults), ("attr", vars(f))):
            for name, part in parts.items():
                self.note(kind, name)
                self.value(part, (*path, (kind, name)), names)

    def _name(self, f: FunctionType, name: str, path: Path, names: Sequence[str]) -> None:
        """What a name is among the globals of a function; it may be that of an attribute."""
        if name in f.__globals__:
            self.note("global", name)
            self.value(f.__globals__[name], (*path, ("global", name)), names)
        elif name in vars(builtins):
            self.note("builtin", name)
            self.value(vars(builtins)[name], (*path, ("builtin", name)), ())


def _is_empty(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


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


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


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


def _is_users_class(x: type) -> bool:
    return not _is_library(x.__module__)


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
