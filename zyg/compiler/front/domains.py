"""What Python's functions of the math module demand of their operands, as checks of a program."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from zyg.compiler.ir import Atom, Value, is_number

_INF = math.inf


def demand_domain(to: Any, name: str, xs: Sequence[Atom], y: Atom) -> None:
    """Stop where math's function `name`, which is `y` at `xs`, would raise; `to` is a builder."""
    if name in _FINITE or name in _DOMAINS:
        allowed = (_DOMAINS.get(name) or _finite)(to.op, xs, y)
        to.check(allowed, f"math.{name} outside of its domain")


def _finite(op: Callable[..., Atom], xs: Sequence[Atom], y: Atom) -> Atom:
    """A result is finite where the operands are; there is none that is not a number of numbers."""
    good: Atom = op("isfinite", y)
    for x in xs:
        if not is_number(x):
            good = op("logical_or", good, op("logical_not", op("isfinite", x)))
    return good


def _outside(name: str, bound: float) -> Callable[..., Atom]:
    """Stops on one side of a bound, and not where the operand is not a number."""
    return lambda op, xs, y: op("logical_not", op(name, xs[0], bound))


def _within(op: Callable[..., Atom], xs: Sequence[Atom], y: Atom) -> Atom:
    return op("logical_not", op("greater", op("absolute", xs[0]), 1.0))


def _no_infinity(op: Callable[..., Atom], xs: Sequence[Atom], y: Atom) -> Atom:
    return op("not_equal", op("absolute", xs[0]), _INF)


def _fmod(op: Callable[..., Atom], xs: Sequence[Atom], y: Atom) -> Atom:
    return op("logical_and", op("not_equal", xs[1], 0.0), _no_infinity(op, xs, y))


def _gamma(op: Callable[..., Atom], xs: Sequence[Atom], y: Atom) -> Atom:
    return op("logical_and", _finite(op, xs, y), op("not_equal", xs[0], -_INF))


def _atanh(op: Callable[..., Atom], xs: Sequence[Atom], y: Atom) -> Atom:
    return op("logical_not", op("greater_equal", op("absolute", xs[0]), 1.0))


def _pow(op: Callable[..., Atom], xs: Sequence[Atom], y: Atom) -> Atom:
    """Of a base and an exponent that are finite, or no numbers; 0**-inf Python shall do itself."""
    if not isinstance(p := xs[1], Value) and p > 0 and p == int(p):
        return _finite(op, xs[:1], y)
    good = op("logical_and", op("isinf", xs[1]), op("not_equal", xs[0], 0.0))
    for other in (op("isfinite", y), op("isnan", xs[1]), op("logical_not", op("isfinite", xs[0]))):
        good = op("logical_or", good, other)
    return good


_FINITE = {"exp", "expm1", "exp2", "cosh", "sinh", "lgamma", "ldexp"}
_DOMAINS: dict[str, Callable[..., Atom]] = {
    "sqrt": _outside("less", 0.0), "log": _outside("less_equal", 0.0),
    "log2": _outside("less_equal", 0.0), "log10": _outside("less_equal", 0.0),
    "log1p": _outside("less_equal", -1.0), "acosh": _outside("less", 1.0), "acos": _within,
    "asin": _within, "atanh": _atanh, "sin": _no_infinity, "cos": _no_infinity,
    "tan": _no_infinity, "gamma": _gamma, "fmod": _fmod, "pow": _pow,
}  # fmt: skip
