"""The policy on kinks, ties, zeros, infinities, NaN and dtypes, in tables.

A row is a function, a point and the derivatives there. Every row runs in every mode, on every kind
of number and array that can hold its point; a mode or a kind is one more entry of a table.
"""

import itertools
import math
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import zyg
from zyg.errors import MissingRuleError
from zyg.functions.operations import table

from ..functions.test_rules import CALLS

INF, NAN, PI = math.inf, math.nan, math.pi
where = np.where


# How a derivative is taken: the slopes of the sum of f's elements, as the arguments are


def reverse(f, xs):
    return zyg.gradient(lambda *a: np.sum(f(*a)), *xs, zeros=True)


def forward(f, xs):
    """Along one element of one argument after the other, by 1 and, where complex, by 1j."""
    slopes = []
    for k, x in enumerate(xs):
        dtype = np.asarray(x).dtype
        slope = np.zeros(np.shape(x), dtype if dtype.kind in "fc" else float)
        for place in np.ndindex(slope.shape):
            for unit in (1, 1j) if dtype.kind == "c" else (1,):
                tangents = [np.zeros(np.shape(v), slope.dtype) for v in xs]
                tangents[k][place] = unit
                along = (t if t.ndim else t[()] for t in tangents)
                y, y_dot = zyg.pushforward(lambda *a: np.sum(f(*a)), tuple(xs), tuple(along))
                assert_like(y_dot, y, "forward")
                slope[place] += unit * y_dot
        one = float if isinstance(x, (int, np.integer)) else type(x)
        slopes.append(slope if isinstance(x, np.ndarray) else one(slope[()]))
    return slopes


MODES = {"reverse": reverse, "forward": forward}
MODE = pytest.mark.parametrize("mode", MODES)


def slope_of(f, x):
    """The slope of an elementwise function by one forward pass, which can be nested."""
    one = np.ones(np.shape(x), getattr(x, "dtype", float))
    return zyg.pushforward(f, (x,), (one if np.ndim(x) else one[()],))[1]


INNER = {"reverse": lambda f, x: reverse(f, [x])[0], "forward": slope_of}


# What an argument is


class Kind(NamedTuple):
    """`hold` makes an argument of a number; `at` is where that number is in it."""

    hold: Any
    at: Any = None


REST = 0.75  # what else is in an array that holds a number
FLOATS = [np.float16, np.float32, np.float64, np.longdouble]
COMPLEX = [np.complex64, np.complex128, np.clongdouble]


def strided(x, dtype):
    room = np.full((5, 2), REST, dtype)
    view = room[::-2, 1]
    view[1] = x
    return view


def kinds(python_types, dtypes):
    made = {t.__name__: Kind(t) for t in (*python_types, *dtypes)}
    for t in dtypes:
        made[f"{t.__name__} 0-d"] = Kind(lambda x, t=t: np.array(x, t), ())
        made[f"{t.__name__} 1-d"] = Kind(lambda x, t=t: np.array([REST, x, REST], t), 1)
        made[f"{t.__name__} strided"] = Kind(lambda x, t=t: strided(x, t), 1)
    return made


NUMBERS = kinds([float], FLOATS)
PLANE = kinds([complex], COMPLEX)
INTEGERS = {
    "int": Kind(int),
    "np.int64": Kind(np.int64),
    "int8 0-d": Kind(lambda x: np.array(x, np.int8), ()),
    "int64 1-d": Kind(lambda x: np.array([1, x, 1]), 1),
}


def element(c, kind):
    return c if kind.at is None else c[kind.at]


def tolerance(x):
    """A few units in the last place of x, or of float64, in which the tables are written."""
    dtype = np.asarray(x).dtype
    return 10 * max(float(np.finfo(dtype if dtype.kind in "fc" else float).eps), 2e-16)


def assert_like(c, x, name):
    """A cotangent is of the type, shape and dtype of its argument; that of an int is a float."""
    if isinstance(x, np.ndarray):
        expected: Any = (x.shape, x.dtype if x.dtype.kind in "fc" else np.dtype(float))
        assert isinstance(c, np.ndarray), (name, c)
        assert (c.shape, c.dtype) == expected, (name, c)
    else:
        assert type(c) is (float if isinstance(x, (int, np.integer)) else type(x)), (name, c)


def assert_slopes(slopes, f, at, expected, kind, name):
    xs = [kind.hold(x) for x in at]
    with np.errstate(all="ignore"):
        bars = slopes(f, xs)
        rest = slopes(f, [x[0] for x in xs]) if kind.at == 1 else None
    for k, (x, c, d) in enumerate(zip(xs, bars, expected, strict=True)):
        assert_like(c, x, name)
        rtol = tolerance(x)
        np.testing.assert_allclose(element(c, kind), d, rtol=rtol, atol=0, err_msg=name)
        if rest is not None:  # the others are unharmed
            np.testing.assert_allclose(c[[0, -1]], rest[k], rtol=rtol, err_msg=f"{name}: others")


def holds(kind, at):
    """Whether a kind of number holds these numbers exactly."""
    return all(float(np.ravel(kind.hold(0.0))[0] + x) == x or x != x for x in at)


# Functions of numbers: f, where, its slopes there

