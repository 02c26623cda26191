"""Several tasks of a cluster as one of its own, as each of those costs its coordinator some work.

Each task has a value, an error and a way back of its own; what is cut into which batches changes no
bit of a gradient. What is kept of a batch stays where it was run, and goes elsewhere as its values:
so what goes back has with it what the batch was made of, for a worker that has to run it again.
"""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import cloudpickle
from distributed import Future as RemoteFuture
from distributed import Reschedule, get_worker

from zyg.base.containers import Engine
from zyg.core.strand import strip
from zyg.tasks import recipes
from zyg.tasks.arrivals import Arrivals, Fetched, give, once, settle_cancelled
from zyg.tasks.departures import stepped_back
from zyg.tasks.recipes import Kept, Made, loaded
from zyg.tasks.shared import is_large
from zyg.tasks.shipping import demand_version, version
from zyg.tasks.sums import Back, columns, grouped, went_back

MOST = 32  # tasks of a batch
FEW = 8  # tasks that are not cut
_BYTES = 1 << 20  # of the operands of a batch
_LIGHT = 1 << 14  # bytes of a batch that are sent twice


class Member(Fetched):
    """A task of a batch: the future, here, of its value."""

    def __init__(self, batch: Batch, place: int) -> None:
        super().__init__()
        self.batch, self.place = batch, place
        self._future: Any = None

    @property
    def future(self) -> Any:
        """The future of the value on the cluster, for other tasks."""
        batch = self.batch
        if batch.single:
            return batch.made
        if self._future is None:
            self._future = batch.client.submit(value_at, batch.made, self.place, pure=False)
        return self._future

    def cancel(self) -> bool:
        """As a future's; the batch is cancelled with the last of its tasks."""
        cancelled = super().cancel()
        self.batch.cancel()
        return cancelled

    def release(self) -> None:
        """As of Dask's futures: it is the gradient that lets go, when it has been taken."""

    def __getattr__(self, name: str) -> Any:
        """What else a future of Dask's has: that of the batch."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.batch.made, name)


class Batch(Engine):
    """Tasks that are one of Dask's: the future of what it makes, and what it is made of."""

    def __init__(self, client: Any, arrivals: Arrivals, made: Any, call: Any, count: int) -> None:
        self.client, self.made, self.call = client, made, call
        self.single = count == 1
        self.where: tuple[Any, int] = id(self), 1  # the worker that ran it, and its threads
        self.members = [Member(self, k) for k in range(count)]  # until their values are here
        self.arrival: Any = arrivals.of(made)

    def fetch(self) -> list[Member]:
        """The tasks, whose values come here."""
        members = [*self.members]
        self.arrival.add_done_callback(once(self._arrive))
        return members

    def cancel(self) -> None:
        """Cancel what runs, if all that wait for it are cancelled."""
        if all(member.cancelled() for member in self.members) and self.arrival is not None:
            self.arrival.cancel()

    def _arrive(self, done: Any) -> None:
        members, self.members, self.arrival = self.members, [], None
        if done.cancelled():
            for member in members:
                settle_cancelled(member)
        elif self.single:
            give(members[0], lambda: self._value(done.result()), done.exception())
        else:
            self._distribute(members, done)

    def _distribute(self, members: list[Member], done: Any) -> None:
        """Which of several has raised is only seen in their values."""
        try:
            found = done.result()
        except BaseException as error:
            found = [Failed(error)] * len(members)
        for member, value in zip(members, found, strict=True):
            raised = value.error if isinstance(value, Failed) else None
            give(member, functools.partial(self._value, value), raised)

    def _value(self, found: Any) -> Any:
        if isinstance(found, Made):
            self.where = found.where
        return value_in(found)


def in_one_place(returns: Sequence[Any]) -> Iterator[list[Any]]:
    """Those that go back in one task there: one for each thread that has tapes of theirs."""
    for (_, threads, *_), some in grouped(
        returns, lambda one: (*one.kept[0].where, *one.settings.values())
    ):
        batches = grouped(some, lambda one: one.kept[0])
        for k in range(min(threads, len(batches))):
            yield [one for _, members in batches[k::threads] for one in members]


def gone_back(client: Any, works: Sequence[Back]) -> Any:
    """The futures of what goes back, for each of some works."""
    rows = []
    for work in works:
        batches = dict(grouped(work.returns, lambda one: one.kept[0]))
        place = {batch: k for k, batch in enumerate(batches)}
        each = [(place[x.kept[0]], x.kept[1], x.bars, x.expected) for x in work.returns]
        asked = work.returns[0].settings, each, work.program(), [*work.results]
        calls = [[*batch.call] for batch in batches]
        rows.append(([batch.made for batch in batches], *packed(asked), calls, version()))
    return client.map(back_all, *columns(rows), pure=False)


# How tasks are cut into them


