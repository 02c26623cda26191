"""NumPy's functions in the words of the array API standard.

Three tables: names that differ, functions that are written in others, and functions that are said
another way. What is in none of them is called by its name: its arguments bound by NumPy's
signature, those at their defaults left out, arrays by position, the rest by keyword.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.base.caches import Cache, remembered
from zyg.functions.operations import OPERATIONS, WITH_OPERATORS
from zyg.interop.libraries import Library

NO = np._NoValue

# Ufuncs: what Python's operators say, names that differ, and what is written in others.

_OPERATORS = {"matmul": operator.matmul, **{row.name: row.operator for row in WITH_OPERATORS}}
_RENAMED = {
    **{row.name: row.guest or row.math or row.name for row in OPERATIONS.values()},
    "concatenate": "concat", "transpose": "permute_dims", "cumsum": "cumulative_sum",
    "cumprod": "cumulative_prod", "amax": "max", "amin": "min",
}  # fmt: skip
_LN2 = math.log(2)
_WRITTEN: dict[str, Callable[..., Any]] = {
    "cbrt": lambda x: np.sign(x) * np.abs(x) ** (1 / 3),
    "deg2rad": lambda x: x * (math.pi / 180),
    "radians": lambda x: x * (math.pi / 180),
    "rad2deg": lambda x: x * (180 / math.pi),
    "degrees": lambda x: x * (180 / math.pi),
    "exp2": lambda x: np.power(np.astype(np.ones_like(x) * 2, x.dtype), x),
    "fmax": lambda x, y: np.where(np.isnan(y), x, np.where(np.isnan(x), y, np.maximum(x, y))),
    "fmin": lambda x, y: np.where(np.isnan(y), x, np.where(np.isnan(x), y, np.minimum(x, y))),
    "float_power": lambda x, y: np.power(x, y),
    "fmod": lambda x, y: x - np.trunc(x / y) * y,
    "heaviside": lambda x, y: np.where(x == 0, y, np.where(x > 0, x * 0 + 1.0, x * 0)),
    "logaddexp2": lambda x, y: np.logaddexp(x * _LN2, y * _LN2) / _LN2,
    "reciprocal": lambda x: 1 / x,
    "square": lambda x: x * x,
    "vecdot": lambda x, y: np.sum(np.conjugate(x) * y, -1),
    "matvec": lambda x, y: np.matmul(x, y[..., None])[..., 0],
    "vecmat": lambda x, y: np.matmul(np.conjugate(x)[..., None, :], y)[..., 0, :],
}
UFUNCS: Cache[Any, Any] = Cache(4096)  # the loop's dtypes of a ufunc by those of its operands
REDUCTIONS: dict[Any, Callable[..., Any]] = {
    row.function: getattr(np, row.reduce) for row in OPERATIONS.values() if row.reduce
}


def say_ufunc(library: Library, ufunc: Any, inputs: Sequence[Any]) -> Any:
    """A ufunc of guests, numbers and NumPy's arrays: in the dtypes of NumPy's loop for them."""
    name, guest = ufunc.__name__, library.guest
    inputs = [library.lifted(x) for x in inputs]
    kinds = tuple([_kind(x, guest) for x in inputs])
    loop = UFUNCS.get((ufunc, kinds))
    if loop is None:
        loop = UFUNCS.put((ufunc, kinds), ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout)))
    if name in _WRITTEN and not hasattr(library.xp, name):
        y: Any = _WRITTEN[name](*inputs)
        return y if y.dtype == loop[-1] else np.astype(y, loop[-1])
    like = next(x.raw for x in inputs if type(x) is guest)
    said = _OPERATORS.get(name)
    raws = [
        _raw(library, x, dtype, like, said is not None)
        for x, dtype in zip(inputs, loop, strict=False)
    ]
    raws = library.operands(name, raws)
    if said is None:
        said = own(library, library.xp, name)
    y = said(*raws)
    return library.wrap(y) if type(y) is not tuple else tuple(map(library.wrap, y))


def own(library: Library, space: Any, name: str) -> Any:
    """The library's function of NumPy's name, or of the standard's."""
    standard = _RENAMED.get(name, name)
    if standard in library.different:
        raise TypeError(f"its {standard} is another function")
    return getattr(space, standard, None) or getattr(space, name)


