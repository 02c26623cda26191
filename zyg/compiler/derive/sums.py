"""Loops that only add: their rounds have adjoints that may come in any order.

Such a loop stores nothing that is active, and what it carries, it adds to: a cotangent passes
through all rounds as it is, and each adds to shadows and to cotangents of what is outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from zyg.compiler.derive.activity import Activity, writes_of
from zyg.compiler.ir import (
    Atom,
    Block,
    Call,
    For,
    If,
    Load,
    Op,
    Value,
    blocks_of,
    is_buffer,
    operands_of,
    operations,
    outs_of,
)

Uses = Counter[Value]


def only_adds(loop: For, activity: Activity) -> bool:
    """Whether all that a loop does to what is active is to add."""
    made: dict[Value, Any] = {}
    for op in operations(loop.body):
        if any(map(activity.is_active, writes_of(op))) or isinstance(op, Call):
            return False
        made.update((out, op) for out in outs_of(op))
    uses = Counter(x for x in _used(loop.body) if isinstance(x, Value))
    for p, end in zip(loop.params, loop.body.yields, strict=True):
        if activity.is_active(p) and not is_buffer(p.type):
            passed = _passed(end, p, made)
            if passed is None or any(uses[x] != n for x, n in passed.items()):
                return False
    return True


def classes_read(loop: For, activity: Activity) -> set[Value]:
    """The memory whose shadows a loop's adjoint adds to."""
    return {activity.of(op.buffer) for op in operations(loop.body)
            if isinstance(op, Load) and activity.is_active(op.out)}  # fmt: skip


def _used(block: Block) -> Iterator[Atom]:
    yield from block.yields
    for op in block.ops:
        yield from operands_of(op)
        for inner in blocks_of(op):
            yield from _used(inner)


def _passed(y: Atom, p: Value, made: dict[Value, Any]) -> Uses | None:
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
            if (rest := _passed(x, p, made)) is not None:
                return here + rest
        return None
    if isinstance(op, If):
        k = op.outs.index(y)
        rows = [(block.yields[k], p) for block in (op.then, op.orelse)]
    elif isinstance(op, For):
        k = op.outs.index(y)
        rows = [(op.init[k], p), (op.body.yields[k], op.params[k])]
    for x, start in rows:
        if (rest := _passed(x, start, made)) is None:
            return None
        here += rest
    return here if rows else None
