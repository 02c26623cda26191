"""The table of scalar derivatives, entry by entry: against differences and against mpmath.

The tests run over `zyg.scalar_rules.table` itself; an entry without a case fails the first test.
"""

import inspect
import math
import operator
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import zyg
from zyg._registry import ScalarRule
from zyg.scalar_rules import operators, table

# Where a function is tried: an interval, or a list of points away from its jumps and kinks.
REAL, POSITIVE, UNIT, ABOVE = (-2.0, 2.0), (0.3, 3.0), (-0.8, 0.8), (1.2, 3.0)
APART = [-1.72, -0.31, 0.28, 1.23, 2.81]
OTHER = [-2.13, -0.77, 0.51, 1.64, 2.39]
DIVIDEND, DIVISOR = [5.3, -4.1, 7.7], [2.2, -1.9, 3.1]


class Case(NamedTuple):
    """`exact` computes the function in mpmath; `holomorphic` if NumPy takes complex numbers too."""

    domains: tuple[Any, ...]
    exact: Any
    holomorphic: bool = False


def _log_of_sum(base):
    return lambda a, b: mpmath.log(base**a + base**b, base)


def _sign(x):
    return mpmath.sign(mpmath.re(x))


CASES = {
    np.add: Case((REAL, REAL), operator.add, True),
    np.subtract: Case((REAL, REAL), operator.sub, True),
    np.multiply: Case((REAL, REAL), operator.mul, True),
    np.divide: Case((REAL, POSITIVE), operator.truediv, True),
    np.negative: Case((REAL,), operator.neg, True),
    np.positive: Case((REAL,), operator.pos, True),
    np.power: Case((POSITIVE, REAL), operator.pow, True),
    np.float_power: Case((POSITIVE, REAL), operator.pow, True),
    np.floor_divide: Case((DIVIDEND, DIVISOR), lambda a, b: mpmath.floor(a / b)),
    np.remainder: Case((DIVIDEND, DIVISOR), lambda a, b: a - b * mpmath.floor(a / b)),
    np.fmod: Case((DIVIDEND, DIVISOR), lambda a, b: a - b * int(a / b)),
    np.reciprocal: Case((POSITIVE,), lambda x: 1 / x, True),
    np.square: Case((REAL,), lambda x: x * x, True),
    np.sqrt: Case((POSITIVE,), mpmath.sqrt, True),
    np.cbrt: Case((POSITIVE,), mpmath.cbrt),
    np.exp: Case((REAL,), mpmath.exp, True),
    np.exp2: Case((REAL,), lambda x: mpmath.mpf(2) ** x, True),
    np.expm1: Case((REAL,), mpmath.expm1, True),
    np.log: Case((POSITIVE,), mpmath.log, True),
    np.log2: Case((POSITIVE,), lambda x: mpmath.log(x) / mpmath.log(2), True),
    np.log10: Case((POSITIVE,), mpmath.log10, True),
    np.log1p: Case((UNIT,), lambda x: mpmath.log(1 + x), True),
    np.logaddexp: Case((REAL, REAL), _log_of_sum(mpmath.e)),
    np.logaddexp2: Case((REAL, REAL), _log_of_sum(2)),
    np.sin: Case((REAL,), mpmath.sin, True),
    np.cos: Case((REAL,), mpmath.cos, True),
    np.tan: Case((UNIT,), mpmath.tan, True),
    np.arcsin: Case((UNIT,), mpmath.asin, True),
    np.arccos: Case((UNIT,), mpmath.acos, True),
    np.arctan: Case((REAL,), mpmath.atan, True),
    np.arctan2: Case((REAL, REAL), mpmath.atan2),
    np.hypot: Case((REAL, REAL), mpmath.hypot),
    np.sinc: Case((REAL,), mpmath.sincpi, True),
    np.deg2rad: Case((REAL,), mpmath.radians),
    np.radians: Case((REAL,), mpmath.radians),
    np.rad2deg: Case((REAL,), mpmath.degrees),
    np.degrees: Case((REAL,), mpmath.degrees),
    np.sinh: Case((REAL,), mpmath.sinh, True),
    np.cosh: Case((REAL,), mpmath.cosh, True),
    np.tanh: Case((REAL,), mpmath.tanh, True),
    np.arcsinh: Case((REAL,), mpmath.asinh, True),
    np.arccosh: Case((ABOVE,), mpmath.acosh, True),
    np.arctanh: Case((UNIT,), mpmath.atanh, True),
    np.maximum: Case((APART, OTHER), max),
    np.minimum: Case((APART, OTHER), min),
    np.fmax: Case((APART, OTHER), max),
    np.fmin: Case((APART, OTHER), min),
    np.absolute: Case((APART,), abs),
    np.fabs: Case((APART,), abs),
    np.copysign: Case((APART, OTHER), lambda a, b: abs(a) * _sign(b)),
    np.heaviside: Case((APART, REAL), lambda a, b: mpmath.mpf(a > 0)),
    np.real: Case((REAL,), mpmath.re),
    np.imag: Case((REAL,), mpmath.im),
    np.angle: Case((APART,), mpmath.arg),
    np.sign: Case((APART,), _sign),
    np.floor: Case((APART,), mpmath.floor),
    np.ceil: Case((APART,), mpmath.ceil),
    np.trunc: Case((APART,), lambda x: mpmath.mpf(int(x))),
    np.rint: Case((APART,), mpmath.nint),
    np.fix: Case((APART,), lambda x: mpmath.mpf(int(x))),
    np.ldexp: Case((REAL, [3, -1, 0]), lambda a, n: a * mpmath.mpf(2) ** n),
    math.erf: Case((REAL,), mpmath.erf),
    math.erfc: Case((REAL,), mpmath.erfc),
    math.gamma: Case((APART,), mpmath.gamma),
    math.lgamma: Case((POSITIVE,), mpmath.loggamma),
}

