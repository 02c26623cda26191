"""Short ways: the functions that programs on small arrays are made of, without `bind`.

Each is asked before `bind`, and answers where all operands are float64 arrays, plain or of one
strand, this task's own, and where it knows the arguments; else it answers None, and `bind` goes the
general way, which gives the same to the last bit. An outer level may watch the operands, too: then
its operations are called, which have short ways of their own. Products and sums have one in forward
mode, too, where tangents are made in place of an entry.

The entry of each is (out, None, pullback, None, (slots, function, *saved)), with None for the slot
of an operand that is plain; only what is read on the way back is saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.base.registry import short_ways as short_ways
from zyg.core.cotangents import project, spec_of, spread, zeros_of
from zyg.core.entries import Kind, kinds, note
from zyg.core.kept import keep
from zyg.core.pushes import short_in_place
from zyg.core.reverse import Run, non_finite
from zyg.core.sequences import is_of_ints
from zyg.core.strand import ARRAYS, WATCHED, local_or_none, strip

ndarray, NO = np.ndarray, np._NoValue
FLOAT64, BOOL = np.dtype(np.float64), np.dtype(bool)
_FLOATS = {float, np.float64}
_sum_up: Any = np.add.reduce


def _is_plain(x: Any) -> bool:
    return type(x) is ndarray and x.dtype is FLOAT64


def _pullback_of_entries(pullback: Callable[..., Any]) -> Callable[..., Any]:
    """Say what is to be known of entries with this pullback."""
    kinds[pullback] = Kind(
        lambda slots, *_: [slot for slot in slots if slot is not None],
        None,
        lambda _, function, *__: str(function.__name__),
    )
    return pullback


# Products and equations

# By the numbers of axes: the cotangents of a and b, of that of a @ b and of the other operand.
_COTANGENTS: dict[tuple[int, int], Any] = {
    (1, 1): (lambda y_bar, b: y_bar * b, lambda y_bar, a: y_bar * a),
    (2, 1): (lambda y_bar, b: y_bar[:, None] * b, lambda y_bar, a: y_bar @ a),
    (1, 2): (lambda y_bar, b: b @ y_bar, lambda y_bar, a: a[:, None] * y_bar),
    (2, 2): (lambda y_bar, b: y_bar @ b.T, lambda y_bar, a: a.T @ y_bar),
}


def _product(function: Any) -> None:
    tangent = _tangent_of_product(function)

    def product(a: Any, b: Any, *rest: Any, **others: Any) -> Any:
        of_a, of_b = type(a) in ARRAYS, type(b) in ARRAYS
        strand = a.strand if of_a else b.strand if of_b else None
        if strand is None or rest or others:
            return None
        if not (strand.alone or local_or_none(strand) is strand):
            return None
        p, q = a.primal if of_a else a, b.primal if of_b else b
        plain_p = p if type(p) is ndarray or not of_a else strip(p)
        plain_q = q if type(q) is ndarray or not of_b else strip(q)
        if (
            (of_a and of_b and b.strand is not strand)
            or (type(plain_p) is not ndarray or plain_p.dtype is not FLOAT64)
            or (type(plain_q) is not ndarray or plain_q.dtype is not FLOAT64)
            or (cotangents := _COTANGENTS.get((plain_p.ndim, plain_q.ndim))) is None
        ):
            return None
        slots = a.slot if of_a else None, b.slot if of_b else None
        if strand.dual:
            plain = p is plain_p and q is plain_q
            return short_in_place(strand, slots, tangent, function, p, q) if plain else None
        y = function(p, q)
        if of_a and of_b:
            a.unread = b.unread = False
        elif of_a:
            p, q = None, keep(strand, q)
        else:
            p, q = keep(strand, p), None
        return note(strand, y, product_pullback, slots, function, cotangents, p, q)

    short_ways[function] = product


def _tangent_of_product(function: Any) -> Callable[..., Any]:
    def tangent(factors: Any, u: Any, v: Any) -> Any:
        if u is None or v is None:
            return function(factors[0], v) if u is None else function(u, factors[1])
        return function(u, factors[1]) + function(factors[0], v)

    return tangent


@_pullback_of_entries
def product_pullback(
    run: Run, y_bar: Any, slots: Any, function: Any, cotangents: Any, a: Any, b: Any
) -> list[tuple[Any, Any]]:
    (i, j), (of_a, of_b) = slots, cotangents
    pairs = [] if i is None else [(i, of_a(y_bar, b))]
    if j is not None:
        pairs.append((j, of_b(y_bar, a)))
    return _strong_pairs(y_bar, pairs) if run.strong else pairs


def _strong_pairs(y_bar: Any, pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Cotangents by that of a result: zeros for those that are not finite, where that is zero."""
    if np.any(strip(y_bar)):
        return pairs
    return [(k, zeros_of(spec_of(c)) if non_finite(c) else c) for k, c in pairs]


