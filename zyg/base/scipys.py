"""What to call instead of a function or class of SciPy's that was given a watched value."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import ismethod
from itertools import takewhile
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from zyg.base.registry import rules
from zyg.errors import is_users

NO_RULE = "zyg has no rule for "


def is_scipys(frame: FrameType) -> bool:
    """Whether a frame is of SciPy's code."""
    return str(frame.f_globals.get("__name__", "")).startswith("scipy.")


def scipys_among(frames: list[FrameType]) -> list[FrameType]:
    """The frames of SciPy's, of those that an exception came through, that the user called."""
    while frames and not is_users(frames[-1].f_code.co_filename):  # NumPy's, which SciPy called
        frames = frames[:-1]
    return [*takewhile(is_scipys, reversed(frames))]


def instead_of_scipy(frames: list[FrameType]) -> str:
    """What to call instead of what was called from outside, by these frames, the inner ones first.

    Compiled code has frames without callers.
    """
    called = next(filter(None, map(_called, reversed(frames))), None)
    return instead_of(*called) if called else f"{NO_RULE}this function of SciPy's: {_FOREIGN}"


_FOREIGN = 'wrap a function that calls it: zyg.foreign(f, jacobian=), or method="difference"'


def instead_of(name: str, method: str = "") -> str:
    """What to call instead of something of SciPy's, by its dotted name; of a method of it."""
    module, _, last = name.rpartition(".")
    found = getattr(sys.modules[module], last)
    try:
        if _has_rule(found, module, last, method):
            return f"use zyg.{name} instead of {name}"
    except ImportError as error:  # SciPy is too old
        return f"{NO_RULE}{name} here: {str(error).removesuffix('.')}"
    full = f"{name}.{method}" if method and not isinstance(found, type) else name
    if full == name and not inspect.isroutine(found):
        return f"{NO_RULE}{name}: {_FOREIGN}"
    return (
        f"{NO_RULE}{full}, and here is how to write one: {method or last} = zyg.adjoint(lambda x: "
        f"({full}(x), lambda y_bar: (...,))), with one cotangent for each argument; or have "
        f'it estimated: zyg.foreign({full}, method="difference")'
    )


def _has_rule(found: Any, module: str, name: str, method: str) -> bool:
    try:
        drop_in = import_module(f"zyg.{module}")
    except ModuleNotFoundError:
        return False
    own = getattr(getattr(drop_in, name, None), method or name, None)
    return answers(found, drop_in, name) and not (ismethod(own) and own.__self__ is found)


def answers(theirs: Any, drop_in: ModuleType, name: str) -> bool:
    """Whether what a drop-in module has in the place of something of SciPy's takes watched values.

    Each function has something in its place, which may know no more than that it has no rule.
    """
    if theirs in rules or name in getattr(drop_in, "FUNCTIONS", ()):
        return True
    ours = getattr(drop_in, name, theirs)
    homes = type(ours).__module__, str(getattr(ours, "__module__", ""))
    return ours is not theirs and any(home.startswith("zyg.scipy") for home in homes)


def public_name(x: Any, home: str) -> str:
    """Where users find an object of a module of SciPy's: the shortest dotted name; "" if none."""
    for module in _public_modules(home):
        for name, value in list(vars(module).items()):
            if not name.startswith("_") and (value is x or _code(value) is x):
                return f"{module.__name__}.{name}"
    return ""


def _called(frame: FrameType) -> tuple[str, str] | None:
    """The name of the function that a frame runs; or of the object or class, and its method's."""
    home, code = frame.f_globals["__name__"], frame.f_code
    owner = frame.f_locals.get("self", frame.f_locals.get("cls"))
    if owner is None:
        within = code.co_qualname.partition(".")[0]  # of a static method
        owner = next((vars(m)[within] for m in _public_modules(home) if within in vars(m)), None)
        found = public_name(code, home) or _wrapped(frame)
        if found or not isinstance(owner, type):
            return (found, "") if found else None
    if "frozen" in type(owner).__name__:  # a distribution, with its parameters
        owner = getattr(owner, "dist", getattr(owner, "_dist", owner))
    cls = owner if isinstance(owner, type) else type(owner)
    named = (public_name(one, home) for one in cls.__mro__)
    found = public_name(owner, home) or _like(cls, home) or next(filter(None, named), "")
    return (found, _method(cls, code)) if found else None


def _wrapped(frame: FrameType) -> str:
    """The name of the function that a frame is around, if it is that of a decorator's."""
    held = (v for v in list(frame.f_locals.values()) if isinstance(v, FunctionType))
    return next(filter(None, (public_name(v.__code__, v.__module__) for v in held)), "")


def _like(cls: type, home: str) -> str:
    """The name of an object of a class: of a distribution, whose class has none."""
    named = (vars(module).items() for module in _public_modules(home))
    return next((public_name(v, home) for items in named for _, v in items if type(v) is cls), "")


def _method(cls: type, code: CodeType) -> str:
    """The name of the method that has a code, if it is one."""
    if hasattr(cls, code.co_name):
        return code.co_name
    return next(
        (n for n in dir(cls) if getattr(getattr(cls, n, None), "__code__", None) is code), ""
    )


def _code(x: Any) -> Any:
    return getattr(inspect.unwrap(x), "__code__", None) if inspect.isfunction(x) else None


def _public_modules(home: str) -> Iterator[ModuleType]:
    """The loaded modules of a package of SciPy's that users import, by their names' length."""
    package = ".".join(home.split(".")[:2])
    names = [n for n in sys.modules if f"{n}.".startswith(f"{package}.") and "._" not in n]
    return (sys.modules[name] for name in sorted(names, key=len))
