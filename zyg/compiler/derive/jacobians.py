"""Matrices of derivatives as programs: a loop over blocks of directions around one derivative.

By columns: tangents along several elements of an argument at once are carried forward in lanes, one
beside the other. By rows: the reverse pass is linear in the cotangents, so that it is carried
forward in lanes, too, and what does not depend on the cotangents comes before the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zyg.compiler.derive.forward import pushforward
from zyg.compiler.derive.moving import Memory, is_real
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
from zyg.compiler.record import Builder
from zyg.compiler.splice import spliced

WIDTH = 8  # lanes: a register of doubles, or two
_NUMBERS = 8  # arguments that are numbers, of which the derivatives are taken at once


@dataclass(frozen=True)
class Result:
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
        calls = [op for p in Memory(program).programs for op in operations(p.body)
                 if isinstance(op, Call)]  # fmt: skip
        self.width = 1 if any(op.callee.adjoint for op in calls) else WIDTH
        self.shapes = self._shapes()
        self.blocks: dict[tuple[int, int], Atom] = {}
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
        size: Atom = 1
        for n in atoms:
            size = self.builder.op("multiply", size, n)
        return size

    def length(self, k: int) -> Atom:
        """The number of elements of an input."""
        x = self.program.inputs[k]
        return self.product([self.new.get(n, n) for n in self.program.sizes[x]])

    def _run(self, program: Program, given: Sequence[Atom]) -> list[Atom]:
        return spliced(program, [*given, *self.inputs], self.builder.block)

    def _fresh(self, k: int, m: int, more: Atom) -> Value:
        """A buffer for the derivatives of a result by an array among the inputs, and some more."""
        size = self.product([*self.shapes[m], self.length(k)])
        kind = element_of(self.program.inputs[k].type)
        return self.builder.alloc(kind, self.builder.op("add", size, more), zeroed=False)

    # Columns

    def by_columns(self, active: Sequence[int]) -> None:
        """Derivatives by these inputs, in forward mode."""
        kinds = [(k, is_buffer(self.program.inputs[k].type)) for k in active]
        numbers = [k for k, buffer in kinds if not buffer]
        for start in range(0, len(numbers), _NUMBERS):
            self._by_numbers(numbers[start : start + _NUMBERS])
        for k, buffer in kinds:
            if buffer:
                self._by_array(k)

    def _by_numbers(self, chosen: list[int]) -> None:
        directions = len(chosen)
        push = pushforward(self.program, chosen, directions=directions)
        to = self.builder.to
        units = [to(self.program.inputs[k].type, float(j == k)) for k in chosen for j in chosen]
        rows = self._tangents(self._run(push, units), directions, directions)
        for m, row in enumerate(rows):
            for k, t in zip(chosen, row, strict=True):
                self.blocks[m, k] = t

    def _by_array(self, k: int) -> None:
        """Blocks of columns, the last ones first: what is too much in a block is written over."""
        n = self.length(k)
        for m in range(len(self.results)):
            self.blocks[m, k] = self._fresh(k, m, self.width)

        def use(j: Value, tangents: list[list[Any]]) -> None:
            for m, made in enumerate(tangents):
                self._columns(self.blocks[m, k], made, m, n, j)

        self._each_block(k, use)

    def _each_block(self, k: int, use: Callable[[Value, list[list[Any]]], None]) -> None:
        """A loop over blocks of directions along the elements of an array, one at least.

        `use` has the first of each block, and for each result tangents: a buffer, or numbers.
        """
        builder, op = self.builder, self.builder.op
        push = pushforward(self.program, [k], directions=self.width, interleaved=self.width > 1)
        n, kind = self.length(k), element_of(self.program.inputs[k].type)
        seed = builder.alloc(kind, op("multiply", op("add", n, self.width), self.width))
        before = op("floor_divide", op("subtract", op("maximum", n, 1), 1), self.width)
        j = Value("int")
        with builder.inside(Block()) as body:
            first = op("multiply", j, self.width)
            units = [op("add", first, lane * (self.width + 1)) for lane in range(self.width)]
            for at in units:
                builder.store(seed, at, 1.0)
            use(j, self._tangents(self._run(push, [seed]), self.width))
            for at in units:
                builder.store(seed, at, 0.0)
        last = op("multiply", before, self.width)
        builder.block.ops.append(For(j, (last, -1, -self.width), [], [], body, []))

    def _tangents(self, outs: list[Atom], lanes: int, buffers: int = 1) -> list[list[Any]]:
        """Those of each result, among what a pushforward yields."""
        rest, rows = iter(outs[len(self.program.outputs) :]), {}
        for place, y in enumerate(self.program.outputs):
            if is_real(type_of(y)):
                count = buffers if is_buffer(type_of(y)) else lanes
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
        out = builder.alloc(element_of(x.type), op("add", n, self.width), zeroed=False)
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

    def _columns(self, block: Any, made: list[Any], m: int, n: Atom, j: Value) -> None:
        """Store the tangents of a result in its columns from the j-th on."""
        builder, op = self.builder, self.builder.op
        if self.results[m].shape is None:
            for lane, t in enumerate(made):
                builder.store(block, op("add", j, lane), t)
            return
        row, rows = Value("int"), self.product(self.shapes[m])
        with builder.inside(Block()) as body:
            start, first = op("add", op("multiply", row, n), j), op("multiply", row, self.width)
            for lane in range(self.width):
                t = builder.load(made[0], op("add", first, lane))
                builder.store(block, op("add", start, lane), t)
        builder.block.ops.append(For(row, (0, rows, 1), [], [], body, []))


def cast(builder: Builder, buffer: Value, kind: str, size: Atom) -> Value:
    """A buffer with the elements of another, in another precision."""
    out, k = builder.alloc(kind, size, zeroed=False), Value("int")
    with builder.inside(Block()) as body:
        builder.store(out, k, builder.load(buffer, k))
    builder.block.ops.append(For(k, (0, size, 1), [], [], body, [], independent=True))
    return out
