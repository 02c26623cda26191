"""Memory that an entry relies on, guarded from writes: the arguments, and plain operands."""

from __future__ import annotations

import math
import operator
import sys
from _thread import RLock
from collections.abc import Container, Iterator
from itertools import pairwise
from typing import Any
from weakref import ref

import numpy as np

from zyg.base import buffers
from zyg.base.array_types import array_type
from zyg.base.config import setting
from zyg.base.containers import ATOMS
from zyg.core.strand import ARRAYS, Strand, Watched, strip, watch, watcher_of
from zyg.core.views import (
    Place,
    base_of,
    copied,
    is_broadcast,
    is_spread,
    is_writeable,
    lay_out,
    once,
    order_of,
    root_of,
    view,
)
from zyg.errors import StructureError, user_line


def _references_of_base(view: np.ndarray[Any, Any]) -> int:
    base = view.base
    return sys.getrefcount(base)


# What getrefcount says in `owns_memory` of an array that only its view holds. It is measured: how
# a call holds its arguments changed in Python 3.14, where a count that is too high would make an
# array pass for one that nobody else can write to.
_ONE_VIEW = _references_of_base(np.empty(2).reshape(1, 2))


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
        if not flags.writeable and id(x) not in _kept:
            strand.memory.readonly.add(slot)
        elif not flags.forc and not is_spread(x):
            strand.memory.entangled.add(slot)
        if not flags.forc and is_broadcast(x):
            strand.memory.broadcast = True
        if how == "lent" and x.nbytes > _SMALL and (lent := _lend(strand, x, slot)) is not None:
            return lent
        held = _hold(strand, x) if how == "protected" and x.nbytes > _SMALL else None
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
    return isinstance(strip(x), np.ndarray)


# Plain arrays that a pullback keeps. NumPy tells nobody of a write to them. A small one is copied,
# and so is one whose memory others can write, as that of a view. A large array of its own is made
# read-only until the pullback is gone: a write then raises, at the user's line. What is kept is a
# view of it, which shape, strides and dtype given to the array itself do not reach; that somebody
# refers to it weakly, NumPy takes as a reason not to resize it. A view of it made before stays
# writable, and so it does for ufunc.at, which NumPy lets write to anything: so its contents are
# noted, and stepping back through an entry that uses it raises if they have changed. Beyond some
# size those are of stretches spread over the array: of all, it would cost two passes over it.
# Forward mode keeps nothing and compares nothing: its tangents are made at once.

_SMALL = 1 << 12  # bytes; to copy more takes longer than to hold
_WHOLE = 1 << 13  # bytes of an array of which all are compared
_STRETCH = 8  # elements
_mutex = RLock()  # a collection of garbage may release a strand anywhere


class Kept:
    """A large plain array that entries rely on, and the view of it that they have.

    It is read-only as long as there are holders, which are known before it becomes so.
    """

    __slots__ = ("array", "guard", "holders", "sample", "view", "writable")

    def __init__(self, a: np.ndarray[Any, Any]) -> None:
        self.array, self.guard = a, ref(a)
        self.holders: set[int] = set()
        self.writable = a.flags.writeable
        self.view = a.view()
        self.view.setflags(write=False)
        self.sample = self.view if a.nbytes <= _WHOLE else sample(self.view)

    def contents(self, whole: bool) -> bytes:
        """What tells whether the array was written: its contents, or some; a digest if large."""
        if not whole or self.sample is self.view:
            return self.sample.tobytes()
        from hashlib import blake2b  # which loads OpenSSL

        return blake2b(np.ascontiguousarray(self.view).reshape(-1).view(np.uint8).data).digest()

    def hold(self, holder: int) -> None:
        self.holders.add(holder)
        _kept[id(self.view)] = _kept[id(self.array)] = self
        self.array.setflags(write=False)

    def let_go(self, holder: int) -> None:
        """As often as one likes: what an interrupt has left undone is done the next time."""
        with _mutex:
            self.holders.discard(holder)
            if not self.holders and _kept.get(id(self.array)) is self:
                if self.writable:
                    self.array.setflags(write=True)
                    self.view.setflags(write=True)
                _kept.pop(id(self.view), None)
                del _kept[id(self.array)]


