"""What loops go over: things known one by one, and rows of things that are counted."""

from __future__ import annotations

from collections.abc import Callable
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from zyg.compiler.front.captures import Outside
from zyg.compiler.front.control_flow import Concern
from zyg.compiler.front.growing import Growing, at
from zyg.compiler.front.structures import Choice, Compound, Items, Ref, described
from zyg.compiler.ir import Atom, Value, type_of
from zyg.compiler.kinds import is_plain_sequence
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError

if TYPE_CHECKING:
    from zyg.compiler.front.interpreter import Interpreter

_UNROLLED = 32  # rounds that are read one by one; a loop inside over elements is not vectorised
_UNROLLED_WHOLE = 8  # of ranges: machine code unrolls its loops itself
_SHORT = 4


class TooLong(Exception):  # noqa: N818 - an answer
    """What is read one by one makes too many operations."""


def _the_same() -> Any:
    return True


def _nothing() -> None:
    return None


class Sequence:
    """Things that are counted: how many, and which is at an index, when it is its turn.

    Those of a range with a known step are what a loop counts by itself (`span`). Where each is
    known by itself, the index is (`known`); so it is where they are no more than `short`. `still`
    says whether they are as many as they were. Those that are evaluated when it is their turn
    (`once`) are asked for in order, each once, and after the last of them is done what Python does
    to find the end (`ends`).
    """

    def __init__(
        self, length: Any, at: Callable[[Any], Any], span: Any = None, independent: bool = False,
        known: bool = False, still: Callable[[], Any] = _the_same, once: bool = False,
        ends: Callable[[], None] = _nothing, short: int = _SHORT,
    ) -> None:  # fmt: skip
        self.length, self.at, self.span, self.independent = length, at, span, independent
        self.known, self.still, self.once, self.ends = known, still, once, ends
        self.short = short
        self.unrolled = False  # read one by one, though the rounds are counted

    def of(self, at: Callable[[Any], Any], once: bool = False) -> Sequence:
        """As many, each made of one of these by its index."""
        return Sequence(self.length, at, None, self.independent, self.known, self.still,
                        self.once or once, self.ends, self.short)  # fmt: skip

    @property
    def lasts(self) -> bool:
        """Whether there is a first, which may be looked at before the loop."""
        some = isinstance(self.length, int) and self.length > 0
        return some and not self.known and not self.once

    def of_counter(self, k: Any) -> Any:
        """What there is in the round of a counter."""
        return k if self.span else self.at(k)

    @property
    def rounds(self) -> tuple[Any, Any, int]:
        """What the counter is in each round."""
        return self.span or (0, self.length, 1)


# What goes through things that are not counted: it does something with each, until it is left.
Push = Callable[..., None]


class Range(Compound):
    """``range(start, stop, step)``, of numbers that are not all known."""

    def __init__(self, start: Any, stop: Any, step: Any, independent: bool = False) -> None:
        self.start, self.stop, self.step, self.independent = start, stop, step, independent

    def structure(self) -> Any:
        return self.independent

    def parts(self) -> list[Any]:
        return [self.start, self.stop, self.step]

    def made(self, parts: Any) -> Range:
        start, stop, step = parts
        return Range(start, stop, step, self.independent)

    def __bool__(self) -> bool:
        raise TypeError("the truth of a range whose length is not known")


class View(Compound):
    """The keys, values or items of a dict, as they are when they are gone through.

    `begun` are the keys there were when an iterator was made: they must still be there.
    """

    def __init__(self, owner: Any, what: str, begun: tuple[Any, ...] | None = None) -> None:
        self.owner, self.what, self.begun = owner, what, begun

    def structure(self) -> Any:
        return self.what, self.begun

    def parts(self) -> list[Any]:
        return [self.owner]

    def made(self, parts: Any) -> View:
        return View(parts[0], self.what, self.begun)


class Recipe(Compound):
    """What an iterator goes through: made of other things that have elements, which are `of`."""

    def __init__(self, *of: Any) -> None:
        self.of = of

    def structure(self) -> Any:
        return len(self.of)

    def parts(self) -> list[Any]:
        return [*self.of]

    def made(self, parts: Any) -> Any:
        return type(self)(*parts)

    def opened(self, reader: Interpreter) -> Sequence | Push:
        """What there is to go through from here on."""
        raise NotImplementedError


