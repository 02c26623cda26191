"""What Python's functions of the math module demand of their operands, as checks of a program."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from zyg.compiler.ir import Atom, Value, is_number
from zyg.functions.operations import OPERATIONS

_INF = math.inf


def demand_domain(to: Any, name: str, xs: Sequence[Atom], y: Atom) -> None:
    """Stop where an operation of math's, which is `y` at `xs`, would raise; `to` is a builder."""
    row = OPERATIONS[name]
    if row.raises:
        to.check(_ALLOWED[row.raises](to.op, xs, y), f"math.{row.math} outside of its domain")


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


# By where they raise, as the table of operations says it.
_ALLOWED: dict[str, Callable[..., Atom]] = {
    "x < 0": _outside("less", 0.0), "x <= 0": _outside("less_equal", 0.0),
    "x <= -1": _outside("less_equal", -1.0), "x < 1": _outside("less", 1.0), "|x| > 1": _within,
    "|x| >= 1": _atanh, "|x| = inf": _no_infinity, "y = inf": _finite, "fmod": _fmod,
    "gamma": _gamma, "pow": _pow,
}  # fmt: skip
