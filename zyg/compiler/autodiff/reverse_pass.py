"""The reverse pass: the mirror of the forward sweep, region by region and backwards.

Every active number has a cotangent, to which each use of it adds, every active buffer a shadow that
holds those of its elements. What an operation's adjoint asks of the sweep, `residuals` brings. A
region of the reverse pass yields the cotangents of what the region reads from outside; a loop
sums them up. Partial derivatives come from the table of operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any

from zyg.base.registry import ScalarRule
from zyg.compiler.aliases import writes_of
from zyg.compiler.autodiff.augmented_primal import AugmentedPrimal
from zyg.compiler.autodiff.calls import Pair
from zyg.compiler.autodiff.choices import Choice
from zyg.compiler.autodiff.dependence import makes_reals, times
from zyg.compiler.autodiff.frames import Frame, before, carry
from zyg.compiler.autodiff.own_adjoints import pulled
from zyg.compiler.autodiff.products import product
from zyg.compiler.autodiff.residuals import Residual, Residuals
from zyg.compiler.autodiff.threads import Threads
from zyg.compiler.builder import Builder
from zyg.compiler.front.interpreter import call_partial
from zyg.compiler.functions import rule_of
from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Call,
    Check,
    For,
    If,
    Load,
    Op,
    Program,
    Routine,
    Store,
    Value,
    While,
    element_of,
    is_buffer,
    is_number,
    operations,
    type_of,
)
from zyg.compiler.loops import additions, more_than_sums, trips
from zyg.compiler.numbers import atom_of
from zyg.compiler.rewriter import Visitor
from zyg.compiler.splice import free_values

Cotangents = dict[Value, Atom]  # of values of the program; absent is zero
_FEW = 8  # rounds, which take less time than not to know whether they come


class Reverse(Visitor):
    """One reverse pass, after its forward sweep."""

    def __init__(self, sweep: AugmentedPrimal, kept: Residuals, strong: bool) -> None:
        self.sweep, self.residuals, self.strong = sweep, kept, strong
        self.builder, self.is_active = kept.builder, sweep.activity.is_active
        self.bars: list[Cotangents] = [{}]  # by open mirror
        self.shared: dict[Value, Value] = {}  # by rounds in threads: shadows for one of them
        self.read: set[Value] = set()  # classes of memory whose shadows have been used
        self.taken: dict[If, tuple[Block, list[tuple[Atom, Atom]]]] = {}  # sides that are known
        self.added: dict[Store, tuple[Load, Op]] = {}  # what only adds to memory

    # Cotangents

    def add(self, x: Atom, c: Atom) -> None:
        """Add to the cotangent of a value of the program."""
        if not isinstance(x, Value) or not self.is_active(x):
            return
        c = self.builder.to(x.type, c)
        bars = self.bars[-1]
        bars[x] = self.builder.op("add", bars[x], c) if x in bars else c

    def zero(self, x: Value) -> Atom:
        return self.builder.to(x.type, 0.0)

    def seed(self, program: Program, y: Atom, bar: Atom) -> None:
        """Start from the cotangent of an output."""
        if not isinstance(y, Value) or not self.is_active(y):
            return
        if not is_buffer(y.type):
            self.add(y, bar)
        elif isinstance(bar, Value):
            self.builder.add_all(self.sweep.shadow[y], bar, self.sweep.extent(program, y))
        else:
            self.builder.add_to(self.sweep.shadow[y], 0, bar)

    def cotangent(self, x: Value) -> Atom:
        """That of an input, at the end."""
        return self.sweep.shadow[x] if is_buffer(x.type) else self.bars[0].get(x, self.zero(x))

    def times(self, bar: Atom, d: Atom) -> Atom:
        """A cotangent times a derivative."""
        return times(self.builder, bar, d, self.strong)

    def value(self, x: Atom) -> Atom:
        """What a value of the program was in the sweep."""
        return self.residuals.fetch(self.sweep.atom(x))

    def shadow(self, x: Value) -> Value:
        found = self.residuals.fetch(self.sweep.shadow[x])
        assert isinstance(found, Value)
        return found

    def summed(self, x: Value) -> Value:
        """Where cotangents of the elements of a buffer are added up."""
        return self.shared[x] if x in self.shared else self.shadow(x)

    def run(self, block: Block) -> None:
        self.added |= additions(block, self.sweep.activity.of)
        for op in reversed(block.ops):
            self.visit(op)

    # Operations

    def op(self, op: Op) -> None:
        bar = self.bars[-1].pop(op.out, None)
        if bar is None or op.flat:
            return
        if op.name in ("float", "float32", "uint"):
            self.add(op.args[0], bar)
        elif op.name == "select":
            condition, x, y = op.args
            for z, one, other in ((x, bar, 0.0), (y, 0.0, bar)):
                if self.is_active(z):
                    choice = self.builder.op("select", self.value(condition), one, other)
                    self.add(z, choice)
        else:
            self._partials(op, bar)

    def _partials(self, op: Op, bar: Atom) -> None:
        rule: ScalarRule = op.callee.rule if op.callee else rule_of(op.name)
        made = [self.sweep.atom(x) for x in (*op.args, op.out)]
        numbers = [Residual(x, self.residuals) if isinstance(x, Value) else x for x in made]
        for x, partial in zip(op.args, rule.partials, strict=True):
            if not self.is_active(x):
                continue
            d = call_partial(partial, numbers, self.builder) if callable(partial) else partial
            d = atom_of(d)
            if not is_number(d) or d != 0:
                self.add(x, self.times(bar, d))

    def load(self, op: Load) -> None:
        bar = self.bars[-1].pop(op.out, None)
        if bar is not None:
            self.builder.add_to(self.summed(op.buffer), self.value(op.index), bar)

    def store(self, op: Store) -> None:
        if is_buffer(element_of(op.buffer.type)) or not self.is_active(op.buffer):
            return
        shadow, index = self.shadow(op.buffer), self.value(op.index)
        self.read.add(self.sweep.activity.of(op.buffer))
        if op in self.added:  # what was there keeps its cotangent
            load, made = self.added[op]
            for k, x in enumerate(made.args):
                if x is not load.out and self.is_active(x):
                    bar = self.builder.load(shadow, index)
                    less = k == 1 and made.name == "subtract"
                    self.add(x, self.builder.op("negative", bar) if less else bar)
            return
        if self.is_active(op.value):
            self.add(op.value, self.builder.load(shadow, index))
        if op not in self.sweep.only:
            self.builder.store(shadow, index, 0.0)

    def call(self, op: Call) -> None:
        if not self.sweep.activity.has_part(op):
            return
        if op.callee.adjoint:
            pulled(self, op, op.callee.adjoint)
            return
        pair, made = self.sweep.calls[op]
        if not pair.is_reversed:
            kept = Residuals(pair.sweep, Builder(), pair)
            Reverse(pair.sweep, kept, self.strong).fill(pair, op.callee)
        self.read |= self.sweep.activity.written
        results = [x for x, y in zip(op.outs, op.callee.outputs, strict=True) if self._has_bar(y)]
        bars = [self.bars[-1].pop(x, self.zero(x)) for x in results]
        pairs = zip(op.args, op.callee.inputs, strict=True)
        args = [(x, Value(p.type)) for x, p in pairs if self._has_bar(p)]
        given = [self.residuals.fetch(made.args[k]) for k in pair.needed]
        self.builder.block.ops.append(Call(pair.reverse, (*bars, *given), [c for _, c in args]))
        for x, c in args:
            self.add(x, c)

    def _has_bar(self, x: Atom) -> bool:
        return self.is_active(x) and not is_buffer(type_of(x))

    def fill(self, pair: Pair, program: Program) -> None:
        """Make the reverse pass of a function that is called: its cotangents, from its bars."""
        pair.is_reversed = True
        bars = [(y, Value(type_of(y))) for y in program.outputs if self._has_bar(y)]
        with self.residuals.mirror(self.sweep.top) as pair.reverse.body:
            for y, bar in bars:
                self.add(y, bar)
            self.run(program.body)
            self.builder.block.yields = [self.bars[0].get(x, self.zero(x)) for x in program.inputs
                                         if self._has_bar(x)]  # fmt: skip
        pair.reverse.inputs = [*(bar for _, bar in bars), *pair.taken()]

    def alloc(self, op: Alloc) -> None:
        """Memory is made in the forward sweep."""

    def check(self, op: Check) -> None:
        """Conditions are checked in the forward sweep."""

    def routine(self, op: Routine) -> None:
        if makes_reals(op):
            _ROUTINES[op.name](self, op)

    # Regions

    def if_(self, op: If) -> None:
        if not self.sweep.activity.has_part(op):
            return
        if op in self.taken:
            side, given = self.taken.pop(op)
            with self.residuals.mirror(self.sweep.frames[side]) as block:
                sums = self._of_block(side, given)
            self.builder.block.ops += block.ops
            for x, c in sums.items():
                self.add(x, c)
            return
        bars = [self.bars[-1].pop(out, None) for out in op.outs]
        made = self.sweep.frames[op.then].region
        condition = self.residuals.fetch(made.condition)
        rows = []
        mirrors = []
        for old in (op.then, op.orelse):
            with self.residuals.mirror(self.sweep.frames[old]) as block:
                mirrors.append(block)
                rows.append(self._mirrored(old, bars))
        keys = list(dict.fromkeys(x for row in rows for x in row))
        for block, row in zip(mirrors, rows, strict=True):
            with self.builder.inside(block):
                block.yields = [row[x] if x in row else self.zero(x) for x in keys]
        for x, c in zip(keys, self.builder.branch(condition, *mirrors), strict=True):
            self.add(x, c)

    def _mirrored(self, block: Block, bars: Sequence[Atom | None]) -> Cotangents:
        """The mirror of a block, by the cotangents of what it yields: those of what it reads."""
        given = zip(block.yields, bars, strict=True)
        return self._of_block(block, [(y, bar) for y, bar in given if bar is not None])

    def _of_block(self, block: Block, given: Sequence[tuple[Atom, Atom]]) -> Cotangents:
        """The same, by the cotangents of values in it."""
        self.bars.append({})
        for x, bar in given:
            self.add(x, bar)
        self.run(block)
        return self.bars.pop()

    def loop(self, op: For | While) -> None:
        if not self.sweep.activity.has_part(op):
            return
        frame = self.sweep.frames[op.body]
        if frame.choice is not None:
            self._chosen(op, frame, frame.choice)  # type: ignore[arg-type]
            return
        handed = [p for p in op.params if p in self.sweep.handed and self.is_active(p)]
        adds = isinstance(op, For) and not handed and self._only_adds(op)
        fuses = adds and self._fuses(op, frame)  # type: ignore[arg-type]
        if isinstance(op, For) and op.again and not fuses:
            self._run_again(op)
            return
        if isinstance(op, For) and adds:
            self._sum(op, frame, fuses)
            return
        self._rounds(op, frame, handed)

    def _rounds(self, op: For | While, frame: Frame, handed: list[Value]) -> None:
        """The mirror of a loop, backwards; shadows of what rounds hand on are handed back."""
        count = self._count(frame)
        rows = [*zip(op.params, op.init, op.body.yields, op.outs, strict=True)]
        carried = [(p, q) for p, _, _, q in rows if not is_buffer(p.type) and self.is_active(p)]
        back = [row for row in rows if row[0] in handed]
        init = [self.bars[-1].pop(q, self.zero(q)) for _, q in carried]
        params = [Value(p.type) for p, _ in carried]
        given = dict(zip((p for p, _ in carried), params, strict=True))
        frame.round = Value("int")
        threads = Threads(self, op, count)
        shadows = [(Value(p.type), self.shadow(q)) for p, _, _, q in back]
        with self.residuals.mirror(frame) as body, threads.inside(body):
            for (now, _), (_, _, y, _) in zip(shadows, back, strict=True):
                self.residuals.fetched[self.sweep.shadow[y]] = now  # type: ignore[index]
            sums = self._mirrored(op.body, [given.get(p) for p in op.params])
            body.yields = [sums.pop(p, self.zero(p)) for p in given]
            for x, c in sums.items():
                params.append(Value(x.type))
                body.yields.append(self.builder.op("add", params[-1], c))
            body.yields += map(self.shadow, handed)
        init += [*map(self.zero, sums), *(before for _, before in shadows)]
        params += [now for now, _ in shadows]
        span = self.builder.op("subtract", count, 1), -1, -1
        outs = [Value(p.type) for p in params]
        loop = For(frame.round, span, init, params, body, outs)
        self.builder.block.ops.append(threads.given(loop))
        starts = dict(zip(op.params, op.init, strict=True))
        ends = [starts[p] for p in given], sums, (starts[p] for p in handed)
        for start, end in zip(chain(*ends), outs, strict=True):
            (self._handed_back if is_buffer(end.type) else self.add)(start, end)

    def _handed_back(self, start: Any, end: Value) -> None:
        """Add the shadow that the mirror of a loop leaves to that of what the loop began with."""
        size = self.sweep.size[self.sweep.handed.get(start, start)]
        self.read.add(self.sweep.activity.of(start))
        self.builder.add_all(self.shadow(start), end, self.residuals.fetch(size))

    def _chosen(self, op: For, frame: Frame, choice: Choice) -> None:
        """The mirror of a loop that chooses: that of the round that was chosen, if one was."""
        builder, frame.round = self.builder, self.residuals.fetch(frame.chosen)  # type: ignore[assignment,arg-type]
        chose = builder.op("greater_equal", frame.round, 0)  # type: ignore[arg-type]
        bars = [self.bars[-1].pop(q, self.zero(q)) for q, _, _ in choice.takes]
        given = [(x, bar) for (_, x, _), bar in zip(choice.takes, bars, strict=True)]
        if choice.branch:
            self.taken[choice.branch] = choice.side(choice.branch), given
            given = []
        with self.residuals.mirror(frame) as block:
            sums = self._of_block(op.body, given)
            block.yields = [*sums.values()]
        none = Block([], [self.zero(x) for x in sums])
        for x, c in zip(sums, builder.branch(chose, block, none), strict=True):
            self.add(x, c)
        for (_, _, start), bar in zip(choice.takes, bars, strict=True):
            self.add(start, builder.op("select", chose, 0.0, bar))

    def _only_adds(self, op: For) -> bool:
        """Whether rounds have adjoints that may come in any order: all that a loop does to what is
        active is to add, but for memory that a round makes. So a cotangent passes through all
        rounds as it is.
        """
        ops = [*operations(op.body)]
        own = self.sweep.staying.intersection(x.out for x in ops if isinstance(x, Alloc))
        for x in ops:
            written = (y for y in writes_of(x) if y not in own)
            if any(map(self.is_active, written)) or isinstance(x, Call):
                return False
        carried = [p for p in op.params if self.is_active(p) and not is_buffer(p.type)]
        return not more_than_sums(op, carried)

    def _run_again(self, op: For) -> None:
        """The mirror of a loop that is run again first, from the state that was kept."""
        sweep, fetch, builder = self.sweep, self.residuals.fetch, self.builder
        for x, state in sweep.states[op]:
            builder.copy(self.value(x), fetch(state), fetch(sweep.size[x]))  # type: ignore[arg-type]
        fresh = sweep.afresh(builder)
        for x in free_values(Block([op])):
            fresh.made[x] = self.value(x)
            for now, then in ((fresh.shadow, sweep.shadow), (fresh.size, sweep.size)):
                if x in then:
                    now[x] = fetch(then[x])  # type: ignore[assignment]
        block = Block([replace(op, again=False)])
        fresh.run(block)
        inner = Reverse(fresh, Residuals(fresh, builder), self.strong)
        inner.read, inner.shared = self.read, self.shared
        for q in op.outs:
            if q in sweep.shadow:
                builder.copy(fresh.shadow[q], self.shadow(q), fetch(sweep.size[q]))
            elif q in self.bars[-1]:
                inner.bars[0][q] = self.bars[-1].pop(q)
        inner.run(block)
        for x, c in inner.bars[0].items():
            self.add(x, c)

    def _fuses(self, op: For, frame: Frame) -> bool:
        """Whether a loop that only adds can have its adjoint in its own rounds."""
        bars = [self.bars[-1].get(q) for q in op.outs]
        activity = self.sweep.activity
        added = {activity.of(x.buffer) for x in operations(op.body)
                 if isinstance(x, Load) and self.is_active(x.out)}  # fmt: skip
        apart = added.isdisjoint(self.read)
        return apart and self.residuals.is_ready(frame, bars)

    def _sum(self, op: For, frame: Frame, fuses: bool) -> None:
        """The adjoint of a loop that only adds: in its own rounds, or in others, forwards."""
        bars = [self.bars[-1].pop(q, None) for q in op.outs]
        if fuses:
            frame.fused, frame.region.independent = True, False
            first = Builder()
            threads = Threads(self, op, trips(first, frame.region.span), first)
            before(frame, first.block)
            with self._earlier(), self.builder.inside(frame.block), threads.inside(frame.block):
                sums = self._summed(op, bars)
            threads.given(frame.region)
            frame.region.loose += [p for p, _ in sums.values()]
            for x, (p, end) in sums.items():
                self.add(x, carry(frame, p, self.residuals.zero_before(frame, x.type), end))
        else:
            count, frame.round = self._count(frame), Value("int")
            threads = Threads(self, op, count)
            with self.residuals.mirror(frame) as body, threads.inside(body):
                sums = self._summed(op, bars)
                body.yields = [end for _, end in sums.values()]
            params, outs = [p for p, _ in sums.values()], [Value(x.type) for x in sums]
            init = [self.zero(x) for x in sums]
            loop = For(frame.round, (0, count, 1), init, params, body, outs)
            mirror = Block([threads.given(loop)], [*outs])
            moves = self._moving([bar for bar in bars if bar is not None], count)
            if loop.apart is None and isinstance(moves, Value):
                outs = self.builder.branch(moves, mirror, Block([], init))  # type: ignore[assignment]
            else:
                self.builder.block.ops += mirror.ops
            for x, out in zip(sums, outs, strict=True):
                self.add(x, out)
        for start, bar in zip(op.init, bars, strict=True):
            if bar is not None:
                self.add(start, bar)

    def _moving(self, bars: list[Atom], count: Atom) -> Atom:
        """Whether the mirror of a loop in another does anything: not if its one cotangent is 0."""
        op = self.builder.op
        if len(bars) != 1 or len(self.bars) == 1:
            return True
        return op("logical_or", op("not_equal", bars[0], 0.0), op("less", count, _FEW))

    @contextmanager
    def _earlier(self) -> Iterator[None]:
        """While it lasts, what was made later than a loop of the sweep is not seen."""
        builder = self.builder
        seen, builder.seen = builder.seen, [{} for _ in builder.seen]
        try:
            yield
        finally:
            builder.seen = seen

    def _summed(self, op: For, bars: list[Atom | None]) -> dict[Value, tuple[Value, Atom]]:
        """The mirror of a round of such a loop: what it adds to, each a value carried."""
        sums = self._mirrored(op.body, bars)
        for p in op.params:
            sums.pop(p, None)
        params = [(x, Value(x.type), c) for x, c in sums.items()]
        return {x: (p, self.builder.op("add", p, c)) for x, p, c in params}

    def _count(self, frame: Frame) -> Atom:
        if isinstance(frame.region, For):
            return self.residuals.trips(frame.region)
        assert frame.trips is not None
        return self.residuals.fetch(frame.trips)


_ROUTINES = {"product": product}
