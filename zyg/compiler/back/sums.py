"""Sums of many terms, made in eight lanes: the order of additions is that of no processor.

A sum that a reduction of NumPy's makes, or a derivative, may be added up in any order. In the order
of the rounds each addition waits for the one before; here a round adds to one lane of eight, and
the lanes are added when all is done, as a tree. The order is in the text, so that the bits are the
same whatever LLVM makes of it. A loop of the user's adds in the order in which it says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zyg.compiler.back.metadata import IN_LANES, ONE_BY_ONE
from zyg.compiler.ir import Block, For, Load, Op, Store, Value
from zyg.compiler.loops import FIXED, Rounds, additions, more_than_sums

LANES = 8
_MANY = 2 * LANES  # rounds, from which on it is worth while
_FLOATS = {"float": "double", "float32": "float"}

Places = dict[Store, tuple[Load, Op]]


def summed(loop: For, same: Callable[[Value], Any]) -> Places | None:
    """Of a loop that makes sums of floats in any order: those at fixed places of memory.

    None of other loops. `same` says which buffers may share memory.
    """
    if loop.in_turn or loop.in_order or loop.apart is not None or loop.span[2] != 1:
        return None
    carried = [p for p, y in zip(loop.params, loop.body.yields, strict=True) if y is not p]
    if not {p.type for p in carried} <= _FLOATS.keys() or more_than_sums(loop, carried):
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


def printed(function: Any, loop: For, places: Places, one_by_one: bool) -> None:
    """Print such a loop: in lanes where it is long, else in the order of the rounds."""
    m, (first, end, _) = function.m, loop.span
    count = m.value(f"sub i64 {function.atom(end)}, {function.atom(first)}")
    short = m.value(f"icmp slt i64 {count}, {_MANY}")

    def run(is_short: bool) -> None:
        if is_short:
            function.loop(loop, *function.counting(loop, "add nsw i64 {}, {}"), ONE_BY_ONE)
        else:
            _in_lanes(function, loop, places, count, ONE_BY_ONE if one_by_one else IN_LANES)

    function.twice(loop, short, run)


def _in_lanes(function: Any, loop: For, places: Places, count: str, how: str) -> None:
    lanes: list[tuple[Value, Any, Value]] = []  # what a sum was, is, and where its lanes are
    totals: list[Callable[[], None]] = []

    def add(before: Value, after: Any) -> str:
        type = _FLOATS[before.type]
        row = Value(f"{before.type}[]")
        slot: str = function.m.slot(f"[{LANES} x {type}], align 64")
        function.known[row] = slot
        function.m.line(f"store <{LANES} x {type}> zeroinitializer, ptr {slot}, align 64")
        lanes.append((before, after, row))
        return slot

    for p, y, start, out in zip(loop.params, loop.body.yields, loop.init, loop.outs, strict=True):
        function.known[out] = function.atom(start, p.type)
        if y is p:
            function.known[p] = function.known[out]
        else:
            totals.append(_after(function, out, add(p, y)))
    for store, (load, made) in places.items():
        totals.append(_behind(function, loop, store, add(load.out, made.out)))
    gone = {*places, *(load for load, _ in places.values())}
    body = [op for op in loop.body.ops if op not in gone]

    def rounds(base: Any, many: Any) -> tuple[Op, For]:
        lane, at = Value("int"), Value("int")
        ops = [Op("add", (at, lane), loop.index), *(Load(row, lane, x) for x, _, row in lanes),
               *body, *(Store(row, lane, y) for _, y, row in lanes)]  # fmt: skip
        place = Op("add", (loop.span[0], base), at)
        return place, For(lane, (0, many, 1), [], [], Block(ops, []), [])

    full, rest, outer = Value("int"), Value("int"), Value("int")
    function.known[full] = function.m.value(f"and i64 {count}, {-LANES}")
    function.known[rest] = function.m.value(f"sub i64 {count}, {function.known[full]}")
    place, inner = rounds(outer, LANES)
    nest = For(outer, (0, full, LANES), [], [], Block([place, inner], []), [])
    behind, tail = rounds(full, rest)
    function.ways |= {inner: how, nest: ONE_BY_ONE, tail: ONE_BY_ONE}
    for op in (nest, behind, tail):
        function.visit(op)
    for total in totals:
        total()


def _after(function: Any, out: Value, slot: str) -> Callable[[], None]:
    """Adds lanes to what a sum has begun with."""

    def total() -> None:
        type = _FLOATS[out.type]
        lanes = _total(function.m, slot, type)
        function.known[out] = function.m.value(f"fadd {type} {function.known[out]}, {lanes}")

    return total


def _behind(function: Any, loop: For, store: Store, slot: str) -> Callable[[], None]:
    """Adds lanes to an element of memory."""

    def total() -> None:
        x, y, made = Value(store.value.type), Value(store.value.type), Value(store.value.type)  # type: ignore[union-attr]
        for op in Rounds(loop).chain(store.index):
            function.visit(op)
        function.known[x] = _total(function.m, slot, _FLOATS[x.type])
        function.visit(Load(store.buffer, store.index, y))
        function.visit(Op("add", (y, x), made))
        function.visit(Store(store.buffer, store.index, made))

    return total


def _total(m: Any, slot: str, type: str) -> str:
    """The sum of the lanes, half by half."""
    n, x = LANES, m.value(f"load <{LANES} x {type}>, ptr {slot}, align 64")
    while n > 1:
        n //= 2
        halves = []
        for start in (0, n):
            places = ", ".join(f"i32 {k}" for k in range(start, start + n))
            pair = f"<{2 * n} x {type}> {x}, <{2 * n} x {type}> poison"
            halves.append(m.value(f"shufflevector {pair}, <{n} x i32> <{places}>"))
        x = m.value(f"fadd <{n} x {type}> {halves[0]}, {halves[1]}")
    total: str = m.value(f"extractelement <1 x {type}> {x}, i32 0")
    return total
