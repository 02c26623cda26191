"""Factors, eigenvalues, singular values and least squares by NumPy's own loops, of every type."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import zyg
from zyg.compiler import libraries
from zyg.errors import CompileError, DegenerateError, PerformanceWarning

TYPES = [np.float32, np.float64, np.complex128]


def matrix(*shape, dtype=np.float64, seed=0):
    draw = np.random.default_rng(seed)
    a = draw.normal(size=shape)
    if dtype is np.complex128:
        a = a + 1j * draw.normal(size=shape)
    return (a + 2 * np.eye(*shape[-2:])).astype(dtype)


def hermitian(a):
    return a + np.conj(np.swapaxes(a, -1, -2))


def positive(a):
    return a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(a.shape[-1], dtype=a.dtype)


def sizes(*parts):
    """A number that depends on no phase."""
    total = 0.0
    for k, x in enumerate(parts):
        weights = np.arange(1.0, x.size + 1).reshape(x.shape)
        total = total + np.sum(np.abs(x) ** (k + 2) * weights)
    return total


def cholesky(a):
    return sizes(np.linalg.cholesky(a, upper=True))


def solve(a):
    return sizes(np.linalg.solve(a, np.sin(a[:, :2])))


def inv(a):
    return sizes(np.linalg.inv(a))


def det(a):
    return np.abs(np.linalg.det(a)) ** 2


def slogdet(a):
    sign, log = np.linalg.slogdet(a)
    return np.abs(sign + 1) * np.cos(log)


def qr(a):
    return sizes(*np.linalg.qr(a[:, :2]))


def eigh(a):
    return sizes(*np.linalg.eigh(a, "U"))


def eigvalsh(a):
    return sizes(np.linalg.eigvalsh(a))


def svd(a):
    return sizes(*np.linalg.svd(a[:, :2], full_matrices=False))


def svdvals(a):
    return sizes(np.linalg.svd(a[:2], compute_uv=False))


def lstsq(a):
    x, rest, rank, s = np.linalg.lstsq(a[:, :2], a[:, 2])
    return sizes(x, rest, s) + rank


def pinv(a):
    return sizes(np.linalg.pinv(a[:, :2]))


def itself(a):
    return a


PROGRAMS = [
    (cholesky, positive), (solve, itself), (inv, itself), (det, itself), (slogdet, itself),
    (qr, itself), (eigh, hermitian), (eigvalsh, hermitian), (svd, itself), (svdvals, itself),
    (lstsq, itself), (pinv, itself),
]  # fmt: skip
CASES = [(f, make, dtype) for f, make in PROGRAMS for dtype in TYPES]
CASES.remove((pinv, itself, np.float32))  # it is called back


def named(x):
    return getattr(x, "__name__", None)


@pytest.mark.slow
@pytest.mark.parametrize(("f", "make", "dtype"), CASES, ids=named)
def test_machine_code_has_numpys_value_and_the_rules_derivatives(f, make, dtype):
    a = make(matrix(4, 4, dtype=dtype))
    near = 1e-5 if dtype is np.float32 else 1e-9
    compiled = zyg.compile(f)
    with zyg.config(fallback="error"):
        assert not compiled.inspect(a)["called back"]
        y = compiled(a)
        assert y == pytest.approx(f(a), rel=1e-6 if dtype is np.float32 else 1e-13)
        assert type(y) is type(f(a))
        (found,), (expected,) = zyg.gradient(compiled, a), zyg.gradient(f, a)
        assert found.dtype == expected.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=near, atol=near)


@pytest.mark.slow
@pytest.mark.parametrize(("f", "make"), PROGRAMS, ids=named)
def test_forward_mode_and_second_derivatives(f, make):
    a, along = make(matrix(3, 3)), make(matrix(3, 3, seed=1))
    compiled = zyg.compile(f)
    pushed = zyg.pushforward(compiled, (a,), (along,))[1]
    assert pushed == pytest.approx(zyg.pushforward(f, (a,), (along,))[1], rel=1e-10)
    expected = zyg.hvp(f, a, along)
    np.testing.assert_allclose(zyg.hvp(compiled, a, along), expected, rtol=1e-8, atol=1e-8)


def test_second_derivatives_by_reverse_mode_twice():
    a = hermitian(matrix(3, 3))
    compiled = zyg.compile(eigvalsh)

    def slope(a, f=compiled):
        return np.sum(zyg.gradient(f, a)[0] * a)

    expected = zyg.gradient(lambda a: slope(a, eigvalsh), a)[0]
    np.testing.assert_allclose(zyg.gradient(slope, a)[0], expected, rtol=1e-8, atol=1e-8)


def orders(y):
    return [np.argsort([-n for n in x.strides], kind="stable").tolist() for x in y]


def each(name, **options):
    """A function as its results, with the name of the function."""
    function = getattr(np.linalg, name)

    def results(a):
        return function(a, **options)

    results.__name__ = name
    return results


VALUES = [
    each("cholesky"), each("cholesky", upper=True), each("inv"), each("det"), each("slogdet"),
    each("qr"), each("qr", mode="r"), each("qr", mode="complete"), each("eigh"),
    each("eigh", UPLO="U"), each("eigvalsh"), each("svd"), each("svd", full_matrices=False),
    each("svdvals"), each("pinv"),
]  # fmt: skip
COMPILED = {f: zyg.compile(f) for f in VALUES}
SQUARE = {"cholesky", "inv", "det", "slogdet", "eigh", "eigvalsh"}


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(VALUES), st.lists(st.integers(0, 3), max_size=2), st.integers(1, 5),
    st.integers(1, 5), st.sampled_from(TYPES), st.sampled_from("CF"), st.integers(0, 99),
)  # fmt: skip
def test_stacks_in_any_order(f, stack, m, n, dtype, order, seed):
    """Bits, types, and the order of axes in memory."""
    a = matrix(*stack, m, m if f.__name__ in SQUARE else n, dtype=dtype, seed=seed)
    if f.__name__ in ("cholesky", "eigh", "eigvalsh"):
        a = positive(a)
    a = np.asarray(a, order=order)
    found, expected = COMPILED[f](a), f(a)
    assert type(found) is type(expected)
    if type(expected) is not tuple and not hasattr(expected, "_fields"):
        found, expected = (found,), (expected,)
    for x, y in zip(found, expected, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(x, y, rtol=1e-5 if dtype is np.float32 else 1e-11, atol=1e-6)
    assert orders(found) == orders(expected)


SINGULAR = np.zeros((3, 3), complex)
INDEFINITE = np.diag([1.0, -1.0, 1.0]) + 0j


@pytest.mark.parametrize(
    ("f", "a"),
    [(inv, SINGULAR), (solve, SINGULAR), (cholesky, INDEFINITE), (eigh, SINGULAR + np.nan)],
    ids=named,
)
def test_what_numpy_raises_is_raised_from_the_users_line(f, a):
    for call in (f, zyg.compile(f)):
        for run in (call, lambda a, call=call: zyg.gradient(call, a)):
            with pytest.raises(np.linalg.LinAlgError) as raised:
                run(a)
            assert f.__name__ in [x.name for x in raised.traceback]


def test_a_singular_matrix_without_columns_is_singular():
    f = lambda a, b: np.linalg.solve(a, b)  # noqa: E731
    args = SINGULAR, np.zeros((3, 0))
    try:
        found = f(*args)
    except np.linalg.LinAlgError:
        with pytest.raises(np.linalg.LinAlgError):
            zyg.compile(f)(*args)
    else:  # an older OpenBLAS, as NumPy 2.3 has it, does not look at the matrix
        with pytest.warns(PerformanceWarning, match="was run in Python"):
            np.testing.assert_array_equal(zyg.compile(f)(*args), found, strict=True)


def spectrum(a):
    w, v = np.linalg.eigh(a)
    return np.sum(w) + np.sum(v[:, 2] ** 4)


@pytest.mark.slow
def test_equal_values_have_derivatives_where_the_result_does_not_ask_which_vectors():
    a = np.diag([1.0, 1.0, 3.0])
    with zyg.config(fallback="error"):
        (found,) = zyg.gradient(zyg.compile(spectrum), a)
    np.testing.assert_allclose(found, zyg.gradient(spectrum, a)[0], atol=1e-15)


def vectors(a):
    v = np.linalg.eigh(a)[1]
    return np.sum(v * np.arange(9.0).reshape(3, 3))


@pytest.mark.slow
@pytest.mark.parametrize("a", [np.eye(3), hermitian(matrix(3, 3, dtype=np.complex128))])
def test_vectors_that_are_free_have_no_derivatives(a):
    def real(a):
        return np.real(vectors(a))

    compiled = zyg.compile(real)
    with pytest.raises(DegenerateError):
        zyg.gradient(real, a)
    with pytest.raises(DegenerateError):
        zyg.gradient(compiled, a)
    with pytest.raises(DegenerateError, match="what a factor of a matrix leaves open"):
        zyg.gradient(lambda a: compiled(a) * 2, a)


@pytest.mark.slow
def test_second_derivatives_by_equal_values_are_refused():
    a, compiled = np.eye(3), zyg.compile(eigvalsh)
    np.testing.assert_allclose(zyg.gradient(compiled, a)[0], zyg.gradient(eigvalsh, a)[0])
    with pytest.raises(DegenerateError):
        zyg.hvp(eigvalsh, a, a)
    with pytest.raises((DegenerateError, CompileError)):
        zyg.hvp(compiled, a, a)


@pytest.mark.slow
def test_determinants_of_singular_complex_matrices():
    compiled = zyg.compile(det)
    for a in (SINGULAR, np.diag([1.0, 0.0, 2.0]) + 0j, np.diag([1.0, 1e-12, 1.0]) + 0j):
        with zyg.config(fallback="error"):
            (found,) = zyg.gradient(compiled, a)
        np.testing.assert_array_equal(found, zyg.gradient(det, a)[0])


@pytest.mark.slow
def test_in_threads():
    @zyg.compile
    def total(stack):
        found = np.zeros(len(stack))
        for i in zyg.prange(len(stack)):
            found[i] = np.sum(np.linalg.eigvalsh(stack[i]) ** 3)
        return np.sum(found)

    stack = hermitian(matrix(64, 5, 5))
    with zyg.config(fallback="error"):
        (found,) = zyg.gradient(total, stack)
    expected = zyg.gradient(lambda a: np.sum(np.linalg.eigvalsh(a) ** 3), stack)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("f", "make"), PROGRAMS, ids=named)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_the_text_computes_the_same(f, make, dtype):
    a, names = make(matrix(4, 4, dtype=dtype)), {}
    exec(zyg.compile(f).source(a), names)
    assert names[f.__name__](a) == pytest.approx(f(a), rel=1e-12)


@pytest.mark.slow
def test_large_and_small_matrices_of_every_type_agree_with_a_stack():
    @zyg.compile
    def total(a):
        return sizes(np.linalg.inv(a), np.linalg.cholesky(positive(a)))

    for n in (2, 17):
        a = matrix(n, n)
        (real,), (whole,) = zyg.gradient(total, a), zyg.gradient(total, a + 0j)
        np.testing.assert_allclose(whole.real, real, rtol=1e-8, atol=1e-8 * np.abs(real).max())


def test_a_complex_unit_matrix_and_the_precision_of_a_type():
    def f(a):
        return np.eye(2, dtype=complex) * a + np.finfo(a.dtype).eps

    a = np.array([1.0, 2.0])
    with zyg.config(fallback="error"):
        np.testing.assert_array_equal(zyg.compile(f)(a), f(a))


@pytest.mark.slow
def test_a_numpy_without_these_loops_is_called_back(monkeypatch):
    zyg.kernels.clear()
    monkeypatch.setattr(libraries, "loops", dict)
    a, compiled = hermitian(matrix(3, 3)), zyg.compile(eigh)
    assert compiled(a) == pytest.approx(eigh(a), rel=1e-13)
    assert "eigh" in compiled.inspect(a)["called back"]
    np.testing.assert_allclose(zyg.gradient(compiled, a)[0], zyg.gradient(eigh, a)[0], rtol=1e-10)
    zyg.kernels.clear()
