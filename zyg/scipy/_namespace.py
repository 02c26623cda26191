"""What the drop-in modules share: SciPy's functions, which go by their rules on watched values."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from zyg.errors import MissingRuleError
from zyg.functions.kit import Adjoint, bind, dropins, remembered, rules
from zyg.scipy._without_rules import declare, reason_of


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

    by_places.__name__ = key.__name__
    by_places.__signature__ = _signature_of(key)  # type: ignore[attr-defined]
    return by_places


def _signature_of(f: Callable[..., Any]) -> inspect.Signature:
    if not isinstance(f, np.ufunc):
        return inspect.signature(f)
    operand = inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY)
    return inspect.Signature([operand.replace(name=f"x{k}") for k in range(f.nin)])


def dispatching(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` itself on plain values; on watched ones its rule, or the error that it has none."""

    def by_rule(*args: Any, **kwargs: Any) -> Any:
        return bind(f, *_seeded(f, args, kwargs))

    return dropins.if_watched(f, by_rule)


@remembered(4096)
def _of_seed(f: Callable[..., Any]) -> tuple[list[str], str]:
    """The parameters of a function whose `rng` means less by its place; its old name there."""
    found = inspect.signature(f).parameters if isinstance(f, FunctionType) else {}
    old = [name for name in ("seed", "random_state") if "rng" in found and name in found]
    return [*found], "".join(old)


def _seeded(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call, in which `rng` is a generator, and what came in its place has its old name."""
    names, old = _of_seed(f)
    if not old:
        return args, kwargs
    place = names.index("rng")
    if "rng" in kwargs:
        kwargs["rng"] = np.random.default_rng(kwargs["rng"])
    named = zip([old, *names[place + 1 :]], args[place:], strict=False)
    return args[:place], dict(named) | kwargs


def _refused(f: Callable[..., Any], name: str, why: str) -> Callable[..., Any]:
    """`f` itself on plain values; on watched ones the error that says why not."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        if f in rules:  # somebody's own
            return bind(f, args, kwargs)
        raise MissingRuleError(
            f"{name} cannot be differentiated.",
            f"{why}.",
            f"pass plain values, zyg.stop_gradient(x), or write a rule: zyg.adjoint({name}).",
        )

    return dropins.if_watched(f, refuse)


def drop_in(module: ModuleType, names: dict[str, Any]) -> Any:
    """The ``__getattr__`` and the ``__dir__`` of a drop-in module: SciPy's names.

    Ufuncs, classes and constants are SciPy's own, and so is a function where no gradient runs.
    """
    declare(module)
    return dropins.names_of(module, names, functools.partial(_replaced, module.__name__))


class InPlaceOfSciPys(type):
    """Of a class that stands for one of SciPy's, `scipys`, whose instances count as its own."""

    scipys: Any

    def __instancecheck__(cls, x: Any) -> bool:
        return ("scipys" in vars(cls) and isinstance(x, cls.scipys)) or super().__instancecheck__(x)

    def __subclasscheck__(cls, other: type) -> bool:
        stands = "scipys" in vars(cls) and issubclass(other, cls.scipys)
        return stands or super().__subclasscheck__(other)

    def of(cls, x: Any) -> Any:
        """An instance of SciPy's class as one of this, which takes watched values."""
        made = apart(x)
        made.__class__ = cls
        return made


def apart(x: Any) -> Any:
    """A copy of an object, and of the one that computes for it, if SciPy has it so."""
    made = copy.copy(x)
    if hasattr(x, "_delegate_to"):
        made._delegate_to = copy.copy(x._delegate_to)
    return made


# The classes of functions: those of scipy.fft may be answered by a backend, some are compiled.
_FUNCTIONS = (
    "function", "_Function", "MultiUFunc", "cython_function_or_method",
    "builtin_function_or_method",
)  # fmt: skip


def _replaced(module: str, name: str, value: Any) -> Any:
    if type(value).__name__ not in _FUNCTIONS or name.startswith("_"):
        return value
    why = reason_of(module, name)
    inside = _refused(value, f"{module}.{name}", why) if why else dispatching(value)
    return dropins.drop_in(value, inside)


_OURS = "zyg."


class Finder:
    """Finds what is imported as a module of `zyg.scipy` and has no file there.

    It is the drop-in that its parent has by that name, or else SciPy's module itself.
    """

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        parent, theirs = name.rpartition(".")[0], name.removeprefix(_OURS)
        if theirs == name or not theirs.startswith("scipy.") or find_spec(theirs) is None:
            return None
        if parent == f"{_OURS}scipy" and PathFinder.find_spec(name, path):
            return None
        return ModuleSpec(name, self)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """None: a new one, which nobody will see."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        parent, _, last = name.rpartition(".")
        theirs = import_module(name.removeprefix(_OURS))
        ours = getattr(sys.modules[parent], last, None)
        sys.modules[name] = ours if isinstance(ours, ModuleType) else theirs
