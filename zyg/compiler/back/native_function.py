"""A program as a function of numbers and buffers that runs: machine code, compiled or from disk."""

from __future__ import annotations

import ctypes
import struct
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.base.config import setting
from zyg.base.late import raise_late
from zyg.compiler import libraries
from zyg.compiler.aliases import written_inputs
from zyg.compiler.back import (
    arena,
    cpython_abi,
    first_code,
    object_layout,
    python_calls,
    stored,
    symbols,
    threaded,
)
from zyg.compiler.back.compiled import Code
from zyg.compiler.back.copies import without_copies
from zyg.compiler.back.llvm_functions import Module
from zyg.compiler.callbacks import OtherKind
from zyg.compiler.ir import Program, Type, element_of, is_buffer, type_of
from zyg.compiler.kinds import Kind

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_DTYPES = {"float": np.float64, "float32": np.float32, "int": np.int64, "bool": np.bool_}


class Stopped(Exception):  # noqa: N818
    """Python is to run the function: a check has failed, calls went too deep, or Python raised.

    What it raised is the argument, else None; `why` is what has failed. With `raised`, Python will
    raise the same.
    """

    def __init__(self, error: Exception | None = None, why: str = "") -> None:
        super().__init__(error)
        self.why = why
        self.raised = error is not None and not isinstance(error, OtherKind)


class TapeFull(Exception):  # noqa: N818
    """A program would take more memory than `tape_bytes` allows: so many bytes."""


