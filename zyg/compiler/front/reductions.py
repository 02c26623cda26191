"""Sums, extrema and other reductions of arrays: loops over what the elements are.

A sum adds its terms in order, in one loop with what computes them, those of float32 in 64 bits;
NumPy's adds in pairs, and may differ in the last digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.compiler.front.complexes import is_complex
from zyg.compiler.front.conversions import axes_of, element_for, given, kind_of_elements
from zyg.compiler.front.elementwise import (
    array,
    demand_fits,
    elementwise,
    fill,
    in_a_row,
    mapped,
    of_parts,
    reads_of,
    shape_of,
)
from zyg.compiler.front.picks import through
from zyg.compiler.front.scalars import WholeBuilder
from zyg.compiler.front.shaping import flat
from zyg.compiler.front.views import Arrayed, ArrayView, Lazy, fresh, nest
from zyg.compiler.ir import Atom, Value
from zyg.compiler.kinds import DTYPES
from zyg.compiler.layouts import iterated
from zyg.compiler.numbers import atom_of
from zyg.errors import KernelError

Step = Callable[[WholeBuilder, Atom, Any], Atom]


def reduced(
    to: WholeBuilder,
    x: Any,
    axis: Any,
    keepdims: Any,
    element: str,
    first: Callable[[Callable[[Sequence[Atom]], Any]], Atom],
    step: Step,
    finite: bool = False,
) -> Any:
    """A reduction: carries what begins as `first`, by `step`, along some axes.

    `first` is given what the element at an index of the reduced axes is; the first one at ().
    `finite`: the derivatives of the loop are those of the rule where the result is finite.
    """
    if not isinstance(x, Arrayed):
        if axis is not None:
            raise ValueError("an axis of a number")
        return to.number(step(to, first(lambda _: x), x), False)
    if axis is None and keepdims is not True and x.ndim > 1:
        element_at = in_a_row(x, x.shape)
        if element_at is not None:
            n, each = to.product(x.shape), lambda index: element_at(index[0])
            row = Lazy(to, [n], x.element, each, reads_of([x]))
            return reduced(to, row, None, False, element, first, step, finite)
    axes = axes_of(x, axis)
    kept = [k for k in range(x.ndim) if k not in axes]
    over = [x.shape[k] for k in axes]

    def at(index: Sequence[Atom]) -> Any:
        def inner(other: Sequence[Atom]) -> Any:
            places: list[Atom] = [0] * x.ndim
            other = other or [0] * len(axes)  # the first one
            for k, place in [*zip(kept, index, strict=True), *zip(axes, other, strict=True)]:
                places[k] = place
            return x.at(places)

        start = to.to(element, first(inner))
        made = through(to, over, start, lambda i, t: step(to, t, inner(i)))
        if finite and element in ("float", "float32"):
            to.slopes_hold(to.op("isfinite", made))
        return to.number(made, False)

    shape, order = [x.shape[k] for k in kept], iterated(x.ndim, [x.ranks])
    if keepdims is True and x.shape:
        return _kept(to, x, axes, element, at)
    order = tuple(kept.index(k) for k in order if k in kept)
    return array(Lazy(to, shape, element, at, reads_of([x]), order=order)) if shape else at(())


def _kept(to: WholeBuilder, x: Arrayed, axes: Sequence[int], element: str, at: Any) -> Any:
    """The same, with an axis of one element where one was reduced."""
    shape: list[Atom] = [1 if k in axes else n for k, n in enumerate(x.shape)]

    def kept(index: Sequence[Atom]) -> Any:
        return at([i for k, i in enumerate(index) if k not in axes])

    order = iterated(x.ndim, [x.ranks])
    return array(Lazy(to, shape, element, kept, reads_of([x]), order=order))


def _typed(to: WholeBuilder, x: Any, dtype: Any) -> Any:
    """An array with the elements that a sum of it has."""
    kind = element_for(dtype) if dtype is not None else kind_of_elements(x)
    if dtype is None and kind == "bool":
        kind = "int"
    if kind == kind_of_elements(x):
        return x, kind
    if not isinstance(x, Arrayed):
        return to.number(to.to(kind, atom_of(x)), False), kind
    return mapped(to, lambda v: to.to(kind, atom_of(v)), [x], kind), kind


def added_in(kind: str) -> str:
    """The type in which terms are added one after another: float32 would lose digits."""
    return "float" if kind == "float32" else kind


def _zero(kind: str) -> Atom:
    return 0.0 if kind in ("float", "float32") else False if kind == "bool" else 0


def _one(kind: str) -> Atom:
    return 1.0 if kind in ("float", "float32") else True if kind == "bool" else 1


def _accumulated(name: str, neutral: Callable[[str], Atom]) -> Callable[..., Any]:
    def reduction(
        to: WholeBuilder, a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
        keepdims: Any = False, initial: Any = None, where: Any = True,
    ) -> Any:  # fmt: skip
        if is_complex(a):
            if dtype is not None or initial is not None or where is not True:
                raise TypeError("a sum of complex numbers with more than an axis is not compiled")
            return _of_parts(to, name, a, axis, keepdims, out)
        x, kind = _typed(to, a, dtype)
        result = DTYPES[kind]
        if where is not True:
            _demand_mask(to, where, x)
            x = elementwise_where(to, where, x, neutral(kind), kind)

        def step(to: WholeBuilder, total: Atom, v: Any) -> Atom:
            return to.elementwise(name, to.number(total, False), v)

        start = neutral(kind) if initial is None else atom_of(initial)
        axes = axes_of(x, axis) if isinstance(x, Arrayed) else ()
        if name == "add" and axes and x.ndim - 1 not in axes:
            return given(_row_by_row(to, x, axes, kind, start, keepdims is True), out)
        if name == "add":
            x, kind = _typed(to, x, DTYPES[added_in(kind)])
        made = reduced(to, x, axis, keepdims, kind, lambda _: start, step, name == "multiply")
        return given(_typed(to, made, result)[0], out)

    return reduction


def _demand_mask(to: WholeBuilder, where: Any, x: Any) -> None:
    """Refuse a mask that would stretch what it masks, as NumPy does."""
    own, mask = shape_of(x), shape_of(where)
    if len(mask) > len(own):
        raise ValueError("a mask of more axes than what is reduced")
    for n, m in zip(own[::-1], mask[::-1], strict=False):
        demand_fits(to, n, m)


def _row_by_row(
    to: WholeBuilder, x: Arrayed, axes: Sequence[int], kind: str, start: Atom, keepdims: bool
) -> ArrayView:
    """A sum in which the last axis is kept: whole rows are added, as they are in memory."""
    shape: list[Atom] = [1 if k in axes else n for k, n in enumerate(x.shape)]
    made = fresh(to, kind, shape, order=iterated(x.ndim, [x.ranks]))
    fill(made, to.number(start, False))
    kept = [n for k, n in enumerate(x.shape) if k not in axes]

    def add(over: list[Atom]) -> None:
        def one(index: list[Atom]) -> None:
            outer, inner = iter(over), iter(index)
            places = [next(outer) if k in axes else next(inner) for k in range(x.ndim)]
            total = [0 if k in axes else n for k, n in enumerate(places)]
            made.store(total, elementwise(to, "add", made.at(total), x.at(places)))

        nest(to, kept, one)

    nest(to, [x.shape[k] for k in axes], add, independent=False)
    if keepdims:
        return made
    left = [k for k in range(x.ndim) if k not in axes]
    return made.of_axes(left)


def elementwise_where(to: WholeBuilder, where: Any, x: Any, other: Any, kind: str) -> Any:
    def select(condition: Any, v: Any) -> Atom:
        return to.op("select", atom_of(condition), to.to(kind, atom_of(v)), to.to(kind, other))

    return mapped(to, select, [where, x], kind)


def _of_parts(to: WholeBuilder, name: str, a: Any, axis: Any, keepdims: Any, out: Any) -> Any:
    """A sum of complex numbers."""
    if name != "add" or not isinstance(a, Arrayed):
        raise TypeError(f"this reduction of complex numbers ({name}) is not compiled")
    parts = [sum_(to, elementwise(to, which, a), axis, keepdims=keepdims)
             for which in ("real", "imag")]  # fmt: skip
    return given(of_parts(to, *parts), out)


sum_ = _accumulated("add", _zero)
prod = _accumulated("multiply", _one)


def extremum(name: str) -> Callable[..., Any]:
    """The largest or least, the first of equals; the first NaN if there is one."""
    no_better = {"maximum": "less_equal", "minimum": "greater_equal"}[name]

    def reduction(
        to: WholeBuilder, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False,
        initial: Any = None,
    ) -> Any:  # fmt: skip
        kind = kind_of_elements(a)
        if isinstance(a, Arrayed) and initial is None:
            for k in axes_of(a, axis):
                to.demand_at_least(a.shape[k], 1, f"the {name} of no elements")

        def step(to: WholeBuilder, best: Atom, v: Any) -> Atom:
            if kind == "bool":
                return to.elementwise(name, to.number(best, False), v)
            x = atom_of(v)
            wins = to.op("logical_not", to.op(no_better, x, best))
            if kind in ("float", "float32"):
                wins = to.op("logical_and", wins, to.op("logical_not", to.op("isnan", best)))
            return to.op("select", wins, x, best)

        def first(at: Any) -> Atom:
            return atom_of(at(()) if initial is None else initial)

        return given(reduced(to, a, axis, keepdims, kind, first, step), out)

    return reduction


def truth(name: str, start: bool) -> Callable[..., Any]:
    """all and any."""

    def reduction(
        to: WholeBuilder, a: Any, axis: Any = None, out: Any = None, keepdims: Any = False
    ) -> Any:
        def step(to: WholeBuilder, so_far: Atom, v: Any) -> Atom:
            return to.op(name, so_far, to.to("bool", atom_of(v)))

        return given(reduced(to, a, axis, keepdims, "bool", lambda _: start, step), out)

    return reduction


def count_nonzero(to: WholeBuilder, a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    def step(to: WholeBuilder, n: Atom, v: Any) -> Atom:
        return to.op("add", n, to.op("int", to.to("bool", atom_of(v))))

    found = reduced(to, a, axis, keepdims, "int", lambda _: 0, step)
    if isinstance(found, Arrayed) or axis is not None:
        return found
    return to.number(atom_of(found), _COUNTS_ARE_INTS)


_COUNTS_ARE_INTS = not isinstance(np.count_nonzero(True), np.generic)


def _count(to: WholeBuilder, x: Arrayed, axis: Any) -> Atom:
    return to.product([x.shape[k] for k in axes_of(x, axis)])


def _as_float(to: WholeBuilder, a: Any, dtype: Any) -> Any:
    kind = element_for(dtype) if dtype is not None else kind_of_elements(a)
    if (dtype is not None and kind not in ("float", "float32")) or (dtype and is_complex(a)):
        raise KernelError(f"a mean with dtype={np.dtype(dtype)} is not compiled.",
                          "its sums would be rounded.", "convert what it gives.")  # fmt: skip
    if is_complex(a):
        return a
    return _typed(to, a, "f8" if kind not in ("float", "float32") else DTYPES[kind])[0]


def mean(
    to: WholeBuilder, a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
    keepdims: Any = False,
) -> Any:  # fmt: skip
    x = _as_float(to, a, dtype)
    total = sum_(to, x, axis, keepdims=keepdims)
    if not isinstance(x, Arrayed):
        return total
    return given(_divided(to, total, _count(to, x, axis)), out)


def _divided(to: WholeBuilder, total: Any, count: Atom) -> Any:
    return array(elementwise(to, "divide", total, to.number(count, True)))


def var(
    to: WholeBuilder, a: Any, axis: Any = None, dtype: Any = None, out: Any = None,
    ddof: Any = 0, keepdims: Any = False,
) -> Any:  # fmt: skip
    x = array(_as_float(to, a, dtype))
    middle = mean(to, x, axis, keepdims=True)
    away = elementwise(to, "subtract", x, middle)
    total = sum_(to, elementwise(to, "square", away), axis, keepdims=keepdims)
    count = to.op("subtract", _count(to, x, axis), atom_of(ddof))
    if isinstance(count, Value) or count < 0:
        count = to.op("maximum", count, 0)
    return given(array(_where_finite(to, _divided(to, total, count))), out)


def _where_finite(to: WholeBuilder, x: Any) -> Any:
    """The same, whose derivatives hold where it is finite."""

    def held(v: Any) -> Any:
        to.slopes_hold(to.op("isfinite", atom_of(v)))
        return v

    return mapped(to, held, [x], kind_of_elements(x))


def std(to: WholeBuilder, a: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    return given(array(elementwise(to, "sqrt", var(to, a, *args, **kwargs))), out)


def arg_extremum(better: str) -> Callable[..., Any]:
    """argmax and argmin: the first of the best; the first NaN if there is one."""

    def reduction(
        to: WholeBuilder, a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False
    ) -> Any:
        x: ArrayView = array(a)
        if keepdims is not False:
            raise TypeError("keepdims of argmax is not compiled")
        if axis is None:
            return _best_of(to, x, better)
        (along,) = axes_of(x, axis)
        to.demand_at_least(x.shape[along], 1, "the argmax of no elements")
        shape = [n for k, n in enumerate(x.shape) if k != along]

        def at(index: Sequence[Atom]) -> Any:
            def inner(k: Atom) -> Any:
                return x.at([*index[:along], k, *index[along:]])

            return to.number(_best(to, inner, x.shape[along], better), False)

        if not shape:
            return at(())
        made = fresh(to, "int", shape)
        nest(to, shape, lambda index: made.store(index, at(index)))
        return given(made, out)

    return reduction


def _best(to: WholeBuilder, at: Any, n: Atom, better: str) -> Atom:
    """The index of the first of the best along one axis."""

    def step(index: list[Atom], best: Atom) -> Atom:
        x, y = atom_of(at(index[0])), atom_of(at(best))
        wins = to.op(better, x, y)
        if x.type in ("float", "float32"):  # type: ignore[union-attr]
            is_nan, was_nan = to.op("isnan", x), to.op("isnan", y)
            gone = to.op("logical_and", is_nan, to.op("logical_not", was_nan))
            wins = to.op("logical_or", wins, gone)
        return to.op("select", wins, index[0], best)

    return through(to, [n], 0, step)


def _best_of(to: WholeBuilder, x: ArrayView, better: str) -> Any:
    """The same over all elements, counted in C's order."""
    total = to.product(x.shape)
    to.demand_at_least(total, 1, "the argmax of no elements")
    if x.ndim == 1:
        return to.number(_best(to, lambda k: x.at([k]), total, better), False)
    row = flat(x)
    return to.number(_best(to, lambda k: row.at([k]), total, better), False)
