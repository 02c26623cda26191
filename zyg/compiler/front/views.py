"""Arrays of whole functions: views of buffers, and elementwise expressions that are not computed.

An `ArrayView` is a buffer, the index of its first element, a shape and strides, all of which are
atoms. Its `ranks` say in which order its axes lie, as NumPy has them. A `Lazy` says what each of
its elements is: it is what an elementwise expression gives, and is computed where it is stored,
summed up or given a name, in one loop with what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from zyg.compiler.front.complexes import ComplexNumber, is_complex, pair_of
from zyg.compiler.front.mixed import NarrowNumber, is_narrow, number_of
from zyg.compiler.front.scalars import WholeBuilder, WholeNumber, demand_place, wrapped
from zyg.compiler.front.structures import Dead
from zyg.compiler.ir import Atom, Block, For, Value, type_of
from zyg.compiler.kinds import NARROW, dtype_of, held_in
from zyg.compiler.layouts import Order, Ranks, in_c, of_order, sorted_by
from zyg.compiler.numbers import atom_of
from zyg.errors import KernelError

Index = Sequence[Atom]


class Arrayed:
    """What arrays and elementwise expressions have in common."""

    __slots__ = ("element", "ranks", "shape", "to")
    python, stands_for = False, np.ndarray
    words = "an array"
    to: WholeBuilder
    shape: tuple[Atom, ...]
    ranks: Ranks
    element: str

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        return dtype_of(self.element)

    @property
    def order(self) -> Order:
        """That of a copy which keeps it."""
        return sorted_by(self.ranks)

    def ranked(self, ranks: Sequence[int | None]) -> None:
        """Its ranks are these, but for axes that are known to have one element."""
        found = [None if is_one(n) else k for n, k in zip(self.shape, ranks, strict=True)]
        steps = sorted({k for k in found if k})
        self.ranks = tuple(steps.index(k) + 1 if k else k for k in found)

    def __bool__(self) -> bool:
        raise KernelError(
            "the truth of an array is not compiled.",
            "it is ambiguous where there is more than one element.", "use .any() or .all().",
        )  # fmt: skip

    def at(self, index: Index) -> Any:
        """The number at an index, one int for each axis, all within bounds."""
        raise NotImplementedError


class ArrayView(Arrayed):
    """Elements of a buffer; `readonly` are those that NumPy lets nobody write through a view.

    `identity` says which of the objects that look at the buffer it is: 0 the array that owns it, a
    number its own for each view, -1 one of those that a loop makes. Those with `gaps` lie otherwise
    in Python's memory than in the program's: there is other memory between those of a whole
    argument, of which this is known, and may be between those of parts.
    """

    __slots__ = ("buffer", "gaps", "identity", "offset", "readonly", "strides")

    def __init__(
        self,
        to: WholeBuilder,
        buffer: Value,
        shape: Sequence[Atom],
        strides: Sequence[Atom] | None = None,
        offset: Atom = 0,
        element: str | None = None,
        ranks: Sequence[int | None] | None = None,
        gaps: str = "",
        readonly: bool = False,
        identity: Atom = 0,
    ) -> None:
        self.to, self.buffer, self.offset, self.identity = to, buffer, offset, identity
        self.gaps, self.readonly = gaps, readonly
        self.element = element or buffer.type.removesuffix("[]")
        self.shape = tuple(shape)
        self.strides = row_major(to, shape) if strides is None else tuple(strides)
        self.ranked(of_order(in_c(len(self.shape))) if ranks is None else ranks)
        for n in self.shape:
            to.is_extent(n)

    def place(self, index: Index) -> Atom:
        """Where in the buffer the element at an index is."""
        place = self.offset
        for k, stride in zip(index, self.strides, strict=True):
            place = self.to.op("add", place, self.to.op("multiply", k, stride))
        return self.to.op("multiply", place, 2) if self.element == "complex" else place

    def at(self, index: Index) -> Any:
        to, place = self.to, self.place(index)
        if self.element == "complex":
            re, im = (to.load(self.buffer, k) for k in (place, to.op("add", place, 1)))
            return ComplexNumber(to, re, im, False)
        return number_of(to, self.element, to.load(self.buffer, place))

    def store(self, index: Index, x: Any) -> None:
        """Set an element to a number."""
        self.demand_writeable()
        to, place = self.to, self.place(index)
        if self.element == "complex":
            for k, part in zip((place, to.op("add", place, 1)), pair_of(to, x), strict=True):
                to.store(self.buffer, k, part)
        else:
            to.store(self.buffer, place, cast(to, self.element, x))

    def part(self, which: int) -> ArrayView:
        """The real or the imaginary parts of complex numbers."""
        to = self.to
        strides = [to.op("multiply", n, 2) for n in self.strides]
        offset = to.op("add", to.op("multiply", self.offset, 2), which)
        ways = self.ranks, self.gaps, self.readonly, to.view_number()
        return ArrayView(to, self.buffer, self.shape, strides, offset, None, *ways)

    def view(
        self,
        shape: Sequence[Atom],
        strides: Sequence[Atom],
        offset: Atom,
        ranks: Sequence[int | None] | None = None,
        readonly: bool = False,
    ) -> ArrayView:
        """Other elements of the same buffer, whose axes are in C's order if there are no ranks."""
        readonly, gaps = readonly or self.readonly, self.gaps and "perhaps"
        return ArrayView(
            self.to,
            self.buffer,
            shape,
            strides,
            offset,
            self.element,
            ranks,
            gaps,
            readonly,
            self.to.view_number(),
        )

    def as_ints(self) -> ArrayView:
        """The same elements as ints of 64 bits, which they are in the buffer."""
        same = self.ranks, self.gaps, self.readonly, self.identity
        return ArrayView(self.to, self.buffer, self.shape, self.strides, self.offset, "int", *same)

    def of_axes(self, axes: Sequence[int | None], offset: Atom | None = None) -> ArrayView:
        """The same axes in another order, or some of them; None is one of one element."""
        rows: list[Sequence[Any]] = [
            [new if k is None else row[k] for k in axes]
            for row, new in ((self.shape, 1), (self.strides, 0), (self.ranks, None))
        ]
        made = self.view(rows[0], rows[1], self.offset if offset is None else offset, rows[2])
        if {*range(self.ndim)} <= {*axes}:
            made.gaps = self.gaps
        return made

    @property
    def has_gaps(self) -> bool:
        """Whether there is other memory between the elements; refused where nobody knows."""
        if self.gaps == "perhaps":
            raise KernelError(
                "what depends on the memory of a part of an argument is not compiled.",
                "whether there are gaps between its elements is not known before the call.",
                "copy the argument first.",
            )
        return bool(self.gaps)

    def demand_writeable(self) -> None:
        """Leave a way on which a view that is read-only is written."""
        if self.readonly:
            raise Dead("assignment destination is read-only")
        if is_narrow(self) and self.to.is_given(self.buffer):
            raise KernelError(
                f"a write to an argument of {self.element} is not compiled.",
                "a compiled function computes with a copy of 64 bits.",
                "write to a copy, and return it.",
            )

    # For joins

    def structure(self) -> Any:
        return self.element, self.ndim, self.ranks, self.gaps, self.readonly

    def parts(self) -> list[Any]:
        numbers = (self.offset, *self.shape, *self.strides)
        which = [WholeNumber(x, self.to, False) for x in (self.buffer, self.identity)]
        return [*which, *(self.to.number(x, True) for x in numbers)]

    def made(self, parts: Sequence[Any]) -> ArrayView:
        buffer, identity, offset, *rest = map(atom_of, parts)
        n = self.ndim
        return ArrayView(
            self.to, buffer, rest[:n], rest[n:], offset, self.element,  # type: ignore[arg-type]
            self.ranks, self.gaps, self.readonly, identity,
        )  # fmt: skip

    @property
    def is_contiguous(self) -> bool:
        """Whether its elements are known to be one after the other."""
        return self.is_dense(in_c(self.ndim))

    def is_dense(self, order: Order) -> bool:
        """Whether they are, with the axes in an order."""
        dense = strides_of(self.to, self.shape, order)
        return all(
            is_one(n) or equal(self.to, have, want)
            for n, have, want in zip(self.shape, self.strides, dense, strict=True)
        )

    def is_same(self, other: ArrayView) -> bool:
        """Whether both are known to have the same elements in the same order."""
        return (
            self.buffer is other.buffer
            and self.structure()[:2] == other.structure()[:2]
            and equal(self.to, self.offset, other.offset)
            and all(equal(self.to, n, m) for n, m in zip(self.shape, other.shape, strict=True))
            and all(
                is_one(n) or equal(self.to, a, b)
                for n, a, b in zip(self.shape, self.strides, other.strides, strict=True)
            )
        )

    def is_object(self, other: ArrayView) -> bool | None:
        """Whether both are one object; None if that is not known."""
        if self is other:
            return True
        one, another, to = self.identity, other.identity, self.to
        if not isinstance(one, Value) and not isinstance(another, Value):
            if one != another:
                return False
            if self.buffer is other.buffer and one != -1:
                return True
        either = self.buffer, other.buffer
        return None if to.may_meet(*either) or all(map(to.is_given, either)) else False


