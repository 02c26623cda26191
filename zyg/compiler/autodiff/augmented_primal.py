"""The forward sweep of reverse mode: the program made again, with shadows beside its memory.

Every buffer whose memory is active has a *shadow*: a buffer of the same size, made where it is made
and going wherever it goes, in which the reverse pass adds up cotangents. Beside a buffer that may
leave the program its size goes along, too. The shadow of one that stays in its block, that of a
loop's rounds or of a branch, is only made in the mirror of that.

Each block that is made is remembered as a `Frame`.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from zyg.compiler.aliases import writes_of
from zyg.compiler.autodiff.calls import Pair, Stacks
from zyg.compiler.autodiff.checkpointing import buffers_in, changed
from zyg.compiler.autodiff.choices import Choice, choice
from zyg.compiler.autodiff.dependence import Activity, makes_reals
from zyg.compiler.autodiff.frames import Frame, carry
from zyg.compiler.autodiff.handing import handed_on
from zyg.compiler.autodiff.recompute import Recomputable
from zyg.compiler.builder import Builder
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
    blocks_of,
    element_of,
    has_effects,
    is_buffer,
    operands_of,
    operations,
    outs_of,
    type_of,
)
from zyg.compiler.loops import round_of
from zyg.compiler.rewriter import Rewriter
from zyg.compiler.splice import called, free_values, spliced
from zyg.errors import KernelError


class AugmentedPrimal(Rewriter):
    """One pass over a program that makes its values again, with shadows."""

    def __init__(
        self, program: Program, activity: Activity, stacks: Stacks, keeps: bool = True
    ) -> None:
        super().__init__()
        self.program, self.activity, self.stacks = program, activity, stacks
        self.keeps = keeps  # something for its mirror
        self.calls: dict[Call, tuple[Pair, Call]] = {}  # that are mirrored; as they are here
        self.shadow: dict[Value, Value] = {}  # of buffers of the program
        self.size: dict[Value, Atom] = {}
        self.frames: dict[Block, Frame] = {}
        self.top = self.frame = self.frames[program.body] = Frame(self.builder.block)
        self.home: dict[Value, Frame] = {}  # of values of the new program
        self.source: dict[Value, Any] = {}  # the operations that made them
        self.stable, self.repeatable = Recomputable(program, activity), set[Value]()  # loads
        self.places: dict[Value, tuple[Value, Atom]] = {}  # in memory, of what stays there
        self.passing: dict[Value, Value] = {}  # loads of what only its loop leaves; the buffers
        self.matrices: dict[tuple[Routine, int], list[Atom]] = {}  # what routines were given
        self.staying = staying(program)
        self.handed = handed_on(program, activity.of)
        self.only = only_stores(program, self.staying.union(self.handed))
        # Shadows made in mirrors: of what, where, how long.
        self.late: dict[Value, tuple[Atom, Frame, Atom]] = {}
        leaving = [x for x in program.outputs if isinstance(x, Value) and is_buffer(x.type)]
        self.sized = {activity.of(x) for x in leaving if x not in program.sizes}
        self.sized = {x for x in self.sized if activity.is_active(x)} | changed(program, activity)
        # Of loops that are run again: buffers of the program, and copies.
        self.states: dict[For, list[tuple[Value, Value]]] = {}

    def afresh(self, builder: Builder) -> AugmentedPrimal:
        """Another sweep over a part of the program, which begins where a builder is."""
        again = copy.copy(self)
        again.builder, again.top = builder, Frame(builder.block)
        again.frame, again.repeatable = again.top, set()
        for name in ("made", "shadow", "size", "frames", "home", "source", "places", "passing",
                     "matrices", "states", "late"):  # fmt: skip
            setattr(again, name, {})
        return again

    def inputs(self, program: Program, copied: bool) -> list[Value]:
        """Begin: the inputs, with their shadows; what is written is copied."""
        inputs = [Value(x.type) for x in program.inputs]
        self.made.update(zip(program.inputs, inputs, strict=True))
        for old, new in zip(program.inputs, inputs, strict=True):
            if not is_buffer(old.type):
                continue
            written = copied and self.stable.may_write(old)
            if not written and not self.companions(old):
                continue
            size = self.extent(program, old)
            if written:
                self.made[old] = self.builder.copied(new, size)
            if self.activity.is_active(old):
                self.shadow[old] = self.builder.alloc(element_of(old.type), size)
            self.size[old] = size
        return inputs

    def called(self, program: Program, keeps: bool) -> Pair:
        """The pair of a function that is called; the sweep of one that is not mirrored is alone."""
        pairs = self.stacks.pairs
        if (program, keeps) not in pairs:
            sweep = AugmentedPrimal(program, self.activity, self.stacks, keeps)
            sweep.sized, sweep.stable.shared, sweep.handed = self.sized, True, {}
            sweep.top.calls = keeps
            body = sweep.builder.block
            inputs = sweep.values(program.inputs)
            made = Program(f"{program.name}_sweep", inputs, body)
            needed = self.stacks.needed.setdefault(program, [])
            pairs[program, keeps] = Pair(sweep, made, needed)
            sweep.home.update((x, sweep.top) for x in inputs)
            sweep.run(program.body)
            outputs = program.outputs
            values = [y if isinstance(y, Value) else Value(type_of(y)) for y in outputs]
            body.yields = [*map(sweep.atom, outputs), *sweep.beside(values, outputs)]
        return pairs[program, keeps]

    def extent(self, program: Program, x: Value) -> Atom:
        """The number of elements of an input or output."""
        sizes = program.sizes.get(x)
        return self.size[x] if sizes is None else self.builder.product(map(self.atom, sizes))

    def companions(self, x: Value) -> list[dict[Value, Any]]:
        """What goes beside a value: its shadow, its size, or nothing."""
        if not is_buffer(x.type):
            return []
        sized = self.activity.of(x) in self.sized and x.type.count("[]") == 1
        goes = self.activity.is_active(x) and x not in self.handed
        return [self.shadow] * goes + [self.size] * sized

    def beside(self, outs: Sequence[Value], row: Sequence[Any]) -> list[Atom]:
        """What goes beside a row of values, which will be `outs`."""
        pairs = zip(outs, row, strict=True)
        return [beside[x] for out, x in pairs for beside in self.companions(out)]

    def values(self, outs: Sequence[Value]) -> list[Value]:
        """New values for those of a region, then for what goes beside them."""
        new = [Value(x.type) for x in outs]
        self.made.update(zip(outs, new, strict=True))
        for x in outs:
            for beside in self.companions(x):
                value = beside[x] = Value(x.type if beside is self.shadow else "int")
                new.append(value)
        return new

    @contextmanager
    def inside(self, old: Block, new: Block, region: Any) -> Iterator[Frame]:
        frame = self.frames[old] = Frame(new, region, self.frame)
        self.frame = frame
        try:
            with self.builder.inside(new):
                yield frame
        finally:
            self.frame = frame.parent  # type: ignore[assignment]

    def run(self, block: Block) -> None:
        for op in block.ops:
            done = len(self.frame.block.ops)
            self.visit(op)
            for new in self.frame.block.ops[done:]:
                for out in outs_of(new):
                    self.home[out], self.source[out] = self.frame, new

    # Operations

    def op(self, op: Op) -> None:
        super().op(op)
        # The slope of 1 / x asks for x in any case, and is made of the two.
        if op.name == "divide" and op.args[0] == 1.0 and self.activity.is_active(op.args[1]):
            self.repeatable.add(self.made[op.out])  # type: ignore[arg-type]

    def alloc(self, op: Alloc) -> None:
        size = self.atom(op.size)
        new, *_ = self.values([op.out])
        self.builder.block.ops.append(Alloc(new, size, op.zeroed))
        self.size[op.out] = size
        if self.activity.is_active(op.out):
            goes = op.out not in self.staying and op.out not in self.handed
            self._shadowed(op.out, size, self.frame, goes)

    def _shadowed(self, x: Value, size: Atom, frame: Frame, goes: bool = False) -> None:
        """A shadow for a buffer: made in the mirror of a block, if it neither goes nor is the
        outermost.
        """
        shadow = self.shadow.setdefault(x, Value(x.type))
        if frame.parent and not goes:
            self.late[shadow] = self.made[x], frame, size
        else:
            self.builder.block.ops.append(Alloc(shadow, size))

    def load(self, op: Load) -> None:
        super().load(op)
        if self.stable(op, op.buffer):
            self.repeatable.add(self.made[op.out])  # type: ignore[arg-type]
        elif isinstance(self.frame.region, For) and (
            self.activity.of(op.buffer) not in self.frame.changes  # the loop leaves it as it is
        ):
            self.passing[self.made[op.out]] = op.buffer  # type: ignore[index]
        if is_buffer(op.out.type) and self.activity.is_active(op.out):
            self.shadow[op.out] = self.builder.load(self.shadow[op.buffer], self.atom(op.index))
            assert self.activity.of(op.out) not in self.sized, "a result of unknown size"

    def store(self, op: Store) -> None:
        super().store(op)
        x = self.atom(op.value)
        if op in self.only and not self.stable.shared and self.home.get(x) is self.frame:  # type: ignore[arg-type]
            self.places[x] = self.atom(op.buffer), self.atom(op.index)  # type: ignore[assignment,index]
        if op.value in self.shadow:
            shadow, value = self.shadow[op.buffer], self.shadow[op.value]
            self.builder.store(shadow, self.atom(op.index), value)

    def routine(self, op: Routine) -> None:
        for k, rows, columns in MATRICES[op.name] if makes_reals(op) else ():
            self.matrices[op, k] = self._matrix(op, k, op.args[rows], op.args[columns])
        super().routine(op)

    def _matrix(self, op: Routine, k: int, rows: Atom, columns: Atom) -> list[Atom]:
        """An operand of a routine, as the reverse pass needs it: copied if it may be written."""
        matrix = [self.atom(x) for x in op.args[k : k + 4]]
        if self.stable(op, op.args[k]):  # type: ignore[arg-type]
            return matrix
        m, n = self.atom(rows), self.atom(columns)
        return [copy_of_matrix(self.builder, matrix, m, n), 0, n, 1]

    def check(self, op: Check) -> None:
        self.builder.check(self.atom(op.condition), op.why)

    def call(self, op: Call) -> None:
        if op.callee.adjoint:
            self.ruled(op)
            return
        keeps, frame = self.keeps and self.activity.has_part(op), self.frame
        pair = self.called(op.callee, keeps)
        while frame is not None:  # what it keeps has an order
            if isinstance(frame.region, For):
                frame.region.apart = None
            frame.calls = frame.calls or keeps
            frame = frame.parent  # type: ignore[assignment]
        args = *map(self.atom, op.args), *self.beside(op.callee.inputs, op.args)
        made = Call(pair.forward, args, self.values(op.outs))
        self.builder.block.ops.append(made)
        if keeps:
            self.calls[op] = pair, made

    def ruled(self, op: Call) -> None:
        """A function that has an adjoint of its own: put here as it is."""
        callee, args = op.callee, [self.atom(x) for x in op.args]
        adjoint = callee.adjoint
        assert adjoint is not None
        if adjoint.keeping is not None:
            args[-1] = adjoint.which(lambda k: self.activity.is_active(op.args[k]))
            outs = called(adjoint.keeping, args, self.builder.block)
        else:
            put = called if adjoint.stays else spliced
            outs = put(callee, args, self.builder.block)
        self.made.update(zip(op.outs, outs, strict=True))
        known = dict(zip((*callee.inputs, *callee.outputs), (*args, *outs), strict=True))
        for x, y in zip(op.outs, callee.outputs, strict=True):
            if self.companions(x):
                size = self.builder.product(known.get(n, n) for n in callee.sizes[y])  # type: ignore[index]
                self.size[x] = size
                self.shadow[x] = self.builder.alloc(element_of(x.type), size)

    # Regions

    def if_(self, op: If) -> None:
        new = If(self.atom(op.condition), Block(), Block(), [])
        for old, block in ((op.then, new.then), (op.orelse, new.orelse)):
            with self.inside(old, block, new):
                self.run(old)
                block.yields = [*map(self.atom, old.yields), *self.beside(op.outs, old.yields)]
        new.outs = self.values(op.outs)
        self.builder.block.ops.append(new)

    def loop(self, op: For | While) -> None:
        new = self.begun(op)
        new.init = [*self.atoms(op.init), *self.beside(op.params, op.init)]
        new.params = self.values(op.params)
        if isinstance(op, While):
            if any(map(self.activity.has_part, op.test.ops)) and any(map(has_effects, op.test.ops)):
                raise KernelError(
                    "a while loop writes memory in its condition.",
                    "the reverse pass repeats the body of the loop, not its condition.",
                    "write it in the loop.",
                )
            with self.inside(op.test, new.test, new):
                self.run(op.test)
                new.test.yields = self.atoms(op.test.yields)
        elif op.again:
            self.states[op], new.again = self._state(op), False
        with self.inside(op.body, new.body, new) as frame:
            frame.source = op
            self.home.update((x, frame) for x in new.params)
            frame.changes = {self.activity.of(x) for y in operations(op.body) for x in writes_of(y)}
            if isinstance(op, For):
                self.home[new.index] = frame
            self.run(op.body)
            new.body.yields = [
                *map(self.atom, op.body.yields), *self.beside(op.params, op.body.yields)
            ]  # fmt: skip
        new.outs = self.values(op.outs)
        if isinstance(op, While):
            frame.counter = Value("int")
            after = Value("int")
            new.body.ops.append(Op("add", (frame.counter, 1), after))
            frame.trips = carry(frame, frame.counter, 0, after)
        elif found := choice(op, self.activity, self.staying):
            self._choose(frame, found)
        self.builder.block.ops.append(new)
        for x, home in [*((p, frame) for p in op.params), *((y, self.frame) for y in op.outs)]:
            if x in self.handed and self.activity.is_active(x):
                self._shadowed(x, self.size[self.handed[x]], home)

    def _choose(self, frame: Frame, found: Choice) -> None:
        """Keep which round a loop chooses."""
        with self.builder.inside(frame.block):
            before, this = Value("int"), round_of(self.builder, frame.region)
            sides = (this, before) if found.wanted else (before, this)
            after = self.builder.op("select", self.atom(found.condition), *sides)
        frame.choice, frame.chosen = found, carry(frame, before, -1, after)

    def _state(self, loop: For) -> list[tuple[Value, Value]]:
        """Copy the memory that a loop finds and that will have changed when it is to run again."""
        written: set[Value] = set()
        for op in operations(loop.body):
            written.update(map(self.activity.of, writes_of(op)))
            if isinstance(op, (Load, Routine)):
                written |= {self.activity.of(x) for x in buffers_in(operands_of(op))
                            if not self.stable(op, x)}  # fmt: skip
        found: dict[Atom, tuple[Value, Value]] = {}
        for x in free_values(Block([loop])):
            if is_buffer(x.type) and self.activity.of(x) in written:
                buffer = self.made[x]
                if buffer not in found:
                    found[buffer] = x, self.builder.copied(buffer, self.size[x])  # type: ignore[arg-type]
        return [*found.values()]


def staying(program: Program) -> set[Value]:
    """The buffers of numbers that a program only reads and writes by their first name."""
    ops = [*operations(program.body)]
    made = {
        op.out for op in ops if isinstance(op, Alloc) and not is_buffer(element_of(op.out.type))
    }
    going = {*program.outputs}
    for op in ops:
        if isinstance(op, Store):
            going.add(op.value)
        elif not isinstance(op, (Load, Routine)) and not (
            isinstance(op, Call) and op.callee.adjoint
        ):
            going.update(operands_of(op))
        for block in blocks_of(op):
            going.update(block.yields)
    return made - going


def only_stores(program: Program, buffers: set[Value]) -> set[Store]:
    """The stores that alone write to one of these, each time to another place of it.

    What the mirror of one has read of a shadow nothing reads again.
    """
    writers = Counter(x for op in operations(program.body) for x in writes_of(op))
    found, depth = set[Store](), dict[Value, int]()

    def look(block: Block, loops: list[Any]) -> None:
        for op in block.ops:
            if isinstance(op, Alloc):
                depth[op.out] = len(loops)
            elif isinstance(op, Store) and op.buffer in buffers and writers[op.buffer] == 1:
                around = loops[depth[op.buffer] :]
                if around and all(isinstance(x, For) and x.independent for x in around):
                    found.add(op)
            for inner in blocks_of(op):
                look(inner, [*loops, op] if isinstance(op, (For, While)) else loops)

    look(program.body, [])
    return found


def copy_of_matrix(builder: Builder, matrix: Sequence[Any], m: Atom, n: Atom) -> Value:
    """The elements of a matrix, row by row, in a buffer of their own."""
    buffer, start, *steps = matrix
    op = builder.op
    made = builder.alloc(element_of(buffer.type), op("multiply", m, n), zeroed=False)
    with builder.each(m) as i:
        row = op("add", start, op("multiply", i, steps[0]))
        with builder.each(n) as j:
            x = builder.load(buffer, op("add", row, op("multiply", j, steps[1])))
            builder.store(made, op("add", op("multiply", i, n), j), x)
    return made


# Which matrices a routine's adjoint asks for: its place among the operands, and of its dimensions.
MATRICES = {"product": ((3, 0, 2), (7, 2, 1))}
