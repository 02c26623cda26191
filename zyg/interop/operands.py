"""The arguments of a call into a partner, and its result: what in them are arrays to zyg."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.base.containers import ATOMS
from zyg.base.structure import Structure
from zyg.core.strand import WATCHED, cut, settle, strip

_NUMBERS = {float, complex}
_PLAIN = {*ATOMS, *_NUMBERS, int}


class Operands:
    """The numbers and arrays in the arguments of a call.

    `active` are those by which it is differentiated: watched ones that are no integers. `rest` are
    the other arrays. Numbers of Python's that nobody watches stay what they are, and so do what
    `passes` holds of, and all else.
    """

    __slots__ = ("active", "args", "is_row", "kwargs", "leaves", "places", "rest", "whole")

    def __init__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], passes: Callable[[Any], bool]
    ) -> None:
        self.args, self.kwargs = args, kwargs
        self.is_row = not kwargs and all(
            type(x) in WATCHED or type(x) is np.ndarray or type(x) in _PLAIN or passes(x)
            for x in args
        )
        if self.is_row:
            self.leaves = [*args]
        else:
            self.whole = Structure((args, kwargs), lambda x: _is_part(x) or passes(x))
            self.leaves = [*self.whole.leaves]
        active, rest = list[int](), list[int]()
        for k, x in enumerate(self.leaves):
            if type(x) in WATCHED:
                x = self.leaves[k] = unless_integer(settle(x))
                if type(x) in WATCHED:
                    active.append(k)
                    continue
            if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufc":
                rest.append(k)
        self.places = [*active, *rest]
        self.active = [self.leaves[k] for k in active]
        self.rest = [self.leaves[k] for k in rest]

    @property
    def has_numbers_only(self) -> bool:
        return bool(self.args) and self.is_row and all(type(x) in _NUMBERS for x in self.leaves)

    def rebuild(self, theirs: Sequence[Any]) -> tuple[Any, dict[str, Any]]:
        """The arguments with arrays of the partner's for the active ones and the rest."""
        leaves = [*self.leaves]
        for k, x in zip(self.places, theirs, strict=True):
            leaves[k] = x
        return (leaves, {}) if self.is_row else self.whole.rebuild(leaves)


def _is_part(x: Any) -> bool:
    return type(x) in WATCHED or isinstance(x, (np.ndarray, np.generic))


def unless_integer(x: Any) -> Any:
    """A watched value; the plain one where it is an integer, which has no derivative elsewhere."""
    if type(x) not in WATCHED:
        return x
    plain = strip(x)
    is_integer = plain.dtype.kind in "biu" if hasattr(plain, "dtype") else isinstance(plain, int)
    return (
        cut(x, "a call into another library, to which integers are constants") if is_integer else x
    )


class Result:
    """What a call has returned: its arrays that have a derivative, and all else."""

    __slots__ = ("constants", "moving", "places", "whole")

    def __init__(
        self,
        y: Any,
        is_theirs: Callable[[Any], bool],
        moves: Callable[[Any], bool],
    ) -> None:
        self.whole = None if is_theirs(y) else Structure(y, is_theirs)
        leaves = [y] if self.whole is None else self.whole.leaves
        self.places = [k for k, t in enumerate(leaves) if moves(t)]
        self.moving = [leaves[k] for k in self.places]
        self.constants = {k: t for k, t in enumerate(leaves) if not moves(t)}

    def rebuild(self, ours: Any, constant: Callable[[Any], Any]) -> Any:
        """The result with these, one or a tuple of several, in place of what has a derivative."""
        if self.whole is None and self.places:
            return ours
        found = {k: constant(t) for k, t in self.constants.items()}
        found.update(zip(self.places, (ours,) if len(self.places) == 1 else ours, strict=True))
        if self.whole is None:
            return found[0]
        return self.whole.rebuild([found[k] for k in range(len(found))])
