"""Which elements of a result depend on which elements of the argument, from one run of f.

The run is forward mode with sets for tangents. A `Cell` holds, in place of the tangents of an
array, a Boolean matrix in sparse rows: a row per element, a column per element of the argument;
for a number, the frozenset of those elements. An array some elements of which were written one by
one has a list of such sets, until it is used as a whole.

An elementwise function unites the sets of its operands; a read takes rows, a write replaces them;
the derivative of any other rule is run with tokens (`_tokens`).

No value decides what is in a pattern, other than through what f itself decides by values: branches,
indices, ``np.where``, the largest element. A pattern may thus be too large, and is never too small.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.base.caches import remembered
from zyg.base.structure import Structure
from zyg.core.adjoints import adjoint_pullback, adjoint_pushforward
from zyg.core.cotangents import shape_of
from zyg.core.elementwise import elementwise_pullback
from zyg.core.entries import parts_of
from zyg.core.indexing import read_pullback
from zyg.core.protection import release
from zyg.core.strand import Strand, strip
from zyg.core.tangents import Cell
from zyg.core.trace import Call, down_to
from zyg.core.views import ViewSlot, address_of, memory_of, zeros_in
from zyg.sparsity.tokens import (
    Matrix,
    Use,
    backward,
    forward,
    matrix_of,
    numbered,
    scipy_sparse,
    through_rule,
    united,
)


class PatternStrand(Strand):
    """One level of forward mode, with sets of the `n` elements of the argument for tangents."""

    __slots__ = ()
    dual = True
    whole = False  # of one entry all results depend on all arguments

    def __init__(self, n: int) -> None:
        super().__init__()
        self.new_slot = Cell
        self.note = functools.partial(_propagate, n)


class PatternCall(Call):
    """One call of `f` with an array: its value `y`, and the pattern of its Jacobian."""

    def __init__(self, f: Callable[..., Any], x: np.ndarray[Any, Any]) -> None:
        self.n = x.size
        super().__init__(PatternStrand(x.size), f, (x,), {}, "protected")

    def begin(self) -> None:
        every = np.arange(self.n)
        self.slots[0][0].tangents = matrix_of(every, every, (self.n, self.n))

    def end(self, value: Any) -> None:
        ours = down_to(self.strand, value)
        found = None if ours is None else _sets_at(ours.slot, self.n)
        self.y = strip(value)
        self.pattern = matrix_of([], [], (np.size(self.y), self.n)) if found is None else found
        release(self.strand)


# Sets of a slot


def _as_matrix(sets: Any, n: int) -> Matrix:
    """The sets of a slot as a matrix, whatever they are kept in."""
    if not isinstance(sets, (frozenset, list)):
        return sets
    rows: Any = [sets] if isinstance(sets, frozenset) else sets
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.fromiter(itertools.chain.from_iterable(rows), np.int64, ends[-1])
    made = (np.ones(columns.size, bool), columns, ends)
    return scipy_sparse().csr_array(made, (len(rows), n))


def _row(sets: Any, k: int) -> frozenset[int]:
    if isinstance(sets, list):
        return sets[k]  # type: ignore[no-any-return]
    return frozenset(sets.indices[sets.indptr[k] : sets.indptr[k + 1]].tolist())


def _sets_at(slot: Cell | ViewSlot, n: int) -> Matrix | None:
    """The sets at a slot, a row for each element; None where nothing depends on the argument."""
    base: Any = slot.slot if type(slot) is ViewSlot else slot
    if base.tangents is None:
        return None
    if isinstance(base.tangents, list):
        base.tangents = _as_matrix(base.tangents, n)
    whole = _as_matrix(base.tangents, n)
    return whole[_places(slot, None).ravel()] if type(slot) is ViewSlot else whole


def _set_at(slot: Any, n: int) -> frozenset[int] | None:
    """The same for a number, or an array of no dimension."""
    if type(slot) is Cell and isinstance(slot.tangents, frozenset):
        return slot.tangents
    sets = _sets_at(slot, n)
    return None if sets is None else _row(sets, 0)


def _places(slot: Cell | ViewSlot, shape: Any) -> np.ndarray[Any, Any]:
    """For each element of a view, which element of its base it is; `shape` is that of a base."""
    if type(slot) is not ViewSlot:
        return numbered(shape)
    place = slot.place
    layout = place.shape, place.strides, place.offset
    return _places_of(*layout, slot.dtype.itemsize, slot.shape, slot.order)


@remembered(16)
def _places_of(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    itemsize: int,
    whole: tuple[int, ...],
    order: Any,
) -> np.ndarray[Any, Any]:
    steps: list[Any] = [
        np.reshape(step * np.arange(k), (-1, *[1] * (len(shape) - axis - 1)))
        for axis, (k, step) in enumerate(zip(shape, strides, strict=True))
    ]
    in_memory = np.broadcast_to(sum(steps, np.array(offset)) // itemsize, shape)
    numbers = zeros_in(whole, np.dtype(int), order)
    numbers[...] = numbered(whole)
    memory = memory_of(numbers)
    first = (address_of(numbers) - address_of(memory)) // numbers.itemsize
    return np.asarray(memory.ravel()[in_memory + first])


def _spread(sets: Matrix, shape: tuple[int, ...], to: tuple[int, ...]) -> Matrix:
    """The sets of an array of this shape, broadcast."""
    return sets if shape == to else sets[np.broadcast_to(numbered(shape), to).ravel()]


# What an entry does with sets


def _propagate(n: int, entry: tuple[Any, ...]) -> None:
    """Find what the results of an entry depend on."""
    out, i, a, j, b = entry
    if i is not None:  # numbers
        u, v = i.tangents, None if j is None else j.tangents
        out.tangents = u if v is None else v if u is None else u | v
    elif j is not None:  # an elementwise function of one array
        out.tangents = None if _is_zero(a) else _sets_at(j, n)
    elif out is None:
        _write(n, *b)
    else:
        cells, result, pull, args = parts_of(entry)
        for cell, sets in zip(cells, _flows[pull](n, cells, result, *args), strict=True):
            if isinstance(sets, frozenset) or sets is None or type(cell.spec) is tuple:
                cell.tangents = sets
            else:
                cell.tangents = _row(sets, 0)


def _is_zero(partial: Any) -> bool:
    return not callable(partial) and bool(np.all(partial == 0))


def _elementwise(
    n: int, cells: Sequence[Cell], _: Any, active: list[Any], saved: Any, conjugate: bool
) -> list[Matrix | None]:
    to = shape_of(cells[0].spec)
    moving = [(slot, spec) for slot, partial, spec in active if not _is_zero(partial)]
    if type(cells[0].spec) is not tuple:
        one_by_one = [one for slot, _ in moving if (one := _set_at(slot, n)) is not None]
        return [frozenset().union(*one_by_one) if one_by_one else None]
    parts = [
        _spread(sets, to if spec is None else shape_of(spec), to)
        for slot, spec in moving
        if (sets := _sets_at(slot, n)) is not None
    ]
    return [united(parts)]


def _read(
    n: int, cells: Sequence[Cell], _: Any, slot: Any, index: Any, unique: bool, shape: Any, __: Any
) -> list[Any]:
    base = slot.slot if type(slot) is ViewSlot else slot
    if base.tangents is None:
        return [None]
    places = _places(slot, shape)[index]
    if not np.ndim(places):
        one = _row(base.tangents, int(places))
        return [_as_matrix(one, n) if type(cells[0].spec) is tuple else one]
    base.tangents = _as_matrix(base.tangents, n)
    return [base.tangents[np.ravel(places)]]


def _write(
    n: int, target: Any, index: Any, before: Any, slot: Any, layout: Any, add: bool, source: Any
) -> None:
    part = slot if type(slot) is ViewSlot else None
    base = part.slot if part else slot
    new = None if source is None else _sets_at(source[0], n)
    if new is None and (add or base.tangents is None):
        return
    shape = part.shape if part else layout[0]
    size = math.prod(shape)
    if base.tangents is None:
        base.tangents = matrix_of([], [], (size, n))
    places = _places(slot, layout[0])[index]
    if not np.ndim(places):
        sets = base.tangents
        if not isinstance(sets, list):
            sets = base.tangents = [_row(sets, k) for k in range(size)]
        one = frozenset() if new is None else _row(new, 0)
        sets[int(places)] = one | sets[int(places)] if add else one
        return
    old = _as_matrix(base.tangents, n)
    if not add:
        stays = np.ones(size, bool)
        stays[places] = False
        (stays,) = np.nonzero(stays)
        old = matrix_of(stays, stays, (size, size)) @ old
    if new is not None:
        given = shape_of(source[1])
        given = given[max(len(given) - np.ndim(places), 0) :]  # what is cut off are ones
        numbers = np.broadcast_to(numbered(given), places.shape)
        old = old + matrix_of(places, numbers, (size, new.shape[0])) @ new
    base.tangents = old


def _apply(
    way: Callable[[Use], list[Matrix | None]],
    n: int,
    cells: Sequence[Cell],
    result: Structure | None,
    rule: Any,
    moves: Callable[..., Any],
    active: list[Any],
    args: Any,
    *_: Any,
) -> list[Matrix | None]:
    operands = [slot for _, _, slots in active for slot in slots]
    found = [s and _sets_at(s[0], n) for s in operands]
    specs, outs = [s and s[1] for s in operands], [cell.spec for cell in cells]
    return through_rule(way, Use(rule, moves, active, args, found, specs, result, outs))


# The function that an entry names -> the sets of its results.
_flows: dict[Callable[..., Any], Callable[..., list[Any]]] = {
    elementwise_pullback: _elementwise,
    read_pullback: _read,
    adjoint_pushforward: functools.partial(_apply, forward),
    adjoint_pullback: functools.partial(_apply, backward),
}
