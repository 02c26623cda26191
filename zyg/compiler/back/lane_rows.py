"""What rounds in lanes use again and again at places that are far from lane to lane."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from zyg.compiler.back.c_abi import type_in_memory
from zyg.compiler.back.lanes_of_rounds import Lanes, most
from zyg.compiler.back.simd import Lane
from zyg.compiler.back.sums import LANES
from zyg.compiler.ir import Alloc, Atom, Block, For, Load, Store, Value, blocks_of, element_of


@dataclass(eq=False, repr=False)
class Row:
    """Elements that a round uses again and again, as far as the index of a loop inside goes.

    Eight rounds have them far from each other. So they are in lanes while the rounds last: loaded
    before; or sums, which begin with nothing and are added behind; or stored behind.
    """

    buffer: Value
    terms: dict[tuple[Value, ...], int]  # of the first index
    sums: bool
    stored: bool
    ends: list[Atom] = field(default_factory=list)  # of those indices
    accesses: list[Load | Store] = field(default_factory=list)
    lanes: Value = field(default_factory=lambda: Value("float[]"))
    first: str = ""  # index of the first lane
    step: str = ""
    count: str = ""
    size: str = ""

    def strides(self, text: Any) -> str:
        """How far the elements of a round are from those of the next."""
        f, m, loop, step = text.function, text.m, text.lanes.loop, "0"
        for term, n in self.terms.items():
            if loop.index in term:
                others = [f.atom(x) for x in term if x is not loop.index]
                step = m.value(f"add i64 {step}, {_product(m, n, others)}")
        return str(m.value(f"mul i64 {step}, {loop.span[2]}"))

    def make(self, text: Any) -> None:
        f, m, size = text.function, text.m, Value("int")
        self.step = self.strides(text)
        self.count, self.size = "0", _product(m, 1, map(f.atom, f.sizes_of(self.buffer)))
        for end in self.ends:
            more = m.value(f"icmp sgt i64 {f.atom(end)}, {self.count}")
            self.count = m.value(f"select i1 {more}, i64 {f.atom(end)}, i64 {self.count}")
        f.known[size] = m.value(f"mul i64 {self.count}, {LANES}")
        self.lanes = Value(self.buffer.type)
        f.alloc(Alloc(self.lanes, size, zeroed=False))

    def begin(self, text: Any) -> None:
        """What is there before eight rounds."""
        f, m, index = text.function, text.m, text.lanes.loop.index
        self.first = sum_of(m, self.terms, lambda x: text.rows[x][0] if x is index else f.atom(x))

        def fill(kind: str, places: str, inside: Lane, place: str) -> None:
            x = text.v.constant(kind, -0.0)
            if not self.sums:
                x = Lane(text.v, kind, (text.read(places, kind, inside),))
            text.put(x, place)

        self._each(text, fill)

    def end(self, text: Any) -> None:
        """What is to be there behind them."""

        def empty(kind: str, places: str, inside: Lane, place: str) -> None:
            x = Lane(text.v, kind, (text.m.value(f"load {place}"),))
            if self.sums:
                text.add_one_by_one(places, x, inside)
            else:
                text.write(places, x, inside)

        if self.sums or self.stored:
            self._each(text, empty)

    def _each(self, text: Any, what: Callable[[str, str, Lane, str], None]) -> None:
        f, m, v = text.function, text.m, text.v
        kind, firsts = type_in_memory(element_of(self.buffer.type)), text.row(self.first, self.step)

        def one(k: str) -> None:
            index = firsts + v.splat("i64", k)
            inside = (index >= 0) & (index < v.splat("i64", self.size)) & text.all
            places = m.value(f"getelementptr {kind}, ptr {f.atom(self.buffer)}, "
                             f"{v.vector('i64')} {index.names[0]}")  # fmt: skip
            what(kind, f"{v.vector('ptr')} {places}", inside, text.at(self.lanes, k, kind))

        m.each(self.count, one)

    def place(self, text: Any, index: Atom, kind: str) -> str:
        """Where the lanes of an element are."""
        at = text.m.value(f"sub i64 {text.rows[index][0]}, {self.first}")
        return str(text.at(self.lanes, at, kind))


def sum_of(m: Any, terms: Mapping[tuple[Value, ...], int], name: Callable[[Value], str]) -> str:
    """Print a sum of products of values that have names."""
    made = "0"
    for term, n in terms.items():
        made = m.value(f"add i64 {made}, {_product(m, n, map(name, term))}")
    return made


def _product(m: Any, n: int, names: Iterable[str]) -> str:
    product = str(n)
    for name in sorted(names):  # the order of a term's factors is that of no program
        product = m.value(f"mul i64 {product}, {name}")
    return product


def rows_of(function: Any, lanes: Lanes) -> list[Row]:
    """What rounds use more than once at places that are far from lane to lane."""
    loop, found = lanes.loop, dict[Any, Row]()
    accesses: dict[Value, list[tuple[Load | Store, int]]] = {}

    def visit(block: Block, depth: int) -> None:
        for op in block.ops:
            for inner in blocks_of(op):
                visit(inner, depth + isinstance(op, For))
            if isinstance(op, (Load, Store)) and op.buffer not in lanes.own:
                accesses.setdefault(op.buffer, []).append((op, depth))

    visit(loop.body, 0)
    sums, done = {op.buffer for op in lanes.added}, {load for load, _ in lanes.added.values()}
    for x, row in accesses.items():
        stored = x not in sums and any(isinstance(op, Store) for op, _ in row)
        row = [(op, n) for op, n in row if op not in done and op.index in lanes.varies]
        groups: dict[Any, Row] = {}
        for op, depth in row:
            if (place := _place(function, lanes, op)) is None:
                groups[None] = Row(x, {}, False, False)
                continue
            terms, end, few = place
            key = frozenset(terms.items())
            made = groups.setdefault(key, Row(x, terms, x in sums, stored))
            again = any(op.index is other.index for other in made.accesses)
            made.accesses.append(op)
            made.ends.append(end)
            if depth > few or again:
                found[x, key] = made
        if stored and len(groups) > 1:
            found = {key: made for key, made in found.items() if key[0] is not x}
    return [*found.values()]


def _place(
    function: Any, lanes: Lanes, op: Load | Store
) -> tuple[dict[tuple[Value, ...], int], Atom, int] | None:
    """The terms of an index that are the same while a round lasts, where the others end, how many
    there are; None where that is not known.
    """
    loop, terms = lanes.loop, function.places.sum_of(op.index)
    sizes = function.sizes_of(op.buffer)
    if terms is None or element_of(op.buffer.type) not in ("float", "float32") or not sizes:
        return None
    inner = [t for t in terms if not lanes.makers.keys().isdisjoint(t)]
    first = {t: n for t, n in terms.items() if t and t not in inner}
    known = [x for t in first for x in t if x is not loop.index] + [*sizes]
    by = [t for t in first if loop.index in t]
    if not by or any(t.count(loop.index) > 1 for t in by) or not all(map(function.is_known, known)):
        return None
    if (first.get((loop.index,)) == 1 and len(by) == 1) or terms[()] < 0:
        return None
    if not inner:
        return first, terms[()] + 1, 0
    ((x, *more), *others) = inner
    if more or others or terms[()] or terms[x,] != 1 or x in lanes.varies:
        return None
    end = most(lanes, x)
    return None if end is None else (first, end, 1)
