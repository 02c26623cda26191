"""Reading loops; see `read`.

A loop over a few things that are known is read round by round, others once. A loop that may be left
early is a loop with a condition, and carries flags.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

from zyg.compiler.front.expressions import Expressions
from zyg.compiler.front.going import Leave, writes
from zyg.compiler.front.joins import FLAGS
from zyg.compiler.front.parallel import in_chunks
from zyg.compiler.front.places import Places
from zyg.compiler.front.sequences import Sequence
from zyg.compiler.front.source import assigned, has, leaves, place_of
from zyg.compiler.front.structures import Ref
from zyg.compiler.ir import For, Value, While
from zyg.compiler.loops import not_summed
from zyg.compiler.numbers import Number

_RETURNED, _BROKEN, _CONTINUED = FLAGS
Names = frozenset[str] | None


class _Changed(Exception):  # noqa: N818 - an answer, which never leaves this file
    """The test of a loop does more than to test."""


class Loops(Expressions):
    """The loops of a function."""

    def after(self, node: ast.AST) -> Names:
        """The variables that are read after a statement."""
        return self.liveness().after[node] if isinstance(self.node, ast.FunctionDef) else None

    def again(self, node: ast.AST) -> Names:
        """The variables that are read where a round of a loop may begin."""
        return self.liveness().head[node] if isinstance(self.node, ast.FunctionDef) else None

    def unread(self, live: Names) -> Callable[[Ref, Any], bool]:
        """Which variables are not read again, of those that are live none."""
        if live is None:
            return lambda ref, key: False
        return lambda ref, key: (
            ref is self.variables and key not in live and not key.startswith("%")
        )

    def _for(self, node: ast.For) -> None:
        x = self.value(node.iter)
        held = len(self.reader.roots)
        self.reader.roots.append(x)
        source = self.located(node.iter, lambda: self.reader.opened(x))
        self._looped(node, lambda: self._through(node, source))
        del self.reader.roots[held:]

    def _looped(self, node: ast.For | ast.While, run: Callable[[], None]) -> None:
        """Run a loop: its flags are its own, and `else` runs where it was not left by a break."""
        outer = {flag: self.env.get(flag, False) for flag in (_BROKEN, _CONTINUED)}
        self.env.update(dict.fromkeys(outer, False))  # what a loop begins with, it does not add
        run()
        self.env[_CONTINUED] = False
        stop = self.stopped()
        self.env.update(outer)  # a break in `else` is one of the loop outside
        if node.orelse and stop is False:
            self.run(node.orelse)
        elif node.orelse and stop is not True:
            self.branch(stop, lambda: None, lambda: self.run(node.orelse), self.after(node))

    def _through(self, node: ast.For, source: Any) -> None:
        """Run a loop over what was opened."""
        if isinstance(node.target, ast.Name) and isinstance(source, Sequence) and source.lasts:
            self.env.setdefault(node.target.id, source.at(0))
        independent = isinstance(source, Sequence) and source.independent and not source.known
        if independent and leaves(node.body):
            raise self.refuse(node.iter, "leaving a prange loop early", "use range.")

        def visit(found: Any) -> None:
            self.env[_CONTINUED] = False
            self.assign(node.target, found)
            self.run(node.body)
            self.env[_CONTINUED] = False

        done = len(self.builder.block.ops)
        leave = self._leave(node) if leaves(node.body) else None
        self._carry(node, functools.partial(self.reader.through, source, visit, leave))
        if independent:
            self._in_chunks(node, done)

    def _leave(self, node: ast.For | ast.While) -> Leave:
        """How a loop is left by break and return."""
        kinds = (_BROKEN, ast.Break), (_RETURNED, ast.Return)
        flags = [(self.variables, flag) for flag, kind in kinds if has(node.body, kind)]
        live = self.again(node)
        return Leave(flags, self.stopped, lambda stop, rest: self.unless_stopped(stop, rest, live))

    def _in_chunks(self, node: ast.For, done: int) -> None:
        """Make a loop one of chunks, if what its rounds hand on is sums."""
        ops = self.builder.block.ops
        k, loop = next((k, op) for k, op in enumerate(ops) if k >= done and isinstance(op, For))
        if rest := not_summed(loop):
            raise self.refuse(
                node.iter,
                f"prange, whose rounds depend on each other through {self._named(rest)},",
                "use range; or let rounds share only sums.",
                "rounds of prange may run in any order.",
            )  # fmt: skip
        if rest := Places(loop, []).overwritten():
            names = self._named(rest)
            raise self.refuse(
                node.iter, f"prange, whose rounds write to the same place in {names},",
                "use range; or give each round its own place, and add them up after the loop.",
                "rounds of prange may run in any order.",
            )  # fmt: skip
        ops[k : k + 1] = in_chunks(loop, self.reader.captures.parallel)

    def _named(self, values: list[Value]) -> str:
        """The variables that numbers and buffers are in."""
        found = []
        for name, x in self.env.items():
            own = {x.atom} if isinstance(x, Number) else {getattr(x, "buffer", None)}
            if not own.isdisjoint(values):
                found.append(name)
        return ", ".join(found) or "a variable"

    def _while(self, node: ast.While) -> None:
        def test() -> Any:
            before = self.reader.heap.fork()
            found = self.condition(node.test)
            if not self.reader.heap.same_as(before) or writes(self.builder.block):
                raise _Changed
            return found

        def run() -> None:
            before = self.reader.heap
            try:
                self._until_left(node, test, lambda: self.run(node.body))
            except _Changed:
                self.reader.heap = before
                self._tested_inside(node)

        self._looped(node, run)
        always = isinstance(node.test, ast.Constant) and node.test.value
        if always and not has(node.body, ast.Break):
            self.env[_RETURNED] = True

    def _tested_inside(self, node: ast.While) -> None:
        """A loop whose test changes something: the test is the beginning of a round."""
        go = f"%{node.lineno}:{node.col_offset}"
        self.env[go] = True

        def visit() -> None:
            found = self.condition(node.test)
            self.env[go] = found = self.reader.truth(found)
            if isinstance(found, Number):
                self.branch(found, lambda: self.run(node.body), lambda: None, self.again(node))
            elif found:
                self.run(node.body)

        self._until_left(node, lambda: self.env[go], visit, [go])
        self.env.pop(go, None)

    def _until_left(
        self, node: ast.While, test: Callable[[], Any], body: Callable[[], None], more: Any = ()
    ) -> None:
        """A loop with a condition, which may be left early."""

        def visit() -> None:
            body()
            self.env[_CONTINUED] = False

        carried = [(self.variables, name) for name in more]
        until = self.reader.until
        self._carry(node, functools.partial(until, test, visit, self._leave(node), carried))

    def _carry(self, node: ast.For | ast.While, run: Callable[..., None]) -> None:
        """Run a loop that carries what it changes."""
        hints = [(self.variables, name) for name in assigned(node.body)]
        done = len(self.builder.block.ops)
        run(hints=hints, skip=self.unread(self.again(node)), key=node)
        line = place_of(self.f.__code__, node.iter if isinstance(node, ast.For) else node.test)
        for op in self.builder.block.ops[done:]:
            if isinstance(op, (For, While)):
                op.line = op.line or line