EVERY = [pytest.param(f, id=f.__name__) for f in table]
NUMPY = [pytest.param(f, id=f.__name__) for f in table if f.__module__ != "math"]
HOLOMORPHIC = [pytest.param(f, id=f.__name__) for f, case in CASES.items() if case.holomorphic]
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 1e-2}


def points(f, size=3):
    """Arguments of `f` in its domain, as lists of Python numbers, the same in every run."""
    rng = np.random.default_rng(7)
    return [
        [d[k % len(d)] for k in range(size)]
        if isinstance(d, list)
        else rng.uniform(*d, size).tolist()
        for d in CASES[f].domains
    ]


def callable_of(f):
    """What applies the rule of `f`: f itself, or its rule where f is not NumPy's."""
    return ScalarRule(f, table[f]) if f.__module__ == "math" else f


def exact_partials(f, xs):
    """The partial derivatives at one point, by mpmath's own differences in 40 digits."""
    with mpmath.workdps(40):
        partials = []
        for k, x in enumerate(xs):

            def along(t, k=k):
                return CASES[f].exact(*xs[:k], t, *xs[k + 1 :])

            number = mpmath.mpc(x) if isinstance(x, complex) else mpmath.mpf(x)
            partials.append(0.0 if isinstance(x, int) else mpmath.diff(along, number))
        return [
            complex(p) if isinstance(x, complex) else float(mpmath.re(p))
            for p, x in zip(partials, xs, strict=True)
        ]


def test_every_entry_of_the_table_has_a_case():
    assert table.keys() == CASES.keys()
    assert len(table) >= 60


def test_every_entry_has_one_partial_per_argument():
    for f, case in CASES.items():
        assert len(table[f]) == len(case.domains), f.__name__
        for partial in table[f]:
            if callable(partial):
                assert len(inspect.signature(partial).parameters) == len(case.domains) + 1


# Against mpmath


@pytest.mark.parametrize("f", EVERY)
@pytest.mark.parametrize("number", [float, np.float64, np.float32])
def test_partials_of_numbers_agree_with_mpmath(f, number):
    if number is np.float32 and f.__module__ == "math":
        number = float  # math's functions answer in double precision whatever they are given
    for xs in zip(*points(f), strict=True):
        xs = [x if isinstance(x, int) else number(x) for x in xs]
        expected = exact_partials(f, [x if isinstance(x, int) else float(x) for x in xs])
        got = zyg.gradient(callable_of(f), *xs, zeros=True)

        rtol = TOLERANCE[np.dtype(number).name]
        for x, c, d in zip(xs, got, expected, strict=True):
            assert type(c) is (float if isinstance(x, int) else number)
            assert c == pytest.approx(d, rel=rtol, abs=rtol)


