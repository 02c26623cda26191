"""The reverse pass: step a strand backwards, accumulate cotangents.

A run owns everything that changes: cotangents are kept in its list, indexed by slot, so the same
strand can be reversed again and by several threads at once. The first contribution to a slot is
kept by reference (rules may return arrays they do not own), the second makes a sum that the run
owns, and only such sums are added to in place.

Zero times infinity: the pass runs on plain arithmetic; only where an argument's gradient comes out
non-finite is it run again with `strong_times`, for which an exact zero stays zero through an
infinite or NaN factor. Finite programs pay nothing for it. On a device nobody can tell which those
are without waiting for it, so there the pass runs with strong products from the first, and they
select without asking: several times the memory traffic of a product, and no copy to the host;
``zyg.config(strong_zero=False)`` has plain products instead.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, TypeVar

import numpy as np

from zyg.base.array_types import array_type, is_array, unseen_product
from zyg.base.config import setting
from zyg.core.entries import contributions, name_of
from zyg.core.steps import back_by_way
from zyg.core.strand import WATCHED, Strand, strip, watch
from zyg.core.views import ViewSlot, copied, float_dtype, laid_out, zeros_in
from zyg.errors import NonFiniteError

_FLOAT64 = np.dtype(np.float64)
Made = TypeVar("Made")


class Run:
    """One reverse pass over one strand."""

    __slots__ = ("bars", "finite", "number", "owned", "redo", "strong", "times")

    def __init__(self, strong: bool, finite: dict[Any, Any] | None = None, number: int = 0) -> None:
        self.number = number  # of the pass over all strands of a level that this is a part of
        self.bars: list[Any] = []
        # What is known to be finite, or what strong products would make it, if it still is the
        # cotangent of its slot.
        self.finite: dict[Any, Any] = {} if finite is None else finite
        self.owned: set[int] = set()
        self.strong = strong  # whether products keep exact zeros
        self.times: Callable[[Any, Any], Any] = strong_times if strong else operator.mul
        self.redo: list[tuple[Any, Any, Any]] = []  # (array, index, contents) of writes undone

    def add(self, slot: Any, c: Any) -> None:
        """Accumulate the contribution `c`, of the shape and dtype of the slot's value."""
        if type(slot) is ViewSlot:
            self.add_part(slot, c)
            return
        have = self.bars[slot]
        if have is None:
            self.bars[slot] = c
        elif slot in self.owned and type(c) is np.ndarray:
            np.add(have, c, out=have)
        else:
            self.bars[slot] = total = have + c
            if type(total) is np.ndarray:
                self.owned.add(slot)
            else:
                self.owned.discard(slot)

    def add_part(self, part: ViewSlot, c: Any) -> None:
        """Accumulate into the part of a view, of which several elements may be one."""
        if type(c) is not np.ndarray and (kind := array_type(c)).lazy:
            moves = partial(_whole_of, part), partial(_part_of, part)
            self.add(part.slot, kind.later(*moves, c, part.shape))
            return
        if part.way is not None:
            if (whole := back_by_way(part.way, c)) is None:
                shadow = self.shadow(part, c)
                shadow += c
            else:
                fits = strip(whole).shape == part.shape  # unless x.shape was set meanwhile
                self.add(part.slot, whole if fits else whole.reshape(part.shape))
            return
        if part.place.overlaps:
            if np.size(c):
                whole = copy(part)
                whole.where, where = part.place.line()
                np.add.at(self.shadow(whole, c), where, c)
            return
        axes = part.place.repeats
        shadow = self.shadow(part, c)
        if axes:
            first = tuple(slice(0, 1) if k in axes else slice(None) for k in range(shadow.ndim))
            shadow = shadow[first]
            c = np.sum(c, axis=axes, keepdims=True)
        shadow += c

    def shadow(self, slot: Any, like: Any, whole: Any = None) -> Any:
        """The cotangent of an array or a view as an array to be written to.

        `whole` is the layout (shape, dtype) of an array that is no view. Watched if `like`, which
        will be written to it, is.
        """
        part = slot if type(slot) is ViewSlot else None
        at = slot if part is None else part.slot
        have = self.bars[at]
        if have is None or at not in self.owned:
            order = "C" if part is None else part.order
            if have is None:
                shape, dtype = whole if part is None else (part.shape, part.dtype)
                have = zeros_in(shape, float_dtype(dtype), order)
            else:
                have = copied(have, order)
            self.owned.add(at)
        if part is not None:
            have = laid_out(have, part)
        if type(like) in WATCHED and type(have) not in WATCHED:
            have = watch(like.strand, have, like.strand.new_slot())
        self.bars[at] = have
        return have if part is None else part.of_shadow(have)

    def restore(self, array: Any, index: Any, contents: Any) -> None:
        """Undo one write, and remember to do it again."""
        self.redo.append((array, index, np.copy(array[index])))
        array[index] = contents

    def finish(self) -> None:
        """Do all writes again that were undone: memory is as it was found."""
        while self.redo:
            array, index, contents = self.redo[-1]
            array[index] = contents
            self.redo.pop()


