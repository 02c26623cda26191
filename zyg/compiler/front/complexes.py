"""Complex numbers of whole functions: pairs of floats, and what functions make of them."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.compiler.builder import row_of
from zyg.compiler.front import scalars
from zyg.compiler.front.mixed import ComplexNumber as ComplexNumber
from zyg.compiler.front.mixed import is_scalar
from zyg.compiler.front.scalars import WholeBuilder
from zyg.compiler.ir import Atom, is_number
from zyg.compiler.numbers import Number, atom_of
from zyg.functions.operations import COMPARISON, FLOAT, POWER, TEST

Pair = tuple[Atom, Atom]


def is_complex(x: Any) -> bool:
    return isinstance(x, (ComplexNumber, complex)) or getattr(x, "element", "") == "complex"


def whose(*args: Any) -> bool:
    """Whose number an operator gives: True for Python's, whose complex takes np.float64 as its own.

    TypeError for what NumPy makes complex numbers of 32 bits.
    """
    pythons = scalars.whose(*args)
    if not pythons and scalars.promoted(*args) == "complex" and len(args) == 2:
        first, second = args
        pythons = scalars.whose(first) and is_complex(first) and scalars.promoted(second) == "float"
    return pythons


def pair_of(to: WholeBuilder, x: Any) -> Pair:
    """Real and imaginary part of a number."""
    if isinstance(x, ComplexNumber):
        return x.re, x.im
    if isinstance(x, complex):
        return x.real, x.imag
    return to.to("float", atom_of(x)), 0.0


def number(to: WholeBuilder, pair: Pair, python: bool) -> ComplexNumber:
    return ComplexNumber(to, *pair, python)


def one_of(to: WholeBuilder, kind: str, condition: Any, x: Any, y: Any) -> Any:
    """The first of two numbers where a condition is true, else the second; of a type."""
    test = to.to("bool", atom_of(condition))
    if kind != "complex":
        return to.op("select", test, *(to.to(kind, atom_of(v)) for v in (x, y)))
    pairs = zip(pair_of(to, x), pair_of(to, y), strict=True)
    re, im = (to.op("select", test, *pair) for pair in pairs)
    return ComplexNumber(to, re, im, False)


def operated(to: WholeBuilder, name: str, *args: Any, python: bool = False) -> Any:
    """An operation of numbers of which one is complex; stops where Python's may be infinite."""
    pairs = [pair_of(to, x) for x in args]
    if name not in _FORMULAS and name != "power":
        raise TypeError(f"{name} of complex numbers is not compiled")
    if element_made(name) != "complex":
        return to.number(_FORMULAS[name](to.op, *pairs), python)
    if name in ("divide", "sqrt"):  # of zero the slopes are infinite, which no parts have
        nonzero = to.op("logical_or", *(to.op("not_equal", x, 0.0) for x in pairs[-1]))
        if python and name == "divide":
            to.check(nonzero, "a division by zero")
        else:
            to.slopes_hold(nonzero)
    if name == "power":
        made = _power(to, pairs[0], args[1], pairs[1], python)
    else:
        compute: Any = _divide if python and name == "divide" else _FORMULAS[name]
        made = compute(to.op, *pairs)
    if row_of(name).types in (FLOAT, POWER) and (python or name != "divide"):
        finite = [to.op("isfinite", x) for x in made]
        to.check(to.op("logical_and", *finite), "a complex number that is not finite")
    return number(to, made, python)


def _power(to: WholeBuilder, z: Pair, p: Any, pair: Pair, python: bool) -> Pair:
    """Small whole powers by products, others by logarithms."""
    if is_number(p) and p == int(p) and 0 <= p <= 8:
        return _whole_power(to.op, z, int(p), python)
    for x in z:
        to.demand("a complex power of what may be zero", "not_equal", x, 0.0)
    return _exp(to.op, _multiply(to.op, _log(to.op, z), pair))


def _whole_power(op: Op, z: Pair, n: int, python: bool) -> Pair:
    """The products that Python takes, or NumPy: in their order, to the sign of a zero."""
    one = 1.0, 0.0
    if n and not python and n <= 3:
        made = (z, _multiply(op, z, z), _multiply(op, z, _multiply(op, z, z)))[n - 1]
        zero = op("logical_and", op("equal", z[0], 0.0), op("equal", z[1], 0.0))
        re, im = (op("select", zero, op("add", x, 0.0), x) for x in made)  # 0, with its slope
        return re, im
    begun = n > 0 and python and not _FROM_ONE
    made, square, n = (z, z, n - 1) if begun else (one, z, n)
    while n:
        if n & 1:
            made = _by_one(op, square) if made is one else _multiply(op, made, square)
        n >>= 1
        square = _multiply(op, square, square) if n else square
    return made


