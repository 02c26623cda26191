"""One round of the innermost loop of a kernel for LLVM: vectors loaded, computed with, stored."""

from __future__ import annotations

from typing import NamedTuple

from zyg.base.buffers import LINE
from zyg.compiler.back.c_abi import TYPES
from zyg.compiler.back.llvm_scalar import Scalars
from zyg.compiler.back.llvm_simd import Printer, inlined
from zyg.compiler.back.regions import Regions
from zyg.compiler.back.simd import BITS, REALS, Lane, Lanes
from zyg.compiler.back.target import is_x86, vector_bytes
from zyg.compiler.ir import Program
from zyg.kernels.loops import Loops, Operand, Result

STRETCH = 256  # columns of a panel
_ELEMENTS = {"float32": "float", "float64": "double", "bool": "i8"}


class Array(NamedTuple):
    """A parameter that is an array: its number among those, and where the loop finds it."""

    number: int
    dtype: str
    packed: bool

    @property
    def element(self) -> str:
        return _ELEMENTS.get(self.dtype) or f"i{self.dtype.lstrip('uint')}"

    @property
    def size(self) -> int:
        return BITS[self.element] // 8


class Row(NamedTuple):
    """The names of a row's address and of its stride."""

    address: str
    stride: str


class Parameters:
    """The arrays of a kernel by their names, the types of its program, how many lanes there are."""

    def __init__(self, loops: Loops, accuracy: str, vectors: bool) -> None:
        self.loops, self.fast = loops, accuracy == "fast"
        self.real = "float" if loops.dtype == "float32" else "double"
        self.width = vector_bytes() * 8 // BITS[self.real] if vectors else 1
        self.types = {**TYPES, "float": self.real}
        self.streams = vectors and is_x86() and any(r.streamed for r in loops.results)
        self.places = {name: k for k, (name, _) in enumerate(loops.parameters())}
        arrays = [name for name, type in loops.parameters() if type.endswith("]")]
        self.arrays = {name: k for k, name in enumerate(arrays)}
        patterns = {f"a{k}": o.pattern for k, o in enumerate(loops.operands)}
        self.patterns = patterns | {f"r{k}": r.pattern for k, r in enumerate(loops.results)}

    def run(self, lanes: Lanes, program: Program, inputs: list[Lane]) -> list[Lane]:
        """The outputs of a program of these inputs."""
        lanes.own = inlined(lanes) if self.fast else None
        if isinstance(lanes, Scalars):
            return Regions(lanes, self.types).outputs(program, inputs)
        return Printer(lanes, self.types).outputs(program, inputs)

    def array(self, name: str) -> Array:
        kinds = self.loops.operands if name.startswith("a") else self.loops.results
        kind: Operand | Result = kinds[int(name[1:])]
        if isinstance(kind, Operand) and kind.shared is not None:
            return self.array(f"r{kind.shared}")
        repeated = self.loops.short and kind.pattern == "BF"
        return Array(
            self.arrays[name], kind.dtype, kind.packed or repeated or name in self.loops.turned
        )

    def loaded(self, lanes: Lanes, x: Lane, operand: Operand) -> Lane:
        """A number of an array as the program takes it."""
        if operand.dtype == "bool":
            x = x != 0
        return lanes.converted(
            x, self.types[operand.type], signed=not operand.dtype.startswith("u")
        )


