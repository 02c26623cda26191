"""From the source of a whole function, of numbers, arrays and structures, to its program.

The reader is that of scalar functions, with what those may not do: numbers are Python's or NumPy's
(`scalars`), arrays are views of buffers (`arrays`), and operations have effects. What Python would
raise for is a check, on which the program stops, and Python runs the function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zyg.base.marks import plain_of
from zyg.base.words import meaning_of
from zyg.compiler.front import arrays, complexes, limits, several
from zyg.compiler.front.calls import METHODS, Method, called, is_known, number_in
from zyg.compiler.front.captures import Captures, Outside, Path
from zyg.compiler.front.complexes import ComplexNumber
from zyg.compiler.front.conversions import of_growing
from zyg.compiler.front.depth import room_for_calls
from zyg.compiler.front.elementwise import array, assign, copied
from zyg.compiler.front.growing import Growing
from zyg.compiler.front.indexing import rows
from zyg.compiler.front.mixed import Mixed, first_mixed, is_scalar
from zyg.compiler.front.numerals import of_numbers
from zyg.compiler.front.objects import is_class
from zyg.compiler.front.parallel import tell_apart
from zyg.compiler.front.reader import first_choice, name_of
from zyg.compiler.front.scalars import WholeBuilder, whose
from zyg.compiler.front.several import OfKinds
from zyg.compiler.front.structures import Compound, Ref, Unknown, described
from zyg.compiler.front.views import Arrayed, ArrayView, Lazy, arrays_in, is_one, strides_of
from zyg.compiler.front.ways import Dead
from zyg.compiler.front.words import WORDS
from zyg.compiler.ir import Atom, Block, Program, Value, prune
from zyg.compiler.kinds import (
    Array,
    Kind,
    Many,
    Scalar,
    Static,
    Struct,
    Unkind,
    kind_of,
    numbers_in,
    put_together,
)
from zyg.compiler.layouts import of_order
from zyg.compiler.numbers import Number, atom_of
from zyg.compiler.simplified import simplified
from zyg.errors import KernelError


@dataclass
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
    reads: Callable[[Captures], WholeReader] | None = None,
) -> Whole:
    """The program of `f` for arguments of these kinds; `reads` makes what reads it.

    Its inputs are the operands of the arguments, in order, then those that were captured, in the
    order of ``captures.operands``. Its outputs are the operands of the result. Raises KernelError
    for what is not in the language.
    """
    reader = (reads or WholeReader)(captures)
    args = [reader.taken(reader.argument(kind), "an argument") for kind in kinds]
    named = {
        name: reader.taken(reader.argument(kind), "an argument") for name, kind in keywords.items()
    }
    inputs, reader.lifted = reader.lifted, []
    try:
        with room_for_calls():
            found = reader.call(Outside(f, ()), args, named)
            reader.demand_new(found)
            found = reader.handed_out(found)
    except Dead as dead:
        raise KernelError(
            f"{name_of(f)} always raises.", f"{dead.why}.", "call it as it is."
        ) from None
    to = reader.builder
    if any(to.may_meet(x, w) for x, since in to.undecided for w in to.writes[since:]):
        raise KernelError(
            f"{name_of(f)} writes to an array of which it has another shape.",
            "whether NumPy copies the elements for that depends on the sizes or gaps in memory.",
            "copy the array first, or what has the other shape.",
        )
    reader.inputs = [*inputs, *reader.lifted]
    yields: list[Atom] = []
    reader.returned = [*arrays_in(found)]
    result = reader.result(found, yields)

    def program(yields: list[Atom]) -> Program:
        block = Block(reader.builder.block.ops, yields)
        made = simplified(Program(name_of(f), reader.inputs, block, sizes=reader.sizes))
        prune(made.body)
        tell_apart(made)
        return made

    plain = program([*yields, *reader.layouts]) if reader.layouts else None
    return Whole(program(yields), result, captures, plain, reader.builder.assumed)


class WholeReader(OfKinds):
    """What the functions that make up one program have in common."""

    whole = True
    operands = (*OfKinds.operands, Arrayed, ComplexNumber, complex, np.dtype, type)
    recorded = (*OfKinds.recorded, Arrayed, ComplexNumber)
    builder: WholeBuilder

    def __init__(self, captures: Captures) -> None:
        super().__init__(captures, WholeBuilder())
        self.builder.assuming = captures.assuming
        self.sizes: dict[Value, tuple[Atom, ...]] = {}
        self.inputs: list[Value] = []
        self.whole_arguments: dict[Value, ArrayView] = {}  # arrays that are arguments, or captured
        self.returned: list[ArrayView] = []
        self.layouts: list[Atom] = []  # of results that are shared
        self.composing: list[Any] = []  # the functions of NumPy's whose texts are being read

    # Arguments and results

    def argument(self, kind: Kind) -> Any:
        """What the function sees of an argument; its operands are further inputs."""
        if isinstance(kind, Static):
            return kind.value
        if isinstance(kind, Scalar) and kind.type == "complex":
            parts = Value("float"), Value("float")
            self.lifted += parts
            return ComplexNumber(self.builder, *parts, kind.python)
        if isinstance(kind, Scalar):
            value = Value(kind.type)
            self.lifted.append(value)
            return self.builder.number(value, kind.python)
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
        buffer = Value("float[]" if is_complex else f"{kind.element}[]")
        dims = [Value("int") for _ in range(kind.ndim)]
        self.lifted += [buffer, *dims]
        self.sizes[buffer] = (2, *dims) if is_complex else (*dims,)
        shape: list[Atom] = [1 if k in kind.ones else n for k, n in enumerate(dims)]
        with self.builder.at_start():
            for n in shape:
                self.builder.extents.add(n)  # type: ignore[arg-type]
                self.builder.never_one.add(n)  # type: ignore[arg-type]
                self.builder.bound(n)
            strides = strides_of(self.builder, shape, kind.order)
            ranks, gaps = kind.ranks or of_order(kind.order), "known" if kind.gaps else ""
            self.whole_arguments[buffer] = made = ArrayView(
                self.builder, buffer, shape, strides, 0, kind.element, ranks, gaps
            )
            return made

    def lift(self, kind: Any) -> Any:
        with self.builder.outermost():
            return self.argument(kind)

    def result(self, x: Any, found: list[Atom]) -> Kind | Many:
        """The kind of a result, whose operands are appended to `found`."""
        x = self.settled(x)
        if is_scalar(x):
            return self.number_given(x, found)
        if isinstance(x, ArrayView):
            view = self.own(x, found)
            found += [view.buffer, *view.shape]
            ones = tuple(k for k, n in enumerate(view.shape) if is_one(n))
            same = self.which(x)
            if shared := same is None and self.is_shared(x):
                self.layouts += [x.buffer, x.identity, x.offset, *x.strides]
            ranks = () if view.is_contiguous else of_order(view.order)
            return Array(
                view.element, view.ndim, ones, same, shared, readonly=x.readonly, ranks=ranks
            )
        if isinstance(x, (tuple, list)):
            return Struct(type(x), (), tuple(self.result(part, found) for part in x))
        if isinstance(x, Growing):
            part = self.result(x.element, [])
            found += [atom_of(x.count), *map(atom_of, x.columns)]
            if len([*numbers_in(part)]) != len(x.columns):
                raise TypeError("a list of arrays cannot be returned")
            return Many(part)
        if isinstance(x, (Unknown, Ref, Compound)):
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
        meets, given = self.builder.may_meet, [*self.whole_arguments]
        met = [y for y in self.returned if meets(x.buffer, y.buffer)]
        return len(met) > 1 or any(meets(x.buffer, y) for y in given)

    def own(self, x: ArrayView, found: list[Atom]) -> ArrayView:
        """An array as a result: in a buffer of its own, its elements one after the other, in the
        order of its axes."""
        fresh = x.buffer in self.builder.born and x.buffer not in found
        return x if fresh and x.is_dense(x.order) and not isinstance(x.offset, Value) and (
            x.offset == 0) else copied(x)  # fmt: skip

    # Numbers

    def plain(self, x: Any) -> Any:
        if type(x) is complex:
            return ComplexNumber(self.builder, x.real, x.imag, True)
        if not isinstance(x, np.generic):
            return x
        kind = kind_of(x)
        if isinstance(kind, Scalar) and kind.type == "complex":
            return ComplexNumber(self.builder, float(x.real), float(x.imag), False)
        if not isinstance(kind, Scalar):
            raise TypeError(f"a {type(x).__name__} is not compiled")
        return self.builder.number(self.builder.to(kind.type, x.item()), False)

    def operated(self, operator: Callable[..., Any], *operands: Any) -> Any:
        if any(isinstance(x, Arrayed) for x in operands):
            operands = tuple(map(self.uncovered, operands))
        if any(isinstance(x, Mixed) for x in operands):
            return self.of_kinds(operator, operands)
        found = arrays.operated(self.builder, operator, *operands)
        return super().operated(operator, *operands) if found is NotImplemented else found

    def is_same(self, a: Any, b: Any) -> Any:
        arrays = isinstance(a, ArrayView) and isinstance(b, ArrayView)
        found = a.is_object(b) if arrays else super().is_same(a, b)
        if found is None:
            raise KernelError(
                "is, of arrays that ways or rounds have made, is not compiled.",
                "which objects they are depends on the way that was taken.",
                "compare what they were made of.",
            )
        return found

    # Arrays

    def item(self, owner: Any, index: Any) -> Any:
        if isinstance(owner, Arrayed) and not isinstance(index, Mixed):
            return arrays.subscript(owner, self.uncovered(index))
        return super().item(owner, index)

    def set_item(self, owner: Any, index: Any, value: Any) -> None:
        if not isinstance(owner, ArrayView):
            return super().set_item(owner, index, value)
        value = value.number if isinstance(value, Mixed) else value  # taken in the same way
        if value is not owner or index is not Ellipsis:
            arrays.store(owner, self.uncovered(index), self.uncovered(value))
        return None

    def augmented(self, operator: Any, before: Any, value: Any) -> Any:
        if not isinstance(before, ArrayView):
            return super().augmented(operator, before, value)
        if isinstance(value, Mixed):
            if (given := several.with_arrays(self.builder, (before, value))) is None:
                return self.over(value, lambda one: self.augmented(operator, before, one))
            value = given[1]
        arrays.augment(before, operator, self.uncovered(value))
        return before

    def attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, ComplexNumber):
            return complexes.attribute(owner, name)
        if isinstance(owner, Number):
            if whose(owner) and name not in ("real", "imag", "conjugate"):
                raise AttributeError(f"a number of Python's has no {name}")
            number = owner.record("positive", owner) if whose(owner) else owner
            owner = arrays.Single(self.builder, number)
        if isinstance(owner, Arrayed):
            found = arrays.ATTRIBUTES.get(name)
            if found is not None:
                return found(owner)
            method = Method(owner, name)
            if name not in METHODS and limits.written_of(method) is None:
                raise KernelError(
                    f"the attribute {name} of an array is not compiled.",
                    "a compiled function knows an array's elements, its shape and its dtype.",
                    "use those.",
                )
            return method
        return super().attribute(owner, name)

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        if isinstance(owner, ArrayView) and name in ("real", "imag"):
            assign(arrays.ATTRIBUTES[name](owner), self.uncovered(value))
            return
        super().set_attribute(owner, name, value)

    def settled(self, x: Any) -> Any:
        if isinstance(x, Method) and isinstance(x.owner, Lazy):
            return Method(array(x.owner), x.name)
        return array(x) if isinstance(x, Lazy) else x

    def uses_up(self, f: Any) -> bool:
        inner = f.value if isinstance(f, Outside) else f
        return is_known(inner) or limits.written_of(inner) is not None

    def rows(self, x: Any) -> tuple[Any, Callable[[Any], Any]] | None:
        return rows(x) if isinstance(x, Arrayed) else None

    def call(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        inner, path = (f.value, f.path) if isinstance(f, Outside) else (f, None)
        written = limits.written_of(inner)
        if is_known(inner, args) or written is not None:
            limits.demand_our_rule(inner)
            if (k := first_choice(args)) is not None:
                before, rest = args[:k], args[k + 1 :]
                return self.over(args[k], lambda x: self.call(f, [*before, x, *rest], kwargs))
            plain, named = limits.given_of([self.uncovered(x) for x in args], {
                k: self.uncovered(x) for k, x in kwargs.items()})  # fmt: skip
            if first_mixed([*plain, *named.values()]) is not None:
                return self.called_of_kinds(f, inner, plain, named)
            owner = [inner.owner] if isinstance(inner, Method) else []
            limits.demand_known(inner.name if owner else name_of(inner), [*owner, *plain])
            found = called(self.builder, inner, plain, named)
            if found is NotImplemented and written is not None:
                settled = [self.settled(x) for x in (*owner, *plain)]
                found = self.inline(written, (("itself", written),), settled, named)
            if found is not NotImplemented:
                if path is not None:
                    self.captures.guards[path] = inner
                return found
        named = {k: self.settled(x) for k, x in kwargs.items()}
        args = [*map(self.settled, args)]
        if isinstance(meaning := meaning_of(inner), str):
            return WORDS[meaning](self, *args, **named)
        if meaning is not None or limits.is_ours(inner):
            inner = meaning or inner
            return self.inline(inner, (("itself", inner),), args, named)
        if (text := limits.composed_text(inner)) is not None:
            return self._of_others(inner, path, text, args, named)
        found = self.of_rule(f, args, named)
        if found is not NotImplemented:
            return found
        return super().call(f, args, named)

    def _of_others(
        self, f: Any, path: Path | None, text: Any, args: Sequence[Any], kwargs: Any
    ) -> Any:
        """What a function of NumPy's gives that is written in others."""
        if f in self.composing:  # its text asks NumPy for the value
            raise KernelError(
                f"{name_of(f)} is not compiled.", "NumPy computes its value.", "call it outside."
            )
        if path is not None:
            self.captures.guards[path] = f
        self.composing.append(f)
        try:
            return self.inline(text, (("itself", text),), args, kwargs)
        finally:
            self.composing.pop()

    def of_rule(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What a function gives that brings its derivatives; NotImplemented for others."""
        return NotImplemented

    def uncovered(self, x: Any) -> Any:
        """What a function of NumPy's is given for a list, or for something captured."""
        if isinstance(x, Ref) and x.kind is list:
            items = self.handed_out(x)
            if isinstance(items, Growing):
                return of_growing(self.builder, items, lambda k: self.item(x, self.index(k)))
            return [*map(self.uncovered, items)]
        if isinstance(x, tuple):
            parts = [*map(self.uncovered, x)]
            return type(x)._make(parts) if hasattr(x, "_make") else tuple(parts)
        if not isinstance(x, Outside):
            return x
        if isinstance(x.value, (list, tuple)):
            return type(x.value)(map(self.uncovered, self.elements(x)))
        if isinstance(x.value, slice):
            names = ("start", "stop", "step")
            parts = [self._part(x.value, x.path, name) for name in names]
            return slice(*map(self.uncovered, parts))
        self.captures.guards[x.path] = x.value
        return x.value

    def of_numbers(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if type(f).__hash__ is None:  # an object of the user's
            return NotImplemented
        if first_mixed([*args, *kwargs.values()]) is not None and several.is_of_numbers(f):
            return self.called_of_kinds(f, plain_of(f), [*args], kwargs)
        plain = [number_in(x, f) for x in args]
        found = complexes.of_python(self.builder, f, plain, kwargs)
        return of_numbers(self.builder, f, plain, kwargs) if found is NotImplemented else found
