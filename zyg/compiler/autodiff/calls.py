"""Reverse mode through calls: what a function keeps for its adjoint lies on stacks.

A function that is called has two programs: its forward sweep, with shadows among its operands and
results, and its reverse pass. What the second asks of the first goes by stacks, one for each type,
which are handed down to all calls: the sweep pushes when it is done, the reverse pass pops when it
begins. As the reverse pass makes the calls in reverse order, it finds what belongs to it, however
deep a function has called itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from zyg.compiler.builder import Builder
from zyg.compiler.ir import Block, Call, Program, Type, Value, operations

_FIRST = 16  # elements of a stack that grows

Moved = list[tuple[Value, Value]]  # what the sweep pushes, and what that is in the reverse pass


@dataclass(eq=False, repr=False)
class Pair:
    """The two programs of a function."""

    sweep: Any
    forward: Program
    reverse: Program
    moved: dict[Type, Moved] = field(default_factory=dict)
    is_reversed: bool = False


class Stacks:
    """The pairs of all functions that a program calls, and their stacks."""

    def __init__(self) -> None:
        self.pairs: dict[Program, Pair] = {}

    def finish(self, top: Block) -> None:
        """Hand the stacks to all calls, and use them; `top` is the block that has them made."""
        types = list(dict.fromkeys(kind for pair in self.pairs.values() for kind in pair.moved))
        programs = [p for pair in self.pairs.values() for p in (pair.forward, pair.reverse)]
        rows = {p: [Value(t) for kind in types for t in _types(kind)] for p in programs}
        for pair in self.pairs.values():
            for k, kind in enumerate(types):
                moved = pair.moved.get(kind, [])
                for program, change in ((pair.forward, _push), (pair.reverse, _pop)):
                    if moved:
                        change(program.body, rows[program][2 * k : 2 * k + 2], moved)
        made = Builder()
        first = [x for kind in types for x in _stack(made, kind)]
        top.ops[:0] = made.block.ops
        for block, row in ((top, first), *((p.body, rows[p]) for p in programs)):
            for op in _calls(block):
                if op.callee in rows:
                    op.args += tuple(row)
        for program, row in rows.items():
            program.inputs += row


def _calls(block: Block) -> Iterator[Call]:
    return (op for op in operations(block) if isinstance(op, Call))


def _types(kind: Type) -> tuple[Type, Type]:
    """Of a stack: what holds its buffer, and its length with the room that there is."""
    return f"{kind}[][]", "int[]"


def _stack(builder: Builder, kind: Type) -> tuple[Value, Value]:
    holder, state = builder.alloc(f"{kind}[]", 1, zeroed=False), builder.alloc("int", 2)
    builder.store(holder, 0, builder.alloc(kind, _FIRST, zeroed=False))
    builder.store(state, 1, _FIRST)
    return holder, state


def _push(block: Block, stack: list[Value], moved: Moved) -> None:
    holder, state = stack
    builder = Builder()
    length = builder.load(state, 0)
    after = builder.op("add", length, len(moved))
    full = builder.op("greater", after, builder.load(state, 1))
    with builder.inside(Block()) as grow:
        room = builder.op("multiply", after, 2)
        old = builder.load(holder, 0)
        longer = builder.alloc(moved[0][0].type, room, zeroed=False)
        builder.copy(longer, old, length)
        builder.store(holder, 0, longer)
        builder.store(state, 1, room)
    builder.branch(full, grow, Block())
    row = builder.load(holder, 0)
    for j, (x, _) in enumerate(moved):
        builder.store(row, builder.op("add", length, j), x)
    builder.store(state, 0, after)
    block.ops += builder.block.ops


def _pop(block: Block, stack: list[Value], moved: Moved) -> None:
    holder, state = stack
    builder = Builder()
    length = builder.op("subtract", builder.load(state, 0), len(moved))
    row = builder.load(holder, 0)
    for j, (_, x) in enumerate(moved):
        made = builder.load(row, builder.op("add", length, j))
        builder.block.ops[-1].out = x
        assert made.type == x.type
    builder.store(state, 0, length)
    block.ops[:0] = builder.block.ops