class Body:
    """One round of the innermost loop, from the element `j` on; up to `n`, where that is given."""

    def __init__(
        self, given: Parameters, lanes: Lanes, rows: dict[str, Row], j: str, n: str | None
    ) -> None:
        self.given, self.lanes, self.rows, self.j = given, lanes, rows, j
        self.ramp = ", ".join(f"i64 {k}" for k in range(lanes.width))
        self.mask = "" if n is None else self.below(n)

    def below(self, n: str) -> str:
        """Which elements are before the end of the row."""
        lanes = self.lanes
        left = lanes.splat("i64", lanes.value(f"sub i64 {n}, {self.j}")).names[0]
        return lanes.value(f"icmp ult {lanes.vector('i64')} <{self.ramp}>, {left}")

    def run(self, program: Program, numbers: dict[int, Lane]) -> None:
        """Compute with these `numbers`, which are the same along the row, and with the rows."""
        given, lanes = self.given, self.lanes
        inputs = []
        for k, operand in enumerate(given.loops.operands):
            if k in numbers:
                inputs.append(lanes.from_outside(numbers[k]))
            else:
                name = f"a{k}" if operand.shared is None else f"r{operand.shared}"
                x = self.load(given.array(f"a{k}"), self.rows[name])
                inputs.append(given.loaded(lanes, x, operand))
        made = given.run(lanes, program, inputs)
        for k, (x, result) in enumerate(zip(made, given.loops.results, strict=True)):
            array = given.array(f"r{k}")
            x = lanes.converted(x, array.element)
            if k in given.loops.tiled:
                self.add(x, k)
                continue
            row = self.rows[f"r{k}"]
            if result.summed:
                x = self.load(array, row) + x
            self.store(x, array, row, result.streamed and given.streams)
            if result.checked:
                self.check(x)

    def address(self, array: Array, row: Row, u: int) -> str:
        """Of a copy's first element, or of all its elements where those are not neighbours."""
        lanes = self.lanes
        j = lanes.value(f"add i64 {self.j}, {u * lanes.width}") if u else self.j
        if array.packed:
            return lanes.value(f"getelementptr {array.element}, ptr {row.address}, i64 {j}")
        v, places = lanes.vector("i64"), j
        if lanes.width > 1:
            places = lanes.value(f"add {v} {lanes.splat('i64', j).names[0]}, <{self.ramp}>")
        steps = lanes.splat("i64", row.stride).names[0]
        offsets = lanes.value(f"mul {v} {places}, {steps}")
        return lanes.value(f"getelementptr i8, ptr {row.address}, {v} {offsets}")

    def access(self, kind: str, array: Array) -> tuple[str, str]:
        """LLVM's masked load, store, gather or scatter; and the type of its address."""
        lanes, pointers = self.lanes, self.lanes.vector("ptr")
        name = f"{kind}.{lanes.letters(array.element)}"
        if kind in ("gather", "scatter"):
            return f"@llvm.masked.{name}.v{lanes.width}p0", pointers
        return f"@llvm.masked.{name}.p0", "ptr"

    def is_plain(self, array: Array) -> bool:
        """Whether elements are loaded and stored by one instruction."""
        return (array.packed or self.lanes.width == 1) and not self.mask

    def load(self, array: Array, row: Row) -> Lane:
        lanes, v, mask = self.lanes, self.lanes.vector(array.element), self.lanes.vector("i1")
        names = []
        for u in range(lanes.copies):
            address = self.address(array, row, u)
            if self.is_plain(array):
                names.append(lanes.name())
                lanes.line(f"{names[-1]} = load {v}, ptr {address}, align {array.size}")
                continue
            function, pointer = self.access("load" if array.packed else "gather", array)
            lanes.declared[f"declare {v} {function}({pointer}, i32, {mask}, {v})"] = None
            names.append(lanes.name())
            lanes.line(
                f"{names[-1]} = call {v} {function}({pointer} {address}, i32 {array.size}, "
                f"{mask} {self.mask or 'splat (i1 true)'}, {v} zeroinitializer)"
            )
        return Lane(lanes, array.element, tuple(names))

    def store(self, x: Lane, array: Array, row: Row, streamed: bool) -> None:
        lanes, v, mask = self.lanes, self.lanes.vector(array.element), self.lanes.vector("i1")
        align = str(array.size)
        if streamed:
            align = f"{min(LINE, lanes.width * array.size)}, !nontemporal !0"
            lanes.declared["!0 = !{i32 1}"] = None
        for u, name in enumerate(x.names):
            address = self.address(array, row, u)
            if self.is_plain(array):
                lanes.line(f"store {v} {name}, ptr {address}, align {align}")
                continue
            function, pointer = self.access("store" if array.packed else "scatter", array)
            lanes.declared[f"declare void {function}({v}, {pointer}, i32, {mask})"] = None
            lanes.line(
                f"call void {function}({v} {name}, {pointer} {address}, i32 {array.size}, "
                f"{mask} {self.mask or 'splat (i1 true)'})"
            )

    def add(self, x: Lane, k: int) -> None:
        """To the sum of this tile."""
        lanes, v = self.lanes, self.lanes.vector(x.type)
        if self.mask:
            x = lanes.select(Lane(lanes, "i1", (self.mask,)), x, lanes.constant(x.type, 0))
        how = "fadd" if x.type in REALS else "add"
        for u, name in enumerate(x.names):
            before, after, place = lanes.name(), lanes.name(), f"%at_sum{k}_{u}"
            lanes.line(f"{before} = load {v}, ptr {place}")
            lanes.line(f"{after} = {how} {v} {before}, {name}")
            lanes.line(f"store {v} {after}, ptr {place}")

    def check(self, x: Lane) -> None:
        """Keep the largest of the bits without sign."""
        lanes = self.lanes
        bits = lanes.as_bits(x) & ((1 << BITS[x.type] - 1) - 1)
        if self.mask:
            bits = lanes.select(Lane(lanes, "i1", (self.mask,)), bits, lanes.constant(bits.type, 0))
        v = lanes.vector(bits.type)
        function = f"@llvm.umax.{lanes.letters(bits.type)}"
        lanes.declared[f"declare {v} {function}({v}, {v})"] = None
        for name in bits.names:
            before, most = lanes.name(), lanes.name()
            lanes.line(f"{before} = load {v}, ptr %at_worst")
            lanes.line(f"{most} = call {v} {function}({v} {before}, {v} {name})")
            lanes.line(f"store {v} {most}, ptr %at_worst")


