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

from zyg.compiler.ir import Alloc, Atom, Block, Call, Check, For, Op, Value, While, operations
from zyg.compiler.loops import FIXED, OTHER, Rounds
from zyg.functions.operations import COMPARISON, names

_ORDER = names(COMPARISON) - {"equal", "not_equal"}
_LASTING = For, While, Call, Alloc  # of which there might be too much if a check is late


def hoistable(loop: For) -> dict[Check, list[Op]]:
    """The checks that can be made at the two ends of a loop, and what computes their conditions."""
    if loop.span[2] not in (1, -1):
        return {}
    rounds = Rounds(loop)
    checks = [op for op in loop.body.ops if isinstance(op, Check)]
    return {op: rounds.chain(op.condition) for op in checks if _is_between(op.condition, rounds)}


def _is_between(x: Atom, rounds: Rounds) -> bool:
    """Whether a condition is true between rounds in which it is."""
    op = rounds.makers.get(x) if isinstance(x, Value) else None
    if op is not None and op.name == "logical_and":
        return all(_is_between(y, rounds) for y in op.args)
    if op is None or op.name not in _ORDER:
        return rounds.moves(x) == FIXED
    return max(map(rounds.moves, op.args)) != OTHER


@dataclass(eq=False, repr=False)
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
