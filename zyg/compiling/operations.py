"""A program that runs as machine code, and the programs of its derivatives.

A derivative is a program again, and so an operation: nothing is different about derivatives of
derivatives. Machine code is made when it is first needed, by one thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from zyg.compiler.autodiff import forward, reverse
from zyg.compiler.autodiff.checkpointing import in_segments
from zyg.compiler.back.native_function import Native
from zyg.compiler.back.object_layout import Unreadable
from zyg.compiler.draws import drawn_of
from zyg.compiler.ir import Program, Value, is_buffer, prune, type_of
from zyg.compiler.splice import with_slopes, without_adjoints
from zyg.compiling.ints import with_shadows, without_shadows
from zyg.compiling.memory_limit import Again, Tapes
from zyg.errors import KernelError

FLOATS = {"float", "float32", "float[]", "float32[]"}
_DTYPES = {"float[]": np.dtype(np.float64), "float32[]": np.dtype(np.float32)}
Made = TypeVar("Made")


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


class Once:
    """What has things made of it, each when it is first asked for, by one thread."""

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}  # by what they are
        self._lock = threading.RLock()

    def once(self, key: Any, make: Callable[[], Made]) -> Made:
        """What `make` gave for this key."""
        if key not in self._made:
            with self._lock:
                if key not in self._made:
                    self._made[key] = make()
        return self._made[key]  # type: ignore[no-any-return]


class Derivative(NamedTuple):
    """An operation, and the places of those operands that its last outputs are derivatives by."""

    operation: Operation
    moving: tuple[int, ...]


class Operation(Once):
    """A program with its derivatives, each made when it is first asked for.

    `results` are the outputs that are numbers and arrays, without the shapes of those; `again`
    gives the program of a derivative with loops in segments.
    """

    def __init__(
        self, program: Program, results: Sequence[int] | None = None, again: Again | None = None
    ) -> None:
        super().__init__()
        self.program, self.again = program, again
        self.results = range(len(program.outputs)) if results is None else results
        self.floating = [k for k, x in enumerate(program.outputs) if type_of(x) in FLOATS]
        # Which outputs are numbers of NumPy's types.
        self.of_numpy: dict[int, Any] = {
            k: np.float32 for k, x in enumerate(program.outputs) if type_of(x) == "float32"
        }

    def __repr__(self) -> str:
        return f"<operation {self.program.name}>"

    def compiled(self) -> Native:
        """The machine code."""

        def make() -> Native:
            return Tapes(self.program, self.again) if self.again else Native(self.program)

        return self.once(Native, make)

    def run(self, operands: Sequence[Any]) -> list[Any]:
        """The outputs for plain operands, which are brought to what the program takes."""
        native = self._made.get(Native) or self.compiled()
        drawn = drawn_of(operands)
        for numbers in drawn:
            numbers.begin()
        try:
            return native(*map(_fitting, self.program.inputs, operands))
        except BaseException:
            for numbers in drawn:
                numbers.undo()
            raise

    def once(self, key: Any, make: Callable[[], Made]) -> Made:
        """What is made of the program; what fails then is a mistake of zyg's."""
        if key not in self._made:
            with building(self.program.name):
                super().once(key, make)
        return self._made[key]  # type: ignore[no-any-return]

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

        return self.once((derive, active, strong), make)

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

        return self.once(("pushforward", active, strong), make)

    def seen_from_outside(self) -> Operation:
        """The operation to derivatives further out: a function's own adjoint is taken once."""
        program = without_adjoints(self.program)
        if program is self.program:
            return self
        return self.once("outside", lambda: Operation(program, self.results))

    def checked(self) -> Operation:
        """The operation where a derivative may follow: it stops where that would."""

        def make() -> Operation:
            if (program := with_slopes(self.program)) is self.program:
                return self
            made = Operation(program, self.results)
            made.of_numpy = self.of_numpy
            return made

        return self.once("checked", make)

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


def _fitting(value: Value, x: Any) -> Any:
    if not is_buffer(value.type):
        return x
    dtype: Any = _DTYPES.get(value.type, x.dtype)
    return x if x.flags.c_contiguous and x.dtype == dtype else np.ascontiguousarray(x, dtype)
