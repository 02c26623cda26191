"""What a kernel becomes on a processor, found without one: its PTX, its registers, its spills.

numba compiles to PTX without a driver, save that it asks the current device for its architecture
when a kernel calls another function; here it is told. Registers are allotted by ptxas, which comes
with the CUDA toolkit (``nvcc``); the driver does the same when it loads a kernel.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

HOPPER = (9, 0)

_telling = threading.Lock()


class Resources(NamedTuple):
    """What a thread of a kernel takes: registers, bytes of the stack, bytes spilled to it."""

    registers: int
    stack: int
    spilled: int


def ptx_of(text: str, capability: tuple[int, int] = HOPPER) -> str:
    """The PTX of the text of a kernel. Raises what numba raises where it refuses the text."""
    from numba import cuda

    module = executed(text)
    with _capability(capability):
        ptx, _ = cuda.compile_ptx(module["kernel"], module["signature"], cc=capability)
    return str(ptx)


def entry_of(ptx: str) -> str:
    """The name of the kernel in its PTX."""
    found = re.search(r"\.entry\s+([\w$]+)", ptx)
    assert found is not None
    return found[1]


def executed(text: str) -> dict[str, Any]:
    """The names that a text defines."""
    module: dict[str, Any] = {"__name__": "zyg_cuda_kernel"}
    exec(compile(text, "<zyg: a kernel on the GPU>", "exec"), module)
    return module


@contextmanager
def _capability(capability: tuple[int, int]) -> Iterator[None]:
    from numba.cuda import dispatcher

    with _telling:
        asks = dispatcher.get_current_device
        dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
        try:
            yield
        finally:
            dispatcher.get_current_device = asks


def ptxas() -> str | None:
    """Where ptxas is: from a wheel beside numba-cuda, or the machine's; None if nowhere."""
    wheels = [Path(p) / "nvidia" for p in sys.path]
    found = [file for wheel in wheels for file in wheel.glob("*/bin/ptxas")]
    return str(found[0]) if found else shutil.which("ptxas")


def resources(ptx: str, capability: tuple[int, int] = HOPPER) -> Resources:
    """What a kernel takes, as ptxas says. Raises RuntimeError with the words of ptxas.

    A ptxas that is older than the compiler refuses the version of its PTX, not what is in it.
    """
    tool = ptxas()
    if tool is None:
        raise RuntimeError("there is no ptxas: pip install nvidia-cuda-nvcc, or the CUDA toolkit")
    said = _run(tool, ptx, capability)
    if newest := re.search(r"Unsupported .version .*current version is '([\d.]+)'", said):
        said = _run(tool, re.sub(r"\.version [\d.]+", f".version {newest[1]}", ptx), capability)
    registers = re.search(r"Used (\d+) registers", said)
    frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", said)
    if registers is None or frame is None:
        raise RuntimeError(f"ptxas: {said}")
    return Resources(int(registers[1]), int(frame[1]), int(frame[2]))


def _run(tool: str, ptx: str, capability: tuple[int, int]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.ptx"
        file.write_text(ptx)
        major, minor = capability
        command = [tool, f"-arch=sm_{major}{minor}", "-v", str(file), "-o", str(file) + ".cubin"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr
