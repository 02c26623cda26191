"""Threads that are reversed by threads.

>>> import numpy as np, zyg
>>> def total(x):
...     return sum(zyg.threads.map(lambda k: np.sin(k * x), [1.0, 2.0, 3.0]))
>>> round(zyg.gradient(total, 0.0)[0], 6)
6.0

"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from zyg.base.borders import border
from zyg.base.config import cores
from zyg.base.containers import Engine
from zyg.base.signatures import R
from zyg.core.strand import active, fork

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = ["Thread", "map"]


def in_strand(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`f` for a thread: in the context of this task, with strands of its own."""
    context = copy_context()
    if strands := fork(name, parallel=True):
        context.run(active.set, strands)
    return functools.partial(context.run, f)


@border
def map(
    f: Callable[..., R],
    *iterables: Iterable[Any],
    pool: Executor | None = None,
    chunksize: int = 1,
) -> list[R]:
    """``[f(*items) for items in zip(*iterables)]``, on threads.

    Parameters
    ----------
    f : callable
        The function.
    *iterables
        Its arguments, one from each for each call.
    pool : Executor, optional
        An executor of threads. Without one, as many threads as there are cores are started and
        ended here.
    chunksize : int, default 1
        How many items make a task.

    Returns
    -------
    list
        What f returned, in the order of the items.

    Raises
    ------
    Exception
        The first that f raises.

    Examples
    --------
    >>> import zyg
    >>> zyg.threads.map(pow, [2, 3], [3, 2])
    [8, 9]
    """
    from concurrent.futures import ThreadPoolExecutor  # a third of what zyg loads

    items = [*zip(*iterables, strict=False)]
    name = getattr(f, "__name__", "map")

    def run(chunk: list[Any]) -> list[R]:
        return [f(*item) for item in chunk]

    starts = range(0, len(items), chunksize)
    tasks = [
        functools.partial(in_strand(run, f"{name}-{k}"), items[k : k + chunksize]) for k in starts
    ]
    executors: AbstractContextManager[Executor] = (
        ThreadPoolExecutor(min(len(tasks), cores()) or 1) if pool is None else nullcontext(pool)
    )
    with executors as executor:
        futures = [executor.submit(task) for task in tasks]
        return [value for future in futures for value in future.result()]


class Thread(threading.Thread, Engine):
    """A `threading.Thread` with strands of its own, in the context of the task that makes it.

    >>> import zyg
    >>> def double(x):
    ...     made = []
    ...     thread = zyg.threads.Thread(target=lambda: made.append(2 * x))
    ...     thread.start()
    ...     thread.join()
    ...     return made[0]
    >>> zyg.gradient(double, 1.0)
    (2.0,)

    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._start_in = in_strand(super().run, self.name)

    @border
    def run(self) -> None:
        """What the thread does: the target, in its own strands."""
        try:
            self._start_in()
        finally:
            del self._start_in  # with what the context holds
