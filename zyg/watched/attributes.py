"""Attributes and methods of watched values.

Anything not listed here is refused: an attribute of the plain value would be a derivative dropped
in silence.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, NoReturn

import numpy as np

from zyg.base.array_types import is_complex
from zyg.base.remedies import remedy
from zyg.base.sinks import looking
from zyg.core.bind import bind
from zyg.core.handouts import hand_out, holds_nothing_watched, plainly
from zyg.core.indexing import write
from zyg.core.inplace import resize, sort_in_place
from zyg.core.objects import is_somebodys, shown, within_bound
from zyg.core.shortcuts import short_ways
from zyg.core.strand import ARRAYS, WATCHED, cut, settle, strip, watch
from zyg.core.views import is_writeable, set_writeable
from zyg.errors import ConversionError, MutationError

_PLAIN_ATTRIBUTES = {
    "shape", "ndim", "size", "dtype", "itemsize", "nbytes", "flags", "strides", "is_integer",
    "device", "chunks", "chunksize", "numblocks", "npartitions",
}  # fmt: skip


def _flatten(x: Any, order: str = "C") -> Any:
    return np.copy(bind(np.ravel, (x, order)))


def _copy(x: Any, order: str = "C") -> Any:
    short = short_ways.get(np.copy)
    if short is not None and (y := short(x, order)) is not None:
        return y
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


def _view(x: Any, dtype: Any = None, type: Any = None) -> Any:
    if holds_nothing_watched(x) and (dtype, type) != (None, None):
        return hand_out(x).view(*(w for w in (dtype, type) if w is not None))
    for wanted in (dtype, type):
        if isinstance(wanted, builtins.type) and issubclass(wanted, np.ndarray):
            if wanted is not np.ndarray:
                return _as_subclass(x, wanted)
        elif wanted is not None and np.dtype(wanted) != x.dtype:
            raise ConversionError(
                f"x.view({wanted!r}) of a watched array has no rule.",
                "the same memory read as another type has no derivative.",
                "use x.astype(...) to convert; x.real and x.imag for the parts of complex numbers.",
                tag="attribute",
            )
    return x[...]


def _as_subclass(x: Any, cls: type) -> Any:
    """A small array as an array of objects of somebody's class, which are watched numbers."""
    if not is_somebodys(cls) or not within_bound(x):
        raise ConversionError(
            f"a view of a watched array as {cls.__name__} has no rule.",
            "a subclass of numpy.ndarray can behave in ways that NumPy's rules do not know.",
            "compute with the array itself; zyg.stop_gradient(x).view(...) gives the subclass, "
            "without derivative.",
            tag="attribute",
        )
    return shown(x, copy=False).view(cls)


def _astype(
    x: Any, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True,
    copy: bool = True,
) -> Any:  # fmt: skip
    plain = strip(x)
    if not np.can_cast(plain.dtype, dtype, casting):
        plain.astype(dtype, casting=casting)  # raises
    y = bind(np.astype, (x, dtype), {"copy": copy})
    return y if order == "K" else bind(np.copy, (y, order))


def _clip(x: Any, min: Any = None, max: Any = None, *out: Any, **kwargs: Any) -> Any:
    return _clip_between(x, min, max, *out, **kwargs)  # the function has no defaults for the two


def _sort(
    x: Any, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> None:
    options = {"kind": kind or "stable"} if stable is None else {"stable": stable}
    _demand_no_fields(order)
    sort_in_place(x, np.argsort(strip(x), axis, **options), axis)


def _partition(
    x: Any, kth: Any, axis: int = -1, kind: Any = "introselect", order: Any = None
) -> None:
    _demand_no_fields(order)
    sort_in_place(x, np.argpartition(strip(x), kth, axis, kind), axis)


def _demand_no_fields(order: Any) -> None:
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")


def _set_flags(x: Any, write: Any = None, align: Any = None, uic: Any = None) -> None:
    strip(x).view().setflags(align=align, uic=uic)  # raises where NumPy does
    if write is not None:
        set_writeable(x, bool(write))


def _to_device(x: Any, device: Any, /, *, stream: Any = None) -> Any:
    strip(x).to_device(device, stream=stream)  # raises where NumPy does
    return x


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        short = short_ways.get(function)
        if short is not None and (y := short(x, *args, **kwargs)) is not None:
            return y
        if kwargs.get("out") is not None:
            return function(x, *args, **kwargs)  # which is dispatched, and writes
        if not x.strand.open:
            y = plainly(function, (x, *args), kwargs)
            if y is not NotImplemented:
                return y
        return bind(function, (x, *args), kwargs)

    return method


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """x.reshape(2, 3) and x.reshape((2, 3)), x.transpose(1, 0) and x.transpose()."""

    def method(x: Any, /, *shape: Any, **kwargs: Any) -> Any:
        args = (x, *shape) if len(shape) < 2 else (x, shape)
        short = short_ways.get(function)
        if short is not None and (y := short(*args, **kwargs)) is not None:
            return y
        return bind(function, args, kwargs)

    return method


def _transposed(x: Any) -> Any:
    short = short_ways.get(np.transpose)
    y = None if short is None else short(x)
    return bind(np.transpose, (x,)) if y is None else y


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
    "astype": _astype,
    "clip": _clip,
    "copy": _copy,
    "conj": lambda x: _conjugate(x),  # each has a name of its own
    "conjugate": _conjugate,
    "compress": lambda x, condition, axis=None: bind(np.compress, (condition, x, axis)),
    "flatten": _flatten,
    "fill": lambda x, value: write(x, ..., value),
    "item": _item,
    "partition": _partition,
    "put": lambda x, indices, values, mode="raise": np.put(x, indices, values, mode),
    "reshape": _spread(np.reshape),
    "resize": resize,
    "setflags": _set_flags,
    "sort": _sort,
    "tofile": lambda x, *args, **kwargs: cut(x, "tofile()").tofile(*args, **kwargs),
    "tolist": _to_list,
    "transpose": _spread(np.transpose),
    "view": _view,
    "to_device": _to_device,
}
_clip_between = _method(np.clip)
_OF_BUFFERS = {*_FUNCTIONS, *METHODS, *_OF_ARRAYS, "base", "flat"} - {"item", "tolist"}
_WRITES = {"setfield", "byteswap"}