class Sequences(Concern):
    """What has elements."""

    def elements(self, x: Any, count: int | None = None) -> list[Any]:
        """The elements of something known to have elements, or which must have so many."""
        if isinstance(x, Choice):
            return self.flow.over(x, lambda one: self.elements(one, count))  # type: ignore[no-any-return]
        found = self.opened(x) if is_iterator(x) else self.sequence(x)
        if isinstance(found, list):
            return found
        if not isinstance(found, Sequence):
            made = self.reader.containers.new_list(())
            found(lambda one: self.reader.containers.append(made, one), None)
            return self.elements(made, count)
        length = found.length
        if isinstance(length, Number) and count is not None:
            alike = self.to.op("equal", atom_of(length), count)
            self.flow.demand(self.to.wrap(alike), f"other than {count} values to unpack")
            length = count
        if not isinstance(length, int):
            raise TypeError("the number of elements is not known while zyg reads the source")
        values = [found.at(k) for k in range(length)]
        found.ends()
        return values

    def sequence(self, x: Any) -> list[Any] | Sequence:
        """The elements of something that lasts: a list, or a sequence where they are counted."""
        if isinstance(x, Sequence):
            return x
        if isinstance(x, Outside):
            if not (is_plain_sequence(x.value) or isinstance(x.value, (range, dict))):
                raise TypeError(f"a captured {type(x.value).__name__} cannot be looped over")
            if isinstance(x.value, dict):
                return [*x.value]
            return [
                self.reader.captured(part, (*x.path, ("item", k))) for k, part in enumerate(x.value)
            ]
        if isinstance(x, Ref):
            return self._of_ref(x)
        if isinstance(x, View):
            return self._of_view(x)
        if isinstance(x, Range):
            return self._of_range(x)
        if (rows := self.reader.values.rows(x)) is not None:
            length, row = rows
            plain = self.reader.values.plain
            return Sequence(self.to.wrap(length), lambda k: plain(row(atom_of(k))))
        if isinstance(x, (Number, GeneratorType)) or not hasattr(x, "__iter__"):
            raise TypeError(f"{described(x)} has no elements")
        return [*x]

    def begun(self, x: Any) -> Any:
        """What an iterator goes through that is made here."""
        x = self.reader.values.settled(x)
        if isinstance(x, Ref) and x.kind is dict:
            x = View(x, "keys")
        if isinstance(x, View) and isinstance(x.owner, Ref):
            return View(x.owner, x.what, tuple(self.reader.containers.keys(x.owner)))
        if isinstance(x, Number):
            raise TypeError("a number has no elements")
        return x

    def opened(self, x: Any) -> Sequence | Push:
        """What there is to go through, from here on; read one by one if it is little."""
        found = self.source(x)
        if isinstance(found, Sequence) and isinstance(found.length, int):
            short = found.length <= found.short and self.reader.captures.most_unrolled > 0
            found.unrolled = short and not found.known
            found.known = found.known or short
        elif isinstance(found, Sequence) and self.reader.whole and not found.known:
            self.to.counter(0, atom_of(found.length))  # no more rounds than fit in memory
        return found

    def source(self, x: Any) -> Sequence | Push:
        """What there is to go through, from here on."""
        if isinstance(x, Choice):
            raise TypeError("what the loop runs over depends on a condition")
        if is_iterator(x):
            if self.flow.heap[x]["spent"] is not False:
                raise KernelError(
                    "an iterator that may be exhausted cannot be used in a kernel.",
                    "it yields its elements only once.", "make it a list.",
                )  # fmt: skip
            self.flow.heap[x]["spent"] = True
            return self.flow.heap[x][""].opened(self.reader)  # type: ignore[no-any-return]
        if isinstance(x, range):
            most = _UNROLLED_WHOLE if self.reader.whole else _UNROLLED
            span = x.start, x.stop, x.step
            return Sequence(len(x), self._index_in(x), span, short=most)
        return self.steps(x)

    def steps(self, x: Any) -> Sequence:
        """What there is to go through; what is written to it meanwhile is seen, as in Python."""
        if isinstance(x, Ref) and x.kind is list:
            return self._of_list(x)
        if isinstance(x, Ref) and x.kind is dict:
            x = View(x, "keys")
        if isinstance(x, View) and isinstance(x.owner, Ref):
            keys = [*self.reader.containers.keys(x.owner)]
            _demand_still(x.begun is None or x.begun == tuple(keys))
            return self._of_dict(x, keys)
        found = self.sequence(x)
        if isinstance(found, Sequence):
            return found
        return Sequence(len(found), found.__getitem__, known=True)

    def _of_list(self, x: Ref) -> Sequence:
        items = self.flow.heap[x][""]
        if isinstance(items, Growing):
            count = items.count

            def as_many() -> Any:
                now = self.flow.heap[x][""]
                return isinstance(now, Growing) and self.to.wrap(
                    self.to.op("equal", atom_of(now.count), atom_of(count)))  # fmt: skip

            return Sequence(
                count, lambda k: at(self.to, self.flow.heap[x][""], atom_of(k)), still=as_many
            )

        def still() -> bool:
            now = self.flow.heap[x][""]
            return isinstance(now, Items) and len(now) == len(items)

        def item(k: int) -> Any:
            _demand_still(still())
            return self.flow.heap[x][""][k]

        return Sequence(len(items), item, known=True, still=still)

    def _of_dict(self, x: View, keys: list[Any]) -> Sequence:
        def still() -> bool:
            return [*self.reader.containers.keys(x.owner)] == keys

        def item(k: int) -> Any:
            _demand_still(still())
            if x.what == "keys":
                return keys[k]
            value = self.reader.containers.item(x.owner, keys[k])
            return value if x.what == "values" else (keys[k], value)

        return Sequence(len(keys), item, known=True, still=still)

    def go_on(self, rounds: Sequence, left: Any = False) -> None:
        """At the end of a loop that was not left: Python looks for more.

        It goes through what has been added, which is refused.
        """
        same = rounds.still()
        if isinstance(same, Number):
            same = same if left is False else same | left
            self.flow.demand(same, "a list that grows while it is gone through")
        else:
            _demand_still(same)
        if rounds.ends is not _nothing:
            self.flow.choose(left, _nothing, rounds.ends)

    def _of_ref(self, x: Ref) -> list[Any] | Sequence:
        content = self.flow.heap[x]
        if x.kind is list:
            items = content[""]
            if not isinstance(items, Growing):
                return [*items]
            return Sequence(items.count, lambda k: at(self.to, self.flow.heap[x][""], atom_of(k)))
        if x.kind is dict:
            return self.reader.containers.keys(x)
        if x.kind is set and len(content) < 2:
            return [*content]
        raise TypeError(f"a {getattr(x.kind, '__name__', x.kind)} cannot be looped over")

    def _of_view(self, x: View) -> list[Any]:
        keys = self.elements(x.owner)
        if x.what == "keys":
            return keys
        values = [self.reader.containers.item(x.owner, key) for key in keys]
        return values if x.what == "values" else [*zip(keys, values, strict=True)]

    def _of_range(self, x: Range) -> Sequence:
        start, step = self.flat(x.start), self.flat(x.step)
        length = self.range_length(start, x.stop, step)

        def index(k: Any) -> Any:
            made = self.to.op("multiply", atom_of(k), atom_of(step))
            return self.to.wrap(self.to.op("add", made, atom_of(start)))

        span = None if isinstance(step, Number) else (start, x.stop, step)
        return Sequence(length, index, span, x.independent)

    def range_of(self, start: Any, stop: Any, step: Any = 1) -> Any:
        """``range(start, stop, step)``."""
        bounds = start, stop, step
        if not any(isinstance(b, Number) for b in bounds):
            return range(*bounds)
        if any(type_of(atom_of(b)) not in ("int", "uint", "bool") for b in bounds):
            raise KernelError(
                "a range of floats cannot be used in a kernel.",
                "Python has no such ranges.",
                "write range(int(n)).",
            )
        if isinstance(step, Number) and not self.reader.whole:
            raise KernelError(
                "this loop cannot be used in a kernel.", "its step is computed.",
                "write for k in range(start, stop, 1): ...",
            )  # fmt: skip
        return Range(*bounds)

    def flat(self, x: Any) -> Any:
        """An int that only counts: what is counted has no slope by it."""
        return self.to.wrap(self.to.flat(x.atom)) if isinstance(x, Number) else x

    def range_length(self, start: Any, stop: Any, step: Any) -> Any:
        """How many rounds a range has."""
        op = self.to.op
        first, end, by = map(atom_of, (start, stop, step))
        if isinstance(by, Value):
            self.flow.demand(self.to.wrap(op("not_equal", by, 0)), "a range of step zero")
        if by == 1 and first == 0:
            return self.to.wrap(op("maximum", end, 0))
        # The quotient, rounded away from zero.
        checked = self.to.in_range
        distance = checked("add", checked("subtract", end, first), by)
        distance = checked("subtract", distance, op("sign", by))
        return self.to.wrap(op("maximum", op("floor_divide", distance, by), 0))

    def next_index(self, x: Any, step: Atom = 1) -> Any:
        return self.to.wrap(self.to.op("add", atom_of(x), step))

    def less(self, x: Any, y: Any) -> Any:
        return self.to.wrap(self.to.op("less", atom_of(x), atom_of(y)))

    def _index_in(self, x: range) -> Callable[[Any], Any]:
        def index(k: Any) -> Any:
            if not isinstance(k, Number):
                return x[k]
            made = self.to.op("multiply", k.atom, x.step)
            return self.to.wrap(self.to.op("add", made, x.start))

        return index

    def iterator(self, recipe: Recipe) -> Ref:
        """Something that can be gone through once; its elements are evaluated meanwhile."""
        return self.flow.heap.new("iterator", {"spent": False, "": recipe})


def is_iterator(x: Any) -> bool:
    return isinstance(x, Ref) and x.kind == "iterator"


def _demand_still(same: bool) -> None:
    if not same:
        raise KernelError(
            "a list or dict that is made longer or shorter while it is gone through is not "
            "compiled.",
            "Python goes through what was added to a list, and raises for a dict.",
            "go through a copy of it.",
        )  # fmt: skip
