"""Matrices that are large enough for LAPACK, with derivatives in closed form."""

import numpy as np
import pytest

import zyg
from zyg.compiler import libraries
from zyg.compiler.back import lapack

N = 20  # rows, more than loops take
_draw = np.random.default_rng(0)
A = _draw.normal(size=(N, N)) + 5 * np.eye(N)
POSITIVE = 3 * np.eye(N) + 0.1 * A @ A.T
ALONG = _draw.normal(size=(N, N))


def cholesky(a):
    return np.sum(np.cos(np.linalg.cholesky(a)))


def columns(a):
    return np.sum(np.cos(np.linalg.solve(a, np.sin(a[:, :3]))))


def vector(a):
    return np.sum(np.linalg.solve(a, a[0]) ** 2)


def lower(a):
    return np.sum(np.linalg.solve(np.tril(a), a[0]) ** 2)


def upper(a):
    return np.sum(np.linalg.solve(np.triu(a), a) ** 2)


def inverse(a):
    return np.sum(np.cos(np.linalg.inv(a)))


def determinant(a):
    return np.cos(np.linalg.det(a / 5))


def logarithm(a):
    sign, log = np.linalg.slogdet(a)
    return sign * np.cos(log)


def transposed(a):
    return np.cos(np.linalg.slogdet(-a.T)[1]) + np.sum(np.linalg.inv(a.T)[0])


def stacks(a):
    both = np.stack([a, 2 * a.T])
    return np.sum(np.linalg.inv(both) ** 2) + np.sum(np.linalg.solve(both, a)[1])


def process(a):
    factor = np.linalg.cholesky(a @ a.T)
    z = np.linalg.solve(factor, a[0])
    return 0.5 * (z @ z) + np.sum(np.log(np.diag(factor)))


def in_threads(a):
    total = 0.0
    for i in zyg.prange(4):
        total += np.linalg.slogdet(a + i * np.eye(len(a)))[1]
    return total


PROGRAMS = [
    (cholesky, POSITIVE), (columns, A), (vector, A), (lower, A), (upper, A), (inverse, A),
    (determinant, A), (logarithm, A), (logarithm, -A), (transposed, A), (stacks, A), (process, A),
    (in_threads, A),
]  # fmt: skip


@pytest.mark.parametrize(("f", "a"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_derivatives_are_those_of_the_rules_and_of_differences(f, a):
    compiled = zyg.compile(f)
    with zyg.config(fallback="error"):
        assert compiled(a) == pytest.approx(f(a), rel=1e-12)
        (found,), (expected,) = zyg.gradient(compiled, a), zyg.gradient(f, a)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        step = 1e-5 * ALONG
        slope = (f(a + step) - f(a - step)) / 2e-5
        assert np.sum(found * ALONG) == pytest.approx(slope, rel=1e-5, abs=1e-7)
        along = zyg.pushforward(compiled, (a,), (ALONG,))[1]
        assert along == pytest.approx(np.sum(found * ALONG), rel=1e-9)
        second = zyg.hvp(compiled, a, ALONG)
        np.testing.assert_allclose(second, zyg.hvp(f, a, ALONG), rtol=1e-8, atol=1e-10)
        twice = zyg.gradient(lambda x: np.sum(zyg.gradient(compiled, x)[0] * ALONG), a)[0]
        np.testing.assert_allclose(twice, second, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("f", "a"), PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_the_text_computes_the_same(f, a):
    names: dict = {}
    exec(zyg.compile(f).source(a), names)
    assert names[f.__name__](a) == pytest.approx(f(a), rel=1e-10)


SINGULAR = A * (np.arange(N) > 0)


@pytest.mark.parametrize("f", [columns, vector, inverse, cholesky])
@pytest.mark.parametrize("a", [SINGULAR, np.zeros((N, N))])
def test_what_numpy_raises(f, a):
    with pytest.raises(np.linalg.LinAlgError):
        zyg.compile(f)(a)
    with pytest.raises(np.linalg.LinAlgError):
        zyg.gradient(zyg.compile(f), a)


@pytest.mark.filterwarnings("ignore:zyg.compile")
def test_a_singular_determinant_is_0_and_has_its_slope():
    a = np.diag([0.0] + [1.0] * (N - 1))
    compiled = zyg.compile(determinant)
    assert compiled(a) == determinant(a)
    np.testing.assert_allclose(zyg.gradient(compiled, a)[0], zyg.gradient(determinant, a)[0])


def test_a_determinant_of_almost_0_has_accurate_slopes():
    draw = np.random.default_rng(1)
    for noise in (0.0, 1e-12, 1e-4):
        a = draw.normal(size=(N, N - 1)) @ draw.normal(size=(N - 1, N)) / 4
        a += noise * draw.normal(size=(N, N))
        (found,) = zyg.gradient(zyg.compile(np.linalg.det), a)
        (expected,) = zyg.gradient(np.linalg.det, a)
        assert np.max(np.abs(found - expected)) <= 1e-9 * np.max(np.abs(expected))


@pytest.mark.filterwarnings("ignore:zyg.compile")  # Python runs it
def test_numbers_that_are_not_finite():
    a = np.tril(A)
    a[3, 1] = np.nan

    def f(a):
        return np.linalg.solve(a, np.ones(len(a)))

    np.testing.assert_array_equal(zyg.compile(f)(a), f(a))


def test_arguments_of_other_layouts_are_not_written():
    a, b = np.asfortranarray(A), np.arange(2.0 * N)[::2]
    before = a.copy(), b.copy()

    def f(a, b):
        return np.sum(np.linalg.solve(a, b) ** 2) + np.linalg.det(a / 5)

    compiled = zyg.compile(f)
    assert compiled(a, b) == pytest.approx(f(a, b), rel=1e-12)
    for c, d in zip(zyg.gradient(compiled, a, b), zyg.gradient(f, a, b), strict=True):
        np.testing.assert_allclose(c, d, rtol=1e-9)
    assert np.array_equal(a, before[0])
    assert np.array_equal(b, before[1])


@pytest.mark.parametrize("ints", ["i32", "i64"])
def test_the_text_for_other_libraries_is_llvms(ints, monkeypatch):
    from llvmlite import binding

    monkeypatch.setattr(libraries, "of_factors", lambda: ("", "_", ints))
    declared: dict[str, None] = {}
    for name in ("solve", "solve again", "solve lower", "solve upper", "cholesky"):
        lapack.define(name, declared)
    lapack.define_slogdet(declared)
    binding.parse_assembly("\n".join(declared)).verify()
