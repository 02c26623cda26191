"""Calls of Python from machine code: their LLVM text, and what they arrive at.

A call passes the address of the arena and a row of words: the operands, an address for a buffer.
Python writes words over them: the results, and for a buffer the address and the bytes of an array,
which the machine code copies at once. The text names a trampoline by its place among those of the
text, and gets its address where it is loaded, so that object code stays valid on disk.

What Python has kept for a call of machine code goes when that ends: `end_of_call`.
"""

from __future__ import annotations

import ctypes
import math
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from zyg.compiler.back import arena
from zyg.compiler.back.types_in_text import type_in_text
from zyg.compiler.callbacks import HIDDEN, Called, Held
from zyg.compiler.front.kinds import (
    DTYPES,
    Array,
    Kind,
    Scalar,
    Static,
    Struct,
    lies_in,
    put_together,
)
from zyg.compiler.front.kinds import _taken_apart as taken_apart
from zyg.compiler.ir import CallBack, is_buffer, type_of
from zyg.errors import CompileError

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def printed(text: Any, op: CallBack) -> None:
    """Print a call, into the text of a function."""
    m, name = text.m, f"@zyg_python_{len(text.module.called)}"
    text.module.called.append(op.callee)
    m.declared[f"declare i32 {name}(ptr, ptr)"] = None
    width = max(len(op.args), sum(1 + is_buffer(x.type) for x in op.outs))
    words = m.value(f"alloca [{width} x i64], align 8")

    def place(k: int) -> str:
        return f"ptr {m.value(f'getelementptr i64, ptr {words}, i64 {k}')}"

    for k, x in enumerate(op.args):
        typed = text.typed(x)
        if type_of(x) == "bool":
            typed = "i64 " + m.value(f"zext {typed} to i64")
        m.line(f"store {typed}, {place(k)}")
    status = m.value(f"call i32 {name}(ptr %arena, ptr {words})")
    text.demand(m.value(f"icmp eq i32 {status}, 0"))
    k = 0
    for out in op.outs:
        kind = type_in_text(out.type)
        if not is_buffer(out.type):
            x = m.value(f"load {'i64' if kind == 'i1' else kind}, {place(k)}")
            text.known[out] = m.value(f"trunc i64 {x} to i1") if kind == "i1" else x
            k += 1
            continue
        source = m.value(f"load ptr, {place(k)}")
        size = "i64 " + m.value(f"load i64, {place(k + 1)}")
        made = text.known[out] = m.value(f"call ptr @zyg_allocate(ptr %arena, {size})")
        text.demand(m.value(f"icmp ne ptr {made}, null"), status=str(arena.NO_MEMORY))
        m.line(f"call void @llvm.memmove.p0.p0.i64(ptr {made}, ptr {source}, {size}, i1 false)")
        k += 2


def refuse_text(text: Any, op: CallBack) -> Any:
    """There is none in Python that needs NumPy alone."""
    raise CompileError(
        f"a function that calls {op.callee.name} back cannot be written as text.",
        f"{op.callee.name} runs in Python with zyg's rules; source() writes modules that need only "
        "NumPy.",
        "call it outside the compiled function.",
    )


class _State(threading.local):
    """Of this thread: what was handed over last, and what must not be swallowed."""

    given: Any = None
    raised: BaseException | None = None


_state = _State()


_held = Held()


def end_of_call(call: int) -> None:
    """Let go what was kept for a call."""
    _held.end(call)


class Trampoline:
    """What machine code calls where it calls a function in Python."""

    def __init__(self, called: Called) -> None:
        self._callee, self._keeps = called.callee, called.keeps
        self._takes = [*map(_taker, called.callee.takes)]
        self._words = struct.Struct(f"={''.join(map(_codes, called.callee.takes))}q")
        self._give = _giver(called.callee.gives, called.callee.strict and not called.keeps)
        self._results = struct.Struct(f"={_codes(called.callee.gives, given=True)}q")
        self._function = _FUNCTION(self._run)  # lives as long as this
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value or 0

    def _run(self, call: int, words: int) -> int:
        try:
            row = iter(self._words.unpack(ctypes.string_at(words, self._words.size)))
            args = [take(row) for take in self._takes]
            y, kept = self._callee.run(_held, call, self._keeps, next(row), args)
            found: list[Any] = []
            arrays: list[Any] = []
            self._give(y, found, arrays)
            _state.given = arrays
            target = (ctypes.c_char * self._results.size).from_address(words)
            self._results.pack_into(target, 0, *found, kept)
            return 0
        except BaseException as error:
            _state.raised = error
            return arena.STOPPED


