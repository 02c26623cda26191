"""Loops that are run again: of a long one, the reverse pass has what some of its rounds began with.

A loop of n rounds becomes one over segments of about sqrt(n) rounds each. Of a segment the forward
sweep keeps what it begins with: the numbers that it carries, and a copy of the memory that was
there before and that it writes to. The reverse pass puts that back, runs the segment again with
tapes for its own rounds alone, and mirrors it. So the tapes of two segments are never there at the
same time: memory for about 2 sqrt(n) rounds, for the work of one more forward sweep.

How many rounds a `while` has, or a loop that breaks, is found by running it once more before, on
copies of the memory that it writes to: then it is a loop over so many rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from zyg.compiler.aliases import Aliases, writes_of
from zyg.compiler.builder import Builder
from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Call,
    For,
    If,
    Load,
    Program,
    Value,
    While,
    blocks_of,
    element_of,
    is_buffer,
    operands_of,
    operations,
    outs_of,
)
from zyg.compiler.loops import trips
from zyg.compiler.splice import again, free_values


def in_segments(program: Program, depth: int) -> Program | None:
    """The program with its loops in segments, and those inside them, so many deep.

    None if no loop that is so deep can be run again.
    """
    memory = Aliases(program)
    pointed = {memory.of(op.out) for inner in memory.programs for op in operations(inner.body)
               if isinstance(op, Load) and is_buffer(op.out.type)}  # fmt: skip
    deepest, body = _Cut(program, memory, pointed).block(program.body, depth)
    return replace(program, body=body) if deepest == depth else None


class _Cut:
    """Puts the loops of a program in segments. `pointed` is memory that is known by its address."""

    def __init__(self, program: Program, memory: Aliases, pointed: set[Value]) -> None:
        self.memory, self.pointed = memory, pointed
        self.sizes = dict(program.sizes)  # of buffers, as far as known

    def block(self, block: Block, depth: int) -> tuple[int, Block]:
        """A block with its loops in segments, and how deep there were any."""
        made, deepest = Block([], block.yields), 0
        for op in block.ops:
            loop = self.counted(op, made) if isinstance(op, While) and depth else op
            if isinstance(op, If):
                deep, sides = zip(*(self.block(b, depth) for b in blocks_of(op)), strict=True)
                deepest = max(deepest, *deep)
                made.ops.append(replace(op, then=sides[0], orelse=sides[1]))
            elif isinstance(loop, For) and depth and self.can_run_again(loop):
                inner, body = self.block(loop.body, depth - 1)
                deepest = max(deepest, inner + 1)
                made.ops += _segments(replace(loop, body=body))
            else:
                made.ops.append(op)
                if isinstance(op, Alloc):
                    self.sizes[op.out] = (op.size,)
        return deepest, made

    def can_run_again(self, loop: For) -> bool:
        """Whether it has an order, and its memory is known by its names: no calls, no pointers."""
        inner = [*operations(loop.body)]
        if loop.independent or any(map(_is_unknown, inner)):
            return False
        used = [*loop.init, *(x for op in inner for x in (*operands_of(op), *outs_of(op)))]
        return not any(
            is_buffer(element_of(x.type)) or self.memory.of(x) in self.pointed
            for x in buffers_in(used)
        )

    def counted(self, loop: While, before: Block) -> For | While:
        """A `while` as a loop over its rounds, which are counted before; itself if it cannot be."""
        body = Block([*loop.test.ops, *loop.body.ops], loop.body.yields)
        made = For(Value("int"), (0, 0, 1), loop.init, loop.params, body, loop.outs, line=loop.line,
                   in_turn=True)  # fmt: skip
        written = {self.memory.of(x) for op in operations(body) for x in writes_of(op)}
        outside = free_values(Block([made]))
        copied = [x for x in buffers_in(outside) if self.memory.of(x) in written]
        in_test = any(writes_of(op) for op in operations(loop.test))
        if in_test or not (self.can_run_again(made) and all(x in self.sizes for x in copied)):
            return loop
        to, other = Builder(), {x: x for x in outside}
        for x in copied:
            other[x] = to.copied(x, to.product(self.sizes[x]))
        run = again(Block([replace(loop)]), other).ops[0]
        count, rounds = Value("int"), Value("int")
        run.init, run.params, run.outs = [*run.init, 0], [*run.params, count], [*run.outs, rounds]
        with to.inside(Block(run.body.ops, run.body.yields)) as block:
            block.yields = [*block.yields, to.op("add", count, 1)]
        run.body = block
        before.ops += [*to.block.ops, run]
        return replace(made, span=(0, rounds, 1))


def _is_unknown(op: Any) -> bool:
    """Whether an operation calls what may have memory; functions with an adjoint have none."""
    return isinstance(op, Call) and op.callee.adjoint is None


def _segments(loop: For) -> list[Any]:
    """The same rounds in a loop over segments."""
    to, (start, _, step) = Builder(), loop.span
    n = trips(to, loop.span)
    root = to.op("int", to.op("ceil", to.op("sqrt", to.op("float", n))))
    length = to.op("maximum", root, 1)
    count = to.op("floor_divide", to.op("add", n, to.op("subtract", length, 1)), length)
    segment = Value("int")
    params, outs = ([Value(p.type) for p in loop.params] for _ in range(2))
    with to.inside(Block([], [*outs])) as body:
        first = to.op("multiply", segment, length)
        last = to.op("minimum", to.op("add", first, length), n)
        ends = [to.op("add", start, to.op("multiply", k, step)) for k in (first, last)]
        span = ends[0], ends[1], step
        body.ops.append(replace(loop, span=span, init=[*params], outs=outs, again=True, apart=None))
    outer = For(segment, (0, count, 1), loop.init, params, body, loop.outs, line=loop.line,
                in_turn=loop.in_turn)  # fmt: skip
    return [*to.block.ops, outer]


def buffers_in(row: Sequence[Atom]) -> list[Value]:
    return [x for x in row if isinstance(x, Value) and is_buffer(x.type)]


def changed(program: Program, memory: Aliases) -> set[Value]:
    """The memory that loops that are run again need the sizes of."""
    loops = (op for op in operations(program.body) if isinstance(op, For) and op.again)
    rows = (row for loop in loops for op in (loop, *operations(loop.body))
            for row in (operands_of(op), outs_of(op)))  # fmt: skip
    return {memory.of(x) for row in rows for x in buffers_in(row)}
