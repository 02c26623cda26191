"""The operands of a call on the GPU: which go together, and what an array to write into must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.compiler.back.compiled import Shape
from zyg.errors import ShapeError
from zyg_cuda.arrays import Library, library_of
from zyg_cuda.errors import DeviceArrayError
from zyg_cuda.plans import Array


def given(operands: Sequence[Any]) -> tuple[Library, int, list[Any]]:
    """The library and the device of the results; operands as arrays and Python numbers."""
    first, device, found = None, -1, []
    for x in operands:
        library = library_of(type(x))
        if library is None or not getattr(x, "is_cuda", True):
            found.append(_number(x))
            continue
        array = library.array(x)
        first = first or library
        if device < 0:
            device = array.device
        elif array.device not in (device, -1):
            raise DeviceArrayError(
                f"operands are on the devices {device} and {array.device}.",
                "a kernel runs on one device, and reads its memory.",
                "copy them to one device.",
            )
        found.append(array)
    if first is None:
        raise DeviceArrayError(
            "no operand is a device array.",
            "the kernel is launched on the device of its operands.",
            "call zyg.broadcast, which runs on the host.",
        )
    return first, max(device, 0), found


def _number(x: Any) -> Any:
    if isinstance(x, (float, int)):
        return x
    if np.ndim(x) == 0:
        _check_type(x.dtype)
        return x.item()
    raise DeviceArrayError(
        f"an operand of shape {np.shape(x)} is in the memory of the host, others on a GPU.",
        "a kernel reads from one memory, and zyg does not hide the cost of a copy.",
        "copy it: cupy.asarray(x), torch.as_tensor(x, device=...), cuda.to_device(x).",
    )


def check(x: Array) -> None:
    """Raise DeviceArrayError for an array that a kernel cannot take."""
    _check_type(x.dtype)
    size = x.dtype.itemsize
    if x.address % size or any(stride % size for stride in x.strides):
        raise DeviceArrayError(
            f"an operand of {x.dtype} is not aligned.",
            "a GPU reads numbers at multiples of their size.",
            "pass a copy.",
        )


def _check_type(dtype: np.dtype[Any]) -> None:
    kind, size = dtype.kind, dtype.itemsize
    if kind not in "fiub" or size > 8 or (kind == "u" and size == 8) or not dtype.isnative:
        raise DeviceArrayError(
            f"an operand of {dtype} cannot be used in a kernel on a GPU.",
            "kernels compute with floats of at most 64 bits, int64 and bool.",
            "convert it; of complex numbers pass real and imaginary part.",
        )


def target_of(out: Any, device: int, arrays: list[Any]) -> Array:
    """Where the array to write into is; it is one of the operands, or apart from them."""
    library = library_of(type(out))
    if library is None:
        raise _refusal("is in the memory of the host")
    found = library.array(out)
    if found.device not in (device, -1):
        raise _refusal(f"is on device {found.device}, the operands on {device}")
    for x in arrays:
        if isinstance(x, Array) and x[:4] != found[:4] and _overlap(found, x):
            raise _refusal("overlaps an operand, and is not that operand")
    return found


def check_target(x: Array, dtypes: list[np.dtype[Any]], shape: Shape) -> None:
    """Raise DeviceArrayError for an array that the results of a kernel do not fit into."""
    check(x)
    if len(dtypes) > 1:
        raise _refusal("is one array, and there are several results")
    if not np.can_cast(dtypes[0], x.dtype, "same_kind"):
        raise _refusal(f"is of {x.dtype}, the result of {dtypes[0]}")
    if any(n > 1 and s == 0 for n, s in zip(x.shape, x.strides, strict=True)):
        raise _refusal("has elements that share memory")
    if x.shape != shape:
        raise ShapeError(
            f"out= has shape {x.shape}, the result {shape}.",
            "every element of the result has one place.",
            "pass an array of the shape of the result.",
        )


def _refusal(problem: str) -> DeviceArrayError:
    return DeviceArrayError(
        f"out= {problem}.",
        "the kernel writes into it, element by element, while it reads its operands.",
        "pass another device array, or none.",
    )


def _overlap(a: Array, b: Array) -> bool:
    (a0, a1), (b0, b1) = _extent(a), _extent(b)
    return a0 < b1 and b0 < a1


def _extent(x: Array) -> tuple[int, int]:
    """From which address to which an array reaches."""
    if 0 in x.shape:
        return x.address, x.address
    ends = [s * (n - 1) for s, n in zip(x.strides, x.shape, strict=True)]
    low, high = sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends)
    return x.address + low, x.address + high + x.dtype.itemsize
