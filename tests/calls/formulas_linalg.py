"""Calls of scipy.linalg's functions whose derivatives are those of formulas."""

import numpy as np
import scipy.linalg

from zyg.scipy import linalg

from .calls import V, W, array, call, matrix

A, B, M, N = array(4, 3), array(4, 3, seed=1), array(3, 3), array(3, 3, seed=1)
BAND = np.array([[0.0, 0.3, -0.4, 0.2], [3.0, 2.5, 4.0, 3.3]])
TURNS = np.array([[3.0, 2.0, 0.1], [-2.0, 2.5, 0.3], [0.2, -0.1, 0.7]])  # two values are complex
FACTOR = scipy.linalg.cholesky_banded(BAND)
SIGNED = matrix(3, 3) @ np.diag([1.0, -2.0, 3.0]) @ np.linalg.inv(matrix(3, 3))
FIRST = V + np.array([5.0, 0.0, 0.0, 0.0])


def sizes_of_eigenvectors(a):
    return np.abs(linalg.eig(a)[1])


def continuous_riccati(a, b, q, r):
    return linalg.solve_continuous_are(a, b, q + np.conj(q).T, r + np.conj(r).T)


def discrete_riccati(a, b, q, r):
    return linalg.solve_discrete_are(a, b, q + np.conj(q).T, r + np.conj(r).T)


def product_with_unitary_factor(a, c, *args, **options):
    y, *rest = linalg.qr_multiply(a, c, *args, **options)
    return np.ravel(y), rest[0]  # SciPy lays it in memory as it finds its arguments


def function_of_matrix(a):
    return linalg.funm(a, lambda w: np.exp(-w * w / 9))


def sketched(a):
    return linalg.clarkson_woodruff_transform(a, 2, rng=3)


def real_blocks(w, v):
    pair, both = w[1] + 1j * (w[2] + 2), v[:, 1] + 1j * v[:, 2]
    values = np.stack([w[0] + 0j, pair, np.conj(pair)])
    return linalg.cdf2rdf(values, np.stack([v[:, 0] + 0j, both, np.conj(both)], axis=1))


SPREAD = matrix(3, 3) * np.array([[1.0, 90.0, 5.0], [0.02, 1.0, 0.3], [0.4, 7.0, 1.0]])
RICCATI = [call(array(2, 2) / 3, array(2, 1), matrix(2, 2, seed=3), np.array([[0.7]]), order=1)]

CALLS = {
    linalg.eigvals: [call(TURNS), call(matrix(1, 1))],
    linalg.eig: [call(TURNS, right=False)],
    sizes_of_eigenvectors: [call(TURNS)],
    linalg.eigh_tridiagonal: [call(V, W), call(V, W, True), call(V[:1], W[:0])],
    linalg.eigvalsh_tridiagonal: [call(V, W)],
    linalg.eig_banded: [call(array(2, 3)), call(array(2, 3), True), call(array(2, 3), True, True)],
    linalg.eigvals_banded: [call(array(3, 3), lower=True), call(array(2, 3))],
    linalg.cholesky_banded: [call(BAND), call(BAND[::-1], lower=True)],
    linalg.cho_solve_banded: [call((FACTOR, False), V), call((FACTOR, False), array(4, 2))],
    linalg.polar: [call(M), call(A), call(A.T), call(A, side="left"), call(A.T, "left")],
    linalg.orthogonal_procrustes: [call(A, B)],
    linalg.orth: [call(A)],
    linalg.subspace_angles: [call(A, B[:, :2]), call(A[:, :1], B[:, :2])],
    linalg.expm_frechet: [call(0.3 * M, N), call(0.3 * M, N, compute_expm=False)],
    linalg.signm: [call(SIGNED)],
    linalg.solve_toeplitz: [
        call(FIRST, V), call((FIRST, V), array(4, 2)), call((FIRST, V), V, check_finite=False),
    ],
    linalg.matmul_toeplitz: [
        call(V, V), call((V, W), A[:3]), call((V, W), W), call((W, V), array(4, 2)),
    ],
    linalg.solve_circulant: [
        call(FIRST, V), call(FIRST, A), call(FIRST, A.T, baxis=1, outaxis=1),
    ],
    linalg.khatri_rao: [call(A, M), call(M, A)],
    linalg.leslie: [call(V, W), call(V[:2], W[:1])],
    linalg.convolution_matrix: [
        call(V, 3), call(W, 4, "same"), call(V, 3, mode="same"), call(V, 2, "valid"),
    ],
    linalg.fiedler: [call(V), call(V[:1]), call(A)],
    linalg.pinvh: [call(M), call(matrix(3, 3), lower=False), call(M, return_rank=True)],
    product_with_unitary_factor: [
        call(A, array(2, 4)), call(A, V), call(A, M, "left"), call(A.T, array(3), conjugate=True),
        call(A, array(2, 4), pivoting=True),
    ],
    function_of_matrix: [call(TURNS)],
    linalg.hessenberg: [call(matrix(4, 4)), call(N, True), call(matrix(2, 2), True)],
    linalg.matrix_balance: [call(SPREAD), call(SPREAD, scale=False), call(SPREAD, separate=True)],
    sketched: [call(A), call(array(2, 4, 3))],
    real_blocks: [call(V[:3], M)],
    continuous_riccati: RICCATI,
    discrete_riccati: RICCATI,
}  # fmt: skip
