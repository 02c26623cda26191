"""Calls of methods of arrays: what follows the array."""

import numpy as np

from .calls import array, call

METHODS = {
    "sum": [call(), call(0), call(1, keepdims=True)],
    "mean": [call(), call(axis=0)],
    "prod": [call(), call(1)],
    "max": [call(), call(1)],
    "min": [call(), call(0)],
    "var": [call(), call(axis=0, ddof=1)],
    "std": [call(), call(0)],
    "cumsum": [call(), call(1)],
    "cumprod": [call(), call(1)],
    "reshape": [call(2, 6), call((2, 6)), call(-1)],
    "ravel": [call()],
    "flatten": [call()],
    "transpose": [call(), call(1, 0), call((1, 0))],
    "swapaxes": [call(0, 1)],
    "squeeze": [call()],
    "repeat": [call(2, axis=0)],
    "clip": [call(-1.01, 1.02), call(min=0.01)],
    "dot": [call(array(4, 2))],
    "trace": [call()],
    "diagonal": [call(1)],
    "take": [call([0, 0, 5]), call([0, 0, 3], axis=1)],
    "round": [call()],
    "conj": [call()],
    "conjugate": [call()],
    "copy": [call()],
    "astype": [call(np.float64)],
}
# Those whose results carry no derivative, or are tested elsewhere as derivatives.
VALUES = {
    "all": [call(), call(0)], "any": [call(), call(1)], "argmax": [call(), call(1)],
    "argmin": [call(), call(0)], "argsort": [call(), call(0), call(None)], "nonzero": [call()],
    "searchsorted": [call(0.5)], "tolist": [call()], "item": [call(3), call(1, 2)],
}  # fmt: skip
