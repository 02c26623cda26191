"""The vectorised functions: errors over the whole range, special values, what LLVM makes of it."""

import math
import re
from functools import cache

import mpmath
import numpy as np
import pytest

from zyg.compiler.back.vector_elementary import VECTORISED
from zyg.compiler.ir import Block, Op, Program, Value
from zyg.kernels.launch import describe, run
from zyg.kernels.plans import Output

WIDTHS = {32: np.float32, 64: np.float64}
UNARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arctan", "sinh",
    "cosh", "tanh", "erf",
)  # fmt: skip
ALL = [(name, width) for name in (*UNARY, "power") for width in WIDTHS]
CASES = pytest.mark.parametrize(("name", "width"), [case for case in ALL if case[0] != "power"])
ULPS = 4
OF_C = re.compile(r"declare (double|float) @(?!llvm|sin\b|cos\b|tan\b)")


@cache
def program(name):
    inputs = [Value("float") for _ in range(2 if name == "power" else 1)]
    op = Op(name, tuple(inputs), Value("float"))
    return Program(name, inputs, Block([op], [op.out]))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def loop(name, *xs):
    (y,) = run(program(name), xs, [Output(xs[0].dtype)], dtype=xs[0].dtype)
    return y


def random_numbers(real, n, rng):
    """Random bits, that is all magnitudes; and numbers next to what is hard for one function."""
    integers = {np.float32: np.int32, np.float64: np.int64}[real]
    every = rng.integers(0, np.array(np.inf, real).view(integers), n).astype(integers).view(real)
    middle = np.exp(rng.uniform(-12, 7, n))
    next_to_1 = 1 + rng.uniform(-1, 1, n) * 10.0 ** rng.uniform(-8, 0, n)
    multiples = np.arange(1, n) * (np.pi / 2)
    positive = np.concatenate([every, middle, next_to_1, multiples, 1000 * multiples])
    both = np.concatenate(
        [positive, -positive, rng.uniform(-760, 760, n), rng.uniform(-150, 150, n)]
    )
    return both.astype(real)


def ulps(y, exact):
    """Errors in units of the last place of the exact result; inf where one is special."""
    real = y.dtype.type
    with np.errstate(all="ignore"):
        rounded = exact.astype(real)
        unit = np.spacing(np.maximum(abs(rounded), np.finfo(real).tiny))
        errors = abs((y - exact) / unit)
    same = (y == rounded) | (np.isnan(y) & np.isnan(rounded))
    return np.where(same, 0, np.where(np.isfinite(y) & np.isfinite(rounded), errors, np.inf))


def reference(name, *xs):
    with np.errstate(all="ignore"):
        if name != "erf":
            return getattr(np, name)(*(x.astype(np.longdouble) for x in xs))
        return np.array([np.longdouble(mpmath.nstr(mpmath.erf(float(x)), 25)) for x in xs[0]])


@pytest.mark.slow
@CASES
def test_random_arguments(name, width, rng):
    x = random_numbers(WIDTHS[width], 300 if name == "erf" else 20_000, rng)
    assert ulps(loop(name, x), reference(name, x)).max() <= ULPS


@pytest.mark.slow
@CASES
def test_special_arguments(name, width):
    real = WIDTHS[width]
    info = np.finfo(real)
    ends = [0, 1, 0.5, info.max, info.tiny, info.smallest_subnormal, 1e-40, 88.8, 709.9, np.inf]
    x = np.array([*ends, *(-end for end in ends), np.nan], real)
    x = np.concatenate([x, x])  # whole vectors, and a remainder
    y = loop(name, x)
    exact = reference(name, x)
    if name == "erf":
        exact[x == 0] = x[x == 0]  # mpmath knows no -0
    assert ulps(y, exact).max() <= ULPS
    assert (np.signbit(y) == np.signbit(exact))[~np.isnan(y)].all()


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_powers(width, rng):
    real = WIDTHS[width]
    most = 700 if width == 64 else 100
    special = [0, 1, 2, 0.5, 3, np.inf, 2.0**53, 2.0**52 + 1, 1e-30, np.finfo(real).tiny]
    special = np.array([*special, *(-s for s in special), np.nan], real)
    x = abs(random_numbers(real, 4000, rng))
    x = x[(x > 0) & np.isfinite(x) & (x != 1)]
    y = (rng.uniform(-most, most, x.size) / np.log(x.astype(float))).astype(real)
    x1, x2 = (part.ravel() for part in np.meshgrid(special, special))
    x1 = np.concatenate([x1, x, rng.permutation(x), rng.uniform(-9, 9, 4000).astype(real)])
    x2 = np.concatenate([x2, y, rng.permutation(y), rng.integers(-99, 99, 4000).astype(real)])
    z, exact = loop("power", x1, x2), reference("power", x1, x2)
    assert ulps(z, exact).max() <= ULPS
    assert (np.signbit(z) == np.signbit(exact))[~np.isnan(z)].all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_next_to_a_multiple_of_a_quarter_turn(name):
    # Up to the limit of the reduction, where few bits remain, and beyond, where C computes.
    n = np.unique(np.geomspace(1, 2**23 / 1.6, 20_000).astype(int))
    x = (n * np.longdouble("1.5707963267948966192313")).astype(float)
    assert ulps(loop(name, x), reference(name, x)).max() <= ULPS
    beyond = np.array([2.0**23 + 1, -1e10, 5.319372648326541e255, -6381956970095103 * 2.0**797])
    assert loop(name, beyond).tolist() == [getattr(math, name)(v) for v in beyond.tolist()]


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_exact_powers_of_2(width):
    bias = 127 if width == 32 else 1023
    n = np.arange(-bias, bias + 1).astype(WIDTHS[width])
    np.testing.assert_array_equal(loop("log2", loop("exp2", n)), n)


@pytest.mark.parametrize(("name", "width"), ALL)
def test_only_rare_numbers_are_given_to_the_c_library(name, width):
    xs = [np.ones(99, WIDTHS[width]) for _ in program(name).inputs]
    text = describe(program(name), xs, [Output(xs[0].dtype)], dtype=xs[0].dtype).kernel.text
    assert not OF_C.search(text)


def test_all_functions_are_here():
    assert {*UNARY, "power"} == VECTORISED


@pytest.mark.parametrize("n", [-64, -5, -4, -1, 1, 2, 3, 4, 5, 6, 12, 31, 63, 64])
@pytest.mark.parametrize("width", WIDTHS)
def test_whole_powers_are_products(n, width, rng):
    x = Value("float")
    op = Op("power", (x, float(n)), Value("float"))
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0]
    special += [2.0**33, -(2.0**-33)] if abs(n) > 4 else []  # whose inverses' powers are no inf
    some = np.append(rng.uniform(0.5, 2.0, 1000) * rng.choice([-1, 1], 1000), special)
    xs = some.astype(WIDTHS[width])

    (y,) = run(
        Program("whole", [x], Block([op], [op.out])), [xs], [Output(xs.dtype)], dtype=xs.dtype
    )

    with np.errstate(all="ignore"):
        exact = np.power(xs.astype(float if width == 32 else np.longdouble), n)
        known = exact.astype(xs.dtype)
    np.testing.assert_array_equal(y[1000:], known[1000:])
    most = 1 if width == 32 and abs(n) > 4 else -2 * n if n < -4 else abs(n)
    assert np.all(np.abs(y[:1000] - known[:1000]) <= most * np.spacing(np.abs(known[:1000])))
