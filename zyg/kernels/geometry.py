"""The loops of a broadcast: in which order, and which axes are run through as one.

Axes are ordered as NumPy orders them, by the strides of the operands, so that the innermost loop
steps through memory in the smallest steps; results are laid out in the same order. Axes of length 1
are left out. Neighbouring axes become one where every operand either steps through both of them
evenly, or through none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from zyg.compiler.back.compiled import Layout, Shape

_SHORT, _MANY = 256, 256  # elements of a row, and rows


class Loop(NamedTuple):
    """The axes of a broadcast, outermost first: all of them in `order`, merged in `groups`."""

    order: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    shape: Shape  # one length per group, at least one


class Strided(Protocol):
    """How an array lies in memory, be it NumPy's or a GPU's."""

    @property
    def shape(self) -> Shape: ...

    @property
    def strides(self) -> tuple[int, ...]: ...

    @property
    def ndim(self) -> int: ...


def strides_within(array: Strided, ndim: int) -> tuple[int, ...]:
    """The strides of an array that is broadcast to `ndim` axes; 0 where it is repeated."""
    own = (0 if n == 1 else s for n, s in zip(array.shape, array.strides, strict=True))
    return (0,) * (ndim - array.ndim) + tuple(own)


def spans_within(shape: Shape, ndim: int) -> tuple[bool, ...]:
    """Along which of `ndim` axes a shape is not repeated."""
    return (False,) * (ndim - len(shape)) + tuple(n != 1 for n in shape)


def loop_over(
    shape: Shape, strides: Sequence[tuple[int, ...]], spans: Sequence[tuple[bool, ...]]
) -> Loop:
    """The loop over operands of these strides, and results that are new along these axes."""
    order = _order(len(shape), strides)
    groups: list[tuple[int, ...]] = []
    for axis in (a for a in order if shape[a] != 1):
        outer, n = groups[-1][-1] if groups else axis, shape[axis]
        evenly = all(s[outer] == s[axis] * n for s in strides)
        if groups and evenly and all(s[outer] == s[axis] for s in spans):
            groups[-1] += (axis,)
        else:
            groups.append((axis,))
    lengths = [int(np.prod([shape[a] for a in group])) for group in groups]
    return Loop(order, tuple(groups), tuple(lengths)) if groups else Loop(order, ((),), (1,))


def _order(ndim: int, strides: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """NumPy's insertion sort (npyiter_find_best_axis_ordering): C order unless strides object."""
    order = list(range(ndim))
    for k in range(1, ndim):
        place = k
        for j in range(k - 1, -1, -1):
            pairs = [(abs(s[order[j]]), abs(s[order[k]])) for s in strides]
            larger = [outer < inner for outer, inner in pairs if outer and inner]
            if larger and not all(larger):
                break
            if larger:
                place = j
        order.insert(place, order.pop(k))
    return tuple(order)


def pattern(loop: Loop, steps: Sequence[int | bool]) -> str:
    """Per loop, F where an operand is followed element by element, B where it is broadcast."""
    return "".join("F" if group and steps[group[-1]] else "B" for group in loop.groups)


def layout_within(loop: Loop, array: np.ndarray, ndim: int) -> Layout:
    """Shape and strides of an array, seen in the shape of the loop."""
    steps = strides_within(array, ndim)
    letters = pattern(loop, steps)
    followed = zip(loop.groups, loop.shape, letters, strict=True)
    seen = [(n, steps[group[-1]]) if c == "F" else (1, 0) for group, n, c in followed]
    return tuple(n for n, _ in seen), tuple(s for _, s in seen)


def packed_layout(shape: Shape, itemsize: int) -> Layout:
    """Shape and strides of an array in C order."""
    return shape, tuple(itemsize * math.prod(shape[k + 1 :]) for k in range(len(shape)))


def has_short_rows(loop: Loop, patterns: Sequence[str], layouts: Sequence[Layout]) -> bool:
    """Whether two loops run through many short rows, which lie evenly or are all the same one."""
    if len(loop.shape) != 2 or loop.shape[1] > _SHORT or loop.shape[0] < _MANY:
        return False
    even = {"FF": lambda outer, inner: outer == loop.shape[1] * inner, "FB": lambda *_: False}
    return all(
        letters not in even or even[letters](*strides)
        for letters, (_, strides) in zip(patterns, layouts, strict=True)
    )
