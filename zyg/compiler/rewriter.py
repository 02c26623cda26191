"""Walks over programs: by the kinds of operations, and such that make a program again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from zyg.compiler.builder import Builder
from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Call,
    CallBack,
    Check,
    For,
    If,
    Load,
    Op,
    Program,
    Routine,
    Store,
    Value,
    While,
)

_METHODS: dict[type, str] = {
    Op: "op", Alloc: "alloc", Load: "load", Store: "store", Check: "check", Call: "call",
    Routine: "routine", CallBack: "call_back", If: "if_", For: "for_", While: "while_",
}  # fmt: skip


class Visitor:
    """Has a method for each kind of operation; one for both kinds of loops, unless it has two."""

    def visit(self, op: Any) -> Any:
        return getattr(self, _METHODS[type(op)])(op)

    def run(self, block: Block) -> None:
        """Visit the operations of a block, in order."""
        for op in block.ops:
            self.visit(op)

    def for_(self, op: For) -> Any:
        return self.loop(op)  # type: ignore[attr-defined]

    def while_(self, op: While) -> Any:
        return self.loop(op)  # type: ignore[attr-defined]


class Rewriter(Visitor):
    """Makes a program again, by a builder: the same one, but for the methods that others replace.

    Regions are made by those alone.
    """

    def __init__(self) -> None:
        self.builder = Builder()
        self.made: dict[Value, Atom] = {}  # what a value of the program is in the new one

    def atom(self, x: Atom) -> Atom:
        return self.made[x] if isinstance(x, Value) else x

    def atoms(self, row: Sequence[Atom]) -> list[Atom]:
        return [self.atom(x) for x in row]

    def values(self, old: Sequence[Value]) -> list[Value]:
        """New values for these."""
        new = [Value(x.type) for x in old]
        self.made.update(zip(old, new, strict=True))
        return new

    def remade(self, program: Program) -> Program:
        """A program of the same inputs."""
        for x in program.inputs:
            self.made.setdefault(x, x)
        self.run(program.body)
        block, made = self.builder.block, self.made
        block.yields = self.atoms(program.outputs)
        sizes: Any = {made.get(x, x): tuple(made.get(n, n) for n in row)  # type: ignore[arg-type]
                      for x, row in program.sizes.items()}  # fmt: skip
        return Program(program.name, program.inputs, block, program.rule, sizes)

    # Operations

    def op(self, op: Op) -> None:
        self.made[op.out] = self.builder.op(op.name, *self.atoms(op.args), callee=op.callee)

    def alloc(self, op: Alloc) -> None:
        size = self.atom(op.size)
        (out,) = self.values([op.out])
        self.builder.block.ops.append(Alloc(out, size, op.zeroed))

    def load(self, op: Load) -> None:
        self.made[op.out] = self.builder.load(*self.atoms([op.buffer, op.index]))  # type: ignore[arg-type]

    def store(self, op: Store) -> None:
        self.builder.store(*self.atoms([op.buffer, op.index, op.value]))  # type: ignore[arg-type]

    def check(self, op: Check) -> None:
        self.builder.check(self.atom(op.condition), op.why, op.of_slopes)

    def call(self, op: Any) -> None:
        args = tuple(self.atoms(op.args))
        self.builder.block.ops.append(replace(op, args=args, outs=self.values(op.outs)))

    routine = call_back = call

    # Regions

    def begun(self, op: For | While) -> Any:
        """A loop like another one, with nothing in it yet, and that carries nothing."""
        if isinstance(op, While):
            return While(Block(), [], [], Block(), [], op.line)
        (index,) = self.values([op.index])
        start, stop, step = self.atoms(op.span)
        apart = None if op.apart is None else self.apart(op.apart)
        return replace(op, index=index, span=(start, stop, step), init=[], params=[], body=Block(),
                       outs=[], apart=apart, work=self.atom(op.work), loose=[])  # fmt: skip

    def apart(self, buffers: list[Value]) -> list[Value]:
        """What rounds in threads use at places of their own, of what is still there."""
        return [self.made[x] for x in buffers if x in self.made]  # type: ignore[misc]
