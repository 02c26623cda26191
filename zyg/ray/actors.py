"""Actors of Ray's, whose calls are differentiated."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, cast

import ray
from ray.exceptions import RayTaskError

from zyg.actors.calls import (
    ActorCall,
    Remote,
    demand_callable,
    sessions,
    strand_of_call,
    token_of,
)
from zyg.actors.failures import refused
from zyg.actors.host import Method, hosted
from zyg.base.borders import border
from zyg.base.caches import remembered
from zyg.base.config import settings
from zyg.base.containers import Engine
from zyg.core.strand import active
from zyg.errors import ZygError
from zyg.ranks.cargo import sent
from zyg.ray.references import Raw, Reference, arrival
from zyg.ray.tasks import Given, outside, shipped
from zyg.tasks.shipping import demand_globals, marked, version


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
        options = {"num_returns": found._num_returns or 1}
        return RemoteMethod(self, name, found, options)

    def __reduce__(self) -> Any:
        return Handle, (self._raw, self._cls)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Handle) and self._raw._actor_id == other._raw._actor_id

    def __hash__(self) -> int:
        return hash(self._raw._actor_id)

    def __repr__(self) -> str:
        return repr(self._raw)


_PLAIN = ("__ray_ready__", "__ray_terminate__")  # which do nothing to an actor's state


class RemoteMethod(Engine):
    """A method of an actor."""

    def __init__(self, actor: Handle, name: str, raw: Any, options: dict[str, Any]) -> None:
        self._actor, self._name, self._raw, self._options = actor, name, raw, options

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._raw, name)

    def options(self, **options: Any) -> RemoteMethod:
        """As Ray's."""
        every = {**self._options, **options}
        return RemoteMethod(self._actor, self._name, self._raw.options(**options), every)

    @border
    def remote(self, *args: Any, **kwargs: Any) -> Any:
        """As Ray's."""
        made = self._called(args, kwargs)
        if made is None:
            own, named = outside(args, kwargs)
            return self._raw.remote(*own, **named)
        return Reference(made)

    def _called(self, args: Any, kwargs: Any) -> ActorCall | None:
        """The call, if a gradient has to do with it."""
        far, method = OfRay(self._actor._raw), Method(self._name, self._shown())
        demand_callable(method.__name__)
        if not active.get():
            sessions.close_ended(far)
            return None
        recipe, operands, constants = shipped(method, args, kwargs)
        found = strand_of_call(far, method.__name__, operands)
        if found is None:
            return None
        self._demand_one(method.__name__)
        demand_globals(method.__name__, getattr(self._actor._cls, self._name, None))
        made = ActorCall(far, method.__name__, *found)
        made.begin(recipe, constants)
        return made

    def _shown(self) -> str:
        return f"{class_of(self._actor._raw)}.{self._name}"

    def _demand_one(self, name: str) -> None:
        count = self._options["num_returns"]
        if count != 1:
            raise refused(
                name,
                f"with num_returns={count!r} under a gradient",
                "its value is watched as one.",
                "leave that out, and take the value apart.",
            )


def class_of(raw: Any) -> str:
    """The name of an actor's class."""
    return str(raw._ray_actor_creation_function_descriptor.class_name)


class OfRay(Remote):
    """How an actor of Ray's is reached."""

    def __init__(self, raw: Any) -> None:
        self.raw, self.key = raw, raw._actor_id

    def call(self, *args: Any) -> tuple[Any, Future[Any]]:
        """The reference to a reply, and its future."""
        ref = self.raw.zyg_call.remote(*sendable(*args))
        return Raw(ref), arrival(ref)

    def back(self, *args: Any) -> Future[Any]:
        """The future of what a cotangent sets free."""
        return arrival(self.raw.zyg_back.remote(*args))

    def close(self, token: str) -> None:
        """Have the actor free for others."""
        self.raw.zyg_close.remote(token)

    def end(self, token: str) -> None:
        """Have the actor let go of a gradient."""
        if ray.is_initialized():
            self.raw.zyg_end.remote(token)

    def raised(self, name: str, error: BaseException, said: str) -> BaseException:
        """What Ray raises for an error of a method."""
        if isinstance(error, ZygError):
            return error
        made: BaseException = RayTaskError(name, said, error).as_instanceof_cause()
        made.add_note(f"zyg: raised by {name}")
        return made


def sendable(*args: Any) -> tuple[Any, ...]:
    """The arguments of a call as Ray is given them, which fills in values of references."""
    refs: list[Any] = []
    return (version(), *marked(args, refs, (Given,)), *refs)


class ActorClass(Engine):
    """A class of actors of Ray's."""

    def __init__(self, raw: Any, cls: type, options: dict[str, Any]) -> None:
        self._raw, self._cls, self._options = raw, cls, options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._raw(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._raw, name)

    def __reduce__(self) -> Any:
        return ActorClass, (self._raw, self._cls, self._options)

    def options(self, **options: Any) -> ActorClass:
        """As Ray's."""
        every = {**self._options, **options}
        return ActorClass(self._raw.options(**options), self._cls, every)

    @border
    def remote(self, *args: Any, **kwargs: Any) -> Handle:
        """As Ray's."""
        name = self._cls.__name__
        if active.get():
            recipe, operands, constants = shipped(Method("__init__", name), args, kwargs)
            if operands:
                demand_callable(name)
                strand, own = cast(Any, strand_of_call(None, name, operands))
                plain = [*map(sent, own)]
                given = sendable(token_of(strand), 0, settings(), recipe, plain, constants)
                raw = _born(self._cls).options(**self._options).remote(*given)
                ActorCall(OfRay(raw), name, strand, own).begin_life()
                return Handle(raw, self._cls)
        own, named = outside(args, kwargs)
        return Handle(self._raw.remote(*own, **named), self._cls)


@remembered(64)
def _born(cls: type) -> Any:
    """A class of actors that a gradient makes."""
    return ray.remote(hosted(cls, cls.__name__))
