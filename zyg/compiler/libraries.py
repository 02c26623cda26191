"""What NumPy brings for machine code to call: BLAS and LAPACK, loops of its ufuncs, its sorting.

An inner loop takes its operands, extents and strides by addresses, and data of its own (see NumPy,
"Generalized universal function API" and "PyUFunc_FromFuncAndData"). What sorts is in a dtype's
table of functions ("PyArray_ArrFuncs"), which is the same in all of NumPy 2.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

# What stands before and after a name, for C and for Fortran, and the ints.
_SPELLINGS = (
    ("scipy_", "64_", "_64_", "i64"), ("", "64_", "_64_", "i64"),
    ("", "$NEWLAPACK$ILP64", "$NEWLAPACK$ILP64", "i64"), ("", "", "_", "i32"),
)  # fmt: skip
_PRODUCTS = [f"cblas_{t}{x}" for t in "ds" for x in ("gemm", "gemv", "syrk")]
FACTORS = "dgesv", "dgetrf", "dgetrs", "dpotrf", "dtrtrs"


class Loop(NamedTuple):
    """An inner loop: the module and name of its ufunc, types, and extents as NumPy writes them."""

    module: str
    ufunc: str
    types: str
    extents: str

    @property
    def axes(self) -> list[list[str]]:
        """The names of the extents of each operand."""
        found = re.findall(r"\(([a-z,]*)\)", self.extents)
        return [[x for x in row.split(",") if x] for row in found]

    @property
    def names(self) -> list[str]:
        """The extents, in the order in which the loop takes them."""
        return [*dict.fromkeys(x for row in self.axes for x in row)]

    @property
    def elements(self) -> str:
        """The types of the operands."""
        return self.types.replace("->", "")

    @property
    def inputs(self) -> int:
        return self.types.index("->")


_FFT, LINALG = "numpy.fft._pocketfft_umath", "numpy.linalg._umath_linalg"
_OF_MATRICES = {  # of complex numbers; of real ones all are real
    **dict.fromkeys(("cholesky_lo", "cholesky_up", "inv"), ("D->D", "(m,m)->(m,m)")),
    "det": ("D->D", "(m,m)->()"), "slogdet": ("D->Dd", "(m,m)->(),()"),
    "solve": ("DD->D", "(m,m),(m,n)->(m,n)"),
    "lstsq": ("DDd->Ddid", "(m,n),(m,k),()->(n,k),(k),(),(p)"),
    **dict.fromkeys(("eigh_lo", "eigh_up"), ("D->dD", "(m,m)->(m),(m,m)")),
    **dict.fromkeys(("eigvalsh_lo", "eigvalsh_up"), ("D->d", "(m,m)->(m)")),
    "svd": ("D->d", "(m,n)->(p)"), "svd_s": ("D->DdD", "(m,n)->(m,p),(p),(p,n)"),
    "svd_f": ("D->DdD", "(m,n)->(m,m),(p),(n,n)"), "qr_r_raw": ("D->D", "(m,n)->(p)"),
    "qr_reduced": ("DD->D", "(m,n),(k)->(m,k)"), "qr_complete": ("DD->D", "(m,n),(n)->(m,m)"),
}  # fmt: skip
LOOPS = {  # ours
    "fft": Loop(_FFT, "fft", "Dd->D", "(n),()->(m)"),
    "ifft": Loop(_FFT, "ifft", "Dd->D", "(n),()->(m)"),
    "irfft": Loop(_FFT, "irfft", "Dd->d", "(n),()->(m)"),
    "rfft of even": Loop(_FFT, "rfft_n_even", "dd->D", "(n),()->(m)"),
    "rfft of odd": Loop(_FFT, "rfft_n_odd", "dd->D", "(n),()->(m)"),
    **{f"{name} of reals": Loop(LINALG, name, row[0].replace("D", "d"), row[1])
       for name, row in _OF_MATRICES.items()},
    **{f"{name} of complex": Loop(LINALG, name, *row) for name, row in _OF_MATRICES.items()},
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
    found = ((name, _loop(row)) for name, row in LOOPS.items())
    return {name: at for name, at in found if at}


def _loop(row: Loop) -> tuple[int, int] | None:
    try:
        ufunc = getattr(import_module(row.module), row.ufunc)
        place = ufunc.types.index(row.types)
    except (ImportError, AttributeError, ValueError):
        return None
    start, word = id(ufunc) + object.__basicsize__, ctypes.sizeof(ctypes.c_void_p)
    counts = (*(ctypes.c_int * 3).from_address(start),)
    rows = (*(ctypes.c_void_p * 2).from_address(start + _HEAD),)
    total = ctypes.c_int.from_address(start + _HEAD + 2 * word).value
    if (*counts, total) != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes):
        return None
    read = ctypes.c_void_p.from_address
    function, data = (at and read(at + word * place).value for at in rows)
    return (function, data or 0) if function else None


@cache
def _core() -> ctypes.CDLL:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    return ctypes.CDLL(_multiarray_umath.__file__)


@cache
def _linalg() -> ctypes.CDLL:
    from numpy.linalg import _umath_linalg

    return ctypes.CDLL(_umath_linalg.__file__)