@pytest.mark.parametrize("f", NUMPY)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_partials_of_arrays_agree_with_mpmath(f, dtype):
    xs = [np.array(x, int if type(x[0]) is int else dtype) for x in points(f)]
    expected = [exact_partials(f, [v.item() for v in at]) for at in zip(*xs, strict=True)]
    y, back = zyg.pullback(f, *xs)
    got = back(np.ones_like(y), zeros=True)

    for x, c, d in zip(xs, got, np.transpose(expected), strict=True):
        assert c.dtype == (x.dtype if x.dtype.kind == "f" else np.float64)
        np.testing.assert_allclose(c, d, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("f", HOLOMORPHIC)
def test_complex_derivatives_agree_with_mpmath(f):
    rng = np.random.default_rng(3)
    for xs in zip(*points(f), strict=True):
        zs = [complex(x, rng.uniform(-0.7, 0.7)) for x in xs]
        _, back = zyg.pullback(f, *zs)

        for c, d in zip(back(1 + 0j), exact_partials(f, zs), strict=True):
            # df = f' dz gives the cotangent conj(f'), in the convention x_bar + i y_bar.
            assert c == pytest.approx(d.conjugate(), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (np.absolute, lambda z: z / abs(z)),
        (np.real, lambda z: 1 + 0j),
        (np.imag, lambda z: 1j),
        (np.angle, lambda z: 1j * z / abs(z) ** 2),
    ],
)
def test_real_functions_of_complex_numbers(f, slope):
    for z in (1 + 2j, -0.5 + 0.1j, -1 - 1j, np.complex64(0.3 - 2j)):
        (z_bar,) = zyg.gradient(f, z)

        assert type(z_bar) is type(z)
        assert z_bar == pytest.approx(slope(z), rel=1e-6)


def test_sign_of_a_complex_number_is_refused():
    with pytest.raises(zyg.errors.MissingRuleError, match="complex"):
        zyg.pullback(np.sign, 1 + 1j)[1](1 + 0j)


# Against finite differences, to second order


@pytest.mark.parametrize("f", NUMPY)
def test_second_derivatives_of_arrays(f):
    zyg.check_adjoint(f, *map(np.array, points(f)))


@pytest.mark.parametrize("f", EVERY)
def test_second_derivatives_of_numbers(f):
    for xs in zip(*points(f), strict=True):
        zyg.check_gradient(callable_of(f), *xs, order=3)


@pytest.mark.parametrize("f", [p for p in NUMPY if len(table[p.values[0]]) == 2])
def test_broadcasting_pairs(f):
    column, row = (np.array(x) for x in points(f))
    for xs in ((column[:, None], row), (column[0].item(), row), (column[:, None], row[0].item())):
        zyg.check_adjoint(f, *xs)


@pytest.mark.parametrize("name", operators)
def test_operators_agree_with_the_functions_they_mean(name):
    symbol, ufunc = operators[name]
    for xs in zip(*points(ufunc), strict=True):
        expected = zyg.gradient(ufunc, *xs, zeros=True)

        assert zyg.gradient(symbol, *xs, zeros=True) == pytest.approx(expected, rel=1e-15)
        zyg.check_adjoint(symbol, *map(np.array, xs))


SMOOTH = st.sampled_from([np.add, np.multiply, np.arctan2, np.hypot, np.logaddexp, np.subtract])
ELEMENTS = st.floats(0.25, 2.0, width=16)


@given(SMOOTH, hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3), st.data())
def test_any_shapes_and_dtypes_that_broadcast(f, shapes, data):
    dtypes = [data.draw(st.sampled_from([np.float32, np.float64])) for _ in range(2)]
    xs = [
        data.draw(hnp.arrays(dtype, shape, elements=ELEMENTS))
        for dtype, shape in zip(dtypes, shapes.input_shapes, strict=True)
    ]
    y, _ = zyg.pullback(f, *xs)

    assert np.shape(y) == shapes.result_shape
    assert y.dtype == np.result_type(*dtypes)
    zyg.check_gradient(f, *xs, order=1)


# Subgradients and NaN: the table of the documentation, row by row

NUMBERS = [float, np.float64, np.float32, np.float16]
KINDS = [
    *(pytest.param(lambda x, t=t: t(x), id=t.__name__) for t in NUMBERS),
    *(
        pytest.param(lambda x, t=t, s=shape: np.full(s, x, t), id=f"{t.__name__}{shape}")
        for t in NUMBERS[1:]
        for shape in ((), (2,))
    ),
]
INF, NAN = math.inf, math.nan

