"""Calls of the rules in `functions/primitives/decompositions.py`.

Complex eigenvectors of `eigh` and singular vectors are refused where their phase matters, as it
does to a random cotangent; what does not depend on it is in `test_linalg.py`.
"""

import numpy as np

from .calls import CUBE, A, array, call, matrix

SQUARE, STACK, NONE = matrix(3, 3), matrix(2, 3, 3), np.zeros((0, 2, 2))
EIGEN = np.diag([1.0, 2.0, 4.0]) + 0.2 * array(3, 3)
POSITIVE = 0.3 * array(2, 3, 3) + 3 * np.eye(3)
TURNING = np.array([[1.0, -2.0, 0.3], [2.5, 1.2, 0.4], [0.2, 0.1, 3.0]])  # 1.1 +- 2.2i, 3.0

CALLS = {
    np.linalg.cholesky: [
        call(POSITIVE[0]), call(POSITIVE), call(POSITIVE, upper=True), call(NONE),
        call(np.array([[2.0]])),
    ],
    np.linalg.qr: [
        call(A), call(A.T), call(SQUARE), call(CUBE), call(A.T, mode="r"), call(CUBE, "r"),
        call(A, mode="complete"), call(np.zeros((0, 3, 2))), call(np.zeros((3, 0))),
        call(array(4, 3), mode="complete"),
    ],
    np.linalg.svd: [
        call(A), call(A, full_matrices=False), call(A.T, False), call(CUBE, False), call(SQUARE),
        call(CUBE, compute_uv=False), call(np.zeros((0, 2, 3)), False), call(NONE),
        call(EIGEN - 3 * np.eye(3), hermitian=True), call(STACK, hermitian=True),
        call(EIGEN - 3 * np.eye(3), True, False, True),
    ],
    np.linalg.svdvals: [call(A), call(A.T), call(CUBE), call(SQUARE), call(np.zeros((2, 0)))],
    np.linalg.eigh: [
        call(EIGEN), call(EIGEN, "U"), call(STACK, UPLO="l"), call(NONE), call(np.array([[2.0]])),
    ],
    np.linalg.eigvalsh: [call(EIGEN), call(EIGEN, UPLO="U"), call(STACK, "u"), call(NONE)],
    np.linalg.eig: [
        call(EIGEN), call(TURNING), call(np.stack([EIGEN, TURNING])), call(NONE),
        call(np.array([[2.0]])),
    ],
    np.linalg.eigvals: [call(EIGEN), call(TURNING), call(np.stack([EIGEN, TURNING])), call(NONE)],
}  # fmt: skip
