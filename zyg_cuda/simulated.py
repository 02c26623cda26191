"""Loads and stores of kernels in the CUDA simulator, where device memory is the host's."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

_IN_KERNELS = {"f": np.float32, "i": np.int64, "u": np.int64, "b": np.bool_}


def inlined(function: Any) -> Any:
    """A function that kernels call."""
    return function


def load_of(dtype: str, width: int) -> Callable[[int, int], Any]:
    """load(address, index) -> the element there, or a tuple of `width` elements."""
    stored = np.dtype(dtype)
    kind = np.float64 if stored == np.float64 else _IN_KERNELS[stored.kind]

    def load(address: int, index: int) -> Any:
        found = tuple(map(kind, _memory(stored, width, address, index)))
        return found[0] if width == 1 else found

    return load


def store_of(dtype: str, width: int) -> Callable[[int, int, Any], None]:
    """store(address, index, value), where `value` is a tuple if `width` is more than one."""
    stored = np.dtype(dtype)

    def store(address: int, index: int, value: Any) -> None:
        with np.errstate(over="ignore"):  # too large for float16 is infinite
            _memory(stored, width, address, index)[:] = value

    return store


def _memory(dtype: np.dtype[Any], width: int, address: int, index: int) -> np.ndarray:
    size = dtype.itemsize
    assert address % min(16, size * width) == 0, "an access that is not aligned"
    assert width == 1 or index % width == 0, "an access that is not aligned"
    place: Any = (ctypes.c_char * (size * width)).from_address(address + int(index) * size)
    return np.frombuffer(place, dtype)
