"""Calls of the rules in `functions/composed/sorting.py`."""

import numpy as np

from .calls import CUBE, EMPTY, NO_ROWS, POINT, REDUCTIONS, A, B, V, array, call
from .numpy_reductions import HOLES, NAN, ROW

RANKS = np.array([[3, 0, 1], [2, 2, 0], [1, 3, 3]])
METHODS = [
    "linear", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased",
    "normal_unbiased", "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "lower",
    "higher", "midpoint", "nearest",
]  # fmt: skip
FEW, MANY = 0.43, np.array([0.17, 0.52, 0.83])
BY_WEIGHT = {"method": "inverted_cdf", "weights": np.arange(1, 13).reshape(3, 4)}
QUANTILES = [
    *(call(array(5), FEW, method=method) for method in METHODS),
    *(call(array(5), q=MANY, method=method) for method in METHODS),
    call(A, FEW, axis=0), call(CUBE, q=MANY, axis=(0, 2)), call(CUBE, FEW, axis=(0, -1)),
    call(CUBE, q=MANY, axis=(2, 1), keepdims=True), call(CUBE, FEW, 1, None, False, "hazen", True),
    call(A, axis=-1, q=MANY), call(POINT, FEW), call(POINT, q=MANY),
    call(array(5), 0.03, method="weibull"), call(array(5), 0.97, method="weibull"),
    call(A, axis=1, q=MANY, **BY_WEIGHT), call(A, FEW, axis=-1, **BY_WEIGHT), call(EMPTY, FEW, 1),
]  # fmt: skip
NAN_QUANTILES = [
    *(call(HOLES, FEW, axis=0, method=method) for method in METHODS),
    *(call(HOLES, q=MANY, axis=0, method=method) for method in METHODS),
    call(HOLES, q=MANY), call(HOLES, FEW, keepdims=True),
    call(HOLES, axis=1, q=MANY, **BY_WEIGHT), *QUANTILES[26:],
]  # fmt: skip


def percentages(calls):
    """The same calls with q in percent."""
    return [
        call(*c.args, **{**c.kwargs, "q": 100 * c.kwargs["q"]})
        if "q" in c.kwargs
        else call(c.args[0], 100 * c.args[1], *c.args[2:], **c.kwargs)
        for c in calls
    ]


CALLS = {
    np.take_along_axis: [
        call(A, RANKS, axis=1), call(A[:, :3], RANKS % 3, 0),
        call(V, np.array([0, 3, 3]), axis=None),
        call(CUBE, np.zeros((2, 1, 4), int), axis=1), call(EMPTY, np.zeros((0, 2), int), axis=1),
    ],
    np.compress: [
        call([True, False, True], A), call(np.array([1, 0, 1]), A, axis=0), call(ROW, A, axis=-1),
        call(np.zeros(3, bool), A, 0), call([False, True], EMPTY, axis=1),
    ],
    np.extract: [
        call(A > 0, A), call(np.abs(A) > 1, A), call(np.array([0, 1]), V), call(True, POINT),
    ],
    np.trim_zeros: [call(V), call(V, "f")],  # a zero that moves is no zero
    np.sort: [
        call(A), call(CUBE, axis=0), call(CUBE, axis=None), call(V, kind="stable"), call(EMPTY),
        call(V, stable=True), call(CUBE, 1, "heapsort"), call(POINT, axis=None),
    ],
    np.partition: [
        call(A, 1), call(CUBE, 1, axis=0), call(CUBE, (3, 7), axis=None), call(V, -1),
        call(EMPTY, 1), call(array(40), 7),
    ],
    np.sort_complex: [call(A), call(V), call(EMPTY)],
    np.unique: [
        call(A), call(V, True), call(V, return_inverse=True, return_counts=True),
        call(A, return_index=True, return_counts=True), call(A, axis=0), call(CUBE, axis=-1),
        call(EMPTY), call(POINT), call(V, equal_nan=False), call(A, True, True, True, 1),
    ],
    np.unique_values: [call(array(1)), call(EMPTY)],  # in whatever order
    np.unique_counts: [call(A)],
    np.unique_inverse: [call(A)],
    np.unique_all: [call(A)],
    np.choose: [
        call(np.array([0, 1, 1, 0]), [V, array(4, seed=1)]), call(RANKS % 2, [1.5, A[:, :3]]),
        call(np.array([[1], [0]]), [V, -V]), call(np.array([3, -1, 0, 5]), (V, V**2), mode="wrap"),
        call(np.array([3, -1, 0, 5]), [V, V**2], mode="clip"), call(1, A),
    ],
    np.select: [
        call([A > 1, A > 0], [A, B]), call([A > 1, A > 0], [A, B], default=2.5),
        call([A > 1, ROW], [V, B], default=V), call([True, False], [1.5, V]),
    ],
    np.median: [
        *REDUCTIONS, call(array(5)), call(array(3, 3), axis=0), *NO_ROWS,
    ],
    np.nanmedian: [*NAN, call(array(3, 3), axis=0), *NO_ROWS],
    np.quantile: QUANTILES,
    np.percentile: percentages(QUANTILES),
    np.nanquantile: NAN_QUANTILES,
    np.nanpercentile: percentages(NAN_QUANTILES),
}  # fmt: skip
