"""Arrays in another shape or order: views where that can be, else copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zyg.compiler.front.conversions import as_array, axes_of
from zyg.compiler.front.elementwise import (
    array,
    assign,
    copied,
)
from zyg.compiler.front.indexing import viewed
from zyg.compiler.front.scalars import WholeBuilder, promoted, whose
from zyg.compiler.front.views import (
    Arrayed,
    ArrayView,
    demand_equal,
    fresh,
    is_one,
    product,
    row_major,
)
from zyg.compiler.ir import Atom, Value
from zyg.compiler.record import Number, atom_of


def contiguous(x: Arrayed) -> ArrayView:
    """An array whose elements are one after the other: itself, or a copy."""
    view: ArrayView = array(x)
    return view if view.is_contiguous else copied(view)


def flat(x: Arrayed) -> ArrayView:
    """All elements in one row."""
    view = contiguous(x)
    return view.view([product(view.to, view.shape)], [1], view.offset)


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
    if order != "C":
        raise TypeError("an order of elements other than C's is not compiled")
    given = shape[0] if len(shape) == 1 else shape
    given = given if isinstance(given, (tuple, list)) else (given,)
    open_ = [k for k, n in enumerate(given) if type(n) is int and n == -1]
    if len(open_) > 1:
        raise ValueError("only one extent can be unknown")
    view = as_array(to, x)
    total = product(to, view.shape)
    sizes = extents(to, [n for k, n in enumerate(given) if k not in open_])
    have = product(to, sizes)
    if open_:
        sizes.insert(open_[0], _quotient(to, view.shape, total, sizes, have))
    else:
        demand_equal(to, total, have)
    whole = contiguous(view)
    return whole.view(sizes, row_major(to, sizes), whole.offset)


def _quotient(
    to: WholeBuilder, shape: Sequence[Atom], total: Atom, sizes: Sequence[Atom], have: Atom
) -> Atom:
    """The extent that is left open."""
    rest = [*shape]
    for n in sizes:
        for k, m in enumerate(rest):
            if m is n or (not isinstance(m, Value) and not isinstance(n, Value) and m == n):
                del rest[k]
                break
        else:
            break
    else:
        return product(to, rest)
    to.demand("no elements", "not_equal", have, 0)
    found = to.op("floor_divide", total, have)
    demand_equal(to, to.op("multiply", found, have), total)
    return found


def transposed(to: WholeBuilder, x: Any, *axes: Any) -> ArrayView:
    view = as_array(to, x)
    order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    order = [*range(view.ndim)][::-1] if not order else [k % view.ndim for k in order]
    if sorted(order) != [*range(view.ndim)]:
        raise ValueError("axes of a transpose do not match the array")
    return view.view([view.shape[k] for k in order], [view.strides[k] for k in order], view.offset)


def axis_in(ndim: int, axis: Any) -> int:
    """An axis, counted from the first; ValueError where there is none."""
    if type(axis) is not int or not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} of an array of {ndim} axes")
    return axis % ndim


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
    if isinstance(x, Number) and axis is None and whose(x) is False:
        return x
    view = as_array(to, x)
    if axis is None:
        gone: Sequence[int] = [k for k, n in enumerate(view.shape) if is_one(n)]
        for k in {*range(view.ndim)} - {*gone}:
            to.demand("an axis that turns out to have one element", "not_equal", view.shape[k], 1)
    else:
        gone = axes_of(view, axis)
        for k in gone:
            demand_equal(to, view.shape[k], 1)
    kept = [k for k in range(view.ndim) if k not in gone]
    return view.view([view.shape[k] for k in kept], [view.strides[k] for k in kept], view.offset)


def expanded(to: WholeBuilder, x: Any, axis: Any) -> ArrayView:
    view = as_array(to, x)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = view.ndim + len(given)
    shape, strides = [*view.shape], [*view.strides]
    for k in sorted(axis_in(ndim, a) for a in given):
        shape.insert(k, 1)
        strides.insert(k, 0)
    return view.view(shape, strides, view.offset)


def broadcast_to(to: WholeBuilder, x: Any, shape: Any) -> ArrayView:
    view, sizes = as_array(to, x), extents(to, shape)
    strides: list[Atom] = [0] * len(sizes)
    for k in range(1, view.ndim + 1):
        if not is_one(view.shape[-k]):
            demand_equal(to, view.shape[-k], sizes[-k])
            strides[-k] = view.strides[-k]
    return view.view(sizes, strides, view.offset, readonly=True)


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
    return view.view(shape, strides, start, readonly=True)


def flipped(to: WholeBuilder, x: Any, axis: Any = None) -> Any:
    view = as_array(to, x)
    if not view.shape and axis is None:
        return view.at(())
    axes = axes_of(view, axis)
    return viewed(view, [slice(None, None, -1 if k in axes else None) for k in range(view.ndim)])


def concatenated(to: WholeBuilder, xs: Any, axis: Any = 0) -> ArrayView:
    """np.concatenate."""
    if isinstance(xs, Arrayed) and axis == 0 and xs.ndim > 1:
        rows = copied(xs)
        shape = [to.op("multiply", *rows.shape[:2]), *rows.shape[2:]]
        return rows.view(shape, row_major(to, shape), rows.offset)
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
    made = fresh(to, promoted(*parts), shape)
    at: Atom = 0
    for x in parts:
        offset = to.op("multiply", at, made.strides[along])
        assign(made.view(x.shape, made.strides, offset), x)
        at = to.op("add", at, x.shape[along])
    return made
