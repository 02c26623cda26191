"""trio, whose tasks are reversed by tasks: ``from zyg import trio``.

`open_nursery` and `to_thread.run_sync` give each task, and each thread, a strand of its own; all
else is trio's. Channels need nothing: a message is a value like any other, and what its receiver
does with it finds its way back to its sender (`zyg.core.exchange`). Plain trio gives the same
gradients; its tasks share one strand, which is reversed in one piece.

>>> import zyg
>>> from zyg import trio
>>> async def total(x):
...     send, receive = trio.open_memory_channel(0)
...     async def produce():
...         async with send:
...             for k in range(1, 5):
...                 await send.send(k * x)
...     async with trio.open_nursery() as nursery:
...         nursery.start_soon(produce)
...         return sum([y * y async for y in receive])
>>> zyg.gradient(total, 3.0)
(180.0,)

"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import trio

from zyg.base.containers import Engine
from zyg.base.signatures import R, Ts
from zyg.core.running import activated
from zyg.core.strand import active, fork

if TYPE_CHECKING:
    from trio import *  # noqa: F403
    from trio import abc as abc
    from trio import from_thread as from_thread
    from trio import lowlevel as lowlevel
    from trio import socket as socket
    from trio import testing as testing


class StrandNursery(Engine):
    """A nursery of trio's, whose tasks have strands of their own; everything else is the same."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery

    def start_soon(
        self, async_fn: Callable[..., Awaitable[Any]], *args: Any, name: object = None
    ) -> None:
        """As trio's."""
        with _forked(async_fn, name):
            self._nursery.start_soon(async_fn, *args, name=name)

    async def start(
        self, async_fn: Callable[..., Awaitable[Any]], *args: Any, name: object = None
    ) -> Any:
        """As trio's."""
        with _forked(async_fn, name):
            return await self._nursery.start(async_fn, *args, name=name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What it is to `isinstance`."""
        return trio.Nursery

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nursery, name)

    def __dir__(self) -> list[str]:
        return dir(self._nursery)


def _forked(f: Any, name: object, *, parallel: bool = False) -> AbstractContextManager[None]:
    """While a task is started: its context, a copy of this one, has strands of its own."""
    if name is None:
        name = getattr(f, "__qualname__", f)
    return activated(fork(str(name), parallel=parallel))


def open_nursery(  # type: ignore[no-redef]
    strict_exception_groups: bool | None = None,
) -> AbstractAsyncContextManager[trio.Nursery]:
    """As trio's."""
    made = trio.open_nursery(strict_exception_groups)
    return _open(made) if active.get() else made


@asynccontextmanager
async def _open(made: AbstractAsyncContextManager[trio.Nursery]) -> AsyncIterator[Any]:
    async with made as nursery:
        yield StrandNursery(nursery)


async def run_sync(
    sync_fn: Callable[[*Ts], R],
    *args: *Ts,
    thread_name: str | None = None,
    abandon_on_cancel: bool = False,
    limiter: trio.CapacityLimiter | None = None,
) -> R:
    """As trio's ``to_thread.run_sync``; the thread is reversed on a thread."""
    with _forked(sync_fn, thread_name, parallel=True):
        return await trio.to_thread.run_sync(
            sync_fn,
            *args,
            thread_name=thread_name,
            abandon_on_cancel=abandon_on_cancel,
            limiter=limiter,
        )


if TYPE_CHECKING:
    from trio import to_thread as to_thread
else:
    to_thread = SimpleNamespace(**vars(trio.to_thread))
    to_thread.run_sync = run_sync

    def __getattr__(name: str) -> Any:
        return getattr(trio, name)


def __dir__() -> list[str]:
    return dir(trio)
