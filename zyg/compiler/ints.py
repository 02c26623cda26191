"""Whole numbers as NumPy computes them, in the integer type of the operands.

A program computes its ints in int64. NumPy computes an int8 in int8: a sum wraps around, and a
number that has no place there is refused. So a program for operands of narrower types gets, after
each operation that may leave its type, those that wrap the result around. They stand in the program
itself, before it is differentiated: derivatives are computed in floats, and do not wrap.

A number of Python's own (a literal, a loop's index, a captured int, a bool) takes the type of the
operand that it meets, as NumPy's do. int64 is what everything is computed in, and wraps by itself;
uint64 is a type of the program's own. What NumPy makes a float64 of, the two together, is refused.

A literal is checked for a place in the type that it meets when its program is made. An int that is
passed or captured, and what is computed of such ints and of loops' indices, is known at each call:
then those are computed once more, as Python's ints, as far as they do not depend on elements, and
checked, also for a place in int64. What a loop carries from round to round is not known, and not
checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.compiler.ir import Atom, Block, For, If, Op, Program, Value, While, blocks_of
from zyg.compiler.splice import Themselves, again
from zyg.errors import IntegerOverflowError, KernelError
from zyg.functions.operations import BITWISE, COMPARISON, CONSTANT, NUMBER, POWER, SELECT

Width = np.dtype[Any] | None  # None: a number of Python's own
Numbers = dict[Value, Any]  # those that are known in a call
Step = Callable[[Numbers], None]
Selection = tuple[Op, Op | None]  # and its condition

_INT64 = np.dtype(np.int64)


class Bounds:
    """What each call checks of its operands that are ints of Python's own."""

    def __init__(self, own: list[tuple[int, Value]], steps: list[Step]) -> None:
        self._own, self._steps = own, steps

    def demand(self, operands: Sequence[Any]) -> None:
        """Raise IntegerOverflowError where one, plain, meets a type that has no place for it."""
        numbers = {x: operands[k] for k, x in self._own}
        _run(self._steps, {x: n for x, n in numbers.items() if isinstance(n, int)})


def in_types_of(program: Program, widths: Sequence[Width]) -> Bounds | None:
    """Make a program, in place, compute its ints in its first inputs' types; what calls check."""
    found = widths_in(program, widths)
    known = found or {}
    own = [(k, x) for k, x in enumerate(program.inputs) if x.type == "int" and known.get(x) is None]
    reader = _Reader(known, {x for _, x in own})
    steps = reader.steps(program.body)
    if any(width is not None and width.itemsize < 8 for width in known.values()):
        program.body = _insert(program.body, known)
    if not own:
        _run(steps, {})  # indices of loops are all there is, the same in each call
    return Bounds(own, steps) if own and reader.checks else None


def widths_in(program: Program, widths: Sequence[Width]) -> dict[Value, Width] | None:
    """The types of all ints, from those of the first inputs; None if all are Python's."""
    known: dict[Value, Width] = {}
    given = zip(program.inputs, widths, strict=False)
    known.update((x, width) for x, width in given if x.type == "int")
    if all(w is None for w in known.values()) and all(x.type != "uint" for x in program.inputs):
        return None
    _infer(program.body, known)
    return known


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


