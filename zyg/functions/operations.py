"""The table of operations: all that is known of each function of numbers, one row for each.

The tracer, forward mode, kernels, the compiler, its printers, the GPU and other libraries' arrays
read this table. **To add an operation is to add a row.** It needs no more to be differentiated and
recorded in programs; a text of its own, where no column gives one, it gets from the printers of
LLVM (`compiler/back/llvm_simd`), of the GPU (`zyg_cuda/functions`) and of guests (`interop/words`).

A row is ``op(name, types, *slopes, **facts)``.

name      as in NumPy; if NumPy lacks it, as in the math module
types     what it takes and makes in a program, one of the words below; None: no program has it,
          as what NumPy says by it is written there in other operations
slopes    one partial derivative per argument; none, if nothing is differentiated through it

A slope is called with the arguments and the result, ``slope(x, y)`` or ``slope(x1, x2, y)``, and
works on numbers and elementwise on arrays alike. It is written in operators and ``np.`` functions,
so it can be differentiated itself. A constant one is given as a number. Subgradients and the
treatment of NaN live here and nowhere else:

* abs'(0) = 0, sqrt'(0) = inf, hypot and arctan2 at (0, 0) have slope 0; and so abs(x)**2 has the
  second derivative 0 at 0, where that of x * x is 2;
* maximum at a tie: the second argument, minimum: the first, so that maximum(x, 0) has slope 0 at 0;
* x**0 has slope 0 at 0, 0**p has slope 0 in p; and so x**p has the mixed second derivative 0 at
  (0, 1), which is -inf in the limit;
* floor, ceil, round, sign and // have slope 0 everywhere;
* copysign(0, y) has slope 0, as abs; fmax and fmin follow the operand that is not NaN;
* sinc is smooth at 0, to every order.

First partials are accurate to a few units in the last place at every magnitude, or as well as the
value is conditioned (power, logaddexp, erf); those of tanh and sinc, as 1 - y * y cancels and NumPy
rounds pi x, only absolutely. What is smaller than the normal numbers may be 0.

A complex partial means the complex derivative (df/dz); who pulls back conjugates it. ``abs``,
``real``, ``imag`` and ``angle`` map to the reals; there the partial d has dy = Re(d dz).

The facts, of which most rows need few:

same      another operation, which this is of the numbers of programs
python    the operator, as Python writes it
text      how Python text writes it, whose floats are of type T; by default by the operator, if
          that is one instruction, else as a call of its name
exact     what it is of Python's ints, which have no end; by default that of `python`
c         its name in C's library of mathematics, where it is a call of that
math      its name in Python's math module; by default that of C or of NumPy, if it is there
raises    where the math module's raises: a condition of its argument x or of its result y, or a
          word of its own; see `compiler/front/domains`
scipy     its name in scipy.special, where it is a ufunc
guest     its name in the array API standard; by default that of the math module or of NumPy
reduce    NumPy's function that its ``reduce`` is
cost      about how many additions of floats it takes; by default 20 for what `c` names, else 1
flat      whether no derivative flows through it: read off its types and its slopes
simd      whether zyg has a form of its own that computes several numbers at once
wraps     whether it may leave the type of its ints, in which it then wraps around
bits      how many bits its int may have, of those of its operands
signed    whether it depends on whether its ints have a sign
bools     what it is of bools: another operation; "refused" by NumPy; "bytes", an int of 8 bits
real      whether it makes real numbers of complex ones
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.base.array_types import is_complex
from zyg.base.marks import for_any_number
from zyg.functions.slopes import (
    LOG2,
    LOG2_E,
    LOG10_E,
    PI,
    TWO_OVER_SQRT_PI,
    arctan2_slope,
    bessel_i1,
    conj_sign,
    digamma,
    logistic,
    over_norm,
    power_p,
    power_x,
    reciprocal,
    root_of_1_minus_square,
    root_of_1_plus_square,
    root_slope,
    sign,
    sign_slope,
    sinc_slope,
    where,
)

for_any_number(__name__)

Slope = Callable[..., Any] | float | complex


class Operation:
    """A row of the table: facts that it does not give are these."""

    same = python = text = c = math = raises = scipy = guest = reduce = bools = ""
    exact: Callable[..., Any] | None = None
    bits: Callable[..., int] | None = None
    cost = 1
    simd = wraps = signed = real = flat = False

    def __init__(
        self, name: str, types: str | None, slopes: tuple[Slope, ...], facts: dict[str, Any]
    ) -> None:
        self.name, self.types, self.slopes = name, types, slopes
        self.__dict__.update(facts)

    @property
    def function(self) -> Any:
        """NumPy's function, or the math module's."""
        return getattr(np, self.name, None) or getattr(math, self.math)

    @property
    def operator(self) -> Callable[..., Any]:
        """Python's operator, of one that has it."""
        return _PYTHON[self.python]

    @property
    def dunder(self) -> str:
        """The name of its method, ``__add__`` without its underscores."""
        return self.operator.__name__.strip("_")

    @property
    def is_binary(self) -> bool:
        """Whether it has an operator that takes two numbers and gives one."""
        return bool(self.python) and hasattr(operator, f"__i{self.dunder}__")

    @property
    def sign(self) -> str:
        """What its text has between two operands, if it has no more."""
        left, _, rest = self.text.partition(" ")
        sign, _, right = rest.partition(" ")
        return sign if left == right == "{}" else ""

    @property
    def is_numpys(self) -> bool:
        return hasattr(np, self.name)


