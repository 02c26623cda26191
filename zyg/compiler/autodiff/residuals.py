"""What the reverse pass asks of the forward sweep: values, kept on tapes or computed again.

The reverse pass mirrors the sweep block by block, so that a value of the sweep is asked for in the
mirror of its own block, or inside it. A value of the outermost block is seen as it is. One of a
branch is yielded out of the branch. One of a loop is stored on a *tape*, a buffer with a slot for
each round, and loaded again at the beginning of the mirrored round; where the loop is itself inside
others, the tape is a value like any other, and is kept in the same way. Where functions are called
that keep something, and in those, values lie on stacks (`calls`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from zyg.compiler.autodiff.augmented_primal import AugmentedPrimal
from zyg.compiler.autodiff.calls import Pair
from zyg.compiler.autodiff.frames import Frame, before, carry
from zyg.compiler.builder import Builder
from zyg.compiler.front.places import Places
from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Check,
    For,
    If,
    Load,
    Op,
    Program,
    Store,
    Type,
    Value,
    While,
    element_of,
    is_buffer,
    operands_of,
    operations,
    outs_of,
)
from zyg.compiler.loops import blocks_around, not_summed, round_of, trips
from zyg.compiler.numbers import Number
from zyg.compiler.polynomials import Polynomials, plus

_SIMPLE = Op, Alloc, Load, Store, Check, If, For
_DEEPEST = 6  # operations from what is kept to what is computed again
_FIRST = 16  # slots of a tape that grows
_FEW = 8  # elements
_MOST_BEFORE = 3  # numbers, of which a loop has at least as many rounds


class Residuals:
    """Brings values of the forward sweep into the reverse pass."""

    def __init__(self, sweep: AugmentedPrimal, builder: Builder, pair: Pair | None = None) -> None:
        self.sweep, self.builder = sweep, builder
        self.pair = pair  # where the reverse pass is a program apart
        self.fetched: dict[Value, Atom] = {}
        self.copies: dict[tuple[Value, Frame], Value | None] = {}  # of buffers, before loops
        self.wholes: dict[Value, tuple[Any, Frame, Atom]] = {}  # of those, what is not made yet

    # Mirrors

    @contextmanager
    def mirror(self, frame: Frame) -> Iterator[Block]:
        """While it lasts, the mirror of a block is open; what is fetched into it comes first."""
        first = Block()
        with self.builder.inside(first), self.builder.inside(Block()) as main:
            frame.depth, frame.mirror = len(self.builder.blocks) - 1, main
            yield main
        main.ops[:0] = first.ops

    @contextmanager
    def at(self, frame: Frame) -> Iterator[Builder]:
        """While it lasts, operations are put first into the mirror of a block."""
        builder = self.builder
        blocks, seen = builder.blocks, builder.seen
        builder.blocks, builder.seen = blocks[: frame.depth], seen[: frame.depth]
        try:
            yield builder
        finally:
            builder.blocks, builder.seen = blocks, seen

    def fetch(self, x: Atom) -> Atom:
        """A value of the sweep, where the reverse pass is now."""
        if isinstance(x, Value) and x in self.sweep.late:
            if x not in self.fetched:
                self.fetched[x] = self._made_late(x)
            return self.fetched[x]
        if not isinstance(x, Value) or (frame := self.sweep.home.get(x)) is None:
            return x
        if x in self.wholes:
            self._copy(x)
        if self._is_seen(frame):
            return x
        if x not in self.fetched and self._is_given(x):
            self.fetched[x] = self.pair.take(x)  # type: ignore[union-attr]
        elif x not in self.fetched:
            keep = x in self._rests_on(x, _DEEPEST)
            self.fetched[x] = self._kept(x, frame) if keep else self._again(x, frame)
        return self.fetched[x]

    def _made_late(self, x: Value) -> Atom:
        made, frame, size = self.sweep.late[x]
        if frame.fused:  # where loops of the round may have their mirrors in themselves, too
            ops = frame.block.ops
            place = next(k for k, op in enumerate(ops) if isinstance(op, Alloc) and op.out is made)
            ops.insert(place, Alloc(x, size))
            return x
        size = self.fetch(size)
        with self.at(frame) as builder:
            return builder.alloc(element_of(x.type), size)

    def _is_seen(self, frame: Frame) -> bool:
        """Whether the values of a block are seen wherever the reverse pass is."""
        return frame.fused or (frame.parent is None and self.pair is None)

    def _is_given(self, x: Value) -> bool:
        """Whether a value is an operand of the function, which calls of its mirror have, too."""
        return self.pair is not None and x in self.pair.given

    def trips(self, loop: For) -> Atom:
        """How many rounds a loop has, where the reverse pass is now."""
        return trips(self.builder, tuple(map(self.fetch, loop.span)))

    # Loops whose mirror is in themselves

    def is_ready(self, frame: Frame, atoms: Sequence[Atom | None]) -> bool:
        """Whether values can be had before a loop, where this is seen; if so, they are."""
        if frame.parent is None or not self._is_seen(frame.parent):
            return False
        ops = frame.parent.block.ops
        place = next(k for k, op in enumerate(ops) if op is frame.region)
        later = {out: op for op in ops[place:] for out in outs_of(op)}
        moved: dict[int, Op] = {}

        def ready(x: Any) -> bool:
            op = later.get(x) if isinstance(x, Value) else None
            if op is None or id(op) in moved:
                return True
            if not isinstance(op, Op) or not all(map(ready, op.args)):
                return False
            moved[id(op)] = op
            return True

        if not all(map(ready, atoms)):
            return False
        rest = [op for op in ops[place:] if id(op) not in moved]
        ops[place:] = [*moved.values(), *rest]
        return True

    def zero_before(self, frame: Frame, kind: Type) -> Atom:
        """Zero, before a loop."""
        block = Block()
        zero = _nothing(block, kind)
        before(frame, block)
        return zero

    # Computed again

    def _rests_on(self, x: Atom, depth: int) -> set[Value]:
        """What has to be kept for a value: itself, or one other that it is computed from again."""
        if not isinstance(x, Value) or x in self.fetched or self._is_given(x):
            return set()
        frame = self.sweep.home.get(x)
        if frame is None or self._is_seen(frame) or _is_index(x, frame):
            return set()
        found, made = {x}, self.sweep.source.get(x)
        whole = self._whole(x, frame)
        cheap = isinstance(made, Op) and made.cost == 1
        if depth and (whole or x in self.sweep.repeatable or cheap):
            operands = [made.index] if whole else operands_of(made)  # type: ignore[union-attr]
            rests = set[Value]().union(*(self._rests_on(y, depth - 1) for y in operands))
            rests.update([whole] if whole in self.wholes else ())
            found = rests if self._takes_less(rests, frame) else found
        return set() if found and self._has_place(x, depth) else found

    def _takes_less(self, rests: set[Value], frame: Frame) -> bool:
        """Whether to keep these takes no more than to keep a value of a block: in each round one of
        them, and a few where the loop begins."""
        while isinstance(frame.region, If) and frame.parent is not None:
            frame = frame.parent
        inside = sum(self._is_inside(x, frame) for x in rests) if frame.parent else len(rests)
        return inside < 2 and len(rests) - inside <= _MOST_BEFORE

    def _has_place(self, x: Value, depth: int) -> bool:
        """Whether a value is in memory of the program's that can be had without keeping more."""
        place = self.sweep.places.get(x, ())
        return bool(place and depth) and not any(self._rests_on(y, depth - 1) for y in place)

    def _whole(self, x: Value, frame: Frame) -> Value | None:
        """A copy of the buffer that a value is loaded from, if a loop goes through all of that
        again and again.
        """
        old = self.sweep.passing.get(x)
        if old is None:
            return None
        if (old, frame) not in self.copies:
            buffer, size = self.sweep.made[old], self.sweep.size.get(old)
            fits = size is not None and self._goes_through(frame, buffer, size)
            self.copies[old, frame] = self._copied(old, frame, size) if fits else None  # type: ignore[arg-type]
        return self.copies[old, frame]

    def _copied(self, old: Value, frame: Frame, size: Atom) -> Value | None:
        """A copy of a buffer, to be made before the outermost loop that leaves it as it is; None if
        that is the innermost, where a tape takes as much.
        """
        buffer, inner, parent = self.sweep.made[old], frame, frame.parent
        while (
            parent is not None and isinstance(parent.region, For) and not parent.fused
            and not self._is_inside(buffer, parent) and not self._is_inside(size, parent)
            and self.sweep.activity.of(old) not in parent.changes
        ):  # fmt: skip
            frame, parent = parent, parent.parent
        if frame is inner:
            return None
        if (old, frame) not in self.copies:
            self.copies[old, frame] = copy = Value(old.type)
            self.wholes[copy], self.sweep.home[copy] = (buffer, frame, size), parent  # type: ignore[assignment]
        return self.copies[old, frame]

    def _goes_through(self, frame: Frame, buffer: Atom, size: Atom) -> bool:
        """Whether a loop has about as many rounds as a buffer, made before it, has elements."""
        start, stop, step = frame.region.span
        if step not in (1, -1) or self._is_inside(buffer, frame) or self._is_inside(size, frame):
            return False
        ints = Polynomials({x: op for x, op in self.sweep.source.items() if isinstance(op, Op)})
        first, end, all_ = map(ints.sum_of, (start, stop, size))
        if first is None or end is None or all_ is None:
            return False
        rest = plus(all_, plus(end, first, -1), -step)
        return rest.keys() <= {()} and 0 <= rest[()] <= _FEW

    def _copy(self, x: Value) -> None:
        """Copy a buffer before the loop."""
        buffer, frame, size = self.wholes.pop(x)
        copying = Builder()
        copying.block.ops.append(Alloc(x, size, zeroed=False))
        copying.copy(x, buffer, size)
        before(frame, copying.block)

    def _again(self, x: Value, frame: Frame) -> Atom:
        if _is_index(x, frame):
            start, _, step = frame.region.span
            start = self.fetch(start)
            with self.at(frame) as builder:
                assert frame.round is not None
                ahead = builder.op("multiply", frame.round, step)
                return ahead if start == 0 else builder.op("add", start, ahead)
        made: Any = self.sweep.source.get(x)
        if self._has_place(x, _DEEPEST):
            made = Load(*self.sweep.places[x], x)
        elif whole := self._whole(x, frame):
            made = Load(whole, made.index, x)
        args = [self.fetch(y) for y in operands_of(made)]
        with self.at(frame) as builder:
            if isinstance(made, Load):
                return builder.load(*args)  # type: ignore[arg-type]
            return builder.op(made.name, *args)

    # Residuals

    def _kept(self, x: Value, frame: Frame) -> Atom:
        if frame.has_stacks:
            back = Load(self.sweep.stacks.of(x.type), 0, Value(x.type))
            frame.kept.append((x, back))
            with self.at(frame) as builder:
                builder.block.ops.append(back)
            return back.out
        if isinstance(frame.region, If):
            return self.fetch(self._yielded(x, frame))
        if isinstance(frame.region, While):
            tape, levels = _grown(x, frame), [frame]
            self.sweep.home[tape] = frame.parent  # type: ignore[assignment]
        else:
            levels = self._levels(frame)
            tape = self._tape(x, levels)
        row = self.fetch(tape)
        assert isinstance(row, Value)
        with self.at(frame) as builder:
            return builder.load(row, self._slot(builder, self._in_order(levels)))

    def _yielded(self, x: Value, frame: Frame) -> Value:
        """A value of a branch, given out of it; in the other branch there is another."""
        region, out = frame.region, Value(x.type)
        for block in (region.then, region.orelse):
            block.yields.append(x if block is frame.block else _nothing(block, x.type))
        region.outs.append(out)
        self.sweep.home[out] = frame.parent  # type: ignore[assignment]
        return out

    def _levels(self, frame: Frame) -> list[Frame]:
        """A loop, and those around it that have room for all its rounds before they begin."""
        levels = [frame]
        while True:
            outer = levels[-1].parent
            assert outer is not None
            if not isinstance(outer.region, For) or outer.fused:
                return levels
            if self._varies(levels, outer):
                return levels
            levels.append(outer)

    def _varies(self, levels: list[Frame], outer: Frame) -> bool:
        """Whether the rounds of loops are counted by what is made in a block."""
        return any(self._is_inside(x, outer) for f in levels for x in f.region.span)

    def _is_inside(self, x: Atom, frame: Frame) -> bool:
        """Whether a value is made in a block, or in one inside it."""
        home = self.sweep.home.get(x) if isinstance(x, Value) else None
        while home is not None and home is not frame:
            home = home.parent
        return home is frame

    def _tape(self, x: Value, levels: list[Frame]) -> Value:
        """Store a value in every round of a nest of loops; the buffer."""
        inner, outer = levels[0], levels[-1]
        tape, size = Value(f"{x.type}[]"), Builder()
        slots: Atom = 1
        for frame in levels:
            slots = size.op("multiply", slots, trips(size, frame.region.span))
        size.block.ops.append(Alloc(tape, slots, zeroed=False, tape=True))
        site = outer
        for region in (f.region for f in levels):
            if region.apart is not None:
                region.apart.append(tape)
        while (around := site.parent) and around.has_one and not self._varies(levels, around):
            site = around  # a tape that all its rounds use
        before(site, size.block)
        self.sweep.home[tape] = site.parent  # type: ignore[assignment]
        if outer not in inner.slots:
            place, rows = Builder(), self._in_order(levels)
            spans = [f.region.span for f in rows[:-1]]
            rounds = [round_of(place, f.region) for f in rows]
            inner.slots[outer] = _slot(place, spans, rounds)
            inner.block.ops += place.block.ops
        inner.block.ops.append(Store(tape, inner.slots[outer], x))
        return tape

    def _in_order(self, levels: list[Frame]) -> list[Frame]:
        """The loops of a nest, first the one whose rounds have their slots beside each other."""
        for frame in levels[1:]:
            if frame.crosswise is None:
                frame.crosswise = _runs_crosswise(self.sweep.program, frame.source)
        first = next((f for f in levels[1:] if f.crosswise), levels[0])
        return [first, *(f for f in levels if f is not first)]

    def _slot(self, builder: Builder, levels: list[Frame]) -> Atom:
        """Where on its tape the mirrored round is."""
        spans = [tuple(map(self.fetch, f.region.span)) for f in levels[:-1]]
        return _slot(builder, spans, [f.round for f in levels])


