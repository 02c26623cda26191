"""Where a compiled kernel gets the functions that its text calls: the imports of its module."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from zyg.compiler.ir import Op

# Of this package; written out, as two of them import numba (see VECTORISED).
_PLAIN, _NATIVE, _VECTOR = (f"{__package__}.{name}" for name in ("plain", "native", "vector_math"))
_OF_MATH = frozenset({"erf", "erfc", "gamma", "lgamma"})  # NumPy has them not
_WRITTEN = frozenset({  # in native: where numba's are not NumPy's, or not for a process without it
    "remainder", "floor_divide", "fmod", "heaviside", "gamma", "nextafter", "sign",
})  # fmt: skip
_INSTRUCTIONS = frozenset({
    "add", "subtract", "multiply", "divide", "negative", "positive", "square", "reciprocal", "less",
    "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or",
    "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "float",
    "int", "uint", "select", "constant", "absolute", "sqrt", "floor", "ceil", "trunc", "rint",
    "sign", "maximum", "minimum", "fmax", "fmin", "copysign", "isnan", "isinf", "isfinite",
    "signbit", "deg2rad", "rad2deg",
})  # fmt: skip
_WRAPPING = {f"wrapping_{name}" for name in ("add", "subtract", "multiply")}  # in plain, too
_SPELLED = {"float_power": "power"}  # np.float_power of float32 is float64
# In vector_math, for float32 and float64; listed, as that module imports numba, which a kernel that
# is on disk does without.
VECTORISED = frozenset({
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "power", "sin", "cos", "tan", "arctan",
    "sinh", "cosh", "tanh", "erf",
})  # fmt: skip


def imports(names: Iterable[str], dtype: str, backend: str, accuracy: str) -> str:
    """The lines that define T, the loop's own functions and `names`."""
    own = _NATIVE if backend == "numba" else _PLAIN
    lines = [
        f"from numpy import {dtype} as T, int64",
        f"from {own} import bits, contiguous, inlined, total",
    ]
    for name in sorted(names):
        module, spelled = _source(name, dtype, backend, accuracy)
        lines.append(f"from {module} import {spelled} as {name}")
    return "\n".join(lines)


def vectorised(dtype: str, accuracy: str) -> Callable[[Op], bool]:
    """Which operations numba's compiled code does to several numbers at once."""

    def known(op: Op) -> bool:
        if op.callee is not None:
            return False
        if op.name in _INSTRUCTIONS:
            return True
        return op.out.type == "float" and _vector_math(op.name, dtype, accuracy) is not None

    return known


def _vector_math(name: str, dtype: str, accuracy: str) -> str | None:
    """The name of a function in `vector_math`, if it is wanted and there."""
    spelled = _SPELLED.get(name, name)
    if accuracy == "fast" and spelled in VECTORISED:
        return spelled + dtype.removeprefix("float")
    return None


def _source(name: str, dtype: str, backend: str, accuracy: str) -> tuple[str, str]:
    spelled = _SPELLED.get(name, name)
    if name == "uint64":
        return "numpy", name
    if backend == "python":
        return (_PLAIN if name in _OF_MATH | _WRAPPING else "numpy"), spelled
    if fast := _vector_math(name, dtype, accuracy):
        return _VECTOR, fast
    if name in _WRITTEN | _WRAPPING:
        return _NATIVE, name
    return ("math" if name in _OF_MATH else "numpy"), spelled
