"""Actors of Ray's, whose calls are differentiated."""

from __future__ import annotations

import functools
import inspect
from concurrent.futures import Future
from typing import Any

import ray
from ray.exceptions import RayTaskError

from zyg.actors.calls import Remote, born, called
from zyg.actors.host import hosted
from zyg.base.borders import border
from zyg.base.caches import remembered
from zyg.base.containers import Engine
from zyg.core.strand import active
from zyg.errors import ZygError
from zyg.ray.references import Raw, Reference, arrival
from zyg.ray.tasks import Given, outside, shipped
from zyg.ray.wrappers import Wrapper
from zyg.tasks.shipping import marked


class Handle(Engine):
    """The handle of an actor."""

    def __init__(self, raw: Any, cls: type | None = None) -> None:
        self._raw, self._cls = raw, cls

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in _PLAIN:
            raise AttributeError(name)
        found = getattr(self._raw, name)
        if name in _PLAIN or not hasattr(found, "remote") or not hasattr(self._raw, "zyg_call"):
            return found
        return RemoteMethod(found, (self, name), {})

    def __reduce__(self) -> Any:
        return Handle, (self._raw, self._cls)

    def __eq__(self, other: Any) -> bool:
        return bool(isinstance(other, Handle) and self._raw == other._raw)

    def __hash__(self) -> int:
        return hash(self._raw)

    def __repr__(self) -> str:
        return repr(self._raw)


_PLAIN = ("__ray_ready__", "__ray_terminate__")  # which do nothing to an actor's state


class RemoteMethod(Wrapper):
    """A method of an actor."""

    @border
    def remote(self, *args: Any, **kwargs: Any) -> Any:
        """As Ray's."""
        actor, name = self._of
        far, count = OfRay(actor._raw, actor._cls), self._options.get("num_returns")
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

    def __init__(self, raw: Any, cls: type | None) -> None:
        self.raw = self.key = raw
        self.class_name = "actor" if cls is None else cls.__name__

    def ask(self, what: str, *args: Any) -> tuple[Any, Future[Any]]:
        """The reference to a value, and its future; Ray fills in values of references."""
        if not ray.is_initialized():  # which a call would start again
            raise RuntimeError("Ray has been shut down")
        sent, refs = _sendable(args)
        ref = getattr(self.raw, what).remote(*sent, *refs)
        return Raw(ref), arrival(ref)

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
        return Handle(self._raw.remote(*own, **named), cls)


def _made(cls: type, options: dict[str, Any], *given: Any) -> tuple[Handle, OfRay]:
    """An actor that a gradient makes."""
    sent, refs = _sendable(given)
    raw = _class_of(cls).options(**options).remote(*sent, *refs)
    return Handle(raw, cls), OfRay(raw, cls)


@remembered(64)
def _class_of(cls: type) -> Any:
    """A class of actors that gradients make."""
    return ray.remote(hosted(cls, cls.__name__))
