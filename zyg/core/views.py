"""NumPy's memory: views, and who owns what.

A view notes nothing on the tape. It is a base and a `Place`: the shape, strides and offset of the
view in the memory of its base. Its primal is that place of the base's primal; its cotangent is the
same place of the base's cotangent, the *shadow*, which a reverse run keeps in the base's layout. So
a transpose of a slice, a diagonal and the real part of a complex array are all four numbers, and a
write is seen through every view because there is one memory, in the primal and in the shadow.

Most views are a slice, a transpose or a reshape of an array in C order. Of these, a `Way` says how
they were got, by which the same part of any array in that order is got; their place is worked out
when somebody asks for it.

An inner level's memory is an array that an outer level may watch, and so is its shadow: a place of
a watched array is a view of it. Nothing here knows how many levels there are.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from zyg.base.marks import formulas
from zyg.base.registry import adjoint
from zyg.core.steps import Way, by_way, steps_of
from zyg.core.strand import (
    ARRAYS,
    WATCHED,
    Strand,
    Watched,
    active,
    exchange_lock,
    settle,
    strip,
    watch,
    watcher_of,
)
from zyg.errors import MutationError

_FLOAT64, _WRITEABLE = np.dtype(np.float64), 0x400  # NumPy's flag of that name

# The strand of an array that no gradient watches (yet): a buffer, or what outlived its gradient
# and was written since.
IDLE = Strand()
IDLE.close()


def float_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the cotangent of an array: its own, float64 for integers."""
    return dtype if dtype.kind in "fc" else _FLOAT64


def may_write(array: np.ndarray[Any, Any]) -> bool:
    """``array.flags.writeable``, which warns of what np.broadcast_arrays made."""
    return bool(array.flags.num & _WRITEABLE)


