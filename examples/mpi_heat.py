"""
Sources of heat on a plate in strips
====================================

Heat on a plate that is cut into strips, one for each rank of MPI: where are the sources?

::

    pip install -e '.[examples-mpi]' && python examples/mpi_heat.py  # on one rank; takes seconds
    mpirun -n 2 python examples/mpi_heat.py

Each rank has the temperatures of its rows, with a row of each neighbour above and below, which they
exchange before every step: the halo. The sources of heat are unknown; the temperatures at the end
are known. All ranks take the gradient of the misfit together, each by the sources of its own rows,
and descend. Nobody wrote a line about how cotangents cross the borders.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from mpi4py import MPI

import zyg
import zyg.numpy

# %%
# The program of a rank
# ---------------------

ROWS, COLUMNS, STEPS, SPEED = 24, 20, 12, 0.2

comm = zyg.mpi.wrap(MPI.COMM_WORLD)
UP = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
DOWN = comm.rank + 1 if comm.rank + 1 < comm.size else MPI.PROC_NULL


def heat(source):
    """The temperatures of this rank's rows after some steps from zero, sources on all the time.

    The border of the plate is kept at zero.
    """
    u = zyg.numpy.zeros((len(source) + 2, COLUMNS + 2))
    for _ in range(STEPS):
        comm.Sendrecv(u[1], UP, 0, u[-1], DOWN, 0)
        comm.Sendrecv(u[-2], DOWN, 1, u[0], UP, 1)
        inside = u[1:-1, 1:-1]
        flow = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inside
        u[1:-1, 1:-1] = inside + SPEED * flow + source
    return u[1:-1, 1:-1]


def misfit(source, observed):
    """The sum of squares over the whole plate: on rank 0."""
    return comm.reduce(np.sum((heat(source) - observed) ** 2))


def recover(observed, iterations=60):
    """The sources that lead to what was observed, by accelerated descent; how the misfit fell."""
    guess = lead = np.zeros_like(observed)
    misfits = []
    for k in range(iterations):
        value, (slope,) = zyg.mpi.value_and_gradient(
            lambda source: misfit(source, observed), lead, comm=comm
        )
        misfits.append(value)
        previous, guess = guess, lead - slope / (2 * STEPS**2)
        lead = guess + k / (k + 3) * (guess - previous)
    return guess, misfits


def main():
    whole = np.zeros((ROWS, COLUMNS))
    whole[4:8, 3:6], whole[11:13, 10:17], whole[19, 4] = 1.0, 0.5, 2.0
    mine = np.array_split(whole, comm.size)[comm.rank]  # the middle one lies on a border
    found, misfits = recover(heat(mine))
    every = comm.gather(found)
    if comm.rank == 0:
        error = np.max(np.abs(np.concatenate(every) - whole))
        print(f"{comm.size} ranks; the misfit fell from {misfits[0]:.3g} to {misfits[-1]:.3g}")
        print(f"the largest error of a source is {error:.3f}, the largest source 2")
        assert error < 0.1
        return whole, np.concatenate(every)
    return whole, None


# %%
# The run
# -------

if __name__ == "__main__":
    pictures = main()
    if comm.rank == 0:
        panels = plt.figure(figsize=(7, 4), layout="constrained").subplots(1, 2)
        for axes, title, image in zip(panels, ("sources", "found"), pictures, strict=True):
            axes.imshow(image, cmap="inferno", vmin=0, vmax=2)
            axes.hlines(np.arange(1, comm.size) * ROWS / comm.size - 0.5, -0.5, COLUMNS - 0.5, "w")
            axes.set(title=title, xticks=[], yticks=[])
        plt.show()
