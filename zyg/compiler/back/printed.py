"""From a program to LLVM text of explicit vectors: each operation on lanes.

Only programs without inner loops and branches are printed, of floats, ints and bools; for others
there is the text for numba (`emit`), and both give the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from zyg.compiler.back.lanes import REALS, Lane, Lanes
from zyg.compiler.back.names import VECTORISED
from zyg.compiler.back.vector_elementary import elementary
from zyg.compiler.ir import Atom, Op, Program, Value, operations, type_of

FACTORS = 4  # up to this power, x**n is a product


def printable(program: Program, accuracy: str) -> bool:
    """Whether a program can be printed."""
    if any(x.type == "uint" for x in program.inputs):
        return False
    return all(_printable(op, accuracy) for op in operations(program.body))


def _printable(op: Any, accuracy: str) -> bool:
    if not isinstance(op, Op) or op.callee is not None:
        return False
    if any(type(x) is int and not -(2**63) <= x < 2**63 for x in op.args):
        return False
    types = {type_of(x) for x in (*op.args, op.out)}
    if "uint" in types:
        return False
    if op.name in OPERATIONS or op.name in ("float", "int"):
        return True
    if op.name == "power" and (op.out.type == "int" or _is_product(op)):
        return True
    return op.name in VECTORISED and accuracy == "fast"


def _is_product(op: Op) -> bool:
    n = op.args[-1]
    whole = not isinstance(n, Value) and 0 < abs(n) <= FACTORS and n == int(n)
    return op.name == "power" and whole


class Printer:
    """Prints programs whose floats are of one type."""

    def __init__(self, lanes: Lanes, real: str) -> None:
        self.lanes, self.real = lanes, real
        self.types = {"float": real, "int": "i64", "bool": "i1"}
        self.functions = elementary(lanes)

    def run(self, program: Program, inputs: Sequence[Lane]) -> list[Lane]:
        """The outputs of a program of these inputs."""
        known = dict(zip(program.inputs, inputs, strict=True))

        def lane(x: Atom) -> Lane:
            if isinstance(x, Value):
                return known[x]
            return self.lanes.constant(self.types[type_of(x)], x)

        for op in program.body.ops:
            known[op.out] = self.op(op, [lane(x) for x in op.args])
        return [lane(x) for x in program.outputs]

    def op(self, op: Op, args: list[Lane]) -> Lane:
        if op.name == "power" and op.out.type == "int":
            return whole_power(args[0], op.args[1])  # type: ignore[arg-type]
        if _is_product(op):
            return product(args[0], int(op.args[1]))  # type: ignore[arg-type]
        if op.name in OPERATIONS:
            return OPERATIONS[op.name](self.lanes, *args)
        if op.name in ("float", "int"):
            return self.lanes.converted(args[0], self.types[op.name])
        made: Lane = self.functions[f"{op.name}{32 if self.real == 'float' else 64}"](*args)
        return made


def product(x: Lane, n: int) -> Lane:
    y = x
    for _ in range(abs(n) - 1):
        y = y * x
    return y if n > 0 else 1.0 / y


def whole_power(x: Lane, n: int) -> Lane:
    """A power of an int, which no rounding may reach: by squares."""
    y = x
    for bit in f"{n:b}"[1:]:
        y = y * y * x if bit == "1" else y * y
    return y


def _either(x: Lane, y: Lane, nan: Lane, ordered: Lane) -> Lane:
    """Whether the first is taken: by the order, or as one of the two is not a number."""
    return ordered if x.type not in REALS else nan | ordered


def _sign(m: Lanes, x: Lane) -> Lane:
    above, below = (m.constant(x.type, n) for n in (1, -1))
    rest = x + 0.0 if x.type in REALS else x  # of either zero the one without a sign
    return m.select(x > 0, above, m.select(x < 0, below, rest))


OPERATIONS: dict[str, Callable[..., Lane]] = {
    "add": lambda m, x, y: x + y,
    "subtract": lambda m, x, y: x - y,
    "multiply": lambda m, x, y: x * y,
    "divide": lambda m, x, y: x / y,
    "negative": lambda m, x: -x,
    "positive": lambda m, x: x,
    "constant": lambda m, x: x,
    "square": lambda m, x: x * x,
    "reciprocal": lambda m, x: 1.0 / x,
    "less": lambda m, x, y: x < y,
    "less_equal": lambda m, x, y: x <= y,
    "greater": lambda m, x, y: x > y,
    "greater_equal": lambda m, x, y: x >= y,
    "equal": lambda m, x, y: x == y,
    "not_equal": lambda m, x, y: x != y,
    "logical_and": lambda m, x, y: x & y,
    "logical_or": lambda m, x, y: x | y,
    "logical_xor": lambda m, x, y: x ^ y,
    "logical_not": lambda m, x: x ^ True,
    "bitwise_and": lambda m, x, y: x & y,
    "bitwise_or": lambda m, x, y: x | y,
    "bitwise_xor": lambda m, x, y: x ^ y,
    "invert": lambda m, x: x ^ -1,
    "select": lambda m, c, x, y: m.select(c, x, y),
    "absolute": lambda m, x: abs(x),
    "sign": _sign,
    "sqrt": lambda m, x: m.call("sqrt", x),
    "floor": lambda m, x: m.call("floor", x),
    "ceil": lambda m, x: m.call("ceil", x),
    "trunc": lambda m, x: m.call("trunc", x),
    "rint": lambda m, x: m.call("rint", x),
    "copysign": lambda m, x, y: m.call("copysign", x, y),
    # Where one is NaN, or else both are equal: the same of the two as numba's.
    "maximum": lambda m, x, y: m.select(_either(x, y, x != x, x >= y), x, y),
    "minimum": lambda m, x, y: m.select(_either(x, y, x != x, x <= y), x, y),
    "fmax": lambda m, x, y: m.select(_either(x, y, y != y, x >= y), x, y),
    "fmin": lambda m, x, y: m.select(_either(x, y, y != y, x <= y), x, y),
    "isnan": lambda m, x: x != x,
    "isinf": lambda m, x: abs(x) == math.inf,
    "isfinite": lambda m, x: abs(x) < math.inf,
    "signbit": lambda m, x: m.as_bits(x) < 0,  # an int with a sign
    "deg2rad": lambda m, x: x * (math.pi / 180),
    "rad2deg": lambda m, x: x * (180 / math.pi),
}
