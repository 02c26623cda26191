"""The source of a Python function: its syntax tree, its places in the file."""

from __future__ import annotations

import ast
import linecache
from collections import defaultdict
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from zyg.base.adoptable import code_of_source
from zyg.base.caches import remembered
from zyg.cells import read_again, spot
from zyg.errors import KernelError

Node = ast.FunctionDef | ast.Lambda

_HEADS = ("# %%", "#" * 20)  # of the cells of a script


def source_of(f: FunctionType) -> Node:
    """The definition of a function; KernelError where there is no source, or not that of `f`."""
    return _definition(code_of_source(f.__code__))


@remembered(1024)
def _definition(code: CodeType) -> Node:
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)
    line = code.co_firstlineno
    cell = _cell_of(line, lines)
    for text in (_statement_at(line, lines), _statement_at(line, lines, cell), "".join(lines)):
        with read_again():
            try:
                nodes, compiled = _parsed(text, code.co_filename).get(line, ((), ()))
            except (SyntaxError, ValueError):
                nodes, compiled = (), ()
            found = [n for n in nodes if _is_of(n, code)]
        alike = [c for c in compiled if _alike(c, code)]
        if len(found) == 1 and alike:
            break
    else:
        why = (
            f"{code.co_filename} has no text for it."
            if not text
            else f"{len(found)} functions at that place fit it."
            if alike
            else f"{code.co_filename} has changed since it was imported."
        )
        raise KernelError(
            f"the source of {code.co_name} ({spot(code.co_filename, line)}) is not available.",
            f"zyg makes a kernel from the source of a function; {why}",
            "define it with def, in a file or a notebook cell.",
        )
    return found[0]


def _cell_of(line: int, lines: list[str]) -> int:
    """Where the cell of a line begins, in a file that some compile cell by cell, or at the line."""
    heads = (k for k in range(min(line, len(lines)) - 1, 0, -1) if lines[k].startswith(_HEADS))
    return next(heads, line)


def _statement_at(line: int, lines: list[str], start: int = 0) -> str:
    """A file without its statements but imports and what looks like that which has a line in it.

    To parse it takes a hundredth of the time; imports, which are taken from `start` on, decide what
    an attribute is compiled to.
    """
    if line > len(lines):
        return ""
    goes_on = (" ", "\t", "\n", "\r", ")", "]", "}", "#")
    first, end, imports = line - 1, line, False
    while first > 0 and (lines[first].startswith(goes_on) or lines[first - 1].startswith("@")):
        first -= 1
    while end < len(lines) and (lines[end].startswith(goes_on) or lines[end - 1].startswith("@")):
        end += 1
    made = []
    for k, text in enumerate(lines[:end]):
        if not text.startswith(goes_on):
            imports = k >= start and text.startswith(("import ", "from "))
        made.append(text if imports or k >= first else "\n")
    return "".join(made)


@remembered(64)
def _parsed(text: str, filename: str) -> dict[int, tuple[list[Node], list[CodeType]]]:
    """The functions of a file by the line where they begin: their definitions, and codes."""
    found: dict[int, tuple[list[Node], list[CodeType]]] = defaultdict(lambda: ([], []))
    for node in ast.walk(_Matches().visit(ast.parse(text))):
        if isinstance(node, Node):
            first = [node, *getattr(node, "decorator_list", ())]
            found[min(x.lineno for x in first)][0].append(node)
    for code in _codes(compile(text, filename, "exec", dont_inherit=True)):
        found[code.co_firstlineno][1].append(code)
    return found


class _Matches(ast.NodeTransformer):
    """Writes `match` as `if`, where it compares a name, or a part of one, with values."""

    def visit_Match(self, node: ast.Match) -> Any:
        self.generic_visit(node)
        tests = [_test(node.subject, case.pattern) for case in node.cases]
        named = isinstance(node.subject, (ast.Name, ast.Attribute, ast.Subscript))
        if (
            None in tests
            or not named
            or any(isinstance(n, ast.Call) for n in ast.walk(node.subject))
        ):
            return node
        made: list[ast.stmt] = []
        for case, test in zip(node.cases[::-1], tests[::-1], strict=True):
            both = [x for x in (test, case.guard) if x is not None]
            where = case.pattern
            condition = both[0] if len(both) == 1 else ast.BoolOp(ast.And(), both)
            made = [ast.copy_location(ast.If(condition, case.body, made), where)]
        return ast.fix_missing_locations(made[0])


