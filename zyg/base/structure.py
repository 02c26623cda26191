"""Containers, objects and closures <-> leaves.

`Structure` takes a value apart into the leaves that a predicate selects and everything else, and
puts it together again: as a copy with other leaves, or as the gradient of the value. It walks
lists, tuples, dicts, deques, object arrays, functions (their closure cells and defaults), bound
methods, partials and the attributes of any Python object. An object met twice is one object; cycles
are fine, and depth is no limit. Nothing is ever modified. An object that holds no leaf is kept as
it is, identity included; strings, modules, files, locks and the like pass through.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from zyg.base.array_types import is_array
from zyg.base.bags import Tangent
from zyg.base.containers import (
    ATOMS,
    BY_TYPE,
    CELL,
    SET,
    kind_of,
    no_places,
)
from zyg.base.containers import (
    is_leaf as is_leaf,
)
from zyg.base.containers import (
    is_number as is_number,
)
from zyg.base.kinds import Key, Kind
from zyg.base.opaque import demand_without_numbers
from zyg.errors import StructureError


class Structure:
    """`root` taken apart: `leaves`, the values that the predicate selects.

    With `shared` (for arguments), an array met twice is one leaf, and a copy has lists, dicts and
    the like of its own even where they hold no leaf; without, every place is a leaf of its own, and
    whatever holds no leaf is kept. `repeated` tells whether a container that holds leaves was met
    twice.
    """

    def __init__(self, root: Any, leaf: Callable[[Any], bool], *, shared: bool = False) -> None:
        self.root = root
        self.repeated = False
        self.is_leaf = type(root) not in ATOMS and type(root) not in BY_TYPE and leaf(root)
        if self.is_leaf:
            self.leaves: list[Any] = [root]
            return
        self.shared = shared
        self.leaves = []
        self._place_of: dict[int, int] = {}
        # id -> (kind, the container, its parts: key, value, place among the leaves or None)
        self._seen: dict[int, tuple[Kind, Any, list[tuple[Any, Any, int | None]]]] = {}
        self._live: dict[int, bool] = {}  # ids of the containers with a leaf somewhere below
        self._scan(leaf)

    def kind_of(self, x: Any) -> Kind | None:
        """How to take a part apart; None where it passes through whole."""
        return kind_of(x)

    def _place(self, x: Any, leaf: Callable[[Any], bool]) -> int | None:
        if type(x) in ATOMS or type(x) in BY_TYPE or not leaf(x):
            return None
        place = self._place_of.get(id(x))
        if place is None:
            place = len(self.leaves)
            self.leaves.append(x)
            if self.shared and not is_number(x):  # two equal numbers are two variables
                self._place_of[id(x)] = place
        return place

    def _scan(self, leaf: Callable[[Any], bool]) -> None:
        parents: dict[int, list[int]] = {}
        holders: list[int] = []
        waiting = [self.root]
        while waiting:
            x = waiting.pop()
            kind = None if id(x) in self._seen else self.kind_of(x)
            if kind is None:
                if self.shared and id(x) not in self._seen:
                    demand_without_numbers(x, leaf)
                continue
            parts = [(key, value, self._place(value, leaf)) for key, value in kind.parts(x)]
            self._seen[id(x)] = (kind, x, parts)
            for _, value, place in parts:
                if place is not None:
                    holders.append(id(x))
                elif type(value) not in ATOMS:
                    parents.setdefault(id(value), []).append(id(x))
                    waiting.append(value)
        while holders:
            one = holders.pop()
            if one not in self._live:
                self._live[one] = True
                holders.extend(parents.get(one, ()))
                kind, _, parts = self._seen[one]
                if kind is SET and (self.shared or any(place is not None for *_, place in parts)):
                    raise no_places()
        self.repeated = any(len(parents.get(one, ())) > 1 for one in self._live)

    def demand_every(self, leaf: Callable[[Any], bool]) -> None:
        """Refuse leaves in what passes through whole, where a derivative of each is asked for."""
        if not self.is_leaf:
            every = [part for _, _, parts in self._seen.values() for part in parts]
            for x in (self.root, *(v for _, v, place in every if place is None)):
                if id(x) not in self._seen:
                    demand_without_numbers(x, leaf)

    def rebuild(
        self, leaves: list[Any], *, whole: bool = True, done: dict[int, Any] | None = None
    ) -> Any:
        """A copy of the root with these leaves in place of its own.

        An argument's containers that hold no leaf are copied, too, unless not `whole`. `done` has
        what is to be instead of others, by their ids, and gets the copies.
        """
        if self.is_leaf:
            return leaves[0]
        copied = self._copied() if whole else dict(self._live)
        if not copied:
            return self.root
        done = {} if done is None else done

        def cell_of(cell: types.CellType) -> types.CellType:
            if id(cell) not in copied:
                return done.get(id(cell), cell)  # type: ignore[no-any-return]
            return done.setdefault(id(cell), types.CellType())  # type: ignore[no-any-return]

        def values(one: int) -> dict[Any, Any]:
            return {
                key: done.get(id(v), v) if place is None else leaves[place]
                for key, v, place in self._seen[one][2]
            }

        for one in copied:
            kind, x, _ = self._seen[one]
            if kind.mutable:
                done[one] = kind.shell(x, cell_of)
        for one in self._inside_out(copied, done):
            kind, x, _ = self._seen[one]
            done[one] = kind.make(x, values(one))
        for one in copied:
            kind = self._seen[one][0]
            if kind.mutable:
                kind.fill(done[one], values(one))
        return done[id(self.root)]

    def written(
        self, leaves: Sequence[Any] = (), copies: Mapping[int, Any] | None = None
    ) -> dict[int, tuple[Kind, Any, list[tuple[Any, Any]]]]:
        """What is not as it was taken apart, by id: kind, container, the parts that it has now.

        With `copies`, what `rebuild` made of these leaves, it is those that are looked at.
        """
        copies = copies or {}
        found = {}
        for one, (kind, x, parts) in self._seen.items() if not self.is_leaf else ():
            if kind.mutable:
                now = kind.parts(copies.get(one, x))
                then = (
                    (key, leaves[place] if copies and place is not None else copies.get(id(v), v))
                    for key, v, place in parts
                )
                if len(now) != len(parts) or not all(map(_is_same, now, then)):
                    found[one] = kind, x, now
        return found

    def containers(self) -> dict[int, Any]:
        """What it was taken apart into, besides the leaves, by id."""
        return {} if self.is_leaf else {one: x for one, (_, x, _) in self._seen.items()}

    def as_it_was(self, changed: Iterable[int]) -> Structure:
        """This, but a copy has these containers, and all that leads to them, of its own."""
        then = copy.copy(self)
        then._live = {**self._live, **dict.fromkeys(changed, True)}
        more = True
        while more:
            more = False
            for one, (_, _, parts) in self._seen.items():
                if one not in then._live and any(id(v) in then._live for _, v, _ in parts):
                    more = then._live[one] = True
        return then

    def _copied(self) -> dict[int, bool]:
        """The containers of a copy: those with leaves, and an argument's builtin ones in them."""
        copied = dict(self._live)
        waiting = list(copied) if self.shared else []
        while waiting:
            for _, value, _ in self._seen[waiting.pop()][2]:
                one = id(value)
                if one in self._seen and one not in copied and self._seen[one][0].builtin:
                    copied[one] = True
                    waiting.append(one)
        return copied

    def _inside_out(self, which: dict[int, bool], done: dict[int, Any]) -> Iterator[int]:
        """The immutable containers, each after those in it; they form no cycle among themselves."""
        late = [one for one in which if one not in done]
        while late:
            one = late[-1]
            inner = [
                id(v) for _, v, _ in self._seen[one][2] if id(v) in which and id(v) not in done
            ]
            if inner:
                late.extend(inner)
                continue
            late.pop()
            if one not in done:
                yield one

    def tangent(self, cotangents: list[Any], gradient: bool = False) -> Any:
        """A tangent or the gradient of the root: that of each leaf, None for everything else."""
        if self.is_leaf:
            return cotangents[0]
        if all(c is None for c in cotangents):
            return None
        given: set[int] = set()
        done: dict[int, Any] = {}

        def at(place: int) -> Any:
            value = cotangents[place]
            if place in given and is_array(value):
                return value.copy()  # no two results share memory, though the arguments did
            given.add(place)
            return value

        def part(v: Any, place: int | None) -> Any:
            while place is None and id(v) in self._live and self._seen[id(v)][0] is CELL:
                _, v, place = self._seen[id(v)][2][0]
            return done.get(id(v)) if place is None else at(place)

        def values(one: int) -> dict[Any, Any]:
            return {key: part(v, place) for key, v, place in self._seen[one][2]}

        for one in self._live:
            kind, x, _ = self._seen[one]
            if kind.bag:
                done[one] = Tangent(name_of(x))
            elif kind.mutable:
                done[one] = kind.blank(x)
        for one in self._inside_out(self._live, done):
            kind, x, _ = self._seen[one]
            done[one] = kind.tangent(x, values(one), gradient)
        for one in self._live:
            kind = self._seen[one][0]
            if kind.bag:
                vars(done[one]).update(values(one))
                if isinstance(self._seen[one][1], Tangent):  # whose name is no field of it
                    del vars(done[one])["_of"]
            elif kind.mutable and kind is not CELL:
                kind.fill(done[one], values(one))
        return part(self.root, None)

    @property
    def labels(self) -> str | None:
        """The type of an array in it of which more is known than its elements; None if none is."""
        held = [] if self.is_leaf else self._seen.values()
        return next((type(x).__name__ for kind, x, _ in held if kind.labels), None)

    def paths(self) -> list[str]:
        """Where each leaf is, as one would write it after the root's name: ``['w'][0].x``."""
        found = [""] * len(self.leaves)
        if self.is_leaf:
            return found
        waiting = [(self.root, "")]
        seen: set[int] = set()
        while waiting:
            x, path = waiting.pop()
            if id(x) in self._live and id(x) not in seen:
                seen.add(id(x))
                for key, value, place in self._seen[id(x)][2]:
                    if place is None:
                        waiting.append((value, path + step_of(key)))
                    else:
                        found[place] = found[place] or path + step_of(key)
        return found

    def match(self, other: Any, what: str, of: str = "cotangent") -> list[tuple[int, Any]]:
        """(place, part) for every part of `other`, which has this structure, or None for parts.

        Raises StructureError where it does not fit; `what` names the thing in the message.
        """
        what = f"the {of} does not fit {what}"
        if self.is_leaf:
            check_leaf(other, what, "")
            return [(0, other)]
        found: list[tuple[int, Any]] = []
        waiting = [(self.root, other, "")]
        seen: set[tuple[int, int]] = set()
        while waiting:
            x, c, path = waiting.pop()
            if c is None or id(x) not in self._live or (id(x), id(c)) in seen:
                continue
            seen.add((id(x), id(c)))
            kind, _, parts = self._seen[id(x)]
            if lack := kind.misfit(x, c):
                raise _misfit(what, path, lack, _described(c))
            if (
                kind.bag
                and isinstance(c, Tangent)
                and (more := vars(c).keys() - {key for key, _, _ in parts})
            ):
                raise _misfit(what, path, f"no field {min(more)!r}", _described(c))
            nested = isinstance(x, np.ndarray) and isinstance(c, np.ndarray) and c.ndim != 1
            flat = c.ravel() if nested else c
            for key, value, place in parts:
                if place is None and id(value) not in self._live:
                    continue
                inner = f"{path}{step_of(key)}"
                try:
                    part = None if kind.labels else kind.part(x, flat, key)
                except (KeyError, AttributeError, IndexError, TypeError):
                    raise _misfit(what, inner, "a part", f"none in {_described(c)}") from None
                if kind.labels:  # whose own errors say more; a gradient has units of its own
                    given = of == "gradient" and type(c) is type(x)
                    part = dict(kind.parts(c))[key] if given else kind.part(x, c, key)
                if place is None:
                    waiting.append((value, part, inner))
                else:
                    check_leaf(part, what, inner)
                    found.append((place, part))
        return found


