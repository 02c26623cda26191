"""The steps by which a view is got from an array in C order, and those back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.core.strand import strip

# How a view is got from a base in C order: the view that it is a view of, None if that is the base;
# a function, and what it is given besides that array; for one whose result has all elements, the
# function that undoes it, which is given the shape before. A chain of tuples: there may be many
# steps where views of views are made in a loop, and an object of one's own costs as much as a step.
Way = tuple[Any, Callable[[Any, Any], Any], Any, Callable[[Any, Any], Any] | None, tuple[int, ...]]


def steps_of(way: Way) -> list[Way]:
    """The steps of a way, the last one first."""
    steps = [way]
    while (before := steps[-1][0]) is not None:
        steps.append(before)
    return steps


def by_way(way: Way, whole: Any) -> Any:
    """The same part of an array with the memory layout of the base, watched or not."""
    before, function, given, _, shape = way
    if before is None and type(whole) is np.ndarray and whole.shape == shape:
        return function(whole, given)
    steps = steps_of(way)
    shape = steps[-1][4]
    a = whole if strip(whole).shape == shape else whole.reshape(shape)
    for _, function, given, _, _ in reversed(steps):
        a = function(a, given)
    return a


def back_by_way(way: Way | None, c: Any) -> Any:
    """The cotangent of the base, from that of a view that has all of its elements, or None."""
    while way is not None:
        way, _, _, undo, shape = way
        if undo is None:
            return None
        c = undo(c, shape)
    return c
