"""Device arrays of several libraries: where they are in memory, on which stream, and new ones.

Everything with a ``__cuda_array_interface__`` is an operand. Results are of the library of the
first device operand: CuPy, PyTorch, or numba, which also serves arrays of libraries not known here.
A library is imported by its own arrays only. In numba's simulator, arrays have no interface; they
are known by their type.

https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

import numpy as np

from zyg.base.caches import remembered
from zyg_cuda.errors import DeviceArrayError
from zyg_cuda.plans import Array, Made, made_in

_STREAMS = {1: 0}  # two names of the legacy default stream


class Library(Protocol):
    """What is needed of a library of device arrays. Streams are handles, devices are numbers."""

    def array(self, x: Any) -> Array: ...

    def stream(self, device: int) -> int: ...

    def empty(self, made: Made, device: int) -> Any: ...

    def zeros(self, made: Made, device: int) -> Any: ...


def is_device_array(x: Any) -> bool:
    """Whether an object is an array in the memory of a GPU, or of numba's simulator of one."""
    # Tensors in the host's memory are of the same type.
    return library_of(type(x)) is not None and bool(getattr(x, "is_cuda", True))


@remembered(64)
def library_of(kind: type) -> Library | None:
    """The library of arrays of a type; None if they are in the memory of the host."""
    if getattr(kind, "__cuda_ndarray__", False) and not hasattr(kind, "__cuda_array_interface__"):
        return _Simulator()
    if not hasattr(kind, "__cuda_array_interface__"):
        return None
    roots = {base.__module__.partition(".")[0] for base in kind.__mro__}
    for root, library in (("cupy", _CuPy), ("torch", _Torch)):
        if root in roots:
            return library(sys.modules[root])
    return _Numba()


class _Interface:
    """Arrays that are told by their interface alone."""

    def array(self, x: Any) -> Array:
        found = x.__cuda_array_interface__
        if found.get("mask") is not None:
            raise DeviceArrayError(
                "an operand is masked.",
                "a kernel computes every element; the mask would be lost.",
                "pass its data.",
            )
        dtype, shape, address = np.dtype(found["typestr"]), tuple(found["shape"]), found["data"][0]
        stream = found.get("stream")
        strides = found.get("strides")
        if strides is None:
            strides = made_in(shape, dtype, tuple(range(len(shape)))).strides
        return Array(address, shape, tuple(strides), dtype, self.device(x, address),
                     _STREAMS.get(stream, stream))  # fmt: skip

    def device(self, x: Any, address: int) -> int:
        from cuda.bindings import driver

        attribute = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        result, device = driver.cuPointerGetAttribute(attribute, address)
        return int(device) if address and result == driver.CUresult.CUDA_SUCCESS else -1


class _Numba(_Interface):
    """numba's own arrays, and those of libraries not known here; on the default stream."""

    def stream(self, device: int) -> int:
        return 0

    def empty(self, made: Made, device: int) -> Any:
        from numba import cuda

        return cuda.device_array(made.shape, made.dtype, strides=made.strides)

    def zeros(self, made: Made, device: int) -> Any:
        from numba import cuda

        return cuda.to_device(np.zeros(made.shape, made.dtype))


class _Simulator(_Numba):
    def array(self, x: Any) -> Array:
        return Array(x._ary.ctypes.data, tuple(x._ary.shape), x._ary.strides, x._ary.dtype)


class _CuPy(_Interface):
    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy

    def device(self, x: Any, address: int) -> int:
        return int(x.device.id)

    def stream(self, device: int) -> int:
        with self.cupy.cuda.Device(device):
            handle = int(self.cupy.cuda.get_current_stream().ptr)
        return _STREAMS.get(handle, handle)

    def empty(self, made: Made, device: int) -> Any:
        return self._made(self.cupy.empty, made, device)

    def zeros(self, made: Made, device: int) -> Any:
        return self._made(self.cupy.zeros, made, device)

    def _made(self, make: Any, made: Made, device: int) -> Any:
        with self.cupy.cuda.Device(device):
            return make(made.ordered, made.dtype).transpose(made.back)


class _Torch(_Interface):
    """PyTorch's interface names no stream, so it is that which is current."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def array(self, x: Any) -> Array:
        found = super().array(x.detach())
        return found._replace(stream=self.stream(found.device))

    def device(self, x: Any, address: int) -> int:
        return int(x.device.index)

    def stream(self, device: int) -> int:
        return int(self.torch.cuda.current_stream(device).cuda_stream)

    def empty(self, made: Made, device: int) -> Any:
        return self._made(self.torch.empty, made, device)

    def zeros(self, made: Made, device: int) -> Any:
        return self._made(self.torch.zeros, made, device)

    def _made(self, make: Any, made: Made, device: int) -> Any:
        dtype = getattr(self.torch, made.dtype.name)
        return make(made.ordered, dtype=dtype, device=f"cuda:{device}").permute(made.back)
