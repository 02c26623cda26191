"""Actors of Dask's, whose calls are differentiated.

Dask does not promise to run calls in the order in which they are made, and a gradient needs one: so
the calls of a gradient go from a thread of the actor's own, one after the other.
"""

from __future__ import annotations

import inspect
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from zyg.actors.calls import ActorCall, Remote, born, called
from zyg.actors.host import hosted
from zyg.base.borders import border
from zyg.base.containers import Engine
from zyg.tasks.recipes import same
from zyg.tasks.shipping import ship


def make_actor(client: Any, cls: Any, args: Any, kwargs: Any, options: Any) -> FutureActor:
    """The future of an actor, as a client's `submit` gives it."""

    def make(*given: Any) -> tuple[FutureActor, Remote]:
        made = FutureActor(client.submit(hosted(cls, cls.__name__), *given, **options), cls)
        return made, made.result()._remote

    made = born(cls, ship, args, kwargs, make)
    return made or FutureActor(client.submit(hosted(cls), *args, **kwargs, **options), cls)


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
        self._remote = OfDask(raw, future, cls)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if callable(getattr(self._cls, name)):
            return lambda *args, **kwargs: self._called(name, args, kwargs)
        found = self._in_gradient("__getattribute__", (name,), {})
        return (self._raw.zyg_read(name) if found is None else found).result()

    def __reduce__(self) -> Any:
        return DaskActor, (self._raw, None, self._cls)

    @border
    def _called(self, name: str, args: Any, kwargs: Any) -> Any:
        found = self._in_gradient(name, args, kwargs)
        return getattr(self._raw, name)(*args, **kwargs) if found is None else found

    def _in_gradient(self, name: str, args: Any, kwargs: Any) -> ActorCall | None:
        """The call, if a gradient has to do with it."""
        found = called(self._remote, self._cls, name, ship, args, kwargs)
        if found is None:
            self._remote.settled()
        return found


class OfDask(Remote):
    """How an actor of Dask's is reached."""

    def __init__(self, raw: Any, future: Any, cls: type) -> None:
        self.raw, self.key, self.class_name = raw, raw.key, cls.__name__
        self.future = future  # which keeps the actor
        self.thread = ThreadPoolExecutor(1)

    def ask(self, what: str, *args: Any) -> tuple[Any, Future[Any]]:
        """The future of a value, twice."""
        call = getattr(self.raw, what)
        found = self.thread.submit(lambda: call(*args).result())
        return found, found

    def settled(self) -> None:
        """Wait until the actor has heard what it was to be told."""
        self.thread.submit(str).result()


def is_actor(f: Any, options: dict[str, Any]) -> bool:
    """Whether a client's `submit` makes an actor."""
    return inspect.isclass(f) and bool(options.get("actor") or options.get("actors"))
