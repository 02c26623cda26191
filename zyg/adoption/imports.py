"""What is imported while modules are adopted: by them, and of them.

Three things are stood before while anything is adopted: the import statement, of which adopted
modules get drop-ins while a gradient runs; the import of a module, after which it is adopted if it
is asked for; and numba's reading of a function, which gets the originals, for it knows them by
their identity.
"""

from __future__ import annotations

import builtins
import functools
import sys
import threading
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import LazyLoader
from types import CellType, FunctionType, ModuleType
from typing import Any

from zyg.adoption import spaces
from zyg.adoption.originals import drop_in, learn, original
from zyg.base.adoptable import is_adopted, turns


def listen(on: bool) -> None:
    """Stand before imports, or no longer."""
    if on:
        if spaces.turn not in turns:
            turns.append(spaces.turn)
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)
        if not hasattr(builtins.__import__, "before"):
            builtins.__import__ = _importing(builtins.__import__)
    else:
        _leave(builtins, "__import__")
        if _FINDER in sys.meta_path:
            sys.meta_path.remove(_FINDER)
        if spaces.turn in turns:
            turns.remove(spaces.turn)
    numba_reads_originals(on)


def _leave(owner: Any, name: str) -> None:
    """Put back what we stand before, if nobody stands before us."""
    before = getattr(getattr(owner, name), "before", None)
    if before is not None:
        setattr(owner, name, before)


def _importing(before: Callable[..., Any]) -> Callable[..., Any]:
    def importing(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        module = before(name, globals, locals, fromlist, level)
        if globals is None or not is_adopted(globals):
            return module
        learn()
        numba_reads_originals(True)
        stand_in = drop_in(module)
        return stand_in if stand_in is not module and spaces.imports_original(globals) else module

    importing.before = before  # type: ignore[attr-defined]
    return importing


class _Here(threading.local):
    """What this thread is importing."""

    def __init__(self) -> None:
        self.looking: set[str] = set()
        self.loading: list[ModuleType] = []
        self.depth = 0


class _Finder:
    """Finds modules as the others do, and adopts them when they have been run.

    All that a package imports of itself meanwhile is adopted with it, at the end: its import is as
    it always was.
    """

    def __init__(self) -> None:
        self._here = _Here()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        here = self._here
        if name in here.looking:  # another finder that asks all the others
            return None
        here.looking.add(name)
        try:
            others = [f for f in sys.meta_path if f is not self and hasattr(f, "find_spec")]
            specs = (finder.find_spec(name, path, target) for finder in others)
            spec = next((spec for spec in specs if spec is not None), None)
        finally:
            here.looking.discard(name)
        if spec is not None and spaces.is_covered(name, spec.origin or ""):
            self._adopt_after(spec.loader)
        return spec

    def _adopt_after(self, loader: Any) -> None:
        loader = getattr(loader, "loader", loader) if isinstance(loader, LazyLoader) else loader
        if not hasattr(loader, "__dict__"):  # of a namespace, or built in: nothing to adopt
            return

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module  # this one, which stood before that of the class
            here = self._here
            here.depth += 1
            try:
                loader.exec_module(module)
                here.loading.append(module)
            finally:
                here.depth -= 1
                if not here.depth:
                    loaded, here.loading = here.loading, []
                    _adopt(loaded)

        loader.exec_module = exec_module


def _adopt(modules: list[ModuleType]) -> None:
    learn()
    with spaces.lock:
        spaces.adopt_loaded(modules)
    numba_reads_originals(True)


_FINDER = _Finder()


def numba_reads_originals(on: bool) -> None:
    """Have numba read functions of adopted modules with the originals in place of drop-ins."""
    bytecode: Any = sys.modules.get("numba.core.bytecode")
    reader = getattr(bytecode, "FunctionIdentity", None)
    if reader is None:
        return
    before = reader.from_function.__func__
    if on and not hasattr(before, "before"):

        def from_function(cls: Any, f: Any) -> Any:
            return before(cls, _with_originals(bytecode.get_function_object(f)))

        from_function.before = classmethod(before)  # type: ignore[attr-defined]
        reader.from_function = classmethod(from_function)
    elif not on:
        _leave(reader, "from_function")


def _with_originals(f: Any) -> Any:
    """A function of an adopted module, as it would be if that were not adopted."""
    if type(f) is not FunctionType or not is_adopted(f.__globals__):
        return f
    names = {name: original(value) for name, value in f.__globals__.items()}
    cells = tuple(CellType(original(cell.cell_contents)) for cell in f.__closure__ or ())
    values = tuple(map(original, f.__defaults__ or ())) or None
    same = FunctionType(original(f.__code__), names, f.__name__, values, cells)
    same.__kwdefaults__ = f.__kwdefaults__ and {k: original(v) for k, v in f.__kwdefaults__.items()}
    functools.update_wrapper(same, f)
    del same.__wrapped__  # type: ignore[attr-defined]
    vars(same).update(vars(f))
    return same
