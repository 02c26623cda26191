"""Calls of the rules in `functions/composed/functional.py`."""

import numpy as np

from .calls import CUBE, A, V, array, call


def norm(v):
    return np.sum(v * v)


def power(v, p):
    return np.sum(np.abs(v) ** p)


def square(v):
    return v * v


def halves(v):
    return np.outer(v[:2], v[-2:])


CALLS = {
    np.apply_along_axis: [
        call(norm, 0, A), call(norm, -1, CUBE), call(square, 1, CUBE), call(halves, 1, CUBE),
        call(halves, 2, CUBE), call(norm, 0, V), call(power, 1, A, 3), call(power, 1, A, p=3),
        call(square, 0, np.zeros((0, 3))),
    ],
    np.apply_over_axes: [
        call(np.sum, A, 0), call(np.sum, CUBE, [0, -1]), call(np.cumsum, CUBE, (0, 2)),
    ],
    np.piecewise: [
        call(V, [V < 0, V >= 0], [np.sin, np.cos]), call(A, [A < 0], [square, 2]),
        call(A, [A < -1, A > 1], [square, np.exp, np.sin]), call(A, [A < 0, A < 1], [2, np.sin]),
        call(array(3), [True, False, True], [square]), call(np.array(1.3), True, [square, np.sin]),
        call(V, [V < 0, V < 1], [np.sum, np.cumsum]), call(V, [V > 9], [square]),
    ],
}  # fmt: skip
