"""Watched values and the tape they are noted on.

A *strand* is the tape of one task at one level; one call of `pullback` opens one strand. Its tape
is a flat list, five places per entry, in the order in which things happened:

    (out, i, a, j, b)              real numbers: x_i_bar += y_bar * a,  x_j_bar += y_bar * b
    (out, i, a, None, None)        the same with one watched operand
    (out, None, d, j, args)        arrays of one shape: x_j_bar += y_bar * d(*args)
    (out, None, pull, None, args)  anything else: pull(run, y_bar, *args) yields (slot, cotangent)
    (None, None, undo, None, args) a write: undo(run, *args) yields (slot, cotangent)

`out`, `i`, `j` are slots (for a view, a `Part` of its base's): every watched value has one, and a
reverse run keeps its cotangents in a list indexed by slot, so cotangents belong to the run and not
to the values. `out` is a tuple of slots where a function returns several values. Two numbers may
share a slot when their cotangents are the same by definition (x and x + 1).

A flat list, because a tuple per entry would be one more object for the cyclic collector to walk: a
tape of a million scalar operations costs it nothing. The slot is drawn from a counter and written
into the entry, because `next` and `list.extend` are each atomic: threads that append to the same
strand interleave whole entries, and any interleaving of operations that did not wait for each
other is a valid order to reverse.

Tasks. A strand belongs to one task. Where a task is started by `fork`, it gets strands of its own,
one for each level that is active around it, and what it does is noted there. A value of another
strand of the same level that it uses is *imported*: `_crossing` notes an alias of it, whose
cotangent the reverse pass delivers to the strand that the value came from. So all inputs of an
entry are slots of its own strand, and strands can be reversed at the same time. A level with one
strand pays nothing for this: `alone` says so.

A level is a number from a counter, not a depth: nothing has to be unwound after an exception, and
a newer level always has a larger number, which is all that nesting needs.
"""

from __future__ import annotations

import sys
from _thread import RLock  # of which threading, loaded when used, makes its own
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from itertools import count, islice
from types import FrameType
from typing import Any, cast

import numpy as np

from zyg.base.array_types import ArrayType, array_type
from zyg.base.config import setting
from zyg.base.containers import Engine
from zyg.base.sinks import Look, looking
from zyg.base.structure import Searched
from zyg.errors import AdjointError, LeakError, StructureError, ZygError, user_line

_levels = count(1)
# The strands of the gradients that run around this line, outermost first.
active: ContextVar[tuple[Strand, ...]] = ContextVar("zyg_active", default=())


class Memory:
    """What a strand knows of arrays that are not its own alone: slots, and arrays by their ids."""

    __slots__ = (
        "asked", "asker", "borrowed", "broadcast", "constant", "copies", "elements", "entangled",
        "kept", "lent", "once", "readonly", "reversing", "shown", "turn", "written",
    )  # fmt: skip

    def __init__(self) -> None:
        self.borrowed: set[Any] = set()  # slots of arrays whose memory is the caller's
        self.broadcast = False  # whether an argument was: its copy lies otherwise
        self.constant: set[Any] = set()  # those of buffers to which nothing watched was written
        self.readonly: set[Any] = set()  # those that are read-only to the caller
        self.entangled: set[Any] = set()  # those that share memory with another argument's
        self.written: set[Any] = set()  # those of arrays that were written since they got the slot
        self.copies: dict[int, tuple[Any, bytes, Any]] = {}  # of small plain arrays
        # Plain arrays that entries rely on, with the line that does, and their contents: all, some.
        self.kept: dict[int, tuple[Any, str, bool, bytes | None]] = {}
        self.asked: tuple[Any, int] = (None, 0)  # where; how many
        self.asker: tuple[Any, int] | None = None  # the instruction that asked for a sequence
        self.shown: Sequence[
            tuple[Any, Any]
        ] = ()  # object arrays made of an array: weakly, and that
        self.elements: list[Any] | None = None  # of object arrays: each keeps its address
        self.turn: RLock | None = None  # taken by reverse passes, once something was written
        # While f runs: arguments that are the caller's until somebody asks for them, as in `kept`.
        self.lent: list[list[Any]] = []
        self.once = False  # whether nobody steps back twice, but to keep exact zeros
        self.reversing = False  # by a task of a loop, which may be between two slices