class Residual(Number):
    """A number of the forward sweep that is fetched when it is used."""

    __slots__ = ("residuals", "value")

    def __init__(self, value: Value, residuals: Residuals) -> None:
        self.value, self.residuals, self.builder = value, residuals, residuals.builder

    @property
    def atom(self) -> Any:  # type: ignore[override]
        return self.residuals.fetch(self.value)


def _is_index(x: Value, frame: Frame) -> bool:
    return isinstance(frame.region, For) and x is frame.region.index


def _runs_crosswise(program: Program, loop: For) -> bool:
    """Whether rounds may come in any order, and loops inside hand on more than sums.

    Such rounds run in lanes, several at a time.
    """
    inside = [*operations(loop.body)]
    ordered = any(not_summed(op) for op in inside if isinstance(op, For))
    if not ordered or not_summed(loop) or not all(isinstance(op, _SIMPLE) for op in inside):
        return False
    places = Places(loop, blocks_around(program.body, loop))
    stored = {op.buffer for op in inside if isinstance(op, Store)} - places.made
    return all(map(places.are_apart, stored))


def _slot(builder: Builder, spans: list[Any], rounds: list[Any]) -> Atom:
    """The number of a round in a nest, innermost first, by the ranges inside the outermost."""
    at: Atom = rounds[-1]
    for span, k in zip(reversed(spans), reversed(rounds[:-1]), strict=True):
        at = builder.op("add", builder.op("multiply", at, trips(builder, span)), k)
    return at


