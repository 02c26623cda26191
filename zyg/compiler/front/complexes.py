"""Complex numbers of whole functions: pairs of floats, and what functions make of them."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from zyg.compiler.builder import row_of
from zyg.compiler.front import scalars
from zyg.compiler.front.mixed import ComplexNumber as ComplexNumber
from zyg.compiler.front.mixed import is_scalar
from zyg.compiler.front.scalars import WholeBuilder
from zyg.compiler.ir import Atom, is_number
from zyg.compiler.numbers import Bare, Number, atom_of
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
    zs = [Parts(*(Bare(x, to) for x in pair_of(to, z))) for z in args]  # type: ignore[arg-type]
    if name not in _FORMULAS and name != "power":
        raise TypeError(f"{name} of complex numbers is not compiled")
    if element_made(name) != "complex":
        return to.number(_FORMULAS[name](*zs).atom, python)
    if name in ("divide", "sqrt"):  # of zero the slopes are infinite, which no parts have
        nonzero = _is_not(zs[-1], Parts(0.0, 0.0)).atom
        if python and name == "divide":
            to.check(nonzero, "a division by zero")
        else:
            to.slopes_hold(nonzero)
    if name == "power":
        made = _power(to, zs[0], args[1], zs[1], python)
    else:
        compute: Any = _divide if python and name == "divide" else _FORMULAS[name]
        made = compute(*zs)
    if row_of(name).types in (FLOAT, POWER) and (python or name != "divide"):
        finite = np.logical_and(*map(np.isfinite, made))
        to.check(atom_of(finite), "a complex number that is not finite")
    return number(to, (atom_of(made.re), atom_of(made.im)), python)


class Parts(NamedTuple):
    """A complex number of formulas, which are written as of floats."""

    re: Any
    im: Any


def _power(to: WholeBuilder, z: Parts, p: Any, exponent: Parts, python: bool) -> Parts:
    """Small whole powers by products, others by logarithms."""
    if is_number(p) and p == int(p) and 0 <= p <= 8:
        return _whole_power(z, int(p), python)
    for x in z:
        to.check((x != 0.0).atom, "a complex power of what may be zero")
    return _exp(_multiply(_log(z), exponent))


def _whole_power(z: Parts, n: int, python: bool) -> Parts:
    """The products that Python takes, or NumPy: in their order, to the sign of a zero."""
    one = Parts(1.0, 0.0)
    if n and not python and n <= 3:
        made = (z, _multiply(z, z), _multiply(z, _multiply(z, z)))[n - 1]
        zero = _is(z, Parts(0.0, 0.0))
        return Parts(*(np.where(zero, x + 0.0, x) for x in made))  # 0, with its slope
    begun = n > 0 and python and not _FROM_ONE
    made, square, n = (z, z, n - 1) if begun else (one, z, n)
    while n:
        if n & 1:
            made = _by_one(square) if made is one else _multiply(made, square)
        n >>= 1
        square = _multiply(square, square) if n else square
    return made


def _by_one(z: Parts) -> Parts:
    """The product of 1 and a finite number, where signs of zeros meet."""
    return Parts(z.re - np.copysign(0.0, z.im), z.im + np.copysign(0.0, z.re))


_FROM_ONE = str(complex(-0.0, -0.0) ** 1) != "(-0-0j)"  # powers begin with a product by 1


def _is(a: Parts, b: Parts) -> Any:
    return np.logical_and(a.re == b.re, a.im == b.im)


def _is_not(a: Parts, b: Parts) -> Any:
    return np.logical_or(a.re != b.re, a.im != b.im)


def _multiply(a: Parts, b: Parts) -> Parts:
    return Parts(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)


def _divide_by_zero_too(a: Parts, b: Parts) -> Parts:
    """As NumPy does."""
    zero, size = _is(b, Parts(0.0, 0.0)), abs(b.re)
    made = _divide(a, Parts(np.where(zero, 1.0, b.re), b.im), by_product=True)
    return Parts(*(np.where(zero, x / size, y) for x, y in zip(a, made, strict=True)))


def _divide(a: Parts, b: Parts, by_product: bool = False) -> Parts:
    """By the larger part of the divisor, or with its reciprocal."""
    wide, ratio, scale = _by_larger(b)
    one = np.where(wide, a.re + a.im * ratio, a.re * ratio + a.im)
    two = np.where(wide, a.im - a.re * ratio, a.im * ratio - a.re)
    if by_product:
        scale = 1.0 / scale
        return Parts(one * scale, two * scale)
    return Parts(one / scale, two / scale)


def _by_larger(z: Parts) -> tuple[Any, Any, Any]:
    """Whether the real part is the larger one; the other part of it, and what both scale by."""
    wide = abs(z.re) >= abs(z.im)
    big, small = np.where(wide, z.re, z.im), np.where(wide, z.im, z.re)
    ratio = small / big
    return wide, ratio, big + small * ratio


def _exp(z: Parts) -> Parts:
    size = np.exp(z.re)
    return Parts(size * np.cos(z.im), size * np.sin(z.im))


def _absolute(z: Parts) -> Any:
    return np.hypot(z.re, z.im)


def _angle(z: Parts) -> Any:
    return np.arctan2(z.im, z.re)


def _log(z: Parts) -> Parts:
    return Parts(np.log(_absolute(z)), _angle(z))


def _sqrt(z: Parts) -> Parts:
    """By the half of the angle that keeps its digits."""
    size, right = _absolute(z), z.re >= 0.0
    along = np.where(right, z.re, -z.re)  # |re|, which has a slope at 0
    half = np.sqrt((along + size) * 0.5)
    other = z.im / (2.0 * np.where(half == 0.0, 1.0, half))
    side = np.copysign(1.0, z.im)
    return Parts(np.where(right, half, side * other), np.where(right, other, side * half))


def _reciprocal(z: Parts) -> Parts:
    """By the larger part, as `_divide`, with NumPy's signs of zeros."""
    wide, ratio, scale = _by_larger(z)
    re, im = np.where(wide, 1.0, ratio), np.where(wide, ratio, 1.0)
    return Parts(re / scale, -im / scale)


