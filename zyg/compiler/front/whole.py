"""From the source of a whole function, of numbers, arrays and structures, to its program.

The reader is that of scalar functions, with what those may not do: numbers are Python's or NumPy's
(`scalars`), arrays are views of buffers (`arrays`), and operations have effects. What Python would
raise for is a check, on which the program stops, and Python runs the function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zyg.compiler.collapsed import collapse
from zyg.compiler.draws import Source
from zyg.compiler.front import complexes, limits
from zyg.compiler.front.captures import Captures, Outside, Path
from zyg.compiler.front.complexes import ComplexNumber
from zyg.compiler.front.control_flow import Concern
from zyg.compiler.front.depth import room_for_calls
from zyg.compiler.front.dispatch import name_of
from zyg.compiler.front.elementwise import copied
from zyg.compiler.front.growing import Growing
from zyg.compiler.front.inlining import Inlining
from zyg.compiler.front.interpreter import Interpreter
from zyg.compiler.front.mixed import Mixed, NarrowNumber, is_narrow, is_scalar, number_of
from zyg.compiler.front.objects import is_class
from zyg.compiler.front.outlines import Outlines
from zyg.compiler.front.parallel import tell_apart
from zyg.compiler.front.scalars import WholeBuilder, whose
from zyg.compiler.front.structures import Compound, Dead, Ref, Unknown, described
from zyg.compiler.front.views import ArrayView, arrays_in, is_one, strides_of
from zyg.compiler.front.whole_values import Arrays, WholeCalls
from zyg.compiler.ir import (
    Atom,
    Block,
    Op,
    Program,
    Value,
    blocks_of,
    operands_of,
    operations,
    prune,
    type_of,
)  # fmt: skip
from zyg.compiler.kinds import (
    Array,
    Kind,
    Many,
    Scalar,
    Static,
    Struct,
    Unkind,
    held_in,
    kind_of,
    numbers_in,
    put_together,
)
from zyg.compiler.layouts import of_order
from zyg.compiler.numbers import atom_of
from zyg.compiler.scratch import give_rounds_their_own
from zyg.compiler.simplified import simplified
from zyg.errors import KernelError


@dataclass(eq=False, repr=False)
class Whole:
    """A function that was read: its program, the kind of its result, what it took from outside.

    `plain` is the program of a plain call, if results are `shared`: it has further outputs, for
    each of those the buffer, the offset and the strides. `assumes` says whether it stops for arrays
    of unusual sizes, for which it can be read again.
    """

    program: Program
    result: Kind | Many
    captures: Captures
    plain: Program | None = None
    assumes: bool = False


class WholeCaptures(Captures):
    """What a whole function takes from outside: floats and arrays become operands."""

    def found(self, value: Any, path: Path, lift: Callable[[Any], Any]) -> Any:
        if path and path[0][0] == "itself" and limits.is_ours(path[0][1]):
            return value  # nobody changes what is ours
        return super().found(value, path, lift)

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
    reader: WholeInterpreter | None = None,
) -> Whole:
    """The program of `f` for arguments of these kinds; `reader` may know more.

    Its inputs are the operands of the arguments, in order, then those that were captured, in the
    order of ``captures.operands``. Its outputs are the operands of the result. Raises KernelError
    for what is not in the language.
    """
    reader = reader or WholeInterpreter(captures)
    args = [reader.objects.taken(reader.interface.argument(kind), "an argument") for kind in kinds]
    named = {
        name: reader.objects.taken(reader.interface.argument(kind), "an argument")
        for name, kind in keywords.items()
    }
    inputs, reader.lifted = reader.lifted, []
    try:
        with room_for_calls():
            found = reader.calls.call(Outside(f, ()), args, named)
            reader.objects.demand_new(found)
            found = reader.objects.handed_out(found)
    except Dead as dead:
        raise KernelError(
            f"{name_of(f)} always raises.", f"{dead.why}.", "call it as it is."
        ) from None
    to = reader.builder
    _demand_decided(f, to)
    reader.interface.inputs = [*inputs, *reader.lifted]
    yields: list[Atom] = []
    reader.interface.returned = [*arrays_in(found)]
    _demand_told_apart(to, [x.buffer for x in reader.interface.returned])
    result = reader.interface.result(found, yields)

    def program(yields: list[Atom]) -> Program:
        block = Block(reader.builder.block.ops, yields)
        made = simplified(
            Program(name_of(f), reader.interface.inputs, block, sizes=reader.interface.sizes)
        )
        collapse(made)
        prune(made.body)
        give_rounds_their_own(made)
        tell_apart(made)
        return made

    _demand_small([reader.builder.block, Block(yields=yields)])
    plain = program([*yields, *reader.interface.layouts]) if reader.interface.layouts else None
    return Whole(program(yields), result, captures, plain, reader.builder.assumed)


def _demand_small(blocks: Sequence[Block]) -> None:
    """Refuse ints beyond 64 bits that are written out, but where they meet floats."""
    for block in blocks:
        rows: list[Sequence[Atom]] = [block.yields]
        for op in operations(block):
            given = operands_of(op)
            are_floats = isinstance(op, Op) and any(
                type_of(x).startswith("float") for x in (op.out, *given)
            )
            rows += [() if are_floats else given, *(inner.yields for inner in blocks_of(op))]
        if any(type(x) is int and not -(2**63) <= x < 2**63 for row in rows for x in row):
            raise KernelError(
                "an int beyond 64 bits cannot be used in a compiled function.",
                "machine code has ints of 64 bits, Python's have as many as they need.",
                "compute with smaller ones, or with floats.",
            )


def _demand_decided(f: Callable[..., Any], to: WholeBuilder) -> None:
    """Refuse writes to what may be a copy or not."""
    undecided = [pair for found in to.undecided for pair in zip(*found[:2], strict=True)]
    if any(to.may_meet(x, w) for x, since in undecided for w in to.writes[since:]):
        raise KernelError(
            f"{name_of(f)} writes to an array of which it has another shape.",
            "whether NumPy copies the elements for that depends on the sizes or gaps in memory.",
            "copy the array first, or what has the other shape.",
        )


def _demand_told_apart(to: WholeBuilder, returned: Sequence[Value]) -> None:
    """Refuse to return a copy that for some sizes is the array itself, where that is seen."""

    def is_seen(x: Value) -> bool:
        return any(to.may_meet(x, y) for y in returned)

    by_sizes = [found.buffers for found in to.undecided if found.by_sizes]
    if any(is_seen(y) and (to.is_given(x) or is_seen(x)) for x, y in by_sizes):
        raise KernelError(
            "an array in another shape cannot be returned from a compiled function.",
            "whether NumPy copies the elements for that depends on the sizes.",
            "copy it first.",
        )


class Interface(Concern):
    """The arguments and the result of a whole function."""

    reader: WholeInterpreter
    to: WholeBuilder

    def __init__(self, reader: WholeInterpreter) -> None:
        super().__init__(reader)
        self.sizes: dict[Value, tuple[Atom, ...]] = {}
        self.inputs: list[Value] = []
        self.whole_arguments: dict[Value, ArrayView] = {}  # arrays that are arguments, or captured
        self.returned: list[ArrayView] = []
        self.layouts: list[Atom] = []  # of results that are shared

    def argument(self, kind: Kind) -> Any:
        """What the function sees of an argument; its operands are further inputs."""
        if isinstance(kind, Static):
            return kind.value
        if isinstance(kind, Scalar) and kind.type == "complex":
            parts = Value("float"), Value("float")
            self.reader.lifted += parts
            return ComplexNumber(self.to, *parts, kind.python)
        if isinstance(kind, Scalar):
            value = Value(held_in(kind.type))
            self.reader.lifted.append(value)
            if not kind.python:
                return number_of(self.to, kind.type, value)
            return self.to.number(value, True)
        if isinstance(kind, Array):
            return self.array(kind)
        if isinstance(kind, Struct):
            return put_together(kind.type, kind.keys, [*map(self.argument, kind.parts)])
        raise KernelError(
            f"{kind} is not compiled.",
            "zyg.compile does not support it.",
            "use numbers and arrays.",
        )

    def array(self, kind: Array) -> ArrayView:
        is_complex = kind.element == "complex"
        buffer = Value(f"{held_in(kind.element)}[]")
        dims = [Value("int") for _ in range(kind.ndim)]
        self.reader.lifted += [buffer, *dims]
        self.sizes[buffer] = (2, *dims) if is_complex else (*dims,)
        shape: list[Atom] = [1 if k in kind.ones else n for k, n in enumerate(dims)]
        with self.to.at_start():
            for n in shape:
                self.to.extents.add(n)  # type: ignore[arg-type]
                self.to.never_one.add(n)  # type: ignore[arg-type]
                self.to.bound(n)
            strides = strides_of(self.to, shape, kind.order)
            ranks, gaps = kind.ranks or of_order(kind.order), "known" if kind.gaps else ""
            self.whole_arguments[buffer] = made = ArrayView(
                self.to, buffer, shape, strides, 0, kind.element, ranks, gaps
            )
            return made

    def result(self, x: Any, found: list[Atom]) -> Kind | Many:
        """The kind of a result, whose operands are appended to `found`."""
        x = self.reader.values.settled(x)
        if is_scalar(x) or isinstance(x, NarrowNumber):
            return self.number_given(x, found)
        if isinstance(x, ArrayView):
            view = self.own(x, found)
            found += [view.buffer, *view.shape]
            ones = tuple(k for k, n in enumerate(view.shape) if is_one(n))
            same = self.which(x)
            if shared := same is None and self.is_shared(x):
                _demand_in_place(x)
                self.layouts += [x.buffer, x.identity, x.offset, *x.strides]
            ranks = () if view.is_contiguous else of_order(view.order)
            return Array(
                view.element, view.ndim, ones, same, shared, readonly=x.readonly, ranks=ranks
            )
        if isinstance(x, Outside):
            return Static(x)
        if isinstance(x, (tuple, list)):
            return Struct(type(x), (), tuple(self.result(part, found) for part in x))
        if isinstance(x, Growing):
            part = self.result(x.element, [])
            found += [atom_of(x.count), *map(atom_of, x.columns)]
            if len([*numbers_in(part)]) != len(x.columns):
                raise TypeError("a list of arrays cannot be returned")
            return Many(part)
        if isinstance(x, (Unknown, Ref, Compound, Source)):
            raise KernelError(
                f"the result, {described(x)}, is not compiled.",
                "it is not a number, an array, or a structure of those.",
                "return its parts.",
            )
        if type(x) is dict or (is_class(type(x)) and hasattr(x, "__dict__") and not callable(x)):
            inside = x if type(x) is dict else vars(x)
            parts = tuple(self.result(part, found) for part in inside.values())
            return Struct(type(x), tuple(inside), parts)
        return Static(x.value if isinstance(x, Outside) else x)

    def which(self, x: ArrayView) -> int | None:
        """Where the buffer of an array is among the inputs, if the array is all of an argument."""
        given = self.whole_arguments.get(x.buffer)
        is_it = given is not None and given.is_object(x) is True
        return self.inputs.index(x.buffer) if is_it else None

    def is_shared(self, x: ArrayView) -> bool:
        """Whether an array is another result, too, or may be memory of one, or of an argument."""
        meets, given = self.to.may_meet, [*self.whole_arguments]
        met = [y for y in self.returned if meets(x.buffer, y.buffer)]
        return len(met) > 1 or any(meets(x.buffer, y) for y in given)

    def own(self, x: ArrayView, found: list[Atom]) -> ArrayView:
        """An array as a result: in a buffer of its own, its elements one after the other, in the
        order of its axes."""
        fresh = x.buffer in self.to.born and x.buffer not in found
        return x if fresh and x.is_dense(x.order) and not isinstance(x.offset, Value) and (
            x.offset == 0) else copied(x)  # fmt: skip

    def number_given(self, x: Any, found: list[Atom]) -> Scalar:
        """The kind of a number that is a result; its operands are appended to `found`."""
        if isinstance(x, NarrowNumber):
            found.append(x.int)
            return Scalar(x.element, False)
        if isinstance(x, (complex, ComplexNumber)):
            found += complexes.pair_of(self.to, x)
            return Scalar("complex", whose(x))
        if not isinstance(x, Mixed):
            found.append(atom_of(x))
            return Scalar(type_of(found[-1]), whose(x))
        held = self.number_given(x.number, found)
        *ways, last = (Scalar(*kind) for kind in x.kinds)
        if last.type != held.type:
            ways, last = [*ways, last], held
        found += [atom_of(flag) for flag, _ in x.pairs()[: len(ways)]]
        return replace(last, ways=(*ways,))


def _demand_in_place(x: ArrayView) -> None:
    """Refuse a part of an argument as a result that programs have in other memory."""
    if is_narrow(x):
        raise KernelError(
            f"a part of an argument of {x.element} is not returned.",
            "a compiled function computes with a copy of 64 bits.",
            "copy it first.",
        )


class WholeInterpreter(Interpreter):
    """Reads the functions that make up one program of numbers, arrays and structures."""

    builder: WholeBuilder
    values: Arrays
    calls: WholeCalls

    def __init__(self, captures: Captures) -> None:
        super().__init__(captures, WholeBuilder())
        self.builder.assuming = captures.assuming
        self.functions = Inlining(self, Outlines(self))
        self.calls, self.values = WholeCalls(self), Arrays(self)
        self.interface = Interface(self)
