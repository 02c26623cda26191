"""Programs whose sums have one order: the same bits as in one process, on any number of ranks."""

import functools
import json
import sys

import numpy as np
from mpi4py import MPI
from programs import memory_there_and_back

import zyg
import zyg.numpy as znp

PROGRAMS = {}


def program(f):
    """A function of the communicator and a rank's array, with what it is of all ranks' arrays."""

    def pair(alone):
        PROGRAMS[f.__name__] = f, alone
        return alone

    return pair


def chain(comm, x):
    y = x if comm.rank == 0 else np.sin(comm.recv(source=comm.rank - 1) * x)
    if comm.rank + 1 < comm.size:
        comm.send(y, comm.rank + 1)
    else:
        comm.isend(np.sum(y**3), 0, tag=1)
    return comm.recv(source=comm.size - 1, tag=1) if comm.rank == 0 else None


@program(chain)
def chain_alone(xs):
    y = xs[0]
    for x in xs[1:]:
        y = np.sin(y * x)
    return np.sum(y**3)


def added_up(comm, x):
    return comm.reduce(np.sum(np.sin(x)))


@program(added_up)
def added_up_alone(xs):
    made = np.sum(np.sin(xs[0]))
    for x in xs[1:]:
        made = made + np.sum(np.sin(x))
    return made


def long_sums(comm, x):
    y = comm.allreduce(np.sin(np.outer(np.arange(1.0, 3001.0), x)))
    return np.sum(y**2) if comm.rank == 0 else None


@program(long_sums)
def long_sums_alone(xs):
    rows = np.arange(1.0, 3001.0)
    y = np.sin(np.outer(rows, xs[0]))
    for x in xs[1:]:
        y = y + np.sin(np.outer(rows, x))
    return np.sum(y**2)


def collected(comm, x):
    made = comm.gather(np.exp(-x))
    return np.prod(np.stack(made)) if comm.rank == 0 else None


@program(collected)
def collected_alone(xs):
    return np.prod(np.stack([np.exp(-x) for x in xs]))


@program(memory_there_and_back)
def memory_there_and_back_alone(xs):
    made = 0.0
    for r, x in enumerate(xs[1:], 1):
        made = made + np.sum(xs[0] * (np.sin(xs[0] * r) * x))
    return made


def around(comm, x):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    y = comm.sendrecv(np.sin(x), right, 3, None, left, 3)
    z = np.cos(x)
    comm.Sendrecv_replace(z, left, 4, right, 4)
    made = comm.gather(x * y * z)
    return np.sum(np.stack(made) ** 2) if comm.rank == 0 else None


@program(around)
def around_alone(xs):
    n, sines = len(xs), [np.sin(x) for x in xs]
    cosines = [np.cos(x) for x in xs]
    made = [x * sines[k - 1] * cosines[(k + 1) % n] for k, x in enumerate(xs)]
    return np.sum(np.stack(made) ** 2)


def broadcast(comm, x):
    v = x * 2.0 if comm.rank == 0 else znp.empty(3)
    used = np.sum(np.exp(-comm.bcast(x if comm.rank == 0 else None) * x))
    comm.Bcast(v)
    made = comm.gather(used * np.sum(v))
    return np.prod(np.stack(made)) if comm.rank == 0 else None


@program(broadcast)
def broadcast_alone(xs):
    """The root has its own; the others' cotangents are added up in the order of the ranks."""
    w, v = xs[0], xs[0] * 2.0
    others, made = (np.copy(w), np.copy(v)), [None] * len(xs)
    for r in reversed(range(len(xs))):
        a, b = others if r else (w, v)
        made[r] = np.sum(np.exp(-a * xs[r])) * np.sum(b)
    return np.prod(np.stack(made))


def scattered(comm, x):
    mine = comm.scatter([x * (k + 1) for k in range(comm.size)] if comm.rank == 0 else None)
    y, counts = znp.empty(3), [1 + k % 3 for k in range(comm.size)]
    comm.Scatter(np.stack([np.sin(x + k) for k in range(comm.size)]) if comm.rank == 0 else None, y)
    z = znp.empty(sum(counts)) if comm.rank == 0 else None
    comm.Gatherv((mine * y * x)[: counts[comm.rank]] * 1.0, [z, counts] if z is not None else None)
    return np.sum(z**3) if comm.rank == 0 else None


@program(scattered)
def scattered_alone(xs):
    mine = [xs[0] * (k + 1) for k in range(len(xs))]
    y = np.stack([np.sin(xs[0] + k) for k in range(len(xs))])
    parts = [(mine[k] * y[k] * x)[: 1 + k % 3] for k, x in enumerate(xs)]
    return np.sum(np.concatenate(parts) ** 3)


def gathered_by_all(comm, x):
    y = np.stack(comm.allgather(np.sin(x)))
    made = comm.gather(np.sum(y * y * x))
    return np.prod(np.stack(made)) if comm.rank == 0 else None


@program(gathered_by_all)
def gathered_by_all_alone(xs):
    sines, made = [np.sin(x) for x in xs], [None] * len(xs)
    for r in reversed(range(len(xs))):
        y = np.stack(sines)
        made[r] = np.sum(y * y * xs[r])
    return np.prod(np.stack(made))


