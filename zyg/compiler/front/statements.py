"""Reading the statements of a scalar function; see `read`."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from zyg.compiler.front.expressions import Expressions
from zyg.compiler.front.joins import Different, Unknown, join, plain, split, zeros
from zyg.compiler.front.source import REFUSED, Node, assigned, has, leaves
from zyg.compiler.ir import Block, For, Value, While, type_of
from zyg.compiler.record import Number, atom_of
from zyg.errors import KernelError

# Variables of the reader's own; a name of Python's cannot begin so.
_RETURNED, _VALUE, _BROKEN, _CONTINUED = "%returned", "%value", "%broken", "%continued"
_FLAGS = (_RETURNED, _BROKEN, _CONTINUED)
_UNROLLED = (
    32  # rounds that are read one by one; a loop inside that over elements is not vectorised
)

_NO_SIDE = Unknown("it has a value on one side of a condition only.")


class Statements(Expressions):
    """One function that is being read, statement by statement."""

    def result(self, node: Node) -> Any:
        """What the function returns."""
        if isinstance(node, ast.Lambda):
            return self.value(node.body)
        self.run(node.body)
        returned = self.env.get(_RETURNED, False)
        if returned is False:
            return None
        if returned is not True:
            raise self.refuse(
                node.body[-1], f"the end of {node.name} without a return",
                "return a number on every way through the function.",
                "on some way through the function it would return None.",
            )  # fmt: skip
        if isinstance(value := self.env[_VALUE], Unknown):
            raise self.refuse(
                node, f"the result of {node.name}", "return as many numbers on every way.",
                value.why,
            )  # fmt: skip
        return value

    def run(self, statements: Sequence[ast.stmt]) -> None:
        for k, statement in enumerate(statements):
            rest = statements[k + 1 :]
            if isinstance(statement, ast.If):
                if self._if(statement, rest):
                    return
            else:
                self.statement(statement)
            stop = self.stopped()
            if stop is True:
                return
            if stop is not False and rest:
                self.unless_stopped(stop, functools.partial(self.run, rest))
                return

    def stopped(self) -> Any:
        """Whether a return, break or continue was met; a recorded number where it depends."""
        stop: Any = False
        for flag in _FLAGS:
            found = self.env.get(flag, False)
            if found is True:
                return True
            if found is not False:
                stop = found if stop is False else stop | found
        return stop

    def unless_stopped(self, stop: Number, run: Callable[[], None]) -> None:
        """Run what follows where no flag is set; on the other side, the one that could be is."""
        flags = [flag for flag in _FLAGS if self.env.get(flag, False) is not False]

        def stopped() -> None:
            if len(flags) == 1:
                self.env[flags[0]] = True

        def going_on() -> None:
            self.env.update(dict.fromkeys(flags, False))
            run()

        self.branch(stop, stopped, going_on)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.AnnAssign(value=None):
                pass
            case ast.Expr(value=ast.Constant()):  # a docstring
                pass
            case ast.Return():
                found = None if node.value is None else self.value(node.value)
                self.env[_VALUE] = self.reader.settled(found)
                self.env[_RETURNED] = True
            case ast.Break():
                self.env[_BROKEN] = True
            case ast.Continue():
                self.env[_CONTINUED] = True
            case ast.Assign():
                found = self.value(node.value)
                for target in node.targets:
                    self.assign(target, found)
            case ast.AnnAssign(value=ast.expr() as value):
                self.assign(node.target, self.value(value))
            case ast.AugAssign(target=ast.Name(id=name)) if not self.reader.whole:
                before = ast.copy_location(ast.Name(name, ast.Load()), node.target)
                operation = ast.BinOp(before, node.op, node.value)
                self.env[name] = self.value(ast.copy_location(operation, node))
            case ast.AugAssign() if self.reader.whole:
                self.augment(node)
            case ast.Expr() if self.reader.whole:
                self.value(node.value)
            case ast.For():
                self._for(node)
            case ast.While():
                self._while(node)
            case _:
                raise self._refused(node)

    def _refused(self, node: ast.stmt) -> Exception:
        what, fix, effect = REFUSED.get(
            type(node),
            (f"the statement {type(node).__name__}", "compute with numbers only.", False),
        )
        return self.refuse(node, what, fix, effect=effect)

    def assign(self, target: ast.expr, found: Any) -> None:
        if isinstance(target, ast.Name):
            self.env[target.id] = self.reader.settled(found)
        elif isinstance(target, ast.Subscript) and self.reader.whole:
            owner, index = self.value(target.value), self.value(target.slice)
            self.located(target, lambda: self.reader.set_item(owner, index, found))
        elif isinstance(target, (ast.Tuple, ast.List)):
            if starred := [t for t in target.elts if isinstance(t, ast.Starred)]:
                raise self.refuse(starred[0], "a starred variable", "give each value a name.")
            values = self.reader.elements(found)
            if len(values) != len(target.elts):
                raise self.refuse(
                    target, "this assignment", "assign as many values as there are names.",
                    f"there are {len(values)} values.",
                )  # fmt: skip
            for t, v in zip(target.elts, values, strict=True):
                self.assign(t, v)
        else:
            raise self.refuse(
                target, "an assignment to a part of something", "assign to a variable.",
                "a kernel runs for all elements at once, in no order.", effect=True,
            )  # fmt: skip

    # Conditions

    def _if(self, node: ast.If, rest: Sequence[ast.stmt]) -> bool:
        """Run an `if`; True if what follows it has been run, too."""
        test = self.value(node.test)
        if not isinstance(test, Number):
            self.run(node.body if self.known(test) else node.orelse)
            return False
        return self.branch(test, lambda: self.run(node.body), lambda: self.run(node.orelse), rest)

    def branch(
        self,
        test: Number,
        then: Callable[[], None],
        orelse: Callable[[], None],
        rest: Sequence[ast.stmt] = (),
    ) -> bool:
        """Run two sides under a condition and join the variables.

        If one side is done with the function or the round of a loop, `rest` is run on the other,
        and the answer is True.
        """
        condition = self.builder.to("bool", test.atom)
        before, blocks, sides = self.env, (Block(), Block()), []
        for block, side in zip(blocks, (then, orelse), strict=True):
            self.env = dict(before)
            with self.builder.inside(block):
                side()
            sides.append((self.env, any(self.env.get(flag) is True for flag in _FLAGS)))
        consumed = sides[0][1] != sides[1][1]
        if consumed:
            k = 0 if sides[1][1] else 1
            self.env = sides[k][0]
            with self.builder.inside(blocks[k]):
                if (stop := self.stopped()) is False:
                    self.run(rest)
                elif rest:
                    self.unless_stopped(stop, lambda: self.run(rest))
            sides[k] = (self.env, False)
        self.env = self._joined(condition, blocks, before, [env for env, _ in sides])
        return consumed

    def _joined(
        self,
        condition: Any,
        blocks: tuple[Block, Block],
        before: dict[str, Any],
        envs: list[dict[str, Any]],
    ) -> dict[str, Any]:
        """The variables after a condition."""
        pairs: list[tuple[Any, Any]] = []
        makes: dict[str, Callable[[list[Any]], Any]] = {}
        env: dict[str, Any] = {}
        returned = [e.get(_RETURNED, False) is True for e in envs]
        for name in dict.fromkeys([*envs[0], *envs[1]]):
            default: Any = False if name in _FLAGS else _NO_SIDE
            a, b = (e.get(name, default) for e in envs)
            if name == _VALUE and (a is _NO_SIDE or b is _NO_SIDE):
                a, b = (zeros(y) if x is _NO_SIDE else x for x, y in ((a, b), (b, a)))
            elif returned[0] != returned[1] and not name.startswith("%"):
                # Nothing is read after a return. What the other side has not changed stays itself,
                # as do computations with it, which other sides may share.
                kept = b if returned[0] else a
                gone = kept if kept is before.get(name) else zeros(kept)
                a, b = (gone, kept) if returned[0] else (kept, gone)
            try:
                makes[name] = join(a, b, pairs)
            except Different:
                env[name] = next(
                    (x for x in (a, b) if isinstance(x, Unknown)),
                    Unknown("it is two different things on the two sides of a condition."),
                )
        for k, block in enumerate(blocks):
            block.yields = [atom_of(pair[k]) for pair in pairs]
        made = self.alike(self.builder.branch(condition, *blocks), pairs)
        return {**{name: make(made) for name, make in makes.items()}, **env}

    # Loops

    def _for(self, node: ast.For) -> None:
        call = node.iter
        if isinstance(call, ast.Call) and self.value(call.func) is range and not call.keywords:
            bounds = [self.value(a) for a in call.args]
            start, stop, step = _span(bounds)
            if any(isinstance(b, Number) for b in bounds):
                return self._for_range(node, start, stop, step)
            if len(range(start, stop, step)) > _UNROLLED:
                return self._for_range(node, start, stop, step)
            rounds: list[Any] = [*range(start, stop, step)]
        else:
            found = self.value(call)
            if (rows := self.reader.rows(found)) is not None:
                return self._for_rows(node, *rows)
            rounds = self.reader.elements(found)
        return self._looped(node, lambda: self._unrolled(node, rounds))

    def _for_rows(self, node: ast.For, n: Any, at: Callable[[Any], Any]) -> None:
        if leaves(node.body):
            raise self.refuse(node.iter, "this loop", "for k in range(len(x)): ...")

        def bind(k: Any) -> None:
            self.assign(node.target, self.reader.plain(at(k)))

        self._looped(node, lambda: self._counted(node, bind, 0, self.builder.wrap(n), 1))

    def _unrolled(self, node: ast.For, rounds: list[Any]) -> None:
        for k, found in enumerate(rounds):
            self.env[_CONTINUED] = False
            self.assign(node.target, found)
            self.run(node.body)
            self.env[_CONTINUED] = False
            stop = self.stopped()
            if stop is True:
                return
            if stop is not False:
                rest = rounds[k + 1 :]
                self.unless_stopped(stop, functools.partial(self._unrolled, node, rest))
                return

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
            self.branch(stop, lambda: None, lambda: self.run(node.orelse))

    def _for_range(self, node: ast.For, start: Any, stop: Any, step: Any) -> None:
        if isinstance(step, Number) or not isinstance(node.target, ast.Name):
            raise self.refuse(node.iter, "this loop", "for k in range(start, stop, 1): ...")
        if any(isinstance(b, Number) and b.atom.type == "float" for b in (start, stop)):
            raise self.refuse(node.iter, "a range of floats", "range(int(n)).")
        index = node.target.id

        def bind(k: Any) -> None:
            self.env[index] = self.builder.wrap(k)

        if not leaves(node.body):
            self._looped(node, lambda: self._counted(node, bind, start, stop, step))
            self.env[index] = Unknown("it is the variable of a loop that has ended.")
            return
        counter = f"%{index}"
        self.env[counter] = start

        def test() -> Any:
            n = self.env[counter]
            return n < stop if step > 0 else n > stop

        def body() -> None:
            self.env[index] = self.env[counter]
            self.run(node.body)
            self.env[counter] = self.env[counter] + step

        if not isinstance(start, Number) and not isinstance(stop, Number):
            self.env.setdefault(index, start)  # it runs
        self._looped(node, lambda: self._carried(node, [counter, index], test, body))

    def _while(self, node: ast.While) -> None:
        def test() -> Any:
            return self.value(node.test)

        self._looped(node, lambda: self._carried(node, [], test, lambda: self.run(node.body)))
        always = isinstance(node.test, ast.Constant) and node.test.value
        if always and not has(node.body, ast.Break):
            self.env[_RETURNED] = True

    def _counted(
        self, node: ast.For, bind: Callable[[Any], None], start: Any, stop: Any, step: int
    ) -> None:
        """A loop that runs to its end."""
        counter = self.builder.counter(atom_of(start), atom_of(stop))

        def build(params: list[Value]) -> Any:
            span = (atom_of(start), atom_of(stop), step)

            def body() -> None:
                self.builder.begins(counter, span, params)
                bind(counter)
                self.run(node.body)

            return lambda init, block, outs: For(counter, span, init, params, block, outs), body

        self._carry([*assigned(node.body)], build)

    def _carried(
        self, node: Any, names: list[str], test: Callable[[], Any], body: Callable[[], None]
    ) -> None:
        """A loop with a condition, and flags where it may be left early."""
        flags = [flag for flag, kind in ((_BROKEN, ast.Break), (_RETURNED, ast.Return))
                 if has(node.body, kind)]  # fmt: skip
        if _RETURNED in flags:
            flags.append(_VALUE)
        self.env.update({_BROKEN: False})

        def build(params: list[Value]) -> Any:
            tests = Block()
            with self.builder.inside(tests):
                go = test()
                for flag in flags:
                    if flag != _VALUE and isinstance(set_ := self.env.get(flag), Number):
                        go = set_.record("logical_and", go, set_.record("logical_not", set_))
                go = self.known(go)
                tests.yields = [self.builder.to("bool", atom_of(go))]

            def unless_left() -> None:
                self.env.update((flag, False) for flag in flags if flag != _VALUE)
                body()

            return lambda init, block, outs: While(tests, init, params, block, outs), unless_left

        self._carry([*names, *assigned(node.body), *flags], build)

    def _carry(self, names: list[str], build: Callable[[list[Value]], Any]) -> None:
        """Read a loop's body until the types of what it carries are settled; append the loop."""
        before = self.env
        own = {_VALUE: _NO_SIDE, _RETURNED: False}
        names = [
            n for n in dict.fromkeys(names)
            if n in own or not isinstance(before.get(n, _NO_SIDE), Unknown)
        ]  # fmt: skip
        state = [before.get(n, own.get(n)) for n in names]
        state = [plain(x) for x in state]
        while True:
            init: list[Any] = []
            makes = [split(x, init) for x in state]
            params = [Value(type_of(atom_of(x))) for x in init]
            self.env = dict(before)
            made = [self.builder.like(p, x) for p, x in zip(params, init, strict=True)]
            self.env.update((n, m(made)) for n, m in zip(names, makes, strict=True))
            finish, body = build(params)
            with self.builder.inside(Block()) as block:
                body()
                self.env[_CONTINUED] = False
                after = [plain(self.env.get(n, _NO_SIDE)) for n in names]
            settled, state = self._settled(names, state, after)
            if settled:
                break
        ends: list[Any] = []
        for x in after:
            split(x, ends)
        with self.builder.inside(block):
            block.yields = [
                self.builder.to(p.type, atom_of(x)) for p, x in zip(params, ends, strict=True)
            ]
        inside = self.env
        outs = [Value(p.type) for p in params]
        self.builder.block.ops.append(finish([atom_of(x) for x in init], block, outs))
        made = [self.builder.like(out, x) for out, x in zip(outs, init, strict=True)]
        self.env = dict(before)
        for name in (n for n in inside.keys() - before.keys() if not n.startswith("%")):
            self.env[name] = Unknown("it is set in a loop that may not run; set it before, too.")
        self.env.update((n, m(made)) for n, m in zip(names, makes, strict=True))

    def _settled(
        self, names: list[str], state: list[Any], after: list[Any]
    ) -> tuple[bool, list[Any]]:
        """Whether the rounds of a loop agree; else what to begin with instead."""
        settled, found = True, []
        for name, x, y in zip(names, state, after, strict=True):
            if name == _VALUE and x is _NO_SIDE and y is not _NO_SIDE:
                settled = False
                found.append(zeros(y))
                continue
            one: list[Any] = []
            other: list[Any] = []
            make, _ = split(x, one), split(y, other)
            pairs: list[tuple[Any, Any]] = []
            try:
                join(x, y, pairs)
            except Different:
                raise self._different(name) from None
            wide = [self.builder.widened(a, b) for a, b in zip(one, other, strict=True)]
            settled = settled and all(map(operator.is_, wide, one))
            found.append(make(wide))
        return settled, found

    def _different(self, name: str) -> Exception:
        what = "the result" if name == _VALUE else f"the variable {name}"
        return KernelError(
            f"{what} has no place in a kernel.",
            "it is something else after a round of the loop than before.",
            "give it numbers, or tuples of as many numbers.",
        )


def _span(bounds: list[Any]) -> tuple[Any, Any, Any]:
    start, stop = (0, bounds[0]) if len(bounds) == 1 else bounds[:2]
    return start, stop, bounds[2] if len(bounds) > 2 else 1
