"""Messages from one rank to another, and their entries.

A send of watched values is an entry without a result: stepping back, it waits for their cotangents.
A receipt is one, too, and sends them back, or says that there are none. So both always run, whether
a cotangent has come to them or not, and no rank waits in vain. Of the values themselves each has an
entry, which hands its cotangent on to the receipt.

Receipts that were begun take messages in the order in which they were begun, as in MPI.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.core.entries import Kind, kinds
from zyg.core.reverse import Run
from zyg.core.strand import Strand, watch
from zyg.ranks.cargo import Carried, Layout, opened, stow
from zyg.ranks.failures import RankError
from zyg.ranks.session import _TAG, PICKLED, WATCHED, Channel, code_of


def send(channel: Channel, x: Any, to: int, tag: int) -> Any:
    """Begin to send an object: the request of MPI's."""
    marked, leaves = stow(channel.strand, x)
    request = channel.null if channel.silent else channel.data.isend(marked, to, tag)
    layout = channel.layouts.of([x.primal for x in leaves])
    code = code_of(tag, PICKLED | WATCHED if leaves else PICKLED)
    note_sent(channel, to, code, layout, tuple([x.slot for x in leaves]))
    return request


def note_sent(channel: Channel, to: int, code: int, layout: Layout, slots: tuple[Any, ...]) -> None:
    """Note that values were sent, and the slots of those that are watched."""
    if channel.log is None:
        number = channel.count(to, code)
    else:
        name = f"a send to rank {to} ({code >> _TAG}, {code % (1 << _TAG)})"
        number = channel.log.of(name, lambda: channel.count(to, code))
    if slots:
        args = channel, to, number, layout, slots
        channel.strand.note((None, None, sent_pullback, None, args))


def sent_pullback(
    run: Run, channel: Channel, to: int, number: int, layout: Layout, slots: Sequence[Any]
) -> Any:
    """The cotangents of what was sent come from its receiver."""
    vector = channel.take_back(to, number, layout)
    if vector is None:
        return ()
    if layout.is_alone:
        return ((slots[0], vector),)
    return zip(slots, layout.cotangents(vector), strict=True)


def wait_sent(channel: Channel, request: Any, to: int) -> None:
    """Wait until what was sent may be overwritten; to oneself nobody has to wait."""
    if not request.Test():
        _wait_sent(channel, request, to)


def _wait_sent(channel: Channel, request: Any, to: int) -> None:
    session = channel.session
    if to == channel.rank:
        session.keep(request)
        return

    def hopeless() -> RankError | None:
        told = channel.told(to)
        if told is None or told[1] >= len(channel.sent[to]):
            return None
        return RankError(
            f"rank {channel.ranks[to]} does not receive a message of rank "
            f"{channel.ranks[channel.rank]}: its function has returned.",
            "a message that is too large to be kept is sent when its receiver asks for it.",
            "receive it, or do not send it.",
        )

    session.link.finish(request, lambda: f"rank {channel.ranks[to]} to receive", hopeless)


