"""Loops that only add: their rounds have adjoints that may come in any order.

Such a loop stores nothing that is active, and what it carries, it adds to: a cotangent passes
through all rounds as it is, and each adds to shadows and to cotangents of what is outside.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from zyg.compiler.derive.activity import Activity, writes_of
from zyg.compiler.ir import Call, For, Load, Value, is_buffer, operations, outs_of
from zyg.compiler.rounds import passed, used


def only_adds(loop: For, activity: Activity) -> bool:
    """Whether all that a loop does to what is active is to add."""
    made: dict[Value, Any] = {}
    for op in operations(loop.body):
        if any(map(activity.is_active, writes_of(op))) or isinstance(op, Call):
            return False
        made.update((out, op) for out in outs_of(op))
    uses = Counter(x for x in used(loop.body) if isinstance(x, Value))
    for p, end in zip(loop.params, loop.body.yields, strict=True):
        if activity.is_active(p) and not is_buffer(p.type):
            found = passed(end, p, made)
            if found is None or any(uses[x] != n for x, n in found.items()):
                return False
    return True


def classes_read(loop: For, activity: Activity) -> set[Value]:
    """The memory whose shadows a loop's adjoint adds to."""
    return {activity.of(op.buffer) for op in operations(loop.body)
            if isinstance(op, Load) and activity.is_active(op.out)}  # fmt: skip