class Kin:
    """What a strand is to the others of its level, and to those around it."""

    __slots__ = (
        "began", "began_at", "children", "exports", "family", "imports", "name", "parallel", "path",
        "refused",
    )  # fmt: skip

    def __init__(self, parent: Kin | None, name: str) -> None:
        # The line of the gradient, if values that are kept from it are to be told.
        self.began: str
        # Where the strands around it were when its level began: a larger slot is younger than it.
        self.began_at: dict[Strand, Any]
        # All strands of the level, the first one first; where in the tree of tasks this one is.
        self.family: list[Strand]  # empty: there is but this
        self.path: tuple[int, ...]
        if parent is None:
            self.began = user_line() if setting("check_leaks") else ""
            around = active.get()
            self.began_at = {outer: outer.new_slot() for outer in around} if around else {}
            self.family, self.path = [], ()
        else:
            self.began, self.began_at, self.family = parent.began, parent.began_at, parent.family
            self.path = (*parent.path, parent.children)
        self.children: int = 0
        self.name = name
        self.parallel = False  # whether its task has a thread of its own
        self.refused: tuple[ZygError, ...] = ()  # the errors that kept derivatives from being lost
        self.imports: dict[tuple[Strand, Any], Any] = {}  # aliases here, by where they come from
        self.exports: dict[Any, Any] = {}  # of each slot the last import by another strand


class Trail:
    """The user's line of each entry, by its place on the tape; where derivatives ended."""

    __slots__ = ("cuts", "lines")

    def __init__(self) -> None:
        self.lines: dict[int, str] = {}
        self.cuts: list[tuple[Any, str, str]] = []  # (slot, how, line)


class Strand(Engine):
    """The tape of one task at one level; takes entries only while `open`."""

    dual = False  # whether it carries tangents and keeps no tape: `duals.DualStrand`
    moves = False  # whether these are derivatives
    in_place = False  # whether tangents may be made without an entry: see `pushes`
    whole = True  # whether a compiled call may be one entry

    __slots__ = (
        "alone", "confined", "kin", "level", "memory", "new_slot", "note", "open", "tape", "trail",
    )  # fmt: skip

    def __init__(self, parent: Strand | None = None, name: str = "main") -> None:
        self.level: int = parent.level if parent else next(_levels)
        self.open = True
        self.confined: Confined | None = None  # if its values must not outlive it
        self.alone = parent is None  # open, and the only strand of its level
        self.tape: list[Any] = []
        self.note: Callable[[tuple[Any, ...]], None] = self.tape.extend
        self.new_slot: Callable[[], Any] = count().__next__
        if parent is None:
            self.memory = Memory()
        self.kin: Kin = Kin(parent.kin if parent else None, name)
        self.trail: Trail | None = None  # only where someone will ask

    def level_strands(self) -> Sequence[Strand]:
        """All strands of the level, the first one first."""
        return self.kin.family or (self,)

    def known_memory(self) -> Memory | None:
        """What the strand knows of memory, if anything."""
        return self.memory

    def level_memories(self) -> list[Memory]:
        """What the strands of the level know of memory."""
        known = [strand.known_memory() for strand in self.level_strands()]
        return [memory for memory in known if memory is not None]

    def close(self) -> None:
        """No strand of the level takes entries any more, nor brings values over."""
        with exchange_lock:
            self.open = self.alone = False
            for strand in self.kin.family:
                strand.open = strand.alone = False

    def record_lines(self) -> None:
        """Note the user's line with every entry from now on."""
        self.trail = Trail()
        lines, tape = self.trail.lines, self.tape

        def note_with_line(entry: tuple[Any, ...]) -> None:
            lines[len(tape)] = user_line()
            tape.extend(entry)

        self.note = note_with_line

    def line_of(self, at: int) -> str:
        """The user's line of the entry at a place of the tape."""
        return self.trail.lines.get(at, "unknown") if self.trail else "unknown"


