"""LLVM text of the elementary functions, for one number and for a register of them.

A call of the one says that there is the other, and LLVM's loop vectoriser takes it where a loop
runs in registers. Both have the same bits: so what a loop computes does not depend on the place of
an element, nor on whether the loop could be vectorised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zyg.compiler.back.llvm_scalar import Scalars
from zyg.compiler.back.simd import BITS, Lane, Lanes
from zyg.compiler.back.target import vector_bytes
from zyg.compiler.back.vector_elementary import VECTORISED, elementary

_HOW = "nounwind willreturn memory(none)"


def symbol(name: str, type: str, declared: dict[str, None]) -> str | None:
    """The name of a function of floats of a type, which is defined; None if it is not ours."""
    if name not in VECTORISED:
        return None
    bits = BITS[type]
    function = f"zyg_{name}{bits}"
    if not any(f"@{function}(" in line for line in declared):
        width, count = 8 * vector_bytes() // bits, 2 if name == "power" else 1
        wide = f"{function}_{width}"
        kinds = ("N", wide), ("M", f"{wide}_masked")  # of all, of some, which are no matter
        row = ",".join(f"_ZGV_LLVM_{k}{width}{'v' * count}_{function}({x})" for k, x in kinds)
        variant = f'"vector-function-abi-variant"="{row}"'
        one = Scalars(declared)
        how = f"noinline {_HOW} {variant}"
        declared[_definition(f"{name}{bits}", function, one, type, count, how)] = None
        for (_, called), extra in zip(kinds, ("", f", <{width} x i1> %mask"), strict=True):
            many, how = Lanes(width, 1), f"alwaysinline {_HOW}"
            many.declared = declared
            declared[_definition(f"{name}{bits}", called, many, type, count, how, extra)] = None
    return function


def used(declared: dict[str, None]) -> str:
    """The line that keeps the functions until the loops are there that call those of vectors.

    Of one number too: of an argument that is the same in all calls LLVM would make a constant, and
    with one argument less the function would have none of vectors.
    """
    names = [
        line.partition("(")[0].split("@")[1]
        for line in declared
        if " alwaysinline " in line or "vector-function-abi-variant" in line
    ]
    row = ", ".join(f"ptr @{name}" for name in names)
    kind = f"appending global [{len(names)} x ptr] [{row}]"
    return f'@llvm.compiler.used = {kind}, section "llvm.metadata"' if names else ""


def _definition(
    name: str, symbol: str, m: Lanes, type: str, count: int, how: str, extra: str = ""
) -> str:
    m.start("entry")
    inputs = [f"%x{k}" for k in range(count)]
    function: Callable[..., Any] = elementary(m)[name]
    y = function(*(Lane(m, type, (x,)) for x in inputs))
    v = m.vector(type)
    m.line(f"ret {v} {y.names[0]}")
    parameters = ", ".join(f"{v} {x}" for x in inputs) + extra
    return "\n".join([f"define internal {v} @{symbol}({parameters}) {how} {{", *m.lines, "}"])
