"""From a program to a Python module that needs NumPy alone: for people to read, and to run.

What is used once stands where it is used; regions are Python's own; a buffer is an array of one
axis, a buffer of buffers a list. Numbers are Python's or NumPy's as they come, which compute the
same: where Python would raise and NumPy would not, NumPy's function is called by name.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from zyg.compiler.back import inner_loops, lapack
from zyg.compiler.back.python_text import indented
from zyg.compiler.builder import REALS
from zyg.compiler.callbacks import refuse_text
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
    blocks_of,
    element_of,
    has_effects,
    is_buffer,
    operands_of,
    operations,
)
from zyg.compiler.rewriter import Visitor
from zyg.compiler.splice import as_run
from zyg.functions.operations import OPERATIONS, OVERFLOW

_TERNARY, _NOT, _COMPARE, _UNARY, _WHOLE = 0, 3, 4, 10, 12  # how tightly an expression binds
_BINDS = {
    "or": 1, "and": 2, "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "!=": 4, "|": 5, "^": 6, "&": 7,
    "+": 8, "-": 8, "*": 9, "/": 9, "//": 9, "%": 9,
}  # fmt: skip
_AND_OR = {"logical_and": "and", "logical_or": "or"}
_OPPOSITE = {"==": "!=", "!=": "=="}
_CONVERTED = {"float": "float", "int": "int", "float32": "np.float32"}
_ERRORS = {"index": "IndexError", "zero": "ZeroDivisionError", "64 bits": "OverflowError"}
_LONGEST = 60  # characters of an expression that stands in another
_DTYPES = {"float": "", "float32": ", np.float32", "int": ", np.int64", "bool": ", np.bool_"}
# What a module defines besides, if it is called: math's functions raise at their poles.
_WRITTEN = {
    "gamma": """
def gamma(x):
    if x == 0:
        return math.copysign(math.inf, x)
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan
""",
    "lgamma": """
def lgamma(x):
    try:
        return math.lgamma(x)
    except (OverflowError, ValueError):
        return math.inf
""",
    "matrix": """
def matrix(x, start, rows, columns, row, column):
    \"\"\"A view of a buffer: where it starts, its shape, how far rows and columns are apart.\"\"\"
    strides = row * x.itemsize, column * x.itemsize
    return np.lib.stride_tricks.as_strided(x[start:], (rows, columns), strides)
""",
}


class Module:
    """The functions of a module, in the order in which they are defined."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self.names: dict[Program, str] = {}
        self.taken: set[str] = {"math", "np", *_WRITTEN}
        self.written: set[str] = set()

    def text(self, first: str) -> str:
        head = [f'"""{first}"""\n', "import math\n", "import numpy as np\n"]
        parts = [_WRITTEN[name].strip("\n") + "\n" for name in sorted(self.written)]
        return "\n".join(head) + "\n\n" + "\n\n".join([*parts, *self.functions])

    def name_of(self, callee: Program) -> str:
        """The name of a function that is called, defined before."""
        if callee not in self.names:
            self.add(callee, re.sub(r"\W|^(?=[vx]\d+$|[i-p]$)", "_", callee.name))
        return self.names[callee]

    def add(
        self, program: Program, name: str, names: Sequence[str] = (), quiet: bool = False
    ) -> None:
        """Define a function; what it calls is defined before. `quiet`: NumPy does not warn."""
        while name in self.taken or not name.isidentifier():
            name += "_"
        self.taken |= {name, *names}
        self.names[program] = name
        function = _Function(self, as_run(program), names)
        head = '@np.errstate(all="ignore")\n' if quiet else ""
        head += f"def {name}({', '.join(function.inputs)}):"
        self.functions.append("\n".join([head, *indented(function.lines)]) + "\n")


@dataclass(eq=False, repr=False)
class _Text:
    """An expression that stands in the one place where it is used."""

    text: str
    binds: int
    loads: bool = False  # from memory: it comes before what is stored
    # Of an operator: its left side, itself, its right side, and that without brackets.
    sides: tuple[str, str, str, str] | None = None


