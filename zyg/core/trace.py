"""One call of a function with its arguments watched, and the way back to their cotangents."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from operator import attrgetter
from types import CoroutineType
from typing import Any

import numpy as np

from zyg.base import buffers
from zyg.base.adoptable import running, turn, turns
from zyg.base.array_types import array_type, is_array
from zyg.base.config import setting
from zyg.base.structure import Structure, is_leaf
from zyg.core.adjoint_tasks import reverse
from zyg.core.cotangents import Spec, is_readable, project, shape_of, spec_of, zeros_of
from zyg.core.exchange import bring
from zyg.core.objects import stacked
from zyg.core.overwritten import demand_unwritten
from zyg.core.protection import forbid_shared_writes, owns_memory, release, watch_together
from zyg.core.reverse import all_finite, plain_then_strong
from zyg.core.strand import WATCHED, Confined, Strand, active, has_left, is_watched, settle
from zyg.core.views import at_slot
from zyg.errors import (
    ConversionError,
    RunningLoopError,
    StructureError,
    ZygError,
    raising_line,
)


class Call:
    """One call of `f` with its arguments watched on a strand."""

    def __init__(
        self,
        strand: Strand,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        arguments: str,
        run: bool = True,
    ) -> None:
        self.strand = strand
        self.name = getattr(f, "__name__", type(f).__name__)
        self.inputs: list[Structure] = []
        self.slots: list[list[Any]] = []
        self.specs: list[list[Spec]] = []
        self.watched: list[Any] = []
        leaves, values = [], []
        for x in args:
            inputs = Structure(x, watchable, shared=True)
            plain = [*map(settle, inputs.leaves)]
            # Copied, what the caller writes to an argument afterwards does not reach `back`.
            watched = watch_together(strand, plain, arguments)
            self.inputs.append(inputs)
            self.slots.append([*map(_slot_of, watched)])
            self.specs.append([*map(spec_of, plain)])
            self.watched.append(inputs.rebuild(watched))
            leaves.append(plain)
            values.append(watched)
        forbid_shared_writes(strand, leaves, values)
        self.begin()
        if run:
            with Running(self):
                value = run_function(f, self.watched, kwargs)
                if type(value) not in WATCHED:
                    value = self.numbers_of(value)
            self.end(value)

    def numbers_of(self, value: Any) -> Any:
        """The value of f; where NumPy made object arrays of watched numbers, arrays of numbers."""
        return stacked(value) if _has_shown_objects(self.strand) else value

    def release(self) -> None:
        """Let go of what the strands keep."""
        for strand in self.strand.level_strands():
            release(strand)

    def begin(self) -> None:
        """What is to be done before f runs."""

    def end(self, value: Any) -> None:
        """What is to be done with the value, watched."""
        raise NotImplementedError


class Running:
    """While f runs: the strand of its call is active; afterwards it takes entries no more."""

    __slots__ = ("before", "call")

    def __init__(self, call: Call) -> None:
        self.call = call

    def __enter__(self) -> None:
        running.append(None)
        if turns:
            turn()
        self.before = active.set((*active.get(), self.call.strand))

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        active.reset(self.before)
        running.pop()
        if turns:
            turn()
        strand = self.call.strand
        strand.close()
        if error is not None or strand.kin.refused or strand.kin.family or strand.memory.elements:
            self._after(strand, error)

    def _after(self, strand: Strand, error: BaseException | None) -> None:
        """What is to be said of what happened in f, if anything did."""
        try:
            if strand.kin.refused or strand.kin.family:
                self._judge(error)
            if error is not None:
                self._explain(error)
        finally:
            for one in strand.kin.family or (strand,):
                one.kin.refused = ()  # an exception refers to this frame
                one.memory.elements = None  # which refer to the strand

    def _explain(self, error: BaseException) -> None:
        """Say of an exception in f what it has to do with watched values, if it has."""
        _explain_read_only(self.call.strand, error)
        self.call.release()
        if isinstance(error, SystemError) and isinstance(error.__cause__, ZygError):
            raise error.__cause__ from None  # C code went on after a refusal
        if (refusal := _quoted(self.call.strand, error)) is not None:
            raise refusal from None
        if _is_of_c_code(self.call.strand, error):
            raise _of_c_code(error) from error
        if _is_of_objects(self.call.strand, error):
            raise _of_objects(error) from error

    def _judge(self, error: BaseException | None) -> None:
        """Raise the first refusal that f has swallowed; what f raises itself goes first."""
        refused = [e for s in self.call.strand.level_strands() for e in s.kin.refused]
        swallowed = [e for e in refused if e is not error and e.loses and e.catcher() is not None]
        if error is None:
            if swallowed and setting("swallowed") != "allow":
                self.call.release()
                swallowed[0].was_swallowed()
                raise swallowed[0]
            return
        for outer in active.get()[-1:]:  # whose function may catch it
            outer.kin.refused = (*outer.kin.refused, *refused)
        if swallowed and error.__context__ is None and swallowed[0].__context__ is not error:
            error.__context__ = swallowed[0]


def _explain_read_only(strand: Strand, error: BaseException) -> None:
    """Say of NumPy's refusal to write what zyg may have to do with it."""
    kept = strand.memory.kept
    if kept and isinstance(error, ValueError) and "read-only" in str(error):
        error.add_note(_OVERWRITTEN)
        if strand.trail is not None:
            error.add_note(f"zyg: written at {raising_line(error)}")
            used = dict.fromkeys(line for _, line, *_ in kept.values())
            error.add_note("zyg: large plain operands are used at\n    " + "\n    ".join(used))


