"""Calls of the rules for scipy.signal, scipy.sparse and sums of scipy.integrate."""

import numpy as np
import scipy.sparse

from zyg.scipy import integrate, signal, sparse

from .calls import CUBE, V, W, array, call

IMAGE, WIDE = array(3, 4), array(5)
MODES = ("full", "same", "valid")
ROWS, COLUMNS = np.array([0, 2, 1, 2, 0]), np.array([1, 2, 0, 0, 1])
STORED = scipy.sparse.csr_array(np.array([[0.0, 1.5, 0.7], [2.0, 0.0, 1.0], [0.3, 0.0, 1.1]]))


def product_by_elements(data, x):
    return sparse.coo_array((data, (ROWS, COLUMNS)), shape=(3, 3)) @ x


def product_from_the_right(data, x):
    a = sparse.csc_array((data, ROWS, np.array([0, 2, 3, 5])), shape=(3, 3))
    return (x @ (2 * -a)) + a.T.dot(x)


def product_of_class(x):
    a = sparse.csr_array(STORED)
    return a.T @ x + x @ a + a.dot(x) + sparse.csr_matrix(STORED) * x


def solution_by_elements(data, b):
    a = sparse.csr_matrix((data, STORED.indices, STORED.indptr), shape=(3, 3))
    return sparse.linalg.spsolve(a, b)


def product_of_constant(x):
    return sparse.matmul(STORED, x)


def solution_of_constant(b):
    return sparse.linalg.spsolve(STORED, b)


def dense_of_elements(data):
    return sparse.coo_array((data, (ROWS, COLUMNS))).toarray()


CALLS = {
    signal.convolve: [
        *(call(WIDE, W, mode) for mode in MODES), *(call(W, WIDE, mode) for mode in MODES),
        *(call(W, V[:2], mode) for mode in MODES), call(IMAGE, array(2, 2), "same"),
        call(IMAGE, array(2, 2), method="direct"), call(IMAGE, array(2, 2), "valid", "fft"),
        call(array(2, 2, 3), array(2, 1, 2)),
    ],
    signal.correlate: [
        *(call(WIDE, W, mode) for mode in MODES), *(call(W, WIDE, mode) for mode in MODES),
        *(call(W, V[:2], mode) for mode in MODES), call(IMAGE, array(2, 2), "same"),
    ],
    signal.fftconvolve: [call(WIDE, W, "same"), call(IMAGE, array(2, 2))],
    signal.oaconvolve: [call(WIDE, W), call(V, W[:0])],
    signal.convolve2d: [
        call(IMAGE[:0], W[None]), *(call(IMAGE, array(2, 2), mode) for mode in MODES),
    ],
    signal.correlate2d: [
        call(IMAGE[:0], W[None]), *(call(IMAGE, array(2, 2), mode) for mode in MODES),
    ],
    signal.lfilter: [
        call(W, np.array([2.0, 0.4]), V, order=1), call(W[:2], W[1:] + 3, array(3, 2), 0, order=1),
        call(W[:2], np.array([1.5]), W),
    ],
    integrate.trapezoid: [
        call(CUBE), call(CUBE, V), call(CUBE, axis=1), call(CUBE, CUBE, axis=0), call(V, dx=0.3),
    ],
    integrate.cumulative_trapezoid: [
        call(CUBE), call(CUBE, W, axis=1), call(V, initial=0), call(CUBE, dx=0.3, axis=0),
    ],
    integrate.simpson: [
        call(V), call(V, V), call(V[:1]), call(V[:2], V[:2]), call(V[:3], dx=0.3),
        call(CUBE, CUBE, axis=0), call(CUBE, axis=1), call(CUBE, V, axis=-1),
    ],
    product_by_elements: [call(array(5), W), call(array(5), array(3, 2))],
    product_from_the_right: [call(array(5), W)],
    solution_by_elements: [call(STORED.data, W), call(STORED.data, array(3, 2))],
    product_of_class: [call(W)],
    product_of_constant: [call(W), call(array(3, 2))],
    solution_of_constant: [call(W), call(array(3, 2))],
    dense_of_elements: [call(array(5))],
}  # fmt: skip
