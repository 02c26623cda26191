"""What kernels need that NumPy lacks, for kernels that run as plain Python.

The functions of the math module take and return Python's floats, and raise where the value is
infinite or undefined; in a kernel a function keeps the type of its operand and never raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np


def imports(names: Iterable[str], dtype: str) -> str:
    """The lines that define T and functions of these names."""
    lines = [f"from numpy import {dtype} as T, int64", f"from {__name__} import bits"]
    for name in sorted(names):
        module = __name__ if name in globals() else "numpy"
        spelled = "power" if name == "float_power" else name  # that of float32 is float64
        lines.append(f"from {module} import {spelled} as {name}")
    return "\n".join(lines)


def bits(x: Any) -> Any:
    return np.abs(x).view(f"i{x.dtype.itemsize}")


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
