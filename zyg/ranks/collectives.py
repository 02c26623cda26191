"""Collective calls, with their entries.

Before the data each rank tells the others what it calls: its name, its root, how much it brings and
whether that is watched. So all ranks find a misfit, and all raise; and where nothing is watched
anywhere, nothing is noted.

The cotangents of a call are exchanged by a call, on every rank, in the reverse of the one order
that all ranks had. One that was begun without waiting, as Iallreduce, is begun on the way back
where it was waited for, and waited for where it was begun.
"""

from __future__ import annotations

import functools
import pickle
import zlib
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from zyg.core.entries import Kind, kinds
from zyg.core.reverse import Run
from zyg.core.strand import is_watched, strip
from zyg.ranks import moves
from zyg.ranks.cargo import Layout, Layouts, Origin, opened, owned, stow
from zyg.ranks.failures import RankError
from zyg.ranks.log import Logged, noted
from zyg.ranks.messages import handed_on, unmoved
from zyg.ranks.moves import Steps, bytes_of
from zyg.ranks.session import Channel, Work

NAMES = (
    "barrier", "bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce", "scan",
    "exscan",
)  # fmt: skip
_OPERATORS = ("SUM", "PROD", "MAX", "MIN", "LAND", "BAND", "LOR", "BOR", "MAXLOC", "MINLOC")


class Call:
    """One collective call of a rank: what it brings, what it gets, and the way back.

    `brought` has the origins of what is watched of it, and `got` lists of values to be watched: one
    for each rank, or one for all. `back` is a generator: from a vector for each list of `got` those
    for the origins.
    """

    def __init__(self, channel: Channel, name: str, root: int = -1, op: Any = None) -> None:
        self.channel, self.name, self.root = channel, name, root
        self.data = channel.data
        self.op = _number_of(channel, op)
        self.brought: list[Origin] = []
        self.got: list[list[Any]] = []
        self.watched = False  # whether anything is, on any rank
        self.work: Work | None = None  # on the way back

    def is_root(self) -> bool:
        return bool(self.channel.rank == self.root)

    def heads(self, size: int, watched: bool, like: Any = None) -> Steps:
        """What each rank tells of its call: a row each, of size, whether it is watched, form."""
        mine = np.array(
            [NAMES.index(self.name), self.root, self.op, size, watched, *_form(like)], np.int64
        )
        whole = np.empty((self.channel.size, mine.size), np.int64)
        yield self.data.Iallgather(mine, whole)
        if self.channel.silent:
            own = whole[self.channel.rank]
            self.channel.log.demand_same(*(f"{self.name} {row[[1, 2, 4]]}" for row in (mine, own)))
        self._demand_same(whole)
        self.watched = bool(whole[:, 4].any())
        return whole[:, 3:]

    def _demand_same(self, heads: Any) -> None:
        for column, what in enumerate(("call", "root", "operator")):
            if len({*heads[:, column].tolist()}) > 1:
                names = [NAMES[k] for k in heads[:, 0]]
                told = zip(self.channel.ranks, names, heads[:, 1:3].tolist(), strict=True)
                each = ", ".join(f"rank {r} calls {n} (root {w[0]})" for r, n, w in told)
                raise RankError(
                    f"ranks do not make the same collective call, or not with the same {what}: "
                    f"{each}.",
                    "the collective calls of a communicator are made by all its ranks, in the same "
                    "order and with the same root and operator.",
                    "make the same calls on all ranks.",
                )

    def back(self, vectors: list[Any], into: list[Layout]) -> Steps:
        raise NotImplementedError

    def stowed(self, x: Any) -> tuple[bytes, Origin]:
        """The pickle of an object, and where the watched values in it come from."""
        marked, leaves = stow(self.channel.strand, x)
        return pickle.dumps(marked, -1), Origin(leaves, self.channel.layouts)


def _number_of(channel: Channel, op: Any) -> int:
    """A number of an operator by which ranks see whether they have the same."""
    return next((k for k, name in enumerate(_OPERATORS) if op == getattr(channel.MPI, name)), -1)