def _by_one(op: Op, z: Pair) -> Pair:
    """The product of 1 and a finite number, where signs of zeros meet."""
    return (op("subtract", z[0], op("copysign", 0.0, z[1])),
            op("add", z[1], op("copysign", 0.0, z[0])))  # fmt: skip


_FROM_ONE = str(complex(-0.0, -0.0) ** 1) != "(-0-0j)"  # powers begin with a product by 1


Op = Callable[..., Atom]


def _multiply(op: Op, a: Pair, b: Pair) -> Pair:
    re = op("subtract", op("multiply", a[0], b[0]), op("multiply", a[1], b[1]))
    return re, op("add", op("multiply", a[0], b[1]), op("multiply", a[1], b[0]))


def _divide_by_zero_too(op: Op, a: Pair, b: Pair) -> Pair:
    """As NumPy does."""
    zero = op("logical_and", op("equal", b[0], 0.0), op("equal", b[1], 0.0))
    size = op("absolute", b[0])
    made = _divide(op, a, (op("select", zero, 1.0, b[0]), b[1]), by_product=True)
    re, im = (op("select", zero, op("divide", x, size), y) for x, y in zip(a, made, strict=True))
    return re, im


def _divide(op: Op, a: Pair, b: Pair, by_product: bool = False) -> Pair:
    """By the larger part of the divisor, or with its reciprocal."""
    wide = op("greater_equal", op("absolute", b[0]), op("absolute", b[1]))
    big, small = op("select", wide, b[0], b[1]), op("select", wide, b[1], b[0])
    ratio = op("divide", small, big)
    scale = op("add", big, op("multiply", small, ratio))
    x, y = a
    one = op("select", wide, op("add", x, op("multiply", y, ratio)),
             op("add", op("multiply", x, ratio), y))  # fmt: skip
    two = op("select", wide, op("subtract", y, op("multiply", x, ratio)),
             op("subtract", op("multiply", y, ratio), x))  # fmt: skip
    if by_product:
        scale = op("divide", 1.0, scale)
    name = "multiply" if by_product else "divide"
    return op(name, one, scale), op(name, two, scale)


def _exp(op: Op, z: Pair) -> Pair:
    size = op("exp", z[0])
    return op("multiply", size, op("cos", z[1])), op("multiply", size, op("sin", z[1]))


def _absolute(op: Op, z: Pair) -> Atom:
    return op("hypot", *z)


def _log(op: Op, z: Pair) -> Pair:
    return op("log", _absolute(op, z)), op("arctan2", z[1], z[0])


def _sqrt(op: Op, z: Pair) -> Pair:
    """By the half of the angle that keeps its digits."""
    size, right = _absolute(op, z), op("greater_equal", z[0], 0.0)
    along = op("select", right, z[0], op("negative", z[0]))  # |re|, which has a slope at 0
    half = op("sqrt", op("multiply", op("add", along, size), 0.5))
    zero = op("equal", half, 0.0)
    safe = op("select", zero, 1.0, half)
    other = op("divide", z[1], op("multiply", 2.0, safe))
    side = op("copysign", 1.0, z[1])
    return (op("select", right, half, op("multiply", side, other)),
            op("select", right, other, op("multiply", side, half)))  # fmt: skip


def _sin(op: Op, z: Pair) -> Pair:
    x, y = z
    return (op("multiply", op("sin", x), op("cosh", y)),
            op("multiply", op("cos", x), op("sinh", y)))  # fmt: skip


def _cos(op: Op, z: Pair) -> Pair:
    x, y = z
    return (op("multiply", op("cos", x), op("cosh", y)),
            op("negative", op("multiply", op("sin", x), op("sinh", y))))  # fmt: skip


def _sinh(op: Op, z: Pair) -> Pair:
    x, y = z
    return (op("multiply", op("sinh", x), op("cos", y)),
            op("multiply", op("cosh", x), op("sin", y)))  # fmt: skip


def _cosh(op: Op, z: Pair) -> Pair:
    x, y = z
    return (op("multiply", op("cosh", x), op("cos", y)),
            op("multiply", op("sinh", x), op("sin", y)))  # fmt: skip


def _reciprocal(op: Op, z: Pair) -> Pair:
    """By the larger part, as `_divide`, with NumPy's signs of zeros."""
    wide = op("greater_equal", op("absolute", z[0]), op("absolute", z[1]))
    big, small = op("select", wide, *z), op("select", wide, *z[::-1])
    ratio = op("divide", small, big)
    scale = op("add", big, op("multiply", small, ratio))
    re, im = op("select", wide, 1.0, ratio), op("select", wide, ratio, 1.0)
    return op("divide", re, scale), op("divide", op("negative", im), scale)


