"""From the source of a whole function, of numbers, arrays and structures, to its program.

The reader is that of scalar functions, with what those may not do: numbers are Python's or NumPy's
(`scalars`), arrays are views of buffers (`arrays`), and operations have effects. What Python would
raise for is a check, on which the program stops, and Python runs the function.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zyg.compiler.front.captures import Captures, Outside, Path
from zyg.compiler.front.kinds import Kind, Scalar, Static, Struct, Unkind, kind_of, put_together
from zyg.compiler.front.numerals import of_numbers
from zyg.compiler.front.reader import Reader
from zyg.compiler.front.scalars import WholeBuilder, WholeNumber, whose
from zyg.compiler.ir import Atom, Program, Value, is_number, prune, type_of
from zyg.compiler.record import Number, atom_of
from zyg.errors import KernelError

_OPERATIONS = {
    operator.add: "add", operator.sub: "subtract", operator.mul: "multiply",
    operator.truediv: "divide", operator.floordiv: "floor_divide", operator.mod: "remainder",
    operator.pow: "power", operator.and_: "bitwise_and", operator.or_: "bitwise_or",
    operator.xor: "bitwise_xor", operator.neg: "negative", operator.pos: "positive",
    operator.invert: "invert", operator.lt: "less", operator.le: "less_equal",
    operator.gt: "greater", operator.ge: "greater_equal", operator.eq: "equal",
    operator.ne: "not_equal",
}  # fmt: skip


@dataclass
class Whole:
    """A function that was read: its program, the kind of its result, what it took from outside."""

    program: Program
    result: Kind
    captures: Captures


class WholeCaptures(Captures):
    """What a whole function takes from outside: floats and arrays become operands."""

    def _lifted(self, value: Any, path: Path) -> Any:
        plain = self.plain(value)
        is_int = type(plain) is int and (plain is not value or path in self.varying)
        if not isinstance(plain, (float, np.ndarray, np.generic)) and not is_int:
            return None
        try:
            return kind_of(plain), None
        except Unkind:
            return None


def read_whole(
    f: Callable[..., Any],
    kinds: Sequence[Kind],
    keywords: Mapping[str, Kind],
    captures: Captures,
) -> Whole:
    """The program of `f` for arguments of these kinds.

    Its inputs are the operands of the arguments, in order, then those that were captured, in the
    order of ``captures.operands``. Its outputs are the operands of the result. Raises KernelError
    for what is not in the language.
    """
    reader = WholeReader(captures)
    args = [reader.argument(kind) for kind in kinds]
    named = {name: reader.argument(kind) for name, kind in keywords.items()}
    inputs, reader.lifted = reader.lifted, []
    found = reader.call(Outside(f, ()), args, named)
    yields: list[Atom] = []
    result = reader.result(found, yields)
    block = reader.builder.block
    block.yields = yields
    prune(block)
    name = getattr(f, "__name__", type(f).__name__)
    program = Program(name, [*inputs, *reader.lifted], block, sizes=reader.sizes)
    return Whole(program, result, captures)


class WholeReader(Reader):
    """What the functions that make up one program have in common."""

    whole = True
    builder: WholeBuilder

    def __init__(self, captures: Captures) -> None:
        super().__init__(captures, WholeBuilder())
        self.sizes: dict[Value, tuple[Atom, ...]] = {}

    # Arguments and results

    def argument(self, kind: Kind) -> Any:
        """What the function sees of an argument; its operands are further inputs."""
        if isinstance(kind, Static):
            return kind.value
        if isinstance(kind, Scalar) and kind.type != "complex":
            value = Value(kind.type)
            self.lifted.append(value)
            return self.builder.number(value, kind.python)
        if isinstance(kind, Struct):
            return put_together(kind.type, kind.keys, [*map(self.argument, kind.parts)])
        raise KernelError(
            f"{kind} is not compiled.", "it is not in the language.", "use numbers and arrays."
        )

    def lift(self, kind: Any) -> Any:
        return self.argument(kind)

    def result(self, x: Any, found: list[Atom]) -> Kind:
        """The kind of a result, whose operands are appended to `found`."""
        if isinstance(x, Number) or is_number(x):
            atom = atom_of(x)
            found.append(atom)
            return Scalar(type_of(atom), whose(x) is True)
        if isinstance(x, (tuple, list)):
            return Struct(type(x), (), tuple(self.result(part, found) for part in x))
        return Static(x.value if isinstance(x, Outside) else x)

    # Numbers

    def plain(self, x: Any) -> Any:
        if not isinstance(x, np.generic):
            return x
        kind = kind_of(x)
        if not isinstance(kind, Scalar) or kind.type == "complex":
            raise TypeError(f"a {type(x).__name__} is not compiled")
        return self.builder.number(self.builder.to(kind.type, x.item()), False)

    def operate(self, operator: Callable[..., Any], *operands: Any) -> Any:
        name = _OPERATIONS.get(operator)
        if name is None or not any(isinstance(x, WholeNumber) for x in operands):
            return operator(*operands)
        return self.builder.operate(name, *operands)

    def plain_call(self, f: Any, path: Path, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if any(isinstance(x, Number) for x in args):
            found = of_numbers(self.builder, f, args, kwargs)
            if found is not NotImplemented:
                return found
        return super().plain_call(f, path, args, kwargs)
