"""Values that are plain trees: a number or an array; dicts, lists, tuples and objects of such."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.base.bags import Tangent
from zyg.base.containers import ATOMS, BY_TYPE, is_object
from zyg.base.kinds import bare
from zyg.base.structure import Structure, check_leaf

_NUMBERS = {float, int, complex, np.float64}
_PARTS = {*_NUMBERS, np.ndarray}
_BRANCHES = {dict, list, tuple}

# A branch: its type, its keys if it is a dict, its fields if it is an object, its parts; where each
# of these is: among the leaves, among the branches as ~k, or neither: None; and whether one of them
# is a leaf.
_Branch = tuple[type, "list[Any] | None", list[Any], "list[int | None]", bool]


class Tree:
    """What `Structure` is to a value in which nothing is met twice, with fewer steps."""

    __slots__ = ("branches", "is_leaf", "leaves")
    labels = None

    def __init__(self, leaves: list[Any], branches: list[_Branch]) -> None:
        self.leaves = leaves
        self.branches = branches  # the root first, each before those in it; none if that is a leaf
        self.is_leaf = not branches

    def rebuild(self, leaves: list[Any]) -> Any:
        """A copy of the root with these leaves in place of its own."""
        return self._built(leaves, True) if self.branches else leaves[0]

    def tangent(self, cotangents: list[Any], gradient: bool = False) -> Any:
        """The gradient of the root: a cotangent at each leaf, None for everything else."""
        if not self.branches:
            return cotangents[0]
        return None if all(c is None for c in cotangents) else self._built(cotangents, False)

    def _built(self, leaves: list[Any], whole: bool) -> Any:
        """The root with these leaves, inside out; unless `whole`, with None for all without one."""
        made: list[Any] = [None] * len(self.branches)
        for k in range(len(made) - 1, -1, -1):
            kind, keys, parts, places, leafy = self.branches[k]
            values = [
                (v if whole else None) if p is None else leaves[p] if p >= 0 else made[~p]
                for v, p in zip(parts, places, strict=True)
            ]
            if not (whole or leafy or any(p is not None and made[~p] is not None for p in places)):
                continue
            if keys is None:
                made[k] = kind(values)
            elif kind is dict:
                made[k] = dict(zip(keys, values, strict=True))
            else:
                made[k] = bare(kind) if whole else Tangent(kind.__name__)
                made[k].__dict__.update(zip(keys, values, strict=True))
        return made[0]

    def paths(self) -> list[str]:
        """Where each leaf is, as one would write it after the root's name."""
        return self._structure().paths()

    def match(self, other: Any, what: str, of: str = "cotangent") -> list[tuple[int, Any]]:
        """(place, part) for every part of `other`, which has this structure, or None for parts."""
        if not self.branches:
            check_leaf(other, f"the {of} does not fit {what}", "")
            return [(0, other)]
        return self._fitting(other) or self._structure().match(other, what, of)

    def _fitting(self, other: Any) -> list[tuple[int, Any]] | None:
        """The parts of `other`, if it is a tree of this form with a plain part for each leaf."""
        fitting: list[Any] = [None] * len(self.leaves)
        inside: list[Any] = [other, *[None] * (len(self.branches) - 1)]
        for k, (kind, keys, parts, places, _) in enumerate(self.branches):
            c: Any = inside[k]
            if type(c) is not (kind if kind in _BRANCHES else Tangent):
                return None
            c = vars(c) if type(c) is Tangent else c
            if len(c) != len(parts):
                return None
            if keys is not None:
                if c.keys() != {*keys}:
                    return None
                c = [c[key] for key in keys]
            for p, part in zip(places, c, strict=True):
                if p is None:
                    continue
                if p < 0:
                    inside[~p] = part
                elif part is None or type(part) in _PARTS:
                    fitting[p] = p, part
                else:
                    return None
        return fitting

    def _structure(self) -> Structure:
        mine = {*map(id, self.leaves)}
        return Structure(self.rebuild(self.leaves), lambda x: id(x) in mine, shared=True)


class Row:
    """What `Structure` is to a tuple, or a named one, that holds leaves only."""

    __slots__ = ("kind", "leaves")
    repeated = False

    def __init__(self, root: tuple[Any, ...]) -> None:
        self.kind, self.leaves = type(root), [*root]

    def rebuild(self, leaves: list[Any]) -> Any:
        return tuple.__new__(self.kind, leaves)

    def match(self, other: Any, what: str, of: str = "cotangent") -> list[tuple[int, Any]]:
        """(place, part) for every part of `other`, which has this structure, or None for parts."""
        mine = {*map(id, self.leaves)}
        return Structure(self.rebuild(self.leaves), lambda x: id(x) in mine).match(other, what, of)


def taken_apart(x: Any, leaf: Callable[[Any], bool], *, shared: bool = True) -> Tree | Structure:
    """The structure of a value, of an argument (`shared`) or of a result.

    Its leaves are numbers, and what `leaf` holds of.
    """
    t = type(x)
    if t in _NUMBERS or (t not in ATOMS and t not in BY_TYPE and leaf(x)):
        return Tree([x], [])
    if t in _BRANCHES or is_object(x):
        return _tree(x, leaf, shared) or Structure(x, leaf, shared=shared)
    return Structure(x, leaf, shared=shared)


def _tree(root: Any, leaf: Callable[[Any], bool], copied: bool) -> Tree | None:
    """What holds leaves, and nothing twice; None where there is more to be done.

    A branch without leaves is there only where it is `copied`, and not itself in a copy.
    """
    leaves: list[Any] = []
    branches: list[Any] = [None]
    seen = {id(root)}
    waiting = [(0, root)]
    while waiting:  # in the order of `Structure`, which numbers the leaves
        k, x = waiting.pop()
        fields = x if type(x) in _BRANCHES else vars(x)
        keys = [*fields] if type(fields) is dict else None
        parts = [*fields.values()] if type(fields) is dict else [*fields]
        places: list[int | None] = []
        first = len(leaves)
        for v in parts:
            t = type(v)
            if t in ATOMS:
                places.append(None)
                continue
            if t not in _NUMBERS:
                if id(v) in seen:
                    return None
                seen.add(id(v))
                is_leaf = t not in BY_TYPE and leaf(v)
                if t in _BRANCHES or (not is_leaf and is_object(v)):
                    places.append(~len(branches))
                    waiting.append((len(branches), v))
                    branches.append(None)
                    continue
                if not is_leaf:
                    return None
            places.append(len(leaves))
            leaves.append(v)
        branches[k] = type(x), keys, parts, places, len(leaves) > first
    return Tree(leaves, branches) if leaves and _live(branches, copied) else None


def _live(branches: list[_Branch], copied: bool) -> bool:
    """Whether there is a leaf in every branch; if `copied`, in every object."""
    live: dict[int, bool] = {}
    for k in range(len(branches) - 1, -1, -1):
        kind, _, _, places, leafy = branches[k]
        live[k] = leafy or any(p is not None and p < 0 and live[~p] for p in places)
        if not live[k] and not (copied and kind in _BRANCHES):
            return False
    return True
