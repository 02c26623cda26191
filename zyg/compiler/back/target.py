"""The processor that machine code is made for, as LLVM names it."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import cache

_TELLING = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")


@cache
def processor() -> tuple[str, ...]:
    """All that machine code depends on of it: as Linux tells of one of Intel's kind, or as LLVM."""
    with suppress(OSError), open("/proc/cpuinfo") as file:
        lines = file.read(1 << 14).partition("\n\n")[0].splitlines()
        told = [line for line in lines if line.partition("\t")[0] in _TELLING]
        if len(told) == len(_TELLING):
            return *told, str(sys.maxsize)
    import llvmlite.binding as llvm  # type: ignore[import-untyped]

    told = [llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    return llvm.get_process_triple(), *told


@cache
def features() -> dict[str, bool]:
    """What the processor can do, by LLVM's names; nothing where it is not of Intel's kind."""
    import llvmlite.binding as llvm

    return dict(llvm.get_host_cpu_features()) if is_x86() else {}


@cache
def is_x86() -> bool:
    import llvmlite.binding as llvm

    triple: str = llvm.get_process_triple()
    return triple.startswith(("x86_64", "i686", "i386"))


def fuses() -> bool:
    """Whether a product and a sum can be one instruction."""
    return not is_x86() or bool(features().get("fma"))


def vector_bytes() -> int:
    """The size of the largest registers."""
    found = features()
    if all(found.get(name) for name in ("avx512f", "avx512dq", "avx512vl", "avx512bw")):
        return 64
    return 32 if found.get("avx") else 16
