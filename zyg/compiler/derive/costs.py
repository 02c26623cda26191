"""What a program costs: operations on floats, and what is moved in memory, as far as is known.

That is for the choice between two programs of the same derivatives: a loop whose rounds are not
known has as many in both.
"""

from __future__ import annotations

from zyg.compiler.ir import Alloc, Block, Call, If, Op, Program, Routine, blocks_of
from zyg.compiler.record import REALS

_LIGHT = {
    "add", "subtract", "multiply", "negative", "absolute", "maximum", "minimum", "square", "select",
    "float", "float32", "constant",
}  # fmt: skip
_ROUNDS = 10  # that a loop is taken to have
_SLOW = {"divide": 4, "sqrt": 4, "remainder": 4, "floor_divide": 4}
_LIBRARY = 15  # operations on floats that a function of a library takes


def cost_of(program: Program) -> int:
    """About how many operations on floats, loads and stores a program makes."""
    return _cost(program.body, {program})


def _cost(block: Block, inside: set[Program]) -> int:
    total = 0
    for op in block.ops:
        if isinstance(op, Op):
            light = op.name in _LIGHT or op.out.type not in REALS
            total += _SLOW.get(op.name, 1) if light or op.name in _SLOW else _LIBRARY
        elif isinstance(op, Call):
            if op.callee not in inside:
                total += _cost(op.callee.body, {*inside, op.callee})
        elif blocks_of(op):
            rounds = 1 if isinstance(op, If) else _ROUNDS
            total += rounds * sum(_cost(inner, inside) for inner in blocks_of(op))
        else:
            total += _LIBRARY if isinstance(op, (Alloc, Routine)) else 1
    return total
