"""What a message holds: numbers and arrays that are watched, among anything else.

Before a message is pickled each watched value in it becomes a `Carried`, which the receiver
watches. Its cotangents travel as one vector, whose `Layout` both sides know. In forward mode it
becomes a `Moving`, whose tangents go with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.base.structure import Structure
from zyg.core.cotangents import project, spec_of
from zyg.core.entries import Kind, kinds, note
from zyg.core.exchange import bring
from zyg.core.strand import Strand, is_watched, settle, strip
from zyg.core.tangents import tangents_of
from zyg.errors import ConversionError
from zyg.ranks.failures import refused


class Carried:
    """The plain value of a watched one, on its way to another process."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> Any:
        x = self.value
        if type(x) is np.ndarray and x.nbytes <= _SMALL and x.dtype.isnative:
            # In a third of the time of its pickle.
            return _unpacked, (x.tobytes(), x.dtype.char, x.shape)
        return Carried, (x,)


class Moving(Carried):
    """The plain value of a watched one, and its tangents, in forward mode."""

    __slots__ = ("tangents",)

    def __init__(self, value: Any, tangents: Any) -> None:
        self.value, self.tangents = value, tangents

    def __reduce__(self) -> Any:
        return Moving, (self.value, self.tangents)

    def watched(self, strand: Strand) -> Any:
        """The value, watched, with its tangents."""
        return note(strand, self.value, _moving_pullback, self.tangents)


def _moving_pullback(run: Any, y_bar: Any, tangents: Any) -> Any:
    raise NotImplementedError


kinds[_moving_pullback] = Kind(lambda _: [], lambda tangents: tangents, lambda _: "recv")
_SMALL = 4096  # bytes


def _unpacked(contents: bytes, char: str, shape: tuple[int, ...]) -> Carried:
    """A small array of the machine's own byte order."""
    return Carried(np.frombuffer(contents, char).reshape(shape).copy())


class Parcel:
    """A message with watched values in containers."""

    __slots__ = ("root",)

    def __init__(self, root: Any) -> None:
        self.root = root

    def __reduce__(self) -> Any:
        return Parcel, (self.root,)


def stow(strand: Strand, x: Any) -> tuple[Any, list[Any]]:
    """A message as it is pickled, and the watched values in it."""
    if type(x) is float or (type(x) is np.ndarray and not x.dtype.hasobject):
        return x, []
    if is_watched(x):
        own = owned(strand, x)
        return (_marked(own), [own]) if is_watched(own) else (strip(x), [])
    inside = Structure(x, is_watched, shared=True)
    if not inside.leaves:
        return x, []
    own = [owned(strand, leaf) for leaf in inside.leaves]
    marked = [_marked(leaf) if is_watched(leaf) else leaf for leaf in own]
    return Parcel(inside.rebuild(marked)), [leaf for leaf in own if is_watched(leaf)]


def _marked(own: Any) -> Carried:
    """A watched value as it is pickled."""
    return Moving(sent(own), motion(own)) if own.strand.moves else Carried(sent(own))


def operand(x: Any) -> Any:
    """A value as an operand of a call elsewhere: in forward mode with its tangents."""
    return _marked(x) if is_watched(x) and x.strand.moves else sent(x)


def motion(own: Any) -> Any:
    """The tangents of a value of forward mode, as they are sent."""
    tangents = tangents_of(own.slot)
    return None if tangents is None else [*tangents]


def owned(strand: Strand, x: Any) -> Any:
    """A value as one of this strand's; a constant, if nothing watches it any more."""
    if is_watched(x) and x.strand is strand:
        return x
    x = settle(x)
    if not is_watched(x):
        return x
    if x.strand.level != strand.level:
        raise refused(
            "a send of a value of another gradient",
            "the other rank takes part in the gradient over ranks only.",
            "return the value from the inner gradient, and send what that returned.",
        )
    return bring(strand, x)


def sent(x: Any) -> Any:
    """The plain number or array that is sent of a watched one."""
    plain = strip(x)
    if type(plain) is np.ndarray or isinstance(plain, (float, complex, int, np.number)):
        return plain
    raise ConversionError(
        f"a watched {type(plain).__name__} cannot be sent to another process.",
        "the cotangents of numbers and of NumPy's arrays can be sent back, and no others.",
        "send a float or an array of NumPy's.",
        tag="pickle",
    )


