"""Memory that is zero until something is added to it, where the first addition covers all of it.

That addition is a store then, and the zeros are not written. It is a nest of loops whose indices
take every place once, or a product of matrices; what a derivative adds to shadows mostly is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zyg.compiler.builder import Builder
from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    For,
    Load,
    Op,
    Program,
    Routine,
    Store,
    Value,
    all_reads,
    blocks_of,
    element_of,
    is_buffer,
    operations,
    outs_of,
)
from zyg.compiler.loops import additions
from zyg.compiler.polynomials import SUMS, Sum, as_extent, of_extents, once, product
from zyg.compiler.splice import Themselves, again


def without_zeros(program: Program) -> tuple[Block, set[Routine]]:
    """The body of a program with fewer zeros; the products in it that are not added to what is
    there, but are all of it.
    """
    if not any(isinstance(op, Alloc) and op.zeroed for op in operations(program.body)):
        return program.body, set()
    body: Block = again(program.body, Themselves())
    writer = _FirstWrites(program.inputs, body)
    writer.block(body)
    return body, writer.products


class _FirstWrites:
    def __init__(self, inputs: Sequence[Value], body: Block) -> None:
        self.known = dict.fromkeys(inputs)  # what was made so far, in order
        self.makers = {op.out: op for op in operations(body) if isinstance(op, Op)}
        self.sum_of = of_extents(self.makers).sum_of
        self.products: set[Routine] = set()

    def block(self, block: Block) -> None:
        """Look at what makes memory in a block."""
        waiting, ops = dict[Value, Alloc](), list[Any]()
        for op in block.ops:
            reads = all_reads(op) if waiting else ()
            for x in [x for x in waiting if x in reads]:
                ops += self.first(waiting.pop(x), op)
            if isinstance(op, Alloc) and op.zeroed and not is_buffer(element_of(op.out.type)):
                waiting[op.out] = op
            for inner in blocks_of(op):
                self.block(inner)
            self.known.update(dict.fromkeys(outs_of(op)))
            ops.append(op)
        block.ops = ops

    def first(self, made: Alloc, op: Any) -> list[Any]:
        """Let what first uses memory store in it, if it covers it; what is to be done before."""
        if isinstance(op, Routine) and op.name == "product" and self.is_result(made, op):
            made.zeroed = False
            self.products.add(op)
        elif isinstance(op, For) and (found := self.covered(made, op)):
            counts, body, first = found
            if (before := self.unless_positive(made, counts)) is not None:
                made.zeroed = False
                if isinstance(first, Load):
                    _store(body, first)
                return before
        return []

    def is_result(self, made: Alloc, op: Routine) -> bool:
        """Whether a product of matrices is what is in memory, by rows or by columns."""
        m, n, *_, start, row, column = op.args
        if made.out in op.args[:11] or start != 0:
            return False
        rows, columns = self.sum_of(m), self.sum_of(n)
        if rows is None or columns is None:
            return False
        by_rows = column == 1 and (m == 1 or self.sum_of(row) == columns)
        by_columns = row == 1 and (n == 1 or self.sum_of(column) == rows)
        return (by_rows or by_columns) and product(rows, columns) == self.sum_of(made.size)

    def covered(self, made: Alloc, loop: For) -> tuple[list[Sum], Block, Load | Store] | None:
        """The rounds of nested loops that take every place once, the innermost block, and what in
        it comes first; None where they do not.
        """
        loops, users = list[For](), list[Any]([loop])
        while len(users) == 1 and isinstance(op := users[0], For):
            if made.out in (*op.init, *op.body.yields) or op.apart is not None:
                return None
            loops.append(op)
            users = [x for x in op.body.ops if made.out in all_reads(x)]
        if not all(isinstance(x, (Load, Store)) and x.buffer is made.out for x in users):
            return None
        first, body = users[0], loops[-1].body
        places = [self.sum_of(x.index) for x in users]
        counts = once(first.index, made.size, loops, self.sum_of)
        at_once = first in _added(body) and isinstance(users[1], Store)  # before it is read again
        is_stored = isinstance(first, Store) or at_once
        if counts is None or not is_stored or any(x != places[0] for x in places):
            return None
        used = self.extents([first.index, made.size, *(x for op in loops for x in op.span)])
        return (counts, body, first) if all(x in counts for x in used) else None

    def extents(self, ints: Sequence[Atom]) -> list[Sum | None]:
        """What is taken not to be negative, of which ints are made."""
        found, todo = list[Sum | None](), [*ints]
        for x in todo:
            op = self.makers.get(x) if isinstance(x, Value) else None
            if op is not None and as_extent(op) is not op:
                found.append(self.sum_of(op.args[0]))
            elif op is not None and op.name in SUMS:
                todo += op.args
        return found

    def unless_positive(self, made: Alloc, counts: list[Sum]) -> list[Any] | None:
        """Zeros, where numbers of rounds of which a size is the product may be negative."""
        builder, negative = Builder(), False  # type: Builder, Atom
        alone = len(counts) == 1 and not self.extents([made.size])  # then there is no such memory
        for count in [] if alone else counts:
            if any(x not in self.known for term in count for x in term):
                return None
            total: Atom = 0
            for term, n in count.items():
                factors = [x for x in self.known if x in term for _ in range(term.count(x))]
                total = builder.op("add", total, builder.product([n, *factors]))
            negative = builder.op("logical_or", negative, builder.op("less", total, 0))
        with builder.inside(Block()) as zeros, builder.each(made.size) as place:
            builder.store(made.out, place, 0.0)
        builder.branch(negative, zeros, Block())
        return builder.block.ops


def _added(block: Block) -> dict[Load, Op]:
    """What a block adds to, and the additions."""
    return dict(additions(block, lambda x: x).values())


def _store(block: Block, first: Load) -> None:
    """Let an addition to a zero be what is added."""
    made = _added(block)[first]
    (other,) = (x for x in made.args if x is not first.out)
    name = "negative" if made.name == "subtract" else "constant"
    changed = {first: [], made: [Op(name, (other,), made.out)]}
    block.ops = [x for op in block.ops for x in changed.get(op, [op])]
