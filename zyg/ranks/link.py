"""How ranks speak of the gradient itself, and how one waits: never for what cannot come.

Each rank ends its function with one word to every other, "done" or "failed". The word "done" tells
what was sent to whom, so who waits for a message that was never sent knows it, without a time
limit. A rank whose program ends says "gone". One that has waited for some time says so, twice, and
says when it goes on: where all ranks wait for one another, forward or on the way back, all know it.
Before one raises, it asks the others whether they still wait, as one may only have been slow.
"""

from __future__ import annotations

import atexit
import os
import pickle
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from zyg.ranks.failures import PeerError, RankError, of_gone, of_peer, quoted
from zyg.verbs.checkpoints import exchanging

_SOON = 256  # polls before a rank does anything else while it waits
_POLLS = 16  # between two looks at the words
_TWICE = 2
_BUSY = 2000  # of these before a rank that waits sleeps in between
_STALL = 1.0  # seconds after which a rank says that it waits
_yield = getattr(os, "sched_yield", lambda: time.sleep(0))


def mpi() -> Any:
    """The module of mpi4py, whose import starts MPI."""
    from mpi4py import MPI

    return MPI


class Link:
    """What the ranks of a communicator that was wrapped say to each other of their gradients."""

    def __init__(self, comm: Any, timeout: float | None, ordered: bool) -> None:
        self.MPI = mpi()
        self.comm, self.control = comm, comm.Dup()
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.timeout, self.ordered = timeout, ordered
        self.epoch = 0  # how many gradients there were
        self.session: Any = None  # that which runs
        self.pair: Any = None  # the communicators of messages and of cotangents
        self.words: dict[tuple[int, int], Any] = {}  # "done", by gradient and rank
        self.failed: dict[tuple[int, int], tuple[str, bytes]] = {}
        self.completed = self.lost = 0  # the last gradients that ended well here, and that did not
        self.gone: dict[int, int] = {}  # ranks whose programs have ended, with the same of them
        self.waiting: dict[int, tuple[int, int, str]] = {}  # in which gradient, how often; for what
        self.still: set[int] = set()  # who has said so since this rank has asked
        self.asking: set[int] = set()  # who has asked this rank
        self.unsent: list[Any] = []
        self.abandoned: list[Any] = []  # requests that an error has ended: MPI has their memory
        self.status = self.MPI.Status()
        atexit.register(self.leave)

    def tell(self, kind: str, what: Callable[[int], Any], to: Iterable[int] | None = None) -> None:
        """Say a word to every other rank, or to some, of `what` is made for each."""
        for r in range(self.size) if to is None else to:
            if r != self.rank:
                word = kind, self.epoch, self.rank, what(r)
                self.unsent.append(self.control.isend(word, r))

    def hear(self) -> None:
        """Take in the words that have come."""
        if self.unsent:
            self.unsent = [request for request in self.unsent if not request.Test()]
        while (message := self.control.improbe(status=self.status)) is not None:
            kind, epoch, rank, what = message.recv()
            if kind == "gone":
                self.gone[rank] = what
            elif kind == "waits":
                self.waiting[rank] = what
                self.still.add(rank)
            elif kind == "asks":
                self.asking.add(rank)
            elif kind == "goes":
                self.waiting.pop(rank, None)
            elif kind == "done":
                self.words[epoch, rank] = what
            elif epoch > self.lost:  # it may be of one that had ended well here
                self.failed[max(epoch, self.epoch), rank] = what

    def demand_well(self) -> None:
        """Raise where another rank of this gradient has failed, or is gone."""
        now = [(rank, *what) for (epoch, rank), what in self.failed.items() if epoch == self.epoch]
        if now:  # of those that heard of others' the others first
            rank, said, pickled = min(now, key=lambda w: (w[1].startswith("PeerError"), w[0]))
            raise of_peer(rank, said) from _restored(pickled)
        if missing := [rank for rank, completed in self.gone.items() if completed < self.epoch]:
            raise of_gone(min(missing))

    def fail(self, error: BaseException) -> None:
        """Tell the others of an error that ends this gradient; its communicators end, too."""
        self.pair, self.lost = None, self.epoch
        self.abandoned += self.session.under_way()
        try:
            pickled = pickle.dumps(error)
        except Exception:
            pickled = b""
        self.tell("failed", lambda r: (quoted(error), pickled))

    def leave(self) -> None:
        """At the end of the program: whoever waits for this rank waits in vain."""
        if not self.MPI.Is_finalized():
            self.tell("gone", lambda r: self.completed)
            until = time.monotonic() + 1
            while self.unsent and time.monotonic() < until:
                self.hear()

    def finish(
        self,
        request: Any,
        what: Callable[[], str],
        hopeless: Callable[[], Any] | None = None,
        status: Any = None,
    ) -> None:
        """Wait until a request of MPI's is done; after an error its memory stays."""
        test = request.Test
        try:
            for _ in range(_SOON):
                if test(status):
                    return
            self.wait(lambda: test(status) or None, hopeless, what)
        except BaseException:
            self.abandoned.append(request)
            raise

    def wait(
        self,
        poll: Callable[[], Any],
        hopeless: Callable[[], Any] | None = None,
        what: Callable[[], str] = lambda: "the gradient",
    ) -> Any:
        """What `poll` returns, once that is something; `hopeless` gives an error to raise.

        `what` says what is waited for.
        """
        for _ in range(_POLLS):
            if (found := poll()) is not None:
                return found
        vigil, turns = Vigil(self, what), 0
        try:
            while True:
                for _ in range(_POLLS):
                    if (found := poll()) is not None:
                        return found
                self.hear()
                self.demand_well()
                if hopeless is not None and (error := hopeless()) is not None:
                    raise error
                if self.session is not None:  # only now: who is missing is told by what is left
                    self.session.step_works()
                vigil.look()
                turns += 1
                _yield()
                if turns > _BUSY:
                    time.sleep(1e-4)
        finally:
            vigil.end()

    def end(self) -> None:
        """This gradient has ended, and its words have been read."""
        with suppress(ValueError):
            exchanging.remove(self.session)
        self.session = None
        for known in (self.words, self.failed):
            for key in [key for key in known if key[0] <= self.epoch]:
                del known[key]


