"""LLVM text of narrow ints as ints of 64 bits, and back; by what prints an entry."""

from __future__ import annotations

from collections.abc import Callable
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

    _each(m, count, one)
    return copy


def narrowed(entry: Any, element: str, data: str, target: str, size: str) -> None:
    """Put ints into an array of so many bytes."""
    m, type = entry.m, _type(element)

    def one(k: str) -> None:
        x = m.value(f"load i64, ptr {_at(m, 'uint64', data, k)}")
        x = x if type == "i64" else m.value(f"trunc i64 {x} to {type}")
        m.line(f"store {type} {x}, ptr {_at(m, element, target, k)}")

    _each(m, m.value(f"udiv i64 {size}, {dtype_of(element).itemsize}"), one)


def _at(m: Any, element: str, data: str, k: str) -> str:
    return str(m.value(f"getelementptr {_type(element)}, ptr {data}, i64 {k}"))


def _each(m: Any, count: str, one: Callable[[str], None]) -> None:
    """Do something with each of so many places."""
    place, head, body, after = m.slot("i64"), m.name("b"), m.name("b"), m.name("b")
    m.line(f"store i64 0, ptr {place}")
    m.line(f"br label {head}")
    m.start(head[1:])
    k = m.value(f"load i64, ptr {place}")
    more = m.value(f"icmp ult i64 {k}, {count}")
    m.line(f"br i1 {more}, label {body}, label {after}")
    m.start(body[1:])
    one(k)
    m.line(f"store i64 {m.value(f'add i64 {k}, 1')}, ptr {place}")
    m.line(f"br label {head}")
    m.start(after[1:])
