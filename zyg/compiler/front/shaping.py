"""Arrays in another shape or order: views where that can be, else copies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

from zyg.compiler.front.conversions import as_array, axes_of, axis_in, common
from zyg.compiler.front.elementwise import array, assign, copied, demand_fits, fill, stretched_to
from zyg.compiler.front.indexing import viewed
from zyg.compiler.front.scalars import WholeBuilder
from zyg.compiler.front.views import (
    Arrayed,
    ArrayView,
    demand_equal,
    equal,
    fresh,
    is_one,
    row_major,
)
from zyg.compiler.ir import Atom, Value
from zyg.compiler.layouts import Order, in_c, iterated, joined
from zyg.compiler.numbers import atom_of
from zyg.errors import KernelError

Unequal = tuple[Atom, Atom]


def contiguous(x: Arrayed) -> ArrayView:
    """An array whose elements are one after the other: itself, or a copy."""
    view: ArrayView = array(x)
    return view if view.is_contiguous else copied(view, in_c(view.ndim))


def decided(view: ArrayView, made: ArrayView, copies: Sequence[Sequence[Unequal]]) -> ArrayView:
    """What may be a copy where NumPy's is a view: it is none if all pairs of a row are unequal.

    Where that is assumed, or depends on the call, it stops the program, or neither is written.
    """
    to, is_copy = view.to, made.buffer is not view.buffer
    if view.gaps or (is_copy and not to.assume()):
        to.undecide(view.buffer, made.buffer, by_sizes=not view.gaps)
    elif is_copy:
        surely: Atom = False
        for row in copies:
            found: Atom = True
            for x, y in row:
                found = to.op("logical_and", found, to.op("not_equal", x, y))
            surely = to.op("logical_or", surely, found)
        to.check(surely, "a copy that may be a view")
    return made


def lies_otherwise(view: ArrayView) -> list[list[Unequal]]:
    """Where the elements are not one after the other in C's order, for `decided`."""
    rows = zip(view.shape, view.strides, row_major(view.to, view.shape), strict=True)
    return [[(n, 1), (have, want)] for n, have, want in rows]


def order_for(x: Arrayed, letter: Any) -> Order:
    """The order of a copy that NumPy calls "C", "F", "A" or "K"."""
    if letter == "A":
        letter = "F" if _is_fortrans(x) else "C"
    if letter not in ("C", "F", "K"):
        raise TypeError(f"an order of axes that is {letter!r}")
    return x.order if letter == "K" else in_c(x.ndim)[:: -1 if letter == "F" else 1]


def _is_fortrans(x: Arrayed) -> bool:
    """Whether the elements are one after the other in Fortran's order, and not in C's."""
    known = [k for k in x.ranks if k is not None]
    if known == sorted(known, reverse=True) or known != sorted(known):
        return False
    if not isinstance(x, ArrayView) or (not x.gaps and x.is_dense(in_c(x.ndim)[::-1])):
        return True
    if x.gaps == "known":
        return False
    raise KernelError(
        "an order of elements that depends on the memory of an array is not compiled.",
        "whether there are gaps between its elements is not known before the call.",
        'say order="C" or order="F".',
    )


def flat(x: Arrayed) -> ArrayView:
    """All elements in one row."""
    view = contiguous(x)
    return view.view([view.to.product(view.shape)], [1], view.offset)


def raveled(to: WholeBuilder, x: Any, order: Any = "C") -> ArrayView:
    view = as_array(to, x)
    axes = iterated(view.ndim, [view.ranks]) if order == "K" else order_for(view, order)
    view = view.of_axes(axes)
    if view.gaps == "known":
        return flat(copied(view, in_c(view.ndim)))
    return decided(view, flat(view), lies_otherwise(view))


def flattened(to: WholeBuilder, x: Any, order: Any = "C") -> ArrayView:
    view = as_array(to, x)
    axes = iterated(view.ndim, [view.ranks]) if order == "K" else order_for(view, order)
    return flat(copied(view.of_axes(axes), in_c(view.ndim)))


def extents(to: WholeBuilder, shape: Any) -> list[Atom]:
    """A shape that was passed to a function of NumPy's."""
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    found: list[Atom] = []
    for n in given:
        atom = atom_of(n)
        if not isinstance(atom, Value) and (type(atom) is not int or atom < 0):
            raise ValueError(f"{atom!r} is not the length of an axis")
        to.demand_at_least(atom, 0, "a negative extent")
        to.bound(atom)
        found.append(atom)
    return found


