"""LLVM text of operations on several numbers at once: explicit vectors.

A `Lane` is a number of a function that is being printed, in `width` elements and in `copies` of
those: each operation is printed once per copy, so that what waits for one has the others to do. A
`Lane` answers Python's operators, so that functions written in those print themselves, as those of
`vector_elementary` do. What would be printed twice is printed once.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.compiler.back.target import fuses, vector_bytes

_OPERATORS = {
    "add": ("fadd", "add"), "sub": ("fsub", "sub"), "mul": ("fmul", "mul"), "truediv": ("fdiv", ""),
    "and": ("", "and"), "or": ("", "or"), "xor": ("", "xor"), "lshift": ("", "shl"),
    "rshift": ("", "lshr"),
}  # fmt: skip
_COMPARISONS = {
    "lt": ("olt", "slt"), "le": ("ole", "sle"), "gt": ("ogt", "sgt"), "ge": ("oge", "sge"),
    "eq": ("oeq", "eq"), "ne": ("une", "ne"),
}  # fmt: skip
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "float": 32, "double": 64}
REALS = "float", "double"

# Calls the C library for all lanes where one is marked: a loop over the marked ones would be no
# shorter.
_RARE = """
define internal <{w} x double> @zyg_{name}_{w}(<{w} x double> %x, <{w} x i1> %mask) \
noinline nounwind readnone {{
entry:
  %bits = bitcast <{w} x i1> %mask to i{w}
  %unmarked = icmp eq i{w} %bits, 0
  br i1 %unmarked, label %done, label %lane
lane:
  %i = phi i32 [ 0, %entry ], [ %next, %lane ]
  %y = phi <{w} x double> [ %x, %entry ], [ %y_next, %lane ]
  %x_i = extractelement <{w} x double> %x, i32 %i
  %y_i = call double @{name}(double %x_i)
  %y_next = insertelement <{w} x double> %y, double %y_i, i32 %i
  %next = add i32 %i, 1
  %last = icmp eq i32 %next, {w}
  br i1 %last, label %done, label %lane
done:
  %result = phi <{w} x double> [ %x, %entry ], [ %y_next, %lane ]
  ret <{w} x double> %result
}}
"""


class Lane:
    """A number that is being printed: its type in LLVM, and its name in each copy."""

    __slots__ = ("lanes", "names", "type")
    __array_ufunc__ = None  # NumPy's numbers leave operators to it
    # Set below, from the tables above.
    __add__: Any
    __radd__: Any
    __sub__: Any
    __mul__: Any
    __rmul__: Any
    __truediv__: Any
    __rtruediv__: Any
    __and__: Any
    __or__: Any
    __xor__: Any
    __lt__: Any
    __gt__: Any
    __le__: Any
    __ge__: Any
    __eq__: Any
    __ne__: Any

    def __init__(self, lanes: Lanes, type: str, names: tuple[str, ...]) -> None:
        self.lanes, self.type, self.names = lanes, type, names

    def __neg__(self) -> Lane:
        if self.type in REALS:
            return self.lanes.made(self.type, "fneg {v} {0}", self)
        return self.lanes.made(self.type, "sub {v} zeroinitializer, {0}", self)

    def __abs__(self) -> Lane:
        if self.type in REALS:
            return self.lanes.call("fabs", self)
        return self.lanes.call("abs", self, after="i1 false")

    __hash__ = object.__hash__


class Lanes:
    """Prints operations; what functions of `vector_elementary` are made of, too."""

    def __init__(self, width: int, copies: int, outside: Lanes | None = None) -> None:
        self.width, self.copies = width, copies
        self.lines: list[str] = []
        self.outside = outside
        self.seen: dict[str, str] = dict(outside.seen) if outside else {}
        self.declared: dict[str, None] = outside.declared if outside else {}
        self.count: list[int] = outside.count if outside else [0]  # of names, shared
        self.block = ""  # the name of the one that is being printed
        # y * 2**n of these two, rounded once, where that is an instruction.
        self.scale = self._scaled if vector_bytes() == 64 else None
        self.own: Callable[[str, Sequence[Lane]], Lane | None] | None = None
        self.real = {32: self._to("float"), 64: self._to("double")}

    # Text

    def vector(self, type: str) -> str:
        return f"<{self.width} x {type}>"

    def letters(self, type: str) -> str:
        """What names of intrinsics call a vector."""
        return f"v{self.width}" + {"float": "f32", "double": "f64"}.get(type, type)

    def name(self, stem: str = "t") -> str:
        self.count[0] += 1
        return f"%{stem}{self.count[0]}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def start(self, block: str) -> None:
        self.lines.append(f"{block}:")
        self.block = block

    def value(self, expression: str) -> str:
        """The name of what an expression gives, which depends on nothing but its text."""
        name = self.seen.get(expression)
        if name is None:
            name = self.seen[expression] = self.name()
            self.line(f"{name} = {expression}")
        return name

    def made(self, type: str, template: str, *args: Lane) -> Lane:
        """A number by an instruction in terms of {0}, {1}, ..., where {v} is the first's type."""
        v = self.vector(args[0].type) if args else ""
        names = [
            self.value(template.format(*(x.names[u] for x in args), v=v))
            for u in range(self.copies)
        ]
        return Lane(self, type, tuple(names))

    def call(self, function: str, *args: Lane, after: str = "") -> Lane:
        """LLVM's intrinsic for arguments of one type, which is that of the result."""
        type = args[0].type
        name = f"@llvm.{function}.{self.letters(type)}"
        v = self.vector(type)
        types = [v] * len(args) + ([after.split()[0]] if after else [])
        self.declared[f"declare {v} {name}({', '.join(types)})"] = None
        places = [f"{{v}} {{{k}}}" for k in range(len(args))] + ([after] if after else [])
        return self.made(type, f"call {{v}} {name}({', '.join(places)})", *args)

    def elementary(self, name: str, *args: Lane) -> Lane:
        """An elementary function, by the name of its ufunc."""
        made = self.own(name, args) if self.own else None
        assert made is not None, name
        return made

    # Numbers

    def constant(self, type: str, x: Any) -> Lane:
        return Lane(self, type, (f"splat ({type} {literal(type, x)})",) * self.copies)

    def lane(self, x: Any, type: str) -> Lane:
        if isinstance(x, Lane):
            assert x.type == type, f"{x.type} meets {type}"
            return x
        return self.constant(type, x)

    def splat(self, type: str, scalar: str) -> Lane:
        """A number of this name in all elements of all copies."""
        v = self.vector(type)
        one = self.value(f"insertelement {v} poison, {type} {scalar}, i32 0")
        all_ = self.value(
            f"shufflevector {v} {one}, {v} poison, <{self.width} x i32> zeroinitializer"
        )
        return Lane(self, type, (all_,) * self.copies)

    def from_outside(self, x: Lane) -> Lane:
        """A number made by the lanes outside, which is the same in all copies there."""
        return Lane(self, x.type, (x.names[0],) * self.copies)

    def converted(self, x: Any, type: str, signed: bool = True) -> Lane:
        """A number in another type; of ints that have a sign or not."""
        if not isinstance(x, Lane) or x.type == type:
            return self.lane(x, type)
        one, other = x.type in REALS, type in REALS
        signed = signed and x.type != "i1"
        if one and other:
            how = "fpext" if BITS[type] > BITS[x.type] else "fptrunc"
        elif one or other:
            how = ("sitofp" if signed else "uitofp") if other else "fptosi"
        else:
            wider = "sext" if signed else "zext"
            how = wider if BITS[type] > BITS[x.type] else "trunc"
        return self.made(type, f"{how} {{v}} {{0}} to {self.vector(type)}", x)

    def _to(self, type: str) -> Callable[[Any], Lane]:
        return lambda x: self.converted(x, type)

    # What functions are made of

    def select(self, condition: Any, x: Any, y: Any) -> Lane:
        """x where the condition is true, else y."""
        type = next((v.type for v in (x, y) if isinstance(v, Lane)), None) or _type_of(x)
        c, x, y = self.lane(condition, "i1"), self.lane(x, type), self.lane(y, type)
        mask, v = self.vector("i1"), self.vector(type)
        return self.made(type, f"select {mask} {{0}}, {v} {{1}}, {v} {{2}}", c, x, y)

    def fma(self, x: Any, y: Any, z: Any) -> Lane:
        """x * y + z, rounded once where the processor can."""
        if fuses():
            return self.exact_fma(x, y, z)
        made: Lane = x * y + z
        return made

    def exact_fma(self, x: Any, y: Any, z: Any) -> Lane:
        """x * y + z, rounded once."""
        type = next(v.type for v in (x, y, z) if isinstance(v, Lane))
        return self.call("fma", *(self.lane(v, type) for v in (x, y, z)))

    def rint(self, x: Lane) -> Lane:
        """The nearest integer, as a float."""
        return self.call("rint", x)

    def _scaled(self, y: Lane, n: Lane) -> Lane:
        """By AVX-512's instruction, for a register at a time."""
        letters, mask = ("ps", "i16") if y.type == "float" else ("pd", "i8")
        name, whole = f"@llvm.x86.avx512.mask.scalef.{letters}.512", 512 // BITS[y.type]
        v, r = self.vector(y.type), f"<{whole} x {y.type}>"
        self.declared[f"declare {r} {name}({r}, {r}, {r}, {mask}, i32)"] = None

        def part(x: str, k: int) -> str:
            row = (f"{k + i}" if k + i < self.width else "poison" for i in range(whole))
            places = ", ".join(f"i32 {i}" for i in row)
            return self.value(f"shufflevector {v} {x}, {v} poison, <{whole} x i32> <{places}>")

        def scaled(x: str, e: str) -> str:
            end = f"{r} zeroinitializer, {mask} -1, i32 4"
            if whole == self.width:
                return self.value(f"call {r} {name}({r} {x}, {r} {e}, {end})")
            low, high = (
                self.value(f"call {r} {name}({r} {part(x, k)}, {r} {part(e, k)}, {end})")
                for k in (0, whole % self.width)
            )
            places = ", ".join(f"i32 {i}" for i in range(self.width))
            return self.value(
                f"shufflevector {r} {low}, {r} {high}, <{self.width} x i32> <{places}>"
            )

        return Lane(self, y.type, tuple(map(scaled, y.names, n.names)))

    def as_bits(self, x: Lane) -> Lane:
        """The representation of a float."""
        type = f"i{BITS[x.type]}"
        return self.made(type, f"bitcast {{v}} {{0}} to {self.vector(type)}", x)

    def as_real(self, x: Lane) -> Lane:
        """The float of a representation."""
        type = {"i32": "float", "i64": "double"}[x.type]
        return self.made(type, f"bitcast {{v}} {{0}} to {self.vector(type)}", x)

    def rare(self, name: str) -> Callable[[Lane, Lane, Lane], Lane]:
        """A function of the C library, called where some condition is true, which is rare."""

        def where(condition: Lane, x: Lane, y: Lane) -> Lane:
            w, mask, v = self.width, self.vector("i1"), self.vector("double")
            self.declared[f"declare double @{name}(double)"] = None
            self.declared[_RARE.format(name=name, w=w)] = None
            any_ = condition.names[0]
            for other in condition.names[1:]:
                any_ = self.value(f"or {mask} {any_}, {other}")
            marks = self.value(f"bitcast {mask} {any_} to i{w}")
            some = self.value(f"icmp ne i{w} {marks}, 0")
            rarely, after = self.name("rarely"), self.name("after")
            self.line(f"br i1 {some}, label {rarely}, label {after}")
            before = self.block
            self.start(rarely[1:])
            chosen = []
            for x_u, c_u, y_u in zip(x.names, condition.names, y.names, strict=True):
                called = self.name()
                self.line(f"{called} = call {v} @zyg_{name}_{w}({v} {x_u}, {mask} {c_u}) cold")
                chosen.append(self.name())
                self.line(f"{chosen[-1]} = select {mask} {c_u}, {v} {called}, {v} {y_u}")
            self.line(f"br label {after}")
            self.start(after[1:])
            joined = tuple(self.name() for _ in chosen)
            for z_u, y_u, c_u in zip(joined, y.names, chosen, strict=True):
                self.line(f"{z_u} = phi {v} [ {y_u}, %{before} ], [ {c_u}, {rarely} ]")
            return Lane(self, "double", joined)

        return where