class Lazy(Arrayed):
    """An elementwise expression: `reads` are the arrays that it is made of.

    `parts` are a function of numbers and its operands, of which it is made element by element. One
    that is `dear` has more than sums and products.
    """

    __slots__ = ("_at", "dear", "epoch", "parts", "reads")

    def __init__(
        self,
        to: WholeBuilder,
        shape: Sequence[Atom],
        element: str,
        at: Callable[[Index], Any],
        reads: Sequence[ArrayView] = (),
        parts: tuple[Callable[..., Any], Sequence[Any]] | None = None,
        order: Order | None = None,
    ) -> None:
        self.to, self.shape, self.element, self._at = to, tuple(shape), element, at
        self.parts, self.dear = parts, False
        self.ranked(of_order(in_c(self.ndim) if order is None else order))
        self.reads, self.epoch = tuple(reads), len(to.writes)

    def at(self, index: Index) -> Any:
        return self._at(index)


def wide(x: Any) -> Any:
    """A narrow int, or an array of such, as ints of 64 bits; anything else as it is."""
    if isinstance(x, NarrowNumber):
        return x.to.number(x.int, False)
    if isinstance(x, ArrayView) and is_narrow(x):
        return x.as_ints()
    if isinstance(x, Lazy) and is_narrow(x):
        at = x.at
        return Lazy(x.to, x.shape, "int", lambda index: wide(at(index)), x.reads, order=x.order)
    return x


