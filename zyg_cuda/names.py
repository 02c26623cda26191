"""Where a kernel on the GPU gets the functions that its text calls: the imports of its module."""

from __future__ import annotations

from collections.abc import Iterable

from zyg.compiler.back import plain

# numba.cuda maps functions of the math module to libdevice, by the type of the operand.
_OF_MATH = {
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh",
    **{name: name for name in (
        "ceil", "copysign", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "floor", "gamma",
        "hypot", "isfinite", "isinf", "isnan", "ldexp", "lgamma", "log", "log10", "log1p", "log2",
        "nextafter", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
    )},
}  # fmt: skip
_OF_LIBDEVICE = {"cbrt", "rint"}  # spelled with an f for float32


def imports(names: Iterable[str], dtype: str, index: str, simulated: bool) -> str:
    """The lines that define T, the type I of indices, loads and stores, and `names`."""
    lines = [
        "from numba import cuda",
        f"from numpy import {dtype} as T, {index} as I, int64, float64",
    ]
    if simulated:
        lines += [plain.imports(names, dtype)]
        lines += ["from zyg_cuda.simulated import inlined, load_of, store_of"]
    else:
        lines += ["from zyg_cuda.memory import inlined, load_of, store_of"]
        lines += [_source(name, dtype) for name in sorted(names)]
    return "\n".join(lines)


def _source(name: str, dtype: str) -> str:
    if name in _OF_MATH:
        return f"from math import {_OF_MATH[name]} as {name}"
    if name in _OF_LIBDEVICE:
        suffix = "f" if dtype == "float32" else ""
        return f"from numba.cuda.libdevice import {name}{suffix} as {name}"
    return f"from zyg_cuda.functions import written; {name} = written(T).{name}"
