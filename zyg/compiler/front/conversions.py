"""Arrays of what is given for one: other arrays, numbers, nested lists; and other types of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from zyg.compiler.front.complexes import is_complex
from zyg.compiler.front.elementwise import array, assign, copied, ranks_in, shape_of
from zyg.compiler.front.growing import Growing
from zyg.compiler.front.mixed import Mixed, NarrowNumber
from zyg.compiler.front.scalars import WholeBuilder
from zyg.compiler.front.views import Arrayed, ArrayView, demand_equal, fresh, nest
from zyg.compiler.ir import Value, is_number, type_of
from zyg.compiler.kinds import ELEMENTS, NARROW, dtype_of
from zyg.compiler.layouts import Order, joined
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError


def element_for(dtype: Any, narrow: bool = False) -> str:
    """The type of elements that a dtype names; not a narrow one, but where these may be made."""
    found = ELEMENTS.get(np.dtype(dtype))
    if found is None or (found in NARROW and not narrow):
        raise KernelError(
            f"arrays of {np.dtype(dtype)} are not compiled.",
            "a compiled function has numbers of 64 and 32 bits.",
            "use float, np.float32, int or bool.",
        )
    return found


def kind_of_elements(x: Any) -> str:
    """The type of the elements of an array, or of a number."""
    if is_complex(x):
        return "complex"
    return x.element if isinstance(x, (Arrayed, NarrowNumber)) else type_of(atom_of(x))


def common(parts: Iterable[Any]) -> str:
    """The type of an array of these: numbers of Python's are of one, as any array is."""
    return element_for(np.result_type(*[dtype_of(kind_of_elements(x)) for x in parts]), True)


def as_type(x: Arrayed, kind: str) -> ArrayView:
    """A new array of another type."""
    return copied(x, element=kind)


def as_array(to: WholeBuilder, x: Any, dtype: Any = None) -> ArrayView:
    """An array of what may be one, a number, or a nested list."""
    if isinstance(x, Arrayed):
        view: ArrayView = array(x)
        element = view.element if dtype is None else element_for(dtype)
        return view if element == view.element else as_type(view, element)
    if isinstance(x, (list, tuple)):
        if not x:
            return fresh(to, element_for(float if dtype is None else dtype), (0,))
        parts = [as_array(to, y) if isinstance(y, (list, tuple)) else y for y in x]
        return as_array(to, _along(to, parts, 0, None), dtype)
    element = kind_of_elements(x) if dtype is None else element_for(dtype)
    return single(to, element, x)


def single(to: WholeBuilder, element: str, x: Any) -> ArrayView:
    """An array without axes."""
    made = fresh(to, element, ())
    made.store((), x)
    return made


def axis_in(ndim: int, axis: Any) -> int:
    """An axis, counted from the first; ValueError where there is none."""
    if type(axis) is not int or not -ndim <= axis < ndim:
        raise ValueError(f"axis {axis} of an array of {ndim} axes")
    return axis % ndim


def stacked(to: WholeBuilder, xs: Any, axis: int = 0) -> ArrayView:
    """np.stack: arrays and numbers along a new axis."""
    if isinstance(xs, Arrayed):
        view: ArrayView = array(xs)
        axes = [*range(1, view.ndim)]
        axes.insert(axis_in(view.ndim, axis), 0)
        order = joined(view.ndim, [tuple(view.ranks[k] if k else None for k in axes)])
        return copied(view, tuple(axes[k] for k in order)).of_axes(axes)
    if not xs:
        raise ValueError("need at least one array to stack")
    ndim = max(len(shape_of(x)) for x in xs) + 1
    along = axis_in(ndim, axis)
    ranks = [[*ranks_in(x, ndim - 1)] for x in xs]
    rows = [(*row[:along], None, *row[along:]) for row in ranks]
    return _along(to, [*xs], along, joined(ndim, rows))


