"""A program made again without what regions carry, and what is loaded, for nothing.

What a loop carries is the same in every round, if it starts as that and every round yields it, or
one of several that are: the shape and the strides of arrays that a loop swaps, for one. The same
goes for what both sides of a branch yield. A size that is checked to be a number is that number
from there on. Where such values are known, more is. What was loaded or stored, in this block or
around it, and not written since, is not loaded again; but for what is added to where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from zyg.compiler.aliases import Aliases
from zyg.compiler.ir import (
    Atom,
    Block,
    Call,
    CallBack,
    Check,
    For,
    If,
    Load,
    Program,
    Routine,
    Store,
    Value,
    While,
    blocks_of,
    element_of,
    is_buffer,
    operations,
    same,
    type_of,
)
from zyg.compiler.loops import additions
from zyg.compiler.rewriter import Rewriter


def simplified(program: Program) -> Program:
    """The same program, of the same inputs."""
    return _Simplifier(program).remade(program)


class _Simplifier(Rewriter):
    def __init__(self, program: Program) -> None:
        super().__init__()
        self.memory = Aliases(program)
        self.given = {self.memory.of(x) for x in program.inputs if is_buffer(x.type)}
        self.there: dict[Any, Atom] = {}  # what memory has, by class, buffer and index
        self.added: set[Load | Store] = set()  # what only adds to memory
        self.least: set[tuple[Atom, Atom]] = set()  # of which the first is not less, from here on
        self.depth = 0  # of blocks

    def atom(self, x: Atom) -> Atom:
        return self.made.get(x, x) if isinstance(x, Value) else x  # some is not needed, nor there

    def run(self, block: Block) -> None:
        for store, (load, _) in additions(block, self.memory.of).items():
            self.added |= {store, load}
        super().run(block)

    def place(self, op: Load | Store) -> Any:
        return self.memory.of(op.buffer), self.atom(op.buffer), self.atom(op.index)

    def load(self, op: Load) -> None:
        place = self.place(op)
        if place in self.there and op not in self.added:
            self.made[op.out] = self.there[place]
        else:
            super().load(op)
            if op not in self.added and not is_buffer(op.out.type):
                self.there[place] = self.made[op.out]

    def store(self, op: Store) -> None:
        super().store(op)
        self.forget([op])
        x, place = self.atom(op.value), self.place(op)
        plain = type_of(x) == element_of(op.buffer.type) in ("float", "int")
        if plain and op not in self.added and place[0] not in self.given:  # it has a derivative
            self.there[place] = x

    def call(self, op: Any) -> None:
        super().call(op)
        self.there = {}

    routine = call_back = call

    def forget(self, ops: Iterable[Any]) -> None:
        """Of what operations may write nothing is known any more."""
        written = set()
        for op in ops:
            if isinstance(op, (Call, CallBack, Routine)):
                self.there = {}
            elif isinstance(op, Store):
                written.add(self.memory.of(op.buffer))
        self.there = {place: x for place, x in self.there.items() if place[0] not in written}

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
        outside, self.there = self.there, {**self.there}
        with self.builder.inside(Block()) as new:
            self.run(old)
            new.yields = self.atoms(yields)
        self.depth -= 1
        self.there = outside
        return new

    def if_(self, op: If) -> None:
        condition = self.atom(op.condition)
        then, orelse = (self.block(old, old.yields) for old in (op.then, op.orelse))
        self.forget(within(op))
        rest = []
        for k, (out, x, y) in enumerate(zip(op.outs, then.yields, orelse.yields, strict=True)):
            if same(x, y):
                self.made[out] = x
            else:
                rest.append(k)
        for block in (then, orelse):
            block.yields = [block.yields[k] for k in rest]
        outs = self.values([op.outs[k] for k in rest])
        self.builder.block.ops.append(If(condition, then, orelse, outs))

    def loop(self, op: For | While) -> None:
        self.forget(within(op))
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


def within(region: Any) -> Iterator[Any]:
    """The operations of the blocks of a region."""
    return (op for block in blocks_of(region) for op in operations(block))


def _constant(op: For | While, init: list[Atom]) -> set[int]:
    """Which of what a loop carries is what it starts as in every round."""
    places = {p: k for k, p in enumerate(op.params)}
    found = set(range(len(init)))
    while True:
        for k in sorted(found):
            end = op.body.yields[k]
            j = places.get(end) if isinstance(end, Value) else None
            stays = same(end, op.init[k]) or (j in found and same(init[j], init[k]))
            if not stays:
                found.remove(k)
                break
        else:
            return found
