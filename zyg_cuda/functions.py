"""Functions of kernels that the GPU's math library lacks or computes otherwise than NumPy.

They follow NumPy, zeros, infinities and NaN included, in one form for floats of type T and one for
ints. Imported with the first kernel that calls one.
"""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace
from typing import Any

from numba.cuda import types
from numba.cuda.extending import overload
from numpy import int64, uint64

LOG2, DEGREE = math.log(2.0), math.pi / 180


@cache
def written(T: Any) -> SimpleNamespace:  # noqa: N803 - as in the text of kernels
    """The functions, by their NumPy names, with floats of type T."""
    forms = {**_of_floats(T), **_WRAPPING}
    made = {name: _by_type(form, _OF_INTS.get(name, form)) for name, form in forms.items()}
    return SimpleNamespace(**made)


def _of_floats(T: Any) -> dict[str, Any]:  # noqa: N803
    zero, one, log2, degree = T(0), T(1), T(LOG2), T(DEGREE)

    def sign(x: Any) -> Any:
        return x if x != x else T(x > 0) - T(x < 0)

    def remainder(x: Any, y: Any) -> Any:  # as npy_divmod of NumPy
        r = math.fmod(x, y)
        if r == zero:
            r = math.copysign(r, y)
        elif (r < zero) != (y < zero):
            r += y
        return r

    def floor_divide(x: Any, y: Any) -> Any:  # as npy_floor_divide of NumPy
        q = x / y
        if y != zero:
            r = math.fmod(x, y)
            whole = (x - r) / y
            if r != zero and (y < zero) != (r < zero):
                whole -= one
            if whole == zero:
                q = math.copysign(whole, q)
            else:
                below = T(math.floor(whole))
                q = below + one if whole - below > T(0.5) else below
        return q

    def logaddexp(x: Any, y: Any) -> Any:  # as npy_logaddexp of NumPy
        if x == y:
            return x + log2
        d = x - y
        if d > zero:
            return x + math.log1p(math.exp(-d))
        return y + math.log1p(math.exp(d))

    def logaddexp2(x: Any, y: Any) -> Any:
        if x == y:
            return x + one
        d = x - y
        if d > zero:
            return x + math.log1p(math.exp(-d * log2)) / log2
        return y + math.log1p(math.exp(d * log2)) / log2

    def power(x: Any, y: Any) -> Any:
        return math.pow(T(x), T(y))

    def heaviside(x: Any, at_zero: Any) -> Any:
        if x == zero:
            return at_zero
        return x if x != x else T(x > zero)

    return {
        "absolute": lambda x: abs(x),
        "maximum": lambda x, y: x if x >= y or x != x else y,
        "minimum": lambda x, y: x if x <= y or x != x else y,
        "fmax": lambda x, y: x if x >= y or y != y else y,
        "fmin": lambda x, y: x if x <= y or y != y else y,
        "signbit": lambda x: math.copysign(one, x) < zero,
        "deg2rad": lambda x: x * degree,
        "rad2deg": lambda x: x / degree,
        "fmod": lambda x, y: math.fmod(x, y),
        "float_power": power,
        "sign": sign,
        "remainder": remainder,
        "floor_divide": floor_divide,
        "logaddexp": logaddexp,
        "logaddexp2": logaddexp2,
        "power": power,
        "heaviside": heaviside,
    }


def _whole_fmod(x: Any, y: Any) -> Any:
    r = 0 if y == 0 else abs(x) % abs(y)
    return -r if x < 0 else r


# In unsigned ints: numba takes the results of others for what is not beyond 64 bits.
def _int_power(x: Any, n: Any) -> Any:
    y, square = uint64(1), uint64(x)
    while n > 0:
        if n & 1:
            y *= square
        square *= square
        n >>= 1
    return int64(y)


_WRAPPING = {
    "int_power": _int_power,
    "wrapping_add": lambda x, y: int64(uint64(x) + uint64(y)),
    "wrapping_subtract": lambda x, y: int64(uint64(x) - uint64(y)),
    "wrapping_multiply": lambda x, y: int64(uint64(x) * uint64(y)),
}
_OF_INTS = {
    "sign": lambda x: (x > 0) - (x < 0),
    "remainder": lambda x, y: 0 if y == 0 else x % y,
    "floor_divide": lambda x, y: (
        int64(uint64(0) - uint64(x)) if y == -1 else 0 if y == 0 else x // y
    ),
    "fmod": _whole_fmod,
}


def _by_type(of_floats: Any, of_ints: Any) -> Any:
    """A function for kernels that is compiled in one form for floats and in one for ints."""

    def function(*args: Any) -> Any:
        return (of_floats if isinstance(args[0], float) else of_ints)(*args)

    @overload(function, strict=False)
    def chosen(*args: Any) -> Any:
        return of_floats if isinstance(args[0], types.Float) else of_ints

    return function
