"""What the calls of scipy.linalg cannot see."""

import numpy as np
import pytest
import scipy.linalg

import zyg
from zyg.errors import DegenerateError, MissingRuleError
from zyg.scipy import linalg

from ..calls.calls import A, W, array, matrix

M = matrix(3, 3)


def test_the_transposed_system():
    zyg.check_gradient(lambda a, b: linalg.solve(a, b, transposed=True), M, W)
    zyg.check_gradient(lambda a, b: linalg.solve(a, b, transposed=True), 2.0, W[:1])


def test_operands_are_not_overwritten():
    a, b = M.copy(), W.copy()

    y, back = zyg.pullback(
        lambda a, b: linalg.solve(a, b, overwrite_a=True, overwrite_b=True), a, b
    )

    assert y == pytest.approx(np.linalg.solve(M, W))
    assert back(y)[1] == pytest.approx(np.linalg.solve(M.T, y))


def test_a_triangle_that_is_not_read_has_cotangent_0():
    spd = M @ M.T

    assert zyg.gradient(lambda a: linalg.cholesky(a)[0, 1], spd)[0][1, 0] == 0
    assert zyg.gradient(lambda a: linalg.cholesky(a, lower=True)[1, 0], spd)[0][0, 1] == 0


def test_eigenvalues_of_both_triangles_agree():
    spd = M @ M.T
    low = zyg.gradient(lambda a: np.sum(linalg.eigvalsh(a) ** 3), spd)[0]
    high = zyg.gradient(lambda a: np.sum(linalg.eigvalsh(a, lower=False) ** 3), spd)[0]

    assert low == pytest.approx(high.T)
    assert low == pytest.approx(2 * np.tril(3 * spd @ spd, -1) + np.diag(np.diag(3 * spd @ spd)))


def test_logm_undoes_expm():
    assert zyg.gradient(lambda a: np.sum(W * (linalg.logm(linalg.expm(a)) @ W)), 0.3 * M)[
        0
    ] == pytest.approx(np.outer(W, W))


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda a: linalg.svd(a)[0], "full_matrices=False"),
        (lambda a: linalg.qr(a, mode="raw")[1], "mode='raw'"),
        (lambda a: linalg.lu(a)[1], "square matrix"),
        (lambda a: linalg.qr(a.T, mode="economic", pivoting=True)[1], "'pivoting'"),
        (lambda a: linalg.schur(a[:, :3])[0], "has no rule"),
        (lambda a: linalg.eigh(a[:, :3], subset_by_index=[0, 1])[0], "'subset_by_index'"),
        (lambda a: linalg.solve(a[:, :3], W, assume_a="odd"), "odd is not"),
        (lambda a: linalg.fractional_matrix_power(M, a[0, 0]), "respect to t"),
    ],
)
def test_what_has_no_rule_is_refused(f, what):
    def call():
        y, back = zyg.pullback(f, A)
        back(y)

    with pytest.raises((MissingRuleError, ValueError), match=what):
        call()


def test_errors_are_scipys():
    with pytest.raises(np.linalg.LinAlgError):
        zyg.pullback(linalg.cholesky, -M)
    with pytest.raises(ValueError, match="square"):
        zyg.pullback(linalg.expm, A)


def test_plain_matrices_give_scipys_own_result():
    assert np.array_equal(linalg.expm(M), scipy.linalg.expm(M))
    assert np.array_equal(linalg.polar(A)[0], scipy.linalg.polar(A)[0])
    assert linalg.LinAlgError is scipy.linalg.LinAlgError


def test_least_squares_of_as_many_matrices_as_rows():
    a, b = array(4, 4, 3), array(4, 4, 2)
    try:
        linalg.lstsq(a, b)
    except ValueError:
        pytest.skip("SciPy takes more than one matrix from 1.16 on")

    zyg.check_gradient(lambda a, b: linalg.lstsq(a, b)[1], a, b, order=1)


def test_systems_from_factors():
    b = array(3, 2)

    def by_lu(a, b):
        return linalg.lu_solve(linalg.lu_factor(a), b)

    def by_cholesky(a, b):
        return linalg.cho_solve(linalg.cho_factor(a @ a.T), b)

    zyg.check_gradient(by_lu, M, b)
    zyg.check_gradient(by_cholesky, M, b)


@pytest.mark.parametrize("factor", ["lu", "cho"])
def test_plain_factors_overwritten_after_they_were_used(factor):
    a, b = matrix(3, 3) @ matrix(3, 3).T, array(3)
    make = {"lu": scipy.linalg.lu_factor, "cho": scipy.linalg.cho_factor}[factor]
    solve = {"lu": linalg.lu_solve, "cho": linalg.cho_solve}[factor]

    def f(b):
        factors = make(a)
        y = solve(factors, b)
        factors[0][:] = 5.0
        return y.sum()

    np.testing.assert_allclose(zyg.gradient(f, b)[0], np.linalg.solve(a.T, np.ones(3)))


