"""Loads and stores of kernels on the GPU, by address; imported with the first kernel.

A kernel takes the address of an array as a number: packing an array argument would cost numba more
time than a small kernel runs. The element type is stated here, so that float16 is read as float32,
ints as int64; `width` neighbours, which start at a multiple of their size, are one access of up to
16 bytes (``ld.global.v4``). numba has no such access, so these are intrinsics.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.cuda import types
from numba.cuda.extending import intrinsic, register_jitable

__all__ = ["inlined", "load_of", "store_of"]

inlined = register_jitable  # a function that kernels call

_LANE = ir.IntType(32)
_WIDEST = 16  # bytes of one access

# What an element is in memory, and what it is in a kernel.
_STORED = {
    "float16": (ir.HalfType(), types.float32),
    "float32": (ir.FloatType(), types.float32),
    "float64": (ir.DoubleType(), types.float64),
    "bool": (ir.IntType(8), types.boolean),
    **{f"{u}int{n}": (ir.IntType(n), types.int64) for u in ("", "u") for n in (8, 16, 32, 64)},
}


@cache
def load_of(dtype: str, width: int) -> Any:
    """load(address, index) -> the element there, or a tuple of `width` elements."""
    stored, type = _STORED[dtype]

    @intrinsic
    def load(typing_context: Any, address: Any, index: Any) -> Any:
        result = type if width == 1 else types.UniTuple(type, width)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = _place(builder, stored, width, *args)
            found = builder.load(place, align=_alignment(stored, width))
            if width == 1:
                return _widened(context, builder, dtype, type, found)
            lanes = [builder.extract_element(found, _LANE(k)) for k in range(width)]
            lanes = [_widened(context, builder, dtype, type, lane) for lane in lanes]
            return context.make_tuple(builder, signature.return_type, lanes)

        return result(types.int64, index), generate

    return load


@cache
def store_of(dtype: str, width: int) -> Any:
    """store(address, index, value), where `value` is a tuple if `width` is more than one."""
    stored, type = _STORED[dtype]

    @intrinsic
    def store(typing_context: Any, address: Any, index: Any, value: Any) -> Any:
        taken = type if width == 1 else types.UniTuple(type, width)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = _place(builder, stored, width, *args[:2])
            value = args[2]
            if width == 1:
                value = _narrowed(builder, dtype, stored, value)
            else:
                lanes = [builder.extract_value(value, k) for k in range(width)]
                value = ir.Constant(ir.VectorType(stored, width), ir.Undefined)
                for k, lane in enumerate(lanes):
                    lane = _narrowed(builder, dtype, stored, lane)
                    value = builder.insert_element(value, lane, _LANE(k))
            builder.store(value, place, align=_alignment(stored, width))
            return context.get_dummy_value()

        return types.void(types.int64, index, taken), generate

    return store


def _place(builder: Any, stored: Any, width: int, address: Any, index: Any) -> Any:
    array = builder.inttoptr(address, ir.PointerType(stored, addrspace=1))  # 1: global memory
    element = builder.gep(array, [index])
    if width == 1:
        return element
    return builder.bitcast(element, ir.PointerType(ir.VectorType(stored, width), addrspace=1))


def _alignment(stored: Any, width: int) -> int:
    sizes = {ir.HalfType: 2, ir.FloatType: 4, ir.DoubleType: 8}
    size = stored.width // 8 if isinstance(stored, ir.IntType) else sizes[type(stored)]
    return min(size * width, _WIDEST)


def _widened(context: Any, builder: Any, dtype: str, type: Any, x: Any) -> Any:
    if dtype == "float16":
        return builder.fpext(x, ir.FloatType())
    if dtype == "bool":
        return builder.icmp_unsigned("!=", x, x.type(0))
    if type is types.int64 and x.type.width < 64:
        wide = context.get_value_type(types.int64)
        return builder.zext(x, wide) if dtype.startswith("u") else builder.sext(x, wide)
    return x


def _narrowed(builder: Any, dtype: str, stored: Any, x: Any) -> Any:
    if dtype == "float16":
        return builder.fptrunc(x, stored)
    if dtype == "bool":
        return builder.zext(x, stored)
    return builder.trunc(x, stored) if "int" in dtype and stored.width < 64 else x