_product(np.matmul)
_product(np.dot)


def _solve(a: Any, b: Any, *rest: Any, **others: Any) -> Any:
    """Of one matrix; an outer level's operands go to the rule."""
    of_a, of_b = type(a) in ARRAYS, type(b) in ARRAYS
    strand = a.strand if of_a else b.strand if of_b else None
    if strand is None or strand.dual or rest or others:
        return None
    if not (strand.alone or local_or_none(strand) is strand):
        return None
    p, q = a.primal if of_a else a, b.primal if of_b else b
    if (of_a and of_b and b.strand is not strand) or not (_is_plain(p) and _is_plain(q)):
        return None
    if p.ndim != 2 or q.ndim not in (1, 2):
        return None
    y = np.linalg.solve(p, q)
    if of_a:
        a.unread = False
    else:
        p = keep(strand, p)
    slots = a.slot if of_a else None, b.slot if of_b else None
    return note(strand, y, solve_pullback, slots, np.linalg.solve, p, y)


@_pullback_of_entries
def solve_pullback(run: Run, y_bar: Any, slots: Any, function: Any, a: Any, y: Any) -> Any:
    (i, j), b_bar = slots, np.linalg.solve(a.T, y_bar)
    pairs = [] if i is None else [(i, -b_bar[:, None] * y if y.ndim == 1 else -(b_bar @ y.T))]
    if j is not None:
        pairs.append((j, b_bar))
    return _strong_pairs(y_bar, pairs) if run.strong else pairs


short_ways[np.linalg.solve] = _solve


# Reductions


def _reduced(a: Any, axis: Any, dtype: Any, out: Any, keepdims: Any, *, dual: bool = False) -> Any:
    """The plain array under the operand of a reduction that has a short way; else None."""
    if type(a) not in ARRAYS or not (dtype is out is None):
        return None
    strand, plain = a.strand, a.primal
    if type(plain) is not ndarray:
        plain = strip(plain)
    ours = strand.alone or local_or_none(strand) is strand
    if not (ours and (dual or not strand.dual) and _is_plain(plain)):
        return None
    axis_fits = axis is None or type(axis) is int or is_of_ints(axis)
    return plain if axis_fits and (keepdims is NO or type(keepdims) is bool) else None


def _sum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO, *rest: Any,
    **others: Any,
) -> Any:  # fmt: skip
    plain = _reduced(a, axis, dtype, out, keepdims, dual=True)
    if plain is None or rest or others:
        return None
    if a.strand.dual:
        if a.primal is not plain:
            return None
        how = axis, None, None, keepdims is True
        return short_in_place(a.strand, (a.slot,), _sum_tangent, _sum_up, plain, *how)
    if a.primal is plain:
        y = _sum_up(plain, axis, None, None, keepdims is True)
    else:
        y = np.sum(a.primal, axis, None, None, keepdims)
    return note(a.strand, y, sum_pullback, (a.slot,), np.sum, plain.shape, axis)


def _sum_tangent(args: Any, u: Any) -> Any:
    return _sum_up(u, *args[1:])


@_pullback_of_entries
def sum_pullback(run: Run, y_bar: Any, slots: Any, function: Any, shape: Any, axis: Any) -> Any:
    return ((slots[0], spread(y_bar, shape, axis)),)


