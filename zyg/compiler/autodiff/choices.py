"""Loops that choose: a minimum, and whatever else is of one round of all.

The forward sweep keeps which round was chosen last, and the reverse pass mirrors that one alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from zyg.compiler.aliases import writes_of
from zyg.compiler.autodiff.dependence import Activity, is_flat
from zyg.compiler.ir import (
    Alloc,
    Atom,
    Call,
    For,
    Op,
    Value,
    blocks_of,
    is_buffer,
    operands_of,
    operations,
)
from zyg.compiler.loops import used


@dataclass
class Choice:
    """By what a loop chooses: a round where `condition` is `wanted`. `takes` is what it then has
    from the round, by what the loop gives and what it began with.
    """

    condition: Atom
    wanted: bool
    takes: list[tuple[Value, Atom, Atom]]


def choice(loop: For, activity: Activity, staying: set[Value]) -> Choice | None:
    """How a loop chooses; None if more of it has an adjoint than one round."""
    ops = [*operations(loop.body)]
    fresh = {op.out for op in ops if isinstance(op, Alloc)} & staying
    written = [x for op in ops for x in writes_of(op) if activity.is_active(x)]
    if loop.again or loop.apart is not None or any(isinstance(op, Call) for op in ops):
        return None
    if not fresh.issuperset(written):
        return None
    makers = {op.out: op for op in loop.body.ops if isinstance(op, Op)}
    everything = [*used(loop.body)]
    found = None
    for p, start, y, q in zip(loop.params, loop.init, loop.body.yields, loop.outs, strict=True):
        if not activity.is_active(p):
            continue
        made = makers.get(y) if isinstance(y, Value) else None
        if is_buffer(p.type) or made is None or made.name != "select" or p not in made.args[1:]:
            return None
        wanted = made.args[2] is p
        x = made.args[1 if wanted else 2]
        others = [op for op in _users(loop, p) if op is not made]
        if x is p or everything.count(y) > 1 or not all(map(_is_flat, others)):
            return None
        found = found or Choice(made.args[0], wanted, [])
        if (found.condition, found.wanted) != (made.args[0], wanted):
            return None
        found.takes.append((q, x, start))
    return found


def _users(loop: For, x: Value) -> Iterator[object]:
    """What in a loop takes a value, or yields it."""
    for op in operations(loop.body):
        if x in operands_of(op) or any(x in block.yields for block in blocks_of(op)):
            yield op


def _is_flat(op: object) -> bool:
    return isinstance(op, Op) and is_flat(op)