class Searched(Structure):
    """A root in which watched values are looked for: arrays that cannot be watched hold none."""

    def kind_of(self, x: Any) -> Kind | None:
        return kind_of(x, refuse=False)


def _is_same(now: tuple[Any, Any], then: tuple[Any, Any]) -> bool:
    """Whether a part of a container is the same one, or an equal number, at the same place."""
    (key, v), (other, w) = now, then
    if key is not other and (key.key != other.key if type(key) is Key else key != other):
        return False
    return v is w or (type(v) is type(w) and type(v) in _PLAIN and v == w)


_PLAIN = {int, float, complex, str, bytes, bool}


def step_of(key: Any) -> str:
    return "" if key is None else f".{key}" if isinstance(key, str) else f"[{key!r}]"


def check_leaf(c: Any, what: str, path: str) -> None:
    """Raise StructureError where `c` is no cotangent of a number or an array."""
    if c is None or is_array(c) or isinstance(c, (np.generic, list, tuple, bool)) or is_number(c):
        return
    raise _misfit(what, path, "a number or an array", _described(c))


def _described(c: Any) -> str:
    t = type(c).__name__
    return f"a {t} of {len(c)}" if isinstance(c, (list, tuple, dict)) else f"a {t}"


def _misfit(what: str, path: str, needed: str, got: str) -> StructureError:
    return StructureError(
        f"{what}: at {path or 'the top'} it needs {needed}, got {got}.",
        "it must have the structure of the value it belongs to; None stands for any part of it.",
        "pass the same containers as the value, with one part for each number or array in it.",
    )


def name_of(x: Any) -> str:
    """What the Tangent of `x` is called: its type, or its own name if it is a function, or what
    it is the tangent of."""
    if isinstance(x, Tangent):
        return x._of
    return x.__name__ if isinstance(x, types.FunctionType) else type(x).__name__
