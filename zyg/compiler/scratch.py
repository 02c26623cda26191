"""Memory that a program makes once and fills in each round of a loop: each round has its own.

Where a round writes all of a buffer before it reads it, and nothing reads it after the loop, rounds
hand nothing on in it. A loop that shares nothing else but sums then may run its rounds in any order
and several at once, and have the mirror of each in itself.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Check,
    For,
    If,
    Load,
    Op,
    Program,
    Store,
    Value,
    blocks_of,
    operands_of,
    operations,
)
from zyg.compiler.loops import not_summed, used
from zyg.compiler.polynomials import Polynomials, of_extents, once

_SIMPLE = Op, Alloc, Load, Store, Check, If, For


def give_rounds_their_own(program: Program) -> None:
    """Let loops make the memory in whose place each of their rounds may have its own."""
    ops = [*operations(program.body)]
    allocs = {op.out: op for op in ops if isinstance(op, Alloc)}
    if not allocs or not any(isinstance(op, For) for op in ops):
        return
    uses = Counter(x for x in used(program.body) if x in allocs)
    ints = of_extents({op.out: op for op in ops if isinstance(op, Op)})
    moved: set[Alloc] = set()

    def visit(block: Block) -> None:
        for op in block.ops:
            for inner in blocks_of(op):
                visit(inner)
            if isinstance(op, For) and (found := _scratch(op, allocs, uses, ints)):
                moved.update(found)
                op.body.ops[:0] = [Alloc(x.out, x.size, zeroed=False) for x in found]
                for x in found:
                    del allocs[x.out]

    def remove(block: Block) -> None:
        block.ops = [op for op in block.ops if op not in moved]
        for op in block.ops:
            for inner in blocks_of(op):
                remove(inner)

    visit(program.body)
    if moved:
        remove(program.body)


def _scratch(
    loop: For, allocs: dict[Value, Alloc], uses: Counter[Value], ints: Polynomials
) -> list[Alloc]:
    """The buffers that each round may have for itself; none if rounds share more than sums."""
    inside = [*operations(loop.body)]
    stored = {op.buffer for op in inside if isinstance(op, Store)}
    own = {op.out for op in inside if isinstance(op, Alloc)}
    if not stored - own or not all(isinstance(op, _SIMPLE) for op in inside):
        return []
    rest = [x for x in not_summed(loop) if x.type != "bool"]  # those say of which type a sum is
    if rest or not any(isinstance(op, For) for op in inside):
        return []
    here = Counter(x for x in used(loop.body) if x in allocs)
    found = [allocs[x] for x, n in here.items() if n == uses[x] and x not in own]
    found = [x for x in found if x.out in stored and _fills(loop.body, x, ints)]
    return found if stored <= own | {x.out for x in found} else []


def _fills(block: Block, alloc: Alloc, ints: Polynomials) -> bool:
    """Whether a block writes all of a buffer before it reads any of it."""
    known: set[Atom] = set()  # places that have been written one by one
    for op in block.ops:
        if isinstance(op, Store) and op.buffer is alloc.out and not isinstance(op.index, Value):
            known.add(op.index)
            if isinstance(alloc.size, int) and known >= {*range(alloc.size)}:
                return True
        elif _mentions(op, alloc.out):
            return _nest_fills(op, alloc, ints)
    return False


def _nest_fills(nest: Any, alloc: Alloc, ints: Polynomials) -> bool:
    """Whether a nest of loops writes each place of a buffer, and reads what it has just written."""
    loops, op = list[For](), nest
    while isinstance(op, For):
        loops.append(op)
        op = next((x for x in op.body.ops if _mentions(x, alloc.out)), None)
    if not isinstance(op, Store) or op.buffer is not alloc.out:
        return False
    loads = [x for x in operations(Block([nest])) if isinstance(x, Load) and x.buffer is alloc.out]
    if any(x.index is not op.index for x in loads):
        return False
    return once(op.index, alloc.size, loops, ints.sum_of) is not None


def _mentions(op: Any, buffer: Value) -> bool:
    return buffer in operands_of(op) or any(buffer in used(block) for block in blocks_of(op))
