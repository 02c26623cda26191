"""What is to be known of loops: how many rounds there are, and what these hand on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from zyg.compiler.ir import (
    Atom,
    Block,
    For,
    If,
    Op,
    Value,
    blocks_of,
    is_buffer,
    operands_of,
    operations,
    outs_of,
)
from zyg.compiler.record import Builder

Uses = Counter[Value]
WORTH_IT = 1.0e6  # operations, of which threads take less time to begin and to end than to do them


def trips(builder: Builder, span: tuple[Atom, ...]) -> Atom:
    """The number of rounds over a range."""
    start, stop, step = span
    assert isinstance(step, int)
    n = stop if start == 0 else builder.op("subtract", stop, start)
    if step < 0:
        n, step = builder.op("negative", n), -step
    if step != 1:
        n = builder.op("floor_divide", builder.op("add", n, step - 1), step)
    return builder.op("maximum", n, 0)


def not_summed(loop: For) -> list[Value]:
    """What a loop leaves that its rounds hand on, but for sums."""
    made = {out: op for op in operations(loop.body) for out in outs_of(op)}
    uses = Counter(x for x in used(loop.body) if isinstance(x, Value))
    found = []
    for p, end, out in zip(loop.params, loop.body.yields, loop.outs, strict=True):
        if end is not p:
            way = None if is_buffer(p.type) else passed(end, p, made)
            if way is None or any(uses[x] != n for x, n in way.items()):
                found.append(out)
    return found


def used(block: Block) -> Iterator[Atom]:
    """All that a block uses, as often as it does."""
    yield from block.yields
    for op in block.ops:
        yield from operands_of(op)
        for inner in blocks_of(op):
            yield from used(inner)


def passed(y: Atom, p: Value, made: dict[Value, Any]) -> Uses | None:
    """The values on the way of p to y, by uses, if y is p and terms that do not depend on it."""
    if not isinstance(y, Value):
        return None
    here = Counter([y])
    if y is p:
        return here
    op = made.get(y)
    rows: list[tuple[Atom, Value]] = []  # all of which have to pass
    if isinstance(op, Op) and op.name in ("add", "subtract"):
        for x in op.args[: 2 if op.name == "add" else 1]:
            if (rest := passed(x, p, made)) is not None:
                return here + rest
        return None
    if isinstance(op, If):
        k = op.outs.index(y)
        rows = [(block.yields[k], p) for block in (op.then, op.orelse)]
    elif isinstance(op, For):
        k = op.outs.index(y)
        rows = [(op.init[k], p), (op.body.yields[k], op.params[k])]
    for x, start in rows:
        if (rest := passed(x, start, made)) is None:
            return None
        here += rest
    return here if rows else None
