"""Linear algebra where a check of one call cannot see: choices, equal values, singular matrices."""

# ruff: noqa: E501 - one case per line

import numpy as np
import pytest

import zyg
from zyg.functions.primitives import decompositions

from ..calls.calls import CUBE, A, V, W, array, matrix

SQUARE = matrix(3, 3)
COMPLEX = array(3, 3) + 1j * array(3, 3, seed=1) + np.diag([1.0, 4.0, 8.0])
TALL = array(4, 2) + 1j * array(4, 2, seed=1)
Q = np.linalg.qr(array(4, 4)).Q
C = array(4, 4, seed=2)


def with_eigenvalues(*w):
    return Q[:, : len(w)] @ np.diag(w) @ Q[:, : len(w)].T


def dagger(x):
    return np.conjugate(np.swapaxes(x, -1, -2))


# What does not depend on the choices of an algorithm, to third order


def of_eigh(a, f=np.sin, **kwargs):
    w, v = np.linalg.eigh(a, **kwargs)
    return w, (v * f(w)[..., None, :]) @ dagger(v), np.abs(v)


def of_svd(a, **kwargs):
    u, s, vh = np.linalg.svd(a, **kwargs)
    k = s.shape[-1]
    u1, vh1 = u[..., :k], vh[..., :k, :]
    return u1 @ vh1, (u1 * s[..., None, :] ** 2) @ dagger(u1), np.abs(vh1[..., 0, 1])


def of_complements(a):
    u, _, vh = np.linalg.svd(a)
    k = min(a.shape[-2:])
    return u[..., k:] @ dagger(u[..., k:]), dagger(vh[..., k:, :]) @ vh[..., k:, :]


def of_complete_qr(a):
    q, r = np.linalg.qr(a, mode="complete")
    return q[..., 2:] @ dagger(q[..., 2:]), q[..., :2], r


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (of_eigh, COMPLEX), (lambda a: of_eigh(a, UPLO="U"), COMPLEX),
        (of_eigh, np.stack([COMPLEX, COMPLEX.T])), (of_svd, COMPLEX), (of_svd, TALL), (of_svd, TALL.T),
        (lambda a: of_svd(a, full_matrices=False), TALL), (of_svd, CUBE + 1j * CUBE[::-1]),
        (lambda a: of_svd(a, hermitian=True), COMPLEX - 3 * np.eye(3)),
        (of_complements, TALL), (of_complements, TALL.T), (of_complements, array(5, 2)),
        (of_complete_qr, TALL), (of_complete_qr, array(2, 5, 2)),
        (lambda a: np.linalg.pinv(a, hermitian=True), COMPLEX),
    ],
)  # fmt: skip
def test_what_no_phase_changes(f, x):
    zyg.check_gradient(f, x)


@pytest.mark.parametrize(
    "f",
    [
        np.linalg.cholesky, np.linalg.qr, np.linalg.svd, np.linalg.svdvals, np.linalg.eigh,
        np.linalg.eigvalsh, np.linalg.eig, np.linalg.eigvals, np.linalg.pinv, np.linalg.slogdet,
        np.linalg.det, np.linalg.inv, lambda a: np.linalg.norm(a, 2), np.linalg.cond,
        lambda a: np.linalg.lstsq(a, W),
    ],
)  # fmt: skip
def test_third_derivatives(f):
    zyg.check_gradient(f, np.diag([1.0, 2.0, 4.0]) + 0.1 * array(3, 3), order=3, modes=["reverse"])


# What depends on them


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda a: np.real(np.linalg.eigh(a)[1][1, 0]), COMPLEX),
        (lambda a: np.imag(np.linalg.svd(a)[0][1, 0]), COMPLEX),
        (lambda a: np.imag(np.linalg.svd(a, full_matrices=False)[2][0, 1]), TALL),
        (lambda a: np.linalg.svd(a)[0][0, 3], array(4, 2)),
        (lambda a: np.linalg.svd(a)[2][3, 0], array(2, 4)),
        (lambda a: np.linalg.qr(a, mode="complete").Q[0, 3], array(4, 2)),
    ],
)
def test_a_result_that_depends_on_an_arbitrary_phase_is_refused(f, x):
    with pytest.raises(zyg.errors.DegenerateError, match="arbitrary"):
        zyg.gradient(f, x)


def test_the_column_that_completes_a_real_basis_has_only_a_sign():
    zyg.check_gradient(lambda a: np.linalg.svd(a)[0], array(4, 3))
    zyg.check_gradient(lambda a: np.linalg.svd(a)[2], array(3, 4))


