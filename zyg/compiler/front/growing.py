"""Lists whose length is not known while reading: columns of memory, which grow by doubling.

All elements are of one structure: a number, a tuple of numbers, an array. Each number of it has a
column, a buffer; so have the buffers of arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from zyg.compiler.builder import Builder, wider
from zyg.compiler.front.mixed import (
    Mixed,
    all_kinds,
    as_mixed,
    held_in,
    is_scalar,
    kinds_of,
    type_for,
)
from zyg.compiler.front.structures import Compound, Different, Items, children, is_leaf, split
from zyg.compiler.ir import Atom, Block, For, element_of, type_of
from zyg.compiler.numbers import Number, atom_of

_LEAST = 8  # elements that a list is begun with


class Growing(Compound):
    """The items of a list: their count, how many there is room for, a buffer per number of each."""

    def __init__(self, element: Any, parts: Sequence[Any]) -> None:
        self.element = element  # one like all others
        self.count, self.room, *self.columns = parts

    def structure(self) -> Any:
        return key_of(self.element)

    def parts(self) -> list[Any]:
        return [self.count, self.room, *self.columns]

    def made(self, parts: Sequence[Any]) -> Growing:
        return Growing(self.element, parts)


def key_of(x: Any) -> Any:
    """What is alike in all elements of a list in memory."""
    if is_leaf(x):
        return "number"
    inner = children(x)
    if inner is None:
        return id(x)
    return inner[0], *map(key_of, inner[1])


def _common(to: Builder, a: Any, b: Any) -> Any:
    """One like both of two elements: of all kinds that their numbers are of."""
    if to.whole and is_scalar(a) and is_scalar(b):
        kinds, held = all_kinds(a, b), type_for(a, b)
        if kinds_of(a) == kinds and held_in(getattr(a, "number", a)) == held:
            return a
        with to.inside(Block()):  # a pattern, which is not computed
            return as_mixed(to, a, kinds, held)
    inner, others = children(a), children(b)
    if inner is None or others is None or inner[0] != others[0]:
        if key_of(a) == key_of(b):
            return a
        raise Different
    return inner[2]([_common(to, *pair) for pair in zip(inner[1], others[1], strict=True)])


def _as_common(to: Builder, x: Any, like: Any) -> Any:
    """An element, as one of all kinds that those of a list are of."""
    if isinstance(like, Mixed):
        return as_mixed(to, x, like.kinds, held_in(like.number))
    inner = None if is_scalar(x) else children(x)
    if inner is None:
        return x
    others: Any = children(like)
    pairs = zip(inner[1], others[1], strict=True)
    return inner[2]([_as_common(to, y, other) for y, other in pairs])


def leaves_of(x: Any) -> list[Any]:
    found: list[Any] = []
    split(x, found)
    return found


def promoted(to: Builder, items: Any, other: Any = ()) -> Growing:
    """Items, known one by one, in memory; `other` shows an element where there is none."""
    if isinstance(items, Growing):
        return items
    if not isinstance(items, Items) or not to.whole:
        raise Different  # a kernel has no memory
    samples = [*items] or ([other.element] if isinstance(other, Growing) else [*other])
    if not samples or not leaves_of(samples[0]):
        raise Different  # of nothing, or of nothing but what is known
    common = functools.reduce(functools.partial(_common, to), samples)
    rows = [leaves_of(_as_common(to, x, common)) for x in samples]
    kinds = [type_of(atom_of(x)) for x in rows[0]]
    for row in rows[1:]:
        kinds = [_wider(kind, type_of(atom_of(x))) for kind, x in zip(kinds, row, strict=True)]
    room = max(len(items), _LEAST)
    columns = [to.wrap(to.alloc(kind, room)) for kind in kinds]
    made = Growing(common, [len(items), room, *columns])
    for k, item in enumerate(items):
        put(to, made, k, item)
    return made


def _wider(a: str, b: str) -> str:
    if a != b and "]" in a + b:
        raise Different
    return wider(a, b)


def grown(to: Builder, x: Growing, like: Growing) -> Growing:
    """`x`, with columns as wide as those of another, of all kinds that the two are of."""
    x = _of_kinds(to, x, _common(to, x.element, like.element))
    like = like if key_of(like.element) == key_of(x.element) else x
    return _widened(to, x, [element_of(c.atom.type) for c in like.columns])


def _widened(to: Builder, x: Growing, kinds: Sequence[str]) -> Growing:
    """`x`, with columns that are as wide as these types."""
    columns = []
    for column, other in zip(x.columns, kinds, strict=True):
        kind = element_of(column.atom.type)
        wide = _wider(kind, other)
        columns.append(column if wide == kind else _copied(to, column, wide, x.room, 0, x.count))
    return x.made([x.count, x.room, *columns])


def _of_kinds(to: Builder, x: Growing, element: Any) -> Growing:
    """`x`, with columns for elements like this one, of more kinds."""
    if key_of(x.element) == key_of(element):
        return x
    columns = [to.wrap(to.alloc(type_of(atom_of(leaf)), atom_of(x.room)))
               for leaf in leaves_of(element)]  # fmt: skip
    made = Growing(element, [x.count, x.room, *columns])
    with to.each(atom_of(x.count), independent=False) as index:
        put(to, made, index, at(to, x, index))
    return made


def _copied(to: Builder, column: Number, kind: str, room: Any, start: Any, count: Any) -> Number:
    """A column of another type, or with more room."""
    new = to.alloc(kind, atom_of(room))
    with to.each(atom_of(count), independent=False) as index:
        x = to.load(column.atom, to.op("add", index, atom_of(start)))
        to.store(new, index, x)
    return to.wrap(new)  # type: ignore[no-any-return]


def at(to: Builder, x: Growing, index: Atom) -> Any:
    """The element at an index, which is within bounds."""
    found: list[Any] = []
    make = split(x.element, found)
    loaded = [
        to.like(to.load(column.atom, index), like)
        for column, like in zip(x.columns, found, strict=True)
    ]
    return make(loaded)


def fitting(to: Builder, x: Growing, value: Any) -> Growing:
    """`x`, with columns that can hold a value."""
    x = _of_kinds(to, x, _common(to, x.element, value))
    leaves = leaves_of(_as_common(to, value, x.element))
    return _widened(to, x, [type_of(atom_of(leaf)) for leaf in leaves])


def put(to: Builder, x: Growing, index: Atom, value: Any) -> None:
    """Set the element at an index."""
    value = _as_common(to, value, x.element)
    for column, leaf in zip(x.columns, leaves_of(value), strict=True):
        to.store(column.atom, index, atom_of(leaf))


def appended(to: Builder, x: Growing, value: Any) -> Growing:
    """With one element more that fits; where there is no room, in memory twice as large."""
    count, room = atom_of(x.count), atom_of(x.room)
    with to.inside(Block()) as more:
        twice = to.op("multiply", room, 2)
        columns = [
            _copied(to, c, element_of(c.atom.type), to.wrap(twice), 0, x.count) for c in x.columns
        ]
        more.yields = [twice, *(c.atom for c in columns)]
    enough = Block(yields=[room, *(c.atom for c in x.columns)])
    full = to.op("equal", count, room)
    room, *buffers = to.branch(full, more, enough)
    x = Growing(x.element, [x.count, *map(to.wrap, (room, *buffers))])
    put(to, x, count, value)
    return Growing(x.element, [to.wrap(to.op("add", count, 1)), x.room, *x.columns])


def sliced(to: Builder, x: Growing, start: Any, count: Any) -> Growing:
    """A list of its own, of some elements in a row."""
    room = to.wrap(to.op("maximum", atom_of(count), _LEAST))
    columns = [_copied(to, c, element_of(c.atom.type), room, start, count) for c in x.columns]
    return Growing(x.element, [count, room, *columns])


def repeated(to: Builder, x: Growing, times: Any) -> Growing:
    """A list of its own, of all elements several times."""
    op, n = to.op, atom_of(x.count)
    count = op("multiply", op("maximum", atom_of(times), 0), n)
    room, columns = op("maximum", count, _LEAST), []
    index = to.counter(0, count)
    with to.inside(Block()) as block:
        place = 0 if n == 1 else op("remainder", index, n)
    for column in x.columns:
        columns.append(to.alloc(element_of(column.atom.type), room))
        with to.inside(block):
            to.store(columns[-1], index, to.load(column.atom, place))
    to.block.ops.append(For(index, (0, count, 1), [], [], block, []))
    return Growing(x.element, [to.wrap(count), *map(to.wrap, (room, *columns))])
