"""Rank 1 takes no part in the gradient of the others: it ends, raises, or takes its time."""

import sys
import time

from mpi4py import MPI

import zyg

how = sys.argv[1]
comm = zyg.mpi.wrap(MPI.COMM_WORLD, timeout=2.0 if how == "waits too long" else None)
if comm.rank == 1:
    if how == "raises":
        raise KeyError("mine")
    if how == "waits too long":
        time.sleep(6)
    sys.exit()
try:
    zyg.mpi.gradient(lambda x: comm.allreduce(x * x), 3.0, comm=comm)
except zyg.mpi.PeerError as error:
    print(f"raised {type(error).__name__}: {error}", flush=True)
