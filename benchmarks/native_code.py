"""C++ for comparison, compiled by the machine's own compiler where there is one."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

COMPILERS = "c++", "g++", "clang++"


@functools.cache
def library(source: str) -> ctypes.CDLL | None:
    """The functions of a C++ text, which declares them ``extern "C"``; None without a compiler."""
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        text, made = Path(folder) / "code.cpp", Path(folder) / "code.so"
        text.write_text(source)
        flags = ["-O3", "-march=native", "-fPIC", "-shared", "-o"]
        subprocess.run([compiler, *flags, made, text], check=True, capture_output=True)
        return ctypes.CDLL(str(made))
