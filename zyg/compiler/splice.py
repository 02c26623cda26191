"""Programs put into others: what a block takes from around it, and its operations made again."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from zyg.compiler.ir import (
    Atom,
    Block,
    Call,
    Check,
    For,
    Load,
    Program,
    Value,
    While,
    blocks_of,
    operands_of,
    operations,
    outs_of,
    prune,
    type_of,
)


def free_values(block: Block) -> list[Value]:
    """What a block takes from around it, in the order of use."""
    used, made = uses(block)
    return [x for x in used if x not in made]


def uses(block: Block) -> tuple[dict[Value, None], set[Value]]:
    """The values that a block uses, in order, and those that it makes."""
    used: dict[Value, None] = {}
    made: set[Value] = set()
    _use(block, used, made)
    return used, made


def _use(block: Block, used: dict[Value, None], made: set[Value]) -> None:
    for op in block.ops:
        used.update((x, None) for x in operands_of(op) if isinstance(x, Value))
        made.update(outs_of(op))
        if isinstance(op, (For, While)):
            made.update(op.params)
        if isinstance(op, For):
            made.add(op.index)
        for inner in blocks_of(op):
            _use(inner, used, made)
    used.update((x, None) for x in block.yields if isinstance(x, Value))


def only_loaded(program: Program, x: Value) -> bool:
    """Whether a program does nothing with a buffer but to load elements of it."""
    found = [op for op in operations(program.body) if x in operands_of(op)]
    yields = [y for op in operations(program.body) for block in blocks_of(op) for y in block.yields]
    return x not in (*program.body.yields, *yields) and all(isinstance(op, Load) for op in found)


def load_from(
    block: Block, x: Value, where: Callable[[Atom], tuple[Value, list[Any], Atom]]
) -> None:
    """Let loads from a buffer be such from another: `where` an index is, and what computes that."""
    ops: list[Any] = []
    for op in block.ops:
        for inner in blocks_of(op):
            load_from(inner, x, where)
        if isinstance(op, Load) and op.buffer is x:
            op.buffer, more, op.index = where(op.index)
            ops += more
        ops.append(op)
    block.ops = ops


def spliced(program: Program, args: Sequence[Atom], into: Block) -> list[Atom]:
    """Append what a program does with these arguments to a block; what it yields."""
    made: dict[Any, Any] = dict(zip(program.inputs, args, strict=True))
    block: Block = again(program.body, made)
    into.ops += block.ops
    return block.yields


def called(program: Program, args: Sequence[Atom], into: Block) -> list[Atom]:
    """The same, of a program that stays where it is."""
    outs = [Value(type_of(y)) for y in program.outputs]
    into.ops.append(Call(program, tuple(args), outs))
    return [*outs]


def without_adjoints(program: Program) -> Program:
    """The program in which no function has an adjoint of its own; itself if none has."""
    if not any(_has_adjoint(op) for op in operations(program.body)):
        return program
    made: dict[Any, Any] = {}

    def without(op: Any) -> list[Any]:
        if _has_adjoint(op):
            callee, outside = op.callee, op.callee.adjoint.outside
            op.callee = replace(callee, adjoint=None) if outside is None else outside
        return [op]

    inputs, body = again(program.inputs, made), again(program.body, made, without)
    sizes = {made[x]: tuple(made.get(n, n) for n in size) for x, size in program.sizes.items()}
    return Program(program.name, inputs, body, sizes=sizes)


class Themselves(dict[Any, Any]):
    """Every value stays what it is."""

    def __contains__(self, x: object) -> bool:
        return True

    def __missing__(self, x: Any) -> Any:
        return x


def as_run(program: Program) -> Program:
    """The program without what is made in its derivatives alone; itself if there is nothing."""
    if not any(map(_is_of_slopes, operations(program.body))):
        return program
    body = again(program.body, Themselves(), lambda op: [] if _is_of_slopes(op) else [op])
    prune(body)
    return Program(program.name, program.inputs, body, sizes=program.sizes)


def with_slopes(program: Program, made: dict[Program, Program] | None = None) -> Program:
    """The program that stops where derivatives of it would; itself if none does."""
    made = {} if made is None else made
    if program in made or not _checks_slopes(program, set()):
        return made.get(program, program)
    made[program] = new = copy.copy(program)

    def checked(op: Any) -> list[Any]:
        if isinstance(op, Check):
            op.of_slopes = False
        elif isinstance(op, Call):
            op.callee = with_slopes(op.callee, made)
        return [op]

    new.body = again(program.body, Themselves(), checked)
    return new


def _checks_slopes(program: Program, seen: set[Program]) -> bool:
    if program in seen:
        return False
    seen.add(program)
    return any(
        op.of_slopes if isinstance(op, Check) else _checks_slopes(op.callee, seen)
        for op in operations(program.body)
        if isinstance(op, (Call, Check))
    )


def _is_of_slopes(op: Any) -> bool:
    return isinstance(op, Check) and op.of_slopes


def _has_adjoint(op: Any) -> bool:
    adjoint = op.callee.adjoint if isinstance(op, Call) else None
    return adjoint is not None and adjoint.outside is not op.callee


def again(
    x: Any, made: dict[Any, Any], change: Callable[[Any], Iterable[Any]] | None = None
) -> Any:
    """A block, or a part of one, made of other values; `change` says what is there for each
    operation that has been made again.
    """
    if isinstance(x, Value):
        if x not in made:
            made[x] = Value(x.type)
        return made[x]
    if isinstance(x, (tuple, list)):
        return type(x)([again(y, made, change) for y in x])
    if isinstance(x, Block):
        ops: list[Any] = []
        for op in x.ops:
            new = copy.copy(op)
            for field, part in vars(op).items():
                setattr(new, field, again(part, made, change))
            ops += [new] if change is None else change(new)
        return Block(ops, again(x.yields, made, change))
    return x
