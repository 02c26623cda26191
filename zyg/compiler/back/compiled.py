"""From the text of a kernel to a function that runs: machine code, or plain Python.

Machine code is on disk from an earlier process, or else LLVM or numba makes it, and it is kept. It
is called through one entry (see `machine`), by ctypes, which lets go of the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import re
import struct
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from zyg.base.caches import Cache
from zyg.compiler.back import stored

Shape = tuple[int, ...]
Layout = tuple[Shape, tuple[int, ...]]  # of an array: shape and strides
Adapter = Callable[[Any], Any]

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)
_PACKED = {"int64": "q", "boolean": "q", "float32": "d", "float64": "d"}


class CompilationError(Exception):
    """Neither LLVM nor numba could compile a kernel: its last words, and the text of the kernel."""

    def __init__(self, cause: BaseException, text: str) -> None:
        lines = [line for line in str(cause).splitlines() if line.strip()] or [repr(cause)]
        super().__init__(f"{type(cause).__name__}: {lines[-1].strip()}\n\n{text}")
        self.text = text


class MachineKernel(NamedTuple):
    """A function over arrays; where it is from ("compiled", "disk", "python"), what it took.

    The parameters are numbers and then arrays. ``bind`` takes the layouts of the arrays and gives a
    function of the parameters, which does not look at the layouts of its arrays, and returns
    whether all is finite of the results that the kernel checks.
    """

    bind: Callable[[Sequence[Layout]], Callable[..., bool]]
    text: str
    origin: str
    seconds: float


_kernels: Cache[tuple[str, str], MachineKernel] = Cache(1024)
_lock = threading.RLock()


def kernel_of(text: str, backend: str) -> MachineKernel:
    """The kernel of this text, made at most once while it is remembered.

    Raises CompilationError where the text is refused.
    """
    with _lock:
        kernel = _kernels.get((text, backend))
        if kernel is None:
            kernel = _kernels.put((text, backend), _MAKERS[backend](text))
        return kernel


def _interpreted(text: str) -> MachineKernel:
    kernel = _namespace(text)["kernel"]

    def bind(layouts: Sequence[Layout]) -> Callable[..., bool]:
        def call(*args: Any) -> bool:
            first = len(args) - len(layouts)
            pairs = zip(args[first:], layouts, strict=True)
            with np.errstate(all="ignore"):
                said = kernel(*args[:first], *[as_strided(x, *layout) for x, layout in pairs])
            return bool(said == 0)

        return call

    return MachineKernel(bind, text, "python", 0.0)


def _compiled(text: str) -> MachineKernel:
    start = time.perf_counter()
    name = stored.name_of(text)
    loaded, origin = stored.load(name), "disk"
    if loaded is None:
        make = _by_llvm if text.startswith(";") else _by_numba
        loaded, origin = make(text, name), "compiled"
    address, owner = loaded
    entry: Any = _ENTRY(address)
    entry.owner = owner  # holds the code
    return MachineKernel(_binder(entry, text), text, origin, time.perf_counter() - start)


def _by_llvm(text: str, name: str) -> tuple[int, Any]:
    from zyg.compiler.back.assembled import object_code

    try:
        code = object_code(text, name)
    except RuntimeError as error:
        raise CompilationError(error, text) from error
    loaded = stored.linked(name, code)
    if loaded is None:
        raise CompilationError(RuntimeError("LLVM's linker lacks a function"), text)
    stored.keep(name, code)
    return loaded


def _by_numba(text: str, name: str) -> tuple[int, Any]:
    from zyg.compiler.back.machine import library_of

    try:
        library = library_of(_namespace(text), name)
        address = library.get_pointer_to_function(name)
    except Exception as error:
        raise CompilationError(error, text) from error
    if not library.has_dynamic_globals:  # addresses in this process
        _, _, (code, _) = library.serialize_using_object_code()
        stored.keep(name, code)
    return address, library


def _binder(entry: Any, text: str) -> Callable[[Sequence[Layout]], Callable[..., bool]]:
    (signature,) = re.findall(r'^(?:; )?signature = "int64\((.*)\)"$', text, re.MULTILINE)
    parameters = re.findall(r"([a-z]\w+)(\[?)", signature)
    pack = struct.Struct("".join("Q" if array else _PACKED[t] for t, array in parameters)).pack

    def bind(layouts: Sequence[Layout]) -> Callable[..., bool]:
        words = [n for layout in layouts for numbers in layout for n in numbers]
        packed_layouts = struct.pack(f"{len(words)}q", *words)
        first = len(parameters) - len(layouts)

        def call(*args: Any) -> bool:
            try:
                values = pack(*args[:first], *map(id, args[first:]))
            except struct.error as error:
                raise OverflowError("an operand is too large for int64") from error
            said: int = entry(values, packed_layouts)
            if said < 0:
                raise RuntimeError("a kernel raised an exception, which no program can make it do")
            return said == 0

        return call

    return bind


_MAKERS = {"numba": _compiled, "python": _interpreted}


def _namespace(text: str) -> dict[str, Any]:
    namespace = {"__name__": "zyg_kernel"}
    exec(compile(text, "<kernel>", "exec"), namespace)
    return namespace
