"""Loops that find the largest or the least: in any order, as each lane finds the first of its own.

What is carried is chosen where a comparison is strictly true, of a number of the round and the one
before; not a number stays where NumPy's functions let it. Of two lanes that are equal the one is
right that found its number first, which the number of the round says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from zyg.compiler.back import c_abi
from zyg.compiler.ir import Atom, For, Op, Value
from zyg.compiler.loops import chosen

TYPES = {kind: c_abi.TYPES[kind] for kind in ("float", "float32", "int")}


@dataclass(eq=False, repr=False)
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

        def lane(k: int) -> list[str]:
            pairs = zip(slots, types, strict=True)
            at = [(m.value(f"getelementptr {type}, ptr {x}, i64 {k}"), type) for x, type in pairs]
            return [m.value(f"load {type}, ptr {x}") for x, type in at]

        found = [*map(lane, range(lanes))]
        while len(found) > 1:  # a tree
            half = len(found) // 2
            pairs = zip(found[:half], found[half:], strict=True)
            found = [self.better(function, loop, a, b, types) for a, b in pairs]
        function.known |= dict(zip(loop.outs, found[0][:-1], strict=True))

    def better(
        self, function: Any, loop: For, a: list[str], b: list[str], types: list[str]
    ) -> list[str]:
        """Of two lanes the one that is better, or found it earlier."""
        m, place = function.m, loop.params.index(self.before)
        better, worse = (self.wins(function, x[place], y[place]) for x, y in ((b, a), (a, b)))
        earlier = m.value(f"icmp slt i64 {b[-1]}, {a[-1]}")
        takes = m.value(f"select i1 {worse}, i1 false, i1 {earlier}")
        takes = m.value(f"or i1 {better}, {takes}")
        rows = zip(types, b, a, strict=True)
        return [m.value(f"select i1 {takes}, {type} {x}, {type} {y}") for type, x, y in rows]


def extremum(loop: For) -> Extremum | None:
    """What a loop finds, if that is all that its rounds hand on; not what LLVM finds as fast."""
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
        if ops := _compared(condition, x, p, makers):
            plain = len(ops) == len({x for _, _, x in filter(None, taken)}) == 1
            return None if plain else Extremum(condition, p, x, ops, selections)
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