class ForkedStrand(Strand):
    """The strand of a task that was started: many have a few numbers, and nothing in memory."""

    __slots__ = ("known",)
    known: Memory | None

    @property
    def memory(self) -> Memory:  # type: ignore[override]
        if self.known is None:
            with exchange_lock:  # another task may import an array of this strand
                self.known = self.known or Memory()
        return self.known

    def known_memory(self) -> Memory | None:
        return self.known


class Confined:
    """Of a strand inside a call of `verb` whose steps the strands around it do not note.

    A value that outlives it got out by a side effect, and its derivative did not.
    """

    __slots__ = ("around", "verb")

    def __init__(self, verb: str, around: Sequence[Strand]) -> None:
        self.verb = verb
        self.around: list[Strand] = [*around]
        for strand in around:
            if strand.confined is not None:
                self.around.extend(strand.confined.around)

    def holds(self) -> bool:
        """Whether a derivative is still being taken that would be lost."""
        return any(strand.open for strand in self.around)

    def loses(self, c: Any) -> bool:
        """Whether a cotangent of such a value would be lost."""
        return c is not None

    def refusal(self) -> AdjointError:
        """The error of a use of such a value."""
        return AdjointError(
            f"a value that left {self.verb} by a side effect is used: its derivative would be "
            "lost.",
            "zyg does not note what the function does inside, so a value that it puts into a "
            "list, an attribute or a variable of an enclosing function does not lead back to the "
            "arguments.",
            "return the value from the function as well; zyg.stop_gradient(value) is the plain "
            "number or array, if that is what you want.",
        )


exchange_lock = RLock()  # held while a value goes from strand to strand, or is written


def fork(name: str, *, parallel: bool = False) -> tuple[Strand, ...]:
    """Strands for a new task, to be set as `active` in it: one for each level that is active here.

    Their path depends on the order in which this task forks, and on nothing that others do.
    """
    return tuple([child(strand, name, parallel) for strand in active.get()])


def child(parent: Strand, name: str, parallel: bool) -> Strand:
    if parent.dual:  # tangents travel with their values
        return parent
    with exchange_lock:
        if not parent.open:
            return parent
        parent.alone = False
        kin = parent.kin
        if not kin.family:
            kin.family.append(parent)
        child = ForkedStrand(parent, name)
        child.known = None
        kin.children += 1
        kin.family.append(child)
    child.kin.parallel = parallel
    if parent.trail is not None:
        child.record_lines()
    return child


def local(strand: Strand) -> Strand:
    """The strand of this task at the level of `strand`; in a thread nobody forked, `strand`."""
    for own in active.get():
        if own.level == strand.level:
            return own
    return strand


def local_or_none(strand: Strand) -> Strand | None:
    """The strand of this task at the level of `strand`, if that is open: `local` for the fast."""
    if not strand.open:
        return None
    strands = active.get()
    if strands and strands[-1].level == strand.level:
        return strands[-1]
    return local(strand)


class Watched:
    """A watched value: its primal (watched too, if an outer level does), its strand, its slot."""

    __slots__ = ("primal", "slot", "strand")

    primal: Any
    strand: Strand
    slot: Any


# The classes among them whose primal is an array.
ARRAYS: set[type] = set()

# Which class watches a primal of which type; `_traced` fills it in. WATCHED holds the classes.
watcher_of: dict[type, type[Watched]] = {}
WATCHED: set[type] = set()


def note_refusal(error: ZygError) -> None:
    """Remember an error that f may catch, and go on without the derivative that it is about.

    A thread that nobody forked knows no task: there the value that is refused says whose it is.
    """
    if strands := active.get():
        add_refusal(strands[-1], error)
    elif (strand := _strand_around(sys._getframe(1))) is not None:
        add_refusal(strand, error)


