"""Tasks of Ray's: how a recipe and its adjoint run there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import ray

from zyg.base.containers import Engine
from zyg.ray.references import Here, Raw, Reference, arrival, raw_of
from zyg.tasks import recipes
from zyg.tasks.departures import Cluster, Connection, stepped_back
from zyg.tasks.executors import Task
from zyg.tasks.shipping import demand_version, filled, marked, ship, version
from zyg.tasks.sums import Back, went_back

HELP = {"num_cpus": 0}  # the options of what is done between tasks, which waits for none of them


class Given(Engine):
    """A reference of Ray's that is an argument itself: the task gets the value."""

    def __init__(self, ref: Any) -> None:
        self.ref = ref


class _Connection(Connection):
    """Ray, whose tasks are remote calls of functions of ours."""

    def each(self, f: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
        """The values of a function of ours, each by a task."""
        how = {**HELP, "name": f.__name__}
        return [run_there(how, f, *row) for row in zip(*columns, strict=True)]

    def put(self, x: Any) -> Raw:
        """A value on the cluster: it lives as long as this process."""
        return Raw(ray.put(x))

    def arrival(self, raw: Any) -> Future[Any]:
        """The future of a value that comes here."""
        return arrival(raw.ref)

    def gone_back(self, works: Sequence[Back]) -> list[Any]:
        """Each by itself: what is kept of its task is what that is made of."""
        made = []
        for work in works:
            (one,) = work.returns
            options, *call = one.kept
            how = {**options, "name": f"the adjoint of {call[0].name}"}
            given = work.program(), [*work.results], one.settings, *call, one.bars, one.expected
            made.append(run_there(how, _back, *given))
        return made


_connection = _Connection()


class Nodes(Cluster):
    """How tasks are run by Ray."""

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(_connection, options)

    def start_all(self, tasks: Sequence[Task], own: dict[str, Any]) -> None:
        """Recipes run, with settings of their own."""
        for task in tasks:
            call = task.request
            how = {**self.options, "name": call[0].name}
            raw = run_there(how, recipes.run, own, recipes.call, *call)
            task.begin(raw, (self.options, *call) if task.keeps else None)


def run_there(how: dict[str, Any], f: Callable[..., Any], *args: Any) -> Raw:
    """The value of a function of ours, by a task with options of Ray's."""
    refs: list[Any] = []
    sent = marked(args, refs, (Raw, Given))
    return Raw(_runner().options(**how).remote(version(), f, sent, *refs))


@functools.cache
def _runner() -> Any:
    """What runs a function of ours."""
    return ray.remote(_run)


def _run(asked: str, f: Callable[..., Any], sent: list[Any], *given: Any) -> Any:
    demand_version(asked)
    return f(*filled(sent, given))


def _back(
    program: Any, keys: Any, own: Any, recipe: Any, operands: Any, constants: Any, *asked: Any
) -> Any:
    kept = functools.partial(recipes.keep, recipe, recipes.own(operands), constants)
    back = functools.partial(recipes.run, own, stepped_back, recipe.name, kept, *asked)
    return went_back(lambda _: back(), program, keys)


def submitted(f: Any, options: dict[str, Any], args: Any, kwargs: dict[str, Any]) -> Task | None:
    """A task; None if nothing in it is watched."""
    recipe, operands, constants = shipped(f, args, kwargs, Task)
    if not operands and not any(isinstance(x, Task) for x in constants):
        return None
    return Task(Nodes(options), recipe, operands, constants)


def shipped(
    f: Any, args: Any, kwargs: dict[str, Any], *links: type
) -> tuple[Any, list[Any], list[Any]]:
    """A call as it is sent; watched values of other tasks stay where they are if they are links."""
    own = [_as_argument(x) for x in args], {k: _as_argument(x) for k, x in kwargs.items()}
    return ship(f, *own, (ray.ObjectRef, Given, *links))


def _as_argument(x: Any) -> Any:
    """An argument, of which Ray gives a task the value where it is a reference."""
    if isinstance(x, ray.ObjectRef):
        return Given(x)
    if isinstance(x, Here):
        return x.value
    if isinstance(x, Reference):
        return x._future
    return x


def outside(args: Any, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call that is Ray's own."""
    return [_outside(x) for x in args], {k: _outside(x) for k, x in kwargs.items()}


def _outside(x: Any) -> Any:
    if isinstance(x, Here):
        return x.value
    if isinstance(x, Reference) and not isinstance(x._future, Task):  # a reply is more than that
        return recipes.plain(x._future.result())
    return raw_of(x)
