"""The table of operations: its columns against what they speak of, slopes against mpmath.

The tests run over `zyg.functions.operations` itself; slopes without a case fail.
"""

import inspect
import itertools
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
from zyg.base.registry import ScalarRule
from zyg.compiler.back import llvm_scalar, llvm_simd
from zyg.functions.operations import (
    CONVERSION,
    NUMBER,
    OPERATIONS,
    WITH_OPERATORS,
    operators,
    table,
)

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
    def log_of_sum(a, b):
        scale = mpmath.log(base)
        return mpmath.log(mpmath.exp(a * scale) + mpmath.exp(b * scale)) / scale

    return log_of_sum


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
    np.cbrt: Case((POSITIVE,), lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x))),
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
    np.i0: Case((REAL,), lambda x: mpmath.besseli(0, x)),
    np.nextafter: Case((APART, OTHER), lambda a, b: a),
    math.erf: Case((REAL,), mpmath.erf),
    math.erfc: Case((REAL,), mpmath.erfc),
    math.gamma: Case((APART,), mpmath.gamma),
    math.lgamma: Case((POSITIVE,), mpmath.loggamma),
    math.remainder: Case((DIVIDEND, DIVISOR), lambda a, b: a - b * mpmath.nint(a / b)),
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


@pytest.mark.slow
@pytest.mark.parametrize("f", NUMPY)
def test_second_derivatives_of_arrays(f):
    zyg.check_adjoint(f, *map(np.array, points(f)), complex=True)


@pytest.mark.slow
@pytest.mark.parametrize("f", EVERY)
def test_second_derivatives_of_numbers(f):
    for xs in zip(*points(f), strict=True):
        zyg.check_gradient(callable_of(f), *xs, order=3)


@pytest.mark.slow
@pytest.mark.parametrize("f", [p for p in NUMPY if len(table[p.values[0]]) == 2])
def test_broadcasting_pairs(f):
    column, row = (np.array(x) for x in points(f))
    for xs in ((column[:, None], row), (column[0].item(), row), (column[:, None], row[0].item())):
        zyg.check_adjoint(f, *xs, complex=True)


@pytest.mark.parametrize("name", operators)
def test_operators_agree_with_the_functions_they_mean(name):
    symbol, ufunc = operators[name]
    for xs in zip(*points(ufunc), strict=True):
        expected = zyg.gradient(ufunc, *xs, zeros=True)

        assert zyg.gradient(symbol, *xs, zeros=True) == pytest.approx(expected, rel=1e-15)
        zyg.check_adjoint(symbol, *map(np.array, xs), complex=True)


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


def test_a_watched_exponent_does_not_poison_other_elements():
    x, p = np.array([-2.0, 2.0, 0.0]), np.array([0.5, 0.5, 0.5])
    with np.errstate(invalid="ignore"):
        _, back = zyg.pullback(np.power, x, p)
    x_bar, p_bar = back(np.array([0.0, 1.0, 1.0]))

    np.testing.assert_allclose(x_bar, [0.0, 0.5 / math.sqrt(2.0), math.inf])
    np.testing.assert_allclose(p_bar, [0.0, math.sqrt(2.0) * math.log(2.0), 0.0])


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


# At the ends of the line: large, tiny, next to 1

STEPS = {
    np.floor_divide, np.remainder, np.fmod, np.maximum, np.minimum, np.fmax, np.fmin, np.copysign,
    np.heaviside, np.floor, np.ceil, np.trunc, np.rint, np.fix, np.sign, np.ldexp, np.nextafter,
    math.remainder,
}  # fmt: skip
SMOOTH = [pytest.param(f, id=f.__name__) for f in table if f not in STEPS]
EDGES = {
    f: {1.0, -1.0} for f in (np.arcsin, np.arccos, np.arctanh, np.arccosh, np.log1p, math.gamma)
}
MAGNITUDES = [0.1, 0.5, 0.9, 1, 1.25, 3, 5, 10, 20, 50, 88, 300, 700, 1e4, 1e8, 1e15]
# How far off a slope may be, in units in the last place; further off than a few where the value
# of the function is, too, because its argument is rounded.
ULPS = {
    np.power: lambda x, p: 16 + 2 * abs(math.log(x)),
    np.float_power: lambda x, p: 16 + 2 * abs(math.log(x)),
    np.logaddexp: lambda a, b: 16 + abs(a - b),
    np.logaddexp2: lambda a, b: 16 + abs(a - b),
    np.i0: lambda x: 16 + abs(x),
    math.erf: lambda x: 16 + x * x,
    math.erfc: lambda x: 16 + x * x,
    math.gamma: lambda x: 64 + abs(x),
    math.lgamma: lambda x: 64 + abs(x),
}
# 1 - tanh^2 cancels, and sinc rounds pi x: these are accurate absolutely, not relatively.
ABSOLUTELY = {np.tanh, np.sinc}


def extremes(f, dtype):
    """Finite arguments of all magnitudes, columns of them for a function of two."""
    info = np.finfo(dtype)
    ends = [info.tiny, info.tiny**0.5, info.eps, 1 - info.eps, info.max**0.5 * 3, info.max]
    sizes = np.array([*MAGNITUDES, *map(float, ends)])
    if len(table[f]) == 1:
        sizes = np.append(sizes, float(info.smallest_subnormal))
    if f.__module__ == "math" or f is np.i0:
        sizes = np.array([1e-8, 0.1, 0.37, 0.5, 1, 1.25, 3.2, 10.5, 50.3, 120.7])
    if f in (np.logaddexp, np.logaddexp2):
        sizes = sizes[sizes < 1e5]
    sizes = np.unique(sizes[sizes <= float(info.max)].astype(dtype))
    sizes = sizes[sizes > 0][:: len(table[f]) ** 2]
    x = np.concatenate([-sizes, sizes])
    if f in (np.power, np.float_power):
        return [g.ravel() for g in np.meshgrid(sizes, x[abs(x) < 1e4])]
    return [x] if len(table[f]) == 1 else [g.ravel() for g in np.meshgrid(x, x)]


