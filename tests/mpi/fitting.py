"""A fit by all ranks, each with data of its own: the bits of what they find are the same.

``mpirun -n 2 python fitting.py`` prints the parameters of each rank, and those of one process.
"""

import numpy as np
from mpi4py import MPI

import zyg

comm = zyg.mpi.wrap(MPI.COMM_WORLD)
X = np.linspace(-1.0, 1.0, 24)
Y = 3.0 * X - 1.0
START = {"slope": 0.0, "offset": 0.0}


def squares(p, x, y):
    return np.sum((p["slope"] * x + p["offset"] - y) ** 2)


def loss(p, x, y):
    return comm.reduce(squares(comm.bcast(p), x, y))


def on_all_ranks(loss, p, *batch):
    value, (g, *_) = zyg.mpi.value_and_gradient(loss, p, *batch, comm=comm)
    return comm.bcast((value, (g,)))


def fitted(loss, *data, **options):
    adam = zyg.optimize.adam(0.1)
    p, history = zyg.optimize.fit(loss, START, data, optimizer=adam, epochs=20, **options)
    return np.array([p["slope"], p["offset"], history.losses[-1]])


mine = slice(comm.rank, None, comm.size)
found = fitted(loss, X[mine], Y[mine], value_and_gradient=on_all_ranks)
each = comm.allgather(found)
assert all(other.tobytes() == found.tobytes() for other in each)
np.testing.assert_allclose(found, fitted(squares, X, Y), rtol=1e-9)
if comm.rank == 0:
    print("fitted by", comm.size)
