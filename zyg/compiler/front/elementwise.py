"""Elementwise expressions: broadcasting, and where they are stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from zyg.compiler.builder import row_of
from zyg.compiler.front import complexes
from zyg.compiler.front.complexes import is_complex
from zyg.compiler.front.mixed import NarrowNumber, is_narrow
from zyg.compiler.front.scalars import WholeBuilder, demand_place, promoted, type_in, whose, wrapped
from zyg.compiler.front.structures import Compound
from zyg.compiler.front.views import (
    Arrayed,
    ArrayView,
    Index,
    Lazy,
    demand_equal,
    equal,
    fresh,
    is_one,
    nest,
    wide,
)
from zyg.compiler.ir import Atom, Value, type_of
from zyg.compiler.kinds import ELEMENTS, NARROW, dtype_of, held_in
from zyg.compiler.layouts import Order, Ranks, in_c, iterated
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError
from zyg.functions.operations import BITWISE, COMPARISON


def shape_of(x: Any) -> tuple[Atom, ...]:
    return x.shape if isinstance(x, Arrayed) else ()


def broadcast_shape(to: WholeBuilder, shapes: Sequence[Sequence[Atom]]) -> tuple[Atom, ...]:
    """The shape to which others are stretched; stops the program where NumPy would raise."""
    ndim = max(map(len, shapes))
    found: list[Atom] = [1] * ndim
    for shape in shapes:
        for k, n in enumerate(shape, ndim - len(shape)):
            m = found[k]
            if is_one(m) or is_one(n):
                found[k] = n if is_one(m) else m
                continue
            found[k] = together(to, m, n)
    return tuple(found)


def together(to: WholeBuilder, m: Atom, n: Atom) -> Atom:
    """The extent to which two are stretched, of which neither is known to be one."""
    if not isinstance(n, Value) and not isinstance(m, Value) and n != m:
        raise ValueError(f"operands of {m} and {n} elements along an axis")
    short = [x for x in (m, n) if to.may_be_one(x)]
    if not short or equal(to, m, n) or to.assume():
        demand_equal(to, m, n)
        return n if isinstance(m, Value) and not isinstance(n, Value) else m
    fits = to.op("equal", m, n)
    for x in short:
        fits = to.op("logical_or", fits, to.op("equal", x, 1))
    to.check(fits, "shapes that do not match")
    if len(short) == 1:
        return m if short[0] is n else n
    return to.op("select", to.op("equal", m, 1), n, m)


def demand_fits(to: WholeBuilder, n: Atom, m: Atom) -> None:
    """Stop where `m` elements along an axis cannot be stretched to `n`."""
    if not is_one(m) and (equal(to, n, m) or not to.may_be_one(m) or to.assume()):
        demand_equal(to, n, m)
    elif not is_one(m):
        fits = to.op("logical_or", to.op("equal", n, m), to.op("equal", m, 1))
        to.check(fits, "shapes that do not match")


def stretched_to(to: WholeBuilder, n: Atom, k: Atom) -> Atom:
    """Which of `n` elements along an axis broadcasting puts at `k`."""
    if is_one(n) or to.assuming or not to.may_be_one(n):
        return 0 if is_one(n) else k
    return to.op("select", to.op("equal", n, 1), 0, k)


def stretched(to: WholeBuilder, x: Any, index: Index) -> Any:
    """The element of a number, array or expression that broadcasting puts at an index."""
    if not isinstance(x, Arrayed):
        return x
    fresh_enough(x)
    own = index[len(index) - x.ndim :]
    return x.at([stretched_to(x.to, n, k) for n, k in zip(x.shape, own, strict=True)])


def fresh_enough(x: Any) -> None:
    """Refuse an expression whose arrays were written since it was read."""
    if not isinstance(x, Lazy):
        return
    since = x.to.writes[x.epoch :]
    if any(x.to.may_meet(read.buffer, w) for read in x.reads for w in since):
        raise KernelError(
            "an expression that reads an array and writes one is not compiled.",
            "the reads would have to happen before the writes.",
            "assign the first part to a variable.",
        )


def reads_of(xs: Sequence[Any]) -> list[ArrayView]:
    found: list[ArrayView] = []
    for x in xs:
        found += [x] if isinstance(x, ArrayView) else x.reads if isinstance(x, Lazy) else []
    return found


def elementwise(to: WholeBuilder, name: str, *args: Any) -> Any:
    """A ufunc of numbers and arrays."""
    if any(map(is_narrow, args)):
        return _of_narrow(to, name, args)
    if any(map(is_complex, args)):
        promoted(*args)  # which refuses what has 32 bits
        return mapped(to, lambda *xs: complexes.operated(to, name, *xs), args,
                      complexes.element_made(name))  # fmt: skip
    if not any(isinstance(x, Arrayed) for x in args):
        return to.ufunc(name, *args)
    if (element := to.made_by(name, *args)) == "float":
        args = tuple([_in_64_bits(to, x) for x in args])  # before the loop, which sums slopes
    args = tuple([once(x, [shape_of(y) for y in args]) for x in args])
    made = mapped(to, lambda *xs: to.elementwise(name, *xs), args, element)
    if isinstance(made, Lazy):
        made.dear = row_of(name).cost > 1 or any(isinstance(x, Lazy) and x.dear for x in args)
    return made


def once(x: Any, shapes: Sequence[Sequence[Atom]]) -> Any:
    """An operand, computed before others of these shapes stretch it, if that would be dear."""
    if not isinstance(x, Lazy) or not x.dear:
        return x
    own = x.shape[::-1]
    longer = any(len(shape) > len(own) for shape in shapes)
    pairs = [pair for shape in shapes for pair in zip(own, shape[::-1], strict=False)]
    return array(x) if longer or any(is_one(n) and not is_one(m) for n, m in pairs) else x


def _of_narrow(to: WholeBuilder, name: str, args: Sequence[Any]) -> Any:
    """A ufunc of narrow ints: computed in 64 bits, where NumPy computes in what it resolves to.

    What leaves a narrow type wraps around in arrays; of numbers, Python says so.
    """
    given, made = met(to, getattr(np, name, None), args, row_of(name).types != COMPARISON)
    y = elementwise(to, name, *given)
    return narrowed(to, y, made, name) if ELEMENTS[made] in NARROW else y


def met(to: WholeBuilder, f: Any, args: Sequence[Any], checked: bool = True) -> tuple[Any, Any]:
    """Operands of a ufunc, narrow ints as ints of 64 bits or floats; and the type that it gives."""
    *types, made = _resolved(f, args)
    given = []
    for x, dtype in zip(args, types, strict=True):
        if checked and whose(x) and ELEMENTS[dtype] in NARROW:
            demand_place(to, atom_of(x), ELEMENTS[dtype])
        given.append(as_element(to, wide(x), dtype) if is_narrow(x) else x)
    return given, made


def _resolved(f: Any, args: Sequence[Any]) -> list[Any]:
    """The types in which a ufunc computes, and what it gives; KernelError if not ours."""
    own = [_type_in_numpy(x) for x in args]
    try:
        found = f.resolve_dtypes((*own, *[None] * f.nout))
    except (AttributeError, TypeError):
        found = ()
    if f is np.ldexp or not found or not ELEMENTS.keys() >= {*found}:
        refuse_narrow(f"np.{getattr(f, '__name__', f)}", *args)
    return [*found]


def _type_in_numpy(x: Any) -> Any:
    """The dtype of an operand; of a number of Python's, which has none to NumPy, its type."""
    element = type_in(x)
    return _WEAK[element] if whose(x) and element != "bool" else dtype_of(element)


