"""Short ways of forward mode: tangents that are made in place of an entry.

Where one direction is followed, and operands, tangents and result are plain arrays and numbers of
float64, the tangent of a result is made beside it. Everything else is an entry, which `duals`
carries out; it gives the same to the last bit.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.base.containers import ATOMS
from zyg.base.quiet import quiet
from zyg.base.registry import Adjoint
from zyg.base.structure import Structure
from zyg.core.cotangents import spec_of, zeros_of
from zyg.core.entries import is_result
from zyg.core.strand import WATCHED, Strand, watcher_of
from zyg.core.tangents import Tangents, apart, tangents_of, times

_FLOAT64 = np.dtype(np.float64)
_NUMBERS = {float, np.float64}
_RESULTS = {np.ndarray, np.float64}
_HOLDS_NOTHING = {*ATOMS, int, float, complex}


def _is_plain(x: Any) -> bool:
    return x.dtype is _FLOAT64 if type(x) is np.ndarray else type(x) in _NUMBERS


def _is_one(u: Tangents) -> bool:
    return type(u) is list and len(u) == 1 and _is_plain(u[0])


def _fits(c: Any, y: Any) -> bool:
    """Whether a tangent is what the value is: of its type, its shape, its dtype."""
    if type(c) is np.ndarray:
        return type(y) is np.ndarray and c.dtype is _FLOAT64 and c.shape == y.shape
    return type(c) is np.float64 and type(y) is np.float64


def _is_finite(c: Any) -> bool:
    """Whether all of a tangent is, and its sum of squares."""
    if type(c) is np.float64:
        return math.isfinite(c)
    return math.isfinite(c.dot(c) if c.ndim == 1 else np.vdot(c, c))


def _beside(strand: Strand, y: Any, tangents: Tangents) -> Any:
    """A value of this strand, with its tangents."""
    watched: Any = watcher_of[type(y)]()
    watched.primal = y
    watched.strand = strand
    watched.slot = cell = strand.new_slot()
    cell.spec = spec_of(y)
    if type(y) is np.ndarray:
        watched.unread = watched.viewed = watched.versioned = watched.locked = False
    if tangents is not None:
        cell.tangents = apart(tangents)
    return watched


def elementwise_in_place(
    strand: Strand, partials: Sequence[Any], args: Sequence[Any], primals: Sequence[Any], y: Any
) -> Any:
    """`y`, an elementwise function of plain operands, watched; None if it needs an entry."""
    if type(y) is not np.ndarray or not (_is_plain(y) and all(map(_is_plain, primals))):
        return None
    total: Any = None
    with quiet():
        for x, d in zip(args, partials, strict=True):
            if type(x) not in WATCHED or (u := tangents_of(x.slot)) is None:
                continue
            if not _is_one(u):
                return None
            if callable(d):
                d = d(*primals, y)
            c = u[0] if type(d) is int and d == 1 else times(u[0], d)
            total = c if total is None else total + c
    if total is None:
        return _beside(strand, y, None)
    return _beside(strand, y, [total]) if _fits(total, y) else None


def rule_in_place(
    strand: Strand, pushforward: Callable[..., Any], active: Any, count: int, y: Any
) -> Any:
    """`y`, the value of a rule with a pushforward, watched; None if it needs an entry."""
    if not _is_plain(y) or type(y) is float:
        return None
    row: list[Any] = [None] * count
    moves = False
    for k, container, slots in active:
        if container is not None or slots[0] is None:
            return None
        u = tangents_of(slots[0][0])
        if u is not None:
            if not _is_one(u):
                return None
            row[k], moves = u[0], True
    if not moves:
        return _beside(strand, y, None)
    with quiet():
        y_dot = pushforward(*row)
        if not _fits(y_dot, y) or not _is_finite(y_dot):
            return None  # to be refused, or mended
    return _beside(strand, y, [y_dot])


def short_in_place(
    strand: Strand,
    slots: Sequence[Any],
    tangent: Callable[..., Any],
    value: Callable[..., Any],
    *args: Any,
) -> Any:
    """``value(*args)``, watched; None if it has no short way, before it was computed.

    ``tangent(args, *tangents)`` is its tangent by those of the slots, None where nothing moves.
    """
    if not strand.in_place:
        return None
    row = []
    for slot in slots:
        u = None if slot is None else tangents_of(slot)
        if u is not None and not _is_one(u):
            return None
        row.append(None if u is None else u[0])
    tangents = None
    if any(p is not None for p in row):
        with quiet():
            y_dot = tangent(args, *row)
        if type(y_dot) not in _RESULTS or not _is_finite(y_dot):
            return None  # to be refused, or mended
        tangents = [y_dot]
    return _beside(strand, value(*args), tangents)


def linear_pushforward(
    rule: Adjoint, args: list[Any], kwargs: dict[str, Any]
) -> tuple[Any, Callable[..., Any]]:
    """The value and the pushforward of a function that is linear in each of the moving operands."""

    plain = not rule.standalone and all(
        type(x) in _HOLDS_NOTHING or (type(x) is np.ndarray and not x.dtype.hasobject) for x in args
    )

    def pushforward(*tangents: Any) -> Any:
        parts = []
        for k, x_dot in enumerate(tangents):
            if x_dot is not None:
                moved = [*args]
                moved[k] = _filled(args[k], x_dot)
                direct = plain and type(x_dot) is np.ndarray
                parts.append((rule.key if direct else rule)(*moved, **kwargs))
        return functools.reduce(operator.add, parts)

    return (rule.key if plain else rule)(*args, **kwargs), pushforward


def _still(x: Any) -> Any:
    """Bools, which have no tangents and are operands like the others, as zeros."""
    if type(x) in (list, tuple):
        return type(x)(map(_still, x))
    if type(x) is bool:
        return False
    return np.zeros_like(x) if getattr(x, "dtype", None) == np.bool_ else x


def _filled(x: Any, x_dot: Any) -> Any:
    """The tangent of a container, zeros where it has None."""
    if type(x) not in (list, tuple):
        return x_dot
    inside = Structure(x, is_result)
    full = [zeros_of(spec_of(leaf)) for leaf in inside.leaves]
    for place, part in inside.match(x_dot, "an operand", "tangent"):
        full[place] = full[place] if part is None else part
    return _still(inside.rebuild(full))
