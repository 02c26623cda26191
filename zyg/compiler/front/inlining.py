"""Functions read where they are called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from zyg.base.signatures import users_signature
from zyg.compiler.front.captures import Path
from zyg.compiler.front.closures import Closure, signature_of
from zyg.compiler.front.control_flow import Concern
from zyg.compiler.front.frame import Frame
from zyg.compiler.front.liveness import Liveness
from zyg.compiler.front.outlines import Active, Outlines
from zyg.compiler.front.source import source_of
from zyg.errors import KernelError

if TYPE_CHECKING:
    from zyg.compiler.front.interpreter import Interpreter

_DEEPEST = 60  # calls within calls
_LONGEST = 20_000  # operations


class Inlining(Concern):
    """Calls of Python functions, read where they are."""

    def __init__(self, reader: Interpreter, outlines: Outlines | None) -> None:
        super().__init__(reader)
        self.outlines = outlines
        self.active: list[Active] = []
        self.liveness: dict[Any, Liveness] = {}
        self.depth = 0

    def inline(
        self, f: FunctionType, args: Sequence[Any], kwargs: Any, path: Path | None = None
    ) -> Any:
        """The value of a Python function, read where it is called."""
        path = (("itself", f),) if path is None else path
        node = source_of(f)
        signature = users_signature(f, follow_wrapped=False)
        frame = Frame(self.reader, f, path, node)

        def default(p: inspect.Parameter) -> Any:
            return frame.outside(p.default, (*path, ("default", p.name)))

        try:
            return self._entered(frame, node, f.__name__, signature, default, args, kwargs)
        except KernelError as error:
            if type(error) is not KernelError or not str(f.__module__).startswith("scipy."):
                raise
            raise KernelError(  # of the function that the user called, and not of what that calls
                f"{f.__name__} is not compiled.",
                f"in SciPy's text of it, {str(error).partition(chr(10))[0]}",
                f"call {f.__name__} outside, or give it a rule by zyg.adjoint.",
            ) from error

    def inline_inner(self, f: Closure, args: Sequence[Any], kwargs: Any) -> Any:
        """The value of a function that is defined inside."""
        outer = f.frame.around(f.variables)
        frame = Frame(self.reader, outer.f, outer.path, f.node, outer)
        signature = signature_of(f.node, [*f.defaults])
        return self._entered(
            frame, f.node, f.__name__, signature, lambda p: p.default, args, kwargs
        )

    def _entered(
        self, frame: Frame, node: Any, name: str, signature: inspect.Signature,
        default: Callable[[inspect.Parameter], Any], args: Sequence[Any], kwargs: Any,
    ) -> Any:  # fmt: skip
        """The value of a function, in variables of its own."""
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}{signature}: {error}") from None
        env = frame.env
        for parameter, p in signature.parameters.items():
            if p.kind is p.VAR_KEYWORD:
                more = bound.arguments.get(parameter, {})
                env[parameter] = self.flow.heap.new(dict, dict(more))
            elif parameter in bound.arguments:
                env[parameter] = bound.arguments[parameter]
            else:
                env[parameter] = () if p.kind is p.VAR_POSITIONAL else default(p)
        key = node, frame.parent and frame.parent.variables
        if self.outlines is not None:

            def read(arguments: dict[str, Any]) -> Any:
                self.flow.heap[frame.variables] = dict(arguments)
                return self._read(frame, node, key, arguments)

            found = self.outlines.called_out_of_line(key, frame.variables, name, dict(env), read)
            if found is not NotImplemented:
                self.flow.heap.pop(frame.variables, None)
                return found
        if self.depth >= _DEEPEST or len(self.to.block.ops) > _LONGEST:
            raise KernelError(
                f"{name} makes the kernel too long.",
                "zyg reads a helper function at each call, and this one calls itself without an "
                "end that zyg can see.",
                "write a loop.",
            )
        return self._read(frame, node, key, dict(env))

    def _read(self, frame: Frame, node: Any, key: Any, arguments: dict[str, Any]) -> Any:
        """The value of a function whose arguments are set."""
        self.active.append(Active(key, arguments))
        self.depth += 1
        try:
            with self.flow.holding(frame.variables):
                return frame.statements.result(node)
        finally:
            self.depth -= 1
            self.active.pop()
            if not frame.escapes:
                self.flow.heap.pop(frame.variables, None)
