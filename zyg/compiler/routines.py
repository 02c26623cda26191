"""Routines of libraries that programs call on their memory, and what they mean.

``product(m, n, k, a, a0, a_row, a_column, b, b0, b_row, b_column, c, c0, c_row, c_column)`` adds
the product of two matrices to a third: c is m by n, a is m by k, b is k by n, each given by its
buffer, the index of its first element, and how far rows and columns are apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Meaning:
    """What a routine does: which operands it reads and writes, and itself in plain Python."""

    reads: tuple[int, ...]  # positions of buffers
    writes: tuple[int, ...]
    plain: Callable[..., Any]


def _product(m: int, n: int, k: int, a: Any, a0: int, ar: int, ac: int, b: Any, b0: int, br: int,
             bc: int, c: Any, c0: int, cr: int, cc: int) -> None:  # fmt: skip
    for i in range(m):
        for j in range(n):
            total = c[c0 + i * cr + j * cc]
            for q in range(k):
                total += a[a0 + i * ar + q * ac] * b[b0 + q * br + j * bc]
            c[c0 + i * cr + j * cc] = total


routines: dict[str, Meaning] = {
    "product": Meaning(reads=(3, 7, 11), writes=(11,), plain=_product),
}
