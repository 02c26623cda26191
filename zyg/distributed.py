"""Dask clusters whose tasks are differentiated: `zyg.distributed.wrap_client`.

A task runs under a tape, in a worker, and what its pullback needs stays in that worker's memory;
its value goes to whoever asks, and in the reverse pass the cotangent of the value goes to the
worker, where the adjoint runs. So only values and cotangents travel. What stays in a worker is
pickled as its recipe: where Dask moves it, or runs it again because a worker was lost, the task is
recomputed, and the gradient is the same, bit for bit.

Needs ``pip install -e '.[distributed]'``.

Dask recomputes tasks, but not what was scattered: if the only worker that holds scattered data is
lost, so is the gradient, with Dask's error. Load data in tasks, or scatter it to several workers
(``broadcast=True``). A task must be a function of its arguments: give it a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from distributed import Client
from distributed import Future as RemoteFuture

from zyg.base.config import settings
from zyg.base.containers import Engine
from zyg.base.structure import Structure
from zyg.core.strand import active, is_watched
from zyg.errors import ShippingError
from zyg.tasks import recipes
from zyg.tasks.executors import Task
from zyg.tasks.recipes import ship

__all__ = ["wrap_client"]


def wrap_client(client: Client, *, keep: str = "worker") -> TaskClient:
    """A client whose `submit`, `map` and `gather` are differentiated; all else is the client's.

    Without a gradient around it, or without a watched value in the call, it is the client that
    submits. Otherwise the future is a `concurrent.futures.Future` whose value is watched; `wait`
    and `as_completed` are those of that module. Futures of both kinds may be passed to other tasks,
    in containers and closures too; their values go from worker to worker.

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

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def submit(self, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """As the client's, which `workers`, `resources`, `retries` and the like are passed on to.

        A watched task is never taken for another one: `key` and `pure` are for tasks of the client.
        """
        if not active.get():
            return self._client.submit(f, *args, **kwargs)
        options = {k: kwargs.pop(k) for k in _OPTIONS & kwargs.keys()}
        recipe, operands, constants = ship(f, args, kwargs, (RemoteFuture, Task))
        if not operands and not any(isinstance(x, Task) for x in constants):
            return self._client.submit(f, *args, **kwargs, **options)
        if options.get("actor") or options.get("actors"):
            raise ShippingError(
                f"{recipe.name} cannot be an actor under a gradient.",
                "an actor has a state, and a task is run again where it is lost.",
                "submit it outside of the gradient, or make it a function of its arguments.",
            )
        return Task(_Cluster(self._client, self._keep, options), recipe, operands, constants)

    def map(self, f: Callable[..., Any], *iterables: Iterable[Any], **kwargs: Any) -> Any:
        """As the client's: a list of futures."""
        if not active.get():
            return self._client.map(f, *iterables, **kwargs)
        return [self.submit(f, *items, **kwargs) for items in zip(*iterables, strict=False)]

    def gather(self, futures: Any, **options: Any) -> Any:
        """As the client's: the values of the futures, watched where they are."""
        futures = [*futures] if isinstance(futures, Iterator) else futures
        inside = Structure(futures, _is_whole)
        here = [x.result() if isinstance(x, Task) else x for x in inside.leaves]
        return self._client.gather(inside.rebuild(here), **options)


_OPTIONS = {
    "actor", "actors", "allow_other_workers", "fifo_timeout", "key", "priority", "pure",
    "resources", "retries", "workers",
}  # fmt: skip


def _is_whole(x: Any) -> bool:
    return isinstance(x, (Task, RemoteFuture)) or is_watched(x)


class _Cluster(Engine):
    """How tasks are run on a cluster."""

    def __init__(self, client: Client, keep: bool, options: dict[str, Any]) -> None:
        self.client, self.keep = client, keep
        ours = ("actor", "actors", "key", "pure")
        self.options = {k: v for k, v in options.items() if k not in ours}

    def start(
        self, recipe: Any, operands: list[Any], constants: list[Any], keep: bool
    ) -> tuple[Any, Any]:
        """The future of the value of a recipe, and that of what is kept for its adjoint."""
        if not (keep and self.keep):
            return self._submit(recipes.call, recipe, operands, constants), None
        kept = self._submit(recipes.keep, recipe, operands, constants)
        return self.client.submit(_value, kept, pure=False), kept

    def _submit(self, make: Any, recipe: Any, operands: list[Any], constants: list[Any]) -> Any:
        args = (settings(), make, recipe, operands, constants)
        return self.client.submit(recipes.run, *args, pure=False, **self.options)

    def back(self, kept: Any, bars: Sequence[Any], expected: list[Any]) -> Any:
        """The future of the cotangents of the operands."""
        return self.client.submit(_back, kept, [*bars], expected, pure=False)


def _value(kept: recipes.Kept) -> Any:
    return kept.value


def _back(kept: recipes.Kept, bars: list[Any], expected: list[Any]) -> Any:
    return kept.back(bars, expected)
