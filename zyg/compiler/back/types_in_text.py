"""Which types of LLVM's the values of a program have."""

from __future__ import annotations

from zyg.compiler.ir import Program, Type, is_buffer, type_of

TYPES = {"float": "double", "float32": "float", "int": "i64", "uint": "i64", "bool": "i1"}


def type_in_text(kind: Type) -> str:
    return "ptr" if is_buffer(kind) else TYPES[kind]


def type_in_memory(kind: Type) -> str:
    """The type of an element of a buffer."""
    return "i8" if kind == "bool" else type_in_text(kind)


def result_type(program: Program) -> str:
    """The type of what a program's function returns: its status, and its outputs."""
    return f"{{ {', '.join(['i32', *(type_in_text(type_of(x)) for x in program.outputs)])} }}"
