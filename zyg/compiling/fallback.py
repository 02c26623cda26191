"""A function that is not compiled: it runs in Python, and its derivatives are those of the tracer.

While it runs with watched arguments, `math`, NumPy and SciPy are their drop-ins for it and for the
helpers that it calls, as they are in adopted modules. It is the function itself that runs, with its
own globals and cells: what it does besides computing its value, it does once.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CellType, FunctionType, MethodType
from typing import Any

from zyg.base.adoptable import is_adopted
from zyg.base.caches import Cache
from zyg.base.config import setting
from zyg.base.warned import warn_once
from zyg.compiler.back.object_layout import Unreadable
from zyg.compiling.fingerprint import names_in
from zyg.compiling.operations import Made, Unbuilt, building
from zyg.errors import CompileError, KernelError, is_users

_TRACED = (
    "runs in Python, and its derivatives are traced: loops over elements are about 100 times "
    "slower, statements of arrays take NumPy's time"
)


def refuse(name: str, error: KernelError, instead: str = _TRACED) -> None:
    """Say once for each place that a function is not compiled, and what it does `instead`;
    CompileError where one asked.
    """
    how = setting("fallback")
    if how == "error":
        raise compile_error(error) from None
    if how == "warn":
        key = error.source_line or str(error).partition(" [")[0], instead
        warn_once(key, lambda: _told(name, str(error), error.source_line, instead))


def _told(name: str, text: str, line: str, instead: str) -> str:
    what, fix = text.partition(" [")[0], text.rpartition("\n  fix:   ")[2]
    place = re.sub(r"(:|line )(\d+): (.+)$", r"\1\2: `\3`: ", line)
    return f"zyg.compile: {place}{what} {name} {instead}. {fix[:1].upper()}{fix[1:]}"


def faster(name: str, make: Callable[[], Made]) -> Made | None:
    """What `make` gives, for which there is a slower way; None where it must be gone: it says what
    is wrong, or does it. That it is by a mistake of zyg's is said here.
    """
    try:
        with building(name):
            return make()
    except Unbuilt as error:
        refuse(name, error, "runs as machine code in a slower way")
    except (KernelError, NotImplementedError, Unreadable):
        pass
    return None


def compile_error(error: KernelError) -> CompileError:
    """The same refusal, of a function given to `compile`."""
    made = CompileError.__new__(CompileError)
    made.args = (str(error).replace(f"[{error.tag}]", f"[{made.tag}]", 1),)
    made.source_line, made.effect = error.source_line, error.effect
    return made


class _Stage:
    """A namespace in which drop-ins are while some function runs."""

    def __init__(self, names: dict[str, Any]) -> None:
        from zyg.adoption.spaces import Space

        self.space = Space(names)
        self.space.growing = True
        self.running: dict[object, None] = {}


_stages: Cache[int, _Stage] = Cache(256)  # by the id of a namespace, which its stage keeps alive
_lock = threading.RLock()


@contextmanager
def with_drop_ins(f: Callable[..., Any]) -> Iterator[None]:
    """While it lasts, `f` and its helpers have drop-ins in the place of math, NumPy and SciPy."""
    from zyg.adoption.originals import learn  # which much comes with

    learn()
    me = object()
    with _lock:
        stages = [_stages.get(id(names)) or _stages.put(id(names), _Stage(names))
                  for names in _namespaces(f)]  # fmt: skip
    try:
        with _lock:
            for stage in stages:
                stage.running[me] = None
                if not stage.space.on:
                    stage.space.turn(True)
        yield
    finally:
        try:
            _leave(stages, me)
        finally:
            _leave(stages, me)


def _leave(stages: list[_Stage], me: object) -> None:
    with _lock:
        for stage in reversed(stages):
            stage.running.pop(me, None)
            if stage.space.on and not stage.running:
                stage.space.turn(False)


def _namespaces(f: Callable[..., Any]) -> list[dict[str, Any]]:
    """The namespaces of a function and of the helpers that it can reach, but for adopted ones."""
    found: dict[int, dict[str, Any]] = {}
    seen: set[int] = set()
    waiting: list[Any] = [f]
    while waiting:
        g = waiting.pop()
        if id(g) in seen:
            continue
        seen.add(id(g))
        if isinstance(g, MethodType):
            waiting += [g.__func__, *vars(type(g.__self__)).values()]
        elif isinstance(g, functools.partial):
            waiting.append(g.func)
        elif isinstance(g, FunctionType):
            if is_users(g.__code__.co_filename):
                found[id(g.__globals__)] = g.__globals__
                waiting += _reached(g)
        elif not isinstance(g, type) and isinstance(inner := _wrapped(g), FunctionType):
            waiting.append(inner)
    return [names for names in found.values() if not is_adopted(names)]


def _wrapped(g: Any) -> Any:
    return getattr(g, "__wrapped__", None) or getattr(type(g), "__call__", None)  # noqa: B004


def _reached(g: FunctionType) -> list[Any]:
    """What a function names of its surroundings."""
    cells = [c.cell_contents for c in g.__closure__ or () if c != _EMPTY]
    return [g.__globals__.get(name) for name in names_in(g.__code__)] + cells


_EMPTY = CellType()
