"""Matrices of derivatives as programs: a loop over blocks of directions around one derivative.

By columns: tangents along several elements of an argument at once are carried forward in lanes, one
beside the other. By rows: the reverse pass is linear in the cotangents, so that it is carried
forward in lanes, too, and what does not depend on the cotangents comes before the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from zyg.compiler.aliases import Aliases
from zyg.compiler.autodiff.costs import cost_of
from zyg.compiler.autodiff.dependence import is_real
from zyg.compiler.autodiff.elements import ELEMENTS, demand_finite, each, loaded
from zyg.compiler.autodiff.forward import along_elements, pushforward
from zyg.compiler.autodiff.reverse import Derived, vjp
from zyg.compiler.builder import Builder
from zyg.compiler.ir import (
    Atom,
    Block,
    Call,
    For,
    Op,
    Program,
    Value,
    element_of,
    is_buffer,
    operands_of,
    operations,
    prune,
    type_of,
)
from zyg.compiler.splice import spliced

WIDTH = 8  # lanes: a register of doubles, or two


class Result(NamedTuple):
    """A number or an array among the outputs of a program: where it is, its shape."""

    place: int
    shape: tuple[Atom, ...] | None = None


class Matrices:
    """A program that makes the derivatives of results by inputs, while it is written.

    `inputs` are its own; `shapes` those of the results in its terms. `blocks` has for each pair of
    a result and an input a buffer, row by row, or a number where both are numbers.
    """

    def __init__(self, program: Program, results: Sequence[Result]) -> None:
        self.program, self.results, self.builder = program, results, Builder()
        self.inputs = [Value(x.type) for x in program.inputs]
        self.new: dict[Any, Any] = dict(zip(program.inputs, self.inputs, strict=True))
        # The adjoint of a function that brings its own takes one cotangent.
        calls = [op for p in Aliases(program).programs for op in operations(p.body)
                 if isinstance(op, Call)]  # fmt: skip
        self.width = 1 if any(op.callee.adjoint for op in calls) else WIDTH
        self.shapes = self._shapes()
        self.blocks: dict[tuple[int, int], Atom] = {}
        self.checked: set[tuple[int, int]] = set()  # those that are known to be finite
        self.yields: list[Atom] = []

    def finished(self) -> Program:
        """The program, as far as it has been written."""
        self.builder.block.yields = self.yields
        prune(self.builder.block)
        sizes = {self.new[x]: tuple(self.new.get(n, n) for n in row)
                 for x, row in self.program.sizes.items() if x in self.new}  # fmt: skip
        name = f"{self.program.name}_jacobian"
        return Program(name, self.inputs, self.builder.block, sizes=sizes)

    # Sizes

    def _shapes(self) -> list[tuple[Atom, ...]]:
        """The shapes of results, without a run of the program where they are known without it."""
        dims = [n for r in self.results for n in r.shape or ()]
        made = self._pure(dims)
        if made is None:
            body = Block(self.program.body.ops, dims)
            made = self._run(Program("shapes", self.program.inputs, body), ())
        rest = iter(made)
        return [tuple(next(rest) for _ in r.shape or ()) for r in self.results]

    def _pure(self, atoms: Sequence[Atom]) -> list[Atom] | None:
        """Numbers that operations of the program's own block make of its inputs; else None."""
        makers = {op.out: op for op in self.program.body.ops if isinstance(op, Op)}

        def again(x: Atom) -> Atom | None:
            if isinstance(x, Value) and x not in self.new:
                args = [again(y) for y in operands_of(makers[x])] if x in makers else [None]
                known = [y for y in args if y is not None]
                if len(known) < len(args):
                    return None
                self.new[x] = self.builder.op(makers[x].name, *known)
            return self.new[x] if isinstance(x, Value) else x

        made = [again(x) for x in atoms]
        found = [x for x in made if x is not None]
        return found if len(found) == len(made) else None

    def product(self, atoms: Sequence[Atom]) -> Atom:
        return self.builder.product(atoms)

    def length(self, k: int) -> Atom:
        """The number of elements of an input."""
        x = self.program.inputs[k]
        return self.product([self.new.get(n, n) for n in self.program.sizes[x]])

    def _run(self, program: Program, given: Sequence[Atom]) -> list[Atom]:
        return spliced(program, [*given, *self.inputs], self.builder.block)

    def block(self, m: int, k: int) -> Atom:
        """The derivatives of a result by an input, zeros too, in the precision of that."""
        kind = element_of(self.program.inputs[k].type)
        found = self.blocks.get((m, k))
        if self.results[m].shape is None and not is_buffer(self.program.inputs[k].type):
            return self.builder.to(kind, 0.0 if found is None else found)
        size = self.product([*self.shapes[m], self._count(k)])
        if found is None:
            return self._alloc(k, size, zeroed=True)
        assert isinstance(found, Value)
        return found if element_of(found.type) == kind else self.builder.copied(found, size, kind)

    # Which way

    def fewer_columns(self, active: Sequence[int]) -> Atom:
        """Whether columns cost no more than rows: by operations on floats and what is moved in
        memory, of one pass of either, and by how many passes there are."""
        single, op = loaded(self.program, active), self.builder.op
        elements = sum(len(single.get(k, ())) for k in active)
        columns: Atom = -(-elements // ELEMENTS)
        arrays = [k for k in active if k not in single]
        for k in arrays:
            columns = op("add", columns, self._passes(self.length(k)))
        rows: Atom = 0
        for r, shape in zip(self.results, self.shapes, strict=True):
            rows = op("add", rows, 1 if r.shape is None else self._passes(self.product(shape)))
        if not arrays and elements <= 2:
            return True
        derived = vjp(self.program, active)
        numbers = all(r.shape is None for r in self.results)
        back = derived.program
        if not numbers:
            place = next(r.place for r in self.results if r.shape is not None)
            back = self._pushed(back, self._bar(place))
        push = self._pushed(self.program, arrays[0]) if arrays else self.program
        return op("less_equal", op("multiply", columns, cost_of(push)),
                  op("multiply", rows, cost_of(back)))  # fmt: skip

    def _passes(self, n: Atom) -> Atom:
        """How many blocks of directions there are."""
        op = self.builder.op
        return op("floor_divide", op("add", n, self.width - 1), self.width)

    def _bar(self, place: int) -> int:
        """Where the cotangent of an output is among the inputs of the reverse pass."""
        outputs = self.program.outputs
        return len(self.inputs) + sum(is_real(type_of(y)) for y in outputs[:place])

    # Columns

    def by_columns(self, active: Sequence[int]) -> None:
        """Derivatives by these inputs, in forward mode."""
        single = loaded(self.program, active)
        elements = [(k, index) for k in active for index in single.get(k, ())]
        most = ELEMENTS if self.width > 1 else 1
        for start in range(0, len(elements), most):
            self._by_elements(elements[start : start + most])
        arrays = [k for k in active if k not in single]
        for k in arrays:
            self._by_array(k)
        if not (elements or arrays):
            self._run(self.program, ())  # it may stop

    def _by_elements(self, chosen: list[tuple[int, Atom | None]]) -> None:
        """Derivatives by numbers, and by elements of arrays that are known one by one."""
        lanes = len(chosen)
        made = self._run(along_elements(self.program, chosen), ())
        self.checked.update((m, k) for m in range(len(self.results)) for k, _ in chosen)
        for m, row in enumerate(self._tangents(made, lanes)):
            size = self.product(self.shapes[m])
            demand_finite(self.builder, row, self.product([size, lanes]))
            for lane, (k, index) in enumerate(chosen):
                if index is None and (len(row) > 1 or lanes == 1):
                    self.blocks[m, k] = row[lane]
                    continue
                n = self._count(k)
                if (m, k) not in self.blocks:
                    self.blocks[m, k] = self._alloc(k, self.product([size, n]), index is not None)
                self._store(self.blocks[m, k], row, size, [(lane, index or 0)], lanes, n)

    def _alloc(self, k: int, size: Atom, zeroed: bool = False) -> Value:
        """A buffer for derivatives by an input, in its precision."""
        kind = element_of(self.program.inputs[k].type)
        return self.builder.alloc(kind, size, zeroed=zeroed)

    def _store(
        self, block: Any, made: list[Any], count: Atom, chosen: Sequence[tuple[int, Atom]],
        lanes: int, step: Atom,
    ) -> None:  # fmt: skip
        """Store derivatives: those of a lane at its place, and then at each step; `made` has as
        many lanes, side by side in a buffer, or as numbers."""
        builder, op = self.builder, self.builder.op
        if not is_buffer(type_of(made[0])):
            for lane, at in chosen:
                builder.store(block, at, made[lane])
            return

        def store(e: Atom) -> None:
            here, first = op("multiply", e, step), op("multiply", e, lanes)
            # All are read before the first is written, so that those side by side are a vector.
            row = [builder.load(made[0], op("add", first, lane)) for lane, _ in chosen]
            for t, (_, at) in zip(row, chosen, strict=True):
                builder.store(block, op("add", here, at), t)

        if len(chosen) == 1:
            each(builder, count, store)
            return
        with builder.each(count, independent=False) as e:  # too much is written over
            store(e)

    def _by_array(self, k: int) -> None:
        """Blocks of columns, the last ones first: what is too much in a block is written over."""
        n, op = self.length(k), self.builder.op
        sizes = [self.product(shape) for shape in self.shapes]
        for m, size in enumerate(sizes):
            room = op("add", op("multiply", size, n), self.width)
            self.blocks[m, k] = self._alloc(k, room)

        def use(j: Value, tangents: list[list[Any]]) -> None:
            columns = [(lane, op("add", j, lane)) for lane in range(self.width)]
            for m, made in enumerate(tangents):
                self._store(self.blocks[m, k], made, sizes[m], columns, self.width, n)

        self._each_block(k, use)

    def _each_block(self, k: int, use: Callable[[Value, list[list[Any]]], None]) -> None:
        """A loop over blocks of directions along the elements of an array, one at least.

        `use` has the first of each block, and for each result tangents: a buffer, or numbers.
        """
        push = self._pushed(self.program, k)
        kind = element_of(self.program.inputs[k].type)
        self._seeded(
            kind,
            self.length(k),
            lambda j, seed: use(j, self._tangents(self._run(push, [seed]), self.width)),
        )

    def _pushed(self, program: Program, k: int) -> Program:
        """The derivatives of a program along as many elements of an input as there are lanes."""
        width = self.width
        return pushforward(program, [k], directions=width, interleaved=width > 1)

    def _seeded(self, kind: str, n: Atom, use: Callable[[Value, Value], None]) -> None:
        """A loop over blocks of n directions, the last first, with a buffer of the unit tangents
        of each; one block at least."""
        builder, op = self.builder, self.builder.op
        seed = builder.alloc(kind, op("multiply", op("add", n, self.width), self.width))
        before = op("floor_divide", op("subtract", op("maximum", n, 1), 1), self.width)
        j = Value("int")
        with builder.inside(Block()) as body:
            first = op("multiply", j, self.width)
            units = [op("add", first, lane * (self.width + 1)) for lane in range(self.width)]
            for at in units:
                builder.store(seed, at, 1.0)
            use(j, seed)
            for at in units:
                builder.store(seed, at, 0.0)
        last = op("multiply", before, self.width)
        builder.block.ops.append(For(j, (last, -1, -self.width), [], [], body, []))

    # Rows

    def by_rows(self, active: Sequence[int]) -> None:
        """Derivatives by these inputs, from reverse passes."""
        derived = vjp(self.program, active)
        for m, r in enumerate(self.results):
            if r.shape is not None:
                self._rows(derived, m)
                continue
            made = spliced(derived.program, [*self.inputs, *self._bars(m)], self.builder.block)
            for k, c in zip(derived.moving, made[len(self.program.outputs) :], strict=True):
                self.blocks[m, k] = c
        if not self.results:
            self._run(self.program, ())  # it may stop

    def _bars(self, m: int | None = None) -> list[Atom]:
        """Cotangents of all results: 1 of the m-th, else 0."""
        bars: list[Atom] = []
        for place, y in enumerate(self.program.outputs):
            if is_buffer(type_of(y)) and is_real(type_of(y)):
                shapes = zip(self.results, self.shapes, strict=True)
                size = self.product(next(shape for r, shape in shapes if r.place == place))
                bars.append(self.builder.alloc(element_of(type_of(y)), size))
            elif is_real(type_of(y)):
                here = m is not None and self.results[m].place == place
                bars.append(self.builder.to(type_of(y), float(here)))
        return bars

    def _rows(self, derived: Derived, m: int) -> None:
        """Blocks of rows of an array, in order: what is too much in the last is behind the end."""
        builder, op, size = self.builder, self.builder.op, self.product(self.shapes[m])
        bar = self._bar(self.results[m].place)
        push = self._pushed(derived.program, bar)
        for k in derived.moving:
            room = op("multiply", op("add", size, self.width), self._count(k))
            self.blocks[m, k] = self._alloc(k, room)
        given, none = [*self.inputs, *self._bars()], len(derived.program.outputs)

        def use(i: Value, seed: Value) -> None:
            rest = iter(spliced(push, [seed, *given], builder.block)[none:])
            for y in self.program.outputs:
                if is_real(type_of(y)):
                    _ = [next(rest) for _ in range(1 if is_buffer(type_of(y)) else self.width)]
            for k in derived.moving:
                is_row = is_buffer(self.program.inputs[k].type)
                made = [next(rest) for _ in range(1 if is_row else self.width)]
                n = self._count(k)
                rows = [(lane, op("multiply", op("add", i, lane), n)) for lane in range(self.width)]
                self._store(self.blocks[m, k], made, n, rows, self.width, 1)

        kind = element_of(type_of(self.program.outputs[self.results[m].place]))
        self._seeded(kind, size, use)

    def _count(self, k: int) -> Atom:
        return self.length(k) if is_buffer(self.program.inputs[k].type) else 1

    def _tangents(self, outs: list[Atom], lanes: int) -> list[list[Any]]:
        """Those of each result, among what a pushforward yields."""
        rest, rows = iter(outs[len(self.program.outputs) :]), {}
        for place, y in enumerate(self.program.outputs):
            if is_real(type_of(y)):
                count = 1 if is_buffer(type_of(y)) else lanes
                rows[place] = [next(rest) for _ in range(count)]
        return [rows[r.place] for r in self.results]

    def along(self, dots: Mapping[int, Atom]) -> list[Atom]:
        """The tangents of results along one direction."""
        push = pushforward(self.program, [*dots])
        return [t for (t,) in self._tangents(self._run(push, [*dots.values()]), 1)]

    def diagonal(self, m: int, k: int) -> Atom:
        """The derivatives of a result by an input of the same shape, each number by its own."""
        x = self.program.inputs[k]
        if not is_buffer(x.type):
            (t,) = self.along({k: self.builder.to(x.type, 1.0)})[m : m + 1]
            return t
        builder, op, n = self.builder, self.builder.op, self.length(k)
        out = self._alloc(k, op("add", n, self.width))
        last = op("subtract", n, 1)

        def use(j: Value, tangents: list[list[Any]]) -> None:
            with builder.inside(Block()) as some:
                for lane in range(self.width):
                    at = op("add", j, lane)
                    place = op("add", op("multiply", op("minimum", at, last), self.width), lane)
                    builder.store(out, at, builder.load(tangents[m][0], place))
            builder.branch(op("greater", n, 0), some, Block())

        self._each_block(k, use)
        return out
