"""Products of matrices in the reverse pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zyg.compiler.ir import Atom, Routine, Value


def product(reverse: Any, op: Routine) -> None:
    """Of c += a b: to a's shadow comes that of c times b', to b's a' times that of c."""
    if not reverse.is_active(op.args[11]):
        return
    reverse.read.add(reverse.sweep.activity.of(op.args[11]))
    m, n, k = map(reverse.value, op.args[:3])
    c = _matrix(reverse, op, 11, reverse.shadow)
    for at, other in ((3, 7), (7, 3)):
        if reverse.is_active(op.args[at]):
            matrix = reverse.sweep.matrices[op, other]
            buffer, start, row, column = map(reverse.residuals.fetch, matrix)
            turned = buffer, start, column, row
            shape, pair = ((m, k, n), (c, turned)) if at == 3 else ((k, n, m), (turned, c))
            to = _matrix(reverse, op, at, reverse.summed)
            reverse.builder.routine("product", *shape, *pair[0], *pair[1], *to)


def _matrix(reverse: Any, op: Routine, k: int, shadow: Callable[[Any], Value]) -> list[Atom]:
    """The shadow of a matrix among the operands of a routine."""
    buffer, *steps = op.args[k : k + 4]
    return [shadow(buffer), *map(reverse.value, steps)]
