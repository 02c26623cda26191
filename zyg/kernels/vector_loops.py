"""The text of a kernel for LLVM: loops over arrays around a program.

The innermost loop takes several vectors at once, and what is left of a row in masked ones. Whatever
stays the same along a row is loaded before it, and a condition that does decides on the loop. Short
rows that lie one behind the other are taken as long ones, and an operand that is one of them is
repeated. Operands that lie the other way are turned first, panel by panel, in registers. The loop
is a function of its own, whose arrays are known to be apart.

A program with loops, with branches that save work, or of functions that have no vectors, is run on
one element after the other, with its loops and branches inside (`Regions`).

Of the results that are checked the largest bits without sign are kept: at or above those of
infinity, some element is not finite, and the kernel returns 1. Large results are stored past the
cache, for which x86 has instructions.

The entry of a kernel has a signature of C, which a process without a compiler calls too:

    int entry(const int64_t values[], const int64_t layouts[])

Per parameter, `values` holds a number (a double for floats) or the address of an array object.
`layouts` holds shape and strides of each array. The address of the elements is the first field of
an array object in NumPy's binary interface, right after the head of every Python object
(PyArrayObject_fields in numpy/ndarraytypes.h); asking for it from Python takes longer than a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from zyg.compiler.back.branches import (
    condition_outside,
    only,
    with_condition,
    without_branches,
)
from zyg.compiler.back.llvm_scalar import Scalars
from zyg.compiler.back.llvm_simd import printable, vectorises
from zyg.compiler.back.simd import BITS, REALS, Lane, Lanes
from zyg.compiler.back.vector_elementary import VECTORISED
from zyg.compiler.ir import Op, Program, show
from zyg.kernels.loops import TILE, Loops, Operand
from zyg.kernels.vector_body import STRETCH, Body, Panel, Parameters, Row

_HEAD = object.__basicsize__  # of an array object, before the address of its elements
REPEATED = 1024  # elements: of a row that is repeated
_CASES = 4  # of conditions that stay the same along a row
_INFINITY = {"float": 0x7F800000, "double": 0x7FF0000000000000}  # its bits


def printed(program: Program, loops: Loops, accuracy: str) -> tuple[str, bool]:
    """The text of a kernel, and whether it has vectors."""
    program = without_branches(program, lambda op: vectorises(op, accuracy))
    vectors = printable(program, accuracy)
    return _Kernel(program, loops, accuracy, vectors).text(), vectors


class _Kernel(Parameters):
    """The text of a kernel."""

    def __init__(self, program: Program, loops: Loops, accuracy: str, vectors: bool) -> None:
        super().__init__(loops, accuracy, vectors)
        self.program = program
        self.bits = f"i{BITS[self.real]}"
        self.outside = Lanes(self.width, 1) if vectors else Scalars({})
        if not vectors:
            loops.short, loops.turned = False, []
            self.outside.scale = None  # no instruction that LLVM knows for vectors
        self.slots = ["start:"]  # variables, which LLVM wants at the start
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
        out = self.outside
        out.start("start")
        if self.checks:
            self.slot("worst", out.vector(self.bits))
        numbers = {k: self.number(k, o) for k, o in enumerate(self.loops.operands) if not o.pattern}
        if self.loops.short:
            self.short_rows(numbers)
        else:
            self.nest(0, numbers)
        self.finish()
        head = f"define internal i32 @loop({words}{data}) noinline nounwind {{"
        return [head, *self.slots, *out.lines[1:], "}"]

    def nest(self, d: int, numbers: dict[int, Lane]) -> None:
        """The loops from the d-th on."""
        first, end = self.span(d)
        if self.loops.turned and d == self.loops.ndim - 2:
            self.panels(d, numbers)
        elif d == self.loops.ndim - 1:
            self.row(first, self.outside.value(f"sub i64 {end}, {first}"), numbers, {})
        else:
            with self.counted(f"i{d}", first, end, "1"):
                self.nest(d + 1, numbers)

    def panels(self, d: int, numbers: dict[int, Lane]) -> None:
        """The two innermost loops, with what lies the other way turned, panel by panel."""
        out, names = self.outside, self.loops.turned
        (first, end), (lo, hi) = self.span(d), self.span(d + 1)
        panels = {name: Panel(self, name, self.slots) for name in names}
        width = str(self.width)
        with self.counted("panel", first, end, width) as i, \
             self.counted("stretch", lo, hi, str(STRETCH)) as t:  # fmt: skip
            stop = self.least(out.value(f"add i64 {t}, {STRETCH}"), hi)
            left = out.value(f"sub i64 {end}, {i}")
            for name, panel in panels.items():
                start = panel.at(out, self.address(name, "0", d).address, i)
                rows = Row(start, self.stride(self.arrays[name], d + 1))
                with self.counted(f"turn_{name}", t, stop, width) as j:
                    panel.turn(out, rows, left, (t, j, stop))
            top = self.least(out.value(f"add i64 {i}, {width}"), end)
            with self.counted(f"i{d}", i, top, "1") as k:
                turned = {name: panel.row(out, k, i) for name, panel in panels.items()}
                self.row(t, out.value(f"sub i64 {stop}, {t}"), numbers, turned)

    def short_rows(self, numbers: dict[int, Lane]) -> None:
        """Two loops, of which the outer one takes as many rows as a repeated one has place for."""
        out = self.outside
        (first, end), (_, n) = self.span(0), self.span(1)
        copies = {
            name: self.repeated(name, n)
            for name, letters in self.patterns.items()
            if letters == "BF"
        }
        step = out.value(f"udiv i64 {REPEATED}, {n}")
        with self.counted("i0", first, end, step) as i:
            count = self.least(out.value(f"sub i64 {end}, {i}"), step)
            self.row("0", out.value(f"mul i64 {n}, {count}"), numbers, copies)
        for name in copies:
            if name.startswith("r"):
                self.summed_up(name, n)

    def row(self, lo: str, n: str, numbers: dict[int, Lane], copies: dict[str, Row]) -> None:
        """What is done to the n elements of a row, in which a loop goes from `lo` on."""
        out = self.outside
        rows = {name: self.address(name, lo) for name in self.arrays if name[0] != "s"} | copies
        numbers = dict(numbers)
        for k, o in enumerate(self.loops.operands):
            if o.pattern.endswith("B"):
                a = self.array(f"a{k}")
                place = rows[f"a{k}"].address
                number = out.value(f"load {a.element}, ptr {place}, align {a.size}")
                numbers[k] = self.loaded(out, out.splat(a.element, number), o)
        if not self.loops.tiled:
            self.cases(self.program, rows, numbers, ("0", n))
            return
        sums = [_Sum(self, k) for k in self.loops.tiled]
        for total in sums:
            total.start()
        with self.counted("tile", "0", n, str(TILE)) as t:
            end = self.least(out.value(f"add i64 {t}, {TILE}"), n)
            self.cases(self.program, rows, numbers, (t, end))
            for total in sums:
                total.end_tile()
        for total in sums:
            total.end_row(rows[f"r{total.k}"].address)

    @contextmanager
    def counted(self, name: str, first: str, end: str, step: str) -> Iterator[str]:
        """What is printed inside is a loop."""
        out = self.outside
        self.slot(name, "i64")
        out.line(f"store i64 {first}, ptr %at_{name}")
        out.line(f"br label %{name}_test")
        out.start(f"{name}_test")
        out.line(f"%{name} = load i64, ptr %at_{name}")
        out.line(f"%{name}_goes_on = icmp slt i64 %{name}, {end}")
        out.line(f"br i1 %{name}_goes_on, label %{name}_do, label %{name}_end")
        out.start(f"{name}_do")
        seen = dict(out.seen)
        yield f"%{name}"
        out.seen = seen  # what is made inside is not there after the loop
        out.line(f"%{name}_next = add i64 %{name}, {step}")
        out.line(f"store i64 %{name}_next, ptr %at_{name}")
        out.line(f"br label %{name}_test")
        out.start(f"{name}_end")

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

    def slot(self, name: str, type: str) -> str:
        """A place that starts with zeros, which LLVM makes a register of."""
        self.slots.append(f"  %at_{name} = alloca {type}")
        self.slots.append(f"  store {type} zeroinitializer, ptr %at_{name}")
        return f"%at_{name}"

    def least(self, x: str, y: str) -> str:
        self.outside.declared["declare i64 @llvm.smin.i64(i64, i64)"] = None
        return self.outside.value(f"call i64 @llvm.smin.i64(i64 {x}, i64 {y})")

    def address(self, name: str, lo: str, depth: int | None = None) -> Row:
        """Where the row of an array starts, that is inside of so many loops."""
        out, k, last = self.outside, self.arrays[name], self.loops.ndim - 1
        address = f"%a{k}"
        for d, letter in enumerate(self.patterns[name][:depth]):
            i = lo if d == last else f"%i{d}"
            if letter == "F" and i != "0":
                offset = out.value(f"mul i64 {i}, {self.stride(k, d)}")
                address = out.value(f"getelementptr i8, ptr {address}, i64 {offset}")
        return Row(address, self.stride(k, last))

    def repeated(self, name: str, n: str) -> Row:
        """A copy of the row that an operand is, as often as it has a place; for a sum, zeros."""
        out, a = self.outside, self.array(name)
        place = f"%copy_{name}"
        self.slots.append(f"  {place} = alloca [{REPEATED} x {a.element}], align 64")
        out.declared["declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"] = None
        out.line(f"call void @llvm.memset.p0.i64(ptr {place}, i8 0, i64 {REPEATED * a.size}, i1 0)")
        if name.startswith("a"):
            with self.pairs(name, n) as (source, target):
                x = out.value(f"load {a.element}, ptr {source}, align {a.size}")
                out.line(f"store {a.element} {x}, ptr {target}, align {a.size}")
        return Row(place, str(a.size))

    def summed_up(self, name: str, n: str) -> None:
        """Add the sums of a repeated row to the array."""
        out, a = self.outside, self.array(name)
        how = "fadd" if a.element in REALS else "add"
        with self.pairs(name, n) as (total, part):
            before, x = (out.value(f"load {a.element}, ptr {p}") for p in (total, part))
            out.line(
                f"store {a.element} {out.value(f'{how} {a.element} {before}, {x}')}, ptr {total}"
            )

    @contextmanager
    def pairs(self, name: str, n: str) -> Iterator[tuple[str, str]]:
        """A loop over the elements of a repeated row: their addresses in the array and in it."""
        out, a = self.outside, self.array(name)
        loop = f"of_{name}" if name.startswith("a") else f"of_sum_{name}"
        with self.counted(loop, "0", str(REPEATED), "1") as t:
            offset = out.value(
                f"mul i64 {out.value(f'urem i64 {t}, {n}')}, {self.stride(a.number, 1)}"
            )
            in_array = out.value(f"getelementptr i8, ptr %a{a.number}, i64 {offset}")
            yield in_array, out.value(f"getelementptr {a.element}, ptr %copy_{name}, i64 {t}")

    def finish(self) -> None:
        out, v = self.outside, self.outside.vector(self.bits)
        if self.streams:  # stores past the cache are in no order with other ones
            out.declared["declare void @llvm.x86.sse.sfence()"] = None
            out.line("call void @llvm.x86.sse.sfence()")
        if not self.checks:
            out.line("ret i32 0")
            return
        worst = out.value(f"load {v}, ptr %at_worst")
        if self.width > 1:
            function = f"@llvm.vector.reduce.umax.{out.letters(self.bits)}"
            out.declared[f"declare {self.bits} {function}({v})"] = None
            worst = out.value(f"call {self.bits} {function}({v} {worst})")
        above = out.value(f"icmp uge {self.bits} {worst}, {_INFINITY[self.real]}")
        out.line(f"ret i32 {out.value(f'zext i1 {above} to i32')}")

    # The innermost loop

    def cases(
        self,
        program: Program,
        rows: dict[str, Row],
        numbers: dict[int, Lane],
        span: tuple[str, str],
        most: int = _CASES,
    ) -> None:
        """The loops for each side of conditions that stay the same along the row."""
        same = [x for k, x in enumerate(program.inputs) if k in numbers]
        most = most if self.width > 1 else 1
        condition = condition_outside(program, same, _is_dear) if most > 1 else None
        if condition is None:
            self.vectors(program, rows, numbers, span)
            return
        out, name = self.outside, self.outside.name("case")
        given = [out.from_outside(numbers[k]) for k in sorted(numbers)]
        (lane,) = self.run(out, only(program, condition, same), given)
        holds = out.value(f"extractelement {out.vector('i1')} {lane.names[0]}, i32 0")
        out.line(f"br i1 {holds}, label {name}_true, label {name}_false")
        for side in (True, False):
            out.start(f"{name[1:]}_{str(side).lower()}")
            seen = dict(out.seen)
            self.cases(with_condition(program, condition, side), rows, numbers, span, most // 2)
            out.seen = seen
            out.line(f"br label {name}_end")
        out.start(f"{name[1:]}_end")

    def copies(self) -> int:
        """How many vectors are computed at once: few arrays leave registers for more."""
        arrays = len(self.arrays)
        return 1 if self.width == 1 or arrays > 12 else 2 if arrays > 4 else 4

    def vectors(
        self,
        program: Program,
        rows: dict[str, Row],
        numbers: dict[int, Lane],
        span: tuple[str, str],
    ) -> None:
        """The loops over whole vectors, and over what is left."""
        out, copies, (first, end) = self.outside, self.copies(), span
        if isinstance(out, Scalars):
            with self.counted(out.name("main")[1:], first, end, "1") as j:
                Body(self, out, rows, j, None).run(program, numbers)
            return
        n = out.value(f"sub i64 {end}, {first}")
        whole = out.value(f"and i64 {n}, {-self.width * copies}")
        between = out.value(f"add i64 {first}, {whole}")
        for left, lo, hi, count in ((False, first, between, copies), (True, between, end, 1)):
            name = out.name("rest" if left else "main")[1:]
            with self.counted(name, lo, hi, str(self.width * count)) as j:
                lanes = Lanes(self.width, count, out)
                lanes.block = out.block
                Body(self, lanes, rows, j, end if left else None).run(program, numbers)
                out.lines += lanes.lines


class _Sum:
    """A sum along the innermost loop: of a tile in each copy's elements; those summed in a row."""

    def __init__(self, kernel: _Kernel, k: int) -> None:
        self.out, self.k, self.array = kernel.outside, k, kernel.array(f"r{k}")
        self.v = self.out.vector(self.array.element)
        self.how = "fadd" if self.array.element in REALS else "add"
        copies = range(kernel.copies())
        self.places = [kernel.slot(f"sum{k}_{u}", self.v) for u in copies]
        self.place = kernel.slot(f"sum{k}", self.v)

    def start(self) -> None:
        self.out.line(f"store {self.v} zeroinitializer, ptr {self.place}")

    def plus(self, type: str, x: str, y: str) -> str:
        name = self.out.name()
        self.out.line(f"{name} = {self.how} {type} {x}, {y}")
        return name

    def load(self, type: str, place: str) -> str:
        name = self.out.name()
        self.out.line(f"{name} = load {type}, ptr {place}")
        return name

    def end_tile(self) -> None:
        total = self.load(self.v, self.place)
        for place in self.places:
            total = self.plus(self.v, total, self.load(self.v, place))
            self.out.line(f"store {self.v} zeroinitializer, ptr {place}")
        self.out.line(f"store {self.v} {total}, ptr {self.place}")

    def end_row(self, address: str) -> None:
        """Add the elements by halves, and to what is in the array."""
        out, total, w = self.out, self.load(self.v, self.place), self.out.width
        half = w // 2
        while half:
            places = ", ".join(f"i32 {k + half if k < half else 0}" for k in range(w))
            name = out.name()
            out.line(
                f"{name} = shufflevector {self.v} {total}, {self.v} poison, <{w} x i32> <{places}>"
            )
            total, half = self.plus(self.v, total, name), half // 2
        element, one = self.array.element, total
        if w > 1:
            one = out.value(f"extractelement {self.v} {total}, i32 0")
        sum_ = self.plus(element, self.load(element, address), one)
        out.line(f"store {element} {sum_}, ptr {address}, align {self.array.size}")


def _is_dear(op: Op) -> bool:
    return op.name in VECTORISED
