"""Programs whose sums have one order: the same bits as in one process, on any number of ranks."""

import json
import sys

import numpy as np
from mpi4py import MPI

import zyg

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