def arrays_in(x: Any) -> Iterator[ArrayView]:
    """The arrays in a result."""
    if isinstance(x, ArrayView):
        yield x
    elif isinstance(x, (tuple, list, dict)) or (hasattr(x, "__dict__") and not callable(x)):
        inside = x if isinstance(x, (tuple, list)) else (x if type(x) is dict else vars(x)).values()
        for part in inside:
            yield from arrays_in(part)


def is_one(n: Atom) -> bool:
    return not isinstance(n, Value) and n == 1


def equal(to: WholeBuilder, a: Atom, b: Atom) -> bool:
    """Whether two ints are known to be equal."""
    if a is b:
        return True
    return to.is_at_least(a, b) and to.is_at_least(b, a)


def demand_equal(to: WholeBuilder, a: Atom, b: Atom) -> None:
    """Stop where two extents differ."""
    to.demand_at_least(a, b, "shapes that do not match")
    to.demand_at_least(b, a, "shapes that do not match")


def row_major(to: WholeBuilder, shape: Sequence[Atom]) -> tuple[Atom, ...]:
    """The strides of an array whose elements are one after the other, in C's order."""
    return strides_of(to, shape, in_c(len(shape)))


def strides_of(to: WholeBuilder, shape: Sequence[Atom], order: Order) -> tuple[Atom, ...]:
    """The same with the axes in another order."""
    strides: list[Atom] = [0] * len(shape)
    step: Atom = 1
    for k in reversed(order):
        strides[k] = step
        step = to.op("multiply", shape[k], step)
    return tuple(strides)


