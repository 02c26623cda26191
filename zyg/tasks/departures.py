"""What a reverse pass asks of a cluster: it departs together, when the pass has to wait for it.

A `Connection` is to one cluster, of any engine; a `Cluster` is how it runs tasks of some options.
What departs has the settings of its own gradient, whoever has it depart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from itertools import groupby, islice
from threading import Lock, RLock
from typing import Any

from zyg.base.config import settings
from zyg.base.containers import Engine
from zyg.tasks.arrivals import Fetched, give, once, settle_cancelled
from zyg.tasks.shared import Shared, SharedOperands
from zyg.tasks.sums import Back, Node, Sums, Work, columns, grouped, picked, picked_all


class Asked(Fetched):
    """What comes here of a cluster: values that some work there makes, under these keys."""

    arrival: Any = None  # of what it and others are in, until that is here
    together: Sequence[Asked] = ()

    def begin(self, work: Work, keys: Sequence[Any]) -> None:
        """It is known what makes them."""
        self.work, self.keys = work, keys

    @staticmethod  # what it is given would else have it
    def taken(arrival: Any, paths: Sequence[Sequence[int]]) -> Any:
        """The values, out of what has arrived."""
        return picked_all(arrival.result(), paths)

    def cancel(self) -> bool:
        """As a future's; what computes it is cancelled with the last that it computes."""
        cancelled = super().cancel()
        if self.arrival is not None and all(one.cancelled() for one in self.together):
            self.arrival.cancel()
        return cancelled


class Return(Asked):
    """The cotangents of a kept task, at the `places` that come here, and those that `stay`."""

    nodes: dict[int, Node] | None = None  # those, in the work, from when it departs

    def __init__(
        self, kept: Any, bars: Any, expected: Any, places: Sequence[int], stay: Sequence[int]
    ) -> None:
        super().__init__()
        self.kept, self.bars, self.expected = kept, bars, expected
        self.places, self.stay = places, stay
        self.settings = settings()


class Sum(Asked):
    """The sum of values that stayed, or of arrays.

    It does not come where it is for another task, and nobody asks for what it is of if it is the
    `last` sum of that.
    """

    def __init__(self, given: Sequence[Any], last: bool, comes: bool) -> None:
        super().__init__()
        self.given, self.last, self.comes = given, last, comes

    @staticmethod
    def taken(arrival: Any, paths: Sequence[Sequence[int]]) -> Any:
        """The sum."""
        return picked(arrival.result(), *paths)


class Connection(Engine):
    """A cluster, and what is to go to it: cotangents for kept tasks, tasks that are run again."""

    def __init__(self) -> None:
        self.shares = SharedOperands()
        self.lock, self.sending = Lock(), RLock()
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

    def grouped(self, returns: Sequence[Return]) -> Iterable[Sequence[Return]]:
        """Which of them are to be one task there: those whose tapes are in one place."""
        return [[one] for one in returns]

    def gone_back(self, works: Sequence[Back]) -> Sequence[Any]:
        """The futures of what each of them makes, which `went_back` does there."""
        raise NotImplementedError

    # Departures

    def back(self, *given: Any) -> tuple[Return, Callable[[], None]]:
        """A `Return`, and what has it depart."""
        made = Return(*given)
        return made, self.depart(made)

    def added(self, given: Sequence[Any], last: bool = True) -> tuple[Sum, Callable[[], None]]:
        """The `Sum` of cotangents, and what has it depart."""
        made = Sum(given, last, True)
        return made, self.depart(made)

    def added_there(self, given: Sequence[Any]) -> Any:
        """The future, there, of the last sum of cotangents, for another task."""
        made = Sum(given, True, False)
        self.depart(made)()
        if made.done():  # another thread has sent it, and has failed
            made.result()
        raw, (path,) = made.work.made, made.work.paths(made.keys)
        return self.each(picked, [raw], [path])[0] if path else raw

    def depart(self, one: Any) -> Callable[[], None]:
        """Have a `Return`, a `Sum` or a task depart with others, by what is returned."""
        with self.lock:
            self.waiting.append((one, settings()))
        return self.send

    def send(self) -> None:
        """Let all of them depart."""
        with self.sending:
            with self.lock:
                waiting, self.waiting = self.waiting, []
            waiting = [both for both in waiting if not both[0].cancelled()]
            try:
                self._ask([one for one, _ in waiting if isinstance(one, Asked)])
                tasks = [both for both in waiting if not isinstance(both[0], Asked)]
                for (_, own), some in groupby(
                    tasks, lambda both: (both[0]._call.backend.options, both[1])
                ):
                    same = [task for task, _ in some]
                    same[0]._call.backend.start_all(same, own)
            except BaseException as error:
                for one, _ in waiting:  # nobody is to wait for ever
                    began = one.arrival if isinstance(one, Asked) else one.request is None
                    if not (began or one.done()):
                        one.set_exception(error)
                raise

    def _ask(self, asked: Sequence[Asked]) -> None:
        """Have cotangents go back and be added up; what is asked for of that comes here."""
        returns = [one for one in asked if isinstance(one, Return)]
        works = [Back(some) for some in self.grouped(returns)] if returns else []
        sums = Sums()
        planned = []
        for one in asked:
            if isinstance(one, Sum):
                nodes = [_node(*part) for part in one.given]
                if None in nodes:  # of a pass that has ended meanwhile
                    settle_cancelled(one, lost=False)
                else:
                    planned.append((one, sums.plan(nodes, one.last)))
        for work, made in zip(works, self.gone_back(works) if works else (), strict=True):
            work.departed(made)
        sums.depart(self.each)
        for one, node in planned:
            one.begin(node.work, [node.key])
        self._fetch(
            [*(one for one in returns if one.places), *(one for one, _ in planned if one.comes)]
        )

    def _fetch(self, asked: Sequence[Asked]) -> None:
        """Have values come here: alone, where there are others in what they are in."""
        parts = []
        for work, some in grouped(asked, lambda one: one.work):
            keys = [key for one in some for key in one.keys]
            paths = work.paths(keys)
            if len(keys) == len(work.results):
                self._await(some, work.made, paths)
            else:
                parts.append((some, work.made, paths))
        if parts:
            several, *given = columns(parts)
            for some, raw, paths in zip(
                several, self.each(picked_all, *given), given[1], strict=True
            ):
                self._await(some, raw, [(k,) for k in range(len(paths))])

    def _await(self, asked: Sequence[Asked], raw: Any, paths: Sequence[Any]) -> None:
        """Give each the values at its paths, which are in order."""

        def arrive(done: Any) -> None:
            for one in asked:
                one.arrival, one.together = None, ()
            if done.cancelled():
                for one in asked:
                    settle_cancelled(one)
                return
            for one in asked:
                own = [*islice(rest, len(one.keys))]
                give(one, functools.partial(one.taken, done, own), done.exception())

        rest, arrival = iter(paths), self.arrival(raw)
        for one in asked:
            one.arrival, one.together = arrival, asked
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


def _node(back: Any, place: int | None) -> Any:
    """One of the values of a sum: an array, or of a `Return`; None if that is cancelled."""
    if place is None:
        return Node(Work(back, [None]), None)
    return back.nodes and back.nodes[place]


def stepped_back(name: str, kept: Any, bars: list[Any], expected: list[Any]) -> Any:
    """There: the cotangents of the operands of a task, which `kept` gives."""
    try:
        return kept().back(bars, expected)
    except BaseException as error:  # which may reach the client by a sum of several tasks
        error.add_note(f"zyg: raised by the adjoint of {name}")
        raise