OPERATIONS: dict[str, Operation] = {}

# What operations take and make. The operands are brought to one type: that of the result, if it is
# a number.
NUMBER = "number"  # ints or floats
FLOAT = "float"  # floats
ROUNDING = "rounding"  # floats; nothing happens to ints
BITWISE = "bitwise"  # ints, or bools
TEST = "test"  # of floats, a bool
COMPARISON = "comparison"  # of ints or floats, a bool
LOGIC = "logic"  # bools
POWER, LDEXP, SELECT, CONSTANT = "power", "ldexp", "select", "constant"  # each in its own way
CONVERSION = "conversion"  # of any number, one of the type that is its name
OVERFLOW = "overflow"  # of ints, whether the result of another has no place in 64 bits
_FLAT = ROUNDING, BITWISE, TEST, COMPARISON, LOGIC, CONSTANT, OVERFLOW

LIBRARY = 20  # what a call costs
_MATH = vars(math)

_PYTHON: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "-x": operator.neg,
    "+x": operator.pos, "abs": abs, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "~x": operator.invert, "<<": operator.lshift, ">>": operator.rshift, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def op(name: str, types: str | None, *slopes: Slope, **facts: Any) -> None:
    """Add a row."""
    row = OPERATIONS[name] = Operation(name, types, slopes, facts)
    row.flat = types in _FLAT or (bool(slopes) and not any(slopes))
    if row.c and "cost" not in facts:
        row.cost = LIBRARY
    if "math" not in facts:
        row.math = row.c if row.c in _MATH else name if name in _MATH else ""
    if sign := row.python:
        row.exact = row.exact or _PYTHON[sign]
        if row.cost < LIBRARY and sign != "abs":
            row.text = sign.replace("x", "{}") if "x" in sign else f"{{}} {sign} {{}}"


def _same(bits: int) -> int:
    return bits


def _one_more(bits: int, other: int) -> int:
    return max(bits, other) + 1


def _is_beyond(n: int) -> bool:
    return not -(2**63) <= n < 2**63


# fmt: off

# arithmetic
op("add", NUMBER, 1, 1, python="+", wraps=True, bits=_one_more, bools="logical_or", reduce="sum")
op("subtract", NUMBER, 1, -1, python="-", wraps=True, bits=_one_more, bools="refused")
op("multiply", NUMBER, lambda x1, x2, y: x2, lambda x1, x2, y: x1, python="*", wraps=True,
   bits=lambda a, b: a + b, bools="logical_and", reduce="prod")
op("divide", FLOAT, lambda x1, x2, y: reciprocal(x2), lambda x1, x2, y: -y / x2, python="/", cost=4)
op("negative", NUMBER, -1, python="-x", wraps=True, bits=_same, bools="refused")
op("positive", NUMBER, 1, python="+x", bools="refused")
op("power", POWER, power_x, power_p, python="**", c="pow", simd=True, wraps=True, bools="bytes",
   raises="pow")
op("float_power", FLOAT, power_x, power_p, c="pow", math="")
op("floor_divide", NUMBER, 0, 0, python="//", cost=LIBRARY, wraps=True, bits=lambda a, b: a + 1,
   signed=True, bools="bytes")
