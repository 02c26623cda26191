"""LLVM text of branches and loops inside rounds that run in lanes."""

from __future__ import annotations

from collections.abc import Sequence

from zyg.compiler.back.lane_vectors import Parts
from zyg.compiler.back.simd import Lane
from zyg.compiler.back.sums import LANES
from zyg.compiler.ir import Atom, Block, For, If, Value


class Ways(Parts):
    """Prints regions, too: a mask says which rounds are on a way."""

    def if_(self, op: If) -> None:
        v = self.v
        outs = [(k, x) for k, x in enumerate(op.outs) if x not in self.lanes.chains]
        terms = [term for term in self.turns if term.branch is op]
        if self.same(op.condition) and not terms:
            self._one_way(
                op,
                [x for _, x in outs],
                [[b.yields[k] for k, _ in outs] for b in (op.then, op.orelse)],
            )
            return
        mask, condition = self.mask, self.lane(op.condition)
        chosen: list[list[Lane]] = []
        for which, block in ((True, op.then), (False, op.orelse)):
            self.mask = mask & (condition if which else condition ^ True)
            on = [term for term in terms if term.side is which]
            values = [block.yields[k] for k, _ in outs] + [term.value for term in on]
            kinds = [x.type for _, x in outs] + [term.value.type for term in on]
            made = self._side(block, values, kinds)
            chosen.append(made[: len(outs)])
            for term, lane in zip(on, made[len(outs) :], strict=True):
                self.terms[term] = v.select(self.mask, lane, self.nothing(term))
        self.mask = mask
        for (_, out), x, y in zip(outs, *chosen, strict=True):
            self.vectors[out] = v.select(condition, x, y)

    def _one_way(self, op: If, outs: list[Value], rows: list[list[Atom]]) -> None:
        """A branch on which all rounds go the same way."""
        f, m = self.function, self.m
        starts, after, ends = (f.fresh(), f.fresh()), f.fresh(), []
        m.line(f"br i1 {f.atom(op.condition)}, label {starts[0]}, label {starts[1]}")
        for start, block, row in zip(starts, (op.then, op.orelse), rows, strict=True):
            f.start(start)
            self.run(block)
            f.end(block)
            names = [self._name(x, out) for x, out in zip(row, outs, strict=True)]
            ends.append((f"%{m.block}", names))
            m.line(f"br label {after}")
        f.start(after)
        for k, out in enumerate(outs):
            comes = ", ".join(f"[ {names[k]}, {block} ]" for block, names in ends)
            type = f.type(out.type)
            type = type if self.same(out) else self.v.vector(type)
            self._set(out, m.value(f"phi {type} {comes}"))

    def _name(self, x: Atom, to: Value) -> str:
        """What a number is in the text, as what another one may be."""
        type = self.function.type(to.type)
        if self.same(to):
            return str(self.function.atom(x, to.type))
        return self.v.converted(self.lane(x), type).names[0]

    def _side(self, block: Block, values: Sequence[Atom], kinds: Sequence[str]) -> list[Lane]:
        """What a side of a branch gives, which is gone only if there is a lane on it."""
        f, m, v = self.function, self.m, self.v

        def made() -> list[Lane]:
            pairs = zip(values, kinds, strict=True)
            return [v.converted(self.lane(x), f.type(kind)) for x, kind in pairs]

        if not block.ops:
            return made()
        some, before = self.bits(self.mask, "ne"), f"%{m.block}"
        run, after = f.fresh(), f.fresh()
        m.line(f"br i1 {some}, label {run}, label {after}")
        f.start(run)
        self.run(block)
        f.end(block)
        lanes, last = made(), f"%{m.block}"
        m.line(f"br label {after}")
        f.start(after)
        none = f"[ zeroinitializer, {before} ]"
        phis = [f"phi {v.vector(x.type)} [ {x.names[0]}, {last} ], {none}" for x in lanes]
        return [Lane(v, x.type, (m.value(phi),)) for x, phi in zip(lanes, phis, strict=True)]

    def for_(self, op: For) -> None:
        f, m, v = self.function, self.m, self.v
        first, end, step = op.span
        begin, (how, limit), outer = self._begin(op), self._limit(op), self.mask
        masked = not (self.same(first) and self.same(end))
        pairs = [*zip(op.params, op.init, op.body.yields, strict=True)]
        rows = [("i64", begin)]
        for p, x, _ in pairs:
            type = f.type(p.type)
            rows.append((type if self.same(p) else v.vector(type), self._name(x, p)))

        def body(names: list[str]) -> list[str]:
            f.count(LANES * (1 + len(op.body.ops)))
            for (p, _, _), name in zip(pairs, names[1:], strict=True):
                self._set(p, name)
            if masked:
                self.mask = outer & self._on(op, names[0])
            else:
                f.known[op.index] = names[0]
            self.run(op.body)
            f.end(op.body)
            ends = [self._name(y, p) for p, _, y in pairs]
            for k, ((p, _, _), name) in enumerate(zip(pairs, names[1:], strict=True)):
                if masked and not self.same(p):
                    new, old = (Lane(v, f.type(p.type), (x,)) for x in (ends[k], name))
                    (ends[k],) = v.select(self.mask, new, old).names
            self.mask = outer
            return [m.value(f"add i64 {names[0]}, {step}"), *ends]

        names = self.m.loop_of(rows, lambda x: m.value(f"icmp {how} i64 {x[0]}, {limit}"), body)
        for out, name in zip(op.outs, names[1:], strict=True):
            self._set(out, name)

    def _begin(self, op: For) -> str:
        """Where a loop begins that is made for all lanes."""
        first, step = op.span[0], int(op.span[2])  # type: ignore[arg-type]
        if op.index in self.lanes.varies:
            return "0"
        if self.same(first):
            return str(self.function.atom(first))
        return self.least(first) if step > 0 else self.most(first)

    def _limit(self, op: For) -> tuple[str, str]:
        """What the index of such a loop is to be while it goes on: less than what, or greater."""
        first, end, step = op.span
        up, limit = int(step) > 0, self.function.atom(end) if self.same(end) else ""  # type: ignore[arg-type]
        if op.index in self.lanes.varies:  # of each lane from where it begins: how far that is
            length = self.lane(end) - self.lane(first)
            self.lengths[op] = length
            limit = self.most(length) if up else self.least(length)
        elif not limit:
            limit = self.most(end) if up else self.least(end)
        return "slt" if up else "sgt", limit

    def _on(self, op: For, at: str) -> Lane:
        """Which lanes are in a round of such a loop; with its index."""
        first, end, step = op.span
        up, here = int(step) > 0, self.v.splat("i64", at)  # type: ignore[arg-type]
        if op.index in self.lanes.varies:
            if first in self.rows:
                begin, by = self.rows[first]
                self.rows[op.index] = self.m.value(f"add i64 {begin}, {at}"), by
            else:
                self.vectors[op.index] = self.lane(first) + here
            on: Lane = here < self.lengths[op] if up else here > self.lengths[op]
            return on
        self.function.known[op.index] = at
        bound = self.lane(end)
        on = here < bound if up else here > bound
        if not self.same(first):
            start = self.lane(first)
            on = on & (here >= start if up else here <= start)
        return on

    def _set(self, x: Value, name: str) -> None:
        if self.same(x):
            self.function.known[x] = name
        else:
            self.vectors[x] = Lane(self.v, self.function.type(x.type), (name,))
