"""From a program to LLVM text of explicit vectors: each operation on lanes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zyg.compiler.back.simd import BITS, REALS, Lane, Lanes
from zyg.compiler.back.vector_elementary import VECTORISED, elementary
from zyg.compiler.ir import Atom, Op, Program, Type, Value, operations, type_of
from zyg.functions.operations import COMPARISON, CONVERSION, LIBRARY, WITH_OPERATORS, Operation

_FACTORS = 64  # up to this power, x**n is a product
_LN2 = math.log(2)


def printable(program: Program, accuracy: str) -> bool:
    """Whether all of a program is done to several numbers at once."""
    return all(vectorises(op, accuracy) for op in operations(program.body))


def vectorises(op: Any, accuracy: str) -> bool:
    """Whether an operation is done to several numbers at once."""
    if not isinstance(op, Op):
        return False
    if op.callee is not None:
        return printable(op.callee, accuracy)
    if op.row.types == CONVERSION or _is_product(op):
        return True
    known = op.row.simd or op.name in _TEXTS
    return known and (accuracy == "fast" or op.row.cost < LIBRARY)


def _is_product(op: Op) -> bool:
    if op.name != "power":
        return False
    n = op.args[-1]
    few = not isinstance(n, Value) and 0 < abs(n) <= _FACTORS and n == int(n)
    return few or op.out.type in ("int", "uint")


def inlined(m: Lanes) -> Callable[[str, Sequence[Lane]], Lane | None]:
    """The elementary functions of ours, printed where they are called."""
    functions = elementary(m)

    def made(name: str, args: Sequence[Lane]) -> Lane | None:
        if name not in VECTORISED:
            return None
        lane: Lane = functions[f"{name}{BITS[args[0].type]}"](*args)
        return lane

    return made


class Printer:
    """Prints programs of these types of LLVM's."""

    def __init__(self, lanes: Lanes, types: Mapping[Type, str]) -> None:
        self.lanes, self.types = lanes, types

    def outputs(self, program: Program, inputs: Sequence[Lane]) -> list[Lane]:
        """The outputs of a program of these inputs."""
        known = dict(zip(program.inputs, inputs, strict=True))

        def lane(x: Atom) -> Lane:
            if isinstance(x, Value):
                return known[x]
            return self.lanes.constant(self.types[type_of(x)], x)

        for op in program.body.ops:
            args, type = [lane(x) for x in op.args], self.types[op.out.type]
            if op.callee is not None:
                known[op.out] = self.lanes.converted(self.outputs(op.callee, args)[0], type)
            else:
                known[op.out] = operated(self.lanes, op, args, type)
        return [lane(x) for x in program.outputs]


def operated(m: Lanes, op: Op, args: Sequence[Lane], type: str) -> Lane:
    """The result of an operation, which has a type of LLVM's."""
    if _is_product(op):
        n = int(op.args[1])  # type: ignore[arg-type]
        return _product(args[0], n) if args[0].type in REALS else _whole_power(args[0], n)
    if op.row.types == CONVERSION:
        return m.converted(args[0], type, signed=not is_unsigned(op))
    if is_unsigned(op) and op.row.types == COMPARISON:
        return _compared(m, op, *args)
    known = (is_unsigned(op) and _UNSIGNED.get(op.name)) or _TEXTS.get(op.name)
    return known(m, *args) if known else m.elementary(op.name, *args)


def is_unsigned(op: Op) -> bool:
    """Whether an operation takes ints without a sign."""
    return any(type_of(x) == "uint" or (type(x) is int and x >= 2**63) for x in op.args)


def _compared(m: Lanes, op: Op, *args: Lane) -> Lane:
    """A comparison of ints of which some have no sign: others may be below zero."""
    y = m.made("i1", f"icmp {_PREDICATES[op.row.python]} {{v}} {{0}}, {{1}}", *args)
    for x, lane, below in zip(op.args, args, ("less", "greater"), strict=True):
        if type_of(x) == "int" and not (type(x) is int and x >= 0):
            y = m.select(lane < 0, op.name.startswith((below, "not_equal")), y)
    return y


