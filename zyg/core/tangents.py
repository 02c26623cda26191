"""The slots of forward mode, which hold tangents, and what is done with them.

A strand may carry several tangents at once: what does not depend on them is computed once. An
array's tangents have its layout, as a shadow has. `duals` has what carries entries out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from zyg.base.array_types import array_type
from zyg.base.config import setting
from zyg.core.reverse import strong_times
from zyg.core.strand import WATCHED, strip, watch
from zyg.core.views import ViewSlot, base_of, copied, float_dtype, laid_out, zeros_in

Tangents = list[Any] | None  # one for each direction; None where nothing moves

_FLOAT64 = np.dtype(np.float64)
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


class Rows(list[Any]):
    """The tangents of a small array along many directions: the rows of one array, `stack`."""

    def __init__(self, stack: np.ndarray[Any, Any]) -> None:
        super().__init__(stack)
        self.stack = stack

    def fits(self, spec: Any) -> bool:
        return (
            type(spec) is tuple and self.stack.shape[1:] == spec[0] and self.stack.dtype == spec[1]
        )


_MANY = 8  # directions: more are stacked, if they are small


def _stacked(u: list[Any]) -> Any:
    """The tangents as one array, where that is faster; else None."""
    if type(u) is Rows:
        return u.stack
    first = u[0]
    if len(u) < _MANY or type(first) is not np.ndarray or first.nbytes > 4096:
        return None
    alike = all(type(p) is np.ndarray and p.shape == first.shape for p in u)
    return np.array(u) if alike else None


def scaled(u: list[Any], d: Any) -> list[Any]:
    """The tangents times a derivative."""
    if type(d) is int and d == 1:
        return u
    if type(u) is list and len(u) < _MANY:
        return [times(p, d) for p in u]
    stack = None if type(d) in WATCHED else _stacked(u)
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


def times(p: Any, d: Any) -> Any:
    """p * d, where an exact zero stays zero (`strong_times`)."""
    c = p * d
    # The sum of squares is NaN where an element is, and for no other reason.
    total: Any
    if type(c) is np.ndarray and c.ndim == 1 and c.dtype is _FLOAT64:
        total = c.dot(c)
    else:
        plain = strip(c)
        kind = array_type(plain)
        if not kind.seen_whole:
            return strong_times(p, d) if setting("strong_zero") else c
        plain = kind.elements(plain)
        total = np.vdot(plain, plain) if isinstance(plain, np.ndarray) or kind.library else plain
    if total != total and setting("strong_zero"):
        return strong_times(p, d)
    return c


def tangents_of(slot: Cell | ViewSlot) -> Tangents:
    """The tangents at a slot, or at the part of one that a view is."""
    if type(slot) is not ViewSlot:
        slot.owned = False  # type: ignore[union-attr]
    return tangent_views(slot)


def tangent_views(slot: Cell | ViewSlot) -> Tangents:
    """The same, where they are not kept."""
    if type(slot) is not ViewSlot:
        return slot.tangents  # type: ignore[union-attr]
    base: Any = slot.slot
    if base.tangents is None:
        return None
    base.tangents = [laid_out(p, slot) for p in base.tangents]
    return [slot.of_shadow(p) for p in base.tangents]


def apart(tangents: list[Any]) -> list[Any]:
    """Tangents to be kept: not views, which later writes to their base would change."""
    if type(tangents) is Rows:  # whoever writes to them copies them first
        return tangents
    return [np.copy(p) if _is_view(p) else p for p in tangents]


def _is_view(p: Any) -> bool:
    return p.base is not None if type(p) is np.ndarray else base_of(p) is not p


def writable(slot: Cell | ViewSlot, whole: Any, like: Sequence[Any]) -> list[Any]:
    """The tangents at the slot of an array, to be written to; `whole` is its layout.

    They are watched where those in `like`, which will be written to them, are.
    """
    part = slot if type(slot) is ViewSlot else None
    cell: Any = part.slot if part else slot
    shape, dtype = (part.shape, part.dtype) if part else whole
    order: Any = part.order if part else "C"
    if cell.tangents is None:
        cell.tangents = [zeros_in(shape, float_dtype(dtype), order) for _ in like]
    elif not cell.owned:
        cell.tangents = [copied(p, order) for p in cell.tangents]
    elif part:
        cell.tangents = [laid_out(p, part) for p in cell.tangents]
    cell.owned = True
    cell.tangents = [
        watch(x.strand, p, x.strand.new_slot())
        if type(x) in WATCHED and type(p) not in WATCHED
        else p
        for p, x in zip(cell.tangents, like, strict=True)
    ]
    return tangent_views(slot) or []
