"""A `Builder` appends operations to a block.

It types every operation, computes what is known at once, and makes a value only once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from zyg.compiler.ir import (
    Alloc,
    Atom,
    Block,
    Check,
    For,
    If,
    Load,
    Op,
    Program,
    Routine,
    Store,
    Type,
    Value,
    element_of,
    is_buffer,
    same,
    type_of,
)
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError
from zyg.functions.operations import (
    BITWISE,
    COMPARISON,
    CONSTANT,
    CONVERSION,
    FLOAT,
    LDEXP,
    LOGIC,
    NUMBER,
    OPERATIONS,
    OVERFLOW,
    POWER,
    ROUNDING,
    SELECT,
    TEST,
    Operation,
)

REALS = "float", "float32"
_RANK = {"bool": 0, "int": 1, "uint": 2, "float32": 3, "float": 4}


class Reason(str):
    """Why a check fails; `place` is the code of the user's that asks for it, and the node there."""

    __slots__ = ("place",)
    place: tuple[Any, Any] | None


def row_of(name: str) -> Operation:
    """What the table says of an operation."""
    if name not in OPERATIONS:
        raise _no_kernel(name)
    return OPERATIONS[name]


def _no_kernel(name: str) -> KernelError:
    return KernelError(
        f"{name} has no kernel.",
        "a kernel supports NumPy's arithmetic and elementary functions of real numbers.",
        "use those; or write a Python function, and give its partial derivatives to "
        "zyg.scalar_rule(f, ...).",
    )