def _product(x: Lane, n: int) -> Lane:
    if abs(n) > 4:  # in 64 bits, as each square doubles errors; a power itself may be infinite
        wide = x.lanes.converted(x, "double")
        return x.lanes.converted(_whole_power(wide if n > 0 else 1.0 / wide, abs(n)), x.type)
    y = x
    for _ in range(abs(n) - 1):
        y = y * x
    return y if n > 0 else 1.0 / y


def _whole_power(x: Lane, n: int) -> Lane:
    """A power by squares: of an int, which no rounding may reach, or of few factors."""
    y = x if n else x.lanes.constant(x.type, 1)
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


def _heaviside(m: Lanes, x: Lane, at_zero: Lane) -> Lane:
    step = m.select(x > 0, m.constant(x.type, 1.0), m.select(x < 0, m.constant(x.type, 0.0), x))
    return m.select(x == 0, at_zero, step)


def _logaddexp(base2: bool) -> Callable[..., Lane]:
    def logaddexp(m: Lanes, x: Lane, y: Lane) -> Lane:
        d = x - y
        larger = m.select(d > 0, x, y)
        rest = m.elementary("log1p", m.elementary("exp2" if base2 else "exp", -abs(d)))
        rest = rest * (1 / _LN2) if base2 else rest
        return m.select(x == y, x + (1.0 if base2 else _LN2), larger + rest)

    return logaddexp


def _larger(predicate: str) -> Callable[..., Lane]:
    def larger(m: Lanes, x: Lane, y: Lane) -> Lane:
        return m.select(m.made("i1", f"icmp {predicate} {{v}} {{0}}, {{1}}", x, y), x, y)

    return larger


def _divided(instruction: str) -> Callable[..., Lane]:
    """Of ints without a sign; 0 where the divisor is 0."""

    def divided(m: Lanes, x: Lane, y: Lane) -> Lane:
        by = m.select(y == 0, 1, y)
        return m.select(y == 0, 0, m.made(x.type, f"{instruction} {{v}} {{0}}, {{1}}", x, by))

    return divided


def _by_operator(row: Operation) -> Callable[..., Lane]:
    return lambda m, *args: row.operator(*args)


_PREDICATES = {"<": "ult", "<=": "ule", ">": "ugt", ">=": "uge", "==": "eq", "!=": "ne"}
_UNSIGNED: dict[str, Callable[..., Lane]] = {
    **dict.fromkeys(("maximum", "fmax"), _larger("uge")),
    **dict.fromkeys(("minimum", "fmin"), _larger("ule")),
    **dict.fromkeys(("remainder", "fmod"), _divided("urem")), "floor_divide": _divided("udiv"),
}  # fmt: skip
_TEXTS: dict[str, Callable[..., Lane]] = {
    **{row.name: _by_operator(row) for row in WITH_OPERATORS if row.types and row.cost < LIBRARY},
    "positive": lambda m, x: x,
    "constant": lambda m, x: x,
    "square": lambda m, x: x * x,
    "reciprocal": lambda m, x: 1.0 / x,
    "logical_and": lambda m, x, y: x & y,
    "logical_or": lambda m, x, y: x | y,
    "logical_xor": lambda m, x, y: x ^ y,
    "logical_not": lambda m, x: x ^ True,
    "invert": lambda m, x: x ^ -1,
    "select": lambda m, c, x, y: m.select(c, x, y),
    "sign": _sign,
    "sqrt": lambda m, x: m.call("sqrt", x),
    "floor": lambda m, x: m.call("floor", x),
    "ceil": lambda m, x: m.call("ceil", x),
    "trunc": lambda m, x: m.call("trunc", x),
    "rint": lambda m, x: m.call("rint", x),
    "copysign": lambda m, x, y: m.call("copysign", x, y),
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
    "heaviside": _heaviside,
    "logaddexp": _logaddexp(False),
    "logaddexp2": _logaddexp(True),
    "float_power": lambda m, x, y: m.elementary("power", x, y),
}
