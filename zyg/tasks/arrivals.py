"""Values that come from a cluster: who asks for one fetches all that are ready.

To ask for one value costs a coordinator as much as a task does, and for a hundred of them hardly
more than for one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from threading import Lock
from typing import Any
from weakref import WeakSet

from zyg.base.containers import Engine
from zyg.errors import ZygError


class LostTasksError(ZygError, CancelledError):
    """Tasks of a gradient that the cluster was made to forget.

    Examples: its client was restarted or closed while the gradient ran. Remedy: do that afterwards.
    """

    tag = "tasks-lost"


class Fetched(Future[Any], Engine):
    """A future that is done when its value can be had: what it is given is asked for it then."""

    lost = False  # whether it is cancelled, and not by who has it

    def result(self, timeout: float | None = None) -> Any:
        """As a future's."""
        try:
            value = super().result(timeout)
        except CancelledError:
            if not self.lost:
                raise
            raise LostTasksError(
                "the cluster has forgotten a task of a gradient.",
                "its client was restarted or closed meanwhile, or has cancelled what the task is "
                "of. Workers that die cost their own work again; this takes the way to it, too.",
                "take the gradient again, and call restart() or close() when it has been taken.",
            ) from None
        return value()


class Arrival(Future[Any], Engine):
    """The future, here, of a value on a cluster: done when the value is there."""

    def __init__(self, arrivals: Arrivals, raw: Any) -> None:
        super().__init__()
        self.arrivals, self.raw = arrivals, raw
        self.here = False
        self.value: Any = None

    def result(self, timeout: float | None = None) -> Any:
        """As a future's: the value is fetched."""
        super().result(timeout)
        return self.arrivals.value_of(self)

    def cancel(self) -> bool:
        """As a future's; what computes the value is cancelled, too."""
        cancelled = super().cancel()
        self.raw.cancel()
        return cancelled


class Arrivals(Engine):
    """The values of a client; `gather` fetches those of several futures."""

    def __init__(self, gather: Callable[[list[Any]], Sequence[Any]]) -> None:
        self.gather = gather
        self.fetching, self.lock = Lock(), Lock()
        self.ready = WeakSet[Arrival]()  # those that are wanted still

    def of(self, raw: Any) -> Arrival:
        """The arrival of the value of a future of the cluster's."""
        made = Arrival(self, raw)
        raw.add_done_callback(lambda _: self._is_ready(made))
        return made

    def _is_ready(self, made: Arrival) -> None:
        if made.raw.cancelled():  # perhaps by a client that was closed
            settle_cancelled(made)
            return
        if made.raw.status == "error":
            give(made, None, _apart(made.raw.exception()).with_traceback(made.raw.traceback()))
            return
        with self.lock:
            self.ready.add(made)
        give(made, None)

    def value_of(self, made: Arrival) -> Any:
        """The value of one that is ready, fetched with all others that are."""
        with self.fetching:
            if not made.here:
                with self.lock:
                    batch = [*self.ready]
                try:
                    values = self.gather([one.raw for one in batch])
                except Exception:  # of one of them; or a worker was lost meanwhile
                    batch, values = [made], [made.raw.result()]
                for one, value in zip(batch, values, strict=True):
                    one.value, one.here = value, True
                with self.lock:
                    self.ready.difference_update(batch)
        return made.value


def _apart(error: BaseException) -> BaseException:
    """An error of ours: the client would keep, by its own, the frames and tasks of who is told."""
    try:
        made = copy.copy(error)
        made.__cause__, made.__suppress_context__ = error.__cause__, error.__suppress_context__
        return made if str(made) == str(error) else error
    except Exception:  # of a class that makes it of something else
        return error


def once(f: Callable[[Any], None]) -> Callable[[Any], None]:
    """A callback of a future, which keeps its callbacks, that lets go of `f` when it is called."""
    held = [f]
    return lambda done: held.pop()(done)


def settle_cancelled(made: Any, lost: bool = True) -> None:
    """Cancel a future, and tell who waits for it; it is `lost` if they have not done that."""
    made.lost = lost and not made.cancelled()
    if Future.cancel(made):
        made.set_running_or_notify_cancel()


def give(made: Future[Any], value: Any, error: BaseException | None = None) -> None:
    """Give a future its value or its error, unless nobody waits for it any more."""
    if made.set_running_or_notify_cancel():
        if error is None:
            made.set_result(value)
        else:
            made.set_exception(error)
