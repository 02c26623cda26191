"""Attributes and methods of watched values.

Anything not listed here is refused: an attribute of the plain value would be a derivative dropped
in silence.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from zyg.base.scalar_rules import is_complex
from zyg.core.bind import bind
from zyg.core.indexing import write
from zyg.core.inplace import resize, sort_in_place
from zyg.core.strand import ARRAYS, WATCHED, settle, strip, watch
from zyg.core.views import is_writeable, set_writeable
from zyg.errors import ConversionError, MutationError

_PLAIN_ATTRIBUTES = {
    "shape", "ndim", "size", "dtype", "itemsize", "nbytes", "flags", "strides", "is_integer",
    "device",
}  # fmt: skip


def _flatten(x: Any, order: str = "C") -> Any:
    return np.copy(bind(np.ravel, (x, order)))


def _copy(x: Any, order: str = "C") -> Any:
    return bind(np.copy, (x, order))


def _conjugate(x: Any) -> Any:
    return bind(np.conjugate, (x,)) if is_complex(strip(x)) else x


def _flat(x: Any) -> Any:
    """x.flat as a view of one axis: it can be read, written and iterated as the iterator can."""
    if not strip(x).flags.c_contiguous:
        raise ConversionError(
            "x.flat of a watched array that is not contiguous has no rule.",
            "its elements do not lie in memory in this order, so they are no view of one axis.",
            "use np.ravel(x) to read, x[...] = value to write.",
            tag="attribute",
        )
    return bind(np.ravel, (x,))


def _view(x: Any, dtype: Any = None) -> Any:
    subclass = isinstance(dtype, type) and issubclass(dtype, np.ndarray)
    if dtype not in (None, np.ndarray) and (subclass or np.dtype(dtype) != x.dtype):
        raise ConversionError(
            f"x.view({dtype!r}) of a watched array has no rule.",
            "the same memory read as another type has no derivative.",
            "use x.astype(...) to convert; x.real and x.imag for the parts of complex numbers.",
            tag="attribute",
        )
    return x[...]


def _to_device(x: Any, device: Any, /, *, stream: Any = None) -> Any:
    strip(x).to_device(device, stream=stream)  # raises where NumPy does
    return x


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "T": np.transpose, "real": np.real, "imag": np.imag, "mT": np.matrix_transpose,
}  # fmt: skip
METHODS: dict[str, Callable[..., Any]] = {
    **{
        f.__name__: f
        for f in (
            np.sum, np.mean, np.prod, np.var, np.std, np.cumsum, np.cumprod, np.ravel,
            np.swapaxes, np.squeeze, np.repeat, np.clip, np.dot, np.argmax, np.argmin, np.argsort,
            np.any, np.all, np.trace, np.diagonal, np.take, np.nonzero, np.searchsorted, np.round,
            np.choose,
        )
    },
    "max": np.max, "min": np.min, "astype": np.astype,
}  # fmt: skip
_OF_ARRAYS: dict[str, Callable[..., Any]] = {  # written in operations that have rules
    "copy": _copy,
    "conj": _conjugate,
    "conjugate": _conjugate,
    "compress": lambda x, condition, axis=None: bind(np.compress, (condition, x, axis)),
    "flatten": _flatten,
    "fill": lambda x, value: write(x, ..., value),
    "sort": lambda x, axis=-1, kind=None: sort_in_place(
        x, np.argsort(strip(x), axis, kind=kind or "stable"), axis
    ),
    "partition": lambda x, kth, axis=-1: sort_in_place(
        x, np.argpartition(strip(x), kth, axis), axis
    ),
    "put": np.put,
    "resize": resize,
    "view": _view,
    "to_device": _to_device,
}
_OF_BUFFERS = {*_FUNCTIONS, *METHODS, *_OF_ARRAYS, "flat", "reshape", "transpose"}
_WRITES = {"setfield", "setflags", "byteswap"}


class Flags:
    """``x.flags``: NumPy's, but that `writeable` is whether the user may write, and can be set."""

    __slots__ = ("_array",)

    def __init__(self, x: Any) -> None:
        self._array = x

    @property
    def writeable(self) -> bool:
        return is_writeable(self._array)

    @writeable.setter
    def writeable(self, value: bool) -> None:
        set_writeable(self._array, bool(value))

    def __getattr__(self, name: str) -> Any:
        return getattr(strip(self._array).flags, name)

    def __getitem__(self, name: str) -> Any:
        return self.writeable if name in _WRITEABLE else strip(self._array).flags[name]

    def __setitem__(self, name: str, value: bool) -> None:
        if name not in _WRITEABLE:
            _refuse_write(f"x.flags[{name!r}] = {value!r}")
        self.writeable = value

    def __repr__(self) -> str:
        plain = strip(self._array).flags
        return repr(plain).replace(
            f"WRITEABLE : {plain.writeable}", f"WRITEABLE : {self.writeable}"
        )


