"""Which loops LLVM is to run in vector registers: those whose rounds wait for none before.

Only there the elementary functions are ours, for one number and for many (`elementary_text`); in
all other places those of the C library are, which take less time for a single number.
"""

from __future__ import annotations

from collections.abc import Collection

from zyg.compiler.ir import (
    Atom,
    Check,
    For,
    If,
    Load,
    Op,
    Store,
    Value,
    operands_of,
    operations,
)

_SUMS = {"add", "subtract", "maximum", "minimum", "fmax", "fmin"}


def runs_in_registers(loop: For, without: Collection[Check] = ()) -> bool:
    """Whether all that a round carries to the next is sums, and it reads nothing that others write.

    A sum is made in order: its terms are not. It is told without some of the loop's checks.
    """
    ops = [op for op in operations(loop.body) if op not in without]
    if not all(isinstance(op, (Load, Store, If)) or _is_plain(op) for op in ops):
        return False
    carried = {p for p, y in zip(loop.params, loop.body.yields, strict=True) if y is not p}
    for op in ops:
        if carried.intersection(operands_of(op)) and not (isinstance(op, Op) and op.name in _SUMS):
            return False
    return loop.independent or _apart(ops)


def _is_plain(op: object) -> bool:
    return isinstance(op, Op) and op.callee is None


def _apart(ops: list[object]) -> bool:
    """Whether what is read of a buffer that is written to is read where it is written."""
    places: dict[Value, set[Atom]] = {}
    for op in ops:
        if isinstance(op, Store):
            places.setdefault(op.buffer, set()).add(op.index)
    loads = [op for op in ops if isinstance(op, Load)]
    return all(len(at) == 1 for at in places.values()) and all(
        op.index in places.get(op.buffer, (op.index,)) for op in loads
    )
