"""Functions of scipy.linalg whose derivatives are formulas: against SciPy's and differences."""

import numpy as np
import pytest
import scipy.linalg

import zyg
from zyg.errors import MissingRuleError
from zyg.scipy import linalg

A, B = np.random.default_rng(7).normal(size=(2, 5, 3))
M, N = np.random.default_rng(8).normal(size=(2, 4, 4))
C, D = np.random.default_rng(9).normal(size=(2, 4))
SPD = np.array([[0.0, 0.3, -0.4, 0.2], [3.0, 2.5, 4.0, 3.3]])
TURNS = scipy.linalg.block_diag([[0, 2], [-2, 0]], [[3, 1], [-1, 3]]) + 0.3 * M  # complex values
FACTOR = scipy.linalg.cholesky_banded(SPD)


def real(y):
    """What moves, as one real vector."""
    parts = y if isinstance(y, tuple) else (y,)
    return np.concatenate([np.ravel(f(p)) for p in parts for f in (np.real, np.imag)])


CALLS = {
    "eigvals": (lambda a: linalg.eigvals(a), TURNS),
    "eig, values": (lambda a: linalg.eig(a, right=False), TURNS),
    "eig": (lambda a: linalg.eig(a)[0], TURNS),
    "eig, vectors": (lambda a: np.abs(linalg.eig(a)[1]), TURNS),
    "eigh_tridiagonal": (linalg.eigh_tridiagonal, C, D[:3]),
    "eigh_tridiagonal, values": (lambda d, e: linalg.eigh_tridiagonal(d, e, True), C, D[:3]),
    "eigvalsh_tridiagonal": (linalg.eigvalsh_tridiagonal, C, D[:3]),
    "eig_banded": (linalg.eig_banded, M[:3]),
    "eig_banded, lower": (lambda a: linalg.eig_banded(a, lower=True), M[:2]),
    "eigvals_banded": (lambda a: linalg.eigvals_banded(a, lower=True), M[:3]),
    "cholesky_banded": (linalg.cholesky_banded, SPD),
    "cholesky_banded, lower": (lambda a: linalg.cholesky_banded(a, lower=True), SPD[::-1]),
    "cho_solve_banded": (lambda c, b: linalg.cho_solve_banded((c, False), b), FACTOR, C),
    "polar": (linalg.polar, A),
    "polar, wide": (linalg.polar, A.T),
    "polar, left": (lambda a: linalg.polar(a, side="left"), A),
    "polar, wide, left": (lambda a: linalg.polar(a, "left"), A.T),
    "polar, complex": (lambda a, b: linalg.polar(a + 1j * b), M, N),
    "orthogonal_procrustes": (linalg.orthogonal_procrustes, A, B),
    "orth": (linalg.orth, A),
    "subspace_angles": (linalg.subspace_angles, A, B[:, :2]),
    "subspace_angles, fewer": (linalg.subspace_angles, A[:, :1], B[:, :2]),
    "expm_frechet": (linalg.expm_frechet, 0.3 * M, N),
    "expm_frechet, alone": (lambda a, e: linalg.expm_frechet(a, e, compute_expm=False), 0.3 * M, N),
    "signm": (linalg.signm, M @ np.diag([1.0, -2.0, 3.0, -4.0]) @ np.linalg.inv(M)),
    "solve_toeplitz": (lambda c, r, b: linalg.solve_toeplitz((c, r), b), C + [5, 0, 0, 0], D, M),
    "solve_toeplitz, symmetric": (linalg.solve_toeplitz, C + [5, 0, 0, 0], D),
    "matmul_toeplitz": (lambda c, r, b: linalg.matmul_toeplitz((c, r), b), C, D[:3], A[:3]),
    "solve_circulant": (linalg.solve_circulant, C + [5, 0, 0, 0], M),
    "solve_circulant, axes": (
        lambda c, b: linalg.solve_circulant(c, b, baxis=1, outaxis=1), C + [5, 0, 0, 0], M
    ),
    "khatri_rao": (linalg.khatri_rao, A, M[:, :3]),
    "leslie": (linalg.leslie, C, D[:3]),
    "convolution_matrix": (lambda a: linalg.convolution_matrix(a, 3), C),
    "convolution_matrix, same": (lambda a: linalg.convolution_matrix(a, 3, "same"), C),
    "convolution_matrix, valid": (lambda a: linalg.convolution_matrix(a, 3, "valid"), C),
    "fiedler": (linalg.fiedler, C),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_formulas_have_scipys_values_and_slopes(name):
    f, *x = CALLS[name]
    plain, (watched, _) = f(*x), zyg.pullback(lambda *x: real(f(*x)), *x)

    np.testing.assert_array_equal(watched, real(plain))
    zyg.check_gradient(lambda *x: real(f(*x)), *x)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda a: linalg.eig(a, a), "right eigenvectors of one matrix"),
        (lambda a: linalg.eigvals(a, a), "one matrix"),
        (lambda a: linalg.eigvals_banded(a, select="i", select_range=(0, 1)), "select='a'"),
        (lambda a: linalg.polar(a[None]), "one matrix at a time"),
        (lambda a: linalg.solve_circulant(a[0], a[1], "lstsq"), "singular='raise'"),
        (lambda a: linalg.schur(a), "schur has no rule"),
        (lambda a: linalg.hessenberg(a), "hessenberg has no rule"),
        (lambda a: linalg.null_space(a[:2]), "null_space has no rule"),
        (lambda a: linalg.qz(a, a), "qz has no rule"),
    ],
)
def test_what_has_no_rule_is_refused_by_name(f, text):
    with pytest.raises(MissingRuleError, match=text):
        zyg.pullback(f, M)


def test_questions_are_answered():
    assert zyg.gradient(lambda a: a[0, 0] * linalg.issymmetric(a + a.T), M)[0][0, 0] == 1


@pytest.mark.filterwarnings("ignore:Matrix is singular")
def test_a_formula_that_raises_is_refused_where_scipy_answers():
    assert np.array_equal(linalg.polar(np.zeros((2, 2)))[0], np.eye(2))

    with pytest.raises(MissingRuleError, match="its formula raises LinAlgError: Singular matrix"):
        zyg.pullback(linalg.polar, np.zeros((2, 2)))


def test_of_no_elements_there_is_no_derivative():
    value, slope = zyg.value_and_gradient(lambda a: np.sum(linalg.eigvals_banded(a)), M[:0])

    assert value == 0
    assert slope[0] is None or np.shape(slope[0]) == (0, 4)
