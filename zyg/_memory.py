"""Reading parts of watched arrays.

The cotangent of a read is added in place to the part that was read: `x[i]` costs what it touches, in
both passes, and a loop over the elements of an array costs the same per element whatever its size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zyg._bind import note, spec_of
from zyg._registry import adjoint
from zyg._strand import TRACED, settle, strip


def read(x: Any, index: Any) -> Any:
    """``x[index]`` of a watched array; the index carries nothing."""
    x = settle(x)
    index = _frozen(index)
    if type(x) not in TRACED:
        return x[index]
    slot = x.slot
    primal = x.primal
    shape, dtype = spec_of(primal)
    basic = _is_basic(index)

    def getitem_pullback(run: Any, y_bar: Any) -> Any:
        buffer = None if type(y_bar) in TRACED else run.buffer(slot, shape, dtype)
        if buffer is None:
            return ((slot, scattered(y_bar, index, shape, dtype)),)
        if basic:
            buffer[index] += y_bar
        else:
            np.add.at(buffer, index, y_bar)
        return ()

    return note(x.strand, primal[index], getitem_pullback)


@adjoint
def scattered(c: Any, index: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Zeros of this shape with `c` added at `index`: what reading pulls back to."""
    y = np.zeros(shape, dtype)
    np.add.at(y, index, c)

    def scattered_pullback(y_bar: Any) -> tuple[Any, ...]:
        return y_bar[index], None, None, None

    return y, scattered_pullback


def _frozen(index: Any) -> Any:
    """An index of plain values, which later writes to the caller's index arrays do not reach."""
    if type(index) is tuple:
        return tuple(map(_frozen, index))
    index = strip(index)
    if isinstance(index, slice):
        return slice(strip(index.start), strip(index.stop), strip(index.step))
    if isinstance(index, list):
        return np.array([_frozen(k) for k in index], dtype=None if index else np.intp)
    return index.copy() if isinstance(index, np.ndarray) else index


def _is_basic(index: Any) -> bool:
    """Whether no element is read twice, so that a plain in-place sum will do."""
    if type(index) is tuple:
        return all(map(_is_basic, index))
    if isinstance(index, np.ndarray):
        return index.dtype.kind == "b"
    return index is None or index is Ellipsis or isinstance(index, (int, slice, np.integer))
