"""What a kernel computes in, and the dtypes of its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.compiler.ir import type_of
from zyg.kernels.scalar import Kernel

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_UINT64 = np.dtype(np.uint64)


def dtypes_of(kernel: Kernel, operands: Sequence[Any]) -> tuple[np.dtype[Any], list[np.dtype[Any]]]:
    """What floats are computed in, and the dtypes of the outputs."""
    dtypes = [x.dtype for x in operands if hasattr(x, "dtype")]
    floats = [d for d in dtypes if d.kind == "f"]
    wide = np.result_type(*floats) if floats else _FLOAT64
    known = [d for d in dtypes if d.kind in "iu" and d != _UINT64]
    whole = np.result_type(*known) if known and not floats else np.dtype(np.int64)
    by_type = {"float": wide, "int": whole, "uint": _UINT64, "bool": np.dtype(bool)}
    results = [by_type[type_of(x)] for x in kernel.program.outputs]
    return (_FLOAT64 if wide.itemsize > 4 else _FLOAT32), results
