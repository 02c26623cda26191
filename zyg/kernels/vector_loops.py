"""The text of a kernel for LLVM: loops over arrays around a program on explicit vectors.

The innermost loop takes several vectors at once, and what is left of a row in masked ones. Whatever
stays the same along a row is loaded before it. Short rows that lie one behind the other are taken
as long ones, and an operand that is one of them is repeated. The loop is a function of its own,
whose arrays are known to be apart. Its entry is called as that of a text for numba is (`machine`).

Of the results that are checked the largest bits without sign are kept, as a text for numba does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from zyg.compiler.back.lanes import BITS, Lane, Lanes
from zyg.compiler.back.printed import Printer, printable
from zyg.compiler.back.target import vector_bytes
from zyg.compiler.ir import Program, show
from zyg.kernels.loops import Loops, Operand

_HEAD = object.__basicsize__  # of an array object, before the address of its elements
_ELEMENTS = {"float32": "float", "float64": "double", "bool": "i8"}
REPEATED = 1024  # elements: of a row that is repeated
_INFINITY = {"float": 0x7F800000, "double": 0x7FF0000000000000}  # its bits


def printed(program: Program, loops: Loops, accuracy: str) -> str | None:
    """The text of a kernel; None where there has to be another way."""
    if any(r.summed for r in loops.results) or not printable(program, accuracy):
        return None
    return _Kernel(program, loops).text()


class _Array(NamedTuple):
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


class _Row(NamedTuple):
    """The names of a row's address and of its stride."""

    address: str
    stride: str


