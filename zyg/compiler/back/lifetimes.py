"""How long buffers live: which may go where a block ends.

A buffer that a block makes is needed no more behind it, unless the block yields it, or stores it in
a buffer of buffers from elsewhere, or calls what may do that. Where that is so of all of a block's
buffers, they go, and with them what blocks inside have left. Rounds of a loop that yield some of
what they make carry those on, at the place of those of the round before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Call,
    CallBack,
    Store,
    Value,
    blocks_of,
    element_of,
    is_buffer,
    outs_of,
    type_of,
)


def buffers_of(block: Block) -> list[Value]:
    """The buffers that a block itself makes, in order."""
    return [x for op in block.ops for x in _fresh(op)]


def _fresh(op: Any) -> list[Value]:
    """The buffers that an operation makes, and that are in no other one: results of a function
    that makes nothing else of buffers, and Python's, too.
    """
    if isinstance(op, Alloc):
        return [op.out]
    if not isinstance(op, Call):
        return []
    made = {x for inner in op.callee.body.ops for x in _made_alone(inner)}
    pairs = zip(op.callee.outputs, op.outs, strict=True)
    found = {y: out for y, out in pairs if is_buffer(out.type)}
    return [*found.values()] if found.keys() <= made else []


def _made_alone(op: Any) -> list[Value]:
    return op.outs if isinstance(op, CallBack) else [op.out] if isinstance(op, Alloc) else []


class _Inside(NamedTuple):
    """What operations do, those inside others too."""

    fresh: frozenset[Value] = frozenset()  # the buffers that they make
    kept_in: frozenset[Atom] = frozenset()  # the buffers in which they keep others
    calls: bool = False  # what may keep one anywhere

    def and_(self, other: _Inside) -> _Inside:
        if not (other.fresh or other.kept_in or other.calls):
            return self
        return _Inside(
            self.fresh | other.fresh, self.kept_in | other.kept_in, self.calls or other.calls
        )


class Lifetimes:
    """How long buffers live, in blocks that stay as they are meanwhile: each is looked at once."""

    def __init__(self) -> None:
        self._inside: dict[Block, _Inside] = {}
        self._leaves: dict[Block, bool] = {}

    def ends_here(self, block: Block) -> bool:
        """Whether no buffer that a block makes, nor blocks inside, is needed behind it."""
        made = {x for op in block.ops for x in outs_of(op)}
        yielded = [x for x in block.yields if isinstance(x, Value) and is_buffer(x.type)]
        return made.isdisjoint(yielded) and not self._lets_out(block)

    def carried_on(self, body: Block, params: Sequence[Value]) -> list[Value]:
        """The buffers that a round makes and yields, in the order in which they are made.

        They are fresh, each is yielded once, and all others go; else there are none.
        """
        fresh = buffers_of(body)
        made = {x for op in body.ops for x in outs_of(op)}
        yielded = [
            x for x in body.yields if isinstance(x, Value) and x in made and is_buffer(x.type)
        ]
        moves = [x for x, p in zip(body.yields, params, strict=True)
                 if x is not p and x in {*params} and is_buffer(type_of(x))]  # fmt: skip
        pointers = any(
            is_buffer(element_of(x.type)) for x in yielded
        )  # what they point to would go
        if (
            moves
            or pointers
            or self._lets_out(body)
            or len({*yielded}) < len(yielded)
            or not {*fresh} >= {*yielded}
        ):
            return []
        return [x for x in fresh if x in yielded]

    def leaves_some(self, block: Block) -> bool:
        """Whether a block inside makes a buffer that is there until this block ends."""
        if block not in self._leaves:
            self._leaves[block] = any(
                (self._of(b).fresh and not self.ends_here(b)) or self.leaves_some(b)
                for op in block.ops for b in blocks_of(op)
            )  # fmt: skip
        return self._leaves[block]

    def _lets_out(self, block: Block) -> bool:
        """Whether a buffer may be kept in another one that is not made in the block."""
        inside = self._of(block)
        return inside.calls or not inside.kept_in <= inside.fresh

    def _of(self, block: Block) -> _Inside:
        if block not in self._inside:
            found = _Inside()
            for op in block.ops:
                for one in (_done(op), *map(self._of, blocks_of(op))):
                    found = found.and_(one)
            self._inside[block] = found
        return self._inside[block]


def _done(op: Any) -> _Inside:
    """What an operation does itself."""
    fresh = frozenset(_fresh(op))
    if isinstance(op, Store) and is_buffer(type_of(op.value)):
        return _Inside(fresh, frozenset([op.buffer]))
    calls = isinstance(op, Call) and (
        any(type_of(x).endswith("[][]") for x in op.args)
        or (not fresh and any(is_buffer(x.type) for x in op.outs))
    )
    return _Inside(fresh, calls=calls)
