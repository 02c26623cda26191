"""numpy.lib, with `stride_tricks` for watched arrays.

stride_tricks                   views by strides
"""

from __future__ import annotations

import numpy.lib as _lib

from zyg.numpy.lib import stride_tricks as stride_tricks
from zyg.watched import dropins as _dropins

__getattr__, __dir__ = _dropins.names_of(_lib, globals(), lambda name, value: value)
