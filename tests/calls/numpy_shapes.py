"""Calls of the rules in `functions/primitives/shapes.py`."""

import numpy as np

from .calls import CUBE, EMPTY, INDEX_LISTS, POINT, STACKS, A, B, V, W, array, call

CALLS = {
    # shapes
    np.reshape: [
        call(A, (2, 6)), call(A, (4, -1), "F"), call(A, -1), call(POINT, (1, 1)), call(1.5, (1,)),
        call(EMPTY, (3, 0)),
    ],
    np.ravel: [call(A), call(A, "F"), call(POINT), call(1.5), call(EMPTY)],
    np.transpose: [
        call(A), call(CUBE, (2, 0, 1)), call(CUBE, axes=(1, 0, -1)), call(V), call(POINT),
    ],
    np.matrix_transpose: [call(A), call(CUBE)],
    np.swapaxes: [call(CUBE, 0, 2), call(CUBE, -1, 1)],
    np.moveaxis: [call(CUBE, 0, -1), call(CUBE, (0, 1), (-1, 0)), call(CUBE, [2, 0], [0, 1])],
    np.squeeze: [
        call(array(1, 3, 1)), call(array(1, 3, 1), axis=0), call(array(1, 3, 1), axis=(0, -1)),
        call(A),
    ],
    np.expand_dims: [call(A, 0), call(A, axis=-1), call(A, (0, 2)), call(POINT, 0)],
    np.broadcast_to: [
        call(V, (3, 4)), call(array(3, 1), (2, 3, 4)), call(POINT, (2, 2)), call(1.5, (2,)),
        call(A, (3, 4)), call(np.zeros((1, 0)), (3, 0)),
    ],
    np.flip: [call(CUBE), call(CUBE, 0), call(CUBE, axis=(0, -1))],
    np.fliplr: [call(A)],
    np.flipud: [call(A)],
    np.roll: [call(A, 2), call(A, -1, axis=1), call(CUBE, (1, 2), axis=(0, -1))],
    np.copy: [call(A), call(POINT), call(A, "F")],
    np.astype: [call(A, np.float64), call(np.ones((2, 2), np.float32), np.float64)],
    np.atleast_1d: [call(POINT), call(1.5), call(A), call(POINT, V)],
    np.atleast_2d: [call(POINT), call(V), call(CUBE), call(V, 1.5)],
    np.atleast_3d: [call(POINT), call(V), call(A), call(CUBE)],
    # joining and splitting
    np.concatenate: [
        *STACKS, call([A, V[None]], axis=0), call([A, array(3, 2)], axis=-1),
        call([A, V], axis=None), call(CUBE), call(CUBE, axis=1), call([EMPTY, array(2, 3)]),
        call([V, np.ones(2, np.float32)], dtype=np.float64),
    ],
    np.stack: [
        *STACKS, call([A, B], axis=1), call([A, B], axis=-1), call([1.5, 2.5, POINT]),
        call(CUBE, axis=1),
    ],
    np.vstack: [*STACKS, call([V, A]), call([1.5, 2.5]), call(CUBE)],
    np.hstack: [*STACKS, call([V, W]), call([1.5, 2.5]), call(CUBE), call([POINT, V])],
    np.dstack: [*STACKS, call([V, V]), call([1.5, 2.5])],
    np.column_stack: [*STACKS, call([V, V]), call([W, A])],
    np.array_split: [
        call(V, 3), call(A, 3, axis=1), call(V, [1, 3]), call(V, [2, 2, 9]), call(V, 6),
        call(V, [3, 1]), call(CUBE, 2, -1),
    ],
    np.split: [call(V, 2), call(A, [1], axis=-1), call(V, [0, 2])],
    np.hsplit: [call(A, 2), call(V, [1]), call(CUBE, 3)],
    np.vsplit: [call(A, 3)],
    np.dsplit: [call(CUBE, 2)],
    # repeating and choosing
    np.tile: [
        call(V, 2), call(A, (2, 1)), call(V, (2, 3)), call(CUBE, 2), call(POINT, 3),
        call(A, (1, 1)), call(V, 0),
    ],
    np.repeat: [
        call(A, 2), call(A, 2, axis=0), call(A, [1, 0, 2], axis=0), call(CUBE, 3, axis=-1),
        call(V, 0), call(POINT, 3),
    ],
    np.take: [
        call(A, [0, 0, 5]), call(A, 1, axis=0), call(A, INDEX_LISTS, axis=-1),
        call(V, [5, -1], mode="wrap"), call(V, [9, -3], mode="clip"), call(CUBE, [1, 1], 1),
    ],
    np.where: [
        call(A > 0, A, B), call(A > 0, A, 0.5), call(A > 0, 0.5, A), call(A > 0, V, array(3, 1)),
        call(True, 1.5, 2.5), call(W[:, None] > 0, A, B), call(V > 0, POINT, W[:, None]),
    ],
    np.clip: [
        call(A, -1.0, 1.0), call(A, None, 1.0), call(A, -1.0, None),
        call(A, -0.9 * np.ones(4), array(3, 1) ** 2 + 0.15), call(1.5, 0.0, 1.0),
        call(A, min=-1.0), call(A, min=-1.0, max=1.0), call(A, 1.0, -1.0),
        call(V, np.ones((2, 1)), 3.0),
    ],
    np.diagonal: [
        call(A), call(A, 1), call(A, -2), call(CUBE, 0, 1, 2),
        call(CUBE, offset=1, axis1=-1, axis2=0), call(A, 9),
    ],
    np.trace: [call(A), call(A, 1), call(CUBE, -1, 1, 2), call(CUBE)],
    np.diag: [call(A), call(A, k=1), call(V), call(V, -1), call(V, k=2)],
    np.tril: [call(A), call(A, 1), call(CUBE, k=-1)],
    np.triu: [call(A), call(A, 1), call(CUBE, k=-1)],
}  # fmt: skip
