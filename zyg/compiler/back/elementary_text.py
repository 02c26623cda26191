"""LLVM text of the elementary functions, for one number and for a register of them.

A text declares them. A call of the one says that there is the other, and LLVM's loop vectoriser
takes it where a loop runs in registers. Both have the same bits: so what a loop computes does not
depend on the place of an element, nor on whether the loop could be vectorised. What is called after
the passes is defined then, by text that has gone through the same passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from zyg.compiler.back.llvm_scalar import Scalars
from zyg.compiler.back.simd import BITS, Lane, Lanes
from zyg.compiler.back.target import vector_bytes
from zyg.compiler.back.vector_elementary import VECTORISED, elementary

_HOW = "nounwind willreturn memory(none)"
_TYPES = {str(bits): type for type, bits in BITS.items() if type in ("double", "float")}
_SYMBOL = re.compile(r"zyg_(\w+?)(32|64)(?:_x?(\d+)(_masked)?)?$")


def symbol(name: str, type: str, declared: dict[str, None]) -> str | None:
    """The name of a function of floats of a type, which is declared; None if it is not ours."""
    if name not in VECTORISED:
        return None
    bits = BITS[type]
    function, width = f"zyg_{name}{bits}", 8 * vector_bytes() // bits
    wide, v = f"{function}_{width}", "v" * _count(name)
    kinds = ("N", wide), ("M", f"{wide}_masked")  # of all, of some, which are no matter
    row = ",".join(f"_ZGV_LLVM_{k}{width}{v}_{function}({x})" for k, x in kinds)
    declared[f'{_head("declare", function)} "vector-function-abi-variant"="{row}"'] = None
    for _, called in kinds:
        declared[_head("declare", called)] = None
    return function


def of_lanes(name: str, type: str, width: int, declared: dict[str, None]) -> str:
    """The name of a function of so many lanes of a type, whatever the registers; declared."""
    symbol = f"zyg_{name}{BITS[type]}_x{width}"
    declared[_head("declare", symbol)] = None
    return symbol


def used(declared: dict[str, None]) -> str:
    """The line that keeps the functions until the loops are there that call those of vectors."""
    names = [x[0] for line in declared if (x := re.search(r"@zyg_\w+", line)) and _HOW in line]
    row = ", ".join(f"ptr {name}" for name in names)
    kind = f"appending global [{len(names)} x ptr] [{row}]"
    return f'@llvm.compiler.used = {kind}, section "llvm.metadata"' if names else ""


def is_ours(symbol: str) -> bool:
    """Whether a function with this name is one of these."""
    return (found := _SYMBOL.match(symbol)) is not None and found[1] in VECTORISED


def is_called(symbol: str) -> bool:
    """Whether a text calls it: it is one of a number or of lanes, not of a register."""
    return is_ours(symbol) and (_parts(symbol)[2] is None or "_x" in symbol)


def definition(symbol: str) -> str:
    """The text that defines a function: one of a register is to be inlined."""
    name, bits, width, _ = _parts(symbol)
    declared: dict[str, None] = {}
    m = Lanes(int(width), 1) if width else Scalars(declared)
    m.declared = declared
    m.start("entry")
    inputs = [f"%x{k}" for k in range(_count(name))]
    function: Callable[..., Any] = elementary(m)[f"{name}{bits}"]
    y = function(*(Lane(m, _TYPES[bits], (x,)) for x in inputs))
    m.line(f"ret {m.vector(_TYPES[bits])} {y.names[0]}")
    how = "alwaysinline" if width else "noinline"
    return "\n".join([*declared, f"{_head('define', symbol)} {how} {{", *m.lines, "}", ""])


def _head(kind: str, symbol: str) -> str:
    name, bits, width, masked = _parts(symbol)
    type = _TYPES[bits]
    v = f"<{width} x {type}>" if width else type
    parameters = [f"{v} %x{k}" for k in range(_count(name))]
    parameters += [f"<{width} x i1> %mask"] if masked else []
    return f"{kind} {v} @{symbol}({', '.join(parameters)}) {_HOW}"


def _parts(symbol: str) -> tuple[str, str, str | None, str | None]:
    found = _SYMBOL.match(symbol)
    assert found, symbol
    name, bits, width, masked = found.groups()
    return name, bits, width, masked


def _count(name: str) -> int:
    return 2 if name == "power" else 1
