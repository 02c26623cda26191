"""Reading parts of watched arrays.

The cotangent of a read is added in place to the part that was read: `x[i]` costs what it touches,
in both passes, and a loop over the elements of an array costs the same per element whatever its
size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zyg._bind import note
from zyg._registry import adjoint
from zyg._reverse import Run, float_dtype
from zyg._strand import TRACED, strip


def read(x: Any, index: Any) -> Any:
    """``x[index]`` of a watched array; the index carries nothing."""
    strand, slot, primal = x.strand, x.slot, x.primal
    basic = type(index) is int
    if not basic:
        index = _frozen(index)
        basic = _is_basic(index)
    if not strand.open:
        return primal[index]
    return note(
        strand, primal[index], _read_pullback, slot, index, basic, primal.shape, primal.dtype
    )


def _read_pullback(
    run: Run, y_bar: Any, slot: int, index: Any, basic: bool, shape: Any, dtype: Any
) -> Any:
    buffer = run.bars[slot] if slot in run.owned else run.buffer(slot, shape, dtype)
    if buffer is None or type(y_bar) in TRACED:
        return ((slot, scattered(y_bar, index, shape, float_dtype(dtype))),)
    if basic:
        buffer[index] += y_bar
    else:
        np.add.at(buffer, index, y_bar)
    return ()


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
        return bool(index.dtype.kind == "b")
    return index is None or index is Ellipsis or isinstance(index, (int, slice, np.integer))
