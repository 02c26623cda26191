"""NumPy as programs for autograd call it: `zyg.numpy`, whose `stack` and its kin take iterators.

numpy_boxes                 the class that watched arrays count as instances of
numpy_vjps                  what rules of autograd's share
"""

from __future__ import annotations

import functools as _functools
import typing as _typing

import numpy as _numpy

import zyg.numpy as _zyg_numpy
from zyg.autograd import _absent
from zyg.autograd.numpy import numpy_boxes as numpy_boxes
from zyg.autograd.numpy import numpy_vjps as numpy_vjps
from zyg.watched import dropins as _dropins

if _typing.TYPE_CHECKING:
    from numpy import *  # noqa: F403

__all__ = _numpy.__all__

_OF_SEQUENCES = ("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack")


def _replaced(name: str, value: _typing.Any) -> _typing.Any:
    if name not in _OF_SEQUENCES:
        return value

    @_functools.wraps(value, updated=())
    def of_any(arrays: _typing.Any, *args: _typing.Any, **kwargs: _typing.Any) -> _typing.Any:
        arrays = arrays if hasattr(arrays, "__len__") else [*arrays]
        return value(arrays, *args, **kwargs)

    return of_any


_find, __dir__ = _dropins.names_of(_zyg_numpy, globals(), _replaced)

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any:
        try:
            return _find(name)
        except AttributeError:
            _absent.absent(__name__, name)
