"""A long program in pieces: functions of bounded length, which are called one after the other.

LLVM takes a time that grows with the square of a function's length where there are many loops in
it, as it looks for what holds before each up to the beginning. Numbers that one piece makes and
others use are in a frame of memory meanwhile; buffers, and other numbers, are operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Call,
    For,
    If,
    Load,
    Program,
    Store,
    Value,
    all_reads,
    blocks_of,
    is_buffer,
    operations,
    outs_of,
)
from zyg.compiler.splice import free_values

_LONG = 1500  # operations
_ROUND = 6000  # those of a loop, which may run in lanes as it is
_PIECE = 400
_IN_FRAMES = "float", "float32", "int", "bool"


def in_pieces(program: Program) -> tuple[Program, set[Program]]:
    """The program, in pieces if it is long; the pieces."""
    if _length(program.body.ops) <= _LONG:
        return program, set()
    cutter = _Cutter(program)
    body = cutter.block(program.body)
    rows = [(frame, cutter.counts[kind]) for kind, frame in cutter.frames.items()]
    body.ops[:0] = [Alloc(frame, n, zeroed=False) for frame, n in rows if n]
    return replace(program, body=body), cutter.pieces


def _length(ops: Sequence[Any]) -> int:
    return sum(1 for _ in operations(Block([*ops])))


class _Cutter:
    """Cuts blocks; `counts` says how many numbers are in each of the `frames`."""

    def __init__(self, program: Program) -> None:
        self.pieces: set[Program] = set()
        self.frames = {kind: Value(f"{kind}[]") for kind in _IN_FRAMES}
        self.counts = dict.fromkeys(_IN_FRAMES, 0)
        self.sizes = dict(program.sizes)
        made = [op for op in operations(program.body) if isinstance(op, Alloc)]
        self.sizes.update((op.out, (op.size,)) for op in made)

    def block(self, block: Block, in_loop: bool = False) -> Block:
        """A block that calls pieces."""
        ops = [self.inside(op, in_loop) for op in block.ops]
        last: dict[Value, int] = {}  # where each is read last
        for k, op in enumerate(ops):
            last.update(dict.fromkeys(all_reads(op), k))
        last.update((x, len(ops)) for x in block.yields if isinstance(x, Value))
        made = _Calls(self, last, in_loop)
        start = length = 0
        for k, op in enumerate(ops):
            length += _length([op])
            if length >= _PIECE:
                made.add(ops, start, k + 1)
                start, length = k + 1, 0
        made.keep(ops[start:])
        made.load(block.yields)
        return Block(made.ops, block.yields)

    def inside(self, op: Any, in_loop: bool) -> Any:
        """An operation whose blocks are in pieces if they are long."""
        if isinstance(op, For) and op.apart is not None:  # its rounds are a function already
            return op
        names, most = (("then", "orelse"), _LONG) if isinstance(op, If) else (("body",), _ROUND)
        inner = dict(zip(names, blocks_of(op)[-len(names) :], strict=False))
        long = {name: x for name, x in inner.items() if _length(x.ops) > most}
        loops = in_loop or not isinstance(op, If)
        return replace(op, **{name: self.block(x, loops) for name, x in long.items()})


class _Calls:
    """The operations of a block, some as calls of pieces; `last` says where each value is read.

    In a loop pieces keep no buffers for others: they would be there until the program ends.
    """

    def __init__(self, cutter: _Cutter, last: dict[Value, int], in_loop: bool) -> None:
        self.cutter, self.last, self.in_loop = cutter, last, in_loop
        self.ops: list[Any] = []
        self.loads: dict[Atom, Load] = {}  # of what pieces have made
        self.loaded: set[Load] = set()

    def add(self, ops: Sequence[Any], start: int, stop: int) -> None:
        """Let operations be a piece; but memory that others use is made where it was."""
        inner, before, made = list[Any](), list[Any](), set[Value]()
        for k in range(start, stop):
            op = ops[k]
            outs, reads = outs_of(op), all_reads(op)
            for_others = any(is_buffer(x.type) and self.last.get(x, k) >= stop for x in outs)
            is_made = for_others and isinstance(op, Alloc)
            keeps = for_others or any(x.type.endswith("[][]") for x in {*reads, *outs})
            if is_made and made.isdisjoint(reads):
                before.append(op)
            elif is_made or (keeps and self.in_loop):
                self.add(ops, start, k)
                self.keep([op])
                self.add(ops, k + 1, stop)
                return
            else:
                inner.append(op)
                made.update(outs)
        yielded = [x for op in inner for x in outs_of(op) if self.last.get(x, 0) >= stop]
        self.keep(before)
        if inner:
            self.call(inner, yielded)

    def keep(self, ops: Sequence[Any]) -> None:
        """Let operations stay where they are."""
        for op in ops:
            self.load(all_reads(op))
            self.ops.append(op)

    def load(self, values: Sequence[Atom] | set[Value]) -> None:
        """Have at hand what pieces have made of these."""
        made = {load for x in values if (load := self.loads.get(x)) and load not in self.loaded}
        self.ops += sorted(made, key=lambda load: (load.buffer.type, load.index))
        self.loaded |= made

    def call(self, ops: list[Any], yielded: list[Value]) -> None:
        """Call a piece, which puts what it yields into frames."""
        cutter = self.cutter
        taken = free_values(Block(ops))
        loads = [self.loads[x] for x in taken if x in self.loads]
        stores, outs = [], [x for x in yielded if x.type not in _IN_FRAMES]
        for x in [x for x in yielded if x.type in _IN_FRAMES]:
            frame, k = cutter.frames[x.type], cutter.counts[x.type]
            cutter.counts[x.type] += 1
            stores.append(Store(frame, k, x))
            self.loads[x] = Load(frame, k, x)
        inputs = [x for x in taken if x not in self.loads]
        inputs += dict.fromkeys([*(op.buffer for op in loads), *(op.buffer for op in stores)])
        known = {x: cutter.sizes[x] for x in inputs if x in cutter.sizes}
        sizes = {x: size for x, size in known.items() if _are_known(size, inputs)}
        made = Program(
            "piece", inputs, Block([*loads, *ops, *stores], [*outs]), sizes=sizes, mirrors=True
        )
        cutter.pieces.add(made)
        self.ops.append(Call(made, (*inputs,), outs))


def _are_known(size: Sequence[Atom], inputs: Sequence[Value]) -> bool:
    return all(not isinstance(n, Value) or n in inputs for n in size)
