"""Elementwise functions: their partial derivatives, from the table, noted with the operands."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from zyg.base.array_types import array_type
from zyg.base.registry import ScalarRule
from zyg.base.structure import is_number
from zyg.core.cotangents import has_complex, project, spec_of
from zyg.core.entries import Kind, demand_closed, kinds, lacking, name_of_partial, note
from zyg.core.exchange import bring_all
from zyg.core.kept import keep
from zyg.core.objects import holds_watched_objects, over_objects
from zyg.core.pushes import elementwise_in_place
from zyg.core.reverse import Run
from zyg.core.strand import (
    ARRAYS,
    WATCHED,
    Strand,
    innermost,
    local_or_none,
    settle,
    strip,
    watch,
    watcher_of,
)
from zyg.core.tangents import Tangents, scaled, summed, tangents_of
from zyg.core.views import adopt, like_operands
from zyg.errors import unknown_call
from zyg.functions.operations import table

_BUILTIN = {type(None), int, float, complex, np.float64, np.complex128}
_FLOATS = {float, np.float64}
_CONSTANTS = {type(None), float, int, np.float64, np.ndarray}
_FACTORS = table[np.multiply]
_FLOAT64, _FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)
# Of these -x wraps around, or there is none, or functions of NumPy's have fewer digits.
_NARROW = {bool, *(np.dtype(code).type for code in "?bBhHILQef")}


def elementwise(rule: ScalarRule, *args: Any) -> Any:
    """`rule.function(*args)`, noted with the partial derivatives of the table."""
    strand: Strand | None = None
    for x in args:
        if type(x) in WATCHED:
            if not x.strand.open:
                return like_operands(elementwise(rule, *arranged(args)), args)
            if strand is None or x.strand.level > strand.level:
                strand = x.strand
        elif isinstance(x, np.ndarray) and x.dtype.hasobject and holds_watched_objects(x):
            return over_objects(rule, args)
    if strand is None:
        return rule.function(*args)
    if not strand.alone:
        strand, args = bring_all(strand, args)
    if len(args) != len(rule.partials):
        raise unknown_call(rule.name, f"it takes {len(rule.partials)} arguments, not {len(args)}")
    primals = [
        (x.primal if x.strand is strand else x)
        if type(x) in WATCHED
        else (x if type(x) in watcher_of else array_type(x).enter(x))
        for x in args
    ]
    # An outer level's values go through the rule again: not every function dispatches on them.
    outer = any(type(p) in WATCHED for p in primals)
    try:
        y = elementwise(rule, *primals) if outer else rule.function(*primals)
    except TypeError as error:
        if not (made := lacking(error, rule.name, primals)):
            raise
        raise made from error
    _plain_result(rule, strand, y)
    if strand.in_place:
        watched = elementwise_in_place(strand, rule.partials, args, primals, y)
        if watched is not None:
            return watched
    return _note_elementwise(rule, strand, args, primals, y)


def arranged(args: Sequence[Any]) -> list[Any]:
    """The operands, ended levels taken off; arrays that were theirs join the newest strand."""
    strand = innermost([settle(x) for x in args])
    return [settle(x) if strand is None else adopt(strand, x) for x in args]


def elementwise_of_one(rule: ScalarRule, x: Any, constant: Any, k: int) -> Any:
    """The short path of `elementwise`: `x`, in place k of one or two, is the only watched operand.

    Where everything is a plain float array of one shape and dtype, the entry is
    (out, None, partial, slot, (arguments of the partial)): no closure, no projection.
    """
    strand, primal = x.strand, x.primal
    if type(primal) is not np.ndarray or not (strand.alone or local_or_none(strand) is strand):
        return _of_one_other(rule, x, constant, k)
    partial, reads = rule.partials[k], (rule.saves or rule.find_saves())[k]
    kept = None
    if constant is not None and isinstance(constant, np.ndarray):
        if constant.dtype.hasobject and holds_watched_objects(constant):
            return over_objects(rule, (x, constant) if k == 0 else (constant, x))
        if reads[1 - k]:
            kept = _kept(rule, strand, constant, primal)
    elif type(constant) in _NARROW:
        kept = _as_real(constant, primal)
    elif type(constant) not in watcher_of:
        constant = array_type(constant).enter(constant)
    if len(reads) == 2:
        y = rule.function(primal)
        saved: Any = (primal if reads[0] else None, y if reads[1] else None)
    else:
        first, second = (primal, constant) if k == 0 else (constant, primal)
        y = rule.function(first, second)
        if kept is not None:
            first, second = (primal, kept) if k == 0 else (kept, primal)
        saved = (first if reads[0] else None, second if reads[1] else None, y if reads[2] else None)
    if type(y) is np.ndarray and (constant is None or y.shape == primal.shape):
        dtype = y.dtype
        if dtype is primal.dtype and (dtype is _FLOAT64 or dtype is _FLOAT32):
            watched: Any = watcher_of[np.ndarray]()
            watched.primal = y
            watched.strand = strand
            watched.slot = out = strand.new_slot()
            watched.unread = not reads[-1]
            watched.viewed = watched.versioned = watched.locked = False
            if reads[k]:
                x.unread = False
            strand.note((out, None, partial, x.slot, saved if callable(partial) else None))
            return watched
    args = (x,) if len(reads) == 2 else (x, constant) if k == 0 else (constant, x)
    primals = [primal if a is x else a for a in args]
    return _note_elementwise(rule, strand, args, primals, y)


def _of_one_other(rule: ScalarRule, x: Any, constant: Any, k: int) -> Any:
    """The same, unless `x` is an array of one level: a number, an array of two, or any other."""
    strand, primal = x.strand, x.primal
    if (strand.alone or local_or_none(strand) is strand) and not strand.dual:
        if type(primal) in _FLOATS:
            if len(rule.partials) == 1:
                return _of_a_number(rule, strand, x, primal)
            if type(constant) is np.ndarray and constant.dtype is _FLOAT64 and constant.ndim:
                return _of_a_number_and_an_array(rule, x, constant, k)
        if type(primal) in ARRAYS and type(constant) in _CONSTANTS:
            return _of_one_nested(rule, x, constant, k)
    args = (x, constant) if k == 0 else (constant, x)
    return elementwise(rule, *args[: len(rule.partials)])


def _of_a_number(rule: ScalarRule, strand: Strand, x: Any, primal: float) -> Any:
    """The same of a float, where the result is one of NumPy's: the partial's arguments are, too."""
    y = rule.function(primal)
    (partial,) = rule.partials
    if type(y) is not np.float64 or not callable(partial):
        return _note_elementwise(rule, strand, (x,), [primal], y)
    (reads,) = rule.saves or rule.find_saves()
    number: Any = watcher_of[np.float64]()
    number.primal = y
    number.strand = strand
    number.slot = out = strand.new_slot()
    saved = np.float64(primal) if reads[0] else None, y if reads[1] else None
    strand.note((out, None, partial, x.slot, saved))
    return number


def _of_a_number_and_an_array(rule: ScalarRule, x: Any, constant: Any, k: int) -> Any:
    """The same of a float and a plain array of float64: the entry is that of `elementwise`."""
    strand, primal, partial = x.strand, x.primal, rule.partials[k]
    reads = (rule.saves or rule.find_saves())[k]
    y = rule.function(primal, constant) if k == 0 else rule.function(constant, primal)
    if type(y) is not np.ndarray or y.dtype is not _FLOAT64:
        order = slice(None, None, -1 if k else 1)
        return _note_elementwise(rule, strand, (x, constant)[order], [primal, constant][order], y)
    if reads[1 - k]:
        constant = keep(strand, constant)
    operands = (primal, constant, y) if k == 0 else (constant, primal, y)
    saved = [v if read else None for v, read in zip(operands, reads, strict=True)]
    active = [(x.slot, partial, type(primal))]
    watched = note(strand, y, elementwise_pullback, active, saved, False)
    watched.unread = not reads[-1]
    return watched


def _of_one_nested(rule: ScalarRule, x: Any, constant: Any, k: int) -> Any:
    """The same of an array that an outer level watches, too."""
    strand, primal = x.strand, x.primal
    partial, reads = rule.partials[k], (rule.saves or rule.find_saves())[k]
    kept = constant
    if type(constant) is np.ndarray:
        if constant.dtype.hasobject:
            return elementwise(rule, *((x, constant) if k == 0 else (constant, x)))
        if reads[1 - k]:
            kept = _kept(rule, strand, constant, strip(primal))
    y = elementwise_of_one(rule, primal, constant, k)
    primals = [primal] if len(reads) == 2 else [primal, constant] if k == 0 else [constant, primal]
    plain, p = _plain_result(rule, strand, y), strip(primal)
    alike = type(y) in ARRAYS and plain.shape == p.shape and plain.dtype is p.dtype is _FLOAT64
    if not alike:
        return _note_elementwise(
            rule, strand, [x if q is primal else q for q in primals], primals, y
        )
    if reads[k]:
        x.unread = False
    operands = [kept if v is constant else v for v in primals]
    saved = [v if read else None for v, read in zip((*operands, y), reads, strict=True)]
    watched: Any = watcher_of[np.ndarray]()
    watched.primal = y
    watched.strand = strand
    watched.slot = out = strand.new_slot()
    watched.unread = not reads[-1]
    watched.viewed = watched.versioned = watched.locked = False
    strand.note((out, None, partial, x.slot, saved if callable(partial) else None))
    return watched


def _kept(rule: ScalarRule, strand: Strand, constant: Any, beside: Any) -> Any:
    """A constant that partials read, as wide as what it stands beside; a factor is exact anyway."""
    narrow = constant.dtype is not beside.dtype and constant.dtype.type in _NARROW
    wide = _as_real(constant, beside) if narrow and rule.partials is not _FACTORS else constant
    return keep(strand, constant) if wide is constant else wide


def elementwise_of_two(rule: ScalarRule, x: Any, o: Any) -> Any:
    """The short path of `elementwise` where both operands are watched, and one is an array.

    Both are of float64, of this task's own strand; an outer level may watch them, too.
    """
    strand, p, q = x.strand, x.primal, o.primal
    plain_p = strip(p) if type(p) in WATCHED else p
    plain_q = strip(q) if type(q) in WATCHED else q
    of_p, of_q = type(plain_p) is np.ndarray, type(plain_q) is np.ndarray
    if (
        strand is not o.strand
        or not (strand.alone or local_or_none(strand) is strand)
        or strand.dual
        or not (of_p or of_q)
        or (plain_p.dtype is not _FLOAT64 if of_p else type(plain_p) not in _FLOATS)
        or (plain_q.dtype is not _FLOAT64 if of_q else type(plain_q) not in _FLOATS)
    ):
        return elementwise(rule, x, o)
    y = rule.function(p, q) if p is plain_p and q is plain_q else _at_outer_level(rule, p, q)
    plain_y = y if type(y) is np.ndarray else _plain_result(rule, strand, y)
    if type(plain_y) is not np.ndarray or plain_y.dtype is not _FLOAT64:
        return _note_elementwise(rule, strand, (x, o), [p, q], y)
    (px, qx, yx), (po, qo, yo) = rule.saves or rule.find_saves()
    read_p, read_q, read_y = px or po, qx or qo, yx or yo
    if of_p and read_p:
        x.unread = False
    if of_q and read_q:
        o.unread = False
    shape, (d, e) = plain_y.shape, rule.partials
    like_p = None if of_p and plain_p.shape == shape else spec_of(p)
    like_q = None if of_q and plain_q.shape == shape else spec_of(q)
    watched: Any = watcher_of[np.ndarray]()
    watched.primal = y
    watched.strand = strand
    watched.slot = out = strand.new_slot()
    watched.unread = not read_y
    watched.viewed = watched.versioned = watched.locked = False
    saved = p if read_p else None, q if read_q else None, y if read_y else None
    args = x.slot, o.slot, d, e, saved, like_p, like_q
    strand.note((out, None, elementwise_of_two_pullback, None, args))
    return watched


def _plain_result(rule: ScalarRule, strand: Strand, y: Any) -> Any:
    """The plain value of a result, of outer levels only."""
    if type(y) in WATCHED and y.strand.level >= strand.level:
        demand_closed(rule.name, strand, y)
    return strip(y)


def _at_outer_level(rule: ScalarRule, p: Any, q: Any) -> Any:
    """A rule's function of operands at least one of which an outer level watches."""
    if type(p) in WATCHED and type(q) in WATCHED:
        return elementwise_of_two(rule, p, q)
    return elementwise_of_one(rule, *((p, q, 0) if type(p) in WATCHED else (q, p, 1)))


