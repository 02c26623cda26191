"""numpy.lib, with `stride_tricks` for watched arrays.

stride_tricks                   views by strides
"""

from __future__ import annotations

import typing as _typing

import numpy.lib as _lib

from zyg.numpy.lib import stride_tricks as stride_tricks
from zyg.watched import dropins as _dropins

if _typing.TYPE_CHECKING:
    from numpy.lib import *  # type: ignore[no-redef]  # noqa: F403

if not _typing.TYPE_CHECKING:
    __getattr__, __dir__ = _dropins.names_of(_lib, globals(), lambda name, value: value)
