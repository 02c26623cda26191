"""Large values that many tasks of a cluster use: sent once, their cotangents added up there.

Such a value has a strand of its own here. The tasks import it from there, so that the reverse pass
brings together what they give back, in the order of the tasks, before it is passed on to where the
value came from. What they give back are no numbers but the places of numbers on the cluster, and
what is passed on is their sum, which workers have made.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from zyg.base.containers import Engine
from zyg.core.entries import Kind, kinds, note
from zyg.core.exchange import bring
from zyg.core.questions import is_traced
from zyg.core.reverse import Later, Run
from zyg.core.strand import ARRAYS, child, local, settle
from zyg.core.views import base_of
from zyg.tasks.sums import plus

LARGE = 1 << 16  # bytes of an array that is not sent with each task


def is_large(x: Any) -> bool:
    """Whether a value is a plain array of so many bytes."""
    return type(x) is np.ndarray and x.nbytes >= LARGE


class Shared(Engine):
    """A watched array that is on the cluster: its future, and its value, which tasks import."""

    def __init__(self, cluster: Any, x: Any) -> None:
        self.cluster, self.source = cluster, x.strand
        strand = child(local(x.strand), "a shared operand", False)
        alias = bring(strand, x)
        self.future = cluster.put(alias.primal)
        self.value = note(strand, alias.primal, shared_pullback, cluster, alias.slot)


class SharedOperands(Engine):
    """The arrays of running gradients that a cluster has, each once."""

    def __init__(self) -> None:
        # By the strands and slots of the arrays; a strand lives as long as what is shared of it.
        self.known: WeakValueDictionary[tuple[int, Any], Shared] = WeakValueDictionary()
        self.lock = Lock()

    def of(self, cluster: Any, x: Any) -> Shared | None:
        """What is shared of an operand; None if it is to be sent with its task.

        A view is, and an array that was written to and that no other task has seen since.
        """
        x = settle(x)
        if type(x) not in ARRAYS or not is_large(x.primal):
            return None
        memory = x.strand.known_memory()
        if base_of(x) is not x or (memory is not None and x.slot in memory.written):
            return None
        key = id(x.strand), x.slot
        with self.lock:
            found = self.known.get(key)
            if found is None:
                found = self.known[key] = Shared(cluster, x)
            return found


class Parts(Engine):
    """Cotangents that are to be added up: of each what goes back, and its place; or an array."""

    __array_ufunc__ = None  # an array that is added to it leaves that to it

    def __init__(self, cluster: Any, given: Sequence[tuple[Any, int | None]]) -> None:
        self.cluster, self.given = cluster, given

    def __add__(self, other: Any) -> Any:
        if is_traced(other):  # by an outer gradient: it cannot go there as it is
            return plus(self.here(), other)
        return Parts(self.cluster, [*self.given, *_given(other)])

    def __radd__(self, other: Any) -> Any:
        if is_traced(other):
            return self + other
        return Parts(self.cluster, [*_given(other), *self.given])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.here(), dtype)

    def here(self) -> Any:
        """Their sum, which is waited for; None if all of them are nothing."""
        total, send = self.cluster.added(self.given, last=False)
        send()
        return total.result()


def _given(c: Any) -> Sequence[tuple[Any, int | None]]:
    """The parts of a cotangent, which may be an array that is here."""
    return c.given if isinstance(c, Parts) else [(c, None)]


def shared_pullback(run: Run, y_bar: Any, cluster: Any, slot: Any) -> Any:
    """The cotangent of an array that was shared: the sum of what its tasks give back."""
    if type(y_bar) is not Parts:  # of tasks that an outer gradient has run again here
        return [(slot, y_bar)]
    total, send = cluster.added(y_bar.given)
    return Later(total, functools.partial(_if_any, slot), send)


def _if_any(slot: Any, c: Any) -> Iterator[tuple[Any, Any]]:
    return iter(() if c is None else ((slot, c),))


kinds[shared_pullback] = Kind(lambda _, slot: [slot], None, lambda *_: "a shared operand")
