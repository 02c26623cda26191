"""Calls of compiled functions on a tape, by machine code that takes objects.

Where all that is watched is of one strand, and plain below it, value and pullback are two forms of
the program, and a call is an entry like that of a rule. Elsewhere a call is an operation: see
`calls`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.base.registry import Adjoint
from zyg.compiler.builder import Builder
from zyg.compiler.ir import Block, Program, Value
from zyg.compiler.kinds import (
    DTYPES,
    Array,
    Kind,
    Scalar,
    Struct,
    dense_array,
    leaves,
    made_of,
    put_together,
    taken_apart,
    width,
)
from zyg.compiler.splice import spliced
from zyg.compiling.calls import derived
from zyg.compiling.fallback import faster
from zyg.compiling.forms import Form, gradient_form
from zyg.compiling.guards import FastEntry
from zyg.compiling.operands import Call, Taken, Unlike
from zyg.compiling.operations import FLOATS, Derivative, Operation
from zyg.compiling.specialize import Specialization
from zyg.core.adjoints import Operands, adjoint_pullback
from zyg.core.entries import note
from zyg.core.kept import keep
from zyg.core.strand import ARRAYS, Strand, active, is_watched, strip

_VERB = "on a tape"


def noted(f: Any, args: tuple[Any, ...]) -> Any:
    """What a call returns, noted on a tape; NotImplemented where no machine code that is known
    takes it, Ellipsis where that has stopped."""
    operands = Operands(f.rule, args)
    strand, places = operands.strand, _places(f, operands)
    if strand is None or strand.dual or not places or any(map(is_watched, operands.seen)):
        return NotImplemented
    found = f.by(places).asked(_VERB, tuple(operands.primals))
    if found is NotImplemented or found is Ellipsis:
        return found
    y, code, captured = found
    given, captured = code.held(strand, operands.primals, captured)
    for x in operands.values:
        if type(x) in ARRAYS:
            x.unread = False
    back = functools.partial(code.pulled_back, given, captured)
    return note(strand, y, adjoint_pullback, f.rule, back, operands.active, len(args))


def _of_machine_code(*args: Any) -> Any:
    """The rule in the name of which `noted` makes entries."""
    raise NotImplementedError


def _places(f: Any, operands: Operands) -> tuple[int, ...]:
    """The arguments by which derivatives are."""
    return tuple([k for k, *_ in operands.active if f.wrt is None or k in f.wrt])


def learn(f: Any, call: Call) -> bool:
    """Have calls like this one be asked from now on; False if they are, or cannot be."""
    if call.keywords or call.functions or not all(strand.whole for strand in active.get()):
        return False
    known: Specialization = call.known
    if f.rule is None:
        f.rule = Adjoint(_of_machine_code, _of_machine_code, strong=True)
        f.rule.name = f.__name__
    places = _places(f, Operands(f.rule, call.args))
    part = f.by(places)

    def make() -> FastEntry:
        code = _Code(known, places)
        return FastEntry(f.__wrapped__, code, known.captures.guards, known.captures.operands)

    entry = known.once((_VERB, places), lambda: faster(f.__name__, make))
    if entry is None or entry.is_in(part.entries(_VERB) or ()):
        return False
    part.add(_VERB, entry, last=not known.assuming)
    return True


class _Code:
    """Value and pullback by some of the arguments.

    A call gives the value, this, and what was captured.
    """

    def __init__(self, known: Specialization, places: tuple[int, ...]) -> None:
        operation, self._known, self._places = known.operation, known, places
        self._count, self._gives = len(known.kinds), _bar_of(known.result)
        arrays = [x for _, x in leaves(known.result) if isinstance(x, Array)]
        in_memory = known.shared or any(x.same is not None for x in arrays)
        captured = known.takes[self._count :]
        if in_memory or not all(isinstance(kind, (Scalar, Array)) for kind in captured):
            raise Unlike
        self._with_objects = [k for k, kind in enumerate(known.kinds) if _has_objects(kind)]
        self._value = _entry(Form(operation.checked(), known.takes, known.result, tapes=False))
        self._pullback = _entry(self._form(strong=False))

    def __call__(self, *given: Any) -> Any:
        y = self._value(*given)
        return y if y is NotImplemented or y is Ellipsis else (y, self, given[self._count :])

    def held(
        self, strand: Strand, args: Sequence[Any], captured: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """What the way back is to have, whatever becomes of it: all but what operands keep."""
        row = [*args]
        for k in self._with_objects:
            row[k] = _held(strand, self._known.kinds[k], row[k])
        kinds = self._known.takes[self._count :]
        return row, [_held(strand, kind, x) for kind, x in zip(kinds, captured, strict=True)]

    def pulled_back(
        self, args: Sequence[Any], captured: Sequence[Any], y_bar: Any, strong: bool
    ) -> Any:
        """The cotangents of the arguments."""
        if not strong:
            found = self._pullback(*args, _fitting(self._gives, y_bar), *captured)
            if found is not NotImplemented and found is not Ellipsis:
                return found
        before, behind = Taken(), Taken()
        for taken, given in (before, args), (behind, captured):
            for x in given:
                taken.take(x)
        operands = [*before.operands, *_operands(self._gives, y_bar), *behind.operands]
        form = self._form(strong)
        return made_of(form.gives, iter(derived(form.operation, operands)), strip)

    def _form(self, strong: bool) -> Form:
        """The pullback: it takes the cotangent of the result behind the arguments."""
        known, places = self._known, self._places

        def make() -> Form:
            if (operands := known.active(places)) is None:
                raise Unlike
            derivative = known.operation.pullback(operands, strong)
            again: Any = derivative.operation.again
            takes = [*known.kinds, self._gives, *known.takes[self._count :]]
            program = self._arranged(derivative.operation.program)
            operation = Operation(program, again=lambda d: (p := again(d)) and self._arranged(p))
            derivative = Derivative(operation, derivative.moving)
            made = gradient_form(derivative, known.kinds, takes, None, False)
            made.finite = []  # who steps back looks
            return made

        return known.once((_VERB, places, strong), make)

    def _arranged(self, program: Program) -> Program:
        """That of a pullback, whose cotangents come behind the arguments, with their shapes."""
        known, builder = self._known, Builder()
        first, count = len(known.operation.program.inputs), sum(map(width, known.kinds))
        bars = iter(program.inputs[first:])
        along, lengths, sizes = list[Value](), list[Any](), {**program.sizes}
        for _, leaf in leaves(self._gives):
            along.append(bar := next(bars))
            if isinstance(leaf, Array):
                dims = [Value("int") for _ in range(leaf.ndim)]
                sizes[bar] = (*dims,)
                lengths.append(builder.product(dims))
                along += dims
        before = program.inputs[:first]
        given = [*before, *(x for x in along if x.type != "int"), *lengths]
        yields = spliced(program, given, builder.block)
        inputs = [*before[:count], *along, *before[count:]]
        return Program(program.name, inputs, Block(builder.block.ops, yields), sizes=sizes)


def _entry(form: Form) -> Callable[..., Any]:
    if (entry := form.entry()) is None:
        raise Unlike
    return entry.call


def _has_objects(kind: Kind) -> bool:
    """Whether there are containers of which operands keep no copies."""
    if not isinstance(kind, Struct):
        return False
    return kind.type not in (tuple, list, dict) or any(map(_has_objects, kind.parts))


def _held(strand: Strand, kind: Kind, x: Any) -> Any:
    """A copy, its arrays kept."""
    if isinstance(kind, Struct):
        pairs = zip(kind.parts, taken_apart(x)[1], strict=True)
        return put_together(kind.type, kind.keys, [_held(strand, *pair) for pair in pairs])
    return keep(strand, x) if isinstance(kind, Array) else x


def _bar_of(kind: Kind) -> Kind:
    """The kind of the cotangent of a result of real numbers and arrays of those."""
    if isinstance(kind, Struct) and kind.type is tuple:
        return Struct(tuple, (), tuple(map(_bar_of, kind.parts)))
    if isinstance(kind, Scalar) and kind.type == "float":
        return Scalar("float")
    if isinstance(kind, Array) and f"{kind.element}[]" in FLOATS:
        return dense_array(kind.element, kind.order)
    raise Unlike


def _fitting(kind: Kind, y_bar: Any) -> Any:
    """A cotangent, brought to its kind; as it is where that takes more than machine code."""
    if is_watched(y_bar):
        return y_bar
    if isinstance(kind, Struct):
        return tuple(map(_fitting, kind.parts, y_bar))
    if isinstance(kind, Scalar):
        return float(y_bar)
    assert isinstance(kind, Array)
    return np.asarray(y_bar, DTYPES[kind.element], order="K" if kind.ranks else "C")


def _operands(kind: Kind, y_bar: Any) -> list[Any]:
    """The operands of a cotangent."""
    if isinstance(kind, Struct):
        pairs = zip(kind.parts, y_bar, strict=True)
        return [x for part, bar in pairs for x in _operands(part, bar)]
    return [kind.row(y_bar), *np.shape(y_bar)] if isinstance(kind, Array) else [y_bar]
