"""One gradient over ranks: what went over each communicator, and how the ranks agree on it.

A message is known by its sender, its receiver and its number among those between the two. The
sender counts as it sends. The receiver, who may have asked by tag, learns the numbers when the
ranks agree: MPI keeps the order of messages with one tag, so it knows which is which.

The ranks agree before they go back. Each tells every other what it sent it, and how many messages
it had from it; what does not fit is an error there, and so on all ranks.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from threading import get_ident
from typing import Any

import numpy as np

from zyg.base.buffers import empty
from zyg.base.config import setting
from zyg.core.strand import Strand, active
from zyg.ranks.cargo import Layout, Layouts
from zyg.ranks.failures import RankError, refused
from zyg.ranks.link import Link
from zyg.ranks.log import Log
from zyg.verbs.checkpoints import exchanging

# What is known of a message besides its tag, in the lower bits of its code.
WATCHED, PICKLED, KNOWN = 1, 2, 4  # KNOWN: its receiver can carry a derivative
_FLAGS = 3  # bits, and eight more for the dtype of a buffer
_TAG = 11


def code_of(tag: int, flags: int, dtype: np.dtype[Any] | None = None) -> int:
    """The code of a message."""
    return tag << _TAG | (0 if dtype is None else dtype.num & 255) << _FLAGS | flags


class Session:
    """One gradient over the ranks of a link."""

    def __init__(self, link: Link) -> None:
        if link.session is not None or active.get():
            raise RankError(
                "zyg.mpi.value_and_gradient was called inside of another gradient.",
                "the outer one would not see what other ranks did.",
                "take one gradient over ranks at a time; inside of its function, take those of "
                "what a rank computes by itself.",
            )
        self.link = link
        self.strand: Any = None  # on which what is called here is noted
        self.log: Any = None  # that of the function of zyg.checkpoint that runs
        self.broken: RankError | None = None  # what has ended such a function after its messages
        self.pair: Any = None  # the communicators of its messages and cotangents
        self.forward, self.moves, self.thread = False, False, get_ident()
        self.channels: dict[Any, Channel] = {}
        self.unsent: deque[Any] = deque()  # requests of what goes to others
        self.freed: list[Any] = []  # communicators that go when the ranks do not go back any more
        self.begin()

    def begin(self) -> None:
        """Begin a gradient, or to go back once more."""
        self.link.epoch += 1
        self.link.session = self
        exchanging.append(self)

    def begin_function(self, strand: Strand) -> None:
        """The function begins, on its strand."""
        self.forward, self.moves = True, strand.moves
        self.stand(None, strand)

    def new_log(self) -> Log:
        """A log of a function that is called here."""
        return Log(self)

    def stand(self, log: Any, strand: Strand | None) -> None:
        """From now on what is called is noted on a strand, and in a log, if there is one."""
        self.log, self.strand = log, strand
        for channel in self.channels.values():
            channel.stand()

    def resume(self) -> None:
        """Begin to go back through what was noted before."""
        if self.link.session is not None or self.pair is not self.link.pair:
            raise RankError(
                "a pullback over ranks was called inside of another gradient, or after one failed.",
                "the ranks may have cotangents under way that belong to the other.",
                "call f again with zyg.mpi.pullback.",
            )
        self.begin()

    def is_here(self) -> bool:
        """Whether this line is noted on the strand of the gradient's own function, or a part's.

        In forward mode the threads of the function are on its strand, too.
        """
        strands, strand, log = active.get(), self.strand, self.log
        if not strands or strands[-1] is not strand or not (self.forward or log is not None):
            return False
        return not strand.dual or get_ident() == (self if log is None else log).thread

    def demand_here(self, name: str) -> None:
        """Refuse a call that is not noted on the strand of the gradient's own function."""
        if self.is_here():
            return
        raise refused(
            name,
            "it was called in another task, in an inner gradient or on the way back, where the "
            "order of the messages is not that of this rank.",
            "call it in the function of the gradient itself, or in zyg.checkpoint there; what a "
            "rank computes between two calls may be in tasks and in gradients.",
        )

    def connect(self) -> None:
        """Make the communicators that messages and cotangents have for themselves."""
        link = self.link
        if link.pair is None:
            made = []
            for _ in range(2):
                comm, request = link.control.Idup()
                link.finish(request, lambda: "the gradient")
                made.append(comm)
            link.pair = made
            link.abandoned = [r for r in link.abandoned if not r.Test()]
        self.pair = link.pair

    def end(self) -> None:
        """Let go of what the user has freed, once the ranks have gone back."""
        for comm in self.freed:
            comm.Free()

    def keep(self, request: Any) -> None:
        """Hold what goes to another rank until it is there, whoever waits for it."""
        unsent = self.unsent
        unsent.append(request)
        while len(unsent) > _MANY and unsent[0].Test():
            unsent.popleft()

    def flush(self) -> None:
        """Wait until what was sent back has left."""
        while self.unsent:
            self.link.finish(self.unsent.popleft(), lambda: "its cotangents to be received")

    def step_works(self) -> None:
        """Go on with the collective calls that are under way."""
        for channel in self.channels.values():
            channel.step_works()

    def go_on(self) -> None:
        """Hear what others say, and go on with collective calls, where a rank asks in a loop."""
        self.link.hear()
        self.link.demand_well()
        self.step_works()

    def under_way(self) -> list[Any]:
        """The requests of MPI's that are not done."""
        works = [work for channel in self.channels.values() for work in channel.works]
        return [*self.unsent, *[work.request for work in works if work.request is not None]]

    def all_say(self, yes: bool) -> bool:
        """Whether all ranks say yes."""
        link = self.link
        mine, every = np.array([yes], np.int32), np.empty(1, np.int32)
        request = self.pair[1].Iallreduce(mine, every, link.MPI.MIN)
        link.finish(request, lambda: "all ranks to have gone back")
        return bool(every[0])

    def agree(self, root: int) -> None:
        """Exchange what was sent and received; raises where it does not fit."""
        link = self.link
        if self.broken is not None:
            raise self.broken
        for channel in [*self.channels.values()]:
            for request in [*channel.open]:
                request.conclude()
            for posted, request in [*channel.begun.items()]:
                if posted.message is not None:  # its sender waits for the cotangents
                    request.conclude()
        terms = root, setting("strong_zero"), setting("check_nan")
        accounts = self.channels.items()
        link.tell("done", lambda r: {_TERMS: terms} | {k: c.account(r) for k, c in accounts})
        others = {r for r in range(link.size) if r != link.rank}
        words, epoch = link.words, link.epoch
        link.wait(lambda: all((epoch, r) in words for r in others) or None)
        for r in others:
            if (theirs := words[epoch, r][_TERMS]) != terms:
                raise RankError(
                    f"rank {r} takes another gradient than rank {link.rank}: root, strong_zero and "
                    f"check_nan are {theirs} there and {terms} here.",
                    "ranks go back together, from one number, in the same way.",
                    "give the same root, and the same zyg.config, on all ranks.",
                    where="at the end of the function",
                )
        for channel in self.channels.values():
            channel.compare()
        for r in others:
            for key in words[epoch, r].keys() - self.channels.keys() - {_TERMS}:
                sent = words[epoch, r][key][0]
                if sent:
                    raise _unreceived(r, link.rank, array("q", sent), 1)


