"""One call of a function with its arguments watched, and the way back to their cotangents."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from zyg.base.array_types import GUESTS, ArraySpec, ArrayType, array_type, lifting
from zyg.base.config import setting
from zyg.base.containers import Unfollowed
from zyg.base.labelled import labelled_kind
from zyg.base.quiet import SILENT, errors_now, set_errors
from zyg.base.references import alone
from zyg.base.sinks import begins
from zyg.base.structure import Structure, is_leaf
from zyg.base.trees import Tree, taken_apart
from zyg.core.cotangents import Spec, fits, project, shape_of, spec_of, zeros_of
from zyg.core.endings import finish, unfinished
from zyg.core.exchange import bring
from zyg.core.kept import guard, owns_memory
from zyg.core.objects import stacked, without_class
from zyg.core.overwritten import demand_unwritten, overwritten
from zyg.core.protection import forbid_shared_writes, release, take_back, watch_together
from zyg.core.reverse import all_finite, plain_then_strong, reverse
from zyg.core.running import (
    completed,
    enter,
    failed,
    has_shown_objects,
    judge,
    leave,
    note_call,
    release_all,
)
from zyg.core.strand import (
    ARRAYS,
    WATCHED,
    Confined,
    Strand,
    active,
    has_left,
    is_watched,
    settle,
    watcher_of,
)
from zyg.core.views import at_slot
from zyg.errors import StructureError


class Call:
    """One call of `f` with its arguments watched on a strand."""

    around: tuple[Strand, ...] = ()  # the strands around it

    def __init__(
        self,
        strand: Strand,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        arguments: str,
        run: bool = True,
    ) -> None:
        if unfinished:
            finish()
        self.strand = strand
        self.name = getattr(f, "__name__", type(f).__name__)
        self.inputs: list[Structure | Tree] = []
        self.slots: list[list[Any]] = []
        self.specs: list[list[Spec]] = []
        self.watched: list[Any] = []
        leaves, values, lift = [], [], lifting.get()
        try:
            for x in args:
                inputs = taken_apart(x, watchable)
                plain = [settle(v if lift is None else lift(v)) for v in inputs.leaves]
                # Copied, what the caller writes to an argument afterwards does not reach `back`.
                watched = watch_together(strand, plain, arguments)
                self.inputs.append(inputs)
                self.slots.append([v.slot for v in watched])
                self.specs.append([spec_of(v) for v in plain])
                self.watched.append(inputs.rebuild(watched))
                leaves.append(plain)
                values.append(watched)
            if len(args) > 1:
                forbid_shared_writes(strand, leaves, values)
            self.begin()
            if run:
                self.end(self.value_of(f, kwargs))
        except BaseException:
            unfinished.append(self)
            try:
                finish()
            finally:
                finish()
            raise

    def value_of(self, f: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
        """What f returns, once it has run with the arguments watched."""
        strand, errors = self.strand, errors_now()
        self.around = around = active.get()
        try:
            enter(strand, around)
            value = f(*self.watched, **kwargs)
            if type(value) not in WATCHED:
                value = self.numbers_of(completed(f, value))
                value = leave_guests(value) if GUESTS in sys.modules else value
            leave(strand, around)
        except BaseException as error:
            unfinished.append(self)
            note_call(f, self.watched, kwargs, error)
            failed(strand, around, errors, error)
            raise
        if strand.kin.refused or strand.kin.family or strand.memory.elements:
            judge(strand)
        return value

    def numbers_of(self, value: Any) -> Any:
        """The value of f; where NumPy made object arrays of watched numbers, arrays of numbers."""
        if not has_shown_objects(self.strand):
            return value
        if type(value) is tuple:
            return (*map(_of_numbers, value),)
        return _of_numbers(value)

    def begin(self) -> None:
        """What is to be done before f runs."""

    def end(self, value: Any) -> None:
        """What is to be done with the value, watched."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave the strand, and let go of what it keeps; as often as one likes."""
        leave(self.strand, self.around)
        release_all(self.strand)


begins(Call.__init__)


