"""Scalar functions as kernels: read once for each kind of operands, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from zyg.base.caches import Cache
from zyg.base.registry import rules
from zyg.compiler.autodiff import forward
from zyg.compiler.builder import Builder
from zyg.compiler.front.captures import Captures, Path, code_of
from zyg.compiler.front.interpreter import read
from zyg.compiler.front.structures import split
from zyg.compiler.ints import Bounds, Width, in_types_of
from zyg.compiler.ir import If, Op, Program, Type, Value, operations, show
from zyg.compiler.numbers import Number, atom_of
from zyg.errors import KernelError
from zyg.functions.operations import LIBRARY

_MOST_KINDS = 64  # programs of one function
_MOST_VALUES = 4  # of a captured int, after which it is an operand

Made = TypeVar("Made")


class Kernel:
    """A program with its derivatives, each made when it is first asked for.

    `bounds` are what each call from outside is to check of its operands. The outputs from
    `first_slope` on are derivatives, of which it is asked whether they are finite.
    """

    def __init__(
        self, program: Program, bounds: Bounds | None = None, first_slope: int | None = None
    ) -> None:
        self.program, self.bounds = program, bounds
        self.first_slope = len(program.outputs) if first_slope is None else first_slope
        self._derived: dict[Any, Any] = {}  # by what they are

    def __repr__(self) -> str:
        return f"<kernel {self.program.name}>"

    def partials(
        self, active: tuple[int, ...], strong: bool = False
    ) -> tuple[Kernel, list[list[int]]]:
        """The outputs, then the partial derivatives that are not zero; of which inputs they are."""

        def make() -> tuple[Kernel, list[list[int]]]:
            program, masks = forward.partials(self.program, active, strong)
            return Kernel(program, first_slope=len(masks)), masks

        return self._once(("partials", active, strong), make)

    def pushforward(self, active: tuple[int, ...], strong: bool = False) -> Kernel:
        """(tangents of the active inputs, inputs) -> (outputs, their tangents)."""
        key = ("pushforward", active, strong)

        def make() -> Kernel:
            return Kernel(forward.pushforward(self.program, active, strong, every=True))

        return self._once(key, make)

    def pullback(
        self, active: tuple[int, ...], strong: bool = False, values: bool = False
    ) -> tuple[Kernel, list[int]]:
        """(cotangents of the outputs, inputs) -> ([outputs], cotangents of inputs); of which."""

        def make() -> tuple[Kernel, list[int]]:
            program, moving = forward.pullback(self.program, active, strong, values)
            count = len(self.program.outputs) if values else 0
            return Kernel(program, first_slope=count), moving

        return self._once(("pullback", active, strong, values), make)

    def products(self, masks: list[list[int]], strong: bool = False) -> tuple[Kernel, list[int]]:
        """(cotangents of the outputs, partial derivatives) -> cotangents of inputs; of which."""

        def make() -> tuple[Kernel, list[int]]:
            program, moving = forward.products(masks, strong)
            return Kernel(program, first_slope=0), moving

        return self._once(("products", strong, *map(tuple, masks)), make)

    def _once(self, key: Any, make: Callable[[], Made]) -> Made:
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]  # type: ignore[no-any-return]

    @property
    def cheap(self) -> bool:
        """Whether it runs as fast as memory is read, so that it is computed twice and not kept."""

        def is_cheap(op: Any) -> bool:
            return isinstance(op, If) or (isinstance(op, Op) and op.cost < LIBRARY)

        return self._once("cheap", lambda: all(map(is_cheap, operations(self.program.body))))


class Read:
    """A function that was read for one kind of operands."""

    def __init__(
        self, kernel: Kernel, make: Callable[[list[Any]], Any], captures: Captures
    ) -> None:
        self.kernel, self.make, self.captures = kernel, make, captures


class Reads(NamedTuple):
    """All that was read of a function for one kind of operands, by the rules of one version."""

    version: int
    reads: list[Read]


_known: Cache[Any, Reads] = Cache(1024)
_varying: Cache[Any, set[Path]] = Cache(1024)  # by code


def read_for(
    f: Callable[..., Any],
    kinds: tuple[Type, ...],
    shape: Any,
    arguments: Callable[[list[Any]], Sequence[Any]],
    plain: Callable[[Any], Any],
    widths: Sequence[Width] = (),
) -> Read:
    """The kernel of `f` for operands of these types, which `arguments` arranges in its arguments.

    `shape` is what `arguments` depends on, `widths` are NumPy's types of ints. A kernel is used
    again while what it took from outside of the function, and the rules, are the same.
    """
    code = code_of(f)
    key, version = (code, kinds, shape, widths), rules.version
    known = _known.get(key)
    if known is None or known.version != version:
        known = _known.put(key, Reads(version, []))
    found = known.reads
    for entry in found:
        if entry.captures.fits(f):
            return entry
    varying = _varying.get(code)
    if varying is None:
        varying = _varying.put(code, set())
    for path in {p for entry in found for p in entry.captures.guards}:
        values = {v for e in found if type(v := e.captures.guards.get(path)) is int}
        if len(values) >= _MOST_VALUES:
            varying.add(path)
    captures = Captures(plain, frozenset(varying))
    try:
        program, make = read(f, kinds, arguments, captures)
    except KernelError:
        if not varying:
            raise
        captures = Captures(plain)  # an index, for example, has to be known
        program, make = read(f, kinds, arguments, captures)
    ours = widths or (None,) * len(kinds)
    bounds = in_types_of(program, (*ours, *captures.widths()))
    found.append(made := Read(Kernel(program, bounds), make, captures))
    del found[:-_MOST_KINDS]
    return made


_recorded: Cache[Any, tuple[int, Kernel]] = Cache(1024)  # with the version of the rules


def recorded(
    f: Callable[..., Any], kinds: tuple[Type, ...], widths: Sequence[Width] = ()
) -> tuple[Kernel, Any]:
    """The kernel of what `f` does when it is called, and how its result is made of the outputs."""
    builder = Builder()
    inputs = [Value(kind) for kind in kinds]
    result = f(*(Number(x, builder) for x in inputs))
    found: list[Any] = []
    make = split(result, found)
    if not found:
        raise KernelError(
            f"the function returned a {type(result).__name__}, which a kernel cannot return.",
            "a kernel returns a number, or a tuple of numbers.",
            "return the numbers.",
        )
    builder.block.yields = [atom_of(x) for x in found]
    program = Program("fused", inputs, builder.block)
    bounds = in_types_of(program, widths)
    version = rules.version
    key = show(program), widths if bounds else ()
    known = _recorded.get(key)
    if known is None or known[0] != version:
        known = _recorded.put(key, (version, Kernel(program, bounds)))
    return known[1], make
