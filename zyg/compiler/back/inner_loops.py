"""NumPy's inner loops over rows and matrices, and its sorting: see `libraries`, `routines`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zyg.compiler import libraries
from zyg.compiler.ir import Routine, element_of, type_of

NAMES = {*libraries.LOOPS, *libraries.SORTS}
_SIZES = {"d": 8, "D": 16, "i": 8}  # bytes; ints are the lower halves of our own
_TEXTS = {  # of Python for loops that are functions of NumPy's
    **{name: f"np.linalg.{name}({{0}})" for name in ("det", "inv", "slogdet")},
    "solve": "np.linalg.solve({0}, {1})", "cholesky_lo": "np.linalg.cholesky({0})",
    "cholesky_up": "np.linalg.cholesky({0}, upper=True)", "eigh_lo": "np.linalg.eigh({0})",
    "eigh_up": 'np.linalg.eigh({0}, "U")', "eigvalsh_lo": "np.linalg.eigvalsh({0})",
    "eigvalsh_up": 'np.linalg.eigvalsh({0}, "U")', "svd": "np.linalg.svdvals({0})",
    "svd_s": "np.linalg.svd({0}, full_matrices=False)", "svd_f": "np.linalg.svd({0})",
}  # fmt: skip


def printed(text: Any, op: Routine) -> None:
    """Print a call, into the text of a function."""
    if op.name in libraries.SORTS:
        _sorted(text, op)
        return
    m, (loop, data) = text.m, libraries.loop_symbols(op.name)
    row = libraries.LOOPS[op.name]
    numbers = [not axes for axes in row.axes[: row.inputs]]
    types = [type_of(x) for x in op.args[1 + len(row.names) :]]
    assert [x == "float" for x in types[: row.inputs]] == numbers, types  # LLVM takes any
    name = f"@{loop}_of_rows"
    declared = f"declare void @{loop}(ptr, ptr, ptr, ptr)", f"@{data} = external global i8"
    m.declared.update(dict.fromkeys((*declared, _function(name, loop, data, op.name))))
    m.line(f"call void {name}({', '.join(text.typed(x, type_of(x)) for x in op.args)})")


def _function(name: str, loop: str, data: str, which: str) -> str:
    """One of `routines`, which puts down what the loop takes: addresses, extents, strides."""
    row = libraries.LOOPS[which]
    lines, outer, inner, given, operands = list[str](), list[str](), list[str](), list[str](), []
    for k, (axes, element) in enumerate(zip(row.axes, row.elements, strict=True)):
        if not axes and k < row.inputs:
            lines += [f"  %at_{k} = alloca double", f"  store double %x_{k}, ptr %at_{k}"]
            given.append(f"double %x_{k}")
            operands.append(f"ptr %at_{k}")
            outer.append("i64 0")
            continue
        given.append(f"ptr %x_{k}")
        operands.append(f"ptr %x_{k}")
        steps = [str(_SIZES[element])]
        for j, n in enumerate(reversed(axes)):
            lines.append(f"  %step_{k}_{j} = mul i64 {steps[0]}, %{n}")
            steps.insert(0, f"%step_{k}_{j}")
        outer.append(f"i64 {steps[0]}")
        inner += [f"i64 {x}" for x in steps[1:]]
    counts = [f"i64 %{x}" for x in ("rows", *row.names)]
    taken = {"operands": operands, "extents": counts, "strides": outer + inner}
    for to, found in taken.items():
        lines.append(f"  %{to} = alloca [{len(found)} x i64]")
        for k, x in enumerate(found):
            lines += [f"  %{to}_{k} = getelementptr i64, ptr %{to}, i64 {k}",
                      f"  store {x}, ptr %{to}_{k}"]  # fmt: skip
    return "\n".join([
        f"define internal void {name}({', '.join(counts + given)}) noinline nounwind {{", *lines,
        f"  call void @{loop}(ptr %operands, ptr %extents, ptr %strides, ptr @{data})",
        "  ret void", "}",
    ])  # fmt: skip


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
    if libraries.LOOPS[name].module == libraries.LINALG:
        yield _matrix_line(name, args)
        return
    rows, n, m, a, factor, y = args
    of = name.split()[0]
    elements = libraries.LOOPS[name].elements
    a_complex, y_complex = (".view(complex)" * (x == "D") for x in (elements[0], elements[-1]))
    whole = ', norm="forward"' * (of in ("ifft", "irfft"))
    extent = n if of.startswith("rfft") else m
    made = f"np.fft.{of}({a}{a_complex}.reshape({rows}, {n}), {extent}{whole})"
    yield f"{y}{y_complex}.reshape({rows}, {m})[:] = {made} * ({factor})"


def _matrix_line(name: str, args: Sequence[str]) -> str:
    """One of a loop over stacks of matrices."""
    row = libraries.LOOPS[name]
    known, first = dict(zip(row.names, args[1:], strict=False)), 1 + len(row.names)
    views = list[str]()
    for x, element, axes in zip(args[first:], row.elements, row.axes, strict=True):
        whole = f"{x}{'.view(complex)' * (element == 'D')}"
        is_number = not axes and len(views) < row.inputs
        shape = ", ".join([args[0], *(known[n] for n in axes)])
        views.append(x if is_number else f"{whole}.reshape({shape})")
    given, found = views[: row.inputs], [f"{x}[:]" for x in views[row.inputs :]]
    text = _TEXTS.get(row.ufunc, f"np.linalg._umath_linalg.{row.ufunc}({', '.join(given)})")
    return f"{', '.join(found)} = {text.format(*given)}"


def _sorting_lines(name: str, n: str, a: str, first: str, *rest: str) -> Iterator[str]:
    row = f"{a}[{first} : {first} + {n}]"
    if name == "sort":
        yield f"{row}.sort()"
        return
    order, start = rest
    stable = "kind='stable'" * name.endswith("stable")
    yield f"{order}[{start} : {start} + {n}] = {row}.argsort({stable})"
