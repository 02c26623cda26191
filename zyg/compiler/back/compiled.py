"""From the text of a kernel to a function that runs: machine code, or plain Python.

Machine code is on disk from an earlier process, or else LLVM makes it, and it is kept. It is called
through one entry, by ctypes, which lets go of the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import re
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from zyg.base.caches import Cache
from zyg.compiler.back import stored
from zyg.compiler.back.metadata import METADATA

Shape = tuple[int, ...]
Layout = tuple[Shape, tuple[int, ...]]  # of an array: shape and strides
Adapter = Callable[[Any], Any]

_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)
_PACKED = {"int64": "q", "boolean": "q", "float32": "d", "float64": "d"}


class CompilationError(Exception):
    """LLVM could not compile a kernel: what it says, and the text of the kernel."""

    def __init__(self, cause: BaseException, text: str) -> None:
        lines = [line for line in str(cause).splitlines() if line.strip()] or [repr(cause)]
        said = next((line for line in lines if "error:" in line), lines[-1])  # not its caret
        super().__init__(f"{type(cause).__name__}: {said.strip()}\n\n{text}")
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


_kernels: Cache[str, MachineKernel] = Cache(1024)
_lock = threading.RLock()


def kernel_of(text: str, loops: bool | None) -> MachineKernel:
    """The kernel of this text, made at most once while it is remembered.

    LLVM is to make vectors of its `loops`, or not; if None, the text is Python's. Raises
    CompilationError where it is refused.
    """
    with _lock:
        kernel = _kernels.get(text)
        if kernel is None:
            made = _interpreted(text) if loops is None else _compiled(text, loops)
            kernel = _kernels.put(text, made)
        return kernel


def _interpreted(text: str) -> MachineKernel:
    namespace = {"__name__": "zyg_kernel"}
    exec(compile(text, "<kernel>", "exec"), namespace)
    kernel: Any = namespace["kernel"]

    def bind(layouts: Sequence[Layout]) -> Callable[..., bool]:
        def call(*args: Any) -> bool:
            first = len(args) - len(layouts)
            pairs = zip(args[first:], layouts, strict=True)
            with np.errstate(all="ignore"):
                said = kernel(*args[:first], *[as_strided(x, *layout) for x, layout in pairs])
            return bool(said == 0)

        return call

    return MachineKernel(bind, text, "python", 0.0)


def _compiled(text: str, loops: bool = False) -> MachineKernel:
    start = time.perf_counter()
    code = loaded(text, {}, loops)
    entry: Any = _ENTRY(code.address)
    entry.owner = code.owner  # holds the code
    return MachineKernel(_binder(entry, text), text, code.origin, time.perf_counter() - start)


class Code(NamedTuple):
    """The entry of a text in memory, what keeps it there, where it is from.

    `later` makes the final code where this is the first (see `first_code`).
    """

    address: int
    owner: Any
    origin: str
    later: Callable[[], Code] | None = None


def loaded(
    text: str, addresses: Mapping[str, int], loops: bool = False, first: bool = False
) -> Code:
    """The code of a text, from disk or made. Of what it calls, these have addresses.

    With `first` it may be the first code, as LLVM takes the text as it is. Raises CompilationError.
    """
    name = stored.name_of(text)
    for is_first in (False, True)[: 1 + first]:
        if (found := stored.load(name, addresses, is_first)) is not None:
            return Code(*found, "disk")
    linked, code = made(text, name, addresses, loops, first=first)
    stored.keep(name, code, first)
    return Code(*linked, "compiled")


def made(
    text: str, name: str, addresses: Mapping[str, int], loops: bool = False, first: bool = False
) -> tuple[tuple[int, Any], bytes]:
    """The entry and what keeps its code in memory, and the object code. Raises CompilationError."""
    from zyg.compiler.back.object_code import object_code

    try:
        code = object_code(text, name, loops, first)
    except RuntimeError as error:
        raise CompilationError(error, text) from error
    linked = stored.linked(name, code, addresses)
    if linked is None:
        raise CompilationError(RuntimeError("LLVM's linker lacks a function"), text)
    return linked, code


def functions(
    text: str, addresses: Mapping[str, int], first: bool = False
) -> tuple[dict[str, int], Code]:
    """The addresses of the functions that a text defines, and what keeps them there."""
    names = re.findall(r"^define (?!internal).*?@(\w+)\(", text, re.MULTILINE)
    lines = ["define void @kernel(ptr %table) {"]
    for k, name in enumerate(names):
        lines.append(f"  %at{k} = getelementptr ptr, ptr %table, i64 {k}")
        lines.append(f"  store ptr @{name}, ptr %at{k}")
    code = loaded("\n".join([text, *lines, "  ret void", "}", *METADATA]), addresses, first=first)
    table = (ctypes.c_int64 * len(names))()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address)(ctypes.addressof(table))
    return dict(zip(names, table, strict=True)), code


def _binder(entry: Any, text: str) -> Callable[[Sequence[Layout]], Callable[..., bool]]:
    (signature,) = re.findall(r'^; signature = "int64\((.*)\)"$', text, re.MULTILINE)
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
            return bool(entry(values, packed_layouts) == 0)

        return call

    return bind
