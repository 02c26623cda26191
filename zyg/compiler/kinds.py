"""What is known of an argument or a result of a whole function before a call: its kind.

A program takes numbers and buffers alone: `compiling.operands` takes objects apart into those, and
`made_of` puts a result together.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from zyg.base.bags import Tangent
from zyg.base.registry import adjoint
from zyg.compiler.layouts import Order, Ranks, in_c, of_order, sorted_by


class _Kind:
    """Is equal to another of its class with the same in it; `dataclass` takes longer to say so."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((*vars(self).values(),))

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({said})"


@dataclass(eq=False, repr=False)
class Scalar(_Kind):
    """A number: Python's own, or one of NumPy's. Operands: the number; of complex ones, both parts.

    `type` is "float", "float32", "int", "bool", "complex", or one of the `NARROW`. A result may be
    of other kinds, too, its `ways`: a further operand for each says whether it is.
    """

    type: str
    python: bool = True
    ways: tuple[Scalar, ...] = ()

    @property
    def element(self) -> str:
        return self.type

    def of(self, x: Any) -> Any:
        """A plain number, as one of this kind."""
        if self.type != "complex" and isinstance(x, complex):
            x = x.real
        return _OF_PYTHON[self.type](x) if self.python else dtype_of(self.type).type(x)


@dataclass(eq=False, repr=False)
class Array(_Kind):
    """An array. Operands: its elements in order, one buffer, then its shape.

    `ones` are the axes that have one element, along which NumPy stretches it. `ranks` say in which
    order its axes lie in memory (see `layouts`), if that is not C's; its elements come in that
    order. One with `gaps` has other memory between its elements, or has them backwards. A result
    that is an argument itself says which: `same` is where its buffer is among the inputs. One of
    `zeros` has no elements among the operands, its shape alone. One that is `shared` may be memory
    of an argument or of another result; one that is `readonly` is to be that.
    """

    element: str
    ndim: int
    ones: tuple[int, ...] = ()
    same: int | None = None
    shared: bool = False
    zeros: bool = False
    readonly: bool = False
    ranks: Ranks = ()
    gaps: bool = False

    @property
    def order(self) -> Order:
        """The axes, from the outermost in memory to the innermost."""
        return sorted_by(self.ranks) if self.ranks else in_c(self.ndim)

    def row(self, x: Any) -> Any:
        """The elements of an array of this kind, or of a watched one: a view where that can be."""
        if self.ranks:
            x = np.transpose(x, self.order)
        return x if self.ndim == 1 else np.reshape(x, -1)

    def shaped(self, row: Any, shape: Sequence[int]) -> Any:
        """The array of a row of its elements."""
        if not self.ranks:
            return row if self.ndim == 1 else np.reshape(row, shape)
        back = sorted(range(self.ndim), key=self.order.__getitem__)
        return np.transpose(np.reshape(row, [shape[k] for k in self.order]), back)


@dataclass(eq=False, repr=False)
class Static(_Kind):
    """Something that is known: None, a string, a function. No operands."""

    value: Any


@dataclass(eq=False, repr=False)
class Struct(_Kind):
    """Something made of parts: a tuple, list, namedtuple, dict, dataclass or object.

    `keys` are the keys of a dict, or the names of the attributes of an object.
    """

    type: type
    keys: tuple[Any, ...]
    parts: tuple[Any, ...]


@dataclass(eq=False, repr=False)
class Many(_Kind):
    """A list, of a result: how many, and a buffer for each number of an element of this kind."""

    part: Any


Kind = Scalar | Array | Static | Struct

DTYPES: dict[str, np.dtype[Any]] = {
    "float": np.dtype(np.float64), "float32": np.dtype(np.float32), "int": np.dtype(np.int64),
    "bool": np.dtype(np.bool_), "complex": np.dtype(np.complex128),
}  # fmt: skip
# Ints of NumPy's that programs have as ints of 64 bits; of uint64 those that are less than 2^63.
NARROW: dict[str, np.dtype[Any]] = {
    name: np.dtype(name)
    for name in ("int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64")
}
_DTYPES = {**DTYPES, **NARROW}
ELEMENTS = {dtype: element for element, dtype in _DTYPES.items()}
dtype_of = _DTYPES.__getitem__  # that of an element
_OF_PYTHON: dict[str, Any] = {"float": float, "int": int, "bool": bool, "complex": complex}
_PYTHON: dict[type, str] = {float: "float", int: "int", bool: "bool", complex: "complex"}
_STATIC = (str, bytes, enum.Enum, type(None), type(Ellipsis), type(NotImplemented))


