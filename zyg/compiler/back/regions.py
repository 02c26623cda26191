"""LLVM text of what operates on numbers: regions become blocks, what they yield phis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zyg.compiler.back.llvm_scalar import Scalars
from zyg.compiler.back.simd import Lane, literal
from zyg.compiler.ir import Atom, Block, For, If, Op, Program, Type, Value, While, type_of
from zyg.compiler.rewriter import Visitor


class Regions(Visitor):
    """Prints blocks of a program, whose types are these of LLVM's."""

    def __init__(self, m: Scalars, types: Mapping[Type, str]) -> None:
        self.m, self.types = m, types
        self.known: dict[Value, str] = {}
        self.around: For | While | None = None  # the innermost loop

    def outputs(self, program: Program, inputs: Sequence[Lane]) -> list[Lane]:
        """The outputs of a program of these inputs."""
        for x, lane in zip(program.inputs, inputs, strict=True):
            (self.known[x],) = lane.names
        self.run(program.body)
        return [self.lane(x) for x in program.outputs]

    # Parts

    def type(self, kind: Type) -> str:
        return self.types.get(kind, "ptr")

    def atom(self, x: Atom, kind: Type | None = None) -> str:
        if isinstance(x, Value):
            return self.known[x]
        return literal(self.type(kind or type_of(x)), x)

    def typed(self, x: Atom, kind: Type | None = None) -> str:
        return f"{self.type(kind or type_of(x))} {self.atom(x, kind)}"

    def word(self, x: Atom) -> str:
        """An operand in a word of 8 bytes, as far as it has less in registers."""
        typed = self.typed(x)
        return "i64 " + self.m.value(f"zext {typed} to i64") if type_of(x) == "bool" else typed

    def lane(self, x: Atom) -> Lane:
        return Lane(self.m, self.type(type_of(x)), (self.atom(x),))

    def name(self, out: Value) -> str:
        self.known[out] = name = self.m.name()
        return name

    def fresh(self) -> str:
        """The name of a block."""
        return self.m.name("b")

    def start(self, block: str) -> None:
        self.m.start(block[1:])

    def join(self, values: Sequence[Value], *sides: tuple[str, Sequence[str]]) -> None:
        """What values are, by the block from where one comes."""
        for k, x in enumerate(values):
            comes = ", ".join(f"[ {names[k]}, {block} ]" for block, names in sides)
            self.m.line(f"{self.name(x)} = phi {self.type(x.type)} {comes}")

    def end(self, block: Block) -> None:
        """The end of a block."""

    def round(self, op: For | While) -> None:
        """The start of a round of a loop."""

    def marks(self, op: For | While) -> Sequence[Any]:
        """What a loop carries besides its values, as `loop` takes it."""
        return ()

    # Operations

    def op(self, op: Op) -> None:
        args, type = [*map(self.lane, op.args)], self.type(op.out.type)
        if op.callee is not None:
            made = self.m.converted(Regions(self.m, self.types).outputs(op.callee, args)[0], type)
        else:
            made = self.m.op(op, args, type)
        (self.known[op.out],) = made.names

    def if_(self, op: If) -> None:
        then, orelse, after = self.fresh(), self.fresh(), self.fresh()
        self.m.line(f"br i1 {self.atom(op.condition)}, label {then}, label {orelse}")
        sides = []
        for start, block in ((then, op.then), (orelse, op.orelse)):
            self.start(start)
            self.run(block)
            self.end(block)
            pairs = zip(block.yields, op.outs, strict=True)
            sides.append((f"%{self.m.block}", [self.atom(x, out.type) for x, out in pairs]))
            self.m.line(f"br label {after}")
        self.start(after)
        self.join(op.outs, *sides)

    def for_(self, op: For) -> None:
        """A loop whose index stays at the last int where the next would be beyond."""
        add = "call i64 @llvm.sadd.sat.i64(i64 {}, i64 {})"
        self.m.declared["declare i64 @llvm.sadd.sat.i64(i64, i64)"] = None
        self.loop(op, *self.counting(op, add))

    def counting(self, op: For, add: str) -> tuple[Callable[[], str], list[Any]]:
        """The test of a loop, and its index as a value of its own."""
        first, end, step = op.span
        how = "slt" if step > 0 else "sgt"  # type: ignore[operator]  # a number

        def test() -> str:
            return self.m.value(f"icmp {how} i64 {self.known[op.index]}, {self.atom(end)}")

        def steps() -> str:
            return self.m.value(add.format(self.known[op.index], step))

        return test, [(op.index, self.atom(first), steps)]

    def while_(self, op: While) -> None:
        def test() -> str:
            self.run(op.test)
            return self.atom(op.test.yields[0])

        self.loop(op, test, [])

    def loop(self, op: For | While, test: Callable[[], str], own: Sequence[Any],
             how: str = "") -> None:  # fmt: skip
        """A loop; its `own` values have a name at the start, and one printed after each round."""
        m, before = self.m, f"%{self.m.block}"
        head, body, after = self.fresh(), self.fresh(), self.fresh()
        own = [*own, *self.marks(op)]
        m.line(f"br label {head}")
        self.start(head)
        phis = len(m.lines)
        m.lines.append("")  # as they name what is not printed yet
        carried = [(x, start) for x, start, _ in own]
        carried += [(p, self.atom(x, p.type)) for p, x in zip(op.params, op.init, strict=True)]
        for x, _ in carried:
            self.name(x)
        m.line(f"br i1 {test()}, label {body}, label {after}")
        self.start(body)
        outer, self.around = self.around, op
        self.round(op)
        self.run(op.body)
        self.around = outer
        self.end(op.body)
        yields = [rest() for _, _, rest in own]
        yields += [self.atom(x, p.type) for x, p in zip(op.body.yields, op.params, strict=True)]
        last = f"%{m.block}"
        m.line(f"br label {head}{how}")
        m.lines[phis] = "\n".join(
            f"  {self.known[x]} = phi {self.type(x.type)} [ {start}, {before} ], [ {y}, {last} ]"
            for (x, start), y in zip(carried, yields, strict=True)
        )
        self.start(after)
        for out, p in zip(op.outs, op.params, strict=True):
            self.known[out] = self.known[p]
