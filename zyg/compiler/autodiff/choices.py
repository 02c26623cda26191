"""Loops that choose: a minimum, and whatever else is of one round of all.

The forward sweep keeps which round was chosen last, and the reverse pass mirrors that one alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from zyg.compiler.aliases import writes_of
from zyg.compiler.autodiff.dependence import Activity
from zyg.compiler.ir import Alloc, Atom, Block, Call, For, If, Value, operations
from zyg.compiler.loops import chosen


@dataclass(eq=False, repr=False)
class Choice:
    """By what a loop chooses: a round where `condition` is `wanted`. `takes` is what it then has
    from the round, by what the loop gives and what it began with; by one side of a `branch`, maybe.
    """

    condition: Atom
    wanted: bool
    branch: If | None
    takes: list[tuple[Value, Atom, Atom]]

    def side(self, branch: If) -> Block:
        """That of the branch which is taken."""
        return branch.then if self.wanted else branch.orelse


def choice(loop: For, activity: Activity, staying: set[Value]) -> Choice | None:
    """How a loop chooses; None if more of it has an adjoint than one round."""
    ops = [*operations(loop.body)]
    fresh = {op.out for op in ops if isinstance(op, Alloc)} & staying
    written = {x for op in ops for x in writes_of(op) if activity.is_active(x)}
    if loop.again or loop.apart is not None or not written <= fresh:
        return None
    if any(isinstance(op, Call) for op in ops):
        return None
    found: Choice | None = None
    for p, start, q in zip(loop.params, loop.init, loop.outs, strict=True):
        if not activity.is_active(p):
            continue
        if (taken := chosen(loop, p)) is None:
            return None
        made, wanted, x = taken
        branch = made if isinstance(made, If) else None
        one = Choice(made.condition if branch else made.args[0], wanted, branch, [])  # type: ignore[union-attr]
        found = found or one
        if (found.condition, found.wanted, found.branch) != (one.condition, wanted, branch):
            return None
        found.takes.append((q, x, start))
    if found and found.branch:
        other = found.branch.orelse if found.wanted else found.branch.then
        active = [x for x in found.branch.outs if activity.is_active(x)]
        if len(active) > len(found.takes) or any(map(activity.has_part, other.ops)):
            return None
    return found