_TERMS = "terms"  # beside the keys of channels, what ranks take the gradient by
_MANY = 64  # messages under way
_NOTHING = np.empty(0)  # a cotangent that is None


def _cotangent_of(rank: int) -> str:
    return f"a cotangent of rank {rank}"


def _unreceived(source: int, to: int, codes: Any, count: int) -> RankError:
    return RankError(
        f"rank {to} has not received {count} of the messages that rank {source} sent it; the first "
        f"has the tag {int(codes[0]) >> _TAG}.",
        "a message that nobody receives stays, and the next gradient would receive it.",
        "receive it, or do not send it.",
        where=f"at the end of the function, on rank {to}",
    )


class Channel:
    """What went over one communicator in a session."""

    def __init__(
        self, session: Session, key: Any, raw: Any, pair: Any, ranks: list[int], ordered: bool
    ) -> None:
        self.session, self.key, self.raw = session, key, raw
        self.stand()
        self.data, self.twin = pair
        self.ranks, self.ordered = ranks, ordered  # those of the link, by their own
        self.rank, self.size = raw.Get_rank(), raw.Get_size()
        self.MPI = session.link.MPI
        self.sent = [array("q") for _ in ranks]
        self.got = [array("q") for _ in ranks]
        self.numbers: list[Any] = [None] * len(ranks)  # of those received; in order if None
        self.carrying: list[bytes] = [b""] * len(ranks)  # whether these were watched
        self.layouts = Layouts()
        self.collectives = 0
        self.works: deque[Work] = deque()
        self.posted: list[Any] = []
        self.begun: dict[Any, Any] = {}  # receipts, with their requests until these are done
        self.open: list[Any] = []  # requests of collective calls, in the order of their beginning
        self.tags = 1 + self.MPI.COMM_WORLD.Get_attr(self.MPI.TAG_UB)
        self.status, self.byte, self.null = self.MPI.Status(), self.MPI.BYTE, self.MPI.REQUEST_NULL

    def stand(self) -> None:
        """Note what is called where the session does."""
        self.log, self.strand = self.session.log, self.session.strand
        # That of a line whose calls are of this channel; of tangents the thread counts, too.
        self.here = None if self.strand is None or self.strand.dual else self.strand
        # Whether MPI is not called, as a log tells what came of it.
        self.silent = self.log is not None and not self.log.calls

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` gives, or gave where a function of zyg.checkpoint ran first."""
        return make() if self.log is None else self.log.of(name, make)

    def count(self, to: int, code: int) -> int:
        """The number of a message to a rank."""
        codes = self.sent[to]
        codes.append(code)
        return len(codes) - 1

    def account(self, r: int) -> Any:
        """What another rank of the link is told of this channel."""
        if r not in self.ranks:
            return b"", 0, self.collectives
        to = self.ranks.index(r)
        return self.sent[to].tobytes(), len(self.got[to]), self.collectives

    def told(self, source: int) -> Any:
        """What a rank that is done has told of this channel: None before that."""
        link = self.session.link
        if source == self.rank:
            return self.sent[source].tobytes(), len(self.got[source]), 0
        word = link.words.get((link.epoch, self.ranks[source]))
        return None if word is None else word.get(self.key, (b"", 0, 0))

    def compare(self) -> None:
        """Raise where what others told does not fit what was received here."""
        for source in range(self.size):
            codes, _, collectives = self.told(source)
            if source != self.rank and collectives != self.collectives:
                raise RankError(
                    f"rank {self.ranks[source]} has made {collectives} collective calls, rank "
                    f"{self.ranks[self.rank]} {self.collectives}.",
                    "all ranks of a communicator take part in its collective calls.",
                    "make the same calls on all ranks.",
                    where="at the end of the function",
                )
            self._match(source, array("q", codes))

    def _match(self, source: int, sent: Any) -> None:
        got = self.got[source]
        theirs, ours = np.asarray(sent), np.asarray(got)
        if len(theirs) != len(ours):
            rest = [*sent]
            for code in got:
                tag = code >> _TAG
                rest.remove(next(c for c in rest if c >> _TAG == tag))
            raise _unreceived(self.ranks[source], self.ranks[self.rank], rest, len(rest))
        order: Any = slice(None)
        if (theirs >> _TAG != ours >> _TAG).any():
            by_tag, own = (np.argsort(c >> _TAG, kind="stable") for c in (theirs, ours))
            numbers = np.empty(len(ours), np.int64)
            numbers[own] = by_tag
            self.numbers[source], order = numbers, numbers
        self.carrying[source] = self._carrying(source, theirs[order], ours)

    def _carrying(self, source: int, theirs: Any, ours: Any) -> bytes:
        """Which of the messages carried a derivative; raises where it was lost."""
        watched = theirs & WATCHED == WATCHED
        ranks = self.ranks[source], self.ranks[self.rank]
        if (other := (theirs ^ ours) & ~(WATCHED | KNOWN) != 0).any():
            raise RankError(
                f"message {int(np.argmax(other))} of rank {ranks[0]} to rank {ranks[1]} was sent "
                "in another way than it was received.",
                "send, of objects, goes with recv, and Send, of memory, with Recv of the same "
                "dtype.",
                "use the two that belong together.",
                where="at the end of the function",
            )
        if (lost := watched & (ours & KNOWN == 0)).any():
            raise RankError(
                f"message {int(np.argmax(lost))} of rank {ranks[0]} to rank {ranks[1]} is watched, "
                "and was received into a plain array.",
                "a plain array can hold plain numbers only, so the derivative would be lost.",
                "make the array with zyg.numpy, inside of the function.",
                where="at the end of the function",
            )
        return bytes(watched)

    # Cotangents of messages between two ranks

    def give_back(self, source: int, place: int, vector: Any) -> None:
        """Send the cotangents of the message that was received as this one from a rank."""
        numbers = self.numbers[source]
        tag = (place if numbers is None else int(numbers[place])) % self.tags
        sent = _NOTHING if vector is None else vector
        self.session.keep(self.twin.Isend([sent, self.byte], source, tag))

    def take_back(self, to: int, number: int, layout: Layout) -> Any:
        """The vector of cotangents of the message that was sent to a rank as its number so."""
        vector, status = empty(layout.shape, layout.dtype), self.status
        request = self.twin.Irecv([vector, self.byte], to, number % self.tags)
        if not request.Test(status):
            what = partial(_cotangent_of, self.ranks[to])
            self.session.link.finish(request, what, None, status)
        return vector if status.Get_count(self.byte) or not layout.size else None

    # Collective calls, which run in the order in which they were begun

    def begin(self, steps: Iterator[Any], name: str) -> Work:
        """Begin a collective call: a generator that yields what it has to wait for."""
        work = Work(steps, name)
        self.works.append(work)
        self.step_works()
        return work

    def step_works(self) -> None:
        while self.works and self.works[0].step():
            self.works.popleft()

    def finish(self, work: Work) -> Any:
        """The result of a collective call, and of those before it."""
        return work.result if self._is_done(work) else self._finish(work)

    def _is_done(self, work: Work) -> bool:
        self.step_works()
        return work.done

    def _finish(self, work: Work) -> Any:
        forward = self.session.forward
        missing: Callable[[], Any] | None = (lambda: self._missing(work)) if forward else None
        self.session.link.wait(lambda: self._is_done(work) or None, missing, lambda: work.name)
        return work.result

    def _missing(self, work: Work) -> RankError | None:
        """The error, if a rank is done that has not begun this collective call."""
        for r in range(self.size):
            told = None if r == self.rank else self.told(r)
            if told is not None and told[2] < self.collectives - len(self.works) + 1:
                return RankError(
                    f"rank {self.ranks[r]} does not take part in {work.name}: its function has "
                    "returned.",
                    "all ranks of a communicator take part in its collective calls.",
                    "make the call on all ranks.",
                )
        return None


class Work:
    """A collective call under way."""

    __slots__ = ("done", "name", "request", "result", "steps")

    def __init__(self, steps: Iterator[Any], name: str) -> None:
        self.steps, self.name = steps, name
        self.request: Any = None
        self.done = False
        self.result: Any = None

    def step(self) -> bool:
        """Go on as far as nothing has to be waited for: whether it is done."""
        while not self.done:
            if self.request is not None and not self.request.Test():
                return False
            try:
                self.request = next(self.steps)
            except StopIteration as end:
                self.done, self.result = True, end.value
        return True
