"""Going through things: loops, which may be left early."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from zyg.compiler.front.control_flow import Concern
from zyg.compiler.front.joins import FLAGS
from zyg.compiler.front.sequences import Sequence, TooLong
from zyg.compiler.front.structures import Choice, Dead, Ref
from zyg.compiler.ir import Alloc, Block, Call, For, Store, While, operations
from zyg.compiler.numbers import Number, atom_of

if TYPE_CHECKING:
    from zyg.compiler.front.interpreter import Interpreter

_LEFT = FLAGS[1]
Visit = Callable[[Any], None]


class Changed(Exception):  # noqa: N818 - an answer, which never leaves the reader
    """To look at something changes something."""


@dataclass(eq=False, repr=False)
class Leave:
    """How a loop is left: by flags, which are variables; `unless` runs what follows if it is not.

    A loop that only looks for something may go on after that, where nobody notices (`looks`).
    """

    flags: list[tuple[Ref, str]]
    stopped: Callable[[], Any]
    unless: Callable[[Any, Callable[[], None]], None]
    looks: bool = False


@dataclass(eq=False, repr=False)
class Cell:
    """A variable of the reader's own."""

    reader: Interpreter
    ref: Ref

    @property
    def value(self) -> Any:
        return self.reader.flow.heap[self.ref][""]

    @value.setter
    def value(self, x: Any) -> None:
        self.reader.flow.heap[self.ref][""] = self.reader.values.settled(x)


def writes(block: Block) -> bool:
    """Whether a block may write to memory that is not its own."""
    inside = [*operations(block)]
    own = {op.out for op in inside if isinstance(op, Alloc)}
    return any(isinstance(op, Call) or (isinstance(op, Store) and op.buffer not in own)
               for op in inside)  # fmt: skip


