"""Whole numbers as NumPy computes them, in the integer type of the operands.

A program computes its ints in int64. NumPy computes an int8 in int8: a sum wraps around, and a
number that has no place there is refused. So a program for operands of narrower types gets, after
each operation that may leave its type, those that wrap the result around. They stand in the program
itself, before it is differentiated: derivatives are computed in floats, and do not wrap.

A number of Python's own (a literal, a loop's index, a captured int, a bool) takes the type of the
operand that it meets, as NumPy's do. int64 is what everything is computed in, and wraps by itself;
uint64 is a type of the program's own. What NumPy makes a float64 of, the two together, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from zyg.compiler.ir import Atom, Block, If, Op, Program, Value, blocks_of, operations
from zyg.compiler.splice import Themselves, again
from zyg.errors import IntegerOverflowError, KernelError
from zyg.functions.operations import BITWISE, COMPARISON, CONSTANT, NUMBER, POWER, SELECT

Width = np.dtype[Any] | None  # None: a number of Python's own


def widths_in(program: Program, widths: Sequence[Width]) -> dict[Value, Width] | None:
    """The types of all ints, from those of the first inputs; None if all are Python's."""
    known: dict[Value, Width] = {}
    given = zip(program.inputs, widths, strict=False)
    known.update((x, width) for x, width in given if x.type == "int")
    if all(w is None for w in known.values()) and all(x.type != "uint" for x in program.inputs):
        return None
    _infer(program.body, known)
    return known


def wrap_around(program: Program, known: dict[Value, Width]) -> None:
    """Make a program, in place, compute its ints in the types that `widths_in` found."""
    conditions: dict[Atom, Op] = {}
    for op in operations(program.body):
        _refuse_signed(op, known)
        for out, atoms in _meetings(op, conditions, known):
            _refuse_literals(atoms, width_of(out, known))
        if isinstance(op, Op) and op.row.types == COMPARISON:
            conditions[op.out] = op
    if any(width is not None and width.itemsize < 8 for width in known.values()):
        program.body = _insert(program.body, known)


def width_of(x: Value, known: dict[Value, Width]) -> Width:
    """The type of NumPy's in which a value is computed."""
    return np.dtype(np.uint64) if x.type == "uint" else known.get(x)


def _infer(block: Block, known: dict[Value, Width]) -> None:
    """The types of all ints; in loops, again until nothing changes."""
    for op in block.ops:
        if isinstance(op, Op):
            if op.out.type == "int":
                args = op.args[1:] if op.name == "select" else op.args
                known[op.out] = _met(args if meets(op) else (), known)
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


def meets(op: Op) -> bool:
    """Whether an operation computes in the type in which its operands meet."""
    return op.row.types in (NUMBER, BITWISE, POWER, SELECT, CONSTANT)


def _met(args: Sequence[Atom], known: dict[Value, Width]) -> Width:
    """The type in which NumPy computes with these."""
    widths = [w for x in args if isinstance(x, Value) and (w := known.get(x)) is not None]
    met = np.result_type(*widths) if widths else None
    return np.dtype(np.int64) if met is not None and met.kind == "f" else met


def _meetings(
    op: Any, conditions: dict[Atom, Op], known: dict[Value, Width]
) -> Iterator[tuple[Value, Sequence[Atom]]]:
    """What takes the type of others, and those."""
    if isinstance(op, Op):
        if op.name == "select":
            condition = conditions.get(op.args[0])
            yield (
                op.out,
                [x for x in op.args[1:] if not is_never_selected(x, op, condition, known, {})],
            )
        elif meets(op):
            yield op.out, op.args
    elif isinstance(op, If):
        for out, *pair in zip(op.outs, op.then.yields, op.orelse.yields, strict=True):
            yield out, pair
    else:
        for out, *pair in zip(op.outs, op.init, op.body.yields, strict=True):
            yield out, pair


def is_never_selected(
    x: Atom,
    select: Op,
    condition: Op | None,
    known: dict[Value, Width],
    numbers: dict[Value, int],
) -> bool:
    """Whether what may be selected is a bound beyond all values, as 300 in min(x, 300).

    `numbers` are values of Python's own, in a call that brings them.
    """
    if condition is None or condition.row.types != COMPARISON or x not in condition.args:
        return False
    number, *args = [numbers.get(y, y) if isinstance(y, Value) else y for y in (x, *condition.args)]
    widths = [width_of(y, known) for y in args if isinstance(y, Value)]
    if isinstance(number, Value) or any(w is None or _has_place(number, w) for w in widths):
        return False
    sides = [0 if isinstance(y, Value) else y for y in args]  # any of those is on the same side
    return (select.args[2] if getattr(np, condition.name)(*sides) else select.args[1]) == x


def _refuse_literals(atoms: Sequence[Atom], width: Width) -> None:
    """Raise where a number has no place in the type of what it meets."""
    for x in atoms:
        if width is not None and type(x) is int:
            demand_place(x, width)


def demand_place(x: int, width: np.dtype[Any]) -> None:
    """Raise IntegerOverflowError where a type has no place for a number."""
    if not _has_place(x, width):
        raise IntegerOverflowError(
            f"the Python integer {x} is out of bounds for {width}.",
            f"a kernel computes with ints as NumPy does, here in {width}, which cannot hold that "
            "number.",
            "pass the operand as x.astype(np.int64) or float, or write the number as a float.",
        )


def _has_place(x: Any, width: np.dtype[Any]) -> bool:
    return bool(np.iinfo(width).min <= x <= np.iinfo(width).max)


def _refuse_signed(op: Any, known: dict[Value, Width]) -> None:
    """Raise where an int of a type with a sign would become a uint64."""
    if not isinstance(op, Op) or op.name != "uint" or not isinstance(op.args[0], Value):
        return
    width = known.get(op.args[0])
    if width is not None and width.kind == "i":
        raise KernelError(
            f"uint64 and {width} have no integer type in common.",
            "NumPy computes with the two in float64, which a kernel does for floats only.",
            f"pass one of the two as x.astype(float), or uint64 as {width}.",
        )


def _insert(block: Block, known: dict[Value, Width]) -> Block:
    """Wrap what may have left its type around, and let all that follows read that."""
    wrapped = Themselves()

    def wrap(op: Any) -> list[Any]:
        width = known.get(op.out) if isinstance(op, Op) and op.row.wraps else None
        if width is None or width.itemsize == 8:
            return [op]
        more, wrapped[op.out] = _wrapping(op.out, width)
        return [op, *more]

    made: Block = again(block, wrapped, wrap)
    return made


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