class Builder:
    """Appends operations to the innermost open block; `whole` is one of whole functions."""

    whole = False

    def __init__(self) -> None:
        self.blocks = [Block()]
        self.seen: list[dict[Any, Atom]] = [{}]  # what each open block has computed
        self.defined: dict[Value, tuple[str, tuple[Atom, ...]]] = {}  # what operations made
        self.repeats = 0  # loops around what is read
        self.place: Any = None  # what is read: the code of a function of the user's, and the node
        self.by_reciprocals = False  # divide by multiplying with 1 / x where that is known

    @property
    def block(self) -> Block:
        return self.blocks[-1]

    @contextmanager
    def inside(self, block: Block) -> Iterator[Block]:
        """While it lasts, operations are appended to `block`; others do not see what it makes."""
        self.blocks.append(block)
        self.seen.append({})
        try:
            yield block
        finally:
            self.blocks.pop()
            self.seen.pop()

    @contextmanager
    def apart(self) -> Iterator[Block]:
        """While it lasts, operations are those of another program."""
        outer = self.blocks, self.seen
        self.blocks, self.seen = [Block()], [{}]
        try:
            yield self.block
        finally:
            self.blocks, self.seen = outer

    def op(self, name: str, *args: Atom, callee: Program | None = None) -> Atom:
        """The result of an operation: a new value, one made before, or a number."""
        if callee is None:
            row = row_of(name)
            name = row.same or name
            if row.types == BITWISE and all(type_of(x) == "bool" for x in args):
                name = row.bools
        if name == "sign" and type_of(args[0]) == "uint":
            return self.op("uint", self.op("not_equal", args[0], 0))
        kind, args = self._typed(name, args, callee)
        if (known := None if callee else _simplified(name, args)) is not None:
            return known
        if name == "multiply" and (minus := [k for k in (0, 1) if same(args[k], -1.0)]):
            return self.op("negative", args[1 - minus[0]])
        if name == "divide" and self.by_reciprocals:
            one_over = self._known(("divide", None, (float, "1.0"), args[1]))
            if one_over is not None:
                return self.op("multiply", args[0], one_over)
        key = (name, callee, *(x if isinstance(x, Value) else (type(x), repr(x)) for x in args))
        if (known := self._known(key)) is not None:
            return known
        out = Value(kind)
        self.block.ops.append(Op(name, args, out, callee))
        self.defined[out] = name, args
        self.seen[-1][key] = out
        return out

    def _known(self, key: Any) -> Atom | None:
        """The result of an operation that was recorded before, where it can be seen."""
        return next((seen[key] for seen in reversed(self.seen) if key in seen), None)

    def _typed(
        self, name: str, args: tuple[Atom, ...], callee: Program | None
    ) -> tuple[Type, tuple[Atom, ...]]:
        """The type of the result, and the operands brought to the types that it needs."""
        kinds = [type_of(x) for x in args]
        if callee is not None:
            made = zip(args, callee.inputs, strict=True)
            return "float", tuple(self.to(p.type, x) for x, p in made)
        types = row_of(name).types
        if types in (CONVERSION, CONSTANT):
            return (kinds[0] if types == CONSTANT else name), args
        if types == OVERFLOW:
            return "bool", tuple(self.to("int", x) for x in args)
        if types == SELECT:
            kind = max(kinds[1:], key=_RANK.__getitem__)
            return kind, (self.to("bool", args[0]), *(self.to(kind, x) for x in args[1:]))
        if types == LOGIC:
            return "bool", tuple(self.to("bool", x) for x in args)
        if types == POWER:
            return self._power(args)
        if types == BITWISE and "float" not in kinds:
            kind = max(["int", *kinds], key=_RANK.__getitem__)
            return kind, tuple(self.to(kind, x) for x in args)
        real = "float32" if max(kinds, key=_RANK.__getitem__) == "float32" else "float"
        if types == LDEXP:
            return real, (self.to(real, args[0]), self.to("int", args[1]))
        if types in (NUMBER, COMPARISON) or (types == ROUNDING and kinds[0] not in REALS):
            kind = max(["int", *kinds], key=_RANK.__getitem__)
            out = "bool" if types == COMPARISON else kind
            if out == "bool" and kind == "uint":
                kind = "int"  # with or without a sign: compared as they are
        elif types in (FLOAT, TEST, ROUNDING):
            kind, out = real, "bool" if types == TEST else real
        else:
            raise _no_kernel(name)
        return out, tuple(self.to(kind, x) for x in args)

    def _power(self, args: tuple[Atom, ...]) -> tuple[Type, tuple[Atom, ...]]:
        x, p = args
        if type_of(p) not in REALS and type_of(x) not in REALS:
            if not isinstance(p, Value) and p >= 0:
                kind = wider("int", type_of(x))
                return kind, (self.to(kind, x), int(p))
            return "float", (self.to("float", x), self.to("int", p))
        real = max((k for k in (type_of(x), type_of(p)) if k in REALS), key=_RANK.__getitem__)
        return real, (self.to(real, x), self.to(real if type_of(p) in REALS else "int", p))

    def to(self, kind: Type, x: Atom) -> Atom:
        """`x` in another type."""
        before = type_of(x)
        if kind == before:
            return x
        if kind == "bool":
            return self.op("not_equal", x, 0.0 if before in REALS else 0)
        if not isinstance(x, Value) and kind != "float32":
            return float(x) if kind == "float" else int(x)
        return self.op(kind, x)

    def branch(self, condition: Atom, then: Block, orelse: Block) -> list[Atom]:
        """What the two blocks yield, by a condition: an `If`, or selections where nothing runs."""
        pairs = list(zip(then.yields, orelse.yields, strict=True))
        buffers = any(is_buffer(type_of(a)) for a, _ in pairs)
        if not then.ops and not orelse.ops and not buffers:
            return [self.op("select", condition, a, b) for a, b in pairs]
        kinds = [wider(type_of(a), type_of(b)) for a, b in pairs]
        for block in (then, orelse):
            with self.inside(block):
                made = zip(kinds, block.yields, strict=True)
                block.yields = [self.to(kind, x) for kind, x in made]
        outs = [Value(kind) for kind in kinds]
        self.block.ops.append(If(condition, then, orelse, outs))
        return [*outs]

    def counter(self, start: Atom, stop: Atom) -> Value:
        """The index of a loop."""
        return Value("int")

    def flat(self, x: Atom) -> Atom:
        """An int through which no derivative flows."""
        return x

    def in_range(self, name: str, *atoms: Atom) -> Atom:
        """An operation of Python's ints."""
        return self.op(name, *atoms)

    def begins(self, index: Value, span: tuple[Atom, Atom, int], params: list[Value]) -> None:
        """The innermost open block is the body of a loop that runs to its end."""

    def alloc(self, kind: Type, size: Atom, zeroed: bool = True) -> Value:
        """A fresh buffer of elements of a type."""
        out = Value(f"{kind}[]")
        self.block.ops.append(Alloc(out, size, zeroed))
        return out

    def load(self, buffer: Value, index: Atom) -> Value:
        """An element of a buffer."""
        out = Value(element_of(buffer.type))
        self.block.ops.append(Load(buffer, index, out))
        return out

    def store(self, buffer: Value, index: Atom, x: Atom, adds: bool = False) -> None:
        """Set an element of a buffer, to a number brought to its type."""
        kind = element_of(buffer.type)
        x = x if is_buffer(kind) else self.to(kind, x)
        self.block.ops.append(Store(buffer, index, x, adds))

    def check(self, condition: Atom, why: str, of_slopes: bool = False) -> None:
        """End the program where a condition is false; `of_slopes`: its derivatives."""
        if condition is not True:
            reason = Reason(why)
            reason.place = getattr(why, "place", self.place)
            self.block.ops.append(Check(condition, reason, of_slopes))

    def product(self, sizes: Iterable[Atom]) -> Atom:
        """How many elements there are, by how many there are along each axis."""
        size: Atom = 1
        for n in sizes:
            size = self.op("multiply", size, n)
        return size

    @contextmanager
    def each(self, n: Atom, independent: bool = True) -> Iterator[Value]:
        """While it lasts, operations are those of a loop over the ints below n."""
        index = Value("int")
        with self.inside(Block()) as body:
            yield index
        self.block.ops.append(For(index, (0, n, 1), [], [], body, [], independent))

    def add_to(self, buffer: Value, index: Atom, x: Atom) -> None:
        """Add to an element of a buffer."""
        before = self.load(buffer, index)
        self.store(buffer, index, self.op("add", before, x), adds=True)

    def add_all(self, to: Value, of: Value, size: Atom) -> None:
        """Add so many elements of a buffer to those of another."""
        with self.each(size) as k:
            self.add_to(to, k, self.load(of, k))

    def copy(self, to: Value, of: Value, size: Atom) -> None:
        """Set so many elements of a buffer to those of another."""
        with self.each(size, independent=to is not of) as k:
            self.store(to, k, self.load(of, k))

    def copied(self, buffer: Value, size: Atom, kind: Type = "") -> Value:
        """A fresh buffer with the elements of another, as they are or in another precision."""
        out = self.alloc(kind or element_of(buffer.type), size, zeroed=False)
        self.copy(out, buffer, size)
        return out

    def routine(self, name: str, *args: Atom, outs: Sequence[Type] = ()) -> list[Value]:
        """A routine of a library."""
        made = [Value(kind) for kind in outs]
        self.block.ops.append(Routine(name, args, made))
        return made

    def wrap(self, x: Atom) -> Any:
        """What a scalar function sees of an atom."""
        return Number(x, self) if isinstance(x, Value) else x

    def like(self, x: Atom, *sources: Any) -> Any:
        """The same, of an atom that is one of `sources`, by the way that is taken."""
        return self.wrap(x)

    def widened(self, x: Any, other: Any) -> Any:
        """`x`, of the type that `other` has, too; `x` itself if it is of that type."""
        kind = wider(type_of(atom_of(x)), type_of(atom_of(other)))
        return x if kind == type_of(atom_of(x)) else self.wrap(self.to(kind, atom_of(x)))


