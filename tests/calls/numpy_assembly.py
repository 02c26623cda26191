"""Calls of the rules in `functions/composed/assembly.py` and `functions/composed/padding.py`."""

import numpy as np

from .calls import CUBE, EMPTY, POINT, A, B, V, W, array, call

PADDED = array(5)
WINDOWS = np.lib.stride_tricks.sliding_window_view
GATHERED = [
    call(x, width, mode)
    for mode in ("edge", "reflect", "symmetric", "wrap")
    for x, width in ((V, 2), (V, (9, 1)), (A, ((1, 0), (2, 5))), (array(1), 2), (EMPTY, 0))
]
ODD = [
    call(x, width, mode, reflect_type="odd")
    for mode in ("reflect", "symmetric")
    for x, width in ((V, 2), (V, (9, 1)), (A, ((1, 0), (2, 5))), (array(1), 2), (array(2), 4))
]
STATISTICS = [
    call(x, width, mode, **options)
    for mode in ("maximum", "minimum", "mean", "median")
    for x, width, options in (
        (PADDED, 2, {}), (PADDED, (1, 3), {"stat_length": 3}),
        (array(3, 5), ((1, 0), (0, 2)), {"stat_length": ((3, 1), (1, 9))}),
    )
]  # fmt: skip

BY_AXIS = [call(A, {0: 1, -1: (2, 0)})]
if np.lib.NumpyVersion(np.__version__) < "2.4.0":  # which refuses it
    BY_AXIS = []

CALLS = {
    np.delete: [
        call(V, 1), call(A, [0, -1], axis=1), call(A, 5), call(A, slice(0, 2), 0), call(A, [], 0),
        call(A, np.array([True, False, True]), 0), call(EMPTY, 0, 1),
    ],
    WINDOWS: [
        call(V, 2), call(A, (2, 3)), call(A, 2, axis=1), call(CUBE, (2, 2), (0, -1)), call(V, 4),
    ],
    np.resize: [call(A, (2, 3)), call(A, (5, 4)), call(V, 9), call(POINT, (2, 2)), call(EMPTY, 3)],
    np.append: [
        call(A, B), call(A, B, axis=0), call(A, array(3, 2), -1), call(V, 1.5), call(1.5, V),
        call(EMPTY, V), call(V, [1, 2]),
    ],
    np.insert: [
        call(V, 1, 0.7), call(V, [1, 3], array(2)), call(V, [0, 0, 4], 0.7), call(A, 1, V, axis=0),
        call(A, [1, 2], array(3, 2), axis=1), call(A, 1, W, 1), call(A, 3, 0.7),
        call(V, slice(0, 2), array(2)), call(V, -1, array(3)), call(A, [0], array(3, 2), 1),
        call(V, [], []), call(V, 2, [1, 2]), call(V, np.array([True, False, False, True]), 0.7),
        call(A, [0, 2], V, 0),
    ],
    np.trim_zeros: [
        call(V), call(V, "f"), call(np.zeros(0)),
    ],
    np.rollaxis: [call(CUBE, 2), call(CUBE, 0, 3), call(CUBE, -1, 1), call(CUBE, 1, 2)],
    np.rot90: [*(call(A, k) for k in range(-1, 4)), call(CUBE, 1, (2, 0)), call(CUBE, k=3)],
    np.unstack: [call(A), call(CUBE, axis=-1), call(EMPTY)],
    np.block: [
        call([[A, B], [B, A]]),
        call([V, W]), call([1.5, V]), call([[A], [V]]), call([[POINT, V], [1.5, V]]), call(A),
        call([[CUBE, CUBE], [CUBE, CUBE]]), call([[[A]]]),
    ],
    np.broadcast_arrays: [
        call(V, array(3, 1)), call(A, B), call(1.5, V), call(A), call(POINT, array(0, 3)),
    ],
    np.meshgrid: [
        call(V, W), call(V, W, indexing="ij"), call(V, W, sparse=True), call(V),
        call(V, W, array(2)), call(V, W, array(2), indexing="ij", sparse=True), call(1.5, V),
        call(np.zeros(0), V),
    ],
    np.ix_: [call(V, W), call(V, np.array([True, False]), W), call(V)],
    np.diagflat: [call(V), call(A), call(V, 1), call(V, k=-2), call(1.5), call(np.zeros(0))],
    np.vander: [
        call(V), call(V, 3), call(V, N=6), call(V, increasing=True), call(V, 1), call(V, 0),
        call(np.zeros(0), 2),
    ],
    np.pad: [
        *GATHERED, *ODD, *STATISTICS, call(V, 2), call(A, ((1, 0), (2, 3))), call(EMPTY, 1),
        call(A, 1, constant_values=0.7), call(A, (1, 2), constant_values=(0.7, 0.9)),
        call(A, 1, constant_values=((0.1, 0.2), (0.3, 0.4))), call(A, 0), call(POINT, 0),
        *BY_AXIS, call(V, 3, "linear_ramp"), call(V, (0, 2), "linear_ramp"),
        call(A, 2, "linear_ramp", end_values=0.7), call(CUBE, 1, "linear_ramp", end_values=(1, 2)),
    ],
}  # fmt: skip
