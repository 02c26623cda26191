"""numpy.linalg, whose functions take lists of watched numbers too: ``np.linalg.norm([x, y])``.

>>> import zyg, zyg.numpy as np
>>> zyg.gradient(lambda x, y: np.linalg.norm([x, y]), 3.0, 4.0)
(0.6, 0.8)

"""

from __future__ import annotations

import typing as _typing

import numpy.linalg as _linalg

from zyg.watched import dropins as _dropins

if _typing.TYPE_CHECKING:
    from numpy.linalg import *  # noqa: F403

__all__ = _linalg.__all__


def _replaced(name: str, value: _typing.Any) -> _typing.Any:
    if isinstance(value, type(_linalg.norm)):
        return _dropins.drop_in(value, _dropins.taking_lists(value))
    return value


if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _dropins.names_of(_linalg, globals(), _replaced)
