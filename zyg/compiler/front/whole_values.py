"""Values and calls of whole functions: numbers of several kinds, arrays, NumPy's functions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zyg.base.marks import plain_of
from zyg.base.registry import ScalarRule
from zyg.base.words import meaning_of
from zyg.compiler.draws import METHODS as DRAWING
from zyg.compiler.draws import Source, draw
from zyg.compiler.front import arrays, complexes, limits, narrow, several
from zyg.compiler.front.builtin import OF_SEQUENCES
from zyg.compiler.front.calls import METHODS, Method, called, is_known, keywords, number_in
from zyg.compiler.front.captures import Outside, Path
from zyg.compiler.front.closures import Bound
from zyg.compiler.front.complexes import ComplexNumber
from zyg.compiler.front.conversions import of_growing
from zyg.compiler.front.dispatch import Calls, name_of
from zyg.compiler.front.elementwise import array, assign
from zyg.compiler.front.growing import Growing
from zyg.compiler.front.indexing import rows
from zyg.compiler.front.interpreter import Values
from zyg.compiler.front.mixed import Mixed, NarrowNumber, first_mixed, is_narrow, is_scalar
from zyg.compiler.front.numerals import is_math, of_numbers
from zyg.compiler.front.scalars import WholeBuilder, whose
from zyg.compiler.front.several import as_one_kind, is_of_floats_only, is_of_numbers
from zyg.compiler.front.structures import Choice, Ref, Unknown, children, is_leaf
from zyg.compiler.front.views import Arrayed, ArrayView, Lazy, wide
from zyg.compiler.front.words import WORDS
from zyg.compiler.ir import type_of
from zyg.compiler.kinds import NARROW, Scalar, kind_of
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError
from zyg.functions.operations import BY_OPERATOR

if TYPE_CHECKING:
    from zyg.compiler.front.whole import WholeInterpreter


_BESIDE: dict[type, Any] = {type(np.r_): np.hstack, type(np.c_): np.column_stack}


class Arrays(Values):
    """What is peculiar to arrays, to numbers of several kinds, and to complex ones."""

    operands = (*Values.operands, Arrayed, complex, np.dtype, type)
    recorded = (*Values.recorded, Arrayed)
    reader: WholeInterpreter
    to: WholeBuilder

    def lift(self, kind: Any) -> Any:
        with self.to.outermost():
            return self.reader.interface.argument(kind)

    def plain(self, x: Any) -> Any:
        if type(x) is complex:
            return ComplexNumber(self.to, x.real, x.imag, True)
        if not isinstance(x, np.generic):
            return x
        kind = kind_of(x)
        if isinstance(kind, Scalar) and kind.type == "complex":
            return ComplexNumber(self.to, float(x.real), float(x.imag), False)
        if not isinstance(kind, Scalar):
            raise TypeError(f"a {type(x).__name__} is not compiled")
        if kind.type in NARROW:
            return NarrowNumber(self.to, int(x), kind.type)
        return self.to.number(self.to.to(kind.type, x.item()), False)

    def settled(self, x: Any) -> Any:
        if isinstance(x, Method) and isinstance(x.owner, Lazy):
            return Method(array(x.owner), x.name)
        return array(x) if isinstance(x, Lazy) else x

    def decisive(self, x: Any) -> Any:
        if isinstance(x, Mixed):
            x = x.number
        if isinstance(x, ComplexNumber):
            return self.to.number(complexes.truth(self.to, x), True)
        return wide(x) if isinstance(x, NarrowNumber) else x

    def counting(self, x: Any) -> Any:
        return wide(x)

    def rows(self, x: Any) -> tuple[Any, Callable[[Any], Any]] | None:
        return rows(x) if isinstance(x, Arrayed) else None

    def operated(self, operator: Callable[..., Any], *operands: Any) -> Any:
        if any(isinstance(x, Arrayed) for x in operands):
            operands = tuple(map(self.uncovered, operands))
        if any(isinstance(x, Mixed) for x in operands):
            return self._of_kinds(operator, operands)
        found = arrays.operated(self.to, operator, *operands)
        return super().operated(operator, *operands) if found is NotImplemented else found

    def _of_kinds(self, operator: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """What an operator gives for numbers of several kinds."""
        name, to = BY_OPERATOR.get(operator), self.to
        if any(map(is_narrow, operands)):
            types = {type for x in operands if isinstance(x, Mixed) for type, _ in x.kinds}
            if types <= {"float", "complex"}:  # in which the others become floats
                return self.operated(operator, *map(wide, operands))
        elif name and all(map(is_scalar, operands)):
            found = several.operated(to, name, *operands)
            if found is not NotImplemented:
                return found
        elif name and all(isinstance(x, Arrayed) or is_scalar(x) for x in operands):
            given = several.with_arrays(to, operands)
            if given is not None:
                return self.operated(operator, *given)
        return self.flow.over_kinds(operands, lambda given: self.operated(operator, *given))

    def augmented(self, operator: Any, before: Any, value: Any) -> Any:
        if not isinstance(before, ArrayView):
            is_list = isinstance(before, Ref) and before.kind is list
            if is_list and isinstance(self.uncovered(value), Arrayed):
                return self.operated(operator, before, value)  # NumPy's operator comes first
            return NotImplemented
        if isinstance(value, Mixed):
            if (given := several.with_arrays(self.to, (before, value))) is None:
                return self.flow.over(value, lambda one: self.augmented(operator, before, one))
            value = given[1]
        arrays.augment(before, operator, self.uncovered(value))
        return before

    def is_same(self, a: Any, b: Any) -> Any:
        if isinstance(a, ArrayView) and isinstance(b, ArrayView):
            if (found := a.is_object(b)) is None:
                raise KernelError(
                    "is, of arrays that ways or rounds have made, is not compiled.",
                    "which objects they are depends on the way that was taken.",
                    "compare what they were made of.",
                )
            return found
        for one, other in ((a, b), (b, a)):
            is_one = isinstance(other, Mixed) or is_leaf(other)
            if isinstance(one, Mixed) and one is not other and is_one:
                return self.flow.over(one, functools.partial(self.reader.operators.is_same, other))
        return NotImplemented

    def item(self, owner: Any, index: Any) -> Any:
        if isinstance(index, Mixed):
            return self.flow.over(index, lambda one: self.reader.containers.item(owner, one))
        if isinstance(index, NarrowNumber):
            return self.reader.containers.item(owner, wide(index))
        if isinstance(owner, Arrayed):
            return arrays.subscript(owner, self.uncovered(index))
        if (laid := _BESIDE.get(type(owner))) is not None:
            return self._laid(laid, index if type(index) is tuple else (index,))
        if isinstance(index, Number) and type_of(index.atom) == "bool" and not whose(index):
            raise TypeError("a bool of NumPy's as an index")
        return NotImplemented

    def _laid(self, by: Any, parts: tuple[Any, ...]) -> Any:
        """Arrays and numbers beside each other, of ``np.r_[x, y]`` and ``np.c_[x, y]``."""
        axes = [x.ndim if isinstance(x, Arrayed) else 0 for x in parts]
        if not all(isinstance(x, Arrayed) or is_scalar(x) for x in parts) or max(axes) > 2:
            raise TypeError("ranges and texts in np.r_ and np.c_ are not compiled")
        if any(map(is_narrow, parts)):
            raise TypeError("np.r_ and np.c_ of numbers of 32 bits are not compiled")
        by = np.concatenate if by is np.hstack and min(axes) == 2 else by
        return self.reader.calls.call(Outside(by, (("itself", by),)), [parts], {})

    def set_item(self, owner: Any, index: Any, value: Any) -> Any:
        if not isinstance(owner, ArrayView):
            return NotImplemented
        value = value.number if isinstance(value, Mixed) else value  # taken in the same way
        if value is not owner or index is not Ellipsis:
            arrays.store(owner, self.uncovered(index), self.uncovered(value))
        return None

    def attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, ComplexNumber):
            return complexes.attribute(owner, name)
        if isinstance(owner, Number):
            if whose(owner) and name not in ("real", "imag", "conjugate"):
                raise AttributeError(f"a number of Python's has no {name}")
            number = owner.record("positive", owner) if whose(owner) else owner
            owner = arrays.Single(self.to, number)
        if isinstance(owner, Ref) and owner.kind is Source:
            return self._method_of_source(owner, name)
        if isinstance(owner, NarrowNumber):
            owner = arrays.Single(self.to, owner)
        if isinstance(owner, Arrayed):
            found = arrays.ATTRIBUTES.get(name)
            if found is not None:
                return found(owner)
            method = Method(owner, name)
            if name not in METHODS and limits.written_of(method) is None:
                raise KernelError(
                    f"the attribute {name} of an array is not compiled.",
                    "a compiled function knows an array's elements, its shape and its dtype.",
                    "compute it of x.shape and x.dtype.",
                )
            return method
        if isinstance(owner, Mixed):
            return self.flow.over(owner, lambda one: self.reader.objects.attribute(one, name))
        return NotImplemented

    def _method_of_source(self, owner: Ref, name: str) -> Bound:
        if name not in DRAWING:
            raise KernelError(
                f"the attribute {name} of a generator is not compiled.",
                "a compiled function knows methods that draw numbers and change nothing else.",
                "call it outside.",
            )

        def drawn(reader: Any, source: Ref, *args: Any, **kwargs: Any) -> Any:
            content = self.flow.heap[source]
            count = content["count"]
            content["count"] = self.operated(operator.add, count, 1)
            given = [content["token"], count, name, *args]
            return reader.calls.call(Outside(draw, (("itself", draw),)), given, kwargs)

        return Bound(drawn, owner, native=True)

    def set_attribute(self, owner: Any, name: str, value: Any) -> Any:
        if not isinstance(owner, ArrayView) or name not in ("real", "imag"):
            return NotImplemented
        return assign(arrays.ATTRIBUTES[name](owner), self.uncovered(value))

    def set_shape(self, variables: Ref, owner: Any, name: str, shape: Any) -> Any:
        """``owner.shape = shape``, of an array that only the variables of this call hold."""
        if not isinstance(owner, ArrayView) or name != "shape":
            return NotImplemented
        made, names = arrays.in_shape(owner, self.uncovered(shape)), []
        rows = [(ref, content.items()) for ref, content in self.flow.heap.items()]
        for ref, row in [*rows, (None, enumerate(self.flow.roots))]:
            for key, x in row:
                same = [y is None or owner.is_object(y) for y in held_arrays(x)]
                if ref is variables and isinstance(x, ArrayView) and same == [True]:
                    names.append(key)
                elif any(y is not False for y in same):
                    arrays.refuse_shape("more than the variables of this call may hold it.")
        self.flow.heap[variables].update(dict.fromkeys(names, made))
        return None

    def uncovered(self, x: Any) -> Any:
        """What a function of NumPy's is given for a list, or for something captured."""
        if isinstance(x, Ref) and x.kind is list:
            items = self.reader.objects.handed_out(x)
            if isinstance(items, Growing):
                item = self.reader.containers.item
                return of_growing(self.to, items, lambda k: item(x, self.to.wrap(k)))
            return [*map(self.uncovered, items)]
        if isinstance(x, tuple):
            parts = [*map(self.uncovered, x)]
            return type(x)._make(parts) if hasattr(x, "_make") else tuple(parts)
        if not isinstance(x, Outside):
            return x
        if isinstance(x.value, (list, tuple)):
            return type(x.value)(map(self.uncovered, self.reader.sequences.elements(x)))
        if isinstance(x.value, slice):
            names = ("start", "stop", "step")
            parts = [self.reader.calls.part(x.value, x.path, name) for name in names]
            return slice(*map(self.uncovered, parts))
        self.reader.captures.guards[x.path] = x.value
        return x.value


