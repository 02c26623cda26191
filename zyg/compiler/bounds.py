"""Numbers of Python's own that must have a place in the types of NumPy's that they meet.

A literal is checked when its program is made. An int that is passed or captured, and what is
computed of such ints and of loops' indices, is known at each call: then those are computed once
more, as Python's ints, as far as they do not depend on elements. Each is checked for a place in
int64, and where it meets a type. What a loop carries from round to round is not known, and not
checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.compiler.ir import Atom, Block, For, If, Op, Program, Value, While
from zyg.compiler.whole import (
    Width,
    demand_place,
    is_never_selected,
    meets,
    width_of,
    widths_in,
    wrap_around,
)

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
    if found is not None:
        wrap_around(program, found)
    if not own:
        _run(steps, {})  # indices of loops are all there is, the same in each call
    return Bounds(own, steps) if own and reader.checks else None


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
            if x not in self.values or width is None or (width == _INT64 and x in self.inputs):
                continue  # an operand beyond int64 is refused anyway
            steps.append(_demanding(x, width, selection, self.known))
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
        number = numbers.get(x)  # type: ignore[arg-type]
        never = selection and is_never_selected(x, *selection, known, numbers)
        if number is not None and not never:
            demand_place(number, width)

    return demand
