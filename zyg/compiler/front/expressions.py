"""Reading expressions; see `read`."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from typing import Any

from zyg.compiler.front.captures import Outside, named
from zyg.compiler.front.closures import Bound, Closure, defaults_of
from zyg.compiler.front.frame import Frame
from zyg.compiler.front.heap import refs_in
from zyg.compiler.front.iterators import Generated
from zyg.compiler.front.source import place_of
from zyg.compiler.front.structures import Choice
from zyg.compiler.front.ways import Dead
from zyg.compiler.numbers import Number
from zyg.errors import KernelError

OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.MatMult: operator.matmul,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip

# What Python raises, too, where it is met while reading.
_RAISED = (ZeroDivisionError, OverflowError, LookupError)


class Expressions(Frame):
    """What the expressions of a function are."""

    # Of statements:
    run: Callable[..., None]
    assign: Callable[..., None]
    stopped: Callable[[], Any]
    branch: Callable[..., bool]
    unless_stopped: Callable[..., None]

    def value(self, node: ast.AST) -> Any:
        """What an expression is: a recorded number, anything known, an array that is made."""
        return self.reader.settled(self.operand(node))

    def operand(self, node: ast.AST) -> Any:
        """The same for what is used up at once: of an array, how its elements are computed."""
        read = getattr(self, f"_{type(node).__name__.lower()}", None)
        if read is None:
            raise self.refuse(
                node, _ARTICLES.get(type(node), f"the {type(node).__name__} expression"), _WRITE
            )
        return self.located(node, lambda: self.reader.plain(read(node)))

    def located(self, node: ast.AST, run: Callable[[], Any]) -> Any:
        """What `run` gives; what it raises says where that is."""
        try:
            return run()
        except KernelError as error:
            error.locate(place_of(self.f.__code__, node))
            raise
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            if self.reader.whole and isinstance(error, _RAISED):
                raise Dead(f"{type(error).__name__}: {error}") from error
            what = "this statement" if isinstance(node, ast.stmt) else "this expression"
            why = f"{type(error).__name__}: {error}."
            raise self.refuse(node, what, _WRITE, why) from error

    # Names and parts

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, complex) and not self.reader.whole:
            raise self.refuse(node, "a complex number", _REAL)
        return node.value

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self.operand(node.value)
        if isinstance(owner, Outside):
            found = getattr(owner.value, node.attr)
            return self.outside(found, (*owner.path, ("attr", node.attr)))
        if isinstance(owner, Number) and not self.reader.whole:
            if node.attr == "real":
                return owner
            raise self.refuse(node, "an attribute of a number", "use functions of numbers.")
        return self.reader.attribute(owner, node.attr)

    def _subscript(self, node: ast.Subscript) -> Any:
        owner, index = self.operand(node.value), self.operand(node.slice)
        if isinstance(owner, Number):
            raise self.refuse(
                node, "indexing", "pass the element as an operand.",
                "a kernel sees one number of an operand at a time.",
            )  # fmt: skip
        if isinstance(index, Number) and not self.reader.whole:
            raise self.refuse(
                node, "a computed index", "loop over the elements, or compare the index.",
                "a kernel knows the elements of a captured sequence as separate numbers.",
            )  # fmt: skip
        if isinstance(owner, Outside) and not isinstance(index, (slice, Number)):
            return self.outside(owner.value[index], (*owner.path, ("item", index)))
        return self.reader.item(owner, index)

    def _slice(self, node: ast.Slice) -> Any:
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if b is None else self.value(b) for b in bounds))

    def _parts(self, nodes: list[ast.expr]) -> list[Any]:
        made: list[Any] = []
        for part in nodes:
            if isinstance(part, ast.Starred):
                made.extend(self.reader.elements(self.value(part.value)))
            else:
                made.append(self.value(part))
        return made

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple(self._parts(node.elts))

    def _list(self, node: ast.List) -> Any:
        made = self.reader.new_list(())
        for part in node.elts:
            if isinstance(part, ast.Starred):
                self.reader.extend(made, self.value(part.value))
            else:
                self.reader.append(made, self.value(part))
        return made

    def _set(self, node: ast.Set) -> Any:
        return self.reader.new_set(self._parts(node.elts))

    def _dict(self, node: ast.Dict) -> Any:
        made = self.reader.heap.new(dict, {})
        for key, part in zip(node.keys, node.values, strict=True):
            if key is None:
                self.reader.update(made, self.value(part))
            else:
                self.reader.set_item(made, self.value(key), self.value(part))
        return made

    def _joinedstr(self, node: ast.JoinedStr) -> Any:
        text = ""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                x = self.value(part.value)
                if not isinstance(x, (str, int)) or part.format_spec or part.conversion != -1:
                    raise self.refuse(node, "a string", "use numbers only.")
                text += str(x)
            else:
                text += self.value(part)
        return text

    def _namedexpr(self, node: ast.NamedExpr) -> Any:
        found = self.value(node.value)
        frame: Any = self
        while frame.is_comprehension:
            frame = frame.parent
        frame.set_name(node, node.target.id, found)
        return found

    def _lambda(self, node: ast.Lambda) -> Any:
        return self.defined(node)

    def defined(self, node: ast.Lambda | ast.FunctionDef) -> Closure:
        """A function that is defined inside."""
        self.escapes = True
        defaults = [self.value(d) for d in defaults_of(node)]
        return Closure(node, self, self.variables, defaults)

    @property
    def is_comprehension(self) -> bool:
        return isinstance(self.node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))

    # Operators

    def _binop(self, node: ast.BinOp) -> Any:
        return self.operate(node.op, self.operand(node.left), self.operand(node.right))

    def operate(self, op: ast.AST, *operands: Any) -> Any:
        for k, x in enumerate(operands):
            if isinstance(x, Choice):
                before, rest = operands[:k], operands[k + 1 :]
                return self.reader.over(x, functools.partial(self._operate_on, op, before, rest))
            if isinstance(x, Outside) and not isinstance(x.value, (list, tuple)):
                raise TypeError(f"{named(x.path)} is a {type(x.value).__name__}, not a number")
            if not isinstance(x, self.reader.operands) and not isinstance(
                x, (tuple, list, Outside)
            ):
                raise TypeError(f"a {type(x).__name__} is not a number")
        return self.reader.operated(OPERATORS[type(op)], *operands)

    def _operate_on(self, op: ast.AST, before: Any, rest: Any, x: Any) -> Any:
        return self.operate(op, *before, x, *rest)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        x = self.operand(node.operand)
        if isinstance(node.op, ast.Not):
            return self.reader.inverse(self.reader.as_condition(x))
        return self.operate(node.op, x)

    def _compare(self, node: ast.Compare) -> Any:
        left, result = self.operand(node.left), True
        for k, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
            if k and not isinstance(result, bool):
                rest: Any = ast.copy_location(
                    ast.Compare(ast.Constant(0), node.ops[k:], node.comparators[k:]), node
                )
                then = functools.partial(self._chain, left, rest)
                return self._decided(result, self._truth(result), then, True)
            right = self.operand(right_node)
            found = self._compared(op, left, right)
            result = found if result is True else result & found
            if result is False:
                return False
            left = right
        return result

    def _chain(self, left: Any, rest: ast.Compare) -> Any:
        """The rest of a chained comparison."""
        right = self.value(rest.comparators[0])
        found = self._compared(rest.ops[0], left, right)
        if len(rest.ops) == 1:
            return found
        more = ast.copy_location(ast.Compare(rest.left, rest.ops[1:], rest.comparators[1:]), rest)
        if isinstance(found, bool):
            return self._chain(right, more) if found else False
        return self._decided(found, self._truth(found), lambda: self._chain(right, more), True)

    def _compared(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        if isinstance(op, (ast.Is, ast.IsNot)):
            found = self.reader.is_same(a, b)
            return found if isinstance(op, ast.Is) else self.reader.inverse(found)
        if not isinstance(op, (ast.In, ast.NotIn)):
            return self.operate(op, a, b)
        found = self.reader.contains(b, a)
        return found if isinstance(op, ast.In) else self.reader.inverse(found)

    def _boolop(self, node: ast.BoolOp) -> Any:
        both = isinstance(node.op, ast.And)
        first = self.value(node.values[0])
        for k, part in enumerate(node.values[1:], 1):
            known = isinstance(first, Choice) or self._truth(first)
            if isinstance(first, Choice) or isinstance(known, Number):
                rest = node.values[k:] if len(node.values) - k > 1 else None
                then: Any = ast.BoolOp(node.op, rest) if rest else part
                ast.copy_location(then, part)
                return self._decided(first, known, functools.partial(self.value, then), both)
            if bool(known) != both:
                return first
            first = self.value(part)
        return first

    def _truth(self, x: Any) -> Any:
        return self.reader.truth(self.reader.as_condition(x))

    def _decided(self, first: Any, test: Any, then: Callable[[], Any], both: bool) -> Any:
        """``first and then`` or ``first or then``, by the truth of the first."""
        if isinstance(first, Number):
            return self.reader.either(first, then, both)
        if isinstance(first, Choice):
            return self.reader.over(first, lambda x: self._decided(x, self._truth(x), then, both))
        sides = then, (lambda: first)
        return self.reader.choose(test, *(sides if both else sides[::-1]))

    def _ifexp(self, node: ast.IfExp) -> Any:
        test = self.condition(node.test)
        return self.reader.choose(
            test, lambda: self.value(node.body), lambda: self.value(node.orelse)
        )

    def condition(self, node: ast.expr) -> Any:
        """What decides: the truth of an expression, of which each part is asked once."""
        reader = self.reader
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return reader.inverse(self.condition(node.operand))
        if isinstance(node, ast.IfExp):
            sides = node.body, node.orelse
            then, orelse = (functools.partial(self._truth_of, x) for x in sides)
            return reader.choose(self.condition(node.test), then, orelse)
        if not isinstance(node, ast.BoolOp):
            return self.located(node, lambda: reader.as_condition(self.value(node)))
        both = isinstance(node.op, ast.And)
        first, *others = node.values
        test = reader.truth(self.condition(first))
        rest = ast.copy_location(ast.BoolOp(node.op, others), others[0])
        then = functools.partial(self._truth_of, rest if len(others) > 1 else others[0])
        if isinstance(test, Number):
            return reader.either(reader.as_bool(test), then, both)
        return then() if bool(test) == both else test

    def _truth_of(self, node: ast.expr) -> Any:
        return self.reader.as_bool(self.condition(node))

    # Calls

    def _call(self, node: ast.Call) -> Any:
        f, escapes = self.operand(node.func), self.escapes
        value = self.operand if self.reader.uses_up(f) else self.value
        held = len(self.reader.roots)
        args: list[Any] = []
        # A starred argument that is alone is gone through when all others are evaluated.
        alone = len(node.args) == 1 and isinstance(node.args[0], ast.Starred)
        for arg in node.args:
            found = self.value(arg.value) if isinstance(arg, ast.Starred) else value(arg)
            self.reader.roots.append(found)
            several = isinstance(arg, ast.Starred) and not alone
            args.extend(self.reader.elements(found) if several else [found])
        kwargs: dict[str, Any] = {}
        for k in node.keywords:
            more = self.reader.known_dict(self.value(k.value)) if k.arg is None else None
            more = {k.arg: value(k.value)} if more is None else more
            if twice := [name for name in more if name in kwargs]:
                raise TypeError(f"several values for the argument {twice[0]}")
            kwargs.update(more)
        if alone:
            args = self.reader.elements(args[0])
        try:
            if f is super and not args:
                return self._super()
            found = self.reader.call(f, args, kwargs)
            self._gone(node, args, escapes)
            return found
        finally:
            del self.reader.roots[held:]

    def _gone(self, node: ast.Call, args: list[Any], escapes: bool) -> None:
        """Forget a generator that only a call has seen, and that it has gone through."""
        match node:
            case ast.Call(args=[ast.GeneratorExp() as made], keywords=[]):
                heap = self.reader.heap
                if heap.get(args[0], {}).get("spent") is True:
                    del heap[args[0]]
                    self.escapes = escapes or any(map(_is_function, ast.walk(made.elt)))

    def _super(self) -> Any:
        """What ``super()`` is in a method."""
        first = next(iter(self.f.__code__.co_varnames))
        place = self.f.__code__.co_freevars.index("__class__")
        return Bound(super, (self.f.__closure__[place].cell_contents, self.env[first]))  # type: ignore[index]

    # Comprehensions

    def _listcomp(self, node: ast.ListComp) -> Any:
        made = self.reader.new_list(())
        self.comprehend(node, lambda inner: self.reader.append(made, inner.value(node.elt)))
        return made

    def _setcomp(self, node: ast.SetComp) -> Any:
        made = self.reader.heap.new(set, {})
        self.comprehend(node, lambda inner: self.reader.set_item(made, inner.value(node.elt), True))
        return made

    def _dictcomp(self, node: ast.DictComp) -> Any:
        made = self.reader.heap.new(dict, {})
        self.comprehend(
            node,
            lambda inner: self.reader.set_item(
                made, inner.value(node.key), inner.value(node.value)
            ),
        )
        return made

    def _generatorexp(self, node: ast.GeneratorExp) -> Any:
        first = self.reader.begun(self.value(node.generators[0].iter))
        self.escapes = True
        return self.reader.iterator(Generated(node, self, self.variables, first))

    def evaluated(self, node: ast.GeneratorExp, found: Any) -> Any:
        """The element of a generator expression, by that of what it goes through."""
        inner = type(self)(self.reader, self.f, self.path, node, self)
        self.reader.roots.append(inner.variables)
        inner.assign(node.generators[0].target, found)
        made = inner.value(node.elt)
        self.reader.roots.pop()
        if not inner.escapes:
            self.reader.heap.pop(inner.variables, None)
        elif any(x.kind == "iterator" or x is inner.variables for x in refs_in(made)):
            raise self.refuse(
                node, "a generator of functions", "write a list of them.",
                "they see its variables as they are later.",
            )  # fmt: skip
        return made

    def comprehend(
        self, node: Any, emit: Callable[[Any], None], source: Any = None, leave: Any = None,
        **how: Any,
    ) -> None:  # fmt: skip
        """Run what a comprehension does, in variables of its own, until it is left."""
        reader, held = self.reader, len(self.reader.roots)
        if source is None:
            first = self.value(node.generators[0].iter)
            reader.roots.append(first)
        inner = type(self)(reader, self.f, self.path, node, self)
        reader.roots.append(inner.variables)

        def go(k: int) -> None:
            part = node.generators[k]

            def visit(found: Any) -> None:
                inner.assign(part.target, found)
                where(part.ifs)

            def where(tests: list[ast.expr]) -> None:
                if tests:
                    test = inner.condition(tests[0])
                    reader.choose(test, lambda: where(tests[1:]), lambda: None)
                elif k + 1 < len(node.generators):
                    go(k + 1)
                else:
                    emit(inner)

            if k:
                reader.each(inner.value(part.iter), visit, leave, **how)
            elif source is None:
                reader.each(first, visit, leave, **how)
            else:
                reader.through(source, visit, leave, **how)

        go(0)
        del reader.roots[held:]
        if not inner.escapes:
            reader.heap.pop(inner.variables, None)


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.Lambda, ast.GeneratorExp))


_WRITE = "write it with arithmetic, comparisons, NumPy's or math's functions and helper functions."
_REAL = "pass real and imaginary part as two operands, or call ufuncs on the whole arrays."
_ARTICLES: dict[type[ast.AST], str] = {
    ast.Yield: "a yield", ast.YieldFrom: "a yield", ast.Await: "an await",
}  # fmt: skip