class _Function(Visitor):
    def __init__(self, module: Module, program: Program, names: Sequence[str]) -> None:
        self.module = module
        self.inputs = [*names] or [f"x{k}" for k in range(len(program.inputs))]
        self.names = dict(zip(program.inputs, self.inputs, strict=True))
        self.count = 0
        self.depth = 0
        self.once = _used_once(program)
        self.tests = {
            op.out: op.args[0] for op in operations(program.body)
            if isinstance(op, Op) and op.name == "not_equal" and op.args[1] == 0
        }  # fmt: skip
        self.pending: dict[Value, _Text] = {}
        self.of_numpy: set[Value] = set()  # numbers that surely are NumPy's, which divide by zero
        self.nonzero: set[Atom] = set()
        outs = [*self.block(program.body)]
        results = [self.at(y) for y in program.outputs]
        self.lines = [*outs, f"return {', '.join(results)}" if results else "return ()"]

    # Expressions

    def at(self, x: Atom, binds: int = _TERNARY) -> str:
        """An operand, in brackets where what is around it binds more tightly."""
        made = self.taken(x)
        return made.text if made.binds >= binds else f"({made.text})"

    def taken(self, x: Atom) -> _Text:
        if not isinstance(x, Value):
            return _Text(_literal(x), _UNARY if x < 0 else _WHOLE)
        return self.pending.pop(x, None) or _Text(self.name(x), _WHOLE)

    def name(self, x: Value) -> str:
        if x not in self.names:
            while (name := f"v{self.count}") in self.inputs:
                self.count += 1
            self.names[x] = name
            self.count += 1
        return self.names[x]

    def give(self, x: Value, made: _Text) -> Iterator[str]:
        """Keep an expression for where it is used, or assign it to a name."""
        if x in self.once and len(made.text) <= _LONGEST:
            self.pending[x] = made
        else:
            yield f"{self.name(x)} = {made.text}"

    def flush(self) -> Iterator[str]:
        """Assign what was read from memory, before that changes."""
        for x in [x for x, made in self.pending.items() if made.loads]:
            yield f"{self.name(x)} = {self.pending.pop(x).text}"

    def op(self, op: Op) -> Iterator[str]:
        loads = any(x in self.pending and self.pending[x].loads for x in op.args)
        if self._by_numpy(op):
            self.of_numpy.add(op.out)
        made = self.expression(op)
        made.loads = loads
        yield from self.give(op.out, made)

    def _by_numpy(self, op: Op) -> bool:
        """Whether the result surely is a number of NumPy's."""
        if op.out.type not in REALS or op.name in ("float", "constant") or op.callee:
            return False
        args = op.args[1:] if op.name == "select" else op.args
        known = [x in self.of_numpy for x in args]
        if op.name == "select":
            return all(known)
        if op.name == "divide":
            return any(known) or not self._divides(*op.args)
        by_operator = op.row.python and op.cost == 1
        return any(known) or (not by_operator and op.row.is_numpys)

    def expression(self, op: Op) -> _Text:
        name, args = op.name, op.args
        if op.callee is not None:
            return _Text(f"{self.module.name_of(op.callee)}({self.row(args)})", _WHOLE)
        row = op.row
        sign = _AND_OR.get(name) or row.sign
        if op.out.type == "int" and row.python in _BINDS:
            sign = row.python
        if name == "divide" and not self._divides(*args):
            sign = ""
        if sign:
            binds = _BINDS[sign]
            left = self.at(args[0], binds + (binds == _COMPARE))
            right = self.taken(args[1])
            text = right.text if right.binds > binds else f"({right.text})"
            return _Text(f"{left} {sign} {text}", binds, sides=(left, sign, text, right.text))
        if name == "constant":
            return _Text(self.at(args[0], _WHOLE), _WHOLE)
        if function := _CONVERTED.get(name) or (row.python == "abs" and "abs"):
            return _Text(f"{function}({self.at(args[0])})", _WHOLE)
        if row.python.endswith("x") or name == "logical_not":
            binds = _NOT if name == "logical_not" else _UNARY
            return _Text(row.text.format(self.at(args[0], binds)), binds)
        if op.row.types == OVERFLOW:  # of Python's ints, which do not
            sign = OPERATIONS[name.removesuffix("_overflows")].sign or "**"
            ints = [f"int({self.at(x)})" if isinstance(x, Value) else self.at(x, 11) for x in args]
            return _Text(f"not -(2**63) <= {f' {sign} '.join(ints)} < 2**63", _NOT)
        if name == "select":
            condition, one, other = (self.at(x, _TERNARY + 1) for x in args)
            return _Text(f"{one} if {condition} else {other}", _TERNARY)
        if name in ("power", "int_power") and op.out.type not in REALS:
            return _Text(" ** ".join(self.at(x, _UNARY + 1) for x in args), _UNARY)
        if name in _WRITTEN:
            self.module.written.add(name)
        module = "" if name in _WRITTEN else "np." if row.is_numpys else "math."
        if name == "power":  # NumPy's own takes the square root
            power = f"np.float_power({self.row(args)})"
            return _Text(power if op.out.type == "float" else f"np.float32({power})", _WHOLE)
        return _Text(f"{module}{name}({self.row(args)})", _WHOLE)

    def _divides(self, x: Atom, y: Atom) -> bool:
        """Whether a division by Python's sign gives what NumPy's does."""
        if not isinstance(y, Value):
            return y != 0
        return x in self.of_numpy or y in self.of_numpy or y in self.nonzero

    def row(self, atoms: Sequence[Atom]) -> str:
        return ", ".join(self.at(x) for x in atoms)

    # Memory

    def alloc(self, op: Alloc) -> Iterator[str]:
        kind, size = element_of(op.out.type), self.at(op.size)
        if is_buffer(kind):
            text = f"[None] * {size if size.isidentifier() else f'({size})'}"
        else:
            text = f"np.{'zeros' if op.zeroed else 'empty'}({size}{_DTYPES[kind]})"
        yield f"{self.name(op.out)} = {text}"

    def load(self, op: Load) -> Iterator[str]:
        if op.out.type in REALS:
            self.of_numpy.add(op.out)
        yield from self.give(op.out, _Text(self.element(op.buffer, op.index), _WHOLE, loads=True))

    def element(self, buffer: Value, index: Atom) -> str:
        return f"{self.at(buffer)}[{self.at(index)}]"

    def store(self, op: Store) -> Iterator[str]:
        target, made = self.element(op.buffer, op.index), self.taken(op.value)
        yield from self.flush()
        yield _assignment(target, made)

    def check(self, op: Check) -> Iterator[str]:
        yield f"if {_negated(self.taken(op.condition))}:"
        error = next((e for word, e in _ERRORS.items() if word in op.why), "ValueError")
        yield f"    raise {error}({op.why!r})"
        if op.condition in self.tests:
            self.nonzero.add(self.tests[op.condition])

    def call(self, op: Call) -> Iterator[str]:
        name, args = self.module.name_of(op.callee), self.row(op.args)
        yield from self.flush()
        outs = ", ".join(map(self.name, op.outs))
        yield f"{outs} = {name}({args})" if outs else f"{name}({args})"

    def routine(self, op: Routine) -> Iterator[str]:
        args = [self.at(x) for x in op.args]
        yield from self.flush()
        if op.name not in inner_loops.NAMES:
            self.module.written.add("matrix")
        if op.name != "product":
            lines = (inner_loops if op.name in inner_loops.NAMES else lapack).lines
            yield from lines(op.name, args, [*map(self.name, op.outs)])
            return
        m, n, k = args[:3]
        a, b, c = (
            f"matrix({buffer}, {start}, {rows}, {columns}, {row}, {column})"
            for (buffer, start, row, column), rows, columns in zip(
                (args[3:7], args[7:11], args[11:15]), (m, k, m), (k, n, n), strict=True
            )
        )
        yield f"{c}[:] += {a} @ {b}"

    # Regions

    def block(self, block: Block) -> Iterator[str]:
        for op in block.ops:
            yield from self.visit(op)

    def inner(self, block: Block, outs: Sequence[Value]) -> list[str]:
        """The lines of a block in a region, and the assignment of what it yields."""
        outside, self.pending = self.pending, {}
        known = {*self.nonzero}
        lines = [*self.block(block), *self.assigned(outs, block.yields)]
        self.pending, self.nonzero = outside, known
        return lines

    def assigned(self, outs: Sequence[Value], atoms: Sequence[Atom]) -> Iterator[str]:
        """All at once where one is read for another."""
        pairs = [(self.name(out), self.taken(x)) for out, x in zip(outs, atoms, strict=True)]
        pairs = [(out, made) for out, made in pairs if out != made.text]
        before: set[str] = set()
        for out, made in pairs:
            if not before.isdisjoint(re.findall(r"\w+", made.text)):
                values = ", ".join(made.text for _, made in pairs)
                yield f"{', '.join(out for out, _ in pairs)} = {values}"
                return
            before.add(out)
        yield from (_assignment(out, made) for out, made in pairs)

    def if_(self, op: If) -> Iterator[str]:
        condition = self.taken(op.condition)
        if has_effects(op):
            yield from self.flush()
        then, orelse = (self.inner(block, op.outs) for block in (op.then, op.orelse))
        text = condition.text
        if not then:
            then, orelse, text = orelse, [], _negated(condition)
        if not then:
            return
        yield f"if {text}:"
        yield from indented(then)
        if (
            orelse
            and orelse[0].startswith("if ")
            and all(x[:2] in ("  ", "el") for x in orelse[1:])
        ):
            yield f"el{orelse[0]}"
            yield from orelse[1:]
        elif orelse:
            yield "else:"
            yield from indented(orelse)

    def begin(self, op: For | While) -> Iterator[str]:
        """What is carried, under the names that it leaves with."""
        yield from self.assigned(op.params, op.init)
        if has_effects(op):
            yield from self.flush()
        for out, p in zip(op.outs, op.params, strict=True):
            self.names[out] = self.name(p)

    def for_(self, op: For) -> Iterator[str]:
        start, end, step = map(self.at, op.span)
        row = [end] if (start, step) == ("0", "1") else [start, end]
        row += [step] if step != "1" else []
        yield from self.begin(op)
        self.names[op.index] = self._index()
        self.depth += 1
        body = self.inner(op.body, op.params)
        self.depth -= 1
        yield f"for {self.names[op.index]} in range({', '.join(row)}):"
        yield from indented(body)

    def _index(self) -> str:
        name = "ijklmnop"[self.depth] if self.depth < 8 else f"i{self.depth}"
        return name if name not in self.inputs else f"{name}_"

    def while_(self, op: While) -> Iterator[str]:
        yield from self.begin(op)
        outside, self.pending = self.pending, {}
        test = [*self.block(op.test)]
        condition = self.taken(op.test.yields[0])
        self.pending = outside
        body = self.inner(op.body, op.params)
        if test:
            yield "while True:"
            yield from indented([*test, f"if {_negated(condition)}:", "    break", *body])
        else:
            yield f"while {condition.text}:"
            yield from indented(body)

    def call_back(self, op: Any) -> Iterator[str]:
        yield from refuse_text(op)