def _mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NO, *rest: Any,
    **others: Any,
) -> Any:  # fmt: skip
    plain = _reduced(a, axis, dtype, out, keepdims)
    if plain is None or rest or others or not plain.size:
        return None
    if type(axis) is tuple or (axis is not None and not plain.ndim):  # of which NumPy's sum has one
        return None
    nested = a.primal is not plain
    if nested:
        y = np.mean(a.primal, axis, None, None, keepdims)
    else:
        y = _sum_up(plain, axis, None, None, keepdims is True)
    n = plain.size if axis is None else plain.shape[axis]
    if not nested:
        y = y / n
    return note(a.strand, y, mean_pullback, (a.slot,), np.mean, plain.shape, axis, n)


@_pullback_of_entries
def mean_pullback(
    run: Run, y_bar: Any, slots: Any, function: Any, shape: Any, axis: Any, n: int
) -> Any:
    return ((slots[0], spread(y_bar / n, shape, axis)),)


def _extremum(function: Any, reduce: Any, place: Any) -> None:
    """Of all elements: the cotangent goes to the first extremal one."""

    def extremum(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = NO, *rest: Any, **others: Any
    ) -> Any:
        plain = _reduced(a, axis, None, out, keepdims)
        if plain is None or rest or others or axis is not None or keepdims is not NO:
            return None
        if not plain.size:
            return None
        y = reduce(plain, None) if a.primal is plain else function(a.primal)
        at = int(place(plain))
        return note(a.strand, y, extremum_pullback, (a.slot,), function, plain.shape, at)

    short_ways[function] = extremum


@_pullback_of_entries
def extremum_pullback(run: Run, y_bar: Any, slots: Any, function: Any, shape: Any, at: int) -> Any:
    if type(y_bar) in WATCHED:
        first = np.zeros(shape, bool)
        first.flat[at] = True
        return ((slots[0], np.where(first, y_bar, 0.0)),)
    a_bar = np.zeros(shape)
    a_bar.flat[at] = y_bar
    return ((slots[0], a_bar),)


_extremum(np.max, np.maximum.reduce, ndarray.argmax)
_extremum(np.min, np.minimum.reduce, ndarray.argmin)
short_ways.update({np.sum: _sum, np.mean: _mean})


# Joining and choosing


def _parts(arrays: Any, fits: Callable[[Any], bool]) -> Any:
    """The strand of what is joined, the primals, which are what `fits` says, and the slots.

    None if there is no short way.
    """
    if type(arrays) is not list and type(arrays) is not tuple:
        return None
    strand = None
    primals, slots = [], []
    for x in arrays:
        p, slot = x, None
        if type(x) in WATCHED:
            if strand is None:
                strand = x.strand
                if strand.dual or not (strand.alone or local_or_none(strand) is strand):
                    return None
            elif x.strand is not strand:
                return None
            p, slot = x.primal, x.slot
        if not fits(strip(p) if type(p) in WATCHED else p):
            return None
        primals.append(p)
        slots.append(slot)
    return None if strand is None else (strand, primals, tuple(slots))


def _concatenate(arrays: Any, axis: Any = 0, *rest: Any, **others: Any) -> Any:
    parts = None if rest or others or type(axis) is not int else _parts(arrays, _is_plain)
    if parts is None:
        return None
    strand, primals, slots = parts
    y = np.concatenate(primals, axis)
    before = (slice(None),) * (axis % strip(y).ndim) if axis else ()
    places, at = [], 0
    for p in primals:
        start, at = at, at + (p if type(p) is ndarray else strip(p)).shape[axis]
        places.append((*before, slice(start, at)))
    return note(strand, y, parts_pullback, slots, np.concatenate, places)


def _stack(arrays: Any, axis: Any = 0, *rest: Any, **others: Any) -> Any:
    if rest or others or type(axis) is not int:
        return None
    if axis == 0 and (y := array_of_numbers(arrays)) is not None:
        return y
    parts = _parts(arrays, _is_plain)
    if parts is None:
        return None
    strand, primals, slots = parts
    y = np.stack(primals, axis)
    before = (slice(None),) * (axis % strip(y).ndim)
    return note(
        strand, y, parts_pullback, slots, np.stack, [(*before, k) for k in range(len(slots))]
    )