class Native:
    """The machine code of a program; where it is from, what it took, its text.

    One that keeps tapes takes no more memory than the setting `tape_bytes` says.
    """

    def __init__(self, program: Program, tapes: bool = False) -> None:
        start = time.perf_counter()
        module = Module(without_copies(program))
        text = module.whole()
        self.text = first_code.final(text)
        self._python, known = _called(module)
        code = _code(module, text, known, last=bool(written_inputs(program)))
        self.origin, self._code = code.origin, (code, _ENTRY(code.address))
        self._tapes, self._whys = tapes, [why for _, why in module.whys.values()]
        self._inputs = [x.type for x in program.inputs]
        self._outputs = [type_of(x) for x in program.outputs]
        self._pack = struct.Struct("=" + "".join(map(_letter, self._inputs))).pack
        self._results = struct.Struct("=" + "".join(map(_letter, self._outputs)))
        self.seconds = time.perf_counter() - start

    def _run(self, words: bytes, results: Any, at: int, left: int) -> int:
        """Run the code in an arena that may have so many bytes more; gives its status."""
        depth = min(sys.getrecursionlimit(), arena.DEEPEST)
        ctypes.c_int64.from_address(at + arena.DEPTH).value = depth
        ctypes.c_int64.from_address(at + arena.LEFT).value = left
        code, entry = self._code
        status: int = entry(words or b"\0", results, at)
        if code.later is None or status not in (arena.SLOW, arena.NO_MEMORY):
            return status
        entry(None, None, at)
        code = code.later()
        self._code = code, _ENTRY(code.address)
        return self._run(words, results, at, left)

    def __call__(self, *operands: Any) -> list[Any]:
        """The outputs of these: numbers, and rows for buffers; contiguous arrays are buffers.

        Raises Stopped, TapeFull or MemoryError.
        """
        python_calls.raised()  # by a call of other code
        given = zip(self._inputs, operands, strict=True)
        words = self._pack(*(_buffer_address(x, kind) if is_buffer(kind) else x
                             for kind, x in given))  # fmt: skip
        results = ctypes.create_string_buffer(self._results.size + 8)
        memory = ctypes.create_string_buffer(arena.BYTES + arena.ALIGNMENT)
        at = -(-ctypes.addressof(memory) // arena.ALIGNMENT) * arena.ALIGNMENT
        left = setting("tape_bytes") if self._tapes else arena.UNLIMITED
        status = self._run(words, results, at, left)
        try:
            if status == arena.NO_MEMORY:
                refused = ctypes.c_int64.from_address(at + arena.REFUSED).value
                raise TapeFull(left + refused) if refused else MemoryError
            if status:
                raise_late()
                error = python_calls.raised()
                named = status >= arena.REASONS
                raise Stopped(error, self._whys[status - arena.REASONS] if named else "")
            made, row = self._results.unpack_from(results), _rows(operands)
            return [
                row(x, kind) if is_buffer(kind) else bool(x) if kind == "bool" else x
                for x, kind in zip(made, self._outputs, strict=True)
            ]
        finally:
            self._code[1](None, None, at)
            if self._python:
                python_calls.end_of_call(at)


class Direct:
    """The machine code of a program as a function of objects, for arguments of these kinds.

    `call` gives what the program does; NotImplemented, if an argument is of another kind, lies in
    memory in another way, or shares memory with one that is written to; Ellipsis, if the program
    has stopped, or if an output that is to be `apart` is memory of an argument or of another such,
    with nothing written. `writes` are the inputs that the program writes to. One that
    keeps tapes stops where these take more memory than any `tape_bytes` that was set allows.

    Raises Unreadable where only Python can take arguments or results of these kinds apart.
    """

    def __init__(self, program: Program, takes: Sequence[Kind], gives: Kind,
                 writes: Sequence[int] = (), tapes: bool = False, apart: Sequence[int] = (),
                 ) -> None:  # fmt: skip
        start = time.perf_counter()
        if not object_layout.readable():
            raise object_layout.Unreadable("this Python keeps objects in another way")
        module = Module(without_copies(program))
        entry = cpython_abi.Entry(module, takes, gives, writes, tapes, apart)
        text = module.text(entry.lines) + cpython_abi.ending(module)
        self.text = first_code.final(text)
        self.python, known = _called(module)
        code = _code(module, text, {**entry.addresses, **known})
        self.origin = code.origin
        self.file, self.names = stored.name_of(self.text), entry.names
        self.several: list[int] = []  # arguments in which an array may be met twice
        self.call = symbols.function_of(code, [*entry.held, *self.python])
        self.seconds = time.perf_counter() - start


def _called(module: Module) -> tuple[list[Any], dict[str, int]]:
    """What a text calls Python by, and the addresses of that."""
    held: list[Any] = []
    known: dict[str, int] = {}
    for k, called in enumerate(module.called):
        if direct := module.direct.get(k):
            held += direct.held
            known |= direct.addresses
        else:
            held.append(trampoline := python_calls.Trampoline(called))
            known[f"zyg_python_{k}"] = trampoline.address
    return held, known


def _code(module: Module, text: str, addresses: dict[str, int], last: bool = False) -> Code:
    """The machine code of a module: the final one at once where it is to be the `last`."""
    known = {**addresses_of_zyg(), **addresses}
    if last or not module.can_be_left():
        return first_code.whole_code(first_code.final(text), known)
    return first_code.loaded(text, known)


def addresses_of_zyg() -> dict[str, int]:
    """What all texts know by name, but for the arena."""
    known = (x.addresses() for x in (libraries, threaded, python_calls))
    return {name: address for found in known for name, address in found.items()}


def _letter(kind: Type) -> str:
    return "Q" if is_buffer(kind) else {"float": "d", "float32": "f4x"}.get(kind, "q")


def _buffer_address(x: Any, kind: Type) -> int:
    assert x.dtype == _DTYPES[element_of(kind)], f"{x.dtype} for a {kind}"
    assert x.flags.c_contiguous
    return x.ctypes.data  # type: ignore[no-any-return]


def _rows(operands: tuple[Any, ...]) -> Callable[[int, Type], Any]:
    """Gives the elements of a buffer among the results: one of the operands, or a copy."""
    known: dict[int, Any] = {}

    def row(address: int, kind: Type) -> Any:
        if not known:
            arrays = [x for x in operands if isinstance(x, np.ndarray)]
            known.update((x.ctypes.data, x.reshape(-1)) for x in reversed(arrays))
        if address not in known:
            dtype = np.dtype(_DTYPES[element_of(kind)])
            size = ctypes.c_int64.from_address(address - 8).value
            known[address] = made = np.empty(size // dtype.itemsize, dtype)
            ctypes.memmove(made.ctypes.data, address, size)
        return known[address]

    return row