# What C code says of an operand that is no array or no float: of a watched one by its name; and of
# any, after it has dropped the refusal of the operand to be converted.
_BY_NAME = "a bytes-like object is required, not 'Watched"
_OF_ANY = (
    "required argument is not a float",
    "operand is flagged as writeable, but is an object which cannot be written back",
    "Result from function call is not a proper array of floats",  # MINPACK
    "the NPY_ITER_REFS_OK flag was not enabled",
    "f(a) and f(b) must have different signs",  # the root finders
)
_OF_OBJECTS = (
    "dtype('O')", "dtype object", "type 'object'", "bject arrays", "non-numeric array",
    "not supported for the input types", "loop of ufunc does not support argument",
    "unsupported data types in input", "numpy.object_",
)  # fmt: skip


def _quoted(strand: Strand, error: BaseException) -> ZygError | None:
    """The refusal of which ctypes has left the text only, in an error of its own."""
    if type(error).__module__ != "ctypes":
        return None
    refused = (e for s in strand.level_strands() for e in s.kin.refused)
    return next((e for e in refused if str(e) in str(error)), None)


def _is_of_c_code(strand: Strand, error: BaseException) -> bool:
    """Whether it was a watched value that C code refused, and not a mistake of the user's."""
    if isinstance(error, ZygError):
        return False
    said = str(error)
    asked = _has_shown_objects(strand) or any(s.kin.refused for s in strand.level_strands())
    return _BY_NAME in said or (asked and any(text in said for text in _OF_ANY))


def _is_of_objects(strand: Strand, error: BaseException) -> bool:
    """Whether it was an object array of watched numbers that NumPy has no loop for."""
    if isinstance(error, ZygError):
        return False
    return _has_shown_objects(strand) and any(text in str(error) for text in _OF_OBJECTS)


def _has_shown_objects(strand: Strand) -> bool:
    """Whether NumPy has asked for the elements of watched values."""
    return any(s.memory.asked[1] for s in strand.level_strands())


def _of_objects(error: BaseException) -> ConversionError:
    """The refusal of an object array by what computes with numbers only."""
    return ConversionError(
        f"an object array of watched numbers was given to what takes numbers only: "
        f"{str(error).rstrip('.')}.",
        "np.asarray and np.array make an array of objects of watched values, and not every "
        "function of NumPy's or SciPy's has a loop for objects.",
        "use np.stack([x, y]) for np.array([x, y]), x itself for np.asarray(x), zyg.numpy for "
        "numpy, zyg.scipy for scipy.",
        raising_line(error),
    )


