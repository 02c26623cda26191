"""Systems with sparse matrices, of watched elements and right-hand sides."""

import copy

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg as theirs

import zyg
from zyg.errors import ConvergenceError, MissingRuleError
from zyg.scipy.sparse import coo_array, linalg

pytestmark = pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
N = 6
_I, _J = np.nonzero(np.eye(N) + np.eye(N, k=1) + np.eye(N, k=-1) + np.eye(N, k=3))
ROWS, COLUMNS = np.concatenate([_I, [0]]), np.concatenate([_J, [1]])  # the last place twice
R = np.random.default_rng(3)
DATA, B = R.normal(size=ROWS.size) * 0.3 + 5.0 * (ROWS == COLUMNS), R.normal(size=N)
SHARP = {"rtol": 1e-13, "atol": 0.0}
SYMMETRIC = {"cg", "minres"}
SOLVERS = ["bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr"]


def options(name):
    return {"rtol": 1e-13} if name == "minres" else SHARP


def matrix_of(data, name=""):
    """A matrix, or what is symmetric of it."""
    if name in SYMMETRIC:
        data = np.concatenate([data, data])
        return coo_array((data, (np.r_[ROWS, COLUMNS], np.r_[COLUMNS, ROWS])), shape=(N, N))
    return coo_array((data, (ROWS, COLUMNS)), shape=(N, N))


@pytest.mark.parametrize("name", SOLVERS)
def test_iterative_solvers(name):
    def solved(data, b):
        return getattr(linalg, name)(matrix_of(data, name), b, **options(name))[0]

    zyg.check_gradient(solved, DATA, B, rtol=1e-4)
    a = scipy.sparse.coo_array(matrix_of(DATA, name))
    exact = getattr(theirs, name)(a.tocsr(), B, **options(name))
    y, _ = zyg.pullback(lambda b: getattr(linalg, name)(a.tocsr(), b, **options(name)), B)
    assert np.array_equal(y[0], exact[0])
    assert y[1] == exact[1] == 0


@pytest.mark.parametrize("name", ["cg", "gmres", "bicgstab"])
def test_iterative_solvers_of_dense_matrices_and_with_a_preconditioner(name):
    a = matrix_of(DATA, name).toarray()
    near = np.diag(1 / np.diag(a))
    near[0, 1] = 0.0 if name == "cg" else 0.1

    def solved(a, b):
        a = (a + a.T) / 2 if name == "cg" else a
        return getattr(linalg, name)(a, b, np.ones(N), M=near, maxiter=200, **SHARP)[0]

    zyg.check_gradient(solved, a, B, rtol=1e-4)


def test_complex_systems():
    data, b = DATA * (1 + 0.2j), B * (1 - 1j)
    zyg.check_gradient(lambda d, b: linalg.gmres(matrix_of(d), b, **SHARP)[0], data, b, rtol=1e-4)
    zyg.check_gradient(lambda d, b: linalg.spsolve(matrix_of(d), b), data, b)
    zyg.check_gradient(lambda d, b: linalg.splu(matrix_of(d)).solve(b, "T"), data, b)
    zyg.check_gradient(lambda d, b: linalg.splu(matrix_of(d).T).solve(b, "H"), data, b)


def test_a_system_leaves_the_matrix_as_it_is():
    """SciPy adds up elements of one place where they are stored."""

    def both(data, b):
        a = matrix_of(data)
        return linalg.spsolve(a, b) + a @ linalg.spsolve(a.T, b)

    zyg.check_gradient(both, DATA, B)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("columns", [1, 2])
def test_triangular_systems(lower, columns):
    kept = ROWS >= COLUMNS if lower else ROWS <= COLUMNS
    b = np.stack([B, B**2][:columns], axis=-1) if columns > 1 else B

    def solved(data, b):
        a = coo_array((data, (ROWS[kept], COLUMNS[kept])), shape=(N, N))
        return linalg.spsolve_triangular(a, b, lower)

    zyg.check_gradient(solved, DATA[kept], b)


@pytest.mark.parametrize("trans", ["N", "T", "H"])
def test_factors(trans):
    def solved(data, b):
        return linalg.splu(matrix_of(data)).solve(b, trans)

    zyg.check_gradient(solved, DATA, B)
    zyg.check_gradient(lambda data, b: linalg.factorized(matrix_of(data))(b), DATA, B)
    plain = matrix_of(DATA).tocsc()
    zyg.check_gradient(lambda b: linalg.factorized(plain)(b), B)
    rough = copy.copy(linalg.spilu(plain, drop_tol=0.5))
    assert rough.nnz == theirs.spilu(plain, drop_tol=0.5).nnz
    zyg.check_gradient(lambda b: rough.solve(b, trans), np.stack([B, B**2], axis=-1))


def test_what_is_not_solved_has_no_derivative():
    with pytest.raises(ConvergenceError, match="its info is 1"):
        zyg.gradient(lambda b: np.sum(linalg.cg(matrix_of(DATA, "cg"), b, maxiter=1)[0]), B)


@pytest.mark.parametrize("name", SOLVERS)
def test_loose_tolerances_are_those_of_the_value(name):
    a, solver = matrix_of(DATA, name), getattr(linalg, name)
    absolute = {} if name == "minres" else {"atol": 1e-2}

    def scaled(b):
        return 1e-6 * solver(a, b, rtol=1e-2, **absolute)[0]

    (slopes,) = zyg.jacobian(scaled, B)
    np.testing.assert_allclose(slopes * 1e6, np.linalg.inv(a.toarray()), rtol=1e-3, atol=1e-5)
    with pytest.raises(ConvergenceError, match="far from the solution"):
        zyg.gradient(lambda d: np.sum(solver(matrix_of(d, name), B, rtol=0.9)[0]), DATA)


def test_a_right_hand_side_of_one_column():
    def solved(data, b):
        return linalg.spsolve(matrix_of(data), b)

    assert solved(DATA, B[:, None]).shape == (N,)
    zyg.check_gradient(solved, DATA, B[:, None])


def test_what_the_rules_do_not_know():
    operator = theirs.aslinearoperator(np.eye(N))
    for f, words in (
        (lambda d: linalg.cg(operator, d[:N])[0], "a matrix with elements"),
        (lambda d: linalg.cg(np.eye(N), d[:N, None])[0], "one right-hand side"),
        (lambda d: linalg.cg(np.eye(N), d[:N], M=d[0] * np.eye(N))[0], "'M'"),
        (lambda d: linalg.minres(np.eye(N), d[:N], shift=d[0])[0], "'shift'"),
        (lambda d: linalg.spsolve(matrix_of(d), scipy.sparse.csc_array(np.eye(N))), "dense right"),
        (lambda d: linalg.spsolve_triangular(matrix_of(d), B), "other triangle"),
        (lambda d: linalg.spilu(matrix_of(d)).solve(B), "no derivative by the elements"),
        (
            lambda d: linalg.spsolve_triangular(matrix_of(d), B, unit_diagonal=True),
            "reads the diagonal",
        ),
    ):
        with pytest.raises(MissingRuleError, match=words):
            zyg.gradient(lambda d, f=f: np.sum(f(d)), DATA)
