"""Calls taken apart: run once with the values of their own level, and again as they were.

The watched numbers and arrays in a function's closure and its arguments are the leaves. A run sees
others in their places, and so copies of the containers that hold them: what the first run writes to
those is carried back to the user's own.
"""

from __future__ import annotations

import functools
import operator
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from zyg.base.containers import SET, kind_of
from zyg.base.kinds import Kind
from zyg.base.structure import Structure
from zyg.core.duals import IdleStrand
from zyg.core.kept import keep
from zyg.core.strand import Confined, Strand, has_left, is_watched, strands_of
from zyg.core.trace import Call, down_to
from zyg.errors import StructureError
from zyg.verbs.effects import keeps_nothing

_SMALL = 1024  # bytes; a larger array is not looked at for whether the call writes to it


class TakenApart:
    """A call: the watched numbers and arrays in it, and what it is with others in their places.

    An array met twice is one. The call is run again in the reverse pass, so its plain arrays are
    kept as they are now, as those that an entry refers to. `confined` is for runs whose steps are
    not noted.
    """

    def __init__(self, verb: str, *parts: Any) -> None:
        self.whole = _Parts(parts, _is_array_or_watched, shared=True)
        self.then: Structure = self.whole
        every = self.whole.leaves
        self.places = [k for k, x in enumerate(every) if is_watched(x) and not has_left(x)]
        self.leaves = [every[k] for k in self.places]
        self.kept = [*every]
        strands = {s: None for x in self.leaves for s in strands_of(x)}
        self.confined = Confined(verb, [*strands])
        for strand in strands:
            self.kept = [_kept(strand, a) if type(a) is np.ndarray else a for a in self.kept]
        self.written: list[int] = []  # places of the small arrays that the call writes to
        self._effects: set[int] = set()  # ids of the containers that it writes to

    @functools.cached_property
    def keeps_nothing(self) -> bool:
        """Whether no value of the call can get out but by its result, or what it was given."""
        return keeps_nothing(self.whole.root)

    def first(
        self,
        f: Callable[..., Any],
        leaves: Sequence[Any],
        given: Sequence[Any] = (),
        rewind: Callable[[], None] = lambda: None,
    ) -> Any:
        """``f(*given, *parts)`` with these leaves, all plain.

        What it writes is carried to the user's own containers. A value that gets out is known for
        one whose derivative stays behind.
        """
        copies: dict[int, Any] = {}
        full = [*self.whole.leaves]

        def run(*values: Any) -> Any:
            copies.clear()
            self._put(values[len(given) :], full)
            made: dict[int, Any] = {}
            parts = self.whole.rebuild(full, whole=False, done=made)
            copies.update(made)  # of which nothing is carried back until they are whole
            return f(*values[: len(given)], *parts)

        try:
            if self.keeps_nothing:
                try:
                    y = run(*given, *leaves)
                except Exception:
                    if not self._is_written(full, copies):
                        raise
                else:
                    if not self._is_written(full, copies):
                        return y
                rewind()  # it writes to what it was given: once more, so that what gets out is told
            try:
                return IdleCall(self.confined, run, (*given, *leaves)).y
            finally:
                carry_back(self.whole, full, copies)
                self._effects.update(self.whole.written())
        finally:
            self.written = [k for k, a in self._small() if a.tobytes() != self.kept[k].tobytes()]

    def _is_written(self, full: list[Any], copies: dict[int, Any]) -> bool:
        """Of a call that keeps nothing: whether it wrote to lists and dicts that it was given."""
        given = any(type(c) in (list, dict) for c in copies.values())
        return given and bool(self.whole.written(full, copies))

    def _put(self, leaves: Sequence[Any], full: list[Any]) -> None:
        for k, x in zip(self.places, leaves, strict=True):
            full[k] = x

    def _small(self) -> Iterator[tuple[int, Any]]:
        every = enumerate(self.whole.leaves)
        return ((k, a) for k, a in every if type(a) is np.ndarray and a.nbytes <= _SMALL)

    def note_changes(self) -> None:
        """From now on, what has changed since the call is made anew as it was.

        So is what the call itself changes, though somebody may have put back what was there.
        """
        changed = {*self.whole.written(), *self._effects}
        self.then = self.whole.as_it_was(changed) if changed else self.whole

    def rebuild(self, leaves: Sequence[Any]) -> Any:
        """The parts with these leaves, for a run that is not the first one: as they were then."""
        full = [*self.kept]
        for k in self.written:
            full[k] = full[k].copy()
        self._put(leaves, full)
        return self.then.rebuild(full)


