"""The calls of a communicator that send the memory of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zyg.base.buffers import empty
from zyg.core.strand import ARRAYS, is_watched, strip
from zyg.ranks import collectives, messages
from zyg.ranks.buffers import Buffer
from zyg.ranks.cargo import owned, sent
from zyg.ranks.collectives import folded, run_call
from zyg.ranks.communicator import (
    RankObjects,
    begun_request,
    received_request,
    sent_request,
)
from zyg.ranks.failures import RankError
from zyg.ranks.requests import Request, tell
from zyg.ranks.session import KNOWN, WATCHED, Channel, code_of


class RankComm(RankObjects):
    """A communicator of mpi4py's, whose calls are differentiated under a gradient over ranks."""

    # One rank to another

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """As mpi4py's."""
        channel = self._channel("Send", buf)
        if channel is None:
            self._raw.Send(buf, dest, tag)
        elif dest != self._nobody:
            messages.wait_sent(channel, _send(channel, buf, dest, tag), dest)

    Ssend = Bsend = Send

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Any:
        """As mpi4py's; the request is one of zyg's."""
        channel = self._channel("Isend", buf)
        if channel is None:
            return self._raw.Isend(buf, dest, tag)
        if dest == self._nobody:
            return Request(channel, lambda: True, lambda: None)
        return sent_request(channel, _send(channel, buf, dest, tag), dest)

    Issend = Ibsend = Isend

    def Recv(
        self, buf: Any, source: int | None = None, tag: int | None = None, status: Any = None
    ) -> None:
        """As mpi4py's: a write to the array, which is one of zyg.numpy's if it is to be watched."""
        channel = self._channel("Recv")
        source, tag = self._asked(source, tag)
        if channel is None:
            self._raw.Recv(buf, source, tag, status)
        elif source != self._nobody:
            into = Buffer(buf)
            posted = messages.receive(channel, source, tag, _code_of(into))
            _receive(channel, into, posted)
            if status is not None:
                tell(channel, status, posted.status)

    def Irecv(self, buf: Any, source: int | None = None, tag: int | None = None) -> Any:
        """As mpi4py's; the array is written where the request, one of zyg's, is waited for."""
        channel = self._channel("Irecv")
        source, tag = self._asked(source, tag)
        if channel is None:
            return self._raw.Irecv(buf, source, tag)
        if source == self._nobody:
            return Request(channel, lambda: True, lambda: None)
        into = Buffer(buf)
        posted = messages.post(channel, source, tag, _code_of(into))
        return received_request(channel, posted, lambda: _receive(channel, into, posted))

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None,
        source: int | None = None, recvtag: int | None = None, status: Any = None,
    ) -> None:  # fmt: skip
        """As mpi4py's."""
        if self._channel("Sendrecv", sendbuf) is None:
            source, tag = self._asked(source, recvtag)
            self._raw.Sendrecv(sendbuf, dest, sendtag, recvbuf, source, tag, status)
            return
        request = self.Isend(sendbuf, dest, sendtag)
        self.Recv(recvbuf, source, recvtag, status)
        request.wait()

    def Sendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int | None = None,
        recvtag: int | None = None, status: Any = None,
    ) -> None:  # fmt: skip
        """As mpi4py's."""
        channel = self._channel("Sendrecv_replace", buf)
        if channel is None:
            source, tag = self._asked(source, recvtag)
            self._raw.Sendrecv_replace(buf, dest, sendtag, source, tag, status)
            return
        request = self.Isend(np.copy(Buffer(buf).contents()), dest, sendtag)
        self.Recv(buf, source, recvtag, status)
        request.wait()

    # All ranks. Each is a call of objects, which are arrays; then the memory is written.

    def _memory(
        self, name: str, given: tuple[Any, ...], make: Callable[[Channel], tuple[Any, ...]]
    ) -> Any:
        """A call of memory; with an I before its name, its request.

        `make` gives the call of objects, what that is given, and what is to be done with its value.
        """
        channel = self._channel(name, *given)
        if channel is None:
            return getattr(self._raw, name)(*given)
        call, args, finish = make(channel)
        if name.startswith("I"):
            return begun_request(call, finish, *args)
        return finish(run_call(call, *args))

    def _bcast(self, name: str, buf: Any, root: int) -> Any:
        def make(channel: Channel) -> tuple[Any, ...]:
            memory, call = Buffer(buf), collectives.Bcast(channel, "bcast", root)

            def finish(y: Any) -> None:
                if strip(y).size != memory.count:
                    raise _other_count("Bcast", strip(y).size, memory.count)
                if not call.is_root():
                    memory.fill(y)

            return call, (memory.contents(),), finish

        return self._memory(name, (buf, root), make)

    def Bcast(self, buf: Any, root: int = 0) -> None:
        """As mpi4py's."""
        self._bcast("Bcast", buf, root)

    def Ibcast(self, buf: Any, root: int = 0) -> Any:
        """As mpi4py's; the request is one of zyg's."""
        return self._bcast("Ibcast", buf, root)

    def _reduce(self, name: str, send: Any, into: Any, op: Any, root: int = -1) -> Any:
        op = self._link.MPI.SUM if op is None else op
        given = (send, into, op) if root < 0 else (send, into, op, root)

        def make(channel: Channel) -> tuple[Any, ...]:
            here = root < 0 or channel.rank == root
            memory = Buffer(into) if here else None
            source = into if _is_in_place(channel, send) else send
            kind = "allreduce" if root < 0 else "reduce"
            call = collectives.Reduce(channel, kind, root, op)
            call.shape = np.shape(memory.array) if memory is not None else None
            x = Buffer(source).contents()
            if memory is not None and np.size(memory.array) != np.size(x):
                call.shape = None

            def finish(y: Any) -> None:
                if memory is not None:
                    memory.fill(y)

            return call, (x, lambda values: _folded(channel, op, values)), finish

        return self._memory(name, given, make)

    def Reduce(self, sendbuf: Any, recvbuf: Any, op: Any = None, root: int = 0) -> None:
        """As mpi4py's; sums are made in the order of the ranks."""
        self._reduce("Reduce", sendbuf, recvbuf, op, root)

    def Ireduce(self, sendbuf: Any, recvbuf: Any, op: Any = None, root: int = 0) -> Any:
        """As mpi4py's; the request is one of zyg's."""
        return self._reduce("Ireduce", sendbuf, recvbuf, op, root)

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:
        """As mpi4py's; sums are made in the order of the ranks."""
        self._reduce("Allreduce", sendbuf, recvbuf, op)

    def Iallreduce(self, sendbuf: Any, recvbuf: Any, op: Any = None) -> Any:
        """As mpi4py's; the request is one of zyg's."""
        return self._reduce("Iallreduce", sendbuf, recvbuf, op)

    def _gather(self, name: str, send: Any, into: Any, root: int) -> Any:
        def make(channel: Channel) -> tuple[Any, ...]:
            call = collectives.Gather(channel, "gather", root)
            memory = Buffer(into, channel.size) if call.is_root() else None
            x = memory.parts()[root] if _is_in_place(channel, send) else Buffer(send).contents()  # type: ignore[union-attr]
            return call, (x,), memory.fill_parts if memory else _dropped

        return self._memory(name, (send, into, root), make)

    def Gather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """As mpi4py's."""
        self._gather("Gather", sendbuf, recvbuf, root)

    def Gatherv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """As mpi4py's."""
        self._gather("Gatherv", sendbuf, recvbuf, root)

    def Igather(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> Any:
        """As mpi4py's; the request is one of zyg's."""
        return self._gather("Igather", sendbuf, recvbuf, root)

    def _scatter(self, name: str, send: Any, into: Any, root: int) -> Any:
        def make(channel: Channel) -> tuple[Any, ...]:
            call = collectives.Scatter(channel, "scatter", root)
            xs = Buffer(send, channel.size).parts() if call.is_root() else None
            memory = None if _is_in_place(channel, into) else Buffer(into)
            return call, (xs,), memory.fill if memory else _dropped

        return self._memory(name, (send, into, root), make)

    def Scatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """As mpi4py's."""
        self._scatter("Scatter", sendbuf, recvbuf, root)

    def Scatterv(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> None:
        """As mpi4py's."""
        self._scatter("Scatterv", sendbuf, recvbuf, root)

    def Iscatter(self, sendbuf: Any, recvbuf: Any, root: int = 0) -> Any:
        """As mpi4py's; the request is one of zyg's."""
        return self._scatter("Iscatter", sendbuf, recvbuf, root)

    def _allgather(self, name: str, send: Any, into: Any) -> Any:
        def make(channel: Channel) -> tuple[Any, ...]:
            memory = Buffer(into, channel.size)
            own = _is_in_place(channel, send)
            x = memory.parts()[channel.rank] if own else Buffer(send).contents()
            return collectives.Allgather(channel, "allgather"), (x,), memory.fill_parts

        return self._memory(name, (send, into), make)

    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:
        """As mpi4py's."""
        self._allgather("Allgather", sendbuf, recvbuf)

    def Allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:
        """As mpi4py's."""
        self._allgather("Allgatherv", sendbuf, recvbuf)

    def Iallgather(self, sendbuf: Any, recvbuf: Any) -> Any:
        """As mpi4py's; the request is one of zyg's."""
        return self._allgather("Iallgather", sendbuf, recvbuf)

    def _alltoall(self, name: str, send: Any, into: Any) -> Any:
        def make(channel: Channel) -> tuple[Any, ...]:
            memory = Buffer(into, channel.size)
            source = memory if _is_in_place(channel, send) else Buffer(send, channel.size)
            call = collectives.Alltoall(channel, "alltoall")
            return call, (source.parts(),), memory.fill_parts

        return self._memory(name, (send, into), make)

    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:
        """As mpi4py's."""
        self._alltoall("Alltoall", sendbuf, recvbuf)

    def Alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:
        """As mpi4py's."""
        self._alltoall("Alltoallv", sendbuf, recvbuf)

    def Ialltoall(self, sendbuf: Any, recvbuf: Any) -> Any:
        """As mpi4py's; the request is one of zyg's."""
        return self._alltoall("Ialltoall", sendbuf, recvbuf)

    def Reduce_scatter(
        self, sendbuf: Any, recvbuf: Any, recvcounts: Sequence[int] | None = None, op: Any = None
    ) -> None:
        """As mpi4py's; sums are made in the order of the ranks."""
        self._reduce_scatter("Reduce_scatter", sendbuf, recvbuf, recvcounts, op)

    def Reduce_scatter_block(self, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:
        """As mpi4py's; sums are made in the order of the ranks."""
        self._reduce_scatter("Reduce_scatter_block", sendbuf, recvbuf, None, op)

    def _reduce_scatter(self, name: str, send: Any, into: Any, counts: Any, op: Any) -> Any:
        op = self._link.MPI.SUM if op is None else op
        given = (send, into, op) if counts is None else (send, into, counts, op)

        def make(channel: Channel) -> tuple[Any, ...]:
            memory = Buffer(into)
            sizes = [memory.count] * channel.size if counts is None else [*counts]
            xs = Buffer([send, sizes], channel.size).parts()
            call = collectives.Alltoall(channel, "alltoall", op=op)
            return call, (xs,), lambda ys: memory.fill(_folded(channel, op, ys))

        return self._memory(name, given, make)

    def _scan_memory(self, name: str, send: Any, into: Any, op: Any, more: int) -> Any:
        op = self._link.MPI.SUM if op is None else op

        def make(channel: Channel) -> tuple[Any, ...]:
            memory = Buffer(into)
            x = Buffer(into if _is_in_place(channel, send) else send).contents()
            call = collectives.Allgather(channel, name.lower(), op=op)

            def finish(ys: Any) -> None:
                if ys := ys[: channel.rank + more]:
                    memory.fill(_folded(channel, op, ys))

            return call, (x,), finish

        return self._memory(name, (send, into, op), make)

    def Scan(self, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:
        """As mpi4py's."""
        self._scan_memory("Scan", sendbuf, recvbuf, op, 1)

    def Exscan(self, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:
        """As mpi4py's; the first rank's memory is left as it is."""
        self._scan_memory("Exscan", sendbuf, recvbuf, op, 0)

    def Barrier(self) -> None:
        """As mpi4py's."""
        self.barrier()


def _dropped(value: Any) -> None:
    """What is done with a value where no memory is for it."""


def _is_in_place(channel: Channel, x: Any) -> bool:
    return x is channel.MPI.IN_PLACE or type(x) is type(channel.MPI.IN_PLACE)


def _other_count(name: str, came: int, count: int) -> Exception:
    return RankError(
        f"{came} elements of {name} came for {count}.",
        "the counts of all ranks must fit.",
        "give arrays of one size on all ranks.",
    )


def _folded(channel: Channel, op: Any, values: list[Any]) -> Any:
    """The fold of vectors of one size, by an operator of MPI's or of the user's."""
    sizes = {strip(v).size for v in values}
    if len(sizes) > 1:
        raise _other_count("a reduction", max(sizes), min(sizes))
    for name, ufunc in _ELEMENTWISE.items():
        if op == getattr(channel.MPI, name):
            return functools.reduce(ufunc, values).astype(strip(values[0]).dtype)
    if op == channel.MPI.MAX or op == channel.MPI.MIN:
        return (np.max if op == channel.MPI.MAX else np.min)(np.stack(values), axis=0)
    return folded(channel, op, values)


# MPI's operators of memory that are none of Python's on arrays.
_ELEMENTWISE = {
    "LAND": np.logical_and, "LOR": np.logical_or, "LXOR": np.logical_xor, "BAND": np.bitwise_and,
    "BOR": np.bitwise_or, "BXOR": np.bitwise_xor,
}  # fmt: skip


def _send(channel: Channel, buf: Any, to: int, tag: int) -> Any:
    """Begin to send memory: the request of MPI's."""
    own = owned(channel.session.strand, buf if type(buf) in ARRAYS else Buffer(buf).contents())
    plain = sent(own)
    plain = plain if plain.flags.c_contiguous else np.ascontiguousarray(plain)
    request = channel.data.Isend([plain, channel.byte], to, tag)
    leaves = (own,) if is_watched(own) else ()
    messages.note_sent(channel, leaves, to, code_of(tag, WATCHED if leaves else 0, plain.dtype))
    return request


def _code_of(into: Buffer) -> int:
    """The code of a receipt into memory, which can be watched if it is zyg.numpy's, of floats."""
    carries = type(into.array) in ARRAYS and into.dtype.kind in "fc"
    return code_of(0, KNOWN if carries else 0, into.dtype)


def _receive(channel: Channel, into: Buffer, posted: Any) -> None:
    """Receive a message that has come, into memory."""
    plain, dtype = strip(into.array), into.dtype
    size = posted.status.Get_count(channel.byte)
    count, rest = divmod(size, dtype.itemsize)
    if rest or count > into.count:
        raise RankError(
            f"a message of {size} bytes does not fit into {into.count} elements of {dtype}.",
            "the memory of a receipt is at least as large as the message, and of its dtype.",
            "make the array larger, or send fewer elements.",
        )
    y = empty(plain.shape if count == plain.size else (count,), dtype)
    posted.message.Recv([y, channel.byte])
    if not posted.code & KNOWN or posted.outside:
        into.fill(y)
    elif into.is_replaced(plain, y.shape):
        into.replace(channel.session.strand, y, messages.arrival_slot(channel, posted, y))
    else:
        into.fill(messages.arrive_alone(channel, posted, y))