def _test(subject: ast.expr, pattern: ast.pattern) -> ast.expr | None:
    """Whether a subject is what a pattern says; None for patterns that take it apart."""
    match pattern:
        case ast.MatchValue(value):
            made: ast.expr = ast.Compare(subject, [ast.Eq()], [value])
        case ast.MatchSingleton(value):
            made = ast.Compare(subject, [ast.Is()], [ast.Constant(value)])
        case ast.MatchOr(patterns):
            tests = [_test(subject, one) for one in patterns]
            if None in tests:
                return None
            made = ast.BoolOp(ast.Or(), tests)  # type: ignore[arg-type]
        case ast.MatchAs(None, None):
            made = ast.Constant(True)
        case _:
            return None
    return ast.copy_location(made, pattern)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _is_of(node: Node, code: CodeType) -> bool:
    """Whether a definition is where the code was compiled from; a lambda's, to the column."""
    if isinstance(node, ast.FunctionDef) or code.co_name != "<lambda>":
        return getattr(node, "name", None) == code.co_name
    alone = compile(ast.Expression(node), code.co_filename, "eval", dont_inherit=True)
    compiled = [c for c in alone.co_consts if isinstance(c, CodeType)][-1]  # after its defaults
    return _places(compiled) == _places(code)


def _places(code: CodeType) -> set[Any]:
    return {place for place in code.co_positions() if place[3]}  # those of expressions


def _alike(compiled: CodeType, code: CodeType) -> bool:
    """Whether a text still says what was compiled from it; pytest rewrites asserts."""
    if (
        compiled.co_name != code.co_name
        or compiled.co_varnames[: code.co_argcount] != (code.co_varnames[: code.co_argcount])
    ):
        return False
    rewritten = any(name.startswith("@py") for name in code.co_names + code.co_varnames)
    return rewritten or (
        compiled.co_code == code.co_code
        and compiled.co_names == code.co_names
        and _constants(compiled) == _constants(code)
    )


def _constants(code: CodeType) -> list[Any]:
    return [repr(c) for c in code.co_consts if not isinstance(c, CodeType)]


def place_of(code: CodeType, node: ast.AST) -> str:
    """``file:line: expression``, of a node of a function."""
    text = ast.unparse(node).partition("\n")[0]
    return f"{spot(code.co_filename, getattr(node, 'lineno', code.co_firstlineno))}: {text}"


def has(body: Sequence[ast.stmt], kind: type[ast.stmt]) -> bool:
    """Whether a loop has a statement of this kind; a break of a loop inside is not its own."""
    for statement in body:
        if isinstance(statement, kind):
            return True
        inside = isinstance(statement, (ast.For, ast.While)) and kind is not ast.Return
        parts = [getattr(statement, name, []) for name in ("body", "orelse")]
        if any(has(part, kind) for part in (parts[1:] if inside else parts)):
            return True
    return False


def leaves(body: Sequence[ast.stmt]) -> bool:
    return has(body, ast.Break) or has(body, ast.Return)


def assigned(body: Sequence[ast.stmt]) -> list[str]:
    """The variables that statements assign."""
    names = (n for s in body for n in ast.walk(s) if isinstance(n, ast.Name))
    return list(dict.fromkeys(n.id for n in names if isinstance(n.ctx, ast.Store)))


_EFFECT = "a kernel runs for all elements at once, in no order: return what is computed."
# Statements that kernels do not have: what, what instead, and whether they have effects.
REFUSED: dict[type[ast.stmt], tuple[str, str, bool]] = {
    ast.Expr: ("a call whose value is not used", _EFFECT, True),
    ast.Global: ("a global variable that is set", _EFFECT, True),
    ast.Delete: ("a del", _EFFECT, True),
    ast.Try: ("a try", "test for what would raise.", False),
    ast.With: ("a with", "write it around the call.", False),
    ast.Raise: ("a raise", "return np.nan, and check the result.", False),
    ast.Assert: ("an assert", "check the operands before the call.", False),
    ast.Import: ("an import", "import at the top of the file.", False),
    ast.ImportFrom: ("an import", "import at the top of the file.", False),
}
