"""numpy.lib.stride_tricks; its `as_strided` takes watched arrays, NumPy's dispatches on nothing."""

from __future__ import annotations

import typing as _typing
from typing import Any as _Any

import numpy.lib.stride_tricks as _stride_tricks

from zyg.core.indexing import strided as _strided
from zyg.core.strand import ARRAYS as _ARRAYS
from zyg.watched import dropins as _dropins


def _as_strided(
    x: _Any, shape: _Any = None, strides: _Any = None, subok: bool = False, writeable: bool = True
) -> _Any:
    """As numpy.lib.stride_tricks.as_strided; `x` may be watched, and the view stays inside of it.

    `strides` are in bytes, as those of `x`. A view of a watched array that would reach beyond its
    elements raises ConversionError, and so does one of an array with gaps between them.

    >>> import zyg, zyg.numpy as np
    >>> def energy(x):                                     # of the sums of neighbours
    ...     pairs = np.lib.stride_tricks.as_strided(x, (2, 2), x.strides * 2)
    ...     return np.sum(np.sum(pairs, axis=1) ** 2)
    >>> zyg.gradient(energy, np.array([1.0, 2.0, 3.0]))
    (array([ 6., 16., 10.]),)

    """
    if type(x) in _ARRAYS:
        return _strided(x, shape, strides, writeable)
    return _stride_tricks.as_strided(x, shape, strides, subok, writeable)


as_strided = _dropins.drop_in(_stride_tricks.as_strided, _as_strided)
as_strided.__doc__ = _as_strided.__doc__

if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _dropins.names_of(_stride_tricks, globals(), lambda name, value: value)
