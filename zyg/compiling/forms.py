"""Programs that verbs run for arguments of some kinds, each in two ways.

The fast one is machine code that takes the arguments as they are. It answers NotImplemented to
arguments of other kinds or layouts, and Ellipsis where its program has stopped. Both mean that the
general way is to be gone: the program as an operation, which takes operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zyg.compiler.autodiff.elements import demand_finite
from zyg.compiler.back.native_function import Direct
from zyg.compiler.back.object_layout import Unreadable
from zyg.compiler.builder import Builder
from zyg.compiler.ir import Atom, Block, Program
from zyg.compiler.kinds import Array, Kind, Scalar, Struct, leaves, made_of, width
from zyg.compiling.operands import NOTHING, apart, floats, tree
from zyg.compiling.operations import Derivative, Operation, building


class Form:
    """A program for arguments of kinds that it `takes`, and the kind of what it `gives`.

    `first` is where the derivatives among the outputs begin. The fast way stops where one of the
    `finite` is not: buffers, of so many elements, or numbers. In an argument among the `single`, an
    array may not be met twice. `writes` and `separate` are for `Direct`.
    """

    first = 0

    def __init__(
        self, operation: Operation, takes: Sequence[Kind], gives: Kind, single: Sequence[Kind] = (),
        writes: Sequence[int] = (), separate: Sequence[int] = (), tapes: bool = True,
    ) -> None:  # fmt: skip
        self.operation, self.takes, self.gives = operation, takes, gives
        self.single, self.writes, self.separate, self.tapes = single, writes, separate, tapes
        self.finite: list[tuple[Atom, Sequence[Atom]]] = []

    def made(self, outs: Sequence[Any]) -> Any:
        """What the verb gives, of the outputs of the operation."""
        return made_of(self.gives, iter(outs))

    def entry(self) -> Direct | None:
        """The machine code of the fast way; None where only the general one will do."""
        if any(isinstance(x, Array) and x.gaps for kind in self.takes for _, x in leaves(kind)):
            return None  # of arguments that are copied
        program = self.operation.program
        try:
            with building(program.name):
                entry = Direct(_checked(program, self.finite), self.takes, self.gives, self.writes,
                               self.tapes, self.separate)  # fmt: skip
        except Unreadable:
            return None
        entry.several = [k for k, kind in enumerate(self.single) if _told_apart(kind) > 1]
        entry.call = apart(entry.call, entry.several)
        return entry


def _told_apart(kind: Kind, inside: bool = False) -> int:
    """How many arrays and containers there are in a container that could be one and the same."""
    if not isinstance(kind, Struct):
        return isinstance(kind, Array)
    own = inside and not issubclass(kind.type, tuple)
    return own + sum(_told_apart(part, True) for part in kind.parts)


def _checked(program: Program, finite: Sequence[tuple[Atom, Sequence[Atom]]]) -> Program:
    """A program that stops where a derivative is not finite: exact zeros may have to be kept."""
    builder = Builder()
    for x, dims in finite:
        demand_finite(builder, [x], builder.product(dims))
    body = Block([*program.body.ops, *builder.block.ops], program.body.yields)
    return Program(program.name, program.inputs, body, sizes=program.sizes)


def gradient_form(
    derivative: Derivative, kinds: Sequence[Kind], takes: Sequence[Kind],
    result: Kind | None, zeros: bool,
) -> Form:  # fmt: skip
    """The gradients of the first arguments, of these kinds, behind the value if there is a result;
    Unlike.
    """
    first = len(derivative.operation.program.outputs) - len(derivative.moving)

    def arranged(program: Program) -> tuple[Program, list[Kind], list[Any]]:
        """The program that yields gradients, the kinds of those, and what is to be finite."""
        cotangents = dict(zip(derivative.moving, program.outputs[first:], strict=True))
        yields, start, gives, finite = program.outputs[:first], 0, list[Kind](), list[Any]()

        def gradient(place: int, leaf: Any) -> Kind:
            element = leaf.element if isinstance(leaf, Array) else leaf.type
            dims = (
                program.inputs[place + 1 : place + width(leaf)] if isinstance(leaf, Array) else []
            )
            places = floats(leaf, place)
            like = leaf if places else Scalar("float")  # an int may have a gradient, too
            places = places or [place]
            moves = not cotangents.keys().isdisjoint(places)
            if not moves and (not zeros or element == "bool"):
                return NOTHING
            if isinstance(leaf, Array) and not moves:
                yields.extend(dims)
                return Array(element if like is leaf else "float", leaf.ndim, zeros=True)
            size = (2, *dims) if isinstance(leaf, Array) and element == "complex" else dims
            bars = [cotangents.get(k, 0.0) for k in places]
            finite.extend((bar, size) for bar in bars)
            yields.extend([*bars, *dims])
            return like

        for kind in kinds:
            gives.append(_collapsed(tree(kind, start, gradient)))
            start += width(kind)
        body = Block(program.body.ops, yields)
        return Program(program.name, program.inputs, body, sizes=program.sizes), gives, finite

    segmented: Any = derivative.operation.again

    def again(depth: int) -> Program | None:
        program = segmented(depth)
        return program and arranged(program)[0]

    program, gives, finite = arranged(derivative.operation.program)
    gradients = Struct(tuple, (), tuple(gives))
    both = Struct(tuple, (), (result, gradients)) if result else gradients
    made = Form(Operation(program, again=again), takes, both, kinds)
    made.first, made.finite = first, finite
    return made


def _collapsed(kind: Kind) -> Kind:
    """Of a container in which nothing has a gradient, nothing."""
    if not isinstance(kind, Struct):
        return kind
    parts = tuple(map(_collapsed, kind.parts))
    return Struct(kind.type, kind.keys, parts) if {*parts} - {NOTHING} else NOTHING
