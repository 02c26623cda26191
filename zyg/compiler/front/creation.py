"""New arrays: of zeros, of numbers in order, of lists, of other arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.compiler.front.complexes import ComplexNumber
from zyg.compiler.front.conversions import as_array, element_for, kind_of_elements
from zyg.compiler.front.elementwise import array, assign, copied
from zyg.compiler.front.scalars import WholeBuilder
from zyg.compiler.front.shaping import decided, extents, lies_otherwise, order_for
from zyg.compiler.front.views import Arrayed, ArrayView, Lazy, fresh
from zyg.compiler.ir import Atom, is_number, type_of
from zyg.compiler.layouts import Order, in_c
from zyg.compiler.numbers import atom_of


def _filled(number: float | None) -> Callable[..., ArrayView]:
    def filled(to: WholeBuilder, shape: Any, dtype: Any = float, order: Any = "C") -> ArrayView:
        sizes = extents(to, shape)
        return _made(to, sizes, element_for(dtype), number, _order(order, len(sizes)))

    return filled


def _order(letter: Any, ndim: int) -> Order:
    if letter not in ("C", "F"):
        raise TypeError(f"an order of axes that is {letter!r}")
    return in_c(ndim)[:: -1 if letter == "F" else 1]


def _made(to: WholeBuilder, shape: Sequence[Atom], element: str, x: Any, order: Order) -> ArrayView:
    """A new array of one number, or of the elements of an array; zeros of None."""
    if x is None or (is_number(x) and x == 0 and type(x) is int):
        return fresh(to, element, shape, True, order)
    made = fresh(to, element, shape, order=order)
    assign(made, x)
    return made


def full(
    to: WholeBuilder, shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C"
) -> ArrayView:
    element = element_for(dtype) if dtype is not None else kind_of_elements(fill_value)
    sizes = extents(to, shape)
    return _made(to, sizes, element, fill_value, _order(order, len(sizes)))


def _like(number: float | None) -> Callable[..., ArrayView]:
    def like(to: WholeBuilder, a: Any, dtype: Any = None, order: Any = "K", subok: Any = True,
             shape: Any = None) -> ArrayView:  # fmt: skip
        return _alike(to, a, number, dtype, order, shape)

    return like


def full_like(to: WholeBuilder, a: Any, fill_value: Any, dtype: Any = None, order: Any = "K",
              subok: Any = True, shape: Any = None) -> ArrayView:  # fmt: skip
    return _alike(to, a, fill_value, dtype, order, shape)


def _alike(
    to: WholeBuilder, a: Any, x: Any, dtype: Any, order: Any, shape: Any
) -> ArrayView:  # fmt: skip
    element = kind_of_elements(a) if dtype is None else element_for(dtype)
    own = a.shape if isinstance(a, Arrayed) else ()
    sizes = own if shape is None else extents(to, shape)
    axes = in_c(len(sizes))
    if isinstance(a, Arrayed) and (len(own) == len(sizes) or order != "K"):
        axes = order_for(a, order) if len(own) == len(sizes) else _order(order, len(sizes))
    return _made(to, sizes, element, x, axes)


def new_array(to: WholeBuilder, object: Any, dtype: Any = None, *, copy: Any = True,
              order: Any = "K", ndmin: int = 0) -> ArrayView:  # fmt: skip
    """np.array: a copy."""
    made = _ordered(to, as_array(to, object, dtype), order)
    if made is object and copy is True:
        made = copied(made, order_for(made, order))
    while made.ndim < ndmin:
        made = made.of_axes([None, *range(made.ndim)])
    return made


def asarray(to: WholeBuilder, a: Any, dtype: Any = None, order: Any = None) -> ArrayView:
    return _ordered(to, as_array(to, a, dtype), order or "K")


def _ordered(to: WholeBuilder, x: ArrayView, letter: Any) -> ArrayView:
    """An array, or a copy of it whose elements are one after the other in an order."""
    if letter == "K":
        return x
    axes = order_for(x, letter)
    if x.has_gaps or x.is_dense(axes):
        return copied(x, axes) if x.has_gaps else x
    return decided(x, copied(x, axes), lies_otherwise(x.of_axes(axes)))


def as_contiguous(to: WholeBuilder, a: Any, dtype: Any = None) -> ArrayView:
    return new_array(to, a, dtype, copy=None, order="C", ndmin=1)


def as_fortrans(to: WholeBuilder, a: Any, dtype: Any = None) -> ArrayView:
    return new_array(to, a, dtype, copy=None, order="F", ndmin=1)


def copy(to: WholeBuilder, a: Any, order: Any = "K") -> ArrayView:
    return new_array(to, a, order=order)


def eye(to: WholeBuilder, N: Any, M: Any = None, k: int = 0, dtype: Any = float) -> ArrayView:  # noqa: N803
    n, m = extents(to, (N, N if M is None else M))
    element = element_for(dtype)

    def at(index: Sequence[Atom]) -> Any:
        i, j = index
        on = to.op("equal", to.op("add", i, k), j)
        if element == "complex":
            return ComplexNumber(to, to.to("float", on), 0.0, False)
        return to.number(to.to(element, on), False)

    return array(Lazy(to, (n, m), element, at))  # type: ignore[no-any-return]


def arange(to: WholeBuilder, *args: Any, dtype: Any = None) -> ArrayView:
    start, stop = (0, args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) > 2 else 1
    atoms = [atom_of(x) for x in (start, stop, step)]
    real = any(type_of(x) != "int" for x in atoms)
    element = element_for(dtype) if dtype is not None else "float" if real else "int"
    n = _steps(to, *atoms, real=real)
    kind = "float" if real else "int"
    first, by = (to.to(kind, atoms[k]) for k in (0, 2))

    def at(index: Sequence[Atom]) -> Any:
        x = to.op("add", first, to.op("multiply", to.to(kind, index[0]), by))
        return to.number(to.to(element, x), False)

    return array(Lazy(to, (n,), element, at))  # type: ignore[no-any-return]


def _steps(to: WholeBuilder, start: Atom, stop: Atom, step: Atom, *, real: bool) -> Atom:
    """How many numbers np.arange gives."""
    if not real and is_number(step) and step == 1:
        n = to.op("subtract", stop, start)
    else:
        span = to.op("subtract", to.to("float", stop), to.to("float", start))
        to.demand("a step of zero", "not_equal", step, 0.0 if type_of(step) != "int" else 0)
        real_n = to.op("ceil", to.op("divide", span, to.to("float", step)))
        to.demand("too many numbers", "less", to.op("absolute", real_n), 2.0**31)
        n = to.op("int", real_n)
    if not to.is_at_least(n, 0):
        n = to.op("maximum", n, 0)
    to.bound(n)
    return n


def linspace(to: WholeBuilder, start: Any, stop: Any, num: Any = 50, endpoint: Any = True,
             dtype: Any = None, axis: Any = 0) -> ArrayView:  # fmt: skip
    (n,) = extents(to, num)
    if axis not in (0, -1):
        raise ValueError("linspace of numbers has one axis")
    first, last = (to.to("float", atom_of(x)) for x in (start, stop))
    parts = to.op("subtract", n, 1 if endpoint is True else 0)
    span = to.op("subtract", last, first)
    step = to.op("divide", span, to.to("float", to.op("maximum", parts, 1)))
    element = "float" if dtype is None else element_for(dtype)

    def at(index: Sequence[Atom]) -> Any:
        k = index[0]
        x = to.op("add", to.op("multiply", to.to("float", k), step), first)
        if endpoint is True:  # exactly
            end = to.op("logical_and", to.op("equal", k, parts), to.op("greater", parts, 0))
            x = to.op("select", end, last, x)
        return to.number(to.to(element, x), False)

    return array(Lazy(to, (n,), element, at))  # type: ignore[no-any-return]


CREATION: dict[Any, Callable[..., Any]] = {
    np.zeros: _filled(0), np.empty: _filled(None), np.ones: _filled(1), np.full: full,
    np.ndarray: _filled(None),
    np.zeros_like: _like(0), np.empty_like: _like(None), np.ones_like: _like(1),
    np.full_like: full_like, np.array: new_array, np.asarray: asarray, np.copy: copy,
    np.ascontiguousarray: as_contiguous, np.asfortranarray: as_fortrans,
    np.eye: eye, np.identity: eye, np.arange: arange, np.linspace: linspace,
}  # fmt: skip
