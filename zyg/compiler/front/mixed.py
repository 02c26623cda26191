"""Complex numbers, pairs of floats; and numbers of which the program knows of which kind they are.

A kind of numbers is a type and whose it is: Python's, or NumPy's. Where numbers of several kinds
meet, as the int 0 and a float at the end of a loop, both the number and its kind are kept: the
number in the widest of the types, and a flag for each kind but the last. Most operations need no
flag, as the product with a float; others are done for each kind by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np

from zyg.compiler.front.structures import Compound, Different, children
from zyg.compiler.ir import Atom, Value, is_buffer, is_number, type_of
from zyg.compiler.kinds import NARROW, dtype_of
from zyg.compiler.numbers import Number, atom_of

NumberKind = tuple[str, bool]  # its type, and whether it is Python's
_TYPES = ("bool", "int", "float32", "float", "complex")
EXACT = 53  # bits of an int that a float has


class ComplexNumber(Compound):
    """A complex number: `python` says whose it is, as of other numbers."""

    element, words = "complex", "a complex number"
    __slots__ = ("im", "python", "re", "to")

    def __init__(self, to: Any, re: Atom, im: Atom, python: bool) -> None:
        self.to, self.re, self.im, self.python = to, re, im, python

    def __bool__(self) -> bool:
        raise TypeError("the truth of a number is not known yet")

    # For joins

    def structure(self) -> Any:
        return "complex", self.python

    def parts(self) -> list[Any]:
        return [self.to.number(x, True) for x in (self.re, self.im)]

    def made(self, parts: Sequence[Any]) -> ComplexNumber:
        re, im = map(atom_of, parts)
        return ComplexNumber(self.to, re, im, self.python)


class NarrowNumber(Compound):
    """An int of NumPy's of a type with fewer bits, or without a sign: `element`."""

    python = False
    __slots__ = ("element", "int", "to")

    def __init__(self, to: Any, int: Atom, element: str) -> None:
        self.to, self.int, self.element = to, int, element

    __bool__ = ComplexNumber.__bool__

    @property
    def words(self) -> str:
        return f"a number of {self.element}"

    @property
    def stands_for(self) -> type:
        return dtype_of(self.element).type

    def structure(self) -> Any:
        return self.element

    def parts(self) -> list[Any]:
        return [self.to.number(self.int, True)]

    def made(self, parts: Sequence[Any]) -> NarrowNumber:
        return NarrowNumber(self.to, atom_of(parts[0]), self.element)


def number_of(to: Any, element: str, x: Atom) -> Any:
    """A number of NumPy's, of a type."""
    return NarrowNumber(to, x, element) if element in NARROW else to.number(x, False)


def is_narrow(x: Any) -> bool:
    """Whether these are ints of a type with fewer bits than 64, or without a sign."""
    return getattr(x, "element", "") in NARROW


class Mixed(Compound):
    """A number of one of several kinds: the one whose flag is true, the last if none is."""

    words = "a number"
    __slots__ = ("flags", "kinds", "number", "to")

    def __init__(
        self, to: Any, kinds: Sequence[NumberKind], number: Any, flags: Sequence[Any]
    ) -> None:
        self.to, self.kinds, self.number, self.flags = to, (*kinds,), number, [*flags]

    def __bool__(self) -> bool:
        raise TypeError("the truth of a number is not known yet")

    def structure(self) -> Any:
        return self.kinds, held_in(self.number)

    def parts(self) -> list[Any]:
        inside = self.number.parts() if isinstance(self.number, ComplexNumber) else [self.number]
        return [*inside, *self.flags]

    def made(self, parts: Sequence[Any]) -> Any:
        """The same of other parts; a number of one kind, if that is known."""
        count = len(parts) - len(self.flags)
        number = self.number.made(parts[:count]) if count > 1 else parts[0]
        return narrowed(Mixed(self.to, self.kinds, number, parts[count:]))

    def pairs(self) -> list[tuple[Any, NumberKind]]:
        """Flags and kinds; that of the last is True."""
        return list(zip([*self.flags, True], self.kinds, strict=True))

    def of_kind(self, kind: NumberKind) -> Any:
        """The number that it is, if it is of this kind."""
        to, (type, python) = self.to, kind
        if isinstance(self.number, ComplexNumber):
            re, im = self.number.re, self.number.im
            if type == "complex":
                return ComplexNumber(to, re, im, python)
            x = re
        else:
            x = atom_of(self.number)
        made = to.to(type, x)
        if type == "int" and isinstance(made, Value) and made is not x:
            to.bits[made] = EXACT + 1
        return to.number(made, python)

    def real(self) -> Any:
        """It as a number of one kind, for what is the same for all."""
        return self.of_kind(("float", True)) if held_in(self.number) == "complex" else (
            self.to.number(atom_of(self.number), True))  # fmt: skip


