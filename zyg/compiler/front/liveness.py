"""Which variables are read again: what no one reads need not be joined, nor carried by loops."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from zyg.compiler.front.source import Node

Names = frozenset[str]


class Liveness:
    """For each statement of a function the names that are read after it, before they are set."""

    def __init__(self, node: Node) -> None:
        self.after: dict[ast.AST, Names] = {}
        self.head: dict[ast.AST, Names] = {}  # where a round of a loop begins
        if isinstance(node, ast.FunctionDef):
            self.always = frozenset(_of_inner_functions(node.body))
            self._block(node.body, self.always, self.always, self.always)

    def _block(self, body: Sequence[ast.stmt], out: Names, end: Names, again: Names) -> Names:
        """What is read from a block on; `end` and `again` are where break and continue lead."""
        for statement in reversed(body):
            self.after[statement] = out
            out = self._statement(statement, out, end, again)
        return out

    def _statement(self, node: ast.stmt, out: Names, end: Names, again: Names) -> Names:
        match node:
            case ast.If():
                sides = [self._block(b, out, end, again) for b in (node.body, node.orelse)]
                return _loads(node.test) | sides[0] | sides[1]
            case ast.While():
                return self._loop(node, node.test, frozenset(), out, end, again)
            case ast.For():
                target = _stores(ast.Assign([node.target], ast.Constant(0))) - self.always
                return self._loop(node, None, target, out, end, again) | _loads(node.iter)
            case ast.Return() | ast.Raise():
                return _loads(node) | self.always
            case ast.Break():
                return end
            case ast.Continue():
                return again
            case ast.With():
                inner = self._block(node.body, out, end, again)
                return inner | _loads(*(item.context_expr for item in node.items))
            case ast.Assign() | ast.AnnAssign(value=ast.expr()) | ast.FunctionDef():
                return (out - _stores(node)) | _loads(node) | self.always
            case _:
                return out | _loads(node)

    def _loop(
        self, node: ast.While | ast.For, test: ast.expr | None, target: Names, out: Names,
        end: Names, again: Names,
    ) -> Names:  # fmt: skip
        orelse = self._block(node.orelse, out, end, again)
        head = out | orelse | (_loads(test) if test else frozenset())
        while True:
            inner = self._block(node.body, head, out, head) - target
            if inner <= head:
                break
            head |= inner
        self.head[node] = head
        return head


def _loads(*nodes: ast.AST) -> Names:
    """The names that are read; what an augmented assignment changes is read, too."""
    found = set()
    for node in nodes:
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Load, ast.Del)):
                found.add(n.id)
            elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
                found.add(n.target.id)
    return frozenset(found)


def _stores(node: ast.stmt) -> Names:
    """The names that an assignment sets, in any case."""
    if isinstance(node, ast.FunctionDef):
        return frozenset([node.name])
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]  # type: ignore[attr-defined]
    return frozenset(
        n.id for t in targets for n in ast.walk(t)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )  # fmt: skip


_INNER = (ast.FunctionDef, ast.Lambda, ast.GeneratorExp)


def _of_inner_functions(body: Iterable[ast.AST]) -> set[str]:
    """The names in functions that are defined inside: those may be called at any time."""
    return {
        n.id
        for statement in body
        for inner in ast.walk(statement)
        if isinstance(inner, _INNER)
        for n in ast.walk(inner)
        if isinstance(n, ast.Name)
    }
