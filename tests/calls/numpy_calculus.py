"""Calls of the rules in `functions/composed/calculus.py`."""

import numpy as np

from .calls import CUBE, EMPTY, POINT, A, B, V, W, array, call

KNOTS = np.array([-1.5, -0.2, 0.3, 1.7])
HEIGHTS = array(4, seed=3)
INSIDE = np.array([-1.1, 0.05, -0.9, 1.2])
ANYWHERE = np.array([[-2.2, -1.1, 0.1], [1.2, 2.4, -0.7]])
PLACES = np.array([0.1, 0.5, 0.7, 1.6])

CALLS = {
    np.diff: [
        call(V), call(A), call(A, 2), call(CUBE, 1, 0), call(A, axis=0), call(A, 0), call(V, 9),
        call(A, prepend=0.7), call(A, append=array(3, 2)), call(A, 2, 0, prepend=V[None]),
        call(A, append=1.5, axis=0), call(EMPTY), call(EMPTY, axis=0),
    ],
    np.ediff1d: [
        call(V), call(A), call(V, 2), call(V, to_begin=2), call(A, [1, 2], [[3]]), call(V[:1]),
        call(EMPTY),
    ],
    np.gradient: [
        call(V), call(A), call(A, axis=(1, 0)), call(A, 1, 2), call(A, 0.7, axis=0),
        call(A, PLACES, axis=-1), call(V, PLACES, edge_order=2), call(V, edge_order=2),
        call(V, np.arange(4.0)), call(array(2, 2), [0, 2], [0, 1]),
    ],
    np.trapezoid: [
        call(V), call(A), call(A, axis=0), call(V, PLACES), call(A, PLACES), call(A, B),
        call(A, dx=0.7), call(A, W, axis=0), call(CUBE, PLACES, 1, -1), call(A, None, 0.7, 0),
        call(V[:1]), call(EMPTY),
    ],
    np.unwrap: [
        call(3 * V), call(9 * A), call(9 * A, axis=0), call(3 * V, 0.5), call(A, period=0.7),
        call(A, None, -1, period=1.1),
    ],
    np.linspace: [
        call(0.3, 1.7, 4), call(0.3, 1.7, 4, False), call(0.3, 1.7, 4, retstep=True),
        call(V, 1.5, 3), call(V, array(3, 1), 5, axis=-1), call(V, W[:, None], 3, axis=1),
        call(1.5, 0.3, num=1), call(1.5, 0.3, 0), call(POINT, 2, 3), call(0.3, 0.3, 3),
        call(V, 1.5, 3, endpoint=False, retstep=True, axis=1), call(0.3, 1.7),
    ],
    np.logspace: [
        call(0.3, 1.7, 4), call(V, 1.5, 3), call(0.3, 1.7, 4, False, 2.0), call(V, 0.4, 3, axis=-1),
        call(0.3, 1.2, 3, base=np.array([2.0, 3.5])), call(0.3, 1.2, 3, base=PLACES + 1, axis=-1),
    ],
    np.geomspace: [
        call(0.3, 1.7, 4), call(-0.3, -1.7, 4), call(0.3, 1.7, 4, False), call(PLACES, 2.5, 3),
        call(PLACES, 2.5 + PLACES[:3, None], 3, axis=1), call(0.3, 1.7, 1), call(0.3, 1.7, 0),
    ],
    np.interp: [
        call(INSIDE, KNOTS, HEIGHTS), call(ANYWHERE, KNOTS, HEIGHTS), call(0.1, KNOTS, HEIGHTS),
        call(ANYWHERE, KNOTS, HEIGHTS, 1), call(ANYWHERE, KNOTS, HEIGHTS, right=1),
        call(ANYWHERE, KNOTS, HEIGHTS, 1, 2), call(ANYWHERE, KNOTS, HEIGHTS, period=4),
        call(INSIDE, [-2, 0, 1, 2], HEIGHTS), call(9.0, [1], [2]), call(0.5, KNOTS, [1, 2, 3, 5]),
        call(np.array(0.1), KNOTS, HEIGHTS), call(np.zeros(0), KNOTS, HEIGHTS),
        call(ANYWHERE, KNOTS[[2, 0, 3, 1]], HEIGHTS, period=-4),
        call(ANYWHERE * (1 + 0.5j), KNOTS, HEIGHTS, period=4),
        call(0.3, np.array([False, True]), np.array([1.0, 3.0])), call(0.3, [0, 1], [True, False]),
    ],
}  # fmt: skip
