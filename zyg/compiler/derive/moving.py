"""Which memory of a program may hold tangents: buffers in classes, and what flows into them.

Two buffers that may be the same memory are in one class, whatever the order in which a program does
things, and whichever of its functions. What flows is known of each number and of each class: a
buffer has a tangent buffer from where it is made, if anything that moves is stored in its class.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from zyg.base.registry import ScalarRule
from zyg.compiler.functions import rule_of
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
from zyg.compiler.record import REALS, Builder
from zyg.compiler.routines import routines


def is_flat(op: Op) -> bool:
    """Whether no derivative flows through an operation."""
    return op.row.flat or op.name == "int"


def times(builder: Builder, t: Atom, d: Atom, strong: bool) -> Atom:
    """A tangent or a cotangent times a derivative; `strong`: an exact zero stays zero."""
    op = builder.op
    if type_of(d) == "bool":
        return op("select", d, t, 0.0)
    d = d if type_of(d) in REALS else builder.to("float", d)
    product = op("multiply", d, t)
    known = any(not isinstance(x, Value) and math.isfinite(x) for x in (t, d))
    if not strong or not isinstance(product, Value) or known:
        return product
    # As `core.reverse.strong_times`: a tangent that is NaN stays NaN through a zero.
    through = op("logical_and", op("equal", d, 0.0), op("logical_not", op("isnan", t)))
    flat = op("logical_or", op("equal", t, 0.0), through)
    # Where the product is a number, its own derivatives are those of both factors.
    return op("select", op("logical_and", flat, op("isnan", product)), 0.0, product)


def is_real(kind: str) -> bool:
    """Whether tangents can be of this type: of numbers, or of buffers of them."""
    while is_buffer(kind):
        kind = element_of(kind)
    return kind in REALS


class Memory:
    """The classes of a program's buffers, and what flows from where to where."""

    def __init__(self, program: Program) -> None:
        self._parent: dict[Value, Value] = {}
        self._contents: dict[Value, Value] = {}  # of a class of buffers of buffers, by its root
        self.programs: list[Program] = []
        self._gather(program)
        self.written: set[Value] = set()  # the classes in which anything is stored
        self._stores: set[Value] = set()  # the buffers themselves
        self._given: defaultdict[Value, list[Value]] = defaultdict(list)  # the same memory: to whom
        self._flows: defaultdict[Value, list[Value]] = defaultdict(list)
        for inner in self.programs:
            for op in operations(inner.body):
                self._flow(op)
        self._moving: dict[Any, set[Value]] = {}
        self._asked: dict[Any, set[Value]] = {}

    # What may be the same

    def of(self, x: Value) -> Value:
        """The class of a buffer, as one of the buffers in it."""
        while (parent := self._parent.get(x)) is not None:
            if (further := self._parent.get(parent)) is not None:
                self._parent[x] = further
            x = parent
        return x

    def _inside(self, x: Value) -> Value:
        """The class of the buffers in a buffer."""
        root = self.of(x)
        if root not in self._contents:
            self._contents[root] = Value(element_of(x.type))
        return self.of(self._contents[root])

    def _node(self, x: Value) -> Value:
        """What flows into a number, or into the numbers of a class, flows into this."""
        while is_buffer(element_of(x.type)):
            x = self._inside(x)
        return self.of(x)

    def _join(self, a: Atom, b: Atom) -> None:
        if not (isinstance(a, Value) and isinstance(b, Value) and is_buffer(a.type)):
            return
        a, b = self.of(a), self.of(b)
        if a is not b:
            self._parent[b] = a
            theirs = self._contents.pop(b, None)
            if theirs is not None:
                self._join(self._contents.setdefault(a, theirs), theirs)

    def _gather(self, program: Program) -> None:
        self.programs.append(program)
        for op in operations(program.body):
            if isinstance(op, Call) and not (op.callee.adjoint or op.callee in self.programs):
                self._gather(op.callee)
            for a, b in _same(op):
                self._join(a, b)
            if isinstance(op, Load) and is_buffer(op.out.type):
                self._join(self._inside(op.buffer), op.out)
            elif isinstance(op, Store) and is_buffer(type_of(op.value)):
                self._join(self._inside(op.buffer), op.value)

    # What flows

    def _flow(self, op: Any) -> None:
        for a, b in _same(op):
            self._edge(a, b)
            self._give(a, b)
        if isinstance(op, Load):
            self._edge(op.buffer, op.out)
            if is_buffer(op.out.type):
                self._give(self._inside(op.buffer), op.out)
        elif isinstance(op, Store):
            self._edge(op.value, op.buffer)
            self._write(op.buffer)
            if is_buffer(type_of(op.value)):
                self._give(op.value, self._inside(op.buffer))
        elif isinstance(op, Call) and (adjoint := op.callee.adjoint):
            for k in adjoint.moving:
                for out in op.outs[: adjoint.results]:
                    self._edge(op.args[k], out)
        elif isinstance(op, Routine):
            meaning = routines[op.name]
            for k in meaning.writes:
                self._write(op.args[k])  # type: ignore[arg-type]
                for j in meaning.reads:
                    self._edge(op.args[j], op.args[k])

    def _write(self, x: Value) -> None:
        self.written.add(self.of(x))
        self._stores.add(x)

    def _give(self, a: Atom, b: Atom) -> None:
        if isinstance(a, Value) and isinstance(b, Value) and is_buffer(b.type):
            self._given[a].append(b)

    def _edge(self, a: Atom, b: Atom) -> None:
        if isinstance(a, Value) and isinstance(b, Value) and is_real(b.type):
            a, b = self._node(a), self._node(b)
            if a is not b:
                self._flows[a].append(b)

    def seed(self, seeds: Iterable[tuple[Any, Value]], outputs: Sequence[Atom]) -> None:
        """Set along which keys values move; buffers among `outputs` have all these tangents."""
        asked = {self._node(y) for y in outputs
                 if isinstance(y, Value) and is_buffer(y.type) and is_real(y.type)}  # fmt: skip
        for key, x in seeds:
            moving = self._moving.setdefault(key, set())
            self._asked[key] = asked
            todo = [self._node(x)]
            while todo:
                node = todo.pop()
                if node not in moving:
                    moving.add(node)
                    todo += self._flows[node]

    def moves(self, x: Value) -> list[Any]:
        """The keys along which a number, or what is in a buffer, may move."""
        return [key for key, nodes in self._moving.items() if self._node(x) in nodes]

    def carries(self, x: Value) -> list[Any]:
        """The keys of a buffer's tangent buffers; those along which it does not move stay zero."""
        node = self._node(x)
        return [k for k, nodes in self._moving.items() if node in nodes or node in self._asked[k]]

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


