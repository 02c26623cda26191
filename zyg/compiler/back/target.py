"""The processor that machine code is made for, as LLVM names it."""

from __future__ import annotations

from functools import cache


@cache
def features() -> dict[str, bool]:
    """What the processor can do, by LLVM's names; nothing where it is not of Intel's kind."""
    import llvmlite.binding as llvm  # type: ignore[import-untyped]

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