def _kind(x: Any, guest: Any) -> Any:
    if type(x) is guest or isinstance(x, (np.ndarray, np.generic)):
        return x.dtype
    return _BOOL if type(x) is bool else type(x)


_BOOL = np.dtype(bool)


def _raw(library: Library, x: Any, dtype: Any, like: Any, number: bool) -> Any:
    """An operand in the dtype of the loop; a plain number stays one where an operator takes it."""
    if type(x) is library.guest:
        return x.raw if x.dtype == dtype else library.cast(x.raw, dtype)
    if number and type(x) in (int, float, complex):
        return x
    return library.make(x, dtype, like)


# Other functions

# To these, NumPy hands the operand that they are given as like= alone.
CREATORS = (
    np.zeros, np.ones, np.empty, np.full,
    np.arange, np.tri, np.eye, np.identity, np.asarray, np.array, np.asanyarray,
)  # fmt: skip
_OF_COMPLEX = frozenset(("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "irfft", "irfftn"))
FUNCTIONS: dict[Any, Callable[..., Any]] = {}


def says(*functions: Any) -> Callable[[Any], Any]:
    def register(own: Any) -> Any:
        FUNCTIONS.update(dict.fromkeys(functions, own))
        return own

    return register


def in_standard(library: Library, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A function by its name in the standard, or in the library besides it."""
    space = library.xp
    part = (f.__module__ or "").rpartition(".")[2]
    if part in ("linalg", "fft"):
        space = getattr(space, part)
    name, said = _RENAMED.get(f.__name__, f.__name__), own(library, space, f.__name__)
    names, bound = bound_by(f, args, kwargs)
    like = next(iter(guests_in(library, (*args, *kwargs.values()))))
    raws: list[Any] = []
    more: dict[str, Any] = {}
    for key, x in bound.items():
        plain = unwrapped(library, x, like.raw)
        if part in ("linalg", "fft") and type(x) is library.guest:
            plain = library.whole(plain)
            if name in _OF_COMPLEX and x.dtype.kind == "f":
                plain = library.cast(plain, np.result_type(x.dtype, np.complex64))
        if key in names and not more:
            raws.append(plain)
        else:
            more[key] = library.own_dtype(np.dtype(x)) if key == "dtype" else plain
    y = wrapped(library, said(*raws, **more))
    return type(f(np.eye(1)))(*y) if part == "linalg" and type(y) is tuple else y


@remembered(1024)
def _signature(f: Any) -> Any:
    return inspect.signature(f)


def bound_by(
    f: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[set[str], dict[str, Any]]:
    """The arguments by name that are not at their defaults; which of them have no default."""
    bound = _signature(f).bind(*args, **kwargs)
    given: dict[str, Any] = {}
    names = set()
    for key, parameter in _signature(f).parameters.items():
        if parameter.default is parameter.empty:
            names.add(key)
        if key not in bound.arguments:
            continue
        x = bound.arguments[key]
        if parameter.kind is parameter.VAR_POSITIONAL:
            given.update({f"{key}{n}": v for n, v in enumerate(x)})
            names.update(f"{key}{n}" for n in range(len(x)))
        elif x is not NO and not (type(x) is type(parameter.default) and x == parameter.default):
            given[key] = x
    return names, given


def guests_in(library: Library, x: Any) -> list[Any]:
    if type(x) is library.guest:
        return [x]
    return [g for part in x for g in guests_in(library, part)] if type(x) in (list, tuple) else []


def unwrapped(library: Library, x: Any, like: Any) -> Any:
    """Guests, NumPy's arrays and other arrays of the library, in lists too, as its own."""
    if type(x) in (list, tuple):
        return type(x)(unwrapped(library, part, like) for part in x)
    if isinstance(x, np.ndarray):
        return library.make(x, x.dtype, like)
    return library.raw(x)


def wrapped(library: Library, y: Any) -> Any:
    """Arrays of the library as guests, in tuples too."""
    if isinstance(y, (tuple, list)):
        parts = [wrapped(library, part) for part in y]
        return type(y)(*parts) if hasattr(y, "_fields") else tuple(parts)
    return library.wrap(y) if library.is_own(y) else y


def plain_call(*rest: Any) -> None:
    if any(x is not NO and x is not None and x is not True for x in rest):
        raise TypeError("out=, initial=, where= and mean= are NumPy's own")
