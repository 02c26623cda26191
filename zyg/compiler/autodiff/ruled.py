"""Calls of functions that bring their own adjoint: what `Adjoint` says takes the place of theirs.

In the program of a derivative the function itself is there as it is written, and so is what its
adjoint does: whoever derives that program derives those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zyg.compiler.autodiff.reverse import vjp
from zyg.compiler.builder import Builder
from zyg.compiler.ir import Atom, Call, Program, Value, element_of, is_buffer
from zyg.compiler.splice import spliced
from zyg.errors import MissingRuleError


def pushed(
    builder: Builder, op: Call, args: Sequence[Atom], outs: Sequence[Atom], dots: dict[int, Atom]
) -> list[Atom]:
    """The tangents of the results that have any, by those of arguments: the adjoint transposed."""
    adjoint = op.callee.adjoint
    assert adjoint is not None
    if adjoint.only_reverse:
        raise MissingRuleError(*adjoint.only_reverse, tag="hook")
    known = dict(zip((*op.callee.inputs, *op.callee.outputs), (*args, *outs), strict=True))
    along = [
        dots.get(k) or _zero(builder, op.callee, op.callee.inputs[k], known) for k in adjoint.moving
    ]
    if adjoint.pushed is not None:
        given = [*args[:-1], adjoint.which(dots.__contains__)]
        return spliced(adjoint.pushed, [*given, *along], builder.block)
    bars = [k for k, x in enumerate(adjoint.program.inputs) if x in adjoint.bars]
    derived = vjp(adjoint.program, bars)
    given = [
        _zero(builder, adjoint.program, x, known) if k in bars else known.get(x, x)
        for k, x in enumerate(adjoint.program.inputs)
    ]
    made = spliced(derived.program, [*given, *along], builder.block)
    count = len(adjoint.program.outputs)
    found = dict(zip(derived.moving, made[count:], strict=True))
    return [
        found[k]
        if k in found
        else _zero(builder, adjoint.program, adjoint.program.inputs[k], known)
        for k in bars
    ]


def extent(builder: Builder, program: Program, x: Value, known: dict[Any, Atom]) -> Atom:
    """The number of elements of a buffer of a function or its adjoint, where that is called."""
    return builder.product(known.get(n, n) for n in program.sizes[x])


def _zero(builder: Builder, program: Program, x: Value, known: dict[Any, Atom]) -> Atom:
    if not is_buffer(x.type):
        return builder.to(x.type, 0.0)
    return builder.alloc(element_of(x.type), extent(builder, program, x, known))
