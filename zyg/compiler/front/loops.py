"""What loops of a function are.

A loop over a few things that are known is read round by round, others once. A loop that may be left
early is a loop with a condition, and carries flags.
"""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from zyg.compiler.front.expressions import Part
from zyg.compiler.front.going import Changed, Leave, writes
from zyg.compiler.front.joins import FLAGS
from zyg.compiler.front.parallel import in_chunks
from zyg.compiler.front.places import Places
from zyg.compiler.front.sequences import Sequence
from zyg.compiler.front.source import assigned, has, leaves, place_of
from zyg.compiler.ir import For, Value, While
from zyg.compiler.loops import not_summed
from zyg.compiler.numbers import Number

if TYPE_CHECKING:
    from zyg.compiler.front.frame import Frame

_RETURNED, _BROKEN, _CONTINUED = FLAGS


class Loops(Part):
    """The loops of a function."""

    def __init__(self, frame: Frame) -> None:
        super().__init__(frame)
        self.expressions, self.statements = frame.expressions, frame.statements

    def for_(self, node: ast.For) -> None:
        x = self.expressions.value(node.iter)
        with self.flow.holding(x):
            source = self.frame.located(node.iter, lambda: self.reader.sequences.opened(x))
            self._looped(node, lambda: self._through(node, source))

    def _looped(self, node: ast.For | ast.While, run: Callable[[], None]) -> None:
        """Run a loop: its flags are its own, and `else` runs where it was not left by a break."""
        outer = {flag: self.frame.env.get(flag, False) for flag in (_BROKEN, _CONTINUED)}
        # What a loop begins with, it does not add.
        self.frame.env.update(dict.fromkeys(outer, False))
        run()
        self.frame.env[_CONTINUED] = False
        stop = self.statements.stopped()
        self.frame.env.update(outer)  # a break in `else` is one of the loop outside
        if node.orelse and stop is False:
            self.statements.run(node.orelse)
        elif node.orelse and stop is not True:
            orelse = functools.partial(self.statements.run, node.orelse)
            self.statements.branch(stop, lambda: None, orelse, self.frame.after(node))

    def _through(self, node: ast.For, source: Any) -> None:
        """Run a loop over what was opened."""
        if isinstance(node.target, ast.Name) and isinstance(source, Sequence) and source.lasts:
            self.frame.env.setdefault(node.target.id, source.at(0))
        independent = isinstance(source, Sequence) and source.independent and not source.known
        if independent and leaves(node.body):
            raise self.frame.refuse(node.iter, "leaving a prange loop early", "use range.")

        def visit(found: Any) -> None:
            self.frame.env[_CONTINUED] = False
            self.statements.assign(node.target, found)
            self.statements.run(node.body)
            self.frame.env[_CONTINUED] = False

        done = len(self.to.block.ops)
        leave = self._leave(node) if leaves(node.body) else None
        self._carry(node, functools.partial(self.reader.going.through, source, visit, leave))
        if independent:
            self._in_chunks(node, done)

    def _leave(self, node: ast.For | ast.While) -> Leave:
        """How a loop is left by break and return."""
        kinds = (_BROKEN, ast.Break), (_RETURNED, ast.Return)
        flags = [(self.frame.variables, flag) for flag, kind in kinds if has(node.body, kind)]
        unless = functools.partial(self.statements.unless_stopped, live=self.frame.again(node))
        return Leave(flags, self.statements.stopped, unless)

    def _in_chunks(self, node: ast.For, done: int) -> None:
        """Make a loop one of chunks, if what its rounds hand on is sums."""
        ops = self.to.block.ops
        k, loop = next((k, op) for k, op in enumerate(ops) if k >= done and isinstance(op, For))
        if rest := not_summed(loop):
            raise self.frame.refuse(
                node.iter,
                f"prange, whose rounds depend on each other through {self._named(rest)},",
                "use range; or let rounds share only sums.",
                "rounds of prange may run in any order.",
            )  # fmt: skip
        if rest := Places(loop, []).overwritten():
            names = self._named(rest)
            raise self.frame.refuse(
                node.iter, f"prange, whose rounds write to the same place in {names},",
                "use range; or give each round its own place, and add them up after the loop.",
                "rounds of prange may run in any order.",
            )  # fmt: skip
        ops[k : k + 1] = in_chunks(loop, self.reader.captures.parallel)

    def _named(self, values: list[Value]) -> str:
        """The variables that numbers and buffers are in."""
        found = []
        for name, x in self.frame.env.items():
            own = {x.atom} if isinstance(x, Number) else {getattr(x, "buffer", None)}
            if not own.isdisjoint(values):
                found.append(name)
        return ", ".join(found) or "a variable"

    def while_(self, node: ast.While) -> None:
        def test() -> Any:
            before = self.flow.heap.fork()
            found = self.expressions.condition(node.test)
            if not self.flow.heap.same_as(before) or writes(self.to.block):
                raise Changed
            return found

        def run() -> None:
            before = self.flow.heap
            try:
                self._until_left(node, test, lambda: self.statements.run(node.body))
            except Changed:
                self.flow.heap = before
                self._tested_inside(node)

        self._looped(node, run)
        always = isinstance(node.test, ast.Constant) and node.test.value
        if always and not has(node.body, ast.Break):
            self.frame.env[_RETURNED] = True

    def _tested_inside(self, node: ast.While) -> None:
        """A loop whose test changes something: the test is the beginning of a round."""
        go = f"%{node.lineno}:{node.col_offset}"
        body = functools.partial(self.statements.run, node.body)
        self.frame.env[go] = True

        def visit() -> None:
            found = self.expressions.condition(node.test)
            self.frame.env[go] = found = self.flow.truth(found)
            if isinstance(found, Number):
                self.statements.branch(found, body, lambda: None, self.frame.again(node))
            elif found:
                body()

        self._until_left(node, lambda: self.frame.env[go], visit, [go])
        self.frame.env.pop(go, None)

    def _until_left(
        self, node: ast.While, test: Callable[[], Any], body: Callable[[], None], more: Any = ()
    ) -> None:
        """A loop with a condition, which may be left early."""

        def visit() -> None:
            body()
            self.frame.env[_CONTINUED] = False

        carried = [(self.frame.variables, name) for name in more]
        until = self.reader.going.until
        self._carry(node, functools.partial(until, test, visit, self._leave(node), carried))

    def _carry(self, node: ast.For | ast.While, run: Callable[..., None]) -> None:
        """Run a loop that carries what it changes."""
        hints = [(self.frame.variables, name) for name in assigned(node.body)]
        likely = [(self.frame.variables, *x) for x in self._becoming(node)]
        done = len(self.to.block.ops)
        skip = self.frame.unread(self.frame.again(node))
        run(hints=hints, skip=skip, key=node, likely=likely)
        line = place_of(
            self.frame.f.__code__, node.iter if isinstance(node, ast.For) else node.test
        )
        for op in self.to.block.ops[done:]:
            if isinstance(op, (For, While)):
                op.line = op.line or line

    def _becoming(self, node: ast.For | ast.While) -> Iterator[tuple[str, str]]:
        """The numbers of Python's that seem to become such of arrays, and of which type."""
        env, set_to = self.frame.env, defaultdict[str, list[ast.expr]](list)
        for x in ast.walk(node) if self.reader.whole else ():
            if isinstance(x, (ast.Assign, ast.AugAssign)):
                target = x.targets[0] if isinstance(x, ast.Assign) else x.target
                if isinstance(target, ast.Name):
                    set_to[target.id].append(x.value)

        for name in [name for name in set_to if type(env.get(name)) in (float, int)]:
            todo, seen, found = [*set_to[name]], {name}, set[str]()
            while todo:
                match todo.pop():
                    case ast.Subscript(ast.Name(one)):
                        found.add(getattr(env.get(one), "element", ""))
                    case ast.BinOp(left, _, right):
                        todo += left, right
                    case ast.UnaryOp(_, operand):
                        todo.append(operand)
                    case ast.Name(one) if one not in seen:
                        seen.add(one)
                        todo += set_to.get(one, ())
            if kinds := found & {"float", "float32"}:
                yield name, min(kinds)