def _named(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    method.__name__ = name
    return method


_BOUND = {
    name: _named(name, method)
    for name, method in ({k: _method(f) for k, f in METHODS.items()} | _OF_ARRAYS).items()
}


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

    def __eq__(self, other: object) -> bool:
        plain = strip(self._array).flags
        return bool(plain == (strip(other._array).flags if type(other) is Flags else other))

    __hash__ = None  # type: ignore[assignment]

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
        if type(x) not in ARRAYS:
            return getattr(rest, name)
        if name != "base":
            return getattr(hand_out(x), name)
    if name.startswith("_") or not hasattr(plain, name):
        # A protocol that is not ours to answer (__array_interface__, _mpf_), or a plain mistake.
        raise AttributeError(f"{type(plain).__name__!r} object has no attribute {name!r}")
    if name in _FUNCTIONS:
        return bind(_FUNCTIONS[name], (x,))
    if name in _PLAIN_ATTRIBUTES:
        if name == "dtype" and type(x) not in ARRAYS and _reduces():
            raise AttributeError("an element of an object array has no dtype")
        return getattr(plain, name)
    if name in _BOUND:
        return MethodType(_BOUND[name], x)
    if name == "flat":
        return _flat(x)
    if name == "base":
        return getattr(x, "base_array", None)
    if isinstance(plain, (float, int, complex)):  # a subclass written in Python runs on x
        own = inspect.getattr_static(type(plain), name)
        if isinstance(own, (FunctionType, property, classmethod, staticmethod)):
            return own.__get__(x, type(plain))
    if name in _WRITES:
        _refuse_write(f"x.{name}(...)")
    if looking() is not None:
        return getattr(cut(x, name), name)
    raise _no_rule(plain, name)


def _no_rule(plain: Any, name: str) -> ConversionError:
    fix = "use a NumPy function or operator instead, or zyg.primal(x) for the plain value."
    if name == "ctypes":
        fix = (
            "zyg.foreign(f, pullback=) for a function f of C, or zyg.primal(x) for the plain value."
        )
    return ConversionError(
        f"the attribute {name!r} of a watched {type(plain).__name__} has no rule.",
        "what the plain value answers would carry no derivative.",
        remedy() if name == "as_integer_ratio" else fix,  # what statistics asks first
        tag="attribute",
    )


def _reduces() -> bool:
    """Whether np.mean or its like asks, which makes what has a dtype a plain number of it."""
    names = (sys._getframe(depth).f_globals.get("__name__") for depth in (2, 3))
    return "numpy._core._methods" in names


def define_attributes(cls: type, *plain: type) -> None:
    for name in {name for t in plain for name in dir(t) if not name.startswith("__")}:
        setattr(cls, name, property(functools.partial(attribute, name=name)))
    cls.__array_namespace__ = property(lambda x: strip(x).__array_namespace__)  # type: ignore[attr-defined]


def define_methods(cls: type) -> None:
    """Those of the methods of arrays that answer whatever the array has outlived."""
    for name in (*METHODS, "copy", "reshape", "transpose"):
        setattr(cls, name, _BOUND[name])
    cls.T = property(_transposed)  # type: ignore[attr-defined]


def _refuse_write(what: str) -> NoReturn:
    raise MutationError(
        f"{what} changes the memory of a watched array in a way that is not followed.",
        "other views of the same memory and the reverse pass rely on its layout.",
        "make a new array: np.copy(x[:n]), np.concatenate([...]).",
        tag="memory",
    )