class Trace(Call):
    """One call of `f`, watched: its value `y`, and the way back to the arguments' cotangents."""

    closed = True  # until it has something to let go of
    measured: Callable[[Any], Any] | None = None  # gives cotangents the unit of the value

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        arguments: str = "protected",
        lines: bool = False,
        run: bool = True,
        once: bool = False,
    ) -> None:
        strand = Strand()
        strand.memory.once = once
        self.strand, self.closed = strand, False
        self.lent = arguments in ("lent", "shared")  # and the value is handed over
        if lines or setting("check_nan") or setting("check_operands"):
            strand.record_lines()
        super().__init__(strand, f, args, kwargs, arguments, run)

    def end(self, value: Any) -> None:
        strand = self.strand
        if self.lent and (strand.memory.kept or strand.kin.family):
            guard(self, strand.level_strands())
        self.result: Structure | Tree
        self.out: list[tuple[Any, Spec] | None] = []  # the slot and the spec of each leaf
        self.left: dict[int, Confined | Unfollowed] = {}  # by leaf: what refuses its cotangent
        if type(value) in WATCHED and value.strand is strand:
            self.result = Tree([value], [])
            self.out.append((value.slot, spec_of(value.primal)))
            self.y: Any = None if self.lent else copy_out(settle(value))
            return
        self.result = Structure(value, lambda x: is_watched(x) or isinstance(x, Unfollowed))
        if (kind := labelled_kind(type(value))) is not None:
            self.measured = kind.measured(value)
        plain = []
        for k, x in enumerate(self.result.leaves):
            if isinstance(x, Unfollowed):
                self.left[k] = x
                self.out.append(None)
                plain.append(x.left())
                continue
            ours = x
            if x.strand is not strand:
                if (left := left_for(strand, x)) is not None:
                    self.left[k] = left
                ours = bring(strand, down_to(strand, x), late=True)
            self.out.append(None if ours is None else (ours.slot, spec_of(ours.primal)))
            plain.append(x if ours is not x and has_left(x) else copy_out(settle(x)))
        self.y = self.result.rebuild(plain)

    def demand_places(self) -> None:
        """Refuse a value with watched numbers of which no cotangent can be given."""
        for x in self.left.values():
            if isinstance(x, Unfollowed):
                raise x.refusal()
        if type(self.result) is Structure:
            self.result.demand_every(is_watched)

    def hand_over(self) -> Any:
        """The value, once the arguments that were lent are the caller's again.

        It is not copied where it is an array that nobody but the strand has referred to.
        """
        self.watched.clear()
        if written := take_back(self.strand):
            self.close()
            raise overwritten(written[0])
        if type(self.result) is not Tree or not self.result.is_leaf:
            return self.y
        x = self.result.leaves[0]
        y = x.primal
        whole = type(x) is watcher_of[np.ndarray] and type(y) is np.ndarray and owns_memory(y)
        if whole and sys.getrefcount(x) <= _ALONE + 1 and sys.getrefcount(y) <= _ALONE + 1:
            return y
        return copy_out(settle(x))

    def back(self, y_bar: Any, zeros: bool) -> tuple[Any, ...]:
        """The gradient of each argument, for a cotangent of the whole value."""
        return self.back_from(self.seeds(y_bar), zeros)

    def back_from(self, seeds: Any, zeros: bool) -> tuple[Any, ...]:
        """The same, for cotangents of slots: pairs of a slot and what it gets."""
        if self.strand.memory.kept or self.strand.kin.family:
            demand_unwritten(self.strand.level_strands(), seeds)
        # A warning about 1/0 in a derivative would name a line that is not the user's.
        errors = errors_now()
        try:
            set_errors(SILENT)
            passes, checked, reverse = self.passes(), self.is_checked(), _reverse_of(self.strand)
            for strong in passes:
                known: dict[Any, Any] = {}
                cotangents = self.at_arguments(reverse(self.strand, seeds, strong, finite=known))
                looked_at = checked or len(passes) > 1
                if finite := not looked_at or self.is_finite(cotangents, {} if checked else known):
                    break
            known.clear()  # nobody else holds the cotangents
            if checked and not finite:
                reverse(self.strand, seeds, strong, check=True)
        finally:
            set_errors(errors)
        return self.gradients(cotangents, zeros)

    def is_finite(self, cotangents: list[list[Any]], known: dict[Any, Any]) -> bool:
        """Whether all cotangents of the arguments are finite, or else what they should be.

        Of some, by slot, that is `known`.
        """
        found = [c for part in cotangents for c in part]
        if known:
            slots = [slot for part in self.slots for slot in part]
            found = [c for c, slot in zip(found, slots, strict=True) if known.get(slot) is not c]
        return all_finite(found)

    def passes(self) -> tuple[bool, ...]:
        """With which products to step back, by who may see whether what comes back is finite."""
        others = [s for specs in self.specs for s in specs if isinstance(s, ArraySpec)]
        return plain_then_strong(unseen=not all(s.array_type.seen_whole for s in others))

    def is_checked(self) -> bool:
        """Whether one asked to be told where a cotangent was first not finite."""
        return self.strand.trail is not None and setting("check_nan")

    def seeds(self, y_bar: Any) -> list[tuple[Any, Any]]:
        """The slots of the value, with the parts of its cotangent."""
        if self.result.is_leaf and (target := self.out[0]) is not None:
            slot, spec = target
            if fits(y_bar, spec):
                return [(slot, y_bar)]
        elif y_bar is not None and not self.result.leaves:
            self.demand_places()
        seeds = []
        for place, part in self.result.match(y_bar, f"the value of {self.name}"):
            if place in self.left and self.left[place].loses(part):
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
        cotangents = [
            [bars[slot] if type(slot) is int else at_slot(bars, slot) for slot in slots]
            for slots in self.slots
        ]
        bars.clear()
        return cotangents

    def gradients(self, cotangents: list[list[Any]], zeros: bool) -> tuple[Any, ...]:
        """The gradient of each argument, of its structure and in memory of its own."""
        for part, specs in zip(cotangents, self.specs, strict=True):
            for k, spec in enumerate(specs):
                if part[k] is not None:
                    part[k] = project(part[k], spec)
                elif zeros:
                    part[k] = zeros_of(spec)
                else:
                    continue
                if isinstance(spec, ArraySpec):
                    part[k] = spec.array_type.finished(part[k], spec)
                part[k] = _take(part, k)
        if GUESTS in sys.modules:
            _compute(cotangents, self.specs)
        if (measured := self.measured) is not None:
            cotangents = [[c if c is None else measured(c) for c in part] for part in cotangents]
        return tuple([s.tangent(c, True) for s, c in zip(self.inputs, cotangents, strict=True)])

    def close(self) -> None:
        """Let go of what the pullback keeps: it cannot run any more."""
        if unfinished:  # perhaps it was never left
            leave(self.strand, self.around)
        for strand in self.strand.level_strands():
            release(strand)
            strand.tape.clear()  # its entries may hold watched values, which hold the strand
            strand.kin.imports.clear()
            strand.kin.exports.clear()
        self.strand.kin.family.clear()
        self.closed = True

    def __del__(self) -> None:
        if not self.closed:
            try:
                self.close()
            finally:
                self.close()


