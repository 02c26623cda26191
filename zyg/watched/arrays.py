"""Watched arrays, and views of them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from zyg.base.registry import late_rule, rules
from zyg.core import elementwise
from zyg.core.bind import bind
from zyg.core.handouts import hand_out, holds_nothing_watched
from zyg.core.indexing import read, write
from zyg.core.inplace import augment, set_shape
from zyg.core.kept import keep
from zyg.core.protection import Lent, copy_lent
from zyg.core.shortcuts import short_ways
from zyg.core.steps import Way, by_way
from zyg.core.strand import ARRAYS, WATCHED, local_or_none, strip, watcher_of
from zyg.core.views import Place, slot_of
from zyg.functions.operations import WITH_OPERATORS
from zyg.watched.attributes import Flags, attribute, define_attributes, define_methods
from zyg.watched.operators import define_by_text
from zyg.watched.value import WatchedValue, as_array, is_foreign, operator_rules


class WatchedArray(WatchedValue):
    """A watched ndarray.

    `unread`: no pullback keeps its memory, so a write has nothing to save. `viewed`: it has views.
    `versioned`: it is written to, and other tasks have used it. `locked`: its user has made it
    read-only, but not its views.
    """

    __slots__ = ("given", "locked", "unread", "versioned", "viewed")

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.primal)

    def __iter__(self) -> Iterator[Any]:
        if np.ndim(self) == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(len(self)))

    __getitem__: Any = read

    def __setitem__(self, index: Any, value: Any) -> None:
        write(self, index, value)

    def __delitem__(self, index: Any) -> None:
        raise ValueError("cannot delete array elements")  # as NumPy

    def __contains__(self, value: Any) -> bool:
        return strip(value) in strip(self)

    # NumPy and C code may read what holds nothing watched; else there are no such attributes.

    @property
    def __array_interface__(self) -> Any:
        array = self._plain_array("__array_interface__")
        # Where the strides are given, PIL does not ask for a buffer, which Python 3.11 has not.
        return {**array.__array_interface__, "strides": array.strides}

    @property
    def __array_struct__(self) -> Any:
        return self._plain_array("__array_struct__").__array_struct__

    def __buffer__(self, flags: int) -> memoryview:
        if not holds_nothing_watched(self):  # said as Python 3.11 does, which does not ask here
            raise TypeError(f"a bytes-like object is required, not {type(self).__name__!r}")
        buffer: memoryview = hand_out(self).data
        return buffer

    def _plain_array(self, asked: str) -> Any:
        if not holds_nothing_watched(self):
            raise AttributeError(f"a watched ndarray has no {asked}")
        return hand_out(self)

    def __matmul__(self, other: Any) -> Any:
        return _matmul(self, other, self)

    def __rmatmul__(self, other: Any) -> Any:
        return _matmul(other, self, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


def _matmul(a: Any, b: Any, x: Any) -> Any:
    """``a @ b``, one of which is `x`."""
    short = short_ways.get(np.matmul)
    if short is not None and (y := short(a, b)) is not None:
        return y
    foreign = is_foreign(x, b if a is x else a)
    return _foreign(operator.matmul, a, b) if foreign else bind(np.matmul, (a, b))


def _foreign(function: Any, first: Any, second: Any) -> Any:
    """An operator with an operand that is no array, a sparse matrix for one, if that has a rule."""
    rule = rules.get(function) or late_rule(function)
    return NotImplemented if rule is None else rule.function(first, second)


def _define_product(name: str, order: int) -> None:
    of_arrays = getattr(WatchedArray, name)

    def product(self: Any, other: Any) -> Any:
        y = of_arrays(self, other)
        return _foreign(operator.mul, *(self, other)[::order]) if y is NotImplemented else y

    setattr(WatchedArray, name, product)


def _define_part(name: str) -> None:
    part = functools.partial(attribute, name=name)
    setattr(WatchedArray, name, property(part, lambda x, value: write(part(x), ..., value)))


def _flat(x: Any) -> Any:
    """``x.flat``: an array of one axis of the same memory, whose parts are copies."""
    row = attribute(x, "flat")
    if type(row) not in ARRAYS:
        return row
    part, made = row[...], FlatView()
    for name in WatchedView.__slots__:
        setattr(made, name, getattr(part, name))
    return made


def _set_flat(x: Any, value: Any) -> None:
    """``x.flat = value``: fewer values are repeated, of more the first are taken."""
    flat, values = attribute(x, "flat"), as_array(value)
    if (n := np.size(strip(values))) and np.ndim(strip(values)):
        values = np.ravel(values)
        values = values if n == flat.size else values[np.arange(flat.size) % n]
    write(flat, ..., values)


_define_product("__mul__", 1)
_define_product("__rmul__", -1)


# One text for + - * /, as for numbers: what `elementwise_of_one` does of an array of float64 on the
# strand of this task and a plain number or a plain array of its shape, and `elementwise_of_two` of
# two such arrays of one shape; an outer level may watch them, too, where there are no tasks.

_SHORT_PATH = """
def __{name}__(self, other):
    strand, a, t = self.strand, self.primal, type(other)
    p = a if type(a) is ndarray else strip(a)
    ours = strand.alone and not strand.dual or a is p and local_or_none(strand) is strand
    if ours and type(p) is ndarray and p.dtype is FLOAT64 and p.ndim:
        d, j = partial, self.slot
        if t is float or t is int or t is float64:
            b = other
            saved = {saved}
        elif t is ndarray and other.dtype is FLOAT64 and other.shape == p.shape:
            b = {kept}
            saved = {saved}
        elif (
            t is WatchedArray and pullback is not None
            and other.strand is strand and not strand.dual
            and type(q := b if type(b := other.primal) is ndarray else strip(b)) is ndarray
            and q.dtype is FLOAT64 and q.shape == p.shape
        ):
            d, j, saved = pullback, None, (j, other.slot, {both})
            {unread}
        else:
            return general(self, other)
        y = WatchedArray()
        y.primal = a {symbol} b
        y.strand = strand
        y.slot = out = strand.new_slot()
        y.unread = True
        y.viewed = y.versioned = y.locked = False
        strand.note((out, None, d, j, saved))
        return y
    return general(self, other)