def elementwise_of_two_pullback(
    run: Run, y_bar: Any, i: Any, j: Any, d: Any, e: Any, saved: Any, like_p: Any, like_q: Any
) -> Any:
    """What `elementwise_pullback` does, of two real operands; of each, what it is like."""
    b = c = y_bar
    if type(d) is not int or d != 1:
        b = run.times(b, d(*saved) if callable(d) else d)
    if type(e) is not int or e != 1:
        c = run.times(c, e(*saved) if callable(e) else e)
    if like_p is not None:
        b = project(b, like_p)
    return (i, b), (j, c if like_q is None else project(c, like_q))


# The same, of + - * of two arrays of one shape.


def add_pullback(run: Run, y_bar: Any, i: Any, j: Any) -> Any:
    return ((i, y_bar), (j, y_bar))


def subtract_pullback(run: Run, y_bar: Any, i: Any, j: Any) -> Any:
    return ((i, y_bar), (j, run.times(y_bar, -1)))


def multiply_pullback(run: Run, y_bar: Any, i: Any, j: Any, p: Any, q: Any) -> Any:
    return ((i, run.times(y_bar, q)), (j, run.times(y_bar, p)))


def _note_elementwise(
    rule: ScalarRule, strand: Strand, args: Sequence[Any], primals: list[Any], y: Any
) -> Any:
    if type(y) not in watcher_of and not is_number(y) and not array_type(y).library:
        raise unknown_call(rule.name, f"it returned a {type(y).__name__}, not a number or an array")
    host = type(y) is np.ndarray
    arrays = host or (type(y) not in _BUILTIN and bool(array_type(y).library))
    shape, dtype = (y.shape, y.dtype) if arrays else ((), None)
    plain = arrays and dtype in (_FLOAT64, _FLOAT32)
    saved: list[Any] = [None] * (len(args) + 1)
    active = []
    for k, x in enumerate(args):
        if type(x) in WATCHED and x.strand is strand:
            p = primals[k]
            alike = plain and type(p) is type(y) and p.dtype is dtype and p.shape == shape
            active.append((x.slot, rule.partials[k], None if alike else spec_of(p)))
            for place, read in enumerate((rule.saves or rule.find_saves())[k]):
                if read:
                    saved[place] = y if place == len(primals) else primals[place]
    alike = all(spec is None for _, _, spec in active)
    for place, x in enumerate(args):
        if type(x) is np.ndarray and saved[place] is x:
            saved[place] = keep(strand, x)
        elif type(x) in ARRAYS and saved[place] is not None and not strand.dual:
            if x.strand is strand:
                x.unread = False
            else:  # an outer level may write to it before this entry is reversed
                saved[place] = np.copy(x)
    if not arrays:
        convert = _as_numpy if all(map(_is_builtin, (y, *primals))) else _as_exact
        saved = [convert(v, y) for v in saved]
    elif not (alike and all(getattr(v, "dtype", type(v) is bool or dtype) is dtype for v in saved)):
        saved = [_as_real(v, y, rule.partials is _FACTORS) for v in saved]
    conjugate = not alike and any(map(has_complex, (y, *primals)))
    watched = note(strand, y, elementwise_pullback, active, saved, conjugate)
    if host:
        watched.unread = saved[-1] is None
    return watched


