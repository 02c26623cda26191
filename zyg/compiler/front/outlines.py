"""Functions that call themselves, out of line: a program for each kind of arguments.

What a call of itself gives is not known while a function is read. So it is read first without the
ways that lead there, and again with what came of that, until it is settled. All numbers among the
arguments are operands, those that are known, too; what the function sees of the variables around it
follows as further operands.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from zyg.compiler.builder import wider
from zyg.compiler.front.captures import Outside
from zyg.compiler.front.closures import Closure
from zyg.compiler.front.control_flow import Concern
from zyg.compiler.front.growing import promoted
from zyg.compiler.front.heap import Heap
from zyg.compiler.front.iterators import Generated
from zyg.compiler.front.structures import (
    Choice,
    Dead,
    Different,
    Ref,
    Unknown,
    children,
    is_leaf,
    is_memory,
)
from zyg.compiler.ir import Block, Call, Program, Value, is_buffer, operations, prune, same, type_of
from zyg.compiler.numbers import Number, atom_of
from zyg.compiler.splice import Themselves, again, free_values
from zyg.errors import KernelError

if TYPE_CHECKING:
    from zyg.compiler.front.scalars import WholeBuilder
    from zyg.compiler.front.whole import WholeInterpreter

_KNOWN_LEVELS = 6  # of calls whose known ints differ, that are read one by one
_MOST_PASSES = 8
_MOST_OUTLINES = 24  # of one function
Made = Callable[[list[Any], dict[Ref, Ref]], Any]


@dataclass(eq=False, repr=False)
class Outline:
    """A function that calls itself: its program, and how its result is made."""

    program: Program
    inputs: list[str]
    make: Made | None = None
    shape: Any = None
    like: list[Any] = field(default_factory=list)
    refs: list[Ref] = field(default_factory=list)  # the arguments that may change
    more: list[Value] = field(default_factory=list)  # of the surroundings, that it sees
    kinds: list[str] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class Active:
    """A function that is being read, and its arguments."""

    key: Any
    arguments: dict[str, Any]


class Outlines(Concern):
    """Calls of functions that call themselves."""

    reader: WholeInterpreter
    to: WholeBuilder

    def __init__(self, reader: WholeInterpreter) -> None:
        super().__init__(reader)
        self.outlines: dict[Any, Outline] = {}
        self.endless: set[Any] = set()  # what known ints do not end

    def taken_apart(self, x: Any, found: list[Any], shape: list[Any], seen: dict[Ref, int]) -> Made:
        """How a value is made of its numbers; `shape` gets what is alike in alike values."""
        if is_leaf(x):
            place = len(found)
            found.append(x)
            kind = type_of(atom_of(x))
            shape.append("number" if not is_buffer(kind) else kind)
            return lambda made, refs: made[place]
        if isinstance(x, Ref):
            return self._ref_apart(x, found, shape, seen)
        if isinstance(x, (Closure, Generated)):  # sees the variables around it as they are
            shape.append((x.node, x.variables))
            return lambda made, refs: x
        if isinstance(x, Choice):
            shape.append((Choice, len(x.flags)))
            parts = [self.taken_apart(y, found, shape, seen) for y in (*x.flags, *x.options)]
            n = len(x.flags)

            def choice(made: list[Any], refs: dict[Ref, Ref]) -> Choice:
                values = [part(made, refs) for part in parts]
                return Choice(values[:n], values[n:])

            return choice
        inner = children(x)
        if inner is None:
            shape.append(_identity(x))
            return lambda made, refs: x
        shape.append(inner[0])
        rest = [self.taken_apart(part, found, shape, seen) for part in inner[1]]
        make = inner[2]
        return lambda made, refs: make([part(made, refs) for part in rest])

    def _ref_apart(self, x: Ref, found: list[Any], shape: list[Any], seen: dict[Ref, int]) -> Made:
        if x in seen:
            shape.append(seen[x])
            return lambda made, refs: refs[x]
        seen[x] = len(seen)
        content = self.flow.heap[x]
        shape.append((x.kind, *content))
        parts = {key: self.taken_apart(y, found, shape, seen) for key, y in content.items()}

        def ref(made: list[Any], refs: dict[Ref, Ref]) -> Ref:
            refs[x] = copy = self.flow.heap.new(x.kind, {}, x.path, x.fixed)
            self.flow.heap[copy].update({key: part(made, refs) for key, part in parts.items()})
            return copy

        return ref

    def called_out_of_line(
        self, key: Any, own: Ref, name: str, arguments: dict[str, Any],
        read: Callable[[dict[str, Any]], Any],
    ) -> Any:  # fmt: skip
        """What a call gives, if it is one of those; else NotImplemented.

        `read` gives the value of the function for arguments, in variables of its own (`own`).
        """
        before = [a for a in self.reader.functions.active if a.key == key]
        if not before and not any(key == k for k, _ in self.outlines):
            return NotImplemented
        found: list[Any] = []
        shape: list[Any] = []
        self.taken_apart(arguments, found, shape, {})
        which = key, tuple(shape)
        if which not in self.outlines and self._grows(key, before, len(found)):
            self._put_in_memory(arguments)
            found, shape = [], []
            self.taken_apart(arguments, found, shape, {})
            which = key, tuple(shape)
        if which not in self.outlines:
            if not self._is_endless(key, before, shape, found):
                return NotImplemented
            self._build(which, own, name, arguments, read)
            try:
                return self._called(which, arguments)
            finally:
                # What it sees of the variables around it may be something else the next time.
                if self.outlines[which].more or key[1] or _has_closure(arguments):
                    del self.outlines[which]
        return self._called(which, arguments)

    def _is_endless(
        self, key: Any, before: list[Active], shape: list[Any], found: list[Any]
    ) -> bool:
        """Whether known ints do not end the calls that such arguments begin."""
        alike = [a for a in before if self._is_alike(a, shape)]
        if len(alike) >= _KNOWN_LEVELS or any(self._is_alike(a, shape, found) for a in alike):
            self.endless.add(key)
        return key in self.endless

    def _grows(self, key: Any, before: list[Active], count: int) -> bool:
        """Whether the arguments, so many numbers, are more from call to call."""
        counts = [len(outline.inputs) for (k, _), outline in self.outlines.items() if k == key]
        if not counts and len(before) > _KNOWN_LEVELS:
            found: list[Any] = []
            self.taken_apart(before[-1].arguments, found, [], {})
            counts = [len(found)]
        if len(counts) > _MOST_OUTLINES:
            raise KernelError(
                "a function that calls itself with more and more is not compiled.",
                "its arguments have another structure in each call.",
                "write a loop.",
            )
        return any(n < count for n in counts)

    def _put_in_memory(self, arguments: Any) -> None:
        """Let lists be such as may grow."""
        for ref in self.flow.heap.counts([arguments]):
            if ref.kind is list:
                with suppress(Different):
                    self.flow.heap[ref][""] = promoted(self.to, self.flow.heap[ref][""])

    def _is_alike(self, a: Active, shape: list[Any], numbers: list[Any] | None = None) -> bool:
        """Whether a call that is being read has arguments like these, to the known ints."""
        found: list[Any] = []
        other: list[Any] = []
        try:
            self.taken_apart(a.arguments, found, other, {})
        except KeyError:  # it holds what is not there any more
            return False
        if other != shape:
            return False
        return numbers is None or all(
            isinstance(x, (Number, float)) or isinstance(y, (Number, float)) or x == y
            for x, y in zip(found, numbers, strict=True)
        )

    def _called(self, which: Any, arguments: dict[str, Any]) -> Any:
        """A call of a function whose program is there, or is being made."""
        outline = self.outlines[which]
        if outline.make is None:
            raise Dead("a function that calls itself without an end")
        found: list[Any] = []
        refs: dict[Ref, int] = {}
        self.taken_apart(arguments, found, [], refs)
        builder = self.to
        args = [
            atom_of(x) if is_buffer(kind) else builder.to(kind, atom_of(x))
            for kind, x in zip(outline.inputs, found, strict=True)
        ]
        outs = [Value(kind) for kind in outline.kinds]
        builder.block.ops.append(Call(outline.program, (*args, *outline.more), outs))
        for x in filter(is_memory, found):
            builder.wrote(atom_of(x))
        pairs = zip(outs, outline.like, strict=True)
        made = [builder.unknown(out, like) for out, like in pairs]
        result, contents = outline.make(made, dict(zip(outline.refs, refs, strict=True)))
        for ref, content in zip(refs, contents, strict=True):
            if content is not None:
                self.flow.heap[ref] = content
        return result

    def _build(
        self, which: Any, own: Ref, name: str, arguments: dict[str, Any],
        read: Callable[[dict[str, Any]], Any],
    ) -> None:  # fmt: skip
        """Read a function until what a call of itself gives is settled."""
        found: list[Any] = []
        make = self.taken_apart(arguments, found, [], {})
        kinds = [type_of(atom_of(x)) for x in found]
        outline = Outline(Program(name, [], Block()), kinds)
        self.outlines[which] = outline
        try:
            for _ in range(_MOST_PASSES):
                others = set(self.outlines)
                inputs = [Value(kind) for kind in kinds]
                if self._pass(outline, which, own, make, found, inputs, read):
                    break
                for other in set(self.outlines) - others:
                    del self.outlines[other]
            else:
                raise KernelError(
                    f"zyg cannot tell what {name} returns.", "it calls itself.", "write a loop."
                )
            self._close(outline, inputs)
        except BaseException:
            del self.outlines[which]
            raise

    def _pass(
        self, outline: Outline, which: Any, own: Ref, make: Made, found: list[Any],
        inputs: list[Value],        read: Callable[[dict[str, Any]], Any],
    ) -> bool:  # fmt: skip
        """Read the function once; whether it is settled."""
        builder, outer = self.to, self.flow.heap
        active, facts = self.reader.functions.active, self.flow.facts
        self.flow.heap, self.flow.facts, self.reader.functions.active = outer.fork(), {}, []
        before = self.flow.heap.fork()
        builder.repeats += 1
        try:
            with builder.apart() as block, self.flow.holding():
                numbers = [builder.unknown(p, like) for p, like in zip(inputs, found, strict=True)]
                refs: dict[Ref, Ref] = {}
                arguments = make(numbers, refs)
                start = {ref: dict(self.flow.heap[ref]) for ref in refs.values()}
                self.reader.functions.active.append(Active(which[0], arguments))
                result = self.reader.values.settled(read(arguments))
                _demand_unchanged(before, self.flow.heap, own)
                outline.refs = [*refs.values()]
                contents = [
                    None
                    if is_same_content(self.flow.heap[ref], start[ref])
                    else self.flow.heap[ref]
                    for ref in outline.refs
                ]
                return self._result(outline, result, contents, block)
        finally:
            builder.repeats -= 1
            self.flow.heap, self.flow.facts, self.reader.functions.active = outer, facts, active

    def _result(self, outline: Outline, result: Any, changed: list[Any], block: Block) -> bool:
        """Note what a function returns, and does to its arguments; whether that was known."""
        found: list[Any] = []
        shape: list[Any] = []
        seen = {ref: k for k, ref in enumerate(outline.refs)}  # the caller's
        make = self.taken_apart((result, *changed), found, shape, seen)
        kinds = [type_of(atom_of(x)) for x in found]
        if outline.shape == shape:
            pairs = zip(kinds, outline.kinds, strict=True)
            kinds = [a if a == b else wider(a, b) for a, b in pairs]
        settled = outline.shape == shape and outline.kinds == kinds

        def made(numbers: list[Any], refs: dict[Ref, Ref]) -> Any:
            value, *contents = make(numbers, refs)
            return value, contents

        outline.make, outline.shape, outline.kinds, outline.like = made, shape, kinds, found
        block.yields = [
            atom_of(x) if is_buffer(kind) else self.to.to(kind, atom_of(x))
            for kind, x in zip(kinds, found, strict=True)
        ]
        outline.program.body = block
        return settled

    def _close(self, outline: Outline, inputs: list[Value]) -> None:
        """Let a program take what it sees of its surroundings as operands."""
        program, block = outline.program, outline.program.body
        prune(block)
        outline.more = [x for x in free_values(block) if x not in inputs]
        calls = [op for op in operations(block) if isinstance(op, Call)]
        for op in calls:
            if op.callee is program:
                op.args = (*op.args, *outline.more)
            elif outline.more and _calls(op.callee, program):
                raise KernelError(
                    f"{program.name} and {op.callee.name} call each other.",
                    "variables of enclosing functions are not passed between them.",
                    "pass everything that they use as arguments.",
                )
        inner = {x: Value(x.type) for x in outline.more}
        program.body = again(block, Themselves(inner))
        program.inputs = [*inputs, *inner.values()]


def _has_closure(x: Any) -> bool:
    if isinstance(x, (Closure, Ref, Choice)):
        return True
    inner = children(x)
    return inner is not None and any(map(_has_closure, inner[1]))


def _identity(x: Any) -> Any:
    if isinstance(x, (str, bytes, type(None))):
        return x
    return Unknown if isinstance(x, Unknown) else id(x.value if isinstance(x, Outside) else x)


def is_same_content(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    """Whether two contents are made of the same numbers and things."""
    return len(a) == len(b) and all(key in b and _is_one(b[key], x) for key, x in a.items())


def _is_one(a: Any, b: Any) -> bool:
    """Whether two values are made of the same numbers and things."""
    if a is b:
        return True
    if is_leaf(a) or is_leaf(b):
        return is_leaf(a) and is_leaf(b) and same(atom_of(a), atom_of(b))
    if isinstance(a, Choice) and isinstance(b, Choice) and len(a.flags) == len(b.flags):
        return all(map(_is_one, (*a.flags, *a.options), (*b.flags, *b.options)))
    one_inside, inside = children(a), children(b)
    if one_inside is None or inside is None:
        return one_inside is inside and not isinstance(a, Ref) and _identity(a) == _identity(b)
    return one_inside[0] == inside[0] and all(map(_is_one, one_inside[1], inside[1]))


def _demand_unchanged(before: Heap, after: Heap, own: Ref) -> None:
    for ref, content in before.items():
        if ref is not own and not is_same_content(after.get(ref, content), content):
            raise KernelError(
                "a function that calls itself and changes outer variables is not compiled.",
                "changes of outer variables are not handed from call to call.",
                "pass what it changes as an argument.",
            )


def _calls(program: Program, other: Program) -> bool:
    seen: set[int] = set()
    todo = [program]
    while todo:
        one = todo.pop()
        if one is other:
            return True
        if id(one) not in seen:
            seen.add(id(one))
            todo += [op.callee for op in operations(one.body) if isinstance(op, Call)]
    return False
