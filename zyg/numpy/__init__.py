"""NumPy, also for what plain NumPy cannot do in a gradient: ``import zyg.numpy as np``.

Where no gradient runs around a line, in its task, every function is NumPy's own. In a gradient, the
creation functions make arrays that can be written with watched values, all functions take lists of
watched numbers for arrays, and draws of `random` move with watched parameters. What needs none of
this is NumPy's own object, and so are its types and ufuncs: those take ``np.array([x, 1.0])``.

>>> import zyg, zyg.numpy as np
>>> def powers(x):
...     p = np.ones(4)
...     for i in range(1, 4):
...         p[i] = p[i - 1] * x
...     return p.sum()
>>> zyg.gradient(powers, 2.0)
(17.0,)
>>> powers(2.0), type(np.ones(4)) is np.ndarray
(np.float64(15.0), True)

broadcasting                    `broadcast`
concatenation                   `r_` and `c_`
creation                        the functions that make arrays, in a gradient
linalg                          numpy.linalg, of lists of watched numbers too
lib                             numpy.lib, with views by strides
draws random                    numpy.random, whose draws move with watched parameters
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

import numpy as _numpy

from zyg.numpy import creation as _creation
from zyg.numpy import lib as lib
from zyg.numpy import linalg as linalg
from zyg.numpy.broadcasting import broadcast as broadcast
from zyg.numpy.concatenation import c_ as c_
from zyg.numpy.concatenation import r_ as r_
from zyg.watched import dropins as _dropins

if _typing.TYPE_CHECKING:
    from numpy import *  # type: ignore[assignment,no-redef]  # noqa: F403

    from zyg.numpy import random as random  # type: ignore[no-redef]

__all__ = _numpy.__all__


_WITH_DTYPE = (
    "array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray", "empty", "zeros",
)  # fmt: skip


def _replaced(name: str, value: _typing.Any) -> _typing.Any:
    if name == "random":  # which takes as long to load as all else
        return _importlib.import_module(f"{__name__}.{name}")
    if (inside := _creation.FUNCTIONS.get(name)) is not None:
        kind = _dropins.WithDtype if name in _WITH_DTYPE else _dropins.drop_in
        return kind(value, inside)
    if isinstance(value, type(_numpy.sum)) and value is not _numpy.block:  # where lists mean more
        return _dropins.drop_in(value, _dropins.taking_lists(value))
    return value


if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _dropins.names_of(_numpy, globals(), _replaced)
