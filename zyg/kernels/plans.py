"""Plans: what a call needs besides its arrays, worked out once per kind of operands.

A plan knows the loops, how each operand and result is seen in their shape, how the work is divided
into chunks, and the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from zyg.base.buffers import LINE, SMALLEST
from zyg.base.threads import in_parallel
from zyg.compiler.back.compiled import Adapter, MachineKernel, Shape, kernel_of
from zyg.compiler.back.python_runtime import imports
from zyg.compiler.back.python_text import emit
from zyg.compiler.ir import Program, type_of
from zyg.kernels.arrays import Fresh, Given, Sum, adapter, finisher, has_type, is_array, wide
from zyg.kernels.geometry import (
    Loop,
    has_short_rows,
    layout_within,
    loop_over,
    packed_layout,
    pattern,
    spans_within,
    strides_within,
)
from zyg.kernels.loops import TILE, Loops, Operand, Result
from zyg.kernels.vector_loops import printed

CHUNK = 1 << 17  # elements: much work beside the start of a thread, little beside large arrays
_MOST_TURNED = 4  # operands: their parts lie on the stack
_LARGE = 1 << 12  # elements: less lies in the first cache
_STREAMED = 3 << 23  # bytes: results of a kernel that moves as much are stored past the cache
_SUMS_PER_ELEMENT = 1 / 16  # so much memory, at most, goes into the sums of chunks

_STORED_IN = {
    "float": "f",
    "int": "iuf",
    "uint": "u",
    "bool": "biuf",
}  # kinds of NumPy, for each type


class Output(NamedTuple):
    """What is wanted of one result: its type, the shape it is summed to, an array to write into."""

    dtype: np.dtype[Any]
    shape: Shape | None = None  # None: that of the broadcast
    out: np.ndarray | None = None
    checked: bool = False  # whether to be told if all its elements are finite


class Target(NamedTuple):
    """How a program is to be run: the type of its floats, how exactly, and by what."""

    dtype: np.dtype[Any]
    accuracy: str
    backend: str


class Description(NamedTuple):
    """What is known of a kernel, for those who look inside."""

    shape: Shape  # of the loops, outermost first
    operands: list[str]  # per loop F: element by element, B: broadcast; "" for a number
    results: list[str]
    chunks: int
    kernel: MachineKernel | None


@dataclass(frozen=True)
class Plan:
    """All that a call needs besides its arrays."""

    taken: list[tuple[int, Adapter | None]]  # the operands of the kernel, what is done to them
    straight: bool  # whether those are all operands, as they are
    results: Sequence[Any]  # Fresh, Given, Sum
    call: Callable[..., bool] | None  # None where there are no elements
    chunks: list[tuple[int, int]]  # of the loop that is divided
    lengths: list[int]  # of the other loops
    whole: tuple[int, ...]  # all chunks as one, and those lengths
    nowhere: list[None]  # one for each result
    plain: bool  # whether the results are new arrays as the kernel fills them
    checked: tuple[int, ...]  # the results of which the kernel says whether all is finite
    description: Description

    def run(
        self, operands: Sequence[Any], outs: Sequence[Any] | None = None, workers: int = 1
    ) -> tuple[list[np.ndarray], bool]:
        """The results, and whether those that the kernel checked are finite."""
        args = operands
        if not self.straight and self.call is not None:
            args = [operands[k] if adapt is None else adapt(operands[k]) for k, adapt in self.taken]
        if self.plain and workers <= 1:
            arrays = [r.fresh() for r in self.results]
            return arrays, self.call is None or self.call(*self.whole, *args, *arrays)
        outs = outs or self.nowhere
        arrays = [r.make(out) for r, out in zip(self.results, outs, strict=True)]
        finite = self.call is None or self._run(self.call, args, arrays, workers)
        found = [
            r.finish(array, out) for r, array, out in zip(self.results, arrays, outs, strict=True)
        ]
        return found, finite

    def _run(
        self, call: Callable[..., bool], args: Sequence[Any], arrays: list[np.ndarray], workers: int
    ) -> bool:
        chunks = self.chunks
        if workers <= 1 and not any(r.partial for r in self.results):
            chunks = [(chunks[0][0], chunks[-1][1])]

        def chunk(k: int) -> bool:
            parts = [r.part(array, k) for r, array in zip(self.results, arrays, strict=True)]
            return call(*chunks[k], *self.lengths, *args, *parts)

        return in_parallel(chunk, len(chunks), workers)


class Planner:
    """Makes the plan for operands and outputs of one kind.

    `same` says per output which operands are the very array that is to be written into; None where
    it overlaps anything in another way, so that the result must be made elsewhere and copied.
    """

    def __init__(
        self,
        operands: Sequence[Any],
        types: Sequence[str],
        outputs: Sequence[Output],
        same: Sequence[tuple[int, ...] | None],
        dtype: np.dtype[Any],
    ) -> None:
        self.outputs, self.dtype = outputs, dtype
        self.shape = np.broadcast_shapes(*[np.shape(x) for x in operands])
        self.ndim = len(self.shape)
        self.adapters = [adapter(x, t, dtype) for x, t in zip(operands, types, strict=True)]
        self.operands = [
            x if adapt is None else adapt(x)
            for x, adapt in zip(operands, self.adapters, strict=True)
        ]
        self.types = types
        self.spans = [spans_within(self._shape_of(o), self.ndim) for o in outputs]
        self.summed = [
            any(n != 1 and not s for n, s in zip(self.shape, spans, strict=True))
            for spans in self.spans
        ]
        self.given = [
            not summed and indices is not None and self._fits(output)
            for output, summed, indices in zip(outputs, self.summed, same, strict=True)
        ]
        self.shared = {
            i: k
            for k, (indices, given) in enumerate(zip(same, self.given, strict=True))
            for i in indices or ()
            if given and self.adapters[i] is None
        }
        self.loop = self._loop()
        self.axis, self.chunks = self._division()
        self.divides_rows = self.axis == len(self.loop.shape) - 1 and self.chunks > 1

    def plan(self, program: Program, target: Target) -> Plan:
        operands = [self._operand(k) for k in range(len(self.operands))]
        results = [self._result(k, type_of(x)) for k, x in enumerate(program.outputs)]
        loops = Loops(
            self.dtype.name, operands, [r for r, _ in results], len(self.loop.shape), self.axis
        )
        taken = [k for k in range(len(operands)) if k not in self.shared]
        taken.sort(key=lambda k: is_array(self.operands[k]))
        arrays = [self.operands[k] for k in taken if is_array(self.operands[k])]
        layouts = [layout_within(self.loop, x, self.ndim) for x in arrays]
        layouts += [r.layout for _, r in results]
        loops.short = self.axis == 0 and has_short_rows(self.loop, loops.patterns(taken), layouts)
        loops.turned = [f"a{k}" for k in taken if self._lies_turned(k)][:_MOST_TURNED]
        kernel, call = None, None
        if math.prod(self.shape):
            kernel = _kernel(program, loops, target)
            call = kernel.bind(layouts)
        n = self.loop.shape[self.axis]
        lengths = [m for d, m in enumerate(self.loop.shape) if d != self.axis]
        return Plan(
            [(k, self.adapters[k]) for k in taken],
            taken == [*range(len(operands))] and not any(self.adapters),
            [r for _, r in results],
            call,
            [*pairwise(self._bounds(n))],
            lengths,
            (0, n, *lengths),
            [None] * len(results),
            all(type(r) is Fresh and r.finished is None for _, r in results)
            and all(output.out is None for output in self.outputs),
            tuple(k for k, (r, _) in enumerate(results) if r.checked),
            Description(
                self.loop.shape,
                [o.pattern for o in operands],
                [r.pattern for r, _ in results],
                self.chunks,
                kernel,
            ),
        )

    def _shape_of(self, output: Output) -> Shape:
        return self.shape if output.shape is None else output.shape

    def _fits(self, output: Output) -> bool:
        """Whether a kernel can write this result straight into the array given for it."""
        out = output.out
        return (
            out is not None
            and out.shape == self.shape
            and out.dtype == output.dtype
            and has_type(out.dtype)
            and out.flags.aligned
            and out.flags.writeable
            and all(s or n == 1 for n, s in zip(out.shape, out.strides, strict=True))
        )

    def _loop(self) -> Loop:
        if 0 in self.shape:
            axes = tuple(range(self.ndim))
            return Loop(axes, tuple((a,) for a in axes), self.shape)
        arrays = [x for x in self.operands if is_array(x)]
        arrays += [o.out for o, given in zip(self.outputs, self.given, strict=True) if given]
        sums = [s for s, summed in zip(self.spans, self.summed, strict=True) if summed]
        return loop_over(self.shape, [strides_within(x, self.ndim) for x in arrays], sums)

    def _division(self) -> tuple[int, int]:
        """Which loop is divided into how many chunks.

        Into as many as there is work for; but where chunks have sums of their own, those must stay
        small beside the arrays. The outermost loop is preferred: its chunks lie together.
        """
        shape = self.loop.shape
        size = math.prod(shape)
        wanted = -(-size // CHUNK)
        patterns = [
            pattern(self.loop, s)
            for s, summed in zip(self.spans, self.summed, strict=True)
            if summed
        ]
        if wanted <= 1:
            return 0, 1
        for axis in sorted(range(len(shape)), key=lambda axis: -min(shape[axis], wanted)):
            count = min(shape[axis], wanted)
            apart = [_sum_shape(shape, p) for p in patterns if p[axis] == "B"]
            if count * sum(map(math.prod, apart)) <= size * _SUMS_PER_ELEMENT:
                return axis, count
        return 0, 1

    def _bounds(self, n: int) -> list[int]:
        """Where the chunks of the loop that is divided begin and end."""
        step = LINE if self.divides_rows and not any(self.summed) else 1
        return [*[n * k // self.chunks // step * step for k in range(self.chunks)], n]

    def _operand(self, k: int) -> Operand:
        x, type = self.operands[k], self.types[k]
        if not is_array(x):
            return Operand(type)
        steps = strides_within(x, self.ndim)
        letters = pattern(self.loop, steps)
        return Operand(type, x.dtype.name, letters, self._packed(x), self.shared.get(k))

    def _packed(self, x: np.ndarray) -> bool:
        innermost = self.loop.groups[-1]
        return not innermost or strides_within(x, self.ndim)[innermost[-1]] == x.itemsize

    def _lies_turned(self, k: int) -> bool:
        """Whether an operand is contiguous along the last loop but one, and not along the last."""
        x, groups = self.operands[k], self.loop.groups
        if not is_array(x) or x.dtype != self.dtype or len(groups) < 2 or x.size < _LARGE:
            return False
        inner, outer = (strides_within(x, self.ndim)[group[-1]] for group in groups[:-3:-1])
        return outer == x.itemsize and inner != 0

    def _result(self, k: int, type: str) -> tuple[Result, Fresh | Given | Sum]:
        output = self.outputs[k]
        if output.dtype.kind not in _STORED_IN[type]:
            raise TypeError(f"a result of type {type} cannot be stored as {output.dtype}")
        shape = self.loop.shape
        if self.given[k]:
            out: Any = output.out
            given = Given(layout_within(self.loop, out, self.ndim))
            checked = output.checked and out.dtype == self.dtype
            row = Result(type, out.dtype.name, "F" * len(shape), self._packed(out), False, checked)
            return row, given
        letters = pattern(self.loop, self.spans[k]) if self.summed[k] else "F" * len(shape)
        stored = output.dtype if has_type(output.dtype) else self.dtype
        if self.summed[k]:
            stored = self._sum_type(type, letters)
        finished = finisher(self.loop, self._shape_of(output), stored, output.dtype)
        checked = output.checked and not self.summed[k] and stored == output.dtype == self.dtype
        layout = Result(type, stored.name, letters, summed=self.summed[k], checked=checked)
        if not self.summed[k]:
            as_made = stored == output.dtype and self.loop.order == tuple(range(self.ndim))
            wanted = self._shape_of(output)
            strides = packed_layout(shape, stored.itemsize)[1]
            streamed = self._is_streamed(stored.itemsize, strides)
            fresh = Fresh(shape, stored, None if as_made else finished, wanted, streamed)
            return layout._replace(streamed=streamed), fresh
        return layout, Sum(_sum_shape(shape, letters), stored, finished, self._apart(letters))

    def _is_streamed(self, itemsize: int, strides: tuple[int, ...]) -> bool:
        """Whether a result is stored past the cache, which it would have left when it is read.

        Its memory is not read first then, as lines of it are written as a whole: so none may lie in
        two rows, or in two chunks.
        """
        size = math.prod(self.shape)
        arrays = sum(x.nbytes for x in self.operands if is_array(x))
        moved = arrays + size * sum(o.dtype.itemsize for o in self.outputs)
        return (
            moved >= _STREAMED
            and size * itemsize >= SMALLEST
            and itemsize >= self.dtype.itemsize
            and all(step % LINE == 0 for step in strides[:-1])
            and not (self.divides_rows and any(self.summed))
        )

    def _apart(self, letters: str) -> int:
        """How many sums there are of each element of a result: one per chunk where those meet."""
        return self.chunks if letters[self.axis] == "B" else 1

    def _sum_type(self, type: str, letters: str) -> np.dtype[Any]:
        if type != "float":
            return np.dtype(np.int64)
        shape = self.loop.shape
        sums = math.prod(_sum_shape(shape, letters)) * self._apart(letters)
        many = math.prod(shape) > TILE * sums
        return wide(self.dtype) if letters[-1] == "B" or many else self.dtype


def _sum_shape(shape: Shape, letters: str) -> Shape:
    return tuple(n if c == "F" else 1 for n, c in zip(shape, letters, strict=True))


def _kernel(program: Program, loops: Loops, target: Target) -> MachineKernel:
    if target.backend == "llvm":
        text, vectors = printed(program, loops, target.accuracy)
        return kernel_of(text, not vectors)
    body = emit(program, [f"x{k}" for k in range(len(program.inputs))])
    head = imports(body.functions, target.dtype.name)
    text = "\n\n\n".join([head, *body.definitions, loops.in_python(body)]) + "\n"
    return kernel_of(text, None)