def _same(op: Any) -> Iterator[tuple[Atom, Atom]]:
    """What is given on as it is: from, to. Of an operation on numbers, what it depends on."""
    if isinstance(op, Op):
        if not is_flat(op) and is_real(op.out.type):
            yield from ((x, op.out) for x in _moving_operands(op))
    elif isinstance(op, If):
        for block in (op.then, op.orelse):
            yield from zip(block.yields, op.outs, strict=True)
    elif isinstance(op, (For, While)):
        yield from zip(op.init, op.params, strict=True)
        yield from zip(op.body.yields, op.params, strict=True)
        yield from zip(op.params, op.outs, strict=True)
    elif isinstance(op, Call) and not op.callee.adjoint:
        yield from zip(op.args, op.callee.inputs, strict=True)
        yield from zip(op.callee.outputs, op.outs, strict=True)


def _moving_operands(op: Op) -> Iterator[Atom]:
    if op.name in ("float", "float32", "uint", "select"):
        yield from op.args
        return
    rule: ScalarRule = op.callee.rule if op.callee else rule_of(op.name)
    for x, partial in zip(op.args, rule.partials, strict=True):
        if callable(partial) or partial != 0:
            yield x


def has_memory(program: Program) -> bool:
    """Whether a program does more than to compute with numbers."""
    return any(is_buffer(x.type) for x in program.inputs) or not all(
        isinstance(op, (Op, If, For, While)) for op in operations(program.body)
    )