def _along(to: WholeBuilder, parts: list[Any], along: int, order: Order | None) -> ArrayView:
    """Arrays and numbers along a new axis, with the axes in an order, or in C's."""
    shape = shape_of(parts[0])
    for x in parts:
        if len(shape_of(x)) != len(shape):
            raise ValueError("all input arrays must have the same shape")
        pairs = [*zip(shape, shape_of(x), strict=True)]
        for n, m in pairs:
            demand_equal(to, n, m)
        shape = tuple(n if isinstance(m, Value) else m for n, m in pairs)
    whole = [*shape[:along], len(parts), *shape[along:]]
    made = fresh(to, common(parts), whole, order=order)
    for k, x in enumerate(parts):
        offset = to.op("multiply", k, made.strides[along])
        assign(made.of_axes([k for k in range(made.ndim) if k != along], offset), x)
    return made


def _of_one_type(x: Any) -> Any:
    """A number that may be Python's or NumPy's, for an array, where that is all one."""
    same = isinstance(x, Mixed) and len({type for type, _ in x.kinds}) == 1
    return x.number if same else x


def of_growing(to: WholeBuilder, x: Growing, at: Callable[[Any], Any]) -> ArrayView:
    """An array of a list of unknown length; `at` gives an element of it."""
    count, sample = atom_of(x.count), x.element
    rows = [_of_one_type(part) for part in (sample if isinstance(sample, tuple) else (sample,))]
    if isinstance(sample, ArrayView):
        to.demand("an array of a list of no arrays", "greater", count, 0)
        shape, kind = at(0).shape, sample.element
    else:
        if not all(isinstance(part, Number) or is_number(part) for part in rows):
            raise TypeError("an array of a list that holds more than numbers and arrays")
        kind = common(rows)
        if kind != "float":  # of nothing NumPy makes an array of floats
            to.demand("an array of a list of nothing", "greater", count, 0)
        shape = (len(rows),) if isinstance(sample, tuple) else ()
    made = fresh(to, kind, (count, *shape))

    def put(index: Any) -> None:
        found, offset = at(index[0]), to.op("multiply", index[0], made.strides[0])
        row = made.of_axes(range(1, made.ndim), offset)
        if isinstance(found, ArrayView):
            for n, m in zip(shape, found.shape, strict=True):
                demand_equal(to, n, m)
            assign(row, found)
            return
        for k, part in enumerate(found if isinstance(found, tuple) else (found,)):
            row.store((k,) if shape else (), _of_one_type(part))

    nest(to, (count,), put)
    return made


def axes_of(x: Arrayed, axis: Any) -> tuple[int, ...]:
    """The axes that an argument `axis` names."""
    if axis is None:
        return tuple(range(x.ndim))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    if not all(type(k) is int for k in given):
        raise TypeError("an axis that is computed is not compiled")
    if not all(-x.ndim <= k < x.ndim for k in given):
        raise ValueError(f"axis {axis} is out of bounds for an array of {x.ndim} axes")
    found = tuple(sorted(k % x.ndim for k in given))
    if len(set(found)) != len(found):
        raise ValueError("the same axis twice")
    return found


def given(x: Any, out: Any) -> Any:
    """A result, in the array that was given for it, which has its shape."""
    if out is None:
        return x
    for n, m in zip(out.shape, shape_of(x), strict=True):
        demand_equal(out.to, n, m)
    return put(out, x)


def put(out: ArrayView, x: Any) -> ArrayView:
    """A result in an array to which it is stretched, as ufuncs put it there."""
    demand_castable(out, x)
    if len(shape_of(x)) > out.ndim:
        raise ValueError("non-broadcastable output operand")
    assign(out, x)
    return out


def demand_castable(x: ArrayView, made: Any) -> None:
    """Refuse what NumPy does not write into an array of another type."""
    kind = kind_of_elements(made)
    if not np.can_cast(dtype_of(kind), x.dtype, "same_kind"):
        raise TypeError(f"a {kind} is not written into an array of {x.element}")
