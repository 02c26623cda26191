"""Loops that find the largest or the least: in any order, as each lane finds the first of its own.

What is carried is chosen where a comparison is strictly true, of a number of the round and the one
before; not a number stays where NumPy's functions let it. Of two lanes that are equal the one is
right that found its number first, which the number of the round says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from zyg.compiler.ir import Atom, For, Op, Value
from zyg.compiler.loops import chosen

TYPES = {"float": "double", "float32": "float", "int": "i64"}


@dataclass
class Extremum:
    """What a loop finds: by a `condition` of `before` and `now`, which is made by `ops`."""

    condition: Atom
    before: Value
    now: Atom
    ops: list[Op]
    selections: list[Op]

    def wins(self, function: Any, now: str, before: str) -> str:
        """Whether one number is better than another."""
        function.known |= {self.now: now, self.before: before}
        for op in self.ops:
            function.visit(op)
        return function.atom(self.condition)  # type: ignore[no-any-return]

    def best(self, function: Any, loop: For, slots: Sequence[str], lanes: int) -> None:
        """What the loop gives, of the lanes of what it carries, and of the rounds."""
        m, types = function.m, [*(TYPES[p.type] for p in loop.params), "i64"]
        place, found = loop.params.index(self.before), list[str]()
        for k in range(lanes):
            row = []
            for slot, type in zip(slots, types, strict=True):
                at = m.value(f"getelementptr {type}, ptr {slot}, i64 {k}")
                row.append(m.value(f"load {type}, ptr {at}"))
            if found:
                better = self.wins(function, row[place], found[place])
                worse = self.wins(function, found[place], row[place])
                earlier = m.value(f"icmp slt i64 {row[-1]}, {found[-1]}")
                equal = m.value(f"select i1 {worse}, i1 false, i1 {earlier}")
                takes = m.value(f"or i1 {better}, {equal}")
                row = [m.value(f"select i1 {takes}, {type} {x}, {type} {y}")
                       for type, x, y in zip(types, row, found, strict=True)]  # fmt: skip
            found = row
        function.known |= dict(zip(loop.outs, found[:-1], strict=True))


def extremum(loop: For) -> Extremum | None:
    """What a loop finds, if that is all that its rounds hand on."""
    if loop.in_order or loop.apart is not None or loop.span[2] != 1:
        return None
    makers = {op.out: op for op in loop.body.ops if isinstance(op, Op)}
    taken = [chosen(loop, p) if p.type in TYPES else None for p in loop.params]
    selections = [row[0] for row in taken if row and row[1] and isinstance(row[0], Op)]
    conditions = {op.args[0] for op in selections}
    if len(selections) < len(taken) or len(conditions) != 1:
        return None
    (condition,) = conditions
    for p, (_, _, x) in zip(loop.params, filter(None, taken), strict=True):
        if (
            isinstance(x, Value)
            and isinstance(condition, Value)
            and (ops := _compared(condition, x, p, makers))
        ):
            return Extremum(condition, p, x, ops, selections)
    return None


def _compared(condition: Atom, x: Atom, p: Value, makers: dict[Value, Op]) -> list[Op] | None:
    """What makes a condition, if it is that one number is better than another."""
    made = makers.get(condition)  # type: ignore[arg-type]
    if made is None or not isinstance(x, Value):
        return None
    if made.name in ("less", "greater"):
        return [made] if made.args in ((x, p), (p, x)) else None
    no_worse, is_number = ([*_negated(y, makers)] for y in (*made.args, 0)[:2])
    if made.name != "logical_and" or not no_worse or not is_number:
        return None
    compares = no_worse[0].name in ("less_equal", "greater_equal") and no_worse[0].args == (x, p)
    asks = is_number[0].name == "isnan" and is_number[0].args == (p,)
    return [*no_worse, *is_number, made] if compares and asks else None


def _negated(x: Atom, makers: dict[Value, Op]) -> list[Op]:
    """What makes the negation of something."""
    made = makers.get(x) if isinstance(x, Value) else None
    inner = makers.get(made.args[0]) if made and made.name == "logical_not" else None  # type: ignore[arg-type]
    return [inner, made] if made and inner else []
