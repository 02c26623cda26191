"""Device arrays of several libraries: where they are in memory, on which stream, and new ones.

Everything with a ``__cuda_array_interface__`` is an operand. Results are of the library of the
first device operand: CuPy, PyTorch, or numba, which also serves arrays of libraries not known here.
A library is imported by its own arrays only. In numba's simulator, arrays have no interface; they
are known by their type.

https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np

from zyg.base.caches import remembered
from zyg_cuda.errors import DeviceArrayError
from zyg_cuda.plans import Array, Made, packed

_STREAMS = {1: 0}  # two names of the legacy default stream


class Library(Protocol):
    """What is needed of a library of device arrays. Streams are handles, devices are numbers.

    Arrays are made, and their stream is asked for, while `on` has made the device current.
    """

    def array(self, x: Any) -> Array: ...

    def address(self, x: Any) -> int: ...

    def on(self, device: int) -> AbstractContextManager[Any]: ...

    def stream(self, device: int) -> int: ...

    def empty(self, made: Made) -> Any: ...

    def zeros(self, made: Made) -> Any: ...


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
        strides = found.get("strides") or packed(shape, dtype.itemsize)
        return Array(address, shape, tuple(strides), dtype, self.device(x, address),
                     _STREAMS.get(stream, stream))  # fmt: skip

    def address(self, x: Any) -> int:
        return int(x.__cuda_array_interface__["data"][0])

    def device(self, x: Any, address: int) -> int:
        from cuda.bindings import driver

        attribute = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        result, device = driver.cuPointerGetAttribute(attribute, address)
        return int(device) if address and result == driver.CUresult.CUDA_SUCCESS else -1


class _Numba(_Interface):
    """numba's own arrays, and those of libraries not known here; on the default stream."""

    def on(self, device: int) -> AbstractContextManager[Any]:
        from numba import cuda

        return cuda.gpus[device]  # type: ignore[no-any-return]

    def stream(self, device: int) -> int:
        return 0

    def empty(self, made: Made) -> Any:
        from numba import cuda

        return cuda.device_array(made.shape, made.dtype, strides=made.strides)

    def zeros(self, made: Made) -> Any:
        from numba import cuda

        return cuda.to_device(np.zeros(made.shape, made.dtype))


class _Simulator(_Numba):
    def on(self, device: int) -> AbstractContextManager[Any]:
        return nullcontext()

    def array(self, x: Any) -> Array:
        return Array(x._ary.ctypes.data, tuple(x._ary.shape), x._ary.strides, x._ary.dtype)

    def address(self, x: Any) -> int:
        return int(x._ary.ctypes.data)


class _CuPy:
    """CuPy's arrays do not say on which stream they were made: it is taken to be the current."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy

    def array(self, x: Any) -> Array:
        memory = x.data
        return Array(memory.ptr, x.shape, x.strides, x.dtype, memory.device_id)

    def address(self, x: Any) -> int:
        return int(x.data.ptr)

    def on(self, device: int) -> AbstractContextManager[Any]:
        return self.cupy.cuda.Device(device)  # type: ignore[no-any-return]

    def stream(self, device: int) -> int:
        handle = int(self.cupy.cuda.get_current_stream().ptr)
        return _STREAMS.get(handle, handle)

    def empty(self, made: Made) -> Any:
        return self._made(self.cupy.empty, made)

    def zeros(self, made: Made) -> Any:
        return self._made(self.cupy.zeros, made)

    def _made(self, make: Any, made: Made) -> Any:
        y = make(made.ordered, made.dtype)
        return y if made.is_ordered else y.transpose(made.back)


class _Torch(_Interface):
    """PyTorch's interface names no stream, so it is that which is current."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def array(self, x: Any) -> Array:
        found = super().array(x.detach())
        return found._replace(stream=self.stream(found.device))

    def address(self, x: Any) -> int:
        return int(x.data_ptr())

    def device(self, x: Any, address: int) -> int:
        return int(x.device.index)

    def on(self, device: int) -> AbstractContextManager[Any]:
        return self.torch.cuda.device(device)  # type: ignore[no-any-return]

    def stream(self, device: int) -> int:
        return int(self.torch.cuda.current_stream(device).cuda_stream)

    def empty(self, made: Made) -> Any:
        return self._made(self.torch.empty, made)

    def zeros(self, made: Made) -> Any:
        return self._made(self.torch.zeros, made)

    def _made(self, make: Any, made: Made) -> Any:
        dtype = getattr(self.torch, made.dtype.name)
        return make(made.ordered, dtype=dtype, device="cuda").permute(made.back)
