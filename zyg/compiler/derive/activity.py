"""Which numbers and which memory of a program cotangents flow through.

A number moves if it depends on an active input, and counts if an output depends on it: both, and
it is *active*. A class of buffers is as what is stored in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zyg.compiler.derive.moving import Memory, is_real
from zyg.compiler.ir import (
    Call,
    Program,
    Routine,
    Store,
    Value,
    blocks_of,
    is_buffer,
    outs_of,
    type_of,
)
from zyg.compiler.routines import routines


class Activity(Memory):
    """What is active in a program, by some of its inputs."""

    def __init__(self, program: Program, inputs: Sequence[int]) -> None:
        super().__init__(program)
        before: defaultdict[Value, list[Value]] = defaultdict(list)
        for x, row in self._flows.items():
            for y in row:
                before[y].append(x)
        moving = self._reached([program.inputs[k] for k in inputs], self._flows)
        self._active = moving & self._reached(program.outputs, before)

    def is_active(self, x: Any) -> bool:
        """Whether cotangents flow through a number, or through the memory of a buffer."""
        return isinstance(x, Value) and is_real(x.type) and self._node(x) in self._active

    def inside(self, op: Any) -> bool:
        """Whether an operation has a part in derivatives."""
        if any(map(self.is_active, (*outs_of(op), *writes_of(op)))):
            return True
        return any(self.inside(inner) for block in blocks_of(op) for inner in block.ops)

    def _reached(self, row: Iterable[Any], edges: Mapping[Value, list[Value]]) -> set[Value]:
        found: set[Value] = set()
        todo = [self._node(x) for x in row if isinstance(x, Value) and is_real(x.type)]
        while todo:
            if (node := todo.pop()) not in found:
                found.add(node)
                todo += edges.get(node, ())
        return found


def writes_of(op: Any) -> list[Any]:
    """The buffers that an operation itself may write."""
    if isinstance(op, Store):
        return [op.buffer]
    if isinstance(op, Routine):
        return [op.args[k] for k in routines[op.name].writes]
    if not isinstance(op, Call) or op.callee.adjoint:
        return []
    return [x for x in op.args if is_buffer(type_of(x))]
