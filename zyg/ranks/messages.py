"""Messages from one rank to another, and their entries.

A send of watched values is an entry without a result: stepping back, it waits for their cotangents.
A receipt is one, too, and sends them back, or says that there are none. So both always run, whether
a cotangent has come to them or not, and no rank waits in vain. Of the values themselves each has an
entry, which hands its cotangent on to the receipt.

Receipts that were begun take messages in the order in which they were begun, as in MPI.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zyg.core.entries import Kind, kinds
from zyg.core.reverse import Run
from zyg.core.strand import Strand, watch
from zyg.ranks.cargo import Carried, Layout, layout_of, opened, stow
from zyg.ranks.failures import RankError
from zyg.ranks.session import _TAG, PICKLED, WATCHED, Channel, code_of


def send(channel: Channel, x: Any, to: int, tag: int) -> Any:
    """Begin to send an object: the request of MPI's."""
    marked, leaves = stow(channel.session.strand, x)
    request = channel.data.isend(marked, to, tag)
    note_sent(channel, leaves, to, code_of(tag, PICKLED | WATCHED if leaves else PICKLED))
    return request


def note_sent(channel: Channel, leaves: Sequence[Any], to: int, code: int) -> None:
    """Note that watched values were sent."""
    codes = channel.sent[to]
    codes.append(code)
    if leaves:
        slots = tuple([x.slot for x in leaves])
        layout = layout_of([x.primal for x in leaves], channel.layouts)
        args = channel, to, len(codes) - 1, layout, slots
        channel.session.strand.note((None, None, sent_pullback, None, args))


def sent_pullback(
    run: Run, channel: Channel, to: int, number: int, layout: Layout, slots: Sequence[Any]
) -> Any:
    """The cotangents of what was sent come from its receiver."""
    return zip(slots, channel.take_back(to, number, layout), strict=False)


def wait_sent(channel: Channel, request: Any, to: int) -> None:
    """Wait until what was sent may be overwritten; to oneself nobody has to wait."""
    if request.Test():
        return
    session = channel.session
    if to == channel.rank:
        session.unsent.append((request, None))
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

    def poll() -> Any:
        channel.step_works()
        return request.Test() or None

    session.link.wait(poll, hopeless, lambda: f"rank {channel.ranks[to]} to receive")


class Posted:
    """A receipt that has begun: what it takes, as MPI says it, and `code` apart from the tag."""

    __slots__ = ("code", "message", "outside", "place", "source", "status", "tag")

    def __init__(self, source: int, tag: int, status: Any, code: int = 0) -> None:
        self.source, self.tag, self.status, self.code = source, tag, status, code
        self.message: Any = None
        self.outside = False  # whether it was sent outside of the gradient
        self.place = 0


def post(channel: Channel, source: int, tag: int, code: int) -> Posted:
    """Begin to receive."""
    posted = Posted(source, tag, channel.MPI.Status(), code)
    channel.posted.append(posted)
    return posted


def match(channel: Channel, posted: Posted) -> bool:
    """Whether a receipt has its message; those that began before it are served first."""
    if channel.posted and channel.posted[0] is posted and _take(channel, posted):
        channel.posted.remove(posted)
    data, MPI = channel.data, channel.MPI
    while posted.message is None:
        waiting = channel.posted[: channel.posted.index(posted) + 1]
        for one in waiting:
            if data.iprobe(one.source, one.tag, one.status):
                source, tag = one.status.source, one.status.tag
                any_of = (source, MPI.ANY_SOURCE), (tag, MPI.ANY_TAG)
                first = next(  # perhaps an older one
                    p for p in waiting if p.source in any_of[0] and p.tag in any_of[1]
                )
                _take(channel, first)
                channel.posted.remove(first)
                break
        else:
            return False
    return True


def _take(channel: Channel, posted: Posted) -> bool:
    """Whether a receipt has its message, where it is the first to be served."""
    status = posted.status
    message = channel.data.improbe(posted.source, posted.tag, status)
    if message is None:
        return False
    codes = channel.got[status.source]
    posted.message, posted.place = message, len(codes)
    codes.append(status.tag << _TAG | posted.code)
    return True


