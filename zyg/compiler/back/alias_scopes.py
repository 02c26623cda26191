"""What a loop reads and writes of a buffer, as streams that may be told apart before it.

An index that moves with the loop's by the same step each round makes a *stream*: those that differ
by a known number belong to one. Between its first place and its last a stream is, so that two are
apart if these are. LLVM then keeps in registers what rounds hand on through memory, and sums at one
place; it cannot know by itself, as where streams are is told by shapes and by loops around.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from zyg.compiler.back.metadata import FIRST_SCOPE
from zyg.compiler.ir import Atom, Block, Check, For, If, Load, Op, Store, Value, operations
from zyg.compiler.loops import Rounds
from zyg.compiler.polynomials import Polynomials, Sum, plus

_MOST = 16  # pairs that are to be told apart
_FAR = 2**40
_SIMPLE = Op, Load, Store, Check


@dataclass(eq=False, repr=False)
class Stream:
    """Accesses of a buffer; `index` is that of one, made by `ops` of the loop."""

    index: Atom
    ops: list[Op]
    terms: Sum  # of the index
    low: int = 0  # how far the others begin before it
    high: int = 0
    accesses: list[Load | Store] = field(default_factory=list)

    def take(self, access: Load | Store, start: int) -> None:
        self.accesses.append(access)
        self.low = min(self.low, start - self.terms[()])
        self.high = max(self.high, start - self.terms[()])

    @property
    def is_written(self) -> bool:
        return any(isinstance(x, Store) for x in self.accesses)


Pairs = list[tuple[Stream, Stream]]


def by_place(pairs: Pairs) -> dict[Load | Store, Stream]:
    """The stream of each access that is told apart from others."""
    return {access: s for pair in pairs for s in pair for access in s.accesses}


class Places(Polynomials):
    """The indices of a program, as those of streams."""

    def pairs(self, loop: For) -> Pairs:
        """The streams that a loop has of one buffer, of which one is written.

        None if one meets another, or if one is unclear; all accesses are done in each round.
        """
        if not all(isinstance(op, _SIMPLE) for op in loop.body.ops):
            return []
        rounds = Rounds(loop)
        unknown = rounds.unsteady() - {loop.index}
        found: dict[Value, dict[frozenset[object], Stream] | None] = {}
        for op in loop.body.ops:
            if not isinstance(op, (Load, Store)):
                continue
            streams = found.setdefault(op.buffer, {})
            terms = self.sum_of(op.index)
            if streams is None or terms is None or not _is_affine(terms, loop.index, unknown):
                found[op.buffer] = None
                continue
            key = frozenset((t, n) for t, n in terms.items() if t)
            if key not in streams:
                streams[key] = Stream(op.index, rounds.chain(op.index), terms)
            streams[key].take(op, terms[()])
        rows = [combinations(streams.values(), 2) for streams in found.values() if streams]
        pairs = [(a, b) for row in rows for a, b in row if a.is_written or b.is_written]
        meet = any(_follows(a, b, loop.index) for a, b in pairs)
        return pairs if len(pairs) <= _MOST and not meet else []

    def moves(self, loop: For, x: Atom) -> bool:
        """Whether an index of a loop is another in each round, by a known step."""
        terms = self.sum_of(x)
        if terms is None or not _is_affine(
            terms, loop.index, Rounds(loop).unsteady() - {loop.index}
        ):
            return False
        return [t for t in terms if loop.index in t] == [(loop.index,)]


def unswitched(loop: For) -> tuple[list[Op], Atom, For, For] | None:
    """A loop with one branch, which is the same in all rounds, as two that have none.

    Before them is what makes the condition, and that. None where there is no such branch.
    """
    branches = [op for op in loop.body.ops if isinstance(op, If)]
    rounds = Rounds(loop)
    others = [op for op in operations(loop.body) if not isinstance(op, _SIMPLE)]
    if others != branches or len(branches) != 1 or branches[0].condition in rounds.unsteady():
        return None
    (branch,) = branches
    k = loop.body.ops.index(branch)
    made = []
    for block in (branch.then, branch.orelse):
        pairs = zip(block.yields, branch.outs, strict=True)
        ops = [*block.ops, *(Op("constant", (y,), out) for y, out in pairs)]
        body = Block([*loop.body.ops[:k], *ops, *loop.body.ops[k + 1 :]], loop.body.yields)
        made.append(replace(loop, body=body))
    return rounds.chain(branch.condition), branch.condition, made[0], made[1]


def _follows(a: Stream, b: Stream, index: Value) -> bool:
    """Whether a stream is where another was a round before, or two."""
    step = {tuple(x for x in t if x is not index): n for t, n in a.terms.items() if index in t}
    apart = {t: n for t in {*a.terms, *b.terms} if (n := a.terms[t] - b.terms[t])}
    return any(apart == {t: k * n for t, n in step.items()} for k in (-2, -1, 1, 2))


def _is_affine(terms: Sum, index: Value, unknown: set[Value]) -> bool:
    """Whether an index moves by the same step each round, as far as is known before the loop."""
    far = abs(terms[()]) > _FAR
    return not far and all(t.count(index) < 2 and unknown.isdisjoint(t) for t in terms)


def told(function: Any, loop: For, pairs: Pairs) -> str:
    """Print, before a loop, whether the streams of each pair are apart; this condition.

    What places have in common is left out: as of loops around, so that these ask only once.
    """
    function.known[loop.index] = function.atom(loop.span[0])
    for op in dict.fromkeys(op for pair in pairs for s in pair for op in s.ops):
        function.op(op)  # what the sums are of
    text = _Ends(function, loop)
    apart = "true"
    for a, b in pairs:
        both = {t: n for t, n in a.terms.items() if loop.index not in t and b.terms[t] == n}
        (low, high), (begin, stop) = (text.ends(s, Counter(both)) for s in (a, b))
        before = [text.value(f"icmp slt i64 {x}, {y}") for x, y in ((high, begin), (stop, low))]
        apart = function.m.value(f"and i1 {apart}, {text.value('or i1 ' + ', '.join(before))}")
    return apart


class _Ends:
    """Prints where streams of a loop begin and end; nothing twice."""

    def __init__(self, function: Any, loop: For) -> None:
        self.function, self.index = function, loop.index
        self.known: dict[str, str] = {}
        first, end, step = loop.span
        self.first = function.atom(first)
        self.last = self.value(f"sub i64 {function.atom(end)}, {step}")

    def value(self, text: str) -> str:
        if text not in self.known:
            self.known[text] = self.function.m.value(text)
        return self.known[text]

    def sum(self, terms: Sum, index: str = "") -> str:
        """A sum, at a round."""
        text = str(terms[()])
        for term, n in terms.items():
            product = str(n)
            names = (index if x is self.index else self.function.atom(x) for x in term)
            for factor in sorted(names):
                product = factor if product == "1" else self.value(f"mul i64 {product}, {factor}")
            if term:
                text = product if text == "0" else self.value(f"add i64 {text}, {product}")
        return text

    def ends(self, s: Stream, less: Sum) -> list[str]:
        """The first and the last place of a stream, without some of what they have in common."""
        moving = Counter({t: n for t, n in s.terms.items() if self.index in t})
        rest = self.sum(plus(plus(s.terms, moving, -1), less, -1))
        begin, stop = self.sum(moving, self.first), self.sum(moving, self.last)
        up = self.value(f"icmp slt i64 {begin}, {stop}")
        found = []
        for x, y, beyond in ((begin, stop, s.low), (stop, begin, s.high)):
            at = self.value(f"select i1 {up}, i64 {x}, i64 {y}")
            found.append(self.value(f"add i64 {self.value(f'add i64 {at}, {rest}')}, {beyond}"))
        return found


def scopes(pairs: Pairs, lines: list[str]) -> tuple[list[str], dict[Load | Store, str]]:
    """What is said of each access where the streams are apart; with the names of what is meant.

    `lines` get what this stands for.
    """

    def new(text: str) -> str:
        name = f"!{FIRST_SCOPE + len(lines)}"
        lines.append(f"{name} = {text.replace('SELF', name)}")
        return name

    def row(names: Iterable[str]) -> str:
        return new(f"!{{{', '.join(names)}}}")

    domain = new("distinct !{SELF}")
    streams = [*dict.fromkeys(s for pair in pairs for s in pair)]
    own = {s: new(f"distinct !{{SELF, {domain}}}") for s in streams}
    said: dict[Load | Store, str] = {}
    for s in streams:
        others = [own[b if a is s else a] for a, b in pairs if s in (a, b)]
        mark = f", !alias.scope {row([own[s]])}, !noalias {row(others)}"
        said.update((access, mark) for access in s.accesses)
    return [row([x]) for x in own.values()], said


def in_scopes(text: Any, pairs: Pairs, run: Callable[[], None]) -> None:
    """Print a loop whose streams of each pair are apart."""
    names, text.said = scopes(pairs, text.module.scopes)
    text.m.declared["declare void @llvm.experimental.noalias.scope.decl(metadata)"] = None
    for x in names:
        text.m.line(f"call void @llvm.experimental.noalias.scope.decl(metadata {x})")
    run()
    text.said = {}
