"""The text of a kernel: loops over arrays around the statements of a scalar function.

Per operand, the row that the innermost loop runs through is taken as far out as it stays the same,
and a number that stays the same is loaded there. All loads stand at the top of the innermost body
and all stores at its end, so that LLVM turns the branches between them into selections and the loop
into vector instructions. The text is the same for numba and for Python.

Of the results that are checked, the largest bits are kept: beyond those of the largest number, some
element is infinite or NaN, and the kernel returns 1.

A sum along the innermost loop is made of tiles: their values go to a small array, which a function
of its own adds up in many lanes, in float64. A sum along other loops is added row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from zyg.compiler.back.emit import Text

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
    """The text of one kernel, and the types of its parameters.

    The parameters are: from where to where the loop `chunked` runs, the lengths of the others,
    the operands, numbers first, the results, and one tile for each sum along the innermost loop.
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
        self.tiles = [self._stored(results[k].type) for k in self.tiled]
        self.before: list[list[str]] = [[] for _ in range(ndim)]  # statements outside each loop
        self.rows: list[str] = []
        self.loads: list[str] = []

    def text(self, body: Text) -> str:
        for k, operand in enumerate(self.operands):
            self._operand(k, operand)
        pairs = zip(self.results, body.results, strict=True)
        stores = [self._result(k, result, value) for k, (result, value) in enumerate(pairs)]
        names, types = zip(*self.parameters(), strict=True)
        signature = f'signature = "int64({", ".join(types)})"'
        values = [x for r, x in zip(self.results, body.results, strict=True) if r.checked]
        checks = [f"worst = max(worst, bits({x}))" for x in values]
        lines = self._nest([*self.loads, *body.lines, *stores, *checks])
        if checks:
            lines = ["worst = bits(T(0.0))", *lines, "return 1 if worst >= bits(T(1e999)) else 0"]
        else:
            lines.append("return 0")
        return "\n".join([signature, f"def kernel({', '.join(names)}):", *_indented(lines)])

    def patterns(self, taken: Sequence[int]) -> list[str]:
        """Those of the arrays: of operands in this order, and of the results."""
        operands = [self.operands[k].pattern for k in taken]
        return [p for p in operands if p] + [r.pattern for r in self.results]

    def _nest(self, innermost: list[str]) -> list[str]:
        last = self.ndim - 1
        n = "hi - lo" if self.chunked == last else f"n{last}"
        if self.tiled:
            lines = [f"for t in range(0, {n}, {TILE}):", f"    m = min({n} - t, {TILE})"]
            lines += [f"    {row}_tile = {row}[t:t + m]" for row in self.rows]
            lines += ["    for j in range(m):", *_indented(innermost, 2)]
            for k in self.tiled:
                place = f"r{k}[{self._index(self.results[k].pattern, '0')}]"
                lines.append(f"    {place} = total({place}, s{k}, m)")
        else:
            lines = [f"for j in range({n}):", *_indented(innermost)]
        lines = self.before[last] + lines
        for d in reversed(range(last)):
            span = "lo, hi" if d == self.chunked else f"n{d}"
            lines = [*self.before[d], f"for i{d} in range({span}):", *_indented(lines)]
        return lines

    def _operand(self, k: int, operand: Operand) -> None:
        convert = {"float": "T({})", "int": "int64({})", "uint": "{}", "bool": "{}"}[operand.type]
        if operand.dtype == self._stored(operand.type):
            convert = "{}"
        if not operand.pattern:
            self.before[0].append(f"x{k} = {convert.format(f'a{k}')}")
        elif operand.pattern[-1] == "B":
            number = f"a{k}[{self._index(operand.pattern, '0')}]"
            self.before[self._level(operand.pattern)].append(f"x{k} = {convert.format(number)}")
        else:
            row = f"r{operand.shared}_row" if operand.shared is not None else f"a{k}_row"
            if operand.shared is None:
                self._row(f"a{k}", operand.pattern, operand.packed)
            self.loads.append(f"x{k} = {convert.format(self._element(row))}")

    def _result(self, k: int, result: Result, expression: str) -> str:
        if k in self.tiled:
            return f"s{k}[j] = {expression}"
        self._row(f"r{k}", result.pattern, result.packed)
        return f"{self._element(f'r{k}_row')} {'+=' if result.summed else '='} {expression}"

    def _row(self, array: str, pattern: str, packed: bool) -> None:
        span = "lo:hi" if self.chunked == self.ndim - 1 else ":"
        row = f"{array}[{self._index(pattern, span)}]"
        row = f"contiguous({row})" if packed else row
        self.before[self._level(pattern)].append(f"{array}_row = {row}")
        self.rows.append(f"{array}_row")

    def _element(self, row: str) -> str:
        return f"{row}_tile[j]" if self.tiled else f"{row}[j]"

    def _index(self, pattern: str, last: str) -> str:
        outer = [f"i{d}" if c == "F" else "0" for d, c in enumerate(pattern[:-1])]
        return ", ".join([*outer, last])

    def _level(self, pattern: str) -> int:
        """Inside how many loops a row or a number of this pattern is to be taken."""
        return 1 + pattern[:-1].rfind("F")

    def _stored(self, type: str) -> str:
        return self.dtype if type == "float" else "int64"

    def parameters(self) -> list[tuple[str, str]]:
        axes = ", ".join(":" * self.ndim)
        parameters = [("lo", "int64"), ("hi", "int64")]
        parameters += [(f"n{d}", "int64") for d in range(self.ndim) if d != self.chunked]
        for k, operand in sorted(enumerate(self.operands), key=lambda pair: pair[1].pattern != ""):
            if operand.shared is None:
                plain = "bool" if operand.type == "bool" else self._stored(operand.type)
                array = f"{operand.dtype}[{axes}]"
                parameters.append((f"a{k}", array if operand.pattern else plain))
        parameters += [(f"r{k}", f"{r.dtype}[{axes}]") for k, r in enumerate(self.results)]
        parameters += [(f"s{k}", f"{self._stored(self.results[k].type)}[::1]") for k in self.tiled]
        return [(name, type.replace("bool", "boolean")) for name, type in parameters]


def _indented(lines: Sequence[str], by: int = 1) -> list[str]:
    return ["    " * by + line for line in lines]
