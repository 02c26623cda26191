"""Actors of Ray's, whose calls are differentiated."""

from __future__ import annotations

import functools
import inspect
from concurrent.futures import Future
from typing import Any
from weakref import WeakValueDictionary

import ray
from ray.exceptions import NodeDiedError, ObjectLostError, RayActorError, RayTaskError

from zyg.actors.calls import born, called
from zyg.actors.host import MESSAGES, hosted
from zyg.actors.sessions import RESTARTS, Remote
from zyg.base.borders import border
from zyg.base.caches import remembered
from zyg.base.containers import Engine
from zyg.core.strand import active
from zyg.errors import ZygError
from zyg.ray.references import Raw, Reference, arrival
from zyg.ray.tasks import Given, outside, shipped
from zyg.ray.wrappers import Wrapper
from zyg.tasks.shipping import marked


class Place:
    """Where an actor is: Ray's handle of the one that has its place now."""

    def __init__(self, raw: Any) -> None:
        self.raw, self.killed = raw, False


_places: WeakValueDictionary[Any, Place] = WeakValueDictionary()


class Handle(Engine):
    """The handle of an actor."""

    def __init__(
        self, raw: Any, cls: type | None = None, options: dict[str, Any] | None = None
    ) -> None:
        self._own = raw  # which keeps the actor, as not every handle of Ray's does
        self._place = _places.setdefault(raw, Place(raw))
        self._cls, self._options = cls, options or {}

    @property
    def _raw(self) -> Any:
        return self._place.raw

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in _PLAIN:
            raise AttributeError(name)
        found = getattr(self._raw, name)
        if name in _PLAIN or not hasattr(found, "remote") or not hasattr(self._raw, "zyg_call"):
            return found
        return RemoteMethod(found, (self, name), {})

    def __reduce__(self) -> Any:
        return Handle, (self._raw, self._cls, self._options)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Handle) and self._place is other._place

    def __hash__(self) -> int:
        return hash(self._place)

    def __repr__(self) -> str:
        return repr(self._raw)


def kill(actor: Any, *, no_restart: bool = True) -> None:
    """Ray's `kill`."""
    if isinstance(actor, Handle):
        actor._place.killed |= no_restart
    ray.kill(actor._raw if isinstance(actor, Handle) else actor, no_restart=no_restart)


_PLAIN = ("__ray_ready__", "__ray_terminate__")  # which do nothing to an actor's state
# Options that a second actor cannot have, and those that one of a reverse pass does not need.
_OF_NAMES = ("name", "namespace", "lifetime", "get_if_exists")
_OF_PLAYS = ("max_restarts", "max_task_retries")

for _message in MESSAGES:
    ray.method(max_task_retries=0)(_message)  # by Ray, without the calls before


class RemoteMethod(Wrapper):
    """A method of an actor."""

    @border
    def remote(self, *args: Any, **kwargs: Any) -> Any:
        """As Ray's."""
        actor, name = self._of
        far, count = OfRay(actor), self._options.get("num_returns")
        given = count or _count_of(getattr(actor._cls, name, None))
        made = called(far, actor._cls, name, shipped, args, kwargs, given)
        if made is not None:
            return Reference(made)
        own, named = outside(args, kwargs)
        return self._raw.remote(*own, **named)


def _count_of(method: Any) -> Any:
    """How many values a method returns, as ray.method has left it there."""
    generates = inspect.isgeneratorfunction(method)
    return "streaming" if generates else getattr(method, "__ray_num_returns__", 1)


class OfRay(Remote):
    """How an actor of Ray's is reached."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.key: Place = handle._place
        self.cls, self.options = handle._cls, handle._options
        self.class_name = "actor" if self.cls is None else self.cls.__name__
        asked = self.options.get("max_restarts", -1)
        self.restarts = RESTARTS if asked < 0 else asked

    def ask(self, what: str, *args: Any) -> tuple[Any, Future[Any]]:
        """The reference to a value, and its future; Ray fills in values of references."""
        if not ray.is_initialized():  # which a call would start again
            raise RuntimeError("Ray has been shut down")
        sent, refs = _sendable(args)
        ref = getattr(self.key.raw, what).remote(*sent, *refs)
        return Raw(ref), arrival(ref)

    def is_lost(self, error: BaseException) -> bool:
        """The process has ended, or what it had made is lost with its node."""
        if isinstance(error, RayActorError):
            return not error._actor_init_failed
        return isinstance(error, (ObjectLostError, NodeDiedError))

    def replace(self, *given: Any) -> None:
        """The process that Ray has started again; or another actor, where it has not."""
        if self.key.killed:
            raise RuntimeError("it has been killed by ray.kill")
        sent, refs = _sendable(given)
        try:
            ray.get(self.key.raw.zyg_play.options(max_task_retries=-1).remote(*sent, *refs))
        except RayActorError:
            made = self._made(self.options, given)
            self.key.raw = made
            _places[made] = self.key

    def twin(self, *given: Any) -> OfRay:
        """One that Ray does not start again by itself."""
        options = {k: x for k, x in self.options.items() if k not in _OF_PLAYS}
        return OfRay(Handle(self._made(options, given), self.cls, self.options))

    def _made(self, options: dict[str, Any], given: Any) -> Any:
        if self.cls is None:
            raise RuntimeError("a handle by get_actor does not know its class")
        own = {k: x for k, x in options.items() if k not in _OF_NAMES}
        return _made(self.cls, own, *given)[0]._raw

    def raised(self, name: str, error: BaseException, said: str) -> BaseException:
        """What Ray raises for an error of a method."""
        if not isinstance(error, ZygError):
            error = RayTaskError(name, said, error).as_instanceof_cause()
        return super().raised(name, error, said)


def _sendable(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Any]]:
    refs: list[Any] = []
    return marked(args, refs, (Given,)), refs


class ActorClass(Wrapper):
    """A class of actors of Ray's."""

    @border
    def remote(self, *args: Any, **kwargs: Any) -> Any:
        """As Ray's."""
        cls = self._of
        make = functools.partial(_made, cls, self._options)
        found = born(cls, shipped, args, kwargs, make) if active.get() else None
        if found is not None:
            return found
        own, named = outside(args, kwargs)
        return Handle(self._raw.remote(*own, **named), cls, self._options)


def _made(cls: type, options: dict[str, Any], *given: Any) -> tuple[Handle, OfRay]:
    """An actor that a gradient makes."""
    sent, refs = _sendable(given)
    made = Handle(_class_of(cls).options(**options).remote(*sent, *refs), cls, options)
    return made, OfRay(made)


@remembered(64)
def _class_of(cls: type) -> Any:
    """A class of actors that gradients make."""
    return ray.remote(hosted(cls, cls.__name__))
