"""Nests of two loops that only add, made the other way round where memory then is in order.

A round of the inner loop may go down a column of a matrix, as the mirror of a sum along one does.
The rounds of both may come in any order, as additions do. So the loop that goes along rows can be
the inner one, which then runs in vector registers; what the inner loop summed up is added term by
term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from zyg.compiler.ir import Atom, Block, For, Load, Op, Store, Value, operands_of, outs_of
from zyg.compiler.loops import additions
from zyg.compiler.polynomials import SUMS, Polynomials, along

ENOUGH = 16  # rounds of the loop that is to be inside
_MOST = 12  # operations that may be repeated
_SAFE = *SUMS, "maximum", "minimum"  # of ints, before the nest
_IN_ORDER: tuple[Any, ...] = {}, {(): 1}, {(): -1}  # strides


class Interchanged(NamedTuple):
    """The nest, and it with what is to be made before it."""

    nest: For
    ops: list[Any]


def turned(loop: For, ints: Polynomials, same: Callable[[Value], Any]) -> Interchanged | None:
    """A loop around one other, turned inside out; None where it is to stay.

    `same` says which buffers may share memory.
    """
    inner = next((op for op in loop.body.ops if isinstance(op, For)), None)
    if inner is None or loop.params or not (_is_free(loop) and _is_free(inner)):
        return None
    parts = _Parts(loop, inner, same)
    if not parts.fits() or not _gains(parts.accesses(), loop.index, inner, ints):
        return None
    body = replace(loop, body=Block(parts.round(), []))
    nest = replace(inner, init=[], params=[], outs=[], body=Block([body]))
    return Interchanged(nest, [*parts.before, nest])


def printed(function: Any, loop: For, found: Interchanged) -> None:
    """Print a nest both ways: as it is where the loop that would be inside is short."""
    function.turned |= {loop, found.nest}
    short = function.is_short(loop, ENOUGH)
    function.twice(loop, short, lambda yes: function.run(Block([loop] if yes else found.ops)))


def _is_free(loop: For) -> bool:
    return loop.apart is None and not (loop.in_turn or loop.in_order or loop.again)


class _Parts:
    """What a loop does besides another one in it."""

    def __init__(self, loop: For, inner: For, same: Callable[[Value], Any]) -> None:
        self.inner, self.same = inner, same
        self.added = {**additions(loop.body, same), **additions(inner.body, same)}
        self.loads = {load for load, _ in self.added.values()}
        self.before: list[Op] = []  # the same in all rounds
        self.first: list[Op | Load] = []
        self.last: list[Op | Load | Store] = []  # what is done with sums
        self.others = 0  # operations that are neither
        sums, moving = {*inner.outs}, {loop.index}
        for op in loop.body.ops:
            if op is inner:
                continue
            if not isinstance(op, (Op, Load, Store)):
                self.others += 1
            elif (
                isinstance(op, Op)
                and op.name in _SAFE
                and _is_int(op)
                and moving.isdisjoint(op.args)
            ):
                self.before.append(op)
                continue
            elif not sums.isdisjoint(operands_of(op)) or op in self.loads or isinstance(op, Store):
                sums.update(outs_of(op))
                self.last.append(op)
            else:
                self.first.append(op)
            moving.update(outs_of(op))
        self.moving = moving

    def fits(self) -> bool:
        """Whether all that both loops do is to add, and repeats little."""
        inner, ops = self.inner, (*self.first, *self.last, *self.inner.body.ops)
        if self.others or not all(isinstance(op, (Op, Load, Store)) for op in ops):
            return False
        added = {self.same(op.buffer) for op in self.added}
        known = all(
            (op in self.added or op in self.loads)
            if isinstance(op, Store) or (isinstance(op, Load) and self.same(op.buffer) in added)
            else getattr(op, "callee", None) is None
            for op in ops
        )
        return (
            known and self.moving.isdisjoint(inner.span) and all(x == 0 for x in inner.init)
            and len(self.terms()) == len(inner.params) and self.are_linear()
            and sum(op.cost for op in self.first if isinstance(op, Op)) <= _MOST
        )  # fmt: skip

    def terms(self) -> dict[Value, tuple[Op, Atom]]:
        """What each sum of the inner loop is, with its addition and its term."""
        inner, found = self.inner, {}
        makers = {op.out: op for op in inner.body.ops if isinstance(op, Op)}
        read = [x for op in inner.body.ops for x in operands_of(op)]
        for p, end, out in zip(inner.params, inner.body.yields, inner.outs, strict=True):
            op = makers.get(end)  # type: ignore[arg-type]
            if (
                op
                and op.name == "add"
                and op.args.count(p) == read.count(p) == 1
                and end not in read
            ):
                found[out] = op, op.args[1 - op.args.index(p)]
        return found

    def are_linear(self) -> bool:
        """Whether what is done with sums is to add them, or multiples of them."""
        sums = {*self.inner.outs}
        additions = {op for _, op in self.added.values()}
        for op in self.last:
            places = [k for k, x in enumerate(operands_of(op)) if x in sums]
            if op in self.loads:
                continue
            if isinstance(op, Store):
                if op not in self.added or places:
                    return False
            elif not isinstance(op, Op) or len(places) != 1:
                return False
            elif op not in additions:
                first = op.name in ("negative", "divide") and places[0] == 0
                if not (first or op.name == "multiply"):
                    return False
                sums.add(op.out)
        return True

    def accesses(self) -> Iterable[Load | Store]:
        ops = (*self.first, *self.last, *self.inner.body.ops)
        return [op for op in ops if isinstance(op, (Load, Store))]

    def round(self) -> list[Any]:
        """A round of both loops."""
        terms = self.terms()
        ends = {op for op, _ in terms.values()}
        made: dict[Any, Atom] = {out: term for out, (_, term) in terms.items()}
        last = [
            replace(op, args=tuple(made.get(x, x) for x in op.args)) if isinstance(op, Op) else op
            for op in self.last
        ]
        return [*self.first, *(op for op in self.inner.body.ops if op not in ends), *last]


def _is_int(op: Op) -> bool:
    return op.out.type == "int"


def _gains(accesses: Iterable[Load | Store], index: Value, inner: For, ints: Polynomials) -> bool:
    """Whether memory is used in order along the outer loop, and not along the inner one."""
    places = [ints.sum_of(op.index) for op in accesses]
    if any(x is None for x in places):
        return False
    along_outer, along_inner = (
        [along(x, i)[0] in _IN_ORDER for x in places if x is not None] for i in (index, inner.index)
    )
    return all(along_outer) and not all(along_inner)
