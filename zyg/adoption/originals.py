"""What of NumPy, math and SciPy has a drop-in, and what stands for it in an adopted module.

A drop-in of a function is what zyg's module of the same name has in its place, where that is
another object; classes stay what they are, for isinstance asks for them, but those whose stand-in
answers as they do. For a module stands a *twin*: its names, with drop-ins where there are some,
under its own name, so that what asks a module for its name, its version or its file, or pickles by
name, is answered as ever.
"""

from __future__ import annotations

import functools
import pkgutil
import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from types import CodeType, ModuleType
from typing import Any

from zyg.adoption.wrapped import Instance, stand_in
from zyg.base.adoptable import code_of_source
from zyg.base.caches import remembered
from zyg.base.marks import plain_of

_ZYG = __name__.partition(".")[0]
_PLAIN = (str, int, float, complex, type(None))

_drop_ins: dict[int, tuple[Any, Any]] = {}  # id of an original: it, and what stands for it
_originals: dict[int, tuple[Any, Any]] = {}  # the other way round
_learning = threading.RLock()


def drop_in(value: Any) -> Any:
    """What stands for a value in an adopted module: itself, if it has no drop-in."""
    pair = _drop_ins.get(id(value))
    if pair is not None:
        return pair[1]
    made: Any = stand_in(value, original)
    if made is None:
        pair = _drop_ins.get(id(type(value)))
        if pair is None or not hasattr(pair[1], "of"):  # its objects take watched values already
            return value
        made = Instance(value, pair[1].of)
    _note(value, made)
    return made


def original(value: Any) -> Any:
    """What a drop-in stands for; any other value stands for itself."""
    if type(value) is CodeType:
        return code_of_source(value)
    pair = _originals.get(id(value))
    return value if pair is None else pair[1]


def learn() -> None:
    """Pair originals and drop-ins, of all modules that are loaded by now."""
    if all(id(module) in _drop_ins for module in _loaded()):
        return
    with _learning:
        for module in _loaded():
            _pair(module, import_module(f"{_ZYG}.{module.__name__}"), set())


def _loaded() -> list[ModuleType]:
    """The loaded ones among the modules that have a drop-in, inner ones first."""
    roots = [root for root in _roots() if root in sys.modules]
    names = [name for root in roots for name in (*_inner(root), root)]
    return [sys.modules[name] for name in names if name in sys.modules]


@functools.cache
def _roots() -> tuple[str, ...]:
    names = ("numpy", "math", "cmath", "statistics", "scipy")
    return tuple(name for name in names if find_spec(f"{_ZYG}.{name}"))


@remembered(8)
def _inner(root: str) -> tuple[str, ...]:
    """The names of the modules in `root` that have a drop-in."""
    path = getattr(import_module(f"{_ZYG}.{root}"), "__path__", ())
    names = [m.name for m in pkgutil.iter_modules(path)]
    return tuple(f"{root}.{name}" for name in names if not name.startswith("_"))


def _pair(module: ModuleType, ours: ModuleType, busy: set[int]) -> None:
    """Note what stands for a module and for what is in it; the module last, when all is there."""
    if id(module) in _drop_ins or id(module) in busy:
        return
    busy.add(id(module))
    names = {n: v for n, v in vars(module).items() if n[:1] != "_" and not isinstance(v, _PLAIN)}
    for name, value in names.items():
        other = getattr(ours, name, value)
        if isinstance(value, type) and not (isinstance(other, type) and plain_of(other) is value):
            continue
        if other is not value and isinstance(value, ModuleType):
            _pair(value, other, busy)
        elif other is not value:
            _note(value, other)

    def find(name: str) -> Any:
        value = getattr(module, name)
        if isinstance(value, ModuleType):  # loaded by this, perhaps
            learn()
        return drop_in(value)

    twin = ModuleType(module.__name__)
    vars(twin).update({name: drop_in(value) for name, value in list(vars(module).items())})
    vars(twin).update(__getattr__=find, __dir__=lambda: dir(module))
    _note(module, twin)


def _note(value: Any, stand_in: Any) -> None:
    _drop_ins.setdefault(id(value), (value, stand_in))
    _originals.setdefault(id(stand_in), (stand_in, value))