class Panel:
    """As many rows as a vector has elements, of an operand whose columns are contiguous: turned."""

    def __init__(self, given: Parameters, name: str, slots: list[str]) -> None:
        self.array, self.place = given.array(name), f"%panel_{name}"
        count = given.width * STRETCH
        slots.append(f"  {self.place} = alloca [{count} x {self.array.element}], align 64")

    def at(self, out: Lanes, start: str, i: str) -> str:
        return out.value(f"getelementptr {self.array.element}, ptr {start}, i64 {i}")

    def row(self, out: Lanes, k: str, i: str) -> Row:
        """The k-th row, in a panel from the i-th on."""
        offset = out.value(f"mul i64 {out.value(f'sub i64 {k}, {i}')}, {STRETCH}")
        return Row(self.at(out, self.place, offset), str(self.array.size))

    def turn(self, out: Lanes, rows: Row, left: str, span: tuple[str, str, str]) -> None:
        """Copy a square, from the j-th column on of those from `first` to `stop`."""
        first, j, stop = span
        w, element, size = out.width, self.array.element, self.array.size
        v, mask = out.vector(element), out.vector("i1")
        ramp = ", ".join(f"i64 {k}" for k in range(w))
        function = f"@llvm.masked.load.{out.letters(element)}.p0"
        out.declared[f"declare {v} {function}(ptr, i32, {mask}, {v})"] = None
        wanted = out.value(
            f"icmp ult {out.vector('i64')} <{ramp}>, {out.splat('i64', left).names[0]}"
        )
        square = []
        for u in range(w):
            column = out.value(f"add i64 {j}, {u}")
            inside = out.value(f"icmp slt i64 {column}, {stop}")
            m = out.value(f"select i1 {inside}, {mask} {wanted}, {mask} zeroinitializer")
            offset = out.value(f"mul i64 {column}, {rows.stride}")
            address = out.value(f"getelementptr i8, ptr {rows.address}, i64 {offset}")
            call = (
                f"call {v} {function}(ptr {address}, i32 {size}, {mask} {m}, {v} zeroinitializer)"
            )
            square.append(out.name())
            out.line(f"{square[-1]} = {call}")
        to = out.value(f"sub i64 {j}, {first}")
        for u, x in enumerate(_transposed(out, v, square)):
            place = self.at(out, self.place, out.value(f"add i64 {to}, {u * STRETCH}"))
            out.line(f"store {v} {x}, ptr {place}, align {w * size}")


def _transposed(out: Lanes, v: str, rows: list[str]) -> list[str]:
    """A square of vectors, by exchanging halves of pairs, quarters of nearer ones, and so on."""
    w = half = len(rows)
    while half := half // 2:
        from_low = [k if not k & half else w + k - half for k in range(w)]
        from_high = [k + half if not k & half else w + k for k in range(w)]
        for k in (k for k in range(w) if not k & half):
            pair = rows[k], rows[k + half]
            for place, picked in ((k, from_low), (k + half, from_high)):
                mask = ", ".join(f"i32 {p}" for p in picked)
                rows[place] = out.value(
                    f"shufflevector {v} {pair[0]}, {v} {pair[1]}, <{w} x i32> <{mask}>"
                )
    return rows
