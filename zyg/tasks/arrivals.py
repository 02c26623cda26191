"""Values that come from a cluster: all that are ready are fetched at once.

To ask for one value costs a coordinator as much as a task does, and for a hundred of them hardly
more than for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Any

from zyg.base.containers import Engine


class Arrival(Future[Any], Engine):
    """The future, here, of a value on a cluster."""

    def __init__(self, raw: Any) -> None:
        super().__init__()
        self.raw = raw

    def cancel(self) -> bool:
        """As a future's; what computes the value is cancelled, too."""
        cancelled = super().cancel()
        self.raw.cancel()
        return cancelled


class Arrivals(Engine):
    """The values that a client has asked for; `gather` fetches those of several futures."""

    def __init__(self, gather: Callable[[list[Any]], Sequence[Any]]) -> None:
        self.gather = gather
        self.lock = Lock()
        self.ready: list[Arrival] = []
        self.fetching = False  # whether a thread fetches what is ready

    def of(self, raw: Any) -> Arrival:
        """The arrival of the value of a future of the cluster's."""
        made = Arrival(raw)
        raw.add_done_callback(lambda _: self._is_ready(made))
        return made

    def _is_ready(self, made: Arrival) -> None:
        with self.lock:
            self.ready.append(made)
            if self.fetching:
                return
            self.fetching = True
        try:
            Thread(target=self._fetch_all, name="zyg: values of a cluster", daemon=True).start()
        except RuntimeError as error:  # there are no more threads: nobody is to wait for ever
            with self.lock:
                batch, self.ready, self.fetching = self.ready, [], False
            for one in batch:
                give(one, None, error)

    def _fetch_all(self) -> None:
        while True:
            with self.lock:
                batch, self.ready = self.ready, []
                if not batch:
                    self.fetching = False
                    return
            for made in batch:
                if made.raw.cancelled():  # perhaps by a client that was closed
                    Future.cancel(made)
            batch = [made for made in batch if made.set_running_or_notify_cancel()]
            try:
                values = self.gather([made.raw for made in batch])
            except BaseException:  # of one of them; or a worker was lost meanwhile
                for made in batch:
                    _settle(made)
            else:
                for made, value in zip(batch, values, strict=True):
                    made.set_result(value)


def settle_cancelled(made: Future[Any]) -> None:
    """Cancel a future, and tell who waits for it."""
    if Future.cancel(made):
        made.set_running_or_notify_cancel()


def give(made: Future[Any], value: Any, error: BaseException | None = None) -> None:
    """Give a future its value or its error, unless nobody waits for it any more."""
    if made.set_running_or_notify_cancel():
        if error is None:
            made.set_result(value)
        else:
            made.set_exception(error)


def _settle(made: Arrival) -> None:
    """Fetch a value by itself, or what its task has raised."""
    try:
        value = made.raw.result()
    except BaseException as error:
        made.set_exception(error)
    else:
        made.set_result(value)
