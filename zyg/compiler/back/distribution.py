"""Loops whose rounds may come in any order: forwards, and one addition at a time.

The mirror of a loop goes backwards, and that of a stencil adds a number to an element and to those
beside it. A round then waits for the one before, through memory; but additions may come in any
order, and a loop that only adds to one element in each round, another each time, runs in vector
registers. What several such loops add is computed again in each, as it is cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from zyg.compiler.back.alias_scopes import Places
from zyg.compiler.back.gathering import gathered
from zyg.compiler.ir import Block, For, Load, Op, Store, Value, operands_of, operations, outs_of
from zyg.compiler.loops import additions, not_summed

_CHEAP = 12  # operations that may be repeated
_MOST = 24  # loops of one


def distributed(loop: For, places: Places, same: Callable[[Value], Any]) -> list[Any] | None:
    """What to do in place of a loop; None where it is to stay.

    `same` says which buffers may share memory.
    """
    ops, backwards = loop.body.ops, goes_back(loop)
    stores = {op.buffer for op in ops if isinstance(op, Store)}
    several = len(stores) < sum(isinstance(op, Store) for op in ops)
    if not (several or backwards) or loop.apart is not None or loop.in_order or loop.in_turn:
        return None
    if not all(map(_is_simple, ops)) or not_summed(loop):
        return None
    added = additions(loop.body, same)
    if not _commute(ops, added, partial(places.moves, loop), same):
        return None
    before, turned = forwards(loop) if backwards else ([], loop)
    parts = _parts(turned, added) if several else None
    if parts is None:
        return [*before, turned] if backwards else None
    rest = _rest(turned, added)
    sums = {load for load, _ in added.values()}
    whole = gathered(parts, sums, places) if turned.span[2] == 1 else None
    return [*before, *([whole] if whole else parts), *rest]


def goes_back(loop: For) -> bool:
    """Whether a loop is the mirror of one by 1."""
    _, end, step = loop.span
    return step == -1 and not isinstance(end, Value)


def turns(loop: For, places: Places, same: Callable[[Value], Any]) -> bool:
    """Whether a loop goes back, and its rounds may come forwards: each writes places of its own, or
    adds to what is only added to, in any order.
    """
    if not goes_back(loop) or loop.params:
        return False
    accesses = [op for op in operations(loop.body) if isinstance(op, (Load, Store))]
    added = {} if loop.in_turn else additions(loop.body, same)

    def has_turn(store: Store) -> bool:
        if store in loop.body.ops and places.moves(loop, store.index):
            return True
        others = [op for op in accesses if op not in (store, *added.get(store, ())[:1])]
        alone = all(same(op.buffer) is not same(store.buffer) for op in others)
        return store in added and alone

    return loop.independent or all(has_turn(op) for op in accesses if isinstance(op, Store))


def forwards(loop: For) -> tuple[list[Op], For]:
    """A loop that goes back, by the same rounds in the other order; and what makes its end."""
    first, end, _ = loop.span
    after = Value("int")
    return [Op("add", (first, 1), after)], replace(loop, span=(end + 1, after, 1))  # type: ignore[operator]


def _parts(loop: For, added: dict[Store, tuple[Load, Op]]) -> list[For] | None:
    """A loop for the additions to each place; None if that is too much."""
    ops, parts = loop.body.ops, []
    places = dict.fromkeys((op.buffer, op.index) for op in added)
    if not len({buffer for buffer, _ in places}) < len(places) <= _MOST:
        return None
    for place in places:
        needed = _needed(ops, {op for op in added if (op.buffer, op.index) == place}, ())
        work = (op.cost for op in needed if isinstance(op, Op) and op.out.type != "int")
        if sum(work) > _CHEAP or _takes(needed, loop.params):
            return None
        parts.append(For(loop.index, loop.span, [], [], Block(needed, []), []))
    return parts


def _rest(loop: For, added: dict[Store, tuple[Load, Op]]) -> list[For]:
    """A loop for all else, if there is more."""
    rest = {op for op in loop.body.ops if isinstance(op, Store) and op not in added}
    if not rest and not loop.params:
        return []
    needed = _needed(loop.body.ops, rest, loop.body.yields)
    return [replace(loop, body=Block(needed, loop.body.yields))]


def _is_simple(op: Any) -> bool:
    return isinstance(op, (Load, Store)) or (isinstance(op, Op) and op.callee is None)


def _commute(
    ops: list[Any], added: dict[Store, tuple[Load, Op]], moves: Callable[[Any], bool],
    same: Callable[[Value], Any],
) -> bool:  # fmt: skip
    """Whether all that a loop does to memory may come in any order, addition by addition."""
    loads = {load for load, _ in added.values()}
    sums = {same(op.buffer) for op in added}
    stored: dict[Any, tuple[Value, Any]] = {}
    for op in ops:
        if isinstance(op, Store) and op not in added and not moves(op.index):
            return False
        if isinstance(op, (Load, Store)) and op not in added and op not in loads:
            if same(op.buffer) in sums or (isinstance(op, Load) and same(op.buffer) in stored):
                return False
            if isinstance(op, Store):
                place = stored.setdefault(same(op.buffer), (op.buffer, op.index))
                if place != (op.buffer, op.index):
                    return False
    buffers = {op.buffer for op in added}
    if len(sums) < len(buffers):  # two names for what may be one
        return False
    others = [op for op in ops if isinstance(op, Load) and op not in loads]
    return all(
        stored.get(same(op.buffer), (op.buffer, op.index)) == (op.buffer, op.index) for op in others
    )


def _needed(ops: list[Any], ends: set[Store], values: Sequence[Any]) -> list[Any]:
    """These operations, and what makes their operands and some values, in order."""
    wanted, found = {*values}, []
    for op in reversed(ops):
        if op in ends or not wanted.isdisjoint(outs_of(op)):
            found.append(op)
            wanted.update(operands_of(op))
    return found[::-1]


def _takes(ops: list[Any], values: Sequence[Value]) -> bool:
    return any(not {*values}.isdisjoint(operands_of(op)) for op in ops)