def wider(a: Type, b: Type) -> Type:
    return a if a == b else max(a, b, key=_RANK.__getitem__)


def _simplified(name: str, args: tuple[Atom, ...]) -> Atom | None:
    """What an operation is without being run, or None; exact for every operand, NaN too."""
    if name == "float32":
        return None  # there is no literal of that type
    if not any(isinstance(x, Value) for x in args):
        return _computed(name, args)
    first, last, types = args[0], args[-1], OPERATIONS[name].types
    if types == COMPARISON and any(type(x) is int and not -(2**63) <= x < 2**64 for x in args):
        # All ints of 64 bits are on the same side.
        return _computed(name, tuple(0 if isinstance(x, Value) else x for x in args))
    if name == "multiply":
        if not isinstance(last, Value) and last == 1:
            return first
        return last if not isinstance(first, Value) and first == 1 else None
    if name == "divide" and not isinstance(last, Value) and last == 1:
        return first
    if name in ("add", "subtract") and type(last) is int and last == 0:  # of ints
        return first
    if name == "add" and type(first) is int and first == 0:
        return last
    if name == "positive" or (types == ROUNDING and type_of(first) not in REALS):
        return first
    if name in ("int", "absolute") and type_of(first) == "uint":
        return first
    if name == "power" and not isinstance(last, Value) and last in (0, 1):
        if last == 0 and type_of(first) == "float32":
            return None
        return first if last == 1 else (1.0 if type_of(first) == "float" else 1)
    if name == "select":
        if not isinstance(first, Value):
            return args[1] if first else last
        return last if same(args[1], last) else None
    if name in ("logical_and", "logical_or"):
        for x, y in ((first, last), (last, first)):
            if not isinstance(x, Value):
                return y if x == (name == "logical_and") else x
    return None


def _computed(name: str, args: tuple[Atom, ...]) -> Atom:
    """An operation on numbers, in double precision."""
    if name in ("float", "int"):
        return float(args[0]) if name == "float" else int(args[0])  # type: ignore[arg-type]
    row = OPERATIONS[name]
    if row.types in (CONSTANT, SELECT, OVERFLOW):
        return row.exact(*args)  # type: ignore[misc, no-any-return]
    function = row.function
    if name == "power" and isinstance(args[0], float):
        function, args = np.float_power, tuple(map(float, args))  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        y = function(*args)
    return y.item() if isinstance(y, np.generic) else y  # type: ignore[no-any-return]