class Place:
    """Where a view lies in the memory of its base; strides and offset are in bytes.

    `overlaps`: some of its elements may be one, other than along the axes of a broadcast view.
    """

    __slots__ = ("dtype", "offset", "overlaps", "readonly", "shape", "strides")

    def __init__(self, view: np.ndarray[Any, Any], whole: np.ndarray[Any, Any]) -> None:
        self.shape, self.strides, self.dtype = view.shape, view.strides, view.dtype
        self.offset = address_of(view) - address_of(whole) if view.size else 0
        self.readonly = may_write(whole) and not may_write(view)
        self.overlaps = False

    def of(self, whole: Any) -> Any:
        """This place of an array that has the layout of the base."""
        if type(whole) in WATCHED:
            return view(whole, self)
        memory, offset = whole if whole.flags.c_contiguous else whole.T, self.offset
        if not memory.flags.c_contiguous:
            memory = memory_of(whole)
            offset += address_of(whole) - address_of(memory)
        made = np.ndarray(self.shape, self.dtype, memory, offset, self.strides)
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

    def line(self) -> tuple[Place, Any]:
        """The memory that it lies in, as a place of one axis; where in it each element lies."""
        steps = np.indices(self.shape, sparse=True)
        where = sum((s * k for s, k in zip(self.strides, steps, strict=True)), np.array(0))
        line, first, size = copy(self), np.min(where), self.dtype.itemsize
        line.shape, line.strides = (int(np.max(where) - first) // size + 1,), (size,)
        line.offset, line.readonly, line.overlaps = self.offset + int(first), False, False
        return line, (where - first) // size


def is_spread(a: Place | np.ndarray[Any, Any]) -> bool:
    """Whether all elements have memory of their own, as can be told from the strides."""
    end = a.dtype.itemsize
    for step, n in sorted([(abs(s), n) for n, s in zip(a.shape, a.strides, strict=True) if n > 1]):
        if step < end:
            return False
        end = step * n
    return True


class ViewSlot:
    """What stands for the slot of a view: the slot of its base, the base's layout, way and place.

    It does not hold the memory of the base, which may go before the entries that have the slot.
    """

    __slots__ = ("dtype", "order", "shape", "slot", "way", "where")

    dtype: np.dtype[Any]
    order: Any
    shape: tuple[int, ...]
    slot: Any
    way: Way | None
    where: Place | None

    @property
    def place(self) -> Place:
        if self.where is None:
            way: Any = self.way
            whole = np.empty(steps_of(way)[-1][4], self.dtype)
            self.where = Place(by_way(way, whole), whole)
        return self.where

    def repeats(self) -> bool:
        """Whether several elements of the view are one."""
        return self.way is None and bool(self.place.overlaps or self.place.repeats)

    def of_shadow(self, shadow: Any) -> Any:
        """The part of the base's cotangent that is the view's."""
        way = self.way
        return self.place.of_shadow(shadow, self.dtype) if way is None else by_way(way, shadow)


def slot_of(base: Watched, way: Way | None, place: Place | None) -> ViewSlot:
    """The slot of a view. A function, because a class with one of its own costs twice as much."""
    made, whole = ViewSlot(), base.primal
    if type(whole) is not np.ndarray:
        whole = strip(whole)
    made.slot, made.way, made.where = base.slot, way, place
    made.shape, made.dtype = whole.shape, whole.dtype
    made.order = order_of(whole) if way is None else "C"
    return made


def address_of(a: np.ndarray[Any, Any]) -> int:
    """Where the first element of an array lies."""
    return int(a.__array_interface__["data"][0])


# Orders: what decides whether NumPy answers with a view or a copy, and in which order a result
# lies. "C", "F", or else the strides of an array in items: those of the array itself, but with
# gaps of one item only, so that a base has little more memory than elements.


def order_of(a: np.ndarray[Any, Any]) -> Any:
    """The order of an array; broadcast axes are where ufuncs have them in what they make of it."""
    flags = a.flags
    if flags.c_contiguous:
        return "C"
    if flags.f_contiguous:
        return "F"
    order, step, end, before = [1] * a.ndim, 2, 1, a.itemsize
    result = np.equal(a, a) if is_broadcast(a) else a
    longest = sorted(range(a.ndim), key=lambda k: -abs(result.strides[k]))
    for k in reversed(longest):
        if a.shape[k] > 1:
            stride = abs(a.strides[k])
            step = end if stride == before else end + 1
            order[k] = -step if a.strides[k] < 0 else step
            end, before = step * a.shape[k], stride * a.shape[k]
    return tuple(order)


def lies_in(a: np.ndarray[Any, Any], order: Any) -> bool:
    """Whether an array lies in this order, so that places of it can be given by strides."""
    if type(order) is str:
        return a.flags.c_contiguous if order == "C" else a.flags.f_contiguous
    steps = zip(a.shape, a.strides, order, strict=True)
    return all(n < 2 or s == k * a.itemsize for n, s, k in steps) and memory_of(a) is not None


def memory_of(a: np.ndarray[Any, Any]) -> Any:
    """The memory that an array lies in as one block; None if it is a part of another's."""
    base = a.base
    if type(base) is np.ndarray and base.ndim == 1 and base.flags.c_contiguous:
        return base
    block = a.transpose(sorted(range(a.ndim), key=lambda k: -a.strides[k]))
    return block if block.flags.c_contiguous else None


def once(a: Any) -> Any:
    """An array without the repeats of what is broadcast."""
    return a[tuple([slice(0, 1) if step == 0 else slice(None) for step in strip(a).strides])]


def is_broadcast(a: np.ndarray[Any, Any]) -> bool:
    """Whether an array has an axis along which all elements are one."""
    return not a.flags.forc and any(
        n > 1 and not step for n, step in zip(a.shape, a.strides, strict=True)
    )


def zeros_in(
    shape: tuple[int, ...], dtype: np.dtype[Any], order: Any, make: Callable[..., Any] = np.zeros
) -> Any:
    """Zeros in this order, or what `make` makes."""
    if order in ("C", "F"):
        return make(shape, dtype, order)
    ends = [k * (n - 1) for n, k in zip(shape, order, strict=True)]
    first = -sum(min(k, 0) for k in ends)
    block = make(first + sum(max(k, 0) for k in ends) + 1, dtype)
    steps = [k * dtype.itemsize for k in order]
    return np.ndarray(shape, dtype, block, first * dtype.itemsize, steps)


def copied(a: Any, order: Any) -> Any:
    """A copy of an array, watched or not, that lies in this order."""
    if order in ("C", "F"):
        return np.copy(a, order)
    if type(a) in WATCHED:
        return _relaid(a, order)
    made = zeros_in(a.shape, a.dtype, order, np.empty)
    made[...] = a
    return made


@adjoint
def _relaid(a: Any, order: Any) -> Any:
    def relaid_pullback(y_bar: Any) -> Any:
        return y_bar, None

    return copied(a, order), relaid_pullback


_relaid.linear = (0,)
formulas("zyg.core")  # it computes with any elements


def root_of(a: Any) -> Any:
    """The array that owns the memory of `a`; what np.lib.stride_tricks makes holds it in another
    object."""
    while isinstance(a.base, np.ndarray) or isinstance(getattr(a.base, "base", None), np.ndarray):
        a = a.base
    return a


def buffer(array: Any) -> Any:
    """A new array as a buffer: it is watched as soon as a watched value is written to it."""
    if type(array) is not np.ndarray:
        return array
    dtype = array.dtype
    if dtype is not _FLOAT64 and dtype.kind not in "fciu":
        return array
    made: Any = watcher_of[np.ndarray]()
    made.primal, made.strand, made.slot = array, IDLE, -1
    made.unread = True
    made.viewed = made.versioned = made.locked = False
    return made


def like_operands(y: Any, operands: Any) -> Any:
    """A new plain array made from operands that nobody watches: a buffer, if one of them is.

    Outside of a gradient there are none: what was one is an array as any other.
    """
    made_of_buffers = any(type(x) in ARRAYS and base_of(x).strand is IDLE for x in operands)
    return buffer(y) if made_of_buffers and active.get() else y


def base_of(x: Any) -> Any:
    """The watched array that `x` is a view of; `x` itself if it is none."""
    return getattr(x, "base_array", x)


def view(x: Any, place: Place) -> Any:
    """The view of a watched array's base at a place of it."""
    made: Any = watcher_of[Place]()
    base = base_of(x)
    made.base_array, made.place = base, place
    base.viewed = True
    if x is base:
        if base.locked:
            place.readonly = True
    else:
        place.readonly = place.readonly or x.place.readonly
        place.overlaps = x.place.overlaps and not is_spread(place)
    made.whole = made.cached = None
    made.taken = None, None
    return made


def lay_out(x: Any) -> Any:
    """The base of `x`, its memory one block, so that places of it can be given by strides."""
    base = base_of(x)
    plain = strip(base.primal)
    order = order_of(plain)
    if not lies_in(plain, order) or base_of(base.primal) is not base.primal:
        with exchange_lock:  # another task may be about to write to it
            base.primal = copied(base.primal, order)
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
            "elements of this array share memory with others of it, or of another argument: it "
            "cannot be written.",
            "the write would be seen through both, whose gradients are separate.",
            "pass a copy, or arrays that share memory as parts of one argument.",
        )
    if kept or base.slot in marked.borrowed:
        marked.borrowed.discard(base.slot)
        base.primal = copied(memory, order_of(strip(memory)))
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


