"""Calls of the rules in `zyg/rules/reductions.py`."""

import numpy as np

from .calls import NO_ELEMENTS, NO_ROWS, POINT, REDUCTIONS, SCANS, SPREADS, ZEROS, A, call

CALLS = {
    np.sum: [*REDUCTIONS, *NO_ELEMENTS, call(A, axis=()), call(A, dtype=np.float64)],
    np.mean: [*REDUCTIONS, *NO_ROWS, call(A, axis=())],
    np.prod: [*REDUCTIONS, *NO_ELEMENTS, *ZEROS, call(A, axis=())],
    np.max: [*REDUCTIONS, *NO_ROWS],
    np.min: [*REDUCTIONS, *NO_ROWS],
    np.amax: [call(A), call(A, axis=1)],
    np.amin: [call(A), call(A, axis=1)],
    np.var: [*SPREADS, call(POINT)],
    np.std: SPREADS,
    np.cumsum: [*SCANS, *ZEROS],
    np.cumprod: [*SCANS, *ZEROS],
}  # fmt: skip