op("remainder", NUMBER, 1, lambda x1, x2, y: -(x1 // x2), python="%", math="", cost=LIBRARY,
   bits=lambda a, b: b, signed=True, bools="bytes")
op("fmod", NUMBER, 1, lambda x1, x2, y: -np.rint((x1 - y) / x2), cost=LIBRARY, signed=True,
   bools="bytes", raises="fmod")
op("reciprocal", FLOAT, lambda x, y: -y * y, text="T(1.0) / {}", cost=4)
op("square", NUMBER, lambda x, y: 2 * x, text="{0} * {0}", exact=lambda x: x * x, wraps=True,
   bools="bytes")
op("sqrt", FLOAT, root_slope, cost=4, raises="x < 0")
op("cbrt", FLOAT, lambda x, y: 1 / (3 * y * y), c="cbrt", scipy="cbrt")

# exponentials and logarithms
op("exp", FLOAT, lambda x, y: y, c="exp", simd=True, raises="y = inf")
op("exp2", FLOAT, lambda x, y: LOG2 * y, c="exp2", scipy="exp2", simd=True, raises="y = inf")
op("expm1", FLOAT, lambda x, y: np.exp(x), c="expm1", scipy="expm1", simd=True, raises="y = inf")
op("log", FLOAT, lambda x, y: 1 / x, c="log", simd=True, raises="x <= 0")
op("log2", FLOAT, lambda x, y: LOG2_E / x, c="log2", simd=True, raises="x <= 0")
op("log10", FLOAT, lambda x, y: LOG10_E / x, c="log10", simd=True, raises="x <= 0")
op("log1p", FLOAT, lambda x, y: 1 / (1 + x), c="log1p", scipy="log1p", simd=True, raises="x <= -1")
op("logaddexp", FLOAT, lambda x1, x2, y: logistic(x1, x2), lambda x1, x2, y: logistic(x2, x1),
   cost=LIBRARY)
op("logaddexp2", FLOAT, lambda x1, x2, y: logistic(x1, x2, np.exp2),
   lambda x1, x2, y: logistic(x2, x1, np.exp2), cost=LIBRARY)

# trigonometry
op("sin", FLOAT, lambda x, y: np.cos(x), c="sin", simd=True, raises="|x| = inf")
op("cos", FLOAT, lambda x, y: -np.sin(x), c="cos", simd=True, raises="|x| = inf")
op("tan", FLOAT, lambda x, y: 1 + y * y, c="tan", simd=True, raises="|x| = inf")
op("arcsin", FLOAT, lambda x, y: 1 / root_of_1_minus_square(x), c="asin", raises="|x| > 1")
op("arccos", FLOAT, lambda x, y: -1 / root_of_1_minus_square(x), c="acos", raises="|x| > 1")
op("arctan", FLOAT, lambda x, y: 1 / (1 + x * x), c="atan", simd=True)
op("arctan2", FLOAT, lambda x1, x2, y: arctan2_slope(x2, x1),
   lambda x1, x2, y: -arctan2_slope(x1, x2), c="atan2")
op("hypot", FLOAT, lambda x1, x2, y: over_norm(x1, y), lambda x1, x2, y: over_norm(x2, y),
   c="hypot")
op("sinc", None, sinc_slope)
op("i0", None, bessel_i1)
op("deg2rad", FLOAT, PI / 180)
op("rad2deg", FLOAT, 180 / PI)
op("radians", FLOAT, PI / 180, same="deg2rad")
op("degrees", FLOAT, 180 / PI, same="rad2deg")

# hyperbolic functions
op("sinh", FLOAT, lambda x, y: np.cosh(x), c="sinh", simd=True, raises="y = inf")
op("cosh", FLOAT, lambda x, y: np.sinh(x), c="cosh", simd=True, raises="y = inf")
op("tanh", FLOAT, lambda x, y: 1 - y * y, c="tanh", simd=True)
op("arcsinh", FLOAT, lambda x, y: 1 / root_of_1_plus_square(x), c="asinh")
op("arccosh", FLOAT, lambda x, y: 1 / (np.sqrt(x - 1) * np.sqrt(x - (-1))), c="acosh",
   raises="x < 1")
op("arctanh", FLOAT, lambda x, y: 1 / ((1 - x) * (1 + x)), c="atanh", raises="|x| >= 1")

# special functions, which NumPy lacks
op("erf", FLOAT, lambda x, y: TWO_OVER_SQRT_PI * np.exp(-x * x), c="erf", scipy="erf", simd=True)
op("erfc", FLOAT, lambda x, y: -TWO_OVER_SQRT_PI * np.exp(-x * x), c="erfc", scipy="erfc")
op("gamma", FLOAT, lambda x, y: y * digamma(x), c="tgamma", scipy="gamma", raises="gamma")
op("lgamma", FLOAT, lambda x, y: digamma(x), c="lgamma", scipy="gammaln", raises="y = inf")

# extrema
op("maximum", NUMBER, lambda x1, x2, y: x1 > x2, lambda x1, x2, y: np.logical_not(x1 > x2),
   exact=max, bits=max, signed=True, bools="logical_or", reduce="max")
op("minimum", NUMBER, lambda x1, x2, y: np.logical_not(x1 > x2), lambda x1, x2, y: x1 > x2,
   exact=min, bits=max, signed=True, bools="logical_and", reduce="min")
op("fmax", NUMBER, lambda x1, x2, y: (x1 > x2) | np.isnan(x2),
   lambda x1, x2, y: np.logical_not((x1 > x2) | np.isnan(x2)), signed=True, bools="logical_or")
op("fmin", NUMBER, lambda x1, x2, y: np.logical_not((x1 > x2) | np.isnan(x1)),
   lambda x1, x2, y: (x1 > x2) | np.isnan(x1), signed=True, bools="logical_and")

# size and sign
op("absolute", NUMBER, lambda x, y: conj_sign(x), python="abs", wraps=True, bits=_same,
   bools="logical_or", real=True)
op("fabs", NUMBER, lambda x, y: sign(x), same="absolute", guest="abs")
op("sign", NUMBER, lambda x, y: sign_slope(x), bools="refused")
op("copysign", FLOAT, lambda x1, x2, y: sign(x1) * np.copysign(1, x2), 0)
op("heaviside", FLOAT, 0, lambda x1, x2, y: x1 == 0)

# rounding, and the floats around one
op("floor", ROUNDING, 0)
op("ceil", ROUNDING, 0)
op("trunc", ROUNDING, 0)
op("fix", ROUNDING, 0, same="trunc")
op("rint", ROUNDING, 0, guest="round")
op("nextafter", FLOAT, 1, 0, c="nextafter")
op("ldexp", LDEXP, lambda x1, x2, y: np.exp2(x2), 0, cost=LIBRARY, raises="y = inf")
op("ieee_remainder", None, 1, lambda x1, x2, y: np.rint((y - x1) / x2), math="remainder")

# complex parts
op("real", None, 1, real=True)
op("imag", None, lambda x, y: -1j if is_complex(x) else 0, real=True)
op("angle", None, lambda x, y: -1j / where(x == 0, np.inf, x) if is_complex(x) else 0, real=True)
op("conjugate", None, bools="bytes", guest="conj")

# comparisons, and what else is true or false
op("less", COMPARISON, python="<", signed=True)
op("less_equal", COMPARISON, python="<=", signed=True)
op("greater", COMPARISON, python=">", signed=True)
op("greater_equal", COMPARISON, python=">=", signed=True)
op("equal", COMPARISON, python="==", signed=True)
op("not_equal", COMPARISON, python="!=", signed=True)
op("logical_and", LOGIC, text="{} & {}", reduce="all")
op("logical_or", LOGIC, text="{} | {}", reduce="any")
op("logical_xor", LOGIC, text="{} != {}")
op("logical_not", LOGIC, text="not {}")
op("isnan", TEST)
op("isinf", TEST)
op("isfinite", TEST)
op("signbit", TEST)

# bits
op("bitwise_and", BITWISE, python="&", bools="logical_and")
op("bitwise_or", BITWISE, python="|", bools="logical_or")
op("bitwise_xor", BITWISE, python="^", bools="logical_xor")
op("invert", BITWISE, python="~x", wraps=True, bools="logical_not")
op("left_shift", None, python="<<")
op("right_shift", None, python=">>")

# of programs alone
op("select", SELECT, text="{1} if {0} else {2}",
   exact=lambda condition, x, y: x if condition else y, bits=lambda condition, a, b: max(a, b))
op("constant", CONSTANT, text="{}", exact=lambda x: x, bits=_same)  # no derivative flows through it
op("float", CONVERSION, text="T({})", signed=True)
op("float32", CONVERSION)
op("int", CONVERSION, text="int64({})", bits=_same)
op("uint", CONVERSION, text="int64({})")
op("int_power", NUMBER, exact=pow, bits=lambda a, b: 64)
op("add_overflows", OVERFLOW, exact=lambda x, y: _is_beyond(x + y))
op("subtract_overflows", OVERFLOW, exact=lambda x, y: _is_beyond(x - y))
op("multiply_overflows", OVERFLOW, exact=lambda x, y: _is_beyond(x * y))
op("int_power_overflows", OVERFLOW, exact=lambda x, y: _is_beyond(x**y))

# fmt: on

# What has partial derivatives: function -> one per argument.
table: dict[Callable[..., Any], tuple[Slope, ...]] = {
    row.function: row.slopes for row in OPERATIONS.values() if row.slopes
}

CALL = Operation("call", None, (), {"cost": LIBRARY})  # of a function that has a rule of its own

WITH_OPERATORS = [row for row in OPERATIONS.values() if row.python]

# Python's own operators mean the same functions; they keep the type of any number.
operators: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    row.dunder: (row.operator, row.function) for row in WITH_OPERATORS if row.slopes
}

BY_OPERATOR = {row.operator: row.name for row in WITH_OPERATORS if row.types}
BY_MATH = {row.math: row for row in OPERATIONS.values() if row.math}
BY_SCIPY = {row.scipy: row.name for row in OPERATIONS.values() if row.scipy}


def names(*types: str) -> frozenset[str]:
    """The operations of these types."""
    return frozenset(row.name for row in OPERATIONS.values() if row.types in types)
