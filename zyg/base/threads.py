"""Threads that help with the chunks of a loop, which run without the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from zyg.base.caches import Cache
from zyg.base.config import cores, setting

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_helpers: Cache[int, ThreadPoolExecutor] = Cache(8)  # by how many threads there are
os.register_at_fork(after_in_child=_helpers.clear)  # threads do not survive a fork


def workers() -> int:
    """How many threads may work at a loop: this one, and those that the settings allow."""
    others = setting("workers")
    return cores() if others is None else 1 + others


def in_parallel(work: Callable[[int], bool], count: int, workers: int) -> bool:
    """Call `work` with each number below `count`, in this thread and workers - 1 others.

    Whether it was true of all. None runs any more where it returns, or raises what a call raised.
    """
    if count == 1:
        return work(0)
    chunks = iter(range(count))

    def take() -> bool:
        found = True
        for k in chunks:  # shared: each number comes once
            found &= work(k)
        return found

    others = min(workers, count) - 1
    tasks: list[Future[bool]] = []
    try:
        with suppress(RuntimeError):  # no thread can be started, as at exit
            tasks += [_pool(others).submit(take) for _ in range(others)]
        own = take()
    except BaseException:
        for _ in chunks:  # no one takes those
            pass
        _wait(tasks)
        raise
    _wait(tasks)
    return all([own, *[task.result() for task in tasks if not task.cancelled()]])


def _wait(tasks: list[Future[bool]]) -> None:
    """Wait for what has begun; the rest does not begin. An interrupt is raised after that."""
    late: BaseException | None = None
    for task in tasks:
        while not (task.cancel() or task.done()):
            try:
                task.exception()
            except BaseException as error:
                late = error
    if late is not None:
        raise late


def _pool(size: int) -> ThreadPoolExecutor:
    pool = _helpers.get(size)
    if pool is None:
        from concurrent.futures import ThreadPoolExecutor

        pool = _helpers.put(size, ThreadPoolExecutor(size, "zyg kernel"))
    return pool
