"""What expressions and statements do with arrays: subscripts, attributes, operators, writes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

from zyg.compiler.front import complexes, picks
from zyg.compiler.front.complexes import ComplexNumber
from zyg.compiler.front.conversions import as_array, kind_of_elements, put
from zyg.compiler.front.elementwise import array, assign, elementwise, refuse_narrow, written
from zyg.compiler.front.indexing import is_basic, items_of, located, picked, viewed
from zyg.compiler.front.mixed import NarrowNumber, is_narrow
from zyg.compiler.front.products import matmul
from zyg.compiler.front.scalars import (
    WholeBuilder,
    WholeNumber,
    int_power,
    refuse_bytes,
    type_in,
    whose,
)
from zyg.compiler.front.shaping import reshaped
from zyg.compiler.front.structures import Ref
from zyg.compiler.front.views import Arrayed, ArrayView, Index
from zyg.compiler.ir import Value, is_number, type_of
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError
from zyg.functions.operations import BY_OPERATOR


class Single(Arrayed):
    """A number, as an array without axes: for its attributes and methods."""

    __slots__ = ("number",)

    def __init__(self, to: WholeBuilder, number: Any) -> None:
        self.to, self.shape, self.ranks, self.number = to, (), (), number
        self.element = type_in(number)

    def at(self, index: Index) -> Any:
        return self.number if is_narrow(self) else self.to.number(atom_of(self.number), False)


def operated(to: WholeBuilder, operator_: Callable[..., Any], *operands: Any) -> Any:
    """What an operator gives for numbers and arrays; NotImplemented for others."""
    if operator_ in (operator.lshift, operator.rshift):
        return shifted(to, operator_, *operands)
    if any(isinstance(x, Arrayed) for x in operands):
        operands = tuple(as_array(to, x) if isinstance(x, (list, tuple)) else x for x in operands)
        if operator_ is operator.matmul:
            return matmul(to, *operands)
        if all(isinstance(x, Arrayed) or ours(x) for x in operands):
            square = operator_ is operator.pow and is_number(operands[1]) and operands[1] == 2
            if square and kind_of_elements(operands[0]) == "bool":
                refuse_bytes("x ** 2")
            if square and kind_of_elements(operands[0]) == "complex":
                return elementwise(to, "square", operands[0])  # which keeps the sign of a zero
            return elementwise(to, BY_OPERATOR[operator_], *operands)
        if not any(isinstance(x, Ref) for x in operands):
            kinds = [f"{type(x).__name__}" for x in operands if not isinstance(x, Arrayed)]
            raise TypeError(f"an array meets a {kinds[0]}")
    name = BY_OPERATOR.get(operator_)
    if name and any(map(is_narrow, operands)) and all(map(ours, operands)):
        return elementwise(to, name, *operands)
    if (name is not None and any(isinstance(x, ComplexNumber) for x in operands)) or (
        any(isinstance(x, complex) for x in operands)
        and any(isinstance(x, Number) for x in operands)
    ):
        return complexes.operated(to, str(name), *operands, python=complexes.whose(*operands))
    if name and any(isinstance(x, WholeNumber) for x in operands) and all(map(ours, operands)):
        return to.operate(name, *operands)
    return NotImplemented


def shifted(to: WholeBuilder, how: Any, x: Any, places: Any) -> Any:
    """An int shifted by some bits: times a power of two, or divided by it."""
    if is_narrow(x) or is_narrow(places):
        refuse_narrow("a shift", x, places)
    if not isinstance(x, (Number, Arrayed)) and not isinstance(places, Number):
        return NotImplemented
    k = atom_of(places)
    kinds = {type_of(k), kind_of_elements(x)}
    if not kinds <= {"int", "bool"}:
        raise TypeError("a shift of numbers that are not ints")
    if kinds == {"bool"} and not whose(x, places):
        refuse_bytes("a shift")
    to.demand_at_least(k, 0, "a shift by less than nothing")
    to.demand_at_least(62, k, "a shift by more than an int has")
    if isinstance(x, Number):  # which has no slope
        x = to.number(to.flat(x.atom), whose(x))
    k = to.op("bitwise_and", k, 63)  # where nothing is demanded again, it is known to be small
    power = to.number(int_power(to, 2, k), whose(places))
    return operated(to, operator.mul if how is operator.lshift else operator.floordiv, x, power)


def subscript(x: Arrayed, index: Any) -> Any:
    """``x[index]``."""
    view = array(x)
    items = items_of(x.to, index, view.ndim)
    if is_basic(items):
        alone = any(k is Ellipsis for k in (index if isinstance(index, tuple) else (index,)))
        return viewed(view, items) if alone else picked(view, items)
    return picks.picked(view, items)


def store(x: ArrayView, index: Any, value: Any) -> None:
    """``x[index] = value``."""
    items = items_of(x.to, index, x.ndim)
    basic = is_basic(items)
    if basic and all(isinstance(k, Number) or is_number(k) for k in items):
        if isinstance(value, Arrayed):
            value = element(value)
        places = [located(x.to, atom_of(k), n) for k, n in zip(items, x.shape, strict=True)]
        x.store(places, value)
        written(x)
        return
    if isinstance(value, (list, tuple)):
        value = as_array(x.to, value)
    if basic:
        assign(viewed(x, items), value)
    else:
        picks.store(x, items, value)


def in_shape(x: ArrayView, shape: Any) -> ArrayView:
    """The array that ``x.shape = shape`` makes of it."""
    known = x.identity != 0 and not isinstance(x.identity, Value)
    if x.to.is_given(x.buffer) and not known:
        refuse_shape("it may be an argument.")
    if not x.is_contiguous:
        refuse_shape("it may have gaps in memory.")
    made = reshaped(x.to, x, shape)
    made.identity = x.identity
    return made


def refuse_shape(why: str) -> NoReturn:
    raise KernelError("a shape that is set is not compiled.", why, "use reshape.")


def element(x: Arrayed) -> Any:
    """The only element of an array of no axes."""
    if x.shape:
        raise ValueError("an array where a number is needed")
    return x.at(())


def augment(x: ArrayView, operator_: Any, value: Any) -> None:
    """``x += value``, into the array that x is."""
    made = operated(x.to, operator_, x, value)
    if made is NotImplemented:
        raise TypeError("an array meets an object")
    put(x, made)


def length(x: Arrayed) -> Any:
    if not x.shape:
        raise TypeError("len() of an array without axes")
    return x.to.number(x.shape[0], True)


def shape(x: Arrayed) -> tuple[Any, ...]:
    return tuple(x.to.number(n, True) for n in x.shape)


def transposed(x: Arrayed) -> Any:
    if isinstance(x, Single):
        return x.number
    view = array(x)
    return view.of_axes(range(view.ndim)[::-1])


def part(x: Arrayed, which: int) -> Any:
    """The real or the imaginary parts: a view."""
    if x.element == "complex":
        return array(x).part(which)
    if which:
        raise TypeError("the imaginary parts of an array that has none")
    return x.number if isinstance(x, Single) else x


def ours(x: Any) -> bool:
    """Whether a value is a number that the function sees."""
    return isinstance(x, (Number, NarrowNumber, ComplexNumber, complex)) or is_number(x)


ATTRIBUTES: dict[str, Callable[[Arrayed], Any]] = {
    "shape": shape, "ndim": lambda x: x.ndim, "dtype": lambda x: x.dtype,
    "size": lambda x: x.to.number(x.to.product(x.shape), True), "T": transposed,
    "real": lambda x: part(x, 0), "imag": lambda x: part(x, 1),
}  # fmt: skip