class Later:
    """Contributions that are computed elsewhere: `make` makes them of the result of `future`.

    A concurrent reverse pass steps back through other strands meanwhile; a lone strand waits. What
    is to begin together with others begins with `send`, which is called before anybody waits.
    """

    __slots__ = ("future", "make", "send")

    def __init__(
        self, future: Any, make: Callable[[Any], Any], send: Callable[[], None] | None = None
    ) -> None:
        self.future, self.make, self.send = future, make, send

    def __iter__(self) -> Iterator[Any]:
        if self.send is not None:
            self.send()
        future, self.future = self.future, None  # which holds who waits for it
        return iter(self.make(future.result()))


def reverse(
    strand: Strand,
    seeds: Iterable[tuple[Any, Any]],
    strong: bool,
    *,
    check: bool = False,
    finite: dict[Any, Any] | None = None,
) -> list[Any]:
    """The cotangents by slot, once all entries of the strand have been stepped back through.

    With `check`, by the plain way of doing it, and each contribution looked at: the first that is
    infinite or NaN raises NonFiniteError. `finite` is filled in: see `Run`.
    """
    step_back = _step_back_checked if check else _step_back
    run = Run(strong, finite)
    end = len(strand.tape)  # before the slots are counted: a thread of f may still be running
    run.bars = [None] * strand.new_slot()
    for slot, c in seeds:
        run.add(slot, c)
    turn = strand.memory.turn
    if turn is None:
        step_back(strand, run, end)
        return run.bars
    with turn:
        try:
            step_back(strand, run, end)
        finally:
            try:
                run.finish()
            finally:
                run.finish()
    return run.bars


def _step_back(strand: Strand, run: Run, end: int) -> None:
    times, bars, plain = run.times, run.bars, not run.strong
    places = reversed(strand.tape)
    for _ in range(places.__length_hint__() - end):  # what came since
        next(places)
    for b, j, a, i, out in zip(places, places, places, places, places, strict=True):
        if i is None:
            if type(out) is int:
                y_bar = bars[out]
                if y_bar is None:
                    continue
                bars[out] = None
            elif out is None:
                for slot, c in a(run, *b):
                    if type(slot) is int and bars[slot] is None:
                        bars[slot] = c
                    else:
                        run.add(slot, c)
                continue
            else:
                y_bar = [bars[k] for k in out]
                if all(c is None for c in y_bar):
                    continue
            if j is not None:
                if plain:  # written as an operator, for which NumPy reuses temporary arrays
                    c = y_bar * a(*b) if b is not None else y_bar if a == 1 else y_bar * a
                else:
                    c = times(y_bar, a if b is None else a(*b))
                if type(j) is int and bars[j] is None:
                    bars[j] = c
                    if c is not y_bar and type(c) is np.ndarray:
                        run.owned.add(j)
                else:
                    run.add(j, c)
                continue
            for slot, c in a(run, y_bar, *b):
                if type(slot) is int and bars[slot] is None:
                    bars[slot] = c
                else:
                    run.add(slot, c)
            continue
        y_bar = bars[out]
        if y_bar is not None:
            have = bars[i]
            c = y_bar * a if plain else times(y_bar, a)
            bars[i] = c if have is None else have + c
            if j is not None:
                have = bars[j]
                c = y_bar * b if plain else times(y_bar, b)
                bars[j] = c if have is None else have + c


