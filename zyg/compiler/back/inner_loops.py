"""Fourier transforms of rows, and sorting, by NumPy's functions: see `libraries`, `routines`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zyg.compiler import libraries
from zyg.compiler.ir import Routine, element_of, type_of

NAMES = {*libraries.LOOPS, *libraries.SORTS}
_LOOP = """
define internal void @{name}(i64 %rows, i64 %n, i64 %m, ptr %a, double %factor, ptr %y) noinline nounwind {{
  %operands = alloca [3 x ptr]
  %extents = alloca [3 x i64]
  %strides = alloca [5 x i64]
  %number = alloca double
  store double %factor, ptr %number
  %a_row = mul i64 %n, {a}
  %y_row = mul i64 %m, {y}
{stores}
  call void @{loop}(ptr %operands, ptr %extents, ptr %strides, ptr @{data})
  ret void
}}"""  # noqa: E501
_STORED = {
    "operands": "ptr %a, ptr %number, ptr %y",
    "extents": "i64 %rows, i64 %n, i64 %m",
    "strides": "i64 %a_row, i64 0, i64 %y_row, i64 {a}, i64 {y}",  # of rows; of numbers
}
_SIZES = {"d": 8, "D": 16}


def printed(text: Any, op: Routine) -> None:
    """Print a call, into the text of a function."""
    if op.name in libraries.SORTS:
        _sorted(text, op)
        return
    m, (loop, data) = text.m, libraries.loop_symbols(op.name)
    a, y = (_SIZES[x] for x in libraries.LOOPS[op.name][2][::2])
    name = f"{loop}_of_rows"
    stores = [
        f"  %{to}_{k} = getelementptr i64, ptr %{to}, i64 {k}\n  store {x}, ptr %{to}_{k}"
        for to, row in _STORED.items()
        for k, x in enumerate(row.format(a=a, y=y).split(", "))
    ]
    made = _LOOP.format(name=name, loop=loop, data=data, a=a, y=y, stores="\n".join(stores))
    declared = f"declare void @{loop}(ptr, ptr, ptr, ptr)", f"@{data} = external global i8", made
    m.declared.update(dict.fromkeys(declared))
    m.line(f"call void @{name}({', '.join(text.typed(x, type_of(x)) for x in op.args)})")


def _sorted(text: Any, op: Routine) -> None:
    n, *rows = op.args
    symbol = libraries.sort_symbol(op.name, element_of(type_of(rows[0])))
    places = [text.place(x, first) for x, first in zip(rows[::2], rows[1::2], strict=True)]
    given = ", ".join([*places, text.typed(n, "int"), "ptr null"])
    text.m.declared[
        f"declare i32 @{symbol}({', '.join(x.split()[0] for x in given.split(', '))})"
    ] = None
    failed = text.m.value(f"call i32 @{symbol}({given})")
    text.known[op.outs[0]] = text.m.value(f"icmp eq i32 {failed}, 0")


def lines(name: str, args: Sequence[str], outs: Sequence[str]) -> Iterator[str]:
    """The same in Python, by NumPy's functions."""
    if name in libraries.SORTS:
        yield from _sorting_lines(name, *args)
        yield f"{outs[0]} = True"
        return
    rows, n, m, a, factor, y = args
    of = name.split()[0]
    a_complex, y_complex = (".view(complex)" * (x == "D") for x in libraries.LOOPS[name][2][::2])
    whole = ', norm="forward"' * (of in ("ifft", "irfft"))
    extent = n if of.startswith("rfft") else m
    made = f"np.fft.{of}({a}{a_complex}.reshape({rows}, {n}), {extent}{whole})"
    yield f"{y}{y_complex}.reshape({rows}, {m})[:] = {made} * ({factor})"


def _sorting_lines(name: str, n: str, a: str, first: str, *rest: str) -> Iterator[str]:
    row = f"{a}[{first} : {first} + {n}]"
    if name == "sort":
        yield f"{row}.sort()"
        return
    order, start = rest
    stable = "kind='stable'" * name.endswith("stable")
    yield f"{order}[{start} : {start} + {n}] = {row}.argsort({stable})"