def held_in(number: Any) -> str:
    return "complex" if isinstance(number, (ComplexNumber, complex)) else type_of(atom_of(number))


def is_exact(to: Any, x: Any) -> bool:
    """Whether a float is the same as this number; ints may have more digits."""
    atom = atom_of(x)
    return type_of(atom) not in ("int", "bool") or to.bits_of(atom) <= EXACT


def is_scalar(x: Any) -> bool:
    """Whether a value is a number, of one kind or of several."""
    return isinstance(x, (Mixed, ComplexNumber, complex)) or is_number(x) or (
        isinstance(x, Number) and not is_buffer(type_of(x.atom)))  # fmt: skip


def kinds_of(x: Any) -> tuple[NumberKind, ...]:
    """Of which kinds a number may be."""
    return x.kinds if isinstance(x, Mixed) else ((held_in(x), getattr(x, "python", True)),)


def all_kinds(*xs: Any) -> tuple[NumberKind, ...]:
    """Of which kinds one of several numbers may be, in order."""
    found = {kind for x in xs for kind in kinds_of(x)}
    return tuple(sorted(found, key=lambda kind: (_TYPES.index(kind[0]), not kind[1])))


def became(x: Any, type: str, flags: Sequence[Atom]) -> bool:
    """Whether a number is one of NumPy's of this type, and not just as much as these flags say."""
    kinds = kinds_of(x) if is_scalar(x) else ()
    own = [atom_of(flag) for flag in x.flags] if isinstance(x, Mixed) else []
    return [k for k in kinds if not k[1]] == [(type, False)] and not any(f in flags for f in own)


def type_for(*xs: Any) -> str:
    """The type that holds each of some numbers, and what they may be."""
    types = {type for x in xs for type, _ in kinds_of(x)}
    if "float32" in types and all(map(_is_single, xs)):
        return "float32"
    if "float32" in types and types & {"bool", "int"} and "complex" not in types:
        return "float"
    return max(types, key=_TYPES.index)


def _is_single(x: Any) -> bool:
    """Whether a number has 32 bits, or has a place in those."""
    if isinstance(x, Mixed):
        return held_in(x.number) == "float32"
    known = held_in(x) != "complex" and not isinstance(atom_of(x), Value)
    return held_in(x) == "float32" or (known and _is_same_in(np.float32, atom_of(x)))


def _is_same_in(type: Any, x: Any) -> bool:
    with np.errstate(all="ignore"):
        return bool(type(x).item() == x)  # to NumPy, 0.1 is the number of 32 bits


def as_mixed(to: Any, x: Any, kinds: Sequence[NumberKind], held: str) -> Mixed:
    """A number as one of some kinds; stops where it has no place in the type that holds them."""
    if isinstance(x, Mixed):
        known = {kind: to.number(flag, True) for flag, kind in _paired(x)}
        return Mixed(
            to, kinds, _held(to, x.number, held), [known.get(k, False) for k in kinds[:-1]]
        )
    (own,) = kinds_of(x)
    return Mixed(to, kinds, _held(to, x, held), [kind == own for kind in kinds[:-1]])


