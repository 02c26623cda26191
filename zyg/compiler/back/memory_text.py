"""LLVM text of buffers: where they are made, read and written."""

from __future__ import annotations

from typing import Any

from zyg.compiler.back import arena
from zyg.compiler.back.c_abi import type_in_memory
from zyg.compiler.back.metadata import TAGS
from zyg.compiler.back.regions import Regions
from zyg.compiler.ir import Alloc, Atom, Load, Store, Value, element_of, is_buffer, type_of

SHIFTS = {"float": 3, "float32": 2, "int": 3, "bool": 0}  # sizes of elements
_LARGEST = 2**63 - 1


class Memory(Regions):
    """Prints what a program does with its buffers."""

    module: Any
    outer: bool
    fresh_buffers: set[Value]
    said: dict[Load | Store, str]

    def demand(self, condition: str, why: str = "", status: str = "") -> None:
        """Go on where a condition is true."""
        raise NotImplementedError

    def alloc(self, op: Alloc) -> None:
        kind, m = element_of(op.out.type), self.m
        self.fresh_buffers.add(op.out)
        shift = 3 if is_buffer(kind) else SHIFTS[kind]
        bytes_ = f"i64 {self.atom(op.size)}"
        if not isinstance(op.size, Value):
            bytes_ = f"i64 {min(int(op.size) << shift, _LARGEST)}"
        elif shift:
            bytes_ = "i64 " + m.value(f"call i64 @llvm.ushl.sat.i64({bytes_}, i64 {shift})")
        if self.outer and op.out in self.module.placed:
            self.placed(op.out, bytes_)
        else:
            self.allocated(self.name(op.out), bytes_)
        if op.zeroed:
            of = f"ptr {self.known[op.out]}, i8 0, {bytes_}"
            m.line(f"call void @llvm.memset.p0.i64({of}, i1 false)")

    def allocated(self, out: str, bytes_: str) -> None:
        """Print a buffer of so many bytes."""
        self.m.line(f"{out} = call ptr @zyg_allocate(ptr %arena, {bytes_})")
        self.demand(self.m.value(f"icmp ne ptr {out}, null"), status=str(arena.NO_MEMORY))

    def placed(self, x: Value, bytes_: str) -> None:
        """Print a buffer that the caller brings, if it has that size."""
        m, k = self.m, self.module.placed.index(x)
        fits, (other, after) = m.block, (self.fresh(), self.fresh())
        same = m.value(f"icmp eq {bytes_}, %room{k}")
        m.line(f"br i1 {same}, label {after}, label {other}, !prof !0")
        self.start(other)
        self.allocated(made := m.name(), bytes_)
        m.line(f"br label {after}")
        end = m.block
        self.start(after)
        m.line(f"{self.name(x)} = phi ptr [ %placed{k}, %{fits} ], [ {made}, %{end} ]")

    def place(self, buffer: Atom, index: Atom) -> str:
        kind = type_in_memory(element_of(type_of(buffer)))
        at = f"ptr {self.atom(buffer)}, i64 {self.atom(index)}"
        return "ptr " + self.m.value(f"getelementptr inbounds {kind}, {at}")

    def tags(self, op: Load | Store, kind: str) -> str:
        return f"!tbaa {TAGS[kind]}{self.said.get(op, '')}"

    def load(self, op: Load) -> None:
        kind = type_in_memory(op.out.type)
        x = self.m.value(f"load {kind}, {self.place(op.buffer, op.index)}, {self.tags(op, kind)}")
        self.known[op.out] = self.m.value(f"icmp ne i8 {x}, 0") if kind == "i8" else x

    def store(self, op: Store) -> None:
        element = element_of(op.buffer.type)
        kind, x = type_in_memory(element), self.typed(op.value, element)
        if kind == "i8":
            x = "i8 " + self.m.value(f"zext {x} to i8")
        self.m.line(f"store {x}, {self.place(op.buffer, op.index)}, {self.tags(op, kind)}")
