"""What is under way: the requests of calls that do not wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any

from zyg.base.containers import Engine
from zyg.ranks.failures import crossed, refused
from zyg.ranks.link import mpi
from zyg.ranks.messages import tell
from zyg.ranks.session import Channel

Found = tuple[bool, Any]
Several = tuple[list[int] | None, list[Any] | None]


def _of_memory(name: str) -> Any:
    """A call in capital letters: that of objects, without what requests give."""

    def method(cls: type[Request], requests: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        return getattr(cls, name)(requests, *args, **kwargs)[0]

    return classmethod(method)


class Request(Engine):
    """A call that was begun under a gradient over ranks; it is used as MPI's request is."""

    def __init__(
        self, channel: Channel, ready: Callable[[], bool], finish: Callable[[], Any]
    ) -> None:
        self._channel, self._ready, self._finish = channel, ready, finish
        self._done = self._waited = False
        self._value: Any = None
        self.status: Any = None  # of a receipt
        self.log = channel.log  # of the function that has begun it

    def demand_inside(self, log: Any) -> None:
        """Refuse what is begun on one side of zyg.checkpoint, and waited for on the other."""
        if self.log is not log:
            raise crossed()

    def conclude(self) -> Any:
        """The value of the call, which is waited for."""
        if not self._done:
            opened = self._channel.open
            for earlier in opened[: opened.index(self)] if self in opened else ():
                earlier.conclude()
            self._value, self._done = self._finish(), True
            if self in opened:
                opened.remove(self)
        return self._value

    def _told(self, status: Any) -> None:
        if status is not None and self.status is not None:
            retold(self._channel, status, self.status)

    def wait(self, status: Any = None) -> Any:
        """The object that the call gives, once it is there."""
        value = self.conclude()
        self._waited = True
        self._told(status)
        return value

    def Wait(self, status: Any = None) -> bool:
        self.wait(status)
        return True

    def test(self, status: Any = None) -> Found:
        """Whether it is done, and the object that it gives."""
        if (log := self._channel.log) is not None:
            self.demand_inside(log)
        if self._done or self._channel.once("a test of a request", self._ready):
            return True, self.wait(status)
        self._channel.session.go_on()
        return False, None

    def Test(self, status: Any = None) -> bool:
        return self.test(status)[0]

    def cancel(self) -> None:
        raise refused("cancel", "the other rank may have the message.", "wait for the request.")

    Cancel = Free = cancel

    @classmethod
    def waitall(cls, requests: Sequence[Any], statuses: Sequence[Any] | None = None) -> list[Any]:
        """What each request gives; also of requests of MPI's own."""
        given = chain(statuses or (), repeat(None))  # there may be fewer
        return [r.wait(status) for r, status in zip(requests, given, strict=False)]

    @classmethod
    def Waitall(cls, requests: Sequence[Any], statuses: Sequence[Any] | None = None) -> bool:
        cls.waitall(requests, statuses)
        return True

    @classmethod
    def testsome(cls, requests: Sequence[Any], statuses: Sequence[Any] | None = None) -> Several:
        """The places of the requests that are done, and what they give.

        Requests that have been waited for are passed over; ``(None, None)`` if all have been.
        """
        return _some(requests, chain(statuses or (), repeat(None)), len(requests))

    @classmethod
    def waitsome(cls, requests: Sequence[Any], statuses: Sequence[Any] | None = None) -> Several:
        """The same, once one of them is done."""
        return _waited(requests, lambda: cls.testsome(requests, statuses))

    @classmethod
    def testany(cls, requests: Sequence[Any], status: Any = None) -> tuple[int, bool, Any]:
        """The place of a request that is done, that there is one, and what it gives.

        Requests that have been waited for are passed over; ``(UNDEFINED, True, None)`` if all have
        been, ``(UNDEFINED, False, None)`` if none is done.
        """
        places, values = _some(requests, repeat(status), 1)
        if not places or not values:
            return mpi().UNDEFINED, places is None, None
        return places[0], True, values[0]

    @classmethod
    def waitany(cls, requests: Sequence[Any], status: Any = None) -> tuple[int, Any]:
        """The place of the first request that is done, and what it gives.

        Requests that have been waited for are passed over; ``(UNDEFINED, None)`` if all have been.
        """
        places, values = _waited(requests, lambda: _some(requests, repeat(status), 1))
        return (places[0], values[0]) if places and values else (mpi().UNDEFINED, None)

    @classmethod
    def Testany(cls, requests: Sequence[Any], status: Any = None) -> tuple[int, bool]:
        return cls.testany(requests, status)[:2]

    @classmethod
    def testall(
        cls, requests: Sequence[Any], statuses: Sequence[Any] | None = None
    ) -> tuple[bool, list[Any] | None]:
        """Whether all are done, and what they give."""
        done = [r.test()[0] for r in requests]  # each is asked, and so goes on
        return (True, cls.waitall(requests, statuses)) if all(done) else (False, None)

    Testall, Testsome, Waitsome, Waitany = map(
        _of_memory, ("testall", "testsome", "waitsome", "waitany")
    )


def _some(requests: Sequence[Any], statuses: Iterator[Any], most: int) -> Several:
    """The places of requests that are done, of so many at most, and what they give."""
    left = [(k, request) for k, request in enumerate(requests) if not _is_waited(request)]
    places, values = [], []
    status = next(statuses)
    for k, request in left:
        done, value = request.test(status)
        if done:
            places.append(k)
            values.append(value)
            if len(places) == most:
                break
            status = next(statuses)
    return (places, values) if left else (None, None)


def _waited(requests: Sequence[Any], some: Callable[[], Several]) -> Several:
    """Some of requests, once there are, or all have been waited for."""
    channel = next((r._channel for r in requests if isinstance(r, Request)), None)
    left = [r for r in requests if not _is_waited(r)]
    if left and channel is not None and not channel.silent:

        def poll() -> bool | None:
            return any(map(_is_ready, left)) or None

        channel.session.link.wait(poll, None, lambda: "one of several requests")
    while (found := some())[0] == []:
        pass
    return found


def _is_ready(request: Any) -> bool:
    """Whether a request, of zyg's or MPI's, is done; it may be asked again."""
    if isinstance(request, Request):
        return request._done or request._ready()
    return bool(request.Get_status())


def _is_waited(request: Any) -> bool:
    """Whether a request, of zyg's or MPI's, has given what it gives."""
    if isinstance(request, Request):
        return request._waited
    return bool(request == mpi().REQUEST_NULL)


def retold(channel: Channel, status: Any, found: Any) -> None:
    """Give a status of the user's what is known of a message."""
    tell(status, channel.byte, found.source, found.tag, found.Get_count(channel.byte))
