"""What the drop-in modules share: SciPy's functions, which go by their rules on watched values."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from zyg.functions.kit import Adjoint, bind, dropins, rules


def rule_for(key: Callable[..., Any], linear: tuple[int, ...] = ()) -> Callable[..., Adjoint]:
    """`adjoint` for a function of SciPy's written in Python, which dispatches on nothing.

    What it makes of the rule is the function for watched values, for use in the rule as well.
    """

    def register(rule: Callable[..., Any]) -> Adjoint:
        rules[key] = made = Adjoint(key, rule, linear)
        return made

    return register


def called_as(key: Callable[..., Any], rule: Callable[..., Any]) -> Callable[..., Any]:
    """`rule`, whose parameters are those of the function `key`, by their places."""

    def by_places(*args: Any, **kwargs: Any) -> Any:
        return rule(*args, **kwargs)

    by_places.__signature__ = inspect.signature(key)  # type: ignore[attr-defined]
    return by_places


def dispatching(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` itself on plain values; on watched ones its rule, or the error that it has none."""

    def by_rule(*args: Any, **kwargs: Any) -> Any:
        return bind(f, args, kwargs)

    return dropins.if_watched(f, by_rule)


def drop_in(module: ModuleType, names: dict[str, Any]) -> Any:
    """The ``__getattr__`` and the ``__dir__`` of a drop-in module: SciPy's names.

    Ufuncs, classes and constants are SciPy's own, and so is a function where no gradient runs.
    """
    return dropins.names_of(module, names, _replaced)


# The classes of functions; those of scipy.fft may be answered by a backend.
_FUNCTIONS = ("function", "_Function")


def _replaced(name: str, value: Any) -> Any:
    if type(value).__name__ not in _FUNCTIONS or name.startswith("_"):
        return value
    return dropins.drop_in(value, dispatching(value))
