"""Plans: which kernels a call launches, over which grids, worked out once per kind of operands.

Axes are merged as on the CPU (`zyg.kernels.geometry`), and results lie in memory as operands do.
Results that are summed in different patterns come from launches of their own. Grids depend on the
shapes alone, not on the device, so sums are the same on every one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from zyg.compiler.back.compiled import Shape
from zyg.compiler.back.python_text import emit
from zyg.compiler.ir import Program, type_of
from zyg.kernels.geometry import Loop, loop_over, pattern, spans_within, strides_within
from zyg_cuda.names import imports
from zyg_cuda.text import (
    MOST_THREADS,
    THREADS,
    GridLoops,
    Operand,
    Result,
    Site,
    Variant,
    over_slots,
)

_BLOCKS = 132 * 128  # of a grid: many times what the largest device runs at once, in even rounds
_BLOCKS_OF_SUMS = 132 * 16  # what it runs at once: each makes one more sum
_ELEMENTS_PER_SUM = 16  # so little memory, at most, goes into the sums of slots
_SHORT = 32  # a row of so many elements is added up by one thread
_WARP = 32  # threads that read memory together
_ACCESS, _HALF_ACCESS = 16, 8  # bytes of the widest load, and of those of more arrays than this:
_MOST_LANED = 12  # with more lanes a thread takes over 64 registers


class Array(NamedTuple):
    """An array on a device, or what is to be one: strides are in bytes."""

    address: int
    shape: Shape
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    device: int = 0
    stream: int | None = None  # on which it is made; None if that is over

    @property
    def ndim(self) -> int:
        return len(self.shape)


class Output(NamedTuple):
    """What is wanted of one result: its type, the shape it is summed to, an array to write into."""

    dtype: np.dtype[Any]
    shape: Shape | None = None
    out: Array | None = None


class Made(NamedTuple):
    """The memory of a result: packed, with the axes in an order of their own."""

    shape: Shape
    dtype: np.dtype[Any]
    ordered: Shape  # the lengths in that order, outermost first
    back: tuple[int, ...]  # what turns them into the shape
    strides: tuple[int, ...]  # in bytes

    @property
    def is_ordered(self) -> bool:
        """Whether the axes lie in the order of the shape."""
        return self.back == tuple(range(len(self.shape)))


def packed(shape: Shape, step: int) -> tuple[int, ...]:
    """The strides of a packed array in C's order, whose elements take up `step`."""
    strides = []
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def made_in(shape: Shape, dtype: np.dtype[Any], order: tuple[int, ...]) -> Made:
    """A result whose axes lie in this order, outermost first."""
    ordered = tuple(shape[axis] for axis in order)
    back = tuple(np.argsort(order).tolist())
    strides = packed(ordered, dtype.itemsize)
    return Made(shape, dtype, ordered, back, tuple(strides[k] for k in back))


class Second(NamedTuple):
    """The second kernel of a sum, which adds up its slots."""

    place: int  # of the result in those of the launch
    slots: Made  # (slots, elements)
    text: str
    grid: tuple[int, int, int]
    block: tuple[int, int]


class Launch(NamedTuple):
    """One kernel over one grid, and what is left to do of its sums."""

    text: str
    grid: tuple[int, int, int]
    block: tuple[int, int]
    results: list[int]
    numbers: list[int]  # the last arguments: lengths, steps
    seconds: list[Second]


class Plan(NamedTuple):
    """What is launched, and what it writes into; floats are computed in `dtype`."""

    dtype: np.dtype[Any]
    results: list[Made]
    launches: list[Launch]


