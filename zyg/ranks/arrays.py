"""The calls of a communicator that send the memory of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from zyg.base.buffers import empty
from zyg.core.strand import ARRAYS, strip, watch
from zyg.ranks import collectives, messages
from zyg.ranks.buffers import Buffer
from zyg.ranks.cargo import Moving, motion, owned, sent
from zyg.ranks.collectives import folded, run_call
from zyg.ranks.communicator import (
    RankObjects,
    begun_request,
    received_request,
    sent_request,
)
from zyg.ranks.failures import RankError
from zyg.ranks.requests import Request, retold
from zyg.ranks.session import KNOWN, WATCHED, Channel, code_of

# Calls of all ranks. Each is a call of objects, which are arrays; then the memory is written: these
# functions give the call, what that is given, and what is to be done with its value.

Made = tuple[collectives.Call, tuple[Any, ...], Callable[[Any], Any]]


def _bcast(channel: Channel, buf: Any, root: int = 0) -> Made:
    memory, call = Buffer(buf), collectives.Bcast(channel, "bcast", root)

    def finish(y: Any) -> None:
        if strip(y).size != memory.count:
            raise _other_count("Bcast", strip(y).size, memory.count)
        if not call.is_root():
            memory.fill(y)

    return call, (memory.contents(),), finish


def _reduce(channel: Channel, sendbuf: Any, recvbuf: Any, op: Any = None, root: int = 0) -> Made:
    op = channel.MPI.SUM if op is None else op
    memory = Buffer(recvbuf) if root in (-1, channel.rank) else None
    x = Buffer(recvbuf if _is_in_place(channel, sendbuf) else sendbuf).contents()
    call = collectives.Reduce(channel, "allreduce" if root < 0 else "reduce", root, op)
    if memory is not None and np.size(memory.array) == np.size(x):
        call.shape = np.shape(memory.array)
    return call, (x, lambda ys: _folded(channel, op, ys)), memory.fill if memory else _dropped


def _allreduce(channel: Channel, sendbuf: Any, recvbuf: Any, op: Any = None) -> Made:
    return _reduce(channel, sendbuf, recvbuf, op, -1)


def _gather(channel: Channel, sendbuf: Any, recvbuf: Any, root: int = 0) -> Made:
    call = collectives.Gather(channel, "gather", root)
    memory = Buffer(recvbuf, channel.size) if call.is_root() else None
    own = memory is not None and _is_in_place(channel, sendbuf)
    x = memory.parts()[root] if own else Buffer(sendbuf).contents()  # type: ignore[union-attr]
    return call, (x,), memory.fill_parts if memory else _dropped


def _scatter(channel: Channel, sendbuf: Any, recvbuf: Any, root: int = 0) -> Made:
    call = collectives.Scatter(channel, "scatter", root)
    xs = Buffer(sendbuf, channel.size).parts() if call.is_root() else None
    return call, (xs,), _dropped if _is_in_place(channel, recvbuf) else Buffer(recvbuf).fill


def _allgather(channel: Channel, sendbuf: Any, recvbuf: Any) -> Made:
    memory = Buffer(recvbuf, channel.size)
    own = _is_in_place(channel, sendbuf)
    x = memory.parts()[channel.rank] if own else Buffer(sendbuf).contents()
    return collectives.Allgather(channel, "allgather"), (x,), memory.fill_parts


def _alltoall(channel: Channel, sendbuf: Any, recvbuf: Any) -> Made:
    memory = Buffer(recvbuf, channel.size)
    source = memory if _is_in_place(channel, sendbuf) else Buffer(sendbuf, channel.size)
    return collectives.Alltoall(channel, "alltoall"), (source.parts(),), memory.fill_parts


def _reduce_scatter(
    channel: Channel, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = None
) -> Made:
    op, memory = channel.MPI.SUM if op is None else op, Buffer(recvbuf)
    own = _is_in_place(channel, sendbuf)
    count = memory.count // channel.size if own else memory.count
    sizes = [count] * channel.size if recvcounts is None else [*recvcounts]
    xs = Buffer([memory.array if own else sendbuf, sizes], channel.size).parts()
    call = collectives.Alltoall(channel, "alltoall", op=op)
    return call, (xs,), lambda ys: memory.fill(_folded(channel, op, ys))


def _reduce_scatter_block(channel: Channel, sendbuf: Any, recvbuf: Any, op: Any = None) -> Made:
    return _reduce_scatter(channel, sendbuf, recvbuf, None, op)


def _scan(channel: Channel, sendbuf: Any, recvbuf: Any, op: Any = None, name: str = "scan") -> Made:
    op, memory = channel.MPI.SUM if op is None else op, Buffer(recvbuf)
    x = Buffer(recvbuf if _is_in_place(channel, sendbuf) else sendbuf).contents()
    count = channel.rank + (name == "scan")

    def finish(ys: Any) -> None:
        if ys := ys[:count]:
            memory.fill(_folded(channel, op, ys))

    return collectives.Allgather(channel, name, op=op), (x,), finish


def _exscan(channel: Channel, sendbuf: Any, recvbuf: Any, op: Any = None) -> Made:
    return _scan(channel, sendbuf, recvbuf, op, "exscan")


def _of_memory(name: str, make: Callable[..., Made]) -> Callable[..., Any]:
    """A call of mpi4py's name; with an I before it, one that gives its request."""

    @functools.wraps(make)
    def method(self: RankComm, *args: Any, **kwargs: Any) -> Any:
        channel = self._channel(name, (args, kwargs))
        if channel is None:
            return getattr(self._raw, name)(*args, **kwargs)
        call, given, finish = make(channel, *args, **kwargs)
        if name.startswith("I"):
            return begun_request(call, finish, *given)
        return finish(run_call(call, *given))

    method.__name__, method.__qualname__ = name, f"RankComm.{name}"
    request = "; the request is one of zyg's" if name.startswith("I") else ""
    method.__doc__ = f"As mpi4py's{request}."
    return method


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
        if source is None or tag is None:
            source, tag = self._asked(source, tag)
        if channel is None:
            self._raw.Recv(buf, source, tag, status)
        elif source != self._nobody:
            into = Buffer(buf)
            posted = messages.Posted(channel, source, tag, into.code)
            _receive(channel, into, posted)
            if status is not None:
                retold(channel, status, posted.status)

    def Irecv(self, buf: Any, source: int | None = None, tag: int | None = None) -> Any:
        """As mpi4py's; the array is written where the request, one of zyg's, is waited for."""
        channel = self._channel("Irecv")
        source, tag = self._asked(source, tag)
        if channel is None:
            return self._raw.Irecv(buf, source, tag)
        if source == self._nobody:
            return Request(channel, lambda: True, lambda: None)
        into = Buffer(buf)
        posted = messages.post(channel, source, tag, into.code)
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

    # All ranks; sums are made in the order of the ranks

    Bcast, Ibcast = (_of_memory(name, _bcast) for name in ("Bcast", "Ibcast"))
    Reduce, Ireduce = (_of_memory(name, _reduce) for name in ("Reduce", "Ireduce"))
    Allreduce, Iallreduce = (_of_memory(name, _allreduce) for name in ("Allreduce", "Iallreduce"))
    Gather, Gatherv, Igather = (
        _of_memory(name, _gather) for name in ("Gather", "Gatherv", "Igather")
    )
    Scatter, Scatterv, Iscatter = (
        _of_memory(name, _scatter) for name in ("Scatter", "Scatterv", "Iscatter")
    )
    Allgather, Allgatherv, Iallgather = (
        _of_memory(name, _allgather) for name in ("Allgather", "Allgatherv", "Iallgather")
    )
    Alltoall, Alltoallv, Ialltoall = (
        _of_memory(name, _alltoall) for name in ("Alltoall", "Alltoallv", "Ialltoall")
    )
    Reduce_scatter = _of_memory("Reduce_scatter", _reduce_scatter)
    Reduce_scatter_block = _of_memory("Reduce_scatter_block", _reduce_scatter_block)
    Scan, Exscan = _of_memory("Scan", _scan), _of_memory("Exscan", _exscan)

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
    own, strand = buf, channel.strand
    plain = buf.primal if type(buf) in ARRAYS and buf.strand is strand else None
    if type(plain) is not np.ndarray or not plain.flags.c_contiguous:
        own = owned(strand, Buffer(buf).contents())
        plain = np.ascontiguousarray(sent(own))
    request = channel.null if channel.silent else channel.data.Isend([plain, channel.byte], to, tag)
    watched = type(own) in ARRAYS
    code = code_of(tag, WATCHED if watched else 0, plain.dtype)
    slots = (own.slot,) if watched else ()
    messages.note_sent(channel, to, code, channel.layouts.of_one(plain), slots)
    if strand.moves:
        tangents = channel.twin.isend(Moving(None, motion(own)) if watched else None, to, tag)
        channel.session.keep(tangents)
    return request


