"""Dask clusters whose tasks are differentiated: `zyg.distributed.wrap_client`.

A task runs under a tape, in a worker, and what its pullback needs stays in that worker's memory;
its value goes to whoever asks, and in the reverse pass the cotangent of the value goes to the
worker, where the adjoint runs. So only values and cotangents travel. What stays in a worker never
leaves it: where Dask moves the adjoint, or a worker was lost, the task is recomputed, and the
gradient is the same, bit for bit.

Needs ``pip install -e '.[distributed]'``.

Dask recomputes tasks, but not what was scattered: if the only worker that holds scattered data is
lost, so is the gradient, with Dask's error. Load data in tasks, or scatter it to several workers
(``broadcast=True``). A task must be a function of its arguments: give it a seed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_EXCEPTION, Future
from concurrent.futures import as_completed as as_completed_here
from concurrent.futures import wait as wait_here
from concurrent.futures._base import DoneAndNotDoneFutures
from graphlib import TopologicalSorter
from typing import Any

from dask._task_spec import Alias, DataNode, convert_legacy_graph
from dask.base import is_dask_collection
from dask.delayed import Delayed
from distributed import Client
from distributed import Future as RemoteFuture

from zyg.actors.on_dask import FutureActor, is_actor, make_actor
from zyg.base.config import settings
from zyg.base.containers import Engine
from zyg.base.structure import Structure
from zyg.core.strand import active, is_watched, watched_leaves
from zyg.errors import ShippingError
from zyg.tasks import recipes
from zyg.tasks.arrivals import Arrivals, LostTasksError
from zyg.tasks.batches import FEW, MOST, Member, cut, gone_back, in_one_place, start
from zyg.tasks.departures import Cluster, Connection, Return
from zyg.tasks.executors import Task
from zyg.tasks.shipping import Shipped, ship, ship_each
from zyg.tasks.sums import Back

__all__ = ["LostTasksError", "as_completed", "wait", "wrap_client"]


def wrap_client(client: Client, *, keep: str = "worker") -> TaskClient:
    """A client whose `submit`, `map` and `gather` are differentiated; all else is the client's.

    Without a gradient around it, or without a watched value in the call, it is the client that
    submits. Otherwise the future is a `concurrent.futures.Future` whose value is watched; `wait`
    and `as_completed` are those of `zyg.distributed`. Futures of both kinds may be passed to other
    tasks, in containers and closures too; their values go from worker to worker. A large array that
    is an argument of several tasks goes to the cluster once, and its cotangents are added up there.
    Small tasks of a `map` run several in one of Dask's: with ``batch_size=1`` each by itself.
    A class that is submitted with ``actor=True`` is an actor whose state is differentiated, too.

    Parameters
    ----------
    client : distributed.Client
        A client that is not asynchronous.
    keep : {"worker", "recompute"}
        With "worker" a watched task is run under a tape, which stays in the worker's memory until
        the gradient has been taken; with "recompute" nothing is kept, and the task is run again in
        the reverse pass.

    Returns
    -------
    TaskClient
        Used as the client is.

    Raises
    ------
    ShippingError
        The client is asynchronous. When it is called: a task cannot be sent to a worker.
    LostTasksError
        When it is called: the client was restarted or closed while a gradient ran.
    ValueError
        `keep` is neither of the two.

    Examples
    --------
    >>> import zyg, distributed
    >>> with distributed.Client(processes=False, dashboard_address=None) as client:
    ...     tasks = zyg.distributed.wrap_client(client)
    ...     zyg.gradient(lambda x: tasks.submit(lambda y: y * y, x).result(), 3.0)
    (6.0,)
    """
    if client.asynchronous:
        raise ShippingError(
            "wrap_client was given an asynchronous client.",
            "its futures can only be awaited, by the loop that the reverse pass would block.",
            "make it with Client(address), and wait for results in threads.",
        )
    if keep not in ("worker", "recompute"):
        raise ValueError(f'keep is "worker" or "recompute", not {keep!r}')
    return TaskClient(client, keep == "worker")


class TaskClient(Engine):
    """A client whose tasks are differentiated."""

    def __init__(self, client: Any, keep: bool) -> None:
        self._client, self._keep = client, keep
        self._connection = _Connection(client)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def submit(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """As the client's, which `workers`, `resources`, `retries` and the like are passed on to.

        A watched task is never taken for another one: `key` and `pure` are for tasks of the client.
        """
        if is_actor(f, kwargs):
            return make_actor(self._client, f, args, kwargs, _options(kwargs))
        if not active.get():
            return self._client.submit(f, *args, **kwargs)
        options = _options(kwargs)
        shipped = ship(f, args, kwargs, _FUTURES)
        found = self._task(_Cluster(self, options), shipped)
        if found is None:
            return self._client.submit(f, *args, **kwargs, **options)
        found._call.backend.start_all([found], settings())
        return found

    def map(self, f: Callable[..., Any], *iterables: Iterable[Any], **kwargs: Any) -> Any:
        """As the client's: a list of futures, whose watched tasks go to the cluster together.

        Several small ones are one task of Dask's: `batch_size` at most.
        """
        if not active.get():
            return self._client.map(f, *iterables, **kwargs)
        most = kwargs.pop("batch_size", None) or MOST
        options = _options(kwargs)
        cluster = _Cluster(self, options, most)
        items = [*zip(*iterables, strict=False)]
        made = [self._task(cluster, each) for each in ship_each(f, items, kwargs, _FUTURES)]
        tasks = [task for task in made if task is not None]
        if tasks:
            cluster.start_all(tasks, settings())
        submit = functools.partial(self._client.submit, **kwargs, **options)
        both = zip(made, items, strict=True)
        return [submit(f, *item) if task is None else task for task, item in both]

    def _task(self, cluster: _Cluster, shipped: Shipped) -> Task | None:
        """What was shipped as a task that is to begin; None if nothing in it is watched."""
        recipe, operands, constants = shipped
        if not operands and not any(isinstance(x, Task) for x in constants):
            return None
        if cluster.actor:
            raise ShippingError(
                f"{recipe.name} cannot be an actor under a gradient.",
                "an actor has a state, and a task is run again where it is lost.",
                "submit a class, or make it a function of its arguments.",
            )
        return Task(cluster, recipe, operands, constants, begin=False)

    def scatter(self, data: Any, **options: Any) -> Any:
        """As the client's; of watched values, a task whose value is on the cluster."""
        if not active.get() or not watched_leaves(data):
            return self._client.scatter(data, **options)
        where = {"workers": options["workers"]} if options.get("workers") else {}
        if type(data) is dict:
            return {k: self.submit(recipes.same, x, **where) for k, x in data.items()}
        if type(data) in (list, tuple, set, frozenset):
            return type(data)(self.submit(recipes.same, x, **where) for x in data)
        return self.submit(recipes.same, data, **where)

    def compute(self, collections: Any, sync: bool = False, **options: Any) -> Any:
        """As the client's: a future of each collection, or with `sync` its value.

        A graph that holds watched values becomes tasks, one for each of its nodes.
        """
        alone = is_dask_collection(collections)
        parts = [collections] if alone else [*collections]
        if not active.get() or not any(ship(recipes.same, (parts,), {}, (RemoteFuture, Task))[1:]):
            return self._client.compute(collections, sync=sync, **options)
        passed = {k: v for k, v in options.items() if k in _OPTIONS}
        found = _as_tasks(functools.partial(self.submit, **passed), parts)
        found = self.gather(found) if sync else found
        return found[0] if alone else found

    def gather(self, futures: Any, **options: Any) -> Any:
        """As the client's: the values of the futures, watched where they are."""
        futures = [*futures] if isinstance(futures, Iterator) else futures
        inside = Structure(futures, _is_whole)
        wait_here([x for x in inside.leaves if isinstance(x, Task)], None, FIRST_EXCEPTION)
        ours = Task, FutureActor
        here = [x.result() if isinstance(x, ours) else x for x in inside.leaves]
        return self._client.gather(inside.rebuild(here), **options)