def _of_c_code(error: BaseException) -> ConversionError:
    """The refusal of a watched value by C code, which knows nothing of it."""
    return ConversionError(
        f"C code was given what it cannot take, as a watched value is: {error}.",
        "memoryview, np.frombuffer, np.nditer, struct.pack and MINPACK read the memory of a plain "
        "number or array, which carries no derivative.",
        "loop over x itself, or np.ndindex(x.shape), for np.nditer(x); zyg.scipy.optimize for "
        "scipy.optimize; zyg.stop_gradient(x) gives the plain value if that is what you want.",
        raising_line(error),
        tag="c-code",
    )


class Trace(Call):
    """One call of `f`, watched: its value `y`, and the way back to the arguments' cotangents."""

    closed = False

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        arguments: str = "protected",
        lines: bool = False,
        run: bool = True,
    ) -> None:
        strand = Strand()
        if lines or setting("check_nan") or setting("check_operands"):
            strand.record_lines()
        super().__init__(strand, f, args, kwargs, arguments, run)

    def end(self, value: Any) -> None:
        strand = self.strand
        self.result = Structure(value, is_watched)
        self.out: list[tuple[Any, Spec] | None] = []  # the slot and the spec of each leaf
        self.left: dict[int, Confined] = {}  # by leaf: where its derivative stayed behind
        plain = []
        for k, x in enumerate(self.result.leaves):
            ours = x
            if x.strand is not strand:
                if (left := left_for(strand, x)) is not None:
                    self.left[k] = left
                ours = bring(strand, down_to(strand, x), late=True)
            self.out.append(None if ours is None else (ours.slot, spec_of(ours.primal)))
            plain.append(x if ours is not x and has_left(x) else copy_out(settle(x)))
        self.y = self.result.rebuild(plain)

    def back(self, y_bar: Any, zeros: bool) -> tuple[Any, ...]:
        """The gradient of each argument, for a cotangent of the whole value."""
        return self.back_from(self.seeds(y_bar), zeros)

    def back_from(self, seeds: Any, zeros: bool) -> tuple[Any, ...]:
        """The same, for cotangents of slots: pairs of a slot and what it gets."""
        if self.strand.memory.kept or self.strand.kin.family:
            demand_unwritten(self.strand.level_strands(), seeds)
        # A warning about 1/0 in a derivative would name a line that is not the user's.
        with np.errstate(all="ignore"):
            for strong in self.passes():
                cotangents = self.at_arguments(reverse(self.strand, seeds, strong))
                if finite := all_finite(chain.from_iterable(cotangents)):
                    break
            if not finite and self.is_checked():
                reverse(self.strand, seeds, strong, check=True)
        return self.gradients(cotangents, zeros)

    def passes(self) -> tuple[bool, ...]:
        """With which products to step back, by who may see whether what comes back is finite."""
        return plain_then_strong(unseen=not all(map(is_readable, chain.from_iterable(self.specs))))

    def is_checked(self) -> bool:
        """Whether one asked to be told where a cotangent was first not finite."""
        return self.strand.trail is not None and setting("check_nan")

    def seeds(self, y_bar: Any) -> list[tuple[Any, Any]]:
        """The slots of the value, with the parts of its cotangent."""
        if self.result.is_leaf and (target := self.out[0]) and type(y_bar) is target[1]:
            return [(target[0], y_bar)]
        seeds = []
        for place, part in self.result.match(y_bar, f"the value of {self.name}"):
            if part is not None and place in self.left:
                raise self.left[place].refusal()
            if part is not None and (target := self.out[place]) is not None:
                slot, spec = target
                shape = shape_of(spec)
                if np.shape(part) != shape:
                    raise StructureError(
                        f"a cotangent of shape {np.shape(part)} does not fit the value of "
                        f"{self.name}, which has shape {shape}.",
                        "a cotangent has the shape of the value it belongs to.",
                        "pass np.ones_like(y) for the gradient of the sum of y.",
                    )
                seeds.append((slot, project(part, spec)))
        return seeds

    def at_arguments(self, bars: list[Any]) -> list[list[Any]]:
        """The cotangents of the arguments' leaves, which nobody else holds from now on."""
        cotangents = [[*map(at_slot, repeat(bars), slots)] for slots in self.slots]
        bars.clear()
        return cotangents

    def gradients(self, cotangents: list[list[Any]], zeros: bool) -> tuple[Any, ...]:
        """The gradient of each argument, of its structure and in memory of its own."""
        for part, specs in zip(cotangents, self.specs, strict=True):
            for k, spec in enumerate(specs):
                if part[k] is not None:
                    part[k] = project(part[k], spec)
                    part[k] = _take(part, k)
                elif zeros:
                    part[k] = zeros_of(spec)
        return tuple(map(Structure.tangent, self.inputs, cotangents))

    def close(self) -> None:
        """Let go of what the pullback keeps: it cannot run any more."""
        self.closed = True
        for strand in self.strand.level_strands():
            release(strand)
            strand.tape.clear()  # its entries may hold watched values, which hold the strand
            strand.kin.imports.clear()
            strand.kin.exports.clear()
        self.strand.kin.family.clear()

    def __del__(self) -> None:
        if not self.closed and hasattr(self, "strand"):
            self.close()


