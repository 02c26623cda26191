"""A program that runs as machine code, and the programs of its derivatives.

A derivative is a program again, and so an operation: nothing is different about derivatives of
derivatives. Machine code is made when it is first needed, by one thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numpy as np

from zyg.compiler.back.entry import Native
from zyg.compiler.back.objects import Unreadable
from zyg.compiler.derive import forward, reverse
from zyg.compiler.derive.segments import in_segments
from zyg.compiler.ir import Program, Value, is_buffer, prune, type_of
from zyg.compiler.splice import with_slopes, without_adjoints
from zyg.compiling.ints import with_shadows, without_shadows
from zyg.compiling.tapes import Again, Tapes
from zyg.errors import KernelError

FLOATS = {"float", "float32", "float[]", "float32[]"}


class Unbuilt(KernelError):  # noqa: N818
    """A program that zyg has read and fails to derive or to print, by a mistake of its own."""


def unbuilt(name: str, error: Exception) -> Unbuilt:
    said = (str(error).splitlines() or [""])[0]
    return Unbuilt(
        f"{name} could not be compiled, by a mistake of zyg's: {type(error).__name__}: {said}.",
        "what was read should have become a program.",
        "please report it, with the function; without zyg.compile it computes the same.",
    )


@contextmanager
def building(name: str) -> Iterator[None]:
    """What fails while it lasts is a mistake of zyg's, and says so."""
    try:
        yield
    except (KernelError, NotImplementedError, Unreadable):
        raise
    except Exception as error:
        raise unbuilt(name, error) from error


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
        # Which outputs are numbers of NumPy's types.
        self.of_numpy: dict[int, Any] = {
            k: np.float32 for k, x in enumerate(program.outputs) if type_of(x) == "float32"
        }
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
                with building(self.program.name):
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
        """(operands, cotangents of the floating outputs, lengths of those) -> cotangents.

        The lengths are there for derivatives of this.
        """
        return self._reversed(reverse.vjp, active, strong)

    def _reversed(self, derive: Any, active: tuple[int, ...], strong: bool) -> Derivative:
        def make() -> Derivative:
            def again(depth: int) -> Program | None:
                found = self.reversed(derive, active, strong, lambda x: in_segments(x, depth))
                return found and only(found[0])

            def only(program: Program) -> Program:
                if derive is reverse.vjp:
                    self._only_derivatives(program)
                    self._with_lengths(program)
                return program

            program, moving = cast(Any, self.reversed(derive, active, strong))
            return Derivative(Operation(only(program), again=again), moving)

        return self.once((derive, active, strong), make)  # type: ignore[no-any-return]

    def reversed(
        self, derive: Any, active: tuple[int, ...], strong: bool = False,
        before: Callable[[Program], Program | None] = lambda program: program,
    ) -> tuple[Program, tuple[int, ...]] | None:  # fmt: skip
        """The program of the outputs and the cotangents, and of which operands these are.

        `before` is what is done with the program first; None where that gives None.
        """
        shadowed, ints = self._shadowed(active)
        floats = range(len(self.program.inputs), len(shadowed.inputs))
        if (program := before(shadowed)) is None:
            return None
        places = dict(zip(ints, floats, strict=True))
        made = derive(program, sorted(places.get(k, k) for k in active), strong)
        own = {j: k for k, j in places.items()}
        moving = tuple(own.get(j, j) for j in made.moving)
        return without_shadows(made.program, ints, floats), moving

    def with_tangents(self, active: tuple[int, ...], strong: bool = False) -> Program:
        """(tangents of active operands, operands) -> the outputs, their tangents."""
        program, ints = self._shadowed(active)
        count, first = len(self.program.inputs), len(active)
        places = dict(zip(ints, range(count, len(program.inputs)), strict=True))
        made = forward.pushforward(program, [places.get(k, k) for k in active], strong)
        floats = range(first + count, len(made.inputs))
        return without_shadows(made, [first + k for k in ints], floats)

    def pushforward(self, active: tuple[int, ...], strong: bool = False) -> Operation:
        """(tangents of active operands, operands) -> tangents of the floating outputs."""

        def make() -> Operation:
            made = self.with_tangents(active, strong)
            self._only_derivatives(made)
            return Operation(made)

        return self.once(("pushforward", active, strong), make)  # type: ignore[no-any-return]

    def seen_from_outside(self) -> Operation:
        """The operation to derivatives further out: a function's own adjoint is taken once."""
        program = without_adjoints(self.program)
        if program is self.program:
            return self
        return self.once("outside", lambda: Operation(program, self.results))  # type: ignore[no-any-return]

    def checked(self) -> Operation:
        """The operation where a derivative may follow: it stops where that would."""

        def make() -> Operation:
            if (program := with_slopes(self.program)) is self.program:
                return self
            made = Operation(program, self.results)
            made.of_numpy = self.of_numpy
            return made

        return self.once("checked", make)  # type: ignore[no-any-return]

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

    def _with_lengths(self, program: Program) -> None:
        for bar in program.inputs[len(self.program.inputs) :]:
            if is_buffer(bar.type):
                length = Value("int")
                program.inputs.append(length)
                program.sizes[bar] = (length,)

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What is made of the operation, at most once."""
        found = self.derived.get(key)
        if found is None:
            with self._lock:
                found = self.derived.get(key)
                if found is None:
                    with building(self.program.name):
                        found = self.derived[key] = make()
        return found