class Going(Concern):
    """Loops over what has elements."""

    @contextmanager
    def cell(self, x: Any) -> Iterator[Cell]:
        """A variable that is there for a while."""
        ref = self.flow.heap.new("variables", {"": x})
        yield Cell(self.reader, ref)
        self.flow.heap.pop(ref, None)

    # Leaving

    @contextmanager
    def looking(self) -> Iterator[Leave]:
        """How a loop is left that looks for something: by a flag of the reader's own."""
        ref = self.flow.heap.new("variables", {_LEFT: False})

        def unless(stop: Number, run: Callable[[], None]) -> None:
            condition = self.to.to("bool", stop.atom)
            side = self.flow.side(run, condition, False)
            if self.flow.is_light(side, ref):
                self.to.block.ops.extend(side.block.ops)
                self.flow.heap[ref][_LEFT] = self.flow.any_of(stop, side.heap[ref][_LEFT])
                return
            other = self.flow.side(lambda: self.leave(found), condition, True)
            self.flow.joined(condition, (other, side))

        def stopped() -> Any:
            return self.flow.truth(self.flow.heap[ref][_LEFT])

        found = Leave([(ref, _LEFT)], stopped, unless, looks=True)
        yield found
        self.flow.heap.pop(ref, None)

    def leave(self, by: Leave, test: Any = True) -> None:
        """Leave a loop, if a test says so."""
        ((ref, key),) = by.flags
        self.flow.heap[ref][key] = self.flow.any_of(self.flow.heap[ref][key], test)

    def left_by(self, one: Leave, other: Leave | None) -> Leave:
        """What is left by either."""
        both = [one, *([other] if other else [])]

        def stopped() -> Any:
            found = [x.stopped() for x in both]
            return True if any(x is True for x in found) else self.flow.any_of(found[0], found[-1])

        def unless(stop: Number, run: Callable[[], None]) -> None:
            self.flow.choose(stop, lambda: None, run)

        return Leave([flag for x in both for flag in x.flags], stopped, unless)

    # Loops

    def each(self, x: Any, visit: Visit, leave: Leave | None = None, **how: Any) -> None:
        """Do something with each element, until the loop is left."""
        if isinstance(x, Choice):
            self.flow.over(x, lambda one: self.each(one, visit, leave, **how))
            return
        with self.flow.holding(x):
            self.through(self.reader.sequences.opened(x), visit, leave, **how)

    def through(self, source: Any, visit: Visit, leave: Leave | None = None, **how: Any) -> None:
        """Go through what was opened."""
        if not isinstance(source, Sequence):
            source(visit, leave, **how)
        elif source.known:
            self._one_by_one(source, visit, leave)
        elif leave is None:
            self.count(source, lambda k: visit(source.of_counter(k)), **how)
            self.reader.sequences.go_on(source)
        elif not leave.looks or not self._looked(source, visit, leave):
            self._counted(source, visit, leave, **how)

    def _one_by_one(
        self, source: Sequence, visit: Visit, leave: Leave | None, first: int = 0
    ) -> None:
        most, before = self.reader.captures.most_unrolled, len(self.to.block.ops)
        for k in range(first, source.length):
            in_all = (len(self.to.block.ops) - before) * (source.length - first)
            if source.unrolled and in_all > most * (k - first):
                raise TooLong
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
        self.reader.sequences.go_on(source, leave.stopped() if leave else False)

    def count(self, rounds: Sequence, visit: Visit, **how: Any) -> None:
        """A loop over all rounds; what is done with the counter of each."""
        start, stop, step = rounds.rounds
        span = atom_of(start), atom_of(stop), step
        counter = self.to.counter(*span[:2])
        runs = isinstance(rounds.length, int) and rounds.length > 0
        try:
            self.flow.loop(
                lambda: visit(self.to.wrap(counter)),
                lambda params, init, tests, block, outs: For(
                    counter, span, init, params, block, outs, in_turn=True),
                runs=runs,
                begins=lambda params: self.to.begins(counter, span, params),
                one_kind=rounds.independent, **how,
            )  # fmt: skip
        except Dead as dead:
            none = self.to.op("less_equal", atom_of(rounds.length), 0)
            self.flow.demand(self.to.wrap(none), dead.why)

    def _looked(self, source: Sequence, visit: Visit, leave: Leave) -> bool:
        """Look at all, though Python may stop before; False if that would be noticed."""
        ((own, _),) = leave.flags
        heap = self.flow.heap

        def look(k: Any) -> None:
            before = self.flow.heap.fork()
            visit(source.of_counter(k))
            if not self.flow.heap.same_as(before, own) or writes(self.to.block):
                raise Changed

        try:
            self.count(source, look)
        except Changed:
            self.flow.heap = heap
            return False
        self.reader.sequences.go_on(source, leave.stopped())
        return True

    def _counted(self, source: Sequence, visit: Visit, leave: Leave, **how: Any) -> None:
        """A loop over rounds that are counted, which may be left."""
        start, stop, step = source.rounds
        if isinstance(stop, Number):  # which the index may go beyond
            self.to.in_range("add", stop.atom, step)
        sequences = self.reader.sequences
        with self.cell(sequences.flat(start)) as counter:

            def test() -> Any:
                return sequences.less(*(counter.value, stop)[:: 1 if step > 0 else -1])

            def go() -> None:
                k = counter.value
                visit(source.of_counter(k))
                counter.value = sequences.next_index(k, step)

            self.until(test, go, leave, [(counter.ref, "")], **how)
        if (left := leave.stopped()) is not True:
            self.reader.sequences.go_on(source, left)

    def until(
        self, test: Callable[[], Any], body: Callable[[], None], leave: Leave,
        carried: Iterable[Any] = (), hints: Iterable[Any] = (), **how: Any,
    ) -> None:  # fmt: skip
        """A loop with a condition, and flags where it may be left early."""
        before = [self.flow.truth(self.flow.heap[ref].get(key, False)) for ref, key in leave.flags]

        def none_left() -> None:
            for ref, key in leave.flags:
                self.flow.heap[ref][key] = False

        def go_on() -> Any:
            stays: Any = True
            for ref, key in leave.flags:
                left = self.flow.heap[ref][key]
                if left is True:
                    return False
                if isinstance(left, Number):
                    stays = left.record("logical_and", stays, left.record("logical_not", left))
            # A loop that was left is not tested again: the test could raise.
            go = self.flow.either(stays, test, True) if isinstance(stays, Number) else test()
            return self.reader.operators.known(go)

        def visit() -> None:
            none_left()
            body()

        def finish(params: Any, init: Any, tests: Block, block: Block, outs: Any) -> While:
            return While(tests, init, params, block, outs)

        none_left()
        try:
            self.flow.loop(visit, finish, go_on, hints={*hints, *carried, *leave.flags}, **how)
        except Dead:
            self.flow.demand(self.reader.operators.inverse(go_on()), "Python raises in a loop")
        for (ref, key), then in zip(leave.flags, before, strict=True):
            if then is not False:
                left = self.flow.heap[ref].get(key, False)
                self.flow.heap[ref][key] = self.flow.any_of(then, left)