def cut(tasks: Sequence[Any], threads: int, most: int = MOST) -> Iterator[list[Any]]:
    """The tasks in batches, for workers that have so many threads in all; each alone for none.

    Large batches are first and single tasks last, so all workers end at about the same time. A task
    with large operands, or with values that lie on the cluster, where it is to go, is alone.
    """
    at, end = 0, len(tasks)
    while at < end:
        share = min(most, (end - at) // (2 * threads)) if threads else 1
        batch, room = [tasks[at]], _BYTES - _weight(tasks[at])
        while len(batch) < share and (room := room - _weight(tasks[at + len(batch)])) >= 0:
            batch.append(tasks[at + len(batch)])
        yield batch
        at += len(batch)


def _weight(task: Any) -> int:
    """Bytes of the operands; of one that goes to where a value is, more than any batch has."""
    if task.request[-1]:
        return _BYTES + 1
    return sum(getattr(strip(x), "nbytes", 8) for x in task._operands)


# How it goes there


class _Packing(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles everything but what is on the cluster, and large arrays."""

    def __init__(self, file: Any) -> None:
        super().__init__(file)
        self.apart: list[Any] = []
        self.places: dict[int, int] = {}

    def persistent_id(self, x: Any) -> Any:
        if not (isinstance(x, RemoteFuture) or is_large(x)):
            return None
        if id(x) not in self.places:
            self.places[id(x)] = len(self.apart)
            self.apart.append(x)
        return 0, self.places[id(x)]


def packed(x: Any) -> tuple[bytes, list[Any]]:
    """A pickle, and what it is without: Dask looks into lists for its futures, not into bytes."""
    file = io.BytesIO()
    packing = _Packing(file)
    packing.dump(x)
    return file.getvalue(), packing.apart


def start(
    client: Any,
    arrivals: Arrivals,
    batches: list[list[Any]],
    keeps: bool,
    own: dict[str, Any],
    options: Any,
) -> list[Batch]:
    """Have batches of tasks run, as one graph, with settings of their own."""
    calls = [packed((own, [task.request for task in batch])) for batch in batches]
    if keeps:
        calls = [_twice(client, *call, options) for call in calls]
    n = len(batches)
    given = [keeps] * n, *map(list, zip(*calls, strict=True)), [version()] * n
    raws = client.map(run_all, *given, pure=False, **options)
    each = zip(batches, raws, calls, strict=True)
    return [Batch(client, arrivals, raw, call, len(batch)) for batch, raw, call in each]


def _twice(client: Any, blob: bytes, apart: list[Any], options: Any) -> Any:
    """A call that goes there and, with what goes back, again: its large parts are there once."""

    def put(x: Any) -> Any:
        return client.submit(recipes.same, x, pure=False, **options)

    there = [x if isinstance(x, RemoteFuture) else put(x) for x in apart]
    return blob if len(blob) <= _LIGHT else put(blob), there


# What is done there


class Failed:
    """What one of several tasks has raised."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __reduce__(self) -> Any:
        for given in ((self.error, self.error.__traceback__), (self.error, None)):
            try:
                blob = cloudpickle.dumps(given)
                pickle.loads(blob)
            except Exception:  # then without its traceback, or as a text
                continue
            return _failed, (blob,)
        return Failed, (RuntimeError(repr(self.error)),)


def _failed(blob: bytes) -> Failed:
    error, traceback = pickle.loads(blob)
    return Failed(error.with_traceback(traceback))


def run_all(keeps: bool, blob: bytes, apart: list[Any], by: str) -> Any:
    """What the tasks of a batch make, or have raised; of a single one, what it makes.

    `by` is the version of who asks.
    """
    demand_version(by)
    own, calls = _opened(blob, apart)
    make = functools.partial(recipes.keep, where=_here()) if keeps else recipes.call

    def outcome(call: Any) -> Any:
        try:
            return recipes.run(own, make, *call)
        except Reschedule:
            raise
        except Exception as error:
            return Failed(error)

    return recipes.run(own, make, *calls[0]) if len(calls) == 1 else [*map(outcome, calls)]


def _here() -> tuple[str, int]:
    """This worker: its address, and how many tasks it runs at once."""
    worker = get_worker()
    return worker.address, worker.state.nthreads


def _opened(blob: bytes, apart: list[Any]) -> Any:
    """What was packed, with the values of other tasks in it."""
    return loaded(blob, [*map(value_in, apart)], ())


def value_at(made: Any, place: int) -> Any:
    """The value of one of a batch's tasks."""
    return value_in(made[place])


def value_in(found: Any) -> Any:
    """The value in what a task has made, which may be kept, or have raised."""
    if isinstance(found, Failed):
        raise found.error
    return found.value if isinstance(found, Made) else found


def back_all(made: list[Any], asked: bytes, given: list[Any], calls: list[Any], by: str) -> Any:
    """What some tasks of some batches give back, which ran here, or run again."""
    demand_version(by)
    settings, each, *program = loaded(asked, given, ())
    opened = [_opened(*call) for call in calls]

    def back(row: int) -> Any:
        batch, place, *rest = each[row]
        own, tasks = opened[batch]
        kept = made[batch] if len(tasks) == 1 else made[batch][place]

        def way() -> Any:
            here = isinstance(kept, Kept)
            return kept if here else recipes.run(own, recipes.keep, *tasks[place])

        return recipes.run(settings, stepped_back, tasks[place][0].name, way, *rest)

    return went_back(back, *program)