def exact_slope(f, xs, k):
    """The k-th partial derivative by a difference in hundreds of digits."""
    sizes = [abs(x) for x in xs] + [abs(abs(x) - 1) for x in xs] + [abs(xs[0] - xs[-1]), 1.0]
    small = min(s for s in sizes if s)
    digits = max(abs(math.log10(s)) for s in (small, *map(abs, xs)))
    with mpmath.workdps(120 + 2 * int(digits) + int(min(abs(xs[0]) + abs(xs[-1]), 700))):
        h = mpmath.mpf(small) * mpmath.mpf(10) ** -40
        above, below = [mpmath.mpf(x) for x in xs], [mpmath.mpf(x) for x in xs]
        above[k] += h
        below[k] -= h
        return mpmath.re(CASES[f].exact(*above) - CASES[f].exact(*below)) / (2 * h)


def slopes_at(f, grid):
    """The partial derivatives at all points of a grid at once, and where there are none."""
    if f.__module__ != "math":
        with np.errstate(all="ignore"):
            y, back = zyg.pullback(f, *grid)
            return back(np.ones_like(y), zeros=True), ~np.isnan(y)
    slopes, there = np.zeros((1, grid[0].size)), np.ones(grid[0].size, bool)
    for n, x in enumerate(grid[0].tolist()):
        try:
            (slopes[0, n],) = zyg.gradient(callable_of(f), x)
        except (ValueError, OverflowError):
            there[n] = False
    return slopes, there


@pytest.mark.parametrize("f", SMOOTH)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_slopes_are_accurate_at_every_magnitude(f, dtype):
    if f.__module__ == "math" and dtype is not np.float64:
        return
    info, grid = np.finfo(dtype), extremes(f, dtype)
    slopes, there = slopes_at(f, grid)
    for n in np.nonzero(there)[0]:
        xs = [float(x[n]) for x in grid]
        if EDGES.get(f, set()) & set(xs):
            continue
        for k, column in enumerate(slopes):
            got, d = float(column[n]), exact_slope(f, xs, k)
            if abs(d) > float(info.max):
                assert got * mpmath.sign(d) > 0.999 * float(info.max), (xs, k, got, d)
                continue
            ulps = ULPS.get(f, lambda *xs: 16)(*xs)
            size = max(abs(d), 1) if f in ABSOLUTELY else abs(d)
            # What is below the normal numbers may be rounded to zero.
            error = ulps * float(info.eps) * size + float(info.tiny) * max(1, *map(abs, xs[1:]), 1)
            assert abs(got - d) <= error, (xs, k, got, float(d))


# Beyond float64


def test_special_functions_of_the_math_module_nest():
    erf = callable_of(math.erf)
    (second,) = zyg.gradient(lambda x: zyg.gradient(erf, x)[0], 0.5)

    assert second == pytest.approx(-2 * 0.5 * 2 / math.sqrt(math.pi) * math.exp(-0.25))


# The other columns

OF_PROGRAMS = [row for row in OPERATIONS.values() if row.types and not row.same]


def test_every_operation_of_programs_has_a_text_of_llvms():
    for row in OF_PROGRAMS:
        known = row.c or row.types == CONVERSION or row.name in llvm_simd._TEXTS
        assert known or row.name in llvm_scalar._OF_TYPE, row.name


def test_names_are_those_of_math_scipy_and_numpy():
    special = pytest.importorskip("scipy.special")
    for row in OPERATIONS.values():
        assert not row.math or callable(getattr(math, row.math))
        assert not row.scipy or isinstance(getattr(special, row.scipy), np.ufunc)
        assert not row.reduce or callable(getattr(np, row.reduce))
        assert not row.same or row.same in OPERATIONS


@pytest.mark.parametrize("row", WITH_OPERATORS, ids=lambda row: row.name)
def test_operators_of_python_are_numpys_functions(row):
    x = np.array([5, 2, 3])
    args = [x, np.array([2, 2, 4])][: row.function.nin]
    assert np.array_equal(row.operator(*args), row.function(*args))
    assert getattr(int, f"__{row.dunder}__")


@pytest.mark.parametrize("row", [r for r in OPERATIONS.values() if r.bools], ids=lambda r: r.name)
def test_operations_of_bools_are_numpys(row):
    rows = np.array([[True, True, False, False], [True, False, True, False]])
    args = [*rows[: row.function.nin]]
    if row.bools == "refused":
        with pytest.raises(TypeError):
            row.function(*args)
    elif row.bools == "bytes":
        with np.errstate(divide="ignore"):
            assert row.function(*args).dtype == np.int8
    else:
        other = OPERATIONS[row.bools].function
        made, same = row.function(*args), other(*args * (other.nin // len(args)))
        assert made.dtype == bool
        assert np.array_equal(made, same)


@pytest.mark.parametrize(
    "row", [r for r in OF_PROGRAMS if r.exact and r.is_numpys and r.types == NUMBER],
    ids=lambda row: row.name,
)  # fmt: skip
def test_what_operations_are_of_pythons_ints_is_numpys_and_has_so_many_bits(row):
    points = [-9, -8, -1, 0, 1, 7, 8, 100]
    for args in itertools.product(points, repeat=row.function.nin):
        if args[-1] == 0 and row.python in ("//", "%"):
            continue
        y = row.exact(*args)
        assert y == row.function(*args)
        if row.bits:
            assert y.bit_length() <= row.bits(*(x.bit_length() for x in args))
