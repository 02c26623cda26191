"""Machine code that takes a function's arguments as they are: the short way of what is usual.

An entry answers NotImplemented to arguments of other kinds or layouts, and Ellipsis where its
program has stopped. Both mean that the general way is to be gone, which knows what to do.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from zyg.compiler.back.entry import Direct
from zyg.compiler.back.objects import Unreadable
from zyg.compiler.front.kinds import Array, Kind, Scalar, Static, Struct
from zyg.compiler.ir import Atom, Block, For, Program, Value, is_buffer
from zyg.compiler.record import Builder
from zyg.compiling.operands import apart, floats, leaves, width
from zyg.compiling.operations import Derivative, building


def gradient_entry(
    derivative: Derivative, takes: Sequence[Kind], result: Kind, count: int
) -> Direct | None:
    """The entry that returns the value, and the gradients of the first `count` arguments.

    It stops where one is infinite or NaN: the general way keeps exact zeros.
    """
    program, moving = derivative.operation.program, derivative.moving
    first = len(program.outputs) - len(moving)
    cotangents = dict(zip(moving, program.outputs[first:], strict=True))
    gives, yields, start = [], program.outputs[:first], 0
    builder = Builder()
    for kind in takes[:count]:
        gives.append(_gradient_kind(kind, start, cotangents))
        for place, leaf in leaves(kind, start):
            if not any(k in cotangents for k in _places(leaf, place)):
                continue  # its gradient is None
            size = (
                program.inputs[place + 1 : place + 1 + leaf.ndim] if isinstance(leaf, Array) else []
            )
            for k in _places(leaf, place):
                yields.append(cotangents.get(k, 0.0))
                demand_finite(builder, yields[-1], size, isinstance(leaf, Array) and leaf.element)
            yields += size
        start += width(kind)
    body = Block([*program.body.ops, *builder.block.ops], yields)
    made = Program(program.name, program.inputs, body, sizes=program.sizes)
    both = Struct(tuple, (), (result, Struct(tuple, (), tuple(gives))))
    entry = entry_of(made, takes, both, (), tapes=True)
    return guarded(entry, takes[:count])


def _arrays(kind: Kind) -> int:
    return sum(isinstance(leaf, Array) for _, leaf in leaves(kind, 0))


def guarded(entry: Direct | None, kinds: Sequence[Kind]) -> Direct | None:
    """An entry for arguments of these kinds that answers for no array in two places."""
    if entry is not None:
        entry.several = [k for k, kind in enumerate(kinds) if _arrays(kind) > 1]
        entry.call = apart(entry.call, entry.several)
    return entry


def _places(leaf: Kind, place: int) -> Sequence[int]:
    """Where cotangents of a number or an array are: an int may have one."""
    return floats(leaf, place) or [place]


def _gradient_kind(kind: Kind, start: int, moving: Container[int]) -> Kind:
    """The kind of the gradient of an argument."""
    if not any(k in moving for place, leaf in leaves(kind, start) for k in _places(leaf, place)):
        return Static(None)
    if not isinstance(kind, Struct):
        return kind if floats(kind, start) else Scalar("float")
    parts = []
    for part in kind.parts:
        parts.append(_gradient_kind(part, start, moving))
        start += width(part)
    return Struct(kind.type, kind.keys, tuple(parts))


def demand_finite(builder: Builder, x: Atom, dims: Sequence[Atom], element: Any) -> None:
    """Stop where a cotangent, a number or an array, is not finite."""
    if not isinstance(x, Value) or not is_buffer(x.type):
        builder.check(builder.op("isfinite", x), _NOT_FINITE)
        return
    size = builder.product([2 if element == "complex" else 1, *dims])
    k, so_far, body, out = Value("int"), Value("bool"), Block(), Value("bool")
    with builder.inside(body):
        finite = builder.op("isfinite", builder.load(x, k))
        body.yields = [builder.op("logical_and", so_far, finite)]
    builder.block.ops.append(For(k, (0, size, 1), [True], [so_far], body, [out]))
    builder.check(out, _NOT_FINITE)


_NOT_FINITE = "a derivative that is not finite"


def entry_of(
    program: Program,
    takes: Sequence[Kind],
    gives: Kind,
    writes: Sequence[int],
    tapes: bool = False,
    apart: Sequence[int] = (),
) -> Direct | None:
    """The entry of a program; None where only the general way will do."""
    if any(isinstance(x, Array) and x.gaps for kind in takes for _, x in leaves(kind, 0)):
        return None  # of arguments that are copied
    try:
        with building(program.name):
            return Direct(program, takes, gives, writes, tapes, apart)
    except Unreadable:
        return None
