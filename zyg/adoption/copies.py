"""Functions of modules that may not be adopted, as they would run there: SciPy's, in Python.

A copy of a function has names of its own, in which NumPy, math and SciPy are zyg's, and what SciPy
wrote in Python is a copy again: what its code names, its defaults and its closure. The function and
its module stay as they are.
"""

from __future__ import annotations

import builtins
import functools
import operator
import threading
from abc import ABCMeta
from collections.abc import Iterator
from contextlib import contextmanager
from types import (
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any

from zyg.adoption.originals import drop_in, learn
from zyg.adoption.rewriting import rewritten, source_of
from zyg.base.caches import remembered
from zyg.base.registry import rules

_MEMOISED = type(functools.lru_cache(print))
_Space = tuple[dict[str, Any], dict[CodeType, CodeType]]
_HOLDING = (tuple, list, dict, BaseException)
_OF_INSTANCES = GetSetDescriptorType, MemberDescriptorType
_PLAIN = (str, int, float, complex, type(None), CodeType)


class Copies:
    """The copies of what is in a package, each made when it is first asked for."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._made: dict[int, tuple[Any, Any]] = {}  # id of an original: it, and its copy
        self._spaces: dict[str, _Space] = {}  # by the names of modules
        self._kinds: dict[Any, Any] = {}
        self._lock, self._busy = threading.RLock(), False

    def of(self, value: Any) -> Any:
        """The copy of a value: itself, where nothing in it is otherwise."""
        if isinstance(value, _PLAIN):
            return value
        with self._lock:
            if id(value) not in self._made:
                with self.whole():
                    self._keep(value, self._copy(value))
            return self._made[id(value)][1]

    @contextmanager
    def whole(self) -> Iterator[None]:
        """What is made here is made whole: else, as after an interrupt, nothing of it is kept."""
        with self._lock:
            if self._busy:
                yield
                return
            made, names = {**self._made}, {name: {*own} for name, (own, _) in self._spaces.items()}
            self._busy = True
            try:
                yield
            except BaseException:
                self._made = made
                self._spaces = {name: self._spaces[name] for name in names}
                for name, (own, _) in self._spaces.items():
                    for added in {*own} - names[name]:
                        del own[added]  # the others are in use, by other threads, too
                raise
            finally:
                self._busy = False

    def _keep(self, value: Any, made: Any) -> Any:
        self._made[id(value)] = value, made
        return made

    def _copy(self, value: Any) -> Any:
        kind: Any = type(value)
        if kind is _MEMOISED:
            return self.of(value.__wrapped__)
        if kind is FunctionType and self._is_inside(value.__module__) and _runs(value):
            return self.function(value)
        if (found := drop_in(value)) is not value:
            return found
        if kind is ModuleType and self._is_inside(value.__name__):
            return _Module(value, self)
        if isinstance(value, type) and self._is_inside(value.__module__):
            return self._class(value)
        if kind in (staticmethod, classmethod):
            return kind(self.of(value.__func__))
        if kind is property:
            return property(*map(self.of, (value.fget, value.fset, value.fdel)))
        if kind is functools.partial:
            args = map(self.of, value.args)
            return functools.partial(self.of(value.func), *args, **value.keywords)
        if kind in (tuple, list, frozenset):
            parts = [*map(self.of, value)]
            return value if all(map(operator.is_, value, parts)) else kind(parts)
        if kind is dict:
            entries = {name: self.of(part) for name, part in value.items()}
            return value if all(entries[name] is value[name] for name in value) else entries
        if self._is_inside(kind.__module__) and hasattr(kind, "__setstate__"):
            return self.instance(value)
        return value

    def _is_inside(self, name: Any) -> bool:
        return str(name).partition(".")[0] == self._package

    def function(self, f: FunctionType) -> Any:
        """The copy of a function; where its code names one with a rule, the drop-in stands."""
        names, codes = self._space(f.__globals__)
        cells = tuple(CellType() for _ in f.__closure__ or ())
        code = codes.get(f.__code__, f.__code__)
        made = FunctionType(code, names, f.__name__, None, cells)
        if _runs(f):
            self._keep(f, made)
        functools.update_wrapper(made, f, updated=())
        made.__defaults__, made.__kwdefaults__ = map(self.of, (f.__defaults__, f.__kwdefaults__))
        for name in _named(f.__code__):
            if name in f.__globals__ and name not in names:
                names[name] = f.__globals__[name]  # while it is copied it may be asked for
                names[name] = self.of(f.__globals__[name])
        for cell, own in zip(cells, f.__closure__ or (), strict=True):
            cell.cell_contents = self.of(own.cell_contents)
        return made

    def _class(self, cls: Any) -> Any:
        """A class like this, of which its instances are, too; what holds values stays as it is."""
        if type(cls) not in (type, ABCMeta) or issubclass(cls, _HOLDING):
            return cls
        bases = tuple(map(self.of, cls.__bases__))
        if id(cls) in self._made:  # a method of a base names it
            return self._made[id(cls)][1]
        body = {n: v for n, v in vars(cls).items() if type(v) not in _OF_INSTANCES}
        functions = (FunctionType, staticmethod, classmethod, property)
        if bases == cls.__bases__ and not any(isinstance(v, functions) for v in body.values()):
            return cls
        made = self._keep(cls, self._kind_of(type(cls))(cls.__name__, bases, body))
        made.original = cls
        for name, value in body.items():
            if isinstance(value, functions):
                setattr(made, name, self.of(value))
        return made

    def _kind_of(self, kind: Any) -> Any:
        """The class of copies of classes: instances of the original are theirs, too."""
        if kind not in self._kinds:

            def is_instance(cls: Any, x: Any) -> bool:
                return kind.__instancecheck__(cls, x) or isinstance(x, cls.original)

            bases = (kind, *map(self._kind_of, kind.__bases__ if kind is not type else ()))
            self._kinds[kind] = type(kind.__name__, bases, {"__instancecheck__": is_instance})
        return self._kinds[kind]

    def instance(self, x: Any) -> Any:
        """A copy of an object, of the copied class."""
        make, (_, *args), state, *_ = x.__reduce_ex__(2)
        made = make(self.of(type(x)), *args)
        set_state = getattr(made, "__setstate__", vars(made).update)
        set_state(state)
        return made

    def _space(self, names: dict[str, Any]) -> _Space:
        """The names of a module that copies see, and what runs instead of codes."""
        name = names["__name__"]
        if name not in self._spaces:
            own = {name: value for name, value in names.items() if name[:2] == "__"}
            own["__builtins__"] = {**vars(builtins), "__import__": self._import}
            self._spaces[name] = own, rewritten(source_of(names), str(names.get("__file__")))
        return self._spaces[name]

    def _import(self, *args: Any, **kwargs: Any) -> Any:
        module = __import__(*args, **kwargs)
        learn()
        return self.of(module)


class _Module(ModuleType):
    """A module of the package, whose names are copies."""

    def __init__(self, module: ModuleType, copies: Copies) -> None:
        super().__init__(module.__name__)
        self.__dict__["_find"] = lambda name: copies.of(getattr(module, name))

    def __getattr__(self, name: str) -> Any:
        return self.__dict__["_find"](name)


def _runs(f: FunctionType) -> bool:
    """Whether there is nothing to a function but its code: no rule, or one that runs the copy."""
    rule = rules.get(f)
    return rule is None or getattr(getattr(rule, "function", None), "is_copy", False)


def _named(code: CodeType) -> Iterator[str]:
    """The names in a code, and in those of the functions inside it."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _named(part)


_SCIPY = Copies("scipy")


@remembered(1000)
def copied(x: Any) -> Any:
    """The copy of a function, or of an object, of SciPy's, whether or not it has a drop-in."""
    learn()
    with _SCIPY.whole():
        return _SCIPY.function(x) if isinstance(x, FunctionType) else _SCIPY.instance(x)
