"""`wrap`: what stands for a communicator, with the calls that send objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import partialmethod
from typing import Any

from zyg.base.containers import Engine
from zyg.core.strand import active, watched_leaves
from zyg.errors import ConversionError
from zyg.ranks import collectives, messages
from zyg.ranks.collectives import Call, begun, concluded, folded, note_begun, run_call
from zyg.ranks.failures import refused
from zyg.ranks.link import Link
from zyg.ranks.requests import Request, retold
from zyg.ranks.session import KNOWN, PICKLED, Channel

# Calls that tell something, or end the program: the communicator's own, also under a gradient.
_TELLING = {
    "Abort", "Compare", "Shift", "coords", "dim", "dims", "group", "handle", "info", "is_inter",
    "is_intra", "is_topo", "name", "ndim", "periods", "py2f", "rank", "size", "topo",
    "topology",
}  # fmt: skip


class RankObjects(Engine):
    """The calls of a communicator that send pickled objects, and what all calls need."""

    def __init__(self, link: Link, raw: Any, key: tuple[int, ...], pair: Any) -> None:
        self._link, self._raw, self._key, self._pair = link, raw, key, pair
        self._made = 0  # communicators that were made of this one
        self._last: Any = None  # the channel of the last call
        self._nobody = link.MPI.PROC_NULL
        self._any = link.MPI.ANY_SOURCE, link.MPI.ANY_TAG

    @property
    def wrapped(self) -> Any:
        """The communicator of mpi4py's."""
        return self._raw

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._raw, name)
        known = name in _TELLING or name.startswith(("Get_", "Is_", "get_"))
        if self._link.session is None or known or not callable(found):
            return found
        raise refused(
            name,
            "zyg has no adjoint of it.",
            "use the calls of docs/distributed.md; zyg.mpi's `wrapped` attribute has MPI's own, "
            "for plain values.",
        )

    def _channel(self, name: str, sent: Any = None) -> Channel | None:
        """The channel of a call under a gradient over ranks; None outside."""
        channel, strands = self._last, active.get()
        if channel is not None and strands and strands[-1] is channel.here:
            return channel  # type: ignore[no-any-return]
        session = self._link.session
        if session is None:
            if sent is not None and active.get() and watched_leaves(sent):
                _demand_gradient(name)
            return None
        session.demand_here(name)
        channel = session.channels.get(self._key)
        if channel is None:
            ranks = self._ranks()
            pair = self._pair or session.pair
            made = Channel(session, self._key, self._raw, pair, ranks, self._link.ordered)
            channel = session.channels[self._key] = made
        self._last = channel
        return channel  # type: ignore[no-any-return]

    def _asked(self, source: int | None, tag: int | None) -> tuple[int, int]:
        """The source and the tag of a receipt as MPI has them; None is any."""
        return self._any[0] if source is None else source, self._any[1] if tag is None else tag

    def _ranks(self) -> list[int]:
        whole = self._link.comm.Get_group()
        return [*self._raw.Get_group().Translate_ranks(None, whole)]

    def _collective(self, name: str, make: Callable[..., Call], *args: Any, root: int = -1) -> Any:
        """The value of a call of objects; of the communicator's own outside of a gradient."""
        channel = self._channel(name, args)
        if channel is None:
            given = args if root < 0 else (*args, root)
            return getattr(self._raw, name)(*given)
        return run_call(make(channel, name, root), *args)

    # One rank to another

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """As mpi4py's."""
        channel = self._channel("send", obj)
        if channel is None:
            self._raw.send(obj, dest, tag)
        elif dest != self._nobody:
            messages.wait_sent(channel, messages.send(channel, obj, dest, tag), dest)

    ssend = bsend = send

    def isend(self, obj: Any, dest: int, tag: int = 0) -> Any:
        """As mpi4py's; the request is one of zyg's."""
        channel = self._channel("isend", obj)
        if channel is None:
            return self._raw.isend(obj, dest, tag)
        if dest == self._nobody:
            return Request(channel, lambda: True, lambda: None)
        return sent_request(channel, messages.send(channel, obj, dest, tag), dest)

    issend = ibsend = isend

    def recv(
        self, buf: Any = None, source: int | None = None, tag: int | None = None, status: Any = None
    ) -> Any:
        """As mpi4py's."""
        channel = self._channel("recv")
        source, tag = self._asked(source, tag)
        if channel is None:
            return self._raw.recv(buf, source, tag, status)
        if source == self._nobody:
            return None
        posted = messages.Posted(channel, source, tag, KNOWN | PICKLED)
        found = messages.received(channel, posted)
        if status is not None:
            retold(channel, status, posted.status)
        return found

    def irecv(self, buf: Any = None, source: int | None = None, tag: int | None = None) -> Any:
        """As mpi4py's; the request is one of zyg's."""
        channel = self._channel("irecv")
        source, tag = self._asked(source, tag)
        if channel is None:
            return self._raw.irecv(buf, source, tag)
        if source == self._nobody:
            return Request(channel, lambda: True, lambda: None)
        posted = messages.post(channel, source, tag, KNOWN | PICKLED)
        return received_request(channel, posted, lambda: messages.received(channel, posted))

    def sendrecv(
        self, sendobj: Any, dest: int, sendtag: int = 0, recvbuf: Any = None,
        source: int | None = None, recvtag: int | None = None, status: Any = None,
    ) -> Any:  # fmt: skip
        """As mpi4py's."""
        if self._channel("sendrecv", sendobj) is None:
            return self._raw.sendrecv(sendobj, dest, sendtag, recvbuf, source, recvtag, status)
        request = self.isend(sendobj, dest, sendtag)
        found = self.recv(None, source, recvtag, status)
        request.wait()
        return found

    def iprobe(self, source: int | None = None, tag: int | None = None, status: Any = None) -> bool:
        """As mpi4py's."""
        source, tag = self._asked(source, tag)
        channel = self._channel("iprobe")
        if channel is None:
            return self._raw.iprobe(source, tag, status)  # type: ignore[no-any-return]
        channel.session.go_on()
        return self._look(channel, source, tag, status, lambda: None)

    def probe(self, source: int | None = None, tag: int | None = None, status: Any = None) -> bool:
        """As mpi4py's."""
        channel = self._channel("probe")
        source, tag = self._asked(source, tag)
        if channel is None:
            return self._raw.probe(source, tag, status)  # type: ignore[no-any-return]
        asked = messages.Posted(channel, source, tag, 0)

        def wait() -> None:
            data, link = channel.data, channel.session.link
            link.wait(lambda: data.iprobe(source, tag) or None, asked.hopeless, asked.in_words)

        return self._look(channel, source, tag, status, wait)

    def _look(
        self, channel: Channel, source: int, tag: int, status: Any, wait: Callable[[], None]
    ) -> bool:
        """Whether a message is there, once `wait` has returned."""
        own = channel.MPI.Status()

        def make() -> Any:
            wait()
            there = channel.data.iprobe(source, tag, own)
            return there and (own.source, own.tag, own.Get_count(channel.byte))

        found = channel.once("a look for a message", make)
        if found and status is not None:
            messages.tell(status, channel.byte, *found)
        return bool(found)

    Probe, Iprobe = probe, iprobe

    # All ranks

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """As mpi4py's."""
        return self._collective("bcast", collectives.Bcast, obj, root=root)

    def gather(self, sendobj: Any, root: int = 0) -> Any:
        """As mpi4py's."""
        return self._collective("gather", collectives.Gather, sendobj, root=root)

    def scatter(self, sendobj: Any, root: int = 0) -> Any:
        """As mpi4py's."""
        return self._collective("scatter", collectives.Scatter, sendobj, root=root)

    def allgather(self, sendobj: Any) -> Any:
        """As mpi4py's."""
        return self._collective("allgather", collectives.Allgather, sendobj)

    def alltoall(self, sendobj: Any) -> Any:
        """As mpi4py's."""
        return self._collective("alltoall", collectives.Alltoall, sendobj)

    def barrier(self) -> None:
        """As mpi4py's."""
        self._collective("barrier", collectives.Barrier)

    def reduce(self, sendobj: Any, op: Any = None, root: int = 0) -> Any:
        """As mpi4py's; sums are made in the order of the ranks."""
        return self._fold("reduce", sendobj, op, root)

    def allreduce(self, sendobj: Any, op: Any = None) -> Any:
        """As mpi4py's; sums are made in the order of the ranks."""
        return self._fold("allreduce", sendobj, op)

    def _fold(self, name: str, x: Any, op: Any, root: int = -1) -> Any:
        channel = self._channel(name, x)
        op = self._link.MPI.SUM if op is None else op
        if channel is None:
            return getattr(self._raw, name)(*(x, op) if root < 0 else (x, op, root))
        call = collectives.Reduce(channel, name, root, op)
        return run_call(call, x, lambda values: folded(channel, op, values))

    def scan(self, sendobj: Any, op: Any = None) -> Any:
        """As mpi4py's."""
        return self._scan("scan", sendobj, op, 1)

    def exscan(self, sendobj: Any, op: Any = None) -> Any:
        """As mpi4py's: None on the first rank."""
        return self._scan("exscan", sendobj, op, 0)

    def _scan(self, name: str, x: Any, op: Any, more: int) -> Any:
        channel = self._channel(name, x)
        op = self._link.MPI.SUM if op is None else op
        if channel is None:
            return getattr(self._raw, name)(x, op)
        values = run_call(collectives.Allgather(channel, name, op=op), x)
        values = values[: channel.rank + more]
        return folded(channel, op, values) if values else None

    # Communicators

    def _communicator(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """A communicator that is made of this one, with channels of its own."""

        def make() -> Any:
            raw = getattr(self._raw, name)(*args, **kwargs)
            self._made += 1
            if raw == self._link.MPI.COMM_NULL:
                return raw
            return type(self)(self._link, raw, (*self._key, self._made), (raw.Dup(), raw.Dup()))

        if (channel := self._channel(name)) is None:
            return make()
        self._collective("barrier", collectives.Barrier)
        return channel.once(name, make)

    def Free(self) -> None:
        """As mpi4py's; its messages of a gradient can go back until that has ended."""
        pair = self._pair or ()

        def free() -> None:
            self._raw.Free()
            if channel is not None:
                channel.session.freed += pair
                return
            for comm in pair:
                comm.Free()

        if (channel := self._channel("Free")) is None:
            free()
        else:
            channel.once("Free", free)

    Split = partialmethod(_communicator, "Split")
    Dup = Clone = partialmethod(_communicator, "Dup")
    Create = partialmethod(_communicator, "Create")
    Create_cart = partialmethod(_communicator, "Create_cart")
    Sub = partialmethod(_communicator, "Sub")


def _demand_gradient(name: str) -> None:
    raise ConversionError(
        f"{name} was given a watched value, and no gradient over ranks runs.",
        "zyg.gradient knows this rank only: the derivative would be lost at the border.",
        "take it with zyg.mpi.value_and_gradient(f, *args, comm=comm), on all ranks.",
        tag="pickle",
    )


def sent_request(channel: Channel, request: Any, to: int) -> Request:
    """The request of a message that is under way."""
    channel.session.keep(request)  # of which the program may let go
    return Request(
        channel, lambda: bool(request.Test()), lambda: messages.wait_sent(channel, request, to)
    )


def received_request(channel: Channel, posted: Any, finish: Callable[[], Any]) -> Request:
    """The request of a message that is waited for."""

    def complete() -> Any:
        made.demand_inside(channel.log)
        found = finish()
        made.status = posted.status
        del channel.begun[posted]
        return found

    made = Request(channel, posted.match, complete)
    channel.begun[posted] = made
    return made


def begun_request(call: Call, finish: Callable[[Any], Any], *args: Any) -> Request:
    """The request of a collective call that is under way."""
    channel = call.channel
    note_begun(call)
    work = begun(call, *args)

    def complete() -> Any:
        made.demand_inside(channel.log)
        channel.finish(work)
        return finish(concluded(call, work, waits=False))

    def ready() -> bool:
        channel.step_works()
        return work.done

    made = Request(channel, ready, complete)
    channel.open.append(made)
    return made
