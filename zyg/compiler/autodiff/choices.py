"""Loops that choose: a minimum, and whatever else is of one round of all.

The forward sweep keeps which round was chosen last, and the reverse pass mirrors that one alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from zyg.compiler.aliases import writes_of
from zyg.compiler.autodiff.dependence import Activity
from zyg.compiler.ir import (
    Alloc,
    Atom,
    Call,
    For,
    Value,
    operations,
)
from zyg.compiler.loops import chosen


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
    found = None
    for p, start, q in zip(loop.params, loop.init, loop.outs, strict=True):
        if not activity.is_active(p):
            continue
        if (taken := chosen(loop, p)) is None:
            return None
        select, wanted, x = taken
        found = found or Choice(select.args[0], wanted, [])
        if (found.condition, found.wanted) != (select.args[0], wanted):
            return None
        found.takes.append((q, x, start))
    return found
