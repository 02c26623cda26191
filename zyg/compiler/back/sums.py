"""Sums of many terms, and extrema, made in eight lanes: in an order that is that of no processor.

A sum that a reduction of NumPy's makes, or a derivative, may be added up in any order. In the order
of the rounds each addition waits for the one before; here a round adds to one lane of eight, and
the lanes are added when all is done, as a tree. The order is in the text, so that the bits are the
same whatever LLVM makes of it. A loop of the user's adds in the order in which it says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zyg.compiler.back.extrema import TYPES, Extremum
from zyg.compiler.back.metadata import IN_LANES, ONE_BY_ONE
from zyg.compiler.ir import Block, For, Load, Op, Store, Value
from zyg.compiler.loops import FIXED, Rounds, additions, more_than_sums

LANES = 8
_MANY = 2 * LANES  # rounds, from which on it is worth while
_FLOATS = "float", "float32"

Places = dict[Store, tuple[Load, Op]]


def summed(loop: For, same: Callable[[Value], Any]) -> Places | None:
    """Of a loop that makes sums of floats in any order: those at fixed places of memory.

    None of other loops. `same` says which buffers may share memory.
    """
    if loop.in_turn or loop.in_order or loop.apart is not None or loop.span[2] != 1:
        return None
    carried = [p for p, y in zip(loop.params, loop.body.yields, strict=True) if y is not p]
    if not {p.type for p in carried} <= {*_FLOATS} or more_than_sums(loop, carried):
        return None
    moves = Rounds(loop).moves
    accesses = [op for op in loop.body.ops if isinstance(op, (Load, Store))]
    stores = [op for op in accesses if isinstance(op, Store) and moves(op.index) == FIXED]
    if not stores:
        return {} if carried else None
    found = {}
    for store, (load, made) in additions(loop.body, same).items():
        alone = all(same(op.buffer) is not same(store.buffer)
                    for op in accesses if op not in (load, store))  # fmt: skip
        if store in stores and alone and made.out.type in _FLOATS:
            found[store] = load, made
    return found if carried or found else None


def printed(function: Any, loop: For, places: Places | Extremum, one_by_one: bool) -> None:
    """Print such a loop: in lanes where it is long, else in the order of the rounds."""
    m, (first, end, _) = function.m, loop.span
    count = m.value(f"sub i64 {function.atom(end)}, {function.atom(first)}")
    short = m.value(f"icmp slt i64 {count}, {_MANY}")

    def run(is_short: bool) -> None:
        if is_short:
            function.loop(loop, *function.counting(loop, "add nsw i64 {}, {}"), ONE_BY_ONE)
            return
        lanes = _Lanes(function, loop)
        if isinstance(places, Extremum):
            lanes.extremum(places)
        else:
            lanes.sums(places)
        lanes.run(count, ONE_BY_ONE if one_by_one else IN_LANES)

    function.twice(loop, short, run)


class _Lanes:
    """Prints the rounds of a loop, eight at a time."""

    def __init__(self, function: Any, loop: For) -> None:
        self.function, self.m, self.loop = function, function.m, loop
        self.rows: list[tuple[Value, Any, Value]] = []  # what is carried: was, is, and its lanes
        self.body = [*loop.body.ops]
        self.ends: list[Callable[[], None]] = []

    def row(self, before: Value, after: Any, start: str = "") -> str:
        """Lanes of what a round has and leaves, of zeros or of a number."""
        m, type, row = self.m, TYPES[before.type], Value(f"{before.type}[]")
        slot: str = m.slot(f"[{LANES} x {type}], align 64")
        x = "zeroinitializer"
        if start:
            one = m.value(f"insertelement <{LANES} x {type}> poison, {type} {start}, i32 0")
            x = m.value(f"shufflevector <{LANES} x {type}> {one}, <{LANES} x {type}> poison, "
                        f"<{LANES} x i32> zeroinitializer")  # fmt: skip
        self.function.known[row] = slot
        m.line(f"store <{LANES} x {type}> {x}, ptr {slot}, align 64")
        self.rows.append((before, after, row))
        return slot

    def sums(self, places: Places) -> None:
        """Of values that the loop carries, and at places of memory."""
        loop, known, atom = self.loop, self.function.known, self.function.atom
        for p, y, x, out in zip(loop.params, loop.body.yields, loop.init, loop.outs, strict=True):
            known[out] = atom(x, p.type)
            if y is p:
                known[p] = known[out]
            else:
                self.ends.append(_after(self.function, out, self.row(p, y)))
        for store, (load, made) in places.items():
            slot = self.row(load.out, made.out)
            self.ends.append(_behind(self.function, loop, store, slot))
        gone = {*places, *(load for load, _ in places.values())}
        self.body = [op for op in self.body if op not in gone]

    def extremum(self, found: Extremum) -> None:
        """Of what the loop carries, and of the rounds in which it was found."""
        loop, function = self.loop, self.function
        round, this = Value("int"), Value("int")
        self.body.append(Op("select", (found.condition, loop.index, round), this))
        starts = [function.atom(x, p.type) for x, p in zip(loop.init, loop.params, strict=True)]
        starts.append(self.m.value(f"sub i64 {function.atom(loop.span[0])}, 1"))
        carried = zip([*loop.params, round], [*loop.body.yields, this], starts, strict=True)
        slots = [self.row(*x) for x in carried]
        self.ends.append(lambda: found.best(function, loop, slots, LANES))

    def run(self, count: str, how: str) -> None:
        m, known, full, rest, outer = self.m, self.function.known, *(Value("int") for _ in range(3))
        known[full] = m.value(f"and i64 {count}, {-LANES}")
        known[rest] = m.value(f"sub i64 {count}, {known[full]}")
        place, inner = self.rounds(outer, LANES)
        nest = For(outer, (0, full, LANES), [], [], Block([place, inner], []), [])
        behind, tail = self.rounds(full, rest)
        self.function.ways |= {inner: how, nest: ONE_BY_ONE, tail: ONE_BY_ONE}
        for op in (nest, behind, tail):
            self.function.visit(op)
        for end in self.ends:
            end()

    def rounds(self, base: Any, many: Any) -> tuple[Op, For]:
        """Rounds from one on, each in a lane of its own."""
        lane, at = Value("int"), Value("int")
        loads = [Load(row, lane, x) for x, _, row in self.rows]
        stores = [Store(row, lane, y) for _, y, row in self.rows]
        ops = [Op("add", (at, lane), self.loop.index), *loads, *self.body, *stores]
        place = Op("add", (self.loop.span[0], base), at)
        return place, For(lane, (0, many, 1), [], [], Block(ops, []), [])


def _after(function: Any, out: Value, slot: str) -> Callable[[], None]:
    """Adds lanes to what a sum has begun with."""

    def total() -> None:
        type = TYPES[out.type]
        lanes = _total(function.m, slot, type)
        function.known[out] = function.m.value(f"fadd {type} {function.known[out]}, {lanes}")

    return total


def _behind(function: Any, loop: For, store: Store, slot: str) -> Callable[[], None]:
    """Adds lanes to an element of memory."""

    def total() -> None:
        x, y, made = Value(store.value.type), Value(store.value.type), Value(store.value.type)  # type: ignore[union-attr]
        for op in Rounds(loop).chain(store.index):
            function.visit(op)
        function.known[x] = _total(function.m, slot, TYPES[x.type])
        function.visit(Load(store.buffer, store.index, y))
        function.visit(Op("add", (y, x), made))
        function.visit(Store(store.buffer, store.index, made))

    return total


def _total(m: Any, slot: str, type: str) -> str:
    """The sum of lanes in memory."""
    return total(m, m.value(f"load <{LANES} x {type}>, ptr {slot}, align 64"), type)


def total(m: Any, x: str, type: str) -> str:
    """The sum of the lanes of a register, half by half."""
    n = LANES
    while n > 1:
        n //= 2
        halves = []
        for start in (0, n):
            places = ", ".join(f"i32 {k}" for k in range(start, start + n))
            pair = f"<{2 * n} x {type}> {x}, <{2 * n} x {type}> poison"
            halves.append(m.value(f"shufflevector {pair}, <{n} x i32> <{places}>"))
        x = m.value(f"fadd <{n} x {type}> {halves[0]}, {halves[1]}")
    made: str = m.value(f"extractelement <1 x {type}> {x}, i32 0")
    return made
