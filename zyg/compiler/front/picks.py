"""Subscripts by arrays of ints and masks: copies of what they pick, and writes to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zyg.compiler.front.elementwise import (
    array,
    broadcast_shape,
    copied,
    demand_fits,
    may_meet,
    reads_of,
    shape_of,
    stretched,
    written,
)
from zyg.compiler.front.indexing import located, viewed
from zyg.compiler.front.scalars import WholeBuilder
from zyg.compiler.front.structures import is_leaf
from zyg.compiler.front.views import (
    Arrayed,
    ArrayView,
    Index,
    Lazy,
    counted,
    demand_equal,
    fresh,
    nest,
)
from zyg.compiler.ir import Atom, Block, Value
from zyg.compiler.layouts import Order, sorted_by
from zyg.compiler.numbers import atom_of
from zyg.errors import KernelError


class Pick:
    """What arrays of ints pick of an array: a shape, and where each of its elements is.

    `axes` of the array are picked by `arrays`, of `shape` together, whose axes come at `start`.
    """

    def __init__(self, x: ArrayView, items: Sequence[Any]) -> None:
        to = self.to = x.to
        items = _without_masks(x, items)
        places = [k for k, item in enumerate(items) if isinstance(item, Arrayed) or is_leaf(item)]
        taken = [slice(None) if k in places else item for k, item in enumerate(items)]
        self.rest = viewed(x, taken)
        self.arrays = [self._pick(items[k], self.rest.shape[k]) for k in places]
        self.axes = places
        self.shape = broadcast_shape(to, [shape_of(a) for a in self.arrays])
        together = places[-1] - places[0] == len(places) - 1
        self.start = places[0] if together else 0
        kept = [n for k, n in enumerate(self.rest.shape) if k not in self.axes]
        self.whole = (*kept[: self.start], *self.shape, *kept[self.start :])
        self._demand_used(kept)
        self.order = self._order([r for k, r in enumerate(self.rest.ranks) if k not in places])

    def _pick(self, item: Any, n: Atom) -> Any:
        """An array of ints, each to be checked where it is used; or one, which is now."""
        return item if isinstance(item, Arrayed) else located(self.to, atom_of(item), n)

    def _demand_used(self, kept: Sequence[Atom]) -> None:
        """Stop where no element is picked by an index, which NumPy checks all the same."""
        to = self.to
        some = to.op("not_equal", to.product(kept), 0)
        none = to.op("equal", to.product(self.shape), 0)
        to.check(to.op("logical_or", some, none), "an index of no elements")

    def _order(self, ranks: Sequence[int | None]) -> Order:
        """That of what is picked: first come the axes of the arrays of ints."""
        end = self.start + len(self.shape)
        others = [k for k in range(len(self.whole)) if not self.start <= k < end]
        after = sorted_by(tuple(ranks))
        return (*range(self.start, end), *(others[k] for k in after))

    def index(self, index: Index) -> list[Atom]:
        """Where in `rest` the element of an index is; checks it."""
        end = self.start + len(self.shape)
        inner = index[self.start : end]
        others = [*index[: self.start], *index[end:]]
        found: list[Atom] = []
        for axis, n in enumerate(self.rest.shape):
            if axis in self.axes:
                k = self.arrays[self.axes.index(axis)]
                if isinstance(k, Arrayed):
                    k = located(self.to, atom_of(stretched(self.to, k, inner)), n)
                found.append(k)
            else:
                found.append(others.pop(0))
        return found


def _without_masks(x: ArrayView, items: Sequence[Any]) -> list[Any]:
    """Arrays of ints instead of masks, which must be of the shape of the axes that they take."""
    found: list[Any] = []
    axis = 0
    for item in items:
        if isinstance(item, ArrayView) and item.element == "bool":
            for n, m in zip(x.shape[axis:], item.shape, strict=False):
                demand_equal(x.to, n, m)
            axis += item.ndim
            found += places_of(item)
            continue
        if isinstance(item, Arrayed) and item.element != "int":
            raise IndexError(f"an array of {item.element} is not an index")
        axis += item is not None
        found.append(item)
    return found


def places_of(mask: ArrayView) -> list[ArrayView]:
    """Where a mask is true: an array of ints for each axis, as np.nonzero gives them."""
    to = mask.to
    count = counted_in(mask)
    found = [fresh(to, "int", (count,)) for _ in mask.shape]

    def note(index: list[Atom], at: Atom) -> Atom:
        with to.inside(Block()) as then:
            for row, k in zip(found, index, strict=True):
                to.store(row.buffer, at, k)
            then.yields = [to.op("add", at, 1)]
        return to.branch(atom_of(mask.at(index)), then, Block([], [at]))[0]

    through(to, mask.shape, 0, note)
    return found


def counted_in(mask: ArrayView) -> Atom:
    """How many elements of a mask are true."""
    to = mask.to

    def one(index: list[Atom], n: Atom) -> Atom:
        return to.op("add", n, to.op("int", atom_of(mask.at(index))))

    count = through(to, mask.shape, 0, one)
    to.is_extent(count)
    return count


def through(
    to: WholeBuilder,
    shape: Sequence[Atom],
    first: Atom,
    step: Callable[[list[Atom], Atom], Atom],
    index: tuple[Atom, ...] = (),
) -> Atom:
    """What is carried through all indices of a shape, in order."""
    if len(index) == len(shape):
        return step([*index], first)

    def inner(k: Value, carried: list[Any]) -> Sequence[Atom]:
        return [through(to, shape, carried[0], step, (*index, k))]

    return counted(to, shape[len(index)], [first], inner)[0]


def picked(x: ArrayView, items: Sequence[Any]) -> Any:
    """What arrays of ints pick: a new array, not computed yet."""
    pick = Pick(x, items)
    if not pick.whole:
        return pick.rest.at(pick.index(()))
    reads = [x, *reads_of(pick.arrays)]
    at = lambda index: pick.rest.at(pick.index(index))  # noqa: E731
    return array(Lazy(x.to, pick.whole, x.element, at, reads, order=pick.order))


def store(x: ArrayView, items: Sequence[Any], value: Any) -> None:
    """``x[items] = value``: in order, so that the last of several holds."""
    _write(x, items, value, lambda was, v: v)


def ufunc_at(name: str, x: ArrayView, items: Sequence[Any], value: Any) -> None:
    """``np.add.at(x, items, value)``: places that are named twice are added to twice."""
    _write(x, items, value, lambda was, v: x.to.ufunc(name, was(), v))


def _write(
    x: ArrayView, items: Sequence[Any], value: Any, made: Callable[[Callable[[], Any], Any], Any]
) -> None:
    """Set what is picked, in order, to what is made of what was there and of a value."""
    pick = Pick(x, items)
    to = x.to
    _demand_fits(to, pick.whole, value)
    if any(may_meet(x, y) for y in reads_of([value])):
        value = copied(value)

    def one(index: list[Atom]) -> None:
        at = pick.index(index)
        pick.rest.store(at, made(lambda: pick.rest.at(at), stretched(to, value, index)))

    nest(to, pick.whole, one, independent=False)
    written(x)


def _demand_fits(to: WholeBuilder, shape: Sequence[Atom], value: Any) -> None:
    own = shape_of(value)
    if len(own) > len(shape):
        raise KernelError(
            "an array of more axes than it is assigned to is not compiled.",
            "the target has fewer axes.", "take an index of the first axes.",
        )  # fmt: skip
    for n, m in zip(shape[::-1], own[::-1], strict=False):
        demand_fits(to, n, m)
