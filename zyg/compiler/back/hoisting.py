"""Checks of a loop that are made before it, or after it.

Before it are those of bounds, where an index moves with the loop's.

Where a check fails the program ends and nothing that it did counts, so that it may end sooner. A
condition that is true of the first and of the last round, and is a comparison of what grows with
the index by steps of one, is true of all between. After it are those of floats, which no place in
memory and no end of a loop depends on: of the domains of functions. Without checks a loop may run
in vectors.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Call,
    Check,
    For,
    Op,
    Value,
    While,
    operations,
    outs_of,
)
from zyg.functions.operations import COMPARISON, names

_ORDER = names(COMPARISON) - {"equal", "not_equal"}
_LASTING = For, While, Call, Alloc  # of which there might be too much if a check is late
_FIXED, _MOVING, _OTHER = range(3)  # the same in each round; with the index; in any other way


def hoistable(loop: For) -> dict[Check, list[Op]]:
    """The checks that can be made at the two ends of a loop, and what computes their conditions."""
    if loop.span[2] not in (1, -1):
        return {}
    ends = _Ends(loop)
    chains: dict[Check, list[Op]] = {op: [] for op in loop.body.ops if isinstance(op, Check)}
    return {op: ops for op, ops in chains.items() if ends.tell(op.condition, ops)}


@dataclass(eq=False)
class Late:
    """A loop without checks, and whether all that it has left out hold, if it has."""

    loop: For
    hold: Value | None = None
    why: str = ""


def postponed(loop: For, early: Collection[Check]) -> Late:
    """A loop without the checks that can be made after it."""
    makers = {op.out: op for op in loop.body.ops if isinstance(op, Op)}
    checks = [op for op in loop.body.ops if isinstance(op, Check) and op not in early]
    checks = [op for op in checks if _is_of_floats(op.condition, makers)]
    if not checks or any(isinstance(op, _LASTING) for op in operations(loop.body)):
        return Late(loop)
    ops = [op for op in loop.body.ops if op not in checks]
    so_far = hold = Value("bool")
    for check in checks:
        ops += [Op("logical_and", (hold, check.condition), hold := Value("bool"))]
    body, out = Block(ops, [*loop.body.yields, hold]), Value("bool")
    init, params, outs = [*loop.init, True], [*loop.params, so_far], [*loop.outs, out]
    made = For(loop.index, loop.span, init, params, body, outs, loop.independent)
    return Late(made, out, checks[0].why)


def _is_of_floats(x: Atom, makers: dict[Value, Op]) -> bool:
    """Whether a condition is one of numbers that are no ints."""
    op = makers.get(x) if isinstance(x, Value) else None
    if op is None:
        return not isinstance(x, Value)
    if op.name.startswith("logical_"):
        return all(_is_of_floats(y, makers) for y in op.args)
    return op.callee is None and all(
        y.type in ("float", "float32") if isinstance(y, Value) else isinstance(y, float)
        for y in op.args
    )


class _Ends:
    def __init__(self, loop: For) -> None:
        self.index = loop.index
        self.makers = {op.out: op for op in loop.body.ops if isinstance(op, Op)}
        self.inside = {*loop.params, *(x for op in loop.body.ops for x in outs_of(op))}

    def tell(self, x: Atom, ops: list[Op]) -> bool:
        """Whether a condition is true between rounds in which it is; `ops` get what makes it."""
        op = self.makers.get(x) if isinstance(x, Value) else None
        if op is None or op.name not in {"logical_and", *_ORDER}:
            return self.moves(x, ops) == _FIXED
        if op.name == "logical_and":
            found = min(*(self.tell(y, ops) for y in op.args))
        else:
            found = max(self.moves(y, ops) for y in op.args) != _OTHER
        ops.append(op)
        return found

    def moves(self, x: Atom, ops: list[Op]) -> int:
        """How a number changes from round to round."""
        if x is self.index:
            return _MOVING
        if x not in self.inside:
            return _FIXED
        op = self.makers.get(x)
        if op is None or op.callee is not None:
            return _OTHER
        found = max([_FIXED, *(self.moves(y, ops) for y in op.args)])
        ops.append(op)
        steady = found == _FIXED or (op.name in ("add", "subtract") and op.out.type == "int")
        return found if steady else _OTHER


def check_early(text: Any, loop: For, checks: dict[Check, list[Op]]) -> None:
    """Make checks of a loop at its two ends, if it has any rounds."""
    first, end, step = loop.span
    last = text.m.value(f"sub i64 {text.atom(end)}, {text.atom(step)}")
    how = "sge" if step == 1 else "sle"
    none = text.m.value(f"icmp {how} i64 {text.atom(first)}, {text.atom(end)}")
    hold = "true"
    for index in (text.atom(first), last):
        text.known[loop.index] = index
        for check, ops in checks.items():
            for op in ops:
                text.op(op)
            hold = text.m.value(f"and i1 {hold}, {text.atom(check.condition)}")
    text.demand(text.m.value(f"or i1 {none}, {hold}"), next(iter(checks)).why)
    text.early |= checks.keys()
