"""What a reverse pass asks of a cluster: it departs together, when the pass has to wait for it.

A `Connection` is to one cluster, of any engine; a `Cluster` is how it runs tasks of some options.
What departs has the settings of its own gradient, whoever has it depart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import groupby
from threading import Lock
from typing import Any

from zyg.base.config import settings
from zyg.base.containers import Engine
from zyg.tasks.arrivals import Fetched, give, once, settle_cancelled
from zyg.tasks.shared import Parts, Shared, SharedOperands, picked_all, tree


class Return(Fetched):
    """The cotangents of a kept task, at the `places` that come here; others stay there."""

    def __init__(self, kept: Any, bars: Any, expected: Any, places: Sequence[int]) -> None:
        super().__init__()
        self.kept, self.bars, self.expected, self.places = kept, bars, expected, places
        self.settings = settings()
        self.stays = False  # whether some others stay
        self.sent: Any = None  # the future of this and others, and the place in it
        self.arrival: Any = None  # of these, until it is here
        self.together: Sequence[Return] = ()

    def taken(self, arrival: Any, k: int, whole: bool) -> Any:
        """What has arrived with others: the `whole`, or the places that come here."""
        bars = arrival.result()[k]
        return picked_all(bars, self.places) if whole else bars

    def cancel(self) -> bool:
        """As a future's; what computes it is cancelled with the last that it computes."""
        cancelled = super().cancel()
        if self.arrival is not None and all(one.cancelled() for one in self.together):
            self.arrival.cancel()
        return cancelled


class Connection(Engine):
    """A cluster, and what is to go to it: cotangents for kept tasks, tasks that are run again."""

    def __init__(self) -> None:
        self.shares = SharedOperands()
        self.lock = Lock()
        self.waiting: list[tuple[Any, dict[str, Any]]] = []  # with its settings

    # What an engine gives

    def each(self, f: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """The futures, there, of the values of a function of ours."""
        raise NotImplementedError

    def put(self, x: Any) -> Any:
        """The future of a value that is sent."""
        raise NotImplementedError

    def arrival(self, raw: Any) -> Future[Any]:
        """The future, here, of a value."""
        raise NotImplementedError

    def asked(self, returns: Sequence[Return]) -> list[tuple[list[Return], Any]]:
        """Which of them are asked for together, and the future of the list of what each is of."""
        raise NotImplementedError

    # Departures

    def back(
        self, kept: Any, bars: Sequence[Any], expected: list[Any], places: Sequence[int]
    ) -> tuple[Return, Callable[[], None]]:
        """The future of the cotangents at some places, and what has it depart."""
        made = Return(kept, [*bars], expected, places)
        return made, self.depart(made)

    def part(self, back: Return, place: int) -> Parts:
        """A cotangent that stays where it is."""
        back.stays = True
        return Parts(self, [(back, (place,))])

    def added(self, given: Sequence[tuple[Any, Sequence[int]]]) -> Any:
        """The future of the sum of cotangents that stayed."""
        self.send()
        return tree(self.each, [*map(_there, given)])

    def depart(self, one: Any) -> Callable[[], None]:
        """Have a `Return`, or a task, depart with others, by what is returned."""
        with self.lock:
            self.waiting.append((one, settings()))
        return self.send

    def send(self) -> None:
        """Let all of them depart."""
        with self.lock:
            waiting, self.waiting = self.waiting, []
        waiting = [both for both in waiting if not both[0].cancelled()]
        try:
            if returns := [one for one, _ in waiting if isinstance(one, Return)]:
                self._send_back(returns)
            tasks = [both for both in waiting if not isinstance(both[0], Return)]
            for (_, own), some in groupby(
                tasks, lambda both: (both[0]._call.backend.options, both[1])
            ):
                same = [task for task, _ in some]
                same[0]._call.backend.start_all(same, own)
        except BaseException as error:
            for one, _ in waiting:  # nobody is to wait for ever
                began = one.arrival if isinstance(one, Return) else one.request is None
                if not (began or one.done()):
                    one.set_exception(error)
            raise

    def _send_back(self, returns: list[Return]) -> None:
        """Have the cotangents come here that do not stay: alone, where there are others."""
        whole: list[tuple[list[Return], Any]] = []
        rest: list[tuple[list[Return], Any]] = []
        for some, raw in self.asked(returns):
            for k, one in enumerate(some):
                one.sent = raw, k
            (rest if any(one.stays for one in some) else whole).append((some, raw))
        rest = [both for both in rest if any(one.places for one in both[0])]
        for some, raw in whole:
            self._await(some, raw, True)
        if rest:
            places = [[one.places for one in some] for some, _ in rest]
            found = self.each(others, [raw for _, raw in rest], places)
            for (some, _), raw in zip(rest, found, strict=True):
                self._await(some, raw, False)

    def _await(self, returns: list[Return], raw: Any, whole: bool) -> None:
        def arrive(done: Any) -> None:
            for one in returns:
                one.arrival, one.together = None, ()
            if done.cancelled():
                for one in returns:
                    settle_cancelled(one)
                return
            for k, one in enumerate(returns):
                give(one, functools.partial(one.taken, done, k, whole), done.exception())

        arrival = self.arrival(raw)
        for one in returns:
            one.arrival, one.together = arrival, returns
        arrival.add_done_callback(once(arrive))


class Cluster(Engine):
    """How tasks of some options are run where values stay, so that large ones are sent once."""

    remote = True
    keep = True  # whether more than the value of a task stays there

    def __init__(self, connection: Connection, options: dict[str, Any]) -> None:
        self.connection, self.options = connection, options
        self.arrival, self.depart = connection.arrival, connection.depart

    def shared(self, operands: Sequence[Any]) -> dict[int, Shared]:
        """The operands that are sent once, by their places."""
        if not self.keep:
            return {}
        shares = self.connection.shares
        found = ((k, shares.of(self.connection, x)) for k, x in enumerate(operands))
        return {k: x for k, x in found if x is not None}


def _there(given: tuple[Any, Sequence[int]]) -> tuple[Any, Sequence[int]]:
    """A part of a result, of the future that it is in."""
    found, path = given
    if not isinstance(found, Return):
        return given
    raw, place = found.sent
    return raw, (place, *path)


def others(found: Sequence[Any], places: Sequence[Sequence[int]]) -> list[Any]:
    """There: the cotangents that are asked for."""
    return [*map(picked_all, found, places)]


def stepped_back(name: str, kept: Any, bars: list[Any], expected: list[Any]) -> Any:
    """There: the cotangents of the operands of a task, which `kept` gives."""
    try:
        return kept().back(bars, expected)
    except BaseException as error:  # which may reach the client by a sum of several tasks
        error.add_note(f"zyg: raised by the adjoint of {name}")
        raise