_WEAK = {"int": int, "float": float, "complex": complex}


def refuse_narrow(what: str, *args: Any) -> NoReturn:
    names = " and ".join(dict.fromkeys(x.element for x in args if is_narrow(x))) or "such ints"
    raise KernelError(
        f"{what} of {names} is not compiled.",
        "NumPy computes it in a type that compiled functions do not have for it.",
        "write x.astype(int) or x.astype(float) for the operand, or int(x) for a number.",
    )


def as_element(to: WholeBuilder, x: Any, dtype: Any) -> Any:
    """Ints of 64 bits in another type."""
    element = held_in(ELEMENTS[dtype])
    if element == "int":
        return x
    return mapped(to, lambda v: to.number(to.to(element, atom_of(v)), False), [x], element)


def narrowed(to: WholeBuilder, x: Any, dtype: Any, name: str = "") -> Any:
    """Ints of 64 bits that an operation has made, in a narrow type."""
    element, row = ELEMENTS[dtype], row_of(name) if name else None

    def one(v: Any) -> Any:
        atom = atom_of(v)
        if row and row.wraps and not isinstance(x, Arrayed) and row.types != BITWISE:
            demand_place(to, atom, element)
        elif (row and row.wraps) or dtype.itemsize == 8:
            atom = wrapped(to, atom, element)
        return NarrowNumber(to, atom, element)

    return mapped(to, one, [x], element)


def mapped(to: WholeBuilder, f: Callable[..., Any], args: Sequence[Any], element: str) -> Any:
    """The elementwise expression of a function of numbers."""
    args = [x.at(()) if isinstance(x, Arrayed) and not x.shape else x for x in args]
    shape = broadcast_shape(to, [shape_of(x) for x in args])
    order = iterated(len(shape), [ranks_in(x, len(shape)) for x in args])

    def at(index: Index) -> Any:
        return seen(to, f(*(stretched(to, x, index) for x in args)))

    return Lazy(to, shape, element, at, reads_of(args), (f, args), order) if shape else at(())