FUNCTIONS = {
    # modulus and roots
    "abs at 0": (np.abs, (0.0,), (0.0,)),
    "abs at -0": (np.abs, (-0.0,), (0.0,)),
    "builtin abs at 0": (abs, (0.0,), (0.0,)),
    "fabs at 0": (np.fabs, (0.0,), (0.0,)),
    "abs at -inf": (np.abs, (-INF,), (-1.0,)),
    "abs at nan": (np.abs, (NAN,), (NAN,)),
    "sqrt at 0": (np.sqrt, (0.0,), (INF,)),
    "sqrt at -0": (np.sqrt, (-0.0,), (INF,)),
    "sqrt below 0": (np.sqrt, (-1.0,), (NAN,)),
    "sqrt at inf": (np.sqrt, (INF,), (0.0,)),
    "cbrt at 0": (np.cbrt, (0.0,), (INF,)),
    "x**0.5 at 0": (lambda x: x**0.5, (0.0,), (INF,)),
    "sqrt(x**2) at 0": (lambda x: np.sqrt(x**2), (0.0,), (0.0,)),
    "sqrt(x*x) at 0": (lambda x: np.sqrt(x * x), (0.0,), (0.0,)),
    "sqrt(square(x)) at 0": (lambda x: np.sqrt(np.square(x)), (0.0,), (0.0,)),
    "sqrt(x*x + y*y) at 0": (lambda x, y: np.sqrt(x * x + y * y), (0.0, 0.0), (0.0, 0.0)),
    "hypot at 0": (np.hypot, (0.0, 0.0), (0.0, 0.0)),
    "hypot on an axis": (np.hypot, (3.0, 0.0), (1.0, 0.0)),
    "arctan2 at 0": (np.arctan2, (0.0, 0.0), (0.0, 0.0)),
    "arctan2 on an axis": (np.arctan2, (0.0, 2.0), (0.5, 0.0)),
    "arctan2 on the cut": (np.arctan2, (0.0, -2.0), (-0.5, 0.0)),
    # ties
    "maximum, tie": (np.maximum, (1.5, 1.5), (0.0, 1.0)),
    "minimum, tie": (np.minimum, (1.5, 1.5), (1.0, 0.0)),
    "fmax, tie": (np.fmax, (1.5, 1.5), (0.0, 1.0)),
    "fmin, tie": (np.fmin, (1.5, 1.5), (1.0, 0.0)),
    "fmax(a, nan)": (np.fmax, (1.5, NAN), (1.0, 0.0)),
    "fmax(nan, b)": (np.fmax, (NAN, 1.5), (0.0, 1.0)),
    "fmin(a, nan)": (np.fmin, (1.5, NAN), (1.0, 0.0)),
    "fmin(nan, b)": (np.fmin, (NAN, 1.5), (0.0, 1.0)),
    "maximum(x, 0) at 0": (lambda x: np.maximum(x, 0), (0.0,), (0.0,)),
    "maximum(x, 0) at -0": (lambda x: np.maximum(x, 0), (-0.0,), (0.0,)),
    "maximum(x, x)": (lambda x: np.maximum(x, x), (1.5,), (1.0,)),
    "minimum(x, x)": (lambda x: np.minimum(x, x), (1.5,), (1.0,)),
    "clip at its lower bound": (lambda x: np.clip(x, 0.0, 1.0), (0.0,), (1.0,)),
    "clip at its upper bound": (lambda x: np.clip(x, 0.0, 1.0), (1.0,), (1.0,)),
    "clip above": (lambda x: np.clip(x, 0.0, 1.0), (1.5,), (0.0,)),
    "clip below": (lambda x: np.clip(x, 0.0, 1.0), (-1.5,), (0.0,)),
    "clip of inf": (lambda x: np.clip(x, 0.0, 1.0), (INF,), (0.0,)),
    "clip from below only": (lambda x: np.clip(x, 0.0, None), (-1.0,), (0.0,)),
    "clip, bound watched": (np.clip, (2.0, 0.0, 1.0), (0.0, 0.0, 1.0)),
    "clip, all tied": (np.clip, (1.0, 1.0, 1.0), (1.0, 0.0, 0.0)),
    "clip, bounds crossed": (np.clip, (0.5, 2.0, 1.0), (0.0, 0.0, 1.0)),
    # powers
    "x**0 at 0": (lambda x: x**0, (0.0,), (0.0,)),
    "x**0.0 at 0": (lambda x: x**0.0, (0.0,), (0.0,)),
    "x**0 at inf": (lambda x: x**0, (INF,), (0.0,)),
    "power(x, 0) at 0": (lambda x: np.power(x, 0.0), (0.0,), (0.0,)),
    "x**1 at 0": (lambda x: x**1, (0.0,), (1.0,)),
    "x**1.0 at 0": (lambda x: x**1.0, (0.0,), (1.0,)),
    "x**2 at 0": (lambda x: x**2, (0.0,), (0.0,)),
    "x**1.5 at 0": (lambda x: x**1.5, (0.0,), (0.0,)),
    "x**p at 0, 2": (lambda x, p: x**p, (0.0, 2.0), (0.0, 0.0)),
    "x**p at 0, 1": (lambda x, p: x**p, (0.0, 1.0), (1.0, 0.0)),
    "x**p at 0, 0": (lambda x, p: x**p, (0.0, 0.0), (0.0, 0.0)),
    "x**p at 0, 0.5": (lambda x, p: x**p, (0.0, 0.5), (INF, 0.0)),
    "0**p in p": (lambda p: 0.0**p, (3.0,), (0.0,)),
    "0**p in p, at 0": (lambda p: 0.0**p, (0.0,), (0.0,)),
    "1**p in p": (lambda p: 1.0**p, (3.0,), (0.0,)),
    "power(inf, p)": (np.power, (INF, -1.0), (0.0, 0.0)),
    "x**3 below 0": (lambda x: x**3, (-2.0,), (12.0,)),
    "x**3.0 below 0": (lambda x: x**3.0, (-2.0,), (12.0,)),
    "x**-2.0 below 0": (lambda x: x**-2.0, (-2.0,), (0.25,)),
    "power below 0, whole exponent": (np.power, (-2.0, 2.0), (-4.0, 4 * math.log(2.0))),
    "power below 0, fraction": (np.power, (-2.0, 0.5), (NAN, NAN)),
    "power below 0, fixed fraction": (lambda x: np.power(x, 0.5), (-2.0,), (NAN,)),
    # quotients and domain edges
    "1/x at 0": (lambda x: np.divide(1.0, x), (0.0,), (-INF,)),
    "1/x at inf": (lambda x: np.divide(1.0, x), (INF,), (0.0,)),
    "x/y at y = 0": (np.divide, (1.0, 0.0), (INF, -INF)),
    "reciprocal at 0": (np.reciprocal, (0.0,), (-INF,)),
    "log at 0": (np.log, (0.0,), (INF,)),
    "log2 at 0": (np.log2, (0.0,), (INF,)),
    "log10 at 0": (np.log10, (0.0,), (INF,)),
    "log1p at -1": (np.log1p, (-1.0,), (INF,)),
    "log below 0": (lambda x: np.log(x) * 1.0, (NAN,), (NAN,)),
    "arcsin at 1": (np.arcsin, (1.0,), (INF,)),
    "arcsin at -1": (np.arcsin, (-1.0,), (INF,)),
    "arccos at 1": (np.arccos, (1.0,), (-INF,)),
    "arccosh at 1": (np.arccosh, (1.0,), (INF,)),
    "arctanh at 1": (np.arctanh, (1.0,), (INF,)),
    "x log x at 0": (lambda x: x * np.log(x), (0.0,), (-INF,)),
    # the ends of the line
    "exp overflows": (np.exp, (12000.0,), (INF,)),
    "exp at -inf": (np.exp, (-INF,), (0.0,)),
    "expm1 at -inf": (np.expm1, (-INF,), (0.0,)),
    "tanh at inf": (np.tanh, (INF,), (0.0,)),
    "tanh at -inf": (np.tanh, (-INF,), (0.0,)),
    "arctan at inf": (np.arctan, (INF,), (0.0,)),
    "arcsinh at inf": (np.arcsinh, (INF,), (0.0,)),
    "log at inf": (np.log, (INF,), (0.0,)),
    "logaddexp(-inf, -inf)": (np.logaddexp, (-INF, -INF), (0.5, 0.5)),
    "logaddexp(-inf, b)": (np.logaddexp, (-INF, 1.0), (0.0, 1.0)),
    "logaddexp(inf, inf)": (np.logaddexp, (INF, INF), (0.5, 0.5)),
    "logaddexp2(-inf, -inf)": (np.logaddexp2, (-INF, -INF), (0.5, 0.5)),
    "nan stays nan": (lambda x: x * NAN, (1.0,), (NAN,)),
    # steps
    "floor": (np.floor, (1.0,), (0.0,)),
    "ceil": (np.ceil, (1.0,), (0.0,)),
    "trunc": (np.trunc, (1.0,), (0.0,)),
    "fix": (np.fix, (1.5,), (0.0,)),
    "rint": (np.rint, (0.5,), (0.0,)),
    "round": (np.round, (0.5,), (0.0,)),
    "sign": (np.sign, (0.0,), (0.0,)),
    "sign of nan": (np.sign, (NAN,), (0.0,)),
    "//": (lambda x, y: x // y, (5.5, 2.0), (0.0, 0.0)),
    "mod": (np.mod, (5.5, 2.0), (1.0, -2.0)),
    "mod of a multiple": (np.mod, (6.0, 2.0), (1.0, -3.0)),
    "% below 0": (lambda x, y: x % y, (-5.5, 2.0), (1.0, 3.0)),
    "mod(a, inf)": (np.mod, (5.5, INF), (1.0, 0.0)),
    "fmod": (np.fmod, (-5.5, 2.0), (1.0, 2.0)),
    "fmod, quotient rounded up": (np.fmod, (1.0, 0.1), (1.0, -9.0)),
    "divmod, quotient": (lambda x, y: divmod(x, y)[0], (5.5, 2.0), (0.0, 0.0)),
    "divmod, remainder": (lambda x, y: np.divmod(x, y)[1], (5.5, 2.0), (1.0, -2.0)),
    "modf, fraction": (lambda x: np.modf(x)[0], (1.5,), (1.0,)),
    "modf, whole": (lambda x: np.modf(x)[1], (1.5,), (0.0,)),
    "heaviside at 0": (np.heaviside, (0.0, 0.5), (0.0, 1.0)),
    "heaviside beside 0": (np.heaviside, (0.5, 0.5), (0.0, 0.0)),
    "copysign of 0": (np.copysign, (0.0, 1.0), (0.0, 0.0)),
    "copysign to -0": (np.copysign, (2.0, -0.0), (-1.0, 0.0)),
    "nan_to_num of nan": (np.nan_to_num, (NAN,), (0.0,)),
    "nan_to_num of inf": (np.nan_to_num, (INF,), (0.0,)),
    "nan_to_num of a number": (np.nan_to_num, (1.5,), (1.0,)),
    # parts of real numbers
    "real": (np.real, (1.5,), (1.0,)),
    "imag": (np.imag, (1.5,), (0.0,)),
    "conj": (np.conj, (1.5,), (1.0,)),
    "angle below 0": (np.angle, (-1.5,), (0.0,)),
    "sinc at 0": (np.sinc, (0.0,), (0.0,)),
    # strong zero: what is not taken does not count
    "where: sqrt": (lambda x: where(x > 0, np.sqrt(x), 0.0), (0.0,), (0.0,)),
    "where: quotient": (lambda x: where(x == 0, x, np.divide(1, x)), (0.0,), (1.0,)),
    "where: log": (lambda x: where(x > 0, np.log(x), x), (0.0,), (1.0,)),
    "where: log of nan": (lambda x: where(x < 2, x, np.log(-x)), (1.5,), (1.0,)),
    "where: arcsin": (lambda x: where(x < 1, np.arcsin(x), x), (1.5,), (1.0,)),
    "where: exp": (lambda x: where(x < 100, x, np.exp(x * x)), (64.0,), (1.0,)),
    "where: power": (lambda x: where(x > 0, x**0.5, 0.0), (0.0,), (0.0,)),
    "where: chain": (lambda x: where(x > 0, np.log(np.sqrt(x) / x), 0.0), (0.0,), (0.0,)),
    "where: inf taken": (lambda x: where(x >= 0, np.sqrt(x), 0.0), (0.0,), (INF,)),
    "x log x, guarded": (lambda x: where(x == 0, 0.0, x * np.log(x)), (0.0,), (0.0,)),
    "x log y, guarded": (
        lambda x, y: where(x == 0, 0.0, x * np.log(y)), (0.0, 0.0), (0.0, 0.0),
    ),
    "0 * sqrt(x)": (lambda x: 0.0 * np.sqrt(x), (0.0,), (0.0,)),
    "0 * log(x)": (lambda x: 0.0 * np.log(x + 1), (-1.0,), (0.0,)),
    "sqrt(x)**2 at 0": (lambda x: np.sqrt(x) ** 2, (0.0,), (0.0,)),
}  # fmt: skip

# What NumPy's integers, or Python's, do not take or answer otherwise.
NOT_OF_INTEGERS = {
    "abs at -0", "sqrt at -0", "maximum(x, 0) at -0", "x/y at y = 0", "reciprocal at 0",
    "power(inf, p)", "x**-2.0 below 0", "exp overflows", "copysign to -0", "0**p in p, at 0",
}  # fmt: skip


@MODE
@pytest.mark.parametrize("row", FUNCTIONS)
def test_functions_of_numbers(row, mode):
    f, at, expected = FUNCTIONS[row]
    for name, kind in NUMBERS.items():
        if holds(kind, at):
            assert_slopes(MODES[mode], f, at, expected, kind, name)


@MODE
@pytest.mark.parametrize(
    "row",
    [r for r, (_, at, _) in FUNCTIONS.items()
     if r not in NOT_OF_INTEGERS and all(map(float.is_integer, at))],
)  # fmt: skip
def test_functions_of_integers_are_those_of_the_real_numbers_they_are(row, mode):
    f, at, expected = FUNCTIONS[row]
    for name, kind in INTEGERS.items():
        assert_slopes(MODES[mode], f, at, expected, kind, name)


# The partial of these would wrap around, or refuse, if it were computed in integers.
IN_INTEGERS = {
    "arctan": (np.arctan, (50000,), np.int32),
    "log1p": (np.log1p, (2**32 - 1,), np.uint32),
    "logaddexp": (np.logaddexp, (1, 2), np.uint32),
    "arcsin": (np.arcsin, (0,), np.uint64),
    "arccosh": (np.arccosh, (2**31 - 1,), np.int32),
    "arctanh": (np.arctanh, (0,), np.uint32),
    "float_power": (np.float_power, (100, 30), np.int64),
    "float_power, negative": (np.float_power, (2, -1), np.int64),
}


@MODE
@pytest.mark.parametrize("row", IN_INTEGERS)
@pytest.mark.parametrize("hold", [np.array, lambda x, t: np.array([x, x], t), lambda x, t: t(x)])
def test_slopes_at_integers_are_computed_in_real_numbers(row, hold, mode):
    f, at, dtype = IN_INTEGERS[row]
    bars = MODES[mode](f, [hold(x, dtype) for x in at])
    for c, d in zip(bars, MODES[mode](f, [float(x) for x in at]), strict=True):
        np.testing.assert_allclose(c, np.full_like(c, d), rtol=1e-14)


# Second derivatives

SECOND = {
    "sinc at 0": (np.sinc, 0.0, -PI * PI / 3),
    "x**2 at 0": (lambda x: x**2, 0.0, 2.0),
    "x**2.0 at 0": (lambda x: x**2.0, 0.0, 2.0),
    "x*x at 0": (lambda x: x * x, 0.0, 2.0),
    "square at 0": (np.square, 0.0, 2.0),
    "x**0 at 0": (lambda x: x**0, 0.0, 0.0),
    "x**1 at 0": (lambda x: x**1, 0.0, 0.0),
    "x**3 at 0": (lambda x: x**3, 0.0, 0.0),
    "x**1.5 at 0": (lambda x: x**1.5, 0.0, INF),
    "sqrt(x**2) at 0": (lambda x: np.sqrt(x**2), 0.0, 0.0),
    "abs twice at 0": (lambda x: abs(abs(x)), 0.0, 0.0),
    "x abs(x) at 0": (lambda x: x * abs(x), 0.0, 0.0),
    "maximum(x, 0)**2 at 0": (lambda x: np.maximum(x, 0) ** 2, 0.0, 0.0),
    "maximum(x, 0)**2 at 1": (lambda x: np.maximum(x, 0) ** 2, 1.0, 2.0),
    "clip(x)**2 at the bound": (lambda x: np.clip(x, 0, 1) ** 2, 1.0, 2.0),
    "clip(x)**2 outside": (lambda x: np.clip(x, 0, 1) ** 2, 2.0, 0.0),
    "hypot(x, 1) at 0": (lambda x: np.hypot(x, 1.0), 0.0, 1.0),
    "hypot(x, 0) at 0": (lambda x: np.hypot(x, 0.0), 0.0, 0.0),
    "arctan2(x, 1) at 0": (lambda x: np.arctan2(x, 1.0), 0.0, 0.0),
    "arctan2(x, 0) at 0": (lambda x: np.arctan2(x, 0.0), 0.0, 0.0),
    "logaddexp(x, 0) at 0": (lambda x: np.logaddexp(x, 0.0), 0.0, 0.25),
    "logaddexp(x, x)": (lambda x: np.logaddexp(x, x), 1.0, 0.0),
    "logaddexp(x, -inf)": (lambda x: np.logaddexp(x, -INF), 1.0, 0.0),
    "logaddexp(x, inf)": (lambda x: np.logaddexp(x, INF), 1.0, 0.0),
    "logaddexp far out": (lambda x: np.logaddexp(x, 0.0), 30000.0, 0.0),
    "tanh far out": (np.tanh, 30000.0, 0.0),
    "expm1 at 0": (np.expm1, 0.0, 1.0),
    "log1p at 0": (np.log1p, 0.0, -1.0),
    "x floor(x)": (lambda x: x * np.floor(x), 1.5, 0.0),
    "x mod(x, 2)": (lambda x: x * np.mod(x, 2.0), 1.5, 2.0),
    "x copysign(x, 1) at 0": (lambda x: x * np.copysign(x, 1.0), 0.0, 0.0),
    "nan_to_num(x)**2 at nan": (lambda x: np.nan_to_num(x) ** 2, NAN, 0.0),
    "where: sqrt": (lambda x: where(x > 0, np.sqrt(x), 0.0), 0.0, 0.0),
    "where: sqrt, and a square": (lambda x: where(x > 0, np.sqrt(x), x * x), 0.0, 2.0),
    "where: quotient": (lambda x: where(x == 0, 1.0, np.sin(x) / (x + (x == 0))), 0.0, 0.0),
    "where: log": (lambda x: where(x > 0, np.log(x), x**3), 0.0, 0.0),
    "where: exp(-1/x^2)": (lambda x: where(x == 0, 0.0, np.exp(-np.divide(1, x * x))), 0.0, 0.0),
    "x log x, guarded": (lambda x: where(x == 0, 0.0, x * np.log(x)), 0.0, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("modes", [*itertools.product(MODES, MODES)], ids=" over ".join)
@pytest.mark.parametrize("row", SECOND)
def test_second_derivatives(row, modes):
    f, at, expected = SECOND[row]
    outer, inner = MODES[modes[0]], INNER[modes[1]]
    for name, kind in NUMBERS.items():
        if holds(kind, (at,)):
            assert_slopes(outer, lambda x: inner(f, x), (at,), (expected,), kind, name)


# Functions of several elements

GRID = [[1.0, 5.0, 5.0], [7.0, 7.0, 2.0]]
SEVERAL = {
    "max: the first": (np.max, [1.0, 3.0, 3.0], [0.0, 1.0, 0.0]),
    "min: the first": (np.min, [1.0, 3.0, 1.0], [1.0, 0.0, 0.0]),
    "max of a constant": (np.max, [2.0, 2.0], [1.0, 0.0]),
    "max along rows": (lambda x: np.max(x, axis=1), GRID, [[0, 1, 0], [1, 0, 0]]),
    "max along columns": (lambda x: np.max(x, axis=0), [[1.0, 2.0], [1.0, 3.0]], [[1, 0], [0, 1]]),
    "min over both": (lambda x: np.min(x, axis=(1, 0)), [[2.0, 1.0], [1.0, 3.0]], [[0, 1], [0, 0]]),
    "max of 0 and -0": (np.max, [-0.0, 0.0], [1.0, 0.0]),
    "max of nan": (np.max, [1.0, NAN, 3.0, NAN], [0.0, 1.0, 0.0, 0.0]),
    "nanmax": (np.nanmax, [NAN, 2.0, 2.0], [0.0, 1.0, 0.0]),
    "ptp": (np.ptp, [1.0, 3.0, 3.0, 1.0], [-1.0, 1.0, 0.0, 0.0]),
    "ptp of a constant": (np.ptp, [2.0, 2.0], [0.0, 0.0]),
    "argmax is an index": (lambda x: x[np.argmax(x)], [1.0, 3.0, 3.0], [0.0, 1.0, 0.0]),
    "argmax is constant": (lambda x: np.argmax(x) * 2.0 + 0 * x[0], [1.0, 3.0], [0.0, 0.0]),
    "builtin max: the first": (lambda x: max(x[0], x[1]), [2.0, 2.0], [1.0, 0.0]),
    "builtin min: the first": (lambda x: min(x[0], x[1]), [2.0, 2.0], [1.0, 0.0]),
    "sort is stable": (
        lambda x: np.sort(x) * np.array([1.0, 2.0, 4.0], x.dtype), [2.0, 2.0, 1.0], [2.0, 4.0, 1.0],
    ),
    "median of an even count": (np.median, [1.0, 4.0, 2.0, 3.0], [0.0, 0.0, 0.5, 0.5]),
    "median of an odd count": (np.median, [1.0, 4.0, 2.0], [0.0, 0.0, 1.0]),
    "median, tie": (lambda x: np.median(x), [2.0, 2.0], [0.5, 0.5]),
    "norm at the origin": (np.linalg.norm, [0.0, 0.0], [0.0, 0.0]),
    "norm along rows": (
        lambda x: np.linalg.norm(x, axis=1), [[0.0, 0.0], [3.0, 4.0]], [[0, 0], [0.6, 0.8]],
    ),
    "norm, ord=1": (lambda x: np.linalg.norm(x, 1), [0.0, -2.0], [0.0, -1.0]),
    "norm, ord=3": (lambda x: np.linalg.norm(x, 3), [0.0, 0.0], [0.0, 0.0]),
    "norm, ord=inf": (lambda x: np.linalg.norm(x, INF), [-2.0, 2.0], [-1.0, 0.0]),
    "sqrt(sum(x**2))": (lambda x: np.sqrt(np.sum(x**2)), [0.0, 0.0], [0.0, 0.0]),
    "std of a constant": (np.std, [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]),
    "std of constant rows": (
        lambda x: np.std(x, axis=1), [[2.0, 2.0], [1.0, 5.0]], [[0, 0], [-0.5, 0.5]],
    ),
    "var of a constant": (np.var, [2.0, 2.0], [0.0, 0.0]),
    "prod, one zero": (np.prod, [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    "prod, two zeros": (np.prod, [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    "prod of zeros": (np.prod, [0.0], [1.0]),
    "cumprod, one zero": (np.cumprod, [2.0, 0.0, 3.0], [1.0, 8.0, 0.0]),
    "cumprod, two zeros": (np.cumprod, [2.0, 0.0, 0.0], [1.0, 2.0, 0.0]),
    "mean of nothing": (np.mean, [], []),
    "sum of nothing": (np.sum, [], []),
    "prod of nothing": (np.prod, [], []),
    "logsumexp, far out": (
        lambda x: np.log(np.sum(np.exp(x - np.max(x)))) + np.max(x),
        [9e3, 9e3, -INF], [0.5, 0.5, 0.0],
    ),
    "logaddexp.reduce from -inf": (
        lambda x: np.logaddexp(np.logaddexp(-INF, x[0]), x[1]), [-INF, 2.0], [0.0, 1.0],
    ),
    "where: norm of what is not finite": (
        lambda x: where(x < 9, x, np.linalg.norm(x / 0.0)), [1.0, -1.0], [1.0, 1.0],
    ),
    "where: std of what is not finite": (
        lambda x: where(x < 9, x, np.std(x / 0.0)), [1.0, -1.0], [1.0, 1.0],
    ),
    "where: prod of what is not finite": (
        lambda x: where(x < 9, x, np.prod(x / 0.0)), [1.0, -1.0], [1.0, 1.0],
    ),
    "where: masked sum": (
        lambda x: np.sum(where(x > 0, np.log(x), 0.0)), [0.0, 2.0, 0.0], [0.0, 0.5, 0.0],
    ),
    "where: masked mean": (
        lambda x: np.mean(where(x > 0, np.sqrt(x), x)), [0.0, 4.0], [0.5, 0.125],
    ),
    "where: softmax of -inf": (
        lambda x: np.exp(x)[0] / np.sum(np.exp(x)), [0.0, 0.0, -INF], [0.25, -0.25, 0.0],
    ),
}  # fmt: skip
LAYOUTS = {
    "contiguous": lambda x: x,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x: x[..., ::-1].copy()[..., ::-1],
    "Fortran": np.asfortranarray,
}


@MODE
@pytest.mark.parametrize("row", SEVERAL)
def test_functions_of_several_elements(row, mode):
    f, at, expected = SEVERAL[row]
    for t, (name, lay_out) in itertools.product(FLOATS, LAYOUTS.items()):
        if t is np.float16 and f is np.linalg.norm and np.size(at) == 0:
            continue
        x = lay_out(np.array(at, t))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            (c,) = MODES[mode](f, [x])
        assert_like(c, x, name)
        np.testing.assert_allclose(c, expected, rtol=tolerance(x), atol=0, err_msg=f"{t} {name}")


# Complex numbers: df = Re(conj(slope) dz)

COMPLEX_PLANE = {
    "abs at 0": (np.abs, 0j, 0j),
    "builtin abs at 0": (abs, 0j, 0j),
    "abs": (np.abs, 3 + 4j, 0.6 + 0.8j),
    "abs on the real axis": (np.abs, -2 + 0j, -1 + 0j),
    "abs**2 at 0": (lambda z: abs(z) ** 2, 0j, 0j),
    "angle at 0": (np.angle, 0j, 0j),
    "angle": (np.angle, 2j, -0.5 + 0j),
    "real": (np.real, 1 + 2j, 1 + 0j),
    "imag": (np.imag, 1 + 2j, 1j),
    "conj": (lambda z: np.conj(z).imag, 1 + 2j, -1j),
    "z**2 at 0": (lambda z: (z**2).real, 0j, 0j),
    "z**0 at 0": (lambda z: (z**0).real, 0j, 0j),
    "z**1 at 0": (lambda z: (z**1).real, 0j, 1 + 0j),
    "sqrt below 0": (lambda z: np.sqrt(z).imag, -4 + 0j, -0.25 + 0j),
    "where: log": (lambda z: where(z == 0, 0.0, np.log(z).real), 0j, 0j),
    "where: quotient": (lambda z: where(z == 0, 0.0, np.divide(1, z).real), 0j, 0j),
    "nan_to_num": (lambda z: np.nan_to_num(z).imag, complex(NAN, 1.0), 1j),
    "nan_to_num, real part": (lambda z: np.nan_to_num(z).real, complex(NAN, 1.0), 0j),
    "sinc at 0": (lambda z: np.sinc(z).real, 0j, 0j),
}


@MODE
@pytest.mark.parametrize("row", COMPLEX_PLANE)
def test_functions_of_complex_numbers(row, mode):
    f, at, expected = COMPLEX_PLANE[row]
    for name, kind in PLANE.items():
        z = kind.hold(at)
        with np.errstate(all="ignore"):
            (c,) = MODES[mode](f, [z])
        assert_like(c, z, name)
        np.testing.assert_allclose(element(c, kind), expected, rtol=tolerance(z), err_msg=name)


# Strong zero can be turned off, in a block and for good

POISONED = [
    *itertools.product(["sqrt(x**2) at 0", "0 * sqrt(x)"], MODES),
    *itertools.product(["where: sqrt", "x log x, guarded"], ["reverse"]),  # forward, where selects
]


@pytest.mark.parametrize(("row", "mode"), POISONED)
def test_strong_zero_can_be_turned_off(row, mode):
    f, at, _ = FUNCTIONS[row]
    for kind in NUMBERS.values():
        xs = [kind.hold(x) for x in at]
        with np.errstate(all="ignore"), zyg.config(strong_zero=False):
            assert np.isnan(element(MODES[mode](f, xs)[0], kind))
        with np.errstate(all="ignore"):
            assert element(MODES[mode](f, xs)[0], kind) == 0.0


def test_a_cotangent_of_zero_is_the_same_as_no_cotangent():
    x = np.array([0.0, 4.0, -1.0])
    for f in (np.sqrt, np.log, lambda x: np.cumsum(np.sqrt(x)), lambda x: np.prod(np.log(x))):
        with np.errstate(all="ignore"):
            y, back = zyg.pullback(f, x)
            (c,) = back(np.zeros_like(y))
        np.testing.assert_array_equal(c, np.zeros(3))


def test_half_precision_gradients_are_finite_though_their_sum_is_not():
    x = np.full(10, 2.0, np.float16)
    with zyg.config(check_nan=True):
        (c,) = zyg.gradient(lambda x: np.sum(x * np.float16(1e4), dtype=np.float64), x)
    np.testing.assert_array_equal(c, np.full(10, 1e4))


# Types and dtypes


def pull(f, args):
    """The cotangents of f's value itself, by which every rule is asked for its dtypes."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y, back = zyg.pullback(f, *args)
        return y, back(y, zeros=True)


OPERANDS = [*FLOATS, np.complex64, np.complex128, np.int64]
FORMS = {
    "array": lambda t: np.array([1, 2], t),
    "0-d": lambda t: np.array(1, t),
    "scalar": lambda t: t(2),
    "Python's": lambda t: t(2).item(),
}
WAYS = [
    (t, form)
    for t, form in itertools.product(OPERANDS, FORMS)
    if form != "Python's" or t in (np.float64, np.complex128, np.int64)
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "f", [pytest.param(f, id=f.__name__) for f in table if f.__module__ != "math"]
)
def test_operands_get_their_own_dtype_whatever_they_meet(f):
    for pair in itertools.product(WAYS, repeat=len(table[f])):
        args = [FORMS[form](t) for t, form in pair]
        if len(pair) == 2 and not {form for _, form in pair} & {"array", "scalar"}:
            continue
        try:
            with np.errstate(all="ignore"):
                plain = f(*args)
        except (TypeError, ValueError, OverflowError):  # NumPy does not take them
            continue
        try:
            y, bars = pull(f, args)
        except MissingRuleError:
            assert f is np.sign
            continue
        assert type(y) is type(plain)
        assert getattr(y, "dtype", 0) == getattr(plain, "dtype", 0)
        with np.errstate(all="ignore"):
            assert_like(zyg.pushforward(f, tuple(args), tuple(bars))[1], y, pair)
        for x, c in zip(args, bars, strict=True):
            assert_like(c, x, pair)


def in_dtypes(x, dtypes):
    """The float arrays of an argument in the next of these dtypes, one after the other."""
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return type(x)(in_dtypes(v, dtypes) for v in x)
    is_float = isinstance(x, np.ndarray) and x.dtype == np.float64
    return x.astype(next(dtypes)) if is_float else x


def flat(x):
    return [v for part in x for v in flat(part)] if isinstance(x, (list, tuple)) else [x]


def is_float_array(x):
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


MIXTURES = [
    *[(t,) for t in (*FLOATS, *COMPLEX)],
    (np.float32, np.float64), (np.float64, np.float32), (np.float16, np.float32),
    (np.longdouble, np.float64), (np.float32, np.complex128), (np.complex64, np.float64),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("f", [pytest.param(f, id=f.__name__) for f in CALLS if f not in table])
def test_every_rule_gives_each_argument_its_own_dtype(f):
    for c, mixture in itertools.product(CALLS[f][:2], MIXTURES):
        args = [*in_dtypes(c.args, itertools.cycle(mixture))]
        places = [k for k, x in enumerate(args) if any(map(is_float_array, flat(x)))]

        def call(*xs, args=args, places=places, kwargs=c.kwargs):
            full = list(args)
            for k, x in zip(places, xs, strict=True):
                full[k] = x
            return f(*full, **kwargs)

        xs = [args[k] for k in places]
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                call(*xs)
        except (TypeError, ValueError, np.exceptions.ComplexWarning):  # NumPy does not take them
            continue
        try:
            _, bars = pull(call, xs)
        except MissingRuleError:
            continue
        for bar, x in zip(flat(bars), flat(xs), strict=True):
            if is_float_array(x):
                assert_like(bar, x, (f.__name__, mixture))


def cast(*dtypes):
    def f(x):
        for t in dtypes:
            x = x.astype(t)
        return x.real if np.iscomplexobj(x) else x

    return f


CASTS = {
    "there and back": (cast("f4", "f8"), np.float64, 1.0),
    "to double and back": (cast("f8", "f4"), np.float32, 1.0),
    "to half and back": (cast("f2", "f4"), np.float32, 1.0),
    "to long double": (cast(np.longdouble), np.float32, 1.0),
    "to complex": (cast("c8"), np.float32, 1.0),
    "to complex and wider": (cast("c8", "c16"), np.float16, 1.0),
    "complex, narrower": (cast("c8"), np.complex128, 1.0),
    "of integers": (cast("f4"), np.int64, 1.0),
    "to integers": (cast(int, float), np.float64, 0.0),
    "to small integers": (cast("i1", "f4"), np.float32, 0.0),
    "to bool": (cast(bool, float), np.float64, 0.0),
    "by np.astype": (lambda x: np.astype(x, np.float32), np.float64, 1.0),
    "by an operand": (lambda x: x + np.float64(1), np.float32, 1.0),
    "by an integer": (lambda x: x * 3, np.float16, 3.0),
    "by an array of integers": (lambda x: x * np.array([3, 3]), np.float32, 3.0),
    "by dtype= of sum": (lambda x: np.sum(x, dtype=np.float64), np.float32, 1.0),
    "by dtype= of mean": (lambda x: np.mean(x, dtype=np.float64), np.float32, 0.5),
}


@MODE
@pytest.mark.parametrize("row", CASTS)
def test_casts(row, mode):
    f, dtype, expected = CASTS[row]
    x = np.array([1, 2], dtype)
    (c,) = MODES[mode](f, [x])

    assert_like(c, x, row)
    np.testing.assert_array_equal(c, [expected, expected])


def test_a_cast_that_drops_the_imaginary_part_is_refused():
    with pytest.raises(TypeError, match="imaginary"):
        zyg.gradient(lambda z: np.sum(z.astype(float)), np.array([1 + 1j]))


RETURNS = {
    "an unused argument": (3.0, None),
    "an unused array": (np.ones(2), None),
    "a bool array": (np.array([True]), None),
    "a string": ("text", None),
    "none": (None, None),
}


@pytest.mark.parametrize("row", RETURNS)
def test_what_nothing_depends_on_has_no_gradient(row):
    x, expected = RETURNS[row]
    assert zyg.gradient(lambda x, y: y * 2.0, x, 1.0) == (expected, 2.0)


@MODE
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (2, 3), (1, 1, 2)])
@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX, np.int64, np.uint8])
def test_shapes_and_dtypes_come_back(shape, dtype, mode):
    x = np.ones(shape, dtype)
    for f in (np.abs, np.square, lambda x: x * 2, lambda x: 3.0 * x, lambda x: x**2):
        (c,) = MODES[mode](lambda x, f=f: np.real(f(x)), [x])
        assert_like(c, x, f)


# Zeros of one level that move at another


@zyg.adjoint
def root_beside(x):
    y = np.stack([x[0], np.sqrt(x[1])])

    def root_beside_pullback(y_bar):
        slope = 0.5 / np.sqrt(x[1])
        return (y_bar * np.stack([np.ones_like(slope), slope]),)

    return y, root_beside_pullback


ZEROS_THAT_MOVE = {  # a function, and its second derivative at 0
    "a slope that is 0": (lambda t: t * np.log(1 + t) + np.exp(np.log(0 * t)), 2.0),
    "a product that is 0": (lambda t: t * np.sin(t) + np.exp(2 * np.log(0 * t)), 2.0),
    "a rule's cotangent": (
        lambda t: np.sum(t * root_beside(np.stack([3 * t + 1, 0 * t]))), 6.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ZEROS_THAT_MOVE)
def test_a_zero_beside_an_infinite_slope_moves_at_another_level(row):
    f, expected = ZEROS_THAT_MOVE[row]
    reverse = lambda f: lambda t: zyg.gradient(f, t)[0]  # noqa: E731
    forward = lambda f: lambda t: zyg.pushforward(f, (t,), (1.0,))[1]  # noqa: E731
    with np.errstate(all="ignore"):
        for outer, inner in itertools.product((reverse, forward), repeat=2):
            for shape in ((), (1,)):
                along = lambda t: np.sum(f(np.reshape(t, shape)))  # noqa: E731, B023
                assert outer(inner(along))(np.float64(0.0)) == pytest.approx(expected)
