"""Which types values have in LLVM's text, and the entry of C, through which a program is called.

``i32 @kernel(ptr arguments, ptr results, ptr arena)`` takes and gives rows of words of 8 bytes: a
double, an int, a bool as an int, the address of a buffer; a float32 in the first half. It returns
0, or why it ended early (see `arena`). Its results live in the arena until it is called once more
with the arena alone, which releases that. Buffers among the arguments share no memory with each
other, or nothing is written to them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zyg.compiler.atoms import Type, is_buffer, type_of

if TYPE_CHECKING:
    from zyg.compiler.ir import Program

TYPES = {"float": "double", "float32": "float", "int": "i64", "uint": "i64", "bool": "i1"}


_PLACE = re.compile(r"ptr (%[\w.]+)(?:\[([\w%.]+)\]|\+?((?<=\+)[\w%.]+|-\d+))$")
_BRANCH = re.compile(r"br (icmp [^,]+, [^,]+)")


def spelled_out(text: str) -> str:
    """LLVM text that is written by hand. In it ``ptr %x[k]`` is the k-th word from an address on,
    and ``ptr %x+n`` what is so many bytes behind it, or before; a branch may be by a comparison.
    """
    lines = list[str]()
    for k, line in enumerate(text.split("\n")):
        if found := _PLACE.search(line):
            type, n = ("i64", found[2]) if found[2] else ("i8", found[3])
            lines.append(f"  %place{k} = getelementptr {type}, ptr {found[1]}, i64 {n}")
            line = line.replace(found[0], f"ptr %place{k}")
        elif found := _BRANCH.search(line):
            lines.append(f"  %is{k} = {found[1]}")
            line = line.replace(found[1], f"i1 %is{k}")
        lines.append(line)
    return "\n".join(lines)


def type_in_text(kind: Type) -> str:
    return "ptr" if is_buffer(kind) else TYPES[kind]


def type_in_memory(kind: Type) -> str:
    """The type of an element of a buffer."""
    return "i8" if kind == "bool" else type_in_text(kind)


def result_type(program: Program) -> str:
    """The type of what a program's function returns: its status, and its outputs."""
    return f"{{ {', '.join(['i32', *(type_in_text(type_of(x)) for x in program.outputs)])} }}"


def entry_lines(program: Program, name: str) -> list[str]:
    """The function that is called from outside."""
    lines, given = loaded([x.type for x in program.inputs], "%arguments")
    made = result_type(program)
    lines.append(f"  %made = call {made} {name}({', '.join(['ptr %arena, i64 %depth', *given])})")
    for k, out in enumerate(program.outputs):
        type, y = type_in_text(type_of(out)), f"%y{k}"
        lines.append(f"  {y} = extractvalue {made} %made, {k + 1}")
        if type == "i1":
            lines.append(f"  %z{k} = zext i1 {y} to i64")
            type, y = "i64", f"%z{k}"
        lines.append(f"  store {type} {y}, ptr %results[{k}]")
    body = "\n".join(lines)
    text = f"""
define i32 @kernel(ptr %arguments, ptr %results, ptr %arena) nounwind {{
  br icmp eq ptr %arguments, null, label %release, label %run
release:
  call void @zyg_release(ptr %arena)
  ret i32 0
run:
  %depth = load i64, ptr %arena[4]
  call void @zyg_open(ptr %arena)
{body}
  %status = extractvalue {made} %made, 0
  ret i32 %status
}}"""
    return [spelled_out(text)]


def loaded(kinds: Sequence[Type], row: str, first: int = 0) -> tuple[list[str], list[str]]:
    """Lines that load values of these types from words, the first of which has a number; and the
    values, with their types.
    """
    lines, given = list[str](), list[str]()
    for k, type in enumerate(map(type_in_text, kinds), first):
        lines.append(f"  %w{k} = load {'i64' if type == 'i1' else type}, ptr {row}[{k}]")
        if type == "i1":
            lines.append(f"  %x{k} = trunc i64 %w{k} to i1")
        given.append(f"{type} %{'x' if type == 'i1' else 'w'}{k}")
    return lines, given
