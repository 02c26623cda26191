"""What a kernel is made for: its loops, and how its operands and results lie in memory.

The text for LLVM is in `vector_loops`; the one for plain Python is here. Of the results that are
checked, the largest bits are kept: beyond those of the largest number, some element is infinite or
NaN, and the kernel returns 1. Sums are added up in the type of the result, in the order of the
loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from zyg.compiler.back.python_text import Text, indented

TILE = 1024  # elements: they stay in the first cache


class Operand(NamedTuple):
    """An input of the function: its type there, and how it lies in memory."""

    type: str  # "float", "int", "uint" or "bool"
    dtype: str = ""  # of the elements; that of a plain number is the type's
    pattern: str = ""  # per loop, F: element by element, B: broadcast; empty for a plain number
    packed: bool = False  # whether the innermost loop steps from element to neighbour
    shared: int | None = None  # which result is written over it


class Result(NamedTuple):
    """An output of the function, and how its array lies in memory."""

    type: str
    dtype: str
    pattern: str
    packed: bool = True
    summed: bool = False  # over the loops that are B
    checked: bool = False  # whether the kernel says if all elements are finite
    streamed: bool = False  # stored past the cache, where that can be done; rows are lines of it


class Loops:
    """The loops of one kernel, and the types of its parameters.

    The parameters are: from where to where the loop `chunked` runs, the lengths of the others,
    the operands, numbers first, and the results.
    """

    def __init__(
        self,
        dtype: str,
        operands: Sequence[Operand],
        results: Sequence[Result],
        ndim: int,
        chunked: int,
    ) -> None:
        self.dtype, self.ndim, self.chunked = dtype, ndim, chunked
        self.short = False  # whether several rows may be taken as one, where that can be done
        self.turned: list[str] = []  # operands to be turned, where that can be done
        self.operands, self.results = operands, results
        self.tiled = [k for k, r in enumerate(results) if r.summed and r.pattern[-1] == "B"]

    def in_python(self, body: Text) -> str:
        """The text of the kernel, around the statements of the function, for plain Python."""
        lines = [f"x{k} = {self._loaded(k, operand)}" for k, operand in enumerate(self.operands)]
        lines += body.lines
        for k, (r, y) in enumerate(zip(self.results, body.results, strict=True)):
            lines.append(f"r{k}[{_index(r.pattern)}] {'+=' if r.summed else '='} {y}")
            if r.checked:
                lines.append(f"worst = max(worst, bits({y}))")
        for d in reversed(range(self.ndim)):
            span = "lo, hi" if d == self.chunked else f"n{d}"
            lines = [f"for i{d} in range({span}):", *indented(lines)]
        lines = ["worst = bits(T(0.0))", *lines, "return int(worst >= bits(T(1e999)))"]
        names = ", ".join(name for name, _ in self.parameters())
        return "\n".join([f"def kernel({names}):", *indented(lines)])

    def patterns(self, taken: Sequence[int]) -> list[str]:
        """Those of the arrays: of operands in this order, and of the results."""
        operands = [self.operands[k].pattern for k in taken]
        return [p for p in operands if p] + [r.pattern for r in self.results]

    def _loaded(self, k: int, operand: Operand) -> str:
        array = f"a{k}" if operand.shared is None else f"r{operand.shared}"
        x = f"{array}[{_index(operand.pattern)}]" if operand.pattern else array
        convert = {"float": "T({})", "int": "int64({})"}.get(operand.type, "{}")
        return convert.format(x)

    def parameters(self) -> list[tuple[str, str]]:
        axes = ", ".join(":" * self.ndim)
        parameters = [("lo", "int64"), ("hi", "int64")]
        parameters += [(f"n{d}", "int64") for d in range(self.ndim) if d != self.chunked]
        for k, operand in sorted(enumerate(self.operands), key=lambda pair: pair[1].pattern != ""):
            if operand.shared is None:
                plain = {"float": self.dtype, "bool": "boolean"}.get(operand.type, "int64")
                array = f"{operand.dtype}[{axes}]"
                parameters.append((f"a{k}", array if operand.pattern else plain))
        return parameters + [(f"r{k}", f"{r.dtype}[{axes}]") for k, r in enumerate(self.results)]


def _index(pattern: str) -> str:
    return ", ".join(f"i{d}" if c == "F" else "0" for d, c in enumerate(pattern))