def wait(fs: Any, timeout: float | None = None, return_when: str = ALL_COMPLETED) -> Any:
    """Dask's `wait`, of the futures of a wrapped client, too; raises TimeoutError as that does."""
    futures: dict[Any, Any] = {
        _own(future): future for future in ([fs] if isinstance(fs, _FUTURES) else fs)
    }
    done, pending = wait_here(futures, timeout, return_when)
    if pending and (return_when == ALL_COMPLETED or not done):
        raise TimeoutError(f"{len(pending)} of {len(futures)} futures are not done")
    return DoneAndNotDoneFutures({futures[f] for f in done}, {futures[f] for f in pending})


def as_completed(fs: Iterable[Any], *, with_results: bool = False) -> Iterator[Any]:
    """Dask's `as_completed`, of the futures of a wrapped client, too: each as it is done.

    With `with_results`, beside its value; what a task has raised is raised there.
    """
    futures = {_own(future): future for future in fs}
    for done in as_completed_here(futures):
        future = futures[done]
        yield (future, future.result()) if with_results else future


def _own(future: Any) -> Future[Any]:
    """A task itself, or a future of `concurrent.futures` that is done when one of Dask's is."""
    if isinstance(future, Task):
        return future
    made: Future[Any] = Future()
    future.add_done_callback(lambda _: made.set_result(None))
    return made


