"""Whole numbers as NumPy computes them, in the integer type of the operands.

A program computes its ints in int64. NumPy computes an int8 in int8: a sum wraps around, and a
number that has no place there is refused. So a program for operands of narrower types gets, after
each operation that may leave its type, those that wrap the result around. They stand in the program
itself, before it is differentiated: derivatives are computed in floats, and do not wrap.

A number of Python's own (a literal, a loop's index, a captured int, a bool) takes the type of the
operand that it meets, as NumPy's do. int64 is what everything is computed in, and wraps by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.compiler.ir import Atom, Block, For, If, Op, Program, Value, blocks_of, operations
from zyg.errors import IntegerOverflowError

Width = np.dtype[Any] | None  # None: a number of Python's own

# What an operation of ints may do with a result that has no place in their type.
_LEAVES_THE_TYPE = {"add", "subtract", "multiply", "negative", "absolute", "square", "power",
                    "floor_divide", "invert"}  # fmt: skip
_MEET = _LEAVES_THE_TYPE | {
    "remainder", "fmod", "maximum", "minimum", "fmax", "fmin", "bitwise_and", "bitwise_or",
    "bitwise_xor", "select", "sign", "positive", "constant",
}  # fmt: skip


def wrap_around(program: Program, widths: Sequence[Width]) -> None:
    """Make a program, in place, compute in the types of its first inputs, which are `widths`."""
    known: dict[Value, Width] = {}
    given = zip(program.inputs, widths, strict=False)
    known.update((x, width) for x, width in given if x.type == "int")
    if any(width is not None and width.itemsize < 8 for width in known.values()):
        _infer(program.body, known)
        for op in operations(program.body):
            _refuse_literals(op, known)
        _insert(program.body, known, {})


def _infer(block: Block, known: dict[Value, Width]) -> None:
    """The types of all ints; in loops, again until nothing changes."""
    for op in block.ops:
        if isinstance(op, Op):
            if op.out.type == "int":
                args = op.args[1:] if op.name == "select" else op.args
                known[op.out] = _met(args if op.name in _MEET else (), known)
            continue
        carried = [] if isinstance(op, If) else op.params
        while True:
            before = [known.get(p) for p in carried]
            for inner in blocks_of(op):
                _infer(inner, known)
            sources = op.then.yields if isinstance(op, If) else op.init
            others = op.orelse.yields if isinstance(op, If) else op.body.yields
            for k, pair in enumerate(zip(sources, others, strict=True)):
                for x in (op.outs[k], *carried[k : k + 1]):
                    if x.type == "int":
                        known[x] = _met((*pair, *carried[k : k + 1]), known)
            if before == [known.get(p) for p in carried]:
                break


def _met(args: Sequence[Atom], known: dict[Value, Width]) -> Width:
    """The type in which NumPy computes with these."""
    widths = [w for x in args if isinstance(x, Value) and (w := known.get(x)) is not None]
    met = np.result_type(*widths) if widths else None
    return np.dtype(np.int64) if met is not None and met.kind == "f" else met


def _refuse_literals(op: Any, known: dict[Value, Width]) -> None:
    """Raise where an operation has a number that has no place in the type of its operand."""
    if not isinstance(op, Op) or op.name not in _MEET - {"select"}:
        return
    if (width := known.get(op.out)) is None:
        return
    for x in op.args:
        if type(x) is int and not np.iinfo(width).min <= x <= np.iinfo(width).max:
            raise IntegerOverflowError(
                f"the Python integer {x} is out of bounds for {width}.",
                f"a kernel computes with ints as NumPy does, here in {width}, which has no place "
                "for that number.",
                "pass the operand as x.astype(np.int64) or float, or write the number as a float.",
            )


def _insert(block: Block, known: dict[Value, Width], wrapped: dict[Atom, Atom]) -> None:
    """Wrap what may have left its type around, and let all that follows read that."""
    ops: list[Any] = []
    for op in block.ops:
        ops.append(op)
        if isinstance(op, Op):
            op.args = tuple(wrapped.get(x, x) for x in op.args)
            width = known.get(op.out)
            if op.name in _LEAVES_THE_TYPE and width is not None and width.itemsize < 8:
                more, wrapped[op.out] = _wrapping(op.out, width)
                ops += more
            continue
        if isinstance(op, If):
            op.condition = wrapped.get(op.condition, op.condition)
        else:
            op.init = [wrapped.get(x, x) for x in op.init]
            if isinstance(op, For):
                first, end, step = (wrapped.get(x, x) for x in op.span)
                op.span = first, end, step
        for inner in blocks_of(op):
            _insert(inner, known, wrapped)
    block.ops = ops
    block.yields = [wrapped.get(x, x) for x in block.yields]


def _wrapping(x: Value, width: np.dtype[Any]) -> tuple[list[Op], Value]:
    """Operations that wrap an int around, and their result, whose derivative is that of `x`."""
    ops: list[Op] = []

    def op(name: str, *args: Atom) -> Value:
        ops.append(Op(name, args, out := Value("int")))
        return out

    mask, low = (1 << 8 * width.itemsize) - 1, int(np.iinfo(width).min)
    inside = op("bitwise_and", op("subtract", x, low) if low else x, mask)
    inside = op("add", inside, low) if low else inside
    return ops, op("add", x, op("constant", op("subtract", inside, x)))