A3, Q3 = array(3, 3) / 3, matrix(3, 3, seed=3)
B3, S3, R2 = array(3, 2), array(3, 2, seed=4) / 10, np.array([[1.5, 0.2], [0.2, 1.0]])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("f", [linalg.solve_continuous_are, linalg.solve_discrete_are])
@pytest.mark.parametrize("turn", [0.0, 0.3])
def test_riccati_equations(f, turn, order):
    def symmetric(m):
        return (m + np.conj(m).T) / 2

    def turned(m):
        return m * (1 + 1j * turn * np.cos(np.arange(m.size)).reshape(m.shape)) if turn else m

    def loss(a, b, q, r, s):
        x = f(a, b, symmetric(q), symmetric(r), s=s)
        return np.sum(np.real(x * (1 - 2j if turn else 1) * np.cos(np.arange(9.0)).reshape(3, 3)))

    zyg.check_gradient(loss, *map(turned, (A3, B3, Q3, R2, S3)), order=order)
    zyg.check_gradient(lambda a: np.sum(np.sin(f(a, B3, Q3 @ Q3.T, R2))), A3, order=order)


def test_a_riccati_equation_with_e_is_refused():
    with pytest.raises(MissingRuleError, match="the equation without e only"):
        zyg.gradient(lambda a: np.sum(linalg.solve_continuous_are(a, A3, Q3, Q3, e=A3)), A3)


def test_the_slope_of_the_determinant_of_a_singular_matrix():
    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    np.testing.assert_allclose(zyg.gradient(linalg.det, a)[0], [[4.0, -2.0], [-2.0, 1.0]])


def test_singular_values_of_a_matrix_of_lower_rank_have_their_gradient():
    a = np.array([[0.0, -1.4], [0.0, -0.7], [0.0, 0.3], [0.0, 1.8]])
    expected = np.linalg.svd(a, full_matrices=False)

    def largest(a):
        _, s, _ = linalg.svd(a, full_matrices=False)
        return s[0] ** 2

    (slope,) = zyg.gradient(largest, a)
    np.testing.assert_allclose(slope, 2 * a, atol=1e-14)
    assert expected.S[1] == 0
    with pytest.raises(zyg.errors.DegenerateError):
        zyg.gradient(lambda a: linalg.svd(a, full_matrices=False)[0][1, 1], a)


@pytest.mark.parametrize("cut", [{"rtol": 0.6}, {"atol": 2.0}, {"atol": 0.2, "rtol": 0.4}])
def test_a_pseudoinverse_has_the_derivative_of_the_singular_values_that_it_keeps(cut):
    a = array(4, 3)
    s = scipy.linalg.svdvals(a)
    assert 0 < np.sum(s <= cut.get("atol", 0) + cut.get("rtol", 0) * s[0]) < 3

    zyg.check_gradient(lambda a: linalg.pinv(a, **cut), a)


@pytest.mark.parametrize("driver", ["gelsd", "gelss", "gelsy"])
def test_least_squares_that_drop_more_than_0_have_the_derivative_of_the_rest(driver):
    a = matrix(3, 3) @ np.diag([2.0, 1.0, 0.01])

    def solution(a, b):
        x, _, rank, _ = linalg.lstsq(a, b, cond=0.1, lapack_driver=driver)
        assert rank == 2
        return x

    if driver == "gelsy":  # whose solution is of another matrix of that rank
        with pytest.raises(MissingRuleError, match="gelsy"):
            zyg.gradient(lambda a: np.sum(solution(a, W)), a)
    else:
        zyg.check_gradient(solution, a, W, order=2)


@pytest.mark.parametrize("b", [None, np.eye(3)])
@pytest.mark.parametrize("a", [np.eye(3), matrix(3, 3) * 0 + 1, np.diag([2.0, 1.0, 1.0])])
def test_vectors_of_equal_eigenvalues_are_refused(a, b):
    weights = np.arange(9.0).reshape(3, 3)

    with pytest.raises(DegenerateError):
        zyg.gradient(lambda a: np.sum(weights * linalg.eigh(a, b)[1]), a)
    with pytest.raises(DegenerateError):
        zyg.hessian(lambda a: np.sum(linalg.eigvalsh(a, b) ** 2), a)


@pytest.mark.parametrize("mode", ["full", "economic", "r"])
@pytest.mark.parametrize("function", [zyg.gradient, zyg.hessian])
def test_dependent_columns_of_qr_are_refused(function, mode):
    with pytest.raises(DegenerateError, match="dependent"):
        function(lambda a: np.sum(linalg.qr(a, mode=mode)[-1] ** 3), np.ones((3, 3)))


def test_phases_of_complex_eigenvectors_are_refused():
    a = np.array([[2.0, 1j, 0.0], [-1j, 3.0, 1.0], [0.0, 1.0, 5.0]])

    with pytest.raises(DegenerateError, match="phases"):
        zyg.gradient(lambda a: np.sum(np.imag(linalg.eigh(a)[1])), a)


def test_an_equation_of_nothing_asks_nothing_of_its_factors():
    factors = scipy.linalg.lu_factor(matrix(3, 3))

    found = zyg.gradient(
        lambda lu: np.sum(linalg.lu_solve((lu, factors[1]), np.zeros((3, 0)))), factors[0]
    )

    assert not np.any(found[0])