class _Reader:
    """Reads, off a program whose ints do not wrap around yet, what is to be done in each call."""

    def __init__(self, known: dict[Value, Width], inputs: set[Value]) -> None:
        self.known, self.inputs = known, inputs
        self.values = {*inputs}  # what a call can compute
        self.conditions: dict[Atom, Op] = {}
        self.checks = False

    def steps(self, block: Block, outs: Sequence[Value] = ()) -> list[Step]:
        """Those of a block, which yields `outs`."""
        steps = [step for op in block.ops for step in self._steps_of(op)]
        return steps + self._meeting(outs, block.yields) if outs else steps

    def _steps_of(self, op: Any) -> list[Step]:
        if isinstance(op, Op):
            return self._of_operation(op)
        if isinstance(op, If):
            then, orelse = self.steps(op.then, op.outs), self.steps(op.orelse, op.outs)
            return [_branching(op.condition, then, orelse)]
        before = self._meeting(op.outs, op.init)
        if isinstance(op, For) and self._is_known(op.span):
            self.values.add(op.index)
            return [*before, _looping(op.index, op.span, self.steps(op.body, op.outs))]
        tests = self.steps(op.test) if isinstance(op, While) else []
        return [*before, *tests, *self.steps(op.body, op.outs)]

    def _of_operation(self, op: Op) -> list[Step]:
        _refuse_signed(op, self.known)
        self.conditions[op.out] = op
        exact = op.row.exact if op.out.type in ("int", "bool") else None
        if exact and self._is_known(op.args):
            self.values.add(op.out)
            self.checks |= op.row.wraps
            return [_computing(op.out, exact, op.args)]
        if op.name == "select":
            condition = self.conditions.get(op.args[0])
            return self._meeting([op.out] * 2, op.args[1:], (op, condition))
        meeting = meets(op) or op.name == "uint"
        return self._meeting([op.out] * len(op.args), op.args) if meeting else []

    def _is_known(self, args: Sequence[Atom]) -> bool:
        return all(type(x) in (int, bool) or x in self.values for x in args)

    def _meeting(
        self, outs: Sequence[Value], atoms: Sequence[Atom], selection: Selection | None = None
    ) -> list[Step]:
        steps = []
        for out, x in zip(outs, atoms, strict=True):
            width = width_of(out, self.known)
            if width is None:
                continue
            demand = _demanding(x, width, selection, self.known)
            if type(x) is int:
                demand({})
            elif x in self.values and not (width == _INT64 and x in self.inputs):
                steps.append(demand)  # of others: an operand beyond int64 is refused anyway
                self.checks = True
        return steps


def _run(steps: Sequence[Step], numbers: Numbers) -> None:
    for step in steps:
        step(numbers)


def _computing(out: Value, f: Callable[..., Any], args: Sequence[Atom]) -> Step:
    def compute(numbers: Numbers) -> None:
        try:
            numbers[out] = f(*[numbers[x] if isinstance(x, Value) else x for x in args])
        except (KeyError, ZeroDivisionError):
            numbers.pop(out, None)  # in a branch that is not taken, if NumPy raises nothing
            return
        if out.type == "int":
            demand_place(numbers[out], _INT64)  # in which a kernel computes it

    return compute


def _branching(condition: Atom, then: list[Step], orelse: list[Step]) -> Step:
    def branch(numbers: Numbers) -> None:
        which = numbers.get(condition)  # type: ignore[arg-type]
        if which is not False:
            _run(then, numbers)
        if which is not True:
            _run(orelse, numbers)

    return branch


def _looping(index: Value, span: Sequence[Atom], steps: list[Step]) -> Step:
    """The first round and the last one: what is computed of an index is largest there, or least."""

    def loop(numbers: Numbers) -> None:
        first, end, step = (numbers.get(x) if isinstance(x, Value) else x for x in span)
        if None in (first, end) or not step:
            return
        rounds = range(first, end, step)  # type: ignore[arg-type]
        for k in rounds and {rounds[0], rounds[-1]}:
            numbers[index] = k
            _run(steps, numbers)

    return loop


def _demanding(
    x: Atom, width: np.dtype[Any], selection: Selection | None, known: dict[Value, Width]
) -> Step:
    def demand(numbers: Numbers) -> None:
        number: Any = numbers.get(x) if isinstance(x, Value) else x
        never = selection and is_never_selected(x, *selection, known, numbers)
        if number is not None and not never:
            demand_place(number, width)

    return demand


def is_never_selected(
    x: Atom, select: Op, condition: Op | None, known: dict[Value, Width], numbers: dict[Value, int]
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


def _refuse_signed(op: Op, known: dict[Value, Width]) -> None:
    """Raise where an int of a type with a sign would become a uint64."""
    if op.name != "uint" or not isinstance(op.args[0], Value):
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
