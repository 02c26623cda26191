"""Branches into selections, so that a loop becomes vector instructions.

LLVM does this too, but only after it has moved loads into the branches that use them, where vector
instructions need masked loads, which most processors have for few types; and it does not see that
the sides of a branch share work, as the gates of an LSTM cell whose cases differ in one term. A
program is changed only if nothing in it keeps the loop from being vectorised: else the branches
save work.
"""

from __future__ import annotations

from collections.abc import Callable

from zyg.compiler.ir import Atom, Block, If, Op, Program, Value, operations
from zyg.compiler.record import Builder


def without_branches(program: Program, vectorises: Callable[[Op], bool]) -> Program:
    """The program with all sides of its branches computed, if all operations vectorise."""
    ops = [*operations(program.body)]
    if not all(isinstance(op, If) or (isinstance(op, Op) and vectorises(op)) for op in ops):
        return program
    builder = Builder()  # which makes what two sides compute once
    made: dict[Value, Atom] = {x: x for x in program.inputs}

    def atom(x: Atom) -> Atom:
        return made[x] if isinstance(x, Value) else x

    def run(block: Block) -> None:
        for op in block.ops:
            if isinstance(op, Op):
                made[op.out] = builder.op(op.name, *map(atom, op.args), callee=op.callee)
                continue
            run(op.then)
            run(op.orelse)
            for out, a, b in zip(op.outs, op.then.yields, op.orelse.yields, strict=True):
                made[out] = builder.op("select", atom(op.condition), atom(a), atom(b))

    run(program.body)
    builder.block.yields = [atom(x) for x in program.outputs]
    return Program(program.name, program.inputs, builder.block)
