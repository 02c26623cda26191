"""Arrays that rounds of a loop hand on, each making the next: their shadows are handed back.

Of an array that a loop rebinds, `y = y + h * f(y)`, each round has its own. The reverse pass then
needs the shadows of two rounds at a time, and makes them itself: the sweep has none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zyg.compiler.aliases import writes_of
from zyg.compiler.ir import (
    Alloc,
    Block,
    Call,
    CallBack,
    For,
    If,
    Load,
    Op,
    Program,
    Store,
    Value,
    While,
    blocks_of,
    element_of,
    is_buffer,
    operands_of,
    operations,
    outs_of,
)
from zyg.compiler.polynomials import Polynomials


def handed_on(program: Program, same: Callable[[Value], Value]) -> dict[Value, Value]:
    """What loops hand on and give, and what they make for that, with a buffer of the same size:
    one that is made, or an input. `same` says what may be one memory.
    """
    return _Handing(program, same).found()


class _Handing:
    def __init__(self, program: Program, same: Callable[[Value], Value]) -> None:
        self.program, self.same = program, same
        makers = {op.out: op for op in operations(program.body) if isinstance(op, Op)}
        self.ints = Polynomials(makers)
        self.sizes: dict[Value, Any] = {}  # of what is made or given
        self.like: dict[Value, Value] = {}
        self.bad: set[Value] = set()  # classes of memory
        self.places: dict[Value, Block] = {}  # where a buffer is made
        self.begun: dict[Value, int] = {}  # where in that block a loop first begins with it
        self.written: dict[Value, int] = {}  # and where it was last written to

    def found(self) -> dict[Value, Value]:
        program = self.program
        if any(isinstance(op, For) and op.again for op in operations(program.body)):
            return {}
        for x in program.inputs:
            if is_buffer(x.type):
                self.like[x] = x
                self.sizes[x] = self.ints.product_of(program.sizes.get(x, (x,)))
        self.block(program.body, {})
        handed = {self.same(p) for op in operations(program.body) if isinstance(op, (For, While))
                  for p in op.params if is_buffer(p.type)} - self.bad  # fmt: skip
        inputs = {*program.inputs}
        return {x: y for x, y in self.like.items() if self.same(x) in handed and x not in inputs}

    def refuse(self, atoms: Any) -> None:
        self.bad |= {self.same(x) for x in atoms if isinstance(x, Value) and is_buffer(x.type)}

    def block(self, block: Block, around: dict[Block, int]) -> None:
        for place, op in enumerate(block.ops):
            here = {**around, block: place}
            for x in writes_of(op):
                if x in self.places and x not in self.begun:
                    self.written[x] = here[self.places[x]]
                else:
                    self.refuse([x])
            if isinstance(op, Alloc):
                self.places[op.out], self.like[op.out] = block, op.out
                self.sizes[op.out] = self.ints.sum_of(op.size)
                self.refuse([op.out] if is_buffer(element_of(op.out.type)) else [])
            elif isinstance(op, (For, While)):
                self.loop(op, here)
                continue
            elif isinstance(op, If):
                self.refuse(op.outs)
            elif isinstance(op, Store):
                self.refuse([op.value])
            elif isinstance(op, (Load, Call, CallBack)):
                self.refuse(outs_of(op))
                by_rule = isinstance(op, Call) and op.callee.adjoint
                self.refuse(() if by_rule or isinstance(op, Load) else operands_of(op))
            for inner in blocks_of(op):
                self.block(inner, here)

    def loop(self, op: For | While, here: dict[Block, int]) -> None:
        in_threads = isinstance(op, For) and op.apart is not None
        rows = [row for row in zip(op.params, op.init, op.body.yields, op.outs, strict=True)
                if is_buffer(row[0].type)]  # fmt: skip
        for p, start, _, _ in rows:
            if start not in self.like:
                self.refuse([p])
                continue
            self.like[p] = self.like[start]
            if start in self.places:
                place = self.begun.setdefault(start, here[self.places[start]])
                self.refuse([start] if self.written.get(start, -1) >= place else [])
        for inner in blocks_of(op):
            self.block(inner, here)
        fresh = {x for made in op.body.ops if isinstance(made, (Alloc, For, While))
                 for x in outs_of(made)}  # fmt: skip
        for p, _, y, out in rows:
            given = self.like.get(y)  # type: ignore[arg-type]
            root = self.like.get(p)
            once = y in fresh and op.body.yields.count(y) == 1 and not in_threads
            if root and given and once and self.sizes[given] == self.sizes[root] is not None:
                self.like[out] = root
            else:
                self.refuse([p])