class Planner:
    """Makes the plan for operands of one kind: arrays, or None for numbers."""

    def __init__(
        self,
        program: Program,
        operands: Sequence[Array | None],
        outputs: Sequence[Output],
        dtype: np.dtype[Any],
        threads: int = THREADS,
        simulated: bool = False,
    ) -> None:
        self.program, self.operands, self.outputs = program, operands, outputs
        self.dtype, self.threads, self.simulated = dtype, threads, simulated
        arrays = [x for x in operands if x is not None]
        self.shape = np.broadcast_shapes(*[x.shape for x in arrays])
        ndim = self.ndim = len(self.shape)
        self.spans = [spans_within(self._shape_of(o), ndim) for o in outputs]
        self.summed = [
            any(n != 1 and not s for n, s in zip(self.shape, spans, strict=True))
            for spans in self.spans
        ]
        arrays += [o.out for o in outputs if o.out is not None]
        strides = [strides_within(x, ndim) for x in arrays]
        sums = [s for s, summed in zip(self.spans, self.summed, strict=True) if summed]
        self.loop: Loop = loop_over(self.shape, strides, sums)

    def plan(self) -> Plan:
        made = [self._made(output) for output in self.outputs]
        if 0 in self.shape:
            return Plan(self.dtype, made, [])
        return Plan(self.dtype, made, [*self._launches(made)])

    def _shape_of(self, output: Output) -> Shape:
        return self.shape if output.shape is None else output.shape

    def _made(self, output: Output) -> Made:
        shape = self._shape_of(output)
        missing = self.ndim - len(shape)
        order = tuple(a - missing for a in self.loop.order if a >= missing)
        return made_in(shape, output.dtype, order)

    def _launches(self, made: list[Made]) -> Iterator[Launch]:
        """One launch for each pattern of sums; the first makes what is not summed too."""
        full = "F" * len(self.loop.shape)
        kept = [pattern(self.loop, s) if b else full
                for s, b in zip(self.spans, self.summed, strict=True)]  # fmt: skip
        patterns = [p for p in dict.fromkeys(kept) if p != full] or [full]
        for first, letters in enumerate(patterns):
            also = full if first == 0 else letters
            yield self._launch(
                letters, [k for k, p in enumerate(kept) if p in (letters, also)], made
            )

    def _launch(self, kept: str, which: list[int], made: list[Made]) -> Launch:
        lengths = self.loop.shape
        operands = [
            Operand(x.type, None if a is None else self._site(a))
            for x, a in zip(self.program.inputs, self.operands, strict=True)
        ]
        sites = [self._result_site(k, made[k]) for k in which]
        lanes = self._lanes(kept, operands, which, sites)
        dims = self._dims(kept)
        grid, block = self._grid(kept, dims, lanes)
        slots = self._slots(self._by_dim(kept, dims)[1], grid, block[1])
        results, seconds = [], []
        for place, (k, site) in enumerate(zip(which, sites, strict=True)):
            type = type_of(self.program.outputs[k])
            if slots > 1 and self.summed[k]:
                seconds.append(self._second(place, type, made[k], slots))
                site = site._replace(dtype=_partial(type))
            results.append(Result(type, site, self.summed[k]))
        wide = "int32" if self._is_small([*operands, *results], grid, block, lanes) else "int64"
        variant = Variant(self.dtype.name, wide, kept, dims, slots > 1, lanes)
        kernel = GridLoops(variant, operands, results)
        body = emit(self.program, [f"x{k}" for k in range(len(operands))])
        body.results = [body.results[k] for k in which]
        text = kernel.text(body)
        head = imports(body.functions, self.dtype.name, wide, self.simulated)
        helpers = [f"@inlined\n{definition}" for definition in body.definitions]
        elements = _elements(lengths, kept)
        numbers = [*lengths, *kernel.steps, *([elements] if slots > 1 else [])]
        text = "\n\n\n".join([head, *helpers, text]) + "\n"
        return Launch(text, grid, block, which, numbers, seconds)

    def _second(self, place: int, type: str, made: Made, slots: int) -> Second:
        """A block has a column for each element; its threads share the slots of that."""
        n = math.prod(made.shape)
        width = min(_WARP, 1 << (n - 1).bit_length())
        most = self.threads if self.simulated else MOST_THREADS
        rows = min(most // width, 1 << (slots - 1).bit_length())
        parts = made_in((slots, n), np.dtype(_partial(type)), (0, 1))
        text = over_slots(parts.dtype.name, made.dtype.name, self.simulated)
        return Second(place, parts, text, (-(-n // width), 1, 1), (width, rows))

    def _site(self, x: Array) -> Site:
        strides = strides_within(x, self.ndim)
        letters = pattern(self.loop, strides)
        steps = tuple(
            strides[group[-1]] // x.dtype.itemsize if c == "F" else 0
            for group, c in zip(self.loop.groups, letters, strict=True)
        )
        return Site(x.dtype.name, letters, steps)

    def _result_site(self, k: int, made: Made) -> Site:
        out = self.outputs[k].out
        if out is not None:
            return self._site(out)
        spans = self.spans[k] if self.summed[k] else (True,) * self.ndim
        letters = pattern(self.loop, spans)
        return Site(made.dtype.name, letters, _packed(self.loop.shape, letters))

    def _lanes(
        self, kept: str, operands: list[Operand], which: list[int], sites: list[Site]
    ) -> int:
        """How many neighbours a thread takes at once: what one access of the widest type holds."""
        arrays = [*self.operands, *(self.outputs[k].out for k in which)]
        placed = [*(x.site for x in operands), *sites]
        laned = [
            (0 if a is None else a.address, s)
            for a, s in zip(arrays, placed, strict=True)
            if s is not None and s.letters[-1] == "F"
        ]
        access = _ACCESS if len(laned) <= _MOST_LANED else _HALF_ACCESS
        lanes = access // self.dtype.itemsize
        if "B" in kept or not laned or self.loop.shape[-1] % lanes:
            return 1
        for address, site in laned:
            size = np.dtype(site.dtype).itemsize
            if site.steps[-1] != 1 or any(step % lanes for step in site.steps[:-1]):
                return 1
            if address % min(_ACCESS, size * lanes):
                return 1
        return lanes

    def _dims(self, kept: str) -> str:
        """Which loop runs along which dimension of the grid: the innermost along x, and so on.

        A short row that is summed is left to one thread: x is the loop around it.
        """
        n = self.loop.shape
        alone = kept[-1] == "B" and "F" in kept[-2:-1] and n[-1] <= _SHORT
        return ("-" * len(n) + "zyx" + "-" * alone)[-len(n) :]

    def _grid(
        self, kept: str, dims: str, lanes: int
    ) -> tuple[tuple[int, int, int], tuple[int, int]]:
        """Blocks as wide as the loop along x, up to a limit; what is kept has the first choice."""
        n, letters = self._by_dim(kept, dims)
        n[0] = -(-n[0] // lanes)
        width = min(self.threads, 1 << (n[0] - 1).bit_length())
        rows = 1
        if letters[0] == "F" or letters[1] == "B":  # else the rows of a block would be one sum
            rows = min(self.threads // width, 1 << (n[1] - 1).bit_length())
        wanted = [-(-n[0] // width), -(-n[1] // rows), n[2]]
        room = _BLOCKS_OF_SUMS if "B" in kept else _BLOCKS
        grid = [1, 1, 1]
        for d in sorted(range(3), key=lambda d: letters[d] == "B"):
            grid[d] = min(wanted[d], max(1, room // math.prod(grid)))
        size = math.prod(self.loop.shape)
        most = max(1, size // (_elements(self.loop.shape, kept) * _ELEMENTS_PER_SUM))
        while self._slots(letters, grid, rows) > most:
            d = max((d for d in range(3) if letters[d] == "B"), key=grid.__getitem__)
            if grid[d] > 1:
                grid[d] = -(-grid[d] // 2)
            else:
                rows //= 2
        return (grid[0], grid[1], grid[2]), (width, rows)

    def _by_dim(self, kept: str, dims: str) -> tuple[list[int], str]:
        """Lengths and letters of the loops along x, y, z."""
        axes = [dims.find(d) for d in "xyz"]
        n = [1 if a < 0 else self.loop.shape[a] for a in axes]
        return n, "".join("F" if a < 0 else kept[a] for a in axes)

    def _slots(self, letters: str, grid: Sequence[int], rows: int) -> int:
        slots = math.prod(n for n, c in zip(grid, letters, strict=True) if c == "B")
        return slots * rows if letters[:2] == "FB" else slots

    def _is_small(
        self,
        arrays: Sequence[Operand | Result],
        grid: tuple[int, int, int],
        block: tuple[int, int],
        lanes: int,
    ) -> bool:
        """Whether every index, and the one after the last, is a 32-bit number."""
        shape = self.loop.shape
        reach = [
            sum(abs(step) * (n - 1) for step, n in zip(x.site.steps, shape, strict=True))
            for x in arrays
            if x.site is not None
        ]
        step = max(grid[0] * block[0] * lanes, grid[1] * block[1], grid[2])
        return max([*reach, max(shape) + step]) < 2**31


def _elements(shape: Shape, kept: str) -> int:
    return math.prod(n for n, c in zip(shape, kept, strict=True) if c == "F")


def _packed(shape: Shape, letters: str) -> tuple[int, ...]:
    """The steps of an array that has the elements F of the loops, in their order."""
    steps, step = [], 1
    for n, letter in zip(reversed(shape), reversed(letters), strict=True):
        steps.append(step if letter == "F" else 0)
        step *= n if letter == "F" else 1
    return tuple(reversed(steps))


def _partial(type: str) -> str:
    """What sums of slots are kept in."""
    return "float64" if type == "float" else "int64"
