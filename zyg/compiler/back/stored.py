"""Machine code of kernels on disk, for the next process: kept, found again, loaded.

A file is named after all that its content depends on, so that nothing in it is ever out of date.
It is machine code, and runs as this user: only a file is loaded that belongs to them, that nobody
else can write to, and whose checksum is right. Where that fails, or nothing can be read or written,
there is no kernel on disk, and whoever asked compiles it.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from zyg import errors
from zyg.compiler.back.elf import Placed, Unplaced
from zyg.compiler.back.target import processor

_CHECKSUM = 32  # bytes, at the start of a file

_loads = itertools.count()


def cache_directory() -> str:
    """Where compiled kernels are kept: ZYG_CACHE_DIR, else zyg's place in the user's cache.

    OSError where there is no such place.
    """
    if own := os.environ.get("ZYG_CACHE_DIR"):
        return own
    place = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    place = place or os.path.expanduser(os.path.join("~", ".cache"))
    if place.startswith("~"):
        raise OSError("nobody knows where home is")
    return os.path.join(place, "zyg")


def name_of(text: str) -> str:
    """The name of the kernel with this text, for its file and for its entry."""
    return "zyg_kernel_" + hashlib.sha256(_toolchain() + text.encode()).hexdigest()[:32]


def load(
    name: str, addresses: Mapping[str, int] | None = None, first: bool = False
) -> tuple[int, Any] | None:
    """The address of a kernel's entry, and what keeps its code in memory; None if there is none.

    The final code, or the `first`.
    """
    code = read(file_of(name, first))
    return None if code is None else linked(name, code, addresses)


def linked(
    name: str, code: bytes, addresses: Mapping[str, int] | None = None
) -> tuple[int, Any] | None:
    """The same of object code; None where it names what the process does not have.

    Functions of the C library are looked up in the process; others are given by their addresses.
    """
    with suppress(Unplaced, OSError):
        placed = Placed(code, addresses or {})
        return placed.known[name], placed
    import llvmlite.binding as llvm  # type: ignore[import-untyped]

    library = llvm.JITLibraryBuilder().add_object_img(code).export_symbol(name)
    for other, address in (addresses or {}).items():
        library.import_symbol(other, address)
    library.add_current_process()
    try:
        loaded = library.link(_linker(), f"{name}_{next(_loads)}")
    except RuntimeError:
        return None
    return loaded[name], loaded


def keep(name: str, code: bytes, first: bool = False) -> None:
    """Write object code to disk, if possible."""
    write(file_of(name, first), code)


def write(name: str, content: bytes) -> None:
    """Write a file of the cache, if possible; replaced as a whole, as others may read it."""
    import tempfile  # which takes longer than to load a kernel

    with suppress(OSError):
        folder = cache_directory()
        os.makedirs(folder, mode=0o700, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=folder)
        try:
            with open(handle, "wb") as whole:
                whole.write(_checksum(content) + content)
            os.replace(part, os.path.join(folder, name))
        except BaseException:
            os.unlink(part)
            raise


def read(name: str) -> bytes | None:
    """What is in a file of the cache; None if it is not as it was written, or others might have."""
    try:
        with open(os.path.join(cache_directory(), name), "rb") as file:
            status = os.fstat(file.fileno())
            content = file.read()
    except OSError:
        return None
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        return None
    checksum, content = content[:_CHECKSUM], content[_CHECKSUM:]
    return content if checksum == _checksum(content) else None


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def file_of(name: str, first: bool = False) -> str:
    """The file of object code: the final, or the `first`."""
    return f"{name}_first.o" if first else f"{name}.o"


@cache
def _linker() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    return llvm.create_lljit_compiler(use_jit_link=True, suppress_errors=True)


@cache
def _toolchain() -> bytes:
    """What machine code depends on besides the text: the processor, and all that compiles."""
    return repr(platform()).encode()


@cache
def platform() -> tuple[Any, ...]:
    """The processor, LLVM, Python, NumPy and zyg itself."""
    import llvmlite

    return (
        processor(),
        llvmlite.__version__,
        sys.version,
        object.__basicsize__,
        np.__version__,
        _checksum(repr(sorted(_sources(os.path.dirname(errors.__file__)))).encode()),
    )


def _sources(folder: str, package: str = "") -> Iterator[tuple[str, int, int]]:
    """The files of zyg, each with its size and when it was written, as Python's bytecode has it."""
    for file in os.scandir(folder):
        name = f"{package}{file.name}"
        if file.name.endswith(".py"):
            status = file.stat()
            yield name, status.st_size, status.st_mtime_ns
        elif file.name != "__pycache__" and file.is_dir():
            yield from _sources(file.path, f"{name}/")
