"""Calls of the rules in `functions/primitives/linalg.py` and `functions/composed/norms.py`."""

import numpy as np

from .calls import CUBE, EMPTY, MATRIX_ORDERS, VECTOR_ORDERS, A, V, W, array, call, matrix

ORDERS = [*MATRIX_ORDERS, 2, -2, "nuc"]
RANK_TWO = array(4, 2) @ array(2, 3, seed=1)
SQUARE, STACK, NONE = matrix(3, 3), matrix(2, 3, 3), np.zeros((0, 2, 2))
SYMMETRIC = SQUARE + SQUARE.T

EMPTY_MAXIMA = [call(np.zeros((2, 0)), ord=np.inf, axis=1), call(np.zeros((2, 0)), 2)]
if np.lib.NumpyVersion(np.__version__) < "2.3.0":  # which refuses them
    EMPTY_MAXIMA = []

CALLS = {
    np.linalg.norm: [
        *(call(V, ord=ord) for ord in VECTOR_ORDERS),
        *(call(A, ord=ord, axis=axis) for ord in VECTOR_ORDERS for axis in (0, -1)),
        *(call(A, ord=ord) for ord in ORDERS),
        *(call(CUBE, ord=ord, axis=axes) for ord in ORDERS for axes in ((0, 2), (2, -2))),
        call(CUBE), call(CUBE, keepdims=True), call(CUBE, 1, (0, 1), True), call(A, 3, 1, True),
        call(1.5), call(A, "fro", keepdims=True), call(V, ord=np.inf, keepdims=True),
        call(np.zeros((2, 0)), axis=1), call(A, ord="f"), call(CUBE, "nuc", (0, 1), True),
        call(np.zeros((2, 0)), 3, axis=1), call(np.zeros((2, 0)), "nuc"), *EMPTY_MAXIMA,
    ],
    np.linalg.matrix_norm: [
        *(call(A, ord=ord) for ord in ORDERS), call(CUBE), call(CUBE, ord=2, keepdims=True),
    ],
    np.linalg.vector_norm: [
        *(call(V, ord=ord) for ord in VECTOR_ORDERS if ord is not None),
        *(call(CUBE, ord=ord, axis=(2, 0)) for ord in (2, 3, np.inf)), call(CUBE),
        call(CUBE, keepdims=True), call(CUBE, axis=1, keepdims=True), call(EMPTY),
        call(CUBE, axis=(0, -1), keepdims=True, ord=1), call(EMPTY, axis=(0, 1)),
    ],
    np.linalg.cond: [
        *(call(SQUARE, p=p) for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc")),
        call(A), call(STACK), call(STACK, p=1), call(CUBE, p=-2),
    ],
    np.linalg.inv: [
        call(SQUARE), call(STACK), call(matrix(1, 1)), call(NONE), call(matrix(2, 3, 2, 2)),
    ],
    np.linalg.det: [
        call(SQUARE), call(STACK), call(matrix(1, 1)), call(NONE), call(np.zeros((0, 0))),
        call(np.diag([1.5, 0.0, 2.5])), call(np.diag([1.5, 0.0, 0.0])), call(np.zeros((3, 3))),
        call(array(3, 1) * array(3, seed=1)), call(array(3, 2) @ array(2, 3, seed=1)),
        call(np.stack([np.ones((2, 2)), array(2, 2)])), call(np.zeros((1, 1))),
        call(matrix(2, 3, 2, 2)),
    ],
    np.linalg.slogdet: [call(SQUARE), call(-STACK), call(matrix(1, 1)), call(NONE)],
    np.linalg.solve: [
        call(SQUARE, W), call(SQUARE, array(3, 2)), call(STACK, W),
        call(STACK, array(2, 3, 2)), call(SQUARE, array(2, 3, 2)),
        call(STACK, array(3, 2)), call(matrix(4, 1, 2, 2), array(3, 2, 2)),
        call(SQUARE, [1, 2, 3]), call(matrix(2, 3, 2, 2), array(2, 3, 2, 2)),
    ],
    np.linalg.lstsq: [
        call(array(4, 3), array(4, 2)), call(A, W), call(SQUARE, W, rcond=1e-5),
        call(array(4, 1), V, rcond=-1), call(array(4, 0), V), call(A, np.zeros((3, 0))),
    ],
    np.linalg.pinv: [
        call(A), call(A.T), call(CUBE), call(SQUARE), call(np.zeros((0, 2, 3))),
        call(np.zeros((2, 0))), call(A, rtol=1e-5), call(A, rcond=1e-4),
        call(SYMMETRIC, hermitian=True), call(CUBE, rcond=np.array([0.01, 0.001])),
        call(np.diag([3.0, 2.0, 0.7]) + 0.1 * SQUARE, rcond=0.5),
        call(np.diag([3.0, 2.0, 0.7]) + 0.1 * SQUARE, rcond=0.5, hermitian=True),
    ],
    np.linalg.tensorinv: [
        call(array(6, 2, 3), ind=1), call(array(2, 3, 6)), call(array(2, 3, 3, 2)),
    ],
    np.linalg.tensorsolve: [
        call(array(2, 3, 6), array(2, 3)), call(array(2, 6, 3), array(2, 3), axes=(1,)),
        call(array(2, 2, 4), array(4), (0, 1)), call(SQUARE, W),
    ],
    np.linalg.matrix_power: [
        *(call(SQUARE, n) for n in range(-3, 8)), call(STACK, 5), call(STACK, -2), call(NONE, 3),
    ],
    # names of the array API
    np.linalg.diagonal: [call(A), call(CUBE, offset=1)],
    np.linalg.trace: [call(A), call(CUBE, offset=-1), call(A, dtype=np.float64)],
    np.linalg.matrix_transpose: [call(A), call(CUBE)],
    np.linalg.matmul: [call(CUBE, array(4, 2)), call(A, V)],
    np.linalg.tensordot: [call(CUBE, array(4, 3, 2), axes=([1, 2], [1, 0])), call(A, A)],
    np.linalg.vecdot: [call(CUBE, V), call(CUBE, array(4, 3), axis=1)],
    np.linalg.outer: [call(V, W)],
    np.linalg.cross: [call(array(2, 3), W), call(array(3, 2), array(3, 1), axis=0)],
}  # fmt: skip
