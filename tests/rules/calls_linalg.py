"""Calls of the rules in `zyg/rules/linalg.py`."""

import numpy as np

from .calls import CUBE, MATRIX_ORDERS, VECTOR_ORDERS, A, V, W, array, call, matrix

CALLS = {
    np.linalg.norm: [
        *(call(V, ord=ord) for ord in VECTOR_ORDERS),
        *(call(A, ord=ord, axis=axis) for ord in VECTOR_ORDERS for axis in (0, -1)),
        *(call(A, ord=ord) for ord in MATRIX_ORDERS),
        *(call(CUBE, ord=ord, axis=axes) for ord in MATRIX_ORDERS for axes in ((0, 2), (2, -2))),
        call(CUBE), call(CUBE, keepdims=True), call(CUBE, 1, (0, 1), True), call(A, 3, 1, True),
        call(1.5), call(A, "fro", keepdims=True), call(V, ord=np.inf, keepdims=True),
        call(np.zeros((2, 0)), axis=1), call(A, ord="f"),
        call(np.zeros((2, 0)), ord=np.inf, axis=1), call(np.zeros((2, 0)), 3, axis=1),
    ],
    np.linalg.inv: [
        call(matrix(3, 3)), call(matrix(2, 3, 3)), call(matrix(1, 1)), call(np.zeros((0, 2, 2))),
    ],
    np.linalg.det: [
        call(matrix(3, 3)), call(matrix(2, 3, 3)), call(matrix(1, 1)), call(np.zeros((0, 2, 2))),
    ],
    np.linalg.solve: [
        call(matrix(3, 3), W), call(matrix(3, 3), array(3, 2)), call(matrix(2, 3, 3), W),
        call(matrix(2, 3, 3), array(2, 3, 2)), call(matrix(3, 3), array(2, 3, 2)),
        call(matrix(2, 3, 3), array(3, 2)), call(matrix(4, 1, 2, 2), array(3, 2, 2)),
        call(matrix(3, 3), [1, 2, 3]),
    ],
}  # fmt: skip
