"""Branches into selections, so that a loop becomes vector instructions.

LLVM does this too, but only after it has moved loads into the branches that use them, where vector
instructions need masked loads, which most processors have for few types; and it does not see that
the sides of a branch share work, as the gates of an LSTM cell whose cases differ in one term. A
program is changed only if nothing in it keeps the loop from being vectorised: else the branches
save work. They also do where a condition stays the same along a row: then they stand around the
loop (`condition_outside`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from zyg.compiler.ir import Block, If, Op, Program, Value, operations, prune
from zyg.compiler.rewriter import Rewriter


def without_branches(program: Program, vectorises: Callable[[Op], bool]) -> Program:
    """The program with all sides of its branches computed, if all operations vectorise."""
    ops = [*operations(program.body)]
    if not all(isinstance(op, If) or (isinstance(op, Op) and vectorises(op)) for op in ops):
        return program
    return _BothSides().remade(program)  # where the builder makes once what two sides compute


class _BothSides(Rewriter):
    def if_(self, op: If) -> None:
        self.run(op.then)
        self.run(op.orelse)
        for out, *sides in zip(op.outs, op.then.yields, op.orelse.yields, strict=True):
            self.made[out] = self.builder.op("select", *self.atoms([op.condition, *sides]))


def condition_outside(
    program: Program, same: Sequence[Value], dear: Callable[[Op], bool]
) -> Value | None:
    """A condition that depends on these inputs only, and spares something dear; None without one.

    The program has no branches.
    """
    known = {*same}
    for op in program.body.ops:
        if known.issuperset(x for x in op.args if isinstance(x, Value)):
            known.add(op.out)

    def cost(program: Program) -> int:
        return sum(map(dear, program.body.ops))

    for op in program.body.ops:
        condition = op.args[0]
        if op.name == "select" and condition in known:
            sides = [cost(with_condition(program, condition, side)) for side in (True, False)]
            if min(sides) < cost(program):
                return condition  # type: ignore[no-any-return]
    return None


def with_condition(program: Program, condition: Value, holds: bool) -> Program:
    """The program, without branches, where a condition is known to hold or not to."""
    body = Block([op for op in program.body.ops if op.out is not condition], program.outputs)
    again = Rewriter()
    again.made[condition] = holds
    made = again.remade(replace(program, body=body))
    prune(made.body)
    return made


def only(program: Program, value: Value, inputs: Sequence[Value]) -> Program:
    """The program that computes a value, of these inputs, on its way."""
    block = Block([*program.body.ops], [value])
    prune(block)
    return Program(program.name, [*inputs], block)
