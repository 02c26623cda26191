"""The BLAS and the LAPACK that NumPy brings: how they spell their names, and where they are."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

# What stands before and after a name, for C and for Fortran, and the ints.
_SPELLINGS = (
    ("scipy_", "64_", "_64_", "i64"), ("", "64_", "_64_", "i64"),
    ("", "$NEWLAPACK$ILP64", "$NEWLAPACK$ILP64", "i64"), ("", "", "_", "i32"),
)  # fmt: skip
FACTORS = "gesv", "getrf", "getrs", "potrf", "trtrs"


@cache
def of_products() -> tuple[str, str, str] | None:
    """How NumPy's BLAS spells the names of C's interface: before, after; and its ints."""
    names = [f"cblas_{t}gem{x}" for t in "ds" for x in "mv"]
    for before, after, _, ints in _SPELLINGS:
        if _has(_core(), [f"{before}{name}{after}" for name in names]):
            return before, after, ints
    return None


@cache
def of_factors() -> tuple[str, str, str] | None:
    """The same of NumPy's LAPACK, in which arguments are addresses, as Fortran has them."""
    for before, _, after, ints in _SPELLINGS:
        if _has(_linalg(), [f"{before}d{name}{after}" for name in FACTORS]):
            return before, after, ints
    return None


@cache
def addresses() -> dict[str, int]:
    """The routines, by the names that texts use."""
    found = dict[str, int]()
    if spelled := of_products():
        names = [f"{spelled[0]}cblas_{t}gem{x}{spelled[1]}" for t in "ds" for x in "mv"]
        found.update((name, _address(_core(), name)) for name in names)
    if spelled := of_factors():
        names = [f"{spelled[0]}d{name}{spelled[1]}" for name in FACTORS]
        found.update((name, _address(_linalg(), name)) for name in names)
    return found


def _has(library: ctypes.CDLL, names: Sequence[str]) -> bool:
    return all(hasattr(library, name) for name in names)


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(library[name], ctypes.c_void_p).value or 0


@cache
def _core() -> ctypes.CDLL:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    return ctypes.CDLL(_multiarray_umath.__file__)


@cache
def _linalg() -> ctypes.CDLL:
    from numpy.linalg import _umath_linalg

    return ctypes.CDLL(_umath_linalg.__file__)
