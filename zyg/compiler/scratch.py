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

_SIMPLE = Op, Alloc, Load, Store, Check, If, For


def give_rounds_their_own(program: Program) -> None:
    """Let loops make the memory in whose place each of their rounds may have its own."""
    ops = [*operations(program.body)]
    allocs = {op.out: op for op in ops if isinstance(op, Alloc)}
    if not allocs or not any(isinstance(op, For) for op in ops):
        return
    uses = Counter(x for x in used(program.body) if x in allocs)
    makers = {op.out: op for op in ops if isinstance(op, Op)}
    moved: set[Alloc] = set()

    def visit(block: Block) -> None:
        for op in block.ops:
            for inner in blocks_of(op):
                visit(inner)
            if isinstance(op, For) and (found := _scratch(op, allocs, uses, makers)):
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
    loop: For, allocs: dict[Value, Alloc], uses: Counter[Value], makers: dict[Value, Op]
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
    found = [x for x in found if x.out in stored and _fills(loop.body, x, makers)]
    return found if stored <= own | {x.out for x in found} else []


def _fills(block: Block, alloc: Alloc, makers: dict[Value, Op]) -> bool:
    """Whether a block writes all of a buffer before it reads any of it."""
    known: set[Atom] = set()  # places that have been written one by one
    for op in block.ops:
        if isinstance(op, Store) and op.buffer is alloc.out and not isinstance(op.index, Value):
            known.add(op.index)
            if isinstance(alloc.size, int) and known >= {*range(alloc.size)}:
                return True
        elif _mentions(op, alloc.out):
            return _nest_fills(op, alloc, makers)
    return False


def _nest_fills(nest: Any, alloc: Alloc, makers: dict[Value, Op]) -> bool:
    """Whether a nest of loops writes each place of a buffer, and reads what it has just written."""
    indices, counts, op = [], [], nest
    while isinstance(op, For):
        if (op.span[0], op.span[2]) != (0, 1):
            return False
        indices.append(op.index)
        counts.append(_count(op.span[1], makers))
        op = next((x for x in op.body.ops if _mentions(x, alloc.out)), None)
    if not isinstance(op, Store) or op.buffer is not alloc.out:
        return False
    inside = operations(Block([nest]))
    if any(isinstance(x, Load) and x.buffer is alloc.out and x.index is not op.index
           for x in inside):  # fmt: skip
        return False
    return _factors(alloc.size, len(counts), makers) in (counts, counts[::-1]) and _is_row(
        op.index, indices, counts, makers
    )


def _is_row(x: Atom, indices: list[Value], counts: list[Atom], makers: dict[Value, Op]) -> bool:
    """Whether an index is the number of a round of a nest."""
    if len(indices) == 1:
        return x is indices[0]
    op = makers.get(x) if isinstance(x, Value) else None
    if op is None or op.name != "add" or indices[-1] not in op.args:
        return False
    row = op.args[1 - op.args.index(indices[-1])]
    made = makers.get(row) if isinstance(row, Value) else None
    if made is None or made.name != "multiply":
        return False
    pairs = made.args, made.args[::-1]
    return any(
        _count(n, makers) == counts[-1] and _is_row(y, indices[:-1], counts[:-1], makers)
        for y, n in pairs
    )


def _factors(x: Atom, n: int, makers: dict[Value, Op]) -> list[Atom]:
    """A size as so many factors."""
    op = makers.get(x) if isinstance(x, Value) else None
    if n > 1 and op is not None and op.name == "multiply":
        return [*_factors(op.args[0], n - 1, makers), _count(op.args[1], makers)]
    return [_count(x, makers)]


def _count(x: Atom, makers: dict[Value, Op]) -> Atom:
    """What says how many rounds there are up to an int."""
    op = makers.get(x) if isinstance(x, Value) else None
    if op is not None and op.name == "maximum" and op.args[1] == 0:
        return _count(op.args[0], makers)
    return x


def _mentions(op: Any, buffer: Value) -> bool:
    return buffer in operands_of(op) or any(buffer in used(block) for block in blocks_of(op))