def wait_matched(channel: Channel, posted: Posted) -> None:
    """Wait until a receipt has its message."""
    if match(channel, posted):
        return

    def poll() -> Any:
        channel.step_works()
        if match(channel, posted):
            return True
        message = channel.raw.improbe(posted.source, posted.tag, posted.status)
        if message is not None:
            posted.message, posted.outside = message, True
            channel.posted.remove(posted)
            return True
        return None

    link = channel.session.link
    link.wait(poll, lambda: hopeless(channel, posted), lambda: asked_in_words(channel, posted))


def hopeless(channel: Channel, posted: Posted) -> RankError | None:
    """The error, if every rank that could send the message is done, and has not sent it."""
    MPI, asked = channel.MPI, posted.source
    sources = range(channel.size) if asked == MPI.ANY_SOURCE else (asked,)
    for source in sources:
        told = channel.told(source)
        if told is None:
            return None
        sent = np.frombuffer(told[0], np.int64) >> _TAG
        got = np.asarray(channel.got[source]) >> _TAG
        if posted.tag != MPI.ANY_TAG:
            sent, got = sent[sent == posted.tag], got[got == posted.tag]
        if len(sent) > len(got):
            return None
    return RankError(
        f"rank {channel.ranks[channel.rank]} waits for {asked_in_words(channel, posted)}, which is "
        "not sent.",
        "the function of the sender has returned, or the sender is this rank itself.",
        "send it, or do not receive it.",
    )


def asked_in_words(channel: Channel, posted: Posted) -> str:
    """The message that is waited for, in words."""
    MPI, source, tag = channel.MPI, posted.source, posted.tag
    whose = "any rank" if source == MPI.ANY_SOURCE else f"rank {channel.ranks[source]}"
    return f"a message of {whose}" + ("" if tag == MPI.ANY_TAG else f" with the tag {tag}")


def receive(channel: Channel, source: int, tag: int, code: int) -> Posted:
    """A receipt that has its message."""
    posted = Posted(source, tag, channel.MPI.Status(), code)
    if channel.posted or not _take(channel, posted):
        channel.posted.append(posted)
        wait_matched(channel, posted)
    return posted


def received(channel: Channel, posted: Posted) -> Any:
    """The object in a message that has come, its values watched."""
    got = posted.message.recv()
    if posted.outside:
        return got
    if type(got) is Carried:
        return arrive_alone(channel, posted, got.value)
    leaves, rebuild = opened(got)
    if not leaves:
        return got
    return rebuild(arrive(channel, posted.status.source, posted.place, leaves))


def arrive_alone(channel: Channel, posted: Posted, x: Any) -> Any:
    """The watched value of a message that has one."""
    strand = channel.session.strand
    return watch(strand, x, arrival_slot(channel, posted, x))


def arrival_slot(channel: Channel, posted: Posted, x: Any) -> Any:
    """The slot of the value of a message that has one, and its entries."""
    strand = channel.session.strand
    slot, own = strand.new_slot(), strand.new_slot()
    layout = layout_of((x,), channel.layouts)
    args = channel, posted.status.source, posted.place, (slot,), layout
    strand.note((None, None, receipt_pullback, None, args))
    strand.note((own, None, _UNCHANGED, slot, None))
    return own


def arrive(channel: Channel, source: int, place: int, leaves: Sequence[Any]) -> list[Any]:
    """The watched values of a message."""
    strand = channel.session.strand
    if strand.dual:
        return [x.watched(strand) for x in leaves]
    slots = tuple([strand.new_slot() for _ in leaves])
    args = channel, source, place, slots, layout_of(leaves, channel.layouts)
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
    channel.give_back(source, place, layout, taken(run, slots))
    return ()


def taken(run: Run, slots: Sequence[Any]) -> list[Any]:
    """The cotangents of slots, which the run keeps no longer."""
    bars = run.bars
    if len(slots) == 1:
        (slot,) = slots
        found, bars[slot] = bars[slot], None
        return [found]
    found = [bars[slot] for slot in slots]
    for slot in slots:
        bars[slot] = None
    return found


def unmoved(*_: Any) -> None:
    """In forward mode: tangents have gone with the values."""


kinds[sent_pullback] = Kind(lambda *args: [*args[-1]], unmoved, lambda *_: "send")
kinds[receipt_pullback] = Kind(lambda *_: [], None, lambda *_: "recv")
