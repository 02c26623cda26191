"""What a program costs: operations on floats, and what is moved in memory, as far as is known.

That is for the choice between two programs of the same derivatives: a loop whose rounds are not
known has as many in both.
"""

from __future__ import annotations

from zyg.compiler.ir import Alloc, Block, Call, If, Op, Program, Routine, blocks_of
from zyg.functions.operations import LIBRARY

_ROUNDS = 10  # that a loop is taken to have


def cost_of(program: Program) -> int:
    """About how many operations on floats, loads and stores a program makes."""
    return _cost(program.body, {program})


def _cost(block: Block, inside: set[Program]) -> int:
    total = 0
    for op in block.ops:
        if isinstance(op, Op):
            total += op.cost
        elif isinstance(op, Call):
            if op.callee not in inside:
                total += _cost(op.callee.body, {*inside, op.callee})
        elif blocks_of(op):
            rounds = 1 if isinstance(op, If) else _ROUNDS
            total += rounds * sum(_cost(inner, inside) for inner in blocks_of(op))
        else:
            total += LIBRARY if isinstance(op, (Alloc, Routine)) else 1
    return total