def _form(x: Any) -> tuple[int, int]:
    """Of an array or a number that can be added up: its dtype and its shape, else -1."""
    plain = strip(x)
    numbers = isinstance(plain, (np.floating, np.complexfloating))
    if numbers or type(plain) in (float, np.ndarray):  # a masked array's sum is its own
        made = np.asarray(plain)
        if made.dtype.kind in "fc" and made.dtype.isnative and made.dtype.itemsize > 2:
            return made.dtype.num, zlib.crc32(repr(made.shape).encode())
    return -1, 0


def value(got: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The values to be watched of a message in pickled bytes, and what makes it of them."""
    found = pickle.loads(got)
    leaves, rebuild = opened(found)
    return (leaves, rebuild) if leaves else ([], lambda _: found)


class Bcast(Call):
    """From the root to all, and their cotangents' sum back."""

    def forth(self, x: Any) -> Steps:
        blob, origin = self.stowed(x) if self.is_root() else (b"", Origin([], Layouts()))
        heads = yield from self.heads(len(blob), bool(origin))
        whole = bytes_of(bytearray(blob) if blob else bytearray(int(heads[self.root, 0])))
        yield self.data.Ibcast([whole, self.channel.MPI.BYTE], self.root)
        if self.is_root():
            self.brought = [origin]
            return lambda _: x
        found, rebuild = value(whole)
        self.got = [found]
        return lambda made: rebuild(made[0])

    def back(self, vectors: list[Any], into: list[Layout]) -> Steps:
        vector = np.zeros(into[0].size, into[0].dtype) if self.is_root() else vectors[0]
        return [
            (yield from moves.total(self.channel.twin, vector, self.root, self.channel.ordered))
        ]


class Gather(Call):
    """From all to the root, and back."""

    def forth(self, x: Any) -> Steps:
        blob, origin = self.stowed(x)
        self.brought = [origin]
        heads = yield from self.heads(len(blob), bool(origin))
        sizes = heads[:, 0].tolist() if self.is_root() else None
        parts = [value(p) for p in (yield from moves.gather(self.data, blob, sizes, self.root))]
        if not self.is_root():
            return lambda _: None
        self.got = [found for found, _ in parts]
        return lambda made: [rebuild(m) for (_, rebuild), m in zip(parts, made, strict=True)]

    def back(self, vectors: list[Any], into: list[Layout]) -> Steps:
        pieces = vectors if self.is_root() else None
        got = yield from moves.scatter(self.channel.twin, pieces, into[0].nbytes, self.root)
        return [moves.typed(got, into[0].dtype)]


class Scatter(Call):
    """From the root to each its own, and back."""

    def forth(self, xs: Any) -> Steps:
        size = self.channel.size
        if self.is_root():
            xs = [*(xs or ())]
            parts = [self.stowed(x) for x in xs]
        else:
            parts = []
        watched = any(origin for _, origin in parts)
        heads = yield from self.heads(len(parts), watched)
        if int(heads[self.root, 0]) != size:
            raise RankError(
                f"scatter got {int(heads[self.root, 0])} values for {size} ranks.",
                "there is one for each rank.",
                "give the root a sequence of as many values as there are ranks.",
            )
        comm, mine = self.data, np.empty(1, np.int64)
        sizes = np.array([len(blob) for blob, _ in parts], np.int64) if parts else None
        yield comm.Iscatter(sizes, mine, self.root)
        pieces = [blob for blob, _ in parts] if parts else None
        got = yield from moves.scatter(comm, pieces, int(mine[0]), self.root)
        self.brought = [origin for _, origin in parts]
        found, rebuild = value(got)
        self.got = [found]
        return lambda made: rebuild(made[0])

    def back(self, vectors: list[Any], into: list[Layout]) -> Steps:
        sizes = [layout.nbytes for layout in into] if self.is_root() else None
        parts = yield from moves.gather(self.channel.twin, vectors[0], sizes, self.root)
        return [moves.typed(p, layout.dtype) for p, layout in zip(parts, into, strict=True)]


class Allgather(Call):
    """From all to all, and the sums of the cotangents back."""

    def forth(self, x: Any) -> Steps:
        blob, origin = self.stowed(x)
        self.brought = [origin]
        heads = yield from self.heads(len(blob), bool(origin))
        got = yield from moves.allgather(self.data, blob, heads[:, 0].tolist())
        parts = [value(p) for p in got]
        self.got = [found for found, _ in parts]
        return lambda made: [rebuild(m) for (_, rebuild), m in zip(parts, made, strict=True)]

    def back(self, vectors: list[Any], into: list[Layout]) -> Steps:
        sizes = [into[0].nbytes] * self.channel.size
        parts = yield from moves.alltoall(self.channel.twin, vectors, sizes)
        return [moves.summed(parts, into[0].dtype)]


class Alltoall(Call):
    """From each to each its own, and back."""

    def forth(self, xs: Any) -> Steps:
        parts = [self.stowed(x) for x in xs]
        heads = yield from self.heads(len(parts), any(origin for _, origin in parts))
        size = self.channel.size
        if any(n != size for n in heads[:, 0].tolist()):
            raise RankError(
                f"alltoall got {heads[:, 0].tolist()} values on the ranks, of which there are "
                f"{size}.",
                "there is one for each rank.",
                "give a sequence of as many values as there are ranks.",
            )
        comm, counts = self.data, np.empty(size, np.int64)
        sizes = np.array([len(blob) for blob, _ in parts], np.int64)
        yield comm.Ialltoall(sizes, counts)
        got = yield from moves.alltoall(comm, [blob for blob, _ in parts], counts.tolist())
        self.brought = [origin for _, origin in parts]
        values = [value(p) for p in got]
        self.got = [found for found, _ in values]
        return lambda made: [rebuild(m) for (_, rebuild), m in zip(values, made, strict=True)]

    def back(self, vectors: list[Any], into: list[Layout]) -> Steps:
        sizes = [layout.nbytes for layout in into]
        parts = yield from moves.alltoall(self.channel.twin, vectors, sizes)
        return [moves.typed(p, layout.dtype) for p, layout in zip(parts, into, strict=True)]


class Reduce(Call):
    """The sum, or another fold, of what all bring: at the root, or everywhere.

    Arrays or numbers of one form are added up as they are. All else is gathered and folded, in the
    order of the ranks, where the result is: the operations of that are noted as they happen.
    """

    def forth(self, x: Any, fold: Callable[[list[Any]], Any]) -> Steps:
        channel = self.channel
        x = owned(channel.strand, x) if is_watched(x) else x
        blob, origin = self.stowed(x)
        heads = yield from self.heads(len(blob), bool(origin), x)
        forms = {*map(tuple, heads[:, 2:].tolist())}
        here = self.root < 0 or self.is_root()
        alike = len(forms) == 1 and forms != {(-1, 0)}
        if self.op == 0 and alike and not channel.strand.moves:
            plain = strip(x)
            vector = np.ascontiguousarray(plain).reshape(-1)
            root = None if self.root < 0 else self.root
            whole = yield from moves.total(self.data, vector, root, channel.ordered)
            self.brought, self.like = [origin], Layout([plain])
            if not here:
                return lambda _: None
            made = whole.reshape(np.shape(plain) if self.shape is None else self.shape)
            result = made if type(plain) is np.ndarray else type(plain)(made[()])
            self.got = [[result] if self.watched else []]
            return lambda made: made[0][0] if self.watched else result
        return (yield from self._gathered(blob, origin, heads[:, 0].tolist(), fold, here))

    def _gathered(
        self, blob: bytes, origin: Origin, sizes: list[int], fold: Any, here: bool
    ) -> Steps:
        comm = self.data
        if self.root < 0:
            got = yield from moves.allgather(comm, blob, sizes)
            self.way: Any = Allgather.back
        else:
            got = yield from moves.gather(comm, blob, sizes if here else None, self.root)
            self.way = Gather.back
        self.brought = [origin]
        parts = [value(p) for p in got]
        self.got = [found for found, _ in parts]
        if not here:
            return lambda _: None
        return lambda made: fold([rebuild(m) for (_, rebuild), m in zip(parts, made, strict=True)])

    like: Layout | None = None  # of what is added up
    shape: Any = None  # that which the sum is to have

    def back(self, vectors: list[Any], into: list[Layout]) -> Steps:
        channel, like = self.channel, self.like
        if like is None:
            return (yield from self.way(self, vectors, into))
        if self.root < 0:
            whole = yield from moves.total(channel.twin, vectors[0], None, channel.ordered)
        else:
            whole = vectors[0] if self.is_root() else np.empty(like.size, like.dtype)
            yield channel.twin.Ibcast(whole, self.root)
        return [whole] if self.brought[0] else [np.empty(0)]


class Barrier(Call):
    """All ranks wait for all."""

    def forth(self) -> Steps:
        yield from self.heads(0, False)
        return lambda _: None


def folded(channel: Channel, op: Any, values: Sequence[Any]) -> Any:
    """The fold of values in the order of the ranks; equal largest ones share."""
    MPI = channel.MPI
    if any(map(is_watched, values)):
        if op == MPI.MAX or op == MPI.MIN:
            return (np.max if op == MPI.MAX else np.min)(np.stack([*values]), axis=0)
        if op == MPI.PROD:
            return functools.reduce(lambda a, b: a * b, values)
        if op == MPI.SUM:
            return functools.reduce(lambda a, b: a + b, values)
    return functools.reduce(op, values)


# Noting


def begun(call: Call, *args: Any) -> Work:
    """Begin a call."""
    channel = call.channel
    steps = call.forth(*args)  # type: ignore[attr-defined]
    if channel.log is not None:
        got = channel.log.of(call.name, list)
        call.data = Logged(channel, got)
        if channel.silent:
            work = Work(steps, call.name)
            work.step()
            return work
        steps = noted(steps, got)
    channel.collectives += 1
    return channel.begin(steps, call.name)


def run_call(call: Call, *args: Any) -> Any:
    """The value of a call that waits, watched where it is."""
    work = begun(call, *args)
    call.channel.finish(work)
    for earlier in [*call.channel.open]:
        earlier.conclude()
    return concluded(call, work, waits=True)


def note_begun(call: Call) -> None:
    """Note that a call was begun that is waited for later."""
    call.channel.strand.note((None, None, begun_pullback, None, (call,)))


def concluded(call: Call, work: Work, waits: bool) -> Any:
    """The value of a call that is done; the entry says whether to wait for it on the way back."""
    make = work.result
    strand = call.channel.strand
    if not call.watched:
        return make([[] for _ in call.got])
    if strand.moves:
        return make([[x.watched(strand) for x in leaves] for leaves in call.got])
    slots = [tuple([strand.new_slot() for _ in leaves]) for leaves in call.got]
    args = call, slots, [Layout(leaves) for leaves in call.got], waits
    strand.note((None, None, call_pullback, None, args))
    each = zip(call.got, slots, strict=True)
    return make([handed_on(strand, leaves, own) for leaves, own in each])


def call_pullback(
    run: Run, call: Call, slots: list[Any], layouts: list[Layout], waits: bool
) -> Any:
    """The cotangents of a call's values go back by a call."""
    vectors = [_flat(lay, run.bars, own) for lay, own in zip(layouts, slots, strict=True)]
    into = [origin.layout for origin in call.brought]
    call.work = call.channel.begin(_back(call, vectors, into), call.name)
    return begun_pullback(run, call) if waits else ()


def _flat(layout: Layout, bars: list[Any], slots: Sequence[Any]) -> Any:
    found = layout.taken(bars, slots)
    return np.zeros(layout.size, layout.dtype) if found is None else found.reshape(-1)


def _back(call: Call, vectors: list[Any], into: list[Layout]) -> Steps:
    found = yield from call.back(vectors, into)
    return [lay.cotangents(v) for lay, v in zip(into, found, strict=False) if v is not None]


def begun_pullback(run: Run, call: Call) -> Any:
    """The cotangents of what a call was brought, once they have come."""
    if not call.watched or call.work is None:
        return ()
    found = call.channel.finish(call.work)
    pairs = zip(call.brought, found, strict=False)
    return chain.from_iterable(origin.contributions(cs) for origin, cs in pairs)


def _slots_of(call: Call, *_: Any) -> list[Any]:
    return [slot for origin in call.brought for slot in origin.slots]


kinds[call_pullback] = Kind(_slots_of, None, lambda call, *_: str(call.name))
kinds[begun_pullback] = Kind(_slots_of, unmoved, lambda call, *_: str(call.name))
