"""One function that is being read: its names, and where they lead."""

from __future__ import annotations

import ast
import copy
from types import FunctionType, ModuleType
from typing import Any

from zyg.compiler.builder import Builder
from zyg.compiler.front.captures import Captures, Path, lookup
from zyg.compiler.front.closures import scope_of
from zyg.compiler.front.liveness import Liveness
from zyg.compiler.front.source import place_of
from zyg.compiler.front.structures import Choice, Ref, Unknown
from zyg.compiler.front.ways import Dead
from zyg.errors import KernelError

# Modules whose contents do not change: nothing of theirs is looked up again.
_FIXED = {"math", "numpy", "zyg", "operator", "functools", "builtins"}
_HOMES = {False: "a kernel", True: "a compiled function"}
_WHY = {
    False: "a kernel computes numbers from numbers, element by element.",
    True: "it is not in the language that is compiled.",
}


class Frame:
    """The variables of a call, of a function `f` or of one that is defined inside of it.

    `parent` are the variables around it, of a function or comprehension defined inside.
    """

    def __init__(
        self, reader: Any, f: FunctionType, path: Path, node: ast.AST, parent: Frame | None = None
    ) -> None:
        self.reader, self.f, self.path, self.node, self.parent = reader, f, path, node, parent
        self.builder: Builder = reader.builder
        self.captures: Captures = reader.captures
        self.scope = scope_of(node)
        self.variables: Ref = reader.heap.new("variables", {})
        self.escapes = False  # functions defined inside may outlive the call

    def around(self, variables: Ref) -> Frame:
        """The same, where ways have met: with the variables of either."""
        if variables is self.variables:
            return self
        frame = copy.copy(self)
        frame.variables = variables
        return frame

    @property
    def env(self) -> dict[str, Any]:
        """The variables, as they are on this way."""
        return self.reader.heap[self.variables]  # type: ignore[no-any-return]

    def refuse(
        self, node: ast.AST, what: str, fix: str, why: str = "", effect: bool = False
    ) -> KernelError:
        why = why or _WHY[self.reader.whole]
        error = KernelError(f"{what} cannot be used in {_HOMES[self.reader.whole]}.", why, fix)
        error.locate(place_of(self.f.__code__, node))
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

    def _name(self, node: ast.Name) -> Any:
        frame = self.frame_of(node.id)
        if frame is not None:
            return frame.variable(node, self)
        outside = lookup(self.f, node.id)
        if outside is None:
            raise self.refuse(node, f"the name {node.id}", "define it.", "nothing has that name.")
        value, step = outside
        return self.outside(value, (*self.path, step))

    def variable(self, node: ast.Name, user: Frame) -> Any:
        """What a variable is here; Python raises where it is not set."""
        name = node.id
        if name not in self.env:
            if self.reader.whole:
                raise Dead(f"the variable {name} is not set")
            raise user.refuse(node, f"the variable {name}", "assign it first.", "it is not set.")
        found = self.env[name]
        if isinstance(found, Choice) and any(isinstance(x, Unknown) for x in found.options):
            found = self.env[name] = self._demanded(found, name)
        if isinstance(found, Unknown):
            if found.unset and self.reader.whole:
                raise Dead(f"the variable {name} is not set")
            raise user.refuse(
                node, f"the variable {name}", "give it a value on every path to this line.",
                found.why,
            )  # fmt: skip
        return found

    def _demanded(self, found: Choice, name: str) -> Any:
        """What a variable is where it is set."""
        pairs = list(zip(found.flags, found.options, strict=True))
        for flag, option in pairs:
            if isinstance(option, Unknown):
                self.reader.demand(self.reader.inverse(flag), f"the variable {name} is not set")
        return self.reader.narrowed([p for p in pairs if not isinstance(p[1], Unknown)])

    def outside(self, value: Any, path: Path) -> Any:
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] in _FIXED:
            return value
        return self.captures.found(value, path, self.reader.lift)

    def liveness(self) -> Liveness:
        """What is read after each statement."""
        if self.node not in self.reader.liveness:
            self.reader.liveness[self.node] = Liveness(self.node)  # type: ignore[arg-type]
        return self.reader.liveness[self.node]  # type: ignore[no-any-return]
