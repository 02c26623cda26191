"""A program made again without what regions carry for nothing.

What a loop carries is the same in every round, if it starts as that and every round yields it, or
one of several that are: the shape and the strides of arrays that a loop swaps, for one. The same
goes for what both sides of a branch yield. A size that is checked to be a number is that number
from there on. Where such values are known, more is.
"""

from __future__ import annotations

from collections.abc import Sequence

from zyg.compiler.ir import (
    Atom,
    Block,
    Check,
    For,
    If,
    Program,
    Value,
    While,
    is_number,
    same,
)
from zyg.compiler.rewriter import Rewriter


def simplified(program: Program) -> Program:
    """The same program, of the same inputs."""
    return _Simplifier().remade(program)


class _Simplifier(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.least: set[tuple[Atom, Atom]] = set()  # of which the first is not less, from here on
        self.depth = 0  # of blocks

    def atom(self, x: Atom) -> Atom:
        return self.made.get(x, x) if isinstance(x, Value) else x  # some is not needed, nor there

    def check(self, op: Check) -> None:
        super().check(op)
        condition = self.atom(op.condition)
        if op.of_slopes:
            return
        name, args = self.builder.defined.get(condition, ("", ()))  # type: ignore[arg-type]
        if name != "greater_equal" or self.depth:
            return
        self.least.add(args)  # type: ignore[arg-type]
        for x, n in (args, args[::-1]):
            if args[::-1] in self.least and isinstance(x, Value) and isinstance(n, int):
                self.made.update((y, n) for y, z in [(x, x), *self.made.items()] if z is x)

    def block(self, old: Block, yields: Sequence[Atom]) -> Block:
        self.depth += 1
        with self.builder.inside(Block()) as new:
            self.run(old)
            new.yields = self.atoms(yields)
        self.depth -= 1
        return new

    def if_(self, op: If) -> None:
        condition = self.atom(op.condition)
        then, orelse = (self.block(old, old.yields) for old in (op.then, op.orelse))
        rest = []
        for k, (out, x, y) in enumerate(zip(op.outs, then.yields, orelse.yields, strict=True)):
            if _alike(x, y):
                self.made[out] = x
            else:
                rest.append(k)
        for block in (then, orelse):
            block.yields = [block.yields[k] for k in rest]
        outs = self.values([op.outs[k] for k in rest])
        self.builder.block.ops.append(If(condition, then, orelse, outs))

    def loop(self, op: For | While) -> None:
        init = self.atoms(op.init)
        constant = _constant(op, init)
        rest = [k for k in range(len(init)) if k not in constant]
        for k in constant:
            self.made[op.params[k]] = self.made[op.outs[k]] = init[k]
        new = self.begun(op)
        new.init, new.params = [init[k] for k in rest], self.values([op.params[k] for k in rest])
        if isinstance(op, While):
            new.test = self.block(op.test, op.test.yields)
        new.body = self.block(op.body, [op.body.yields[k] for k in rest])
        new.outs = self.values([op.outs[k] for k in rest])
        self.builder.block.ops.append(new)


def _alike(x: Atom, y: Atom) -> bool:
    return x is y or (is_number(x) and is_number(y) and same(x, y))


def _constant(op: For | While, init: list[Atom]) -> set[int]:
    """Which of what a loop carries is what it starts as in every round."""
    places = {p: k for k, p in enumerate(op.params)}
    found = set(range(len(init)))
    while True:
        for k in sorted(found):
            end = op.body.yields[k]
            j = places.get(end) if isinstance(end, Value) else None
            stays = _alike(end, op.init[k]) or (j in found and _alike(init[j], init[k]))
            if not stays:
                found.remove(k)
                break
        else:
            return found
