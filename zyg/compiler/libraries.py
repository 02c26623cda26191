"""What NumPy brings for machine code to call: BLAS and LAPACK, loops of its ufuncs, its sorting.

An inner loop takes its operands, extents and strides by addresses, and data of its own (see NumPy,
"Generalized universal function API" and "PyUFunc_FromFuncAndData"). What sorts is in a dtype's
table of functions ("PyArray_ArrFuncs"), which is the same in all of NumPy 2.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

# What stands before and after a name, for C and for Fortran, and the ints.
_SPELLINGS = (
    ("scipy_", "64_", "_64_", "i64"), ("", "64_", "_64_", "i64"),
    ("", "$NEWLAPACK$ILP64", "$NEWLAPACK$ILP64", "i64"), ("", "", "_", "i32"),
)  # fmt: skip
_PRODUCTS = [f"cblas_{t}{x}" for t in "ds" for x in ("gemm", "gemv", "syrk")]
FACTORS = "dgesv", "dgetrf", "dgetrs", "dpotrf", "dtrtrs"
_FFT = "numpy.fft._pocketfft_umath"
LOOPS = {  # ours: a module, the name of a ufunc in it, its types
    "fft": (_FFT, "fft", "DdD"), "ifft": (_FFT, "ifft", "DdD"), "irfft": (_FFT, "irfft", "Ddd"),
    "rfft of even": (_FFT, "rfft_n_even", "ddD"), "rfft of odd": (_FFT, "rfft_n_odd", "ddD"),
}  # fmt: skip
SORTS = {  # ours: where each is in that table
    "sort": 33, "argsort": 36, "argsort, stable": 38,
}  # fmt: skip
_ELEMENTS = {"float": np.dtype(np.float64), "int": np.dtype(np.int64)}
_HEAD = 4 * ctypes.sizeof(ctypes.c_int)  # nin, nout, nargs, identity; then functions, data, ntypes
_FUNCTIONS = 365  # PyDataType_GetArrFuncs in NumPy's table
Spelling = tuple[str, str, str] | None


@cache
def of_products() -> Spelling:
    """How NumPy's BLAS spells the names of C's interface: before, after; and its ints."""
    return _spelled(_core(), 1, _PRODUCTS)


@cache
def of_factors() -> Spelling:
    """The same of NumPy's LAPACK, in which arguments are addresses, as Fortran has them."""
    return _spelled(_linalg(), 2, FACTORS)


def _spelled(library: ctypes.CDLL, after: int, names: Sequence[str]) -> Spelling:
    for row in _SPELLINGS:
        if all(hasattr(library, f"{row[0]}{name}{row[after]}") for name in names):
            return row[0], row[after], row[3]
    return None


@cache
def addresses() -> dict[str, int]:
    """The routines, by the names that texts use."""
    found = dict[str, int]()
    rows: Any = (_core(), of_products(), _PRODUCTS), (_linalg(), of_factors(), FACTORS)
    for library, spelled, names in rows:
        for name in names if spelled else ():
            symbol = f"{spelled[0]}{name}{spelled[1]}"
            found[symbol] = ctypes.cast(library[symbol], ctypes.c_void_p).value or 0
    for name, at in loops().items():
        found.update(zip(loop_symbols(name), at, strict=True))
    return {**found, **sorts()}


def sort_symbol(name: str, element: str) -> str:
    """What texts call something of `SORTS` for elements of a type."""
    return f"zyg_{name.replace(', ', '_')}_{element}"


@cache
def sorts() -> dict[str, int]:
    """The addresses of `SORTS`, by these names; none in a NumPy that may keep them elsewhere."""
    if not np.__version__.startswith("2."):
        return {}
    found, read = dict[str, int](), ctypes.c_void_p.from_address
    functions = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(of_numpy(_FUNCTIONS))
    for element, dtype in _ELEMENTS.items():
        table, word = functions(dtype), ctypes.sizeof(ctypes.c_void_p)
        for name, place in SORTS.items():
            found[sort_symbol(name, element)] = read(table + word * place).value or 0
    return found


def of_numpy(place: int) -> int:
    """The address of a function of NumPy's table."""
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(_multiarray_umath._ARRAY_API, None)
    return ctypes.c_void_p.from_address(table + ctypes.sizeof(ctypes.c_void_p) * place).value or 0


def loop_symbols(name: str) -> tuple[str, str]:
    """What texts call an inner loop and its data."""
    return f"zyg_loop_{(known := name.replace(' ', '_'))}", f"zyg_data_{known}"


@cache
def loops() -> dict[str, tuple[int, int]]:
    """The addresses of those of `LOOPS` that NumPy has, and of their data."""
    found = ((name, _loop(*row)) for name, row in LOOPS.items())
    return {name: at for name, at in found if at}


def _loop(module: str, attribute: str, types: str) -> tuple[int, int] | None:
    try:
        ufunc = getattr(import_module(module), attribute)
        place = [x.replace("->", "") for x in ufunc.types].index(types)
    except (ImportError, AttributeError, ValueError):
        return None
    start, word = id(ufunc) + object.__basicsize__, ctypes.sizeof(ctypes.c_void_p)
    counts = (*(ctypes.c_int * 3).from_address(start),)
    rows = (*(ctypes.c_void_p * 2).from_address(start + _HEAD),)
    total = ctypes.c_int.from_address(start + _HEAD + 2 * word).value
    if (*counts, total) != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes):
        return None
    read = ctypes.c_void_p.from_address
    function, data = (row and read(row + word * place).value for row in rows)
    return (function, data or 0) if function else None


@cache
def _core() -> ctypes.CDLL:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    return ctypes.CDLL(_multiarray_umath.__file__)


@cache
def _linalg() -> ctypes.CDLL:
    from numpy.linalg import _umath_linalg

    return ctypes.CDLL(_umath_linalg.__file__)
