"""Forward mode: the same `bind`, tangents instead of entries.

A `DualStrand` keeps no tape. A slot on it is a `Cell`, which holds the tangents of its value, and
`note` does not write an entry down: it computes the tangents of what the entry made from those of
what it read. A tangent thus lives as long as its value. Views, writes, levels and everything that
`bind` does are the same as in reverse mode; an array's tangents have its layout, as a shadow has.

Each entry says how cotangents go back. `pushes` has, by the function that an entry names, how
tangents go forward; what is not in it is transposed: the pullback is called with a watched
cotangent, to which it is linear, and the reverse pass of that takes the tangents of the operands to
those of the result.

A strand may carry several tangents at once: what does not depend on them is computed once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from zyg._config import setting
from zyg._crossing import brought
from zyg._entries import project, spec_of, zeros_of
from zyg._memory import Part, at_slot, base_of, float_dtype, order_of, release
from zyg._protocol import is_device
from zyg._reverse import Run, name_of_entry, non_finite, plain_times, strong_times
from zyg._schedule import reverse
from zyg._strand import TRACED, Strand, strip, watch
from zyg._structure import Structure
from zyg.errors import NonFiniteError, user_line

Tangents = list[Any] | None  # one for each direction; None where nothing moves

# The function that an entry names -> how tangents go through it: push(*args) gives the tangents.
pushes: dict[Callable[..., Any], Callable[..., Tangents]] = {}

_ages = count()


class Cell:
    """A slot of forward mode: the tangents of a value.

    `spec` is what the value is like, where it is not a real number; `owned` says that the tangents
    are arrays of this cell alone, in its layout, which may be written to. Whoever reads them whole
    may keep them, and ends that; what lies in views of them is copied before it is kept.
    """

    __slots__ = ("age", "owned", "spec", "tangents")

    def __init__(self) -> None:
        self.tangents: Tangents = None
        self.owned = False
        self.spec: Any = None
        self.age = next(_ages)

    def __lt__(self, other: Cell) -> bool:
        return self.age < other.age


class DualStrand(Strand):
    """One level of forward mode."""

    __slots__ = ("suspect",)
    dual = True

    def __init__(self) -> None:
        super().__init__()
        self.new_slot = Cell
        self.note = advance
        self.suspect: list[str] = []  # what made the first infinite or NaN tangent, and its line
        if setting("check_nan"):
            self.note = functools.partial(advance_checked, suspect=self.suspect)


def advance(entry: tuple[Any, ...]) -> None:
    """Compute the tangents of what an entry made."""
    out, i, a, j, b = entry
    if i is not None:
        out.tangents = _of_numbers(i.tangents, a, None if j is None else j.tangents, b)
        return
    with np.errstate(all="ignore"):  # f's own warnings have been given
        if j is not None:
            u = tangents_of(j)
            if u is not None:
                d = a if b is None else a(*b)
                out.tangents = apart(scaled(u, d))
        elif out is None:
            pushes[a](*b)
        else:
            _advance_other(out, a, b)


def _of_numbers(u: Tangents, a: Any, v: Tangents, b: Any) -> Tangents:
    if v is None:
        if u is None:
            return None
        made = [_float(p) * _float(a) for p in u]
    elif u is None:
        return _of_numbers(v, b, None, None)
    else:
        made = [_float(p) * _float(a) + _float(q) * _float(b) for p, q in zip(u, v, strict=True)]
    for c in made:
        if c != c:  # zero times infinity, perhaps
            with np.errstate(all="ignore"):
                return summed(scaled(u, a), None if v is None else scaled(v, b))
    return made


def _float(x: Any) -> Any:
    """A number whose arithmetic does not warn, as that of NumPy's does."""
    return float(x) if type(x) is np.float64 else x


def _advance_other(out: Any, pull: Any, args: Any) -> None:
    cells, result = (out,), None
    if type(out) is tuple:
        cells, (result, _, pull, args) = out, args
    push = pushes.get(pull)
    if push is None:
        made = transposed(cells, result, pull, args)
    else:
        whole = push(*args)
        made = [whole] if result is None else _by_leaf(result, whole)
    for cell, found in zip(cells, made, strict=True):
        if found is not None:
            fits = type(found) is Rows and found.fits(cell.spec)
            cell.tangents = found if fits else apart([project(p, cell.spec) for p in found])


def _by_leaf(result: Structure, whole: Tangents) -> list[Tangents]:
    """The tangents of each leaf of a result, from those of the whole."""
    made: list[Any] = [None] * len(result.leaves)
    if whole is None:
        return made
    for k, y_dot in enumerate(whole):
        for place, part in result.match(y_dot, "the result of a pushforward", "tangent"):
            if made[place] is None:
                made[place] = [zeros_of(spec_of(result.leaves[place])) for _ in whole]
            if part is not None:
                made[place][k] = part
    return made


class Rows(list[Any]):
    """The tangents of a small array along many directions: the rows of one array, `stack`."""

    def __init__(self, stack: np.ndarray[Any, Any]) -> None:
        super().__init__(stack)
        self.stack = stack

    def fits(self, spec: Any) -> bool:
        return (
            type(spec) is tuple and self.stack.shape[1:] == spec[0] and self.stack.dtype == spec[1]
        )


def _stacked(u: list[Any]) -> Any:
    """The tangents as one array, where that is faster; else None."""
    if type(u) is Rows:
        return u.stack
    first = u[0]
    if len(u) < 8 or type(first) is not np.ndarray or first.nbytes > 4096:
        return None
    alike = all(type(p) is np.ndarray and p.shape == first.shape for p in u)
    return np.array(u) if alike else None