class Unkind(TypeError):  # noqa: N818 - an answer, which says why
    """Something of which no operands can be made."""


def kind_of(x: Any) -> Kind:
    """The kind of an object; Unkind where compiled functions do not take it."""
    if (name := _PYTHON.get(type(x))) is not None:
        return Scalar(name)
    if isinstance(x, np.ndarray):
        ones = tuple(k for k, n in enumerate(x.shape) if n == 1)
        if x.flags.c_contiguous:
            return Array(_element(x), x.ndim, ones)
        ranks = _ranks(x)
        gaps = not x.transpose(sorted_by(ranks)).flags.c_contiguous
        return Array(_element(x), x.ndim, ones, ranks=ranks, gaps=gaps)
    if isinstance(x, np.generic):
        return Scalar(_element(x), python=False)
    if isinstance(x, _STATIC) or callable(x):
        return Static(x)
    if isinstance(x, (int, float, complex)):  # whose operators may be its own
        raise Unkind(f"a {type(x).__name__}")
    keys, parts = taken_apart(x)
    return Struct(type(x), keys, tuple(map(kind_of, parts)))


def held_in(element: str) -> str:
    """The type of the numbers of a buffer that has elements of a type."""
    return "float" if element == "complex" else "int" if element in NARROW else element


def dense_array(element: str, order: Order, **more: Any) -> Array:
    """The kind of an array without gaps whose axes lie in an order."""
    return Array(element, len(order), ranks=of_order(order) * (order != in_c(len(order))), **more)


def lies_in(x: Any, order: Order) -> bool:
    """Whether the axes of an array are in an order, whatever lies between its elements."""
    if x.ndim < 2:
        return True
    steps = [abs(x.strides[k]) for k in order if x.shape[k] != 1]
    return x.size == 0 or steps == sorted(steps, reverse=True)


def _ranks(x: Any) -> Ranks:
    steps = [0 if n == 1 else abs(step) for n, step in zip(x.shape, x.strides, strict=True)]
    longer = sorted({0, *steps})
    return tuple(map(longer.index, steps))


def _element(x: Any) -> str:
    found = ELEMENTS.get(x.dtype) if type(x) in (np.ndarray, x.dtype.type) else None
    if found is None:
        raise Unkind(f"a {type(x).__name__} of {x.dtype}")
    return found


def is_plain_sequence(x: Any) -> bool:
    """Whether it is a tuple or list, or a namedtuple: those of other classes may have elements of
    their own making.
    """
    return type(x) in (tuple, list) or (isinstance(x, tuple) and hasattr(x, "_make"))


def taken_apart(x: Any) -> tuple[tuple[Any, ...], list[Any]]:
    if is_plain_sequence(x):
        return (), [*x]
    if isinstance(x, (tuple, list)):
        raise Unkind(f"a {type(x).__name__}")
    if type(x) is dict:
        if not all(type(key) in (str, int) for key in x):
            raise Unkind("a dict with other keys than strings and ints")
        return tuple(x), [*x.values()]
    if dataclasses.is_dataclass(x) or hasattr(x, "__dict__"):
        return tuple(vars(x)), [*vars(x).values()]
    raise Unkind(f"a {type(x).__name__}")


class Given(NamedTuple):
    """Among outputs, in the place of an array's elements: the array itself."""

    array: Any


def made_of(
    kind: Kind | Many, outputs: Iterator[Any], plain: Callable[[Any], Any] = lambda x: x
) -> Any:
    """A result, of the program's next outputs; `plain` takes the watching off those watched."""
    if isinstance(kind, Scalar):
        return _number_of(kind, outputs, plain)
    if isinstance(kind, Static):
        return kind.value
    if isinstance(kind, Array):
        flat = None if kind.zeros else next(outputs)
        return _array_of(kind, flat, [next(outputs) for _ in range(kind.ndim)], plain)
    if isinstance(kind, Many):
        count = next(outputs)
        columns = [x.tolist() if isinstance(x, np.ndarray) else x
                   for x in (next(outputs) for _ in numbers_in(kind.part))]  # fmt: skip
        return [made_of(kind.part, iter([c[k] for c in columns]), plain) for k in range(count)]
    parts = [made_of(part, outputs, plain) for part in kind.parts]
    return put_together(kind.type, kind.keys, parts)


