"""Ray, whose tasks and actors are differentiated: ``from zyg import ray``.

`remote`, `put`, `get`, `wait`, `cancel`, `kill` and `get_actor` are here; all else is Ray's. Where
no gradient runs, a call is Ray's own.

A task runs plainly, and in the reverse pass once more, watched, for its adjoint. Ray keeps nothing
of it but its value, so a worker that dies costs its own work again, and no more. An actor keeps the
tape of its calls: its state is watched, and the cotangents of what it returns go back through all
of its calls (`zyg.actors`).

Needs ``pip install -e '.[ray]'``.

wrappers                        what stands for what Ray calls remote
references                      references whose values are watched
tasks                           how a recipe and its adjoint run
functions                       remote functions, and `put`
actors                          classes of actors, and their handles

>>> import zyg
>>> from zyg import ray  # doctest: +SKIP
>>> @ray.remote  # doctest: +SKIP
... def part(w, k):
...     return k * w * w
>>> def loss(w):
...     w = ray.put(w)
...     return sum(ray.get([part.remote(w, k) for k in (1.0, 2.0)]))
>>> zyg.gradient(loss, 3.0)  # doctest: +SKIP
(18.0,)

"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import ray

from zyg.actors.failures import ActorError, ActorLostError, ActorSharedError
from zyg.actors.host import hosted
from zyg.ray.actors import ActorClass, Handle, kill
from zyg.ray.functions import RemoteFunction, put
from zyg.ray.references import cancel, get, wait

if TYPE_CHECKING:
    from ray import *  # noqa: F403

__all__ = [
    "ActorError",
    "ActorLostError",
    "ActorSharedError",
    "cancel",
    "get",
    "get_actor",
    "kill",
    "put",
    "remote",
    "wait",
]


def remote(*args: Any, **options: Any) -> Any:
    """Ray's `remote`: a decorator of functions and of classes, with options or without."""
    if len(args) == 1 and not options and callable(args[0]):
        return _decorated(args[0], {})
    return ray.remote(*args) if args else functools.partial(_decorated, options=options)


def _decorated(f: Any, options: dict[str, Any]) -> Any:
    decorate = ray.remote(**options) if options else ray.remote
    if inspect.isclass(f):
        return ActorClass(decorate(hosted(f)), f, options)
    return RemoteFunction(decorate(f), f, options)


def get_actor(name: str, *args: Any, **options: Any) -> Handle:
    """Ray's `get_actor`."""
    return Handle(ray.get_actor(name, *args, **options))


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return getattr(ray, name)


def __dir__() -> list[str]:
    return [*dir(ray), "ActorError", "ActorLostError", "ActorSharedError"]
