"""The state of an actor, as it is sent to who may have to make it again; and digests of results.

A state is pickled in one piece, but for its arrays: of these, each memory is sent once, and where
each array lies in it. So views of one array are that again, and have the same strides: what writes
through one is seen by the other, and sums over them have the same last bits.
"""

from __future__ import annotations

import copyreg
import functools
import io
import pickle
import types
from typing import Any
from zlib import crc32

import numpy as np

from zyg.core.strand import is_watched, strip
from zyg.tasks.recipes import own

# States


class State:
    """What an actor was before a gradient called it."""

    def __init__(self, actor: Any, without: str) -> None:
        """Of all attributes but one."""
        state = _taken_apart(actor)
        attributes = state[0] if type(state) is tuple else state
        if type(attributes) is dict:
            kept = {k: x for k, x in attributes.items() if k != without}
            state = (kept, *state[1:]) if type(state) is tuple else kept
        writer = _writer()()
        writer.dump(state)
        self.pickled = writer.file.getvalue()
        owners: dict[int, int] = {}
        self.memories: list[Any] = []
        self.values = [self._sent(strip(x), owners) for x in writer.found]

    def _sent(self, x: Any, owners: dict[int, int]) -> Any:
        """A value, or where an array lies in a memory."""
        if type(x) is not np.ndarray:
            return x
        owner = x
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        whole = np.asarray(owner)
        if not whole.flags.c_contiguous:  # but it may be in one piece, with other axes first
            whole = whole.transpose(np.argsort([-n for n in whole.strides]))
        if not whole.flags.c_contiguous:
            raise TypeError("the memory of an array in it is not in one piece")
        place = owners.setdefault(id(owner), len(owners))
        if place == len(self.memories):
            self.memories.append(whole)
        at = x.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        alone = x is owner and x.flags.c_contiguous
        return _Array(place, None if alone else at, x)

    def put(self, actor: Any) -> None:
        """Make it the state of an actor that has none."""
        memories = own(self.memories)
        found = [x.of(memories) if type(x) is _Array else x for x in self.values]
        state = _Reader(io.BytesIO(self.pickled), found).load()
        if hasattr(actor, "__setstate__"):
            actor.__setstate__(state)
            return
        attributes, slots = state if type(state) is tuple else (state, None)
        for name, x in {**(attributes or {}), **(slots or {})}.items():
            object.__setattr__(actor, name, x)


class _Array:
    """Where an array lies in a memory; nowhere, if it is that."""

    def __init__(self, place: int, at: int | None, x: Any) -> None:
        self.place, self.at = place, at
        self.how = x.shape, x.dtype, x.strides, x.flags.writeable

    def of(self, memories: list[Any]) -> Any:
        """The array."""
        memory = memories[self.place]
        shape, dtype, strides, writeable = self.how
        made = memory if self.at is None else np.ndarray(shape, dtype, memory, self.at, strides)
        made.flags.writeable = writeable
        return made


def _taken_apart(actor: Any) -> Any:
    """The attributes of an actor, or what its class gives for them."""
    make, args, *rest = actor.__reduce_ex__(2)
    if make is not copyreg.__newobj__ or len(args) > 1 or any(x is not None for x in rest[1:]):  # type: ignore[attr-defined]
        raise TypeError(f"{type(actor).__name__} is more than its attributes")
    return rest[0]


@functools.cache
def _writer() -> Any:
    import cloudpickle

    class Writer(cloudpickle.Pickler):  # type: ignore[misc]
        """Pickles everything but arrays, and what a gradient that has ended has left watched."""

        def __init__(self) -> None:
            self.file = io.BytesIO()
            super().__init__(self.file)
            self.found: list[Any] = []
            self.places: dict[int, int] = {}

        def persistent_id(self, x: Any) -> int | None:
            array = isinstance(x, np.ndarray)
            if not (array or is_watched(x)):
                return None
            if array and (type(x) is not np.ndarray or x.dtype.hasobject):
                if x.base is None:
                    return None
                raise TypeError(f"it holds a view, a {type(x).__name__} of {x.dtype}")
            place = self.places.setdefault(id(x), len(self.found))
            if place == len(self.found):
                self.found.append(x)
            return place

    return Writer


class _Reader(pickle.Unpickler):
    def __init__(self, file: Any, found: list[Any]) -> None:
        super().__init__(file)
        self.found = found

    def persistent_load(self, place: Any) -> Any:
        return self.found[place]


# Results


def digest(value: Any) -> int | None:
    """What tells a result from another one, of other bits; None, where that is not to be had.

    It does not depend on which of equal parts are one object, nor on the order of a set.
    """
    memory: list[pickle.PickleBuffer] = []
    file = io.BytesIO()
    writer = _Digested(file, 5, buffer_callback=memory.append)
    writer.fast = True
    try:
        writer.dump(value)
    except Exception:  # a cycle, or what an engine has its own way to send
        return None
    made = crc32(file.getbuffer())
    for part in memory:
        made = crc32(part.raw(), made)
    return made


class _Digested(pickle.Pickler):
    def persistent_id(self, x: Any) -> Any:
        if isinstance(x, (set, frozenset)):
            return sorted(map(str, map(digest, x)))
        return f"{x.__module__}.{x.__qualname__}" if isinstance(x, _NAMED) else None


_NAMED = type, types.FunctionType, types.BuiltinFunctionType
