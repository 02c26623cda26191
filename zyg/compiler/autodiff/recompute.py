"""Which loads may be repeated at the end of a program, as nothing is stored there any more.

A buffer that is written under its own name alone, that of its allocation, is complete when the
block that made it has run. While that block runs, a load under another name finds it only if the
name was given after it was made.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from zyg.compiler.aliases import Aliases, writes_of
from zyg.compiler.ir import (
    Alloc,
    Block,
    Call,
    For,
    Program,
    Value,
    While,
    blocks_of,
    is_buffer,
    operations,
    outs_of,
)


class _Place(NamedTuple):
    """Where something is: how many operations come before it, and in which blocks it is."""

    order: int
    blocks: tuple[Block, ...]


class Recomputable:
    """The loads of a program that may be repeated when it has run."""

    def __init__(self, program: Program, memory: Aliases) -> None:
        self.memory = memory
        # Whether others write its memory, too: functions that it calls, or that call it.
        self.shared = any(isinstance(op, Call) for op in operations(program.body))
        self.order = 0
        self.bodies: set[Block] = set()  # of loops
        self.at: dict[Any, _Place] = {}  # operations; where buffers have their names from
        self.made: set[Value] = set()  # by allocations
        self.writes: dict[Value, list[tuple[Any, Value]]] = {}  # by class: operation and name
        self._walk(program.body, (program.body,))
        start = _Place(-1, (program.body,))
        self.at.update((x, start) for x in program.inputs)
        self.made.update(x for x in program.inputs if is_buffer(x.type))

    def _walk(self, block: Block, blocks: tuple[Block, ...]) -> None:
        for op in block.ops:
            self.order += 1
            self.at[op] = _Place(self.order, blocks)
            for x in writes_of(op):
                self.writes.setdefault(self.memory.of(x), []).append((op, x))
            if isinstance(op, Alloc):
                self.made.add(op.out)
            for inner in blocks_of(op):
                if isinstance(op, (For, While)):
                    self.bodies.add(inner)
                    self.at.update((p, _Place(self.order, (*blocks, inner))) for p in op.params)
                self._walk(inner, (*blocks, inner))
            after = _Place(self.order, blocks)
            self.at.update((x, after) for x in outs_of(op))

    def __call__(self, op: Any, buffer: Value) -> bool:
        """Whether what an operation reads from a buffer is still there at the end."""
        if not self.memory.is_written(buffer):
            return True
        writes = self.writes.get(self.memory.of(buffer), [])
        if self.shared or not writes:
            return False
        return not any(self._disturbs(write, x, op, buffer) for write, x in writes)

    def may_write(self, x: Value) -> bool:
        """Whether an input is written, under whatever name."""
        if self.shared:
            return self.memory.is_written(x)
        names = (name for _, name in self.writes.get(self.memory.of(x), ()))
        return any(name is x or name not in self.made for name in names)

    def _disturbs(self, write: Any, name: Value, op: Any, buffer: Value) -> bool:
        here, there = self.at[op], self.at[write]
        scope = 0  # how many blocks around both are run again for another buffer
        if name in self.made:
            made, given = self.at[name], self.at.get(buffer)
            scope = len(made.blocks)
            if here.blocks[:scope] != made.blocks:
                return False
            if name is not buffer and given is not None:
                around = made.blocks[: len(given.blocks)] == given.blocks
                if around and given.order < made.order:
                    return False
        if there.order > here.order:
            return True
        shared = {*here.blocks[scope:]}.intersection(there.blocks[scope:])
        return not shared.isdisjoint(self.bodies)  # in another round of a loop around both
