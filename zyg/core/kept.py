"""Plain arrays that a pullback keeps: copied if small, else read-only until it is gone."""

from __future__ import annotations

import operator
import sys
from _thread import RLock
from collections.abc import Container, Sequence
from typing import Any
from weakref import ref

import numpy as np

from zyg.base import buffers
from zyg.base.config import setting
from zyg.base.containers import ATOMS
from zyg.base.references import alone
from zyg.core.endings import unfinished
from zyg.core.strand import Strand
from zyg.core.views import copied, once, order_of
from zyg.errors import user_line


def _references_of_base(view: np.ndarray[Any, Any]) -> int:
    base = view.base
    return sys.getrefcount(base)


# What getrefcount says in `owns_memory` of an array that only its view holds. It is measured: how
# a call holds its arguments changed in Python 3.14, where a count that is too high would make an
# array pass for one that nobody else can write to.
_ONE_VIEW = alone(_references_of_base(np.empty(2).reshape(1, 2)))


# Plain arrays that a pullback keeps. NumPy tells nobody of a write to them. A small one is copied,
# and so is one whose memory others can write, as that of a view. A large array of its own is made
# read-only until the pullback is gone: a write then raises, at the user's line. What is kept is a
# view of it, which shape, strides and dtype given to the array itself do not reach; that somebody
# refers to it weakly, NumPy takes as a reason not to resize it. A view of it made before stays
# writable, and so it does for ufunc.at, which NumPy lets write to anything: so its contents are
# noted, and stepping back through an entry that uses it raises if they have changed. Beyond some
# size those are of stretches spread over the array: of all, it would cost two passes over it.
# Forward mode keeps nothing and compares nothing: its tangents are made at once.

SMALL = 1 << 12  # bytes; to copy more takes longer than to hold
_WHOLE = 1 << 13  # bytes of an array of which all are compared
_STRETCH = 8  # elements
mutex = RLock()  # a collection of garbage may release a strand anywhere


class Kept:
    """A large plain array that entries rely on, and the view of it that they have.

    It is read-only as long as there are holders, which are known before it becomes so: the ids of
    dictionaries and of loans, some of which have a guard.
    """

    __slots__ = ("array", "guard", "holders", "sample", "view", "writable")

    def __init__(self, a: np.ndarray[Any, Any]) -> None:
        self.array, self.guard = a, ref(a)
        self.holders: dict[int, Guard | None] = {}
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
        self.holders[holder] = None
        kept_arrays[id(self.view)] = kept_arrays[id(self.array)] = self
        self.array.setflags(write=False)

    def let_go(self, holder: int) -> None:
        """As often as one likes: what an interrupt has left undone is done the next time."""
        with mutex:
            self.holders.pop(holder, None)
            if not self.holders and kept_arrays.get(id(self.array)) is self:
                if self.writable:
                    self.array.setflags(write=True)
                    self.view.setflags(write=True)
                kept_arrays.pop(id(self.view), None)
                del kept_arrays[id(self.array)]


class Guard(ref["Any"]):
    """Lets go of what the strands of a trace keep, if the trace died before it could do that."""

    __slots__ = ("held",)

    held: list[dict[int, tuple[Any, ...]]]

    def close(self) -> None:
        for held in self.held:
            let_go(held)


def guard(trace: Any, strands: Sequence[Strand]) -> None:
    """Have let go of what these strands keep on the next way in, whatever becomes of a trace."""
    held = [m.kept for s in strands if (m := s.known_memory()) is not None and m.kept]
    if held:
        made = Guard(trace, unfinished.append)  # which no exception from outside can interrupt
        made.held = held
        for each in held:
            for kept, *_ in [*each.values()]:
                kept.holders[id(each)] = made


def let_go(held: dict[int, tuple[Any, ...]]) -> None:
    """Let go of what is held."""
    with mutex:
        while held:
            key = next(iter(held))
            held[key][0].let_go(id(held))
            held.pop(key, None)


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


kept_arrays: dict[int, Kept] = {}  # by the id of the array, and by that of the view


def keep(strand: Strand, a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A plain operand, as an entry of this strand may keep it."""
    if strand.dual:
        return a
    if a.nbytes <= SMALL:  # a copy: the last one again, while the contents are the same
        contents, copies = a.tobytes(), strand.memory.copies
        last = copies.get(id(a))
        if last is not None and last[0] is a and last[1] == contents:
            return last[2]  # type: ignore[no-any-return]
        made = a.copy() if a.flags.c_contiguous else _copy(a)
        made.flags.writeable = False
        copies[id(a)] = (a, contents, made)
        return made
    held = strand.memory.kept.get(id(a))
    if held is not None:
        return held[0].view  # type: ignore[no-any-return]
    view = hold(strand, a)
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


def hold(strand: Strand, a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """A view of an array that is read-only until the strand is released; None if it cannot be."""
    held = strand.memory.kept
    line = user_line() if strand.trail is not None else ""
    with mutex:
        kept = kept_of(a) if strand.open else kept_arrays.get(id(a))
        if kept is None:  # a thread may have outlived its gradient
            return None
        if strand.open and id(kept.array) not in held:
            whole = setting("check_operands")
            held[id(kept.array)] = kept, line, whole, None  # before it is held: who lets go of it
            kept.hold(id(held))
            if not strand.dual:
                held[id(kept.array)] = kept, line, whole, kept.contents(whole)
        return kept.view


def kept_of(a: np.ndarray[Any, Any]) -> Kept | None:
    """What protects an array from writes, once it is held; None if nothing can."""
    kept = kept_arrays.get(id(a))
    return Kept(a) if kept is None and owns_memory(a) else kept


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
