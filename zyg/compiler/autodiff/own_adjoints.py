"""Calls of functions that bring their own adjoint, in reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zyg.compiler.autodiff.dependence import is_real
from zyg.compiler.builder import Builder
from zyg.compiler.ir import Adjoint, Atom, Block, Call, For, Program, Value, element_of, is_buffer
from zyg.compiler.splice import spliced


def pulled(reverse: Any, op: Call, adjoint: Adjoint) -> None:
    """In reverse mode: the cotangents of its arguments, by its own adjoint."""
    callee, builder = op.callee, reverse.builder
    pairs = zip((*callee.inputs, *callee.outputs), (*op.args, *op.outs), strict=True)
    known: dict[Any, Atom] = dict(pairs)

    def value(x: Any) -> Any:
        return reverse.value(known[x]) if isinstance(x, Value) else x

    def extent(program: Program, x: Value) -> Any:
        return builder.product(map(value, program.sizes[x]))

    bars: dict[Any, Atom] = {}
    results = [x for x in op.outs[: adjoint.results] if is_real(x.type)]
    for x, bar in zip(results, adjoint.bars, strict=True):
        if not is_buffer(x.type):
            bars[bar] = reverse.bars[-1].pop(x, reverse.zero(x))
        elif reverse.is_active(x):
            bars[bar] = reverse.shadow(x)
        else:
            bars[bar] = builder.alloc(element_of(x.type), extent(adjoint.program, bar))
    inputs = [bars[x] if x in bars else value(x) for x in adjoint.program.inputs]
    moves = _moves(builder, bars, adjoint.program, extent) if reverse.strong else True
    made = spliced(adjoint.program, inputs, builder.block)
    for k, c in zip(adjoint.moving, made, strict=True):
        arg, p = op.args[k], callee.inputs[k]
        if not is_buffer(p.type):
            reverse.add(arg, builder.op("select", moves, c, 0.0) if reverse.strong else c)
        elif reverse.is_active(arg):
            shadow, size = reverse.shadow(arg), extent(callee, p)
            with builder.inside(Block()) as adds:
                builder.add_all(shadow, c, size)
            if reverse.strong:
                builder.branch(moves, adds, Block())
            else:
                builder.block.ops += adds.ops


def _moves(
    builder: Builder,
    bars: dict[Any, Atom],
    program: Program,
    extent: Callable[[Program, Value], Atom],
) -> Atom:
    """Whether any part of the cotangents of a rule's result is not zero."""
    moves: Atom = False
    for x, bar in bars.items():
        if not is_buffer(x.type):
            moves = builder.op("logical_or", moves, builder.op("not_equal", bar, 0.0))
            continue
        index, found, out = Value("int"), Value("bool"), Value("bool")
        with builder.inside(Block()) as body:
            moved = builder.op("not_equal", builder.load(bar, index), 0.0)  # type: ignore[arg-type]
            body.yields = [builder.op("logical_or", found, moved)]
        span = (0, extent(program, x), 1)
        builder.block.ops.append(For(index, span, [moves], [found], body, [out]))
        moves = out
    return moves
