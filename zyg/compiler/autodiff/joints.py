"""Directions in the middle of a program, where few numbers lead from what is before to the rest.

Behind such a joint tangents are along those numbers; where they are asked for, they are multiplied
out by those of the numbers. Of a camera's eleven parameters and a point, for one, three coordinates
are left before the projection. That is interface contraction (Griewank and Walther, Evaluating
Derivatives, 2008, ch. 10).
"""

from __future__ import annotations

from typing import Any

from zyg.compiler.autodiff.tangents import Chain, Forward, Tangents
from zyg.compiler.ir import Block, Call, For, Value, While, all_reads, operations, outs_of


def run_with_joints(forward: Forward, block: Block) -> None:
    """Run the block of a program, with joints behind its last loop or call."""
    last = {x: i for i, op in enumerate(block.ops) for x in all_reads(op)}
    last.update((y, len(block.ops)) for y in block.yields if isinstance(y, Value))
    again = [any(isinstance(inner, (For, While, Call)) for inner in operations(Block([op])))
             for op in block.ops]  # fmt: skip
    live: list[Value] = []
    for i, op in enumerate(block.ops):
        forward.run(Block([op]))
        live = [x for x in (*live, *outs_of(op)) if last.get(x, i) > i and x in forward.moving]
        if not any(again[i:]):
            _join(forward, live)


def _join(forward: Forward, live: list[Value]) -> None:
    """Make the tangents that numbers have directions, if half as many do at most."""
    chains = {x: forward.moving[x] for x in live}
    many: dict[int, Tangents] = {}
    kept: set[Any] = set()
    for x, chain in chains.items():
        if x.type == "float" and len(chain.base) > 1:
            many[id(chain.base)] = chain.base
        else:
            kept.update(chain.base)
    gone = {k for row in many.values() for k in row} - kept
    if not many or 2 * len(many) > len(gone):
        return
    new: dict[int, Tangents] = {}
    for key, row in many.items():
        direction = Value("float")
        forward.joints[direction] = row
        new[key] = {direction: 1.0}
    for x, chain in chains.items():
        if id(chain.base) in new:
            forward.moving[x] = Chain(new[id(chain.base)], chain.factor)
