"""One function that is being read: its names, and where they lead."""

from __future__ import annotations

import ast
import copy
import dis
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from zyg.compiler.front.captures import Path
from zyg.compiler.front.closures import scope_of
from zyg.compiler.front.expressions import WRITE, Expressions
from zyg.compiler.front.liveness import Liveness
from zyg.compiler.front.loops import Loops
from zyg.compiler.front.source import place_of
from zyg.compiler.front.statements import Statements
from zyg.compiler.front.structures import Dead, Ref, Unknown
from zyg.errors import KernelError, is_installed, is_ours, is_users

if TYPE_CHECKING:
    from zyg.compiler.front.interpreter import Interpreter

# Modules whose contents do not change: nothing of theirs is looked up again.
_FIXED = {"math", "numpy", "zyg", "operator", "functools", "builtins"}
_HOMES = {False: "a kernel", True: "a compiled function"}
_WHY = {
    False: "a kernel computes numbers from numbers, element by element.",
    True: "it is not in the language that is compiled.",
}
_OUTSIDE = "call it outside of the compiled function, or give it a rule by zyg.adjoint."
# What Python raises, too, where it is met while reading.
_RAISED = (ZeroDivisionError, OverflowError, LookupError)
Names = frozenset[str] | None


class Frame:
    """The variables of a call, of a function `f` or of one that is defined inside of it.

    `parent` are the variables around it, of a function or comprehension defined inside.
    """

    def __init__(
        self, reader: Interpreter, f: FunctionType, path: Path, node: ast.AST,
        parent: Frame | None = None,
    ) -> None:  # fmt: skip
        self.reader, self.f, self.path, self.node, self.parent = reader, f, path, node, parent
        self.flow, self.builder = reader.flow, reader.builder
        self.scope = scope_of(node)
        self.variables: Ref = reader.flow.heap.new("variables", {})
        self._hold()
        file = f.__code__.co_filename
        self.is_users = is_users(file) and not is_installed(file)
        self.escapes = False  # functions defined inside may outlive the call

    def around(self, variables: Ref) -> Frame:
        """The same, where ways have met: with the variables of either."""
        if variables is self.variables:
            return self
        frame = copy.copy(self)
        frame.variables = variables
        frame._hold()
        return frame

    def _hold(self) -> None:
        """What reads it."""
        self.expressions = Expressions(self)
        self.statements = Statements(self)
        self.loops = Loops(self)

    @contextmanager
    def inner(self, node: ast.AST) -> Iterator[Frame]:
        """The variables of a comprehension, which nobody sees afterwards, unless they escape."""
        made = Frame(self.reader, self.f, self.path, node, self)
        with self.flow.holding(made.variables):
            yield made
        if not made.escapes:
            self.flow.heap.pop(made.variables, None)

    @property
    def is_comprehension(self) -> bool:
        return isinstance(self.node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))

    @property
    def env(self) -> dict[str, Any]:
        """The variables, as they are on this way."""
        return self.flow.heap[self.variables]

    def refuse(
        self, node: ast.AST, what: str, fix: str, why: str = "", effect: bool = False
    ) -> KernelError:
        why = why or _WHY[self.reader.whole]
        error = KernelError(f"{what} cannot be used in {_HOMES[self.reader.whole]}.", why, fix)
        _locate(error, place_of(self.f.__code__, node))
        error.effect = effect
        return error

    def frame_of(self, name: str) -> Frame | None:
        """Whose variable a name is."""
        frame: Frame | None = self
        while frame is not None and name not in frame.scope:
            frame = frame.parent
        return frame

    def set_name(self, node: ast.AST, name: str, found: Any) -> None:
        frame = self.frame_of(name)
        if frame is None:
            raise self.refuse(
                node, "a global variable that is set", "return what is computed.", effect=True,
                why="a kernel runs for all elements at once, in no order.",
            )  # fmt: skip
        frame.env[name] = found

    def variable(self, node: ast.Name, user: Frame) -> Any:
        """What a variable is here; Python raises where it is not set."""
        name = node.id
        why = f"the variable {name} is not set"
        if name not in self.env:
            if self.reader.whole:
                raise Dead(why)
            raise user.refuse(node, f"the variable {name}", "assign it first.", "it is not set.")
        found = self.env[name] = self.flow.where_set(self.env[name], why)
        if isinstance(found, Unknown):
            if found.unset and self.reader.whole:
                raise Dead(why)
            raise user.refuse(
                node, f"the variable {name}", "give it a value on every path to this line.",
                found.why,
            )  # fmt: skip
        return found

    def outside(self, value: Any, path: Path) -> Any:
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] in _FIXED:
            return value
        return self.reader.captured(value, path)

    def liveness(self) -> Liveness:
        """What is read after each statement."""
        if self.node not in self.reader.functions.liveness:
            self.reader.functions.liveness[self.node] = Liveness(self.node)  # type: ignore[arg-type]
        return self.reader.functions.liveness[self.node]

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

    def located(self, node: ast.AST, run: Callable[[], Any]) -> Any:
        """What `run` gives; what it raises says where that is."""
        before = self.builder.place
        if self.is_users:
            self.builder.place = self.f.__code__, node
        try:
            return run()
        except KernelError as error:
            _locate(error, place_of(self.f.__code__, node))
            raise
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            if self.reader.whole and isinstance(error, _RAISED):
                raise Dead(f"{type(error).__name__}: {error}") from error
            what = "this statement" if isinstance(node, ast.stmt) else "this expression"
            raise self.refuse(node, what, WRITE, _said(error)) from error
        finally:
            self.builder.place = before


def _locate(error: KernelError, line: str) -> None:
    """Say where in what is read it was; the innermost place stays, if that is the user's."""
    before = error.source_line
    if before and (_is_of_library(line) or not _is_of_library(before)):
        return
    head, _, rest = str(error).partition("\n  where: ")
    called, _, why = rest.partition("\n")
    if before:
        why = why.partition("\n  fix:   ")[0] + f"\n  fix:   {_OUTSIDE}"
    error.source_line = line
    error.args = (f"{head}\n  where: {line}\n  {'lib:' if before else 'in: '}   {called}\n{why}",)


def _is_of_library(line: str) -> bool:
    return is_installed(line) or is_ours(line)


def _said(error: Exception) -> str:
    """What an exception says: what the reader says itself, or Python of what is known.

    What Python says of the reader's own objects says nothing to the user.
    """
    here = error.__traceback__
    while here is not None and here.tb_next is not None:
        here = here.tb_next
    if here is not None and is_ours(here.tb_frame.f_code.co_filename):
        code = here.tb_frame.f_code.co_code
        if dis.opname[code[here.tb_lasti]] == "RAISE_VARARGS":
            return f"{error}."
        return "it is not known for what it is given here."
    return f"{type(error).__name__}: {error}."