def _nothing(block: Block, kind: Type) -> Atom:
    """A value of a type, at the end of a block, for want of another."""
    if is_buffer(kind):
        out = Value(kind)
        block.ops.append(Alloc(out, 0, zeroed=False))
        return out
    if kind == "float32":
        out = Value(kind)
        block.ops.append(Op("float32", (0.0,), out))
        return out
    return {"float": 0.0, "bool": False}.get(kind, 0)


class Growth:
    """The tapes of a loop of unknown length: all are made anew, twice as long, when full."""

    def __init__(self, frame: Frame) -> None:
        self.room, full, more, room = Value("int"), Value("bool"), Value("int"), Value("int")
        self.more = more
        self.grown = If(full, Block([Op("multiply", (self.room, 2), more)], [more]),
                        Block([], [self.room]), [room])  # fmt: skip
        frame.block.ops += [Op("equal", (frame.counter, self.room), full), self.grown]  # type: ignore[arg-type]
        carry(frame, self.room, _FIRST, room)


def _grown(x: Value, frame: Frame) -> Value:
    """Store a value in every round of a loop of unknown length; the buffer, after the loop."""
    if frame.growth is None:
        frame.growth = Growth(frame)
    growth: Growth = frame.growth
    first, tape, longer, now = (Value(f"{x.type}[]") for _ in range(4))
    before(frame, Block([Alloc(first, _FIRST, zeroed=False)]))
    growth.grown.then.ops.append(Alloc(longer, growth.more, zeroed=False))
    copying = Builder()
    copying.copy(longer, tape, growth.room)
    growth.grown.then.ops += copying.block.ops
    growth.grown.then.yields.append(longer)
    growth.grown.orelse.yields.append(tape)
    growth.grown.outs.append(now)
    assert frame.counter is not None
    frame.block.ops.append(Store(now, frame.counter, x))
    return carry(frame, tape, first, now)