def laid_out(a: Any, part: ViewSlot) -> Any:
    """A cotangent or a tangent of the base of a view, as memory in which the view has its place.

    It lies as the base does, and is of its dtype: an entry may have noted a slope that is wider.
    """
    dense = type(a) is np.ndarray and a.flags.c_contiguous and part.order == "C"
    if dense and a.dtype is part.dtype is _FLOAT64:
        return a
    plain, dtype = strip(a), float_dtype(part.dtype)
    fits = isinstance(plain, np.ndarray) and plain.dtype == dtype and lies_in(plain, part.order)
    if base_of(a) is a and fits:
        return a
    return copied(a if plain.dtype == dtype else np.astype(a, dtype), part.order)


def at_slot(bars: list[Any], slot: int | ViewSlot) -> Any:
    """The cotangent at a slot, or at the part of one that a view is."""
    if type(slot) is not ViewSlot:
        return bars[slot]  # type: ignore[index]
    whole = bars[slot.slot]
    return None if whole is None else slot.of_shadow(laid_out(whole, slot))


def adopt(strand: Strand, x: Any) -> Any:
    """`x` as an operand on this strand: what has ended or was idle is watched from now on.

    An array that could be written later must be: a pullback keeps it by reference.
    """
    rest = settle(x)
    if type(rest) is not np.ndarray or type(x) not in WATCHED:
        return rest
    base = base_of(x)
    if is_given(base):
        return np.copy(rest)  # who has it may write to it
    ended = base.strand is not IDLE
    base.primal = settle(base.primal)
    base.strand, base.slot = strand, strand.new_slot()
    strand.memory.constant.add(base.slot)
    if ended:  # its memory belongs to a pullback that may yet run
        strand.memory.borrowed.add(base.slot)
    return x


def is_given(base: Any) -> bool:
    """Whether somebody holds a plain array of a buffer's memory: see `handouts`."""
    reference = getattr(base, "given", None)
    return reference is not None and reference() is not None


def raise_to(strand: Strand, base: Any) -> Strand:
    """Let an inner gradient's strand watch an outer one's array that was made inside of it.

    To the inner level its memory is the outer level's array, and is again when the inner one ends.
    """
    outer = watch(base.strand, base.primal, base.slot)
    outer.unread = base.unread
    base.primal, base.strand, base.slot = outer, strand, strand.new_slot()
    return strand
