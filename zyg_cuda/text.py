"""The text of a kernel on the GPU: loops over arrays around the statements of a scalar function.

Every thread runs the same nest of loops, in steps of the grid: over the innermost axis in those of
x, over the next in y, and in z; axes further out it runs through alone. So no index is divided.
What stays the same along a loop is loaded before it: the loops over the axes of a row stand inside
that over its elements, so an operand that is broadcast over the rows stays in a register.

Sums are taken in float64, each thread adding what it meets. Where the innermost axis is summed, the
threads of a block add up in shared memory, as a tree. What is then left, a sum for each *slot* of
the grid, goes to memory, and a second kernel adds up the slots. The order depends on shapes alone.

With `lanes` more than one, a thread takes that many neighbours at once: one load, one store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from zyg.compiler.back.python_text import Text
from zyg_cuda.names import imports

THREADS = 128  # of a block, at most
MOST_THREADS = 1024  # of the block that adds up slots: the most that a device has


class Site(NamedTuple):
    """How an array lies under the loops."""

    dtype: str
    letters: str  # per loop, F: element by element, B: broadcast
    steps: tuple[int, ...]  # per loop, in elements; 0 where it is broadcast


class Operand(NamedTuple):
    """An input of the function: its type there, and where it is; None for a number."""

    type: str  # "float", "int" or "bool"
    site: Site | None


class Result(NamedTuple):
    """An output of the function; the site of a sum is that of one slot, or of the result."""

    type: str
    site: Site
    summed: bool = False


@dataclass(frozen=True)
class Variant:
    """What a kernel's text depends on besides its operands and results."""

    dtype: str  # of floats
    index: str  # int32 or int64
    kept: str  # per loop, F: its elements have results of their own, B: it is summed
    dims: str  # per loop, along which dimension of the grid it runs; "-" for none
    slots: bool  # whether there is more than one
    lanes: int

    @property
    def order(self) -> list[int]:
        """The loops of a thread, outermost first."""
        axes = range(len(self.kept) - 1, -1, -1)
        return [a for a in axes if self.kept[a] == "F"] + [a for a in axes if self.kept[a] == "B"]

    @property
    def tree(self) -> bool:
        """Whether the threads of a block add up."""
        return self.kept[self.dims.index("x")] == "B"