class Vigil:
    """One wait of a rank: how long it is, and whether all ranks wait for one another."""

    def __init__(self, link: Link, what: Callable[[], str]) -> None:
        self.link, self.what = link, what
        self.began = time.monotonic()
        self.said = 0  # how often the other ranks have been told
        self.stuck = 0.0  # since when all ranks wait

    def look(self) -> None:
        """Tell the others, where it has become long; raise where nobody can go on."""
        link, now = self.link, time.monotonic()
        waited = now - self.began
        if link.timeout is not None and waited > link.timeout:
            raise _late(link.rank, link.timeout, self.what())
        if waited < _STALL * (self.said + 1) or link.session is None:
            return
        if self.said < _TWICE:
            self.said += 1
            self._say(None)
            return
        if link.asking:
            self._say([*link.asking])
            link.asking.clear()
        waiting = self._waiting()
        if waiting is None:
            self.stuck = 0.0
        elif not self.stuck:
            self.stuck = now
            link.still.clear()
            link.tell("asks", lambda r: None, waiting)
        elif now - self.stuck > _TWICE * _STALL and waiting <= link.still:
            each = [f"rank {r} for {link.waiting[r][2]}" for r in sorted(waiting)]
            raise RankError(
                f"all ranks wait for one another: "
                f"{', '.join([f'rank {link.rank} for {self.what()}', *each])}.",
                "none of them can go on, with or without a gradient.",
                "see that what one waits for is sent before its sender waits."
                if link.session.forward
                else "if no adjoint of yours waits, this is a bug in zyg: please report it.",
            )

    def _say(self, to: Iterable[int] | None) -> None:
        told = self.link.epoch, self.said, self.what()
        self.link.tell("waits", lambda r: told, to)

    def _waiting(self) -> set[int] | None:
        """The other ranks, if all wait and have said so twice; but who is done with the function.

        None if one may go on. On the way back nobody is done.
        """
        link = self.link
        back = not link.session.forward
        done = set() if back else {rank for epoch, rank in link.words if epoch == link.epoch}
        others = {*range(link.size)} - {link.rank} - done
        now = link.epoch, _TWICE
        return others if all(link.waiting.get(r, ())[:2] == now for r in others) else None

    def end(self) -> None:
        """The rank goes on."""
        if self.said:
            self.link.tell("goes", lambda r: None)


def _late(rank: int, timeout: float, what: str) -> PeerError:
    return PeerError(
        f"rank {rank} has waited for {timeout} seconds for {what}.",
        "zyg.mpi.wrap(comm, timeout=) limits how long a rank waits.",
        "see what the other ranks do; a longer timeout if they only take longer.",
    )


def _restored(pickled: bytes) -> BaseException | None:
    try:
        error = pickle.loads(pickled) if pickled else None
    except Exception:
        return None
    return error if isinstance(error, BaseException) else None
