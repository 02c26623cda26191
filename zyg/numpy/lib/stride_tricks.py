"""numpy.lib.stride_tricks; its `as_strided` takes watched arrays, NumPy's dispatches on nothing."""

from __future__ import annotations

from typing import Any

import numpy

from zyg.core.indexing import strided
from zyg.core.strand import ARRAYS


def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True
) -> Any:
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
    if type(x) in ARRAYS:
        return strided(x, shape, strides, writeable)
    return numpy.lib.stride_tricks.as_strided(x, shape, strides, subok, writeable)


def __getattr__(name: str) -> Any:
    return getattr(numpy.lib.stride_tricks, name)
