"""Functions that are values: those defined inside, methods, partial applications."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from zyg.compiler.front.source import Node
from zyg.compiler.front.structures import Compound, Ref

if TYPE_CHECKING:
    from zyg.compiler.front.frame import Frame

Scope = frozenset[str]
_KINDS = inspect.Parameter


class Closure(Compound):
    """A function defined inside another: its node, the variables around it, its defaults.

    It sees the variables as they are when it is called.
    """

    def __init__(self, node: Node, frame: Frame, variables: Ref, defaults: Sequence[Any]) -> None:
        self.node, self.frame, self.variables, self.defaults = node, frame, variables, defaults
        self.__name__ = getattr(node, "name", "<lambda>")

    def structure(self) -> Any:
        return self.node

    def parts(self) -> list[Any]:
        return [self.variables, *self.defaults]

    def made(self, parts: Sequence[Any]) -> Closure:
        return Closure(self.node, self.frame.around(parts[0]), parts[0], parts[1:])


class Bound(Compound):
    """A function of Python's or of the reader's, and what it is called with first."""

    def __init__(self, function: Any, first: Any, native: bool = False) -> None:
        self.function, self.first, self.native = function, first, native
        self.__name__ = getattr(function, "__name__", "method")

    def structure(self) -> Any:
        return getattr(self.function, "value", self.function), self.native

    def parts(self) -> list[Any]:
        return [self.first]

    def made(self, parts: Sequence[Any]) -> Bound:
        return Bound(self.function, parts[0], self.native)


class Partial(Compound):
    """``functools.partial`` of something, made inside."""

    def __init__(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, tuple(args), kwargs

    def structure(self) -> Any:
        return len(self.args), tuple(self.kwargs)

    def parts(self) -> list[Any]:
        return [self.function, *self.args, *self.kwargs.values()]

    def made(self, parts: Sequence[Any]) -> Partial:
        function, *rest = parts
        n = len(self.args)
        return Partial(function, rest[:n], dict(zip(self.kwargs, rest[n:], strict=True)))


def with_given(held: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """The positional arguments of a call of a partial, of which the first fill its placeholders."""
    hole, rest = getattr(functools, "Placeholder", None), [*args]  # new in Python 3.14
    is_hole = [hole is not None and getattr(x, "value", x) is hole for x in held]
    filled = [rest.pop(0) if h and rest else x for x, h in zip(held, is_hole, strict=True)]
    return [*filled, *rest]


def defaults_of(node: Node) -> list[ast.expr]:
    """The expressions of a definition's defaults."""
    return [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]


def signature_of(node: Node, defaults: Sequence[Any]) -> inspect.Signature:
    """The signature of a definition, whose defaults have these values."""
    a = node.args
    given = iter(defaults)
    places = [*((_KINDS.POSITIONAL_ONLY, p) for p in a.posonlyargs),
              *((_KINDS.POSITIONAL_OR_KEYWORD, p) for p in a.args)]  # fmt: skip
    first = len(places) - len(a.defaults)
    found = [
        inspect.Parameter(p.arg, kind, default=next(given) if k >= first else _KINDS.empty)
        for k, (kind, p) in enumerate(places)
    ]
    if a.vararg:
        found.append(inspect.Parameter(a.vararg.arg, _KINDS.VAR_POSITIONAL))
    for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True):
        default = _KINDS.empty if d is None else next(given)
        found.append(inspect.Parameter(p.arg, _KINDS.KEYWORD_ONLY, default=default))
    if a.kwarg:
        found.append(inspect.Parameter(a.kwarg.arg, _KINDS.VAR_KEYWORD))
    return inspect.Signature(found)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def scope_of(node: ast.AST) -> Scope:
    """The names that are variables of a function, or of a comprehension."""
    if isinstance(node, COMPREHENSIONS):
        return frozenset(
            n.id for part in node.generators for n in ast.walk(part.target)
            if isinstance(n, ast.Name)
        )  # fmt: skip
    found: set[str] = set()
    elsewhere: set[str] = set()
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        found |= {p.arg for p in ast.walk(node.args) if isinstance(p, ast.arg)}
    body = node.body if isinstance(node, ast.FunctionDef) else [node]
    for statement in body:
        _names(statement, found.add, elsewhere.update, node)
    return frozenset(found - elsewhere)


def _names(
    node: ast.AST, stored: Callable[[str], None], outer: Callable[[Any], None], top: ast.AST
) -> None:
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        outer(node.names)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        stored(node.name)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        stored(node.id)
    elif isinstance(node, COMPREHENSIONS):
        for n in ast.walk(node):
            if isinstance(n, ast.NamedExpr) and isinstance(n.target, ast.Name):
                stored(n.target.id)
        return
    if isinstance(node, _FUNCTIONS) and node is not top:
        return
    for child in ast.iter_child_nodes(node):
        _names(child, stored, outer, top)
