"""Products of matrices: by the BLAS that NumPy brings, or by loops.

A product is a program, which looks at sizes and strides when it runs: small ones, and those whose
elements lie as no BLAS wants them, are loops. Its calls of BLAS are by name in the text, so that
object code stays valid on disk; the names get their addresses where it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.base.caches import remembered
from zyg.compiler import libraries
from zyg.compiler.builder import Builder
from zyg.compiler.ir import Block, Program, Type, Value
from zyg.compiler.numbers import atom_of

_SMALL = 48  # so many products take less time than a call
_LETTERS = {"float[]": "d", "float32[]": "s"}
_AS_IS, _TRANSPOSED, _UPPER = 111, 112, 121
# How many codes and sizes there are, and the places of matrices and vectors, the result last.
_FORMS = {"gemm": (2, 3, (5, 8, 11)), "gemv": (1, 2, (3, 6, 9)), "syrk": (2, 2, (4, 7))}
NAMES = "gemm", "new gemm", "gemv", "new gemv", "new syrk"


def called(name: str, kind: Type, row: Callable[[str, int], str]) -> tuple[str, str]:
    """A call of one of these and its declaration: `row` gives an operand in a type.

    The result is added to what is there, or is all of it: "new gemm".
    """
    before, after, ints = libraries.of_products() or ("", "", "")
    real = {"d": "double", "s": "float"}[_LETTERS[kind]]
    made, _, name = name.rpartition(" ")
    codes, sizes, places = _FORMS[name]
    words = ["i32 101", *(row("i32", k) for k in range(codes))]
    words += [row(ints, k) for k in range(codes, codes + sizes)]
    scales = {places[0]: ["1.0"], places[-1]: ["0.0" if made else "1.0"]}
    for k in places:
        words += [*(f"{real} {x}" for x in scales.get(k, ())), row("ptr", k), row(ints, k + 2)]
    symbol = f"void @{before}cblas_{_LETTERS[kind]}{name}{after}"
    types = ", ".join(word.split()[0] for word in words)
    return f"call {symbol}({', '.join(words)})", f"declare {symbol}({types})"


@remembered(8)
def product(kind: Type, new: bool, square: bool) -> Program:
    """The routine `product` (see `routines`) of buffers of a type; if `new`, it is all of C; if
    `square`, B is A's transpose.
    """
    writer = _Writer(kind, new, square)
    return Program("product", writer.inputs, writer.builder.block)


class _Writer:
    """Writes the program of a product: C of m by n, A of m by k, B of k by n."""

    def __init__(self, kind: Type, new: bool, square: bool) -> None:
        self.new, self.half, self.builder = new, new and square, (builder := Builder())
        types = ["int"] * 3 + [kind, "int", "int", "int"] * 3
        self.inputs = [Value(t) for t in types]
        given = [builder.wrap(x) for x in self.inputs]
        (self.m, self.n, self.k), self.a, self.b, self.c = (
            given[:3],
            given[3:7],
            given[7:11],
            given[11:],
        )
        if kind in _LETTERS and libraries.of_products() is not None:
            self.choose(self.m * self.n * self.k < _SMALL, self.loops, self.by_library)
        else:
            self.loops()

    def choose(self, condition: Any, then: Callable[[], None], orelse: Callable[[], None]) -> None:
        blocks = Block(), Block()
        for block, fill in zip(blocks, (then, orelse), strict=True):
            with self.builder.inside(block):
                fill()
        self.builder.branch(atom_of(condition), *blocks)

    def call(self, name: str, *args: Any) -> None:
        self.builder.routine(f"new {name}" if self.new else name, *map(atom_of, args))

    def by_library(self) -> None:
        (a, a0, ar, ac), (b, b0, br, bc), (c, c0, cr, cc) = self.a, self.b, self.c
        m, n, k = self.m, self.n, self.k

        def by_matrix() -> None:
            a_fits, a_code, a_width = _stored(m, k, ar, ac)
            b_fits, b_code, b_width = _stored(k, n, br, bc)
            flipped = _AS_IS + _TRANSPOSED

            def as_it_is() -> None:
                self.call(
                    "gemm", a_code, b_code, m, n, k, a, a0, a_width, b, b0, b_width, c, c0, cr
                )

            def transposed() -> None:
                codes = flipped - b_code, flipped - a_code
                self.call("gemm", *codes, n, m, k, b, b0, b_width, a, a0, a_width, c, c0, cc)

            def by_columns() -> None:
                self.choose(a_fits & b_fits & (cr == 1) & (cc >= m), transposed, self.loops)

            def by_both() -> None:
                self.choose(a_fits & b_fits & by_rows, as_it_is, by_columns)

            by_rows = (cc == 1) & (cr >= n)
            if self.half:
                self.choose(a_fits & by_rows, lambda: self.by_half(a_code, a_width), by_both)
            else:
                by_both()

        def by_vector(rows: Any, columns: Any, matrix: Any, x: Any, y: Any) -> None:
            a, a0, ar, ac = matrix
            fits, code, width = _stored(rows, columns, ar, ac)
            plain = code == _AS_IS
            lines, length = np.where(plain, rows, columns), np.where(plain, columns, rows)
            self.choose(fits & (x[2] > 0) & (y[2] > 0), lambda: self.call(
                "gemv", code, lines, length, a, a0, width, *x, *y
            ), self.loops)  # fmt: skip

        def by_row() -> None:
            turned = b, b0, bc, br
            self.choose(
                m == 1, lambda: by_vector(n, k, turned, (a, a0, ac), (c, c0, cc)), by_matrix
            )

        self.choose(n == 1, lambda: by_vector(m, k, self.a, (b, b0, br), (c, c0, cr)), by_row)

    def by_half(self, code: Any, width: Any) -> None:
        """The upper triangle of a symmetric product, and the lower of that."""
        (a, a0, *_), (c, c0, cr, _), builder = self.a, self.c, self.builder
        self.call("syrk", _UPPER, code, self.n, self.k, a, a0, width, c, c0, cr)

        def below(i: Any, j: Any) -> None:
            x = builder.load(c.atom, atom_of(c0 + j * cr + i))
            builder.store(c.atom, atom_of(c0 + i * cr + j), x)

        self.loop(self.n, lambda i: self.loop(i, lambda j: below(i, j)))

    def loops(self) -> None:
        """All sums in the order of the elements; the innermost loop goes along rows of C."""
        (a, a0, ar, ac), (b, b0, br, bc), (c, c0, cr, cc) = self.a, self.b, self.c
        builder = self.builder

        def element(x: Any, index: Any) -> Any:
            return builder.wrap(builder.load(x.atom, atom_of(index)))

        def add(place: Any, x: Any) -> None:
            builder.store(c.atom, atom_of(place), atom_of(element(c, place) + x))

        def along_row(i: Any) -> None:
            def of_line(q: Any) -> None:
                x = element(a, a0 + i * ar + q * ac)
                first, to = b0 + q * br, c0 + i * cr
                self.loop(self.n, lambda j: add(to + j * cc, x * element(b, first + j * bc)))

            self.loop(self.k, of_line)

        if self.new:
            self.loop(self.m * self.n, lambda i: builder.store(c.atom, atom_of(i), 0.0))
        self.loop(self.m, along_row)

    def loop(self, n: Any, fill: Callable[[Any], None]) -> None:
        with self.builder.each(atom_of(n), independent=False) as index:
            fill(self.builder.wrap(index))


def _stored(rows: Any, columns: Any, r: Any, c: Any) -> tuple[Any, Any, Any]:
    """Whether a matrix of such strides lies as BLAS wants it, if transposed or not, its width."""
    plain = ((c == 1) | (columns == 1)) & ((r >= columns) | (rows == 1))
    turned = ((r == 1) | (rows == 1)) & ((c >= rows) | (columns == 1))
    width = np.where(plain, np.maximum(r, columns), np.maximum(c, rows))
    return plain | turned, np.where(plain, _AS_IS, _TRANSPOSED), width
