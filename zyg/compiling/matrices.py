"""Jacobians and Hessians as programs: a loop over directions around a pushforward.

They answer for one array or number after another; where there is more to an argument or a result,
or rows are cheaper than columns, the verb goes its general way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.base.registry import own_verbs
from zyg.compiler.back.entry import Stopped
from zyg.compiler.derive import forward
from zyg.compiler.front.kinds import Array, Kind, Scalar
from zyg.compiler.ir import Atom, Block, Call, For, Program, Value, is_buffer, type_of
from zyg.compiler.record import Builder
from zyg.compiling.calls import run
from zyg.compiling.functions import Compiled
from zyg.compiling.operands import width
from zyg.compiling.operations import Operation
from zyg.core.reverse import all_finite

_FEW = 8  # columns that cost no more than a row, as of the verb


def jacobian(f: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any], mode: str) -> Any:
    """What `jacobian` returns, by columns."""
    call = None if kwargs or mode == "reverse" else f.call(args, kwargs)
    if call is None or call.watched or call.read.written or not _is_real(call.read.result):
        return NotImplemented
    starts = _starts(call.read.kinds)
    if starts is None or call.read.refusal() is not None:
        return NotImplemented
    chosen = [k for k in range(len(args)) if f.wrt is None or k in f.wrt]
    columns = sum(np.size(args[k]) for k in chosen)
    try:
        y = call.read.make(run(call.read.operation, call.operands))
        if mode == "auto" and columns > _FEW and np.size(y) < columns:
            return NotImplemented
        sizes = [np.size(y)]
        operation, operands = call.read.operation, call.operands
        made = {k: _block(operation, starts[k], operands, sizes)[0] for k in chosen}
    except Stopped:
        return NotImplemented
    if not all_finite(made.values()):
        return NotImplemented
    blocks = [made[k] if k in made else np.zeros(sizes[0] * np.size(x)) for k, x in enumerate(args)]
    pairs = zip(blocks, args, strict=True)
    return tuple(_shaped(block, np.shape(y) + np.shape(x), y, x) for block, x in pairs)


def hessian(f: Compiled, x: Any) -> Any:
    """What `hessian` returns."""
    found = _of_gradient(f, x)
    if found is None:
        return NotImplemented
    operation, operands = found
    try:
        _, block = _block(operation, 0, operands, [1, np.size(x)])
    except Stopped:
        return NotImplemented
    return _shaped(block, np.shape(x) * 2, x, x) if all_finite([block]) else NotImplemented


def hvp(f: Compiled, x: Any, v: Any) -> Any:
    """What `hvp` returns."""
    found = _of_gradient(f, x)
    if found is None or type(v) is not type(x) or np.shape(v) != np.shape(x):
        return NotImplemented
    operation, operands = found
    along = np.ascontiguousarray(v, np.float64).reshape(-1) if isinstance(v, np.ndarray) else v
    try:
        _, c = run(operation.pushforward((0,)), [along, *operands])
    except Stopped:
        return NotImplemented
    return _shaped(c, np.shape(x), x, x) if all_finite([c]) else NotImplemented


def _of_gradient(f: Compiled, x: Any) -> tuple[Operation, list[Any]] | None:
    """The operation of value and gradient by a single array or number, and its operands."""
    call = f.call((x,), {})
    if call is None or call.watched or call.read.written or call.read.loss != "alone":
        return None
    if _starts(call.read.kinds) is None or call.read.plan(None, False) is None:
        return None
    derivative = call.read.operation.gradient((0,))
    return (derivative.operation, call.operands) if derivative.moving else None


def _is_real(kind: Kind) -> bool:
    if isinstance(kind, Array):
        return kind.element == "float"
    return isinstance(kind, Scalar) and kind.type == "float"


def _starts(kinds: Sequence[Kind]) -> list[int] | None:
    """Where the operands of arguments are, if all are real numbers and arrays of those."""
    starts, start = [], 0
    for kind in kinds:
        if not _is_real(kind):
            return None
        starts.append(start)
        start += width(kind)
    return starts


def _shaped(block: Any, shape: tuple[int, ...], y: Any, x: Any) -> Any:
    if shape or isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        return np.reshape(block, shape)
    return type(x)(block[0] if isinstance(block, np.ndarray) else block)


def _block(operation: Operation, place: int, operands: list[Any], sizes: list[int]) -> list[Any]:
    """The derivatives of the floating outputs, of these sizes, by an operand."""
    if not is_buffer(operation.program.inputs[place].type):
        return run(operation.pushforward((place,)), [1.0, *operands])
    made = operation.once(("columns", place), lambda: Operation(_columns(operation, place)))
    return run(made, [*operands, *sizes])


def _columns(operation: Operation, place: int) -> Program:
    """(inputs, sizes) -> for each floating output the matrix of its derivatives by an input."""
    program, floating = operation.program, operation.floating
    push, builder = forward.pushforward(program, [place]), Builder()
    inputs, sizes = [Value(x.type) for x in program.inputs], [Value("int") for _ in floating]
    new: dict[Any, Any] = dict(zip(program.inputs, inputs, strict=True))
    n: Atom = 1
    for x in program.sizes[program.inputs[place]]:
        n = builder.op("multiply", n, new.get(x, x))
    matrices = [builder.alloc("float", builder.op("multiply", m, n), False) for m in sizes]
    k, body = Value("int"), Block()
    with builder.inside(body):
        along = builder.alloc("float", n)
        builder.store(along, k, 1.0)
        outs = [Value(type_of(x)) for x in push.outputs]
        builder.block.ops.append(Call(push, (along, *inputs), outs))
        for matrix, m, t in zip(matrices, sizes, outs[len(program.outputs) :], strict=True):
            if not is_buffer(t.type):
                builder.store(matrix, k, t)
                continue
            row, rows = Value("int"), Block()
            with builder.inside(rows):
                at = builder.op("add", builder.op("multiply", row, n), k)
                builder.store(matrix, at, builder.load(t, row))
            builder.block.ops.append(For(row, (0, m, 1), [], [], rows, []))
    builder.block.ops.append(For(k, (0, n, 1), [], [], body, []))
    builder.block.yields = [*matrices]
    return Program(f"{program.name}_columns", [*inputs, *sizes], builder.block)


own_verbs[Compiled] |= {"jacobian": jacobian, "hessian": hessian, "hvp": hvp}