def _strand_around(frame: FrameType | None) -> Strand | None:
    """The open strand of the innermost watched value in the variables of frames that run."""
    while frame is not None:
        for held in [*frame.f_locals.values()]:
            values = held.values() if type(held) is dict else held
            several = type(held) in (tuple, list, dict)
            for x in [*islice(values, _FIRST)] if several else (held,):
                while type(x) in WATCHED:
                    if x.strand.open:
                        return cast(Strand, x.strand)
                    x = x.primal
        frame = frame.f_back
    return None


_FIRST = 100  # elements of a container that are looked at


def add_refusal(strand: Strand, error: ZygError) -> None:
    error.loses = setting("swallowed") != "allow"
    before = [e for e in strand.kin.refused if e.catcher() is not None]  # C code drops many
    strand.kin.refused = (*before[:100], error)


def watch(strand: Strand, primal: Any, slot: int) -> Any:
    """The watched value of a number or an array."""
    cls = watcher_of.get(type(primal))
    if cls is None:
        if isinstance(primal, np.ndarray):
            raise StructureError(
                f"zyg cannot watch an array of type {type(primal).__name__}.",
                "a subclass of numpy.ndarray can behave in ways that NumPy's rules do not know.",
                "pass a plain array: np.asarray(x), or x.filled(...) for a masked array.",
            )
        if array_type(primal).library:
            cls = watcher_of[type(primal)] = watcher_of[ArrayType]
        else:
            cls = watcher_of[object]
    x: Any = cls()
    x.primal = primal
    x.strand = strand
    x.slot = slot
    if cls in ARRAYS:
        x.unread = x.viewed = x.versioned = x.locked = False
    return x


def is_watched(x: Any) -> bool:
    """Whether `x` is a watched value, of a running gradient or of one that has ended."""
    return type(x) in WATCHED


def watched_leaves(x: Any) -> list[Any]:
    """The watched values in a structure."""
    return Searched(x, is_watched).leaves


def cut(x: Any, how: str) -> Any:
    """The plain value of `x`, whose derivative ends here; noted where lines are."""
    while type(x) in WATCHED:
        if x.strand.trail is not None and x.strand.open:
            look = looking() or Look(how, None)
            x.strand.trail.cuts.append((x.slot, look.how, user_line(look.frame)))
        x = x.primal
    return x


def settle(x: Any) -> Any:
    """`x` itself, or what is left of it once every gradient that has ended is taken off."""
    while type(x) in WATCHED and not x.strand.open:
        if x.strand.confined is not None and x.strand.confined.holds():
            raise x.strand.confined.refusal()
        if x.strand.kin.began:
            _demand_no_leak(x)
        x = x.primal
    return x


def strands_of(x: Any) -> Iterator[Strand]:
    """The strands of all levels that watch a value."""
    x = settle(x)
    while type(x) in WATCHED:
        yield x.strand
        x = settle(x.primal)


def has_left(x: Any) -> bool:
    """Whether `x` is a value that got out of a call by a side effect, without its derivative."""
    while type(x) in WATCHED and not x.strand.open:
        if x.strand.confined is not None and x.strand.confined.holds():
            return True
        x = x.primal
    return False


def _demand_no_leak(x: Any) -> None:
    """Refuse a value of a gradient that has ended where a later one runs."""
    now = max((strand.level for strand in active.get() if strand.open), default=0)
    if now > x.strand.level and setting("check_leaks"):
        raise LeakError(
            "a value from a gradient that has ended is used in another gradient, where it is a "
            "constant.",
            f"a cache or a variable may have kept it from the gradient at {x.strand.kin.began}; "
            "this gradient does not see what it was computed from.",
            "compute it again in each gradient; if it is a constant, keep zyg.stop_gradient of it.",
        )


def strip(x: Any) -> Any:
    """The plain value under all levels."""
    while type(x) in WATCHED:
        x = x.primal
    return x


def innermost(values: Iterator[Any] | list[Any] | tuple[Any, ...]) -> Strand | None:
    """The strand of the newest level among the given (settled) values."""
    strand: Strand | None = None
    for x in values:
        if type(x) in WATCHED and (strand is None or x.strand.level > strand.level):
            strand = x.strand
    return strand
