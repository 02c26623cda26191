"""Channels of a reverse pass: cotangents on their way from task to task.

Those of the imports of one slot are added up in the order of the tasks that made them in the tree
of tasks, the one forked last first, and backwards in each: not in that in which they come.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.core.exchange import Import
from zyg.core.strand import Strand
from zyg.core.views import ViewSlot

_brief = threading.Lock()  # of the channels of one import, which take what they are sent


class AdjointChannel:
    """The cotangents of one exported value, on their way back from those who imported it."""

    __slots__ = ("given", "left", "lock", "owned", "parked", "parts", "total", "upto")

    def __init__(self, imports: Sequence[Import], ranks: dict[Strand, int]) -> None:
        self.lock = _brief
        if len(imports) > 1:  # added up in the order in which adjoint tasks are ready
            self.lock = threading.Lock()
            imports = sorted(imports, key=lambda made: (ranks[made.target], -made.number))
            for rank, made in enumerate(imports):
                made.rank = rank
        self.given: dict[int, tuple[Any, Any]] | None = None  # what is not yet added up, by rank
        self.upto = 0  # ranks below have been added up
        self.left = len(imports)
        self.total: Any = None
        self.owned = False  # whether the total is an array made here
        # What came from imports of views, by their places.
        self.parts: list[tuple[Any, Any]] | None = None
        self.parked: int | None = None  # the rank of the adjoint task that waits

    def send(self, made: Import, c: Any, *, add: bool) -> int | None:
        """Deliver one cotangent; returns which adjoint task waited for it, if it was the last.

        With `add` it is added up at once, if those before it have come; otherwise by the receiver.
        """
        with self.lock:
            if add and made.rank == self.upto:
                self._add(made.slot, c)
                if self.given:
                    self._add_given(self.given)
            else:
                self.given = self.given or {}
                self.given[made.rank] = made.slot, c
            self.left -= 1
            return self.parked if not self.left else None

    def _add_given(self, given: dict[int, tuple[Any, Any]]) -> None:
        while (found := given.pop(self.upto, None)) is not None:
            self._add(*found)

    def _add(self, slot: Any, c: Any) -> None:
        self.upto += 1
        if c is None:
            return
        if type(slot) is ViewSlot:
            self.parts = self.parts or []
            self.parts.append((slot, c))
        elif self.total is None:
            self.total = c
        elif self.owned and type(c) is np.ndarray:
            np.add(self.total, c, out=self.total)
        else:
            self.total = self.total + c
            self.owned = type(self.total) is np.ndarray

    def receive(self, task: Any, slot: Any) -> bool:
        """Give `task` all that came for a slot; or have it wait for the last delivery: False."""
        with self.lock:
            if self.left:
                self.parked = task.rank
                return False
        if self.given:
            self._add_given(self.given)
        if self.total is not None:
            task.run.add(slot, self.total)
        for part, c in self.parts or ():
            task.run.add(part, c)
        return True
