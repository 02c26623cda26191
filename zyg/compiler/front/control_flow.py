"""Ways through a program that part and meet: conditions, choices, loops.

Each way has a heap of its own, and knows which conditions hold on it (`facts`). A way on which
Python would raise is `Dead`: what it was entered by is checked before, and the other way is left.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zyg.compiler.builder import Builder
from zyg.compiler.front.heap import Heap
from zyg.compiler.front.joins import Meeting, chosen
from zyg.compiler.front.mixed import (
    ComplexNumber,
    Mixed,
    became,
    first_mixed,
    is_scalar,
    kinds_of,
    one_of_two,
    replaced,
)
from zyg.compiler.front.structures import Choice, Dead, Different, Ref, Unknown, described
from zyg.compiler.ir import Atom, Block, For, Op, Value, reads_if_pruned, type_of
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError

if TYPE_CHECKING:
    from zyg.compiler.front.interpreter import Interpreter

Skip = Callable[[Ref, Any], bool]
_MOST_PASSES = 24
_OTHERS = {"%value": "the result"}


@dataclass(eq=False, repr=False)
class Side:
    """One way through a condition: what it does, and what there is at its end."""

    block: Block
    heap: Heap
    facts: dict[Value, bool]
    value: Any = None
    dead: Dead | None = None


def _nothing_is_skipped(ref: Ref, key: Any) -> bool:
    return False


@contextmanager
def _of_one_structure() -> Iterator[None]:
    """Say of what a loop changes that it must keep its structure."""
    try:
        yield
    except Different as error:
        name = next(iter(error.args), "")
        what = f"the variable {name}" if name and name[0] != "%" else _OTHERS.get(name, "a list")
        raise KernelError(
            f"{what} cannot be used in a kernel.",
            "it changes its type or structure in a round of the loop.",
            "give it numbers, or tuples of as many numbers.",
        ) from None


class ControlFlow:
    """The conditions and loops of a function that is being read, and what changes on its ways."""

    def __init__(self, reader: Interpreter) -> None:
        self.reader, self.to = reader, reader.builder
        self.heap = Heap()
        self.roots: list[Any] = []  # what is held outside of it: variables of calls, arguments
        self.facts: dict[Value, bool] = {}
        self.varied: dict[Any, set[Any]] = {}  # what loops that were read before have carried

    @contextmanager
    def holding(self, *values: Any) -> Iterator[None]:
        """While it lasts, what these values hold is reached from outside of the heap."""
        held = len(self.roots)
        self.roots += values
        try:
            yield
        finally:
            del self.roots[held:]

    # What is known of conditions

    def truth(self, test: Any) -> Any:
        """A condition, or whether it holds where that is known here."""
        test = self.reader.values.decisive(test)
        if not isinstance(test, Number):
            return test
        condition = self.to.to("bool", test.atom)
        if not isinstance(condition, Value):
            return condition
        return self.facts.get(condition, test)

    def learn(self, condition: Atom, holds: bool) -> None:
        """From here on, this way, a condition holds, or does not."""
        if not isinstance(condition, Value):
            return
        self.facts[condition] = holds
        name, args = self.to.defined.get(condition, ("", ()))
        if name == "logical_not":
            self.learn(args[0], not holds)
        elif (name == "logical_and" and holds) or (name == "logical_or" and not holds):
            for x in args:
                self.learn(x, holds)

    def demand(self, test: Any, why: str) -> None:
        """Python would raise where a condition does not hold."""
        if (test := self.truth(test)) is not True and not self.reader.whole:
            raise KernelError(
                f"{why} cannot be used in a kernel.", "a kernel does not raise.", "test for it."
            )
        if test is False:
            raise Dead(why)
        if isinstance(test, Number):
            condition = self.to.to("bool", test.atom)
            self.to.check(condition, why)
            self.learn(condition, True)

    # Conditions

    def side(self, run: Callable[[], Any], condition: Atom, holds: bool) -> Side:
        """What is done on one way."""
        return self.resume(Side(Block(), self.heap.fork(), dict(self.facts)), run, condition, holds)

    def resume(
        self, side: Side, run: Callable[[], Any], condition: Atom = True, holds: bool = True
    ) -> Side:
        """What is done next on a way that was left."""
        heap, facts = self.heap, self.facts
        self.heap, self.facts = side.heap, side.facts
        self.learn(condition, holds)
        try:
            with self.to.inside(side.block), self.holding():
                side.value = self.reader.values.settled(run())
        except Dead as dead:
            side.dead = dead
        finally:
            side.heap, side.facts = self.heap, self.facts
            self.heap, self.facts = heap, facts
        return side

    def choose(self, test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        """What one way gives, or the other."""
        if not isinstance(test := self.truth(test), Number):
            return then() if test else orelse()
        condition = self.to.to("bool", test.atom)
        sides = self.side(then, condition, True), self.side(orelse, condition, False)
        return self.joined(condition, sides)

    def joined(
        self,
        condition: Atom,
        sides: tuple[Side, Side],
        skip: Skip = _nothing_is_skipped,
        pick: Any = lambda ref, key, a, b: (a, b),
    ) -> Any:
        """What there is after two ways have met."""
        for k, side in enumerate(sides):
            if side.dead:
                return self._left_alone(condition, k, sides)
        contexts = [self._at_the_end_of(side) for side in sides]
        one, other = sides
        meeting = Meeting(
            self.to, (one.heap, other.heap), contexts, (one.facts, other.facts), pick=pick
        )
        meeting.meet(self.heap, self.roots, skip)
        try:
            make = meeting.join(one.value, other.value)
        except Different:
            raise KernelError(
                "the two sides of a condition cannot be used in one kernel.",
                f"one is {described(one.value)}, the other {described(other.value)}.",
                "give both sides numbers, or tuples of as many numbers.",
            ) from None
        for k, side in enumerate(sides):
            side.block.yields = [atom_of(pair[k]) for pair in meeting.pairs]
        made = self.to.branch(condition, one.block, other.block)
        numbers = [self.to.like(x, *pair) for x, pair in zip(made, meeting.pairs, strict=True)]
        self.heap = meeting.heap(numbers)
        return make(numbers)

    def _at_the_end_of(self, side: Side) -> Callable[[], Any]:
        return lambda: self.to.inside(side.block)

    def _left_alone(self, condition: Atom, dead: int, sides: tuple[Side, Side]) -> Any:
        """Go on where Python does not raise."""
        why, other = sides[dead].dead, sides[1 - dead]
        assert why
        if other.dead:
            raise other.dead
        holds = dead == 1
        self.to.check(condition if holds else self.to.op("logical_not", condition),
                           why.why)  # fmt: skip
        self.learn(condition, holds)
        self.facts.update(other.facts)
        self.to.block.ops.extend(other.block.ops)
        self.heap = other.heap
        return other.value

    def is_light(self, side: Side, but: Ref | None = None) -> bool:
        """Whether a way is little work without effects, which may be done where it is not taken."""
        pure = all(isinstance(op, Op) for op in side.block.ops)
        return pure and not side.dead and side.heap.same_as(self.heap, but)

    def either(self, first: Number, then: Callable[[], Any], both: bool) -> Any:
        """``first and then`` or ``first or then``; both at once where that is little work."""
        condition = self.to.to("bool", first.atom)
        side = self.side(then, condition, both)
        second = side.value
        known_truth = is_scalar(second) and not isinstance(second, (Mixed, ComplexNumber))
        if known_truth and self.is_light(side):
            self.to.block.ops.extend(side.block.ops)
            one, other = (second, first) if both else (first, second)
            if self.reader.whole and kinds_of(first) != kinds_of(second):
                return one_of_two(self.to, condition, one, other)
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
        condition = self.to.to("bool", test.atom)
        sides = self.side(then, condition, True), self.side(orelse, condition, False)
        if not all(map(self.is_light, sides)):
            self.joined(condition, sides)

    def any_of(self, a: Any, b: Any) -> Any:
        """Whether one of two conditions holds."""
        return self.truth(self.to.wrap(self.to.op("logical_or", atom_of(a), atom_of(b))))

    # What a value may be

    def over(self, x: Any, run: Callable[[Any], Any]) -> Any:
        """What `run` gives for the one of several things, or of several kinds, that `x` is."""
        if isinstance(x, Mixed):
            return self._one_of([(f, lambda k=k: run(x.of_kind(k))) for f, k in x.pairs()])  # type: ignore[misc]
        if not isinstance(x, Choice):
            return run(x)
        left = self.left_of(x)
        pairs = zip(left.flags, left.options, strict=True) if isinstance(left, Choice) else (
            [(True, left)])  # fmt: skip
        return self._one_of([(f, functools.partial(self._of, option, run)) for f, option in pairs])

    def over_any(self, values: Sequence[Any], run: Callable[[list[Any]], Any]) -> Any:
        """What `run` gives for values of which one is a choice; NotImplemented where none is."""
        k = next((k for k, x in enumerate(values) if isinstance(x, Choice)), None)
        if k is None:
            return NotImplemented
        return self.over(values[k], lambda x: run([*values[:k], x, *values[k + 1 :]]))

    def left_of(self, x: Choice) -> Any:
        """What a choice may be, by what is known here."""
        return chosen([self.truth(flag) for flag in x.flags], x.options)

    def where_set(self, x: Any, why: str) -> Any:
        """What a value is where there is one; Python raises elsewhere."""
        if not isinstance(x, Choice) or not any(isinstance(o, Unknown) for o in x.options):
            return x
        pairs = [*zip(x.flags, x.options, strict=True)]
        for flag, option in pairs:
            if isinstance(option, Unknown):
                self.demand(self.reader.operators.inverse(flag), why)
        left = [p for p in pairs if not isinstance(p[1], Unknown)]
        return left[0][1] if len(left) == 1 else Choice(*map(list, zip(*left, strict=True)))

    def _one_of(self, ways: Sequence[tuple[Any, Callable[[], Any]]]) -> Any:
        """What the first of several ways gives whose flag is true, or the last."""
        (flag, then), *rest = ways
        return self.choose(flag, then, lambda: self._one_of(rest)) if rest else then()

    def _of(self, option: Any, run: Callable[[Any], Any]) -> Any:
        if isinstance(option, Unknown):
            raise Dead("a variable that is not set")
        try:
            return run(option)
        except (TypeError, AttributeError) as error:
            if option is None and not isinstance(error, KernelError):
                raise Dead(f"{type(error).__name__}: {error}") from None
            raise

    def over_kinds(self, values: Sequence[Any], run: Callable[[Sequence[Any]], Any]) -> Any:
        """What `run` gives for values among which no number may be of several kinds."""
        x = first_mixed(values)
        if x is None:
            return run(values)
        return self.over(x, lambda one: self.over_kinds(
            [replaced(value, x, one) for value in values], run))  # fmt: skip

    def of_each_kind(
        self, run: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        """What `run` gives for arguments of which none is of several kinds."""
        n = len(args)
        return self.over_kinds([*args, *kwargs.values()], lambda given: run(
            given[:n], dict(zip(kwargs, given[n:], strict=True))))  # fmt: skip

    # Loops

    @_of_one_structure()
    def loop(
        self,
        body: Callable[[], None],
        finish: Callable[..., Any],
        test: Callable[[], Any] | None = None,
        hints: Iterable[Any] = (),
        skip: Skip = _nothing_is_skipped,
        key: Any = None,
        likely: Iterable[tuple[Ref, Any, str]] = (),
        runs: bool = False,
        begins: Callable[[list[Value]], None] = lambda params: None,
        one_kind: bool = False,
    ) -> None:
        """Read a body until what it carries from round to round is settled; append the loop.

        `finish` makes the operation: of params, what they start as, the blocks of test and body,
        and what comes out. `hints` are variables that will be carried; the first reading takes it
        for granted that numbers `likely` become such of NumPy's, of these types. `runs` says that
        there is a first round; with `one_kind` the loop carries numbers of one kind.
        """
        start, hints = self.heap, {*hints, *self.varied.get(key, ())}
        join = functools.partial(Meeting, self.to, is_loop=True, one_kind=one_kind)
        guesses = [] if one_kind else [x for x in likely if not skip(*x[:2])]
        begun = functools.partial(self._begun, functools.partial(join, forced=hints), skip)
        plan = begun(guesses)
        for _ in range(_MOST_PASSES):
            lefts = [a for a, _ in plan.pairs]
            params = [Value(type_of(atom_of(a))) for a in lefts]
            try:
                blocks, facts = self._round(plan, params, test, body, begins)
                right = all(became(self.heap[x].get(k), kind, params) for x, k, kind in guesses)
            except Exception:
                self.heap, right = start, False
                if not guesses:
                    raise
            if not right:
                self.heap, guesses = start, []
                plan = begun(guesses)
                continue
            before, after, guesses = plan.heap(lefts), self.heap, []
            at = nullcontext, self._at_the_end_of(Side(blocks[1], after, {}))
            found = join((before, after), at, (self.facts, facts))
            found.meet(before, self.roots, skip)
            settled, plan = found.trace == plan.trace, found
            if settled:
                break
        else:
            raise KernelError(
                "a loop changes its variables to a new structure in every round.",
                "a variable of a loop must keep its structure from round to round.",
                "carry numbers, or lists that grow.",
            )
        self.varied[key] = plan.varied
        self._append(plan, params, lefts, blocks, finish, runs)

    def _begun(
        self, join: Callable[..., Meeting], skip: Skip, guesses: Sequence[tuple[Ref, Any, str]]
    ) -> Meeting:
        """What a loop carries, if its rounds make numbers of NumPy's of some."""
        start = heap = self.heap
        if guesses:
            heap = start.fork()
            for x, key, kind in guesses:
                heap[x][key] = self.to.number(Value(kind), False)  # type: ignore[attr-defined]
        plan = join((start, heap), (nullcontext, nullcontext))
        plan.meet(start, self.roots, skip)
        return plan

    def _round(
        self, plan: Meeting, params: list[Value], test: Callable[[], Any] | None,
        body: Callable[[], None], begins: Callable[[list[Value]], None],
    ) -> tuple[tuple[Block, Block], dict[Value, bool]]:  # fmt: skip
        """The blocks of a round, and what is known at its end."""
        builder, lefts = self.to, [a for a, _ in plan.pairs]
        self.heap = plan.heap([builder.like(p, a) for p, a in zip(params, lefts, strict=True)])
        facts, self.facts = self.facts, dict(self.facts)
        tests, block = Block(), Block()
        builder.repeats += 1
        try:
            if test is not None:
                with builder.inside(tests):
                    condition = self.reader.operators.as_condition(test())
                    tests.yields = [builder.to("bool", atom_of(condition))]
            with builder.inside(block), self.holding():
                begins(params)
                body()
            return (tests, block), self.facts
        finally:
            builder.repeats -= 1
            self.facts = facts

    def _append(
        self, plan: Meeting, params: list[Value], lefts: list[Any], blocks: tuple[Block, Block],
        finish: Callable[..., Any], runs: bool,
    ) -> None:  # fmt: skip
        """Append a loop, and go on with what it leaves."""
        builder, (tests, block) = self.to, blocks
        with builder.inside(block):
            pairs = zip(params, plan.pairs, strict=True)
            block.yields = [builder.to(p.type, atom_of(b)) for p, (_, b) in pairs]
        outs = [Value(p.type) for p in params]
        all_outs = [*outs]
        op = finish(params, [*map(atom_of, lefts)], tests, block, outs)
        builder.block.ops.append(op)
        ends = _set_by_any_round(builder, op)
        made = [
            b if runs and not isinstance(b, Number) else builder.like(ends.get(out, out), a, b)
            for out, (a, b) in zip(all_outs, plan.pairs, strict=True)
        ]
        self.heap = plan.heap(made)


class Concern:
    """A part of an interpreter: what all of them have at hand."""

    def __init__(self, reader: Interpreter) -> None:
        self.reader, self.to, self.flow = reader, reader.builder, reader.flow


def _set_by_any_round(builder: Builder, op: Any) -> dict[Value, Atom]:
    """What a counted loop only sets, to what is known: that is no longer carried."""
    if not isinstance(op, For):
        return {}
    read = reads_if_pruned(op.body)
    pairs = [*zip(op.params, op.body.yields, strict=True)]
    found = [k for k, (p, x) in enumerate(pairs) if not isinstance(x, Value) and p not in read]
    if not found:
        return {}
    start, stop, step = op.span
    some = builder.op("less", *((start, stop) if step > 0 else (stop, start)))  # type: ignore[operator]
    made = {op.outs[k]: builder.op("select", some, op.body.yields[k], op.init[k]) for k in found}
    rows: tuple[list[Any], ...] = op.params, op.body.yields, op.init, op.outs
    for row in rows:
        row[:] = [x for k, x in enumerate(row) if k not in found]
    return made