class GridLoops:
    """Writes one kernel. `steps` has the values of the parameters s0, s1, ... afterwards."""

    def __init__(
        self, variant: Variant, operands: Sequence[Operand], results: Sequence[Result]
    ) -> None:
        self.variant, self.operands, self.results = variant, operands, results
        self.order = variant.order
        # What stands inside so many loops, before the next one.
        self.before: list[list[str]] = [[] for _ in range(len(variant.kept) + 1)]
        self.indices: dict[tuple[int, ...], str] = {}
        self.steps: list[int] = []
        self.memory: set[str] = set()

    def text(self, body: Text) -> str:
        takes = [self._operand(k, operand) for k, operand in enumerate(self.operands)]
        innermost = []
        for lane in range(self.variant.lanes):
            innermost += [take.format(lane=lane) for take in takes if take]
            innermost += body.lines
            innermost += [
                f"y{k}_{lane} = {value}"
                if not result.summed
                else f"t{k} += {self._sum(k)}({value})"
                for k, (result, value) in enumerate(zip(self.results, body.results, strict=True))
            ]
        for k, result in enumerate(self.results):
            if not result.summed:
                lanes = [f"y{k}_{lane}" for lane in range(self.variant.lanes)]
                value = f"({', '.join(lanes)})" if len(lanes) > 1 else lanes[0]
                innermost.append(self._store(k, result.site, value, self.variant.lanes))
        lines = self._nest(innermost)
        names, types = zip(*self._parameters(), strict=True)
        return "\n".join([
            *sorted(self.memory),
            f'signature = "void({", ".join(types)})"',
            "\n",
            f"def kernel({', '.join(names)}):",
            *_indented([f"{n} = I({n})" for n in names if n[0] in "ns"] + lines),
        ])  # fmt: skip

    # What goes where

    def _operand(self, k: int, operand: Operand) -> str:
        """Loads an operand in its place; returns what each lane does for it."""
        convert = {"float": "T({})", "int": "int64({})", "bool": "{}"}[operand.type]
        if operand.site is None:
            self.before[0].append(f"x{k} = {convert.format(f'b{k}')}")
            return ""
        level = self._level(operand.site.letters)
        lanes = self.variant.lanes if operand.site.letters[-1:] == "F" else 1
        load = self._memory("load", operand.site.dtype, lanes)
        loaded = f"{load}(a{k}, {self._index(operand.site.steps)})"
        if lanes == 1:
            self.before[level].append(f"x{k} = {convert.format(loaded)}")
            return ""
        self.before[level].append(f"w{k} = {loaded}")
        return f"x{k} = " + convert.format(f"w{k}[{{lane}}]")

    def _store(self, k: int, site: Site, value: str, lanes: int = 1, slot: str = "") -> str:
        store = self._memory("store", site.dtype, lanes)
        return f"{store}(r{k}, {slot}{self._index(site.steps)}, {value})"

    def _memory(self, access: str, dtype: str, lanes: int) -> str:
        """The name of a load or store."""
        name = f"{access}_{dtype}_{lanes}"
        self.memory.add(f'{name} = {access}_of("{dtype}", {lanes})')
        return name

    def _index(self, steps: tuple[int, ...]) -> str:
        """The name of an index into arrays of these steps."""
        if not any(steps):
            return "I(0)"
        if steps not in self.indices:
            letters = "".join("F" if step else "B" for step in steps)
            terms = [self._term(axis, step) for axis, step in enumerate(steps) if step]
            name = self.indices[steps] = f"q{len(self.indices)}"
            self.before[self._level(letters)].append(f"{name} = I({' + '.join(terms)})")
        return self.indices[steps]

    def _term(self, axis: int, step: int) -> str:
        if step == 1:
            return f"j{axis}"
        if step not in self.steps:
            self.steps.append(step)
        return f"j{axis} * s{self.steps.index(step)}"

    def _level(self, letters: str) -> int:
        """Inside how many loops it is known where an array of this pattern is read."""
        places = [place for place, axis in enumerate(self.order) if letters[axis] == "F"]
        return 1 + max(places, default=-1)

    def _sum(self, k: int) -> str:
        return "float64" if self.results[k].type == "float" else "int64"

    def _parameters(self) -> list[tuple[str, str]]:
        plain = {"float": self.variant.dtype, "int": "int64", "bool": "boolean"}
        parameters = [
            (f"b{k}", plain[x.type]) if x.site is None else (f"a{k}", "int64")
            for k, x in enumerate(self.operands)
        ]
        parameters += [(f"r{k}", "int64") for k in range(len(self.results))]
        parameters += [(f"n{axis}", "int64") for axis in range(len(self.variant.kept))]
        parameters += [(f"s{i}", "int64") for i in range(len(self.steps))]
        return parameters + ([("kept", "int64")] if self.variant.slots else [])

    # The nest

    def _nest(self, innermost: list[str]) -> list[str]:
        sums = [k for k, result in enumerate(self.results) if result.summed]
        kept = self.variant.kept.count("F")
        ends = self._ends(sums) if sums else []
        starts = [f"t{k} = {self._sum(k)}(0)" for k in sums]
        lines = innermost
        for place in reversed(range(len(self.order))):
            lines = self._loop(self.order[place], self.before[place + 1] + lines)
            if place == kept:
                lines = [*starts, *lines, *ends]
        return [*self._head(sums), *self.before[0], *lines]

    def _loop(self, axis: int, body: list[str]) -> list[str]:
        j, n, (start, step) = f"j{axis}", f"n{axis}", self._walk(axis)
        advance = f"{j} = I({j} + I({step}))"
        return [f"{j} = I({start})", f"while {j} < {n}:", *_indented([*body, advance])]

    def _walk(self, axis: int) -> tuple[str, str]:
        """Where a thread starts on an axis, and how far it steps."""
        d = self.variant.dims[axis]
        if d == "-":
            return "0", "1"
        lanes = f" * {self.variant.lanes}" if d == "x" and self.variant.lanes > 1 else ""
        if d == "z":
            return "cuda.blockIdx.z", "cuda.gridDim.z"
        block = f"cuda.blockDim.{d}"
        return (
            f"(cuda.blockIdx.{d} * {block} + cuda.threadIdx.{d}){lanes}",
            f"cuda.gridDim.{d} * {block}{lanes}",
        )

    def _head(self, sums: list[int]) -> list[str]:
        lines = []
        if self.variant.tree:
            kinds = sorted({self._sum(k) for k in sums})
            lines += [f"shared_{kind} = cuda.shared.array({THREADS}, {kind})" for kind in kinds]
            lines += ["thread = I(cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x)"]
            lines += ["threads = I(cuda.blockDim.y * cuda.blockDim.x)"]
        if self.variant.slots:
            lines += ["slot = I(0)"]
            for axis in (a for a in range(len(self.variant.kept)) if self.variant.kept[a] == "B"):
                for number, count in self._coordinates(axis):
                    lines += [f"slot = I(slot * I({count}) + I({number}))"]
            lines += ["slot = I(slot * I(kept))"]
        return lines

    def _coordinates(self, axis: int) -> list[tuple[str, str]]:
        """What tells the slots on an axis apart: which one, of how many."""
        d = self.variant.dims[axis]
        found = [(f"cuda.blockIdx.{d}", f"cuda.gridDim.{d}")] if d != "-" else []
        if d == "y" and not self.variant.tree:
            found.append(("cuda.threadIdx.y", "cuda.blockDim.y"))
        return found

    def _ends(self, sums: list[int]) -> list[str]:
        """What a thread does with its sums."""
        slot = "slot + " if self.variant.slots else ""
        lines = []
        for k in sums:
            site = self.results[k].site
            if not self.variant.tree:
                lines.append(self._store(k, site, f"t{k}", slot=slot))
                continue
            shared = f"shared_{self._sum(k)}"
            store = self._store(k, site, f"{shared}[0]", slot=slot)
            lines += [f"{shared}[thread] = t{k}", "cuda.syncthreads()", *_halved(shared)]
            lines += ["if thread == 0:", f"    {store}", "cuda.syncthreads()"]
        return lines


