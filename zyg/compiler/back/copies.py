"""A program without copies of memory that nothing writes to any more.

The cotangent of a sum is that of each of its terms, and each has a copy, as more may be added to
it. Where nothing is, all of them are one memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from zyg.compiler.aliases import Aliases, writes_of
from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    For,
    Load,
    Op,
    Program,
    Store,
    Value,
    all_reads,
    blocks_of,
    element_of,
    is_buffer,
    operands_of,
    operations,
    prune,
    type_of,
)
from zyg.compiler.polynomials import Polynomials
from zyg.compiler.splice import Themselves, again


class _Copy(NamedTuple):
    """What a loop stores in all of a fresh buffer: the elements of another."""

    made: Alloc
    source: Value
    store: Store


def without_copies(program: Program) -> Program:
    """The program in which what is copied, and not written from then on, is used itself."""
    loops = [op for op in operations(program.body) if isinstance(op, For)]
    if not any(map(_copied, loops)) or any(loop.apart is not None for loop in loops):
        return program
    made = replace(program, body=again(program.body, Themselves()))
    copies = _of_still_memory(made, [*_copies(made)])
    if not copies:
        return program
    instead = {x.made.out: x.source for x in copies}
    for x in instead:
        while instead[x] in instead:  # a copy of a copy
            instead[x] = instead[instead[x]]
    gone = {op for x in copies for op in (x.made, x.store)}
    for block in _blocks(made.body):
        block.ops = [op for op in block.ops if op not in gone]
    made.body = again(made.body, Themselves(instead))
    prune(made.body)
    return made


def _blocks(block: Block) -> list[Block]:
    return [block, *(inner for op in operations(block) for inner in blocks_of(op))]


def _copied(loop: For) -> list[tuple[Store, Value, bool]]:
    """What a loop stores at its index that it loads there: the source, and whether it adds it."""
    ops, index = loop.body.ops, loop.index
    if loop.params or not all(isinstance(op, (Op, Load, Store)) for op in ops):
        return []
    loads = {op.out: op.buffer for op in ops if isinstance(op, Load) and op.index is index}
    found = []
    for store in [op for op in ops if isinstance(op, Store) and op.index is index]:
        own = [op for op in ops if isinstance(op, (Load, Store)) and op.buffer is store.buffer]
        x: Any = store.value
        if own != [store]:
            was = own[0].out if isinstance(own[0], Load) else None
            made, *users = [op for op in ops if not {was, x}.isdisjoint(operands_of(op))]
            is_sum = isinstance(made, Op) and made.name == "add" and made.out is x
            if len(own) > 2 or was not in loads or not is_sum or users != [store]:
                continue
            (x,) = {*made.args} - {was} or {was}
        if x in loads and loads[x] is not store.buffer:
            found.append((store, loads[x], own != [store]))
    return found


def _copies(program: Program) -> Iterator[_Copy]:
    """The copies of all of a buffer to one that nothing has used before."""
    makers = {op.out: op for op in operations(program.body) if isinstance(op, Op)}
    ints = Polynomials(makers)

    def covers(loop: For, size: Atom) -> bool:
        first, end, step = loop.span
        last = makers.get(first) if isinstance(first, Value) else None
        if (end, step) == (-1, -1) and last and last.name == "subtract" and last.args[1] == 1:
            end = last.args[0]
            most = makers.get(end) if isinstance(end, Value) else None
            end = most.args[0] if most and most.name == "maximum" and most.args[1] == 0 else end
        elif (first, step) != (0, 1):
            return False
        count = ints.sum_of(end)
        return count is not None and count == ints.sum_of(size)

    for block in _blocks(program.body):
        fresh: dict[Value, Alloc] = {}
        for op in block.ops:
            for store, source, adds in _copied(op) if fresh and isinstance(op, For) else ():
                made = fresh.get(store.buffer)
                if made and (made.zeroed or not adds) and covers(op, made.size):
                    yield _Copy(made, source, store)
            for x in all_reads(op).intersection(fresh) if fresh else ():
                del fresh[x]
            if isinstance(op, Alloc) and not (op.tape or is_buffer(element_of(op.out.type))):
                fresh[op.out] = op


def _of_still_memory(program: Program, copies: list[_Copy]) -> list[_Copy]:
    """Those of memory that is the program's own, and that is not written from the first copy on."""
    memory, joined = Aliases(program), dict[Value, Value]()

    def of(x: Value) -> Value:
        x = memory.of(x)
        while x in joined:
            x = joined[x]
        return x

    for one in copies:
        if (a := of(one.made.out)) is not (b := of(one.source)):
            joined[b] = a
    stores = {one.store for one in copies}
    first, last = dict[Value, int](), dict[Value, int]()
    atoms: list[Atom] = [*program.inputs, *program.outputs]
    for k, outer in enumerate(program.body.ops):
        for op in operations(Block([outer])):
            for x in writes_of(op):
                first.setdefault(of(x), k) if op in stores else last.update({of(x): k})
            atoms += [op.out] if isinstance(op, Load) else []  # buffers in buffers
            atoms += [op.value] if isinstance(op, Store) else []
    others = {of(x) for x in atoms if isinstance(x, Value) and is_buffer(type_of(x))}

    def is_still(one: _Copy) -> bool:
        group = of(one.made.out)
        return group not in others and last.get(group, -1) < first[group]

    return [*filter(is_still, copies)]
