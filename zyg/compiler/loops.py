"""What is known of loops: how many rounds there are, what these hand on, what moves in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from zyg.compiler.builder import Builder
from zyg.compiler.ir import (
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
)
from zyg.functions.operations import OVERFLOW

Uses = Counter[Value]
_NONE: Uses = Counter()
WORTH_IT = 1.0e6  # operations, of which threads take less time to begin and to end than to do them


def trips(builder: Builder, span: tuple[Atom, ...]) -> Atom:
    """The number of rounds over a range."""
    start, stop, step = span
    assert isinstance(step, int)
    n = stop if start == 0 else builder.op("subtract", stop, start)
    if step < 0:
        n, step = builder.op("negative", n), -step
    if step != 1:
        n = builder.op("floor_divide", builder.op("add", n, step - 1), step)
    return builder.op("maximum", n, 0)


def round_of(builder: Builder, loop: For) -> Atom:
    """How many rounds are before this one."""
    start, _, step = loop.span
    ahead = builder.op("subtract", loop.index, start) if start != 0 else loop.index
    if step == 1:
        return ahead
    return builder.op("negative", ahead) if step == -1 else builder.op("floor_divide", ahead, step)


def blocks_around(block: Block, op: Any) -> list[Block]:
    """The blocks that an operation is in, from the outermost on; none if it is not inside."""
    for other in block.ops:
        if other is op:
            return [block]
        for inner in blocks_of(other):
            if found := blocks_around(inner, op):
                return [block, *found]
    return []


FIXED, MOVING, OTHER = range(3)  # the same in each round; with the index; in any other way


class Rounds:
    """What the block of a loop itself makes, and how that changes from round to round."""

    def __init__(self, loop: For) -> None:
        self.loop = loop
        self.makers = {op.out: op for op in loop.body.ops if isinstance(op, Op)}
        self._chains: dict[Atom, list[Op]] = {}
        self._moves: dict[Atom, int] = {**dict.fromkeys(loop.params, OTHER), loop.index: MOVING}
        for op in loop.body.ops:
            self._moves.update(dict.fromkeys(outs_of(op), self._moved(op)))

    def chain(self, x: Atom) -> list[Op]:
        """The operations that make a number, in order."""
        op = self.makers.get(x) if isinstance(x, Value) else None
        if op is not None and x not in self._chains:
            found = dict.fromkeys(y for arg in op.args for y in self.chain(arg))
            self._chains[x] = [*found, op]
        return [*self._chains.get(x, ())]

    def moves(self, x: Atom) -> int:
        """How a number changes from round to round."""
        return self._moves.get(x, FIXED)

    def _moved(self, op: Any) -> int:
        if not isinstance(op, Op) or op.callee is not None:
            return OTHER
        found = max([FIXED, *map(self.moves, op.args)])
        steady = found == FIXED or (op.name in ("add", "subtract") and op.out.type == "int")
        return found if steady else OTHER

    def unsteady(self) -> set[Value]:
        """What is not known before the loop, nor soon computed there."""
        found = {*self.loop.params, self.loop.index}
        for op in self.loop.body.ops:
            if not (isinstance(op, Op) and op.cost == 1 and found.isdisjoint(op.args)):
                found.update(outs_of(op))
        return found


def not_summed(loop: For) -> list[Value]:
    """What a loop leaves that its rounds hand on, but for sums."""
    carried = [p for p, end in zip(loop.params, loop.body.yields, strict=True) if end is not p]
    more = more_than_sums(loop, carried, overflow_checks(loop.body))
    return [out for p, out in zip(loop.params, loop.outs, strict=True) if p in more]


def more_than_sums(loop: For, carried: Sequence[Value], besides: Sequence[Op] = ()) -> list[Value]:
    """Those of the values that a loop carries that it does not only add to.

    Operations `besides` may use the sums, too.
    """
    made = {out: op for op in operations(loop.body) for out in outs_of(op)}
    uses = Counter(x for x in used(loop.body) if isinstance(x, Value))
    uses -= Counter(x for op in besides for x in op.args if isinstance(x, Value))

    def is_sum(p: Value) -> bool:
        end = loop.body.yields[loop.params.index(p)]
        way = None if is_buffer(p.type) else passed(end, p, made)
        return way is not None and all(uses[x] == n for x, n in way.items())

    return [p for p in carried if not is_sum(p)]


def overflow_checks(block: Block) -> list[Op]:
    """What asks whether ints stay within 64 bits, only to end the program where they do not."""
    ends = Counter(op.condition for op in operations(block) if isinstance(op, Check))
    uses = Counter(x for x in used(block) if isinstance(x, Value))
    ops = [op for op in operations(block) if isinstance(op, Op)]
    nots = [op for op in ops if op.name == "logical_not" and uses[op.out] == ends[op.out]]
    asked = Counter(op.args[0] for op in nots)
    return [op for op in ops if op.row.types == OVERFLOW and uses[op.out] == asked[op.out]]


def chosen(loop: For, p: Value) -> tuple[Op | If, bool, Atom] | None:
    """How a loop chooses a value that it carries, if that is of one round or what it began with:
    the selection or branch, whether its first side is that of the round, and what that has.
    """
    y = loop.body.yields[loop.params.index(p)]
    made = next((op for op in loop.body.ops if y in outs_of(op)), None)
    if isinstance(made, If):
        k = made.outs.index(y)  # type: ignore[arg-type]
        sides: Sequence[Atom] = (made.then.yields[k], made.orelse.yields[k])
    elif isinstance(made, Op) and made.name == "select":
        sides = made.args[1:]
    else:
        return None
    everything = [*used(loop.body)]
    others = [op for op in operations(loop.body) if op is not made and p in operands_of(op)]
    flat = sum(op.args.count(p) for op in others if isinstance(op, Op) and op.flat)
    alone = everything.count(y) == 1 and everything.count(p) == 1 + flat
    if is_buffer(p.type) or p not in sides or not alone:
        return None
    wanted = sides[1] is p
    return made, wanted, sides[0 if wanted else 1]


def additions(block: Block, same: Callable[[Value], Any]) -> dict[Store, tuple[Load, Op]]:
    """The stores of a block that add to what was there, with the load of that, and the addition.

    Nothing is stored in the memory between the two; `same` says what is the same memory.
    """
    if not any(isinstance(op, Store) for op in block.ops):
        return {}
    makers = {out: (place, op) for place, op in enumerate(block.ops) for out in outs_of(op)}
    uses = Counter(x for x in used(block) if isinstance(x, Value))
    changed: dict[Any, int] = {}  # where memory was stored to last
    found = {}
    for place, op in enumerate(block.ops):
        if not isinstance(op, Store):
            if has_effects(op):
                changed[None] = place  # all, maybe
            continue
        last = max(changed.get(same(op.buffer), -1), changed.get(None, -1))
        changed[same(op.buffer)] = place
        _, made = makers.get(op.value, (0, None))  # type: ignore[arg-type]
        for x in _added_to(made) if made and uses[op.value] == 1 else ():  # type: ignore[index]
            at, load = makers.get(x, (0, None))
            alone = isinstance(load, Load) and uses[x] == 1 and at > last
            if alone and (load.buffer, load.index) == (op.buffer, op.index):
                found[op] = load, made
    return found


def _added_to(op: Any) -> Sequence[Any]:
    """The operands that an addition adds to."""
    name = op.name if isinstance(op, Op) else None
    return op.args if name == "add" else op.args[:1] if name == "subtract" else ()


def used(block: Block) -> Iterator[Atom]:
    """All that a block uses, as often as it does."""
    yield from block.yields
    for op in operations(block):
        yield from operands_of(op)
        for inner in blocks_of(op):
            yield from inner.yields


def passed(y: Atom, p: Value, made: dict[Value, Any], known: Uses = _NONE) -> Uses | None:
    """The values on the way of p to y, by uses, if y is p and terms that do not depend on it.

    What is known to be such a sum is not gone through again.
    """
    if not isinstance(y, Value):
        return None
    here = Counter([y])
    if y is p or y in known:
        return here
    op = made.get(y)
    if isinstance(op, Op) and op.name in ("add", "subtract"):
        for x in op.args[: 2 if op.name == "add" else 1]:
            if (rest := passed(x, p, made, known)) is not None:
                return here + rest
    elif isinstance(op, If):
        k = op.outs.index(y)
        one = passed(op.then.yields[k], p, made, known)
        other = None if one is None else passed(op.orelse.yields[k], p, made, known + one)
        return None if one is None or other is None else here + one + other
    elif isinstance(op, For):
        k = op.outs.index(y)
        before = passed(op.init[k], p, made, known)
        each = passed(op.body.yields[k], op.params[k], made)
        return None if before is None or each is None else here + before + each
    return None
