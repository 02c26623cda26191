"""Calls of scipy.sparse.linalg's functions of matrices with watched elements."""

import numpy as np

from zyg.scipy import sparse
from zyg.scipy.sparse import linalg

from .calls import V, array, call

ROWS, COLUMNS = np.nonzero(np.eye(4) + np.eye(4, k=1) + np.eye(4, k=-2))
DATA = array(len(ROWS)) + 4.0 * (ROWS == COLUMNS)
TALL, SHORT = np.array([0, 0, 1, 2, 3]), np.array([0, 1, 1, 2, 0])
SHARP = {"atol": 1e-13, "btol": 1e-13, "conlim": 1e13}


def matrix(data):
    return sparse.coo_array((data, (ROWS, COLUMNS)), shape=(4, 4))


def hermitian(data):
    both = np.concatenate([data, np.conj(data)])
    return sparse.coo_array((both, (np.r_[ROWS, COLUMNS], np.r_[COLUMNS, ROWS])), shape=(4, 4))


def sizes_of_hermitian_eigenvectors(data):
    w, v = linalg.eigsh(hermitian(data), 2, v0=np.ones(4))
    return w, np.abs(v)


def hermitian_eigenvalues(data):
    return linalg.eigsh(hermitian(data), 2, v0=np.ones(4), return_eigenvectors=False)


def sizes_of_eigenvalues(data):
    return np.abs(linalg.eigs(matrix(data), 2, v0=np.ones(4), return_eigenvectors=False))


def low_rank(data):
    u, s, vh = linalg.svds(matrix(data), 2, v0=np.ones(4))
    return (u * s) @ vh


def singular_values(data):
    return linalg.svds(matrix(data), 2, v0=np.ones(4), return_singular_vectors=False)


def largest_by_blocks(data):
    return linalg.lobpcg(hermitian(data), np.eye(4)[:, :1] + 0.1, tol=1e-12, maxiter=200)[0]


def least_squares(data, b):
    a = sparse.coo_array((data, (TALL, SHORT)), shape=(4, 3))
    return linalg.lsqr(a, b, **SHARP)[0]


def damped_least_squares(data, b, damp):
    a = sparse.coo_array((data, (TALL, SHORT)), shape=(4, 3))
    return linalg.lsmr(a, b, damp, maxiter=100, **SHARP)[0]


def flow(data, b):
    return linalg.expm_multiply(matrix(data / 4), b)


def flow_in_time(data, b):
    return linalg.expm_multiply(matrix(data / 4), b, 0.2, 0.8, 3, True)


def exponential(data):
    return linalg.expm(matrix(data / 4)).toarray()


def inverse(data):
    return np.ravel(linalg.inv(matrix(data)).toarray())


def cube(data):
    return linalg.matrix_power(matrix(data), 3).toarray()


def length(data):
    return linalg.norm(matrix(data))


def row_sizes(data):
    return linalg.norm(matrix(data), axis=1)


CALLS = {
    sizes_of_hermitian_eigenvectors: [call(DATA)],
    hermitian_eigenvalues: [call(DATA)],
    sizes_of_eigenvalues: [call(DATA)],
    low_rank: [call(DATA)],
    singular_values: [call(DATA)],
    largest_by_blocks: [call(DATA)],
    least_squares: [call(array(5), V)],
    damped_least_squares: [call(array(5), V, 0.7)],
    flow: [call(DATA, V), call(DATA, array(4, 2))],
    flow_in_time: [call(DATA, V)],
    exponential: [call(DATA)],
    inverse: [call(DATA)],
    cube: [call(DATA)],
    length: [call(DATA)],
    row_sizes: [call(DATA)],
}
