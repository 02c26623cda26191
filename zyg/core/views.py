"""NumPy's memory: views, and who owns what.

A view notes nothing on the tape. It is a base and a `Place`: the shape, strides and offset of the
view in the memory of its base. Its primal is that place of the base's primal; its cotangent is the
same place of the base's cotangent, the *shadow*, which a reverse run keeps in the base's layout. So
a transpose of a slice, a diagonal and the real part of a complex array are all four numbers, and a
write is seen through every view because there is one memory, in the primal and in the shadow.

An inner level's memory is an array that an outer level may watch, and so is its shadow: a place of
a watched array is a view of it. Nothing here knows how many levels there are.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from zyg.core.strand import (
    ARRAYS,
    WATCHED,
    Strand,
    Watched,
    exchange_lock,
    settle,
    strip,
    watch,
    watcher_of,
)
from zyg.errors import MutationError

_FLOAT64 = np.dtype(np.float64)

# The strand of an array that no gradient watches (yet): a buffer, or what outlived its gradient
# and was written since.
IDLE = Strand()
IDLE.close()


def float_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the cotangent of an array: its own, float64 for integers."""
    return dtype if dtype.kind in "fc" else _FLOAT64


class Place:
    """Where a view lies in the memory of its base; strides and offset are in bytes."""

    __slots__ = ("dtype", "offset", "readonly", "shape", "strides")

    def __init__(self, view: np.ndarray[Any, Any], whole: np.ndarray[Any, Any]) -> None:
        self.shape, self.strides, self.dtype = view.shape, view.strides, view.dtype
        self.offset = _address(view) - _address(whole) if view.size else 0
        self.readonly = whole.flags.writeable and not view.flags.writeable

    def of(self, whole: Any) -> Any:
        """This place of an array that has the layout of the base."""
        if type(whole) in WATCHED:
            return view(whole, self)
        memory = whole if whole.flags.c_contiguous else whole.T
        made = np.ndarray(self.shape, self.dtype, memory, self.offset, self.strides)
        if self.readonly:
            made.flags.writeable = False
        return made

    def of_shadow(self, shadow: Any, dtype: np.dtype[Any]) -> Any:
        """This place of the shadow of a base of this dtype, which can always be written.

        The items of a shadow may be larger than those of its base: float64 for int32.
        """
        scale = float_dtype(dtype).itemsize // dtype.itemsize
        if not self.readonly and self.dtype.kind in "fc":
            return self.of(shadow)
        place = copy(self)
        place.readonly, place.dtype = False, float_dtype(self.dtype)
        place.offset, place.strides = scale * self.offset, tuple(scale * s for s in self.strides)
        return place.of(shadow)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.key == other.key

    __hash__ = None  # type: ignore[assignment]

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells this place from others."""
        return tuple(getattr(self, name) for name in self.__slots__)

    @property
    def repeats(self) -> tuple[int, ...]:
        """The axes along which all elements are one: those of a broadcast view."""
        pairs = zip(self.shape, self.strides, strict=True)
        return tuple(k for k, (n, step) in enumerate(pairs) if n > 1 and step == 0)


class ViewSlot:
    """What stands for the slot of a view: the slot of its base, the base's layout, the place."""

    __slots__ = ("dtype", "order", "place", "shape", "slot")

    def __init__(self, base: Watched, place: Place) -> None:
        whole = strip(base.primal)
        self.slot, self.place = base.slot, place
        self.shape, self.dtype, self.order = whole.shape, whole.dtype, order_of(whole)


def order_of(a: np.ndarray[Any, Any]) -> Any:
    """The order of a contiguous array."""
    return "C" if a.flags.c_contiguous else "F"


def _address(a: np.ndarray[Any, Any]) -> int:
    return int(a.__array_interface__["data"][0])


