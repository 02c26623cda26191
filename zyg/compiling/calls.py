"""A call of a program as one operation of the tracer, with the programs of its derivatives.

The pullback is a call of the program (operands, cotangents) -> cotangents, the pushforward one of
(tangents, operands) -> tangents: where those are watched themselves, by a derivative further out,
they are operations in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.base.containers import Engine
from zyg.base.registry import Adjoint
from zyg.compiler.back.native_function import Stopped
from zyg.compiler.ir import is_buffer
from zyg.compiling.operations import Operation
from zyg.core.bind import bind
from zyg.core.reverse import settled
from zyg.core.strand import innermost, is_watched, settle
from zyg.errors import CompileError, DegenerateError, ZygError

_MOVING = {"float", "float32", "float[]", "float32[]", "int"}


class OperationCall(Engine):
    """What is known when an operation is called on watched operands.

    `others` is where the outputs go that carry no derivative.
    """

    __slots__ = ("active", "operation", "others")

    def __init__(self, operation: Operation, active: tuple[int, ...], others: list[Any]) -> None:
        self.operation, self.active, self.others = operation, active, others


def apply(operation: Operation, operands: Sequence[Any]) -> list[Any]:
    """The outputs of an operation, watched if an operand is."""
    operands = [settle(x) for x in operands]
    strand = innermost(operands)
    if strand is None:
        return operation.run(operands)
    others: list[Any] = []
    floating = iter(_watched(operation, operands, strand.level, others))
    outs = enumerate(operation.program.outputs)
    rest = iter(others)
    return [next(floating) if k in operation.floating else next(rest) for k, _ in outs]


def _watched(
    operation: Operation, operands: Sequence[Any], level: int, others: list[Any]
) -> Sequence[Any]:
    """The floating outputs, noted on the strand of a level."""
    inputs = operation.program.inputs
    active = tuple(
        k
        for k, x in enumerate(operands)
        if is_watched(x) and x.strand.level == level and inputs[k].type in _MOVING
    )
    made = bind(operation_call, (OperationCall(operation, active, others), *operands))
    return made if type(made) is tuple else (made,)


def call_operation(call: OperationCall, *operands: Any) -> Any:
    """The floating outputs; the others go where the call says."""
    operation, floating = call.operation, call.operation.floating
    made = apply(operation, operands)
    for k, kind in operation.of_numpy.items():
        made[k] = made[k] if is_watched(made[k]) else kind(made[k])
    call.others[:] = [x for k, x in enumerate(made) if k not in floating]
    return tuple([made[k] for k in floating]) if len(floating) > 1 else made[floating[0]]


def operation_adjoint(call: OperationCall, *operands: Any) -> Any:
    """The rule: one of the program of the pullback."""
    operation = call.operation

    def operation_pullback(y_bar: Any, strong: bool) -> tuple[Any, ...]:
        back, moving = operation.pullback(call.active, strong)
        bars = y_bar if len(operation.floating) > 1 else (y_bar,)
        result: list[Any] = [None] * (len(operands) + 1)
        inputs = back.program.inputs[len(operands) :]
        lengths = [np.size(c) for c, x in zip(bars, inputs, strict=False) if is_buffer(x.type)]
        made = derived(back, [*operands, *bars, *lengths]) if moving else ()
        for k, c in zip(moving, made, strict=True):
            result[k + 1] = c
        return tuple(result)

    return call_operation(_outside(call, operands), *operands), operation_pullback


def operation_pushforward(call: OperationCall, *operands: Any) -> Any:
    """The rule of forward mode: one of the program of the pushforward."""
    operation = call.operation

    def pushforward(_: None, *tangents: Any) -> Any:
        moving = tuple(k for k, t in enumerate(tangents) if t is not None)
        along = [*(tangents[k] for k in moving), *operands]
        y_dot = settled(lambda strong: derived(operation.pushforward(moving, strong), along), iter)
        return tuple(y_dot) if len(y_dot) > 1 else y_dot[0]

    return call_operation(_outside(call, operands), *operands), pushforward


def derived(operation: Operation, operands: Sequence[Any]) -> list[Any]:
    """The outputs of a derivative: an error in it is the user's, as there is no other way."""
    try:
        return apply(operation, operands)
    except Stopped as stopped:
        raise stopped.args[0] or _undefined(operation, stopped.why) from None


def _undefined(operation: Operation, why: str) -> ZygError:
    """What is said where machine code stops, and its function has run already."""
    name = operation.program.name
    if DegenerateError.__name__ in why:  # which the formulas of linear algebra raise
        return DegenerateError(
            f"the derivative by {name} is undefined: it asks for what a factor of a matrix leaves "
            "open.",
            "vectors of equal values may be any basis of their space, complex vectors have any "
            "phase, and the result depends on which came out.",
            "use what does not: values, moduli, projectors v @ v.conj().T. Without zyg.compile "
            "the message says which call it is.",
        )
    return CompileError(
        f"the derivative by {name} has stopped at {why or 'what it cannot do'}.",
        "its function has run already as machine code, so that Python cannot run it instead.",
        "differentiate the function that was compiled, without zyg.compile.",
    )


def _outside(call: OperationCall, operands: Sequence[Any]) -> OperationCall:
    """The call as derivatives further out see it."""
    operation = call.operation
    if any(map(is_watched, operands)):
        operation = operation.seen_from_outside()
    operation = operation.checked()
    return (
        call if operation is call.operation else OperationCall(operation, call.active, call.others)
    )


operation_call = Adjoint(call_operation, operation_adjoint, strong=True)
operation_call.pushforward(operation_pushforward)