_slot_of = attrgetter("slot")
_OVERWRITTEN = (
    "zyg: if this array is an operand of an earlier operation, its contents are needed for the "
    "derivative, and it is read-only until then. Make the buffer with zyg.numpy, or write into "
    "a copy; zyg.explain names the lines that use it."
)


def watchable(x: Any) -> bool:
    return type(x) in WATCHED or is_leaf(x)


def down_to(strand: Strand, x: Any) -> Any:
    """What `x` is on this strand, below gradients that ended meanwhile; None if it is not on it."""
    while type(x) in WATCHED and x.strand.level != strand.level:
        x = x.primal
    return x if type(x) in WATCHED else None


def left_for(strand: Strand, x: Any) -> Confined | None:
    """Where the derivative of `x` by this level stayed behind, if it did."""
    while type(x) in WATCHED and x.strand.level != strand.level:
        confined: Confined | None = x.strand.confined
        if confined is not None and any(s.level == strand.level for s in confined.around):
            return confined
        x = x.primal
    return None


def _references(holder: list[Any]) -> int:
    x = holder[0]
    holder[0] = None
    return sys.getrefcount(x)


_ALONE = _references([np.empty(0)])  # what getrefcount says of an array that nobody else holds


def _take(holder: list[Any], k: int) -> Any:
    """The cotangent at a place, copied if it is an array whose memory anyone else might hold.

    A rule may return what it was given, a view of it, or an array that it keeps.
    """
    x = holder[k]
    holder[k] = None
    if type(x) is np.ndarray and owns_memory(x) and sys.getrefcount(x) <= _ALONE:
        return x
    return array_type(x).copy(x)


def copy_out(x: Any) -> Any:
    """An array apart from the memory that the reverse pass relies on."""
    if type(x) is np.ndarray:
        return buffers.copy(x)
    return np.copy(x) if is_array(x) else x


def demand_complete(y: Any, verb: str) -> Any:
    """`y`, a value that `verb` needs whole; an iterator would compute outside of it, later."""
    if isinstance(y, Iterator):
        raise StructureError(
            f"the function given to {verb} returned an iterator, a {type(y).__name__}.",
            "what it computes when it is used is no part of the call, and its derivative is lost.",
            "return a list: list(map(f, xs)), [f(x) for x in xs].",
        )
    return y


def run_function(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """``f(*args, **kwargs)``; an async f is run under trio."""
    coroutine = f(*args, **kwargs)
    if not isinstance(coroutine, CoroutineType):
        return coroutine
    import sniffio  # with trio
    import trio

    try:
        library = sniffio.current_async_library()
    except sniffio.AsyncLibraryNotFoundError:
        library = ""
    if library:
        coroutine.close()
        raise RunningLoopError(
            f"{getattr(f, '__name__', f)} is async, and a loop of {library} is running.",
            "a derivative that is not awaited would have to run the loop inside itself.",
            "write await zyg.gradient_async(f, x), value_and_gradient_async or pullback_async.",
        )

    async def main() -> Any:
        return await coroutine

    return trio.run(main)
