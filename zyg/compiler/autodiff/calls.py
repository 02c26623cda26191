"""Reverse mode through calls: what a function keeps for its adjoint lies on stacks.

A function that is called has two programs: its forward sweep, with shadows among its operands and
results, and its reverse pass. The second takes operands of the first that it needs, which its
caller has. All else goes by stacks, one for each type, which are handed down to all calls: a block
of the sweep pushes when it is done, its mirror pops when it begins. As the reverse pass runs blocks
in reverse order, it finds what belongs to it, however deep a function has called itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

from zyg.compiler.autodiff.frames import Frame
from zyg.compiler.builder import Builder
from zyg.compiler.ir import (
    Atom,
    Block,
    Call,
    If,
    Load,
    Program,
    Type,
    Value,
    blocks_of,
    operands_of,
    operations,
)

# A stack has chunks, each twice as long as the one before. Its state: the length of the chunk in
# use, its room, its number, that of the last one made, and the lengths of those before it.
_LENGTH, _ROOM, _CHUNK, _LAST, _LENGTHS = range(5)
_FIRST = 16  # elements of the first
_CHUNKS = 48

Moved = list[tuple[Value, Load]]  # what the sweep pushes, and how the reverse pass has it


@dataclass(eq=False, repr=False)
class Pair:
    """The two programs of a function."""

    sweep: Any
    forward: Program
    needed: list[int]  # the operands of the sweep that the reverse pass takes, too
    is_reversed: bool = False

    def __post_init__(self) -> None:
        name = self.forward.name.removesuffix("_sweep")
        self.reverse = Program(f"{name}_reverse", [], Block(), mirrors=True)
        self.given = {x: Value(x.type) for x in self.forward.inputs}  # in the reverse pass

    def take(self, x: Value) -> Value:
        """An operand of the sweep, in the reverse pass."""
        place = self.forward.inputs.index(x)
        if place not in self.needed:
            self.needed.append(place)
        return self.given[x]

    def taken(self) -> list[Value]:
        """The operands of the reverse pass behind the cotangents of results."""
        return [self.given[self.forward.inputs[place]] for place in self.needed]


class Stacks:
    """The pairs of all functions that a program calls, and their stacks."""

    def __init__(self, needed: dict[Program, list[int]]) -> None:
        self.pairs: dict[tuple[Program, bool], Pair] = {}
        self.needed = needed
        self._rows: dict[Type, Value] = {}

    def of(self, kind: Type) -> Value:
        """What stands for a stack before it is known where that is."""
        return self._rows.setdefault(kind, Value(f"{kind}[]"))

    def finish(self, sweep: Any, top: Block) -> bool:
        """Hand the stacks to all calls, and use them; `top` is the block that has them made.

        False if a function was called before it was known what it takes.
        """
        if not (pairs := [pair for (_, keeps), pair in self.pairs.items() if keeps]):
            return True
        programs = [p for pair in pairs for p in (pair.forward, pair.reverse)]
        calls = {block: [op for op in operations(block)
                         if isinstance(op, Call) and op.callee in programs]
                 for block in (top, *(p.body for p in programs))}  # fmt: skip
        if any(len(op.args) < len(op.callee.inputs) for op in chain(*calls.values())):
            return False
        bodies = (sweep, top, top), *((p.sweep, p.forward.body, p.reverse.body) for p in pairs)
        moved = [(a, b, row) for swept, a, b in bodies for row in _moved(swept, b)]
        most: dict[Type, int] = {}
        for _, _, (kind, _, values) in moved:
            most[kind] = max(most.get(kind, 0), len(values))
        made = Builder()
        rows = {top: {kind: _stack(made, kind, n) for kind, n in most.items()}}
        for p in programs:
            rows[p.body] = {kind: (Value(f"{kind}[][]"), Value("int[]")) for kind in most}
            p.inputs += chain(*rows[p.body].values())
        for block, row in rows.items():
            for op in calls[block]:
                op.args += tuple(chain(*row.values()))
        for forwards, backwards, (kind, frame, values) in moved:
            _push(frame.block, *rows[forwards][kind], values)
            _pop(frame.mirror, *rows[backwards][kind], values)
        top.ops[:0] = made.block.ops
        return True


def _moved(sweep: Any, body: Block) -> list[tuple[Type, Frame, Moved]]:
    """What frames push: what a reverse pass reads of what they keep.

    What is read in the mirror of a branch alone is pushed in that branch.
    """
    mirrors = {f.mirror: f for f in sweep.frames.values() if f.mirror and f.has_stacks}
    moved: dict[tuple[Type, Frame], Moved] = {}

    def read_in(block: Block) -> dict[Value, Block]:
        """What a block reads, each with the one block in it where that is, or itself."""
        found = {x: block for x in block.yields if isinstance(x, Value)}
        for op in block.ops:
            reads = [(x, block) for x in operands_of(op) if isinstance(x, Value)]
            for inner in blocks_of(op):
                is_side = isinstance(op, If) and inner in mirrors
                reads += [(x, b if is_side else block) for x, b in read_in(inner).items()]
            for x, where in reads:
                found[x] = block if x in found else where
        kept = mirrors[block].kept if block in mirrors else []
        for x, back in kept:
            if back.out in found:
                moved.setdefault((x.type, mirrors[found[back.out]]), []).append((x, back))
        loads = {back for _, back in kept}
        block.ops[:] = [op for op in block.ops if op not in loads]
        return found

    read_in(body)
    return [(*key, values) for key, values in moved.items()]


def _stack(builder: Builder, kind: Type, most: int) -> tuple[Value, Value]:
    """What holds its chunks, first the one in use, and its state; `most` are pushed at once."""
    holder = builder.alloc(f"{kind}[]", _CHUNKS + 1, zeroed=False)
    state = builder.alloc("int", _LENGTHS + _CHUNKS)
    first = builder.alloc(kind, max(_FIRST, most), zeroed=False)
    builder.store(holder, 0, first)
    builder.store(holder, 1, first)
    builder.store(state, _ROOM, max(_FIRST, most))
    return holder, state


def _turn(builder: Builder, holder: Value, state: Value, chunk: Atom, room: Atom) -> None:
    """Go on in another chunk."""
    builder.store(holder, 0, builder.load(holder, builder.op("add", chunk, 1)))
    builder.store(state, _CHUNK, chunk)
    builder.store(state, _ROOM, room)


def _push(block: Block, holder: Value, state: Value, moved: Moved) -> None:
    builder = Builder()
    op, length = builder.op, builder.load(state, _LENGTH)
    after, room = op("add", length, len(moved)), builder.load(state, _ROOM)
    with builder.inside(Block([], [0, len(moved)])) as following:
        chunk = builder.load(state, _CHUNK)
        builder.store(state, op("add", chunk, _LENGTHS), length)
        more, longer = op("add", chunk, 1), op("multiply", room, 2)
        with builder.inside(Block()) as first:
            made = builder.alloc(moved[0][0].type, longer, zeroed=False)
            builder.store(holder, op("add", more, 1), made)
            builder.store(state, _LAST, more)
        builder.branch(op("equal", chunk, builder.load(state, _LAST)), first, Block())
        _turn(builder, holder, state, more, longer)
    full = op("greater", after, room)
    start, after = builder.branch(full, following, Block([], [length, after]))
    row = builder.load(holder, 0)
    for j, (x, _) in enumerate(moved):
        builder.store(row, op("add", start, j), x)
    builder.store(state, _LENGTH, after)
    block.ops += builder.block.ops


def _pop(block: Block, holder: Value, state: Value, moved: Moved) -> None:
    builder = Builder()
    op, length = builder.op, builder.load(state, _LENGTH)
    with builder.inside(Block()) as before:
        chunk = op("subtract", builder.load(state, _CHUNK), 1)
        _turn(builder, holder, state, chunk, op("floor_divide", builder.load(state, _ROOM), 2))
        before.yields.append(builder.load(state, op("add", chunk, _LENGTHS)))
    (end,) = builder.branch(op("equal", length, 0), before, Block([], [length]))
    start, row = op("subtract", end, len(moved)), builder.load(holder, 0)
    for j, (_, back) in enumerate(moved):
        back.buffer, back.index = row, op("add", start, j)
        builder.block.ops.append(back)
    builder.store(state, _LENGTH, start)
    block.ops[:0] = builder.block.ops
