"""Whether a call might keep a value of its own: in a list, an attribute, a variable outside.

It reads the code and looks at what that names. What it does not know may keep something.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    ModuleType,
)
from typing import Any

import numpy as np

from zyg.base.caches import remembered
from zyg.base.containers import ATOMS, is_leaf
from zyg.base.registry import rules
from zyg.core.strand import is_watched
from zyg.errors import is_users

_WRITES = {"STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME"}
_ANYTHING = {"__import__", "eval", "exec", "getattr", "globals", "locals", "setattr", "vars"}
_OPAQUE = {GeneratorType, CoroutineType, FrameType, bytearray}


def keeps_nothing(parts: Any) -> bool:
    """Whether no call of what is in `parts`, tuples of functions and their arguments, can."""
    waiting, seen = [parts], set()
    while waiting:
        x = waiting.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if type(x) in (tuple, list, dict):
            waiting.extend(x.values() if type(x) is dict else x)
        elif type(x) is FunctionType and is_users(x.__code__.co_filename):
            if vars(x) or _writes(x.__code__, x.__code__.co_freevars):
                return False
            for held in named_by(x):
                if type(held) in (list, dict):
                    return False
                waiting.append(held)
        elif not _is_inert(x):
            return False
    return True


def _is_inert(x: Any) -> bool:
    """Whether a thing has no place for a watched value, and calls nothing of the user's."""
    if type(x) is ModuleType:
        return not is_users(getattr(x, "__file__", None) or "")
    if type(x) is BuiltinFunctionType:
        return x.__self__ is None or type(x.__self__) is ModuleType
    if is_watched(x) or type(x) is FunctionType:
        return True
    if isinstance(x, type):
        return x.__module__.partition(".")[0] in ("builtins", "numpy")
    if type(x) in ATOMS:
        return type(x) not in _OPAQUE
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fciubSU"
    return type(x).__module__.partition(".")[0] == "numpy" or is_leaf(x)


def named_by(f: FunctionType) -> Iterator[Any]:
    """What a function holds, and what it names of its globals."""
    for cell in f.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not yet assigned
            continue
    yield from f.__defaults__ or ()
    yield from (f.__kwdefaults__ or {}).values()
    for name in names_of(f.__code__):
        if name in f.__globals__:
            yield f.__globals__[name]


@remembered(4096)
def names_of(code: CodeType) -> tuple[str, ...]:
    """The names of globals and attributes in a function, and in those inside of it."""
    inner = [name for c in code.co_consts if isinstance(c, CodeType) for name in names_of(c)]
    return tuple(dict.fromkeys([*code.co_names, *inner]))


@remembered(4096)
def globals_of(code: CodeType) -> tuple[str, ...]:
    """The names of the globals that a function of the user's reads, and those inside of it."""
    if not is_users(code.co_filename):
        return ()
    own = (s.argval for s in dis.get_instructions(code) if s.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    inner = (name for c in code.co_consts if isinstance(c, CodeType) for name in globals_of(c))
    return tuple(dict.fromkeys([*own, *inner]))


def as_now(f: Any, made: dict[int, Any] | None = None) -> Any:
    """A function, and those that it holds, with the variables around it as they are now, whatever
    they become; but not with those that it assigns itself."""
    made = {} if made is None else made
    if type(f) is functools.partial:
        return functools.partial(as_now(f.func, made), *f.args, **f.keywords)
    if type(f) is not FunctionType or not f.__closure__ or rules.get(f) is not None:
        return f
    if id(f) not in made:
        own, names = f.__closure__, f.__code__.co_freevars
        cells = [c if name in _assigned(f.__code__) or c == CellType() else CellType()
                 for name, c in zip(names, own, strict=True)]  # fmt: skip
        copy = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells))
        made[id(f)], copy.__kwdefaults__ = copy, f.__kwdefaults__
        vars(copy).update(vars(f))
        for cell, was in zip(cells, own, strict=True):
            if cell is not was:
                cell.cell_contents = as_now(was.cell_contents, made)
    return made[id(f)]


@remembered(4096)
def _assigned(code: CodeType) -> frozenset[str]:
    """The variables that a function assigns, or those inside of it, and may share with others."""
    steps = dis.get_instructions(code)
    inner = [_assigned(c) for c in code.co_consts if isinstance(c, CodeType)]
    return frozenset(s.argval for s in steps if s.opname in _CELLS).union(*inner)


_CELLS = {"STORE_DEREF", "DELETE_DEREF"}


@remembered(4096)
def _writes(code: CodeType, outside: tuple[str, ...]) -> bool:
    """Whether the code writes to more than its own variables and to containers that it holds."""
    if not _ANYTHING.isdisjoint(code.co_names):
        return True
    for step in dis.get_instructions(code):
        if step.opname in _WRITES or (step.opname == "STORE_DEREF" and step.argval in outside):
            return True
    return any(_writes(c, outside) for c in code.co_consts if isinstance(c, CodeType))
