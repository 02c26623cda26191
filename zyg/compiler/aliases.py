"""Which buffers of a program may be the same memory, and what is written.

Two buffers that may be the same memory are in one class, whatever the order in which a program does
things, and whichever of its functions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from zyg.compiler.ir import (
    Atom,
    Call,
    For,
    If,
    Load,
    Op,
    Program,
    Routine,
    Store,
    Value,
    While,
    element_of,
    is_buffer,
    operations,
    type_of,
)
from zyg.compiler.routines import routines


class Aliases:
    """The classes of a program's buffers; all its inputs may be one if they are not `apart`."""

    def __init__(self, program: Program, apart: bool = True) -> None:
        self._parent: dict[Value, Value] = {}
        self._contents: dict[Value, Value] = {}  # of a class of buffers of buffers, by its root
        self.programs: list[Program] = []
        self._gather(program)
        for x, y in () if apart else combinations(program.inputs, 2):
            if x.type == y.type:
                self._join(x, y)
        self.written: set[Value] = set()  # the classes in which anything is stored
        self._stores: set[Value] = set()  # the buffers themselves
        self._given: defaultdict[Value, list[Value]] = defaultdict(list)  # the same memory: to whom
        for op in self.operations():
            for a, b in self._same(op):
                if isinstance(a, Value) and isinstance(b, Value) and is_buffer(b.type):
                    self._given[a].append(b)
            for x in () if isinstance(op, Call) else writes_of(op):
                self.written.add(self.of(x))
                self._stores.add(x)

    def operations(self) -> Iterator[Any]:
        """Those of all its programs."""
        for program in self.programs:
            yield from operations(program.body)

    def of(self, x: Value) -> Value:
        """The class of a buffer, as one of the buffers in it."""
        while (parent := self._parent.get(x)) is not None:
            if (further := self._parent.get(parent)) is not None:
                self._parent[x] = further
            x = parent
        return x

    def inside(self, x: Value) -> Value:
        """The class of the buffers in a buffer."""
        root = self.of(x)
        if root not in self._contents:
            self._contents[root] = Value(element_of(x.type))
        return self.of(self._contents[root])

    def _join(self, a: Atom, b: Atom) -> None:
        if not (isinstance(a, Value) and isinstance(b, Value) and is_buffer(a.type)):
            return
        a, b = self.of(a), self.of(b)
        if a is not b:
            self._parent[b] = a
            theirs = self._contents.pop(b, None)
            if theirs is not None:
                self._join(self._contents.setdefault(a, theirs), theirs)

    def _same(self, op: Any) -> Iterator[tuple[Atom, Atom]]:
        """What is given on as it is: from, to."""
        yield from given_on(op)
        if isinstance(op, Load) and is_buffer(op.out.type):
            yield self.inside(op.buffer), op.out
        elif isinstance(op, Store) and is_buffer(type_of(op.value)):
            yield op.value, self.inside(op.buffer)

    def _gather(self, program: Program) -> None:
        self.programs.append(program)
        for op in operations(program.body):
            if isinstance(op, Call) and not (op.callee.adjoint or op.callee in self.programs):
                self._gather(op.callee)
            for a, b in self._same(op):
                self._join(a, b)

    def is_written(self, x: Value) -> bool:
        """Whether anything may be stored in a buffer, once it is there."""
        return self.of(x) in self.written

    def is_changed(self, x: Value) -> bool:
        """Whether anything may be stored in a buffer that is there from the beginning.

        What takes its place in a loop is in its class, and may be written to without that.
        """
        seen: set[Value] = set()
        todo = [x] if self.is_written(x) else []
        while todo:
            if (x := todo.pop()) in self._stores:
                return True
            if x not in seen:
                seen.add(x)
                todo += self._given[x]
        return False


def given_on(op: Any) -> Iterator[tuple[Atom, Atom]]:
    """What a region or a call gives on as it is: from, to."""
    if isinstance(op, If):
        for block in (op.then, op.orelse):
            yield from zip(block.yields, op.outs, strict=True)
    elif isinstance(op, (For, While)):
        yield from zip(op.init, op.params, strict=True)
        yield from zip(op.body.yields, op.params, strict=True)
        yield from zip(op.params, op.outs, strict=True)
    elif isinstance(op, Call) and not op.callee.adjoint:
        yield from zip(op.args, op.callee.inputs, strict=True)
        yield from zip(op.callee.outputs, op.outs, strict=True)


def writes_of(op: Any) -> list[Any]:
    """The buffers that an operation itself may write."""
    if isinstance(op, Store):
        return [op.buffer]
    if isinstance(op, Routine):
        return [op.args[k] for k in routines[op.name].writes]
    if not isinstance(op, Call) or op.callee.adjoint:
        return []
    return [x for x in op.args if is_buffer(type_of(x))]


def has_memory(program: Program) -> bool:
    """Whether a program does more than to compute with numbers."""
    return any(is_buffer(x.type) for x in program.inputs) or not all(
        isinstance(op, (Op, If, For, While)) for op in operations(program.body)
    )


def written_inputs(program: Program) -> tuple[int, ...]:
    """The places of the buffers among the inputs that a program may write to."""
    memory = Aliases(program)
    pairs = enumerate(program.inputs)
    return tuple(k for k, x in pairs if is_buffer(x.type) and memory.is_changed(x))
