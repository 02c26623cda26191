"""The blocks of the forward sweep, as the reverse pass meets them: each has its mirror there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from zyg.compiler.autodiff.choices import Choice
from zyg.compiler.ir import Atom, Block, If, Load, Value


@dataclass(eq=False, repr=False)
class Frame:
    """A block of the forward sweep: the operation that it belongs to, and where that is."""

    block: Block
    region: Any = None
    parent: Frame | None = None
    counter: Value | None = None  # of a While: how many rounds are before this one
    trips: Value | None = None  # and how many there were
    growth: Any = None  # its tapes
    slots: dict[Any, Atom] = field(default_factory=dict)  # where a round is on tapes
    changes: set[Value] = field(default_factory=set)  # classes of memory that its rounds write
    fused: bool = False  # its mirror is at its own end
    choice: Choice | None = None  # of a loop that chooses a round
    chosen: Value | None = None  # which it has chosen, or -1
    source: Any = None  # the operation of the program, of a loop
    crosswise: bool | None = None  # its rounds have slots beside each other, if that was asked
    round: Value | None = None  # in its mirror
    depth: int = 0  # of the builder's blocks, in its mirror
    mirror: Any = None  # its block
    calls: bool = False  # what keeps its own, so that its rounds have an order
    kept: list[tuple[Value, Load]] = field(default_factory=list)  # on stacks, and how it comes back

    @property
    def has_one(self) -> bool:
        """Whether its rounds may use the same memory, one after the other."""
        return self.fused and self.region.apart is None

    @property
    def has_stacks(self) -> bool:
        """Whether it runs as often as its mirror, in the opposite order, and with its calls."""
        return self.calls or (isinstance(self.region, If) and self.parent.has_stacks)  # type: ignore[union-attr]


def carry(frame: Frame, param: Value, start: Atom, end: Atom) -> Value:
    """Let a loop carry one more value; what it is after the loop."""
    loop, out = frame.region, Value(param.type)
    for row, x in ((loop.params, param), (loop.init, start), (loop.body.yields, end)):
        row.append(x)
    loop.outs.append(out)
    return out


def before(frame: Frame, block: Block) -> None:
    """Put operations before the region that a block belongs to."""
    assert frame.parent is not None
    ops = frame.parent.block.ops
    place = next(k for k, op in enumerate(ops) if op is frame.region)
    ops[place:place] = block.ops
