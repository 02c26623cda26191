"""LLVM text of what rounds do in lanes: operations on numbers, and on memory.

What is the same in all rounds is a single number, as elsewhere. An int that grows by the same from
lane to lane is its first and that step; all else is a vector. Memory that a round makes is eight
wide, element by element; so is a sum at a place that is the same in all rounds. Elsewhere one lane
adds after the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zyg.compiler.back import elementary_text
from zyg.compiler.back.c_abi import type_in_memory
from zyg.compiler.back.lane_rows import rows_of
from zyg.compiler.back.lanes_of_rounds import Lanes, Term
from zyg.compiler.back.llvm_scalar import made
from zyg.compiler.back.llvm_simd import Printer
from zyg.compiler.back.simd import BITS, REALS, Lane
from zyg.compiler.back.simd import Lanes as Vectors
from zyg.compiler.back.sums import LANES, total
from zyg.compiler.back.vector_elementary import VECTORISED
from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Check,
    For,
    Load,
    Op,
    Store,
    Value,
    element_of,
    type_of,
)
from zyg.compiler.rewriter import Visitor

_COUNT = "<" + ", ".join(f"i64 {k}" for k in range(LANES)) + ">"


class _Vectors(Vectors):
    """Prints operations on eight numbers among other lines."""

    def __init__(self, m: Any) -> None:
        super().__init__(LANES, 1)
        self.m, self.lines, self.count, self.declared = m, m.lines, m.count, m.declared

    def value(self, expression: str) -> str:
        name: str = self.m.value(expression)
        return name

    def converted(self, x: Any, type: str, signed: bool = True) -> Lane:
        if isinstance(x, Lane) and x.type in REALS and type not in REALS:
            name = f"@llvm.fptosi.sat.{self.letters(type)}.{self.letters(x.type)}"
            return self.of(name, type, x)
        return super().converted(x, type, signed)

    def of(self, name: str, type: str, *args: Lane) -> Lane:
        """What a function gives."""
        out, types = self.vector(type), [self.vector(x.type) for x in args]
        if not name.startswith("@zyg_"):
            self.declared[f"declare {out} {name}({', '.join(types)})"] = None
        given = ", ".join(f"{t} {x.names[0]}" for t, x in zip(types, args, strict=True))
        return Lane(self, type, (self.value(f"call {out} {name}({given})"),))

    def elementary(self, name: str, *args: Lane) -> Lane:
        assert name in VECTORISED, name
        type = args[0].type
        symbol = elementary_text.of_lanes(name, type, LANES, self.declared)
        return self.of(f"@{symbol}", type, *(self.converted(x, type) for x in args))


class Parts(Visitor):
    """Prints the operations of a loop that runs in lanes."""

    def __init__(self, function: Any, lanes: Lanes) -> None:
        self.function, self.lanes, self.m = function, lanes, function.m
        self.v = _Vectors(function.m)
        self.vectors: dict[Value, Lane] = {}
        self.rows: dict[Value, tuple[str, str]] = {}  # ints: of the first lane, the step
        self.mask = self.all = Lane(self.v, "i1", ("",))
        self.counting = Lane(self.v, "i64", (_COUNT,))
        self.done = {x for pair in lanes.added.values() for x in pair}  # where they are stored
        self.turns = [term for terms in lanes.in_turn.values() for term in terms]
        self.terms: dict[Term, Lane] = {}  # of sums in order
        self.wide: dict[Value, Value] = {}  # sums in memory: their lanes
        self.stepping: list[tuple[Store, Lane]] = []  # what is added at the end of a block
        self.left = ""  # rounds from the first lane on
        self.fixed: dict[Store, str] = {}  # those at one place: their lanes
        self.kept = {op: row for row in rows_of(function, lanes) for op in row.accesses}
        self.lengths: dict[For, Lane] = {}  # of loops that begin elsewhere in each lane

    def one(self, x: Lane, k: int) -> str:
        name: str = self.m.value(f"extractelement {self.v.vector(x.type)} {x.names[0]}, i32 {k}")
        return name

    def bits(self, mask: Lane, name: str) -> str:
        found: str = self.m.value(f"bitcast <{LANES} x i1> {mask.names[0]} to i{LANES}")
        return str(self.m.value(f"icmp {name} i{LANES} {found}, {0 if name == 'ne' else -1}"))

    def lane(self, x: Atom) -> Lane:
        """A number in all lanes."""
        type = self.function.type(type_of(x))
        if not isinstance(x, Value):
            return self.v.constant(type, x)
        if x in self.rows:
            return self.row(*self.rows[x])
        return self.vectors[x] if x in self.vectors else self.v.splat(type, self.function.known[x])

    def row(self, first: str, step: str) -> Lane:
        """Ints that grow from lane to lane."""
        lane: Lane = self.v.splat("i64", first) + self.counting * self.v.splat("i64", step)
        return lane

    def same(self, x: Atom) -> bool:
        return x not in self.lanes.varies

    def times_eight(self, size: str) -> str:
        return str(self.m.value(f"call i64 @llvm.ushl.sat.i64(i64 {size}, i64 3)"))

    def term(self, term: Term) -> Lane:
        """What is added to a sum in order."""
        return self.terms[term] if term in self.terms else self.lane(term.value)

    def nothing(self, term: Term) -> Lane:
        """What changes no sum."""
        return self.v.constant(
            self.function.type(term.value.type), -0.0 if term.name == "add" else 0.0
        )

    # Operations

    def op(self, op: Op) -> None:
        if op in self.done or op.out in self.lanes.chains:
            return
        f = self.function
        if self.same(op.out):
            f.op(op)
            return
        if op.out.type == "int" and (row := self._stepping(op)):
            self.rows[op.out] = row
            return
        args, type = [self.lane(x) for x in op.args], f.type(op.out.type)
        if op.callee is not None:
            (y,) = Printer(self.v, f.types).outputs(op.callee, args)
            self.vectors[op.out] = self.v.converted(y, type)
        else:
            self.vectors[op.out] = made(self.v, op, args, type)

    def _stepping(self, op: Op) -> tuple[str, str] | None:
        """An int that grows from lane to lane by a step that is the same in all rounds."""
        m, rows = self.m, []
        if op.name == "constant":
            return self.rows.get(op.args[0])  # type: ignore[arg-type]
        for x in op.args if op.name in ("add", "subtract", "multiply") else ():
            if type_of(x) != "int" or not (self.same(x) or x in self.rows):
                return None
            rows.append((self.function.atom(x), "0") if self.same(x) else self.rows[x])  # type: ignore[index]
        if len(rows) < 2 or (op.name == "multiply" and "0" not in (rows[0][1], rows[1][1])):
            return None
        (a, s), (b, t) = rows
        if op.name != "multiply":
            how = "sub" if op.name == "subtract" else "add"
            known = s if t == "0" else t if (how, s) == ("add", "0") else ""
            step = known or m.value(f"{how} i64 {s}, {t}")
            return m.value(f"{how} i64 {a}, {b}"), step
        by = b if t == "0" else a
        step = s if t == "0" else t
        return m.value(f"mul i64 {a}, {b}"), by if step == "1" else m.value(f"mul i64 {step}, {by}")

    def alloc(self, op: Alloc) -> None:
        f, size = self.function, Value("int")
        one = f.atom(op.size) if self.same(op.size) else self.most(op.size)
        f.known[size] = self.times_eight(one)
        f.alloc(replace(op, size=size))

    def most(self, x: Atom | Lane) -> str:
        """The largest of lanes that are on this way."""
        return self._extreme(x, "smax", -(2**63))

    def least(self, x: Atom | Lane) -> str:
        """The smallest of lanes that are on this way."""
        return self._extreme(x, "smin", 2**63 - 1)

    def _extreme(self, x: Atom | Lane, how: str, none: int) -> str:
        lane = x if isinstance(x, Lane) else self.lane(x)
        x = self.v.select(self.mask, lane, self.v.constant("i64", none))
        name = f"@llvm.vector.reduce.{how}.v{LANES}i64"
        self.v.declared[f"declare i64 {name}(<{LANES} x i64>)"] = None
        return str(self.m.value(f"call i64 {name}(<{LANES} x i64> {x.names[0]})"))

    # Memory

    def at(self, buffer: Value, index: str, type: str) -> str:
        """Where the lanes of an element are, as the operands of a load."""
        at = self.m.value(f"mul i64 {index}, {LANES}")
        place = self.m.value(f"getelementptr {type}, ptr {self.function.known[buffer]}, i64 {at}")
        return f"<{LANES} x {type}>, ptr {place}, align {LANES * _size(type)}"

    def _places(self, buffer: Value, index: Atom, type: str) -> str:
        """Where an element is for each lane."""
        if buffer in self.lanes.own:
            lane = self.lane(index) * LANES + self.counting
        else:
            lane = self.lane(index)
        at = f"ptr {self.function.atom(buffer)}, <{LANES} x i64> {lane.names[0]}"
        return f"{self.v.vector('ptr')} {self.m.value(f'getelementptr {type}, {at}')}"

    def load(self, op: Load) -> None:
        if op in self.done:
            return
        f, m, v, kind = self.function, self.m, self.v, type_in_memory(op.out.type)
        tags = ", " + f.tags(op, kind)
        if self.same(op.out):
            f.load(op)
            return
        if op in self.kept:
            place = self.kept[op].place(self, op.index, kind)
            self.vectors[op.out] = Lane(v, kind, (m.value(f"load {place}"),))
            return
        if op.buffer in self.lanes.own and self.same(op.index):
            x = self.m.value(f"load {self.at(op.buffer, f.atom(op.index), kind)}{tags}")
        elif op.buffer not in self.lanes.own and self._is_beside(op.index):
            x = self.read(self._first(op, kind), kind, self.mask, tags)
        else:
            x = self.read(self._places(op.buffer, op.index, kind), kind, self.mask, tags)
        lane = Lane(v, kind, (x,))
        self.vectors[op.out] = lane != 0 if kind == "i8" else lane

    def _is_beside(self, index: Atom) -> bool:
        """Whether lanes have elements that are beside each other."""
        return index in self.rows and self.rows[index][1] == "1"

    def _first(self, op: Load | Store, kind: str) -> str:
        """Where the element of the first lane is, of places that grow by a step."""
        at = f"ptr {self.function.atom(op.buffer)}, i64 {self.rows[op.index][0]}"  # type: ignore[index]
        return f"ptr {self.m.value(f'getelementptr {kind}, {at}')}"

    def read(self, places: str, kind: str, mask: Lane, tags: str = "") -> str:
        """What is at these places, or from one on, where a mask is set."""
        zeros = self.v.vector(kind), "zeroinitializer"
        call = self._masked(("gather", "load"), kind, zeros[0], [], places, mask, [zeros])
        return str(self.m.value(call + tags))

    def write(self, places: str, x: Lane, mask: Lane) -> None:
        """Store lanes at these places, or from one on, where a mask is set."""
        lanes = self.v.vector(x.type), x.names[0]
        self.m.line(self._masked(("scatter", "store"), x.type, "void", [lanes], places, mask, []))

    def _masked(
        self, names: tuple[str, str], kind: str, out: str, before: list[tuple[str, str]],
        places: str, mask: Lane, behind: list[tuple[str, str]],
    ) -> str:  # fmt: skip
        """The call of an intrinsic: the first of two for many places, the second for one."""
        v, (pointer, _, name) = self.v, places.rpartition(" ")
        given = [*before, (pointer, name), ("i32", str(_size(kind))),
                 (v.vector("i1"), mask.names[0]), *behind]  # fmt: skip
        one = pointer == "ptr"
        symbol = f"@llvm.masked.{names[one]}.{v.letters(kind)}.{'' if one else f'v{LANES}'}p0"
        v.declared[f"declare {out} {symbol}({', '.join(type for type, _ in given)})"] = None
        return f"call {out} {symbol}({', '.join(map(' '.join, given))})"

    def store(self, op: Store) -> None:
        if op in self.lanes.added:
            self._add(op)
            return
        f, v, element = self.function, self.v, element_of(op.buffer.type)
        kind, lane = type_in_memory(element), v.converted(self.lane(op.value), f.type(element))
        lane = v.converted(lane, "i8", signed=False) if kind == "i8" else lane
        if op in self.kept or self.same(op.index):
            if op in self.kept:
                place = self.kept[op].place(self, op.index, kind)
            else:
                place = self.at(op.buffer, f.atom(op.index), kind)
            if self.mask is not self.all:
                lane = v.select(self.mask, lane, Lane(v, kind, (self.m.value(f"load {place}"),)))
            self.put(lane, place)
        elif op.buffer not in self.lanes.own and self._is_beside(op.index):
            self.write(self._first(op, kind), lane, self.mask)
        else:
            self.write(self._places(op.buffer, op.index, kind), lane, self.mask)

    def put(self, x: Lane, place: str) -> None:
        """Store lanes beside each other."""
        _, where = place.split(", ", 1)
        self.m.line(f"store {self.v.vector(x.type)} {x.names[0]}, {where}")

    def _add(self, op: Store) -> None:
        """Add to what rounds share."""
        f, m, v, (load, made) = self.function, self.m, self.v, self.lanes.added[op]
        kind = f.type(element_of(op.buffer.type))
        term = self.lane(made.args[1] if made.args[0] is load.out else made.args[0])
        term = -term if made.name == "subtract" else term
        same = self.same(op.index)
        if op in self.kept or (same and op.buffer in self.wide):
            if same:
                place = self.at(self.wide[op.buffer], f.atom(op.index), kind)
            else:
                place = self.kept[op].place(self, op.index, kind)
            before = Lane(v, kind, (m.value(f"load {place}"),))
            self.put(v.select(self.mask, before + term, before), place)
        elif op in self.fixed:
            before = Lane(v, kind, (m.value(f"load {self.fixed[op]}"),))
            self.put(before + self.chosen(term), self.fixed[op])
        elif same:
            self.add_to(op.buffer, op.index, total(m, self.chosen(term).names[0], kind))
        elif self._is_beside(op.index):
            before = Lane(v, kind, (self.read(self._first(op, kind), kind, self.mask),))
            self.write(self._first(op, kind), before + term, self.mask)
        elif self.mask is self.all and op.index in self.rows:
            self.stepping.append((op, self.chosen(term)))
        else:
            self.add_one_by_one(self._places(op.buffer, op.index, kind), term, self.mask)

    def chosen(self, term: Lane) -> Lane:
        """What is added in all lanes: nothing where a mask is not set."""
        lane: Lane = self.v.select(self.mask, term, self.v.constant(term.type, -0.0))
        return lane

    def run(self, block: Block) -> None:
        """Print the operations of a block; last what they add at places that grow by a step."""
        outer, self.stepping = self.stepping, []
        super().run(block)
        rows, self.stepping = self.stepping, outer
        for k in range(LANES if rows else 0):
            on = self.m.value(f"icmp sgt i64 {self.left}, {k}")
            for op, term in rows:
                self._add_one(op, term, k, on)

    def _add_one(self, op: Store, term: Lane, k: int, on: str) -> None:
        """Add to the place of a round; nothing to that of the first if there is none."""
        m, kind, (_, step) = self.m, term.type, self.rows[op.index]  # type: ignore[index]
        far = m.value(f"select i1 {on}, i64 {m.value(f'mul i64 {step}, {k}')}, i64 0")
        place = m.value(f"getelementptr {kind}, {self._first(op, kind)}, i64 {far}")
        added = m.value(f"fadd {kind} {m.value(f'load {kind}, ptr {place}')}, {self.one(term, k)}")
        m.line(f"store {kind} {added}, ptr {place}")

    def add_to(self, buffer: Value, index: Atom, term: str) -> None:
        """Add one number to an element."""
        f, kind = self.function, element_of(buffer.type)
        before, after = Value(kind), Value(kind)
        f.load(Load(buffer, index, before))
        f.known[after] = self.m.value(f"fadd {f.type(kind)} {f.known[before]}, {term}")
        f.store(Store(buffer, index, after))

    def add_one_by_one(self, places: str, term: Lane, mask: Lane) -> None:
        """Add lanes at these places, one after the other, where a mask is set."""
        m, v, ptrs, kind = self.m, self.v, self.v.vector("ptr"), term.type
        nowhere = m.slot(kind)
        m.line(f"store {kind} 0.0, ptr {nowhere}")
        others = v.splat("ptr", nowhere).names[0]
        at = m.value(f"select {v.vector('i1')} {mask.names[0]}, {places}, {ptrs} {others}")
        for k in range(LANES):
            place, x = self.one(Lane(v, "ptr", (at,)), k), self.one(term, k)
            before = m.value(f"load {kind}, ptr {place}")
            m.line(f"store {kind} {m.value(f'fadd {kind} {before}, {x}')}, ptr {place}")

    def check(self, op: Check) -> None:
        if self.same(op.condition):
            self.function.check(op)
            return
        holds = self.lane(op.condition)
        if op not in self.function.early:
            self.function.demand(self.bits(holds | (self.mask ^ True), "eq"), op.why)


def _size(type: str) -> int:
    return max(BITS[type] // 8, 1)