def opened(got: Any) -> tuple[list[Any], Any]:
    """The values in a message that are to be watched, and how to put them there.

    In forward mode they come with their tangents, as they are sent.
    """
    if type(got) is Carried:
        return [got.value], _first
    if type(got) is Moving:
        return [got], _first
    if type(got) is not Parcel:
        return [], None
    inside = Structure(got.root, lambda x: isinstance(x, Carried), shared=True)
    return [x.value if type(x) is Carried else x for x in inside.leaves], inside.rebuild


def _first(leaves: list[Any]) -> Any:
    return leaves[0]


class Layout:
    """How cotangents of certain values are one vector."""

    __slots__ = ("dtype", "is_alone", "shape", "shapes", "size", "sizes", "specs")

    def __init__(self, values: Sequence[Any]) -> None:
        self.specs = [spec_of(x) for x in values]
        parts = [_wire(spec) for spec in self.specs]
        self.shapes = [shape for shape, _ in parts]
        self.sizes = [math.prod(shape) for shape in self.shapes]
        self.size = sum(self.sizes)
        self.dtype = np.result_type(*[dtype for _, dtype in parts]) if parts else _FLOAT
        self.is_alone = len(parts) == 1 and type(self.specs[0]) is tuple  # an array
        self.shape = self.shapes[0] if self.is_alone else (self.size,)  # of the vector in memory

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def taken(self, bars: list[Any], slots: Sequence[Any]) -> Any:
        """The vector of the cotangents of slots, which are kept no longer.

        Zeros for what has none; None if none has any.
        """
        if len(slots) == 1:
            (slot,) = slots
            c, bars[slot] = bars[slot], None
            if c is None or (
                type(c) is np.ndarray and c.dtype is self.dtype and c.flags.c_contiguous
            ):
                return c
            return np.ascontiguousarray(c, self.dtype)
        cotangents = taken(bars, slots)
        if all(c is None for c in cotangents):
            return None
        whole = np.zeros(self.size, self.dtype)
        at = 0
        for c, n in zip(cotangents, self.sizes, strict=True):
            if c is not None:
                whole[at : at + n] = np.reshape(c, -1)
            at += n
        return whole

    def cotangents(self, vector: Any) -> list[Any]:
        """The cotangents that a vector is of."""
        if len(self.specs) == 1 and type(self.specs[0]) is tuple:
            return [vector.reshape(self.shapes[0])]
        found, at = [], 0
        for spec, shape, n in zip(self.specs, self.shapes, self.sizes, strict=True):
            part = vector[at : at + n].reshape(shape)
            found.append(project(part, spec))
            at += n
        return found


def taken(bars: list[Any], slots: Sequence[Any]) -> list[Any]:
    """The cotangents of slots, which are kept no longer."""
    found = [bars[slot] for slot in slots]
    for slot in slots:
        bars[slot] = None
    return found


class Layouts:
    """The layouts of single values, by their dtypes and shapes; that of the last is at hand."""

    __slots__ = ("known", "last")

    def __init__(self) -> None:
        self.known: dict[Any, Layout] = {}
        self.last = Layout([])

    def of(self, values: Sequence[Any]) -> Layout:
        """The layout of values."""
        return self.of_one(values[0]) if len(values) == 1 else Layout(values)

    def of_one(self, x: Any) -> Layout:
        """The layout of one value."""
        last = self.last
        if type(x) is np.ndarray:
            dtype, shape = x.dtype, x.shape
            if dtype is last.dtype and shape == last.shape and last.is_alone:
                return last
            key: Any = dtype, shape
        else:
            key = type(strip(x))
        made = self.known.get(key)
        if made is None:
            made = self.known[key] = Layout((x,))
        self.last = made
        return made


class Origin:
    """Where the watched values of a message come from."""

    __slots__ = ("layout", "slots")

    def __init__(self, leaves: Sequence[Any], known: Layouts) -> None:
        self.slots = tuple([x.slot for x in leaves])
        self.layout = known.of([x.primal for x in leaves])

    def __bool__(self) -> bool:
        return bool(self.slots)

    def contributions(self, cotangents: Sequence[Any]) -> list[tuple[Any, Any]]:
        """What the slots are given."""
        return [*zip(self.slots, cotangents, strict=False)]


_FLOAT = np.dtype(np.float64)


def _wire(spec: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and dtype of the cotangent of what a spec describes."""
    if type(spec) is tuple:
        return spec
    if issubclass(spec, (np.floating, np.complexfloating)):
        return (), np.dtype(spec)
    return (), np.dtype(complex) if issubclass(spec, complex) else _FLOAT