def _moving(channel: Channel, posted: messages.Posted, y: Any) -> Any:
    """Memory that was received, in forward mode: watched if it was, by a message of the same tag.

    Of one sender and one tag the messages and their tangents come in one order.
    """
    source, tag = posted.status.source, posted.status.tag
    message = channel.session.link.wait(
        lambda: channel.twin.improbe(source, tag), None, lambda: f"a tangent of rank {source}"
    )
    moving = message.recv()
    if moving is None:
        return y
    tangents = moving.tangents
    if tangents is not None:
        if np.size(tangents[0]) != y.size:  # of another dtype, as the ranks find when they agree
            return y
        tangents = [np.reshape(t, y.shape) for t in tangents]
    return Moving(y, tangents).watched(channel.strand)


def _receive(channel: Channel, into: Buffer, posted: messages.Posted) -> None:
    """Receive a message, which is waited for, into memory."""
    plain, strand = into.plain, channel.strand
    y = empty(plain.shape if into.count == plain.size else (into.count,), into.dtype)
    layout, replaced = channel.layouts.of_one(y), into.is_replaced(y.shape)
    count = posted.receive(y) if channel.log is None else posted.receive_logged(y)
    if count != y.size:
        y = y.reshape(-1)[:count].copy()
        layout, replaced = channel.layouts.of_one(y), False
    if posted.outside or not (strand.moves or posted.code & KNOWN):
        into.fill(y)
    elif strand.moves:
        into.fill(_moving(channel, posted, y))
    else:
        slot = messages.arrival_slot(channel, posted, layout)
        if replaced:
            into.replace(strand, y, slot)
        else:
            into.fill(watch(strand, y, slot))
