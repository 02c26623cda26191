"""LLVM text of narrow ints as ints of 64 bits, and back; by what prints an entry."""

from __future__ import annotations

from typing import Any

from zyg.compiler.kinds import dtype_of


def widened(entry: Any, element: str, at: str) -> str:
    """An int in memory."""
    type, x = _type(element), entry.m.value(f"load {_type(element)}, ptr {at}")
    if type == "i64":
        entry.want(entry.m.value(f"icmp sge i64 {x}, 0"))
        return str(x)
    how = "sext" if dtype_of(element).kind == "i" else "zext"
    return str(entry.m.value(f"{how} {type} {x} to i64"))


def _type(element: str) -> str:
    return f"i{8 * dtype_of(element).itemsize}"


def copied(entry: Any, element: str, data: str, size: str) -> str:
    """A copy of an array of so many bytes."""
    m = entry.m
    count = m.value(f"udiv i64 {size}, {dtype_of(element).itemsize}")
    room = m.value(f"mul i64 {count}, 8")
    copy: str = m.value(f"call ptr @zyg_allocate(ptr %arena, i64 {room})")
    entry.want(m.value(f"icmp ne ptr {copy}, null"))

    def one(k: str) -> None:
        x = widened(entry, element, _at(m, element, data, k))
        m.line(f"store i64 {x}, ptr {_at(m, 'uint64', copy, k)}")

    m.each(count, one)
    return copy


def narrowed(entry: Any, element: str, data: str, target: str, size: str) -> None:
    """Put ints into an array of so many bytes."""
    m, type = entry.m, _type(element)

    def one(k: str) -> None:
        x = m.value(f"load i64, ptr {_at(m, 'uint64', data, k)}")
        x = x if type == "i64" else m.value(f"trunc i64 {x} to {type}")
        m.line(f"store {type} {x}, ptr {_at(m, element, target, k)}")

    m.each(m.value(f"udiv i64 {size}, {dtype_of(element).itemsize}"), one)


def _at(m: Any, element: str, data: str, k: str) -> str:
    return str(m.value(f"getelementptr {_type(element)}, ptr {data}, i64 {k}"))
