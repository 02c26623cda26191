"""Ranks that take their time, forward and back, are waited for; one that is killed ends the job."""

import os
import signal
import sys
import time

import numpy as np
from mpi4py import MPI

import zyg

comm = zyg.mpi.wrap(MPI.COMM_WORLD)


def pause():
    time.sleep(4)  # longer than a rank waits before it asks whether all are stuck


@zyg.adjoint
def slow(x):
    def slow_pullback(y_bar):
        pause()
        return (y_bar,)

    pause()
    return x * 1.0, slow_pullback


def f(x):
    y = comm.bcast(x)
    if comm.rank == 1:
        if sys.argv[1] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        y = slow(y)
    return comm.reduce(np.sum(y**2))


(g,) = zyg.mpi.gradient(f, 3.0, comm=comm)
if comm.rank == 0:
    print("gradient", g / comm.size)