def reshaped(to: WholeBuilder, x: Any, *shape: Any, order: Any = "C") -> ArrayView:
    """``x.reshape(shape)``: a view where the elements are one after the other."""
    given = shape[0] if len(shape) == 1 else shape
    given = given if isinstance(given, (tuple, list)) else (given,)
    if order != "C":
        view = as_array(to, x)
        if order == "K":
            raise ValueError("order 'K' is not permitted for reshaping")
        if order_for(view, order) != in_c(view.ndim):
            made = reshaped(to, view.of_axes(range(view.ndim)[::-1]), given[::-1])
            return made.of_axes(range(made.ndim)[::-1])
    open_ = [k for k, n in enumerate(given) if type(n) is int and n == -1]
    if len(open_) > 1:
        raise ValueError("only one extent can be unknown")
    view = as_array(to, x)
    total = to.product(view.shape)
    sizes = extents(to, [n for k, n in enumerate(given) if k not in open_])
    have = to.product(sizes)
    if open_:
        sizes.insert(open_[0], _quotient(to, view.shape, total, sizes, have))
    else:
        demand_equal(to, total, have)
    return decided(view, *in_shape(view, sizes))


def in_shape(view: ArrayView, sizes: Sequence[Atom]) -> tuple[ArrayView, list[list[Unequal]]]:
    """The same elements in another shape, in the same memory if they are known to have strides
    there, else copied; and where NumPy copies them, for `decided`."""
    to = view.to
    old = [x for x in zip(view.shape, view.strides, view.ranks, strict=True) if not is_one(x[0])]
    new = [k for k, n in enumerate(sizes) if not is_one(n)]
    if view.is_contiguous:
        return view.view(sizes, row_major(to, sizes), view.offset), []
    strides: list[Atom] = [0] * len(sizes)
    ranks = [0] * len(sizes)
    for end in (0, -1):  # axes that stay what they are
        while old and new and equal(to, old[end][0], sizes[new[end]]):
            k, (_, step, rank) = new.pop(end), old.pop(end)
            strides[k], ranks[k] = step, (rank or 0) * len(sizes)
    pairs = [(n, m, s, to.op("multiply", m, step))
             for (n, s, _), (m, step, _) in pairwise(old)]  # fmt: skip
    if not all(equal(to, *steps) for _, _, *steps in pairs):
        made = copied(view, in_c(view.ndim))
        ends = [*accumulate((n for n, _, _ in old), partial(to.op, "multiply"))]
        others = [*accumulate((sizes[k] for k in new), partial(to.op, "multiply"))][:-1]
        copies = [[(n, 1), (m, 1), (s, step), *((end, x) for x in others)]
                  for (n, m, s, step), end in zip(pairs, ends, strict=False)]  # fmt: skip
        return made.view(sizes, row_major(to, sizes), made.offset), copies
    _, step, rank = old[-1] if old else (1, 0, 0)
    for j, k in enumerate(reversed(new)):
        strides[k], step = step, to.op("multiply", step, sizes[k])
        ranks[k] = rank * len(sizes) + j if rank else 0
    for k in reversed([k for k, n in enumerate(sizes[:-1]) if is_one(n)]):
        strides[k] = to.op("multiply", sizes[k + 1], strides[k + 1])
    return view.view(sizes, strides, view.offset, ranks), []


def _quotient(
    to: WholeBuilder, shape: Sequence[Atom], total: Atom, sizes: Sequence[Atom], have: Atom
) -> Atom:
    """The extent that is left open."""
    rest = [*shape]
    to.demand("no elements", "not_equal", have, 0)
    for n in sizes:
        for k, m in enumerate(rest):
            if m is n or (not isinstance(m, Value) and not isinstance(n, Value) and m == n):
                del rest[k]
                break
        else:
            break
    else:
        return to.product(rest)
    found = to.op("floor_divide", total, have)
    demand_equal(to, to.op("multiply", found, have), total)
    return found


def transposed(to: WholeBuilder, x: Any, *axes: Any) -> ArrayView:
    view = as_array(to, x)
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    order = [*range(view.ndim)][::-1] if not order else [axis_in(view.ndim, k) for k in order]
    if sorted(order) != [*range(view.ndim)]:
        raise ValueError("axes of a transpose do not match the array")
    return view.of_axes(order)


def swapped(to: WholeBuilder, x: Any, one: int, other: int) -> ArrayView:
    view = as_array(to, x)
    order = [*range(view.ndim)]
    one, other = (axis_in(view.ndim, k) for k in (one, other))
    order[one], order[other] = order[other], order[one]
    return transposed(to, view, order)


def moved(to: WholeBuilder, x: Any, source: int, destination: int) -> ArrayView:
    view = as_array(to, x)
    order = [*range(view.ndim)]
    order.insert(axis_in(view.ndim, destination), order.pop(axis_in(view.ndim, source)))
    return transposed(to, view, order)


