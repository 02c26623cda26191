"""From all ranks to all: bytes, and sums. Each is a generator that yields what it waits for.

Sums are made in the order of the ranks, so that their bits do not depend on MPI; of two ranks, or
where the order is left to MPI, MPI adds them up. A long vector is cut into a piece for each rank,
which adds up the others' pieces of it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from zyg.ranks.link import mpi

Steps = Generator[Any, Any, Any]
_SHORT = 1 << 13  # bytes of a vector that every rank gets whole


def bytes_of(x: Any) -> Any:
    """Memory as an array of bytes."""
    return x.view(np.uint8) if isinstance(x, np.ndarray) else np.frombuffer(x, np.uint8)


def _places(sizes: Sequence[int]) -> list[int]:
    return [0, *np.cumsum(sizes)[:-1].tolist()]


def _cut(whole: Any, sizes: Sequence[int]) -> list[Any]:
    return [whole[at : at + n] for at, n in zip(_places(sizes), sizes, strict=True)]


def _spec(whole: Any, sizes: Sequence[int]) -> list[Any]:
    return [whole, [*sizes], _places(sizes), mpi().BYTE]


def _joined(pieces: Sequence[Any]) -> Any:
    return np.concatenate([bytes_of(p) for p in pieces]) if pieces else np.empty(0, np.uint8)


def gather(comm: Any, mine: Any, sizes: Sequence[int] | None, root: int) -> Steps:
    """To the root, the bytes of every rank."""
    whole = None if sizes is None else np.empty(sum(sizes), np.uint8)
    into = None if sizes is None else _spec(whole, sizes)
    yield comm.Igatherv([bytes_of(mine), mpi().BYTE], into, root)
    return [] if sizes is None else _cut(whole, sizes)


def scatter(comm: Any, pieces: Sequence[Any] | None, size: int, root: int) -> Steps:
    """From the root, to each rank the bytes that are for it."""
    mine = np.empty(size, np.uint8)
    out = None if pieces is None else _spec(_joined(pieces), [len(bytes_of(p)) for p in pieces])
    yield comm.Iscatterv(out, [mine, mpi().BYTE], root)
    return mine


def allgather(comm: Any, mine: Any, sizes: Sequence[int]) -> Steps:
    """To every rank, the bytes of every rank."""
    whole = np.empty(sum(sizes), np.uint8)
    yield comm.Iallgatherv([bytes_of(mine), mpi().BYTE], _spec(whole, sizes))
    return _cut(whole, sizes)


def alltoall(comm: Any, pieces: Sequence[Any], sizes: Sequence[int]) -> Steps:
    """To every rank, the bytes that every rank has for it."""
    whole = np.empty(sum(sizes), np.uint8)
    out = _spec(_joined(pieces), [len(bytes_of(p)) for p in pieces])
    yield comm.Ialltoallv(out, _spec(whole, sizes))
    return _cut(whole, sizes)


def total(comm: Any, vector: Any, root: int | None, ordered: bool) -> Steps:
    """The sum of a vector of each rank: at the root, or everywhere."""
    here = root is None or root == comm.Get_rank()
    if (not ordered or comm.Get_size() <= 2) and vector.dtype != np.float16:  # MPI has none
        whole = np.empty_like(vector) if here else None
        if root is None:
            yield comm.Iallreduce(vector, whole)
        else:
            yield comm.Ireduce(vector, whole, root=root)
        return whole
    if vector.nbytes <= _SHORT:
        sizes = [vector.nbytes] * comm.Get_size()
        if root is None:
            parts = yield from allgather(comm, vector, sizes)
        else:
            parts = yield from gather(comm, vector, sizes if here else None, root)
        return summed(parts, vector.dtype) if here else None
    return (yield from _total_in_pieces(comm, vector, root, here))


def _total_in_pieces(comm: Any, vector: Any, root: int | None, here: bool) -> Steps:
    size, rank = comm.Get_size(), comm.Get_rank()
    ends = [len(vector) * k // size for k in range(size + 1)]
    counts = [ends[k + 1] - ends[k] for k in range(size)]
    pieces = [vector[ends[k] : ends[k + 1]] for k in range(size)]
    wide = vector.dtype.itemsize
    parts = yield from alltoall(comm, pieces, [counts[rank] * wide] * size)
    mine, sizes = summed(parts, vector.dtype), [n * wide for n in counts]
    if root is None:
        parts = yield from allgather(comm, mine, sizes)
    else:
        parts = yield from gather(comm, mine, sizes if here else None, root)
    return np.concatenate([typed(p, vector.dtype) for p in parts]) if here else None


def typed(piece: Any, dtype: np.dtype[Any]) -> Any:
    """Bytes that came as a vector."""
    found = np.frombuffer(piece, dtype)
    return found if found.flags.aligned and found.flags.writeable else found.copy()


def summed(parts: Sequence[Any], dtype: np.dtype[Any]) -> Any:
    """The sum of vectors that came as bytes, in their order."""
    whole = typed(parts[0], dtype).copy()
    for part in parts[1:]:
        whole += typed(part, dtype)
    return whole
