"""Iterators: `zip`, `map` and their like. An element is evaluated when it is its turn."""

from __future__ import annotations

import ast
import functools
import operator
from typing import TYPE_CHECKING, Any

from zyg.compiler.front.going import Leave, Visit
from zyg.compiler.front.sequences import Push, Recipe, Sequence
from zyg.compiler.front.structures import Ref
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError

if TYPE_CHECKING:
    from zyg.compiler.front.frame import Frame
    from zyg.compiler.front.interpreter import Interpreter


class Elements(Recipe):
    """The elements of one thing."""

    def opened(self, reader: Interpreter) -> Sequence | Push:
        found: Sequence | Push = reader.sequences.source(*self.of)
        return found


class Enumerated(Recipe):
    """``enumerate(x, start)``."""

    def opened(self, reader: Interpreter) -> Sequence | Push:
        x, start = self.of
        found, start = reader.sequences.source(x), reader.sequences.flat(start)
        if isinstance(found, Sequence):
            return found.of(lambda k: (reader.sequences.next_index(k, atom_of(start)), found.at(k)))

        def push(visit: Visit, leave: Leave | None, **how: Any) -> None:
            with reader.going.cell(start) as count:

                def one(x: Any) -> None:
                    k, count.value = count.value, reader.sequences.next_index(count.value)
                    visit((k, x))

                reader.going.through(found, one, leave, **how)

        return push


class Reversed(Recipe):
    """``reversed(x)``, of a thing that had so many elements."""

    def opened(self, reader: Interpreter) -> Sequence:
        x, length = self.of
        found = reader.sequences.steps(x)
        same = reader.builder.op("equal", atom_of(found.length), atom_of(length))
        reader.flow.demand(
            reader.builder.wrap(same), "a list that has changed when it is gone through"
        )
        last = reader.sequences.next_index(found.length, -1)

        def at(k: Any) -> Any:
            back = reader.builder.op("subtract", atom_of(last), atom_of(k))
            return found.at(reader.builder.wrap(back))

        made: Sequence = found.of(at)
        return made


class Mapped(Recipe):
    """``map(f, *xs)``."""

    def opened(self, reader: Interpreter) -> Sequence | Push:
        f, *xs = self.of
        one = len(xs) == 1
        rows = reader.sequences.source(xs[0]) if one else Zipped(*xs).opened(reader)

        def call(row: Any) -> Any:
            return reader.calls.call(f, [row] if one else [*row], {})

        if isinstance(rows, Sequence):
            return rows.of(lambda k: call(rows.at(k)), once=True)
        return lambda visit, leave, **how: reader.going.through(
            rows, lambda row: visit(call(row)), leave, **how
        )


class Filtered(Recipe):
    """``filter(f, x)``."""

    def opened(self, reader: Interpreter) -> Push:
        f, x = self.of
        found = reader.sequences.source(x)

        def push(visit: Visit, leave: Leave | None, **how: Any) -> None:
            def one(x: Any) -> None:
                test = reader.operators.as_condition(
                    x if f is None else reader.calls.call(f, [x], {})
                )
                reader.flow.choose(test, lambda: visit(x), lambda: None)

            reader.going.through(found, one, leave, **how)

        return push


class Generated(Recipe):
    """A generator expression: its node, the variables around it, what it goes through first."""

    def __init__(self, node: ast.GeneratorExp, frame: Frame, variables: Ref, first: Any) -> None:
        self.node, self.frame, self.variables, self.first = node, frame, variables, first

    def structure(self) -> Any:
        return self.node

    def parts(self) -> list[Any]:
        return [self.variables, self.first]

    def made(self, parts: Any) -> Generated:
        return Generated(self.node, self.frame, *parts)

    def opened(self, reader: Interpreter) -> Sequence | Push:
        node, frame = self.node, self.frame.around(self.variables)
        found = reader.sequences.source(self.first)
        only = node.generators[0]
        if isinstance(found, Sequence) and len(node.generators) == 1 and not only.ifs:
            return found.of(lambda k: frame.expressions.evaluated(node, found.at(k)), once=True)

        def push(visit: Visit, leave: Leave | None, **how: Any) -> None:
            frame.expressions.comprehend(
                node, lambda inner: visit(inner.value(node.elt)), found, leave, **how
            )

        return push


