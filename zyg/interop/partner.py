"""Calls into another differentiator, which knows the derivatives of its own functions.

A partner computes with arrays of its own. What it does is told by four functions, and one mechanism
does the rest: a call is one entry of each level that watches its operands. Where no level further
out does, the partner's own pullback is kept and run. Where one does, the pullback is a call into
the partner again, of a function that the partner can differentiate again: that is all of higher
orders and of forward mode.

A *function of the partner's* takes a list of its arrays, those by which it is differentiated first,
and returns a list of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.base import buffers
from zyg.core.strand import WATCHED
from zyg.verbs.checkpoints import OneEntry

Function = Any  # Callable[[list[Any]], list[Any]], or what else a partner makes of it
Pullback = Any


class Partner:
    """What a library is asked for; cotangents are those of zyg's convention."""

    def to(self, x: Any) -> Any:
        """An array of the library's with the value of a plain number or array.

        It may share the memory, which nobody writes to as long as the entry is there.
        """
        raise NotImplementedError

    def back(self, x: Any) -> Any:
        """A plain number or array with the value of an array of the library's."""
        raise NotImplementedError

    def value_and_pullback(
        self, f: Function, xs: Sequence[Any], n: int
    ) -> tuple[list[Any], Pullback]:
        """The value for plain numbers and arrays, and its pullback by the first n of them.

        That gives None for zeros, may be called again and by several threads, and is a function of
        the partner's, which can itself be differentiated.
        """
        raise NotImplementedError

    def results(self, own: Pullback, ys: list[Any]) -> list[Any]:
        """The value of a run, plain."""
        return [*map(self.back, ys)]

    def pulled(self, own: Pullback, bars: list[Any]) -> list[Any]:
        """The cotangents, plain, that the pullback of a run gives for these."""
        return [None if c is None else self.back(c) for c in own(bars)]

    def vjp(self, f: Function, n: int, m: int) -> Function:
        """The same as a function of n operands, m cotangents, and the other operands."""
        raise NotImplementedError


def call(partner: Partner, name: str, f: Function, active: Sequence[Any], rest: Any = ()) -> Any:
    """``f([*active, *rest])``, differentiated by `active`: an array, or a tuple of several."""
    return OneEntry(name, _Crossing(partner, name, f, len(active)))(*active, *rest)


class _Crossing:
    """The rule of one call."""

    def __init__(self, partner: Partner, name: str, f: Function, n: int) -> None:
        self.partner, self.name, self.f, self.n = partner, name, f, n

    def __call__(self, *xs: Any) -> tuple[Any, Callable[[Any], Any]]:
        if WATCHED.isdisjoint(map(type, xs)):
            y = self.value(xs)
        else:
            y = call(self.partner, self.name, self.f, xs[: self.n], xs[self.n :])
        return y, lambda y_bar: self.pull(xs, y_bar)

    def value(self, xs: Sequence[Any]) -> Any:
        partner = self.partner
        ys, self.own = partner.value_and_pullback(self.f, xs, self.n)
        found = partner.results(self.own, ys)
        return found[0] if len(found) == 1 else tuple(found)

    def pull(self, xs: Sequence[Any], y_bar: Any) -> tuple[Any, ...]:
        partner, n = self.partner, self.n
        bars = [*y_bar] if type(y_bar) is tuple else [y_bar]
        if not WATCHED.isdisjoint(map(type, xs)):
            vjp = partner.vjp(self.f, n, len(bars))
            found = call(partner, self.name, vjp, [*xs[:n], *bars], xs[n:])
        elif not WATCHED.isdisjoint(map(type, bars)):
            found = call(partner, self.name, self.own, bars)
        else:
            found = tuple(partner.pulled(self.own, [*map(partner.to, bars)]))
        return (*(found if type(found) is tuple else (found,)), *[None] * (len(xs) - n))


class Handed(buffers.Alone):
    """The base of an array in memory of a partner's, which keeps what has the memory."""

    __slots__ = ("__array_interface__", "of")

    def __init__(self, x: np.ndarray[Any, Any], of: Any) -> None:
        self.of = of
        self.__array_interface__ = interface = x.__array_interface__  # a dict of its own
        interface["data"] = (interface["data"][0], False)


def over(x: np.ndarray[Any, Any], of: Any) -> Any:
    """A writable array in the memory of `x`, which `of` has alone, or whose sharing is nobody's
    concern."""
    return np.asarray(Handed(x, of)).view()