def watchable(x: Any) -> bool:
    return type(x) in WATCHED or is_leaf(x)


def down_to(strand: Strand, x: Any) -> Any:
    """What `x` is on this strand, below gradients that ended meanwhile; None if it is not on it."""
    while type(x) in WATCHED and x.strand.level != strand.level:
        x = x.primal
    return x if type(x) in WATCHED else None


def _of_numbers(value: Any) -> Any:
    """What is, or has labels around, an array of objects: of numbers."""
    if (kind := labelled_kind(type(value))) is not None:
        return kind.make(value, dict(parts)) if (parts := kind.parts(value)) else value
    return stacked(without_class(value))


def left_for(strand: Strand, x: Any) -> Confined | None:
    """Where the derivative of `x` by this level stayed behind, if it did."""
    while type(x) in WATCHED and x.strand.level != strand.level:
        confined: Confined | None = x.strand.confined
        if confined is not None and any(s.level == strand.level for s in confined.around):
            return confined
        x = x.primal
    return None


def _compute(cotangents: list[list[Any]], specs: list[list[Spec]]) -> None:
    """Compute the cotangents of what is on the host that lazy arrays stand for: all at once."""
    waiting: dict[ArrayType, list[tuple[list[Any], int, Spec]]] = {}
    for part, like in zip(cotangents, specs, strict=True):
        for k, (c, spec) in enumerate(zip(part, like, strict=True)):
            c = c if isinstance(spec, ArraySpec) else array_type(c).enter(c)
            if not isinstance(spec, ArraySpec) and type(c) not in WATCHED and array_type(c).lazy:
                part[k] = c
                waiting.setdefault(array_type(c), []).append((part, k, spec))
    for kind, places in waiting.items():
        made = kind.compute([part[k] for part, k, _ in places])
        for (part, k, spec), c in zip(places, made, strict=True):
            part[k] = project(c, spec)


def leave_guests(value: Any) -> Any:
    """The value of f, where what is constant is as its library has it."""
    parts = Structure(value, lambda x: is_watched(x) or type(x) is array_type(x).guest)
    if all(map(is_watched, parts.leaves)):
        return value
    return parts.rebuild([x if is_watched(x) else array_type(x).leave(x) for x in parts.leaves])


def _references(holder: list[Any]) -> int:
    x = holder[0]
    holder[0] = None
    return sys.getrefcount(x)


_ALONE = alone(_references([np.empty(0)]))  # the count of an array that nobody else holds


def _take(holder: list[Any], k: int) -> Any:
    """The cotangent at a place, copied if it is an array whose memory anyone else might hold.

    A rule may return what it was given, a view of it, or an array that it keeps.
    """
    x = holder[k]
    if type(x) is float:
        return x
    holder[k] = None
    if type(x) is np.ndarray and owns_memory(x) and sys.getrefcount(x) <= _ALONE:
        return x
    return array_type(x).leave(x)


def _reverse_of(strand: Strand) -> Callable[..., list[Any]]:
    """What reverses a strand; where tasks have more of the level, with these."""
    if not strand.kin.family:
        return reverse
    from zyg.core import adjoint_tasks  # which few programs need

    return adjoint_tasks.reverse


def copy_out(x: Any) -> Any:
    """An array apart from the memory that the reverse pass relies on."""
    if type(x) is float or type(x) is np.float64:
        return x
    return np.copy(x) if type(x) in ARRAYS else array_type(x).leave(x)


def copy_in(x: Any) -> Any:
    """A tangent apart from the memory of who gave it, which has left by `copy_out`."""
    return np.copy(x) if type(x) in ARRAYS else array_type(x).enter(array_type(x).copy(x))


def demand_complete(y: Any, verb: str) -> Any:
    """`y`, a value that `verb` needs whole; an iterator would compute outside of it, later."""
    if isinstance(y, Iterator):
        raise StructureError(
            f"the function given to {verb} returned an iterator, a {type(y).__name__}.",
            "it computes its elements after the call has ended, so their derivatives would be "
            "lost.",
            "return a list: list(map(f, xs)), [f(x) for x in xs].",
        )
    return y
