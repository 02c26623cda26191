"""Calls of the rules for scipy.linalg."""

import warnings

import numpy as np
import scipy.linalg

from zyg.scipy import linalg

from .calls import A, V, W, array, call, matrix

M = matrix(3, 3)
SPD = M @ M.T
METRIC = np.eye(3) + 0.05 * (array(3, 3) + array(3, 3).T)
TWO = np.linspace(0.4, 1.7, 4).reshape(2, 2) + np.eye(2)
B = array(3, 2)
KINDS = [
    None, "general", "symmetric", "hermitian", "positive definite", "upper triangular",
    "lower triangular", "diagonal", "tridiagonal",
]  # fmt: skip
BANDS = np.stack([array(4), 5 + array(4), array(4, seed=1)])
LU = scipy.linalg.lu_factor(M[::-1])
UPPER = np.linalg.cholesky(SPD).T


def outer_of_eigenvectors(a, b=None, lower=True):
    w, v = linalg.eigh(a, b, lower=lower)
    return v @ np.diag(w * w) @ np.conj(v.T)


def product_of_svd(a, full_matrices=False):
    u, s, vh = linalg.svd(a, full_matrices)
    return u @ np.diag(np.sqrt(s)) @ vh


def cube_root(a):
    return linalg.fractional_matrix_power(a, 1 / 3)


def logarithm(a):
    with warnings.catch_warnings():  # SciPy finds every logarithm in single precision inaccurate
        warnings.simplefilter("ignore", RuntimeWarning)
        return linalg.logm(a)


def one_norm(a):
    """A float or a float64 of SciPy's, by where elements lie."""
    return np.abs(linalg.norm(a, 1))


def projector_on_null_space(a):
    n = linalg.null_space(a)
    return n @ np.conj(n).T


CALLS = {
    projector_on_null_space: [call(array(2, 4)), call(array(3, 3))],
    linalg.rq: [
        call(M), call(array(4, 3), mode="economic"), call(array(2, 3), mode="economic"),
        call(array(2, 3), mode="r"), call(array(4, 3), mode="r"), call(array(4, 3)),
    ],
    linalg.ldl: [
        call(SPD), call(M, False), call(M, lower=True, hermitian=False),
        *(call(M - 4 * np.eye(3), lower) for lower in (True, False)),
    ],
    linalg.solve: [
        *(call(SPD, W, assume_a=kind, order=1) for kind in KINDS),
        *(call(SPD, B, lower=True, assume_a=kind, order=1) for kind in ("sym", "her", "pos")),
        call(M, W), call(M, B), call(matrix(1, 1), array(1)),
        *(call(np.array(2.0), 3.0, assume_a=kind) for kind in ("gen", "pos")),
        call(np.array(2.0), array(1)), call(matrix(1, 1), 3.0),
    ],
    linalg.solve_triangular: [
        *(call(M, B, trans, lower, order=1) for trans in (0, 1, "C") for lower in (0, 1)),
        call(M, W), call(M, W, 1, True), call(M, W, "C"),
        call(M, W, unit_diagonal=True, order=1), call(M, B, 0, True, True, order=1),
    ],
    linalg.lu_solve: [
        call((LU[0][:0], LU[1]), B[:0]),
        *(call(LU, B, trans, order=1) for trans in (0, 1, 2)), call(LU, W), call(LU, W, 1),
    ],
    linalg.cho_solve: [call((UPPER, False), b) for b in (W, B)] + [call((UPPER.T, True), B)],
    linalg.solve_banded: [
        call((1, 1), BANDS, V), call((1, 1), BANDS, array(4, 2), order=1),
        call((0, 2), BANDS[::-1], V, order=1), call((2, 0), BANDS[[1, 0, 2]], V, order=1),
    ],
    linalg.solveh_banded: [
        call(BANDS[:2], V), call(BANDS[:2], array(4, 2), order=1), call(BANDS[1:], V, lower=True),
    ],
    linalg.solve_sylvester: [call(M, TWO, B)],
    linalg.solve_continuous_lyapunov: [call(M, SPD), call(M, array(3, 3))],
    linalg.solve_discrete_lyapunov: [
        call(0.1 * M, array(3, 3)), call(M, SPD, method="bilinear", order=1),
    ],
    linalg.inv: [call(M), call(matrix(1, 1))],
    linalg.det: [call(M), call(matrix(2, 3, 3))],
    linalg.pinv: [call(A), call(A.T), call(M)],
    linalg.lstsq: [
        call(A, W), call(A.T, V, order=1), call(A.T, array(4, 2), order=1), call(M, W, order=1),
        call(A.T, V, lapack_driver="gelsy", order=1),
    ],
    one_norm: [call(A)],
    linalg.norm: [call(A), call(V, 3), call(A, axis=1, keepdims=True)],
    linalg.cholesky: [call(SPD), call(SPD, lower=True), call(matrix(1, 1) ** 2)],
    linalg.cho_factor: [call(SPD), call(SPD, lower=True)],
    linalg.lu_factor: [call(M), call(M[::-1])],
    linalg.lu: [call(M), call(M[::-1])],
    linalg.qr: [
        call(array(2, 4)), call(array(2, 4), mode="r"), call(array(2, 4), mode="economic"),
        call(array(4, 2), mode="r"), call(array(2, 4) + 1j * array(2, 4, seed=1)),
        call(M), call(A.T, mode="economic"), call(A.T, mode="r"), call(M, mode="r"),
    ],
    linalg.svdvals: [call(A), call(A.T)],
    product_of_svd: [call(A), call(A.T), call(M, True)],
    linalg.eigvalsh: [call(SPD), call(SPD, METRIC, lower=False)],
    outer_of_eigenvectors: [call(SPD), call(SPD, METRIC, lower=False, order=1)],
    linalg.expm: [call(TWO), call(M), call(matrix(1, 1))],
    logarithm: [call(TWO), call(M)],
    linalg.sqrtm: [call(TWO), call(M)],
    cube_root: [call(TWO), call(M, order=1)],
    linalg.cosm: [call(TWO)],
    linalg.sinm: [call(TWO)],
    linalg.tanm: [call(TWO)],
    linalg.coshm: [call(TWO)],
    linalg.sinhm: [call(TWO)],
    linalg.tanhm: [call(TWO)],
    linalg.block_diag: [call(A, V, B), call(A), call(1.5, M)],
    linalg.toeplitz: [call(V), call(V, W), call(W, V)],
    linalg.hankel: [call(V), call(V, W), call(W, V)],
    linalg.circulant: [call(V), call([0.3, 0.7])],
    linalg.companion: [call(V + 3)],
}  # fmt: skip
