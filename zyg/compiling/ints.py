"""Which ints among the inputs of a program have a slope: numbers that are computed with.

To the tracer an int is a real number that can also index and count. A program computes with ints as
ints, through which no derivative flows. So one by which a derivative is asked for gets a float for
a *shadow*: the same number, which stands wherever the int becomes a float, and so on for the ints
that are computed of it. Where that is not enough, as where a loop carries such an int, the tracer
is to run the function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zyg.compiler.aliases import Aliases
from zyg.compiler.ir import (
    Block,
    Call,
    CallBack,
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
from zyg.compiler.splice import Themselves, again


def _is_flat(op: Op) -> bool:
    """Whether the slope of an operation is zero; that of the sign of a complex number is not."""
    return op.row.flat or op.name == "sign"


def with_slopes(program: Program, results: Sequence[int]) -> frozenset[int]:
    """The places of the ints, and of the buffers of ints, on whose values these outputs depend."""
    ints = [k for k, x in enumerate(program.inputs) if x.type in ("int", "int[]")]
    if not ints:
        return frozenset()

    key = _Keys(program)
    return _reached(program, key, {key(program, program.inputs[k]): {k} for k in ints}, results)


def _reached(
    program: Program, key: _Keys, by: dict[Any, set[int]], results: Sequence[int]
) -> frozenset[int]:
    """What outputs are computed with, of what is in `by`, where that for others is added."""
    arrows = [*key.arrows()]
    more = True
    while more:
        more = False
        for a, b in arrows:
            if new := by.get(a, _NONE) - by.get(b, _NONE):
                by.setdefault(b, set()).update(new)
                more = True
    return _NONE.union(*(by.get(key(program, program.outputs[k]), _NONE) for k in results))


_NONE: frozenset[int] = frozenset()


class _Keys:
    """What stands for the values of a program, and of those that it calls: buffers by their memory.

    A function that is called has one set of values for all its calls.
    """

    def __init__(self, program: Program) -> None:
        self.memories: dict[Program, Aliases] = {}
        waiting = [program]
        while waiting:
            if (program := waiting.pop()) not in self.memories:
                self.memories[program] = Aliases(program)
                calls = (op for op in operations(program.body) if isinstance(op, Call))
                waiting += [op.callee for op in calls]

    def __call__(self, program: Program, x: Any) -> Any:
        buffer = isinstance(x, Value) and is_buffer(x.type)
        return self.memories[program].of(x) if buffer else x

    def arrows(self) -> Iterator[tuple[Any, Any]]:
        for program in self.memories:
            for op in operations(program.body):
                if isinstance(op, Call):
                    yield from self.of_call(program, op)
                else:
                    yield from ((self(program, a), self(program, b)) for a, b in _arrows(op)
                                if isinstance(a, Value))  # fmt: skip

    def of_call(self, program: Program, op: Call) -> Iterator[tuple[Any, Any]]:
        for a, x in zip(op.args, op.callee.inputs, strict=True):
            outside, inside = self(program, a), self(op.callee, x)
            if isinstance(a, Value):
                yield outside, inside
                if is_buffer(x.type):  # which may be written to
                    yield inside, outside
        for y, out in zip(op.callee.outputs, op.outs, strict=True):
            if isinstance(y, Value):
                yield self(op.callee, y), self(program, out)


def _arrows(op: Any) -> Iterator[tuple[Any, Any]]:
    """Pairs of which the second is computed with the first."""
    if isinstance(op, Op):
        args = op.args[1:] if op.name == "select" else op.args
        yield from ((x, op.out) for x in args if not _is_flat(op))
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
    elif isinstance(op, (Routine, CallBack)):
        outs = [*op.outs, *(x for x in op.args if isinstance(x, Value) and is_buffer(x.type))]
        yield from ((a, b) for a in op.args for b in outs)


def with_shadows(program: Program, places: Sequence[int], results: Sequence[int]) -> Program | None:
    """The program with a float as a further input for each of these ints, its shadow.

    None where a derivative by one of them would still be missed.
    """
    ints = [program.inputs[k] for k in places]
    floats = [Value("float") for _ in ints]
    body = again(program.body, Themselves(), _Shadows(dict(zip(ints, floats, strict=True))))
    made = Program(program.name, [*program.inputs, *floats], body, sizes=program.sizes)
    missed = with_slopes(made, results) & {*places} or _through_ints(made, floats, results)
    return None if missed else made


def _through_ints(program: Program, floats: Sequence[Value], results: Sequence[int]) -> bool:
    """Whether outputs are computed with floats that have become ints on the way, as they were."""
    key = _Keys(program)
    by: dict[Any, set[int]] = {key(program, x): {0} for x in floats}
    _reached(program, key, by, ())
    whole = [op.out for op in operations(program.body)
             if isinstance(op, Op) and op.name == "int" and op.args[0] in by]  # fmt: skip
    return bool(_reached(program, key, {x: {0} for x in whole}, results))


def without_shadows(program: Program, ints: Sequence[int], floats: Sequence[int]) -> Program:
    """A program whose inputs at `floats` are the ints at `ints`, which alone remain inputs."""
    if not ints:
        return program
    inputs = program.inputs
    pairs = zip(ints, floats, strict=True)
    given = [Op("float", (inputs[k],), inputs[j]) for k, j in pairs]
    left = [x for k, x in enumerate(inputs) if k not in floats]
    body = Block([*given, *program.body.ops], program.body.yields)
    return Program(program.name, left, body, sizes=program.sizes)


class _Shadows:
    """What is there for an operation, with the floats beside ints that are made of `floats`."""

    def __init__(self, floats: dict[Any, Any]) -> None:
        self.floats = floats

    def __call__(self, op: Any) -> Iterator[Any]:
        if not isinstance(op, Op):
            yield op
            return
        shadows: list[Any] = [self.floats.get(x) for x in op.args]
        if _is_flat(op) or not any(shadows):
            yield op
        elif op.name == "float":
            yield Op("multiply", (shadows[0], 1.0), op.out)
        elif op.out.type != "int":
            pairs = zip(op.args, shadows, strict=True)
            yield Op(op.name, tuple(x if s is None else s for x, s in pairs), op.out, op.callee)
        else:
            yield op
            args: list[Any] = []
            known = op.name == "select"  # whose first operand is a condition
            for x, beside in zip(op.args, shadows, strict=True):
                shadow: Any = beside
                if not known and shadow is None:
                    shadow = Value("float") if isinstance(x, Value) else float(x)
                    if isinstance(x, Value):
                        yield Op("float", (x,), shadow)
                args.append(x if known else shadow)
                known = False
            self.floats[op.out] = out = Value("float")
            yield Op("power" if op.name == "int_power" else op.name, tuple(args), out)
