"""Actors of Dask's, whose calls are differentiated.

Dask does not promise to run calls in the order in which they are made, and a gradient needs one: so
the calls of a gradient go from a thread of the actor's own, one after the other.
"""

from __future__ import annotations

import inspect
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import dask
from distributed import get_client

from zyg.actors.calls import ActorCall, born, called
from zyg.actors.host import hosted
from zyg.actors.sessions import Remote
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
            self._made = DaskActor(OfDask(raw, self._raw, self._cls))
        return self._made


class DaskActor(Engine):
    """An actor: its methods give futures, its other attributes values."""

    def __init__(self, remote: OfDask) -> None:
        self._remote, self._cls = remote, remote.cls

    @property
    def _raw(self) -> Any:
        return self._remote.raw

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if callable(getattr(self._cls, name)):
            return lambda *args, **kwargs: self._called(name, args, kwargs)
        found = self._in_gradient("__getattribute__", (name,), {})
        return (self._raw.zyg_read(name) if found is None else found).result()

    def __reduce__(self) -> Any:
        return DaskActor, (self._remote,)

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

    def __init__(self, raw: Any, future: Any, cls: type, key: Any = None) -> None:
        self.raw, self.cls, self.key = raw, cls, key or raw.key
        self.class_name = cls.__name__
        self.restarts = dask.config.get("distributed.scheduler.allowed-failures")  # as of a task
        self.future = future  # which keeps the actor
        self.thread = ThreadPoolExecutor(1)

    def __reduce__(self) -> Any:
        return OfDask, (self.raw, None, self.cls, self.key)

    def ask(self, what: str, *args: Any) -> tuple[Any, Future[Any]]:
        """The future of a value, twice."""
        found = self.thread.submit(_asked, self.raw, what, args)
        return found, found

    def is_lost(self, error: BaseException) -> bool:
        """A worker was not reached, or the scheduler has noticed that."""
        return isinstance(error, OSError) or _is_lost(self.raw)

    def replace(self, *given: Any) -> None:
        """Of the same class, on any worker."""
        made = self.twin(*given)
        self.raw, self.future, self.thread = made.raw, made.future, made.thread

    def twin(self, *given: Any) -> OfDask:
        """Of the same class, on any worker."""
        hosting = hosted(self.cls, self.class_name)
        client = get_client() if self.future is None else self.future.client
        future = client.submit(hosting, *given, actor=True, pure=False)
        return OfDask(future.result(), future, self.cls)

    def settled(self) -> None:
        """Wait until the actor has heard what it was to be told."""
        self.thread.submit(str).result()


def _asked(raw: Any, what: str, args: Any) -> Any:
    """The value of a call, which Dask would for half a minute try to bring to a lost worker."""
    found = getattr(raw, what)(*args)
    while True:
        try:
            return found.result(_PATIENCE)
        except TimeoutError:
            if found.done() or _is_lost(raw):
                raise


def _is_lost(raw: Any) -> bool:
    return getattr(raw._future, "status", "") == "error"


_PATIENCE = 0.5  # seconds


def is_actor(f: Any, options: dict[str, Any]) -> bool:
    """Whether a client's `submit` makes an actor."""
    return inspect.isclass(f) and bool(options.get("actor") or options.get("actors"))
