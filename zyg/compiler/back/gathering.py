"""Loops that add to places beside each other, each place written once: what it gets is gathered.

The mirror of a stencil adds what comes of a round to an element and to those beside it. Where these
belong to one stream, places a known number apart, a round may as well add to one place what several
rounds add to it. The first and the last rounds lack such neighbours: what is not added in the loop
is added beside it, one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from zyg.compiler.back.alias_scopes import Pairs, Places, in_scopes, told
from zyg.compiler.back.metadata import TO_THE_END
from zyg.compiler.ir import Atom, Block, For, Load, Op, Store, Value
from zyg.compiler.rewriter import Rewriter

_MOST = 24  # additions beside the loop


class Gathered(NamedTuple):
    """A loop that gathers, what is added beside it, and whether it has the rounds for that.

    Where it has not, or its streams meet, other loops are to add the same.
    """

    loop: For
    pairs: Pairs
    before: list[Op]
    enough: Atom
    beside: list[Any]
    otherwise: list[For]


def gathered(parts: list[For], sums: set[Load], places: Places) -> Gathered | None:
    """Loops by 1, each of which adds to one place, as one; None if that is not to be said.

    `sums` are the loads of what is added to.
    """
    streams: dict[Any, list[tuple[int, For]]] = {}
    for part in parts:
        buffer, index = _place(part)
        terms = places.sum_of(index)
        if terms is None or terms[(part.index,)] != 1:
            return None
        key = buffer, frozenset((t, n) for t, n in terms.items() if t)
        streams.setdefault(key, []).append((terms[()], part))
    rows = [sorted(row, key=lambda x: x[0]) for row in streams.values()]
    wide = max(row[-1][0] - row[0][0] for row in rows)
    if wide * len(parts) > _MOST:
        return None
    start, end, _ = parts[0].span
    before, beside, inside, index = _Moved(), _Moved(), _Moved(), Value("int")
    begin = before.builder.op("add", start, wide)
    enough = before.builder.op("less_equal", begin, end)
    for row in rows:
        late = [(c - row[0][0], part) for c, part in row]
        inside.gather(late, sums, index)
        for n, part in late:
            for k in range(wide - n):
                beside.add(part, beside.builder.op("add", start, k))
            for k in range(n):
                beside.add(part, beside.builder.op("subtract", end, k + 1))
    made = For(index, (begin, end, 1), [], [], inside.builder.block, [])
    rest, more = before.builder.block.ops, beside.builder.block.ops
    new = [op for op in (*rest, *more, *made.body.ops) if isinstance(op, Op)]
    places.makers.update((op.out, op) for op in new)
    pairs = places.pairs(made)
    if len({buffer for buffer, _ in streams}) < len(streams) and not pairs:
        return None
    return Gathered(made, pairs, rest, enough, more, parts)


def _place(part: For) -> tuple[Value, Atom]:
    """Where a part adds."""
    return next((op.buffer, op.index) for op in part.body.ops if isinstance(op, Store))


class _Moved(Rewriter):
    """Operations of rounds, made for others."""

    def atom(self, x: Atom) -> Atom:
        return self.made.get(x, x) if isinstance(x, Value) else x

    def add(self, part: For, round: Atom) -> None:
        """What a part adds in a round."""
        self.made = {part.index: round}
        self.run(part.body)

    def gather(self, row: Sequence[tuple[int, For]], sums: set[Load], round: Value) -> None:
        """Add to the first place of a row what parts add, each so many rounds late."""
        total: Any = None
        for late, part in row:
            self.made = {part.index: self.builder.op("subtract", round, late)}
            for op in part.body.ops:
                if isinstance(op, Store):
                    total = self.atom(op.value)
                elif op in sums and total is not None:
                    self.made[op.out] = total
                else:
                    self.visit(op)
            if not late:
                buffer, index = _place(part)
                place = self.atom(index)
        self.builder.store(buffer, place, total)


def printed(function: Any, gathered: Gathered) -> None:
    """Print a loop that gathers."""
    m, loop = function.m, gathered.loop
    function.run(Block(gathered.before))
    condition = function.atom(gathered.enough)
    if gathered.pairs:
        condition = m.value(f"and i1 {condition}, {told(function, loop, gathered.pairs)}")

    def run(yes: bool) -> None:
        function.run(Block(gathered.beside if yes else gathered.otherwise))
        if yes:
            m.own = function.module.own(m)
            how = TO_THE_END if function.around else ""
            test, rounds = function.counting(loop, "add nsw i64 {}, {}")
            in_scopes(function, gathered.pairs, lambda: function.loop(loop, test, rounds, how))
            m.own = None

    function.twice(loop, condition, run)
