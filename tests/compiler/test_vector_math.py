"""The vectorised functions: errors over the whole range, special values, what LLVM makes of it."""

import math
import platform
import re
import subprocess
import sys
from functools import cache

import mpmath
import numpy as np
import pytest
from numba import float32, float64, int64, njit, void

from zyg.compiler.back import vector_math

WIDTHS, TYPES = {32: np.float32, 64: np.float64}, {32: float32, 64: float64}
UNARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arctan", "sinh",
    "cosh", "tanh", "erf",
)  # fmt: skip
ALL = [(name, width) for name in (*UNARY, "power") for width in WIDTHS]
CASES = pytest.mark.parametrize(("name", "width"), [case for case in ALL if case[0] != "power"])
ULPS = 4
OF_C = re.compile(
    r"\$_?(exp|exp2|expm1|log|log2|log10|log1p|arctan|atan|sinh|cosh|tanh|erf|pow)f?\b"
)


@cache
def compiled(name, width):
    """The function in a loop over arrays, as kernels use it."""
    f = getattr(vector_math, f"{name}{width}")

    def unary(n, x, y):
        for i in range(n):
            y[i] = f(x[i])

    def binary(n, x1, x2, y):
        for i in range(n):
            y[i] = f(x1[i], x2[i])

    array = TYPES[width][::1]
    if name == "power":
        return njit(void(int64, array, array, array), error_model="numpy")(binary)
    return njit(void(int64, array, array), error_model="numpy")(unary)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def loop(name, *xs):
    y = np.empty_like(xs[0])
    compiled(name, 8 * y.itemsize)(y.size, *xs, y)
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


@pytest.mark.slow
@pytest.mark.parametrize(("name", "width"), ALL)
def test_loops_are_vectorised_and_keep_the_type(name, width):
    (text,) = compiled(name, width).inspect_asm().values()
    if platform.machine() in ("x86_64", "AMD64"):
        assert re.search(r"\bv?mulp[sd]\b", text)
    assert not OF_C.search(text)
    f = getattr(vector_math, f"{name}{width}")
    assert {signature.return_type for signature in f.nopython_signatures} == {TYPES[width]}


@pytest.mark.slow
def test_in_branches(rng):
    exp, log, sin, cos = (getattr(vector_math, f) for f in ("exp32", "log32", "sin32", "cos32"))

    @njit(error_model="numpy")
    def kernel(n, x, y):
        for i in range(n):
            v = x[i]
            if v > 1:
                w = sin(v) * cos(v) * exp(-v)
            elif v > 0:
                w = log(v)
            else:
                w = exp(v)
            y[i] = w

    x = rng.uniform(-2, 3, 1003).astype(np.float32)
    x[::9] *= 1e10
    y = np.empty_like(x)
    kernel(x.size, x, y)
    v = x.astype(float)
    with np.errstate(all="ignore"):
        exact = np.where(v > 0, np.log(v), np.exp(v))
        exact = np.where(v > 1, np.sin(v) * np.cos(v) * np.exp(-v), exact)
    np.testing.assert_allclose(y, exact, rtol=1e-6, atol=1e-44)
    if platform.machine() in ("x86_64", "AMD64"):
        (text,) = kernel.inspect_asm().values()
        assert "mulps" in text


def test_numbers_one_at_a_time():
    assert vector_math.exp64(1.0) == pytest.approx(np.e, rel=1e-15)
    assert vector_math.sin64(1e300) == pytest.approx(np.sin(1e300), rel=1e-15)
    assert vector_math.power32(np.float32(2), np.float32(0.5)) == np.sqrt(np.float32(2))


CACHED = """
import numpy as np
from numba import njit
from zyg.compiler.back.vector_math import sin64, tanh64

@njit("void(int64, float64[::1], float64[::1])", cache=True, error_model="numpy")
def kernel(n, x, y):
    for i in range(n):
        y[i] = sin64(x[i]) + tanh64(x[i])

x = np.array([0.5, 1e30, -3.0, 2.0, 1.0])
y = np.empty_like(x)
kernel(5, x, y)
np.testing.assert_allclose(y, np.sin(x) + np.tanh(x))
print(sum(kernel.stats.cache_hits.values()), len(tanh64.signatures))
"""


@pytest.mark.slow
def test_a_cached_kernel_compiles_nothing(tmp_path):
    file = tmp_path / "cached.py"
    file.write_text(CACHED)
    runs = [
        subprocess.run([sys.executable, file], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert runs == ["0 1\n", "1 0\n"]
