"""numpy.lib, with `stride_tricks` for watched arrays.

stride_tricks                   views by strides
"""

from __future__ import annotations

from typing import Any

import numpy

from zyg.numpy.lib import stride_tricks as stride_tricks


def __getattr__(name: str) -> Any:
    return getattr(numpy.lib, name)