class Zipped(Recipe):
    """``zip(*xs)``."""

    def __init__(self, *of: Any, strict: bool = False) -> None:
        super().__init__(*of)
        self.strict = strict

    def structure(self) -> Any:
        return len(self.of), self.strict

    def made(self, parts: Any) -> Zipped:
        return Zipped(*parts, strict=self.strict)

    def opened(self, reader: Interpreter) -> Sequence | Push:
        sources = [reader.sequences.source(x) for x in self.of]
        counted = [x for x in sources if isinstance(x, Sequence)]
        lengths = [x.length for x in counted]
        known = all(isinstance(n, int) for n in lengths) and any(x.known for x in counted)
        at_once = any(x.known and x.once for x in counted)  # see `_at`
        if len(counted) == len(sources) and (known or not at_once):
            for n in lengths if self.strict else ():
                test = reader.builder.op("equal", atom_of(n), atom_of(lengths[0]))
                reader.flow.demand(reader.builder.wrap(test), "zip() of other lengths")
            return _side_by_side(reader, counted, known)
        if len(counted) == len(sources) and not self.strict:
            # The last round is that in which one of those that are known ends.
            most = min(x.length for x in counted if x.known) + 1
            return _turn_by_turn(reader, Sequence(most, lambda k: (), known=True), counted)
        if counted == sources[1:] and not at_once and not self.strict:
            first = sources[0]
            return _turn_by_turn(reader, lambda visit, leave, **how: reader.going.through(
                first, lambda one: visit((one,)), leave, **how), counted)  # fmt: skip
        raise KernelError(
            "a zip of these iterators is not compiled.",
            "how many elements they have is not known before.", "make them lists.",
        )  # fmt: skip


def _side_by_side(reader: Interpreter, sources: list[Sequence], known: bool) -> Sequence:
    """The elements of things of which it is known how many there are."""
    op, counts = reader.builder.op, [atom_of(x.length) for x in sources]
    length = reader.builder.wrap(functools.reduce(lambda a, b: op("minimum", a, b), counts or [0]))

    def still() -> Any:
        return functools.reduce(operator.and_, [x.still() for x in sources], True)

    def ends(first: int = 0) -> None:
        # Python asks one after the other, until one has no more.
        if first < len(sources):
            x = sources[first]

            def more() -> None:
                if x.once:
                    x.at(length)
                ends(first + 1)

            reader.flow.if_so(reader.sequences.less(length, x.length), more, x.ends)

    made = Sequence(
        length, lambda k: tuple(_at(reader, x, k) for x in sources), known=known, still=still,
        short=max([x.short for x in sources], default=0),
    )  # fmt: skip
    if any(x.once for x in sources):
        made.once, made.ends = True, ends
    return made


def _at(reader: Interpreter, x: Sequence, k: Any) -> Any:
    """An element of one of several, of which not each is known by itself."""
    if x.known and isinstance(k, Number):
        return reader.containers.item(tuple(map(x.at, range(x.length))), k)
    return x.at(k)


def _turn_by_turn(reader: Interpreter, driver: Any, sources: list[Sequence]) -> Push:
    """One is asked after the other, until one has no more; the driver has the first of each row."""

    def push(visit: Visit, leave: Leave | None, **how: Any) -> None:
        with reader.going.looking() as short, reader.going.cell(0) as count:

            def rest(k: Any, row: tuple[Any, ...], others: list[Sequence]) -> None:
                if not others:
                    visit(row)
                    return
                x, *more = others

                def done() -> None:
                    x.ends()
                    reader.going.leave(short)

                reader.flow.choose(
                    reader.sequences.less(k, x.length),
                    lambda: rest(k, (*row, _at(reader, x, k)), more), done,
                )  # fmt: skip

            def one(row: tuple[Any, ...]) -> None:
                k, count.value = count.value, reader.sequences.next_index(count.value)
                rest(k, row, sources)

            reader.going.through(driver, one, reader.going.left_by(short, leave), **how)

    return push
