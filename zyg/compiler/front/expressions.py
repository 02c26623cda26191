"""What expressions are."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zyg.base.words import lowerings
from zyg.compiler.front.captures import Outside, lookup, named
from zyg.compiler.front.closures import Bound, Closure, defaults_of
from zyg.compiler.front.heap import refs_in
from zyg.compiler.front.iterators import Generated
from zyg.compiler.front.mixed import ComplexNumber
from zyg.compiler.front.structures import Choice
from zyg.compiler.numbers import Number

if TYPE_CHECKING:
    from zyg.compiler.front.frame import Frame

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


class Part:
    """What reads one kind of things in a frame: what all of these have at hand."""

    def __init__(self, frame: Frame) -> None:
        self.frame, self.reader, self.flow = frame, frame.reader, frame.flow
        self.to = frame.builder


class Expressions(Part):
    """What the expressions of a function are."""

    def value(self, node: ast.AST) -> Any:
        """What an expression is: a recorded number, anything known, an array that is made."""
        return self.reader.values.settled(self.operand(node))

    def operand(self, node: ast.AST) -> Any:
        """The same for what is used up at once: of an array, how its elements are computed."""
        read = getattr(self, f"_{type(node).__name__.lower()}", None)
        if read is None:
            raise self.frame.refuse(
                node, _ARTICLES.get(type(node), f"the {type(node).__name__} expression"), WRITE
            )
        return self.frame.located(node, lambda: self.reader.values.plain(read(node)))

    # Names and parts

    def _name(self, node: ast.Name) -> Any:
        frame = self.frame.frame_of(node.id)
        if frame is not None:
            return frame.variable(node, self.frame)
        outside = lookup(self.frame.f, node.id)
        if outside is None:
            raise self.frame.refuse(
                node, f"the name {node.id}", "define it.", "nothing has that name."
            )
        value, step = outside
        return self.frame.outside(value, (*self.frame.path, step))

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, complex) and not self.reader.whole:
            raise self.frame.refuse(node, "a complex number", _REAL)
        return node.value

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self.operand(node.value)
        if isinstance(owner, Outside):
            found = getattr(owner.value, node.attr)
            return self.frame.outside(found, (*owner.path, ("attr", node.attr)))
        if isinstance(owner, Number) and not self.reader.whole:
            if node.attr == "real":
                return owner
            raise self.frame.refuse(node, "an attribute of a number", "use functions of numbers.")
        return self.reader.objects.attribute(owner, node.attr)

    def _subscript(self, node: ast.Subscript) -> Any:
        owner, index = self.operand(node.value), self.operand(node.slice)
        if isinstance(owner, Number):
            raise self.frame.refuse(
                node, "indexing", "pass the element as an operand.",
                "a kernel sees one number of an operand at a time.",
            )  # fmt: skip
        if isinstance(index, Number) and not self.reader.whole:
            raise self.frame.refuse(
                node, "a computed index", "loop over the elements, or compare the index.",
                "a kernel knows the elements of a captured sequence as separate numbers.",
            )  # fmt: skip
        if owner is np.mgrid or owner is np.ogrid:
            return self._grid(lowerings[owner], index)
        if isinstance(owner, Outside) and not isinstance(index, (slice, Number)):
            return self.frame.outside(owner.value[index], (*owner.path, ("item", index)))
        return self.reader.containers.item(owner, index)

    def _grid(self, grid: Callable[..., Any], index: Any) -> Any:
        """Of np.mgrid or np.ogrid, by what they are in loops; of one axis alone its points."""
        bounds = [(x.start, x.stop, None, x.step) if isinstance(x.step, ComplexNumber)
                  else (x.start, x.stop, x.step, None)
                  for x in (index if type(index) is tuple else (index,))]  # fmt: skip
        made = self.reader.calls.call(grid, bounds, {})
        return made if type(index) is tuple else self.reader.containers.item(made, 0)

    def _slice(self, node: ast.Slice) -> Any:
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if b is None else self.value(b) for b in bounds))

    def _parts(self, nodes: list[ast.expr]) -> list[Any]:
        made: list[Any] = []
        for part in nodes:
            if isinstance(part, ast.Starred):
                made.extend(self.reader.sequences.elements(self.value(part.value)))
            else:
                made.append(self.value(part))
        return made

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple(self._parts(node.elts))

    def _list(self, node: ast.List) -> Any:
        made = self.reader.containers.new_list(())
        for part in node.elts:
            if isinstance(part, ast.Starred):
                self.reader.containers.extend(made, self.value(part.value))
            else:
                self.reader.containers.append(made, self.value(part))
        return made

    def _set(self, node: ast.Set) -> Any:
        return self.reader.containers.new_set(self._parts(node.elts))

    def _dict(self, node: ast.Dict) -> Any:
        made = self.flow.heap.new(dict, {})
        for key, part in zip(node.keys, node.values, strict=True):
            if key is None:
                self.reader.containers.update(made, self.value(part))
            else:
                self.reader.containers.set_item(made, self.value(key), self.value(part))
        return made

    def _joinedstr(self, node: ast.JoinedStr) -> Any:
        text = ""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                x = self.value(part.value)
                if not isinstance(x, (str, int)) or part.format_spec or part.conversion != -1:
                    raise self.frame.refuse(node, "a string", "return numbers: make text outside.")
                text += str(x)
            else:
                text += self.value(part)
        return text

    def _namedexpr(self, node: ast.NamedExpr) -> Any:
        found = self.value(node.value)
        frame = self.frame
        while frame.is_comprehension and frame.parent:
            frame = frame.parent
        frame.set_name(node, node.target.id, found)
        return found

    def _lambda(self, node: ast.Lambda) -> Any:
        return self.defined(node)

    def defined(self, node: ast.Lambda | ast.FunctionDef) -> Closure:
        """A function that is defined inside."""
        self.frame.escapes = True
        defaults = [self.value(d) for d in defaults_of(node)]
        return Closure(node, self.frame, self.frame.variables, defaults)

    # Operators

    def _binop(self, node: ast.BinOp) -> Any:
        return self.operate(node.op, self.operand(node.left), self.operand(node.right))

    def operate(self, op: ast.AST, *operands: Any) -> Any:
        found = self.flow.over_any(operands, lambda xs: self.operate(op, *xs))
        if found is not NotImplemented:
            return found
        for x in operands:
            if isinstance(x, Outside) and not isinstance(x.value, (list, tuple)):
                raise TypeError(f"{named(x.path)} is a {type(x.value).__name__}, not a number")
            if not isinstance(x, self.reader.values.operands):
                raise TypeError(f"a {type(x).__name__} is not a number")
        return self.reader.values.operated(OPERATORS[type(op)], *operands)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        x = self.operand(node.operand)
        if isinstance(node.op, ast.Not):
            return self.reader.operators.inverse(self.reader.operators.as_condition(x))
        return self.operate(node.op, x)

    def _compare(self, node: ast.Compare) -> Any:
        return self._chain(self.operand(node.left), node.ops, node.comparators)

    def _chain(self, left: Any, ops: Sequence[ast.cmpop], nodes: Sequence[ast.expr]) -> Any:
        """A comparison, chained to others."""
        right = self.operand(nodes[0])
        found = self._compared(ops[0], left, right)
        if len(ops) == 1 or found is False:
            return found
        then = functools.partial(self._chain, right, ops[1:], nodes[1:])
        return then() if found is True else self._decided(found, self._truth(found), then, True)

    def _compared(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        if isinstance(op, (ast.Is, ast.IsNot)):
            found = self.reader.operators.is_same(a, b)
            return found if isinstance(op, ast.Is) else self.reader.operators.inverse(found)
        if not isinstance(op, (ast.In, ast.NotIn)):
            return self.operate(op, a, b)
        found = self.reader.containers.contains(b, a)
        return found if isinstance(op, ast.In) else self.reader.operators.inverse(found)

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
        return self.flow.truth(self.reader.operators.as_condition(x))

    def _decided(self, first: Any, test: Any, then: Callable[[], Any], both: bool) -> Any:
        """``first and then`` or ``first or then``, by the truth of the first."""
        if isinstance(first, Number):
            return self.flow.either(first, then, both)
        if isinstance(first, Choice):
            return self.flow.over(first, lambda x: self._decided(x, self._truth(x), then, both))
        sides = then, (lambda: first)
        return self.flow.choose(test, *(sides if both else sides[::-1]))

    def _ifexp(self, node: ast.IfExp) -> Any:
        test = self.condition(node.test)
        return self.flow.choose(
            test, lambda: self.value(node.body), lambda: self.value(node.orelse)
        )

    def condition(self, node: ast.expr) -> Any:
        """What decides: the truth of an expression, of which each part is asked once."""
        reader = self.reader
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return reader.operators.inverse(self.condition(node.operand))
        if isinstance(node, ast.IfExp):
            sides = node.body, node.orelse
            then, orelse = (functools.partial(self._truth_of, x) for x in sides)
            return reader.flow.choose(self.condition(node.test), then, orelse)
        if not isinstance(node, ast.BoolOp):
            return self.frame.located(node, lambda: reader.operators.as_condition(self.value(node)))
        both = isinstance(node.op, ast.And)
        first, *others = node.values
        test = reader.flow.truth(self.condition(first))
        rest = ast.copy_location(ast.BoolOp(node.op, others), others[0])
        then = functools.partial(self._truth_of, rest if len(others) > 1 else others[0])
        if isinstance(test, Number):
            return reader.flow.either(reader.operators.as_bool(test), then, both)
        return then() if bool(test) == both else test

    def _truth_of(self, node: ast.expr) -> Any:
        return self.reader.operators.as_bool(self.condition(node))

    # Calls

    def _call(self, node: ast.Call) -> Any:
        f, escapes = self.operand(node.func), self.frame.escapes
        value = self.operand if self.reader.calls.uses_up(f) else self.value
        held = len(self.flow.roots)
        args: list[Any] = []
        # A starred argument that is alone is gone through when all others are evaluated.
        alone = len(node.args) == 1 and isinstance(node.args[0], ast.Starred)
        for arg in node.args:
            found = self.value(arg.value) if isinstance(arg, ast.Starred) else value(arg)
            self.flow.roots.append(found)
            several = isinstance(arg, ast.Starred) and not alone
            args.extend(self.reader.sequences.elements(found) if several else [found])
        kwargs: dict[str, Any] = {}
        for k in node.keywords:
            more = self.reader.containers.known_dict(self.value(k.value)) if k.arg is None else None
            more = {k.arg: value(k.value)} if more is None else more
            if twice := [name for name in more if name in kwargs]:
                raise TypeError(f"several values for the argument {twice[0]}")
            kwargs.update(more)
        if alone:
            args = self.reader.sequences.elements(args[0])
        try:
            if f is super and not args:
                return self._super()
            found = self.reader.calls.call(f, args, kwargs)
            self._gone(node, args, escapes)
            return found
        finally:
            del self.flow.roots[held:]

    def _gone(self, node: ast.Call, args: list[Any], escapes: bool) -> None:
        """Forget a generator that only a call has seen, and that it has gone through."""
        match node:
            case ast.Call(args=[ast.GeneratorExp() as made], keywords=[]):
                heap = self.flow.heap
                if heap.get(args[0], {}).get("spent") is True:
                    del heap[args[0]]
                    self.frame.escapes = escapes or any(map(_is_function, ast.walk(made.elt)))

    def _super(self) -> Any:
        """What ``super()`` is in a method."""
        first = next(iter(self.frame.f.__code__.co_varnames))
        place = self.frame.f.__code__.co_freevars.index("__class__")
        return Bound(super, (self.frame.f.__closure__[place].cell_contents, self.frame.env[first]))  # type: ignore[index]

    # Comprehensions

    def _listcomp(self, node: ast.ListComp) -> Any:
        made, append = self.reader.containers.new_list(()), self.reader.containers.append
        self.comprehend(node, lambda inner: append(made, inner.value(node.elt)))
        return made

    def _setcomp(self, node: ast.SetComp) -> Any:
        made, put = self.flow.heap.new(set, {}), self.reader.containers.set_item
        self.comprehend(node, lambda inner: put(made, inner.value(node.elt), True))
        return made

    def _dictcomp(self, node: ast.DictComp) -> Any:
        made, put = self.flow.heap.new(dict, {}), self.reader.containers.set_item
        self.comprehend(
            node, lambda inner: put(made, inner.value(node.key), inner.value(node.value))
        )
        return made

    def _generatorexp(self, node: ast.GeneratorExp) -> Any:
        first = self.reader.sequences.begun(self.value(node.generators[0].iter))
        self.frame.escapes = True
        return self.reader.sequences.iterator(
            Generated(node, self.frame, self.frame.variables, first)
        )

    def evaluated(self, node: ast.GeneratorExp, found: Any) -> Any:
        """The element of a generator expression, by that of what it goes through."""
        with self.frame.inner(node) as inner:
            inner.statements.assign(node.generators[0].target, found)
            made = inner.expressions.value(node.elt)
        if inner.escapes and any(
            x.kind == "iterator" or x is inner.variables for x in refs_in(made)
        ):
            raise self.frame.refuse(
                node, "a generator of functions", "write a list of them.",
                "they see its variables as they are later.",
            )  # fmt: skip
        return made

    def comprehend(
        self, node: Any, emit: Callable[[Expressions], None], source: Any = None, leave: Any = None,
        **how: Any,
    ) -> None:  # fmt: skip
        """Run what a comprehension does, in variables of its own, until it is left."""
        going, first = self.reader.going, None
        begin = functools.partial(going.through, source)
        if source is None:
            first = self.value(node.generators[0].iter)
            begin = functools.partial(going.each, first)
        with self.flow.holding(first), self.frame.inner(node) as inner:

            def go(k: int) -> None:
                part = node.generators[k]

                def visit(found: Any) -> None:
                    inner.statements.assign(part.target, found)
                    where(part.ifs)

                def where(tests: list[ast.expr]) -> None:
                    if tests:
                        test = inner.expressions.condition(tests[0])
                        self.flow.choose(test, lambda: where(tests[1:]), lambda: None)
                    elif k + 1 < len(node.generators):
                        go(k + 1)
                    else:
                        emit(inner.expressions)

                if k:
                    going.each(inner.expressions.value(part.iter), visit, leave, **how)
                else:
                    begin(visit, leave, **how)

            go(0)


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, (ast.Lambda, ast.GeneratorExp))


WRITE = "write it with arithmetic, comparisons, NumPy's or math's functions and helper functions."
_REAL = "pass real and imaginary part as two operands, or call ufuncs on the whole arrays."
_ARTICLES: dict[type[ast.AST], str] = {
    ast.Yield: "a yield", ast.YieldFrom: "a yield", ast.Await: "an await",
}  # fmt: skip
