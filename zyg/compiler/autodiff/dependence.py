"""What derivatives flow through: which numbers, and which memory, depend on which others.

A class of buffers that may be the same is as what is stored in it: a buffer has a tangent buffer
from where it is made, if anything that moves is stored in its class. A number is *active* if it
depends on an active input and an output depends on it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from zyg.base.registry import ScalarRule
from zyg.compiler.aliases import Aliases, given_on, writes_of
from zyg.compiler.builder import REALS, Builder
from zyg.compiler.functions import rule_of
from zyg.compiler.ir import (
    Atom,
    Call,
    Load,
    Op,
    Program,
    Routine,
    Store,
    Value,
    blocks_of,
    element_of,
    is_buffer,
    outs_of,
    type_of,
)
from zyg.compiler.routines import routines


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


def makes_reals(op: Routine) -> bool:
    """Whether tangents can be of what a routine writes."""
    return any(is_real(type_of(x)) for x in writes_of(op))


class Dependence(Aliases):
    """What flows from where to where in a program."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._flows: defaultdict[Value, list[Value]] = defaultdict(list)
        self._moving: dict[Any, set[Value]] = {}
        self._asked: dict[Any, set[Value]] = {}
        for op in self.operations():
            for a, b in _flows_of(op):
                self._edge(a, b)

    def _node(self, x: Value) -> Value:
        """What flows into a number, or into the numbers of a class, flows into this."""
        while is_buffer(element_of(x.type)):
            x = self.inside(x)
        return self.of(x)

    def _edge(self, a: Atom, b: Atom) -> None:
        if isinstance(a, Value) and isinstance(b, Value) and is_real(b.type):
            a, b = self._node(a), self._node(b)
            if a is not b:
                self._flows[a].append(b)

    def _nodes(self, row: Iterable[Any]) -> list[Value]:
        return [self._node(x) for x in row if isinstance(x, Value) and is_real(x.type)]

    def seed(self, seeds: Iterable[tuple[Any, Value]], outputs: Sequence[Atom]) -> None:
        """Set along which keys values move; buffers among `outputs` have all these tangents."""
        asked = {*self._nodes(y for y in outputs if is_buffer(type_of(y)))}
        starts: dict[Any, list[Value]] = {}
        for key, x in seeds:
            starts.setdefault(key, []).append(self._node(x))
        for key, nodes in starts.items():
            self._moving[key], self._asked[key] = _reached(nodes, self._flows), asked

    def moves(self, x: Value) -> list[Any]:
        """The keys along which a number, or what is in a buffer, may move."""
        return [key for key, nodes in self._moving.items() if self._node(x) in nodes]

    def carries(self, x: Value) -> list[Any]:
        """The keys of a buffer's tangent buffers; those along which it does not move stay zero."""
        node = self._node(x)
        return [k for k, nodes in self._moving.items() if node in nodes or node in self._asked[k]]


class Activity(Dependence):
    """What is active in a program, by some of its inputs."""

    def __init__(self, program: Program, inputs: Sequence[int]) -> None:
        super().__init__(program)
        before: defaultdict[Value, list[Value]] = defaultdict(list)
        for x, row in self._flows.items():
            for y in row:
                before[y].append(x)
        moving = _reached(self._nodes(program.inputs[k] for k in inputs), self._flows)
        self._active = moving & _reached(self._nodes(program.outputs), before)

    def is_active(self, x: Any) -> bool:
        """Whether cotangents flow through a number, or through the memory of a buffer."""
        return isinstance(x, Value) and is_real(x.type) and self._node(x) in self._active

    def has_part(self, op: Any) -> bool:
        """Whether an operation has a part in derivatives."""
        if any(map(self.is_active, (*outs_of(op), *writes_of(op)))):
            return True
        return any(self.has_part(inner) for block in blocks_of(op) for inner in block.ops)


def _reached(nodes: list[Value], edges: Mapping[Value, list[Value]]) -> set[Value]:
    """All that these flow into."""
    found, todo = set[Value](), [*nodes]
    while todo:
        if (node := todo.pop()) not in found:
            found.add(node)
            todo += edges.get(node, ())
    return found


def _flows_of(op: Any) -> Iterator[tuple[Atom, Atom]]:
    """What a derivative flows through in an operation: from, to."""
    yield from given_on(op)
    if isinstance(op, Op):
        if not op.flat and is_real(op.out.type):
            yield from ((x, op.out) for x in _moving_operands(op))
    elif isinstance(op, Load):
        yield op.buffer, op.out
    elif isinstance(op, Store):
        yield op.value, op.buffer
    elif isinstance(op, Call) and (adjoint := op.callee.adjoint):
        yield from ((op.args[k], y) for k in adjoint.moving for y in op.outs[: adjoint.results])
    elif isinstance(op, Routine):
        meaning = routines[op.name]
        yield from ((op.args[j], op.args[k]) for k in meaning.writes for j in meaning.reads)


def _moving_operands(op: Op) -> Iterator[Atom]:
    if op.name in ("float", "float32", "uint", "select"):
        yield from op.args
        return
    rule: ScalarRule = op.callee.rule if op.callee else rule_of(op.name)
    for x, partial in zip(op.args, rule.partials, strict=True):
        if callable(partial) or partial != 0:
            yield x