@pytest.mark.parametrize(
    "f", [np.linalg.eigvalsh, np.linalg.cholesky, lambda a: np.linalg.eigh(a)[0]]
)
def test_the_triangle_that_is_not_read_has_no_derivative(f):
    g = zyg.gradient(lambda a: np.sum(f(a) ** 3), SQUARE + SQUARE.T)[0]

    np.testing.assert_array_equal(g, np.tril(g))
    assert np.all(np.tril(g)[np.tril_indices(3)])


# Equal values


REPEATED = with_eigenvalues(2.0, 2.0, 2.0, 3.0)


def test_functions_of_the_values_alone_are_differentiable_where_values_are_equal():
    expected = 3 * REPEATED @ REPEATED
    for f in (
        np.linalg.eigvalsh,
        lambda a: np.linalg.eigh(a)[0],
        np.linalg.svdvals,
        np.linalg.eigvals,
    ):
        g = zyg.gradient(lambda a, f=f: np.real(np.sum(f(a) ** 3)), REPEATED)[0]
        np.testing.assert_allclose((g + g.T) / 2, expected, atol=1e-12)


@pytest.mark.parametrize("f", [np.linalg.eigvalsh, np.linalg.svdvals])
def test_one_of_equal_values_has_a_subgradient(f):
    x = np.eye(3)
    g = zyg.gradient(lambda a: np.max(f(a)), x)[0]

    w = np.linalg.eigvalsh(g)
    np.testing.assert_allclose(w, [0, 0, 1], atol=1e-12)


def test_vectors_of_other_values_are_differentiable_where_values_are_equal():
    """The leading vectors of a matrix of low rank, as in principal component analysis."""

    def leading(b):
        a = b @ b.T
        _, v = np.linalg.eigh(a)
        u, s, _ = np.linalg.svd(a)
        return v[:, -2:] ** 2, u[:, :1] ** 2, s[:2]

    zyg.check_gradient(leading, array(5, 2), order=1, modes=["reverse"])


def matrix_function(a):
    w, v = np.linalg.eigh(a)
    return np.sum(C * ((v * np.exp(w)) @ v.T))


def rebuilt(a):
    u, s, vh = np.linalg.svd(a)
    return np.sum(C * ((u * s) @ vh))


def rebuilt_from_eig(a):
    w, v = np.linalg.eig(a)
    return np.sum(C * np.real((v * np.exp(w)) @ np.linalg.inv(v)))  # complex from NumPy 2.5 on


@pytest.mark.parametrize("x", [REPEATED, np.eye(4), np.diag([1.0, 1.0, 2.0, 3.0])])
@pytest.mark.parametrize("f", [matrix_function, rebuilt, rebuilt_from_eig])
def test_vectors_of_equal_values_are_refused(f, x):
    with pytest.raises(zyg.errors.DegenerateError, match="some values are equal") as caught:
        zyg.gradient(f, x)
    assert isinstance(caught.value, np.linalg.LinAlgError)


@pytest.mark.parametrize("x", [np.zeros((4, 4)), np.diag([1.0, 2.0, 0.0, 0.0])])
def test_a_function_that_vanishes_at_equal_values_is_refused_where_it_can_be_told(x):
    def f(a):
        w, v = np.linalg.eigh(a)
        return np.sum(C * ((v * w) @ v.T))

    with pytest.raises(zyg.errors.DegenerateError):
        zyg.gradient(f, x)
    with pytest.raises(zyg.errors.DegenerateError):
        zyg.gradient(rebuilt, x)


@pytest.mark.parametrize("f", [np.linalg.eigvalsh, np.linalg.svdvals, np.linalg.eigvals])
@pytest.mark.parametrize("x", [np.zeros((3, 3)), np.eye(3), np.diag([1.0, 1.0, 2.0])])
def test_second_derivatives_at_equal_values_are_refused(f, x):
    def slope(a):
        return np.sum(zyg.gradient(lambda a: np.real(np.sum(f(a) ** 2)), a)[0] * array(3, 3))

    with pytest.raises(zyg.errors.DegenerateError):
        zyg.gradient(slope, x)