class Posted:
    """A receipt that has begun: what it takes, as MPI says it, and `code` apart from the tag."""

    __slots__ = (
        "channel", "code", "message", "outside", "place", "request", "sender", "source", "status",
        "tag",
    )  # fmt: skip

    def __init__(self, channel: Channel, source: int, tag: int, code: int) -> None:
        self.channel, self.source, self.tag, self.code = channel, source, tag, code
        self.status: Any = channel.MPI.Status()
        self.message: Any = None  # that which it takes
        self.request: Any = None  # for memory, of which MPI is asked
        self.outside = False  # whether it was sent outside of the gradient
        self.sender: int  # and its number among those of that one
        self.place: int

    def note(self) -> None:
        """A message of the gradient has come."""
        source, tag = self.source, self.tag
        self.sender = source = source if source >= 0 else self.status.source
        codes = self.channel.got[source]
        self.place = len(codes)
        codes.append((tag if tag >= 0 else self.status.tag) << _TAG | self.code)

    def take(self) -> bool:
        """Whether it has its message, where it is the first to be served."""
        message = self.channel.data.improbe(self.source, self.tag, self.status)
        if message is None:
            return False
        self.message = message
        self.note()
        return True

    def match(self) -> bool:
        """Whether it has its message; those that began before it are served first."""
        channel = self.channel
        if channel.posted and channel.posted[0] is self and self.take():
            channel.posted.remove(self)
        data, MPI = channel.data, channel.MPI
        while self.message is None:
            waiting = channel.posted[: channel.posted.index(self) + 1]
            for one in waiting:
                if data.iprobe(one.source, one.tag, one.status):
                    source, tag = one.status.source, one.status.tag
                    any_of = (source, MPI.ANY_SOURCE), (tag, MPI.ANY_TAG)
                    first = next(  # perhaps an older one
                        p for p in waiting if p.source in any_of[0] and p.tag in any_of[1]
                    )
                    first.take()
                    channel.posted.remove(first)
                    break
            else:
                return False
        return True

    def wait(self) -> None:
        """Wait until it has its message."""
        channel = self.channel
        if not channel.posted and self.take():
            return
        if self not in channel.posted:
            channel.posted.append(self)
        channel.session.link.wait(lambda: self._found() or None, self.hopeless, self.in_words)

    def _found(self) -> bool:
        if self.match():
            return True
        self.message = self.channel.raw.improbe(self.source, self.tag, self.status)
        self.outside = self.message is not None
        if self.outside:
            self.channel.posted.remove(self)
        return self.outside

    def received(self) -> Any:
        """The object in the message, which is waited for."""
        if self.channel.log is not None:
            return self.channel.MPI.pickle.loads(self._logged(self._pickled))
        if self.message is None:
            self.wait()
        return self.message.recv()

    def _pickled(self) -> Any:
        if self.message is None:
            self.wait()
        whole = bytearray(self.status.Get_count(self.channel.byte))
        self.message.Recv([whole, self.channel.byte])
        return whole

    def receive_logged(self, memory: Any) -> int:
        """The same as `receive`; what was received, if a log has it."""
        flat = memory.reshape(-1)
        got = self._logged(lambda: flat[: self.receive(memory)].copy())
        flat[: got.size] = got
        return got.size  # type: ignore[no-any-return]

    def _logged(self, receive: Callable[[], Any]) -> Any:
        """What is received, or was; with that the status and the place are what they were."""
        status, byte = self.status, self.channel.byte

        def make() -> Any:
            got = receive()
            place = -1 if self.outside else self.place
            return got, place, status.source, status.tag, status.Get_count(byte)

        got, self.place, *told = self.channel.log.of(f"a receipt of {self.in_words()}", make)
        self.outside, self.sender = self.place < 0, told[0]
        tell(status, byte, *told)
        return got

    def receive(self, memory: Any) -> int:
        """Wait for the message, and receive it into memory: how many elements it has.

        MPI is asked for the message itself, so that it writes what it gets to the memory, unless
        receipts that were begun before wait.
        """
        channel, status, waiting = self.channel, self.status, self.channel.posted
        spec, whole = [memory, channel.byte], memory.nbytes
        try:
            if waiting and waiting[0] is self:
                waiting.remove(self)
            elif waiting and self.message is None:
                self.wait()
            if self.message is not None:
                self.message.Recv(spec, status)
            else:
                self.request = request = channel.data.Irecv(spec, self.source, self.tag)
                channel.session.link.finish(request, self.in_words, self._unsent, status)
                if self.outside:  # unless its like came before MPI was told not to wait
                    self.outside = status.Is_cancelled()
                if self.outside:
                    channel.raw.Recv(spec, self.source, self.tag, status)
                else:
                    self.note()
        except channel.MPI.Exception as error:
            if error.Get_error_class() != channel.MPI.ERR_TRUNCATE:
                raise
            raise _misfit(f"more than {memory.nbytes}", memory) from error
        size = status.Get_count(channel.byte)
        if size == whole:
            return memory.size  # type: ignore[no-any-return]
        if size % memory.itemsize:
            raise _misfit(size, memory)
        return size // memory.itemsize  # type: ignore[no-any-return]

    def _unsent(self) -> RankError | None:
        """The error, if it will not come; what was sent outside of the gradient is taken."""
        if self.channel.raw.iprobe(self.source, self.tag):
            self.request.Cancel()
            self.outside = True
            return None
        return self.hopeless()

    def hopeless(self) -> RankError | None:
        """The error, if every rank that could send the message is done, and has not sent it."""
        channel, MPI, asked = self.channel, self.channel.MPI, self.source
        for source in range(channel.size) if asked == MPI.ANY_SOURCE else (asked,):
            told = channel.told(source)
            if told is None:
                return None
            sent = np.frombuffer(told[0], np.int64) >> _TAG
            got = np.asarray(channel.got[source]) >> _TAG
            if self.tag != MPI.ANY_TAG:
                sent, got = sent[sent == self.tag], got[got == self.tag]
            if len(sent) > len(got):
                return None
        return RankError(
            f"rank {channel.ranks[channel.rank]} waits for {self.in_words()}, which is not sent.",
            "the function of the sender has returned, or the sender is this rank itself.",
            "send it, or do not receive it.",
        )

    def in_words(self) -> str:
        """The message that is waited for, in words."""
        channel, MPI = self.channel, self.channel.MPI
        whose = (
            "any rank" if self.source == MPI.ANY_SOURCE else f"rank {channel.ranks[self.source]}"
        )
        return f"a message of {whose}" + (
            "" if self.tag == MPI.ANY_TAG else f" with the tag {self.tag}"
        )


