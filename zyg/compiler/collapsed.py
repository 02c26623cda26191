"""A program made again with nests of loops as one loop, where all that they access lies in order.

A slice along the first axes of an array is a nest whose innermost loop may be short: three numbers
of a point. Where each index moves by the same step through all rounds of two loops, they are one.
"""

from __future__ import annotations

from typing import Any

from zyg.compiler.ir import Atom, Block, For, Load, Op, Program, Store, Value, blocks_of, operations
from zyg.compiler.polynomials import SUMS, Polynomials, along, product


def collapse(program: Program) -> None:
    """Let nests of a program be loops, in place."""
    makers = {op.out: op for op in operations(program.body) if isinstance(op, Op)}
    _collapse(program.body, Polynomials(makers))


def _collapse(block: Block, ints: Polynomials) -> None:
    ops: list[Any] = []
    for op in block.ops:
        for inner in blocks_of(op):
            _collapse(inner, ints)
        ops += _as_one(op, ints) if isinstance(op, For) else [op]
    block.ops = ops


def _as_one(outer: For, ints: Polynomials) -> list[Any]:
    """A loop, and the loop that is all of it but for indices, as one; or as it is."""
    *before, inner = outer.body.ops or [None]
    if not isinstance(inner, For) or not all(isinstance(op, Op) for op in before):
        return [outer]
    spans = outer.span, inner.span
    plain = all(start == 0 and step == 1 for start, _, step in spans)
    alone = outer.apart is None and inner.apart is None and not (outer.again or inner.again)
    handed = outer.params == inner.init and inner.outs == outer.body.yields
    made = {outer.index, *outer.params, *(op.out for op in before)}
    if not (plain and alone and handed) or inner.span[1] in made:
        return [outer]
    if not _in_order(outer.index, inner, before, ints):
        return [outer]
    rows, columns, total = Value("int"), Value("int"), Value("int")
    body = [Op("constant", (0,), outer.index), *before, *inner.body.ops]
    one = For(inner.index, (0, total, 1), outer.init, inner.params, Block(body, inner.body.yields),
              outer.outs, inner.independent and outer.independent, line=outer.line,
              in_order=outer.in_order, in_turn=outer.in_turn or inner.in_turn)  # fmt: skip
    sizes = [Op("maximum", (spans[0][1], 0), rows), Op("maximum", (spans[1][1], 0), columns)]
    return [*sizes, Op("multiply", (rows, columns), total), one]


def _in_order(index: Value, inner: For, before: list[Op], ints: Polynomials) -> bool:
    """Whether two indices are only parts of indices of memory, which move with both alike."""
    moved: set[Atom] = {index, inner.index}
    columns = ints.sum_of(inner.span[1])
    for op in (*before, *inner.body.ops):
        if isinstance(op, Op) and op.callee is None:
            if not moved.isdisjoint(op.args):
                if op.name not in SUMS:
                    return False
                moved.add(op.out)
        elif isinstance(op, (Load, Store)):
            place = ints.sum_of(op.index)
            if columns is None or place is None or (isinstance(op, Store) and op.value in moved):
                return False
            down, across = along(place, index)[0], along(place, inner.index)[0]
            if down != product(across, columns):
                return False
        else:
            return False
    return moved.isdisjoint(inner.body.yields)
