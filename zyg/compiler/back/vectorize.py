"""Which loops LLVM is to run in vector registers: those whose rounds wait for none before.

Only there the elementary functions are ours, for one number and for many (`elementary_text`); in
all other places those of the C library are, which take less time for a single number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any

from zyg.compiler.back.extrema import Extremum
from zyg.compiler.ir import (
    Atom,
    Check,
    For,
    If,
    Load,
    Op,
    Store,
    Value,
    While,
    operands_of,
    operations,
    outs_of,
)
from zyg.compiler.polynomials import Polynomials

_LATENCY = 16  # operations that are done while a sum is made
_FEW = 64  # stores that a processor has not done yet
_PART = 8  # elements of a register


def runs_in_registers(
    loop: For, without: Collection[Check] = (), streams: Mapping[Any, Any] = MappingProxyType({}),
    best: Extremum | None = None,
) -> bool:  # fmt: skip
    """Whether all that a round carries to the next is sums, or an extremum, and it reads nothing
    that others write.

    A sum is made in order: its terms are not. It is told without some of the loop's checks, and if
    accesses meet only those of their own stream.
    """
    ops = [op for op in operations(loop.body) if op not in without]
    if not all(isinstance(op, (Load, Store, If)) or _is_plain(op) for op in ops):
        return False
    carried = {p for p, y in zip(loop.params, loop.body.yields, strict=True) if y is not p}
    finds = [*best.ops, *best.selections] if best else []
    for op in ops:
        if carried.intersection(operands_of(op)) and not (_is_fold(op) or op in finds):
            return False
    return loop.independent or _apart(ops, streams)


def waits_for_sums(loop: For) -> bool:
    """Whether a round takes as long as the sum that it adds to: the rest is done meanwhile.

    A sum is made in order, one number at a time, and in registers those are to be taken apart.
    """
    ops = [*operations(loop.body)]
    sums = {p for p in loop.params if p.type in ("float", "float32")}
    if not any(sums.intersection(operands_of(op)) for op in ops if _is_sum(op)):
        return False
    return sum(map(_time, ops)) <= _LATENCY


def runs_one_by_one(loop: For) -> bool:
    """Whether a loop is not to run in registers: for its sums, or as each of its rounds does."""
    return waits_for_sums(loop) or _by_eights(loop)


def _by_eights(loop: For) -> bool:
    """Whether a round works on eight numbers at once, and has nothing else that takes long."""
    ops = [*operations(loop.body)]
    return beside(ops) > 0 and all(_time(op) <= _LATENCY for op in ops)


def beside(ops: list[Any]) -> int:
    """How many numbers are read that stand eight beside each other, which LLVM reads as one vector:
    in lanes each would be gathered. So do tangents along several directions."""
    makers = {op.out: op for op in ops if isinstance(op, Op) and op.name == "add"}
    rows: Counter[tuple[Value, Atom]] = Counter()
    for op in ops:
        if isinstance(op, Load):
            made: Any = makers.get(op.index)  # type: ignore[arg-type]
            first = made and type(made.args[1]) is int and 0 < made.args[1] < _PART
            rows[op.buffer, made.args[0] if first else op.index] += 1
    return sum(n for n in rows.values() if n == _PART)


def rounds_that_wait(loop: For, around: For | While | None, places: Polynomials) -> int:
    """Up to how many rounds of a loop take less time one by one than in registers.

    A processor has what it stored at once for a load of the same size, and later for others: here
    what was stored number by number just before, or in part of a register by the loop itself.
    """
    ops = [*operations(loop.body)]
    if around is None or not all(_time(op) <= _LATENCY for op in ops) or _by_eights(loop):
        return 0
    loaded = {op.buffer for op in ops if isinstance(op, Load)}
    rounds = [*operations(around.body)]
    waits = [op for op in rounds if isinstance(op, Store) and op.buffer in loaded]
    made = {x for op in rounds for x in outs_of(op)}
    if isinstance(around, For):
        made.add(around.index)

    def is_own(op: Store) -> bool:
        """Whether the loop, or that of which it is a part, stores it, elsewhere the next time."""
        terms = places.sum_of(op.index)
        along = terms is not None and terms[(loop.index,)] == 1
        return along and not made.isdisjoint(chain(*terms))  # type: ignore[misc]

    if all(map(is_own, waits)):
        return _PART if waits and sum(map(_time, ops)) <= _LATENCY else 0
    return _FEW


def _is_fold(op: object) -> bool:
    """Whether LLVM makes it of one number after the other, and all else of vectors."""
    folds = isinstance(op, Op) and op.row.reduce in ("sum", "max", "min", "all")
    return folds or (isinstance(op, Op) and op.name in ("subtract", "fmax", "fmin"))


def _is_sum(op: object) -> bool:
    return isinstance(op, Op) and op.name in ("add", "subtract")


def _time(op: object) -> int:
    if not isinstance(op, Op):
        return 2 if isinstance(op, (Load, Store)) else _LATENCY + 1
    return 0 if op.out.type == "int" else op.cost


def _is_plain(op: object) -> bool:
    return isinstance(op, Op) and op.callee is None


def _apart(ops: list[Any], streams: Mapping[Any, Any]) -> bool:
    """Whether what is read of a buffer that is written to is read where it is written."""
    places: dict[Any, set[Atom]] = {}
    for op in ops:
        if isinstance(op, Store):
            places.setdefault(streams.get(op, op.buffer), set()).add(op.index)
    loads = [op for op in ops if isinstance(op, Load)]
    return all(len(at) == 1 for at in places.values()) and all(
        op.index in places.get(streams.get(op, op.buffer), (op.index,)) for op in loads
    )