def _as_tasks(submit: Callable[..., Any], collections: Sequence[Any]) -> list[Any]:
    """A future of each collection, each node of whose graphs is a task."""
    graph = convert_legacy_graph({k: x for c in collections for k, x in c.__dask_graph__().items()})
    made: dict[Any, Any] = {}
    for key in TopologicalSorter({k: x.dependencies for k, x in graph.items()}).static_order():
        node = graph[key]
        if isinstance(node, Alias):
            made[key] = made[node.target]
        elif isinstance(node, DataNode):
            made[key] = node()
        else:
            given = {k: made[k] for k in node.dependencies}
            made[key] = submit(functools.update_wrapper(functools.partial(node), node.func), given)
    return [_finished(submit, c, made) for c in collections]


def _finished(submit: Callable[..., Any], collection: Any, made: dict[Any, Any]) -> Any:
    finish, extra = collection.__dask_postcompute__()

    def values(keys: Any) -> Any:
        return [*map(values, keys)] if isinstance(keys, list) else made[keys]

    keys = collection.__dask_keys__()
    if isinstance(collection, Delayed) and isinstance(made[keys[0]], _FUTURES):
        return made[keys[0]]
    return submit(finish, values(keys), *extra)


_FUTURES = (RemoteFuture, Task)
_OPTIONS = {
    "actor", "actors", "allow_other_workers", "fifo_timeout", "key", "priority", "pure",
    "resources", "retries", "workers",
}  # fmt: skip


def _options(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Those of Dask's, taken out of the arguments of a call."""
    return {k: kwargs.pop(k) for k in _OPTIONS & kwargs.keys()}


def _is_whole(x: Any) -> bool:
    return isinstance(x, (Task, RemoteFuture, FutureActor)) or is_watched(x)


class _Connection(Connection):
    """A client of Dask's."""

    def __init__(self, client: Any) -> None:
        super().__init__()
        self.client, self.arrivals = client, Arrivals(client.gather)

    def each(self, f: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """The futures of the values of a function of ours, in one graph."""
        return self.client.map(f, *columns, pure=False)  # type: ignore[no-any-return]

    def put(self, x: Any) -> Any:
        """The future of a value, which is made again where it is lost."""
        return self.client.submit(recipes.same, x, pure=False)

    def arrival(self, raw: Any) -> Any:
        """The future of a value that comes here, with others that are ready."""
        return raw if isinstance(raw, Member) else self.arrivals.of(raw)

    def grouped(self, returns: Sequence[Return]) -> Iterable[Sequence[Return]]:
        """Those whose tapes a thread of one worker has."""
        return in_one_place(returns)

    def gone_back(self, works: Sequence[Back]) -> Sequence[Any]:
        """The futures of what each of them makes, in one graph."""
        return gone_back(self.client, works)  # type: ignore[no-any-return]


class _Cluster(Cluster):
    """How tasks are run on a cluster of Dask's."""

    connection: _Connection

    def __init__(self, tasks: TaskClient, options: dict[str, Any], most: int = MOST) -> None:
        ours = ("actor", "actors", "key", "pure")
        super().__init__(tasks._connection, {k: v for k, v in options.items() if k not in ours})
        self.keep = tasks._keep
        self.actor = options.get("actor") or options.get("actors")
        self.most = 1 if "retries" in options else most  # which are for what raises

    def start_all(self, tasks: Sequence[Task], own: dict[str, Any]) -> None:
        """Have tasks run, in one graph for all that are kept, and one for all others."""
        client = self.connection.client
        threads = sum(client.nthreads().values()) if self._is_cut(tasks) else 0
        for keeps in (True, False):
            some = [task for task in tasks if (task.keeps and self.keep) is keeps]
            if not some:
                continue
            groups = [*cut(some, threads, self.most)]
            arrivals = self.connection.arrivals
            made = start(client, arrivals, groups, keeps, own, self.options)
            for group, batch in zip(groups, made, strict=True):
                for task, member in zip(group, batch.fetch(), strict=True):
                    task.begin(member, (batch, member.place) if keeps else None)

    def _is_cut(self, tasks: Sequence[Task]) -> bool:
        """Whether tasks are cut into batches: not where workers come as there are tasks."""
        adaptive = getattr(self.connection.client.cluster, "_adaptive", None)
        return len(tasks) > FEW and self.most > 1 and adaptive is None