def squeezed(to: WholeBuilder, x: Any, axis: Any = None) -> Any:
    view = as_array(to, x)
    if axis is None:
        gone: Sequence[int] = [k for k, n in enumerate(view.shape) if is_one(n)]
        for k in filter(lambda k: to.may_be_one(view.shape[k]), range(view.ndim)):
            to.demand("an axis that turns out to have one element", "not_equal", view.shape[k], 1)
    else:
        gone = axes_of(view, axis)
        for k in gone:
            demand_equal(to, view.shape[k], 1)
    if not gone:
        return view
    kept = [k for k in range(view.ndim) if k not in gone]
    return view.of_axes(kept)


def expanded(to: WholeBuilder, x: Any, axis: Any) -> ArrayView:
    view = as_array(to, x)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = view.ndim + len(given)
    axes: list[int | None] = [*range(view.ndim)]
    for k in sorted(axis_in(ndim, a) for a in given):
        axes.insert(k, None)
    return view.of_axes(axes)


def broadcast_to(to: WholeBuilder, x: Any, shape: Any) -> ArrayView:
    view, sizes = as_array(to, x), extents(to, shape)
    strides: list[Atom] = [0] * len(sizes)
    ranks: list[int | None] = [0] * len(sizes)
    for k in range(1, view.ndim + 1):
        n = view.shape[-k]
        demand_fits(to, sizes[-k], n)
        if not is_one(n):
            step = to.op("multiply", stretched_to(to, n, 1), view.strides[-k])
            strides[-k], ranks[-k] = step, view.ranks[-k]
    return view.view(sizes, strides, view.offset, ranks, readonly=True)


def diagonal(
    to: WholeBuilder, a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1
) -> ArrayView:  # fmt: skip
    """The elements at equal places of two axes, which come last: a view that is read-only."""
    view, places = as_array(to, a), (axis1, axis2)
    if type(offset) is not int:
        raise TypeError("a diagonal whose offset is computed is not compiled")
    one, other = (axis_in(view.ndim, k) for k in places)
    if one == other:
        raise ValueError("axis1 and axis2 cannot be the same")
    below, beside = max(-offset, 0), max(offset, 0)
    rows, columns = (to.op("subtract", view.shape[k], by)
                     for k, by in ((one, below), (other, beside)))  # fmt: skip
    n = rows if to.is_at_least(columns, rows) else to.op("minimum", rows, columns)
    n = n if to.is_at_least(n, 0) else to.op("maximum", n, 0)
    rest = [k for k in range(view.ndim) if k not in (one, other)]
    steps = view.strides
    start = to.op("add", view.offset, to.op("add", to.op("multiply", steps[one], below),
                                            to.op("multiply", steps[other], beside)))  # fmt: skip
    shape = [*(view.shape[k] for k in rest), n]
    strides = [*(steps[k] for k in rest), to.op("add", steps[one], steps[other])]
    longer = max(view.ranks[one] or 0, view.ranks[other] or 0)
    ranks = [*(view.ranks[k] for k in rest), longer]
    return view.view(shape, strides, start, ranks, readonly=True)


def flipped(to: WholeBuilder, x: Any, axis: Any = None) -> Any:
    view = as_array(to, x)
    if not view.shape and axis is None:
        return view.at(())
    axes = axes_of(view, axis)
    return viewed(view, [slice(None, None, -1 if k in axes else None) for k in range(view.ndim)])


def concatenated(
    to: WholeBuilder, xs: Any, axis: Any = 0, dtype: Any = None, casting: str = "same_kind"
) -> ArrayView:
    """np.concatenate."""
    if dtype is not None or casting != "same_kind":
        raise TypeError("np.concatenate with a dtype is not compiled")
    if isinstance(xs, Arrayed) and axis == 0 and xs.ndim > 1:
        shape = [to.op("multiply", *xs.shape[:2]), *xs.shape[2:]]
        made = fresh(to, xs.element, shape, order=joined(len(shape), [xs.ranks[1:]]))
        step = to.op("multiply", made.strides[0], xs.shape[1])
        fill(made.view(xs.shape, [step, *made.strides], 0, xs.ranks), xs)
        return made
    parts = [as_array(to, x) for x in xs]
    if axis is None:
        parts, axis = [flat(x) for x in parts], 0
    if not parts:
        raise ValueError("need at least one array to concatenate")
    along = axis_in(parts[0].ndim, axis)
    total: Atom = 0
    for x in parts:
        if x.ndim != parts[0].ndim:
            raise ValueError("arrays of different axes")
        for k, (n, m) in enumerate(zip(parts[0].shape, x.shape, strict=True)):
            if k != along:
                demand_equal(to, n, m)
        total = to.op("add", total, x.shape[along])
    shape = [total if k == along else n for k, n in enumerate(parts[0].shape)]
    order = joined(len(shape), [x.ranks for x in parts])
    made = fresh(to, common(parts), shape, order=order)
    at: Atom = 0
    for x in parts:
        offset = to.op("multiply", at, made.strides[along])
        assign(made.view(x.shape, made.strides, offset, made.ranks), x)
        at = to.op("add", at, x.shape[along])
    return made
