"""Subscripts of arrays: numbers, slices, None and the ellipsis give views, all checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zyg.compiler.front.conversions import as_array
from zyg.compiler.front.elementwise import array
from zyg.compiler.front.scalars import WholeBuilder
from zyg.compiler.front.structures import is_leaf
from zyg.compiler.front.views import Arrayed, ArrayView, wide
from zyg.compiler.ir import Atom, Value, is_number, type_of
from zyg.compiler.numbers import atom_of

_BEYOND = "an index out of range"


def items_of(to: WholeBuilder, index: Any, ndim: int) -> list[Any]:
    """The parts of an index, one for each axis, and what stands between."""
    items = [_item(to, x) for x in (index if isinstance(index, tuple) else (index,))]
    axes = sum(_axes(x) for x in items)
    if axes > ndim:
        raise IndexError(f"{axes} indices for an array of {ndim} axes")
    rest = [slice(None)] * (ndim - axes)
    places = [k for k, x in enumerate(items) if x is Ellipsis]
    if len(places) > 1:
        raise IndexError("more than one ellipsis")
    k = places[0] if places else len(items)
    return [*items[:k], *rest, *items[k + 1 :]]


def _item(to: WholeBuilder, x: Any) -> Any:
    if isinstance(x, list):
        return as_array(to, x)
    if isinstance(x, slice):
        return slice(*map(wide, (x.start, x.stop, x.step)))
    return array(wide(x))


def _axes(x: Any) -> int:
    """How many axes a part of an index takes."""
    if isinstance(x, ArrayView) and x.element == "bool":
        return x.ndim
    return 0 if x is None or x is Ellipsis else 1


def is_basic(items: Sequence[Any]) -> bool:
    """Whether an index gives a view."""
    return all(x is None or isinstance(x, slice) or _is_int(x) for x in items)


def _is_int(x: Any) -> bool:
    if not is_leaf(x):
        return False
    if (kind := type_of(atom_of(x))) != "int":
        raise IndexError(f"a {kind} is not an index")
    return True


def viewed(x: ArrayView, items: Sequence[Any]) -> ArrayView:
    """The elements that an index of numbers and slices picks."""
    to, axis, offset = x.to, 0, x.offset
    shape: list[Atom] = []
    strides: list[Atom] = []
    ranks: list[int | None] = []
    for item in items:
        if item is None:
            shape.append(1)
            strides.append(0)
            ranks.append(None)
            continue
        n, stride, rank = x.shape[axis], x.strides[axis], x.ranks[axis]
        axis += 1
        if isinstance(item, slice):
            start, step, length = sliced(to, item, n)
            shape.append(length)
            strides.append(to.op("multiply", stride, step))
            ranks.append(rank)
        else:
            start = located(to, atom_of(item), n)
        offset = to.op("add", offset, to.op("multiply", start, stride))
    return x.view(shape, strides, offset, ranks)


def located(to: WholeBuilder, k: Atom, n: Atom) -> Atom:
    """An index from the front, after a check that there is such an element."""
    if to.is_at_least(k, 0):
        to.demand_at_least(n, to.op("add", k, 1), _BEYOND)
        return k
    behind = to.op("add", k, n)
    to.demand_at_least(behind, 0, _BEYOND)
    if to.is_at_least(-1, k):
        return behind
    to.demand_at_least(n, to.op("add", k, 1), _BEYOND)
    return to.op("select", to.op("less", k, 0), behind, k)


def sliced(to: WholeBuilder, s: slice, n: Atom) -> tuple[Atom, Atom, Atom]:
    """First index, step and length of a slice of `n` elements."""
    step = 1 if s.step is None else atom_of(s.step)
    if isinstance(step, Value) or step == 0:
        raise ValueError("a slice whose step is computed, or zero, is not compiled")
    if step > 0:
        start = _bound(to, s.start, n, 0, n, 0)
        stop = _bound(to, s.stop, n, 0, n, n)
        span = to.op("subtract", stop, start)
    else:
        last = to.op("subtract", n, 1)
        start = _bound(to, s.start, n, -1, last, last)
        stop = _bound(to, s.stop, n, -1, last, -1)
        span = to.op("subtract", start, stop)
    stride = int(abs(step))
    if not isinstance(span, Value):
        span = max(span, 0)
    elif not to.is_at_least(span, 0):
        if all(x is None or is_number(x) for x in (s.start, s.stop)) and to.assume():
            to.demand_at_least(span, 0, "a slice of more elements than there are")
        else:
            span = to.op("maximum", span, 0)
    if stride != 1:
        span = to.op("floor_divide", to.op("add", span, stride - 1), stride)
    return start, int(step), span


def _bound(to: WholeBuilder, given: Any, n: Atom, least: Atom, most: Atom, usual: Atom) -> Atom:
    """A bound of a slice, from the front.

    Of one that is a number in the text it is assumed that the array has so many elements, so that
    extents stay sums.
    """
    if given is None:
        return usual
    k = atom_of(given)
    if type_of(k) != "int":
        raise TypeError("a bound of a slice is an int")
    if not isinstance(k, Value) and isinstance(n, Value) and (
        to.is_at_least(n, abs(k)) or to.assume()
    ):  # fmt: skip
        to.demand_at_least(n, abs(k), "a slice of more elements than there are")
        k = k if k >= 0 else to.op("add", n, k)
    elif not to.is_at_least(k, 0):
        negative = to.op("less", k, 0)
        k = to.op("select", negative, to.op("add", k, n), k)
        k = to.op("maximum", k, least)
    return k if to.is_at_least(most, k) else to.op("minimum", k, most)


def rows(x: Arrayed) -> tuple[Atom, Any]:
    """How many rows an array has, and what the row of an index is."""
    view = array(x)
    if not view.shape:
        raise TypeError("iteration over an array without axes")
    rest = [slice(None)] * (view.ndim - 1)
    return view.shape[0], lambda k: picked(view, [_number(view.to, k), *rest])


def _number(to: WholeBuilder, k: Any) -> Any:
    return to.number(k, True) if isinstance(k, Value) else k


def picked(x: ArrayView, items: Sequence[Any]) -> Any:
    """A view, or a number where every axis has its index."""
    found = viewed(x, items)
    whole = any(y is None or isinstance(y, slice) for y in items)
    return found if whole else found.at(())
