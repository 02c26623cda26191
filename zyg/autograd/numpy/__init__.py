"""NumPy as programs for autograd call it: `zyg.numpy`, whose `stack` and its kin take iterators.

_functions                  those that take other arguments than NumPy's
numpy_boxes                 the class that watched arrays count as instances of
numpy_vjps                  what rules of autograd's share
"""

from __future__ import annotations

import typing as _typing

import zyg.numpy as _zyg_numpy
from zyg.autograd import _absent
from zyg.autograd.numpy import _functions
from zyg.autograd.numpy import numpy_boxes as numpy_boxes
from zyg.autograd.numpy import numpy_vjps as numpy_vjps
from zyg.autograd.numpy._functions import make_diagonal as make_diagonal
from zyg.watched import dropins as _dropins

if _typing.TYPE_CHECKING:
    from numpy import *  # noqa: F403


def _replaced(name: str, value: _typing.Any) -> _typing.Any:
    return _functions.FUNCTIONS.get(name, value)


_find, __dir__ = _dropins.names_of(_zyg_numpy, globals(), _replaced)

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any:
        try:
            return _find(name)
        except AttributeError:
            pass
        return _absent.absent(__name__, name)
