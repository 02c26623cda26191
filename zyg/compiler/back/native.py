"""What compiled kernels need and numba lacks; imported with the first of them, as is numba.

Functions that NumPy has and numba lacks, or computes otherwise, are written here in operators, one
form for floats and one for ints. So are the parts of the loop that are not plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core.cgutils import get_or_insert_function
from numba.core.compiler import Compiler
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, overload

inlined = njit(error_model="numpy", forceinline=True)


class NoAlias(Compiler):
    """Compiles a function whose arrays do not overlap.

    Otherwise LLVM compares every two of them at run time before it takes a vectorised loop, and
    gives the loop up where that makes more than 128 comparisons: at about ten operands.
    """

    def define_pipelines(self) -> Any:
        self.state.flags.noalias = True
        return super().define_pipelines()  # type: ignore[no-untyped-call]


@intrinsic
def contiguous(typing_context: Any, row: Any) -> Any:
    """A one-dimensional array whose elements are known to lie side by side, to numba's types."""
    packed = row.copy(layout="C")

    def same(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return impl_ret_borrowed(context, builder, packed, args[0])  # type: ignore[no-untyped-call]

    return packed(row), same


@njit(fastmath={"reassoc"}, error_model="numpy")
def total(start: Any, tile: Any, n: int) -> Any:
    """start + tile[0] + ... + tile[n - 1] in the type of `start`, and in any order: in lanes."""
    for k in range(n):
        start += tile[k]
    return start


def _wrapping(instruction: str) -> Any:
    """An instruction on ints of 64 bits; that of numba's operators is undefined beyond those."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args)

    def typed(typing_context: Any, x: Any, y: Any) -> Any:
        return types.int64(types.int64, types.int64), lower

    return intrinsic(typed)


@intrinsic
def bits(typing_context: Any, x: Any) -> Any:
    """The bits of a float without its sign, as an int: in the order of magnitudes, NaN last."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(x.bitwidth)
        return builder.and_(builder.bitcast(args[0], word), word((1 << x.bitwidth - 1) - 1))

    return (types.int32 if x.bitwidth == 32 else types.int64)(x), lower


wrapping_add, wrapping_subtract, wrapping_multiply = map(_wrapping, ("add", "sub", "mul"))


@inlined
def _remainder(x: Any, y: Any) -> Any:
    # Sign and zeros as in NumPy, whose npy_divmod this follows.
    r = np.fmod(x, y)
    if r == 0:
        r = np.copysign(r, y)
    elif (r < 0) != (y < 0):
        r += y
    return r


@inlined
def _floor_divide(x: Any, y: Any) -> Any:
    q = x / y
    if y != 0:
        r = np.fmod(x, y)
        whole = (x - r) / y
        if r != 0 and (y < 0) != (r < 0):
            whole -= np.fabs(np.sign(r))  # a 1 of the type of r
        q = np.copysign(whole, q) if whole == 0 else np.rint(whole)
    return q


@inlined
def _whole_remainder(x: Any, y: Any) -> Any:
    return np.remainder(x, y)


@inlined
def _whole_quotient(x: Any, y: Any) -> Any:
    # The least int has no negative: it wraps.
    return wrapping_subtract(0, x) if y == -1 else np.floor_divide(x, y)


@inlined
def _unsigned_quotient(x: Any, y: Any) -> Any:
    return y if y == 0 else x // y


@inlined
def _unsigned_remainder(x: Any, y: Any) -> Any:
    return y if y == 0 else x % y


@inlined
def _whole_fmod(x: Any, y: Any) -> Any:
    r = 0 if y == 0 else abs(x) % abs(y)
    return -r if x < 0 else r


@inlined
def _fmod(x: Any, y: Any) -> Any:
    return np.fmod(x, y)


@inlined
def heaviside(x: Any, at_zero: Any) -> Any:
    s = np.sign(x)
    step = s if s > 0 else s - s
    return at_zero if x == 0 else step


@inlined
def sign(x: Any) -> Any:
    """NumPy's, which is 0.0 for -0.0."""
    s = np.sign(x)
    return s + (s - s)


def _by_type(of_floats: Any, of_ints: Any, unsigned: Any) -> Callable[..., Any]:
    """A function for kernels that is compiled in a form for floats and in two for ints."""

    def function(x: Any, y: Any) -> Any:
        raise NotImplementedError("only compiled")

    @overload(function, inline="never")
    def chosen(x, y):  # type: ignore[no-untyped-def]  # else the lambda would need them
        form = of_floats if isinstance(x, types.Float) else of_ints if x.signed else unsigned
        return lambda x, y: form(x, y)

    return function


remainder = _by_type(_remainder, _whole_remainder, _unsigned_remainder)
floor_divide = _by_type(_floor_divide, _whole_quotient, _unsigned_quotient)
fmod = _by_type(_fmod, _whole_fmod, _unsigned_remainder)


def _call_of_c(name: str, *reals: Any) -> Any:
    """Of the C library. numba calls functions of its own instead, which only numba can load."""
    symbol = name + {types.float32: "f", types.float64: ""}[reals[0]]

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        type = ir.FunctionType(args[0].type, [x.type for x in args])
        function = get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, type, symbol
        )
        return builder.call(function, args)

    return reals[0](*reals), lower


@intrinsic
def gamma(typing_context: Any, x: Any) -> Any:
    return _call_of_c("tgamma", x)


@intrinsic
def nextafter(typing_context: Any, x: Any, y: Any) -> Any:
    return _call_of_c("nextafter", x, y)
