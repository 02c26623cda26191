"""Indices: what can be told from one without the array."""

from __future__ import annotations

from typing import Any

import numpy as np

from zyg.base.array_types import is_array
from zyg.core.strand import strip


def frozen(index: Any) -> Any:
    """An index of plain values, which later writes to the caller's index arrays do not reach."""
    return tuple(map(_frozen, index)) if isinstance(index, tuple) else _frozen(index)


def _frozen(index: Any) -> Any:
    if type(index) is int:
        return index
    index = strip(index)
    if isinstance(index, slice):
        return slice(strip(index.start), strip(index.stop), strip(index.step))
    if isinstance(index, (list, tuple)):
        return np.array([*map(_frozen, index)], dtype=None if index else np.intp)
    if not is_array(index):
        if isinstance(index, np.generic) or not hasattr(type(index), "__array__"):
            return index
        index = strip(index.__array__())
    return index.copy()


def is_basic(index: Any) -> bool:
    """Whether NumPy answers with a view: no array and no bool in the index."""
    if type(index) is int:
        return True
    if type(index) is tuple:
        return all(map(is_basic, index))
    if index is None or index is Ellipsis:
        return True
    return isinstance(index, (int, slice, np.integer)) and not isinstance(index, bool)


def is_unique(index: Any) -> bool:
    """Whether no element is named twice, so that a plain in-place sum will do."""
    if type(index) is int:
        return True
    if type(index) is tuple:
        return all(map(is_unique, index))
    if is_array(index):
        return bool(index.dtype.kind == "b")
    return is_basic(index) or isinstance(index, (bool, np.bool_))


def is_plain(index: Any) -> bool:
    """Whether an index is basic, of plain ints: there is nothing to be frozen."""
    for k in index if type(index) is tuple else (index,):
        if type(k) not in _PLAIN and not (type(k) is slice and is_plain_slice(k)):
            return False
    return True


def is_plain_slice(k: slice) -> bool:
    a, b, c = k.start, k.stop, k.step
    return (
        (a is None or type(a) is int)
        and (b is None or type(b) is int)
        and (c is None or type(c) is int)
    )


_PLAIN = {int, type(None), type(...)}
