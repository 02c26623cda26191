"""What loops go over: things known one by one, and rows of things that are counted."""

from __future__ import annotations

from collections.abc import Callable
from types import GeneratorType
from typing import Any

from zyg.compiler.front.captures import Outside
from zyg.compiler.front.growing import Growing, at
from zyg.compiler.front.structures import Choice, Compound, Ref
from zyg.compiler.front.ways import Dead, Ways
from zyg.compiler.ir import For, Value
from zyg.compiler.record import Number, atom_of
from zyg.errors import KernelError

_UNROLLED = (
    32  # rounds that are read one by one; a loop inside that over elements is not vectorised
)
_UNROLLED_WHOLE = 8  # of ranges: machine code unrolls its loops itself


def _the_same() -> Any:
    return True


class Sequence:
    """Things that are counted: how many, and which is at an index, when it is its turn.

    Those of a range with a known step are what a loop counts by itself (`span`). Where each is
    known by itself, at an index that is known, `held` is what they are of. `still` says whether
    they are as many as they were.
    """

    def __init__(
        self, length: Any, at: Callable[[Any], Any], span: Any = None, independent: bool = False,
        held: list[Any] | None = None, still: Callable[[], Any] = _the_same,
    ) -> None:  # fmt: skip
        self.length, self.at, self.span, self.independent = length, at, span, independent
        self.held, self.still = held, still

    def of_counter(self, k: Any) -> Any:
        """What there is in the round of a counter."""
        return k if self.span else self.at(k)

    @property
    def rounds(self) -> tuple[Any, Any, int]:
        """What the counter is in each round."""
        return self.span or (0, self.length, 1)


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


class View:
    """The keys, values or items of a dict, as they are when they are gone through."""

    def __init__(self, owner: Any, what: str) -> None:
        self.owner, self.what = owner, what


