"""Going through things: loops, which may be left early."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from zyg.compiler.front.joins import FLAGS
from zyg.compiler.front.mixed import ComplexNumber, Mixed, is_scalar, kinds_of, one_of_two
from zyg.compiler.front.sequences import Sequence, Sequences
from zyg.compiler.front.structures import Choice, Ref
from zyg.compiler.front.ways import Dead, Side
from zyg.compiler.ir import (
    Alloc,
    Block,
    Call,
    For,
    Op,
    Store,
    While,
    operations,
    type_of,
)
from zyg.compiler.numbers import Number, atom_of

_LEFT = FLAGS[1]
Visit = Callable[[Any], None]


class _Changed(Exception):  # noqa: N818 - an answer, which never leaves this file
    """To look at something changes something."""


@dataclass
class Leave:
    """How a loop is left: by flags, which are variables; `unless` runs what follows if it is not.

    A loop that only looks for something may go on after that, where nobody notices (`looks`).
    """

    flags: list[tuple[Ref, str]]
    stopped: Callable[[], Any]
    unless: Callable[[Any, Callable[[], None]], None]
    looks: bool = False


@dataclass
class Cell:
    """A variable of the reader's own."""

    reader: Any
    ref: Ref

    @property
    def value(self) -> Any:
        return self.reader.heap[self.ref][""]

    @value.setter
    def value(self, x: Any) -> None:
        self.reader.heap[self.ref][""] = self.reader.settled(x)


def writes(block: Block) -> bool:
    """Whether a block may write to memory that is not its own."""
    inside = [*operations(block)]
    own = {op.out for op in inside if isinstance(op, Alloc)}
    return any(isinstance(op, Call) or (isinstance(op, Store) and op.buffer not in own)
               for op in inside)  # fmt: skip


