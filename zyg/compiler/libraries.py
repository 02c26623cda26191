"""The BLAS and the LAPACK that NumPy brings: how they spell their names, and where they are."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

# What stands before and after a name, for C and for Fortran, and the ints.
_SPELLINGS = (
    ("scipy_", "64_", "_64_", "i64"), ("", "64_", "_64_", "i64"),
    ("", "$NEWLAPACK$ILP64", "$NEWLAPACK$ILP64", "i64"), ("", "", "_", "i32"),
)  # fmt: skip
_PRODUCTS = [f"cblas_{t}gem{x}" for t in "ds" for x in "mv"]
FACTORS = "dgesv", "dgetrf", "dgetrs", "dpotrf", "dtrtrs"
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
    return found


@cache
def _core() -> ctypes.CDLL:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    return ctypes.CDLL(_multiarray_umath.__file__)


@cache
def _linalg() -> ctypes.CDLL:
    from numpy.linalg import _umath_linalg

    return ctypes.CDLL(_umath_linalg.__file__)
