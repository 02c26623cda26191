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
from zyg.compiler.front.joins import FLAGS
from zyg.compiler.front.parallel import in_chunks
from zyg.compiler.front.places import Places
from zyg.compiler.front.sequences import Sequence
from zyg.compiler.front.source import assigned, has, leaves, place_of
from zyg.compiler.front.structures import Different, Ref
from zyg.compiler.front.ways import Dead
from zyg.compiler.ir import Alloc, Block, Call, For, Store, Value, While, operations
from zyg.compiler.record import Number
from zyg.compiler.rounds import not_summed
from zyg.errors import KernelError

_RETURNED, _BROKEN, _CONTINUED = FLAGS
_VALUE = "%value"
Names = frozenset[str] | None


class _Changed(Exception):  # noqa: N818 - an answer, which never leaves this file
    """The test of a loop does more than to test."""


def _writes(block: Block) -> bool:
    """Whether a block may write to memory that is not its own."""
    inside = [*operations(block)]
    own = {op.out for op in inside if isinstance(op, Alloc)}
    return any(isinstance(op, Call) or (isinstance(op, Store) and op.buffer not in own)
               for op in inside)  # fmt: skip


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
        rounds = self.located(node.iter, lambda: self.reader.rounds(self.value(node.iter)))
        held = len(self.reader.roots)
        self.reader.roots.append(rounds.held)
        if rounds.held is None:
            self._looped(node, lambda: self._counted(node, rounds))
        else:
            self._looped(node, lambda: self._unrolled(node, rounds))
        del self.reader.roots[held:]

    def _unrolled(self, node: ast.For, rounds: Sequence, first: int = 0) -> None:
        for k in range(first, rounds.length):
            self.env[_CONTINUED] = False
            self.assign(node.target, rounds.at(k))
            self.run(node.body)
            self.env[_CONTINUED] = False
            stop = self.stopped()
            if stop is True:
                return
            if stop is not False:
                rest = functools.partial(self._unrolled, node, rounds, k + 1)
                self.unless_stopped(stop, rest, self.again(node))
                return
        self.reader.go_on(rounds)

    def _looped(self, node: ast.For | ast.While, run: Callable[[], None]) -> None:
        """Run a loop: its flags are its own, and `else` runs where it was not left by a break."""
        outer = {flag: self.env.pop(flag, False) for flag in (_BROKEN, _CONTINUED)}
        run()
        self.env[_CONTINUED] = False
        stop = self.stopped()
        self.env.update(outer)  # a break in `else` is one of the loop outside
        if node.orelse and stop is False:
            self.run(node.orelse)
        elif node.orelse and stop is not True:
            self.branch(stop, lambda: None, lambda: self.run(node.orelse), self.after(node))

    def _counted(self, node: ast.For, rounds: Sequence) -> None:
        """A loop over rounds that are counted."""
        runs = isinstance(rounds.length, int) and rounds.length > 0
        if runs and isinstance(node.target, ast.Name):
            self.env.setdefault(node.target.id, rounds.at(0))

        def visit(found: Any) -> None:
            self.assign(node.target, found)
            self.run(node.body)
            self.env[_CONTINUED] = False

        if not leaves(node.body):
            done = len(self.builder.block.ops)
            self._carry(node, functools.partial(self.reader.count, rounds, visit))
            if rounds.independent:
                self._in_chunks(node, done)
            self.reader.go_on(rounds)
            return
        if rounds.independent:
            raise self.refuse(node.iter, "leaving a prange loop early", "use range.")
        counter = f"%{node.lineno}:{node.col_offset}"
        start, stop, step = rounds.rounds
        self.env[counter] = start

        def test() -> Any:
            return self.reader.less(*(self.env[counter], stop)[:: 1 if step > 0 else -1])

        def go() -> None:
            k = self.env[counter]
            visit(rounds.of_counter(k))
            self.env[counter] = self.reader.next_index(k, step)

        self._until_left(node, test, go, [counter])
        self.env.pop(counter, None)
        if (stop := self.stopped()) is not True:
            self.reader.go_on(rounds, stop)

    def _in_chunks(self, node: ast.For, done: int) -> None:
        """Make a loop one of chunks, if what its rounds hand on is sums."""
        ops = self.builder.block.ops
        k, loop = next((k, op) for k, op in enumerate(ops) if k >= done and isinstance(op, For))
        if rest := not_summed(loop):
            raise self.refuse(
                node.iter,
                f"prange, whose rounds depend on each other through {self._named(rest)},",
                "use range; or let rounds share only sums of floats.",
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
            found = self.reader.as_condition(self.value(node.test))
            if not self.reader.heap.same_as(before) or _writes(self.builder.block):
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
            found = self.reader.as_condition(self.value(node.test))
            self.env[go] = found = self.reader.truth(found)
            if isinstance(found, Number):
                self.branch(found, lambda: self.run(node.body), lambda: None, self.again(node))
            elif found:
                self.run(node.body)

        self._until_left(node, lambda: self.env[go], visit, [go])
        self.env.pop(go, None)

    def _until_left(
        self, node: Any, test: Callable[[], Any], body: Callable[[], None], more: Any = ()
    ) -> None:
        """A loop with a condition, and flags where it may be left early."""
        flags = [flag for flag, kind in ((_BROKEN, ast.Break), (_RETURNED, ast.Return))
                 if has(node.body, kind)]  # fmt: skip
        self.env[_BROKEN] = False

        def go_on() -> Any:
            stays: Any = True
            for flag in flags:
                left = self.env.get(flag, False)
                if left is True:
                    return False
                if isinstance(left, Number):
                    stays = left.record("logical_and", stays, left.record("logical_not", left))
            # A loop that was left is not tested again: the test could raise.
            go = self._either(stays, test, True) if isinstance(stays, Number) else test()
            return self.reader.known(go)

        def unless_left() -> None:
            self.env.update((flag, False) for flag in flags)
            body()
            self.env[_CONTINUED] = False

        def run(**how: Any) -> None:
            def finish(params: Any, init: Any, tests: Block, block: Block, outs: Any) -> While:
                return While(tests, init, params, block, outs)

            self.reader.loop(unless_left, finish, go_on, **how)

        def never() -> None:
            self.reader.demand(self.reader.inverse(go_on()), "Python raises in a loop")

        self._carry(node, run, [*flags, *more], never)

    def _carry(
        self,
        node: ast.For | ast.While,
        run: Callable[..., None],
        flags: Any = (),
        never: Callable[[], None] | None = None,
    ) -> None:
        """Run a loop that carries what it changes."""
        own = self.variables
        hints = [(own, name) for name in (*assigned(node.body), *flags)]
        done = len(self.builder.block.ops)
        try:
            run(hints=hints, skip=self.unread(self.again(node)), key=node)
        except Dead:
            if never is None:
                raise
            never()
        except Different as error:
            (name,) = error.args
            what = "the result" if name == _VALUE else f"the variable {name}"
            raise KernelError(
                f"{what} cannot be used in a kernel.",
                "it changes its type or structure in a round of the loop.",
                "give it numbers, or tuples of as many numbers.",
            ) from None
        line = place_of(self.f.__code__, node.iter if isinstance(node, ast.For) else node.test)
        for op in self.builder.block.ops[done:]:
            if isinstance(op, (For, While)):
                op.line = op.line or line
