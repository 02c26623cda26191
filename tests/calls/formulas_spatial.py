"""Calls of the rules for scipy.spatial."""

import numpy as np

from zyg.scipy import spatial

from .calls import V, W, array, call

distance = spatial.distance
A, B = array(3, 4), array(2, 4)
U = array(4, seed=1)
WEIGHTS = np.array([0.3, 1.2, 0.7, 2.0])
SHARES = np.abs(array(4, 3)), np.abs(array(4, 3, seed=2)) ** 2
METRICS = {
    "euclidean": {}, "sqeuclidean": {"w": WEIGHTS}, "cityblock": {"w": WEIGHTS}, "chebyshev": {},
    "minkowski": {"p": 3, "w": WEIGHTS}, "seuclidean": {"V": WEIGHTS},
    "mahalanobis": {"VI": np.eye(4) + 0.1}, "cosine": {}, "correlation": {}, "canberra": {},
    "braycurtis": {},
}  # fmt: skip
NEEDED = {"seuclidean": [WEIGHTS], "mahalanobis": [np.eye(4) + 0.1]}


def unit(x):
    return x / np.sqrt(np.sum(np.conj(x) * x))


def between_units(a, b, t):
    return spatial.geometric_slerp(unit(a), unit(b), t)


def square_of_distances(x):
    return distance.squareform(distance.pdist(x))


def from_the_farthest(u, v):
    return distance.directed_hausdorff(u, v)[0]


CALLS = {
    **{
        getattr(distance, name): [
            call(V, U, **options), *([] if name in NEEDED else [call(W, array(3, seed=1))]),
        ]
        for name, options in METRICS.items()
    },
    distance.cdist: [
        *(call(A, B, name, **options) for name, options in METRICS.items()), call(A, B),
    ],
    distance.pdist: [
        *(call(A, name, **options) for name, options in METRICS.items()), call(A), call(A[:1]),
    ],
    distance.squareform: [call(array(6)), call(array(3)), call(array(1))],
    square_of_distances: [call(A)],
    distance.jensenshannon: [
        call(*SHARES), call(SHARES[0][:, 0], SHARES[1][:, 0], base=2.0),
        call(*SHARES, axis=1, keepdims=True),
    ],
    from_the_farthest: [call(A, B)],
    spatial.minkowski_distance: [call(A, B[:1], p=p) for p in (1, 2, 3.5, np.inf)] + [call(V, U)],
    spatial.minkowski_distance_p: [call(A, B[:1], p=p) for p in (1, 2, 3.5)] + [call(V, U)],
    spatial.distance_matrix: [call(A, B), call(A, B, 3), call(A, B, 1)],
    spatial.procrustes: [call(array(4, 2), array(4, 2, seed=1))],
    between_units: [call(V, U, np.array([0.2, 0.7])), call(W, array(3, seed=1), 0.3)],
}  # fmt: skip