_WRITEABLE = ("WRITEABLE", "W")


def attribute(x: Any, name: str) -> Any:
    plain = strip(x)
    if not x.strand.open and name in _PLAIN_ATTRIBUTES:
        return getattr(plain, name)
    rest = settle(x)
    if type(rest) not in WATCHED and not (type(x) in ARRAYS and name in _OF_BUFFERS):
        return getattr(rest, name)
    if name.startswith("_") or not hasattr(plain, name):
        # A protocol that is not ours to answer (__array_interface__, _mpf_), or a plain mistake.
        raise AttributeError(f"{type(plain).__name__!r} object has no attribute {name!r}")
    if name in _FUNCTIONS:
        return bind(_FUNCTIONS[name], (x,))
    if name in _PLAIN_ATTRIBUTES:
        if name == "dtype" and type(x) not in ARRAYS and _reduces():
            raise AttributeError("an element of an object array has no dtype")
        return getattr(plain, name)
    if name in METHODS:
        return functools.partial(_call_method, METHODS[name], x)
    if name == "flat":
        return _flat(x)
    if name in ("reshape", "transpose"):
        return functools.partial(_call_spread, getattr(np, name), x)
    if name == "item":
        return functools.partial(_item, x)
    if name == "tolist":
        return functools.partial(_to_list, x)
    if name in _OF_ARRAYS:
        return functools.partial(_OF_ARRAYS[name], x)
    if name in _WRITES:
        _refuse_write(f"x.{name}(...)")
    raise ConversionError(
        f"the attribute {name!r} of a watched {type(plain).__name__} has no rule.",
        "what the plain value answers would carry no derivative.",
        "use a NumPy function or operator instead, or zyg.primal(x) for the plain value.",
        tag="attribute",
    )


def _reduces() -> bool:
    """Whether np.mean or its like asks, which makes what has a dtype a plain number of it."""
    names = (sys._getframe(depth).f_globals.get("__name__") for depth in (2, 3))
    return "numpy._core._methods" in names


def _call_method(function: Callable[..., Any], x: Any, *args: Any, **kwargs: Any) -> Any:
    return bind(function, (x, *args), kwargs)


def _call_spread(function: Callable[..., Any], x: Any, *shape: Any, **kwargs: Any) -> Any:
    """x.reshape(2, 3) and x.reshape((2, 3)), x.transpose(1, 0) and x.transpose()."""
    return bind(function, (x, *shape) if len(shape) < 2 else (x, shape), kwargs)


def _item(x: Any, *place: Any) -> Any:
    """x.item(): a number of Python's own type."""
    if type(x) not in ARRAYS:
        return _as_python(x)
    if not place and np.size(x) != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    index = place[0] if len(place) == 1 else place
    return _as_python(x[index] if type(index) is tuple and index else x.reshape(-1)[index or 0])


def _to_list(x: Any) -> Any:
    return [*map(_to_list, x)] if np.ndim(x) else _item(x)


def _as_python(x: Any) -> Any:
    """A watched NumPy scalar as a watched Python number: the same cotangent, the same slot."""
    if type(x) in WATCHED and isinstance(x.primal, np.generic):
        return watch(x.strand, x.primal.item(), x.slot)
    return x


def define_attributes(cls: type, *plain: type) -> None:
    for name in {name for t in plain for name in dir(t) if not name.startswith("__")}:
        setattr(cls, name, property(functools.partial(attribute, name=name)))
    cls.__array_namespace__ = property(lambda x: strip(x).__array_namespace__)  # type: ignore[attr-defined]


def _refuse_write(what: str) -> NoReturn:
    raise MutationError(
        f"{what} changes the memory of a watched array in a way that is not followed.",
        "other views of the same memory and the reverse pass rely on its layout.",
        "make a new array: np.copy(x[:n]), np.concatenate([...]).",
        tag="memory",
    )
