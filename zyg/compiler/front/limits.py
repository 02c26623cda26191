"""How functions of NumPy's are read; which are not, although others of their name are."""

from __future__ import annotations

from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from zyg.base.marks import is_for_any_number, is_formula, plain_of
from zyg.base.registry import Composed, ScalarRule, rules
from zyg.base.words import lowerings
from zyg.compiler.front.calls import Method
from zyg.compiler.front.complexes import ComplexNumber
from zyg.compiler.front.conversions import kind_of_elements
from zyg.compiler.front.dispatch import name_of, rule_for
from zyg.compiler.front.mixed import NarrowNumber
from zyg.compiler.front.views import Arrayed
from zyg.compiler.ir import is_number
from zyg.compiler.kinds import NARROW
from zyg.compiler.numbers import Number
from zyg.errors import KernelError
from zyg.functions.operations import LDEXP, OPERATIONS, ROUNDING, names

_NOT_OF: dict[str, set[str]] = {
    "complex numbers": {"correlate", "searchsorted", "var", "std"},
    "float32": {"float_power", "linspace"},
    "ints": {"reciprocal", "rint"},
    "bools": {
        "reciprocal", "polyval", "quantile", "percentile", *names(ROUNDING, LDEXP),
        *(row.name for row in OPERATIONS.values() if row.bools == "bytes"),
    },
    "lists": {
        "clip", "conjugate", "conj", "flip", "logical_not", "ndim", "shape", "var", "std",
    },
    "single numbers of float32": {"sum", "prod", "mean", "var", "std", "dot", "clip"},
}  # fmt: skip
_WORDS = {"complex": "complex numbers", "float32": "float32", "int": "ints", "bool": "bools"}


def written_of(f: Any) -> Any:
    """How a function of NumPy's, or a method, is written in loops, if it is."""
    try:
        if not isinstance(f, Method):
            return lowerings.get(plain_of(f))
    except TypeError:  # not hashable
        return None
    if (method := lowerings.get(getattr(np.ndarray, f.name, None))) is not None:
        return method
    function = getattr(np, f.name) if f.name in _AS_FUNCTIONS else None
    return lowerings.get(function) or composed_text(function)


# Methods that are functions of NumPy's.
_AS_FUNCTIONS = {
    "argsort", "choose", "compress", "cumprod", "cumsum", "ptp", "repeat", "searchsorted", "take",
    "trace",
}  # fmt: skip


def given_of(args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments without what stands for one that is not given."""
    last = max((k for k, x in enumerate(args, 1) if x is not np._NoValue), default=0)
    return args[:last], {
        k: x for k, x in kwargs.items()
        if x is not np._NoValue and not (k == "like" and x is None)
    }  # fmt: skip


def composed_text(f: Any) -> Any:
    """How the library of functions writes `f` in others; operators are what they are to Python.

    None where it is written for the arguments of another function, whose names it does not have.
    """
    rule = None if isinstance(f, BuiltinFunctionType) else rule_for(f)
    if not isinstance(rule, Composed) or hasattr(rule.function, "__signature__"):
        return None
    return rule.function if rule.ours else None


def is_ours(f: Any) -> bool:
    """Whether a function is one of the library's; slopes compute with the program's numbers."""
    return isinstance(f, FunctionType) and is_formula(f, True) and not is_for_any_number(f)


def demand_known(name: str, args: Sequence[Any]) -> None:
    """Raise KernelError where a function of this name is not NumPy's for such arguments."""
    kinds = {_word(x) for x in args}
    if kinds & {"ints", "bools"} and kinds & {"floats", "complex numbers"}:
        kinds -= {"ints", "bools"}  # which become floats
    if any(not getattr(x, "shape", ()) and _word(x) == "float32" for x in args):
        kinds.add("single numbers of float32")
    for kind in kinds - {"floats", ""}:
        if name in _NOT_OF[kind]:
            raise KernelError(
                f"{name} of {kind} is not compiled.",
                "its result would differ from NumPy's in type or value.",
                "use float64, or compute it outside the compiled function.",
            )


def _word(x: Any) -> str:
    if isinstance(x, list):
        return "lists"
    if isinstance(x, (Arrayed, Number, NarrowNumber, ComplexNumber, complex)) or is_number(x):
        kind = kind_of_elements(x)
        return _WORDS.get("int" if kind in NARROW else kind, "floats")
    return ""


def demand_our_rule(f: Any) -> None:
    """Raise KernelError for a function of NumPy's or math's to which somebody has given a rule."""
    key = getattr(np, f.name, None) if isinstance(f, Method) else f
    try:
        rule = rules.get(plain_of(key))
    except TypeError:  # not hashable
        return
    made_of = rule.partials if isinstance(rule, ScalarRule) else (getattr(rule, "rule", None),)
    for part in filter(callable, made_of):
        if getattr(part, "__module__", "zyg").partition(".")[0] != "zyg":
            raise KernelError(
                f"{name_of(key)} has a rule that is not zyg's, and cannot be compiled.",
                "a compiled function would use the derivatives of the operation itself.",
                "call a function of your own that has the rule.",
            )
