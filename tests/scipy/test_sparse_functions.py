"""Exponentials, inverses, powers and norms of sparse matrices with watched elements."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg as theirs

import zyg
from zyg.errors import MissingRuleError
from zyg.scipy import sparse
from zyg.scipy.sparse import coo_array, linalg

pytestmark = pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
N = 5
ROWS, COLUMNS = np.nonzero(np.eye(N) + np.eye(N, k=1) + np.eye(N, k=-2))
ROWS, COLUMNS = np.concatenate([ROWS, [0]]), np.concatenate([COLUMNS, [1]])  # a place twice
R = np.random.default_rng(11)
DATA, B = R.normal(size=ROWS.size) + 2.0 * (ROWS == COLUMNS), R.normal(size=N)
COMPLEX = DATA + 1j * R.normal(size=ROWS.size)
ORDERS = [None, "fro", 1, -1, np.inf, -np.inf, 2]


def matrix(data):
    return coo_array((data, (ROWS, COLUMNS)), shape=(N, N))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("b", [B, np.stack([B, B * B], axis=1)], ids=["vector", "columns"])
def test_the_action_of_an_exponential(b, order):
    zyg.check_gradient(lambda d, b: linalg.expm_multiply(matrix(d), b), DATA / 4, b, order=order)
    zyg.check_gradient(lambda b: linalg.expm_multiply(matrix(DATA), b), b, order=order)


@pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_action_in_time(order):
    def in_time(d, b, start, stop):
        return linalg.expm_multiply(matrix(d), b, start, stop, num=3, endpoint=False)

    zyg.check_gradient(in_time, DATA / 4, B, 0.2, 0.9, order=order)


@pytest.mark.slow
def test_the_action_for_large_matrices():
    zyg.check_gradient(lambda d, b: linalg.expm_multiply(matrix(-3 * d), b), DATA, B)


def test_the_action_for_complex_matrices_and_operators():
    zyg.check_gradient(lambda d, b: linalg.expm_multiply(matrix(d), b), COMPLEX / 9, B)
    zyg.check_gradient(lambda d, b: linalg.expm_multiply(d, b), matrix(DATA / 9).toarray(), B)
    a = matrix(DATA).tocsr()
    operator = theirs.aslinearoperator(a)
    for turn in (1.0, 1j):
        zyg.check_gradient(
            lambda b, t=turn: linalg.expm_multiply(t * operator, b, traceA=t * a.trace()), B + 0j
        )
    zyg.check_gradient(lambda b: linalg.expm_multiply(a, b, 0.0, 1.0, 3, True), B)
    y, _ = zyg.pullback(lambda b: linalg.expm_multiply(a, b), B)
    assert np.array_equal(y, theirs.expm_multiply(a, B))


@pytest.mark.parametrize("name", ["expm", "inv", "matrix_power"])
def test_functions_of_matrices(name):
    more = (3,) if name == "matrix_power" else ()
    f = getattr(linalg, name)
    for data in (DATA, COMPLEX):
        zyg.check_gradient(lambda d: f(matrix(d), *more).toarray(), data)
        zyg.check_gradient(lambda d: f(matrix(d).T, *more) @ B, data, order=2)
    y, _ = zyg.pullback(lambda d: f(matrix(d), *more).toarray(), DATA)
    exact = getattr(theirs, name)(scipy.sparse.coo_array(matrix(DATA)).tocsc(), *more)
    np.testing.assert_allclose(y, exact.toarray(), rtol=1e-13, atol=1e-14)
    if name != "inv":
        zyg.check_gradient(lambda a: f(a, *more), matrix(DATA).toarray())


def test_the_power_0_is_constant():
    (slope,) = zyg.gradient(
        lambda d: np.sum(linalg.matrix_power(matrix(d), 0).toarray() * d[0]), DATA
    )
    assert slope[0] == N
    assert not np.any(slope[1:])


@pytest.mark.parametrize("data", [DATA, COMPLEX], ids=["real", "complex"])
@pytest.mark.parametrize("ord", ORDERS)
def test_norms_of_matrices(ord, data):
    zyg.check_gradient(lambda d: linalg.norm(matrix(d), ord), data)
    zyg.check_gradient(lambda d: linalg.norm(matrix(d).T, ord, (1, 0)), data)
    y, _ = zyg.pullback(lambda d: linalg.norm(matrix(d), ord), data)
    assert y == pytest.approx(theirs.norm(scipy.sparse.coo_array(matrix(data)), ord), rel=1e-14)


@pytest.mark.parametrize("axis", [0, 1, -1, -2, (0,)])
@pytest.mark.parametrize("ord", [None, 1, 2, 3, np.inf])
def test_norms_of_rows_and_columns(axis, ord):
    zyg.check_gradient(lambda d: linalg.norm(matrix(d), ord, axis), DATA)
    zyg.check_gradient(lambda d: linalg.norm(matrix(d).T, ord, axis), COMPLEX)


def test_the_norm_of_a_row_of_zeros_has_slope_0():
    at = np.where(ROWS == 2, 0.0, DATA)
    (slope,) = zyg.gradient(lambda d: np.sum(linalg.norm(matrix(d), axis=1)), at)
    assert not np.any(slope[ROWS == 2])
    assert np.all(slope[ROWS == 3] != 0)


def test_what_scipy_raises():
    for f in (linalg.norm, linalg.inv):
        with pytest.raises(TypeError, match="sparse"):
            zyg.gradient(f, np.eye(3))


@pytest.mark.parametrize("kind", ["coo_array", "csr_array", "csc_matrix"])
def test_matrices_of_elements_and_places(kind):
    def length(d):
        return linalg.norm(getattr(sparse, kind)((d, (ROWS, COLUMNS)), shape=(N, N)))

    zyg.check_gradient(length, DATA)


def test_times_at_which_scipy_gives_something_else():
    for back in ((0.7, 0.1, 2), (1.0, 0.7, 3)):
        y = theirs.expm_multiply(scipy.sparse.csr_array(np.diag(B)), B, *back)
        assert not np.allclose(y[-1], np.exp(back[1] * B) * B)
        with pytest.raises(MissingRuleError, match="does not give what SciPy does"):
            zyg.gradient(
                lambda b, back=back: np.sum(
                    linalg.expm_multiply(scipy.sparse.csr_array(np.diag(B)), b, *back)
                ),
                B,
            )
