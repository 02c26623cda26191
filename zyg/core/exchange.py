"""Values that cross from one task to another.

Every entry's operands are slots of its own strand. A value of another strand of the same level is
brought over: an alias of it is noted here, an *import*, and the slot it has there is *exported*.
In the reverse pass the alias gives its cotangent to an adjoint channel, which delivers it to the
exported slot; there it is waited for before the entry that made the value is stepped back through.
It does not matter how the value came here: by a channel, a queue, a closure, a shared list, or as
the result of a task. So a message finds its way back whatever the order of sends and receives was,
which a channel of cotangents, first in and first out, does not ensure with several senders.

A view is imported by itself, and what is delivered is as large as the view: a thousand tasks that
read a row each of one array give back that array's size in all.

Arrays that are written. An array stays with the strand that it is watched on; another task's write
is an entry of that strand, to which the value is brought over. Entries stand on a tape in the order
in which things happened whoever notes them, so this is as sound as a tape that threads share.
What is exported are the contents at that time: once an array has been written to, its next import
is of a new *version*, a slot whose cotangent passes on to the one before, behind the writes. Nor
does a write reach the memory that an importing strand keeps: that is a copy of the part, or else
the writer copies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zyg.core.entries import Kind, kinds
from zyg.core.reverse import Run
from zyg.core.strand import ARRAYS, WATCHED, Strand, exchange_lock, local, strip, watch
from zyg.core.views import base_of, copied, order_of


class Import:
    """One value of another strand, used on this one; `rank` is its place among those of a slot."""

    __slots__ = ("before", "number", "rank", "slot", "source", "target")

    def __init__(self, source: Strand, slot: Any, target: Strand, before: Import | None) -> None:
        self.source, self.slot, self.target = source, slot, target
        self.number = len(target.kin.imports)
        self.before = before  # another one of the slot
        self.rank = 0


def bring_all(strand: Strand, args: Any) -> tuple[Strand, tuple[Any, ...]]:
    """The strand of this task at the level of `strand`, and operands that are values of it."""
    here = local(strand)
    return here, tuple([bring(here, x) for x in args])


def bring(strand: Strand, x: Any, *, late: bool = False) -> Any:
    """`x` as an operand on `strand`: an alias, if it is of another strand of the level.

    Once the level is closed, there are only those that are `late`: the results of f.
    """
    if type(x) not in WATCHED or x.strand is strand or x.strand.level != strand.level:
        return x
    key: tuple[Any, ...]
    if type(x) not in ARRAYS:
        key = x.strand, x.slot
        alias = strand.kin.imports.get(key)
        if alias is not None:
            return alias
    with exchange_lock:
        if not (strand.open or late):
            return x
        if type(x) not in ARRAYS:
            return _imported(strand, key, x.slot, x.primal)
        base = base_of(x)
        if base.slot in base.strand.memory.written:
            _new_version(base.strand, base)
        key = (base.strand, base.slot) if base is x else (base.strand, base.slot, *x.place.key)
        alias = strand.kin.imports.get(key)
        return _imported(strand, key, x.slot, _apart(x, base)) if alias is None else alias


def _imported(strand: Strand, key: tuple[Any, ...], slot: Any, primal: Any) -> Any:
    exports = key[0].kin.exports
    made = Import(key[0], slot, strand, exports.get(key[1]))
    alias = watch(strand, primal, strand.new_slot())
    strand.note((alias.slot, None, deliver, None, (made,)))
    exports[key[1]] = made
    # From now on others may find it, in a thread that shares the tape.
    strand.kin.imports[key] = alias
    return alias


def _apart(x: Any, base: Any) -> Any:
    """The primal of an array, where no later write will reach it."""
    if base.versioned and 2 * strip(x).nbytes <= strip(base).nbytes:
        return copied(x.primal, order_of(strip(x)))
    base.strand.memory.borrowed.add(base.slot)
    return x.primal


def _new_version(strand: Strand, base: Any) -> None:
    """A new slot for the contents of an array from now on."""
    old, new = base.slot, strand.new_slot()
    strand.note((new, None, pass_on, None, (old, new)))
    memory = strand.memory
    for marked in (memory.borrowed, memory.readonly, memory.entangled):
        if old in marked:
            marked.add(new)
    base.slot, base.versioned = new, True


def as_of_now(x: Any) -> Any:
    """A value as it is now, whatever is written to it later: an array that nobody writes to."""
    if type(x) not in ARRAYS:
        return x
    if x.strand.dual:
        return np.copy(x)
    with exchange_lock:
        before = watch(x.strand, as_of_now(x.primal), x.slot)
        _new_version(x.strand, x)
        x.strand.memory.borrowed.add(x.slot)
    return before


def pass_on(run: Run, y_bar: Any, old: int, new: int) -> Any:
    """The cotangent of an array becomes that of its last version, without a copy."""
    if run.bars[old] is not None:
        return ((old, y_bar),)
    run.bars[old] = y_bar
    if new in run.owned:
        run.owned.add(old)
    return ()


def deliver(run: Run, y_bar: Any, made: Import) -> Any:
    """The cotangent of an alias leaves its strand: `adjoint_tasks` hands it to a channel."""
    raise AssertionError("a strand with imports is reversed together with the others of its level")


kinds[pass_on] = Kind(lambda old, new: [old])
kinds[deliver] = Kind(lambda made: [made.slot])  # a slot of the strand that it came from
