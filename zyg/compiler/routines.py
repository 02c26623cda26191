"""Routines of libraries that programs call on their memory, and what they mean.

``product(m, n, k, a, a0, a_row, a_column, b, b0, b_row, b_column, c, c0, c_row, c_column)`` adds
the product of two matrices to a third: c is m by n, a is m by k, b is k by n, each given by its
buffer, the index of its first element, and how far rows and columns are apart. It is a call of
those of BLAS, "gemm" or "gemv", whose result is added to what is there, or is all of it; so is that
of "new syrk", half of the product of a matrix and its own transpose.

Those of LAPACK take matrices by columns, whole buffers, and write over them; `pivots` are n ints.
``solve(n, k, a, x, pivots)`` writes the solutions of a x = b over the k columns of b, and factors
over a, by which "solve again" solves for the transpose; "solve lower" and "solve upper", without
pivots, do it for a triangle of a. ``cholesky(n, a)`` writes the factor of a over its lower
triangle. All these say whether there is a result. ``slogdet(n, a, pivots)`` gives the sign and the
logarithm of the determinant of a.

NumPy's inner loops (`libraries.LOOPS`) take how many times they run, their extents, and operands:
``fft(rows, n, m, a, factor, y)`` writes to the m numbers of each row of y what NumPy makes of the n
numbers of a row of a, times a factor. What is for the next time follows in memory; what is read
and has no extents is a number, the same each time. Ints that are written are the lower halves of
ours. ``qr_r_raw`` writes over what it takes, too.

``sort(n, a, first)`` sorts n elements of a, ``argsort(n, a, first, order, start)`` by those as many
ints of `order`, which are counted there. They say whether there was memory for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from zyg.compiler.ir import Atom, Type
from zyg.compiler.libraries import LOOPS


class Meaning(NamedTuple):
    """What a routine does: which operands it reads and writes, and what it gives."""

    reads: tuple[int, ...]  # positions of buffers
    writes: tuple[int, ...]
    gives: tuple[Type, ...] = ()


def _of_loop(name: str) -> Meaning:
    """The operands of a loop stand behind the count and the extents."""
    row = LOOPS[name]
    first = 1 + len(row.names)
    places = range(first, first + len(row.axes))
    reads = [k for k, axes in zip(places, row.axes[: row.inputs], strict=False) if axes]
    writes = [*reads * (row.ufunc == "qr_r_raw"), *places[row.inputs :]]
    return Meaning((*reads,), (*writes,))


routines: dict[str, Meaning] = {
    "product": Meaning(reads=(3, 7, 11), writes=(11,)),
    "gemm": Meaning((5, 8, 11), (11,)), "new gemm": Meaning((5, 8), (11,)),
    "gemv": Meaning((3, 6, 9), (9,)), "new gemv": Meaning((3, 6), (9,)),
    "new syrk": Meaning((3,), (6,)),
    "solve": Meaning((2, 3), (2, 3, 4), gives=("bool",)),
    "solve again": Meaning((2, 3, 4), (3,), gives=("bool",)),
    "solve lower": Meaning((2, 3), (3,), gives=("bool",)),
    "solve upper": Meaning((2, 3), (3,), gives=("bool",)),
    "cholesky": Meaning((1,), (1,), gives=("bool",)),
    "slogdet": Meaning((1,), (1, 2), gives=("float", "float")),
    **{name: _of_loop(name) for name in LOOPS},
    "sort": Meaning((1,), (1,), gives=("bool",)),
    **dict.fromkeys(("argsort", "argsort, stable"), Meaning((1, 3), (3,), gives=("bool",))),
}  # fmt: skip


def is_square(product: Sequence[Atom]) -> bool:
    """Whether a product, by its operands, is that of a matrix and its own transpose."""
    m, n, _, a, a0, a_row, a_column, b, b0, b_row, b_column, *_ = product
    return (m, a, a0, a_row, a_column) == (n, b, b0, b_column, b_row)
