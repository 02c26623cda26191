"""Arguments as a program takes them, results as it leaves them.

A program takes numbers and rows of numbers: an array is its elements in order and its shape, a
container or an object its parts. What was taken apart is watched or plain; NumPy's functions, which
the tracer knows, do what is to be done here.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
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

from zyg.base.bags import Tangent
from zyg.base.containers import has_fields
from zyg.base.registry import own_verbs
from zyg.compiler.draws import Source, drawn_of, token_for
from zyg.compiler.front.captures import Outside, code_of
from zyg.compiler.kinds import (
    DTYPES,
    NARROW,
    Array,
    Kind,
    Scalar,
    Static,
    Struct,
    Unkind,
    kind_of,
    leaves,
    taken_apart,
    width,
)
from zyg.core.strand import is_watched, settle, strip
from zyg.core.views import is_spread

VALUE, GRADIENT, VALUE_AND_GRADIENT = "value", "gradient", "value_and_gradient"  # verbs
_DEEPEST = 20  # containers within containers
_MOST = 1000  # numbers in containers
_FLOAT = Scalar("float")
NOTHING = Static(None)
SOURCE = Struct(Source, ("token", "count"), (Scalar("int"), Static(0)))  # of a generator
_REAL = {"float", "float32", "complex"}
_FUNCTIONS = (FunctionType, MethodType, functools.partial)
KNOWN = (
    str, bytes, Enum, type, NoneType, EllipsisType, NotImplementedType, BuiltinFunctionType,
    np.ufunc, ModuleType,
)  # fmt: skip
_WHOLE = (int, float, complex, np.generic, *_FUNCTIONS, *KNOWN)


def by_position(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same call by positions alone, if it can be one; else as it is."""
    if type(f) is not FunctionType or f.__code__.co_posonlyargcount > len(args):
        return args, kwargs
    count, left = f.__code__.co_argcount, {**kwargs}
    row, defaults = [*args], f.__defaults__ or ()
    for k in range(len(args), count):
        name, place = f.__code__.co_varnames[k], k - count
        if not left or (name not in left and -place > len(defaults)):
            break
        row.append(left.pop(name) if name in left else defaults[place])
    return (args, kwargs) if left else (tuple(row), {})


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

    __slots__ = ("arrays", "containers", "copies", "depth", "functions", "operands", "watched")

    def __init__(self) -> None:
        self.operands: list[Any] = []
        self.copies: list[tuple[int, np.ndarray]] = []  # place of the operand, array in its order
        self.arrays: dict[int, Any] = {}  # all arrays themselves, by the places of their operands
        self.functions: list[Any] = []
        self.watched = False
        self.depth = 0
        self.containers: list[Any] = []  # those that can be told apart

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
        if (random := sys.modules.get("numpy.random")) and issubclass(t, random.Generator):
            return self._generator(x)
        if t in own_verbs:
            x = x.__wrapped__
        if isinstance(x, _FUNCTIONS):
            self.functions.append(x)
            return Static(Argument(x, len(self.functions) - 1))
        if isinstance(x, (int, float, complex, np.generic, *KNOWN)):
            kind = kind_of(x)
            if isinstance(kind, Scalar):
                self.operands += _numbers(x, kind)
            return kind
        return self._parts(x)

    def repeats(self) -> bool:
        """Whether an array or a container is met twice: then both places report what belongs to
        either.
        """
        found = [*map(id, self.arrays.values()), *map(id, self.containers)]
        return len({*found}) < len(found)

    def _array(self, x: Any, kind: Any) -> Kind:
        if kind.element in NARROW:
            flat = _widened(kind, x)
            self.copies.append((len(self.operands), x))
        elif x.flags.carray or (not kind.gaps and x.flags.aligned):
            flat = kind.row(x)
        else:
            ordered = x.transpose(kind.order)
            flat = np.array(ordered, order="C").reshape(-1)
            self.copies.append((len(self.operands), ordered))
        self.arrays[len(self.operands)] = x
        self.operands += (flat.view(np.float64) if kind.element == "complex" else flat, *x.shape)
        return kind  # type: ignore[no-any-return]

    def _generator(self, x: Any) -> Kind:
        if type(x) is not np.random.Generator:
            raise Unkind("a generator whose draws move with watched parameters")
        if any(drawn.generator is x for drawn in drawn_of(self.operands)):
            raise Unkind("a Generator twice")
        self.operands.append(token_for(x))
        return SOURCE

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
            flat = _widened(kind, x) if kind.element in NARROW else kind.row(x)
        self.operands += (flat, *np.shape(x))
        return kind

    def _parts(self, x: Any) -> Kind:
        keys, parts = taken_apart(x)
        self.containers += () if isinstance(x, tuple) else (x,)
        if self.depth == _DEEPEST or len(self.operands) + len(parts) > _MOST:
            raise Unkind(f"a {type(x).__name__} of too many parts")
        self.depth += 1
        kinds = tuple(map(self.take, parts))
        self.depth -= 1
        return Struct(type(x), keys, kinds)


