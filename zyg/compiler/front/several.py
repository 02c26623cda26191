"""Operations on numbers of several kinds: once where they are the same for all, else for each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

from zyg.compiler.builder import row_of
from zyg.compiler.front import complexes
from zyg.compiler.front.mixed import (
    ComplexNumber,
    Mixed,
    NumberKind,
    by_kinds,
    held_in,
    is_exact,
    kinds_of,
)
from zyg.compiler.front.numerals import WRITTEN, is_math
from zyg.compiler.front.scalars import WholeBuilder, promoted, takes_ints, whose
from zyg.compiler.functions import meaning
from zyg.compiler.ir import is_number
from zyg.compiler.numbers import atom_of
from zyg.functions.operations import COMPARISON


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
    name = meaning(f)
    of_math = is_math(f) and isinstance(name, str)
    if f in (float, bool) or (of_math and f.__name__ not in ("floor", "ceil", "trunc")):
        return x.real()
    if isinstance(name, str) and not takes_ints(name) and types <= {"int", "float"}:
        return to.number(to.to("float", atom_of(x.number)), False)
    return None


def is_of_floats_only(x: Any) -> bool:
    return isinstance(x, Mixed) and {type for type, _ in x.kinds} == {"float"}
