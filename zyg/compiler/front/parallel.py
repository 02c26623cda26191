"""Loops over `prange`: rounds that hand nothing on but sums, in chunks that depend on n alone."""

from __future__ import annotations

from typing import Any

from zyg.compiler.ir import Block, For, Value
from zyg.compiler.record import Builder
from zyg.compiler.rounds import trips

_MOST = 64  # chunks


def prange(*bounds: Any) -> range:
    """`range`, of a loop whose rounds do not depend on each other.

    In a compiled function such a loop may add to variables, and write to arrays in different
    places; its sums are those of up to 64 chunks, added in order, and so do not depend on how many
    threads there are. Any other variable that goes from one round to the next is refused by name.
    At present all rounds run on one thread. Raises TypeError and ValueError as `range` does.

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


def in_chunks(loop: For) -> list[Any]:
    """The same loop of sums, chunk by chunk."""
    if all(y is p for p, y in zip(loop.params, loop.body.yields, strict=True)):
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
        inner = For(loop.index, (ends[0], ends[1], step), init, loop.params, loop.body, parts)
        body.ops.append(inner)
        body.yields = [
            part if same else to.op("add", p, part)
            for p, part, same in zip(params, parts, kept, strict=True)
        ]
    outer = For(chunk, (0, count, 1), loop.init, params, body, loop.outs, line=loop.line)
    return [*to.block.ops, outer]
