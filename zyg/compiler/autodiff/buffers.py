"""Forward mode on memory: beside each buffer that may carry tangents flow buffers of those.

A tangent buffer is made where its buffer is made, read and written where that is; regions yield and
carry it as they do the buffer; a buffer of buffers has one of tangent buffers. A function that is
called out of line is derived for each pattern of tangents that it is called with.

Of several directions at once, the `lanes`, there is one tangent buffer, in which the tangents of an
element are beside each other; those of a number are as many numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from zyg.compiler.autodiff.dependence import Dependence, is_real, makes_reals
from zyg.compiler.autodiff.ruled import pushed
from zyg.compiler.autodiff.tangents import Chain, Forward, Tangents, keys_of
from zyg.compiler.builder import Builder
from zyg.compiler.ir import (
    Adjoint,
    Alloc,
    Atom,
    Block,
    Call,
    Check,
    Load,
    Program,
    Routine,
    Store,
    Value,
    element_of,
    is_buffer,
    type_of,
)
from zyg.compiler.splice import called, spliced
from zyg.errors import KernelError

LANES = "lanes"  # the key of tangent buffers that hold several directions


@dataclass(eq=False, repr=False)
class Derived:
    """(inputs..., tangents...) -> (outputs..., tangents...); of an output along `masks`."""

    program: Program
    masks: list[list[Any]]


class ForwardOnMemory(Forward):
    """One pass over a program, or over one that it calls."""

    def __init__(
        self,
        strong: bool,
        memory: Dependence,
        lanes: int = 0,
        callees: dict[Any, Derived] | None = None,
    ) -> None:
        super().__init__(strong)
        self.memory, self.lanes = memory, lanes
        self.callees = {} if callees is None else callees  # by program and tangents of operands
        self.units: dict[tuple[Value, Atom], int] = {}  # the directions that are elements

    def foreseen(self, x: Value) -> list[Any]:
        if is_buffer(x.type):
            return self.memory.carries(x)
        moves = self.memory.moves(x)
        return [*range(self.lanes)] if self.lanes and moves else moves

    def room(self, size: Atom, kind: str) -> Atom:
        """The number of elements of a tangent buffer of so many."""
        if not self.lanes or is_buffer(kind):
            return size
        return self.builder.op("multiply", size, self.lanes)

    def places(self, tangents: Tangents, index: Atom) -> Iterator[tuple[Any, Value, Atom]]:
        """Where the tangents of an element are: the key of each, the buffer, the place in it."""
        for k, t in tangents.items():
            if not self.lanes or is_buffer(element_of(type_of(t))):
                yield k, t, index  # type: ignore[misc]
                continue
            first = self.builder.op("multiply", index, self.lanes)
            for lane in range(self.lanes):
                yield lane, t, self.builder.op("add", first, lane)  # type: ignore[misc]

    def alloc(self, op: Alloc) -> None:
        size, kind = self.atom(op.size), element_of(op.out.type)
        self.made[op.out] = self.builder.alloc(kind, size, op.zeroed)
        moves, carries = self.memory.moves(op.out), self.memory.carries(op.out)
        if carries:
            room = self.room(size, kind)
            self.moving[op.out] = Chain({
                k: self.builder.alloc(kind, room, op.zeroed or k not in moves) for k in carries
            })  # fmt: skip

    def load(self, op: Load) -> None:
        buffer, index = self.atom(op.buffer), self.atom(op.index)
        self.made[op.out] = self.builder.load(buffer, index)  # type: ignore[arg-type]
        if (lane := self.units.get((op.buffer, op.index))) is not None:
            self.moving[op.out] = Chain({lane: self.builder.to(op.out.type, 1.0)})
            return
        if tangents := self.changing(op.buffer):
            places = self.places(tangents, index)
            self.moving[op.out] = Chain({k: self.builder.load(t, at) for k, t, at in places})

    def store(self, op: Store) -> None:
        buffer, index = self.atom(op.buffer), self.atom(op.index)
        self.builder.store(buffer, index, self.atom(op.value))  # type: ignore[arg-type]
        row = self.asked(op.value)
        for k, t, at in self.places(self.changing(op.buffer), index):
            self.builder.store(t, at, row.get(k, 0.0))

    def changing(self, x: Atom) -> Tangents:
        """The tangent buffers of a buffer, without those that stay zero."""
        tangents = self.tangents(x)
        if not tangents or is_buffer(element_of(type_of(x))):
            return tangents
        moves = self.memory.moves(x)  # type: ignore[arg-type]
        return {k: t for k, t in tangents.items() if k in moves}

    def check(self, op: Check) -> None:
        self.builder.check(self.atom(op.condition), op.why)

    def routine(self, op: Routine) -> None:
        args = [self.atom(x) for x in op.args]
        made = self.builder.routine(op.name, *args, outs=[x.type for x in op.outs])
        self.made.update(zip(op.outs, made, strict=True))
        rows = [self.changing(x) if is_buffer(type_of(x)) else {} for x in op.args]
        if any(rows) and makes_reals(op):
            if op.name not in _PUSHES:
                raise KernelError(
                    f"{op.name} has no derivative.", "it is a library routine.", "leave it out."
                )
            _PUSHES[op.name](self.builder, args, rows, self.lanes)

    def call(self, op: Call) -> None:
        if op.callee.adjoint:
            self.ruled(op, op.callee.adjoint)
            return
        rows = [self.tangents(x) for x in op.args]
        args = [self.atom(x) for x in op.args] + [t for row in rows for t in row.values()]
        derived = Derived(op.callee, [[] for _ in op.outs])
        if any(rows) or any(map(self.foreseen, op.outs)):
            derived = self.derived(op.callee, tuple(map(tuple, rows)))
        masks = derived.masks
        types = [out.type for out in op.outs]
        types += [out.type for out, mask in zip(op.outs, masks, strict=True) for _ in mask]
        outs = [Value(kind) for kind in types]
        self.builder.block.ops.append(Call(derived.program, tuple(args), outs))
        self._leave(op.outs, masks, outs)

    def ruled(self, op: Call, adjoint: Adjoint) -> None:
        """A function that has an adjoint of its own."""
        args = [self.atom(x) for x in op.args]
        put = called if adjoint.stays else spliced
        outs = put(op.callee, args, self.builder.block)
        self.made.update(zip(op.outs, outs, strict=True))
        rows = {k: self.tangents(op.args[k]) for k in adjoint.moving}
        results = [x for x in op.outs[: adjoint.results] if is_real(x.type)]
        made: dict[Value, Tangents] = {x: {} for x in results}
        for key in keys_of(
            (), [k for x in (*rows.values(), *map(self.foreseen, results)) for k in x]
        ):
            dots = {k: row[key] for k, row in rows.items() if key in row}
            tangents = pushed(self.builder, op, args, outs, dots)
            for x, t in zip(results, tangents, strict=True):
                made[x][key] = t
        self.moving.update((x, Chain(row)) for x, row in made.items() if row)

    def derived(self, callee: Program, masks: tuple[tuple[Any, ...], ...]) -> Derived:
        """A function's derivative; while it is made, a call of itself takes what is known of it."""
        key = callee, masks
        if key in self.callees:
            return self.callees[key]
        start = [self.memory.carries(y) if is_buffer(type_of(y)) else [] for y in callee.outputs]  # type: ignore[arg-type]
        program = Program(f"{callee.name}_pushforward", [], Block())
        found = self.callees[key] = Derived(program, start)
        while True:
            before = {*self.callees}
            inner, inputs = self._inside(callee, masks)
            rows = [inner.tangents(y) for y in callee.outputs]
            ends = [keys_of(m, row) for m, row in zip(found.masks, rows, strict=True)]
            settled, found.masks = ends == found.masks, ends
            if settled:
                break
            for later in {*self.callees} - before:  # which may call it
                del self.callees[later]
        program.inputs, program.body = inputs, inner.builder.block
        program.body.yields = [inner.atom(y) for y in callee.outputs]
        with inner.builder.inside(program.body):
            program.body.yields += inner.row(callee.outputs, rows, ends)
        return found

    def _inside(
        self, callee: Program, masks: Sequence[Sequence[Any]]
    ) -> tuple[ForwardOnMemory, list[Value]]:
        """The pass over a function that is called, and the inputs of its derivative."""
        inner = ForwardOnMemory(self.strong, self.memory, self.lanes, self.callees)
        inputs = [Value(x.type) for x in callee.inputs]
        dots: list[Value] = []
        for old, new, mask in zip(callee.inputs, inputs, masks, strict=True):
            inner.made[old] = new
            if mask:
                row = {k: Value(new.type) for k in mask}
                inner.moving[old] = Chain({**row})
                dots += row.values()
        inner.run(callee.body)
        return inner, [*inputs, *dots]

    # The program itself

    def begin(self, program: Program, inputs: Sequence[Value], dots: dict[Value, Tangents]) -> None:
        """Copy what the program writes, and give its inputs their tangents, or zeros."""
        self.made.update(zip(program.inputs, inputs, strict=True))
        for x, new in zip(program.inputs, inputs, strict=True):
            row = dots.get(x, {})
            if is_buffer(x.type):
                row, kind = dict(row), element_of(x.type)
                if self.memory.is_written(x):
                    size = self.size(program, x)
                    self.made[x] = self.builder.copied(new, size)
                    for k, t in row.items():
                        row[k] = self.builder.copied(t, self.room(size, kind))  # type: ignore[arg-type]
                for k in self.memory.carries(x):
                    if k not in row:
                        row[k] = self.builder.alloc(kind, self.room(self.size(program, x), kind))
            if row:
                self.moving[x] = Chain(row)

    def size(self, program: Program, x: Value) -> Atom:
        """The number of elements of an input."""
        return self.builder.product(map(self.atom, program.sizes[x]))


