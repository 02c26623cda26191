"""Threads that help with the chunks of a kernel, which runs without the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from zyg.base.caches import Cache

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_helpers: Cache[int, ThreadPoolExecutor] = Cache(8)  # by how many threads there are
os.register_at_fork(after_in_child=_helpers.clear)  # threads do not survive a fork


def in_parallel(work: Callable[[int], bool], count: int, workers: int) -> bool:
    """Call `work` with each number below `count`, in this thread and workers - 1 others.

    Whether it was true of all.
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
    tasks = [_pool(others).submit(take) for _ in range(others)]
    own = take()
    return all([own, *[task.result() for task in tasks]])


def _pool(size: int) -> ThreadPoolExecutor:
    pool = _helpers.get(size)
    if pool is None:
        from concurrent.futures import ThreadPoolExecutor

        pool = _helpers.put(size, ThreadPoolExecutor(size, "zyg kernel"))
    return pool
