"""Reading the expressions of a scalar function; see `read`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any

from zyg.compiler.front.captures import Captures, Outside, Path, lookup, named
from zyg.compiler.front.joins import Different, Unknown, described, join
from zyg.compiler.front.source import place_of
from zyg.compiler.ir import Block, Op, type_of
from zyg.compiler.record import Builder, Number, atom_of
from zyg.errors import KernelError

OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.MatMult: operator.matmul,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip

# Modules whose contents do not change: nothing of theirs is looked up again.
_FIXED = {"math", "numpy", "zyg", "operator", "builtins"}

_RAISED = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError)


class Expressions:
    """One function that is being read: its variables, and what its expressions are."""

    def __init__(self, reader: Any, f: FunctionType, path: Path, env: dict[str, Any]) -> None:
        self.reader, self.f, self.path, self.env = reader, f, path, env
        self.builder: Builder = reader.builder
        self.captures: Captures = reader.captures

    def refuse(
        self, node: ast.AST, what: str, fix: str, why: str = "", effect: bool = False
    ) -> KernelError:
        why = why or "a kernel computes numbers from numbers, element by element."
        error = KernelError(f"{what} has no place in a kernel.", why, fix)
        error.locate(place_of(self.f.__code__, node))
        error.effect = effect
        return error

    def located(self, node: ast.AST, run: Callable[[], Any]) -> Any:
        """What `run` gives; what it raises says where that is."""
        try:
            return run()
        except (KernelError, *_RAISED) as error:
            raise self.refused(node, error) from error

    def refused(self, node: ast.AST, error: Exception) -> KernelError:
        """An error while reading, with its place."""
        if isinstance(error, KernelError):
            error.locate(place_of(self.f.__code__, node))
            return error
        return self.refuse(node, "this expression", _WRITE, f"{type(error).__name__}: {error}.")

    def value(self, node: ast.AST) -> Any:
        """What an expression is: a recorded number, or anything known."""
        read = getattr(self, f"_{type(node).__name__.lower()}", None)
        if read is None:
            raise self.refuse(
                node, _ARTICLES.get(type(node), f"the {type(node).__name__} expression"), _WRITE
            )
        try:
            return self.reader.plain(read(node))
        except (KernelError, *_RAISED) as error:
            raise self.refused(node, error) from error

    # Names and parts

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, complex) and not self.reader.whole:
            raise self.refuse(node, "a complex number", _REAL)
        return node.value

    def _name(self, node: ast.Name) -> Any:
        if node.id in self.env:
            found = self.env[node.id]
            if isinstance(found, Unknown):
                raise self.refuse(
                    node, f"the variable {node.id}", "give it a value on every way to this line.",
                    found.why,
                )  # fmt: skip
            return found
        if node.id in self.f.__code__.co_varnames:
            raise self.refuse(node, f"the variable {node.id}", "assign it first.", "it is not set.")
        outside = lookup(self.f, node.id)
        if outside is None:
            raise self.refuse(node, f"the name {node.id}", "define it.", "nothing has that name.")
        value, step = outside
        return self.outside(value, (*self.path, step))

    def outside(self, value: Any, path: Path) -> Any:
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] in _FIXED:
            return value
        return self.captures.found(value, path, self.reader.lift)

    def _attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        if isinstance(owner, Outside):
            found = getattr(owner.value, node.attr)
            return self.outside(found, (*owner.path, ("attr", node.attr)))
        if isinstance(owner, Number) and not self.reader.whole:
            if node.attr == "real":
                return owner
            raise self.refuse(node, "an attribute of a number", "use functions of numbers.")
        return self.reader.attribute(owner, node.attr)

    def _subscript(self, node: ast.Subscript) -> Any:
        owner, index = self.value(node.value), self.value(node.slice)
        if isinstance(owner, Number):
            raise self.refuse(
                node, "indexing", "pass what you index as an operand of its own.",
                "an operand is one number at a time in a kernel.",
            )  # fmt: skip
        if isinstance(index, Number) and not isinstance(owner, self.reader.operands):
            raise self.refuse(
                node, "an index that is computed", "loop over the elements, or compare the index.",
                "the elements of a captured sequence are numbers of their own in the kernel.",
            )  # fmt: skip
        if isinstance(owner, Outside) and isinstance(index, slice):
            return self.reader.elements(owner)[index]
        if isinstance(owner, Outside):
            return self.outside(owner.value[index], (*owner.path, ("item", index)))
        return self.reader.item(owner, index)

    def _slice(self, node: ast.Slice) -> Any:
        bounds = (node.lower, node.upper, node.step)
        return slice(*(None if b is None else self.value(b) for b in bounds))

    def _tuple(self, node: ast.Tuple | ast.List) -> Any:
        made: list[Any] = []
        for part in node.elts:
            if isinstance(part, ast.Starred):
                made.extend(self.reader.elements(self.value(part.value)))
            else:
                made.append(self.reader.settled(self.value(part)))
        return made if isinstance(node, ast.List) else tuple(made)

    _list = _tuple

    # Operators

    def _binop(self, node: ast.BinOp) -> Any:
        return self.operate(node.op, self.value(node.left), self.value(node.right))

    def operate(self, op: ast.AST, *operands: Any) -> Any:
        for x in operands:
            if isinstance(x, Outside):
                raise TypeError(f"{named(x.path)} is a {type(x.value).__name__}, no number")
            if not isinstance(x, self.reader.operands) and type(x) not in (tuple, list):
                raise TypeError(f"a {type(x).__name__} is no number")
        return self.reader.operated(OPERATORS[type(op)], *operands)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        x = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return self._inverse(x)
        return self.operate(node.op, x)

    def known(self, x: Any) -> Any:
        """The truth of what is known."""
        return x.value if isinstance(x, Outside) else x

    def _compare(self, node: ast.Compare) -> Any:
        left, result = self.value(node.left), True
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node)
            found = self._compared(op, left, right)
            result = found if result is True else result & found
            if result is False:
                return False
            left = right
        return result

    def _compared(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        if isinstance(op, (ast.Is, ast.IsNot)):
            return (self.known(a) is self.known(b)) == isinstance(op, ast.Is)
        if not isinstance(op, (ast.In, ast.NotIn)):
            return self.operate(op, a, b)
        found: Any = a in b if isinstance(b, str) else False
        for x in () if isinstance(b, str) else self.reader.elements(b):
            found = found | self.operate(ast.Eq(), a, x)
        return found if isinstance(op, ast.In) else self._inverse(found)

    def _inverse(self, x: Any) -> Any:
        return x.record("logical_not", x) if isinstance(x, Number) else not self.known(x)

    def _boolop(self, node: ast.BoolOp) -> Any:
        both = isinstance(node.op, ast.And)
        first = self.value(node.values[0])
        for k, part in enumerate(node.values[1:], 1):
            if not isinstance(first, Number):
                if bool(self.known(first)) != both:
                    return first
                first = self.value(part)
                continue
            rest = node.values[k:] if len(node.values) - k > 1 else None
            then: Any = ast.BoolOp(node.op, rest) if rest else part
            ast.copy_location(then, part)
            return self._either(first, then, both)
        return first

    def _either(self, first: Number, then: ast.expr, both: bool) -> Any:
        """``first and then`` or ``first or then``; both at once where that is little work."""
        block, second = side = self._side(lambda: self.value(then))
        known_truth = isinstance(second, (Number, bool, int, float))
        if all(isinstance(op, Op) for op in block.ops) and known_truth:
            self.builder.block.ops.extend(block.ops)
            if first.atom.type == type_of(atom_of(second)) == "bool":
                return first.record("logical_and" if both else "logical_or", first, second)
            return first.record("select", first, *((second, first) if both else (first, second)))
        sides = side, (Block(), first)
        return self.choose(first, *(sides if both else sides[::-1]))

    def _ifexp(self, node: ast.IfExp) -> Any:
        test = self.value(node.test)
        if not isinstance(test, Number):
            return self.value(node.body if self.known(test) else node.orelse)
        then = self._side(lambda: self.value(node.body))
        return self.choose(test, then, self._side(lambda: self.value(node.orelse)))

    def _side(self, run: Callable[[], Any]) -> tuple[Block, Any]:
        """What is computed in a block of its own."""
        with self.builder.inside(Block()) as block:
            return block, self.reader.settled(run())

    def choose(self, test: Number, one: tuple[Block, Any], other: tuple[Block, Any]) -> Any:
        """The value of one side or of the other."""
        condition = self.builder.to("bool", test.atom)
        (then, x), (orelse, y) = one, other
        pairs: list[tuple[Any, Any]] = []
        try:
            make = join(x, y, pairs)
        except Different:
            raise KernelError(
                "the two sides of a condition have no place in one kernel.",
                f"one is {described(x)}, the other {described(y)}.",
                "give both sides numbers, or tuples of as many numbers.",
            ) from None
        then.yields, orelse.yields = ([atom_of(pair[k]) for pair in pairs] for k in (0, 1))
        outs = self.builder.branch(condition, then, orelse)
        return make(self.alike(outs, pairs))

    def alike(self, atoms: Sequence[Any], pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        """What the function sees of atoms, each of which is one of a pair."""
        return [self.builder.like(x, *pair) for x, pair in zip(atoms, pairs, strict=True)]

    # Calls

    def _call(self, node: ast.Call) -> Any:
        f = self.value(node.func)
        args: list[Any] = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                args.extend(self.reader.elements(self.value(arg.value)))
            else:
                args.append(self.value(arg))
        if any(k.arg is None for k in node.keywords):
            raise self.refuse(node, "a call with **", "write the keywords out.")
        kwargs = {str(k.arg): self.value(k.value) for k in node.keywords}
        return self.reader.call(f, args, kwargs)

    # Assignments

    def augment(self, node: ast.AugAssign) -> None:
        """``target op= value``, of a whole function."""
        target: Any = node.target
        if isinstance(target, ast.Name):
            before = self.value(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            self.env[target.id] = self.reader.settled(self._augmented(node, before))
            return
        owner, index = self.value(target.value), self.value(target.slice)
        before = self.located(target, lambda: self.reader.item(owner, index))
        found = self._augmented(node, before)
        self.located(target, lambda: self.reader.set_item(owner, index, found))

    def _augmented(self, node: ast.AugAssign, before: Any) -> Any:
        """What is assigned after ``before += value``."""
        value = self.value(node.value)
        how = OPERATORS[type(node.op)]
        found = self.located(node, lambda: self.reader.augmented(how, before, value))
        if found is not NotImplemented:
            return found
        return self.located(node, lambda: self.operate(node.op, before, value))

    def _joinedstr(self, node: ast.JoinedStr) -> Any:
        raise self.refuse(node, "a string", "compute with numbers only.")


_WRITE = "write it with arithmetic, comparisons, NumPy's or math's functions and helper functions."
_REAL = "pass real and imaginary part as two operands, or call ufuncs on the whole arrays."
_ARTICLES: dict[type[ast.AST], str] = {
    ast.ListComp: "a list comprehension", ast.GeneratorExp: "a generator expression",
    ast.Lambda: "a function defined inside", ast.Dict: "a dict", ast.Set: "a set",
    ast.DictComp: "a dict comprehension", ast.SetComp: "a set comprehension",
    ast.Yield: "a yield", ast.Await: "an await", ast.NamedExpr: "an assignment in an expression",
}  # fmt: skip
