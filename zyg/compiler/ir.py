"""The intermediate representation of a scalar function: values, operations, regions.

A `Program` takes and returns numbers. Its body is a `Block`: operations in order, and what the
block yields. Control flow is structured: an `If` has two blocks, a `For` and a `While` carry values
from one round to the next. Every value is made once (static single assignment); what a region
gives to its surroundings, it yields. A number that is known stands where a value could (`Atom`).

Operations are named after NumPy's ufuncs (`multiply`, `tanh`, `less`); besides, there are `select`
(the second operand where the first is true, else the third), `float`, `int`, `uint`, `erf` and its
like of the math module, and `constant` (its operand, through which no derivative flows).

An "int" is of 64 bits, with a sign. A "uint" is NumPy's uint64, held in the same bits: the text
says where a sign would matter. In a scalar function, "float" is of the width that the text is
printed for; in a whole function it is of 64 bits, and "float32" of 32.

Whole functions have memory, too. A *buffer* is a row of numbers of one type, "float[]"; an array is
a buffer, an offset, a shape and strides, all of which are numbers, so that the memory of a program
is read and written by `Load` and `Store` alone, and by the few `Routine` that libraries have for
it. Buffers are values as numbers are: blocks yield them, loops carry them; a "float[][]" is a
buffer of buffers. Operations with effects stay in their order. Where a `Check` fails the program
ends, and nothing that it did counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from zyg.compiler.atoms import Atom as Atom
from zyg.compiler.atoms import Type as Type
from zyg.compiler.atoms import Value as Value
from zyg.compiler.atoms import element_of as element_of
from zyg.compiler.atoms import is_buffer as is_buffer
from zyg.compiler.atoms import is_number as is_number
from zyg.compiler.atoms import same as same
from zyg.compiler.atoms import type_of as type_of
from zyg.functions.operations import CALL, OPERATIONS, Operation


@dataclass(eq=False, repr=False)
class Block:
    ops: list[Any] = field(default_factory=list)
    yields: list[Atom] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class Op:
    """``out = name(*args)``; `callee` is the program of a function that has a rule of its own."""

    name: str
    args: tuple[Atom, ...]
    out: Value
    callee: Program | None = None

    @property
    def row(self) -> Operation:
        """What the table of operations says of it."""
        return CALL if self.callee else OPERATIONS[self.name]

    @property
    def cost(self) -> int:
        """About how many additions of floats it takes."""
        return 1 if self.out.type in ("int", "uint", "bool") else self.row.cost

    @property
    def flat(self) -> bool:
        """Whether no derivative flows through it."""
        return self.row.flat or self.name == "int"


@dataclass(eq=False, repr=False)
class Alloc:
    """`out` is a fresh buffer of `size` elements, all zero if `zeroed`; or a `tape`."""

    out: Value
    size: Atom
    zeroed: bool = True
    tape: bool = False


@dataclass(eq=False, repr=False)
class Load:
    """``out = buffer[index]``; the index is within bounds."""

    buffer: Value
    index: Atom
    out: Value


@dataclass(eq=False, repr=False)
class Store:
    """``buffer[index] = value``, within bounds; those that `adds` to it may come in any order."""

    buffer: Value
    index: Atom
    value: Atom
    adds: bool = False


@dataclass(eq=False, repr=False)
class Check:
    """The program ends where `condition` is false: Python is to run the function, and to raise.

    One `of_slopes` is made in derivatives of the program alone: of its own, where the condition is
    false, zyg's rules have others.
    """

    condition: Atom
    why: str
    of_slopes: bool = False


@dataclass(eq=False, repr=False)
class Call:
    """``outs = callee(*args)``, out of line: what calls itself, or is long."""

    callee: Program
    args: tuple[Atom, ...]
    outs: list[Value]


@dataclass(eq=False, repr=False)
class Routine:
    """A routine of a library, over memory: see `routines`, which has its name."""

    name: str
    args: tuple[Atom, ...]
    outs: list[Value]


@dataclass(eq=False, repr=False)
class CallBack:
    """``outs = callee(*args)``, in Python; buffers among `outs` are fresh. See `callbacks`."""

    callee: Any
    args: tuple[Atom, ...]
    outs: list[Value]


@dataclass(eq=False, repr=False)
class If:
    condition: Atom
    then: Block
    orelse: Block
    outs: list[Value]


@dataclass(eq=False, repr=False)
class For:
    """``for index in range(*span)``; `params` start as `init`, then are what `body` yields.

    The step is a number. The rounds of an `independent` loop read nothing that others write, and
    write to different places. Of a loop that runs `again` in the reverse pass, nothing is kept but
    what it begins with. `line` is where the user has it. One `in_turn` is of Python's own rounds,
    and adds in their order, but to what it carries `loose`; others may add in any.

    The rounds of a loop may run in several threads if `apart` is not None: they hand on sums, and
    write to buffers of their own and, each at its own places, to those `apart`. They do if so many
    operations as `work` are worth it. In them, loops `in_order` come in order, at the end.
    """

    index: Value
    span: tuple[Atom, Atom, Atom]
    init: list[Atom]
    params: list[Value]
    body: Block
    outs: list[Value]
    independent: bool = False
    again: bool = False
    line: str = ""
    apart: list[Value] | None = None
    work: Atom = 0.0
    in_order: bool = False
    in_turn: bool = False
    loose: list[Value] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class While:
    """While `test` yields true; `params` start as `init`, then are what `body` yields."""

    test: Block
    init: list[Atom]
    params: list[Value]
    body: Block
    outs: list[Value]
    line: str = ""


@dataclass(eq=False, repr=False)
class Program:
    """A function of numbers; it returns what its body yields.

    `rule` has the partial derivatives of a function that brings its own. `sizes` says of buffers
    among the inputs which inputs multiply to the number of their elements. A function with an
    `adjoint` of its own is derived by that. One that `mirrors` another is called after that, and as
    deep.
    """

    name: str
    inputs: list[Value]
    body: Block
    rule: Any = None
    sizes: dict[Value, tuple[Atom, ...]] = field(default_factory=dict)
    adjoint: Adjoint | None = None
    mirrors: bool = False

    @property
    def outputs(self) -> list[Atom]:
        return self.body.yields


@dataclass(eq=False, repr=False)
class Adjoint:
    """How cotangents come from the results of a function to its arguments.

    The inputs of `program` are inputs and outputs of the function, and `bars`, one for each result
    that is real, in order; the results are the first `results` outputs. It yields cotangents of the
    inputs at the places `moving`. `only_reverse` is what is said where forward mode meets it.
    """

    program: Program
    bars: list[Value]
    results: int
    moving: list[int]
    only_reverse: tuple[str, str, str] | None = None
    stays = False  # the function is called where its adjoint follows, and not put there
    # Of a function that Python runs, and that is called where others are put in place: what is
    # called instead where the adjoint follows, its tangents, and what derivatives further out see.
    keeping: Program | None = None
    pushed: Program | None = None
    outside: Program | None = None

    def which(self, moves: Callable[[int], Any]) -> int:
        """The last operand of such a function: a bit for each operand at `moving` that moves."""
        if len(self.moving) > 62:  # bits of an int
            return -1
        return sum(1 << j for j, k in enumerate(self.moving) if moves(k))


def blocks_of(op: Any) -> Sequence[Block]:
    """The blocks inside an operation."""
    if type(op) is If:
        return op.then, op.orelse
    if type(op) is While:
        return op.test, op.body
    return (op.body,) if type(op) is For else ()


def operations(block: Block) -> Iterator[Any]:
    """All operations, those inside others too."""
    todo = [iter(block.ops)]
    while todo:
        for op in todo[-1]:
            yield op
            if inner := blocks_of(op):
                todo += [iter(x.ops) for x in reversed(inner)]
                break
        else:
            todo.pop()


_EFFECTS = (Store, Check, Call, CallBack, Routine)


def has_effects(op: Any) -> bool:
    """Whether an operation does more than to make values."""
    return isinstance(op, _EFFECTS) or any(
        has_effects(inner) for block in blocks_of(op) for inner in block.ops
    )


def outs_of(op: Any) -> Sequence[Value]:
    """The values that an operation makes."""
    if isinstance(op, (Op, Alloc, Load)):
        return (op.out,)
    return () if isinstance(op, (Store, Check)) else op.outs


def operands_of(op: Any) -> Sequence[Atom]:
    """What an operation takes, without what its blocks read."""
    return _OPERANDS[type(op)](op)


_OPERANDS: dict[type, Callable[[Any], Sequence[Atom]]] = {
    **dict.fromkeys((Op, Call, Routine, CallBack), lambda op: op.args),
    Alloc: lambda op: (op.size,),
    Load: lambda op: (op.buffer, op.index),
    Store: lambda op: (op.buffer, op.index, op.value),
    Check: lambda op: (op.condition,),
    If: lambda op: (op.condition,),
    For: lambda op: (*op.span, op.work, *op.init),
    While: lambda op: op.init,
}


def prune(block: Block) -> set[Value]:
    """Remove what nothing that is yielded depends on; returns what the block reads from outside."""
    live, kept = _values(block.yields), []
    for op in reversed(block.ops):
        reads = _needed(op, live)
        if reads is not None:
            live |= reads
            kept.append(op)
    block.ops = kept[::-1]
    return live


def _values(atoms: Sequence[Atom]) -> set[Value]:
    return {x for x in atoms if isinstance(x, Value)}


def _needed(op: Any, live: set[Value]) -> set[Value] | None:
    """What an operation reads, once it makes only what is live; None if that is nothing."""
    if live.isdisjoint(outs_of(op)) and not has_effects(op):
        return None
    if not isinstance(op, (If, For, While)):
        return _values(operands_of(op))
    keep = [k for k, out in enumerate(op.outs) if out in live]
    if isinstance(op, If):
        _keep(op.outs, keep)
        reads = _values([op.condition])
        for block in (op.then, op.orelse):
            _keep(block.yields, keep)
            reads |= prune(block)
        return reads
    # A carried value is needed if it leaves the loop, or decides on one that does.
    while True:
        needed = {op.params[k] for k in keep}
        body = Block([*op.body.ops], [op.body.yields[k] for k in keep])
        reads = reads_if_pruned(body)
        if isinstance(op, While):
            reads |= reads_if_pruned(op.test)
        more = [k for k, p in enumerate(op.params) if p in reads and p not in needed]
        if not more:
            break
        keep = sorted([*keep, *more])
    for part in (op.outs, op.params, op.init, op.body.yields):
        _keep(part, keep)
    reads = prune(op.body) | _values(op.init)
    reads |= prune(op.test) if isinstance(op, While) else _values((*op.span, op.work))
    return reads - set(op.params) - ({op.index} if isinstance(op, For) else set())


def _keep(items: list[Any], places: list[int]) -> None:
    items[:] = [items[k] for k in places]


def reads_if_pruned(block: Block) -> set[Value]:
    """What a block would read if it were pruned; the block stays as it is."""
    live = _values(block.yields)
    for op in reversed(block.ops):
        if has_effects(op) or not live.isdisjoint(outs_of(op)):
            live |= all_reads(op)
    return live


def all_reads(op: Any) -> set[Value]:
    reads = _values(operands_of(op))
    for block in blocks_of(op):
        reads |= _values(block.yields).union(*map(all_reads, block.ops))
    return reads


def show(program: Program) -> str:
    """The program as text, for those who look inside."""
    names: dict[Value, str] = {}

    def name(x: Atom) -> str:
        if not isinstance(x, Value):
            return repr(x)
        return names.setdefault(x, f"%{len(names)}")

    def typed(x: Value) -> str:
        return f"{name(x)}: {x.type}"

    def row(atoms: Sequence[Atom], each: Callable[[Any], str] = name) -> str:
        return ", ".join(map(each, atoms))

    def lines(block: Block, indent: str, last: str = "yield") -> Iterator[str]:
        for op in block.ops:
            if (line := _LINES.get(type(op))) is not None:
                made = f"{row(outs_of(op), typed)} = " if outs_of(op) else ""
                yield f"{indent}{made}{line(op)}({row(operands_of(op))})"
                continue
            if isinstance(op, If):
                yield f"{indent}{row(op.outs, typed)} = if {name(op.condition)}"
            else:
                is_for = isinstance(op, For)
                kind = f"for {name(op.index)} in range({row(op.span)})" if is_for else "while"
                kind = f"parallel {kind}" if is_for and op.apart is not None else kind
                start = ", ".join(map("{} = {}".format, map(typed, op.params), map(name, op.init)))
                yield f"{indent}{row(op.outs, typed)} = {kind} with {start}"
            for word, inner in zip(_WORDS[type(op)], blocks_of(op), strict=True):
                yield f"{indent}{word}:"
                yield from lines(inner, indent + "    ")
        yield f"{indent}{last} {row(block.yields)}"

    head = f"{program.name}({row(program.inputs, typed)})"
    return "\n".join([head, *lines(program.body, "    ", "return")])


_LINES: dict[type, Callable[[Any], str]] = {
    Op: lambda op: op.name,
    Alloc: lambda op: "zeros" if op.zeroed else "empty",
    Load: lambda op: "load",
    Store: lambda op: "store",
    Check: lambda op: f"check[{op.why}]",
    Call: lambda op: f"call[{op.callee.name}]",
    Routine: lambda op: op.name,
    CallBack: lambda op: f"python[{op.callee.name}]",
}
_WORDS = {If: ("then", "else"), While: ("test", "do"), For: ("do",)}
