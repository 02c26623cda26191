"""Calls of the rules in `functions/composed/statistics.py`."""

import numpy as np

from .calls import CUBE, POINT, REDUCTIONS, A, B, V, array, call

WEIGHTS = B**2
COUNTS = np.array([1, 2, 1, 3])
# The numbers of bins are such that no element is near an edge.
PLACES = np.array([0, 2, 2, 5])
EDGES = np.array([-2.5, -1.2, 0.05, 0.9, 2.5])
POINTS = array(7, 2)

CALLS = {
    np.average: [
        *REDUCTIONS, call(A, None, WEIGHTS), call(A, 1, V**2),
        call(CUBE, axis=(2, 0), weights=array(4, 2) ** 2), call(CUBE, -1, V**2, keepdims=True),
        call(A, 0, WEIGHTS, True), call(A, 1, V**2, returned=True), call(A, returned=True),
        call(A, weights=COUNTS, axis=1), call(A, 1, V**2, True, keepdims=True),
        call(POINT, weights=np.array(2.5)), call(1.5, weights=2.5),
    ],
    np.cov: [
        call(A), call(A, rowvar=False), call(V), call(V, array(4, seed=1)), call(A, B, False),
        call(A, bias=True), call(A, ddof=2), call(A, ddof=0),
        call(A, fweights=COUNTS), call(A, None, True, False, None, None, V**2),
        call(A, None, True, False, 0, None, V**2), call(A, None, True, True, 1, COUNTS, V**2),
        call(A, V), call(np.zeros((0, 3))), call(array(1, 4)), call(A, dtype=np.float64),
    ],
    np.corrcoef: [
        call(A), call(A, rowvar=False), call(V), call(A, B), call(A, V),
        call(np.zeros((0, 3))),
    ],
    np.bincount: [
        call(PLACES, V), call(PLACES, weights=COUNTS), call(PLACES, V, minlength=9),
        call(np.array([], int), np.array([]), 2),
    ],
    np.histogram: [
        call(A), call(A, 3), call(V, 4, range=(-1.5, 2.5)), call(A, EDGES), call(A, 3, None, True),
        call(A, EDGES, None, True), call(A, 3, None, None, WEIGHTS),
        call(A, EDGES, None, True, WEIGHTS), call(A, "sturges"), call(np.zeros(0)), call(POINT, 2),
        call(A, bins=[-1.0, 0.25, 1.0], weights=WEIGHTS),
    ],
    np.histogram_bin_edges: [
        call(A), call(A, 4), call(A, EDGES), call(A, 4, range=(-1.0, 1.5)), call(A, "fd"),
        call(POINT), call(A, 3, None, WEIGHTS),
    ],
    np.histogram2d: [
        call(V, array(4, seed=1), EDGES),
        call(V, array(4, seed=1), 2, [[-1, 1], [-2, 2]], True, V**2),
    ],
    np.histogramdd: [
        call(POINTS), call(POINTS, [3, 3]), call(POINTS, (EDGES, EDGES), density=True),
        call([V, array(4, seed=1), array(4, seed=2)], 5),
        call(POINTS, 3, [None, (-1.5, 1.5)], None, array(7) ** 2), call(V, 3, density=True),
    ],
}  # fmt: skip