SUBGRADIENTS = {
    "abs'(0) = 0": (np.abs, (0.0,), (0.0,)),
    "abs'(-0.0) = 0": (np.abs, (-0.0,), (0.0,)),
    "builtin abs": (abs, (0.0,), (0.0,)),
    "fabs": (np.fabs, (0.0,), (0.0,)),
    "sqrt'(0) = inf": (np.sqrt, (0.0,), (INF,)),
    "sqrt(x**2) at 0": (lambda x: np.sqrt(x**2), (0.0,), (0.0,)),
    "sqrt(x*x) at 0": (lambda x: np.sqrt(x * x), (0.0,), (0.0,)),
    "sqrt(x*x + y*y) at 0": (lambda x, y: np.sqrt(x * x + y * y), (0.0, 0.0), (0.0, 0.0)),
    "hypot(0, 0)": (np.hypot, (0.0, 0.0), (0.0, 0.0)),
    "hypot(3, 0)": (np.hypot, (3.0, 0.0), (1.0, 0.0)),
    "arctan2(0, 0)": (np.arctan2, (0.0, 0.0), (0.0, 0.0)),
    "arctan2(0, 2)": (np.arctan2, (0.0, 2.0), (0.5, 0.0)),
    "maximum(a, a): the second": (np.maximum, (1.5, 1.5), (0.0, 1.0)),
    "minimum(a, a): the first": (np.minimum, (1.5, 1.5), (1.0, 0.0)),
    "fmax(a, a)": (np.fmax, (1.5, 1.5), (0.0, 1.0)),
    "fmin(a, a)": (np.fmin, (1.5, 1.5), (1.0, 0.0)),
    "fmax(a, nan)": (np.fmax, (1.5, NAN), (1.0, 0.0)),
    "fmax(nan, b)": (np.fmax, (NAN, 1.5), (0.0, 1.0)),
    "fmin(a, nan)": (np.fmin, (1.5, NAN), (1.0, 0.0)),
    "fmin(nan, b)": (np.fmin, (NAN, 1.5), (0.0, 1.0)),
    "maximum(x, 0) at 0": (lambda x: np.maximum(x, 0), (0.0,), (0.0,)),
    "maximum(x, x)": (lambda x: np.maximum(x, x), (1.5,), (1.0,)),
    "minimum(x, x)": (lambda x: np.minimum(x, x), (1.5,), (1.0,)),
    "clip on its lower bound": (lambda x: np.clip(x, 0.0, 1.0), (0.0,), (1.0,)),
    "clip on its upper bound": (lambda x: np.clip(x, 0.0, 1.0), (1.0,), (1.0,)),
    "clip outside": (lambda x: np.clip(x, 0.0, 1.0), (1.5,), (0.0,)),
    "clip, watched bounds": (np.clip, (2.0, 0.0, 1.0), (0.0, 0.0, 1.0)),
    "clip, watched bounds, tied": (np.clip, (1.0, 1.0, 1.0), (1.0, 0.0, 0.0)),
    "x**0 at 0": (lambda x: x**0, (0.0,), (0.0,)),
    "x**0.0 at 0": (lambda x: x**0.0, (0.0,), (0.0,)),
    "power(x, 0) at 0": (lambda x: np.power(x, 0.0), (0.0,), (0.0,)),
    "x**1 at 0": (lambda x: x**1, (0.0,), (1.0,)),
    "x**p at 0, p = 2": (lambda x, p: x**p, (0.0, 2.0), (0.0, 0.0)),
    "x**p at 0, p = 0": (lambda x, p: x**p, (0.0, 0.0), (0.0, 0.0)),
    "0**p in p": (lambda p: 0.0**p, (3.0,), (0.0,)),
    "negative base, integer exponent": (lambda x: x**3, (-2.0,), (12.0,)),
    "negative base, whole float exponent": (lambda x: x**3.0, (-2.0,), (12.0,)),
    "negative base, watched whole exponent": (
        np.float_power, (-2.0, 2.0), (-4.0, 4 * math.log(2.0)),
    ),
    "sinc'(0) = 0": (np.sinc, (0.0,), (0.0,)),
    "floor": (np.floor, (1.0,), (0.0,)),
    "ceil": (np.ceil, (1.0,), (0.0,)),
    "trunc": (np.trunc, (1.0,), (0.0,)),
    "rint": (np.rint, (0.5,), (0.0,)),
    "round": (np.round, (0.5,), (0.0,)),
    "sign": (np.sign, (0.0,), (0.0,)),
    "//": (lambda x, y: x // y, (5.5, 2.0), (0.0, 0.0)),
    "mod(a, b) = (1, -floor(a/b))": (np.mod, (5.5, 2.0), (1.0, -2.0)),
    "mod of a negative number": (lambda x, y: x % y, (-5.5, 2.0), (1.0, 3.0)),
    "where: the branch not taken": (
        lambda x: np.where(x > 0, np.sqrt(x), 0.0), (0.0,), (0.0,),
    ),
    "where: division not taken": (lambda x: np.where(x == 0, x, np.divide(1, x)), (0.0,), (1.0,)),
    "where: log not taken": (lambda x: np.where(x > 0, np.log(x), x), (0.0,), (1.0,)),
    "zero times sqrt": (lambda x: 0.0 * np.sqrt(x), (0.0,), (0.0,)),
}  # fmt: skip


def gradients_at(f, args, kind):
    """The gradients as lists of numbers, of the dtype of the arguments, which is asserted."""
    xs = [kind(x) for x in args]
    with np.errstate(all="ignore"):
        bars = zyg.gradient(lambda *a: np.sum(f(*a)), *xs, zeros=True)
    for x, c in zip(xs, bars, strict=True):
        assert type(c) is type(x)
        assert np.shape(c) == np.shape(x)
        assert not hasattr(x, "dtype") or c.dtype == x.dtype
    return bars


@pytest.mark.parametrize("row", SUBGRADIENTS)
@pytest.mark.parametrize("kind", KINDS)
def test_subgradients(row, kind):
    f, args, expected = SUBGRADIENTS[row]
    for c, d in zip(gradients_at(f, args, kind), expected, strict=True):
        rtol = 10 * float(np.finfo(np.asarray(c).dtype).eps)
        np.testing.assert_allclose(c, np.full_like(c, d), rtol=rtol)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("p", [0.5, -1.5])
def test_negative_base_with_a_watched_fractional_exponent_is_nan(kind, p):
    # Python's own float ** float turns complex there; np.power answers NaN, and so does its slope.
    for c in gradients_at(np.power, (-2.0, p), kind):
        assert np.all(np.isnan(c))


def test_a_watched_exponent_does_not_poison_other_elements():
    x, p = np.array([-2.0, 2.0, 0.0]), np.array([0.5, 0.5, 0.5])
    with np.errstate(invalid="ignore"):
        _, back = zyg.pullback(np.power, x, p)
    x_bar, p_bar = back(np.array([0.0, 1.0, 1.0]))

    np.testing.assert_allclose(x_bar, [0.0, 0.5 / math.sqrt(2.0), INF])
    np.testing.assert_allclose(p_bar, [0.0, math.sqrt(2.0) * math.log(2.0), 0.0])


@pytest.mark.parametrize("kind", KINDS)
def test_sinc_at_zero_has_second_derivative_minus_pi_squared_over_three(kind):
    (second,) = zyg.gradient(
        lambda x: np.sum(zyg.gradient(lambda x: np.sum(np.sinc(x)), x)[0]), kind(0.0)
    )

    rtol = 2 * float(np.finfo(np.asarray(second).dtype).eps)
    np.testing.assert_allclose(second, np.full_like(second, -(math.pi**2) / 3), rtol=rtol)


def test_sinc_is_smooth_to_every_order():
    def derivative(f):
        return lambda x: zyg.gradient(f, x)[0]

    # sinc(x) = sum_k (-1)^k (pi x)^2k / (2k+1)!: the 4th and 6th derivatives at 0
    fourth = derivative(derivative(derivative(derivative(np.sinc))))
    sixth = derivative(derivative(fourth))

    assert fourth(0.0) == pytest.approx(math.pi**4 / 5, rel=1e-13)
    assert sixth(0.0) == pytest.approx(-(math.pi**6) / 7, rel=1e-13)
    for x in (0.499, 0.501, 1.0, 3.0):
        with mpmath.workdps(40):
            expected = float(mpmath.diff(mpmath.sincpi, mpmath.mpf(x), 4))
        assert fourth(x) == pytest.approx(expected, rel=1e-9)


# The same table for what works on several elements


ALONG = [pytest.param(lambda x, t=t: np.array(x, t), id=t.__name__) for t in NUMBERS[1:]]
SEVERAL = {
    "prod, one zero": (np.prod, [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    "prod, two zeros": (np.prod, [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    "cumprod, one zero": (np.cumprod, [2.0, 0.0, 3.0], [1.0, 8.0, 0.0]),
    "cumprod, two zeros": (np.cumprod, [2.0, 0.0, 0.0], [1.0, 2.0, 0.0]),
    "norm at the origin": (np.linalg.norm, [0.0, 0.0], [0.0, 0.0]),
    "norm(ord=1) at 0": (lambda x: np.linalg.norm(x, 1), [0.0, -2.0], [0.0, -1.0]),
    "norm(ord=3) at the origin": (lambda x: np.linalg.norm(x, 3), [0.0, 0.0], [0.0, 0.0]),
    "norm(ord=inf) at a tie": (lambda x: np.linalg.norm(x, INF), [-2.0, 2.0], [-1.0, 0.0]),
    "std of a constant": (np.std, [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]),
    "max: the first": (np.max, [1.0, 3.0, 3.0], [0.0, 1.0, 0.0]),
    "min: the first": (np.min, [1.0, 3.0, 1.0], [1.0, 0.0, 0.0]),
    "max of a constant": (np.max, [1.0, 1.0], [1.0, 0.0]),
    "builtin max of elements": (lambda x: max(x[0], x[1]), [2.0, 2.0], [1.0, 0.0]),
}


@pytest.mark.parametrize("row", SEVERAL)
@pytest.mark.parametrize("kind", ALONG)
def test_subgradients_over_an_axis(row, kind):
    f, x, expected = SEVERAL[row]
    (c,) = gradients_at(f, (x,), kind)

    np.testing.assert_array_equal(c, expected)


def test_extremum_over_an_axis_takes_the_first_in_each_row():
    x = np.array([[1.0, 5.0, 5.0], [7.0, 7.0, 2.0]])
    (c,) = zyg.gradient(lambda x: np.sum(np.max(x, axis=1)), x)

    np.testing.assert_array_equal(c, [[0, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize("f", [abs, np.abs, np.absolute])
@pytest.mark.parametrize("zero", [0j, np.complex64(0), np.zeros(2, complex)])
def test_modulus_of_complex_zero_has_slope_zero(f, zero):
    (c,) = zyg.gradient(lambda z: np.sum(f(z)), zero)

    assert np.all(c == 0)
    assert np.asarray(c).dtype == np.asarray(zero).dtype


# Strong zero


POISONED = {
    "where sqrt": (lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0),
    "sqrt(x**2)": (lambda x: np.sqrt(x**2), 0.0),
    "zero times sqrt": (lambda x: 0.0 * np.sqrt(x), 0.0),
}  # fmt: skip


@pytest.mark.parametrize("row", POISONED)
@pytest.mark.parametrize("kind", KINDS)
def test_strong_zero_can_be_turned_off(row, kind):
    f, x = POISONED[row]
    assert np.all(gradients_at(f, (x,), kind)[0] == 0)
    with zyg.config(strong_zero=False):
        assert np.all(np.isnan(gradients_at(f, (x,), kind)[0]))
    assert np.all(gradients_at(f, (x,), kind)[0] == 0)


def test_a_derivative_that_is_infinite_stays_infinite():
    (c,) = zyg.gradient(lambda x: np.sum(np.sqrt(x)), np.array([0.0, 4.0]))

    np.testing.assert_array_equal(c, [INF, 0.25])


def test_nan_in_the_value_is_nan_in_the_gradient():
    with np.errstate(invalid="ignore"):
        assert math.isnan(zyg.gradient(np.sqrt, -1.0)[0])
        assert math.isnan(zyg.gradient(lambda x: x * NAN, 1.0)[0])


# Beyond float64


def test_special_functions_of_the_math_module_nest():
    erf = callable_of(math.erf)
    (second,) = zyg.gradient(lambda x: zyg.gradient(erf, x)[0], 0.5)

    assert second == pytest.approx(-2 * 0.5 * 2 / math.sqrt(math.pi) * math.exp(-0.25))
