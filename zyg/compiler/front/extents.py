"""What is known of ints: how large they may be, and that one is not beyond another.

An int is a sum of multiples of others, plus a number (`Linear`). The index of a loop lies between
its bounds, an extent of an array is not negative. By this most indices are seen to be within their
arrays; others are checked, before the loop where that can be, if that has any rounds: a check that
fails there although no round would have failed only means that Python runs the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any, NamedTuple

from zyg.compiler.builder import Builder
from zyg.compiler.ir import Atom, Block, Program, Value, outs_of, same, type_of
from zyg.functions.operations import OPERATIONS

MOST = 2**31  # elements along an axis, and rounds of a loop; Python runs what has more
_SMALL = 31


class Linear(NamedTuple):
    """A sum of multiples of ints, plus a number."""

    terms: dict[Value, int]
    constant: int = 0

    def plus(self, other: Linear, times: int = 1) -> Linear:
        terms = dict(self.terms)
        for x, n in other.terms.items():
            terms[x] = terms.get(x, 0) + n * times
        kept = {x: n for x, n in terms.items() if n}
        return Linear(kept, self.constant + other.constant * times)


@dataclass(eq=False, repr=False)
class Frame:
    """An open block: what it has made, and of which loop it is the body."""

    index: Value | None = None
    params: tuple[Value, ...] = ()
    made: set[Value] = field(default_factory=set)
    seen: int = 0  # operations of the block that are in `made`
    facts: list[Linear] = field(default_factory=list)  # that are not negative


class ExtentBuilder(Builder):
    """A builder that knows its ints."""

    def __init__(self) -> None:
        super().__init__()
        self.bits: dict[Value, int] = {}
        self.linear: dict[Value, Linear] = {}
        self.ranges: dict[Value, tuple[Linear, Linear]] = {}  # of the indices of loops
        self.loose: set[Value] = set()  # indices that need not come to the end of their range
        self.extents: set[Value] = set()  # that are not negative
        self.never_one: set[Value] = set()  # extents of arguments, which say what is one
        self.assuming, self.assumed = True, False  # see `assume`
        self.frames = [Frame()]
        self.base: Any = None  # the open blocks of the program, while one that it calls is made

    @contextmanager
    def inside(self, block: Block) -> Iterator[Block]:
        self.frames.append(Frame())
        try:
            with super().inside(block):
                yield block
        finally:
            self.frames.pop()

    @contextmanager
    def apart(self) -> Iterator[Block]:
        outer, self.frames = self.frames, [Frame()]
        base = self.base
        self.base = base or (self.blocks, self.seen, outer)
        try:
            with super().apart() as block:
                yield block
        finally:
            self.frames, self.base = outer, base

    @contextmanager
    def outermost(self) -> Iterator[None]:
        """While it lasts, operations are those of the program, not of one that it calls."""
        inner = self.blocks, self.seen, self.frames
        if self.base:
            self.blocks, self.seen, self.frames = self.base
        try:
            yield
        finally:
            self.blocks, self.seen, self.frames = inner

    def begins(self, index: Value, span: tuple[Atom, Atom, int], params: list[Value]) -> None:
        """The innermost open block is the body of a loop that runs to its end."""
        frame, (start, stop, step) = self.frames[-1], span
        frame.index, frame.params = index, tuple(params)
        first, last = self.form(start), self.form(stop).plus(Linear({}, -1 if step > 0 else 1))
        self.ranges[index] = (first, last) if step > 0 else (last, first)
        if abs(step) != 1:
            self.loose.add(index)

    def counter(self, start: Atom, stop: Atom) -> Value:
        self.bound(start)
        self.bound(stop)
        counter = Value("int")
        self.bits[counter] = max(self.bits_of(start), self.bits_of(stop))
        return counter

    # How large an int may be

    def bits_of(self, x: Atom) -> int:
        """No int that `x` may be has more bits."""
        if isinstance(x, Value):
            return 1 if x.type == "bool" else self.bits.get(x, 64)
        return int(x).bit_length()

    def bound(self, x: Atom) -> None:
        """Stop where the number of rounds or elements is beyond all that fits in memory."""
        if isinstance(x, Value) and self.bits_of(x) > _SMALL:
            small = self.op("less", x, MOST)
            if x not in self.extents:
                small = self.op("logical_and", small, self.op("greater", x, -MOST))
            self.check(small, "a number of rounds or elements")
            self.bits[x] = _SMALL

    def is_extent(self, n: Atom) -> None:
        """From here on, an int is known to be how many elements an array has along an axis."""
        if isinstance(n, Value):
            self.bits[n] = min(self.bits_of(n), _SMALL)
            form = self.form(n)
            if form.terms == {n: 1}:
                self.extents.add(n)
            elif not self.is_nonnegative(form):
                self.frames[-1].facts.append(form)

    def op(self, name: str, *args: Atom, callee: Program | None = None) -> Atom:
        if (
            name == "multiply"
            and any(same(x, 0) for x in args)
            and ({*map(type_of, args)} == {"int"})
        ):
            return 0
        out = super().op(name, *args, callee=callee)
        fresh = isinstance(out, Value) and out.type == "int" and out not in self.bits
        row = OPERATIONS[name] if fresh else None
        if row and row.bits and all(type_of(x) in ("int", "bool") for x in args):
            bits = row.bits(*map(self.bits_of, args))
            self.bits[out] = min(64, bits)  # type: ignore[index]
            if bits <= 63 and (linear := _LINEAR.get(row.python or name)):
                made = linear(*map(self.form, args))
                if made is not None:
                    self.linear[out] = made  # type: ignore[index]
        return out

    def form(self, x: Atom) -> Linear:
        """An int as a sum of others."""
        if not isinstance(x, Value):
            return Linear({}, int(x))
        return self.linear.get(x) or Linear({x: 1})

    # What is assumed

    def assume(self) -> bool:
        """Whether to take the sizes of arrays for the usual: along axes of unknown length there is
        more than one element, and what slices name by numbers is there. Where that turns out to be
        wrong, the program stops, and another one runs, that has been read without assuming it.
        """
        self.assumed = self.assuming
        return self.assuming

    def may_be_one(self, n: Atom) -> bool:
        """Whether an extent that is not known may turn out to be one."""
        if not isinstance(n, Value) or n in self.never_one or self.is_at_least(n, 2):
            return False
        name, args = self.defined.get(n, ("", ()))
        if name == "multiply":
            return all(x == 1 if not isinstance(x, Value) else self.may_be_one(x) for x in args)
        form = self.form(n)
        of_one = len(form.terms) == 1 and not form.constant
        return not (of_one and self.never_one.issuperset(form.terms))

    # What is not negative

    def demand(self, why: str, name: str, *args: Atom) -> None:
        """Stop where a condition, an operation, is false."""
        self.check(self.op(name, *args), why)

    def demand_at_least(self, x: Atom, least: Atom, why: str) -> None:
        """Stop where an int is less than another; before a loop where that can be."""
        form = self.form(x).plus(self.form(least), -1)
        if self.is_nonnegative(form):
            return
        level = len(self.blocks) - 1
        left: list[tuple[Frame, Linear]] = []  # loops around, and how many rounds each has at most
        while level and (index := self.frames[level].index) is not None:
            if index in self.loose and index in form.terms:
                break  # what may lie beyond all rounds is not demanded
            outer = self._without(form, index)
            if any(self._is_made_in(level, v) for v in outer.terms):
                break
            first, last = self.ranges[index]
            left.append((self.frames[level], last.plus(first, -1).plus(Linear({}, 1))))
            form, level = outer, level - 1
        if self.is_nonnegative(form):
            return
        inner = range(level + 1, len(self.frames))
        left = [
            (frame, rounds) for frame, rounds in left
            if not any(self._is_made_in(k, x) for k in inner for x in rounds.terms)
        ]  # fmt: skip
        with self._at(level):
            left = [
                (frame, rounds) for frame, rounds in left
                if not self.is_nonnegative(rounds.plus(Linear({}, -1)))
                and not self.is_nonnegative(form.plus(rounds))  # it holds without rounds, too
            ]  # fmt: skip
            none = [self.op("less_equal", self.as_atom(rounds), 0) for _, rounds in left]
            self.check(reduce(partial(self.op, "logical_or"), [*none, self._holds(form)]), why)
        known = left[0][0] if left else self.frames[level]  # not of loops without rounds
        known.facts.append(form)

    def is_at_least(self, x: Atom, least: Atom) -> bool:
        """Whether an int is known not to be less than another."""
        return self.is_nonnegative(self.form(x).plus(self.form(least), -1))

    def is_nonnegative(self, form: Linear) -> bool:
        if self._is_sum(form):
            return True
        facts = [fact for frame in self.frames for fact in frame.facts[-8:]]
        if any(self._is_sum(form.plus(fact, -1)) for fact in facts):
            return True
        inner = [x for x in form.terms if x in self.ranges]
        if not inner:
            return False
        last = max(inner, key=[*self.ranges].index)  # of the innermost loop
        return self.is_nonnegative(self._without(form, last))

    def _is_sum(self, form: Linear) -> bool:
        """Whether nothing is subtracted."""
        return form.constant >= 0 and all(
            n > 0 and x in self.extents for x, n in form.terms.items()
        )

    def _without(self, form: Linear, index: Value | None) -> Linear:
        """The least that a form is in any round of a loop."""
        if index is None or index not in form.terms:
            return form
        n = form.terms[index]
        bound = self.ranges[index][0 if n > 0 else 1]
        rest = {x: m for x, m in form.terms.items() if x is not index}
        return Linear(rest, form.constant).plus(bound, n)

    def _is_made_in(self, level: int, x: Value) -> bool:
        frame, ops = self.frames[level], self.blocks[level].ops
        for op in ops[frame.seen :]:
            frame.made.update(outs_of(op))
        frame.seen = len(ops)
        return x in frame.made or x is frame.index or x in frame.params

    @contextmanager
    def at_start(self) -> Iterator[None]:
        """While it lasts, operations are appended to the program's own block."""
        with self._at(0):
            yield

    @contextmanager
    def _at(self, level: int) -> Iterator[None]:
        """While it lasts, operations are appended to an outer block."""
        inner = self.blocks[level + 1 :], self.seen[level + 1 :], self.frames[level + 1 :]
        del self.blocks[level + 1 :], self.seen[level + 1 :], self.frames[level + 1 :]
        try:
            yield
        finally:
            self.blocks += inner[0]
            self.seen += inner[1]
            self.frames += inner[2]

    def _holds(self, form: Linear) -> Atom:
        """Whether a sum is not negative: compares what is added with what is subtracted."""
        constant = form.constant
        more, less = (
            self._sum({x: sign * n for x, n in form.terms.items() if sign * n > 0})
            for sign in (1, -1)
        )
        if constant == -1:
            return self.op("greater", more, less)
        if constant < 0:
            return self.op("greater_equal", more, self.op("add", less, -constant))
        return self.op("greater_equal", self.op("add", more, constant), less)

    def _sum(self, terms: dict[Value, int]) -> Atom:
        total: Atom = 0
        for x, n in terms.items():
            total = self.op("add", total, self.op("multiply", x, n))
        return total

    def as_atom(self, form: Linear) -> Atom:
        """The int that a sum is."""
        total = self._sum(form.terms)
        return self.op("add", total, form.constant) if form.constant else total


def _product(a: Linear, b: Linear) -> Linear | None:
    if a.terms and b.terms:
        return None
    times, of = (a.constant, b) if not a.terms else (b.constant, a)
    return Linear({}).plus(of, times)


_LINEAR: dict[str, Callable[..., Linear | None]] = {
    "+": lambda a, b: a.plus(b), "-": lambda a, b: a.plus(b, -1), "*": _product,
    "-x": lambda a: Linear({}).plus(a, -1), "constant": lambda a: a,
}  # fmt: skip
