"""Products of matrices in the reverse pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zyg.compiler.builder import Builder
from zyg.compiler.ir import Atom, Block, Routine, Value, element_of
from zyg.compiler.routines import is_square

_WORTH_A_SUM = 16  # terms of an element of the product, from which one product takes less than two


def product(reverse: Any, op: Routine) -> None:
    """Of c += a b: to a's shadow comes that of c times b', to b's a' times that of c."""
    if not reverse.is_active(op.args[11]):
        return
    reverse.read.add(reverse.sweep.activity.of(op.args[11]))
    m, n, k = map(reverse.value, op.args[:3])
    c = _matrix(reverse, op, 11, reverse.shadow)
    shapes = {3: (m, k, n), 7: (k, n, m)}

    def pull(at: int, c: list[Atom]) -> None:
        matrix = reverse.sweep.matrices[op, 10 - at]
        buffer, start, row, column = map(reverse.residuals.fetch, matrix)
        turned = buffer, start, column, row
        pair = (c, turned) if at == 3 else (turned, c)
        to = _matrix(reverse, op, at, reverse.summed)
        reverse.builder.routine("product", *shapes[at], *pair[0], *pair[1], *to)

    def pull_each() -> None:
        for at in (3, 7):
            if reverse.is_active(op.args[at]):
                pull(at, c)

    if not is_square(op.args) or not reverse.is_active(op.args[3]):
        pull_each()
        return
    builder, apart, at_once = reverse.builder, Block(), Block()
    with builder.inside(at_once):
        pull(3, _with_transpose(builder, c, m))
    with builder.inside(apart):
        pull_each()
    builder.branch(builder.op("less", k, _WORTH_A_SUM), apart, at_once)


def _with_transpose(builder: Builder, c: list[Any], n: Atom) -> list[Atom]:
    """The sum of a matrix and its transpose."""
    buffer, start, row, column = c
    op, kind = builder.op, element_of(buffer.type)
    made = builder.alloc(kind, op("multiply", n, n), zeroed=False)
    with builder.each(n) as i, builder.each(n) as j:
        places = [
            op("add", start, op("add", op("multiply", x, row), op("multiply", y, column)))
            for x, y in ((i, j), (j, i))
        ]
        total = op("add", *(builder.load(buffer, place) for place in places))
        builder.store(made, op("add", op("multiply", i, n), j), total)
    return [made, 0, n, 1]


def _matrix(reverse: Any, op: Routine, k: int, shadow: Callable[[Any], Value]) -> list[Atom]:
    """The shadow of a matrix among the operands of a routine."""
    buffer, *steps = op.args[k : k + 4]
    return [shadow(buffer), *map(reverse.value, steps)]