def _literal(x: Any) -> str:
    if isinstance(x, float) and not math.isfinite(x):
        return "math.nan" if x != x else "math.inf" if x > 0 else "-math.inf"
    return repr(x)


def _assignment(target: str, made: _Text) -> str:
    """In place, where what is assigned is the target, changed."""
    if made.sides is not None and made.sides[0] == target and made.sides[1] in "+-*/":
        return f"{target} {made.sides[1]}= {made.sides[3]}"
    return f"{target} = {made.text}"


def _negated(made: _Text) -> str:
    if made.sides is not None and made.sides[1] in _OPPOSITE:
        left, sign, right, _ = made.sides
        return f"{left} {_OPPOSITE[sign]} {right}"
    if made.binds == _NOT:
        return made.text.removeprefix("not ")
    return f"not {made.text}" if made.binds > _NOT else f"not ({made.text})"


def _used_once(program: Program) -> set[Value]:
    """What is used in one place, and that in the block where it is made."""
    uses: Counter[Atom] = Counter()
    near: set[Value] = set()

    def visit(block: Block) -> None:
        made: set[Atom] = set()
        for op in block.ops:
            uses.update(operands_of(op))
            near.update(made.intersection(operands_of(op)))  # type: ignore[arg-type]
            for inner in blocks_of(op):
                visit(inner)
            if isinstance(op, (Op, Load)):
                made.add(op.out)
        uses.update(block.yields)
        near.update(made.intersection(block.yields))  # type: ignore[arg-type]

    visit(program.body)
    return {x for x in near if uses[x] == 1}
