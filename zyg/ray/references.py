"""References to values on a cluster of Ray's that are watched where they are got."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from concurrent.futures import Future
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayTaskError

from zyg.base.containers import Engine
from zyg.errors import ZygError


class Reference(Engine):
    """The reference to a value that is watched where it is got: used as an `ObjectRef`."""

    def __init__(self, future: Any) -> None:
        self._future = future

    def __reduce__(self) -> Any:
        """In an argument of another task: a reference to what is there."""
        return Here, (self._future,)

    def __await__(self) -> Generator[Any, Any, Any]:
        return asyncio.wrap_future(self._future).__await__()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._future._raw.ref, name)

    def future(self) -> Future[Any]:
        """A future of `concurrent.futures` whose value is watched."""
        return self._future  # type: ignore[no-any-return]


class Here(Engine):
    """A reference, in a task, to a value that has come with it."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Raw(Engine):
    """A value on the cluster, as tasks here name it."""

    def __init__(self, ref: Any) -> None:
        self.ref = ref
        self._cancelled = False

    @property
    def future(self) -> Raw:
        """The value on the cluster, for other tasks: this one."""
        return self

    def cancel(self) -> bool:
        """Have its task not run, or be interrupted."""
        self._cancelled = True
        ray.cancel(self.ref)
        return True

    def result(self) -> Any:
        """The value, which is waited for."""
        return arrival(self.ref).result()

    def cancelled(self) -> bool:
        """Whether that was asked for here."""
        return self._cancelled

    def running(self) -> bool:
        """Whether its task has not ended."""
        return not ray.wait([self.ref], timeout=0)[0]


def arrival(ref: Any) -> Future[Any]:
    """The future of a value that comes here; zyg's errors come as they are."""
    made: Future[Any] = Future()

    def came(done: Future[Any]) -> None:
        if not made.set_running_or_notify_cancel():
            return
        error: Any = done.exception()
        if error is None:
            made.set_result(done.result())
        else:
            ours = isinstance(error, RayTaskError) and isinstance(error.cause, ZygError)
            made.set_exception(error.cause if ours else error)

    ref.future().add_done_callback(came)
    return made


def get(refs: Any, *, timeout: float | None = None, **options: Any) -> Any:
    """Ray's `get`: the value of a reference, or the values of a list; watched where they are."""
    end = None if timeout is None else time.monotonic() + timeout
    if isinstance(refs, _OURS):
        return _value_of(refs, end)
    if not isinstance(refs, list) or not any(isinstance(x, _OURS) for x in refs):
        return ray.get(refs, timeout=timeout, **options)
    rest = [x for x in refs if not isinstance(x, _OURS)]
    raw = iter(ray.get(rest, timeout=timeout, **options) if rest else [])
    return [_value_of(x, end) if isinstance(x, _OURS) else next(raw) for x in refs]


def _value_of(ref: Any, end: float | None) -> Any:
    if isinstance(ref, Here):
        return ref.value
    try:
        return ref._future.result(None if end is None else max(0.0, end - time.monotonic()))
    except TimeoutError as error:
        if ref._future.done():
            raise
        raise GetTimeoutError("a value is not there in time") from error


def wait(
    refs: list[Any], *, num_returns: int = 1, timeout: float | None = None, **options: Any
) -> tuple[list[Any], list[Any]]:
    """Ray's `wait`: the references whose values are ready, and the others."""
    if not isinstance(refs, list) or not any(isinstance(x, _OURS) for x in refs):
        return ray.wait(refs, num_returns=num_returns, timeout=timeout, **options)  # type: ignore[no-any-return]
    here = [x for x in refs if isinstance(x, Here)]
    rest = [x for x in refs if not isinstance(x, Here)]
    ready, count = {*map(id, here[:num_returns])}, num_returns - len(here)
    if count > 0 and rest:
        raws = [*map(raw_of, rest)]
        found = ray.wait(raws, num_returns=count, timeout=timeout, **options)[0]
        ready |= {id(x) for x, ref in zip(rest, raws, strict=True) if ref in found}
    return [x for x in refs if id(x) in ready], [x for x in refs if id(x) not in ready]


def cancel(ref: Any, **options: Any) -> None:
    """Ray's `cancel`."""
    ray.cancel(raw_of(ref), **options)


def raw_of(ref: Any) -> Any:
    """What Ray calls a reference."""
    return ref._future._raw.ref if isinstance(ref, Reference) else ref


_OURS = (Reference, Here)