def tell(status: Any, byte: Any, source: int, tag: int, size: int) -> None:
    """Give a status what is known of a message."""
    status.Set_source(source)
    status.Set_tag(tag)
    status.Set_elements(byte, size)


def post(channel: Channel, source: int, tag: int, code: int) -> Posted:
    """Begin to receive."""
    posted = Posted(channel, source, tag, code)
    if not channel.silent:
        channel.posted.append(posted)
    return posted


def _misfit(size: Any, memory: Any) -> RankError:
    return RankError(
        f"a message of {size} bytes does not fit into {memory.size} elements of {memory.dtype}.",
        "the memory of a receipt is at least as large as the message, and of its dtype.",
        "make the array larger, or send fewer elements.",
    )


def received(channel: Channel, posted: Posted) -> Any:
    """The object in a message, which is waited for, its values watched."""
    got = posted.received()
    if posted.outside:
        return got
    if type(got) is Carried:
        layout = channel.layouts.of_one(got.value)
        return watch(channel.strand, got.value, arrival_slot(channel, posted, layout))
    leaves, rebuild = opened(got)
    if not leaves:
        return got
    return rebuild(arrive(channel, posted.sender, posted.place, leaves))


def arrival_slot(channel: Channel, posted: Posted, layout: Layout) -> Any:
    """The slot of the value of a message that has one, and its entries."""
    strand = channel.strand
    slot, own = strand.new_slot(), strand.new_slot()
    args = channel, posted.sender, posted.place, (slot,), layout
    strand.note((None, None, receipt_pullback, None, args))
    strand.note((own, None, _UNCHANGED, slot, None))
    return own


def arrive(channel: Channel, source: int, place: int, leaves: Sequence[Any]) -> list[Any]:
    """The watched values of a message."""
    strand = channel.strand
    if strand.moves:
        return [x.watched(strand) for x in leaves]
    slots = tuple([strand.new_slot() for _ in leaves])
    args = channel, source, place, slots, channel.layouts.of(leaves)
    strand.note((None, None, receipt_pullback, None, args))
    return handed_on(strand, leaves, slots)


def handed_on(strand: Strand, leaves: Sequence[Any], slots: Sequence[Any]) -> list[Any]:
    """Values that are watched, each by an entry that hands its cotangent to a slot."""
    made = []
    for x, slot in zip(leaves, slots, strict=True):
        own = strand.new_slot()
        strand.note((own, None, _UNCHANGED, slot, None))
        made.append(watch(strand, x, own))
    return made


_UNCHANGED = 1


def receipt_pullback(
    run: Run, channel: Channel, source: int, place: int, slots: Sequence[Any], layout: Layout
) -> Any:
    """The cotangents of what was received go to its sender."""
    if channel.carrying[source][place]:
        channel.give_back(source, place, layout.taken(run.bars, slots))
    return ()


def unmoved(*_: Any) -> None:
    """In forward mode: tangents have gone with the values."""


kinds[sent_pullback] = Kind(lambda *args: [*args[-1]], unmoved, lambda *_: "send")
kinds[receipt_pullback] = Kind(lambda *_: [], None, lambda *_: "recv")