class _Kernel:
    def __init__(self, program: Program, loops: Loops) -> None:
        self.program, self.loops = program, loops
        self.real = "float" if loops.dtype == "float32" else "double"
        self.types = {"float": self.real, "int": "i64", "bool": "i1"}
        self.bits = f"i{BITS[self.real]}"
        self.width = vector_bytes() * 8 // BITS[self.real]
        self.places = {name: k for k, (name, _) in enumerate(loops.parameters())}
        arrays = [name for name, type in loops.parameters() if type.endswith("]")]
        self.arrays = {name: k for k, name in enumerate(arrays)}
        self.outside = Lanes(self.width, 1)
        # The operands that are one short row, which is the same in all.
        self.repeats = [
            k for k, o in enumerate(loops.operands) if loops.short and o.pattern == "BF"
        ]
        self.checks = any(r.checked for r in loops.results)

    def text(self) -> str:
        signature = ", ".join(type for _, type in self.loops.parameters())
        head = [*show(self.program).splitlines(), f'signature = "int64({signature})"']
        body = [*self.entry(), *self.loop()]
        return "\n".join([*(f"; {line}" for line in head), *body, *self.outside.declared, ""])

    def entry(self) -> Iterator[str]:
        yield "define i32 @kernel(ptr %values, ptr %layouts) {"
        for name, k in self.arrays.items():
            yield f"  %p{k} = getelementptr i64, ptr %values, i64 {self.places[name]}"
            yield f"  %o{k} = load i64, ptr %p{k}"
            yield f"  %f{k} = add i64 %o{k}, {_HEAD}"
            yield f"  %q{k} = inttoptr i64 %f{k} to ptr"
            yield f"  %d{k} = load ptr, ptr %q{k}"
        data = "".join(f", ptr %d{k}" for k in self.arrays.values())
        yield f"  %status = call i32 @loop(ptr %values, ptr %layouts{data})"
        yield "  ret i32 %status"
        yield "}"

    def loop(self) -> list[str]:
        data = "".join(f", ptr noalias nocapture %a{k}" for k in self.arrays.values())
        words = "ptr noalias readonly %values, ptr noalias readonly %layouts"
        out, last = self.outside, self.loops.ndim - 1
        out.start("start")
        out.line(f"%worst = alloca {out.vector(self.bits)}")
        out.line(f"store {out.vector(self.bits)} zeroinitializer, ptr %worst")
        for d in range(self.loops.ndim):
            out.line(f"%at{d} = alloca i64")
        spans = [self.span(d) for d in range(last)]
        lo, hi = self.span(last)
        n = out.value(f"sub i64 {hi}, {lo}")
        numbers = {k: self.number(k, o) for k, o in enumerate(self.loops.operands) if not o.pattern}
        copies = {f"a{k}": self.repeated(k, n) for k in self.repeats}
        step = out.value(f"udiv i64 {REPEATED}, {n}") if self.loops.short else "1"
        for d, (first, end) in enumerate(spans):
            out.line(f"store i64 {first}, ptr %at{d}")
            out.line(f"br label %test{d}")
            out.start(f"test{d}")
            out.line(f"%i{d} = load i64, ptr %at{d}")
            out.line(f"%more{d} = icmp slt i64 %i{d}, {end}")
            out.line(f"br i1 %more{d}, label %do{d}, label %end{d}")
            out.start(f"do{d}")
        if self.loops.short:
            left = out.value(f"sub i64 {spans[0][1]}, %i0")
            out.declared["declare i64 @llvm.umin.i64(i64, i64)"] = None
            n = out.value(
                f"mul i64 {n}, {out.value(f'call i64 @llvm.umin.i64(i64 {left}, i64 {step})')}"
            )
        rows = {name: self.row(k, lo) for name, k in self.arrays.items()} | copies
        for k, o in enumerate(self.loops.operands):
            if o.pattern.endswith("B"):
                a = self.operand(k)
                place = rows[f"a{k}"].address
                number = out.value(f"load {a.element}, ptr {place}, align {a.size}")
                numbers[k] = self.loaded(out, out.splat(a.element, number), o)
        self.innermost(rows, numbers, n)
        for d in reversed(range(last)):
            out.line(f"%next{d} = add i64 %i{d}, {step}")
            out.line(f"store i64 %next{d}, ptr %at{d}")
            out.line(f"br label %test{d}")
            out.start(f"end{d}")
        self.finish()
        return [f"define internal i32 @loop({words}{data}) noinline nounwind {{", *out.lines, "}"]

    # Outside of the innermost loop

    def word(self, words: str, k: int, type: str = "i64") -> str:
        place = self.outside.value(f"getelementptr i64, ptr %{words}, i64 {k}")
        return self.outside.value(f"load {type}, ptr {place}")

    def span(self, d: int) -> tuple[str, str]:
        """From where to where a loop runs."""
        if d == self.loops.chunked:
            return self.word("values", 0), self.word("values", 1)
        return "0", self.word("values", self.places[f"n{d}"])

    def stride(self, k: int, d: int) -> str:
        ndim = self.loops.ndim
        return self.word("layouts", (2 * k + 1) * ndim + d)

    def number(self, k: int, operand: Operand) -> Lane:
        """A plain number: a double where it is a float."""
        type = "double" if operand.type == "float" else "i64"
        x = self.outside.splat(type, self.word("values", self.places[f"a{k}"], type))
        x = x != 0 if operand.type == "bool" else x
        return self.outside.converted(x, self.types[operand.type])

    def row(self, k: int, lo: str) -> _Row:
        out, last = self.outside, self.loops.ndim - 1
        address = f"%a{k}"
        for d, i in [*((d, f"%i{d}") for d in range(last)), (last, lo)]:
            if i != "0":
                offset = out.value(f"mul i64 {i}, {self.stride(k, d)}")
                address = out.value(f"getelementptr i8, ptr {address}, i64 {offset}")
        return _Row(address, self.stride(k, last))

    def repeated(self, k: int, n: str) -> _Row:
        """A copy of the row that an operand is, as often as it has a place."""
        out, a = self.outside, self.operand(k)
        row, place, before = f"%a{a.number}", f"%copy{k}", out.block
        out.line(f"{place} = alloca [{REPEATED} x {a.element}], align 64")
        out.line(f"br label %fill{k}")
        out.start(f"fill{k}")
        out.line(f"%put{k} = phi i64 [ 0, %{before} ], [ %put_next{k}, %fill{k} ]")
        out.line(f"%get{k} = phi i64 [ 0, %{before} ], [ %get_next{k}, %fill{k} ]")
        offset = out.value(f"mul i64 %get{k}, {self.stride(a.number, 1)}")
        source = out.value(f"getelementptr i8, ptr {row}, i64 {offset}")
        target = out.value(f"getelementptr {a.element}, ptr {place}, i64 %put{k}")
        x = out.value(f"load {a.element}, ptr {source}, align {a.size}")
        out.line(f"store {a.element} {x}, ptr {target}, align {a.size}")
        out.line(f"%put_next{k} = add i64 %put{k}, 1")
        after = out.value(f"add i64 %get{k}, 1")
        ended = out.value(f"icmp eq i64 {after}, {n}")
        out.line(f"%get_next{k} = select i1 {ended}, i64 0, i64 {after}")
        out.line(f"%more_of{k} = icmp slt i64 %put_next{k}, {REPEATED}")
        out.line(f"br i1 %more_of{k}, label %fill{k}, label %filled{k}")
        out.start(f"filled{k}")
        return _Row(place, str(a.size))

    def finish(self) -> None:
        out, v = self.outside, self.outside.vector(self.bits)
        if not self.checks:
            out.line("ret i32 0")
            return
        function = f"@llvm.vector.reduce.umax.v{self.width}{self.bits}"
        out.declared[f"declare {self.bits} {function}({v})"] = None
        worst = out.value(f"call {self.bits} {function}({v} {out.value(f'load {v}, ptr %worst')})")
        above = out.value(f"icmp uge {self.bits} {worst}, {_INFINITY[self.real]}")
        out.line(f"ret i32 {out.value(f'zext i1 {above} to i32')}")

    # The innermost loop

    def innermost(self, rows: dict[str, _Row], numbers: dict[int, Lane], n: str) -> None:
        out, copies = self.outside, _copies(len(self.arrays))
        place = f"%at{self.loops.ndim - 1}"
        whole = out.value(f"and i64 {n}, {-self.width * copies}")
        out.line(f"store i64 0, ptr {place}")
        for name, end, count in (("main", whole, copies), ("rest", n, 1)):
            out.line(f"br label %{name}_test")
            out.start(f"{name}_test")
            out.line(f"%{name}_j = load i64, ptr {place}")
            out.line(f"%{name}_more = icmp slt i64 %{name}_j, {end}")
            out.line(f"br i1 %{name}_more, label %{name}, label %{name}_end")
            lanes = Lanes(self.width, count, out)
            lanes.start(name)
            _Body(self, lanes, rows, f"%{name}_j", n if name == "rest" else None).run(numbers)
            out.lines += lanes.lines
            out.line(f"%{name}_next = add i64 %{name}_j, {self.width * count}")
            out.line(f"store i64 %{name}_next, ptr {place}")
            out.line(f"br label %{name}_test")
            out.start(f"{name}_end")

    def operand(self, k: int) -> _Array:
        o = self.loops.operands[k]
        name = f"a{k}" if o.shared is None else f"r{o.shared}"
        return _Array(self.arrays[name], o.dtype, o.packed or k in self.repeats)

    def result(self, k: int) -> _Array:
        r = self.loops.results[k]
        return _Array(self.arrays[f"r{k}"], r.dtype, r.packed)

    def loaded(self, lanes: Lanes, x: Lane, operand: Operand) -> Lane:
        """A number of an array as the program takes it."""
        if operand.dtype == "bool":
            x = x != 0
        return lanes.converted(
            x, self.types[operand.type], signed=not operand.dtype.startswith("u")
        )


