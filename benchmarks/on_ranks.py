"""Programs of two ranks, timed where they run: ``mpirun -n 2 python -m benchmarks.on_ranks``.

Rank 0 reads a name and a count from each line that it is given, and writes the seconds of one such
round and what the program gives. Each name is a pair of functions for the count: of what goes
back and forth with mpi4py alone, or of the gradient of the same by zyg.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

import zyg
import zyg.numpy

raw = MPI.COMM_WORLD
comm = zyg.mpi.wrap(raw)
OTHER = 1 - comm.rank


# Messages: there and back so many times. Of the raw ones one direction is what a message takes.


def objects(x: Any, count: int, ranks: Any) -> Any:
    for _ in range(count):
        if comm.rank == 0:
            ranks.send(x, 1)
            x = ranks.recv(source=1)
        else:
            x = ranks.recv(source=0)
            ranks.send(x, 0)
    return x[0]


def memory(x: Any, count: int, ranks: Any) -> Any:
    y = zyg.numpy.empty(len(x))
    for _ in range(count):
        if comm.rank == 0:
            ranks.Send(x, 1)
            ranks.Recv(y, 1)
        else:
            ranks.Recv(y, 0)
            ranks.Send(y, 0)
        x = y
    return x[0]


def numbers(x: Any, count: int, ranks: Any) -> Any:
    return objects([x[0]], count, ranks)


def by_zyg(f: Any, size: int) -> Callable[[int], Any]:
    def run(count: int) -> Any:
        x = np.ones(size)
        return zyg.mpi.gradient(lambda x: f(x, count, comm), x, comm=comm)

    return run


def by_mpi(f: Any, size: int) -> Callable[[int], Any]:
    return lambda count: f(np.ones(size), count, raw)


# Steps of a training: parameters of rank 0 to all, gradients back, summed.


def local_loss(w: Any, x: Any) -> Any:
    h = np.tanh(x @ w[: 64 * 256].reshape(64, 256))
    return np.sum(np.tanh(h @ w[64 * 256 :].reshape(256, 64)) ** 2)


WEIGHTS = np.random.default_rng(0).normal(size=2 * 64 * 256) / 16
DATA = np.random.default_rng(1 + comm.rank).normal(size=(2000, 64))


def steps_by_zyg(count: int) -> Any:
    w = WEIGHTS.copy()
    for _ in range(count):
        (g,) = zyg.mpi.gradient(
            lambda w: comm.reduce(local_loss(comm.bcast(w), DATA)), w, comm=comm
        )
        if comm.rank == 0:
            w = w - 1e-6 * g
    return [float(np.sum(w))] if comm.rank == 0 else None


def steps_by_hand(count: int) -> Any:
    w, total = WEIGHTS.copy(), np.empty_like(WEIGHTS)
    for _ in range(count):
        raw.Bcast(w)
        (g,) = zyg.gradient(local_loss, w, DATA)[:1]
        raw.Reduce(g, total if comm.rank == 0 else None)
        if comm.rank == 0:
            w = w - 1e-6 * total
    return [float(np.sum(w))] if comm.rank == 0 else None


PROGRAMS = {
    "objects, 1 kB: zyg": by_zyg(objects, 128),
    "objects, 1 kB: mpi4py": by_mpi(objects, 128),
    "objects, 10 MB: zyg": by_zyg(objects, 1_310_720),
    "objects, 10 MB: mpi4py": by_mpi(objects, 1_310_720),
    "memory, 1 kB: zyg": by_zyg(memory, 128),
    "memory, 1 kB: mpi4py": by_mpi(memory, 128),
    "memory, 10 MB: zyg": by_zyg(memory, 1_310_720),
    "memory, 10 MB: mpi4py": by_mpi(memory, 1_310_720),
    "numbers: zyg": by_zyg(numbers, 1),
    "steps: zyg": steps_by_zyg,
    "steps: by hand": steps_by_hand,
}


def main() -> None:
    for line in sys.stdin if comm.rank == 0 else iter(lambda: "", None):
        task = raw.bcast(line)
        if not task.strip():
            break
        name, _, count = task.strip().rpartition(" ")
        raw.Barrier()
        began = time.perf_counter()
        found = PROGRAMS[name](int(count))
        raw.Barrier()
        seconds = time.perf_counter() - began
        if comm.rank == 0:
            given = found if name.startswith("steps") else None
            print("took", json.dumps([seconds, given]), flush=True)
    if comm.rank == 0:
        raw.bcast("")


if __name__ == "__main__":
    main()
