"""Calls of functions of numbers, and of operators: those of the table of operations.

They are called with arrays, with numbers of Python's and of NumPy's, and with every pair of
special values.
"""

import cmath
import math
import operator

import numpy as np

from zyg.functions.operations import table

from .calls import array, call

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -2.0, 3.0])
UNIT, MORE = np.linspace(0.13, 0.87, 6).reshape(2, 3), np.linspace(1.2, 2.7, 6).reshape(2, 3)
SIGNED, COLUMN = array(2, 3), array(2, 1, seed=3)
# Complex numbers on both axes, on both sides of branch cuts.
AXES = [2j, -0.5j, complex(-0.0, 2.5), complex(2.5, -0.0), -2.5 + 0j, complex(-2.5, -0.0)]
PLACES = [0.0, -0.0, 0.5, 1.0, -1.0, 1.7, -2.3, math.inf, -math.inf, math.nan]

ONE = [
    call(SIGNED), call(UNIT), call(MORE), call(SPECIAL), call(0.7), call(np.float64(1.3)),
    call(np.array(0.4)), call(0.3 + 0.4j), call(2), call(True), call(np.array([1, 2, -3])),
    call(np.array([True, False])), call(0.0), call(np.float64(0.0)), call(1e-9), call(-1e-6),
    call(1e-9 * SIGNED), call(np.array(AXES)), call(np.float32(0.25)),
]  # fmt: skip
PAIR = np.meshgrid(SPECIAL, SPECIAL)
TWO = [
    call(SIGNED, array(2, 3, seed=1)), call(MORE, UNIT), call(*PAIR), call(SIGNED, SIGNED),
    call(MORE, COLUMN), call(MORE, 0.7), call(0.7, MORE), call(1.3, 0.6), call(MORE, 2),
    call(2, MORE), call(np.float64(1.3), MORE), call(1.0, 1.0), call(0.0, 0.0),
    call(np.array([2, 3, 5]), np.array([2, 2, 2])), call(np.array([2, 3]), np.array([0.5, 1.5])),
    call(0.3 + 0.4j, 1.5 - 0.2j), call(np.float32(1.3), 0.5), call(MORE, np.float32(0.5)),
]  # fmt: skip
NUMPY = {
    f: ONE if f.nin == 1 else TWO for f in table if isinstance(f, np.ufunc) and f.nout == 1
} | {np.sinc: ONE, np.i0: ONE, np.real: ONE, np.imag: ONE, np.angle: ONE, np.fix: ONE}
NUMPY |= dict.fromkeys([np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_not], ONE)
NUMPY |= dict.fromkeys([
    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.logical_and,
    np.logical_or, np.logical_xor,
], TWO)  # fmt: skip
NUMPY[np.ldexp] = [
    call(SIGNED, 3),
    call(SIGNED, np.array([1, -2, 0])),
    call(0.7, 2),
    call(SIGNED, 2, dtype=np.float64),
]

NUMBERS = [call(x) for x in PLACES]
PAIRS = [call(x, y) for x in PLACES for y in (0.0, 1.0, -1.5, 2.0, math.inf, math.nan)]
_TWO = {"atan2", "pow", "copysign", "fmod", "remainder", "nextafter"}
_ONE = {
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "degrees",
    "erf", "erfc", "exp", "exp2", "expm1", "fabs", "floor", "gamma", "lgamma", "log", "log10",
    "log1p", "log2", "radians", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "isnan", "isinf",
}  # fmt: skip
MATH = {
    **{getattr(math, name): NUMBERS for name in sorted(_ONE) if hasattr(math, name)},
    **{getattr(math, name): PAIRS for name in sorted(_TWO) if hasattr(math, name)},
    math.hypot: [
        call(3.0, 4.0),
        call(0.0, 0.0),
        call(1.0, 2.0, -2.0),
        call(0.0, 0.0, 2.0),
        call(-2.0),
        call(1e200, 2e200, 2e200),
        call(1.0, math.inf, 2.0),
        call(np.float64(1.0), 2.0, 0.5),
    ],
    math.ldexp: [call(0.7, 3), call(0.0, 2), call(-1.5, -1)],
    math.dist: [call((1.0, 2.0), (3.0, 0.5))],
    math.fsum: [call([0.1, 0.2, 0.3])],
    math.prod: [call([0.5, 2.0, 3.0]), call([0.5, 0.0, 3.0])],
}

COMPLEX = [call(z) for z in (0.3 + 0.4j, -1.2 + 0.5j, 1.0 + 0j, -0.7 - 2j, 2.5, *AXES)]
CMATH = {
    getattr(cmath, name): COMPLEX
    for name in (
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "log", "log10",
        "phase", "polar", "sin", "sinh", "sqrt", "tan", "tanh",
    )
} | {cmath.rect: [call(2.0, 0.5), call(np.float64(2.0), 0.5), call(0.0, 0.3)]}  # fmt: skip

_NUMBER = [
    call(1.3, 0.6), call(0.0, 0.0), call(-2.0, 3), call(2, 0.5), call(3, -2), call(1.5, math.inf),
    call(-0.0, 1.0), call(True, 0.5), call(0.3 + 0.4j, 1.5), call(np.float64(1.3), 2.0),
    call(np.float32(1.3), 2.0), call(7.5, -2.0), call(math.nan, 1.0),
]  # fmt: skip
OPERATORS = {
    **{
        getattr(operator, name): [*_NUMBER, *TWO[:10]]
        for name in (
            "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge", "eq",
            "ne",
        )
    },
    **{getattr(operator, name): ONE for name in ("neg", "pos", "abs")},
    operator.matmul: [
        call(SIGNED, array(3)), call(array(2), SIGNED), call(SIGNED, array(3, 2)),
        call(array(3), array(3, seed=1)), call(array(2, 2, 3), array(3, 4)),
    ],
    divmod: _NUMBER[:4] + TWO[:2], round: [call(1.3), call(-2.5), call(0.5)],
    float: [call(1.3), call(2)], max: [call(1.3, 0.6), call(1.0, 1.0), call(0.5, math.nan)],
    min: [call(1.3, 0.6), call(1.0, 1.0), call(0.5, math.nan)],
}  # fmt: skip
