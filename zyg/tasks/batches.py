"""Several tasks of a cluster as one of its own, as each of those costs its coordinator some work.

Each task has a value, an error and a way back of its own; what is cut into which batches changes no
bit of a gradient. A batch whose recipes are few bytes comes here whole, with
its values; of others the values are a task of Dask's that fetches them from where they are kept.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import cloudpickle
from distributed import Future as RemoteFuture
from distributed import Reschedule

from zyg.base.containers import Engine
from zyg.core.strand import strip
from zyg.tasks import recipes
from zyg.tasks.arrivals import Arrivals, give, settle_cancelled
from zyg.tasks.departures import stepped_back
from zyg.tasks.recipes import Kept, loaded
from zyg.tasks.shared import is_large
from zyg.tasks.shipping import demand_version, version

MOST = 32  # tasks of a batch
FEW = 8  # tasks that are not cut
_BYTES = 1 << 20  # of the operands of a batch
_LIGHT = 1 << 14  # bytes of a batch that comes here whole


class Member(Future[Any], Engine):
    """A task of a batch: the future, here, of its value."""

    def __init__(self, batch: Batch, place: int) -> None:
        super().__init__()
        self.batch, self.place = batch, place
        self._future: Any = None

    @property
    def future(self) -> Any:
        """The future of the value on the cluster, for other tasks."""
        batch = self.batch
        if self._future is None:
            alone = batch.single and not batch.comes_whole
            source = batch.values if batch.values is not None else batch.made
            then = batch.client.submit
            self._future = source if alone else then(value_at, source, self.place, pure=False)
        return self._future

    def cancel(self) -> bool:
        """As a future's; the batch is cancelled with the last of its tasks."""
        cancelled = super().cancel()
        self.batch.cancel()
        return cancelled

    def __getattr__(self, name: str) -> Any:
        """What else a future of Dask's has: that of the batch."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.batch.made, name)


class Batch(Engine):
    """Tasks that are one of Dask's: the futures of what it makes, and of the values."""

    def __init__(self, client: Any, made: Any, values: Any, count: int, comes_whole: bool) -> None:
        self.client, self.made, self.values = client, made, values
        self.single, self.comes_whole = count == 1, comes_whole
        self.members = [Member(self, k) for k in range(count)]  # until their values are here
        self.arrival: Any = None

    def fetch(self, arrivals: Arrivals) -> list[Member]:
        """The tasks, whose values come here."""
        members = [*self.members]
        self.arrival = arrivals.of(self.made if self.values is None else self.values)
        self.arrival.add_done_callback(self._arrive)
        return members

    def cancel(self) -> None:
        """Cancel what runs, if all that wait for it are cancelled."""
        if all(member.cancelled() for member in self.members) and self.arrival is not None:
            self.arrival.cancel()
            if self.values is not None:
                self.made.cancel()

    def _arrive(self, done: Any) -> None:
        members, self.members, self.arrival = self.members, [], None
        if done.cancelled():
            for member in members:
                settle_cancelled(member)
            return
        error = done.exception()
        found = [error] * len(members) if error or self.single else done.result()
        if self.single and not error:
            found = [done.result()]
        for member, value in zip(members, found, strict=True):
            failed = error or (value.error if isinstance(value, Failed) else None)
            give(member, value.value if isinstance(value, Kept) else value, failed)


def asked(client: Any, returns: Sequence[Any]) -> list[tuple[list[Any], Any]]:
    """Cotangents that are asked for together, of one batch's tasks, and the future of them all."""
    groups: dict[Any, list[Any]] = {}
    for one in returns:
        groups.setdefault((id(one.kept.batch), *one.settings.values()), []).append(one)
    each = [*groups.values()]
    packs = [packed([(one.kept.place, one.bars, one.expected) for one in some]) for some in each]
    given = [(some[0].settings, some[0].kept.batch.made) for some in each]
    columns = zip(*[(*a, *b, version()) for a, b in zip(given, packs, strict=True)], strict=True)
    found = client.map(back_all, *map(list, columns), pure=False)
    return [*zip(each, found, strict=True)]


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
    client: Any, batches: list[list[Any]], keeps: bool, own: dict[str, Any], options: Any
) -> list[Batch]:
    """Have batches of tasks run, as one graph, with settings of their own."""
    blobs, apart = map(list, zip(*[packed([t.request for t in b]) for b in batches], strict=True))
    whole = [keeps and len(b) <= _LIGHT and not a for b, a in zip(blobs, apart, strict=True)]
    n = len(batches)
    given = [own] * n, [keeps] * n, whole, blobs, apart, [version()] * n
    raws = client.map(run_all, *given, pure=False, **options)
    values = dict.fromkeys(raws)
    if heavy := [raw for raw, light in zip(raws, whole, strict=True) if keeps and not light]:
        values |= zip(heavy, client.map(values_of, heavy, pure=False), strict=True)
    each = zip(batches, raws, whole, strict=True)
    return [Batch(client, raw, values[raw], len(batch), light) for batch, raw, light in each]


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


def run_all(options: Any, keeps: bool, light: bool, blob: bytes, apart: list[Any], by: str) -> Any:
    """What the tasks of a batch make, or have raised; of a single one, what it makes.

    `by` is the version of who asks.
    """
    demand_version(by)

    def made(call: Any) -> Any:
        if keeps:
            return recipes.run(options, recipes.keep, *call, light)
        return recipes.run(options, recipes.call, *call)

    def outcome(call: Any) -> Any:
        try:
            return made(call)
        except Reschedule:
            raise
        except Exception as error:
            return Failed(error)

    calls = loaded(blob, apart, ())
    return made(calls[0]) if len(calls) == 1 else [outcome(call) for call in calls]


def value_at(made: Any, place: int) -> Any:
    """The value of one task of a batch, or of a single one."""
    found = made[place] if type(made) is list else made
    if isinstance(found, Failed):
        raise found.error
    return found.value if isinstance(found, Kept) else found


def values_of(made: Any) -> Any:
    """The values of a batch that stays, or of a single task."""
    if type(made) is not list:
        return made.value
    return [x if isinstance(x, Failed) else x.value for x in made]


def back_all(options: Any, made: Any, blob: bytes, apart: list[Any], by: str) -> list[Any]:
    """The cotangents of the operands of some of a batch's tasks."""
    demand_version(by)
    asked = loaded(blob, apart, ())
    kept = [made[place] if type(made) is list else made for place, _, _ in asked]
    each = zip(kept, asked, strict=True)
    return [recipes.run(options, _back, one, *rest) for one, (_, *rest) in each]


def _back(kept: Kept, bars: list[Any], expected: list[Any]) -> Any:
    return stepped_back(kept.made_of[0].name, lambda: kept, bars, expected)
