"""Operations on numbers of several kinds: once where they are the same for all, else for each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from zyg.base.registry import ScalarRule
from zyg.compiler.builder import row_of
from zyg.compiler.front import complexes
from zyg.compiler.front.builtin import OF_SEQUENCES
from zyg.compiler.front.captures import Path
from zyg.compiler.front.mixed import (
    ComplexNumber,
    Mixed,
    NumberKind,
    by_kinds,
    first_mixed,
    held_in,
    is_exact,
    is_scalar,
    kinds_of,
    replaced,
)
from zyg.compiler.front.numerals import WRITTEN, is_math
from zyg.compiler.front.reader import Reader
from zyg.compiler.front.scalars import WholeBuilder, promoted, takes_ints, whose
from zyg.compiler.front.structures import is_leaf
from zyg.compiler.front.views import Arrayed
from zyg.compiler.functions import meaning
from zyg.compiler.ir import Atom, is_number, type_of
from zyg.compiler.kinds import Scalar
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError
from zyg.functions.operations import BY_OPERATOR, COMPARISON


class Meaning(NamedTuple):
    """What an operator is for numbers of some kinds: what it computes in, and makes."""

    type: str
    made: NumberKind


class _Kind(NamedTuple):
    element: str
    python: bool


def _meaning(to: WholeBuilder, name: str, row: Sequence[NumberKind]) -> Meaning | None:
    kinds = [_Kind(*kind) for kind in row]
    python = whose(*kinds)
    types = {kind.element for kind in kinds}
    try:
        if "complex" in types:
            python = complexes.whose(*kinds)
            return Meaning("complex", (complexes.element_made(name), python))
        if python:
            found = to.type_in_python(name, types)
            return Meaning(found, ("bool" if row_of(name).types == COMPARISON else found, True))
        met, made = promoted(*kinds), to.made_by(name, *kinds)
    except TypeError:
        return None
    if met == "bool":
        return Meaning("bool of NumPy", (made, False))
    return Meaning("float" if met == "int" and not takes_ints(name) else met, (made, False))


def operated(to: WholeBuilder, name: str, *operands: Any) -> Any:
    """What an operator gives for numbers; NotImplemented where that needs a look at their kinds."""
    rows = {row: _meaning(to, name, row) for row in product(*map(kinds_of, operands))}
    found = [x for x in rows.values() if x is not None]
    types = {x.type for x in found}
    exact = types == {"int", "float"} and (
        row_of(name).types == COMPARISON or name in ("add", "subtract")
    )
    inverse = name == "power" and is_number(operands[1]) and operands[1] < 0 and types == {"int"}
    if len(found) < len(rows) or (len(types) > 1 and not exact) or inverse:
        return NotImplemented
    if exact and not all(isinstance(x, Mixed) or is_exact(to, x) for x in operands):
        return NotImplemented
    whole = [x.number for x in operands if isinstance(x, Mixed) and held_in(x.number) == "int"]
    if "float" in types and not all(is_exact(to, x) for x in whole):
        return NotImplemented
    type, python = ("float" if exact else types.pop()), any(x.made[1] for x in found)
    given = [_given(to, x, type, python) if exact or isinstance(x, Mixed) else x for x in operands]
    if type == "complex":
        made = complexes.operated(to, name, *given, python=python)
    else:
        made = to.operate(name, *given) if python else to.ufunc(name, *given)
    y = by_kinds(to, operands, lambda row: rows[(*row,)].made, made)  # type: ignore[union-attr]
    if exact and isinstance(y, Mixed):
        most = to.op("less", to.op("absolute", atom_of(made)), 2.0**53)
        for flag, kind in y.pairs():
            if kind[0] == "int":
                no = to.op("logical_not", atom_of(flag))
                to.check(to.op("logical_or", no, most), "an int beyond 53 bits")
    return y


def _given(to: WholeBuilder, x: Any, type: str, python: bool) -> Any:
    """A number, in the type in which an operation computes."""
    number = x.number if isinstance(x, Mixed) else x
    if isinstance(number, ComplexNumber):
        return ComplexNumber(to, number.re, number.im, python)
    if type == "complex":
        return ComplexNumber(to, to.to("float", atom_of(number)), 0.0, python)
    atom = atom_of(number)
    return to.number(atom if type == "bool of NumPy" else to.to(type, atom), python)


def with_arrays(to: WholeBuilder, operands: Sequence[Any]) -> Sequence[Any] | None:
    """Operands among which are arrays, each number of one kind; None where the kind matters."""
    rows = product(*(kinds_of(x) if isinstance(x, Mixed) else [x] for x in operands))
    types = {promoted(*(_Kind(*x) if type(x) is tuple else x for x in row)) for row in rows}
    for python in (True, False):
        given = [_alone(x, python) if isinstance(x, Mixed) else x for x in operands]
        if {promoted(*given)} == types:
            return given
    return None


def _alone(x: Mixed, python: bool) -> Any:
    if isinstance(x.number, ComplexNumber):
        return ComplexNumber(x.to, x.number.re, x.number.im, python)
    return x.to.number(atom_of(x.number), python)


def is_of_numbers(f: Any) -> bool:
    """Whether a function is one of numbers."""
    return f in WRITTEN or complexes.is_of_complex(f) or meaning(f) is not None


def as_one_kind(to: WholeBuilder, f: Any, x: Mixed) -> Any:
    """The number of one kind that a function of one number takes, which is the same for all."""
    if held_in(x.number) == "complex":
        return None
    types = {type for type, _ in x.kinds}
    if f in (float, bool) or (is_math(f) and _is_of_floats(f)):
        return x.real()
    name = meaning(f)
    if isinstance(name, str) and not takes_ints(name) and types <= {"int", "float"}:
        return to.number(to.to("float", atom_of(x.number)), False)
    return None


def _is_of_floats(f: Any) -> bool:
    """Whether a function of math's computes with a float, and gives one."""
    name = meaning(f)
    return isinstance(name, str) and f.__name__ not in ("floor", "ceil", "trunc")


