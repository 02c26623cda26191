"""A program that runs as machine code, and the programs of its derivatives.

A derivative is a program again, and so an operation: nothing is different about derivatives of
derivatives. Machine code is made when it is first needed, by one thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from zyg.compiler.back.entry import Native
from zyg.compiler.derive import forward, reverse
from zyg.compiler.derive.segments import in_segments
from zyg.compiler.ir import Program, prune, type_of
from zyg.compiler.splice import without_adjoints
from zyg.compiling.ints import with_shadows, without_shadows
from zyg.compiling.tapes import Again, Tapes

FLOATS = {"float", "float32", "float[]", "float32[]"}


class Derivative(NamedTuple):
    """An operation, and the places of those operands that its last outputs are derivatives by."""

    operation: Operation
    moving: tuple[int, ...]


class Operation:
    """A program with its derivatives, each made when it is first asked for.

    `results` are the outputs that are numbers and arrays, without the shapes of those; `again`
    gives the program of a derivative with loops in segments.
    """

    def __init__(
        self, program: Program, results: Sequence[int] | None = None, again: Again | None = None
    ) -> None:
        self.program, self.again = program, again
        self.results = range(len(program.outputs)) if results is None else results
        self.floating = [k for k, x in enumerate(program.outputs) if type_of(x) in FLOATS]
        self.of_numpy: dict[int, type] = {}  # which outputs are numbers of NumPy's types
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
                self.native = (
                    Tapes(self.program, self.again) if self.again else Native(self.program)
                )
                self.run = self.native
            return self.native

    def _first_run(self, *operands: Any) -> list[Any]:
        return self.compiled()(*operands)

    def gradient(self, active: tuple[int, ...], strong: bool = False) -> Derivative:
        """operands -> (outputs, cotangents), from the cotangent 1 of the first output."""
        return self._reversed(reverse.gradient, active, strong)

    def pullback(self, active: tuple[int, ...], strong: bool = False) -> Derivative:
        """(operands, cotangents of the floating outputs) -> cotangents."""
        return self._reversed(reverse.vjp, active, strong)

    def _reversed(self, derive: Any, active: tuple[int, ...], strong: bool) -> Derivative:
        def make() -> Derivative:
            program, ints = self._shadowed(active)
            floats = range(len(self.program.inputs), len(program.inputs))
            places = dict(zip(ints, floats, strict=True))
            by = sorted(places.get(k, k) for k in active)

            def derived(program: Program) -> tuple[Program, Sequence[int]]:
                made = derive(program, by, strong)
                if derive is reverse.vjp:
                    self._only_derivatives(made.program)
                return without_shadows(made.program, ints, floats), made.moving

            def again(depth: int) -> Program | None:
                other = in_segments(program, depth)
                return other and derived(other)[0]

            made, found = derived(program)
            own = {j: k for k, j in places.items()}
            moving = tuple(own.get(j, j) for j in found)
            return Derivative(Operation(made, again=again), moving)

        return self.once((derive, active, strong), make)  # type: ignore[no-any-return]

    def pushforward(self, active: tuple[int, ...], strong: bool = False) -> Operation:
        """(tangents of active operands, operands) -> tangents of the floating outputs."""

        def make() -> Operation:
            program, ints = self._shadowed(active)
            count, first = len(self.program.inputs), len(active)
            places = dict(zip(ints, range(count, len(program.inputs)), strict=True))
            made = forward.pushforward(program, [places.get(k, k) for k in active], strong)
            self._only_derivatives(made)
            floats = range(first + count, len(made.inputs))
            return Operation(without_shadows(made, [first + k for k in ints], floats))

        return self.once(("pushforward", active, strong), make)  # type: ignore[no-any-return]

    def seen_from_outside(self) -> Operation:
        """The operation to derivatives further out: a function's own adjoint is taken once."""
        program = without_adjoints(self.program)
        if program is self.program:
            return self
        return self.once("outside", lambda: Operation(program, self.results))  # type: ignore[no-any-return]

    def _shadowed(self, active: tuple[int, ...]) -> tuple[Program, list[int]]:
        """The program with a float for each active int, behind the inputs, and which those are."""
        ints = [k for k in active if self.program.inputs[k].type == "int"]
        made = with_shadows(self.program, ints, self.results) if ints else self.program
        if made is None:
            raise NotImplementedError
        return made, ints

    def _only_derivatives(self, program: Program) -> None:
        """Without the outputs of this program, of which it is a derivative."""
        del program.body.yields[: len(self.program.outputs)]
        prune(program.body)

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What is made of the operation, at most once."""
        found = self.derived.get(key)
        if found is None:
            with self._lock:
                found = self.derived.get(key) or self.derived.setdefault(key, make())
        return found