class Going(Sequences):
    """Loops over what has elements."""

    @contextmanager
    def cell(self, x: Any) -> Iterator[Cell]:
        """A variable that is there for a while."""
        ref = self.heap.new("variables", {"": x})
        yield Cell(self, ref)
        self.heap.pop(ref, None)

    # Conditions

    def is_light(self, side: Side, but: Ref | None = None) -> bool:
        """Whether a way is little work without effects, which may be done where it is not taken."""
        pure = all(isinstance(op, Op) for op in side.block.ops)
        return pure and not side.dead and side.heap.same_as(self.heap, but)

    def either(self, first: Number, then: Callable[[], Any], both: bool) -> Any:
        """``first and then`` or ``first or then``; both at once where that is little work."""
        condition = self.builder.to("bool", first.atom)
        side = self.side(then, condition, both)
        second = side.value
        known_truth = is_scalar(second) and not isinstance(second, (Mixed, ComplexNumber))
        if known_truth and self.is_light(side):
            self.builder.block.ops.extend(side.block.ops)
            one, other = (second, first) if both else (first, second)
            if self.whole and kinds_of(first) != kinds_of(second):
                return one_of_two(self.builder, condition, one, other)
            if type_of(first.atom) == type_of(atom_of(second)) == "bool":
                return first.record("logical_and" if both else "logical_or", first, second)
            return first.record("select", first, one, other)
        left = self.side(lambda: first, condition, not both)
        return self.joined(condition, (side, left) if both else (left, side))

    def if_so(
        self, test: Any, then: Callable[[], None], orelse: Callable[[], None] = lambda: None
    ) -> None:
        """What is done for its effects alone: nothing, where it has none."""
        if not isinstance(test := self.truth(test), Number):
            then() if test else orelse()
            return
        condition = self.builder.to("bool", test.atom)
        sides = self.side(then, condition, True), self.side(orelse, condition, False)
        if not all(map(self.is_light, sides)):
            self.joined(condition, sides)

    def any_of(self, a: Any, b: Any) -> Any:
        """Whether one of two conditions holds."""
        return self.truth(self.index(self.builder.op("logical_or", atom_of(a), atom_of(b))))

    # Leaving

    @contextmanager
    def looking(self) -> Iterator[Leave]:
        """How a loop is left that looks for something: by a flag of the reader's own."""
        ref = self.heap.new("variables", {_LEFT: False})

        def unless(stop: Number, run: Callable[[], None]) -> None:
            condition = self.builder.to("bool", stop.atom)
            side = self.side(run, condition, False)
            if self.is_light(side, ref):
                self.builder.block.ops.extend(side.block.ops)
                self.heap[ref][_LEFT] = self.any_of(stop, side.heap[ref][_LEFT])
                return
            other = self.side(lambda: self.leave(found), condition, True)
            self.joined(condition, (other, side))

        found = Leave([(ref, _LEFT)], lambda: self.truth(self.heap[ref][_LEFT]), unless, True)
        yield found
        self.heap.pop(ref, None)

    def leave(self, by: Leave, test: Any = True) -> None:
        """Leave a loop, if a test says so."""
        ((ref, key),) = by.flags
        self.heap[ref][key] = self.any_of(self.heap[ref][key], test)

    def left_by(self, one: Leave, other: Leave | None) -> Leave:
        """What is left by either."""
        both = [one, *([other] if other else [])]

        def stopped() -> Any:
            found = [x.stopped() for x in both]
            return True if any(x is True for x in found) else self.any_of(found[0], found[-1])

        def unless(stop: Number, run: Callable[[], None]) -> None:
            self.choose(stop, lambda: None, run)

        return Leave([flag for x in both for flag in x.flags], stopped, unless)

    # Loops

    def each(self, x: Any, visit: Visit, leave: Leave | None = None, **how: Any) -> None:
        """Do something with each element, until the loop is left."""
        if isinstance(x, Choice):
            self.over(x, lambda one: self.each(one, visit, leave, **how))
            return
        held = len(self.roots)
        self.roots.append(x)
        self.through(self.opened(x), visit, leave, **how)
        del self.roots[held:]

    def through(self, source: Any, visit: Visit, leave: Leave | None = None, **how: Any) -> None:
        """Go through what was opened."""
        if not isinstance(source, Sequence):
            source(visit, leave, **how)
        elif source.known:
            self._one_by_one(source, visit, leave)
        elif leave is None:
            self.count(source, lambda k: visit(source.of_counter(k)), **how)
            self.go_on(source)
        elif not leave.looks or not self._looked(source, visit, leave):
            self._counted(source, visit, leave, **how)

    def _one_by_one(
        self, source: Sequence, visit: Visit, leave: Leave | None, first: int = 0
    ) -> None:
        for k in range(first, source.length):
            stop = leave.stopped() if leave and leave.looks else False
            if stop is False:
                visit(source.at(k))
            elif stop is not True and leave:
                leave.unless(stop, lambda k=k: visit(source.at(k)))  # type: ignore[misc]
            stop = leave.stopped() if leave else False
            if stop is True:
                return
            if stop is not False and leave and not leave.looks:
                leave.unless(stop, partial(self._one_by_one, source, visit, leave, k + 1))
                return
        self.go_on(source, leave.stopped() if leave else False)

    def count(self, rounds: Sequence, visit: Visit, **how: Any) -> None:
        """A loop over all rounds; what is done with the counter of each."""
        start, stop, step = rounds.rounds
        span = atom_of(start), atom_of(stop), step
        counter = self.builder.counter(*span[:2])

        def finish(params: Any, init: Any, tests: Any, block: Any, outs: Any) -> For:
            return For(counter, span, init, params, block, outs)

        runs = isinstance(rounds.length, int) and rounds.length > 0
        try:
            self.loop(
                lambda: visit(self.index(counter)), finish, runs=runs,
                begins=lambda params: self.builder.begins(counter, span, params),
                one_kind=rounds.independent, **how,
            )  # fmt: skip
        except Dead as dead:
            none = self.builder.op("less_equal", atom_of(rounds.length), 0)
            self.demand(self.builder.wrap(none), dead.why)

    def _looked(self, source: Sequence, visit: Visit, leave: Leave) -> bool:
        """Look at all, though Python may stop before; False if that would be noticed."""
        ((own, _),) = leave.flags
        heap = self.heap

        def look(k: Any) -> None:
            before = self.heap.fork()
            visit(source.of_counter(k))
            if not self.heap.same_as(before, own) or writes(self.builder.block):
                raise _Changed

        try:
            self.count(source, look)
        except _Changed:
            self.heap = heap
            return False
        self.go_on(source, leave.stopped())
        return True

    def _counted(self, source: Sequence, visit: Visit, leave: Leave, **how: Any) -> None:
        """A loop over rounds that are counted, which may be left."""
        start, stop, step = source.rounds
        if isinstance(stop, Number):  # which the index may go beyond
            self.builder.in_range("add", stop.atom, step)
        counter = self.heap.new("variables", {"": self.flat(start)})

        def test() -> Any:
            return self.less(*(self.heap[counter][""], stop)[:: 1 if step > 0 else -1])

        def go() -> None:
            k = self.heap[counter][""]
            visit(source.of_counter(k))
            self.heap[counter][""] = self.next_index(k, step)

        self.until(test, go, leave, [(counter, "")], **how)
        self.heap.pop(counter, None)
        if (left := leave.stopped()) is not True:
            self.go_on(source, left)

    def until(
        self, test: Callable[[], Any], body: Callable[[], None], leave: Leave,
        carried: Iterable[Any] = (), hints: Iterable[Any] = (), **how: Any,
    ) -> None:  # fmt: skip
        """A loop with a condition, and flags where it may be left early."""
        before = [self.truth(self.heap[ref].get(key, False)) for ref, key in leave.flags]

        def none_left() -> None:
            for ref, key in leave.flags:
                self.heap[ref][key] = False

        def go_on() -> Any:
            stays: Any = True
            for ref, key in leave.flags:
                left = self.heap[ref][key]
                if left is True:
                    return False
                if isinstance(left, Number):
                    stays = left.record("logical_and", stays, left.record("logical_not", left))
            # A loop that was left is not tested again: the test could raise.
            go = self.either(stays, test, True) if isinstance(stays, Number) else test()
            return self.known(go)

        def visit() -> None:
            none_left()
            body()

        def finish(params: Any, init: Any, tests: Block, block: Block, outs: Any) -> While:
            return While(tests, init, params, block, outs)

        none_left()
        try:
            self.loop(visit, finish, go_on, hints={*hints, *carried, *leave.flags}, **how)
        except Dead:
            self.demand(self.inverse(go_on()), "Python raises in a loop")
        for (ref, key), then in zip(leave.flags, before, strict=True):
            if then is not False:
                self.heap[ref][key] = self.any_of(then, self.heap[ref].get(key, False))
