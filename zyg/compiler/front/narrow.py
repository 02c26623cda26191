"""Functions of narrow ints: which take them as ints of 64 bits, and which keep their type.

The others are refused. Operators and ufuncs are in `elementwise`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.compiler.front.calls import Method
from zyg.compiler.front.dispatch import name_of
from zyg.compiler.front.elementwise import met, narrowed, refuse_narrow
from zyg.compiler.front.mixed import is_narrow
from zyg.compiler.front.numerals import is_math
from zyg.compiler.front.scalars import WholeBuilder
from zyg.compiler.front.views import Arrayed, wide
from zyg.compiler.kinds import ELEMENTS, NARROW, dtype_of

# What they make has the type of what they are given, or they look at no element.
_KEEPING = {
    "array", "asarray", "astype", "atleast_1d", "atleast_2d", "broadcast_to",
    "column_stack", "concatenate", "copy", "diagonal", "empty_like", "expand_dims",
    "flatten", "flip", "fliplr", "flipud", "full_like", "hstack", "item", "len", "matmul",
    "moveaxis", "ndim", "ones_like", "ravel", "reshape", "result_type", "shape", "size", "squeeze",
    "stack", "swapaxes", "transpose", "vstack", "zeros_like",
}  # fmt: skip
# What they make is the same for ints of 64 bits, but that sums have no sign if these have none.
_SUMS = {"sum", "prod", "cumsum", "cumprod"}
_WIDE = {
    "all", "any", "argmax", "argmin", "argwhere", "bincount", "count_nonzero",
    "flatnonzero", "mean", "nonzero", "std", "var", *_SUMS,
}  # fmt: skip
_DOTS = {"dot", "inner", "vdot"}  # to which a number of Python's is an array of 64 bits
_EXTREMA = {"max", "min", "amax", "amin"}
_PICKING = {"take", "take_along_axis", "at"}  # whose second arguments are indices
_OF_NUMBERS = {int, float, bool, np.float64, np.float32, np.int64, np.bool_}
Given = tuple[Any, list[Any], dict[str, Any], Callable[[Any], Any]]


def taken(to: WholeBuilder, f: Any, args: list[Any], named: dict[str, Any]) -> Given:
    """A function, what it is given, and what is made of its result; KernelError for those that
    do not know narrow ints.
    """
    owner = [f.owner] if isinstance(f, Method) else []
    places = [*owner, *args]
    found = [x for x in [*places, *named.values()] if _has_narrow(x)]
    name = f.name if owner else name_of(f)
    is_ufunc = isinstance(f, np.ufunc) and "where" not in named
    clips = name == "clip" and any(map(is_narrow, places[:1]))
    dots = name in _DOTS and all(isinstance(x, Arrayed) for x in places)
    if not found or is_ufunc or clips or dots or name in _KEEPING:
        return f, args, named, _same
    alone = len(found) == 1 and is_narrow(found[0])
    first = alone and any(found[0] is x for x in places[:1])
    dtype: Any = dtype_of(found[0].element) if first else None
    known = name in _WIDE and (name, dtype) != ("bincount", np.uint64)  # which NumPy may refuse
    make: Callable[[Any], Any] = _same
    if name == "where" and len(args) == 3 and not named:
        sides, made = met(to, np.maximum, args[1:])
        args = [args[0], *sides]
        make = _maker(to, made) if ELEMENTS[made] in NARROW else _same
    elif first and name in _SUMS and dtype.kind == "u" and not {"dtype", "out"} & {*named}:
        make = _maker(to, np.dtype(np.uint64))
    elif first and name in _EXTREMA and not {"initial", "where", "out"} & {*named}:
        make = _maker(to, dtype)
    elif not (first and known) and not (
        alone and name in _PICKING and any(found[0] is x for x in places[1:2])
    ):
        refuse_narrow(f"np.{name}", *found)
    f = Method(wide(f.owner), f.name) if owner else f
    return f, [*map(wide, args)], {k: wide(x) for k, x in named.items()}, make


def numbers(to: WholeBuilder, f: Any, args: list[Any]) -> list[Any]:
    """What a function of numbers is given: ints of 64 bits, if it gives the same for these."""
    if any(map(is_narrow, args)) and (f in _OF_NUMBERS or is_math(f)):
        return [*map(wide, args)]
    return args


def _same(x: Any) -> Any:
    return x


def _maker(to: WholeBuilder, dtype: Any) -> Callable[[Any], Any]:
    return lambda x: narrowed(to, x, dtype)


def _has_narrow(x: Any) -> bool:
    return any(map(_has_narrow, x)) if isinstance(x, (list, tuple)) else is_narrow(x)