def literal(type: str, x: Any) -> str:
    """A number as LLVM reads it."""
    if type == "i1":
        return str(bool(x)).lower()
    if type not in REALS:
        assert -(2**63) <= x < 2**64, "an int of more than 64 bits"
        return str(int(x) - (2**64 if x >= 2**63 else 0))
    if x != x:
        return "0x7FF8000000000000"
    with np.errstate(over="ignore"):
        rounded = float(np.float32(x) if type == "float" else x)
    return "0x" + struct.pack(">d", rounded).hex().upper()


def _type_of(x: Any) -> str:
    return {np.float32: "float", bool: "i1", int: "i64"}.get(type(x), "double")


def _operators() -> None:
    def arithmetic(instructions: tuple[str, str]) -> Any:
        def operator(x: Lane, y: Any) -> Lane:
            instruction = instructions[x.type not in REALS]
            return x.lanes.made(
                x.type, f"{instruction} {{v}} {{0}}, {{1}}", x, x.lanes.lane(y, x.type)
            )

        return operator

    def comparison(predicates: tuple[str, str]) -> Any:
        def operator(x: Lane, y: Any) -> Lane:
            real = x.type in REALS
            how = f"fcmp {predicates[0]}" if real else f"icmp {predicates[1]}"
            return x.lanes.made("i1", f"{how} {{v}} {{0}}, {{1}}", x, x.lanes.lane(y, x.type))

        return operator

    def reflected(operator: Any) -> Any:
        return lambda y, x: operator(y.lanes.constant(y.type, x), y)

    for name, instructions in _OPERATORS.items():
        operator = arithmetic(instructions)
        setattr(Lane, f"__{name}__", operator)
        setattr(Lane, f"__r{name}__", reflected(operator))
    for name, predicates in _COMPARISONS.items():
        setattr(Lane, f"__{name}__", comparison(predicates))


_operators()
