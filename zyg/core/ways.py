"""Views by the way they were got: slices, transposes and reshapes of arrays in C order."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.base.registry import short_ways
from zyg.core.indices import is_plain, is_plain_slice
from zyg.core.strand import ARRAYS, watcher_of
from zyg.core.views import Place

ndarray = np.ndarray


def part(x: Any, index: Any) -> Any:
    """``x[index]`` as a view; None if it is none, or more is to be done."""
    kind = type(index)
    if kind is int:
        if type(x.primal) is ndarray and x.primal.ndim == 1:
            return None
    elif not (is_plain_slice(index) if kind is slice else is_plain(index)):
        return None
    made = _by_step(x, operator.getitem, index, None)
    if made is not None:
        made.taken = x, index
    return made


def _transpose(a: Any, *rest: Any, **others: Any) -> Any:
    if type(a) not in ARRAYS or rest or others:
        return None
    return _by_step(a, getattr, "T", _turned_back)


def _reshape(a: Any, shape: Any = None, *rest: Any, **others: Any) -> Any:
    if type(a) not in ARRAYS or rest or others:
        return None
    if type(shape) is tuple:
        for n in shape:
            if type(n) is not int:
                return None
    elif type(shape) is not int:
        return None
    return _by_step(a, _reshaped, shape, _reshaped)


def _ravel(a: Any, *rest: Any, **others: Any) -> Any:
    return _reshape(a, -1, *rest, **others)


short_ways.update({np.transpose: _transpose, np.reshape: _reshape, np.ravel: _ravel})


def _by_step(
    x: Any, function: Callable[[Any, Any], Any], given: Any, undo: Callable[[Any, Any], Any] | None
) -> Any:
    """The view ``function(x, given)`` of `x`; None if it is none, or needs a place."""
    base = getattr(x, "base_array", x)
    whole = base.primal
    if base is x:
        before, plain, readonly = None, whole, x.locked
    else:
        before = x.way
        if before is None:
            return None
        plain = x.cached if x.whole is whole else x.primal
        readonly = x.where is not None and x.where.readonly
    if type(whole) is not ndarray or readonly or not base.strand.open:
        return None
    if not (whole.flags.c_contiguous and (undo is not _reshaped or plain.flags.c_contiguous)):
        return None  # a reshape may be a copy
    cached = function(plain, given)
    if type(cached) is not ndarray:
        return None
    made: Any = watcher_of[Place]()
    made.base_array, made.where, made.taken = base, None, _UNTAKEN
    made.way = before, function, given, undo, plain.shape
    made.cached, made.whole = cached, whole
    if base is not x and x.whole is not whole:  # another task copied the memory meanwhile
        made.whole = None
    base.viewed = True
    return made


_UNTAKEN = None, None


def _turned_back(a: Any, _: Any) -> Any:
    return a.T


def _reshaped(a: Any, shape: Any) -> Any:
    return a.reshape(shape)
