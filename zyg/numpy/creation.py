"""NumPy's functions that make arrays, as they are in a gradient: what they make is a buffer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import numpy as np

from zyg.base.array_types import array_type
from zyg.core.handouts import plainly
from zyg.core.objects import holds_watched_objects, without_class
from zyg.core.sequences import own_array
from zyg.core.shortcuts import array_of_numbers
from zyg.core.strand import ARRAYS
from zyg.core.views import buffer
from zyg.watched.dropins import taking_lists
from zyg.watched.value import as_array, holds_watched


def _creates(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def create(*args: Any, **kwargs: Any) -> Any:
        return buffer(function(*args, **kwargs))

    return create


def _spaced(name: str) -> Callable[..., Any]:
    """Of these, whole numbers are for counting: they stay a plain array."""
    function = taking_lists(getattr(np, name))

    def create(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        return buffer(made) if type(made) is np.ndarray and made.dtype.kind in "fc" else made

    return create


def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **kwargs: Any) -> Any:
    if not holds_watched(fill_value):
        return buffer(np.full(shape, fill_value, dtype, order, **kwargs))
    value = as_array(fill_value)
    y = buffer(np.empty(shape, dtype or value.dtype, order, **kwargs))
    y[...] = value
    return y


def full_like(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    if not holds_watched(fill_value):
        return buffer(np.full_like(a, fill_value, *args, **kwargs))
    y = buffer(np.empty_like(a, *args, **kwargs))
    y[...] = as_array(fill_value)
    return y


_COPY_MODE = np._CopyMode
_COPIES = {_COPY_MODE.ALWAYS: True, _COPY_MODE.NEVER: False, _COPY_MODE.IF_NEEDED: None}


def array(object: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """A new array can be written with watched values; what shares memory is what it was."""
    if dtype is None and not kwargs and (y := array_of_numbers(object)) is not None:
        return y
    if type(kwargs.get("copy")) is _COPY_MODE:
        kwargs["copy"] = _COPIES[kwargs["copy"]]
    if not holds_watched(object):
        try:
            y = np.array(object, dtype, **kwargs)
        except ValueError:
            if (own := own_array(object)) is None:
                raise
            return array(own, dtype, **kwargs)
        return buffer(y) if kwargs.get("copy", True) or type(object) in (list, tuple) else y
    if not kwargs.get("subok"):
        object = without_class(object)
    if not holds_watched_objects(object):
        y = plainly(np.array, (object, dtype), kwargs)
        if y is not NotImplemented:
            return y
    return _stacked(object, dtype, **kwargs)


def _stacked(
    object: Any,
    dtype: Any,
    *,
    copy: Any = True,
    order: Any = "K",
    ndmin: int = 0,
    **_: Any,
) -> Any:
    """An array of watched values, in a list or alone."""
    new = type(object) not in ARRAYS
    order = "C" if new and order in (None, "K", "A") else order  # as of a list
    y = as_array(object)
    if dtype is not None and y.dtype != dtype:
        y, new = np.astype(y, dtype), True
    laid_out = order in ("C", "F") and not array_type(y).library
    if (copy and not new) or (laid_out and not y.flags[f"{order}_CONTIGUOUS"]):
        y = np.copy(y, order)
    return y if y.ndim >= ndmin else np.reshape(y, (1,) * (ndmin - y.ndim) + y.shape)


def _converts(name: str, order: Any = None, ndmin: int = 0) -> Callable[..., Any]:
    """What makes an array of anything: of a list a new one, that can be written."""
    function = getattr(np, name)

    def convert(a: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if type(kwargs.get("copy")) is _COPY_MODE:
            kwargs["copy"] = _COPIES[kwargs["copy"]]
        if not holds_watched(a):
            try:
                y = function(a, dtype, *args, **kwargs)
            except ValueError:
                if (own := own_array(a)) is None:
                    raise
                return convert(own, dtype, *args, **kwargs)
            return buffer(y) if type(a) in (list, tuple) else y
        if name != "asanyarray":
            a = without_class(a)
        if not holds_watched_objects(a):
            y = plainly(function, (a, dtype, *args), kwargs)
            if y is not NotImplemented:
                return y
        given = args[0] if args else kwargs.get("order", order)
        return _stacked(a, dtype, copy=kwargs.get("copy"), order=given or "K", ndmin=ndmin)

    return convert


asarray, asanyarray = _converts("asarray"), _converts("asanyarray")


# NumPy's own text, that makes its arrays with ours.
require = FunctionType(
    np.require.__code__, {**np.require.__globals__, "array": array, "asanyarray": asanyarray},
    "require", np.require.__defaults__,
)  # fmt: skip
require.__kwdefaults__ = np.require.__kwdefaults__


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    y = asarray(a, dtype, order)
    if y.dtype.kind in "fc" and not np.isfinite(y).all():
        raise ValueError("array must not contain infs or NaNs")
    return y


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, **kwargs: Any) -> Any:
    """Of what comes out of an iterator, once."""
    items = [*iter] if count < 0 else [*itertools.islice(iter, count)]
    flat = not any(isinstance(x, (list, tuple)) or np.ndim(x) for x in items)
    if flat and len(items) >= count and holds_watched(items):
        return array(items, dtype)
    y = np.fromiter(items, dtype, count, **kwargs)
    return buffer(y) if y.dtype.kind in "fc" else y


_OF_COUNTS = "arange", "geomspace", "linspace", "logspace", "repeat", "resize", "tile", "where"
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: _creates(name)
        for name in (
            "copy", "empty", "empty_like", "eye", "identity", "ones", "ones_like",
            "tri", "zeros", "zeros_like",
        )
    },
    **{name: _spaced(name) for name in _OF_COUNTS},
    "array": array,
    "asanyarray": asanyarray,
    "asarray": asarray,
    "asarray_chkfinite": asarray_chkfinite,
    "ascontiguousarray": _converts("ascontiguousarray", "C", 1),
    "asfortranarray": _converts("asfortranarray", "F", 1),
    "fromiter": fromiter,
    "full": full,
    "full_like": full_like,
    "require": require,
}  # fmt: skip