def test_a_singular_value_zero():
    square, wide = np.diag([2.0, 1.0, 0.0]), np.outer([1.0, 2.0], [1.0, 0.5, 2.0])

    zyg.check_gradient(lambda a: np.sum(np.linalg.svdvals(a) ** 2), square)
    u, _, vh = np.linalg.svd(wide)
    g = zyg.gradient(lambda a: np.linalg.svd(a)[1][0], wide)[0]
    np.testing.assert_allclose(g, np.outer(u[:, 0], vh[0]), atol=1e-12)
    with pytest.raises(zyg.errors.DegenerateError):
        zyg.gradient(lambda a: np.sum(np.linalg.svd(a, False)[2] * array(2, 3)), wide)


def test_a_matrix_without_a_basis_of_eigenvectors_is_refused():
    jordan = np.array([[1.0, 1.0], [0.0, 1.0]])
    for f in (np.linalg.eigvals, lambda a: np.linalg.eig(a)[0]):
        with pytest.raises(zyg.errors.DegenerateError, match="no basis of eigenvectors"):
            zyg.gradient(lambda a, f=f: np.sum(np.real(f(a)) ** 2), jordan)


def test_eigenvalues_found_in_another_order_are_recognised():
    w = np.array([[1.0, 2.0, 3.0 + 1j], [1.0, 1.0, 2.0]])
    order = np.array([[2, 0, 1], [2, 0, 1]])
    other = np.take_along_axis(w, order, -1) + 1e-13

    found = decompositions.places_among(w, other)

    np.testing.assert_array_equal(np.take_along_axis(w, found, -1).round(9), other.round(9))
    np.testing.assert_array_equal(np.sort(found), [[0, 1, 2], [0, 1, 2]])


def test_qr_of_dependent_columns_is_refused():
    with pytest.raises(zyg.errors.DegenerateError, match="columns are dependent"):
        zyg.gradient(lambda a: np.linalg.qr(a).R[0, 0], np.ones((3, 2)))
    with pytest.raises(zyg.errors.MissingRuleError, match="mode='raw'"):
        zyg.gradient(lambda a: np.linalg.qr(a, mode="raw")[1][0], A)


def test_where_no_cotangent_arrives_nothing_is_refused():
    """The branch of `where` that is not taken may hold any matrix."""
    jordan, dependent = np.array([[1.0, 1.0], [0.0, 1.0]]), np.ones((2, 2))
    x = np.stack([jordan, dependent, np.diag([2.0, 3.0]), np.eye(2)])
    for f in (np.linalg.qr, np.linalg.eig, np.linalg.eigh, np.linalg.svd):
        g = zyg.gradient(lambda a, f=f: np.sum(np.exp(np.real(f(a)[0][2]))), x)[0]

        np.testing.assert_array_equal(g[[0, 1, 3]], 0)


# Norms


@pytest.mark.parametrize("ord", [None, "fro", "nuc", 1, 2, -2, np.inf])
def test_every_norm_has_slope_zero_at_zero(ord):
    np.testing.assert_array_equal(zyg.gradient(np.linalg.norm, np.zeros((2, 3)), ord=ord)[0], 0)


def test_the_spectral_norm_at_a_tie_has_the_slope_of_the_first():
    g = zyg.gradient(np.linalg.norm, np.diag([2.0, 2.0, 1.0]), ord=2)[0]

    assert np.linalg.matrix_rank(g) == 1
    assert np.trace(g) == pytest.approx(1)


# Singular matrices


def test_singular_matrices_raise_as_numpy_does():
    for f in (
        np.linalg.inv,
        lambda a: np.linalg.solve(a, W),
        lambda a: np.linalg.matrix_power(a, -1),
    ):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            zyg.pullback(f, np.ones((3, 3)))
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        zyg.pullback(np.linalg.cholesky, -np.eye(2))


def test_the_cofactors_of_a_nearly_singular_matrix():
    a = np.arange(1.0, 10.0).reshape(3, 3)  # det is 6.7e-16 here, and 0 in truth

    g, h = (
        zyg.gradient(np.linalg.det, a)[0],
        zyg.gradient(lambda a: zyg.gradient(np.linalg.det, a)[0][0, 0], a)[0],
    )

    np.testing.assert_allclose(g, [[-3, 6, -3], [6, -12, 6], [-3, 6, -3]], atol=1e-13)
    np.testing.assert_allclose(h, [[0, 0, 0], [0, 9, -8], [0, -6, 5]], atol=1e-13)


def test_the_third_derivative_of_det_at_a_singular_matrix_is_refused():
    zyg.check_gradient(np.linalg.det, SQUARE, order=3)
    with pytest.raises(zyg.errors.MissingRuleError, match="third derivative"):
        zyg.check_gradient(np.linalg.det, np.diag([1.0, 2.0, 0.0]), order=3)