def raised() -> BaseException | None:
    """What was raised in this thread by what was called last, if anything; once."""
    error, _state.raised = _state.raised, None
    return error


def _codes(kind: Kind, given: bool = False) -> str:
    """The words of something of a kind; of arrays that are given, their bytes and their shape."""
    if isinstance(kind, Struct):
        return "".join(_codes(part, given) for part in kind.parts)
    if isinstance(kind, Array):
        return "Q" + "q" * (given + kind.ndim)
    return _CODES[kind.type] if isinstance(kind, Scalar) else ""


_CODES = {"float": "d", "float32": "f4x", "int": "q", "bool": "q", "complex": "dd"}


def _taker(kind: Kind) -> Callable[[Iterator[Any]], Any]:
    """How an argument is made of words."""
    if isinstance(kind, Static):
        return lambda row: kind.value
    if isinstance(kind, Struct):
        takes = [*map(_taker, kind.parts)]
        return lambda row: put_together(kind.type, kind.keys, [take(row) for take in takes])
    dtype = DTYPES[kind.element if isinstance(kind, Array) else kind.type]
    if isinstance(kind, Scalar):
        of: Any = _PYTHON[kind.type] if kind.python else dtype.type
        if kind.type == "complex":
            return lambda row: of(complex(next(row), next(row)))
        return lambda row: of(next(row))
    axes = range(kind.ndim)

    def take(row: Iterator[Any]) -> Any:
        address, shape = next(row), [next(row) for _ in axes]
        size = math.prod(shape) * dtype.itemsize
        if not size:
            return np.zeros(shape, dtype)
        return kind.shaped(np.frombuffer(ctypes.string_at(address, size), dtype), shape)

    return take


_PYTHON: dict[str, type] = {"float": float, "int": int, "bool": bool, "complex": complex}


def _giver(kind: Kind, strict: bool) -> Callable[[Any, list[Any], list[Any]], None]:
    """How a result becomes words; those that are not `strict` may be of a type that converts."""
    if isinstance(kind, Static):
        return lambda y, found, arrays: _demand(kind.value is HIDDEN or y == kind.value)
    if isinstance(kind, Struct):
        gives = [_giver(part, strict) for part in kind.parts]

        def parts(y: Any, found: list[Any], arrays: list[Any]) -> None:
            keys, inside = taken_apart(y)
            _demand(type(y) is kind.type and keys == kind.keys and len(inside) == len(gives))
            for give, part in zip(gives, inside, strict=True):
                give(part, found, arrays)

        return parts
    dtype = DTYPES[kind.element if isinstance(kind, Array) else kind.type]
    if isinstance(kind, Scalar):
        of: Any = _PYTHON[kind.type] if kind.python else dtype.type

        def number(y: Any, found: list[Any], arrays: list[Any]) -> None:
            _demand(not strict or type(y) is of)
            found += (y.real, y.imag) if kind.type == "complex" else (y,)

        return number

    def array(y: Any, found: list[Any], arrays: list[Any]) -> None:
        _demand(not strict or type(y) is np.ndarray)
        y = np.asarray(y) if strict else np.asarray(y, dtype)
        _demand(y.dtype == dtype and y.ndim == kind.ndim)
        _demand(not strict or lies_in(y, kind.order))
        arrays.append(flat := np.ascontiguousarray(kind.row(y)))
        found += (flat.__array_interface__["data"][0], flat.nbytes, *y.shape)

    return array


def _demand(condition: bool) -> None:
    if not condition:
        raise TypeError("a result of another kind than the first one was")
