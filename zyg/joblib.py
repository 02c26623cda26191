"""joblib, whose calls in other processes are differentiated: `zyg.joblib.register`.

The backend "zyg" is joblib's loky. A call with watched values is a task of `zyg.wrap_executor`: it
runs in a worker as it is, and in the reverse pass once more, watched, in a worker.

Needs ``pip install -e '.[joblib]'``.

joblib asks for more calls in a thread of its executor's, when earlier ones are done, and there also
runs the generator that makes them: in the context of the line that began, so that it is in the
gradient. That thread must not wait for a task, so a value is noted by who takes it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

from joblib import register_parallel_backend
from joblib.externals.loky.process_executor import ShutdownExecutorError
from joblib.parallel import LokyBackend

from zyg.base.containers import Engine
from zyg.core.strand import active
from zyg.tasks.executors import Task, TaskExecutor

__all__ = ["register"]


def register() -> None:
    """Give joblib the backend "zyg", whose calls are differentiated.

    Used as ``Parallel(backend="zyg")`` or by ``with joblib.parallel_config(backend="zyg")``, it is
    joblib's own "loky", but that large arrays are sent to the workers, and not mapped into their
    memory. Inside a gradient a task is one call, where joblib does not have a ``batch_size``: by
    loky's choice, which depends on time, the last bits of the gradient would.

    Calls have to be functions of their arguments and their closures, since each is run again in the
    reverse pass: give them seeds. It never raises; calls raise ShippingError for what cannot be
    sent, and RecomputationError where the second run gives another value.

    Examples
    --------
    >>> import zyg
    >>> from joblib import Parallel, delayed
    >>> zyg.joblib.register()
    >>> def total(x):
    ...     return sum(Parallel(n_jobs=2, backend="zyg")(delayed(pow)(x, k) for k in (1, 2)))
    >>> zyg.gradient(total, 3.0)
    (7.0,)
    """
    register_parallel_backend("zyg", Backend)


class Backend(LokyBackend, Engine):  # type: ignore[misc]
    """The backend of joblib's whose calls are differentiated."""

    def configure(self, n_jobs: int = 1, parallel: Any = None, **options: Any) -> int:
        """As loky's; arrays are sent, as a folder of mapped ones is gone in the reverse pass."""
        options["max_nbytes"] = None
        found: int = super().configure(n_jobs, parallel, **options)
        made_of = {
            "nesting_level": self.nesting_level,
            "inner_max_num_threads": self.inner_max_num_threads,
            **self.backend_kwargs,
        }
        self._tasks = _Workers(self._workers, functools.partial(_again, made_of, found, options))
        return found

    def compute_batch_size(self) -> int:
        """How many calls are one task, where the user does not say."""
        found: int = 1 if active.get() else super().compute_batch_size()
        return found

    def submit(self, func: Any, callback: Callable[[Any], Any] | None = None) -> Any:
        """As loky's; `func` has the calls of a task."""
        if not active.get():
            return super().submit(func, callback)
        task = functools.update_wrapper(functools.partial(func), func.items[0][0])
        future = self._tasks.submit(task)
        if callback is not None:
            context = copy_context()
            future.add_done_callback(lambda done: context.run(callback, done))
        return future

    def retrieve_result_callback(self, future: Any) -> Any:
        """What the calls of a task gave."""
        if not isinstance(future, Task) or future.cancelled() or future.exception():
            return super().retrieve_result_callback(future)
        return _Values(future)


class _Values(Engine):
    """The values of the calls of a task, noted when they are asked for."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def __iter__(self) -> Iterator[Any]:
        return iter(self.task.result())


def _again(made_of: dict[str, Any], n_jobs: int, options: dict[str, Any]) -> Executor:
    """The executor of a backend like another one, which may have been closed meanwhile."""
    backend = LokyBackend(**made_of)
    backend.configure(n_jobs, SimpleNamespace(_id="zyg"), **options)
    return backend._workers  # type: ignore[no-any-return]


class _Workers(TaskExecutor):
    """joblib's executor; where joblib has closed it since, or a worker has died, another one."""

    def __init__(self, executor: Executor, again: Callable[[], Executor]) -> None:
        super().__init__(executor, recompute=True)
        self._again = again

    def _submitted(self, f: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return super()._submitted(f, *args, **kwargs)
        except (ShutdownExecutorError, BrokenExecutor):
            self._executor = self._again()
            return super()._submitted(f, *args, **kwargs)