@adjoint
def _complex_of(re: Any, im: Any) -> Any:
    """re + 1j * im, where no part makes NaN of another."""

    def complex_pullback(y_bar: Any) -> tuple[Any, ...]:
        return np.real(y_bar), np.imag(y_bar)

    if type(re) is type(im) is float:
        return complex(re, im), complex_pullback
    parts = np.stack([re, im], axis=-1)
    if type(parts) is not np.ndarray:  # watched by a level outside
        return _complex_of(re, im), complex_pullback
    return parts.astype(float).view(complex)[..., 0][()], complex_pullback


def _number_of(kind: Scalar, outputs: Iterator[Any], plain: Callable[[Any], Any]) -> Any:
    x = next(outputs)
    if kind.type == "complex":
        im = next(outputs)
        x = complex(x, im) if plain(x) is x and plain(im) is im else _complex_of(x, im)
    flags = [next(outputs) for _ in kind.ways]
    way = next((way for way, flag in zip(kind.ways, flags, strict=True) if flag), kind)
    if plain(x) is x or way.type in ("int", "bool", *NARROW):
        return way.of(plain(x))
    if way.type == "float32" and type(plain(x)) is float:
        return x * np.float32(1)
    return x.real if kind.type == "complex" and way.type != "complex" else x


def _array_of(kind: Array, flat: Any, shape: list[int], plain: Callable[[Any], Any]) -> Any:
    if kind.zeros:
        return np.zeros(shape, dtype_of(kind.element))
    if type(flat) is Given:
        return flat.array
    parts = 2 if kind.element == "complex" else 1
    if plain(flat) is flat:
        flat = np.asarray(flat, np.float64 if parts == 2 else dtype_of(kind.element))
    if np.size(flat) != (size := math.prod(shape) * parts):
        flat = flat[:size]
    if parts == 2:
        joined = type(flat) is not np.ndarray
        flat = _complex_of(flat[0::2], flat[1::2]) if joined else flat.view(np.complex128)
    made = kind.shaped(flat, shape)
    if kind.readonly:
        made = made[...]
        made.flags.writeable = False
    return made


def width(kind: Kind | Many) -> int:
    """How many operands there are of something of this kind."""
    if isinstance(kind, Scalar):
        return (2 if kind.type == "complex" else 1) + len(kind.ways)
    if isinstance(kind, Array):
        return kind.ndim + (not kind.zeros)
    if isinstance(kind, Many):
        return 1 + len([*numbers_in(kind.part)])
    return sum(map(width, kind.parts)) if isinstance(kind, Struct) else 0


def leaves(kind: Kind | Many, start: int = 0) -> Iterator[tuple[int, Scalar | Array]]:
    """The numbers and arrays in something of a kind, with the place of the operands of each."""
    if isinstance(kind, (Scalar, Array)):
        yield start, kind
    elif isinstance(kind, Many):
        for k, number in enumerate(numbers_in(kind.part)):
            yield start + 1 + k, Array(number.type, 1)
    elif isinstance(kind, Struct):
        for part in kind.parts:
            yield from leaves(part, start)
            start += width(part)


def numbers_in(kind: Kind | Many) -> Iterator[Scalar]:
    """The numbers of which something is made; Unkind where arrays or lists are in it."""
    if isinstance(kind, Scalar):
        yield kind
        yield from (Scalar("bool") for _ in kind.ways)
    elif isinstance(kind, Struct):
        for part in kind.parts:
            yield from numbers_in(part)
    elif not isinstance(kind, Static):
        raise Unkind("a list of arrays")


def put_together(type: Any, keys: Sequence[Any], parts: Sequence[Any]) -> Any:
    """An object of its parts, as `taken_apart` gives them; no code of its class runs."""
    if type is tuple:
        return tuple(parts)
    if issubclass(type, (tuple, list)):
        return type._make(parts) if hasattr(type, "_make") else type(parts)
    if type is dict:
        return dict(zip(keys, parts, strict=True))
    if type is Tangent:
        return Tangent(keys[0], **dict(zip(keys[1:], parts, strict=True)))
    made = object.__new__(type)
    for key, part in zip(keys, parts, strict=True):
        object.__setattr__(made, key, part)
    return made
