"""Functions that stay in Python, as programs: machine code calls them back.

A `Callee` is such a function, of numbers and arrays of known kinds, its leaves. Its program has the
operands of those that it takes as inputs and of those that it gives as outputs. Behind the inputs
is an int, `which`, and behind the outputs another one, `kept`, which are between the two sides of a
derivative: called where its adjoint follows, a callee is told which operands move, and says where
its pullback is kept; the pullback is told that.

The derivatives of a callee are callees: its pullback, and its pushforward. They are made when they
are asked for, as each has derivatives again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from zyg.compiler.front.complexes import ComplexNumber
from zyg.compiler.front.elementwise import copied
from zyg.compiler.front.mixed import number_of
from zyg.compiler.front.structures import Unknown, described
from zyg.compiler.front.views import Arrayed, dense
from zyg.compiler.front.whole import WholeInterpreter
from zyg.compiler.ir import Adjoint, Atom, Block, CallBack, Program, Value, is_number
from zyg.compiler.kinds import (
    Array,
    Kind,
    Scalar,
    Static,
    Struct,
    dense_array,
    held_in,
    put_together,
    taken_apart,
    width,
)
from zyg.compiler.splice import called
from zyg.errors import CompileError, KernelError

Leaf = Scalar | Array
HIDDEN = object()  # in a kind: a part of a result that programs do not use
_REAL = {"float", "float32", "complex"}
_KNOWN = (str, bytes, Enum, type, type(None), type(...), np.dtype, complex, np.ufunc)


class Held:
    """What is kept in Python for calls of machine code, by numbers that nothing else has."""

    def __init__(self) -> None:
        self._found: dict[int, Any] = {}
        self._by_call: dict[int, list[int]] = {}
        self._next = itertools.count(1)

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, number: int) -> Any:
        return self._found[number]

    def add(self, call: int, x: Any) -> int:
        """Keep something until a call ends; its number."""
        number = next(self._next)
        self._found[number] = x
        self._by_call.setdefault(call, []).append(number)
        return number

    def end(self, call: int) -> None:
        for number in self._by_call.pop(call, ()):
            del self._found[number]


class Callee(Protocol):
    """A function in Python."""

    name: str
    takes: Sequence[Leaf]
    gives: Sequence[Leaf]
    strict: bool  # whether results have the types that Python's have
    direct: Any  # a function, the kinds of its arguments, names of the last, the kind of its result

    def leaves(self, y: Any) -> Sequence[Any]:
        """The results in what the function gives."""

    def run(
        self, held: Held, call: int, keeps: bool, which: int, args: list[Any]
    ) -> tuple[Sequence[Any], int]:
        """The results, and what to ask `held` for to have the pullback, if that is kept there."""

    def pullback(self) -> Callee:
        """(arguments, cotangents of the real results) -> those of the real arguments."""

    def pushforward(self) -> Callee:
        """(arguments, tangents of the real ones) -> tangents of the real results."""

    def outside(self) -> Callee:
        """The function as derivatives further out see it where another one is taken."""


class Find(Protocol):
    """Who knows functions that may stay in Python."""

    def may_stay(self, f: Any) -> bool:
        """Whether a function may, as far as is known before it is called."""

    def stays(self, f: Any) -> bool: ...  # which is never read

    def __call__(
        self, reader: WholeInterpreter, f: Any, path: Any, kinds: tuple[Kind, ...],
        operands: Sequence[Atom], names: tuple[str, ...],
    ) -> tuple[Callee, Kind]:  # fmt: skip
        """The callee of a function for arguments of these kinds, the last ones with names; and the
        kind of its result."""


# As programs


def reals(found: Sequence[Leaf]) -> list[Leaf]:
    """Those through which derivatives flow."""
    return [leaf for leaf in found if leaf.element in _REAL]


def values_of(found: Sequence[Leaf]) -> tuple[list[Value], dict[Value, tuple[Any, ...]]]:
    """New values for the operands of these, and the sizes of the buffers."""
    made: list[Value] = []
    sizes: dict[Value, tuple[Any, ...]] = {}
    for leaf in found:
        is_complex = leaf.element == "complex"
        if isinstance(leaf, Scalar):
            made += [Value(held_in(leaf.type)) for _ in range(1 + is_complex)]
            continue
        buffer = Value(f"{held_in(leaf.element)}[]")
        dims = [Value("int") for _ in range(leaf.ndim)]
        sizes[buffer] = (2, *dims) if is_complex else (*dims,)
        made += [buffer, *dims]
    return made, sizes


def program_of(callee: Callee, keeps: bool = False) -> Program:
    """The program that calls a function, and keeps its pullback if the adjoint is to follow."""
    inputs, sizes = values_of(callee.takes)
    outputs, made = values_of(callee.gives)
    inputs, outputs = [*inputs, Value("int")], [*outputs, Value("int")]
    op = CallBack(Called(callee, keeps), tuple(inputs), outputs)
    program = Program(callee.name, inputs, Block([op], [*outputs]), sizes={**sizes, **made})
    program.adjoint = _InPython(callee, program, keeps)
    return program


class Called:
    """What a `CallBack` calls."""

    def __init__(self, callee: Callee, keeps: bool) -> None:
        self.callee, self.keeps, self.name = callee, keeps, callee.name


class _InPython(Adjoint):
    """The adjoint of a function in Python; its parts are made when they are asked for."""

    stays = True

    def __init__(self, callee: Callee, program: Program, keeps: bool) -> None:
        self._callee = callee.outside() if keeps else callee
        self._program, self._keeps = program, keeps
        self.moving = _real_operands(callee.takes, range(len(program.inputs)))
        self.results = len(program.outputs) - 1
        self.only_reverse = None

    @cached_property
    def keeping(self) -> Program:  # type: ignore[override]
        return program_of(self._callee, keeps=True)

    @cached_property
    def outside(self) -> Program:  # type: ignore[override]
        outside = self._callee.outside()
        alone = self._keeps or outside is self._callee
        return self._program if alone else program_of(outside)

    @cached_property
    def bars(self) -> list[Value]:  # type: ignore[override]
        outputs: list[Any] = self._program.outputs
        return [Value(x.type) for x in _real_operands(self._callee.gives, outputs)]

    @cached_property
    def program(self) -> Program:  # type: ignore[override]
        """Of inputs, shapes of the outputs, what was kept, and bars: it calls the pullback."""
        outputs: list[Any] = self._program.outputs
        known = [*self._program.inputs[:-1], *(x for x in outputs if x.type == "int")]
        return self._calling(
            self._callee.pullback(), known, self._callee.gives, outputs, self.bars, outputs[-1]
        )

    @cached_property
    def pushed(self) -> Program:  # type: ignore[override]
        """Of inputs and tangents: it calls the pushforward."""
        inputs, takes = self._program.inputs, self._callee.takes
        dots = [Value(x.type) for x in _real_operands(takes, inputs)]
        return self._calling(self._callee.pushforward(), inputs, takes, inputs, dots, inputs[-1])

    def _calling(
        self, derivative: Callee, known: list[Value], kinds: Sequence[Leaf],
        like: Sequence[Value], along: list[Value], last: Value,
    ) -> Program:  # fmt: skip
        """The program that calls a derivative along values like the real ones of these kinds."""
        sizes, operands = dict(self._program.sizes), list[Value]()
        left = iter(along)
        for leaf, row in _apart(kinds, like):
            if leaf.element not in _REAL:
                continue
            if isinstance(leaf, Scalar):
                operands += [next(left) for _ in row]
            else:
                operands += [one := next(left), *row[1:]]
                sizes[one] = sizes[row[0]]
        block = Block()
        made = called(program_of(derivative), [*self._program.inputs[:-1], *operands, last], block)
        block.yields = _real_operands(derivative.gives, made)
        return Program(derivative.name, [*known, *along], block, sizes=sizes)


def _apart(found: Sequence[Leaf], operands: Sequence[Any]) -> Iterator[tuple[Leaf, Sequence[Any]]]:
    """Numbers and arrays, with the operands of each."""
    start = 0
    for leaf in found:
        yield leaf, operands[start : start + width(leaf)]
        start += width(leaf)


def _real_operands(found: Sequence[Leaf], operands: Sequence[Any]) -> list[Any]:
    """Those through which derivatives flow: numbers, and buffers without their shapes."""
    rows = ((leaf, row) for leaf, row in _apart(found, operands) if leaf.element in _REAL)
    return [x for leaf, row in rows for x in (row[:1] if isinstance(leaf, Array) else row)]


def whole_of(kind: Kind, found: Iterator[Any]) -> Any:
    """Something of a kind, of its numbers and arrays."""
    if isinstance(kind, Struct):
        return put_together(kind.type, kind.keys, [whole_of(part, found) for part in kind.parts])
    return kind.value if isinstance(kind, Static) else next(found)


def leaves_of(kind: Kind, y: Any) -> Iterator[Any]:
    """The numbers and arrays in something that is to be of a kind."""
    if isinstance(kind, Struct):
        keys, parts = taken_apart(y)
        demand_alike(type(y) is kind.type and keys == kind.keys and len(parts) == len(kind.parts))
        for inner, part in zip(kind.parts, parts, strict=True):
            yield from leaves_of(inner, part)
    elif isinstance(kind, Static):
        demand_alike(kind.value is HIDDEN or y == kind.value)
    else:
        yield y


class OtherKind(TypeError):  # noqa: N818
    """A result of another kind than the first one was: Python may go on with it."""


def demand_alike(condition: bool) -> None:
    if not condition:
        raise OtherKind("a result of another kind than the first one was")


# In what is read


def call_back(
    reader: WholeInterpreter,
    find: Find,
    f: Any,
    path: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> Any:
    """What a call gives of a function that stays in Python."""
    operands: list[Atom] = []
    kinds = tuple(_argument(reader, x, operands) for x in (*args, *kwargs.values()))
    callee, gives = find(reader, f, path, kinds, operands, tuple(kwargs))
    to = reader.builder
    outs: Any = called(program_of(callee), [*operands, 0], to.block)
    to.bear(outs)
    return reader.objects.taken(result_of(reader, gives, iter(outs)), "")


def _argument(reader: WholeInterpreter, x: Any, operands: list[Atom]) -> Kind:
    """The kind of an argument, whose operands are appended; arrays are copied."""
    x = reader.values.settled(reader.objects.handed_out(reader.values.uncovered(x)))
    if is_number(x) or isinstance(x, _KNOWN):
        return Static(x)
    if isinstance(x, (tuple, list)):
        return Struct(type(x), (), tuple(_argument(reader, part, operands) for part in x))
    if type(x) is dict:
        return Struct(dict, tuple(x), tuple(_argument(reader, p, operands) for p in x.values()))
    if isinstance(x, Arrayed):
        view = copied(x)
        operands += [view.buffer, *view.shape]
        return dense_array(view.element, view.order)
    kind = reader.interface.result(x, operands)
    if not isinstance(kind, Scalar):
        raise KernelError(
            f"{described(x)} as an argument of what runs in Python is not compiled.",
            "it takes numbers, arrays, and containers of those.",
            "pass those.",
        )
    return kind


def result_of(reader: WholeInterpreter, kind: Kind, outs: Iterator[Value]) -> Any:
    """What the function that is read sees of a result."""
    to = reader.builder
    if isinstance(kind, Static) and kind.value is HIDDEN:
        return Unknown("it is of a type that compiled functions do not have")
    if isinstance(kind, Static):
        return kind.value
    if isinstance(kind, Struct):
        return put_together(kind.type, kind.keys, [result_of(reader, p, outs) for p in kind.parts])
    if isinstance(kind, Array):
        buffer = next(outs)
        dims = [next(outs) for _ in range(kind.ndim)]
        return dense(to, buffer, dims, kind.element, kind.order)
    if kind.type == "complex":
        return ComplexNumber(to, next(outs), next(outs), kind.python)
    x = next(outs)
    return to.number(x, True) if kind.python else number_of(to, kind.type, x)


def refuse_text(op: CallBack) -> Any:
    """There is none in Python that needs NumPy alone."""
    raise CompileError(
        f"a function that calls {op.callee.name} back cannot be written as text.",
        f"{op.callee.name} runs in Python with zyg's rules; source() writes modules that need only "
        "NumPy.",
        "call it outside the compiled function.",
    )