def cast(to: WholeBuilder, element: str, x: Any) -> Atom:
    """A number as one of the elements of an array, as NumPy stores it there."""
    if is_complex(x):
        raise TypeError(f"a complex number in an array of {element}")
    if element in NARROW:
        return _cast_narrowly(to, element, x)
    atom = atom_of(wide(x))
    if element == "int" and type_of(atom) in ("float", "float32"):
        real = to.to("float", atom)
        to.demand("a float that is no int", "less", to.op("absolute", real), 2.0**63)
        return to.op("int", real)
    return to.to(element, atom)


def _cast_narrowly(to: WholeBuilder, element: str, x: Any) -> Atom:
    if getattr(x, "element", "") == element:
        return x.int  # type: ignore[no-any-return]
    atom = atom_of(wide(x))
    if type_of(atom) not in ("int", "bool"):
        demand_place(to, real := to.to("float", atom), element)
        return to.op("int", real)
    if getattr(x, "python", True):
        demand_place(to, atom, element)
    return wrapped(to, to.to("int", atom), element)


def fresh(
    to: WholeBuilder,
    element: str,
    shape: Sequence[Atom],
    zeroed: bool = False,
    order: Order | None = None,
) -> ArrayView:
    """A new array, with its axes in an order, or in C's."""
    size = to.product(shape)
    if element == "complex":
        size = to.op("multiply", size, 2)
    buffer = to.alloc(held_in(element), size, zeroed)
    return dense(to, buffer, shape, element, order)


def dense(
    to: WholeBuilder, buffer: Value, shape: Sequence[Atom], element: str | None = None,
    order: Order | None = None,
) -> ArrayView:  # fmt: skip
    """An array that is all of a buffer, with its axes in an order, or in C's."""
    order = in_c(len(shape)) if order is None else order
    strides = strides_of(to, shape, order)
    return ArrayView(to, buffer, shape, strides, 0, element, of_order(order))


def counted(
    to: WholeBuilder,
    stop: Atom,
    init: Sequence[Atom],
    body: Callable[[Value, list[Any]], Sequence[Atom]],
    independent: bool = False,
    span: tuple[Atom, int] = (0, 1),
) -> list[Value]:
    """A loop of the reader's own; `body` takes the index and what is carried, and yields that."""
    index, (start, step) = to.counter(span[0], stop), span
    params = [Value(type_of(x)) for x in init]
    outs = [Value(type_of(x)) for x in init]
    with to.inside(Block()) as block:
        to.begins(index, (start, stop, step), params)
        block.yields = [
            x if type_of(x) == p.type else to.to(p.type, x)
            for p, x in zip(params, body(index, params), strict=True)
        ]
    to.block.ops.append(For(index, (start, stop, step), [*init], params, block, outs, independent))
    return outs


def nest(
    to: WholeBuilder,
    shape: Sequence[Atom],
    body: Callable[[list[Atom]], None],
    order: Order | None = None,
    index: Index = (),
    independent: bool = True,
) -> None:
    """Loops over all indices of a shape, the axes in an order, or in C's."""
    order = in_c(len(shape)) if order is None else order
    if len(index) == len(shape):
        body([index[order.index(k)] for k in range(len(shape))])
        return
    n = shape[order[len(index)]]
    if is_one(n):
        nest(to, shape, body, order, (*index, 0), independent)
        return

    def inner(k: Value, _: Any) -> Sequence[Atom]:
        nest(to, shape, body, order, (*index, k), independent)
        return ()

    counted(to, n, (), inner, independent)
