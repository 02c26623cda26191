"""What the statements of a function do."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zyg.compiler.front.expressions import OPERATORS, Part
from zyg.compiler.front.joins import ABSENT, FLAGS
from zyg.compiler.front.source import REFUSED, Node
from zyg.compiler.front.structures import Dead, Ref, Unknown
from zyg.compiler.numbers import Number

if TYPE_CHECKING:
    from zyg.compiler.front.frame import Frame, Names

# Variables of the reader's own; a name of Python's cannot begin so.
_RETURNED, _BROKEN, _CONTINUED = FLAGS
_VALUE = "%value"


class Statements(Part):
    """One function that is being read, statement by statement."""

    def __init__(self, frame: Frame) -> None:
        super().__init__(frame)
        self.expressions, self.value = frame.expressions, frame.expressions.value

    def result(self, node: Node) -> Any:
        """What the function returns."""
        if isinstance(node, ast.Lambda):
            return self.value(node.body)
        self.run(node.body)
        returned = self.frame.env.get(_RETURNED, False)
        if returned is False:
            return None
        value = self.frame.env.get(_VALUE)
        if returned is not True and self.reader.whole:
            return self.flow.choose(returned, lambda: value, lambda: None)
        if returned is not True:
            raise self.frame.refuse(
                node.body[-1], f"the end of {node.name} without a return",
                "return a number on every path through the function.",
                "on some path through the function it would return None.",
            )  # fmt: skip
        if isinstance(value, Unknown):
            raise self.frame.refuse(
                node, f"the result of {node.name}",
                "return the same number of values on every path.",
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
                self.frame.located(statement, functools.partial(self.statement, statement))
            stop = self.stopped()
            if stop is True:
                return
            if stop is not False and rest:
                live = self.frame.after(rest[-1])
                self.unless_stopped(stop, functools.partial(self.run, rest), live)
                return

    def stopped(self) -> Any:
        """Whether a return, break or continue was met; a recorded number where it depends."""
        stop: Any = False
        for flag in FLAGS:
            found = self.flow.truth(self.frame.env.get(flag, False))
            if found is True:
                return True
            if found is not False:
                stop = found if stop is False else stop | found
        return stop

    def unless_stopped(self, stop: Number, run: Callable[[], None], live: Names) -> None:
        """Run what follows where no flag is set; on the other side, the one that could be is."""
        flags = [flag for flag in FLAGS if self.frame.env.get(flag, False) is not False]

        def stopped() -> None:
            if len(flags) == 1:
                self.frame.env[flags[0]] = True

        def going_on() -> None:
            self.frame.env.update(dict.fromkeys(flags, False))
            run()

        self.branch(stop, stopped, going_on, live)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Pass() | ast.AnnAssign(value=None) | ast.Nonlocal():
                pass
            case ast.Expr(value=ast.Constant()):  # a docstring
                pass
            case ast.Expr(value=ast.expr() as value) if self._may_be_called(value):
                self.value(value)
            case ast.Return():
                found = None if node.value is None else self.value(node.value)
                self.frame.env[_VALUE] = found
                self.frame.env[_RETURNED] = True
            case ast.Break():
                self.frame.env[_BROKEN] = True
            case ast.Continue():
                self.frame.env[_CONTINUED] = True
            case ast.Assign():
                is_part = len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript)
                read = self.expressions.operand if is_part else self.value
                found = read(node.value)
                for target in node.targets:
                    self.assign(target, found)
            case ast.AnnAssign(value=ast.expr() as value):
                self.assign(node.target, self.value(value))
            case ast.AugAssign():
                self._augment(node)
            case ast.For():
                self.frame.loops.for_(node)
            case ast.While():
                self.frame.loops.while_(node)
            case ast.FunctionDef():
                self._define(node)
            case ast.Raise() | ast.Assert() | ast.With() | ast.Delete() if self.reader.whole:
                self._with_effects(node)
            case _:
                raise self._refused(node)

    def _with_effects(self, node: Any) -> None:
        """What whole functions alone may do."""
        if isinstance(node, ast.Raise):
            raise Dead(ast.unparse(node))
        if isinstance(node, ast.Assert):
            test = self.expressions.condition(node.test)
            self.flow.demand(test, ast.unparse(node.test))
        elif isinstance(node, ast.With):
            for item in node.items:
                if not self._is_errstate(item):
                    raise self._refused(node)
            self.run(node.body)
        else:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    self.value(_read(target))
                    frame = self.frame.frame_of(target.id)
                    if frame is None:
                        raise self._refused(node)
                    del frame.env[target.id]
                elif isinstance(target, ast.Subscript):
                    owner, index = self.value(target.value), self.value(target.slice)
                    self.reader.containers.delete_item(owner, index)
                else:
                    raise self._refused(node)

    def _is_errstate(self, item: ast.withitem) -> bool:
        """Whether a with says only how NumPy is to warn."""
        call = item.context_expr
        if not isinstance(call, ast.Call) or call.args or item.optional_vars:
            return False
        f = self.value(call.func)
        ways = [self.value(k.value) for k in call.keywords]
        return getattr(f, "value", f) is np.errstate and {*ways} <= {"ignore", "warn"}

    def _may_be_called(self, node: ast.expr) -> bool:
        """Whether an expression may stand alone: in a kernel, if it changes what is its own."""
        if self.reader.whole or not isinstance(node, ast.Call):
            return bool(self.reader.whole)
        f = node.func
        if not isinstance(f, ast.Attribute):
            return False
        return isinstance(f.value, ast.Name) and isinstance(self.value(f.value), Ref)

    def _define(self, node: ast.FunctionDef) -> None:
        decorators = [self.value(decorator) for decorator in node.decorator_list]
        found: Any = self.expressions.defined(node)
        for decorator in reversed(decorators):
            found = self.reader.calls.call(decorator, [found], {})
        self.frame.set_name(node, node.name, found)

    def _refused(self, node: ast.stmt) -> Exception:
        what, fix, effect = REFUSED.get(
            type(node), (f"the statement {type(node).__name__}", "use numbers only.", False)
        )
        return self.frame.refuse(node, what, fix, effect=effect)

    # Assignments

    def assign(self, target: ast.expr, found: Any) -> None:
        if isinstance(target, ast.Name):
            self.frame.set_name(target, target.id, self.reader.values.settled(found))
        elif isinstance(target, (ast.Tuple, ast.List)):
            starred = any(isinstance(t, ast.Starred) for t in target.elts)
            count = None if starred else len(target.elts)
            self._unpack(target, self.reader.sequences.elements(found, count))
        elif isinstance(target, ast.Starred):
            self.assign(target.value, self.reader.containers.new_list(found))
        else:
            self._assign_part(target, found)

    def _unpack(self, target: ast.Tuple | ast.List, values: list[Any]) -> None:
        names, n = target.elts, len(values)
        starred = [k for k, t in enumerate(names) if isinstance(t, ast.Starred)]
        if starred and n >= len(names) - 1:
            k, after = starred[0], len(names) - starred[0] - 1
            values = [*values[:k], values[k : n - after], *values[n - after :]]
        if len(values) != len(names):
            if self.reader.whole:
                raise Dead(f"{n} values to unpack, and {len(names)} names")
            raise self.frame.refuse(
                target, "this assignment", "assign as many values as there are names.",
                f"there are {n} values.",
            )  # fmt: skip
        with self.flow.holding(*values):
            for t, v in zip(names, values, strict=True):
                self.assign(t, v)

    def _assign_part(self, target: ast.expr, found: Any) -> None:
        """An element, or an attribute."""
        if not isinstance(target, (ast.Subscript, ast.Attribute)):
            raise self._of_a_part(target)
        owner = self._owner(target)
        if isinstance(target, ast.Subscript):
            self.reader.containers.set_item(owner, self.value(target.slice), found)
        elif self.reader.values.set_shape(self.frame.variables, owner, target.attr, found) is (
            NotImplemented
        ):
            self.reader.objects.set_attribute(owner, target.attr, found)

    def _owner(self, target: ast.Subscript | ast.Attribute) -> Any:
        """That of which a part is set; in a kernel, it must be its own."""
        owner = self.value(target.value)
        if not self.reader.whole and (not isinstance(owner, Ref) or owner.fixed):
            raise self._of_a_part(target)
        return owner

    def _of_a_part(self, target: ast.expr) -> Exception:
        return self.frame.refuse(
            target, "an assignment to a part of something", "assign to a variable.",
            "a kernel runs for all elements at once, in no order.", effect=True,
        )  # fmt: skip

    def _augment(self, node: ast.AugAssign) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            self.assign(target, self._augmented(node, self.value(_read(target))))
            return
        owner = self._owner(target)
        if isinstance(target, ast.Attribute):
            before = self.reader.objects.attribute(owner, target.attr)
            self.reader.objects.set_attribute(owner, target.attr, self._augmented(node, before))
            return
        index = self.value(target.slice)
        before = self.reader.containers.item(owner, index)
        self.reader.containers.set_item(owner, index, self._augmented(node, before))

    def _augmented(self, node: ast.AugAssign, before: Any) -> Any:
        """What is assigned after ``before += value``; lists are changed in place."""
        value = self.expressions.operand(node.value)
        in_place = self.reader.operators.augmented(OPERATORS[type(node.op)], before, value)
        if in_place is not NotImplemented:
            return in_place
        return self.frame.located(node, lambda: self.expressions.operate(node.op, before, value))

    # Conditions

    def _if(self, node: ast.If, rest: Sequence[ast.stmt]) -> bool:
        """Run an `if`; True if what follows it has been run, too."""
        test = self.flow.truth(self.expressions.condition(node.test))
        if not isinstance(test, Number):
            self.run(node.body if test else node.orelse)
            return False
        live = self.frame.after(rest[-1] if rest else node), self.frame.after(node)
        return self.branch(
            test, lambda: self.run(node.body), lambda: self.run(node.orelse), *live, rest
        )

    def branch(
        self,
        test: Number,
        then: Callable[[], None],
        orelse: Callable[[], None],
        live: Names,
        otherwise: Names = None,
        rest: Sequence[ast.stmt] = (),
    ) -> bool:
        """Run two sides under a condition and join the variables.

        If one side is done with the function or the round of a loop, `rest` is run on the other,
        and the answer is True. `live` are the variables that are read after that, or, `otherwise`,
        after the condition.
        """
        condition = self.to.to("bool", test.atom)
        sides = self.flow.side(then, condition, True), self.flow.side(orelse, condition, False)
        done = [s.dead is not None or self._is_done(s) for s in sides]
        consumed = done[0] != done[1] and not sides[0].dead and not sides[1].dead
        if consumed:
            self.flow.resume(sides[0 if done[1] else 1], lambda: self._rest(rest))
            otherwise = live
        variables, before = self.frame.variables, self.frame.env
        returned = [s.heap.get(variables, {}).get(_RETURNED, False) is True for s in sides]

        def pick(ref: Ref, key: Any, a: Any, b: Any) -> tuple[Any, Any]:
            # Nothing is read after a return. What the other side has not changed stays itself, as
            # do computations with it, which other sides may share.
            if ref is not variables or returned[0] == returned[1] or key.startswith("%"):
                return a, b
            kept = b if returned[0] else a
            gone = kept if kept is before.get(key) else ABSENT
            return (gone, kept) if returned[0] else (kept, gone)

        self.flow.joined(condition, sides, self.frame.unread(otherwise if rest else live), pick)
        return consumed

    def _is_done(self, side: Any) -> bool:
        env = side.heap.get(self.frame.variables, {})
        return any(env.get(flag) is True for flag in FLAGS)

    def _rest(self, rest: Sequence[ast.stmt]) -> None:
        if (stop := self.stopped()) is False:
            self.run(rest)
        elif rest and stop is not True:
            self.unless_stopped(stop, lambda: self.run(rest), self.frame.after(rest[-1]))


def _read(target: ast.Name) -> ast.Name:
    """A name that is set, as one that is read."""
    return ast.copy_location(ast.Name(target.id, ast.Load()), target)
