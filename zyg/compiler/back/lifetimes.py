"""How long buffers live: which may go where a block ends.

A buffer that a block makes is needed no more behind it, unless the block yields it, or stores it in
a buffer of buffers from elsewhere, or calls what may do that. Where that is so of all of a block's
buffers, they go, and with them what blocks inside have left. Rounds of a loop that yield some of
what they make carry those on, at the place of those of the round before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zyg.compiler.ir import (
    Alloc,
    Block,
    Call,
    CallBack,
    Store,
    Value,
    blocks_of,
    element_of,
    is_buffer,
    operations,
    outs_of,
    type_of,
)


def buffers_of(block: Block) -> list[Value]:
    """The buffers that a block itself makes, in order."""
    return [x for op in block.ops for x in _fresh(op)]


def _fresh(op: Any) -> list[Value]:
    """The buffers that an operation makes, and that are in no other one: Python's results, too."""
    if isinstance(op, Alloc):
        return [op.out]
    in_python = isinstance(op, Call) and any(isinstance(x, CallBack) for x in op.callee.body.ops)
    return [x for x in op.outs if is_buffer(x.type)] if in_python else []


def ends_here(block: Block) -> bool:
    """Whether no buffer that a block makes, nor blocks inside, is needed behind it."""
    made = {x for op in block.ops for x in outs_of(op)}
    yielded = [x for x in block.yields if isinstance(x, Value) and is_buffer(x.type)]
    return made.isdisjoint(yielded) and not _lets_out(block)


def carried_on(body: Block, params: Sequence[Value]) -> list[Value]:
    """The buffers that a round makes and yields, in the order in which they are made.

    They are fresh, each is yielded once, and all others go; else there are none.
    """
    fresh = buffers_of(body)
    made = {x for op in body.ops for x in outs_of(op)}
    yielded = [x for x in body.yields if isinstance(x, Value) and x in made and is_buffer(x.type)]
    moves = [x for x, p in zip(body.yields, params, strict=True)
             if x is not p and x in {*params} and is_buffer(type_of(x))]  # fmt: skip
    pointers = any(is_buffer(element_of(x.type)) for x in yielded)  # what they point to would go
    if (
        moves
        or pointers
        or _lets_out(body)
        or len({*yielded}) < len(yielded)
        or not {*fresh} >= {*yielded}
    ):
        return []
    return [x for x in fresh if x in yielded]


def _lets_out(block: Block) -> bool:
    """Whether a buffer may be kept in another one that is not made in the block."""
    own = {x for op in operations(block) for x in _fresh(op)}
    for op in operations(block):
        if isinstance(op, Store) and is_buffer(type_of(op.value)) and op.buffer not in own:
            return True
        if isinstance(op, Call) and not _fresh(op):
            buffers = [x for x in op.args if type_of(x).endswith("[][]")]
            if buffers or any(is_buffer(x.type) for x in op.outs):
                return True
    return False


def leaves_some(block: Block) -> bool:
    """Whether a block inside makes a buffer that is there until this block ends."""
    inner = [b for op in block.ops for b in blocks_of(op)]
    return any((_makes(b) and not ends_here(b)) or leaves_some(b) for b in inner)


def _makes(block: Block) -> bool:
    return any(map(_fresh, operations(block)))
