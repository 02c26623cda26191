"""Loops whose rounds run eight at a time, each in a lane of the registers, with all that is inside.

The rounds of such a loop share nothing but sums: what they write is memory of their own, or a sum
at some place. Loops inside, which may be short or take one step after the other, are made once for
all eight. What is not the same in all rounds `varies`; where rounds go separate ways, a mask says
which of them are on this one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from zyg.compiler.back.distribution import forwards, goes_back
from zyg.compiler.back.llvm_scalar import WHOLE
from zyg.compiler.back.llvm_simd import vectorises
from zyg.compiler.back.vectorize import beside, runs_in_registers, waits_for_sums
from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Check,
    For,
    If,
    Load,
    Op,
    Store,
    Value,
    blocks_of,
    has_effects,
    is_buffer,
    operands_of,
    operations,
    outs_of,
    type_of,
)
from zyg.compiler.loops import additions, more_than_sums, passed, used

_TYPES = {"float", "float32", "int", "bool"}
_FLOATS = {"float", "float32"}
_DEAR = 20  # operations of a round, from which on it is worth while
_FEW = 4  # rounds that loops inside are taken to have
_GATHER = 4  # operations that take the time in which a lane gets a number from a place of its own


@dataclass(eq=False, repr=False)
class Term:
    """What is added to a sum, or subtracted: in each round, or on one side of a branch."""

    name: str
    value: Value
    branch: If | None = None
    side: bool = True


@dataclass(eq=False, repr=False)
class Lanes:
    """A loop that runs in lanes, and what is known of it."""

    loop: For
    varies: set[Value]
    own: set[Value]  # buffers that a round makes
    added: dict[Store, tuple[Load, Op]]  # to what rounds share
    makers: dict[Value, Any]  # operations of a round, by what they make
    in_turn: dict[Value, list[Term]] = field(default_factory=dict)  # sums in order of the rounds
    alls: dict[Value, tuple[Atom, bool]] = field(default_factory=dict)  # what is to be so in all
    chains: set[Value] = field(default_factory=set)  # what is on the way of those
    before: list[Op] = field(default_factory=list)  # what the loop asks for
    # Where loops inside begin and end that run in registers by themselves.
    long: list[tuple[Atom, Atom]] = field(default_factory=list)


def planned(
    given: For, same: Callable[[Value], Any], tapes: Mapping[Value, int],
    is_apart: Callable[[For, Value], bool],
) -> Lanes | None:  # fmt: skip
    """How a loop runs in lanes, forwards if it can; None if it is to run round by round.

    `same` says which buffers may share memory, `tapes` how often each is used in all, `is_apart`
    whether rounds use a buffer each at places of its own.
    """
    before, loop = forwards(given) if goes_back(given) and not given.in_turn else ([], given)
    ops = [*operations(loop.body)]
    inner = [op for op in ops if isinstance(op, For)]
    if loop.apart is not None or loop.in_order or not all(map(_is_simple, ops)):
        return None
    if (cost := _cost(loop.body)) < _DEAR or cost < _GATHER * beside(ops):
        return None
    own = {op.out for op in ops if isinstance(op, Alloc)}
    here = Counter(x for x in used(loop.body) if isinstance(x, Value) and x in tapes)
    own |= {x for x, n in here.items() if tapes[x] == n}
    if not _buffers_stay(loop, ops, own):
        return None
    added = _shared_sums(loop, ops, own, same, tapes, partial(is_apart, given))
    if added is None:
        return None
    makers = {out: op for op in ops for out in (*outs_of(op), *getattr(op, "params", ()))}
    makers |= {op.index: op for op in inner}
    lanes = Lanes(loop, _varying(loop, own), own, added, makers, before=before)
    if not all(_in_lanes(op) for op in ops if not lanes.varies.isdisjoint(outs_of(op))):
        return None
    return lanes if _sums(lanes) and _spans(lanes, inner) else None


def _cost(block: Block) -> int:
    """What a round computes of floats, where loops inside that only hand on have a few rounds."""
    own = sum(op.cost for op in block.ops if isinstance(op, Op) and op.out.type in _FLOATS)
    for op in block.ops:
        hands_on = isinstance(op, For) and op.params and not any(map(has_effects, op.body.ops))
        own += (_FEW if hands_on else 1) * sum(map(_cost, blocks_of(op)))
    return own


def _is_simple(op: Any) -> bool:
    if isinstance(op, For) and (op.apart is not None or op.in_order):
        return False
    return isinstance(op, (Op, Alloc, Load, Store, Check, If, For))


def _in_lanes(op: Any) -> bool:
    """Whether eight numbers can be made at once."""
    kinds = {type_of(x) for x in (*operands_of(op), *outs_of(op)) if not is_buffer(type_of(x))}
    known = not isinstance(op, Op) or vectorises(op, "fast") or op.name in WHOLE
    return known and kinds <= _TYPES


def _buffers_stay(loop: For, ops: list[Any], own: set[Value]) -> bool:
    """Whether all buffers are those of outside, and such as rounds make."""
    for block in (loop.body, *(b for op in ops for b in blocks_of(op))):
        if not own.isdisjoint(block.yields):
            return False
    if any(isinstance(op, Store) and is_buffer(type_of(op.value)) for op in ops):
        return False
    pairs = zip(loop.params, loop.body.yields, strict=True)
    made = [p for p, y in pairs if p is not y]
    made += [x for op in ops for x in (*outs_of(op), *getattr(op, "params", ()))]
    return not any(is_buffer(x.type) and x not in own for x in made)


def _shared_sums(
    loop: For, ops: list[Any], own: set[Value], same: Callable[[Value], Any],
    tapes: Mapping[Value, int], is_apart: Callable[[Value], bool],
) -> dict[Store, tuple[Load, Op]] | None:  # fmt: skip
    """The additions to what rounds share; None if they do more to that.

    On a tape of all rounds each has a place of its own.
    """
    added: dict[Store, tuple[Load, Op]] = {}
    for block in (loop.body, *(b for op in ops for b in blocks_of(op))):
        added |= additions(block, same)
    added = {op: x for op, x in added.items() if op.buffer not in own
             and x[1].out.type in _FLOATS and (op.adds or not loop.in_turn)}  # fmt: skip
    read = {op.buffer for op in ops if isinstance(op, Load)}
    stores = [op for op in ops if isinstance(op, Store) and op.buffer not in own
              and (op.buffer not in tapes or op.buffer in read)]  # fmt: skip
    buffers = {same(op.buffer): op.buffer for op in stores}
    shared = {op.buffer for op in ops if isinstance(op, (Load, Store))} - own
    if any(buffers.get(same(x), x) is not x for x in shared):
        return None
    loads = {load for load, _ in added.values()}
    more = {op.buffer for op in stores if op not in added}
    more |= {op.buffer for op in ops if isinstance(op, Load) and op.buffer in buffers.values()
             and op not in loads}  # fmt: skip
    if not all(map(is_apart, more)):
        return None
    return {op: x for op, x in added.items() if op.buffer not in more}


def _varying(loop: For, own: set[Value]) -> set[Value]:
    """What is not the same in all rounds."""
    found: set[Value] = {loop.index}
    found |= {p for p, y in zip(loop.params, loop.body.yields, strict=True) if p is not y}
    makers = {op.out: op for op in loop.body.ops if isinstance(op, Op)}

    def near(x: Atom) -> bool:
        """Whether an int grows by one from lane to lane: such loops begin at the first of all."""
        op = makers.get(x) if isinstance(x, Value) else None
        if op is None:
            return x is loop.index and loop.span[2] in (1, -1)
        by_number = op.name in ("add", "subtract") and not isinstance(op.args[1], Value)
        return (by_number or op.name == "constant") and near(op.args[0])

    def look(block: Block) -> None:
        for op in block.ops:
            for inner in blocks_of(op):
                look(inner)
            outs, rows = outs_of(op), list[tuple[Sequence[Value], Sequence[Atom]]]()
            if isinstance(op, If):
                rows = [(op.outs, op.then.yields), (op.outs, op.orelse.yields)]
            elif isinstance(op, For):
                rows = [(op.params, op.init), (op.params, op.body.yields), (op.outs, op.params)]
                if not found.isdisjoint(op.span):
                    found.update(op.params)
                    first, end, _ = op.span
                    nearly = near(first) and op.span[2] in (1, -1)
                    if first in found and (end in found or not nearly):
                        found.add(op.index)
            if isinstance(op, (Op, Load, If)):
                own_place = isinstance(op, Load) and op.buffer in own
                if own_place or not found.isdisjoint(operands_of(op)):
                    found.update(outs)
            for to, row in rows:
                found.update(x for x, y in zip(to, row, strict=True) if y in found)

    before = -1
    while before < len(found):
        before = len(found)
        look(loop.body)
    return found


def _sums(lanes: Lanes) -> bool:
    """Whether all that rounds hand on is sums, and those that have an order can be made in it."""
    loop = lanes.loop
    pairs = zip(loop.params, loop.body.yields, strict=True)
    carried = {p: y for p, y in pairs if y is not p and not _says_all(lanes, p, y)}
    if not {p.type for p in carried} <= _FLOATS or more_than_sums(loop, [*carried]):
        return False
    for p in [p for p in carried if loop.in_turn and p not in loop.loose]:
        terms = _terms(lanes, p, carried[p])
        if terms is None:
            return False
        lanes.in_turn[p] = terms
    return True


def _says_all(lanes: Lanes, p: Value, y: Atom) -> bool:
    """Whether a bool that rounds hand on is a number after the first, or what holds in all."""
    uses = Counter(x for x in used(lanes.loop.body) if x is p or x is y)
    op = lanes.makers.get(y) if isinstance(y, Value) else None
    if p.type != "bool":
        return False
    if not isinstance(y, Value):
        if not uses[p]:
            lanes.alls[p] = y, True
    elif isinstance(op, Op) and op in lanes.loop.body.ops and uses == Counter((p, y)):
        first, *rest = op.args
        if op.name == "logical_and" and p in op.args:
            lanes.alls[p] = op.args[op.args[0] is p], True
        elif op.name == "select" and first is not p and False in rest and p in rest:
            lanes.alls[p] = first, rest[0] is p
        lanes.chains.update([y] if p in lanes.alls else [])
    return p in lanes.alls


def _terms(lanes: Lanes, p: Value, y: Atom) -> list[Term] | None:
    """What is added to a sum in a round, in order; None if that is not to be said so."""
    makers = {out: op for op in lanes.loop.body.ops for out in outs_of(op)}
    terms: list[Term] = []
    while y is not p:
        op = makers.get(y)  # type: ignore[arg-type]
        lanes.chains.add(y)  # type: ignore[arg-type]
        made, term = op, Term("", p)
        if isinstance(op, If):
            k = op.outs.index(y)  # type: ignore[arg-type]
            ends = op.then.yields[k], op.orelse.yields[k]
            for side, block in ((True, op.then), (False, op.orelse)):
                found = [x for x in block.ops if isinstance(x, Op) and x.out is ends[not side]]
                if found and ends[side] in found[0].args:
                    made, term.branch, term.side, y = found[0], op, side, ends[not side]
        if not isinstance(made, Op) or made.name not in ("add", "subtract"):
            return None
        lanes.chains.add(y)  # type: ignore[arg-type]
        on = [x for x in made.args if isinstance(x, Value) and _leads(x, p, lanes.makers)]
        if len(on) != 1 or (made.name == "subtract" and on[0] is not made.args[0]):
            return None
        value = made.args[1 - made.args.index(on[0])]
        if not isinstance(value, Value):
            return None
        term.name, term.value = made.name, value
        terms.append(term)
        y = on[0]
    return terms[::-1]


def _leads(x: Atom, p: Value, makers: dict[Value, Any]) -> bool:
    """Whether a value is a sum, or what has been added to it."""
    return passed(x, p, makers) is not None


def _in_registers(loop: For) -> bool:
    """Whether LLVM runs several rounds of a loop inside at once."""
    if any(map(blocks_of, loop.body.ops)) or not runs_in_registers(loop):
        return False
    carried = [p for p, y in zip(loop.params, loop.body.yields, strict=True) if y is not p]
    return not waits_for_sums(loop) and not more_than_sums(loop, carried)


def most(lanes: Lanes, x: Atom) -> Atom | None:
    """What an int of a round mostly is not beyond, as what is known before the loop."""
    op = lanes.makers.get(x) if isinstance(x, Value) else None
    if isinstance(op, For):
        if x is not op.index:
            return None
        return most(lanes, op.span[1] if op.span[2] > 0 else op.span[0])  # type: ignore[operator]
    if isinstance(op, Op) and op.name == "select":  # the lesser of two
        ends = [y for y in (most(lanes, y) for y in op.args[1:]) if y is not None]
        return ends[0] if ends else None
    if isinstance(op, Op) and op.name in ("maximum", "subtract"):
        known = not isinstance(op.args[1], Value) and op.args[1] >= 0
        return most(lanes, op.args[0]) if known else None
    return None if op or x is lanes.loop.index or x in lanes.loop.params else x


def _spans(lanes: Lanes, inner: list[For]) -> bool:
    """Whether it is known before the loop how long those inside are that run in registers."""
    makers = lanes.makers

    def offset(x: Atom) -> int | None:
        """How far an int is from the index of the loop, where it mostly is."""
        op = makers.get(x) if isinstance(x, Value) else None
        if isinstance(op, Op) and op.name in ("select", "constant"):
            return next((n for n in map(offset, op.args[-2:]) if n is not None), None)
        if isinstance(op, Op) and op.name in ("add", "subtract") and type(op.args[1]) is int:
            found = offset(op.args[0])
            by = op.args[1] if op.name == "add" else -op.args[1]
            return None if found is None else found + by
        return 0 if x is lanes.loop.index else None

    for op in inner:
        if not _in_registers(op):
            continue
        start, end, step = op.span
        if (ends := (offset(start), offset(end))).count(None) == 0:
            lanes.long.append(ends)  # type: ignore[arg-type]
            continue
        low, high = (start, end) if step > 0 else (end, start)  # type: ignore[operator]
        if (bound := most(lanes, high)) is None:
            return False
        lanes.long.append((low if most(lanes, low) is low else 0, bound))
    return True
