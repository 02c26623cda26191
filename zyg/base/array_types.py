"""Arrays of other libraries, known by the protocols that they answer: those of a GPU, as CuPy's.

A device array answers NumPy's functions (``__array_ufunc__``, ``__array_function__``), so that the
rules, written in ``np.``, compute on it as they stand; its memory is a device's, as
``__cuda_array_interface__`` says; and it is no np.ndarray. Nobody looks at its elements on the way:
each look is a copy to the host, for which all work in flight must be waited.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

_PROTOCOLS = ("__array_ufunc__", "__array_function__", "__cuda_array_interface__")


class DeviceArray:
    """What stands for the types of all device arrays in a table by type."""


def _answers(t: type) -> bool:
    """Whether `t` is a type of device arrays, plain or watched."""
    return all(hasattr(t, name) for name in _PROTOCOLS) and not issubclass(t, np.ndarray)


is_device: Callable[[type], bool] = functools.lru_cache(maxsize=4096)(_answers)


def on_gpu(x: Any) -> bool:
    """Whether an array's memory is a GPU's, or numba's simulator says so; of any library."""
    if hasattr(type(x), "__cuda_array_interface__"):
        return bool(getattr(x, "is_cuda", True))  # torch has one class for all its tensors
    return getattr(type(x), "__cuda_ndarray__", False) is True


_samples: dict[type, Any] = {}


class DeviceSpec:
    """What a cotangent of a device array looks like: its shape, dtype and library.

    `sample` is an empty array of the library, for np.zeros_like: an entry that kept the array
    itself for this would keep its memory.
    """

    __slots__ = ("dtype", "sample", "shape")

    def __init__(self, plain: Any, dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = plain.shape, dtype
        kind = type(plain)
        if kind not in _samples:
            _samples[kind] = np.empty_like(plain, shape=(0,))
        self.sample = _samples[kind]

    def zeros(self) -> Any:
        return np.zeros_like(self.sample, dtype=self.dtype, shape=self.shape)