def test_the_logarithm_of_a_determinant_at_a_singular_matrix():
    x = np.stack([np.ones((2, 2)), 2 * np.eye(2)])

    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        zyg.gradient(lambda a: np.sum(np.linalg.slogdet(a)[1]), x)
    g = zyg.gradient(lambda a: np.linalg.slogdet(a)[1][1], x)[0]
    np.testing.assert_array_equal(g, [np.zeros((2, 2)), np.eye(2) / 2])


# The rank stays as it is


def test_pseudoinverses_of_dependent_columns():
    for real in (1, 1 + 0.5j):
        zyg.check_gradient(lambda b, c: np.linalg.pinv(b @ c), array(4, 2) * real, array(2, 3))
        zyg.check_gradient(
            lambda b, c, y: np.linalg.lstsq(b @ c, y)[0],
            array(4, 2) * real,
            array(2, 3),
            V,
            modes=["reverse"],
        )
    np.testing.assert_array_equal(
        zyg.gradient(lambda a: np.sum(np.linalg.pinv(a)), np.zeros((2, 3)))[0], 0
    )


@pytest.mark.parametrize("least", [0.01, 0.0])
def test_least_squares_that_drop_singular_values_have_the_derivative_of_the_rest(least):
    a = matrix(3, 3) @ np.diag([1.0, 0.5, least])
    zyg.check_gradient(lambda a, b: np.linalg.lstsq(a, b, rcond=0.1)[0], a, W, order=2)
    zyg.check_gradient(lambda a, b: np.linalg.pinv(a, rcond=0.1) @ b, a, W, order=2)


def test_least_squares_by_the_rank_and_the_residuals():
    a = array(4, 3)
    x, residuals, rank, _ = np.linalg.lstsq(a, V)

    def loss(a):
        x, residuals, rank, _ = np.linalg.lstsq(a, V)
        assert type(rank) is type(np.linalg.lstsq(array(4, 3), V)[2])
        return rank * np.sum(x) + residuals[0]

    assert zyg.value_and_gradient(loss, a)[0] == pytest.approx(rank * np.sum(x) + residuals[0])
    zyg.check_gradient(loss, a)


# Constants and errors


def test_what_is_constant():
    assert zyg.gradient(lambda a: np.sum(a) * np.linalg.matrix_rank(a), SQUARE)[0].sum() == 27
    assert zyg.gradient(lambda a: np.sum(np.linalg.matrix_power(a, 0)), SQUARE) == (None,)
    path = zyg.pullback(lambda a: (a[0, 0], np.einsum_path("ij,jk", a, a)[0]), SQUARE)[0][1]
    assert path == np.einsum_path("ij,jk", SQUARE, SQUARE)[0]


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
@pytest.mark.parametrize(("m", "n"), [(2, 2), (2, 3), (3, 2)])
def test_the_cross_product_of_vectors_of_two_numbers(m, n):
    a, b = array(4, m), array(4, n)
    try:
        np.cross(a, b)
    except ValueError:
        pytest.skip("NumPy has no such product from 2.5 on")
    zyg.check_gradient(np.cross, a, b, order=1)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("rank", [1, 2])
def test_second_derivatives_of_a_pseudoinverse_see_what_is_cut_off_move(rank, hermitian):
    half = array(3, rank)
    a = half @ half.T if hermitian else half @ array(rank, 3, seed=1)
    direction, weights = array(3, 3, seed=2), array(3, 3, seed=3)

    def value(a):
        return np.sum(weights * np.linalg.pinv(a, rcond=1e-2, hermitian=hermitian))

    h = 1e-4
    curvature = (value(a + h * direction) - 2 * value(a) + value(a - h * direction)) / h**2
    found = np.sum(zyg.hvp(value, a, direction) * direction)
    assert found == pytest.approx(curvature, rel=1e-5)


def test_the_determinant_of_a_matrix_that_is_not_finite_comes_back():
    """Its singular values would not be found, ever."""
    a = np.array([[np.inf, 1.0, 2.0], [1.0, -np.inf, 3.0], [4.0, 1.0, 5.0]])
    both = np.stack([a, np.arange(9.0).reshape(3, 3)])
    with np.errstate(all="ignore"):
        (found,) = zyg.gradient(lambda a: np.sum(np.linalg.det(a)), both)

    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], [[-3, 6, -3], [6, -12, 6], [-3, 6, -3]], atol=1e-12)