def over_slots(parts: str, dtype: str, simulated: bool) -> str:
    """The kernel that adds up slots: arguments are parts, result, number of slots, of elements."""
    return f"""{imports((), "float64", "int64", simulated)}

load, store = load_of("{parts}", 1), store_of("{dtype}", 1)
signature = "void(int64, int64, int64, int64)"


def kernel(parts, result, slots, n):
    shared = cuda.shared.array({MOST_THREADS}, {parts})
    width, x, y = cuda.blockDim.x, cuda.threadIdx.x, cuda.threadIdx.y
    j = int64(cuda.blockIdx.x) * width + x
    total = {parts}(0)
    k = int64(y)
    while k < slots and j < n:
        total += load(parts, k * n + j)
        k += cuda.blockDim.y
    shared[y * width + x] = total
    cuda.syncthreads()
    half = cuda.blockDim.y >> 1
    while half > 0:
        if y < half:
            shared[y * width + x] += shared[(y + half) * width + x]
        cuda.syncthreads()
        half = half >> 1
    if y == 0 and j < n:
        store(result, j, shared[x])
"""


def _halved(shared: str) -> list[str]:
    """Adds up the elements of a shared array, one of each thread, into the first."""
    return [
        "half = I(threads >> 1)",
        "while half > 0:",
        "    if thread < half:",
        f"        {shared}[thread] += {shared}[thread + half]",
        "    cuda.syncthreads()",
        "    half = I(half >> 1)",
    ]


def _indented(lines: Sequence[str]) -> list[str]:
    return ["    " + line for line in lines]
