"""Arguments as a program takes them, results as it leaves them.

A program takes numbers and rows of numbers: an array is its elements in order and its shape, a
container or an object its parts. What was taken apart is watched or plain; NumPy's functions, which
the tracer knows, do what is to be done here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from types import (
    BuiltinFunctionType,
    EllipsisType,
    FunctionType,
    MethodType,
    ModuleType,
    NoneType,
    NotImplementedType,
)
from typing import Any, NamedTuple

import numpy as np

from zyg.base.registry import own_verbs
from zyg.compiler.front.captures import Outside, code_of
from zyg.compiler.front.kinds import (
    DTYPES,
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
    way_taken,
)
from zyg.compiler.front.kinds import _taken_apart as taken_apart
from zyg.core.strand import is_watched, settle, strip

VALUE, GRADIENT, VALUE_AND_GRADIENT = "value", "gradient", "value_and_gradient"  # verbs
_DEEPEST = 20  # containers within containers
_MOST = 1000  # numbers in containers
_FLOAT = Scalar("float")
_REAL = {"float", "float32", "complex"}
_PYTHON: dict[str, type] = {"complex": complex}
_FUNCTIONS = (FunctionType, MethodType, functools.partial)
KNOWN = (
    str, bytes, Enum, type, NoneType, EllipsisType, NotImplementedType, BuiltinFunctionType,
    np.ufunc, ModuleType,
)  # fmt: skip


def name_of(f: Any) -> str:
    return str(getattr(f, "__name__", type(f).__name__))


class Argument(Outside):
    """A function among the arguments: its code is known, and what it holds is taken from outside.

    The path to it begins with its place among those; `Root` knows the way.
    """

    def __init__(self, function: Any, place: int) -> None:
        super().__init__(function, (("item", place),))
        self._key = code_of(function), place

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Argument) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


class Root:
    """Where paths begin: a function, with the functions among its arguments as its items."""

    def __init__(self, function: Any, arguments: list[Any]) -> None:
        self._function, self._arguments = function, arguments

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __getitem__(self, place: int) -> Any:
        return self._arguments[place]


class Taken:
    """Arguments taken apart: the operands of a program, and of which array each copy is."""

    __slots__ = ("arrays", "copies", "depth", "functions", "operands", "watched")

    def __init__(self) -> None:
        self.operands: list[Any] = []
        self.copies: list[tuple[int, np.ndarray]] = []  # place of the operand, array in its order
        self.arrays: dict[int, Any] = {}  # all arrays themselves, by the places of their operands
        self.functions: list[Any] = []
        self.watched = False
        self.depth = 0

    def take(self, x: Any) -> Kind:
        """The kind of an argument, whose operands come behind those of others."""
        t = type(x)
        if t is float:
            self.operands.append(x)
            return _FLOAT
        if t is np.ndarray:
            return self._array(x, kind_of(x))
        if is_watched(x):
            return self._watched(settle(x))
        if t in own_verbs:
            x = x.__wrapped__
        if isinstance(x, _FUNCTIONS):
            self.functions.append(x)
            return Static(Argument(x, len(self.functions) - 1))
        if isinstance(x, (int, complex, np.generic, *KNOWN)):
            kind = kind_of(x)
            if isinstance(kind, Scalar):
                self.operands += _numbers(x, kind)
            return kind
        return self._parts(x)

    def _array(self, x: Any, kind: Any) -> Kind:
        if x.flags.carray or (not kind.gaps and x.flags.aligned):
            flat = kind.row(x)
        else:
            ordered = x.transpose(kind.order)
            flat = np.array(ordered, order="C").reshape(-1)
            self.copies.append((len(self.operands), ordered))
        self.arrays[len(self.operands)] = x
        self.operands += (flat.view(np.float64) if kind.element == "complex" else flat, *x.shape)
        return kind  # type: ignore[no-any-return]

    def _watched(self, x: Any) -> Kind:
        if not is_watched(x):
            return self.take(x)
        self.watched = True
        kind = kind_of(strip(x))
        if isinstance(kind, Scalar):
            self.operands += (np.real(x), np.imag(x)) if kind.type == "complex" else (x,)
            return kind
        assert isinstance(kind, Array)
        self.arrays[len(self.operands)] = x
        if kind.element == "complex":
            flat = kind.row(x)
            flat = np.reshape(np.stack([np.real(flat), np.imag(flat)], axis=-1), -1)
        else:
            flat = kind.row(x)
        self.operands += (flat, *np.shape(x))
        return kind

    def _parts(self, x: Any) -> Kind:
        keys, parts = taken_apart(x)
        if self.depth == _DEEPEST or len(self.operands) + len(parts) > _MOST:
            raise Unkind(f"a {type(x).__name__} of too many parts")
        self.depth += 1
        kinds = tuple(map(self.take, parts))
        self.depth -= 1
        return Struct(type(x), keys, kinds)


def _numbers(x: Any, kind: Scalar) -> tuple[Any, ...]:
    if kind.type == "complex":
        return float(x.real), float(x.imag)
    if kind.type == "int" and kind.python and not -(2**63) <= x < 2**63:
        raise OverflowError
    return (x if kind.python or kind.type == "float32" else x.item(),)


def apart(entry: Callable[..., Any], several: Sequence[int]) -> Callable[..., Any]:
    """An entry that leaves it to the general way where an argument has an array twice.

    The arguments that may have are `several`.
    """
    if not several:
        return entry

    def checked(*args: Any) -> Any:
        for k in several:
            if k < len(args) and repeats(args[k]):
                return NotImplemented
        return entry(*args)

    return checked


def repeats(x: Any) -> bool:
    """Whether a container, of containers of arrays, has an array twice."""
    found: list[int] = []
    waiting = [x]
    while waiting:
        x = waiting.pop()
        if type(x) is np.ndarray:
            found.append(id(x))
        elif isinstance(x, (tuple, list)):
            waiting += x
    return len({*found}) < len(found)


def width(kind: Kind | Many) -> int:
    """How many operands there are of an argument of this kind."""
    if isinstance(kind, Scalar):
        return (2 if kind.type == "complex" else 1) + len(kind.ways)
    if isinstance(kind, Array):
        return kind.ndim + (not kind.zeros)
    if isinstance(kind, Many):
        return 1 + len([*numbers_in(kind.part)])
    return sum(map(width, kind.parts)) if isinstance(kind, Struct) else 0


def leaves(kind: Kind | Many, start: int) -> Iterator[tuple[int, Scalar | Array]]:
    """The numbers and arrays in an argument, with the place of the operands of each."""
    if isinstance(kind, (Scalar, Array)):
        yield start, kind
    elif isinstance(kind, Many):
        for k, number in enumerate(numbers_in(kind.part)):
            yield start + 1 + k, Array(number.type, 1)
    elif isinstance(kind, Struct):
        for part in kind.parts:
            yield from leaves(part, start)
            start += width(part)


def floats(kind: Kind, start: int) -> list[int]:
    """The places of the operands in an argument through which derivatives flow."""
    found: list[int] = []
    for place, leaf in leaves(kind, start):
        if isinstance(leaf, Array):
            found += [place] * (leaf.element in _REAL)
        elif leaf.type in _REAL:
            found += range(place, place + width(leaf))
    return found


# Results

Make = Callable[[Sequence[Any]], Any]


def maker(kind: Kind | Many, given: Container[int] = (), start: int = 0) -> Make:
    """How a result is made of the outputs of a program; at the places `given` arrays are made."""
    if isinstance(kind, Static):
        return lambda outs: kind.value
    if isinstance(kind, Scalar):
        return _scalar(kind, start)
    if isinstance(kind, Array) and start in given:
        return lambda outs: outs[start]
    if isinstance(kind, Array) and kind.zeros:
        shape = slice(start, start + kind.ndim)
        return lambda outs: np.zeros(outs[shape], DTYPES[kind.element])
    if isinstance(kind, Many):
        return _listed(kind, start)
    if isinstance(kind, Array):
        axes = slice(start + 1, start + 1 + kind.ndim)
        return _shaped(kind, start, axes)
    makes = []
    for part in kind.parts:
        makes.append(maker(part, given, start))
        start += width(part)
    return lambda outs: put_together(kind.type, kind.keys, [make(outs) for make in makes])


def _listed(kind: Many, start: int) -> Make:
    stop, make_one = start + width(kind), maker(kind.part)

    def make(outs: Sequence[Any]) -> list[Any]:
        columns = [x.tolist() if type(x) is np.ndarray else x for x in outs[start + 1 : stop]]
        return [make_one([column[k] for column in columns]) for k in range(outs[start])]

    return make


def _scalar(kind: Scalar, k: int) -> Make:
    if kind.ways:
        return _of_a_kind(kind, k)
    numpys: Any = DTYPES[kind.type].type
    if kind.type != "complex":
        return (lambda outs: outs[k]) if kind.python else lambda outs: _as(numpys, outs[k])

    def make(outs: Sequence[Any]) -> Any:
        re, im = outs[k], outs[k + 1]
        if is_watched(re) or is_watched(im):
            return re + 1j * im
        return complex(re, im) if kind.python else numpys(complex(re, im))

    return make


def _of_a_kind(kind: Scalar, k: int) -> Make:
    """A number of several kinds: one that is watched is real or complex."""
    plain = replace(kind, ways=())
    make, flags = _scalar(plain, k), slice(k + width(plain), k + width(kind))

    def of_a_kind(outs: Sequence[Any]) -> Any:
        way, x = way_taken(kind, outs[flags]), make(outs)
        if is_watched(x) and way.type in _REAL:
            return x.real if kind.type == "complex" and way.type != "complex" else x
        return way.of(strip(x))

    return of_a_kind


def _as(numpys: Any, x: Any) -> Any:
    return x if is_watched(x) else numpys(x)


def _shaped(kind: Array, k: int, axes: slice) -> Make:
    is_complex = kind.element == "complex"

    def make(outs: Sequence[Any]) -> Any:
        flat, shape = outs[k], outs[axes]
        size = math.prod(shape) * (2 if is_complex else 1)
        if np.size(flat) != size:
            flat = flat[:size]
        if is_complex:
            flat = flat.view(np.complex128) if type(flat) is np.ndarray else _joined(flat)
        made = kind.shaped(flat, shape)
        if kind.readonly:
            made = made[...]
            made.flags.writeable = False
        return made

    return make


def _joined(flat: Any) -> Any:
    return flat[0::2] + 1j * flat[1::2]


class Shared(NamedTuple):
    """A result that may be memory of an argument: its place, and where its layout is."""

    kind: Array
    first: int
    layout: int

    def array(
        self, outs: Sequence[Any], given: Sequence[tuple[Any, Any]], known: dict[Any, Any]
    ) -> Any:
        """It, in the memory of one of the `given` arrays, beside their elements, or its own.

        Of two that are one object the second is the first, which is `known`. None where an array
        has its elements in another order than the program, or it is not known which object it is.
        """
        n, dtype = self.kind.ndim, DTYPES[self.kind.element]
        shape = tuple(outs[self.first + 1 : self.first + 1 + n])
        row, identity, offset, *steps = outs[self.layout : self.layout + 3 + n]
        strides = tuple(step * dtype.itemsize for step in steps)
        alike = [x for flat, x in given if flat.ctypes.data == row.ctypes.data]
        if alike and identity == 0:
            return alike[0]
        key = row.ctypes.data, identity, offset, shape, strides, self.kind.readonly
        if not all(x.ctypes.data == row.ctypes.data and x.flags.aligned for x in alike) or (
            identity == -1 and key in known):  # fmt: skip
            return None  # of a copy; of views of a loop
        if key not in known:
            whole = next((x for x in alike if x.flags.c_contiguous), row)
            memory, start = whole, offset * dtype.itemsize
            inside = () if 0 in shape else (memory, start, strides)  # what is empty is nowhere
            known[key] = np.ndarray(shape, dtype, *inside)
            known[key].flags.writeable &= not self.kind.readonly
        return known[key]


def shared_in(arrays: Sequence[tuple[int, Array]], layout: int) -> Iterator[Shared]:
    """Those of the results that are shared, whose layouts are outputs from a place on."""
    for place, kind in arrays:
        if kind.shared:
            yield Shared(kind, place, layout)
            layout += 3 + kind.ndim


# Gradients

# Makes the gradient of an argument of a program's outputs and operands.
Gradient = Callable[[Sequence[Any], Sequence[Any]], Any]


def gradient_maker(kind: Kind, start: int, at: Mapping[int, int], zeros: bool) -> Gradient | None:
    """How the gradient of an argument is made; None where a `Structure` is needed for it.

    `at` says, by the place of an operand, which output its cotangent is.
    """
    if isinstance(kind, Scalar):
        return _number_gradient(kind, start, at, zeros)
    if isinstance(kind, Array):
        return _array_gradient(kind, start, at.get(start), zeros)
    if isinstance(kind, Static):
        return None if isinstance(kind.value, Argument) else lambda outs, operands: None
    if kind.type not in (tuple, list, dict) and not hasattr(kind.type, "_make"):
        return None
    makes = []
    for part in kind.parts:
        if (make := gradient_maker(part, start, at, zeros)) is None:
            return None
        makes.append(make)
        start += width(part)

    def make_parts(outs: Sequence[Any], operands: Sequence[Any]) -> Any:
        parts = [make(outs, operands) for make in makes]
        if all(part is None for part in parts):
            return None
        return put_together(kind.type, kind.keys, parts)

    return make_parts


def _number_gradient(kind: Scalar, start: int, at: Mapping[int, int], zeros: bool) -> Gradient:
    real = kind.type in _REAL
    of: Any = DTYPES[kind.type].type if real and not kind.python else _PYTHON.get(kind.type, float)
    nothing = of(0) if zeros and kind.type != "bool" else None
    k: Any = at.get(start)
    j = at.get(start + 1) if kind.type == "complex" else None
    if k is None and j is None:
        return lambda outs, operands: nothing
    if kind.type == "complex":
        return lambda outs, operands: of(
            complex(0.0 if k is None else outs[k], 0.0 if j is None else outs[j])
        )
    return (lambda outs, operands: outs[k]) if of is float else lambda outs, operands: of(outs[k])


def _array_gradient(kind: Array, start: int, k: int | None, zeros: bool) -> Gradient:
    axes, dtype = slice(start + 1, start + 1 + kind.ndim), DTYPES[kind.element]
    if k is None:
        if not zeros or kind.element == "bool":
            return lambda outs, operands: None
        dtype = dtype if kind.element in _REAL else DTYPES["float"]
        return lambda outs, operands: np.zeros(operands[axes], dtype)
    place: int = k
    if kind.element == "complex":
        return lambda outs, operands: kind.shaped(outs[place].view(np.complex128), operands[axes])
    if kind.ndim == 1:
        return lambda outs, operands: outs[place]
    return lambda outs, operands: kind.shaped(outs[place], operands[axes])
