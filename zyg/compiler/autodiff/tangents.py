"""One pass over a program that makes its values again, with tangents.

Every value carries the tangents that it can have: of the inputs that it depends on, no others. A
tangent that is not there is zero in structure, so that it costs nothing and meets no infinity; the
tangent of an input is one in structure. Partial derivatives come from the table of scalar
derivatives; the program of a derivative is a program like others, and can be differentiated again.

The tangents of a value that was made from one other are kept as that one's, times a factor: along
a chain such as a sigmoid there is one multiplication for each operation, and not one for each
input. That is preaccumulation (Griewank and Walther, Evaluating Derivatives, 2008, ch. 10).

`strong` makes an exact zero stay zero through an infinite or NaN factor, as the reverse pass does
where a gradient comes out that is not finite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from zyg.base.registry import ScalarRule
from zyg.compiler.autodiff.dependence import times
from zyg.compiler.builder import REALS
from zyg.compiler.front.interpreter import call_partial
from zyg.compiler.functions import rule_of
from zyg.compiler.ir import Atom, Block, For, If, Op, Value, While, is_number, same, type_of
from zyg.compiler.numbers import atom_of
from zyg.compiler.rewriter import Rewriter

Tangents = dict[Any, Atom]  # by what they are along; absent is zero

_GROWS = {"power", "square"}  # whose partials multiply, and are floats that do not wrap around


class Chain:
    """The tangents of a value: `factor` times those of another, or its own where that is None."""

    __slots__ = ("base", "factor")

    def __init__(self, base: Tangents, factor: Atom | None = None) -> None:
        self.base, self.factor = base, factor


class Forward(Rewriter):
    """One pass over a program that makes its values again, with tangents."""

    def __init__(self, strong: bool) -> None:
        super().__init__()
        self.strong = strong
        self.moving: dict[Value, Chain] = {}
        self.whole: list[dict[Chain, Tangents]] = [{}]  # chains multiplied out, by open block
        self.joints: dict[Any, Tangents] = {}  # directions made on the way, along those before

    def tangents(self, x: Atom) -> Tangents:
        """The tangents of a value of the old program, multiplied out."""
        chain = self.moving.get(x) if isinstance(x, Value) else None
        if chain is None:
            return {}
        if chain.factor is None:
            return chain.base
        for known in reversed(self.whole):
            if chain in known:
                return known[chain]
        made = {k: self.times(t, chain.factor) for k, t in chain.base.items()}
        self.whole[-1][chain] = made
        return made

    def asked(self, x: Atom) -> Tangents:
        """The tangents of a value along the directions that were asked for."""
        row = {**self.tangents(x)}
        for k in reversed(self.joints):
            if (t := row.pop(k, None)) is not None:
                for j, d in self.joints[k].items():
                    c = self.times(t, d)
                    row[j] = self.builder.op("add", row[j], c) if j in row else c
        return row

    def times(self, t: Atom, d: Atom) -> Atom:
        """A tangent times a derivative."""
        if is_number(t) and t == 0:
            return 0.0
        return times(self.builder, t, d, self.strong)

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        self.whole.append({})
        try:
            with self.builder.inside(block):
                yield
        finally:
            self.whole.pop()

    # Operations

    def op(self, op: Op) -> None:
        args = [self.atom(x) for x in op.args]
        y = self.made[op.out] = self.builder.op(op.name, *args, callee=op.callee)
        chains = [self.moving.get(x) if isinstance(x, Value) else None for x in op.args]
        if op.flat or not any(chains):
            return
        if op.name in ("float", "uint") and type_of(op.args[0]) != "float32":
            self.moving[op.out] = chains[0]  # type: ignore[assignment]
        elif op.name in REALS:
            self._give(op.out, self.tangents(op.args[0]))
        elif op.name == "select":
            self._select(op, args[0])
        else:
            slopes = self._slopes(op, args, y, chains)
            self._combine(op, slopes)

    def _slopes(
        self, op: Op, args: list[Atom], y: Atom, chains: Sequence[Chain | None]
    ) -> list[tuple[Value, Chain, Any]]:
        """The moving operands of an operation, each with its chain and partial derivative."""
        rule: ScalarRule = op.callee.rule if op.callee else rule_of(op.name)
        if op.name in _GROWS:
            args, y = [self.builder.to("float", x) for x in args], self.builder.to("float", y)
        numbers = [self.builder.wrap(x) for x in (*args, y)]
        found = []
        for x, chain, partial in zip(op.args, chains, rule.partials, strict=True):
            if chain is not None:
                d = call_partial(partial, numbers, self.builder) if callable(partial) else partial
                d = atom_of(d)
                if not is_number(d) or d != 0:
                    found.append((x, chain, d))
        return found  # type: ignore[return-value]

    def _combine(self, op: Op, slopes: list[tuple[Value, Chain, Any]]) -> None:
        builder = self.builder
        if not slopes:
            return
        bases = {id(chain.base) for _, chain, _ in slopes}
        if len(bases) == 1 and op.out.type != "float32":
            base = slopes[0][1].base
            factor: Atom | None = None
            for _, chain, d in slopes:
                if chain.factor is not None:
                    d = self.times(chain.factor, d)
                factor = d if factor is None else builder.op("add", factor, self._as_float(d))
            factor = self._as_float(factor)
            if len(base) == 1:
                ((k, t),) = base.items()
                self.moving[op.out] = Chain({k: self.times(t, factor)})
            else:
                self.moving[op.out] = Chain(base, None if same(factor, 1.0) else factor)
            return
        total: Tangents = {}
        for x, _, d in slopes:
            for k, t in self.tangents(x).items():
                c = t if is_number(d) and d == 1 else self.times(t, d)
                total[k] = builder.op("add", total[k], c) if k in total else c
        self._give(op.out, total)

    def _as_float(self, d: Any) -> Atom:
        return self.builder.op("select", d, 1.0, 0.0) if type_of(d) == "bool" else (
            self.builder.to("float", d)
        )  # fmt: skip

    def _select(self, op: Op, condition: Atom) -> None:
        one, other = (self.tangents(x) for x in op.args[1:])
        self._give(op.out, {
            k: self.builder.op("select", condition, one.get(k, 0.0), other.get(k, 0.0))
            for k in keys_of(one, other)
        })  # fmt: skip

    def _give(self, out: Value, tangents: Tangents) -> None:
        """Set the tangents of a new value, brought to its type."""
        to = self.builder.to
        self.moving[out] = Chain({k: to(out.type, t) for k, t in tangents.items()})

    # Regions

    def if_(self, op: If) -> None:
        condition = self.atom(op.condition)
        blocks, rows = (Block(), Block()), []
        for block, old in zip(blocks, (op.then, op.orelse), strict=True):
            with self.inside(block):
                self.run(old)
                rows.append([self.tangents(x) for x in old.yields])
                block.yields = [self.atom(x) for x in old.yields]
        masks = [keys_of(a, b) for a, b in zip(*rows, strict=True)]
        for block, row in zip(blocks, rows, strict=True):
            with self.builder.inside(block):
                block.yields += self.row(op.outs, row, masks)
        self._leave(op.outs, masks, self.builder.branch(condition, *blocks))

    def _leave(self, outs: list[Value], masks: list[list[Any]], made: Sequence[Atom]) -> None:
        """What a region gave: its values, then the tangents of each."""
        self.made.update(zip(outs, made, strict=False))
        rest = iter(made[len(outs) :])
        for out, mask in zip(outs, masks, strict=True):
            if mask:
                self.moving[out] = Chain({k: next(rest) for k in mask})

    def row(
        self, outs: Sequence[Atom], tangents: Sequence[Tangents], masks: Sequence[Iterable[Any]]
    ) -> list[Atom]:
        """The tangents of the values of a region, one after the other."""
        return [
            t[k] if k in t else self.zero(out)
            for out, t, mask in zip(outs, tangents, masks, strict=True)
            for k in mask
        ]

    def zero(self, x: Atom) -> Atom:
        """The tangent of a value that does not move."""
        return self.builder.to("float32", 0.0) if type_of(x) == "float32" else 0.0

    def foreseen(self, x: Value) -> list[Any]:
        """What a value that a loop carries will move along, as far as it is known before."""
        return []

    def loop(self, op: For | While) -> None:
        """A loop carries the tangents that its values can have after any number of rounds."""
        starts = [self.tangents(x) for x in op.init]
        masks = [keys_of(t, self.foreseen(p)) for t, p in zip(starts, op.params, strict=True)]
        while True:
            new, params = self.begun(op), self.values(op.params)
            extra = [
                [Value(p.type) for _ in mask] for p, mask in zip(op.params, masks, strict=True)
            ]
            for p, mask, values in zip(op.params, masks, extra, strict=True):
                self.moving.pop(p, None)
                if mask:
                    self.moving[p] = Chain(dict(zip(mask, values, strict=True)))
            if isinstance(op, While):
                with self.inside(new.test):
                    self.run(op.test)
                    new.test.yields = [self.atom(x) for x in op.test.yields]
            else:
                new.again = False
            with self.inside(new.body):
                self.run(op.body)
                ends = [self.tangents(x) for x in op.body.yields]
                wider = [keys_of(m, t) for m, t in zip(masks, ends, strict=True)]
                settled, masks = wider == masks, wider
                new.body.yields = [self.atom(x) for x in op.body.yields]
            if settled:
                break
        with self.builder.inside(new.body):
            new.body.yields += self.row(op.params, ends, masks)
        new.init = [self.atom(x) for x in op.init] + self.row(op.params, starts, masks)
        new.params = [*params, *(v for values in extra for v in values)]
        new.outs = [Value(type_of(x)) for x in new.params]
        self.builder.block.ops.append(new)
        self._leave(op.outs, masks, new.outs)

    def apart(self, buffers: list[Value]) -> list[Value]:
        rows = [[self.made[x], *self.tangents(x).values()] for x in buffers if x in self.made]
        return [x for row in rows for x in row if isinstance(x, Value)]


def keys_of(a: Iterable[Any], b: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys([*a, *b]))