def _held(to: Any, x: Any, held: str) -> Any:
    """A number in a type that has a place for it."""
    if held == "complex":
        if held_in(x) == "complex":
            return ComplexNumber(to, x.re, x.im, False)
        return ComplexNumber(to, atom_of(_held(to, x, "float")), 0.0, False)
    atom = atom_of(x)
    if type_of(atom) == "int" and held == "float" and not is_exact(to, x):
        if not isinstance(atom, Value):
            raise Different
        most = 2**EXACT
        to.check(to.op("logical_and", to.op("less_equal", atom, most),
                       to.op("greater_equal", atom, -most)), "an int beyond 53 bits")  # fmt: skip
    return to.number(to.to(held, atom), True)


def narrowed(x: Mixed) -> Any:
    """A number of one kind, if that is known."""
    known = [flag if isinstance(flag, Number) else bool(flag) for flag in x.flags]
    sure = [kind for flag, kind in zip(known, x.kinds, strict=False) if flag is True]
    if sure:
        return x.of_kind(sure[0])
    left = [k for k, flag in enumerate(known) if flag is not False]
    if len(left) == len(known):
        return x
    if not left:
        return x.of_kind(x.kinds[-1])
    return Mixed(x.to, [*(x.kinds[k] for k in left), x.kinds[-1]], x.number,
                 [x.flags[k] for k in left])  # fmt: skip


def one_of_two(to: Any, condition: Atom, x: Any, y: Any) -> Any:
    """The first of two numbers where a condition is true, else the second, as it is."""
    kinds = all_kinds(x, y)
    if len(kinds) > 1:
        held = type_for(x, y)
        x, y = (as_mixed(to, v, kinds, held) for v in (x, y))
    elif not isinstance(x, ComplexNumber):
        return to.number(to.op("select", condition, atom_of(x), atom_of(y)), kinds[0][1])
    pairs = zip(x.parts(), y.parts(), strict=True)
    return x.made([to.number(to.op("select", condition, atom_of(a), atom_of(b)), True)
                   for a, b in pairs])  # fmt: skip


def by_kinds(
    to: Any, operands: Sequence[Any], kind_for: Callable[[Sequence[NumberKind]], NumberKind],
    number: Any,
) -> Any:  # fmt: skip
    """A number that was computed of others: its kind follows from theirs."""
    found: dict[NumberKind, Atom] = {}
    for row in product(*(_paired(x) for x in operands)):
        kind = kind_for([k for _, k in row])
        flag: Atom = True
        for condition, _ in row:
            flag = to.op("logical_and", flag, condition)
        found[kind] = to.op("logical_or", found[kind], flag) if kind in found else flag
    kinds = sorted(found, key=lambda kind: (_TYPES.index(kind[0]), not kind[1]))
    flags = [to.number(found[kind], True) for kind in kinds[:-1]]
    if len(kinds) == 1:
        return Mixed(to, kinds, number, []).of_kind(kinds[0])
    return narrowed(Mixed(to, kinds, number, flags))


def _paired(x: Any) -> list[tuple[Atom, NumberKind]]:
    """Kinds of a number, with atoms of which one is true."""
    if not isinstance(x, Mixed):
        return [(True, kinds_of(x)[0])]
    to, pairs = x.to, [(atom_of(flag), kind) for flag, kind in x.pairs()]
    rest: Atom = True
    for flag, _ in pairs[:-1]:
        rest = to.op("logical_and", rest, to.op("logical_not", flag))
    return [*pairs[:-1], (rest, x.kinds[-1])]


def first_mixed(values: Iterable[Any]) -> Mixed | None:
    """The first number of several kinds among values, and in tuples and lists of them."""
    for x in values:
        if isinstance(x, Mixed):
            return x
        if isinstance(x, (tuple, list)) and (found := first_mixed(x)) is not None:
            return found
    return None


def replaced(x: Any, old: Any, new: Any) -> Any:
    """A value, in which something is another, in tuples and lists too."""
    if x is old:
        return new
    if isinstance(x, (tuple, list)) and first_mixed(x) is not None:
        _, parts, make = children(x)  # type: ignore[misc]
        return make([replaced(part, old, new) for part in parts])
    return x