class _Body:
    """One round of the innermost loop, from the element `j` on; up to `n`, where that is given."""

    def __init__(
        self, kernel: _Kernel, lanes: Lanes, rows: dict[str, _Row], j: str, n: str | None
    ) -> None:
        self.kernel, self.lanes, self.rows, self.j = kernel, lanes, rows, j
        self.ramp = ", ".join(f"i64 {k}" for k in range(lanes.width))
        self.mask = "" if n is None else self.below(n)

    def below(self, n: str) -> str:
        """Which elements are before the end of the row."""
        lanes = self.lanes
        left = lanes.splat("i64", lanes.value(f"sub i64 {n}, {self.j}")).names[0]
        return lanes.value(f"icmp ult {lanes.vector('i64')} <{self.ramp}>, {left}")

    def run(self, numbers: dict[int, Lane]) -> None:
        kernel, lanes = self.kernel, self.lanes
        inputs = []
        for k, operand in enumerate(kernel.loops.operands):
            if k in numbers:
                inputs.append(lanes.from_outside(numbers[k]))
            else:
                name = f"a{k}" if operand.shared is None else f"r{operand.shared}"
                x = self.load(kernel.operand(k), self.rows[name])
                inputs.append(kernel.loaded(lanes, x, operand))
        made = Printer(lanes, kernel.real).run(kernel.program, inputs)
        for k, (x, result) in enumerate(zip(made, kernel.loops.results, strict=True)):
            array = kernel.result(k)
            x = lanes.converted(x, array.element)
            self.store(x, array, self.rows[f"r{k}"])
            if result.checked:
                self.check(x)

    def address(self, array: _Array, row: _Row, u: int) -> str:
        """Of a copy's first element, or of all its elements where those are not neighbours."""
        lanes = self.lanes
        j = lanes.value(f"add i64 {self.j}, {u * lanes.width}") if u else self.j
        if array.packed:
            return lanes.value(f"getelementptr {array.element}, ptr {row.address}, i64 {j}")
        v = lanes.vector("i64")
        places = lanes.value(f"add {v} {lanes.splat('i64', j).names[0]}, <{self.ramp}>")
        steps = lanes.splat("i64", row.stride).names[0]
        offsets = lanes.value(f"mul {v} {places}, {steps}")
        return lanes.value(f"getelementptr i8, ptr {row.address}, {v} {offsets}")

    def access(self, kind: str, array: _Array) -> tuple[str, str]:
        """LLVM's masked load, store, gather or scatter; and the type of its address."""
        lanes, pointers = self.lanes, self.lanes.vector("ptr")
        name = f"{kind}.v{lanes.width}{_letters(array.element)}"
        if kind in ("gather", "scatter"):
            return f"@llvm.masked.{name}.v{lanes.width}p0", pointers
        return f"@llvm.masked.{name}.p0", "ptr"

    def load(self, array: _Array, row: _Row) -> Lane:
        lanes, v, mask = self.lanes, self.lanes.vector(array.element), self.lanes.vector("i1")
        names = []
        for u in range(lanes.copies):
            address = self.address(array, row, u)
            if array.packed and not self.mask:
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

    def store(self, x: Lane, array: _Array, row: _Row) -> None:
        lanes, v, mask = self.lanes, self.lanes.vector(array.element), self.lanes.vector("i1")
        for u, name in enumerate(x.names):
            address = self.address(array, row, u)
            if array.packed and not self.mask:
                lanes.line(f"store {v} {name}, ptr {address}, align {array.size}")
                continue
            function, pointer = self.access("store" if array.packed else "scatter", array)
            lanes.declared[f"declare void {function}({v}, {pointer}, i32, {mask})"] = None
            lanes.line(
                f"call void {function}({v} {name}, {pointer} {address}, i32 {array.size}, "
                f"{mask} {self.mask or 'splat (i1 true)'})"
            )

    def check(self, x: Lane) -> None:
        """Keep the largest of the bits without sign."""
        lanes = self.lanes
        bits = lanes.as_bits(x) & ((1 << BITS[x.type] - 1) - 1)
        if self.mask:
            bits = lanes.select(Lane(lanes, "i1", (self.mask,)), bits, lanes.constant(bits.type, 0))
        v = lanes.vector(bits.type)
        function = f"@llvm.umax.v{lanes.width}{bits.type}"
        lanes.declared[f"declare {v} {function}({v}, {v})"] = None
        for name in bits.names:
            before, most = lanes.name(), lanes.name()
            lanes.line(f"{before} = load {v}, ptr %worst")
            lanes.line(f"{most} = call {v} {function}({v} {before}, {v} {name})")
            lanes.line(f"store {v} {most}, ptr %worst")


def _copies(arrays: int) -> int:
    """How many vectors are computed at once: few arrays leave registers for more."""
    return 4 if arrays <= 4 else 2 if arrays <= 12 else 1


def _letters(element: str) -> str:
    return {"float": "f32", "double": "f64"}.get(element, element)
