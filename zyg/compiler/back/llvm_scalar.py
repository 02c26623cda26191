"""LLVM text of operations on single numbers.

A number is a `Lane` of one element, not of a vector: so what is written for lanes, the table of
operations and the elementary functions, prints single numbers, too. Unlike there, what is printed
twice stays so: the text has blocks, and LLVM finds what they share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zyg.compiler.back.llvm_simd import is_unsigned, operated
from zyg.compiler.back.simd import REALS, Lane, Lanes, literal
from zyg.compiler.ir import Op
from zyg.functions.operations import OPERATIONS


class Scalars(Lanes):
    """Prints operations on single numbers, line by line.

    Elementary functions that are not its `own` are the C library's.
    """

    def __init__(self, declared: dict[str, None]) -> None:
        super().__init__(1, 1)
        self.declared = declared
        self.slots: list[str] = []  # places on the stack, for the start of the function

    def slot(self, type: str) -> str:
        name = self.name("slot")
        self.slots.append(f"  {name} = alloca {type}")
        return name

    def vector(self, type: str) -> str:
        return type

    def value(self, expression: str) -> str:
        name = self.name()
        self.line(f"{name} = {expression}")
        return name

    def loop_of(self, carried: Sequence[tuple[str, str]], test: Callable[[list[str]], str],
                body: Callable[[list[str]], list[str]]) -> list[str]:  # fmt: skip
        """A loop that carries numbers of these types from these on; what they are after it."""
        before = f"%{self.block}"
        head, inside, after = (self.name("b") for _ in range(3))
        self.line(f"br label {head}")
        self.start(head[1:])
        place, names = len(self.lines), [self.name() for _ in carried]
        self.lines.append("")
        self.line(f"br i1 {test(names)}, label {inside}, label {after}")
        self.start(inside[1:])
        ends, last = body(names), f"%{self.block}"
        self.line(f"br label {head}")
        rows = zip(names, carried, ends, strict=True)
        self.lines[place] = "\n".join(f"  {x} = phi {type} [ {start}, {before} ], [ {y}, {last} ]"
                                      for x, (type, start), y in rows)  # fmt: skip
        self.start(after[1:])
        return names

    def each(self, count: str, one: Callable[[str], None]) -> None:
        """A loop that does something with each int below a number."""

        def body(names: list[str]) -> list[str]:
            one(names[0])
            return [self.value(f"add i64 {names[0]}, 1")]

        self.loop_of([("i64", "0")], lambda x: self.value(f"icmp slt i64 {x[0]}, {count}"), body)

    def letters(self, type: str) -> str:
        return super().letters(type).removeprefix("v1")

    def constant(self, type: str, x: Any) -> Lane:
        return Lane(self, type, (literal(type, x),))

    def splat(self, type: str, scalar: str) -> Lane:
        return Lane(self, type, (scalar,))

    def call(self, function: str, *args: Lane, after: str = "") -> Lane:
        type = args[0].type
        return self.called(f"llvm.{function}.{self.letters(type)}", type, *args, after=after)

    def called(self, function: str, out: str, *args: Lane, after: str = "") -> Lane:
        """What a function that has no effects gives."""
        types = [x.type for x in args] + after.split()[:1]
        if not function.startswith("zyg_"):
            self.declared[f"declare {out} @{function}({', '.join(types)})"] = None
        how = "" if function.startswith(("zyg_", "llvm.")) else " nounwind willreturn memory(none)"
        given = [f"{x.type} {x.names[0]}" for x in args] + ([after] if after else [])
        return Lane(self, out, (self.value(f"call {out} @{function}({', '.join(given)}){how}"),))

    def elementary(self, name: str, *args: Lane) -> Lane:
        type = args[0].type
        if self.own and (made := self.own(name, args)) is not None:
            return made
        if args[-1].type not in REALS:  # an exponent, whose last bits count
            x, n = (self.converted(a, "double") for a in args)
            return self.converted(self.called("pow", "double", x, n), type)
        return self.called(OPERATIONS[name].c + ("f" if type == "float" else ""), type, *args)

    def rare(self, name: str) -> Callable[[Lane, Lane, Lane], Lane]:
        def where(condition: Lane, x: Lane, y: Lane) -> Lane:
            rarely, after, before = self.name("rarely"), self.name("after"), self.block
            self.line(f"br i1 {condition.names[0]}, label {rarely}, label {after}")
            self.start(rarely[1:])
            called = self.called(name, x.type, x)
            self.line(f"br label {after}")
            self.start(after[1:])
            z = f"phi {y.type} [ {y.names[0]}, %{before} ], [ {called.names[0]}, {rarely} ]"
            return Lane(self, y.type, (self.value(z),))

        return where

    def _scaled(self, y: Lane, n: Lane) -> Lane:
        letters, v = {"float": ("ss", "<4 x float>"), "double": ("sd", "<2 x double>")}[y.type]
        name = f"llvm.x86.avx512.mask.scalef.{letters}"
        self.declared[f"declare {v} @{name}({v}, {v}, {v}, i8, i32)"] = None
        a, b = (self.value(f"insertelement {v} zeroinitializer, {x.type} {x.names[0]}, i32 0")
                for x in (y, n))  # fmt: skip
        z = self.value(f"call {v} @{name}({v} {a}, {v} {b}, {v} zeroinitializer, i8 -1, i32 4)")
        return Lane(self, y.type, (self.value(f"extractelement {v} {z}, i32 0"),))

    def converted(self, x: Any, type: str, signed: bool = True) -> Lane:
        if isinstance(x, Lane) and x.type in REALS and type not in REALS:
            name = f"llvm.fptosi.sat.{type}.{'f32' if x.type == 'float' else 'f64'}"
            return self.called(name, type, x)
        return super().converted(x, type, signed)

    def op(self, op: Op, args: Sequence[Lane], type: str) -> Lane:
        """The result of an operation, which has a type of LLVM's."""
        return made(self, op, args, type)


