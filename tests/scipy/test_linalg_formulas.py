"""Functions of scipy.linalg whose derivatives are formulas: against SciPy's and differences."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

import zyg
import zyg.scipy.fft
import zyg.scipy.signal
from zyg.errors import DegenerateError, MissingRuleError
from zyg.scipy import linalg

A, B = np.random.default_rng(7).normal(size=(2, 5, 3))
M, N = np.random.default_rng(8).normal(size=(2, 4, 4))
C, D = np.random.default_rng(9).normal(size=(2, 4))
SPD = np.array([[0.0, 0.3, -0.4, 0.2], [3.0, 2.5, 4.0, 3.3]])
TURNS = scipy.linalg.block_diag([[0, 2], [-2, 0]], [[3, 1], [-1, 3]]) + 0.3 * M  # complex values
UNEVEN = np.array([[1.0, 9.0, 0.5, 3.0], [0.4, 1.0, 0.7, 0.5], [4.0, 8.0, 3.0, 0.9],
                   [0.6, 7.0, 3.0, 1.0]])  # fmt: skip
FACTOR = scipy.linalg.cholesky_banded(SPD)


def real(y):
    """What moves, as one real vector."""
    parts = y if isinstance(y, tuple) else (y,)
    return np.concatenate([np.ravel(f(p)) for p in parts for f in (np.real, np.imag)])


def thin(a):
    return linalg.qr(a, mode="economic")


CALLS = {
    "eigvals": (lambda a: linalg.eigvals(a), TURNS),
    "eig, values": (lambda a: linalg.eig(a, right=False), TURNS),
    "eig": (lambda a: linalg.eig(a)[0], TURNS),
    "eig, vectors": (lambda a: np.abs(linalg.eig(a)[1]), TURNS),
    "eig of a stack": (lambda a: linalg.eig(a)[0], np.stack([TURNS, 2 * TURNS + 1])),
    "hessenberg": (linalg.hessenberg, M),
    "hessenberg, q": (lambda a: linalg.hessenberg(a, True), N),
    "hessenberg, complex": (lambda a, b: linalg.hessenberg(a + 1j * b, True), M, N),
    "hessenberg, small": (lambda a: linalg.hessenberg(a, True), M[:2, :2]),
    "matrix_balance": (linalg.matrix_balance, UNEVEN),
    "matrix_balance, permuted": (
        lambda a: linalg.matrix_balance(np.concatenate([a, [[0.0, 0.0, 1.0, 0.0]]])), M[:3],
    ),
    "matrix_balance of a stack": (
        lambda a: tuple(linalg.matrix_balance(a)), np.stack([UNEVEN, UNEVEN.T]),
    ),
    "matrix_balance, separate": (
        lambda a: linalg.matrix_balance(a, separate=True)[0], UNEVEN,
    ),
    **{
        f"clarkson_woodruff_transform, {name}": (
            lambda a, given=given: linalg.clarkson_woodruff_transform(a, 2, **given), A,
        )
        for name, given in {"rng": {"rng": 3}, "seed": {"seed": 3}}.items()
    },
    "clarkson_woodruff_transform, by place": (
        lambda a: linalg.clarkson_woodruff_transform(a, 2, 3), np.stack([A, B]),
    ),
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
    "pinvh": (linalg.pinvh, M),
    "pinvh, upper, of lower rank": (
        lambda a: linalg.pinvh(a @ np.diag([1.0, 2.0, 0.0]) @ a.T, lower=False), A[:3],
    ),
    "qr_multiply": (linalg.qr_multiply, A, M[:, :4] @ np.ones((4, 5))),
    "qr_multiply, left": (lambda a, c: linalg.qr_multiply(a, c, "left"), A, M[:3, :2]),
    "qr_multiply, pivoting": (lambda a, c: linalg.qr_multiply(a, c, "right", True), A, A[:, 0]),
    "funm": (lambda a: linalg.funm(a, lambda w: np.exp(-w * w / 9)), M),
    "funm, of a parameter": (lambda a, p: linalg.funm(a, lambda w: 1 / (p + w * w)), M, 5.0),
    "qr_update": (lambda a, u, v: linalg.qr_update(*thin(a), u, v), A, A[:, 0] + 1, A[0]),
    "qr_update, of rank 2": (
        lambda a, u, v: linalg.qr_update(*thin(a), u, v), A, B[:, :2], A[:3, :2],
    ),
    "qr_insert": (lambda a, u: linalg.qr_insert(*thin(a), u, 2), A, B[0]),
    "qr_insert, two": (lambda a, u: linalg.qr_insert(*thin(a), u, -1), A, B[:2]),
    "qr_insert, column": (lambda a, u: linalg.qr_insert(*thin(a), u, 1, "col"), A, B[:, 0]),
    "qr_insert, columns": (lambda a, u: linalg.qr_insert(*thin(a), u, 0, "col"), A, B[:, :2]),
    "qr_delete": (lambda a: linalg.qr_delete(*thin(a), 1), A),
    "qr_delete, columns": (lambda a: linalg.qr_delete(*thin(a), 1, 2, "col"), A),
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
        (lambda a: linalg.hessenberg(a[None]), "a stack of matrices"),
        (lambda a: linalg.hessenberg(np.triu(a)), "has its zeros already"),
        (lambda a: linalg.hessenberg(a, overwrite_a=True), "overwrite_a=True"),
        (lambda a: linalg.funm(a, np.exp, disp=False), "disp=False"),
        (lambda a: linalg.qr_delete(*linalg.qr(a + 1j * a.T), 1), "only real matrices"),
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
    assert np.array_equal(linalg.signm(np.zeros((2, 2))), np.zeros((2, 2)))

    with pytest.raises(MissingRuleError, match="its formula raises LinAlgError: Singular matrix"):
        zyg.pullback(linalg.signm, np.zeros((2, 2)))


@pytest.mark.filterwarnings("ignore:.*singular")
@pytest.mark.parametrize(
    "f",
    [
        linalg.sqrtm, linalg.logm, lambda a: linalg.fractional_matrix_power(a, 0.5),
        lambda a: linalg.polar(a)[0], lambda a: linalg.polar(a)[1],
    ],
)  # fmt: skip
@pytest.mark.parametrize("a", [np.diag([1.0, 0.0]), np.outer([1.0, 2], [1, 2])])
def test_roots_of_singular_matrices_are_refused(f, a):
    with pytest.raises(DegenerateError, match="the matrix is singular"):
        zyg.gradient(lambda a: np.sum(M[:2, :2] * f(a)), a)

    assert not np.any(zyg.pullback(f, a)[1](np.zeros((2, 2)))[0])


def test_polar_factors_of_nearly_singular_matrices():
    u, _, v = np.linalg.svd(M[:3, :3])
    s, d = np.array([1, 0.5, 1e-7]), B[:3, :3]
    slope = zyg.gradient(lambda a: np.sum(M[:3, :3] * linalg.polar(a)[0]), (u * s) @ v)[0]

    turn = u.T @ d @ v.T
    turned = u @ ((turn - turn.T) / (s[:, None] + s)) @ v
    assert np.sum(slope * d) == pytest.approx(np.sum(M[:3, :3] * turned), rel=1e-8)


def test_of_no_elements_there_is_no_derivative():
    value, slope = zyg.value_and_gradient(lambda a: np.sum(linalg.eigvals_banded(a)), M[:0])

    assert value == 0
    assert slope[0] is None or np.shape(slope[0]) == (0, 4)


# Factors that jump where others are chosen

SHAPES = st.integers(1, 5)
SEEDS = st.integers(0, 100)


def drawn(seed, *shape, is_complex=False):
    a, b = np.random.default_rng((seed, *shape)).normal(size=(2, *shape))
    return a + 1j * b if is_complex else a


@pytest.mark.slow
@given(m=SHAPES, n=SHAPES, mode=st.sampled_from(["economic", "r", "full"]), turned=st.booleans())
@settings(max_examples=20, deadline=None)
def test_rq(m, n, mode, turned):
    def parts(a):
        if mode == "r":
            return linalg.rq(a, mode="r")
        r, q = linalg.rq(a, mode=mode)
        return r, np.conj(q[-m:]).T @ q[-m:]  # what completes q is arbitrary

    a = drawn(1, m, n, is_complex=turned) + 3.0 * np.eye(m, n, k=n - m)
    zyg.check_gradient(parts, a)
    y, _ = zyg.pullback(lambda a: linalg.rq(a, mode=mode)[0], a)
    np.testing.assert_array_equal(y, scipy.linalg.rq(a, mode=mode)[0])


def test_rq_of_many():
    a = np.stack([M, N + 5.0 * np.eye(4)])
    for mode in ("full", "r"):
        try:
            scipy.linalg.rq(a, mode=mode)
        except ValueError:  # as in older versions of SciPy
            return
        zyg.check_gradient(lambda a, mode=mode: linalg.rq(a, mode=mode), a)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.slow
@given(n=SHAPES, seed=SEEDS, lower=st.booleans(), hermitian=st.booleans(), turned=st.booleans())
@settings(max_examples=20, deadline=None)
def test_ldl(n, seed, lower, hermitian, turned):
    a = drawn(seed, n, n, is_complex=turned)
    a = a + np.conj(a).T + 5.0 * np.diag(np.arange(n))  # so that pivots do not change places
    zyg.check_gradient(lambda a: linalg.ldl(a, lower, hermitian)[:2], a, rtol=1e-4)


def test_ldl_with_a_block():
    a = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 1.0]])
    for lower in (True, False):
        assert np.diagonal(linalg.ldl(a, lower)[1], 1).any()
        zyg.check_gradient(lambda a, low=lower: linalg.ldl(a, low)[:2], a, order=2)


def test_ldl_of_what_is_singular_or_many():
    with pytest.raises(DegenerateError, match="ldl is undefined here: the matrix is singular"):
        zyg.pullback(lambda a: linalg.ldl(a)[0], np.ones((2, 2)))[1](np.ones((2, 2)))
    for f in (linalg.ldl, linalg.null_space):  # SciPy raises itself where it takes no stacks
        with pytest.raises(
            (MissingRuleError, ValueError), match=r"one (square )?matrix|square|2-D"
        ):
            zyg.pullback(f, np.stack([M, N]))


@pytest.mark.parametrize("a", [A.T, A.T + 1j * B.T, A.T[:1]], ids=["real", "complex", "one row"])
def test_null_space(a):
    def projector(a):
        n = linalg.null_space(a)
        return n @ np.conj(n).T

    zyg.check_gradient(projector, a, order=2)
    assert zyg.gradient(lambda t: t + len(linalg.null_space(a, t)), 1e-9) == (1.0,)
    with pytest.raises(DegenerateError, match="phases of the vectors of null_space"):
        zyg.gradient(
            lambda a: np.sum(np.real(linalg.null_space(a)) * np.arange(np.shape(a)[1] - len(a))), a
        )


def test_null_space_of_lower_rank():
    assert linalg.null_space(np.ones((3, 3))).shape == (3, 2)
    with pytest.raises(DegenerateError, match=r"rows .* are dependent"):
        zyg.gradient(lambda a: np.sum(linalg.null_space(a)), np.ones((3, 3)))
    assert np.shape(zyg.gradient(lambda a: a[0, 0] + np.sum(linalg.null_space(a)), M)[0]) == (4, 4)


def test_funm_of_equal_eigenvalues():
    with pytest.raises(DegenerateError, match="funm is undefined here: some values are equal"):
        zyg.gradient(lambda a: np.sum(linalg.funm(a, np.exp)), np.eye(3))


def test_the_signs_of_factors_that_are_updated():
    """Rotations leave other signs than qr, so that both are there."""
    q, r = scipy.linalg.qr_insert(*scipy.linalg.qr(A, mode="economic"), B[:, 0], 1, "col")
    _, other = scipy.linalg.qr(q @ r, mode="economic")
    assert np.any(np.sign(np.diag(r)) != np.sign(np.diag(other)))


OVERWRITING = {
    "eigvals": lambda a: np.abs(linalg.eigvals(a, overwrite_a=True)),
    "eigvals, by place": lambda a: np.abs(linalg.eigvals(a, None, True)),
    "eig": lambda a: np.abs(linalg.eig(a, overwrite_a=True)[0]),
    "svdvals": lambda a: linalg.svdvals(a, overwrite_a=True),
    "inv": lambda a: linalg.inv(a, overwrite_a=True),
    "qr_multiply": lambda a: linalg.qr_multiply(a, 2 * a, overwrite_a=True, overwrite_c=True)[0],
    "cholesky_banded": lambda a: linalg.cholesky_banded(
        a[:2] + [[9.0], [0.0]], overwrite_ab=True, lower=True
    ),
    "fft": lambda a: np.abs(zyg.scipy.fft.fft(a + 1j, overwrite_x=True)),
    "detrend": lambda a: zyg.scipy.signal.detrend(a, overwrite_data=True),
}


@pytest.mark.parametrize("name", OVERWRITING)
def test_what_scipy_may_overwrite_has_its_derivatives_all_the_same(name):
    def f(a):
        b = a * 1.0  # in Fortran's order, as a is, in which LAPACK overwrites it
        cubes = np.sum(b * b * b)
        return cubes + np.sum(OVERWRITING[name](b) ** 2)

    a = np.asfortranarray(TURNS)
    before = a.copy()
    (found,) = zyg.gradient(f, a)
    step = 1e-5 * np.asfortranarray(N)

    slope = (f(a + step) - f(a - step)) / 2e-5
    assert np.sum(found * N) == pytest.approx(slope, rel=1e-7)
    assert np.array_equal(a, before)