def scaled(u: list[Any], d: Any) -> list[Any]:
    """The tangents times a derivative."""
    if type(d) is int and d == 1:
        return u
    stack = None if type(d) in TRACED else _stacked(u)
    if stack is None:
        return [times(p, d) for p in u]
    if (more := np.ndim(d) - np.ndim(stack) + 1) > 0:
        stack = stack.reshape(len(u), *(1,) * more, *stack.shape[1:])
    return Rows(times(stack, d))


def summed(u: Tangents, v: Tangents) -> Tangents:
    """The sum of tangents that come from two operands."""
    if u is None or v is None:
        return v if u is None else u
    if type(u) is Rows and type(v) is Rows and u.stack.ndim == v.stack.ndim:
        return Rows(u.stack + v.stack)
    return [p + q for p, q in zip(u, v, strict=True)]


def advance_checked(entry: tuple[Any, ...], suspect: list[str]) -> None:
    """`advance`, which remembers where a tangent first became infinite or NaN."""
    advance(entry)
    if not suspect:
        for cell in entry[0] if type(entry[0]) is tuple else (entry[0],):
            if cell is not None and cell.tangents and any(map(non_finite, cell.tangents)):
                suspect[:] = [name_of_entry(entry), user_line()]


def check_tangents(suspect: list[str], tangents: list[Any]) -> None:
    """Raise NonFiniteError where a result is not finite, if one asked to be told."""
    if suspect and any(map(non_finite, tangents)):
        name, line = suspect
        raise NonFiniteError(
            f"the tangent of the result of {name} is infinite or NaN.",
            f"the derivative is infinite or undefined there. The line of f:\n    {line}",
            "keep the argument of that function away from where it has no derivative.",
        )


def times(p: Any, d: Any) -> Any:
    """p * d, where an exact zero stays zero (`strong_times`)."""
    c = p * d
    plain = strip(c)
    if is_device(type(plain)):
        return strong_times(p, d) if setting("strong_zero") else c
    # The sum of squares is NaN where an element is, and for no other reason.
    total = np.vdot(plain, plain) if isinstance(plain, np.ndarray) else plain
    if total != total and setting("strong_zero"):
        return strong_times(p, d)
    return c


def tangents_of(slot: Cell | Part) -> Tangents:
    """The tangents at a slot, or at the part of one that a view is."""
    if type(slot) is not Part:
        slot.owned = False  # type: ignore[union-attr]
    return places_of(slot)


def places_of(slot: Cell | Part) -> Tangents:
    """The same, where they are not kept."""
    if type(slot) is not Part:
        return slot.tangents  # type: ignore[union-attr]
    base: Any = slot.slot
    if base.tangents is None:
        return None
    base.tangents = [_laid_out(p, slot) for p in base.tangents]
    return [slot.place.of_shadow(p, slot.dtype) for p in base.tangents]


def apart(tangents: list[Any]) -> list[Any]:
    """Tangents to be kept: not views, which later writes to their base would change."""
    if type(tangents) is Rows:  # whoever writes to them copies them first
        return tangents
    return [np.copy(p) if _is_view(p) else p for p in tangents]


def _is_view(p: Any) -> bool:
    return p.base is not None if type(p) is np.ndarray else base_of(p) is not p


def _laid_out(p: Any, part: Part) -> Any:
    """A tangent in the layout of its base, an array of its own."""
    right = base_of(p) is p and order_of(strip(p)) == part.order and strip(p).flags.forc
    return p if right else np.copy(p, order=part.order)


def writable(slot: Cell | Part, whole: Any, like: Sequence[Any]) -> list[Any]:
    """The tangents at the slot of an array, to be written to; `whole` is its layout.

    They are watched where those in `like`, which will be written to them, are.
    """
    part = slot if type(slot) is Part else None
    cell: Any = part.slot if part else slot
    shape, dtype = (part.shape, part.dtype) if part else whole
    order: Any = part.order if part else "C"
    if cell.tangents is None:
        cell.tangents = [np.zeros(shape, float_dtype(dtype), order) for _ in like]
    elif not cell.owned:
        cell.tangents = [np.copy(p, order=order) for p in cell.tangents]
    elif part:
        cell.tangents = [_laid_out(p, part) for p in cell.tangents]
    cell.owned = True
    cell.tangents = [
        watch(x.strand, p, x.strand.new_slot())
        if type(x) in TRACED and type(p) not in TRACED
        else p
        for p, x in zip(cell.tangents, like, strict=True)
    ]
    return places_of(slot) or []


def transposed(
    cells: Sequence[Cell], result: Structure | None, pull: Any, args: Any
) -> list[Tangents]:
    """The tangents of results, from the pullback of the entry that made them."""
    strand = Strand()
    bars = [watch(strand, zeros_of(cell.spec), strand.new_slot()) for cell in cells]
    try:
        y_bar = bars[0] if result is None else result.rebuild(bars)
        pairs = [(slot, brought(strand, c)) for slot, c in pull(Run(plain_times), y_bar, *args)]
        strand.close()
        moving = [(c, u) for slot, c in pairs if (u := tangents_of(slot)) is not None]
        if not moving:
            return [None] * len(cells)
        made: list[list[Any]] = [[] for _ in cells]
        for k in range(len(moving[0][1])):
            seeds = [
                (c.slot, project(u[k], spec_of(c)))
                for c, u in moving
                if type(c) in TRACED and c.strand is strand
            ]
            for times in (plain_times, strong_times):
                shadows = reverse(strand, seeds, times)
                at = [at_slot(shadows, w.slot) for w in bars]
                if not (setting("strong_zero") and any(map(non_finite, at))):
                    break
            for found, p, cell in zip(made, at, cells, strict=True):
                found.append(zeros_of(cell.spec) if p is None else p)
        return list(made)
    finally:
        release(strand)
        strand.tape.clear()
