"""Tasks of Ray's: how a recipe and its adjoint run there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import ray

from zyg.base.config import settings
from zyg.base.containers import Engine
from zyg.ray.references import Here, Raw, Reference, arrival, raw_of
from zyg.tasks import recipes
from zyg.tasks.executors import Task
from zyg.tasks.shared import Cluster, Parts, SharedOperands, picked_all, tree
from zyg.tasks.shipping import demand_version, filled, marked, ship, version

HELP = {"num_cpus": 0}  # the options of what is done between tasks, which waits for none of them


class Given(Engine):
    """A reference of Ray's that is an argument itself: the task gets the value."""

    def __init__(self, ref: Any) -> None:
        self.ref = ref


class Return(Future[Any], Engine):
    """The cotangents of a task at the `places` that come here: alone, where others stay there."""

    def __init__(self, nodes: Nodes, raw: Raw, places: Sequence[int]) -> None:
        super().__init__()
        self.nodes, self.raw, self.places = nodes, raw, places
        self.stays = False  # whether some others stay

    def fetch(self) -> None:
        """Have them come."""
        raw = self.nodes.then(picked_all, self.raw, self.places) if self.stays else self.raw
        self.nodes.arrival(raw).add_done_callback(self._arrive)

    def _arrive(self, done: Future[Any]) -> None:
        self.set_running_or_notify_cancel()
        if error := done.exception():
            self.set_exception(error)
        else:
            bars = done.result()
            self.set_result(bars if self.stays else picked_all(bars, self.places))


class Nodes(Cluster):
    """How tasks are run by Ray."""

    keep = True
    shares = SharedOperands()

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def start_all(self, tasks: Sequence[Task]) -> None:
        """Recipes run; what is kept of one is what it is made of."""
        for task in tasks:
            recipe, operands, constants, keep = task.request
            made_of = settings(), recipe, operands, constants
            raw = self._run({**self.options, "name": recipe.name}, _call, *made_of)
            task.begin(raw, made_of if keep else None)

    def depart(self, task: Task) -> None:
        """Have an adjoint run, at once."""
        self.start_all([task])

    def back(
        self, kept: Any, bars: Sequence[Any], expected: list[Any], places: Sequence[int]
    ) -> tuple[Return, Callable[[], None]]:
        """The future of the cotangents at some places, and what has them come here."""
        options = {**self.options, "name": f"the adjoint of {kept[1].name}"}
        made = Return(self, self._run(options, _back, *kept, [*bars], expected), places)
        return made, made.fetch

    def part(self, back: Return, place: int) -> Parts:
        """A cotangent that stays where it is."""
        back.stays = True
        return Parts(self, [(back.raw, (place,))])

    def added(self, given: Sequence[tuple[Any, Sequence[int]]]) -> Raw:
        """The sum of cotangents that stayed."""
        return tree(lambda f, *columns: [*map(functools.partial(self.then, f), *columns)], given)  # type: ignore[no-any-return]

    def then(self, f: Callable[..., Any], *args: Any) -> Raw:
        """The value of a function of ours."""
        return self._run({**HELP, "name": f.__name__}, f, *args)

    def send(self, x: Any) -> Raw:
        """A value on the cluster: it lives as long as this process."""
        return Raw(ray.put(x))

    def arrival(self, raw: Any) -> Future[Any]:
        """The future of a value that comes here."""
        return arrival(raw.ref)

    def _run(self, options: dict[str, Any], f: Callable[..., Any], *args: Any) -> Raw:
        refs: list[Any] = []
        sent = marked(args, refs, (Raw, Given))
        task = _runner().options(**options)
        return Raw(task.remote(version(), f, sent, *refs))


@functools.cache
def _runner() -> Any:
    """What runs a function of ours."""
    return ray.remote(_run)


def _run(asked: str, f: Callable[..., Any], sent: list[Any], *given: Any) -> Any:
    demand_version(asked)
    return f(*filled(sent, given))


def _call(options: Any, recipe: Any, operands: Any, constants: Any) -> Any:
    return recipes.run(options, recipes.call, recipe, operands, constants)


def _back(
    options: Any, recipe: Any, operands: Any, constants: Any, bars: Any, expected: Any
) -> Any:
    try:
        own = recipes.own(operands)
        return recipes.run(options, recipes.keep, recipe, own, constants).back(bars, expected)
    except BaseException as error:
        error.add_note(f"zyg: raised by the adjoint of {recipe.name}")
        raise


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
