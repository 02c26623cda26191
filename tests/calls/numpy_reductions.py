"""Calls of the rules in `primitives/reductions.py` and `primitives/scans.py`."""

import numpy as np

from .calls import (
    CUBE,
    EMPTY,
    NO_ELEMENTS,
    NO_ROWS,
    POINT,
    REDUCTIONS,
    SCANS,
    SPREADS,
    ZEROS,
    A,
    V,
    array,
    call,
)

SEEN = CUBE[:, :1] > -1  # broadcasts; some elements of every row
TALL = np.array([[True], [False], [True]])
ROW = np.array([True, False, True, True])
MASKED = [
    call(CUBE, where=SEEN), call(CUBE, axis=2, where=ROW), call(CUBE, axis=(0, 2), where=ROW),
    call(A, axis=0, where=A > -1, keepdims=True), call(A, where=True),
]  # fmt: skip
STARTED = [
    call(A, initial=2.5), call(A, axis=0, keepdims=True, initial=2.5),
    call(CUBE, axis=(0, 2), initial=2.5, where=ROW), call(EMPTY, axis=0, initial=2.5),
    call(CUBE, axis=1, where=ROW),
]  # fmt: skip
# From below or above what the elements are, and between them.
BOUNDED = [
    call(A, initial=0.1), call(A, axis=0, initial=0.1, keepdims=True), call(A, initial=99.0),
    call(A, initial=-99.0), call(CUBE, axis=(0, 2), initial=0.1, where=ROW),
    call(EMPTY, axis=0, initial=0.1),
]  # fmt: skip
ABOUT = [
    call(A, axis=0, where=A > -1.5), call(CUBE, axis=(0, 1), where=TALL),
    call(CUBE, where=ROW, ddof=1),
    call(A, axis=1, mean=np.full((3, 1), 0.2)), call(A, mean=0.3, correction=1),
    call(A, axis=0, correction=1.5), call(A, axis=1, where=ROW, mean=np.full((3, 1), 0.2)),
]  # fmt: skip

HOLES = array(3, 4)
HOLES[[0, 0, 1, 2], [0, 1, 2, 2]] = np.nan
DEEP = array(2, 3, 4)
DEEP[[0, 0, 1], [0, 1, 2], [0, 3, 2]] = np.nan
NAN = [
    call(HOLES), call(HOLES, axis=0), call(HOLES, axis=-1, keepdims=True), call(DEEP, axis=(0, 2)),
    call(DEEP), call(A), call(A, axis=0), call(np.array([np.nan, 1.5])), call(1.5), call(POINT),
]  # fmt: skip
NAN_MASKED = [call(HOLES, where=ROW), call(DEEP, axis=1, where=TALL)]
NAN_STARTED = [call(HOLES, initial=1.5), call(DEEP, axis=(0, 2), initial=1.5)]
# No column of fewer than three numbers: the deviation of two is curved nowhere but by rounding.
WIDE_HOLES = array(5, 5)
WIDE_HOLES[[0, 1, 2, 3], [0, 2, 2, 4]] = np.nan
NAN_SPREADS = [
    call(WIDE_HOLES), call(WIDE_HOLES, axis=0), call(WIDE_HOLES, axis=1, keepdims=True),
    call(WIDE_HOLES, axis=(0, 1), ddof=1), call(WIDE_HOLES, correction=1), call(A, axis=0),
    call(WIDE_HOLES, where=np.arange(5) != 1), call(WIDE_HOLES, mean=0.1),
]  # fmt: skip
CUMULATIVE = [
    call(V), call(A, axis=0), call(CUBE, axis=-1, include_initial=True), call(POINT), call(1.5),
    call(V, include_initial=True), call(EMPTY, axis=0, include_initial=True),
    call(V, dtype=np.float64),
]  # fmt: skip

CALLS = {
    np.sum: [
        *REDUCTIONS, *NO_ELEMENTS, call(A, axis=()), call(A, dtype=np.float64), *MASKED, *STARTED,
    ],
    np.mean: [*REDUCTIONS, *NO_ROWS, call(A, axis=()), *MASKED],
    np.prod: [
        *REDUCTIONS, *NO_ELEMENTS, *ZEROS, call(A, axis=()), *MASKED, *STARTED,
        *(call(*c.args, **c.kwargs, initial=1.5) for c in ZEROS),
        *(call(*c.args, **c.kwargs, initial=0.0) for c in ZEROS),
        call(CUBE * SEEN, axis=1, where=ROW),
    ],
    np.max: [*REDUCTIONS, *NO_ROWS, *BOUNDED],
    np.min: [*REDUCTIONS, *NO_ROWS, *BOUNDED],
    np.amax: [call(A), call(A, axis=1)],
    np.amin: [call(A), call(A, axis=1)],
    np.ptp: [*REDUCTIONS, *NO_ROWS],
    np.var: [*SPREADS, call(POINT), *ABOUT],
    np.std: [*SPREADS, *ABOUT],
    np.nansum: [*NAN, *NAN_MASKED, *NAN_STARTED, *NO_ELEMENTS],
    np.nanprod: [*NAN, *NAN_MASKED, *NAN_STARTED, *NO_ELEMENTS, *ZEROS],
    np.nanmean: [*NAN, *NAN_MASKED, *NO_ROWS],
    np.nanmax: [*NAN, *NAN_STARTED, *NO_ROWS],
    np.nanmin: [*NAN, *NAN_STARTED, *NO_ROWS],
    np.nanvar: [*NAN_SPREADS, *NO_ROWS],
    np.nanstd: [*NAN_SPREADS, *NO_ROWS],
    np.cumsum: [*SCANS, *ZEROS],
    np.cumprod: [*SCANS, *ZEROS],
    np.nancumsum: [*SCANS, call(HOLES), call(HOLES, axis=0)],
    np.nancumprod: [*SCANS, *ZEROS, call(HOLES), call(HOLES, axis=0)],
    np.cumulative_sum: CUMULATIVE,
    np.cumulative_prod: [*CUMULATIVE, *ZEROS[:3]],
}  # fmt: skip
