"""What the drop-in modules share: SciPy's functions, which go by their rules on watched values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from zyg.rules.kit import Adjoint, bind, rules, watched_leaves


def rule_for(key: Callable[..., Any], linear: tuple[int, ...] = ()) -> Callable[..., Adjoint]:
    """`adjoint` for a function of SciPy's written in Python, which dispatches on nothing.

    What it makes of the rule is the function for watched values, for use in the rule as well.
    """

    def register(rule: Callable[..., Any]) -> Adjoint:
        rules[key] = made = Adjoint(key, rule, linear)
        return made

    return register


def dispatching(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` itself on plain values; on watched ones its rule, or the error that it has none."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        return bind(f, args, kwargs) if watched_leaves((args, kwargs)) else f(*args, **kwargs)

    return call


def drop_in(module: ModuleType, names: dict[str, Any]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a drop-in module: SciPy's names, found at their first use.

    Ufuncs, classes and constants are SciPy's own; functions dispatch on what they are given.
    """

    def find(name: str) -> Any:
        value = getattr(module, name)
        if isinstance(value, FunctionType) and not name.startswith("_"):
            names[name] = value = dispatching(value)
        return value

    return find