def _tan(z: Parts) -> Parts:
    """Part by part, which keeps the signs of zeros."""
    sin, cos, sinh, cosh = np.sin(z.re), np.cos(z.re), np.sinh(z.im), np.cosh(z.im)
    size = cos * cos + sinh * sinh
    return Parts(sin * cos / size, sinh * cosh / size)


def _both(operator: Callable[..., Any]) -> Callable[..., Parts]:
    return lambda *zs: Parts(*map(operator, *zs))


_FORMULAS: dict[str, Callable[..., Any]] = {
    "add": _both(np.add), "subtract": _both(np.subtract), "negative": _both(np.negative),
    "positive": lambda z: z, "multiply": _multiply, "divide": _divide_by_zero_too, "exp": _exp,
    "log": _log, "sqrt": _sqrt, "tan": _tan, "square": lambda z: _multiply(z, z),
    "sin": lambda z: Parts(np.sin(z.re) * np.cosh(z.im), np.cos(z.re) * np.sinh(z.im)),
    "cos": lambda z: Parts(np.cos(z.re) * np.cosh(z.im), -(np.sin(z.re) * np.sinh(z.im))),
    "sinh": lambda z: Parts(np.sinh(z.re) * np.cos(z.im), np.cosh(z.re) * np.sin(z.im)),
    "cosh": lambda z: Parts(np.cosh(z.re) * np.cos(z.im), np.sinh(z.re) * np.sin(z.im)),
    "tanh": lambda z: Parts(*_tan(Parts(*z[::-1]))[::-1]), "reciprocal": _reciprocal,
    "conjugate": lambda z: Parts(z.re, -z.im), "absolute": _absolute, "angle": _angle,
    "real": lambda z: z.re, "imag": lambda z: z.im, "equal": _is, "not_equal": _is_not,
    "isnan": lambda z: np.logical_or(*map(np.isnan, z)),
    "isfinite": lambda z: np.logical_and(*map(np.isfinite, z)),
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
    if f is complex and not kwargs and {*map(type, args)} <= {bool, int, float, complex}:
        return complex(*args)
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
