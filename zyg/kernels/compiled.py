"""From the text of a kernel to a function that runs: compiled by numba, or plain Python.

What numba compiles is kept on disk for the next process. The text is written to a file that is
named after everything the compiled code depends on, numba keeps the machine code beside it. Where
nothing can be written, every process compiles for itself. A file that is not what it should be is
replaced.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

_OWN_MODULES = ("vector_*.py", "native.py")  # their machine code is part of every kernel


class CompilationError(Exception):
    """numba could not compile a kernel: its last words, and the text of the kernel."""

    def __init__(self, cause: BaseException, text: str) -> None:
        lines = [line for line in str(cause).splitlines() if line.strip()] or [repr(cause)]
        super().__init__(f"{type(cause).__name__}: {lines[-1].strip()}\n\n{text}")
        self.text = text


class Kernel(NamedTuple):
    """A function over arrays; where it is from ("compiled", "disk", "python"), what it took."""

    call: Callable[..., None]
    text: str
    origin: str
    seconds: float


_kernels: dict[tuple[str, str], Kernel] = {}
_lock = threading.RLock()


def kernel_of(text: str, backend: str) -> Kernel:
    """The kernel of this text, made at most once.

    Raises CompilationError where numba refuses the text.
    """
    with _lock:
        kernel = _kernels.get((text, backend))
        if kernel is None:
            kernel = _kernels[text, backend] = _MAKERS[backend](text)
        return kernel


def _interpreted(text: str) -> Kernel:
    call = _module("zyg_kernel", "<kernel>", text).kernel

    def quiet(*args: Any) -> None:
        with np.errstate(all="ignore"):
            call(*args)

    return Kernel(quiet, text, "python", 0.0)


def _compiled(text: str) -> Kernel:
    start = time.perf_counter()
    file = _on_disk(text)
    function = None
    if file is not None:
        try:
            function = _jitted(text, file)
        except Exception:
            # Whatever is wrong with the files, or with the text: without the files it shows.
            for stale in file.parent.glob(f"**/{file.stem}*"):
                stale.unlink(missing_ok=True)
    if function is None:
        try:
            function = _jitted(text, None)
        except Exception as error:
            raise CompilationError(error, text) from error
    origin = "disk" if function.stats.cache_hits else "compiled"
    # Types were settled when the plan was made: calling past the dispatcher saves it a look at each
    # array, and lets it take read-only ones.
    call = function.get_overload(function.signatures[0])
    return Kernel(call, text, origin, time.perf_counter() - start)


def _jitted(text: str, file: Path | None) -> Any:
    from numba import njit

    from zyg.kernels.native import NoAlias

    name = file.stem if file else "zyg_kernel_" + _digest(text)
    module = _module(name, str(file or f"<{name}>"), text)
    sys.modules[name] = module  # numba imports it by name when it loads machine code
    jit = njit(
        module.signature,
        cache=file is not None,
        nogil=True,
        error_model="numpy",
        pipeline_class=NoAlias,
    )
    module.kernel = jit(module.kernel)  # type: ignore[attr-defined]
    return module.kernel


_MAKERS = {"numba": _compiled, "python": _interpreted}


def _module(name: str, file: str, text: str) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = file
    exec(compile(text, file, "exec"), module.__dict__)
    return module


def _on_disk(text: str) -> Path | None:
    """The file of a kernel, with this text in it; None where there is no place for files."""
    try:
        directory = cache_directory()
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / f"zyg_kernel_{_digest(text)}.py"
        if not (file.exists() and file.read_bytes() == text.encode()):
            with tempfile.NamedTemporaryFile(dir=directory, delete=False) as part:
                part.write(text.encode())
            os.replace(part.name, file)
    except (OSError, RuntimeError):  # RuntimeError: nobody knows where home is
        return None
    return file


def cache_directory() -> Path:
    """Where compiled kernels are kept: ZYG_CACHE_DIR, else zyg's place in the user's cache."""
    if own := os.environ.get("ZYG_CACHE_DIR"):
        return Path(own)
    place = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(place or Path.home() / ".cache") / "zyg"


def _digest(text: str) -> str:
    return hashlib.sha256(_toolchain() + text.encode()).hexdigest()[:32]


@cache
def _toolchain() -> bytes:
    """What else the machine code depends on; numba itself looks at Python and the processor."""
    import llvmlite  # type: ignore[import-untyped]
    import numba

    here = Path(__file__).parent
    files = [file for pattern in _OWN_MODULES for file in sorted(here.glob(pattern))]
    own = b"".join(file.read_bytes() for file in files)
    return f"{numba.__version__} {llvmlite.__version__} ".encode() + own
