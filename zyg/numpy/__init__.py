"""NumPy for programs that make buffers: ``import zyg.numpy as np``.

The creation functions below give arrays that can be written with watched values, and stack watched
values that they are given; everything else is NumPy's own.

>>> import zyg, zyg.numpy as np
>>> def powers(x):
...     p = np.ones(4)
...     for i in range(1, 4):
...         p[i] = p[i - 1] * x
...     return p.sum()
>>> zyg.gradient(powers, 2.0)
(17.0,)

lib                             numpy.lib, with views by strides
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy import fft as fft
from numpy import linalg as linalg
from numpy import random as random

from zyg.core.strand import ARRAYS
from zyg.core.views import buffer
from zyg.numpy import lib as lib
from zyg.watched.value import as_array, holds_watched


def _creates(name: str) -> Any:
    function = getattr(numpy, name)

    def create(*args: Any, **kwargs: Any) -> Any:
        return buffer(function(*args, **kwargs))

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"As numpy.{name}; the array can be written with watched values."
    return create


zeros, ones, empty, eye, identity = map(_creates, ("zeros", "ones", "empty", "eye", "identity"))
zeros_like, ones_like, empty_like, full_like = map(
    _creates, ("zeros_like", "ones_like", "empty_like", "full_like")
)
copy = _creates("copy")


def full(shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """As numpy.full; fill_value may be watched."""
    if not holds_watched(fill_value):
        return buffer(numpy.full(shape, fill_value, dtype, **kwargs))
    value = as_array(fill_value)
    made = buffer(numpy.empty(shape, dtype or value.dtype, **kwargs))
    made[...] = value
    return made


def array(object: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """As numpy.array: a new array, that can be written; nested lists of watched values stack."""
    if not holds_watched(object):
        return buffer(numpy.array(object, dtype, **kwargs))
    made = numpy.copy(as_array(object))
    return made if dtype is None else numpy.astype(made, dtype)


def asarray(a: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """As numpy.asarray for a watched array; a plain one is copied, to be a buffer of its own."""
    if type(a) in ARRAYS and (dtype is None or a.dtype == dtype):
        return a
    return array(a, dtype, **kwargs)


asanyarray = asarray


def __getattr__(name: str) -> Any:
    return getattr(numpy, name)
