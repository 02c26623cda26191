"""Actors of Dask's, whose calls are differentiated.

Dask does not promise to run calls in the order in which they are made, and a gradient needs one: so
the calls of a gradient go from a thread of the actor's own, one after the other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

from zyg.actors.calls import (
    ActorCall,
    Remote,
    demand_callable,
    sessions,
    strand_of_call,
    token_of,
)
from zyg.actors.host import Method, hosted
from zyg.base.borders import border
from zyg.base.config import settings
from zyg.base.containers import Engine
from zyg.core.strand import active, strip
from zyg.tasks.shared import same
from zyg.tasks.shipping import demand_globals, ship, version


def make_actor(client: Any, cls: Any, args: Any, kwargs: Any, options: Any) -> FutureActor:
    """The future of an actor, as a client's `submit` gives it."""
    name = cls.__name__
    method: Any = Method("__init__", name)
    recipe, operands, constants = ship(method, args, kwargs)
    if not operands:
        return FutureActor(client.submit(hosted(cls), *args, **kwargs, **options), cls)
    demand_callable(name)
    strand, own = cast(Any, strand_of_call(None, name, operands))
    given = version(), token_of(strand), 0, settings(), recipe, [*map(strip, own)], constants
    made = FutureActor(client.submit(hosted(cls, name), *given, **options), cls)
    ActorCall(made.result()._remote, name, strand, own).begin_life()
    return made


class FutureActor(Engine):
    """The future of an actor."""

    def __init__(self, raw: Any, cls: type) -> None:
        self._raw, self._cls = raw, cls
        self._made: DaskActor | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._raw, name)

    def __reduce__(self) -> Any:
        """As an argument of a task: the actor, which is waited for."""
        return same, (self.result(),)

    def result(self, timeout: float | None = None) -> DaskActor:
        """The actor."""
        raw = self._raw.result(timeout)
        if self._made is None:
            self._made = DaskActor(raw, self._raw, self._cls)
        return self._made


class DaskActor(Engine):
    """An actor: its methods give futures, its other attributes values."""

    def __init__(self, raw: Any, future: Any, cls: type) -> None:
        self._raw, self._cls = raw, cls
        self._remote = OfDask(raw, future)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if callable(getattr(self._cls, name)):
            return lambda *args, **kwargs: self._called(name, args, kwargs)
        found = self._in_gradient("__getattribute__", f"{self._cls.__name__}.{name}", (name,), {})
        return (self._raw.zyg_read(name) if found is None else found).result()

    def __reduce__(self) -> Any:
        return DaskActor, (self._raw, None, self._cls)

    @border
    def _called(self, name: str, args: Any, kwargs: Any) -> Any:
        found = self._in_gradient(name, f"{self._cls.__name__}.{name}", args, kwargs)
        return getattr(self._raw, name)(*args, **kwargs) if found is None else found

    def _in_gradient(self, name: str, shown: str, args: Any, kwargs: Any) -> ActorCall | None:
        """The call, if a gradient has to do with it."""
        demand_callable(shown)
        method: Any = Method(name, shown)
        if not active.get():
            sessions.close_ended(self._remote)
            self._remote.settled()
            return None
        recipe, operands, constants = ship(method, args, kwargs)
        found = strand_of_call(self._remote, shown, operands)
        if found is None:
            self._remote.settled()
            return None
        demand_globals(shown, getattr(self._cls, name, None))
        made = ActorCall(self._remote, shown, *found)
        made.begin(recipe, constants)
        return made


class OfDask(Remote):
    """How an actor of Dask's is reached."""

    def __init__(self, raw: Any, future: Any) -> None:
        self.raw, self.key = raw, raw.key
        self.future = future  # which keeps the actor
        self.thread = ThreadPoolExecutor(1)

    def call(self, *args: Any) -> tuple[Any, Future[Any]]:
        """The future of a reply, twice."""
        reply = self._later(self.raw.zyg_call, version(), *args)
        return reply, reply

    def back(self, *args: Any) -> Future[Any]:
        """The future of what a cotangent sets free."""
        return self._later(self.raw.zyg_back, *args)

    def close(self, token: str) -> None:
        """Have the actor free for others."""
        self._later(self.raw.zyg_close, token)

    def end(self, token: str) -> None:
        """Have the actor let go of a gradient."""
        self._later(self.raw.zyg_end, token)

    def settled(self) -> None:
        """Wait until the actor has heard what it was to be told."""
        self.thread.submit(str).result()

    def raised(self, name: str, error: BaseException, said: str) -> BaseException:
        """The error of a method, with a note."""
        error.add_note(f"zyg: raised by {name}")
        return error

    def _later(self, call: Callable[..., Any], *args: Any) -> Future[Any]:
        return self.thread.submit(lambda: call(*args).result())


def is_actor(f: Any, options: dict[str, Any]) -> bool:
    """Whether a client's `submit` makes an actor."""
    return inspect.isclass(f) and bool(options.get("actor") or options.get("actors"))