def _tan(op: Op, z: Pair) -> Pair:
    """Part by part, which keeps the signs of zeros."""
    sin, cos = op("sin", z[0]), op("cos", z[0])
    sinh, cosh = op("sinh", z[1]), op("cosh", z[1])
    size = op("add", op("multiply", cos, cos), op("multiply", sinh, sinh))
    return (op("divide", op("multiply", sin, cos), size),
            op("divide", op("multiply", sinh, cosh), size))  # fmt: skip


def _both(name: str) -> Callable[..., Pair]:
    return lambda op, *zs: (op(name, *(z[0] for z in zs)), op(name, *(z[1] for z in zs)))


_FORMULAS: dict[str, Callable[..., Any]] = {
    "add": _both("add"), "subtract": _both("subtract"), "negative": _both("negative"),
    "positive": lambda op, z: z, "multiply": _multiply, "divide": _divide_by_zero_too, "exp": _exp,
    "log": _log, "sqrt": _sqrt, "sin": _sin, "cos": _cos, "sinh": _sinh, "cosh": _cosh,
    "tan": _tan, "tanh": lambda op, z: _tan(op, z[::-1])[::-1],
    "square": lambda op, z: _multiply(op, z, z),
    "reciprocal": _reciprocal,
    "conjugate": lambda op, z: (z[0], op("negative", z[1])),
    "absolute": _absolute, "real": lambda op, z: z[0], "imag": lambda op, z: z[1],
    "angle": lambda op, z: op("arctan2", z[1], z[0]),
    "equal": lambda op, a, b: op("logical_and", op("equal", a[0], b[0]), op("equal", a[1], b[1])),
    "not_equal": lambda op, a, b: op("logical_or", op("not_equal", a[0], b[0]),
                                     op("not_equal", a[1], b[1])),
    "isnan": lambda op, z: op("logical_or", op("isnan", z[0]), op("isnan", z[1])),
    "isfinite": lambda op, z: op("logical_and", op("isfinite", z[0]), op("isfinite", z[1])),
}  # fmt: skip


def element_made(name: str) -> str:
    """The type of what an operation of complex numbers gives."""
    row = row_of(name)
    return "bool" if row.types in (COMPARISON, TEST) else "float" if row.real else "complex"


def attribute(z: ComplexNumber, name: str) -> Any:
    """``z.real`` and ``z.imag``; methods are functions of no arguments."""
    if name in ("real", "imag"):
        return z.to.number(z.re if name == "real" else z.im, z.python)
    if name in ("conjugate", "conj"):
        return Conjugate(z)
    raise AttributeError(f"the attribute {name} of a complex number is not compiled")


class Conjugate:
    """The method of a complex number."""

    def __init__(self, z: ComplexNumber) -> None:
        self.z = z


def truth(to: WholeBuilder, z: ComplexNumber) -> Atom:
    return to.op("logical_or", to.op("not_equal", z.re, 0.0), to.op("not_equal", z.im, 0.0))


def is_of_complex(f: Any) -> bool:
    """Whether a function of Python's is one of complex numbers."""
    return f in _CMATH or f in (complex, cmath.polar, cmath.rect, np.complex128)


def of_python(to: WholeBuilder, f: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What a function of Python's or of cmath gives; NotImplemented for others."""
    if isinstance(f, Conjugate):
        return operated(to, "conjugate", f.z, python=f.z.python)
    if f is complex and any(isinstance(x, (Number, ComplexNumber)) for x in args) and not kwargs:
        return number(to, _composed(to, *args), True)
    if f is np.complex128 and len(args) == 1 and is_scalar(args[0]) and not kwargs:
        return number(to, pair_of(to, args[0]), False)
    if not any(isinstance(x, ComplexNumber) for x in args) and (
        f not in _CMATH or not any(isinstance(x, Number) for x in args)
    ):
        return NotImplemented
    if f is bool:
        return to.number(truth(to, *args), True)
    if f is abs:
        return operated(to, "absolute", *args, python=whose(*args))
    if f is pow:
        return operated(to, "power", *args, python=whose(*args))
    if f in _CMATH:
        return operated(to, _CMATH[f], *args, python=True)
    if f is cmath.polar:
        return tuple(operated(to, name, *args, python=True) for name in ("absolute", "angle"))
    if f is cmath.rect:
        r, phi = (pair_of(to, x)[0] for x in args)
        return number(to, (to.op("multiply", r, to.op("cos", phi)),
                           to.op("multiply", r, to.op("sin", phi))), True)  # fmt: skip
    return NotImplemented


def _composed(to: WholeBuilder, x: Any, y: Any = None) -> Pair:
    """``complex(x, y)``: x + y i, of parts that may be complex themselves."""
    re, im = pair_of(to, x)
    if y is not None:
        more, less = pair_of(to, y)
        im = to.op("add", more, im) if is_complex(x) else more
        re = to.op("subtract", re, less) if is_complex(y) else re
    return re, im


_CMATH: dict[Any, str] = {
    getattr(cmath, name): name
    for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")
} | {cmath.phase: "angle"}