def root_of(a: Any) -> Any:
    """The array that owns the memory of `a`."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


def buffer(array: Any) -> Any:
    """A new array as a buffer: it is watched as soon as a watched value is written to it."""
    if type(array) is not np.ndarray or array.dtype.kind not in "fciu":
        return array
    made = watch(IDLE, array, -1)
    made.unread = True
    return made


def like_operands(y: Any, operands: Any) -> Any:
    """A new plain array made from operands that nobody watches: a buffer, if one of them is."""
    made_of_buffers = any(type(x) in ARRAYS and base_of(x).strand is IDLE for x in operands)
    return buffer(y) if made_of_buffers else y


def base_of(x: Any) -> Any:
    """The watched array that `x` is a view of; `x` itself if it is none."""
    return getattr(x, "base_array", x)


def view(x: Any, place: Place) -> Any:
    """The view of a watched array's base at a place of it."""
    made: Any = watcher_of[Place]()
    base = base_of(x)
    made.base_array, made.place = base, place
    base.viewed = True
    if base.locked if x is base else x.place.readonly:
        place.readonly = True
    made.whole = made.cached = None
    made.taken = None, None
    return made


def lay_out(x: Any) -> Any:
    """The base of `x`, its memory contiguous, so that places of it can be given by strides."""
    base = base_of(x)
    plain = strip(base.primal)
    contiguous = plain.flags.c_contiguous or plain.flags.f_contiguous
    if not contiguous or base_of(base.primal) is not base.primal:
        with exchange_lock:  # another task may be about to write to it
            base.primal = np.copy(base.primal, order="C")
            base.strand.memory.borrowed.discard(base.slot)
    return base


def make_writable(x: Any) -> None:
    """See to it that `x` may be written: it is copied before the first write, if it is an argument
    or if an outer level keeps it. Raises NumPy's ValueError if it is read-only to its user.
    """
    base = lay_out(x)
    marked, memory = base.strand.memory, base.primal
    kept = type(memory) is np.ndarray and not memory.flags.writeable
    demand_writeable(x)
    if base.slot in marked.entangled:
        raise MutationError(
            "this array shares memory with an array of another argument, and cannot be written.",
            "the write would be seen through both arguments, whose gradients are separate.",
            "pass a copy as one of them, or both as parts of one argument.",
        )
    if kept or base.slot in marked.borrowed:
        marked.borrowed.discard(base.slot)
        base.primal = np.copy(memory, order=order_of(strip(memory)))
        base.unread = True


def is_writeable(x: Any) -> bool:
    """Whether the user may write to a watched array: what NumPy's flag of it says."""
    base = base_of(x)
    if base.slot in base.strand.memory.readonly:
        return False
    return not (base.locked if base is x else x.place.readonly)


def set_writeable(x: Any, value: bool) -> None:
    """``x.flags.writeable = value``; views that were made before keep theirs, as NumPy's do."""
    base = base_of(x)
    if base is x:
        base.locked = not value
        if value:
            base.strand.memory.readonly.discard(base.slot)
        return
    if value and not is_writeable(base):
        raise ValueError("cannot set WRITEABLE flag to True of this array")
    x.place.readonly, x.whole = not value, None


def demand_writeable(x: Any) -> None:
    """Raise NumPy's ValueError if `x` is read-only to its user."""
    if not is_writeable(x):
        raise ValueError("assignment destination is read-only")


def at_slot(bars: list[Any], slot: int | ViewSlot) -> Any:
    """The cotangent at a slot, or at the part of one that a view is."""
    if type(slot) is not ViewSlot:
        return bars[slot]  # type: ignore[index]
    whole = bars[slot.slot]
    if whole is None:
        return None
    if type(whole) is np.ndarray:
        whole = np.asarray(whole, order=slot.order)
    return slot.place.of_shadow(whole, slot.dtype)


def adopt(strand: Strand, x: Any) -> Any:
    """`x` as an operand on this strand: what has ended or was idle is watched from now on.

    An array that could be written later must be: a pullback keeps it by reference.
    """
    rest = settle(x)
    if type(rest) is not np.ndarray or type(x) not in WATCHED:
        return rest
    base = base_of(x)
    ended = base.strand is not IDLE
    base.primal = settle(base.primal)
    base.strand, base.slot = strand, strand.new_slot()
    if ended:  # its memory belongs to a pullback that may yet run
        strand.memory.borrowed.add(base.slot)
    return x


def raise_to(strand: Strand, base: Any) -> Strand:
    """Let an inner gradient's strand watch an outer one's array that was made inside of it.

    To the inner level its memory is the outer level's array, and is again when the inner one ends.
    """
    outer = watch(base.strand, base.primal, base.slot)
    outer.unread = base.unread
    base.primal, base.strand, base.slot = outer, strand, strand.new_slot()
    return strand