def of_parts(to: WholeBuilder, re: Any, im: Any) -> Any:
    """Complex numbers, of their parts."""
    made = mapped(to, lambda *xs: complexes.number(to, (atom_of(xs[0]), atom_of(xs[1])), False),
                  [re, im], "complex")  # fmt: skip
    return array(made)


def _in_64_bits(to: WholeBuilder, x: Any) -> Any:
    is_single = isinstance(x, Number) and type_of(x.atom) == "float32"
    return to.number(to.to("float", x.atom), False) if is_single else x


def ranks_in(x: Any, ndim: int) -> Ranks:
    """The ranks of an operand, or of a number, among so many axes."""
    own = x.ranks if isinstance(x, Arrayed) else ()
    return (None,) * (ndim - len(own)) + own


def in_a_row(
    x: Any, shape: Sequence[Atom], order: Order | None = None
) -> Callable[[Atom], Any] | None:
    """What the k-th element is, in an order, or in C's, if that needs no index of each axis."""
    if not isinstance(x, Arrayed):
        return lambda k: x
    to = x.to
    fresh_enough(x)
    if x.ndim != len(shape):
        return None
    if not all(equal(to, n, m) for n, m in zip(x.shape, shape, strict=True)):
        return None
    if isinstance(x, ArrayView):
        row = x.view([to.product(shape)], [1], x.offset)
        dense = x.is_dense(in_c(x.ndim) if order is None else order)
        return (lambda k: row.at([k])) if dense else None
    if not isinstance(x, Lazy) or x.parts is None:
        return None
    f, args = x.parts
    rows = [in_a_row(part, shape, order) for part in args]
    if None in rows:
        return None
    return lambda k: seen(to, f(*(row(k) for row in rows)))  # type: ignore[misc]


def seen(to: WholeBuilder, x: Any) -> Any:
    """A number of NumPy's, of an atom; others are numbers already."""
    return x if isinstance(x, (Number, Compound)) else to.number(x, False)


def array(x: Any) -> Any:
    """What is computed of an elementwise expression: an array of its own; others stay."""
    if isinstance(x, ArrayView) or not isinstance(x, Arrayed):
        return x
    return copied(x)


def copied(x: Arrayed, order: Order | None = None, element: str | None = None) -> ArrayView:
    """A new array of the same elements, in the same order of axes, or in another; of a type."""
    order = x.order if order is None else order
    made = fresh(x.to, element or x.element, x.shape, order=order)
    fill(made, x)
    return made


def fill(target: ArrayView, source: Any) -> None:
    """Set all elements of an array that nothing in the source reads, or element for element."""
    to, order = target.to, target.order
    is_dense = target.ndim > 1 and target.is_dense(order)
    element = in_a_row(source, target.shape, order) if is_dense else None
    if element is not None:
        row = target.view([to.product(target.shape)], [1], target.offset)
        nest(to, row.shape, lambda index: row.store(index, element(index[0])))
        return
    nest(to, target.shape, lambda index: target.store(index, stretched(to, source, index)), order)


def assign(target: ArrayView, source: Any) -> None:
    """``target[...] = source``, as NumPy does it where both overlap."""
    target.demand_writeable()
    if isinstance(source, ArrayView) and target.is_same(source):
        return
    to, shape = target.to, target.shape
    extra = len(shape_of(source)) - len(shape)
    if extra > 0 and not all(map(is_one, shape_of(source)[:extra])):
        raise ValueError("an array of more axes than it is assigned to")
    if extra > 0:
        source = squeezed(source, extra)
    for n, m in zip(shape[::-1], shape_of(source)[::-1], strict=False):
        demand_fits(to, n, m)
    source = once(source, [shape])
    if any(may_meet(target, x) and not target.is_same(x) for x in reads_of([source])):
        source = copied(source)
    fill(target, source)
    written(target)


def squeezed(x: Arrayed, extra: int) -> Lazy:
    """Without axes of one element at the front."""
    found = Lazy(x.to, x.shape[extra:], x.element, lambda index: x.at([0] * extra + [*index]),
                 reads_of([x]))  # fmt: skip
    found.ranked(x.ranks[extra:])
    return found


def written(target: ArrayView) -> None:
    """An array was written: expressions that are not computed yet must not read it any more."""
    target.to.wrote(target.buffer)


def may_meet(a: ArrayView, b: ArrayView) -> bool:
    """Whether two arrays may have elements in common."""
    return a.to.may_meet(a.buffer, b.buffer)
