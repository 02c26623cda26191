"""Elements of buffers one by one: those that are known, and loops over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zyg.compiler.builder import Builder
from zyg.compiler.ir import Atom, Block, For, Load, Program, Value, is_buffer, operations, type_of
from zyg.compiler.splice import only_loaded

ELEMENTS = 16  # numbers, or known elements, along which derivatives are taken at once
_FEW = 4  # places of which each is written out


def loaded(program: Program, active: Sequence[int]) -> dict[int, list[Atom | None]]:
    """Of numbers among the inputs, themselves, as None; of the arrays that are nothing but loaded,
    at indices that are known, these indices."""
    found: dict[int, list[Atom | None]] = {}
    for k in active:
        x = program.inputs[k]
        if not is_buffer(x.type):
            found[k] = [None]
        elif only_loaded(program, x):
            loads = [op for op in operations(program.body) if isinstance(op, Load)]
            indices = dict.fromkeys(op.index for op in loads if op.buffer is x)
            if len(indices) <= ELEMENTS and not any(isinstance(n, Value) for n in indices):
                found[k] = [*indices]
    return found


def each(builder: Builder, n: Atom, do: Callable[[Atom], None]) -> None:
    """Do something for each of n places."""
    if not isinstance(n, Value) and n <= _FEW:
        for i in range(int(n)):
            do(i)
        return
    with builder.each(n) as place:
        do(place)


def demand_finite(builder: Builder, row: list[Any], size: Atom) -> None:
    """Stop where numbers, or so many elements of a buffer, are not all finite: exact zeros may have
    to be kept on the way to them."""
    op = builder.op
    finite: Atom = True
    in_buffer = is_buffer(type_of(row[0]))
    if in_buffer and (isinstance(size, Value) or size > _FEW * ELEMENTS):
        so_far, finite, k = Value("bool"), Value("bool"), Value("int")
        with builder.inside(Block()) as body:
            more = op("isfinite", builder.load(row[0], k))
            body.yields = [op("logical_and", so_far, more)]
        builder.block.ops.append(For(k, (0, size, 1), [True], [so_far], body, [finite]))
    else:
        known = range(size) if in_buffer and isinstance(size, int) else ()
        for t in [builder.load(row[0], k) for k in known] if in_buffer else row:
            finite = op("logical_and", finite, op("isfinite", t))
    builder.check(finite, "a derivative that is not finite")
