"""The reverse pass: step a strand backwards, accumulate cotangents.

A run owns everything that changes: cotangents are kept in its list, indexed by slot, so the same
strand can be reversed again and by several threads at once. The first contribution to a slot is
kept by reference (rules may return arrays they do not own), the second makes a sum that the run
owns, and only such sums are added to in place.

Zero times infinity: the pass runs on plain arithmetic; only where an argument's gradient comes out
non-finite is it run again with `strong_times`, for which an exact zero stays zero through an
infinite or NaN factor. Finite programs pay nothing for it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from zyg._strand import TRACED, Strand, strip

plain_times = operator.mul
_FLOAT64 = np.dtype(np.float64)


def float_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the cotangent of an array: its own, float64 for integers."""
    return dtype if dtype.kind in "fc" else _FLOAT64


class Run:
    """One reverse pass over one strand."""

    __slots__ = ("bars", "owned", "times")

    def __init__(self, times: Callable[[Any, Any], Any]) -> None:
        self.bars: list[Any] = []
        self.owned: set[int] = set()
        self.times = times

    def add(self, slot: int, c: Any) -> None:
        """Accumulate the contribution `c`, of the shape and dtype of the slot's value."""
        have = self.bars[slot]
        if have is None:
            self.bars[slot] = c
        elif slot in self.owned and type(c) is np.ndarray:
            np.add(have, c, out=have)
        else:
            self.bars[slot] = total = have + c
            if type(total) is np.ndarray:
                self.owned.add(slot)
            else:
                self.owned.discard(slot)

    def buffer(self, slot: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """The cotangent of an array as a buffer to add parts to; None where it is watched."""
        have = self.bars[slot]
        if slot not in self.owned:
            if type(have) in TRACED:
                return None
            dtype = float_dtype(dtype)
            have = np.zeros(shape, dtype) if have is None else np.array(have, dtype)
            self.bars[slot] = have
            self.owned.add(slot)
        return have


def reverse(
    strand: Strand, seeds: Iterable[tuple[int, Any]], times: Callable[[Any, Any], Any]
) -> list[Any]:
    """The cotangents by slot, once all entries of the strand have been stepped back through."""
    run = Run(times)
    run.bars = bars = [None] * strand.new_slot()
    for slot, c in seeds:
        run.add(slot, c)
    plain = times is plain_times
    places = reversed(strand.tape)
    for b, j, a, i, out in zip(places, places, places, places, places, strict=True):
        if i is None:
            if type(out) is tuple:
                y_bar = [bars[k] for k in out]
                if all(c is None for c in y_bar):
                    continue
            else:
                y_bar = bars[out]
                if y_bar is None:
                    continue
                bars[out] = None
            if j is not None:
                c = times(y_bar, a(*b)) if b is not None else y_bar if a == 1 else times(y_bar, a)
                if bars[j] is None:
                    bars[j] = c
                else:
                    run.add(j, c)
                continue
            for slot, c in a(run, y_bar, *b):
                if bars[slot] is None:
                    bars[slot] = c
                else:
                    run.add(slot, c)
            continue
        y_bar = bars[out]
        if y_bar is not None:
            have = bars[i]
            c = y_bar * a if plain else times(y_bar, a)
            bars[i] = c if have is None else have + c
            if j is not None:
                have = bars[j]
                c = y_bar * b if plain else times(y_bar, b)
                bars[j] = c if have is None else have + c
    return bars


def strong_times(y_bar: Any, d: Any) -> Any:
    """y_bar * d, where an exact zero stays zero: 0 * inf, 0 * NaN and inf * 0 are 0.

    A NaN cotangent stays NaN through a zero derivative: it says that something went wrong.
    """
    c = y_bar * d
    g, s = strip(y_bar), strip(d)
    zero = (g == 0) | ((s == 0) & np.isinf(_float(g)))
    if not np.any(zero):
        return c
    return np.where(zero, 0.0, c) if np.ndim(c) else c * 0 if _finite(c) else 0.0


def _float(x: Any) -> Any:
    return x if isinstance(x, (np.ndarray, float, complex)) else float(x)


def _finite(c: Any) -> bool:
    return bool(np.isfinite(_float(strip(c))))


def non_finite(c: Any) -> bool:
    """Whether a cotangent has an infinite or NaN part."""
    c = strip(c)
    if isinstance(c, np.ndarray):
        return c.dtype.kind in "fc" and not np.isfinite(c.sum())
    return isinstance(c, (float, complex, np.number)) and not np.isfinite(c)