def elementwise_pullback(
    run: Run, y_bar: Any, active: list[Any], saved: list[Any], conjugate: bool
) -> list[tuple[int, Any]]:
    bars = []
    for slot, partial, spec in active:
        d = partial(*saved) if callable(partial) else partial
        if conjugate and has_complex(d):
            d = np.conjugate(d)
        c = y_bar if type(d) is int and d == 1 else run.times(y_bar, d)
        bars.append((slot, c if spec is None else project(c, spec)))
    return bars


def _as_real(x: Any, y: Any, is_factor: bool = False) -> Any:
    """An operand as wide as a result that is not of ints.

    In a dtype of ints 1 + x * x may wrap around, in a narrower one 1 / x has fewer digits, and
    bools have no -x; but a factor is itself the derivative by the other one.
    """
    dtype = strip(y).dtype
    x = np.bool_(x) if type(x) is bool else x
    own: Any = getattr(strip(x), "dtype", None)
    if own is None or own is dtype or dtype.kind not in "fc":
        return x
    if own.kind in "iu" or (own.kind == "b" and not is_factor):
        return x.astype(dtype)
    if is_factor:
        return x
    real = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    return x.astype(f"f{real}") if own.kind == "f" and own.itemsize < real else x


def elementwise_pushforward(active: list[Any], saved: list[Any], conjugate: bool) -> Tangents:
    total: Tangents = None
    for slot, partial, _ in active:
        u = tangents_of(slot)
        if u is not None:
            d = partial(*saved) if callable(partial) else partial
            total = summed(total, scaled(u, d))
    return total