def all_to_all(comm, x):
    got = comm.alltoall([x[k % 3] * np.arange(1.0, k + 2) for k in range(comm.size)])
    y, n = znp.empty(3 * comm.size), comm.size
    comm.Alltoallv([np.sin(np.concatenate([x] * n)), [3] * n], [y, [3] * n])
    made = comm.gather(np.sum(np.concatenate(got) ** 3) * np.sum(y**2))
    return np.prod(np.stack(made)) if comm.rank == 0 else None


@program(all_to_all)
def all_to_all_alone(xs):
    n = len(xs)
    sent = [[x[k % 3] * np.arange(1.0, k + 2) for k in range(n)] for x in xs]
    y = [np.sin(np.concatenate([x] * n)) for x in xs]
    made = []
    for r in range(n):
        got = np.concatenate([sent[k][r] for k in range(n)])
        made.append(np.sum(got**3) * np.sum(np.concatenate([v[3 * r : 3 * r + 3] for v in y]) ** 2))
    return np.prod(np.stack(made))


def reduced_and_scattered(comm, x):
    y = znp.empty(2)
    comm.Reduce_scatter_block(np.sin(np.concatenate([x] * comm.size))[: 2 * comm.size] * 1.0, y)
    made = comm.gather(np.sum(y * y) * x)
    return np.sum(np.stack(made) ** 2) if comm.rank == 0 else None


@program(reduced_and_scattered)
def reduced_and_scattered_alone(xs):
    n = len(xs)
    sent = [np.sin(np.concatenate([x] * n))[: 2 * n] * 1.0 for x in xs]
    made = []
    for r, x in enumerate(xs):
        y = functools.reduce(lambda a, b: a + b, [s[2 * r : 2 * r + 2] for s in sent])
        made.append(np.sum(y * y) * x)
    return np.sum(np.stack(made) ** 2)


def scans(comm, x):
    y, z = comm.scan(np.sin(x)), comm.exscan(x[0])
    made = comm.gather(np.sum(y * x) * (1.0 if z is None else z))
    return np.prod(np.stack(made)) if comm.rank == 0 else None


@program(scans)
def scans_alone(xs):
    sines, firsts, made = [np.sin(x) for x in xs], [x[0] for x in xs], [None] * len(xs)
    for r in reversed(range(len(xs))):
        y = functools.reduce(lambda a, b: a + b, sines[: r + 1])
        z = functools.reduce(lambda a, b: a + b, firsts[:r]) if r else 1.0
        made[r] = np.sum(y * xs[r]) * z
    return np.prod(np.stack(made))


def folds(comm, x):
    """Equal largest ones share: all ranks have the same second element."""
    x = np.stack([x[0], x[1] - 0.123 * comm.rank, x[2]])
    top, low = comm.reduce(x, MPI.MAX), comm.reduce(x[0], MPI.MIN)
    whole = comm.reduce(x[:2], MPI.PROD)
    own = comm.reduce(x, lambda a, b: a + b + a * b)
    return np.sum(top * own) * low * np.sum(whole) if comm.rank == 0 else None


@program(folds)
def folds_alone(xs):
    xs = [np.stack([x[0], x[1] - 0.123 * k, x[2]]) for k, x in enumerate(xs)]
    top, low = np.max(np.stack(xs), axis=0), np.min(np.stack([x[0] for x in xs]), axis=0)
    whole = functools.reduce(lambda a, b: a * b, [x[:2] for x in xs])
    own = functools.reduce(lambda a, b: a + b + a * b, xs)
    return np.sum(top * own) * low * np.sum(whole)


def parts_of_the_ranks(comm, x):
    part = comm.Split(comm.rank % 2, comm.rank)
    made = comm.gather(part.allreduce(np.sin(x)) * x)
    return np.sum(np.stack(made) ** 2) if comm.rank == 0 else None


@program(parts_of_the_ranks)
def parts_of_the_ranks_alone(xs):
    sums = [functools.reduce(lambda a, b: a + b, [np.sin(x) for x in xs[k::2]]) for k in (0, 1)]
    return np.sum(np.stack([sums[k % 2] * x for k, x in enumerate(xs)]) ** 2)


def check(comm, f, alone):
    xs = [np.linspace(0.3, 0.9, 3) + 0.123 * r for r in range(comm.size)]
    x = xs[comm.rank]
    value, (g,) = zyg.mpi.value_and_gradient(lambda x: f(comm, x), x, comm=comm)
    again = zyg.mpi.gradient(lambda x: f(comm, x), x, comm=comm)[0]
    expected, (all_of_it,) = zyg.value_and_gradient(alone, xs)
    wrong = [] if np.array_equal(g, again) else ["another gradient in the second run"]
    if comm.rank == 0 and value != expected:
        wrong.append(f"value {value!r} is {expected!r} in one process")
    if not np.array_equal(g, all_of_it[comm.rank]):
        wrong.append(f"gradient {g} is {all_of_it[comm.rank]} in one process")
    return wrong


def main():
    comm = zyg.mpi.wrap(MPI.COMM_WORLD)
    every = {name: comm.wrapped.gather(check(comm, *pair)) for name, pair in PROGRAMS.items()}
    if comm.rank == 0:
        with open(sys.argv[1], "w") as file:
            json.dump({f"{name}_alone": found for name, found in every.items()}, file)


if __name__ == "__main__":
    main()
