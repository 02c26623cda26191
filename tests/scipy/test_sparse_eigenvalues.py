"""Some eigenvalues and singular values of sparse matrices with watched elements."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg as theirs

import zyg
from zyg.errors import ConvergenceError, DegenerateError, MissingRuleError
from zyg.scipy.sparse import coo_array, linalg

N = 7
ROWS, COLUMNS = np.nonzero(np.eye(N) + np.eye(N, k=1) + np.eye(N, k=-3))
R = np.random.default_rng(5)
DATA, OTHER = R.normal(size=(2, ROWS.size))
WEIGHT = 0.1 * OTHER + 3.0 * (ROWS == COLUMNS)
START = np.ones(N)
PLACES = np.reshape(np.indices((N, N)), (2, -1))
BASIS = np.linalg.qr(R.normal(size=(N, N)))[0]


def matrix(data):
    return coo_array((data, (ROWS, COLUMNS)), shape=(N, N))


def hermitian(data):
    both = np.concatenate([data, np.conj(data)])
    return coo_array((both, (np.r_[ROWS, COLUMNS], np.r_[COLUMNS, ROWS])), shape=(N, N))


def with_values(*values):
    """A symmetric matrix with these eigenvalues."""
    a = (BASIS * np.array(values, float)) @ BASIS.T
    return (a + a.T) / 2


def first_vectors(a, k):
    return linalg.eigsh(a, k, which="SA", v0=START)[1]


def summed(v):
    return np.sum(v * np.sin(np.arange(1.0, np.size(v) + 1)).reshape(np.shape(v)))


@pytest.mark.parametrize("order", [1, 2])
def test_symmetric_matrices(order):
    zyg.check_gradient(lambda d: linalg.eigsh(hermitian(d), 3, v0=START), DATA, order=order)
    zyg.check_gradient(
        lambda d: linalg.eigsh(hermitian(d), 3, v0=START, return_eigenvectors=False),
        DATA,
        order=order,
    )


@pytest.mark.parametrize("which", ["LM", "SM", "LA", "SA", "BE"])
def test_values_have_the_order_that_they_have_without_vectors(which):
    options = {"which": which, "v0": START, "return_eigenvectors": False}
    y, _ = zyg.pullback(lambda d: linalg.eigsh(hermitian(d), 3, **options), DATA)
    a = scipy.sparse.coo_array(hermitian(DATA)).tocsc()
    np.testing.assert_allclose(y, theirs.eigsh(a, 3, **options), rtol=1e-14)
    zyg.check_gradient(lambda d: linalg.eigsh(hermitian(d), 3, **options), DATA)


@pytest.mark.slow
@pytest.mark.parametrize("sigma", [None, 0.1])
def test_with_another_matrix(sigma):
    def pairs(a, b):
        return linalg.eigsh(hermitian(a), 2, M=hermitian(b), sigma=sigma, v0=START)

    def sizes(a, b):
        w, v = linalg.eigs(matrix(a), 3, M=hermitian(b), sigma=sigma, v0=START)
        return np.real(w), np.imag(w), np.abs(v)

    for f in (pairs, sizes):
        zyg.check_gradient(f, DATA, WEIGHT)
        zyg.check_gradient(lambda b, f=f: f(DATA, b), WEIGHT, order=2)


def test_complex_hermitian_matrices():
    def sizes(d):
        w, v = linalg.eigsh(hermitian(d), 3, v0=START + 0j)
        return w, np.abs(v)

    zyg.check_gradient(sizes, DATA + 1j * OTHER)
    zyg.check_gradient(
        lambda d, b: linalg.eigsh(hermitian(d), 2, M=hermitian(b), v0=START + 0j)[0],
        DATA + 1j * OTHER,
        WEIGHT + 0.1j * DATA * (ROWS != COLUMNS),
    )


@pytest.mark.parametrize("data", [DATA, DATA + 1j * OTHER], ids=["real", "complex"])
def test_any_matrices(data):
    def sizes(d):
        w, v = linalg.eigs(matrix(d), 4, v0=START)
        return np.real(w), np.imag(w), np.abs(v)

    def values(d):
        w = linalg.eigs(matrix(d), 4, v0=START, return_eigenvectors=False)
        return np.real(w), np.imag(w)

    for f in (sizes, values):
        zyg.check_gradient(f, data)
    zyg.check_gradient(sizes, data, order=2)


@pytest.mark.parametrize("shape", [(N, N), (5, 7), (7, 5)])
def test_singular_values(shape):
    a, start = R.normal(size=shape), np.ones(min(shape))
    zyg.check_gradient(lambda a: linalg.svds(a, 2, v0=start), a)
    zyg.check_gradient(lambda a: linalg.svds(a, 2, v0=start)[0], a, order=2)
    zyg.check_gradient(lambda a: linalg.svds(a, 2, v0=start, return_singular_vectors=False), a)

    def parts(a):
        u, s, vh = linalg.svds(a, 2, v0=start)
        return s, (u * s) @ vh

    zyg.check_gradient(parts, a * (1 + 1j) + 1j * a * a)
    y, _ = zyg.pullback(lambda a: linalg.svds(a, 2, v0=start), a)
    for part, exact in zip(y, theirs.svds(a, 2, v0=start), strict=True):
        np.testing.assert_allclose(part, exact, rtol=1e-13, atol=1e-14)


def test_in_single_precision():
    for f in (
        lambda d: linalg.eigsh(hermitian(d), 2, v0=START)[0],
        lambda d: linalg.svds(matrix(d), 2, v0=START)[0],
    ):
        y, back = zyg.pullback(f, DATA.astype(np.float32))
        assert y.dtype == np.float32
        (found,) = back(np.ones_like(y))
        (exact,) = zyg.pullback(f, DATA)[1](np.ones(y.shape))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, exact, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_by_blocks():
    start = R.normal(size=(N, 1))
    options = {"tol": 1e-12, "maxiter": 500}
    zyg.check_gradient(lambda d: linalg.lobpcg(hermitian(d), start, **options), DATA, order=2)
    zyg.check_gradient(
        lambda d, b: linalg.lobpcg(hermitian(d), start, hermitian(b), largest=False, **options),
        DATA,
        WEIGHT,
    )


def test_the_rest_of_the_pairs_need_not_be_known():
    """Against eigh, which knows all; of a pair that has no equals, beside others that are equal."""
    a = with_values(1, 1, 2, 3, 4, 5, 6)
    (found,) = zyg.gradient(lambda a: summed(linalg.eigsh(a, 3, which="SA", v0=START)[1][:, 2]), a)
    v = linalg.eigsh(a, 3, which="SA", v0=START)[1][:, 2]

    def by_eigh(a):
        u = np.linalg.eigh((a + a.T) / 2)[1][:, 2]
        return summed(u * np.sign(zyg.stop_gradient(u) @ v))

    np.testing.assert_allclose(found, zyg.gradient(by_eigh, a)[0], rtol=1e-9, atol=1e-12)


def test_equal_values():
    a = with_values(1, 1, 2, 3, 4, 5, 6)
    for k in (1, 2):  # with its equal unknown, and known
        with pytest.raises(DegenerateError, match="some values are equal"):
            zyg.gradient(lambda a, k=k: summed(first_vectors(a, k)), a)
        with pytest.raises(DegenerateError, match="some values are equal"):
            zyg.pushforward(lambda a, k=k: summed(first_vectors(a, k)), (a,), (a,))

    def both(a):
        return np.sum(linalg.eigsh(a, 2, which="SA", v0=START)[0])

    np.testing.assert_allclose(zyg.gradient(both, a)[0], BASIS[:, :2] @ BASIS[:, :2].T, atol=1e-12)
    with pytest.raises(DegenerateError):
        zyg.pushforward(lambda a: zyg.gradient(both, a)[0], (a,), (a,))
    with pytest.raises(DegenerateError):
        zyg.gradient(
            lambda a: summed(linalg.svds(a, 2, v0=START)[0]), with_values(1, 2, 3, 4, 5, 6, 6)
        )


def test_phases_are_not_asked_for():
    for f in (
        lambda d: summed(np.real(linalg.eigsh(hermitian(d), 2, v0=START + 0j)[1])),
        lambda d: summed(np.real(linalg.eigs(matrix(d), 2, v0=START + 0j)[1])),
        lambda d: summed(np.real(linalg.svds(matrix(d), 2, v0=START + 0j)[0])),
        lambda d: np.sum(np.imag(linalg.eigs(np.diag(d[:N]), 2, v0=START + 0j)[1])),
    ):
        with pytest.raises(DegenerateError, match="phases of the vectors"):
            zyg.gradient(f, DATA + 1j * OTHER)


def test_real_vectors_of_real_matrices_have_no_phase():
    def parts(a):
        v = linalg.eigs(a, 2, v0=START)[1]
        v = v * np.sign(zyg.stop_gradient(np.real(v[0])))  # a small change may turn them
        return summed(np.real(v)) + 3.0 * np.sum(np.imag(v))

    a = with_values(1, 2, 3, 4, 5, 6, 7) + np.triu(0.1 * BASIS)
    assert not np.any(np.imag(linalg.eigs(a, 2, v0=START)[1]))
    zyg.check_gradient(parts, a)


def test_what_is_no_eigenvector_has_no_derivative():
    with pytest.raises(ConvergenceError, match="eigsh did not find eigenvectors"):
        zyg.gradient(lambda d: np.sum(linalg.eigsh(matrix(d), 2, v0=START)[0]), DATA)


@pytest.mark.filterwarnings("ignore:k >= N")
def test_vectors_of_another_length_are_refused():
    a, b = R.normal(size=(N, N)), hermitian(WEIGHT).toarray()
    zyg.check_gradient(lambda a: np.abs(linalg.eigs(a, N - 1)[1]), a)
    with pytest.raises(MissingRuleError, match="do not have the length 1"):
        zyg.gradient(lambda a: summed(np.abs(linalg.eigs(a, N - 1, M=b)[1])), a)


@pytest.mark.filterwarnings("ignore:Exited")
def test_what_the_rules_do_not_know():
    operator = theirs.aslinearoperator(np.eye(N))
    start = np.ones((N, 1))
    for f, words in (
        (lambda d: linalg.eigsh(operator, 1, M=hermitian(d))[0], "a matrix with elements"),
        (lambda d: linalg.eigsh(hermitian(d), 1, sigma=0.1, mode="cayley")[0], "mode='cayley'"),
        (lambda d: linalg.svds(matrix(d), 1, return_singular_vectors="u")[0], "'u'.*|pass True"),
        (lambda d: linalg.lobpcg(hermitian(d), start, Y=start)[0], "know Y"),
        (lambda d: linalg.lobpcg(hermitian(d), start, retLambdaHistory=True)[0], "its steps"),
        (lambda d: linalg.lobpcg(lambda x: x, start, B=hermitian(d))[0], "a matrix with elements"),
        (lambda d: linalg.aslinearoperator(matrix(d)), "computes in plain numbers"),
        (lambda d: linalg.funm_multiply_krylov(np.exp, matrix(d), START), "by an iteration"),
    ):
        with pytest.raises(MissingRuleError, match=words):
            zyg.pullback(f, DATA)


def test_a_value_whose_equal_was_not_found():
    a, weights = with_values(1, 1, 2, 3, 4, 5, 6), np.arange(1.0, N + 1)
    least = lambda a, k: np.sum(linalg.eigsh(a, k, which="SA", v0=START)[0])  # noqa: E731
    for f in (
        lambda a: least(a, 1),
        lambda a: linalg.eigsh(a, 1, which="SA", v0=START, return_eigenvectors=False)[0],
        lambda a: linalg.svds(a - 7.0 * np.eye(N), 1, v0=START)[1][0],
        lambda a: linalg.norm(coo_array((np.ravel(a - 7.0 * np.eye(N)), PLACES), shape=(N, N)), 2),
    ):
        with pytest.raises(DegenerateError, match="some values are equal"):
            zyg.gradient(f, a)
    (slope,) = zyg.gradient(lambda a: least(a, 2), a)
    even = np.linalg.eigh(a + 1e-6 * np.diag(weights))[1][:, :2]
    np.testing.assert_allclose(slope, even @ even.T, atol=1e-5)
