"""The memory of arguments, guarded from writes."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from zyg.base import buffers
from zyg.base.array_types import array_type
from zyg.base.config import setting
from zyg.base.references import alone
from zyg.core import kept
from zyg.core.kept import hold, kept_arrays, kept_of, let_go, mutex
from zyg.core.strand import ARRAYS, Strand, Watched, strip, watch, watcher_of
from zyg.core.views import (
    Place,
    base_of,
    copied,
    is_broadcast,
    is_spread,
    is_writeable,
    lay_out,
    order_of,
    root_of,
    view,
)
from zyg.errors import StructureError

# Arguments


def watch_together(strand: Strand, leaves: list[Any], how: str) -> list[Any]:
    """The leaves of one argument, watched. Arrays that share memory are views of one variable.

    "copied": apart from the caller's memory at once. "protected": before the first write; until
    then the caller's large arrays are read-only, and small ones are copied anyhow. "bare": before
    the first write, and the caller sees to it that nobody else writes; so is "shared". "lent":
    before anything but a kernel asks for it; until then, while f runs, large ones are read-only.
    """

    if len(leaves) < 2:
        return [_watched(strand, leaves[0], how)] if leaves else []
    groups: dict[int, list[Any]] = {}
    for x in leaves:
        if type(x) is np.ndarray or _is_array(x):
            groups.setdefault(id(_whole(x)), []).append(x)
    bases = {}
    for root, arrays in groups.items():
        if len(arrays) < 2:
            continue
        spans = sorted(np.lib.array_utils.byte_bounds(strip(x)) for x in arrays if x.size)
        if any(start < end for (_, end), (start, _) in pairwise(spans)):
            whole = _whole(arrays[0])
            memory = strip(lay_out(whole) if type(whole) in ARRAYS else whole)
            contiguous = memory.flags.c_contiguous or memory.flags.f_contiguous
            if memory.dtype.kind not in "fciu" or not contiguous:
                raise StructureError(
                    "two arrays of one argument share memory in a way zyg cannot follow.",
                    "what is written to one is seen in the other, and their gradients add up.",
                    "pass the array they are views of, or copies.",
                    tag="shared-memory",
                )
            bases[root] = (memory, _watched(strand, whole, how))
    if not bases:
        return [_watched(strand, x, how) for x in leaves]
    together = []
    for x in leaves:
        found = bases.get(id(_whole(x))) if _is_array(x) else None
        if found is None:
            together.append(_watched(strand, x, how))
            continue
        place = Place(strip(x), found[0])
        place.overlaps = not is_spread(place)
        together.append(view(found[1], place))
    return together


def _watched(strand: Strand, x: Any, how: str) -> Any:
    """One value, watched, that shares no memory with others of its argument.

    Memory that others can write, as that of a view, cannot be protected: it is copied, too.
    """
    slot = strand.new_slot()
    if type(x) is np.ndarray:
        flags = x.flags
        if not flags.writeable and id(x) not in kept_arrays:
            strand.memory.readonly.add(slot)
        elif not flags.forc and not is_spread(x):
            strand.memory.entangled.add(slot)
        if not flags.forc and is_broadcast(x):
            strand.memory.broadcast = True
        if how == "lent" and x.nbytes > kept.SMALL and (lent := _lend(strand, x, slot)) is not None:
            return lent
        held = hold(strand, x) if how == "protected" and x.nbytes > kept.SMALL else None
        bare = how in ("bare", "shared")
        if bare or held is not None:
            strand.memory.borrowed.add(slot)
        if held is not None:
            x = held
        elif not bare:
            x = buffers.copy(x) if flags.forc else copied(x, order_of(x))
    elif type(x) in ARRAYS:
        base, plain = base_of(x), strip(x)
        if not is_writeable(x):
            strand.memory.readonly.add(slot)
        spread = plain.flags.forc or is_spread(plain)
        if base.slot in base.strand.memory.entangled or not spread:
            strand.memory.entangled.add(slot)
        strand.memory.broadcast |= is_broadcast(plain)
        x = copied(x, order_of(plain))
    elif type(x) not in _UNCHANGING:
        kind = array_type(x)
        x = kind.enter(x)
        if how in ("copied", "lent"):
            x = array_type(x).copy(x)
    return watch(strand, x, slot)


_UNCHANGING = {int, float, complex, np.float64}


def _whole(x: Any) -> Any:
    """The array whose memory `x` is a part of."""
    return base_of(x) if type(x) in ARRAYS else root_of(x)


def forbid_shared_writes(strand: Strand, leaves: list[Any], values: list[Any]) -> None:
    """Note which of the values stand for arrays that share memory with one of another argument."""
    owners: dict[int, int] = {}
    shared = set()
    for argument, part in enumerate(leaves):
        for leaf in part:
            if type(leaf) is not float and _is_array(leaf):
                root = id(root_of(strip(leaf)))
                if owners.setdefault(root, argument) != argument:
                    shared.add(root)
    if not shared:
        return
    found: dict[int, list[_Span]] = {root: [] for root in shared}
    for argument, (part, watched) in enumerate(zip(leaves, values, strict=True)):
        for leaf, x in zip(part, watched, strict=True):
            plain = strip(leaf)
            if isinstance(plain, np.ndarray) and plain.size and id(root_of(plain)) in shared:
                bounds = np.lib.array_utils.byte_bounds(plain)
                found[id(root_of(plain))].append((*bounds, argument, base_of(x).slot))
    for spans in found.values():
        strand.memory.entangled.update(_overlapping(spans))


_Span = tuple[int, int, int, Any]  # where an array starts and ends, its argument, its slot


def _overlapping(spans: list[_Span]) -> Iterator[Any]:
    """The slots of the spans that overlap one of another argument, which starts before or after."""
    spans = sorted(spans, key=operator.itemgetter(0))
    yield from _reached(spans)
    yield from _reached([(-end, -start, *rest) for start, end, *rest in reversed(spans)])


def _reached(spans: list[_Span]) -> Iterator[Any]:
    """The slots of the spans into which one of another argument reaches that comes before."""
    first = second = -math.inf, -1  # the furthest end so far, and that of any other argument
    for start, end, argument, slot in spans:
        if start < (second if argument == first[1] else first)[0]:
            yield slot
        if argument == first[1]:
            first = max(first, (end, argument))
        elif end > first[0]:
            first, second = (end, argument), first
        else:
            second = max(second, (end, argument))


def _is_array(x: Any) -> bool:
    return issubclass(type(strip(x)), np.ndarray)


# Arguments that are lent. A kernel that keeps slopes needs no copy of its operands: nobody reads
# them any more once it has run. So an argument is the caller's array as long as kernels alone have
# asked for it. Whatever else asks for its `primal` gets a copy, made then, which is the primal from
# now on; so does, when f has ended, who still refers to the watched argument.


class Lent:
    """Stands in `watcher_of` for the class of what is lent."""


_primal: Any = Watched.__dict__["primal"]  # the slot itself, under any property
_set_class: Any = object.__dict__["__class__"].__set__


def _lend(strand: Strand, a: np.ndarray[Any, Any], slot: Any) -> Any:
    with mutex:
        kept = kept_of(a)
        if kept is None:
            return None
        x = watch(strand, kept.view, slot)
        _set_class(x, watcher_of[Lent])
        loan = [kept, None, x]
        strand.memory.lent.append(loan)
        kept.hold(id(loan))
        loan[1] = kept.contents(setting("check_operands"))
    return x


def memory_of_lent(x: Any) -> np.ndarray[Any, Any]:
    """The memory of a lent argument, for who does not keep it."""
    return _primal.__get__(x)  # type: ignore[no-any-return]


def copy_lent(x: Any) -> Any:
    """The primal of a lent argument from now on: a copy."""
    lent = memory_of_lent(x)
    made = buffers.copy(lent) if lent.flags.forc else copied(lent, order_of(lent))
    for loan in x.strand.memory.lent:
        if loan[2] is x and not _is_written(loan):
            loan[1] = None  # from now on anybody may write to it
    _primal.__set__(x, made)
    _set_class(x, watcher_of[np.ndarray])
    return made


def take_back(strand: Strand) -> list[np.ndarray[Any, Any]]:
    """End all loans, as f has ended; what somebody wrote meanwhile although it was lent."""
    written = []
    lent = strand.memory.lent
    while lent:
        loan = lent[-1]
        if _is_written(loan):
            written.append(loan[0].view)
        if type(loan[2]) is watcher_of[Lent] and _references(loan) > _ALONE:
            copy_lent(loan[2])
        loan[0].let_go(id(loan))
        lent.pop()
    return written


def _is_written(loan: list[Any]) -> bool:
    kept, before, _ = loan
    return before is not None and kept.contents(setting("check_operands")) != before


def _references(loan: list[Any]) -> int:
    x = loan[2]
    return sys.getrefcount(x)


# What getrefcount says of what only a loan refers to.
_ALONE = alone(_references([None, None, Lent()]))


def release(strand: Strand) -> None:
    """Let go of what the entries of a strand kept."""
    memory = strand.known_memory()
    if memory is None:
        return
    memory.copies.clear()
    if memory.lent:
        take_back(strand)
    if memory.kept:
        let_go(memory.kept)