class Sequences(Ways):
    """Going through things."""

    unrolled = 1  # rounds within rounds

    def elements(self, x: Any, count: int | None = None) -> list[Any]:
        """The elements of something known to have elements, or which must have so many."""
        if isinstance(x, Choice):
            return self.over(x, lambda one: self.elements(one, count))  # type: ignore[no-any-return]
        found = self.sequence(x)
        if isinstance(found, Sequence) and isinstance(found.length, Number) and count is not None:
            alike = self.builder.op("equal", atom_of(found.length), count)
            self.demand(self.builder.wrap(alike), f"other than {count} values to unpack")
            return [found.at(k) for k in range(count)]
        if isinstance(found, Sequence) and isinstance(found.length, int):
            return [found.at(k) for k in range(found.length)]
        if isinstance(found, Sequence):
            raise TypeError("the number of elements is not known while zyg reads the source")
        return found

    def sequence(self, x: Any) -> list[Any] | Sequence:
        """The elements of something: a list, or a sequence where they are counted."""
        if isinstance(x, Sequence):
            return x
        if isinstance(x, Outside):
            if not isinstance(x.value, (tuple, list, range, dict)):
                raise TypeError(f"a captured {type(x.value).__name__} cannot be looped over")
            if isinstance(x.value, dict):
                return [*x.value]
            return [
                self.captures.found(part, (*x.path, ("item", k)), self.lift)
                for k, part in enumerate(x.value)
            ]
        if isinstance(x, Ref):
            return self._of_ref(x)
        if isinstance(x, View):
            return self._of_view(x)
        if isinstance(x, Range):
            return self._of_range(x)
        if (rows := self.rows(x)) is not None:
            length, row = rows
            return Sequence(self.index(length), lambda k: self.plain(row(atom_of(k))))
        if isinstance(x, (Number, GeneratorType)) or not hasattr(x, "__iter__"):
            raise TypeError(f"a {type(x).__name__} has no elements")
        return [*x]

    def steps(self, x: Any) -> Sequence:
        """What there is to go through; what is written to it meanwhile is seen, as in Python."""
        if isinstance(x, Ref) and x.kind is list:
            return self._of_list(x)
        if isinstance(x, View):
            keys = [*self.keys(x.owner)] if isinstance(x.owner, Ref) else None
            if keys is not None and x.what != "keys":
                return self._of_dict(x, keys)
        found = self.sequence(x)
        if isinstance(found, Sequence):
            return found
        return Sequence(len(found), found.__getitem__, held=found)

    def _of_list(self, x: Ref) -> Sequence:
        items = self.heap[x][""]
        if isinstance(items, Growing):
            count = items.count

            def as_many() -> Any:
                now = self.heap[x][""].count
                made = self.builder.op("equal", atom_of(now), atom_of(count))
                return self.index(made)

            return Sequence(count, lambda k: at(self, self.heap[x][""], atom_of(k)), still=as_many)

        def still() -> bool:
            now = self.heap[x][""]
            return not isinstance(now, Growing) and len(now) == len(items)

        def item(k: int) -> Any:
            _demand_still(still())
            return self.heap[x][""][k]

        return Sequence(len(items), item, held=[x], still=still)

    def _of_dict(self, x: View, keys: list[Any]) -> Sequence:
        def still() -> bool:
            return [*self.keys(x.owner)] == keys

        def item(k: int) -> Any:
            _demand_still(still())
            value = self.item(x.owner, keys[k])
            return value if x.what == "values" else (keys[k], value)

        return Sequence(len(keys), item, held=[x.owner], still=still)

    def go_on(self, rounds: Sequence, left: Any = False) -> None:
        """At the end of a loop that was not left: Python goes through what has been added."""
        same = rounds.still()
        if isinstance(same, Number):
            same = same if left is False else same | left
            self.demand(same, "a list that grows while it is gone through")
        else:
            _demand_still(same)

    def _of_ref(self, x: Ref) -> list[Any] | Sequence:
        content = self.heap[x]
        if x.kind == "iterator":
            self.spend(x)
            found: list[Any] | Sequence = content[""]() if callable(content[""]) else content[""]
            return found
        if x.kind is list:
            items = content[""]
            if not isinstance(items, Growing):
                return [*items]
            return Sequence(items.count, lambda k: at(self, self.heap[x][""], atom_of(k)))
        if x.kind is dict:
            return self.keys(x)
        if x.kind is set and len(content) < 2:
            return [*content]
        raise TypeError(f"a {getattr(x.kind, '__name__', x.kind)} cannot be looped over")

    def spend(self, x: Ref) -> None:
        """Go through an iterator, which has elements once."""
        if self.heap[x]["spent"] is not False:
            raise KernelError(
                "an iterator that may be exhausted cannot be used in a kernel.",
                "it yields its elements only once.", "make it a list.",
            )  # fmt: skip
        self.heap[x]["spent"] = True

    def _of_view(self, x: View) -> list[Any]:
        keys = self.elements(x.owner)
        if x.what == "keys":
            return keys
        values = [self.item(x.owner, key) for key in keys]
        return values if x.what == "values" else [*zip(keys, values, strict=True)]

    def _of_range(self, x: Range) -> Sequence:
        start, step = x.start, x.step
        length = self.range_length(start, x.stop, step)

        def index(k: Any) -> Any:
            made = self.builder.op("multiply", atom_of(k), atom_of(step))
            return self.index(self.builder.op("add", made, atom_of(start)))

        span = None if isinstance(step, Number) else (start, x.stop, step)
        return Sequence(length, index, span, x.independent)

    def range_length(self, start: Any, stop: Any, step: Any) -> Any:
        """How many rounds a range has."""
        op = self.builder.op
        first, end, by = map(atom_of, (start, stop, step))
        if isinstance(by, Value):
            self.demand(self.builder.wrap(op("not_equal", by, 0)), "a range of step zero")
        if by == 1 and first == 0:
            return self.index(op("maximum", end, 0))
        # The quotient, rounded away from zero.
        distance = op("add", op("subtract", end, first), by)
        distance = op("subtract", distance, op("sign", by))
        return self.index(op("maximum", op("floor_divide", distance, by), 0))

    def rows(self, x: Any) -> tuple[Any, Callable[[Any], Any]] | None:
        """How many elements an array has, and which; None for other things."""
        return None

    def index(self, x: Any) -> Any:
        """An int of Python's, which needs no check."""
        return self.builder.wrap(x)

    def next_index(self, x: Any, step: int = 1) -> Any:
        return self.index(self.builder.op("add", atom_of(x), step))

    def less(self, x: Any, y: Any) -> Any:
        return self.builder.wrap(self.builder.op("less", atom_of(x), atom_of(y)))

    def rounds(self, x: Any) -> Sequence:
        """What a loop goes over, one by one if it is little: what is `held` is not None then."""
        if isinstance(x, Choice):
            raise TypeError("what the loop runs over depends on a condition")
        if isinstance(x, range):
            most = _UNROLLED_WHOLE if self.whole else _UNROLLED
            if len(x) * self.unrolled > most:
                return Sequence(len(x), self._index_in(x), (x.start, x.stop, x.step))
        found = self.steps(x)
        if found.held is None and isinstance(found.length, int) and found.length <= 4:
            return Sequence(found.length, found.at, held=[], still=found.still)
        if self.whole and found.held is None:
            self.builder.counter(0, atom_of(found.length))  # no more rounds than fit in memory
        return found

    def _index_in(self, x: range) -> Callable[[Any], Any]:
        def index(k: Any) -> Any:
            if not isinstance(k, Number):
                return x[k]
            made = self.builder.op("multiply", k.atom, x.step)
            return self.index(self.builder.op("add", made, x.start))

        return index

    def count(self, rounds: Sequence, visit: Callable[[Any], None], **how: Any) -> None:
        """A loop over all rounds."""
        start, stop, step = rounds.rounds
        span = atom_of(start), atom_of(stop), step
        counter = self.builder.counter(*span[:2])

        def finish(params: Any, init: Any, tests: Any, block: Any, outs: Any) -> For:
            return For(counter, span, init, params, block, outs)

        runs = isinstance(rounds.length, int) and rounds.length > 0
        try:
            self.loop(
                lambda: visit(rounds.of_counter(self.index(counter))), finish, runs=runs,
                begins=lambda params: self.builder.begins(counter, span, params), **how,
            )  # fmt: skip
        except Dead as dead:
            none = self.builder.op("less_equal", atom_of(rounds.length), 0)
            self.demand(self.builder.wrap(none), dead.why)

    def each(self, x: Any, visit: Callable[[Any], None]) -> None:
        """Do something with each element."""
        if isinstance(x, Choice):
            self.over(x, lambda one: self.each(one, visit))
            return
        if isinstance(x, Ref) and x.kind == "iterator" and "each" in self.heap[x]:
            self.spend(x)
            self.heap[x]["each"](visit)
            return
        rounds = self.rounds(x)
        held = len(self.roots)
        self.roots.append(rounds.held)
        if rounds.held is None:
            self.count(rounds, visit)
        else:
            for k in range(rounds.length):
                visit(rounds.at(k))
        self.go_on(rounds)
        del self.roots[held:]

    def generator(self, each: Callable[[Callable[[Any], None]], None]) -> Ref:
        """A generator expression: what it does is done when it is gone through."""

        def elements() -> list[Any] | Sequence:
            made = self.new_list(())
            each(lambda x: self.append(made, x))
            return self.sequence(made)

        return self.heap.new("iterator", {"spent": False, "": elements, "each": each})

    def iterator(self, elements: Sequence) -> Ref:
        """Something that can be gone through once."""
        return self.heap.new("iterator", {"spent": False, "": elements, "held": elements.held})


def _demand_still(same: bool) -> None:
    if not same:
        raise KernelError(
            "a list that is made longer or shorter while it is gone through is not compiled.",
            "Python goes through what was added as well.", "go through a copy of it.",
        )  # fmt: skip
