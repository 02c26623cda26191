"""A program that runs as machine code, and the programs of its derivatives.

A derivative is a program again, and so an operation: nothing is different about derivatives of
derivatives. Machine code is made when it is first needed, by one thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from zyg.compiler.back.entry import Native
from zyg.compiler.derive import forward, reverse
from zyg.compiler.ir import Program, prune, type_of

FLOATS = {"float", "float32", "float[]", "float32[]"}


class Derivative(NamedTuple):
    """An operation, and the places of those operands that its last outputs are derivatives by."""

    operation: Operation
    moving: tuple[int, ...]


class Operation:
    """A program with its derivatives, each made when it is first asked for."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.floating = [k for k, x in enumerate(program.outputs) if type_of(x) in FLOATS]
        self.run: Callable[..., list[Any]] = self._first_run
        self.native: Native | None = None
        self.derived: dict[Any, Any] = {}  # by what they are
        self._lock = threading.RLock()

    def __repr__(self) -> str:
        return f"<operation {self.program.name}>"

    def compiled(self) -> Native:
        """The machine code."""
        with self._lock:
            if self.native is None:
                self.native = Native(self.program)
                self.run = self.native
            return self.native

    def _first_run(self, *operands: Any) -> list[Any]:
        return self.compiled()(*operands)

    def gradient(self, active: tuple[int, ...], strong: bool = False) -> Derivative:
        """operands -> (outputs, cotangents), from the cotangent 1 of the first output."""
        key = "gradient", active, strong

        def make() -> Derivative:
            made = reverse.gradient(self.program, active, strong)
            return Derivative(Operation(made.program), tuple(made.moving))

        return self._once(key, make)  # type: ignore[no-any-return]

    def pullback(self, active: tuple[int, ...], strong: bool = False) -> Derivative:
        """(operands, cotangents of the floating outputs) -> cotangents."""
        key = "pullback", active, strong

        def make() -> Derivative:
            made = reverse.vjp(self.program, active, strong)
            self._only_derivatives(made.program)
            return Derivative(Operation(made.program), tuple(made.moving))

        return self._once(key, make)  # type: ignore[no-any-return]

    def pushforward(self, active: tuple[int, ...], strong: bool = False) -> Operation:
        """(tangents of active operands, operands) -> tangents of the floating outputs."""
        key = "pushforward", active, strong

        def make() -> Operation:
            program = forward.pushforward(self.program, active, strong)
            self._only_derivatives(program)
            return Operation(program)

        return self._once(key, make)  # type: ignore[no-any-return]

    def _only_derivatives(self, program: Program) -> None:
        """Without the outputs of this program, of which it is a derivative."""
        del program.body.yields[: len(self.program.outputs)]
        prune(program.body)

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        found = self.derived.get(key)
        if found is None:
            with self._lock:
                found = self.derived.get(key) or self.derived.setdefault(key, make())
        return found
