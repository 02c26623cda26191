"""What kernels need that NumPy lacks, for kernels that run as plain Python.

The functions of the math module take and return Python's floats, and raise where the value is
infinite or undefined; in a kernel a function keeps the type of its operand and never raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def contiguous(row: np.ndarray) -> np.ndarray:
    return row


def total(start: Any, tile: np.ndarray, n: int) -> Any:
    return start + np.add.reduce(tile[:n], dtype=type(start))


def bits(x: Any) -> Any:
    return np.abs(x).view(f"i{x.dtype.itemsize}")


def inlined(function: Any) -> Any:
    return function


def wrapping_add(x: Any, y: Any) -> Any:
    return np.int64(x) + np.int64(y)


def wrapping_subtract(x: Any, y: Any) -> Any:
    return np.int64(x) - np.int64(y)


def wrapping_multiply(x: Any, y: Any) -> Any:
    return np.int64(x) * np.int64(y)


def _quiet(function: Callable[[float], float], at_pole: float) -> Callable[[Any], Any]:
    def quiet(x: Any) -> Any:
        try:
            return type(x)(function(x))
        except OverflowError:
            return type(x)(math.inf)
        except ValueError:
            return type(x)(at_pole)

    return quiet


erf, erfc = _quiet(math.erf, math.nan), _quiet(math.erfc, math.nan)
lgamma = _quiet(math.lgamma, math.inf)
_gamma = _quiet(math.gamma, math.nan)


def gamma(x: Any) -> Any:
    return 1 / x if x == 0 else _gamma(x)
