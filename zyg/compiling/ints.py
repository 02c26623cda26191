"""Which ints among the inputs of a program have a slope: numbers that are computed with.

To the tracer an int is a real number that can also index and count. A program computes with ints as
ints, through which no derivative flows; so where one is more than an index or a count, the tracer
is to run the function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zyg.compiler.derive.moving import Memory
from zyg.compiler.ir import (
    Call,
    For,
    If,
    Load,
    Op,
    Program,
    Routine,
    Store,
    Value,
    While,
    is_buffer,
    operations,
)
from zyg.compiler.record import COMPARE, OVERFLOWS

# Of which the slope is zero.
_FLAT = {
    *COMPARE, *OVERFLOWS, "logical_and", "logical_or", "logical_xor", "logical_not", "isnan",
    "isinf", "isfinite", "signbit", "floor", "ceil", "rint", "trunc", "sign", "floor_divide",
    "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "constant", "bool",
}  # fmt: skip


def with_slopes(program: Program, results: Sequence[int]) -> frozenset[int]:
    """The places of the ints, and of the buffers of ints, on whose values these outputs depend."""
    memory = Memory(program)
    ints = [k for k, x in enumerate(program.inputs) if x.type in ("int", "int[]")]
    if not ints:
        return frozenset()

    def key(x: Any) -> Any:
        return memory.of(x) if isinstance(x, Value) and is_buffer(x.type) else x

    by: dict[Any, set[int]] = {key(program.inputs[k]): {k} for k in ints}
    arrows = [
        (key(a), key(b)) for op in operations(program.body) for a, b in _arrows(op)
        if isinstance(a, Value)
    ]  # fmt: skip
    more = True
    while more:
        more = False
        for a, b in arrows:
            if new := by.get(a, _NONE) - by.get(b, _NONE):
                by.setdefault(b, set()).update(new)
                more = True
    return _NONE.union(*(by.get(key(program.outputs[k]), _NONE) for k in results))


_NONE: frozenset[int] = frozenset()


def _arrows(op: Any) -> Iterator[tuple[Any, Any]]:
    """Pairs of which the second is computed with the first."""
    if isinstance(op, Op):
        args = op.args[1:] if op.name == "select" else op.args
        yield from ((x, op.out) for x in args if op.name not in _FLAT)
    elif isinstance(op, Load):
        yield op.buffer, op.out
    elif isinstance(op, Store):
        yield op.value, op.buffer
    elif isinstance(op, If):
        for out, a, b in zip(op.outs, op.then.yields, op.orelse.yields, strict=True):
            yield from ((a, out), (b, out))
    elif isinstance(op, (For, While)):
        for out, p, a, b in zip(op.outs, op.params, op.init, op.body.yields, strict=True):
            yield from ((a, p), (b, p), (p, out), (b, out), (a, out))
        if isinstance(op, For):
            yield op.span[0], op.index
    elif isinstance(op, (Call, Routine)):
        outs = [*op.outs, *(x for x in op.args if isinstance(x, Value) and is_buffer(x.type))]
        yield from ((a, b) for a in op.args for b in outs)
