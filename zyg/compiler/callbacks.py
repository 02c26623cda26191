"""Functions that stay in Python, as programs: machine code calls them back.

A `Callee` is such a function, of arguments and with a result of known kinds. Its program has the
operands of the arguments as inputs and those of the result as outputs. Behind the inputs is an
int, `which`, and behind the outputs another one, `kept`, which are between the two sides of a
derivative: called where its adjoint follows, a callee is told which operands move, and says where
its pullback is kept; the pullback is told that.

The derivatives of a callee are callees: its pullback, and its pushforward. They are made when they
are asked for, as each has derivatives again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

from zyg.compiler.front.kinds import Array, Kind, Scalar, Struct
from zyg.compiler.ir import Adjoint, Block, CallBack, Program, Value
from zyg.compiler.splice import called

_REAL = {"float", "float32", "complex"}
HIDDEN = object()  # in a kind: a part of a result that programs do not use


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
    takes: tuple[Kind, ...]
    gives: Kind
    strict: bool  # whether results have the types that Python's have

    def run(
        self, held: Held, call: int, keeps: bool, which: int, args: list[Any]
    ) -> tuple[Any, int]:
        """The result, and what to ask `held` for to have the pullback, if that is kept there."""

    def pullback(self) -> Callee:
        """(arguments, cotangents of the real parts of the result) -> those of the arguments."""

    def pushforward(self) -> Callee:
        """(arguments, tangents of their real parts) -> tangents of those of the result."""

    def outside(self) -> Callee:
        """The function as derivatives further out see it where another one is taken."""


def leaves(kind: Kind) -> Iterator[Scalar | Array]:
    """The numbers and arrays in something of a kind."""
    if isinstance(kind, Struct):
        for part in kind.parts:
            yield from leaves(part)
    elif isinstance(kind, (Scalar, Array)):
        yield kind


def element(leaf: Scalar | Array) -> str:
    return leaf.element if isinstance(leaf, Array) else leaf.type


def reals(*kinds: Kind) -> list[Scalar | Array]:
    """Those through which derivatives flow."""
    return [x for kind in kinds for x in leaves(kind) if element(x) in _REAL]


def values_of(*kinds: Kind) -> tuple[list[Value], dict[Value, tuple[Any, ...]]]:
    """New values for the operands of things of these kinds, and the sizes of the buffers."""
    made: list[Value] = []
    sizes: dict[Value, tuple[Any, ...]] = {}
    for leaf in (x for kind in kinds for x in leaves(kind)):
        is_complex = element(leaf) == "complex"
        if isinstance(leaf, Scalar):
            made += [Value("float"), Value("float")] if is_complex else [Value(leaf.type)]
            continue
        buffer = Value("float[]" if is_complex else f"{leaf.element}[]")
        dims = [Value("int") for _ in range(leaf.ndim)]
        sizes[buffer] = (2, *dims) if is_complex else (*dims,)
        made += [buffer, *dims]
    return made, sizes


def program_of(callee: Callee, keeps: bool = False) -> Program:
    """The program that calls a function, and keeps its pullback if the adjoint is to follow."""
    inputs, sizes = values_of(*callee.takes)
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
        return [Value(x.type) for x in _real_operands([self._callee.gives], outputs)]

    @cached_property
    def program(self) -> Program:  # type: ignore[override]
        """Of inputs, shapes of the outputs, what was kept, and bars: it calls the pullback."""
        outputs: list[Any] = self._program.outputs
        known = [*self._program.inputs[:-1], *(x for x in outputs if x.type == "int")]
        return self._calling(
            self._callee.pullback(), known, [self._callee.gives], outputs, self.bars, outputs[-1]
        )

    @cached_property
    def pushed(self) -> Program:  # type: ignore[override]
        """Of inputs and tangents: it calls the pushforward."""
        inputs, takes = self._program.inputs, self._callee.takes
        dots = [Value(x.type) for x in _real_operands(takes, inputs)]
        return self._calling(self._callee.pushforward(), inputs, takes, inputs, dots, inputs[-1])

    def _calling(
        self, derivative: Callee, known: list[Value], kinds: Sequence[Kind],
        like: Sequence[Value], along: list[Value], last: Value,
    ) -> Program:  # fmt: skip
        """The program that calls a derivative along values like the real ones of these kinds."""
        sizes, operands = dict(self._program.sizes), list[Value]()
        left = iter(along)
        for leaf, row in _apart(kinds, like):
            if element(leaf) not in _REAL:
                continue
            if isinstance(leaf, Scalar):
                operands += [next(left) for _ in row]
            else:
                operands += [one := next(left), *row[1:]]
                sizes[one] = sizes[row[0]]
        block = Block()
        made = called(program_of(derivative), [*self._program.inputs[:-1], *operands, last], block)
        block.yields = _real_operands([derivative.gives], made)
        return Program(derivative.name, [*known, *along], block, sizes=sizes)


def _apart(kinds: Sequence[Kind], operands: Sequence[Any]) -> Iterator[tuple[Any, Sequence[Any]]]:
    """The numbers and arrays in things of these kinds, with the operands of each."""
    start = 0
    for leaf in (x for kind in kinds for x in leaves(kind)):
        width = 1 + (leaf.ndim if isinstance(leaf, Array) else element(leaf) == "complex")
        yield leaf, operands[start : start + width]
        start += width


def _real_operands(kinds: Sequence[Kind], operands: Sequence[Any]) -> list[Any]:
    """Those through which derivatives flow: numbers, and buffers without their shapes."""
    rows = ((leaf, row) for leaf, row in _apart(kinds, operands) if element(leaf) in _REAL)
    return [x for leaf, row in rows for x in (row[:1] if isinstance(leaf, Array) else row)]
