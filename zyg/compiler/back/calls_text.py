"""LLVM text of calls: what a function may do at once is done where it is called.

A function that calls itself ends it by a branch that does little. Half of all calls and more are
such ends, where it calls itself more than once, and what they do takes less than a call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zyg.compiler.back.c_abi import result_type
from zyg.compiler.back.memory_text import Memory
from zyg.compiler.ir import Block, Call, If, Op, Value, blocks_of, is_buffer
from zyg.compiler.splice import again

_FEW = 8  # operations, which take less time than a call


class Calls(Memory):
    """Prints calls of functions."""

    symbol: str
    entered: Any = None  # the call that is left where a function does not end at once

    def call(self, op: Call) -> None:
        m, made = self.m, result_type(op.callee)
        less = m.value("sub i64 %depth, 1")
        if op is not self.entered:
            if not op.callee.mirrors:
                self.demand(m.value(f"icmp sgt i64 {less}, 0"), "calls that go too deep")
            if (end := _short_end(op)) is not None:
                block, self.entered = _by_short_end(op, end)
                self.run(block)
                return
        pairs = zip(op.args, op.callee.inputs, strict=True)
        given = ["ptr %arena", f"i64 {less}", *(self.typed(x, p.type) for x, p in pairs)]
        name = self.module.function_of(op.callee)
        self.module.calls.setdefault(self.symbol, set()).add(name)
        y = m.value(f"call {made} {name}({', '.join(given)})")
        status = m.value(f"extractvalue {made} {y}, 0")
        self.demand(m.value(f"icmp eq i32 {status}, 0"), status=status)
        for k, out in enumerate(op.outs):
            m.line(f"{self.name(out)} = extractvalue {made} {y}, {k + 1}")


def _short_end(op: Call) -> Block | None:
    """The side of the branch with which a function begins that soon ends it, if there is one."""
    *before, last = op.callee.body.ops or [None]
    if not isinstance(last, If) or any(is_buffer(x.type) for x in op.outs):
        return None
    ways = [(side, [*before, *side.ops]) for side in blocks_of(last)]
    short = [s for s, ops in ways if len(ops) <= _FEW and all(isinstance(x, Op) for x in ops)]
    return short[0] if len(short) == 1 else None


def _by_short_end(op: Call, end: Block) -> tuple[Block, Call]:
    """What a function does that has such an end, and the call for where it does not end so."""
    *before, last = op.callee.body.ops
    given = dict(zip(last.outs, end.yields, strict=True))
    ends = Block(end.ops, [given.get(y, y) for y in op.callee.outputs])
    parts = [Block(before, [last.condition]), ends]
    head, here = again(parts, dict(zip(op.callee.inputs, op.args, strict=True)))
    call = replace(op, outs=[Value(x.type) for x in op.outs])
    sides = [here, Block([call], [*call.outs])]
    then, orelse = sides if end is last.then else reversed(sides)
    return Block([*head.ops, If(head.yields[0], then, orelse, op.outs)]), call