def sample(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A view of some elements that are spread over a large array.

    At least 16 stretches, not more than 256, else one in 4093 elements: little beside a pass over
    the array. The step is odd, so that it is not in step with the columns of a matrix.
    """
    if a.dtype.hasobject:
        return a
    flat = a
    if not flat.flags.c_contiguous:
        flat = a.transpose(sorted(range(a.ndim), key=lambda k: -abs(a.strides[k])))
    if not flat.flags.c_contiguous:
        return a[tuple([slice(None, None, 1 + int(n / 256 ** (1 / a.ndim))) for n in a.shape])]
    step = max(a.size // 256, min(4093, a.size // 16)) | 1
    strides = step * a.itemsize, a.itemsize
    return np.ndarray((a.size // step, _STRETCH), a.dtype, flat, 0, strides)


_kept: dict[int, Kept] = {}  # by the id of the array, and by that of the view


def keep(strand: Strand, a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A plain operand, as an entry of this strand may keep it."""
    if strand.dual:
        return a
    if a.nbytes <= _SMALL:  # a copy: the last one again, while the contents are the same
        contents, copies = a.tobytes(), strand.memory.copies
        last = copies.get(id(a))
        if last is not None and last[0] is a and last[1] == contents:
            return last[2]  # type: ignore[no-any-return]
        made = a.copy() if a.flags.c_contiguous else _copy(a)
        copies[id(a)] = (a, contents, made)
        return made
    held = strand.memory.kept.get(id(a))
    if held is not None:
        return held[0].view  # type: ignore[no-any-return]
    view = _hold(strand, a)
    return _copy(a) if view is None else view


def keep_parts(strand: Strand, x: Any, ours: Container[int] = ()) -> Any:
    """An operand as an entry of this strand may keep it: lists and the like copied, arrays kept.

    An object of one's own stays what it is. `ours` are the ids of what the entry owns already.
    """
    if strand.dual or id(x) in ours:
        return x
    if type(x) is np.ndarray:
        return keep(strand, x)
    if isinstance(x, tuple):
        parts = [v if type(v) in ATOMS else keep_parts(strand, v, ours) for v in x]
        return x if all(map(operator.is_, parts, x)) else tuple.__new__(type(x), parts)
    if type(x) is list:
        return [v if type(v) in ATOMS else keep_parts(strand, v, ours) for v in x]
    if type(x) is dict:
        return {k: keep_parts(strand, v, ours) for k, v in x.items()}
    return x


def owns_memory(a: np.ndarray[Any, Any]) -> bool:
    """Whether nobody but this array and its views can write where its elements are."""
    base = a.base
    if isinstance(base, np.ndarray) and sys.getrefcount(base) <= _ONE_VIEW:
        base = base.base  # of an array in another shape, which only this one holds
        return isinstance(base, buffers.Alone)
    return base is None or isinstance(base, buffers.Alone)


def _hold(strand: Strand, a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """A view of an array that is read-only until the strand is released; None if it cannot be."""
    held = strand.memory.kept
    line = user_line() if strand.trail is not None else ""
    with _mutex:
        kept = _kept_of(a) if strand.open else _kept.get(id(a))
        if kept is None:  # a thread may have outlived its gradient
            return None
        if strand.open and id(kept.array) not in held:
            whole = setting("check_operands")
            held[id(kept.array)] = kept, line, whole, None  # before it is held: who lets go of it
            kept.hold(id(strand.memory))
            if not strand.dual:
                held[id(kept.array)] = kept, line, whole, kept.contents(whole)
        return kept.view


def _kept_of(a: np.ndarray[Any, Any]) -> Kept | None:
    """What protects an array from writes, once it is held; None if nothing can."""
    kept = _kept.get(id(a))
    return Kept(a) if kept is None and owns_memory(a) else kept


# Arguments that are lent. A kernel that keeps slopes needs no copy of its operands: nobody reads
# them any more once it has run. So an argument is the caller's array as long as kernels alone have
# asked for it. Whatever else asks for its `primal` gets a copy, made then, which is the primal from
# now on; so does, when f has ended, who still refers to the watched argument.


class Lent:
    """Stands in `watcher_of` for the class of what is lent."""


_primal: Any = Watched.__dict__["primal"]  # the slot itself, under any property
_set_class: Any = object.__dict__["__class__"].__set__


def _lend(strand: Strand, a: np.ndarray[Any, Any], slot: Any) -> Any:
    with _mutex:
        kept = _kept_of(a)
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


_ALONE = _references([None, None, Lent()])  # what getrefcount says of what only a loan refers to


def changed(strand: Strand) -> list[tuple[np.ndarray[Any, Any], str]]:
    """The arrays that the entries of a strand keep and somebody wrote, and where they are used."""
    return [
        (kept.view, line)
        for kept, line, whole, before in strand.memory.kept.values()
        if before is not None and kept.contents(whole) != before
    ]


def _copy(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that lies as the array does: what is broadcast stays so."""
    if a.flags.forc:
        return buffers.copy(a)
    part = once(a)
    return np.broadcast_to(copied(part, order_of(part)), a.shape)


def release(strand: Strand) -> None:
    """Let go of what the entries of a strand kept."""
    memory = strand.known_memory()
    if memory is None:
        return
    memory.copies.clear()
    if memory.lent:
        take_back(strand)
    while memory.kept:
        key = next(iter(memory.kept))
        memory.kept[key][0].let_go(id(memory))
        memory.kept.pop(key, None)
