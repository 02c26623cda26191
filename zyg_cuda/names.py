"""Where a kernel on the GPU gets the functions that its text calls: the imports of its module."""

from __future__ import annotations

from collections.abc import Iterable

from zyg.compiler.back import python_runtime
from zyg.functions.operations import OPERATIONS

# numba.cuda maps functions of the math module to libdevice, by the type of the operand; but these.
_WRITTEN = {"power", "fmod"}
_OF_LIBDEVICE = {"cbrt", "rint"}  # spelled with an f for float32


def imports(names: Iterable[str], dtype: str, index: str, simulated: bool) -> str:
    """The lines that define T, the type I of indices, loads and stores, and `names`."""
    lines = [
        "from numba import cuda",
        f"from numpy import {dtype} as T, {index} as I, int64, float64",
    ]
    if simulated:
        lines += [python_runtime.imports(names, dtype)]
        lines += ["from zyg_cuda.simulated import inlined, load_of, store_of"]
    else:
        lines += ["from zyg_cuda.memory import inlined, load_of, store_of"]
        lines += [_source(name, dtype) for name in sorted(names)]
    return "\n".join(lines)


def _source(name: str, dtype: str) -> str:
    if name in _OF_LIBDEVICE:
        suffix = "f" if dtype == "float32" else ""
        return f"from numba.cuda.libdevice import {name}{suffix} as {name}"
    row = OPERATIONS.get(name)
    if row and row.math and name not in _WRITTEN:
        return f"from math import {row.math} as {name}"
    return f"from zyg_cuda.functions import written; {name} = written(T).{name}"