@_pullback_of_entries
def parts_pullback(run: Run, y_bar: Any, slots: Any, function: Any, places: Sequence[Any]) -> Any:
    return [(k, y_bar[at]) for k, at in zip(slots, places, strict=True) if k is not None]


def array_of_numbers(arrays: Any) -> Any:
    """The array of numbers some of which are watched; None if it has no short way."""
    parts = _parts(arrays, _is_float)
    if parts is None:
        return None
    strand, primals, slots = parts
    nested = not WATCHED.isdisjoint(map(type, primals))
    y = np.stack(primals) if nested else np.array(primals)
    return note(strand, y, stack_pullback, slots, np.stack)


def _is_float(x: Any) -> bool:
    return type(x) in _FLOATS


@_pullback_of_entries
def stack_pullback(run: Run, y_bar: Any, slots: Any, function: Any) -> Any:
    bars = y_bar.tolist() if type(y_bar) is ndarray else y_bar
    return [(k, c) for k, c in zip(slots, bars, strict=True) if k is not None]


def _where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    of_x, of_y = type(x) in WATCHED, type(y) in WATCHED
    strand = x.strand if of_x else y.strand if of_y else None
    if strand is None or strand.dual or not (strand.alone or local_or_none(strand) is strand):
        return None
    p, q = x.primal if of_x else x, y.primal if of_y else y
    plain_p = strip(p) if type(p) in WATCHED else p
    plain_q = strip(q) if type(q) in WATCHED else q
    if (
        (of_x and of_y and y.strand is not strand)
        or type(condition) is not ndarray
        or condition.dtype is not BOOL
        or not (_is_operand(plain_p, of_x) and _is_operand(plain_q, of_y))
    ):
        return None
    z = np.where(condition, p, q)
    shape = z.shape if type(z) is ndarray else strip(z).shape
    like_x = None if type(plain_p) is ndarray and plain_p.shape == shape else spec_of(p)
    like_y = None if type(plain_q) is ndarray and plain_q.shape == shape else spec_of(q)
    slots = x.slot if of_x else None, y.slot if of_y else None
    return note(strand, z, where_pullback, slots, np.where, keep(strand, condition), like_x, like_y)


def _is_operand(x: Any, watched: bool) -> bool:
    if type(x) is ndarray:
        return x.dtype is FLOAT64
    return type(x) in _FLOATS or (type(x) is int and not watched and x.bit_length() < 32)


@_pullback_of_entries
def where_pullback(
    run: Run, z_bar: Any, slots: Any, function: Any, condition: Any, like_x: Any, like_y: Any
) -> Any:
    i, j = slots
    pairs = []
    if i is not None:
        c = np.where(condition, z_bar, _ZERO)
        pairs.append((i, c if like_x is None else project(c, like_x)))
    if j is not None:
        c = np.where(condition, _ZERO, z_bar)
        pairs.append((j, c if like_y is None else project(c, like_y)))
    return pairs


_ZERO = np.zeros(())  # which need not be made of a number each time
_ZERO.flags.writeable = False


def _copy(a: Any, order: Any = "K", *rest: Any, **others: Any) -> Any:
    if type(a) not in ARRAYS or rest or others or order not in ("K", "C"):
        return None
    strand, p = a.strand, a.primal
    ours = strand.alone or local_or_none(strand) is strand
    if not ours or strand.dual or not _is_plain(strip(p)):
        return None
    return note(strand, p.copy(order), copy_pullback, (a.slot,), np.copy)


@_pullback_of_entries
def copy_pullback(run: Run, y_bar: Any, slots: Any, function: Any) -> Any:
    return ((slots[0], y_bar),)


short_ways.update(
    {np.concatenate: _concatenate, np.stack: _stack, np.where: _where, np.copy: _copy}
)


# Questions


def _question(function: Any, name: str) -> None:
    def answer(a: Any, *rest: Any, **others: Any) -> Any:
        if type(a) not in ARRAYS or rest or others:
            return None
        while type(a) in WATCHED:
            if a.strand.trail is not None:  # which is told where derivatives end
                return None
            a = a.primal
        return getattr(a, name)

    short_ways[function] = answer


_question(np.shape, "shape")
_question(np.ndim, "ndim")
_question(np.size, "size")
