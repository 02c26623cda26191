"""Loops over `prange`: rounds that hand nothing on but sums, in chunks that depend on n alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zyg.compiler.builder import Builder
from zyg.compiler.front.places import Places
from zyg.compiler.ir import (
    Atom,
    Block,
    Call,
    Check,
    For,
    If,
    Op,
    Program,
    Routine,
    Value,
    While,
    blocks_of,
    operations,
)
from zyg.compiler.loops import overflow_checks, trips
from zyg.compiler.splice import uses

_MOST = 64  # chunks
_LONG, _ROUNDS = 20.0, 16.0  # operations that a long one takes, rounds that are not known


def prange(*bounds: Any) -> range:
    """`range`, of a loop whose rounds do not depend on each other.

    In a function compiled with ``parallel=True`` the rounds of a loop that is long enough run in as
    many threads as ``zyg.config(workers=)`` allows, and so do those of its derivatives. They may
    add to variables, and write to arrays in different places: no round reads or writes what another
    one writes. Sums are those of up to 64 chunks, added in order, and so is what shared arrays get
    in the reverse pass: the same bits for any number of threads. A variable that goes from one
    round to the next in another way is refused by name, and so is an array in which every round
    writes to the same place. Anywhere else it is `range`.

    Parameters
    ----------
    *bounds : int
        As for `range`.

    Returns
    -------
    range

    Raises
    ------
    TypeError, ValueError
        What `range` raises.

    Examples
    --------
    >>> import zyg
    >>> @zyg.compile
    ... def squares(x):
    ...     s = 0.0
    ...     for k in zyg.prange(len(x)):
    ...         s += x[k] ** 2
    ...     return s
    >>> import numpy as np
    >>> float(squares(np.ones(5)))
    5.0

    """
    return range(*bounds)


def in_chunks(loop: For, threads: bool) -> list[Any]:
    """The same loop of sums, chunk by chunk, each in any thread."""
    if not threads and all(y is p for p, y in zip(loop.params, loop.body.yields, strict=True)):
        return [loop]
    to, (start, _, step) = Builder(), loop.span
    n, chunk = trips(to, loop.span), Value("int")
    count = to.op("minimum", n, _MOST)
    params, parts = ([Value(p.type) for p in loop.params] for _ in range(2))
    with to.inside(Block()) as body:
        ends = []
        for k in (chunk, to.op("add", chunk, 1)):
            place = to.op("floor_divide", to.op("multiply", k, n), count)
            ends.append(to.op("add", start, to.op("multiply", place, step)))
        kept = [y is p for p, y in zip(loop.params, loop.body.yields, strict=True)]
        init = [p if same else to.to(p.type, 0) for p, same in zip(params, kept, strict=True)]
        inner = replace(loop, span=(ends[0], ends[1], step), init=init, outs=parts, line="")
        body.ops.append(inner)
        rows = [*zip(params, parts, kept, strict=True)]
        body.yields = [part if same else to.op("add", p, part) for p, part, same in rows]
        for p, part, same in rows if overflow_checks(loop.body) else ():
            if not same and p.type == "int":
                fits = to.op("logical_not", to.op("add_overflows", p, part))
                body.ops.append(Check(fits, "an int beyond 64 bits"))
    span = 0, count, 1
    outer = For(chunk, span, loop.init, params, body, loop.outs, line=loop.line, in_turn=True)
    if threads:
        outer.apart, outer.work = [], work(to, loop)
        in_one_thread(loop.body)  # one loop of a nest is enough
    return [*to.block.ops, outer]


def in_one_thread(body: Block) -> None:
    """Let no loop run in threads."""
    for op in operations(body):
        if isinstance(op, For):
            op.apart, op.work = None, 0.0


def tell_apart(program: Program) -> None:
    """Say of loops in threads which memory their rounds use each at places of its own."""

    def visit(block: Block, around: list[Block]) -> None:
        around = [*around, block]
        for op in block.ops:
            for inner in blocks_of(op):
                visit(inner, around)
            if isinstance(op, For) and op.apart is not None:
                (rounds,) = (x for x in op.body.ops if isinstance(x, For))
                op.apart = Places(rounds, [*around, op.body]).apart()

    visit(program.body, [])


def work(to: Builder, loop: For) -> Atom:
    """About how many operations a loop is, as far as that is known before it."""
    made = uses(Block([loop]))[1]

    def of_block(block: Block) -> Atom:
        total: Atom = 0.0
        for op in block.ops:
            total = to.op("add", total, of_op(op))
        return total

    def of_op(op: Any) -> Atom:
        if isinstance(op, Op):
            return float(op.cost)
        if isinstance(op, (For, While)):
            rounds: Atom = _ROUNDS
            if isinstance(op, For) and made.isdisjoint(op.span):
                rounds = to.op("float", trips(to, op.span))
            return to.op("multiply", rounds, of_block(op.body))
        if isinstance(op, If):
            return to.op("maximum", *map(of_block, blocks_of(op)))
        return _LONG if isinstance(op, (Routine, Call)) else 1.0

    n = to.op("float", trips(to, loop.span))
    return to.op("multiply", n, of_block(loop.body))
