"""Calls of the rules in `functions/primitives/elementwise.py`."""

import numpy as np

from .calls import POINT, A, B, V, array, call

CALLS = {
    np.conjugate: [call(A), call(1.5), call(1.5 + 2j)],
    np.round: [
        call(A), call(np.array([0.52, -1.08, 2.23]), 1), call(1.26, decimals=1), call(POINT),
    ],
    np.around: [call(A), call(10 * A, decimals=-1)],
    np.nan_to_num: [call(A), call(1.5), call(A, nan=3.0)],
    np.modf: [call(A), call(1.5)],
    np.frexp: [call(A), call(1.5), call(np.array([0.7, -13.0, 3.0]))],
    np.real_if_close: [call(A), call(1.5), call(A + 1e-15j), call(A + 1j * B)],
    np.divmod: [call(A, 0.7), call(5.3, 2.2), call(array(3, 1), 0.7 * V)],
}  # fmt: skip