class _Members(Kind):
    """A set, whose members have no places."""

    def parts(self, x: Any) -> list[tuple[Any, Any]]:
        return sorted(((id(v), v) for v in x), key=operator.itemgetter(0))

    def fill(self, copy: Any, values: dict[Any, Any]) -> None:
        set.update(copy, values.values())


MEMBERS = _Members()


class _Parts(Structure):
    """Parts of a call; of a set, in which nothing is watched, the members too."""

    def kind_of(self, x: Any) -> Kind | None:
        return MEMBERS if type(x) is set and not any(map(is_watched, x)) else kind_of(x)


def _is_array_or_watched(x: Any) -> bool:
    return is_watched(x) or (type(x) is np.ndarray and x.dtype.kind != "O")


def _kept(strand: Strand, a: Any) -> Any:
    return a.copy() if strand.dual and a.nbytes <= _SMALL else keep(strand, a)


class IdleCall(Call):
    """A call whose values are known for its own wherever they go, and whose steps are not noted."""

    def __init__(self, confined: Confined, f: Callable[..., Any], args: tuple[Any, ...]) -> None:
        super().__init__(IdleStrand(confined), f, args, {}, "bare")

    def end(self, value: Any) -> None:
        result = Structure(value, is_watched)
        ours = [down_to(self.strand, x) for x in result.leaves]
        plain = [x if w is None else w.primal for x, w in zip(result.leaves, ours, strict=True)]
        self.y = result.rebuild(plain)


def carry_back(whole: Structure, leaves: list[Any], copies: dict[int, Any]) -> None:
    """Do to a call's own containers what was done to their copies, which hold these leaves."""
    written = whole.written(leaves, copies)
    if not written:
        return
    back = whole.containers()
    back |= {id(c): back[one] for one, c in copies.items()}
    back |= {id(v): w for v, w in zip(leaves, whole.leaves, strict=True)}
    for (one, (kind, x, now)), values in zip(written.items(), _own(written, back), strict=True):
        if one in copies or not all(v is w for (_, v), w in zip(now, values, strict=True)):
            refill(kind, x, {key: v for (key, _), v in zip(now, values, strict=True)})


def _own(written: dict[int, Any], back: dict[int, Any]) -> list[list[Any]]:
    """What was written, with the user's own containers and values in place of their copies."""
    parts = _Written([[v for _, v in now] for _, _, now in written.values()], back)
    return parts.rebuild(parts.leaves, whole=False, done={**back})  # type: ignore[no-any-return]


class _Written(Structure):
    """Containers that a run has made, whose leaves are what is to be in place of copies."""

    def __init__(self, values: list[list[Any]], back: dict[int, Any]) -> None:
        self._back = back
        super().__init__(values, is_watched)

    def kind_of(self, x: Any) -> Kind | None:
        try:
            kind = kind_of(x)
        except StructureError:  # which holds no copies
            return None
        return None if kind is SET else kind

    def _place(self, x: Any, leaf: Callable[[Any], bool]) -> int | None:
        if id(x) not in self._back:
            return None
        self.leaves.append(self._back[id(x)])
        return len(self.leaves) - 1


def refill(kind: Kind, x: Any, values: dict[Any, Any]) -> None:
    """Have other parts in a container; an interrupt does not leave it empty."""
    try:
        _empty(x)
        kind.fill(x, values)
    except BaseException:
        _empty(x)
        kind.fill(x, values)
        raise


def _empty(x: Any) -> None:
    """Take out of a container what can be put in."""
    kinds: tuple[Any, ...] = (list, OrderedDict, dict, set, deque)
    for kind in kinds:
        if isinstance(x, kind):
            kind.clear(x)
            break
    if hasattr(x, "__dict__"):
        x.__dict__.clear()
