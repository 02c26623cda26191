"""What machine code calls where it calls Python.

Machine code calls a `Trampoline`, with the address of the arena and a row of words: the operands,
an address for a buffer. Python writes words over them: the results, and for a buffer the address
and the bytes of an array, which the machine code copies at once.
"""

from __future__ import annotations

import ctypes
import math
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any

import numpy as np

from zyg.base.late import keep_for_later
from zyg.compiler.callbacks import Called, Held, Leaf, demand_alike
from zyg.compiler.kinds import NARROW, Array, Scalar, dtype_of, lies_in

_CODES = {"float": "d", "float32": "f4x", "complex": "dd"}  # of ints and bools "q"
_PYTHON: dict[str, type] = {"float": float, "int": int, "bool": bool, "complex": complex}
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _State(threading.local):
    """Of this thread: what was handed over last, and what must not be swallowed."""

    given: Any = None
    raised: Exception | None = None  # by what was called last


_state = _State()
_held = Held()


def end_of_call(call: int) -> None:
    """Let go what was kept for a call."""
    _held.end(call)


@cache
def _ending() -> Any:
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(end_of_call)


def addresses() -> dict[str, int]:
    """What texts call where a call ends."""
    return {"zyg_end_of_call": ctypes.cast(_ending(), ctypes.c_void_p).value or 0}


class Trampoline:
    """What machine code calls where it calls a function in Python."""

    def __init__(self, called: Called) -> None:
        self._callee, self._keeps = called.callee, called.keeps
        self._takes = [*map(_taker, called.callee.takes)]
        self._words = struct.Struct(f"={_codes(called.callee.takes)}q")
        strict = called.callee.strict and not called.keeps
        self._gives = [_giver(leaf, strict) for leaf in called.callee.gives]
        self._results = struct.Struct(f"={_codes(called.callee.gives, given=True)}q")
        self._target = ctypes.c_char * max(self._words.size, self._results.size)

    @cached_property
    def address(self) -> int:
        """Where machine code calls it, as long as this lives."""
        self._function = _FUNCTION(self._run)
        return ctypes.cast(self._function, ctypes.c_void_p).value or 0

    def _run(self, call: int, words: int) -> int:
        try:
            place = self._target.from_address(words)
            row = iter(self._words.unpack_from(place))
            args = [take(row) for take in self._takes]
            ys, kept = self._callee.run(_held, call, self._keeps, next(row), args)
            self._put(place, ys, kept)
            return 0
        except BaseException as error:
            keep(error)
        return 1

    def converted(self, y: Any, words: int) -> None:
        """Write words of what was given, where machine code takes nothing of its kind."""
        self._put(self._target.from_address(words), self._callee.leaves(y), 0)

    def _put(self, place: Any, ys: Sequence[Any], kept: int) -> None:
        found: list[Any] = []
        arrays: list[Any] = []
        for give, y in zip(self._gives, ys, strict=True):
            give(y, found, arrays)
        _state.given = arrays
        self._results.pack_into(place, 0, *found, kept)


def keep(error: BaseException) -> None:
    """Keep what was raised by what was called."""
    if isinstance(error, Exception):
        _state.raised = error
    else:
        keep_for_later(error)


def raised() -> Exception | None:
    """What was raised in this thread by what was called last, if anything; once."""
    error, _state.raised = _state.raised, None
    return error


def _codes(found: Sequence[Leaf], given: bool = False) -> str:
    """The words of some leaves; of arrays that are given, their bytes and their shape."""
    return "".join("Q" + "q" * (given + leaf.ndim) if isinstance(leaf, Array)
                   else _CODES.get(leaf.type, "q") for leaf in found)  # fmt: skip


def _taker(leaf: Leaf) -> Callable[[Iterator[Any]], Any]:
    """How an argument is made of words."""
    dtype = dtype_of(leaf.element)
    if isinstance(leaf, Scalar):
        of: Any = _PYTHON[leaf.type] if leaf.python else dtype.type
        if leaf.type == "complex":
            return lambda row: of(complex(next(row), next(row)))
        return lambda row: of(next(row))
    held = np.dtype(np.int64 if leaf.element in NARROW else dtype)
    size, axes, line = held.itemsize, range(leaf.ndim), leaf.ndim == 1

    def take(row: Iterator[Any]) -> Any:
        address, shape = next(row), [next(row) for _ in axes]
        flat = np.frombuffer(ctypes.string_at(address, math.prod(shape) * size), held)
        flat = flat if held is dtype else flat.astype(dtype, copy=False)
        return flat if line else leaf.shaped(flat, shape)

    return take


Give = Callable[[Any, list[Any], list[Any]], None]


def _giver(leaf: Leaf, strict: bool) -> Give:
    """How a result becomes words; one that is not `strict` may be of a type that converts."""
    if isinstance(leaf, Array):
        return _array_giver(leaf, strict)
    of: Any = _PYTHON[leaf.type] if leaf.python else dtype_of(leaf.type).type

    def give(y: Any, found: list[Any], arrays: list[Any]) -> None:
        demand_alike(not strict or type(y) is of)
        found += (y.real, y.imag) if leaf.element == "complex" else (y,)

    return give


def _array_giver(leaf: Array, strict: bool) -> Give:
    dtype = dtype_of(leaf.element)
    held = np.int64 if leaf.element in NARROW else dtype
    order, line = leaf.order, leaf.ndim == 1

    def give(y: Any, found: list[Any], arrays: list[Any]) -> None:
        demand_alike(not strict or type(y) is np.ndarray)
        y = y if strict else np.asarray(y, dtype)
        is_alike = y.dtype == dtype and y.ndim == leaf.ndim
        demand_alike(is_alike and (line or not strict or lies_in(y, order)))
        arrays.append(flat := np.ascontiguousarray(y if line else leaf.row(y), held))
        found += (_address(flat), flat.nbytes, *y.shape)

    return give


def _address(x: Any) -> int:
    fast = x.flags.writeable and x.size  # five times as fast
    return ctypes.addressof(ctypes.c_char.from_buffer(x)) if fast else x.ctypes.data
