"""Products of matrices and vectors: a routine of a library, on views as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.compiler.front.conversions import as_type
from zyg.compiler.front.elementwise import (
    array,
    broadcast_shape,
    elementwise,
    met,
    of_parts,
    ranks_in,
    refuse_narrow,
    stretched_to,
)
from zyg.compiler.front.mixed import is_narrow
from zyg.compiler.front.reductions import sum_
from zyg.compiler.front.scalars import WholeBuilder, promoted
from zyg.compiler.front.shaping import contiguous
from zyg.compiler.front.views import (
    Arrayed,
    ArrayView,
    counted,
    demand_equal,
    fresh,
    nest,
    strides_of,
)
from zyg.compiler.ir import Atom
from zyg.compiler.kinds import DTYPES, ELEMENTS, NARROW
from zyg.compiler.layouts import in_c, iterated


def as_floats(x: Any, kind: str) -> ArrayView:
    """An array of elements of a type."""
    view: ArrayView = array(x)
    if view.element == kind:
        return view
    return as_type(view, kind)


def matmul(to: WholeBuilder, a: Any, b: Any) -> Any:
    """``a @ b``."""
    if not isinstance(a, Arrayed) or not isinstance(b, Arrayed) or not a.shape or not b.shape:
        raise ValueError("matmul of a number")
    if is_narrow(a) or is_narrow(b):
        (a, b), made = met(to, np.multiply, (a, b))
        if ELEMENTS[made] in NARROW:
            refuse_narrow("a product of matrices", a, b)
    kind = promoted(a, b)
    x, y = as_floats(a, kind), as_floats(b, kind)
    if kind == "complex":
        return _of_complex(to, x, y)
    demand_equal(to, x.shape[-1], y.shape[-2] if y.ndim > 1 else y.shape[0])
    if x.ndim == y.ndim == 1:
        return sum_(to, elementwise(to, "multiply", x, y), dtype=DTYPES[kind])
    batch = broadcast_shape(to, [x.shape[:-2], y.shape[:-2]])
    rows, columns = x.shape[-2:-1], y.shape[-1:] if y.ndim > 1 else ()
    ranks = [ranks_in(v.of_axes(range(v.ndim - 2)), len(batch)) for v in (x, y) if v.ndim > 2]
    order = iterated(len(batch), ranks)
    if x.ndim > 2 and y.ndim < 3 and [*order] == [*range(len(batch))]:
        return _of_all_rows(to, x, y)
    inside = range(len(batch), len(batch) + len(rows) + len(columns))
    made = fresh(to, kind, (*batch, *rows, *columns), True, (*order, *inside))

    def one(index: list[Atom]) -> None:
        parts = [part(v, index[len(batch) - (v.ndim - 2) :] if v.ndim > 2 else ()) for v in (x, y)]
        multiply(parts[0], parts[1], part(made, index))

    nest(to, batch, one, independent=False)
    return made


def _of_all_rows(to: WholeBuilder, x: ArrayView, y: ArrayView) -> ArrayView:
    """Of stacked matrices and one: all rows at once, of a copy if they do not lie in order."""
    x = contiguous(x)
    rows = x.view([to.product(x.shape[:-1]), x.shape[-1]], [x.shape[-1], 1], x.offset)
    made, shape = matmul(to, rows, y), (*x.shape[:-1], *y.shape[1:])
    return made.view(shape, strides_of(to, shape, in_c(len(shape))), made.offset)  # type: ignore[no-any-return]


def _of_complex(to: WholeBuilder, x: ArrayView, y: ArrayView) -> Any:
    """Of complex matrices: four products of their parts."""
    (a, b), (c, d) = ((v.part(0), v.part(1)) for v in (x, y))
    re = elementwise(to, "subtract", matmul(to, a, c), matmul(to, b, d))
    im = elementwise(to, "add", matmul(to, a, d), matmul(to, b, c))
    return of_parts(to, re, im)


def part(x: ArrayView, index: Sequence[Atom]) -> ArrayView:
    """The matrix or vector at an index of the first axes."""
    offset, to = x.offset, x.to
    for k, n, stride in zip(index, x.shape, x.strides, strict=False):
        place = to.op("multiply", stretched_to(to, n, k), stride)
        offset = to.op("add", offset, place)
    return x.of_axes(range(len(index), x.ndim), offset)


def multiply(a: ArrayView, b: ArrayView, c: ArrayView) -> None:
    """Add the product of two matrices, or of a matrix and a vector, to a third."""
    to = a.to
    m, ar = (a.shape[0], a.strides[0]) if a.ndim > 1 else (1, 0)
    n, bc = (b.shape[1], b.strides[1]) if b.ndim > 1 else (1, 0)
    k, ac, br = a.shape[-1], a.strides[-1], b.strides[0]
    strides = [*c.strides]
    cr = strides.pop(0) if a.ndim > 1 else 0
    cc = strides.pop(0) if b.ndim > 1 else 0
    if c.element in ("float", "float32"):
        to.routine("product", m, n, k, a.buffer, a.offset, ar, ac, b.buffer, b.offset, br, bc,
                   c.buffer, c.offset, cr, cc)  # fmt: skip
        return
    _by_loops(a, b, c, (m, n, k, cr, cc))


def _by_loops(a: ArrayView, b: ArrayView, c: ArrayView, sizes: tuple[Atom, ...]) -> None:
    to, (m, n, k, cr, cc) = a.to, sizes
    nothing = to.to(c.element, 0)

    def one(index: list[Atom]) -> None:
        i, j = index

        def inner(q: Any, total: list[Any]) -> Sequence[Atom]:
            x = a.at((i, q) if a.ndim > 1 else (q,))
            y = b.at((q, j) if b.ndim > 1 else (q,))
            return [to.elementwise("add", to.number(total[0], False), to.ufunc("multiply", x, y))]

        total = counted(to, k, [nothing], inner)[0]
        place = to.op("add", to.op("multiply", i, cr), to.op("multiply", j, cc))
        to.store(c.buffer, to.op("add", c.offset, place), total)

    nest(to, (m, n), one)
