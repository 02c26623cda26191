"""Functions that are not compiled although others of their name are: by types, by rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.base.marks import plain_of
from zyg.base.registry import ScalarRule, rules
from zyg.compiler.front.calls import Method
from zyg.compiler.front.complexes import ComplexNumber
from zyg.compiler.front.conversions import kind_of_elements
from zyg.compiler.front.reader import name_of
from zyg.compiler.front.views import Arrayed
from zyg.compiler.ir import is_number
from zyg.compiler.numbers import Number
from zyg.errors import KernelError
from zyg.functions.operations import LDEXP, OPERATIONS, ROUNDING, names

_NOT_OF: dict[str, set[str]] = {
    "complex numbers": {
        "var", "std", "norm", "correlate", "cov", "det", "slogdet", "inv", "cholesky", "solve",
        "median", "searchsorted", "quantile", "percentile",
    },
    "float32": {
        "float_power", "gradient", "cov", "average", "linspace", "logspace", "geomspace", "vander",
        "polyval", "det", "slogdet", "inv", "cholesky", "solve",
    },
    "ints": {"reciprocal", "rint", "nansum"},
    "bools": {
        "absolute", "reciprocal", "conj", "mod", "polyval", "vander", "nansum", "median",
        "quantile", "percentile", *names(ROUNDING, LDEXP),
        *(row.name for row in OPERATIONS.values() if row.bools == "bytes"),
    },
    "lists": {
        "clip", "conjugate", "conj", "flip", "flipud", "fliplr", "logical_not", "ndim", "shape",
        "var", "std",
    },
    "single numbers of float32": {"sum", "prod", "mean", "var", "std", "dot", "clip"},
}  # fmt: skip
_WORDS = {"complex": "complex numbers", "float32": "float32", "int": "ints", "bool": "bools"}


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
    if isinstance(x, (Arrayed, Number, ComplexNumber, complex)) or is_number(x):
        return _WORDS.get(kind_of_elements(x), "floats")
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