def _step_back_checked(strand: Strand, run: Run, end: int) -> None:
    tape = strand.tape
    for k in range(end - 5, -1, -5):
        entry = tape[k : k + 5]
        for slot, c in contributions(entry, run):
            demand_finite(c, entry, strand.line_of(k))
            run.add(slot, c)


def demand_finite(c: Any, entry: Sequence[Any], line: str) -> None:
    plain = strip(c)  # asked for, so that what nobody looks at unasked is looked at, too
    bad = non_finite(plain) if array_type(plain).seen_whole else not np.all(np.isfinite(plain))
    if bad:
        raise NonFiniteError(
            f"the cotangent of an operand of {name_of(entry)} is {plain!r}.",
            f"the derivative is infinite or undefined there. The line of f:\n    {line}",
            "keep the argument of that function away from where it has no derivative.",
        )


def _whole_of(part: ViewSlot, c: Any) -> Any:
    """The cotangent of the base of a view, for one of the view."""
    run = Run(strong=False)
    run.bars = [None]
    only = copy(part)
    only.slot = 0
    run.add_part(only, c)
    return run.bars[0]


def _part_of(part: ViewSlot, c: Any) -> Any:
    """The transpose of that: the part of an array where the view lies."""
    return np.copy(part.of_shadow(laid_out(c, part)))


def plain_then_strong(*, unseen: bool = False) -> tuple[bool, ...]:
    """Whether to compute with strong products: in turn, until `all_finite` holds of what comes out.

    With `unseen`, nobody would see whether it is, as on a device: with strong ones at once.
    """
    if not setting("strong_zero"):
        return (False,)
    return (True,) if unseen else (False, True)


def settled(compute: Callable[[bool], Made], parts: Callable[[Made], Iterable[Any]]) -> Made:
    """What is computed with plain products, or with strong ones where a part is not finite."""
    made = compute(False)
    if not setting("strong_zero") or all_finite(parts(made)):
        return made
    return compute(True)


def strong_times(y_bar: Any, d: Any) -> Any:
    """y_bar * d, where an exact zero stays zero: 0 * inf, 0 * NaN and inf * 0 are 0.

    A NaN cotangent stays NaN through a derivative that comes out as zero: it says that something
    went wrong. Nothing goes through one that is zero everywhere, as floor's. Where the product is a
    number, its derivatives are those of both factors: a zero of this level may move at another.
    Whether there is a zero in an array that is not readable, nobody looks.
    """
    if type(d) is int and d == 0:
        return np.zeros_like(y_bar) if np.ndim(y_bar) else 0.0
    g, s = strip(y_bar), strip(d)
    for x in (g, s):
        if not (kind := array_type(x)).readable:
            if type(s) in (int, float) and 0 < abs(s) < np.inf:
                return y_bar * d
            plain = g is y_bar and s is d
            return kind.strong_product(g, s) if plain else unseen_product(y_bar, d)
    c = y_bar * d
    zero = ((g == 0) | ((s == 0) & np.isinf(_float(g)))) & np.isnan(strip(c))
    if not np.any(zero):
        return c
    return np.where(zero, 0.0, c) if np.ndim(c) else 0.0


def _float(x: Any) -> Any:
    return x if isinstance(x, (np.inexact, float, complex)) or is_array(x) else float(x)


def all_finite(cotangents: Iterable[Any]) -> bool:
    """Whether none of these has an infinite or NaN part, for all that can be seen."""
    return not any(map(non_finite, cotangents))


def non_finite(c: Any) -> bool:
    """Whether a cotangent has an infinite or NaN part; one that nobody may look at counts."""
    if c is None:
        return False
    if type(c) is float or type(c) is np.float64:
        return not math.isfinite(c)
    if type(c) is np.ndarray:
        if c.dtype is _FLOAT64 and math.isfinite(np.add.reduce(c, None)):
            return False
    else:
        c = strip(c)
    kind = array_type(c)
    if not kind.seen_whole:
        return True
    c = kind.elements(c)
    if isinstance(c, np.ndarray) or kind.library:
        # The sum first, which is cheap; that of finite half-precision numbers may overflow.
        total = np.add.reduce(c, axis=None) if type(c) is np.ndarray else c.sum()
        return c.dtype.kind in "fc" and not (np.isfinite(total) or np.isfinite(c).all())
    return isinstance(c, (float, complex, np.number)) and not np.isfinite(c)