"""


def _define_operator(name: str, symbol: str, reads: bool, pullback: Any) -> None:
    rule = operator_rules[name]
    text = _SHORT_PATH.format(
        name=name,
        symbol=symbol,
        kept="keep(strand, other)" if reads else "other",
        saved="(None, b, None)" if reads else "None",
        both="a, b" if reads else "",
        unread="self.unread = other.unread = False" if reads else "",
    )
    scope = {
        "WatchedArray": WatchedArray, "keep": keep, "pullback": pullback, "strip": strip,
        "local_or_none": local_or_none,
        "partial": rule.partials[0], "general": getattr(WatchedArray, f"__{name}__"),
        "ndarray": np.ndarray, "float64": np.float64, "FLOAT64": np.dtype(np.float64),
    }  # fmt: skip
    define_by_text(WatchedArray, (f"__{name}__",), text, scope)


def _define_reflected(name: str) -> None:
    """What commutes with a number, which NumPy has in the same bits."""
    forward, backward = (getattr(WatchedArray, f"__{n}{name}__") for n in ("", "r"))

    def reflected(self: Any, other: Any) -> Any:
        number = type(other) is float or type(other) is int
        return (forward if number else backward)(self, other)

    setattr(WatchedArray, f"__r{name}__", reflected)


_define_operator("add", "+", False, elementwise.add_pullback)
_define_operator("sub", "-", False, elementwise.subtract_pullback)
_define_operator("mul", "*", True, elementwise.multiply_pullback)
_define_operator("truediv", "/", True, None)
_define_reflected("add")
_define_reflected("mul")
define_attributes(WatchedArray, np.ndarray)
define_methods(WatchedArray)
for _name in ("real", "imag"):
    _define_part(_name)
WatchedArray.flat = property(_flat, _set_flat)  # type: ignore[attr-defined]
WatchedArray.shape = property(functools.partial(attribute, name="shape"), set_shape)  # type: ignore[attr-defined]
WatchedArray.flags = property(Flags)  # type: ignore[attr-defined]


def _define_write(name: str) -> None:
    function, ufunc = getattr(operator, f"__{name}__"), _INPLACE[name]

    def augmented(self: Any, other: Any) -> Any:
        return augment(self, function, ufunc, other)

    setattr(WatchedArray, f"__i{name}__", augmented)


_INPLACE = {"matmul": np.matmul} | {
    row.dunder: row.function for row in WITH_OPERATORS if row.is_binary
}
for _name in _INPLACE:
    _define_write(_name)


class WatchedView(WatchedArray):
    """A view of a watched array: a part of its base, wherever the memory of the base is.

    It has a way to that part, or a place, or both. `taken` is the array and the index that it was
    read by, if it was: what ``x[a:b] += c`` assigns.
    """

    __slots__ = ("base_array", "cached", "taken", "way", "where", "whole")

    base_array: Any
    cached: Any
    taken: tuple[Any, Any]
    way: Way | None
    where: Place | None
    whole: Any

    @property
    def unread(self) -> Any:
        return self.base_array.unread

    @unread.setter
    def unread(self, value: bool) -> None:
        self.base_array.unread = value

    @property
    def primal(self) -> Any:
        whole = self.base_array.primal
        if self.whole is not whole:
            way = self.way if self.where is None else None
            self.cached = self.place.of(whole) if way is None else by_way(way, whole)
            self.whole = whole
        return self.cached

    @property
    def place(self) -> Place:
        if self.where is None:
            self.where = self.slot.place
        return self.where

    @place.setter
    def place(self, place: Place) -> None:
        self.way, self.where = None, place

    @property
    def strand(self) -> Any:  # type: ignore[override]
        return self.base_array.strand

    @property
    def slot(self) -> Any:
        return slot_of(self.base_array, self.way, self.where)


class FlatView(WatchedView):
    """What ``x.flat`` is: it has no views, as NumPy's iterators have none."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        y = read(self, index)
        return np.copy(y) if type(y) is WatchedView else y


class LentArray(WatchedArray):
    """A watched argument whose memory is the caller's until anything but a kernel asks for it.

    It is a `WatchedArray` from then on.
    """

    __slots__ = ()

    @property
    def primal(self) -> Any:
        return copy_lent(self)


_CLASSES = WatchedArray, WatchedView, FlatView, LentArray
WATCHED.update(_CLASSES)
ARRAYS.update(_CLASSES)
watcher_of[Place], watcher_of[Lent] = WatchedView, LentArray
watcher_of.update(dict.fromkeys((np.ndarray, *_CLASSES), WatchedArray))