def made(m: Lanes, op: Op, args: Sequence[Lane], type: str) -> Lane:
    """The result of an operation on any number of lanes."""
    special = _OF_TYPE.get(op.name, (None, None))[args[0].type not in REALS]
    if special and not is_unsigned(op):
        return special(m, *args)
    return operated(m, op, args, type)


def _fmod(m: Lanes, x: Lane, y: Lane) -> Lane:
    return m.made(x.type, "frem {v} {0}, {1}", x, y)


def _remainder(m: Lanes, x: Lane, y: Lane) -> Lane:
    """As npy_remainder: of the sign of the divisor."""
    r = _fmod(m, x, y)
    moved = m.select((r < 0) ^ (y < 0), r + y, r)
    return m.select(r == 0, m.call("copysign", r, y), moved)


def _floor_divide(m: Lanes, x: Lane, y: Lane) -> Lane:
    """As npy_floor_divide."""
    q, r = x / y, _fmod(m, x, y)
    whole = (x - r) / y
    whole = m.select((r != 0) & ((r < 0) ^ (y < 0)), whole - 1.0, whole)
    rounded = m.call("rint", whole)
    return m.select(y == 0, q, m.select(whole == 0, m.call("copysign", whole, q), rounded))


def _divided(m: Lanes, x: Lane, y: Lane) -> tuple[Lane, Lane, Lane]:
    """Quotient and remainder of ints, and where those are of other signs than divisors.

    No divisor stops the process: 0 makes 0, and -1 another sign.
    """
    zero, minus = y == 0, y == -1
    by = m.select(zero | minus, 1, y)
    q, r = (m.made(x.type, f"{how} {{v}} {{0}}, {{1}}", x, by) for how in ("sdiv", "srem"))
    q = m.select(minus, -x, m.select(zero, 0, q))
    return q, r, (r != 0) & ((r ^ by) < 0)


def _whole_quotient(m: Lanes, x: Lane, y: Lane) -> Lane:
    q, _, other = _divided(m, x, y)
    return m.select(other, q - 1, q)


