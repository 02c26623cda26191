"""Which memory the rounds of a loop use each at places of their own, as far as indices tell.

An index is a sum of terms: the loop's own index times a stride, which is the same everywhere, what
is the same in all rounds, and indices inside the round that stay below that stride.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Check,
    For,
    If,
    Load,
    Op,
    Store,
    Value,
    While,
    blocks_of,
    is_buffer,
    operands_of,
    operations,
    outs_of,
    type_of,
)
from zyg.compiler.splice import uses

Term = tuple[Atom, Atom]  # a value and its stride


class Places:
    """The indices of a loop's loads and stores; `around` are the blocks that it is in."""

    def __init__(self, loop: For, around: Sequence[Block]) -> None:
        self.loop, inside = loop, [*operations(loop.body)]
        before = [op for block in around for op in block.ops]
        self.made = uses(Block([loop]))[1]
        self.inner = {op.index: op.span for op in inside if isinstance(op, For)}
        self.makers = {op.out: op for op in (*before, *inside) if isinstance(op, Op)}
        outer = [op for op in before if isinstance(op, For) and op.body in around]
        spans = [op.span for op in (loop, *outer)]
        self.some = {x for first, end, step in spans if (first, step) == (0, 1)
                     for x in self._counts(end)}  # fmt: skip
        checks = (
            op.condition
            for op in (*before, *loop.body.ops)
            if isinstance(op, Check) and not op.of_slopes
        )
        self.facts = {(name, *args) for x in checks for name, *args in self._facts(x)}
        self.pairs = [fact for fact in self.facts if len(fact) == 3]
        self.uses: dict[Value, list[Atom | None]] = {}  # None: all over the buffer
        for op in inside:
            if isinstance(op, (Load, Store)):
                self.uses.setdefault(op.buffer, []).append(op.index)
            elif not isinstance(op, (Op, Alloc, If, For, While)):
                for x in operands_of(op):
                    if is_buffer(type_of(x)):
                        self.uses.setdefault(x, []).append(None)  # type: ignore[arg-type]

    def _counts(self, x: Atom) -> Iterator[Atom]:
        """The ints that are positive where this one is."""
        yield x
        op = self.makers.get(x) if isinstance(x, Value) else None
        if op is not None and op.name in ("minimum", "maximum"):
            y, limit = op.args
            if not isinstance(limit, Value) and (limit > 0) == (op.name == "minimum"):
                yield from self._counts(y)

    def apart(self) -> list[Value]:
        """The buffers from outside that a round uses at places that no other round does.

        Those that are only written to are among them: that is what a loop of such rounds says.
        """
        read = {op.buffer for op in operations(self.loop.body) if isinstance(op, Load)}
        stored = {op.buffer for op in operations(self.loop.body) if isinstance(op, Store)}
        return [
            x for x, places in self.uses.items()
            if x not in self.made and None not in places
            and ((x in stored and x not in read) or self._is_apart(places))
        ]  # fmt: skip

    def are_apart(self, x: Value) -> bool:
        """Whether each round uses a buffer at places that no other does, whatever it does there."""
        return x not in self.made and None not in self.uses[x] and self._is_apart(self.uses[x])

    def _is_apart(self, places: list[Atom | None]) -> bool:
        found = [self._terms(x) for x in places]  # type: ignore[arg-type]
        strides, fixed = ({known_by(part[k]) for part in found} for k in (0, 1))
        if len(strides) != 1 or len(fixed) != 1:
            return False
        stride, least = found[0][0], min(part[3] for part in found)
        limit = stride if isinstance(stride, Value) else abs(stride)
        rows = ([*inner, (number - least, 1)] for _, _, inner, number in found)
        return all(self._below(row, limit) for row in rows)

    def _terms(self, index: Atom) -> tuple[Atom, list[Any], list[Term], int]:
        """The stride of the loop's index, what is the same in all rounds, other terms, a number."""
        stride: Atom = 0
        fixed: list[Any] = []
        inner: list[Term] = []
        number, todo = 0, [index]
        while todo:
            x = todo.pop()
            op = self.makers.get(x) if isinstance(x, Value) else None
            one, times = self._pair(x)
            if not isinstance(x, Value):
                number += int(x)
            elif x not in self.made:
                fixed.append(x)
            elif one is self.loop.index and stride == 0:
                stride = times
            elif op is not None and op.name == "add":
                todo += op.args
            else:
                inner.append((one, times))
        return stride, sorted(fixed, key=id), inner, number

    def _pair(self, x: Atom) -> Term:
        op = self.makers.get(x) if isinstance(x, Value) else None
        if op is not None and op.name == "multiply":
            one, other = op.args
            if other not in self.made:
                return one, other
            if one not in self.made:
                return other, one
        return x, 1

    def _below(self, terms: list[Term], limit: Atom) -> bool:
        """Whether a sum of terms is surely between 0 and a limit."""
        terms = [t for t in terms if isinstance(t[0], Value) or t[0] != 0] or [(0, 1)]
        if len(terms) == 1 and known_by(terms[0][1]) == 1:
            return self._less(terms[0][0], limit)
        if not isinstance(limit, Value):
            return sum(map(self._most, terms)) < limit
        op = self.makers.get(limit)
        if op is None or op.name != "multiply":
            return False
        for x, stride in terms:
            rest = [t for t in terms if t[0] is not x]
            for width, own in (op.args, op.args[::-1]):
                fits = known_by(own) == known_by(stride) and self._less(x, width)
                if fits and self._below(rest, own):
                    return True
        return False

    def _most(self, term: Term) -> float:
        """What a term is at most, if that is known as a number."""
        x, stride = term
        span = self.inner.get(x) if isinstance(x, Value) else (x, x + 1, 1)
        first, end, step = span or (x, x, 1)
        if isinstance(first, Value) or isinstance(end, Value) or isinstance(stride, Value):
            return math.inf
        return stride * (end - 1) if step == 1 and first >= 0 and stride >= 0 else math.inf

    def _less(self, x: Atom, limit: Atom) -> bool:
        if not isinstance(x, Value):
            return x >= 0 and self._at_most(x + 1, limit)
        span = self.inner.get(x)
        if span is None or span[2] != 1 or isinstance(span[0], Value) or span[0] < 0:
            return False
        return self._at_most(span[1], limit)

    def _at_most(self, x: Atom, limit: Atom) -> bool:
        if x is limit:
            return True
        if not isinstance(x, Value) and isinstance(limit, Value):
            least = {"greater": 1, "greater_equal": 0}
            return any(name in least and y is limit and not isinstance(n, Value)
                       and n + least[name] >= x for name, y, n in self.pairs)  # fmt: skip
        if isinstance(x, Value) or isinstance(limit, Value):
            return not {("less_equal", x, limit), ("greater_equal", limit, x), ("equal", x, limit),
                        ("equal", limit, x)}.isdisjoint(self.facts)  # fmt: skip
        return x <= limit

    def _facts(self, x: Atom) -> Iterable[tuple[Any, ...]]:
        """What is true where a condition is."""
        op = self.makers.get(x) if isinstance(x, Value) else None
        if op is not None and op.name == "logical_and":
            for y in op.args:
                yield from self._facts(y)
        elif op is not None and op.name == "logical_or":
            for y, other in (op.args, op.args[::-1]):
                if self._is_no_round(y):
                    yield from self._facts(other)
        elif op is not None:
            yield op.name, *op.args

    def _is_no_round(self, x: Atom) -> bool:
        """Whether a condition says that there is no round of this loop, or of one around it."""
        op = self.makers.get(x) if isinstance(x, Value) else None
        if op is not None and op.name == "logical_or":
            return all(map(self._is_no_round, op.args))
        return (
            op is not None
            and op.name == "less_equal"
            and op.args[1] == 0
            and op.args[0] in self.some
        )

    def overwritten(self) -> list[Value]:
        """The buffers from outside in which every round writes to the same place."""
        moving = {self.loop.index}
        found: dict[Value, None] = {}
        self._visit(self.loop.body, moving, found)
        return [x for x in found if x not in self.made]

    def _visit(self, block: Block, moving: set[Any], found: dict[Value, None]) -> None:
        for op in block.ops:
            if isinstance(op, Store) and op.index not in moving:
                found[op.buffer] = None
            if isinstance(op, If) and op.condition in moving:
                moving.update(x for b in blocks_of(op) for y in operations(b) for x in outs_of(y))
                moving.update(op.outs)
                continue  # some rounds may, and others not
            if isinstance(op, (While, If, For)) or not moving.isdisjoint(operands_of(op)):
                moving.update(outs_of(op), getattr(op, "params", ()))
            if isinstance(op, For) and not moving.isdisjoint(op.span):
                moving.add(op.index)
            if isinstance(op, Load):
                moving.add(op.out)
            for inner in blocks_of(op):
                self._visit(inner, moving, found)


def known_by(x: Any) -> Any:
    """What is the same for the same stride, or the same row of values."""
    if isinstance(x, list):
        return tuple(map(known_by, x))
    return id(x) if isinstance(x, Value) else x