def held_arrays(x: Any) -> Iterator[ArrayView | None]:
    """The arrays that a value holds; None for one that may hold others."""
    if isinstance(x, ArrayView):
        yield x
    elif isinstance(x, Choice):
        for option in x.options:
            yield from held_arrays(option)
    elif (inside := children(x)) is not None:
        for part in inside[1]:
            yield from held_arrays(part)
    elif type(x).__module__.startswith(_READERS) and not isinstance(x, _HOLDING_NONE):
        yield None


_READERS, _HOLDING_NONE = __package__ or "", (Number, Outside, Ref, Unknown)


class WholeCalls(Calls):
    """What calls give in a whole function."""

    reader: WholeInterpreter
    to: WholeBuilder

    def __init__(self, reader: WholeInterpreter) -> None:
        super().__init__(reader)

    def call(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        inner, path = (f.value, f.path) if isinstance(f, Outside) else (f, None)
        written = limits.written_of(inner)
        if is_known(inner, args) or written is not None:
            limits.demand_our_rule(inner)
            found = self.flow.over_any(args, lambda xs: self.call(f, xs, kwargs))
            if found is not NotImplemented:
                return found
            plain, named = limits.given_of([self.reader.values.uncovered(x) for x in args], {
                k: self.reader.values.uncovered(x) for k, x in kwargs.items()})  # fmt: skip
            if first_mixed([*plain, *named.values()]) is not None:
                return self.called_of_kinds(f, inner, plain, named)
            inner, plain, named, give = narrow.taken(self.to, inner, plain, named)
            owner = [inner.owner] if isinstance(inner, Method) else []
            limits.demand_known(inner.name if owner else name_of(inner), [*owner, *plain])
            found = called(self.to, inner, plain, named)
            if found is NotImplemented and written is not None:
                named = keywords(written, inner, named)
                settled = [self.reader.values.settled(x) for x in (*owner, *plain)]
                found = self.reader.functions.inline(written, settled, named)
            if found is not NotImplemented:
                if path is not None:
                    self.reader.captures.guards[path] = inner
                return give(found)
        named = {k: self.reader.values.settled(x) for k, x in kwargs.items()}
        args = [*map(self.reader.values.settled, args)]
        if isinstance(meaning := meaning_of(inner), str):
            return WORDS[meaning](self.reader, *args, **named)
        if meaning is not None or limits.is_ours(inner):
            return self.reader.functions.inline(meaning or inner, args, named)
        if (text := limits.composed_text(inner)) is not None:
            _, args, named, give = narrow.taken(self.to, inner, args, named)
            return give(self._of_others(inner, path, text, args, named))
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
            self.reader.captures.guards[path] = f
        self.composing.append(f)
        try:
            return self.reader.functions.inline(text, args, kwargs)
        finally:
            self.composing.pop()

    def of_rule(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What a function gives that brings its derivatives; NotImplemented for others."""
        return NotImplemented

    def uses_up(self, f: Any) -> bool:
        inner = f.value if isinstance(f, Outside) else f
        return is_known(inner) or limits.written_of(inner) is not None

    def of_numbers(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if type(f).__hash__ is None:  # an object of the user's
            return NotImplemented
        if first_mixed([*args, *kwargs.values()]) is not None and is_of_numbers(f):
            return self.called_of_kinds(f, plain_of(f), [*args], kwargs)
        plain = narrow.numbers(self.to, plain_of(f), [number_in(x, f) for x in args])
        found = complexes.of_python(self.to, f, plain, kwargs)
        return of_numbers(self.to, f, plain, kwargs) if found is NotImplemented else found

    def called_of_kinds(self, f: Any, inner: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """What a function of numbers gives for numbers of several kinds."""
        if inner in OF_SEQUENCES:
            return OF_SEQUENCES[inner](self.reader, *args, **named)
        if is_math(inner):  # for which a float of NumPy's is one of Python's
            args = [x.real() if is_of_floats_only(x) else x for x in args]
        if len(args) == 1 and isinstance(args[0], Mixed) and not named:
            one = as_one_kind(self.to, inner, args[0])
            if one is not None:
                return self.call(f, [one], {})
        return self.flow.of_each_kind(functools.partial(self.call, f), args, named)

    def call_ruled(
        self, rule: ScalarRule, path: Path, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        given = [x.real() if isinstance(x, Mixed) else x for x in args]  # it is of floats
        made = super().call_ruled(rule, path, given, kwargs)
        f = rule.function
        if not (isinstance(f, np.ufunc) or getattr(np, rule.name, None) is f):
            return made
        if any(type_of(atom_of(x)) == "float32" for x in given):
            raise KernelError(
                f"{rule.name} of 32 bits is not compiled.", "its rule is of 64.", "pass float64."
            )
        return self.to.number(atom_of(made), False)  # also of Python's numbers