for _pullback in (add_pullback, subtract_pullback, multiply_pullback):
    kinds[_pullback] = Kind(lambda i, j, *_: [i, j])
kinds[elementwise_of_two_pullback] = Kind(
    lambda i, j, *_: [i, j],
    None,
    lambda _i, _j, d, e, *_: name_of_partial(d) or name_of_partial(e) or "elementwise",
)
kinds[elementwise_pullback] = Kind(
    lambda active, *_: [slot for slot, _, _ in active],
    elementwise_pushforward,
    lambda active, *_: next(
        filter(None, (name_of_partial(d) for _, d, _ in active)), "elementwise"
    ),
)


def _as_exact(x: Any, y: Any) -> Any:
    """A Python int beside a Fraction as a Fraction, so that 1 / 3 is not rounded."""
    kind = type(strip(y))
    if issubclass(kind, (np.inexact, np.ndarray)):
        return _as_real(x, y)
    if isinstance(x, Enum):
        x = _value_of(x)
    if type(x) is not int or kind in _BUILTIN or issubclass(kind, (np.generic, np.ndarray)):
        return x
    try:
        return kind(x)
    except TypeError:
        return x


def _is_builtin(x: Any) -> bool:
    if type(x) in _BUILTIN or (type(x) in WATCHED and type(strip(x)) in _BUILTIN):
        return True
    return isinstance(x, Enum) and type(_value_of(x)) in _BUILTIN


def _value_of(x: Any) -> Any:
    """The number that a member of an enum of numbers is, or the member itself."""
    types: tuple[Any, ...] = (int, float, complex)
    return next((t(x) for t in types if isinstance(x, t)), x)


def _as_numpy(x: Any, y: Any) -> Any:
    """Python's numbers as NumPy's, for which 1 / 0 is inf and not an exception.

    A real number with a complex result, (-4.0) ** 0.5, is complex to the derivative too.
    """
    if type(x) in WATCHED:  # an outer level's: the same number in another type keeps its slot
        if isinstance(strip(y), complex) and not has_complex(x):
            return np.multiply(x, np.complex128(1))  # its cotangent must become real again
        return watch(x.strand, _as_numpy(x.primal, strip(y)), x.slot)
    t = complex if x is not None and isinstance(y, complex) else type(x)
    if t is float or t is int or t is complex:
        return np.complex128(x) if t is complex else np.float64(x)
    return _as_numpy(_value_of(x), y) if isinstance(x, Enum) else x
