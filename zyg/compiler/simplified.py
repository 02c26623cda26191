"""A program made again without what regions carry for nothing.

What a loop carries is the same in every round, if it starts as that and every round yields it, or
one of several that are: the shape and the strides of arrays that a loop swaps, for one. The same
goes for what both sides of a branch yield. A size that is checked to be a number is that number
from there on. Where such values are known, more is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Call,
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
    is_number,
    same,
)
from zyg.compiler.record import Builder


def simplified(program: Program) -> Program:
    """The same program, of the same inputs."""
    pass_ = _Pass()
    pass_.made.update((x, x) for x in program.inputs)
    pass_.run(program.body)
    block = pass_.builder.block
    block.yields = pass_.atoms(program.outputs)
    sizes = {pass_.made.get(x, x): tuple(pass_.atoms(row)) for x, row in program.sizes.items()}
    return Program(program.name, program.inputs, block, program.rule, sizes)  # type: ignore[arg-type]


class _Pass:
    def __init__(self) -> None:
        self.builder = Builder()
        self.made: dict[Value, Atom] = {}
        self.least: set[tuple[Atom, Atom]] = set()  # of which the first is not less, from here on
        self.depth = 0  # of blocks

    def atom(self, x: Atom) -> Atom:
        return self.made.get(x, x) if isinstance(x, Value) else x

    def atoms(self, row: Sequence[Atom]) -> list[Atom]:
        return [self.atom(x) for x in row]

    def values(self, old: Sequence[Value]) -> list[Value]:
        new = [Value(x.type) for x in old]
        self.made.update(zip(old, new, strict=True))
        return new

    def run(self, block: Block) -> None:
        for op in block.ops:
            _STEPS[type(op)](self, op)

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
        condition = self.atom(op.condition)
        self.builder.check(condition, op.why, op.of_slopes)
        if op.of_slopes:
            return
        name, args = self.builder.defined.get(condition, ("", ()))  # type: ignore[arg-type]
        if name != "greater_equal" or self.depth:
            return
        self.least.add(args)  # type: ignore[arg-type]
        for x, n in (args, args[::-1]):
            if args[::-1] in self.least and isinstance(x, Value) and isinstance(n, int):
                self.made.update((y, n) for y, z in [(x, x), *self.made.items()] if z is x)

    def called(self, op: Any) -> None:
        callee = op.name if isinstance(op, Routine) else op.callee
        args = tuple(self.atoms(op.args))
        self.builder.block.ops.append(type(op)(callee, args, self.values(op.outs)))

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
        carried = [init[k] for k in rest]
        params = self.values([op.params[k] for k in rest])
        yields = [op.body.yields[k] for k in rest]
        new: Any
        if isinstance(op, While):
            test = self.block(op.test, op.test.yields)
            new = While(test, carried, params, self.block(op.body, yields), [], op.line)
        else:
            span: Any = tuple(self.atoms(op.span))
            (index,) = self.values([op.index])
            body = self.block(op.body, yields)
            new = For(index, span, carried, params, body, [], op.independent, op.again, op.line)
            new.in_order, new.work = op.in_order, self.atom(op.work)
            if op.apart is not None:
                new.apart = self.atoms(op.apart)
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


_STEPS: dict[type, Callable[[_Pass, Any], None]] = {
    Op: _Pass.op, Alloc: _Pass.alloc, Load: _Pass.load, Store: _Pass.store, Check: _Pass.check,
    Call: _Pass.called, Routine: _Pass.called, If: _Pass.if_, For: _Pass.loop, While: _Pass.loop,
}  # fmt: skip
