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

A level is a number from a counter, not a depth: nothing has to be unwound after an exception, and
a newer level always has a larger number, which is all that nesting needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from itertools import count
from threading import RLock
from typing import Any

import numpy as np

from zyg.errors import StructureError, user_line

_levels = count(1)
# The strands of the gradients that run around this line, outermost first.
active: ContextVar[tuple[Strand, ...]] = ContextVar("zyg_active", default=())


class Strand:
    """The tape of one task at one level; takes entries only while `open`."""

    dual = False  # whether it carries tangents and keeps no tape: `_dual.DualStrand`

    __slots__ = (
        "began_at", "borrowed", "copies", "cuts", "entangled", "kept", "level", "lines",
        "new_slot", "note",
        "open", "readonly", "tape", "turn",
    )  # fmt: skip

    def __init__(self) -> None:
        self.level = next(_levels)
        self.open = True
        self.tape: list[Any] = []
        self.note: Callable[[tuple[Any, ...]], None] = self.tape.extend
        self.new_slot: Callable[[], Any] = count().__next__
        # Where the strands around it were when this one began: a larger slot is younger than it.
        self.began_at = {outer: outer.new_slot() for outer in active.get()}
        self.borrowed: set[int] = set()  # slots of arrays whose memory is the caller's
        self.readonly: set[int] = set()  # those that are read-only to the caller
        self.entangled: set[int] = set()  # those that share memory with another argument's
        self.copies: dict[int, tuple[Any, bytes, Any]] = {}  # of small plain arrays, by id
        # Plain arrays that entries rely on, with the line that does, by id.
        self.kept: dict[int, tuple[Any, str]] = {}
        # Only where someone will ask: the user's line of each entry, by its place on the tape, and
        # where a derivative ended: (slot, how, line).
        self.lines: dict[int, str] | None = None
        self.cuts: list[tuple[Any, str, str]] = []
        self.turn: RLock | None = None  # taken by reverse passes, once something was written

    def record_lines(self) -> None:
        """Note the user's line with every entry from now on."""
        self.lines = lines = {}
        tape = self.tape

        def note_with_line(entry: tuple[Any, ...]) -> None:
            lines[len(tape)] = user_line()
            tape.extend(entry)

        self.note = note_with_line


class Traced:
    """A watched value: its primal (watched too, if an outer level does), its strand, its slot."""

    __slots__ = ("primal", "slot", "strand")

    primal: Any
    strand: Strand
    slot: Any


# The classes among them whose primal is an array.
ARRAYS: set[type] = set()

# Which class watches a primal of which type; `_traced` fills it in. TRACED holds the classes.
watcher_of: dict[type, type[Traced]] = {}
TRACED: set[type] = set()


def watch(strand: Strand, primal: Any, slot: int) -> Any:
    """The watched value of a number or an array."""
    cls = watcher_of.get(type(primal))
    if cls is None:
        if isinstance(primal, np.ndarray):
            raise StructureError(
                f"zyg cannot watch an array of type {type(primal).__name__}.",
                "a subclass of numpy.ndarray has semantics of its own, unknown to NumPy's rules.",
                "pass a plain array: np.asarray(x), or x.filled(...) for a masked array.",
            )
        cls = watcher_of[object]
    x = cls()
    x.primal = primal
    x.strand = strand
    x.slot = slot
    return x


def cut(x: Any, how: str) -> Any:
    """The plain value of `x`, whose derivative ends here; noted where lines are."""
    while type(x) in TRACED:
        if x.strand.lines is not None and x.strand.open:
            x.strand.cuts.append((x.slot, how, user_line()))
        x = x.primal
    return x


def settle(x: Any) -> Any:
    """`x` itself, or what is left of it once every gradient that has ended is taken off."""
    while type(x) in TRACED and not x.strand.open:
        x = x.primal
    return x


def strip(x: Any) -> Any:
    """The plain value under all levels."""
    while type(x) in TRACED:
        x = x.primal
    return x


def is_traced(x: Any) -> bool:
    """Whether a running gradient watches `x`.

    >>> import zyg
    >>> zyg.is_traced(1.0), zyg.gradient(lambda x: x * zyg.is_traced(x), 3.0)
    (False, (1.0,))

    """
    return type(settle(x)) in TRACED


def nestlevel() -> int:
    """How many gradients are being taken around this line.

    >>> import zyg
    >>> zyg.nestlevel(), zyg.gradient(lambda x: x * zyg.nestlevel(), 3.0)
    (0, (1.0,))

    """
    return len(active.get())


def innermost(values: Iterator[Any] | list[Any] | tuple[Any, ...]) -> Strand | None:
    """The strand of the newest level among the given (settled) values."""
    strand: Strand | None = None
    for x in values:
        if type(x) in TRACED and (strand is None or x.strand.level > strand.level):
            strand = x.strand
    return strand
