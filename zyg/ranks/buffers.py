"""Memory that a call names: arrays, plain or watched, with counts and types as mpi4py has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.base.caches import Cache
from zyg.core.indexing import write
from zyg.core.inplace import refuse_store
from zyg.core.strand import ARRAYS, Strand, is_watched, settle, strip, watcher_of
from zyg.core.views import is_given
from zyg.ranks.failures import RankError, refused
from zyg.ranks.link import mpi
from zyg.ranks.session import KNOWN, code_of

WHOLE: Any = watcher_of[np.ndarray]  # a watched array that is no view of one


class Buffer:
    """An array of a call, and which of its elements are for which rank."""

    __slots__ = ("array", "code", "count", "counts", "dtype", "places", "plain", "start")

    def __init__(self, spec: Any, size: int = 0) -> None:
        """`size` is that of the communicator, where each rank has a part."""
        rest: Any = ()
        if type(spec) in (list, tuple):
            spec, *rest = spec
        x = spec if type(spec) in ARRAYS else _plain_memory(spec)
        plain = strip(x)
        if not plain.flags.c_contiguous and plain.flags.f_contiguous:
            x, plain = x.T, plain.T  # MPI takes memory as it lies
        dtype = plain.dtype
        if (code := _codes.get(dtype)) is None:
            code = _codes.put(dtype, _code_of(dtype))
        self.array, self.plain, self.dtype = x, plain, dtype
        self.code = code if type(x) in ARRAYS else code & ~KNOWN  # of a receipt
        self.start, self.count = 0, plain.size  # of what is sent or received
        if size or rest:
            self._divide(rest, size)

    def _divide(self, rest: Any, size: int) -> None:
        """Take counts, places and types as mpi4py has them."""
        rest = [x for x in rest if x is not None and not self._is_type(x, self.dtype)]
        # Counts and places may be a pair.
        pair = rest and isinstance(rest[0], (list, tuple))
        if pair and (not size or np.ndim(rest[0][0])):
            rest = [*rest[0], *rest[1:]]
        counts, places = [*rest, None, None][:2]
        if size:
            self._set_parts(self.count, size, counts, places)
        else:
            self._set_part(self.count, counts, int(places or 0))

    def _set_parts(self, whole: int, size: int, counts: Any, places: Any) -> None:
        """A part for each rank: one after the other, as many elements for each, if not given."""
        if counts is None:
            if whole % size:
                raise RankError(
                    f"{whole} elements cannot be divided among {size} ranks.",
                    "without counts each rank has the same number.",
                    "give counts, as in [x, counts], to the call with a v in its name.",
                )
            counts = [whole // size] * size
        self.counts = [*map(int, counts)]
        self.count = sum(self.counts)
        if places is None:
            places = [0, *np.cumsum(self.counts)[:-1].tolist()]
        self.places = [*map(int, places)]

    def _set_part(self, whole: int, count: Any, start: int) -> None:
        """So many elements from a start on; all that follow, if no number is given."""
        self.start = start
        self.count = whole - start if count is None else int(count)
        if not 0 <= start <= start + self.count <= whole:
            raise RankError(
                f"{self.count} elements from {start} on are not in memory of {whole}.",
                "a call reads and writes the memory that it is given.",
                "give a smaller count, or a larger array.",
            )

    @staticmethod
    def _is_type(x: Any, dtype: np.dtype[Any]) -> bool:
        MPI = mpi()
        kind = getattr(MPI, x, None) if isinstance(x, str) else x
        kind = MPI.Datatype.fromcode(x) if isinstance(x, str) and kind is None else kind
        if not isinstance(kind, MPI.Datatype):
            return False
        if kind != MPI.Datatype.fromcode(dtype.char):
            raise refused(
                f"a call with {dtype} memory as {kind.name or 'a type of its own'}",
                "zyg follows the elements of arrays, of their own type.",
                "leave the type out.",
            )
        return True

    def contents(self) -> Any:
        """The elements that are sent, watched if they are."""
        x = settle(self.array)
        plain = strip(x)
        flat = x if plain.ndim == 1 else np.reshape(x, -1)
        return flat if self.count == plain.size else flat[self.start : self.start + self.count]

    def parts(self) -> list[Any]:
        """The elements for each rank."""
        x = settle(self.array)
        flat = np.reshape(x, -1)
        return [flat[p : p + n] for p, n in zip(self.places, self.counts, strict=True)]

    def fill(self, y: Any, place: int | None = None) -> None:
        """Write a vector to the memory, from a place on; from its start, if none is given."""
        place = self.start if place is None else place
        plain, target = strip(y), self.plain
        if plain.dtype != target.dtype or plain.size > target.size - place:
            raise RankError(
                f"{plain.size} elements of {plain.dtype} do not fit into memory of "
                f"{target.size - place} of {target.dtype}.",
                "the counts and types of all ranks must fit.",
                "make the array larger, or of the other dtype.",
            )
        if type(y) is WHOLE and place == 0 and self.is_replaced(plain.shape):
            self.replace(y.strand, y.primal, y.slot)
        elif type(self.array) in ARRAYS:
            _write(self.array, y, place)
        elif is_watched(y):
            refuse_store()
        else:
            _write(self.array, plain, place)

    def fill_parts(self, ys: Sequence[Any]) -> None:
        """Write a vector of each rank to its part."""
        for y, p, n in zip(ys, self.places, self.counts, strict=True):
            if strip(y).size > n:
                raise RankError(
                    f"{strip(y).size} elements came for {n}.",
                    "the counts of all ranks must fit.",
                    "give the counts that the other ranks send.",
                )
            self.fill(y, p)

    def is_replaced(self, shape: tuple[int, ...]) -> bool:
        """Whether the array becomes another, of a shape, that comes."""
        x, plain = self.array, self.plain
        if not (type(x) is WHOLE and plain.shape == shape and plain.flags.c_contiguous):
            return False
        memory, slot = x.strand.memory, x.slot
        if x.viewed or x.locked or memory.shown:
            return False
        return not (slot in memory.entangled or slot in memory.readonly or is_given(x))

    def replace(self, strand: Strand, primal: Any, slot: Any) -> None:
        """Have the array become a watched one itself."""
        x = self.array
        x.primal, x.strand, x.slot, x.unread = primal, strand, slot, False
        x.given = None  # which is found sooner than nothing


# By dtypes: the codes of receipts into zyg.numpy's arrays, which can be watched if they are floats.
_codes = Cache[Any, int](64)


def _code_of(dtype: np.dtype[Any]) -> int:
    if dtype.hasobject or not dtype.isnative:
        raise refused(
            f"a call with memory of {dtype!r}",
            "its bytes mean nothing to another rank.",
            "send objects with the calls in small letters, or x.astype(float).",
        )
    return code_of(0, KNOWN if dtype.kind in "fc" else 0, dtype)


def _plain_memory(x: Any) -> Any:
    """What has memory and is no watched array, as an array of it."""
    if isinstance(x, np.ndarray):
        return x.view(np.ndarray)  # of a masked array its data
    try:
        return np.asarray(memoryview(x))
    except TypeError as error:
        raise refused(
            f"a call with a {type(x).__name__} as its memory",
            "zyg follows arrays of NumPy's.",
            "pass an array, or a list of an array, counts and a type.",
        ) from error


def _write(x: Any, y: Any, place: int) -> None:
    """``x.flat[place:] = y``, as far as y goes."""
    n = strip(y).size
    if n == strip(x).size:
        y = np.reshape(y, strip(x).shape)
        index: Any = ...
    elif np.ndim(x) == 1:
        index = slice(place, place + n)
    else:
        index = np.unravel_index(np.arange(place, place + n), strip(x).shape)
    if type(x) in ARRAYS:
        write(x, index, y)
    else:
        x[index] = y
