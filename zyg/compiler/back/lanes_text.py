"""LLVM text of loops whose rounds run in lanes: see `lanes_of_rounds`."""

from __future__ import annotations

from typing import Any

from zyg.compiler.back.lane_regions import Ways
from zyg.compiler.back.lane_rows import Row, sum_of
from zyg.compiler.back.lanes_of_rounds import Lanes
from zyg.compiler.back.simd import Lane
from zyg.compiler.back.sums import LANES, total
from zyg.compiler.ir import Alloc, Block, For, Store, Value, element_of, operations

_FEW = 4  # rounds, below which they do not fill the lanes
_LONG = 32  # rounds of a loop inside that runs in registers by itself
_WIDE = 2**14  # elements of a sum in memory
_EACH = 64  # of those for each round
_ROW = 2**9  # of what a round uses again


def printed(function: Any, lanes: Lanes) -> None:
    """Print a loop that runs in lanes where it is worth while, and else round by round."""
    function.run(Block(lanes.before))
    text = Rounds(function, lanes)

    def run(in_lanes: bool) -> None:
        if in_lanes:
            text.whole()
        else:
            function.plain += 1
            function.for_(lanes.loop)
            function.plain -= 1

    function.twice(lanes.loop, text.pays(), run)


class Rounds(Ways):
    """Prints a loop whose rounds run in lanes."""

    def pays(self) -> str:
        """Whether a loop has some rounds, and those inside are short that run in registers."""
        f, m, (first, end, step) = self.function, self.m, self.lanes.loop.span
        count = m.value(f"sub i64 {f.atom(end)}, {f.atom(first)}")
        holds = m.value(f"icmp {'sge' if step > 0 else 'sle'} i64 {count}, {_FEW * step}")  # type: ignore[operator]

        def and_(condition: str) -> None:
            nonlocal holds
            holds = m.value(f"and i1 {holds}, {m.value(condition)}")

        for start, stop in self.lanes.long:
            length = m.value(f"sub i64 {f.atom(stop)}, {f.atom(start)}")
            and_(f"icmp sle i64 {length}, {_LONG}")
        for x in self._sums_in_memory():
            and_(f"icmp ule i64 {f.atom(f.sizes[x])}, {_WIDE}")
            most = m.value(f"mul i64 {self._count(f.atom(first), f.atom(end), int(step))}, {_EACH}")  # type: ignore[arg-type]
            and_(f"icmp ule i64 {f.atom(f.sizes[x])}, {most}")
        for row in dict.fromkeys(self.kept.values()):
            strides = row.strides(self) if row.stored else ""
            self.v.declared["declare i64 @llvm.abs.i64(i64, i1)"] = None
            for end in row.ends:
                and_(f"icmp sle i64 {f.atom(end)}, {_ROW}")
                if row.stored:  # no more than is of one round
                    size = m.value(f"call i64 @llvm.abs.i64(i64 {strides}, i1 false)")
                    and_(f"icmp sle i64 {f.atom(end)}, {size}")
        return str(holds)

    def _sums_in_memory(self) -> list[Value]:
        """The buffers at whose beginning rounds add to places that are the same for all."""
        f, lanes = self.function, self.lanes
        inside = {op.index for op in operations(lanes.loop.body) if isinstance(op, For)}
        found: dict[Value, bool] = {}
        for op in lanes.added:
            if op.index not in lanes.varies:
                terms, size = f.places.sum_of(op.index), f.sizes.get(op.buffer)
                near = terms is not None and size is not None and f.is_known(size)
                near = near and all(not t or not inside.isdisjoint(t) for t in terms)
                found[op.buffer] = near and found.get(op.buffer, True)
        return [x for x, near in found.items() if near]

    def whole(self) -> None:
        """The loop in lanes."""
        f, m, (first, end, step) = self.function, self.m, self.lanes.loop.span
        made = {op.out for op in operations(self.lanes.loop.body) if isinstance(op, Alloc)}
        tapes = {x: f.known[x] for x in sorted(self.lanes.own - made, key=f.known.__getitem__)}
        wide = [*map(self._wide_row, tapes)]
        f.known.update(zip(tapes, [f.known[row] for row in wide], strict=True))
        rows = [*dict.fromkeys(self.kept.values())]
        for row in rows:
            row.make(self)
        self.wide = {x: self._wide_row(x, zeroed=True) for x in self._sums_in_memory()}
        fixed = self._fixed_sums()
        count = self._count(f.atom(first), f.atom(end), int(step))  # type: ignore[arg-type]
        start = self._carried()

        def body(names: list[str]) -> list[str]:
            f.count(LANES * (1 + len(self.lanes.loop.body.ops)))
            at = m.value(f"mul i64 {names[0]}, {step}")
            self.rows[self.lanes.loop.index] = m.value(f"add i64 {f.atom(first)}, {at}"), str(step)
            self.left = m.value(f"sub i64 {count}, {names[0]}")
            self.mask = self.all = self.v.splat("i64", self.left) > self.counting
            now = self._rounds(rows, dict(zip(start, names[1:], strict=True)))
            return [m.value(f"add i64 {names[0]}, {LANES}"), *now.values()]

        def goes_on(names: list[str]) -> str:
            return str(m.value(f"icmp slt i64 {names[0]}, {count}"))

        _, *ends = self.m.loop_of([("i64", "0"), *start.values()], goes_on, body)
        self._leave(dict(zip(start, ends, strict=True)))
        for op, index in fixed.items():
            self._add_lanes(op.buffer, index, self.fixed[op])
        for x, lanes in self.wide.items():
            self._add_up(x, lanes)
        for lanes in reversed([*wide, *(row.lanes for row in rows), *self.wide.values()]):
            m.line(f"call void @zyg_free(ptr %arena, ptr {f.known[lanes]})")
        f.known |= tapes

    def _fixed_sums(self) -> dict[Store, Value]:
        """What is added at a place that is known before the loop, and that place."""
        f, m, v, found = self.function, self.m, self.v, dict[Store, Value]()
        inside = {self.lanes.loop.index, *self.lanes.makers}
        for op in self.lanes.added:
            terms = f.places.sum_of(op.index)
            if op in self.kept or op.buffer in self.wide or terms is None:
                continue
            if not all(f.is_known(x) and x not in inside for t in terms for x in t):
                continue
            found[op], kind = Value("int"), f.type(element_of(op.buffer.type))
            f.known[found[op]] = sum_of(m, terms, f.atom)
            self.fixed[op] = f"{v.vector(kind)}, ptr {m.slot(v.vector(kind))}"
            self.put(v.constant(kind, -0.0), self.fixed[op])
        return found

    def _carried(self) -> dict[Value, tuple[str, str]]:
        """The types and starts of what rounds hand on."""
        f, v, loop, found = self.function, self.v, self.lanes.loop, {}
        for p, y, start in zip(loop.params, loop.body.yields, loop.init, strict=True):
            type = f.type(p.type)
            if y is p:
                f.known[p] = f.atom(start, p.type)
            elif p in self.lanes.alls:
                found[p] = v.vector(type), v.constant(type, True).names[0]
            elif p in self.lanes.in_turn:
                found[p] = type, f.atom(start, p.type)
            else:
                found[p] = v.vector(type), "zeroinitializer"
        return found

    def _rounds(self, rows: list[Row], now: dict[Value, str]) -> dict[Value, str]:
        """Eight rounds: what they hand on."""
        f, v, loop = self.function, self.v, self.lanes.loop
        for p, name in now.items():
            self.vectors[p] = Lane(v, f.type(p.type), (name,))
        for row in rows:
            row.begin(self)
        self.run(loop.body)
        for row in rows:
            row.end(self)
        ends = dict(zip(loop.params, loop.body.yields, strict=True))
        for p, name in now.items():
            if p in self.lanes.alls:
                x, holds = self.lanes.alls[p]
                held = self.vectors[p] & ((self.lane(x) ^ (not holds)) | (self.all ^ True))
                (now[p],) = held.names
            elif p in self.lanes.in_turn:
                now[p] = self._in_turn(p, name)
            else:
                (now[p],) = v.select(self.all, self.lane(ends[p]), self.vectors[p]).names
        f.end(loop.body)
        return now

    def _leave(self, ends: dict[Value, str]) -> None:
        """What is behind the loop."""
        f, m, loop = self.function, self.m, self.lanes.loop
        for p, start, out in zip(loop.params, loop.init, loop.outs, strict=True):
            type, end = f.type(p.type), ends.get(p) or f.known[p]
            if p in self.lanes.alls:
                before = f.atom(start) if isinstance(self.lanes.alls[p][0], Value) else "true"
                holds = self.bits(Lane(self.v, type, (end,)), "eq")
                end = m.value(f"and i1 {before}, {holds}")
            elif p in ends and p not in self.lanes.in_turn:
                added = total(self.m, end, type)
                end = m.value(f"fadd {type} {f.atom(start, p.type)}, {added}")
            f.known[out] = end

    def _wide_row(self, x: Value, zeroed: bool = False) -> Value:
        """A buffer of eight lanes for each element of one."""
        f, size, row = self.function, Value("int"), Value(x.type)
        f.known[size] = self.times_eight(f.atom(f.sizes[x]))
        f.alloc(Alloc(row, size, zeroed))
        return row

    def _add_up(self, x: Value, row: Value) -> None:
        """Add the lanes of sums in memory to what they are sums of."""
        f, kind = self.function, self.function.type(element_of(x.type))

        def one(k: str) -> None:
            index = Value("int")
            f.known[index] = k
            self._add_lanes(x, index, self.at(row, k, kind))

        self.m.each(f.atom(f.sizes[x]), one)

    def _add_lanes(self, buffer: Value, index: Value, lanes: str) -> None:
        """Add the lanes that are at a place to an element."""
        kind = self.function.type(element_of(buffer.type))
        self.add_to(buffer, index, total(self.m, self.m.value(f"load {lanes}"), kind))

    def _in_turn(self, p: Value, now: str) -> str:
        """A sum after eight rounds, one after the other."""
        type, terms = self.function.type(p.type), self.lanes.in_turn[p]
        rows = [self.v.select(self.all, self.term(term), self.nothing(term)) for term in terms]
        for k in range(LANES):
            for term, row in zip(terms, rows, strict=True):
                how = "fadd" if term.name == "add" else "fsub"
                now = self.m.value(f"{how} {type} {now}, {self.one(row, k)}")
        return now

    def _count(self, first: str, end: str, step: int) -> str:
        """How many rounds there are."""
        m = self.m
        count = m.value(f"sub i64 {end}, {first}" if step > 0 else f"sub i64 {first}, {end}")
        if abs(step) > 1:
            count = m.value(f"sdiv i64 {m.value(f'add i64 {count}, {abs(step) - 1}')}, {abs(step)}")
        return str(count)