class Call(Taken):
    """One call: its arguments taken apart, and what is `known` for their kinds."""

    known: Any  # Specialization
    kinds: tuple[Kind, ...]

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__()
        self.args, self.kwargs = args, kwargs
        self.kinds = tuple(map(self.take, args))
        self.keywords = {name: self.take(x) for name, x in kwargs.items()}

    def overlapping(self) -> bool:
        """Whether an array that is written to shares memory with another one, or with itself."""
        operands = self.operands
        arrays = [k for k, x in enumerate(operands) if type(x) is np.ndarray]
        original = dict(self.copies)
        return any(
            not is_spread(original[k])
            if j == k
            else np.may_share_memory(original.get(k, operands[k]), original.get(j, operands[j]))
            for k in self.known.written
            for j in arrays
            if j != k or k in original
        )

    def read_only(self) -> bool:
        """Whether an array that is written to may not be."""
        original = dict(self.copies)
        arrays = [original.get(k, self.operands[k]) for k in self.known.written]
        return not all(x.flags.writeable for x in arrays)


def _widened(kind: Array, x: Any) -> Any:
    """The elements of an array of `NARROW` ints, of 64 bits."""
    if kind.element == "uint64" and np.any(strip(x) >= 2**63):
        raise OverflowError
    return kind.row(x).astype(np.int64)


def _numbers(x: Any, kind: Scalar) -> tuple[Any, ...]:
    if kind.type == "complex":
        return float(x.real), float(x.imag)
    if kind.type in ("int", "uint64") and not -(2**63) <= x < 2**63:
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
    """Whether a container has an array or a container twice."""
    found: set[int] = set()
    waiting = [x]
    while waiting:
        x = waiting.pop()
        if isinstance(x, _WHOLE) or type(x) in own_verbs:
            continue
        if not isinstance(x, tuple):
            if id(x) in found:
                return True
            found.add(id(x))
        with suppress(Unkind):
            waiting += () if type(x) is np.ndarray else taken_apart(x)[1]
    return False


def floats(kind: Kind, start: int) -> list[int]:
    """The places of the operands in an argument through which derivatives flow."""
    found = [(k, x) for k, x in leaves(kind, start) if x.element in _REAL]
    return [k + j for k, x in found for j in range(1 if isinstance(x, Array) else width(x))]


def sources(kind: Kind, start: int) -> Iterator[int]:
    """The places of the operands for generators."""
    if kind == SOURCE:
        yield start
    for part in kind.parts if isinstance(kind, Struct) else ():
        yield from sources(part, start)
        start += width(part)


# Results


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


# Other kinds


class Unlike(NotImplementedError):  # noqa: N818 - an answer
    """A kind of which programs make no derivatives: the tracer does."""


def tree(kind: Kind, start: int, leaf: Callable[[int, Any], Kind]) -> Kind:
    """A kind like another, of what a function makes of its numbers and arrays, by place."""
    if isinstance(kind, Static):
        if isinstance(kind.value, Outside):
            raise Unlike
        return NOTHING
    if kind == SOURCE:
        return NOTHING
    if not isinstance(kind, Struct):
        return leaf(start, kind)
    type, keys, parts = kind.type, kind.keys, list[Kind]()
    if type not in (tuple, list, dict) and not hasattr(type, "_make"):
        if not has_fields(type):
            raise Unlike
        type, keys = Tangent, (type.__name__, *keys)
    for part in kind.parts:
        parts.append(tree(part, start, leaf))
        start += width(part)
    return Struct(type, keys, tuple(parts))
