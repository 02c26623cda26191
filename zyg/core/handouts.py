"""Plain arrays of the memory of arrays that hold nothing watched, for code that takes no others.

Who is given one sees what is written to the buffer later, as NumPy has it, and may write himself.
So while it lives, or a view of it, the buffer cannot be watched: a watched value that is written to
it is refused, and an entry keeps a copy.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from zyg.core.strand import ARRAYS, WATCHED, active, exchange_lock, has_left, settle, watched_leaves
from zyg.core.views import (
    IDLE,
    Place,
    base_of,
    buffer,
    copied,
    is_spread,
    is_writeable,
    lay_out,
    may_write,
    order_of,
    root_of,
    view,
)


class _Given:
    """Somebody holds plain arrays of a buffer's memory: it lives as long as one of them."""

    __slots__ = ("__weakref__",)


class _Owner:
    """What such an array names as the owner of its memory; views of the array hold it too."""

    __slots__ = ("__array_struct__", "array", "given")

    def __init__(self, array: np.ndarray[Any, Any], given: _Given) -> None:
        self.array, self.given = array, given
        self.__array_struct__ = array.__array_struct__


def holds_nothing_watched(x: Any) -> bool:
    """Whether a watched value, an array's or a number's, has no derivative to lose.

    It has outlived its gradient, or is a buffer to which nothing watched was written.
    """
    if has_left(x):
        return False
    if type(settle(x)) not in WATCHED:
        return True
    if type(x) not in ARRAYS:
        return False
    base = base_of(x)
    plain = type(base.primal) is np.ndarray and base.strand.alone
    return plain and base.slot in base.strand.memory.constant


def hand_out(x: Any) -> np.ndarray[Any, Any]:
    """A plain array of the memory of an array that holds nothing watched."""
    base = base_of(x)
    if base.strand is not IDLE:  # its memory belongs to a pullback that may yet run
        with exchange_lock:
            plain = settle(base.primal)
            base.primal, base.strand, base.slot = copied(plain, order_of(plain)), IDLE, -1
            base.unread = True
    reference = getattr(base, "given", None)
    given = (reference and reference()) or _Given()
    base.given = ref(given)
    array = np.asarray(_Owner(x.primal, given))
    if not is_writeable(x):
        array.flags.writeable = False
    return array


def plainly(f: Callable[..., Any], args: Any, kwargs: dict[str, Any], frame: Any = None) -> Any:
    """``f(*args, **kwargs)`` on plain values, if none is watched; else NotImplemented.

    What lies in the memory of a buffer is a view of it, and a new array is a buffer; but to SciPy,
    whose `frame` it may be that calls, both are plain, as it goes on in C code.
    """
    for x in args[0] if args and type(args[0]) in (list, tuple) else ():
        if type(x) in WATCHED and x.strand.open and type(x) not in ARRAYS:
            return NotImplemented
    given: dict[int, tuple[Any, Any]] = {}  # by their ids: plain arrays, and whose they are
    try:
        args, kwargs = _unwrapped((args, kwargs), given)
    except _WatchedError:
        return NotImplemented
    y = f(*args, **kwargs)
    of_scipy = frame is not None and frame.f_globals.get("__name__", "").startswith("scipy.")
    return y if of_scipy or not active.get() else _wrapped(y, given)


def of_buffers(
    f: Callable[..., Any], leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """``f(*args, **kwargs)`` on plain arrays, if no leaf is watched; else NotImplemented.

    The leaves are what counts as watched in the arguments, buffers perhaps; where a function holds
    one, and reads it later, it is NotImplemented, too.
    """

    def unless_held(*args: Any, **kwargs: Any) -> Any:
        return NotImplemented if watched_leaves((args, kwargs)) else f(*args, **kwargs)

    if not leaves or not all(map(holds_nothing_watched, leaves)):
        return NotImplemented
    return plainly(unless_held, args, kwargs)


class _WatchedError(Exception):
    pass


def _unwrapped(x: Any, given: dict[int, tuple[Any, Any]]) -> Any:
    if type(x) in (list, tuple):
        parts = [_unwrapped(v, given) for v in x]
        return x if all(map(operator.is_, x, parts)) else type(x)(parts)  # a list to be filled
    if type(x) is dict:
        entries = {k: _unwrapped(v, given) for k, v in x.items()}
        return x if all(map(operator.is_, x.values(), entries.values())) else entries
    if type(x) is np.ndarray:
        given[id(root_of(x))] = x, None
    elif type(x) not in WATCHED and hasattr(type(x), "__array__") and watched_leaves(x):
        y = x.__array__()  # a buffer, perhaps, which NumPy does not take for an array
        x = y if type(y) in ARRAYS else x
    if type(x) not in WATCHED:
        return x
    if not holds_nothing_watched(x):
        raise _WatchedError
    if type(x) not in ARRAYS:
        return settle(x)
    for array, whose in given.values():
        if whose is x:
            return array
    lay_out(x)
    array = hand_out(x)
    given[id(array)] = array, x
    return array


def _wrapped(y: Any, given: dict[int, tuple[Any, Any]]) -> Any:
    if type(y) in (list, tuple) or hasattr(y, "_make"):
        parts = [_wrapped(v, given) for v in y]
        return y._make(parts) if hasattr(y, "_make") else type(y)(parts)
    if type(y) is not np.ndarray:
        return y
    array, x = given.get(id(root_of(y)), (None, None))
    if array is None:
        return buffer(y)
    if x is None or y is array:
        return y if x is None else x
    place = Place(y, lay_out(x).primal)
    place.readonly = place.readonly or not may_write(y)
    place.overlaps = not (is_spread(place) or place.repeats)
    return view(x, place)