def _is_of_floats_only(x: Any) -> bool:
    return isinstance(x, Mixed) and {type for type, _ in x.kinds} == {"float"}


class OfKinds(Reader):
    """Of whole functions: what is done for each of the kinds of which a number may be."""

    builder: WholeBuilder

    def over(self, x: Any, run: Callable[[Any], Any]) -> Any:
        return self._of_each_kind(x.pairs(), x, run) if isinstance(x, Mixed) else super().over(
            x, run)  # fmt: skip

    def _of_each_kind(self, pairs: list[Any], x: Mixed, run: Callable[[Any], Any]) -> Any:
        (flag, kind), *rest = pairs
        if not rest:
            return run(x.of_kind(kind))
        return self.choose(flag, lambda: run(x.of_kind(kind)),
                           lambda: self._of_each_kind(rest, x, run))  # fmt: skip

    def over_kinds(self, values: Sequence[Any], run: Callable[[Sequence[Any]], Any]) -> Any:
        """What `run` gives for values among which no number may be of several kinds."""
        x = first_mixed(values)
        if x is None:
            return run(values)
        return self.over(x, lambda one: self.over_kinds(
            [replaced(value, x, one) for value in values], run))  # fmt: skip

    def of_each_kind(
        self, run: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        """What `run` gives for arguments of which none is of several kinds."""
        n = len(args)
        return self.over_kinds([*args, *kwargs.values()], lambda given: run(
            given[:n], dict(zip(kwargs, given[n:], strict=True))))  # fmt: skip

    def as_condition(self, x: Any) -> Any:
        return super().as_condition(self._truth_of(x))

    def truth(self, test: Any) -> Any:
        return super().truth(self._truth_of(test))

    def inverse(self, x: Any) -> Any:
        return super().inverse(self._truth_of(x))

    def as_bool(self, x: Any) -> Any:
        return super().as_bool(self._truth_of(x))

    def _truth_of(self, x: Any) -> Any:
        """What decides in the place of a number of several kinds, or a complex one."""
        if isinstance(x, Mixed):
            x = x.number
        if isinstance(x, ComplexNumber):
            return self.builder.number(complexes.truth(self.builder, x), True)
        return x

    def number_given(self, x: Any, found: list[Atom]) -> Scalar:
        """The kind of a number that is a result; its operands are appended to `found`."""
        if isinstance(x, (complex, ComplexNumber)):
            found += complexes.pair_of(self.builder, x)
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

    def attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, Mixed):
            return self.over(owner, lambda one: self.attribute(one, name))
        return super().attribute(owner, name)

    def item(self, owner: Any, index: Any) -> Any:
        if isinstance(index, Mixed):
            return self.over(index, lambda one: self.item(owner, one))
        if isinstance(index, Number) and type_of(index.atom) == "bool" and not whose(index):
            raise TypeError("a bool of NumPy's as an index")
        return super().item(owner, index)

    def of_kinds(self, operator: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """What an operator gives for numbers of several kinds."""
        name, to = BY_OPERATOR.get(operator), self.builder
        if name and all(map(is_scalar, operands)):
            found = operated(to, name, *operands)
            if found is not NotImplemented:
                return found
        elif name and all(isinstance(x, Arrayed) or is_scalar(x) for x in operands):
            given = with_arrays(to, operands)
            if given is not None:
                return self.operated(operator, *given)
        return self.over_kinds(operands, lambda given: self.operated(operator, *given))

    def called_of_kinds(self, f: Any, inner: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """What a function of numbers gives for numbers of several kinds."""
        if inner in OF_SEQUENCES:
            return OF_SEQUENCES[inner](self, *args, **named)
        if is_math(inner):  # for which a float of NumPy's is one of Python's
            args = [x.real() if _is_of_floats_only(x) else x for x in args]
        if len(args) == 1 and isinstance(args[0], Mixed) and not named:
            one = as_one_kind(self.builder, inner, args[0])
            if one is not None:
                return self.call(f, [one], {})
        return self.of_each_kind(functools.partial(self.call, f), args, named)

    def is_same(self, a: Any, b: Any) -> Any:
        for one, other in ((a, b), (b, a)):
            is_one = isinstance(other, Mixed) or is_leaf(other)
            if isinstance(one, Mixed) and one is not other and is_one:
                return self.over(one, functools.partial(self.is_same, other))
        return super().is_same(a, b)

    def _call_ruled(
        self, rule: ScalarRule, path: Path, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        given = [x.real() if isinstance(x, Mixed) else x for x in args]  # it is of floats
        made = super()._call_ruled(rule, path, given, kwargs)
        f = rule.function
        if not (isinstance(f, np.ufunc) or getattr(np, rule.name, None) is f):
            return made
        if any(type_of(atom_of(x)) == "float32" for x in given):
            raise KernelError(
                f"{rule.name} of 32 bits is not compiled.",
                "its rule is of 64.",
                "pass float64.",
            )
        return self.builder.number(atom_of(made), False)  # also of Python's numbers
