"""From a program to Python text: flat statements, one for each operation.

The text computes in one floating point type, which it calls T; every constant is written
``T(0.5)``, every conversion from an integer ``T(i)``, so that float32 stays float32. Functions are
called by the names of their operations. Whoever runs the text defines those: the GPU and plain
Python take the same text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from zyg.compiler.ir import Atom, Block, For, If, Op, Program, Value, While, type_of
from zyg.compiler.rewriter import Visitor

_FACTORS = 4  # up to this power, x**n is a product


@dataclass(eq=False, repr=False)
class Text:
    """The statements of a program, the names of its results, and the functions they call."""

    lines: list[str]
    results: list[str]
    functions: set[str] = field(default_factory=set)
    definitions: list[str] = field(
        default_factory=list
    )  # of functions that have rules of their own


def emit(program: Program, names: Sequence[str]) -> Text:
    """The text of a program whose inputs have these names."""
    return _Emitter(program, names).text


class _Emitter(Visitor):
    def __init__(self, program: Program, names: Sequence[str]) -> None:
        self.names = dict(zip(program.inputs, names, strict=True))
        self.text = Text([], [])
        self.callees: dict[Program, str] = {}
        self.text.lines += self.block(program.body)
        self.text.results += map(self.atom, program.outputs)

    def atom(self, x: Atom) -> str:
        if isinstance(x, Value):
            if x not in self.names:
                self.names[x] = f"v{len(self.names)}"
            return self.names[x]
        if type_of(x) != "float":
            return repr(x)
        if not math.isfinite(x):
            return {math.inf: "T(1e999)", -math.inf: "T(-1e999)"}.get(x, "T(1e999 - 1e999)")
        return f"T({float(x)!r})"

    def typed(self, x: Atom, out: Value) -> str:
        """An operand whose type is that of the result: a number in the bits of that."""
        if out.type != "uint" or isinstance(x, Value):
            return self.atom(x)
        return f"int64({x - 2**64 if x >= 2**63 else x})"

    def block(self, block: Block) -> Iterator[str]:
        for op in block.ops:
            yield from self.visit(op)

    def op(self, op: Op) -> Iterator[str]:
        if op.name == "power" and op.out.type != "float":
            yield from self.whole_power(op)
        else:
            yield f"{self.atom(op.out)} = {self.expression(op)}"

    def whole_power(self, op: Op) -> Iterator[str]:
        """A power of an int, which no rounding may reach: by squares."""
        (x, n), y = op.args, self.atom(op.out)
        yield f"{y} = {self.atom(x)}"
        for bit in f"{n:b}"[1:]:
            for factor in (y, self.atom(x)) if bit == "1" else (y,):
                yield f"{y} = {self.call('wrapping_multiply', y, factor)}"

    def expression(self, op: Op) -> str:
        args = [self.typed(x, op.out) for x in op.args]
        if op.row.signed and any(type_of(x) == "uint" for x in op.args):
            self.text.functions.add("uint64")
            args = [self.unsigned(x) for x in op.args]
            expression = self.called(op, args)
            return f"int64({expression})" if op.out.type == "uint" else expression
        return self.called(op, args)

    def call(self, name: str, *args: str) -> str:
        self.text.functions.add(name)
        return f"{name}({', '.join(args)})"

    def unsigned(self, x: Atom) -> str:
        """An operand of an operation on ints without a sign; only comparisons take others."""
        if type_of(x) == "uint" or (type(x) is int and x >= 0):
            return f"uint64({self.atom(x) if isinstance(x, Value) else x})"
        return self.atom(x)

    def called(self, op: Op, args: list[str]) -> str:
        if op.callee is not None:
            return f"{self.defined(op.callee)}({', '.join(args)})"
        row = op.row
        if op.out.type != "float":  # numba.cuda takes the operators' for what does not wrap
            if op.name == "square":
                return self.call("wrapping_multiply", *args, *args)
            if op.name == "negative":
                return self.call("wrapping_subtract", "0", *args)
            if row.wraps and row.sign:
                return self.call(f"wrapping_{op.name}", *args)
        if row.text:
            return row.text.format(*args)
        if op.name == "power" and not isinstance(op.args[1], Value):
            n = op.args[1]
            if 0 < abs(n) <= _FACTORS and n == int(n):
                product = " * ".join([args[0]] * int(abs(n)))
                return product if n > 0 else f"T(1.0) / ({product})"
        call = self.call(op.name, *args)
        mixed = op.name == "power" and type_of(op.args[1]) != op.out.type
        return f"T({call})" if mixed else call  # a power of an int is a double, to NumPy

    def defined(self, callee: Program) -> str:
        """The name of a function that has a rule of its own, defined before the kernel."""
        if callee not in self.callees:
            name = callee.name if callee.name.isidentifier() else "function"
            name = self.callees[callee] = f"{name}_{len(self.callees)}"
            names = [f"x{k}" for k in range(len(callee.inputs))]
            inner = _Emitter(callee, names).text
            self.text.functions |= inner.functions
            self.text.definitions += inner.definitions
            body = [*inner.lines, f"return {inner.results[0]}"]
            lines = [f"def {name}({', '.join(names)}):", *("    " + line for line in body)]
            self.text.definitions.append("\n".join(lines))
        return self.callees[callee]

    def assigned(self, outs: Sequence[Value], atoms: Sequence[Atom]) -> Iterator[str]:
        """All at once: one may be read for another."""
        pairs = [(self.atom(out), self.typed(x, out)) for out, x in zip(outs, atoms, strict=True)]
        pairs = [(out, x) for out, x in pairs if out != x]
        reads = {x for _, x in pairs}
        if any(out in reads for out, _ in pairs):
            yield f"{', '.join(out for out, _ in pairs)} = {', '.join(x for _, x in pairs)}"
        else:
            yield from (f"{out} = {x}" for out, x in pairs)

    def if_(self, op: If) -> Iterator[str]:
        sides = [
            [*self.block(block), *self.assigned(op.outs, block.yields)]
            for block in (op.then, op.orelse)
        ]
        yield f"if {self.atom(op.condition)}:"
        yield from indented(sides[0])
        if sides[1]:
            yield "else:"
            yield from indented(sides[1])

    def for_(self, op: For) -> Iterator[str]:
        yield from self.assigned(op.params, op.init)
        span = ", ".join(map(self.atom, op.span))
        yield f"for {self.atom(op.index)} in range({span}):"
        yield from indented([*self.block(op.body), *self.assigned(op.params, op.body.yields)])
        yield from self.assigned(op.outs, op.params)

    def while_(self, op: While) -> Iterator[str]:
        yield from self.assigned(op.params, op.init)
        test = [*self.block(op.test)]
        condition = self.atom(op.test.yields[0])
        body = [*self.block(op.body), *self.assigned(op.params, op.body.yields)]
        if test:
            yield from test
            yield f"while {condition}:"
            yield from indented([*body, *test])
        else:
            yield f"while {condition}:"
            yield from indented(body)
        yield from self.assigned(op.outs, op.params)


def indented(lines: Sequence[str]) -> list[str]:
    return ["    " + line for line in lines or ["pass"]]