def _whole_remainder(m: Lanes, x: Lane, y: Lane) -> Lane:
    _, r, other = _divided(m, x, y)
    return m.select(other, r + y, r)


def _ldexp(m: Scalars, x: Lane, n: Lane) -> Lane:
    low, high = m.constant("i64", -5000), m.constant("i64", 5000)  # beyond every exponent
    n = m.select(n < low, low, m.select(n > high, high, n))
    return m.called("ldexp" + ("f" if x.type == "float" else ""), x.type, x, m.converted(n, "i32"))


def _overflows(name: str) -> Callable[..., Lane]:
    def overflows(m: Scalars, x: Lane, y: Lane) -> Lane:
        both = m.called(f"llvm.{name}.with.overflow.i64", "{ i64, i1 }", x, y)
        return m.made("i1", "extractvalue {v} {0}, 1", both)

    return overflows


_INT_POWER = """
define internal { i64, i1 } @zyg_int_power(i64 %x, i64 %n) nounwind willreturn memory(none) {
entry:
  br label %head
head:
  %y = phi i64 [ 1, %entry ], [ %next, %round ]
  %y_over = phi i1 [ false, %entry ], [ %next_over, %round ]
  %b = phi i64 [ %x, %entry ], [ %square, %round ]
  %b_over = phi i1 [ false, %entry ], [ %square_over, %round ]
  %k = phi i64 [ %n, %entry ], [ %half, %round ]
  %more = icmp sgt i64 %k, 0
  br i1 %more, label %round, label %done
round:
  %odd = trunc i64 %k to i1
  %yb = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %y, i64 %b)
  %product = extractvalue { i64, i1 } %yb, 0
  %product_over = extractvalue { i64, i1 } %yb, 1
  %next = select i1 %odd, i64 %product, i64 %y
  %either = or i1 %product_over, %b_over
  %now = and i1 %odd, %either
  %next_over = or i1 %y_over, %now
  %bb = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %b, i64 %b)
  %square = extractvalue { i64, i1 } %bb, 0
  %again = extractvalue { i64, i1 } %bb, 1
  %square_over = or i1 %b_over, %again
  %half = lshr i64 %k, 1
  br label %head
done:
  %both = insertvalue { i64, i1 } undef, i64 %y, 0
  %result = insertvalue { i64, i1 } %both, i1 %y_over, 1
  ret { i64, i1 } %result
}"""


def _int_power(part: int) -> Callable[..., Lane]:
    """A power of ints by squaring, and whether it leaves those of 64 bits."""

    def power(m: Scalars, x: Lane, n: Lane) -> Lane:
        if x.names == ("2",):
            return n > 62 if part else m.select(n > 63, 0, m.constant("i64", 1) << (n & 63))
        m.declared["declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)"] = None
        m.declared[_INT_POWER] = None
        both = m.called("zyg_int_power", "{ i64, i1 }", x, n)
        return m.made(("i64", "i1")[part], f"extractvalue {{v}} {{0}}, {part}", both)

    return power


# Of floats and of ints, where either is not what it is of lanes.
_OF_TYPE: dict[str, tuple[Callable[..., Lane] | None, Callable[..., Lane] | None]] = {
    "fmod": (_fmod, lambda m, x, y: _divided(m, x, y)[1]),
    "remainder": (_remainder, _whole_remainder), "floor_divide": (_floor_divide, _whole_quotient),
    "ldexp": (_ldexp, None), "add_overflows": (None, _overflows("sadd")),
    "subtract_overflows": (None, _overflows("ssub")),
    "multiply_overflows": (None, _overflows("smul")), "int_power": (None, _int_power(0)),
    "int_power_overflows": (None, _int_power(1)),
}  # fmt: skip
# Of these, what is made of several numbers as well, though LLVM makes one after the other.
WHOLE = {name for name, of in _OF_TYPE.items() if {_fmod, _remainder, _floor_divide} & {*of}}
