"""From the source of a scalar function to its program.

An `Interpreter` follows the syntax tree as Python would run it, on numbers that record what is
done with them. What is known while reading (ints, flags, tuples, helper functions) is computed at
once, and an `if` on it has one side only. Helper functions are read where they are called.

An `if` on a recorded number is read on both sides, and the variables that differ are joined. A
side that returns takes no part in what follows: the rest of the statements goes into the other
side, so that a function has one exit, whatever its returns. A loop that is left early carries
flags; where a flag may be set, what follows is in an `if` on it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from zyg.base.marks import is_for_any_number
from zyg.compiler.builder import Builder
from zyg.compiler.front.captures import Captures, Outside, Path
from zyg.compiler.front.containers import Containers
from zyg.compiler.front.control_flow import Concern, ControlFlow
from zyg.compiler.front.depth import room_for_calls
from zyg.compiler.front.dispatch import Calls, name_of
from zyg.compiler.front.going import Going
from zyg.compiler.front.inlining import Inlining
from zyg.compiler.front.objects import Objects
from zyg.compiler.front.operators import Operators
from zyg.compiler.front.sequences import Sequences
from zyg.compiler.front.structures import Choice, Compound, Ref, Unknown, described, is_leaf, split
from zyg.compiler.ir import Program, Type, Value, prune
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError


def read(
    f: Callable[..., Any],
    kinds: Sequence[Type],
    arguments: Callable[[list[Any]], Sequence[Any]],
    captures: Captures,
) -> tuple[Program, Callable[[list[Any]], Any]]:
    """The program of `f`, and how its result is made of the program's outputs.

    `kinds` are the types of the operands, of which `arguments` makes the arguments of `f`. The
    program's further inputs are what `captures` found to be operands, in that order. Raises
    KernelError for what a kernel cannot do.
    """
    reader = Interpreter(captures, Builder())
    inputs = [Value(kind) for kind in kinds]
    numbers = [reader.builder.wrap(x) for x in inputs]
    given = [reader.objects.taken(x, "an operand") for x in arguments(numbers)]
    with room_for_calls():
        result = reader.objects.handed_out(reader.calls.call(Outside(f, ()), given, {}))
    found: list[Any] = []
    make = split(result, found)
    made_of_numbers = is_leaf(result) or isinstance(result, tuple) or is_dataclass(result)
    if not found or not made_of_numbers:
        raise KernelError(
            f"{name_of(f)} returned {described(result)}, which a kernel cannot return.",
            "a kernel returns a number, or a tuple, namedtuple or dataclass of numbers.",
            "return the numbers.",
        )
    block = reader.builder.block
    block.yields = [atom_of(x) for x in found]
    prune(block)
    return Program(name_of(f), [*inputs, *reader.lifted], block), make


def call_partial(partial: Callable[..., Any], numbers: Sequence[Any], builder: Builder) -> Any:
    """A partial derivative at recorded numbers; its operations are appended by `builder`."""
    builder.by_reciprocals = True
    try:
        if is_for_any_number(partial):
            return partial(*numbers)
        reader = Interpreter(Captures(lambda x: x, frozenset(), baking=True), builder)
        return reader.calls.call(partial, numbers, {})
    finally:
        builder.by_reciprocals = False


class Values(Concern):
    """What is peculiar to the values of a language; NotImplemented where nothing is."""

    recorded: tuple[type, ...] = (Number, Ref, Compound, Choice, Unknown, Outside)
    # What operators are known for; those of other objects are Python code that is not read.
    operands: tuple[type, ...] = (
        Number, Compound, Ref, int, float, np.generic, str, bytes, enum.Enum, type(None), type(...),
        tuple, list, Outside,
    )  # fmt: skip

    def lift(self, kind: Type) -> Any:
        """A new operand, for a captured number."""
        value = Value(kind)
        self.reader.lifted.append(value)
        return Number(value, self.to)

    def plain(self, x: Any) -> Any:
        """What the function sees of something that was computed."""
        return x.item() if isinstance(x, np.generic) else x

    def settled(self, x: Any) -> Any:
        """What a name is given: a value that stays as it is, whatever is changed."""
        return x

    def decisive(self, x: Any) -> Any:
        """What decides in the place of a number of several kinds, or a complex one."""
        return x

    def counting(self, x: Any) -> Any:
        """What an int counts as that is an index or a bound."""
        return x

    def rows(self, x: Any) -> tuple[Any, Callable[[Any], Any]] | None:
        """How many elements an array has, and which; None for other things."""
        return None

    def operated(self, operator: Callable[..., Any], *operands: Any) -> Any:
        return self.reader.operators.operated(operator, *operands)

    def none(self, *args: Any, **kwargs: Any) -> Any:
        return NotImplemented

    augmented = is_same = item = set_item = attribute = set_attribute = set_shape = none


class Interpreter:
    """Reads the functions that make up one program. It holds one object for each concern.

    Concerns call each other through it.
    """

    def __init__(self, captures: Captures, builder: Builder) -> None:
        self.captures, self.builder, self.whole = captures, builder, builder.whole
        self.lifted: list[Value] = []
        self.flow = ControlFlow(self)
        self.sequences = Sequences(self)
        self.going = Going(self)
        self.containers = Containers(self)
        self.objects = Objects(self)
        self.operators = Operators(self)
        self.functions = Inlining(self, None)
        self.calls = Calls(self)
        self.values = Values(self)

    def captured(self, value: Any, path: Path) -> Any:
        """What the function sees of something from outside."""
        return self.captures.found(value, path, self.values.lift)