def _push_product(
    builder: Builder, args: Sequence[Atom], rows: Sequence[Tangents], lanes: int
) -> None:
    """Of C += A B: the tangent of C grows by those of A and B, times the other."""
    for k, c in rows[11].items():
        for place, other in ((3, 7), (7, 3)):
            if k not in rows[place]:
                continue
            if lanes:
                _push_lanes(builder, args, place, other, rows[place][k], c, lanes)
                continue
            moved = [*args]
            moved[place], moved[11] = rows[place][k], c
            builder.routine("product", *moved)


def _push_lanes(
    builder: Builder, args: Sequence[Atom], place: int, other: int, moved: Atom, c: Atom, lanes: int
) -> None:
    """The same of lanes: of C's j-th column, all lanes of which are A times those of B's; and of
    its i-th row, turned, which is B turned times those of A's."""
    op = builder.op
    m, n, k = args[:3]
    (a0, a_row, a_column), (c0, c_row, c_column) = args[place + 1 : place + 4], args[12:15]
    still, start, row, column = args[other : other + 4]
    rounds, rows = n, m
    across, down = a_column, a_row  # from one round to the next, and inside
    c_across, c_down = c_column, c_row
    if place == 3:
        rounds, rows = m, n
        across, down, c_across, c_down = a_row, a_column, c_row, c_column
        row, column = column, row

    def at(first: Atom, step: Atom) -> Atom:
        return op("multiply", op("add", first, op("multiply", j, step)), lanes)

    with builder.each(rounds, independent=False) as j:
        builder.routine(
            "product", rows, lanes, k, still, start, row, column,
            moved, at(a0, across), op("multiply", down, lanes), 1,
            c, at(c0, c_across), op("multiply", c_down, lanes), 1,
        )  # fmt: skip


_PUSHES: dict[str, Callable[[Builder, Sequence[Atom], Sequence[Tangents], int], None]] = {
    "product": _push_product
}
