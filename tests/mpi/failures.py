"""Programs that cannot go on, each with what every rank has to raise.

``mpirun -n 2 python failures.py FILE`` writes what each rank raised.
"""

import contextlib
import itertools
import json
import sys
from fractions import Fraction

import numpy as np
from mpi4py import MPI

import zyg
import zyg.numpy as znp

PROGRAMS = {}
ALONE = set()  # those that take a gradient themselves


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def alone(f):
    ALONE.add(program(f))
    return f


def sent_into(comm, x, memory):
    """The array of rank 0 is received into memory of rank 1."""
    if comm.rank == 0:
        comm.Send(x, 1)
        return np.sum(x)
    comm.Recv(memory, 0)
    return None


@program
def a_message_that_nobody_receives(comm, x):
    if comm.rank == 0:
        comm.send(x, 1, tag=7)
        return np.sum(x)
    return None


@program
def a_large_message_that_nobody_receives(comm, x):
    if comm.rank == 0:
        comm.Send(np.concatenate([x] * 10**6), 1)
    return np.sum(x)


@program
def a_message_that_is_not_sent(comm, x):
    return np.sum(comm.recv(source=1, tag=3)) if comm.rank == 0 else None


@program
def a_message_of_anybody_that_is_not_sent(comm, x):
    return np.sum(comm.recv()) if comm.rank == 0 else None


@program
def a_rank_that_leaves_out_a_call(comm, x):
    return comm.allreduce(np.sum(x)) if comm.rank == 0 else None


@program
def a_rank_that_makes_another_call(comm, x):
    return comm.allreduce(np.sum(x)) if comm.rank == 0 else comm.gather(x)


@program
def another_root(comm, x):
    return np.sum(comm.bcast(x, root=comm.rank % 2))


@program
def another_operator(comm, x):
    return comm.allreduce(np.sum(x), MPI.SUM if comm.rank else MPI.MAX)


@program
def values_for_other_ranks(comm, x):
    return np.sum(comm.scatter([x] * (comm.size + 1) if comm.rank == 0 else None))


@program
def memory_that_is_too_small(comm, x):
    return sent_into(comm, x, znp.empty(2))


@program
def large_memory_that_is_too_small(comm, x):
    """MPI sends it only when it knows where to."""
    return sent_into(comm, np.concatenate([x] * 10**5), znp.empty(2 * 10**5))


@program
def a_receipt_that_an_error_ends(comm, x):
    """What comes later goes to memory that is still there."""
    if comm.rank == 0:
        requests = [comm.Irecv(znp.empty(10**5), 1), comm.irecv(source=1, tag=1)]
        requests[0].Wait()
        return np.sum(x)
    comm.Isend(np.ones(10**5) * x[0], 0, 2)
    raise KeyError("mine")


@program
def memory_beyond_its_end(comm, x):
    comm.Bcast([x, (3, 1)])
    return np.sum(x)


@program
def memory_of_another_dtype(comm, x):
    return sent_into(comm, x, znp.empty(6, np.float32))


@program
def memory_received_as_an_object(comm, x):
    if comm.rank == 0:
        comm.send(x, 1)
        return np.sum(x)
    comm.Recv(znp.empty(1000), 0)
    return None


@program
def memory_of_other_counts(comm, x):
    y = znp.empty(3 + comm.rank)
    comm.Allreduce(np.ones(3 + comm.rank) * x[0], y)
    return np.sum(y)


@program
def memory_of_other_counts_broadcast(comm, x):
    y = x * 1.0 if comm.rank == 0 else znp.empty(4)
    comm.Bcast(y)
    return np.sum(y)


@program
def memory_of_objects(comm, x):
    comm.Bcast(np.array([None, 1]))
    return np.sum(x)


@program
def memory_in_another_order_of_bytes(comm, x):
    comm.Bcast(np.ones(3, ">f8"))
    return np.sum(x)


@program
def a_plain_array_for_a_watched_message(comm, x):
    return sent_into(comm, x, PLAIN)


@program
def a_plain_array_for_a_watched_sum(comm, x):
    comm.Allreduce(x, PLAIN)
    return np.sum(x)


@program
def a_rank_that_raises(comm, x):
    if comm.rank == 1:
        raise KeyError("mine")
    return comm.allreduce(np.sum(x))


@program
def a_rank_that_raises_while_another_waits_for_it(comm, x):
    if comm.rank == 1:
        raise KeyError("mine")
    return np.sum(comm.recv(source=1)) if comm.rank == 0 else None


@zyg.adjoint
def broken(x):
    def broken_pullback(y_bar):
        raise ArithmeticError("on the way back")

    return x, broken_pullback


@program
def a_rank_that_raises_on_the_way_back(comm, x):
    y = comm.bcast(broken(x) if comm.rank == 1 else None, root=1)
    return comm.reduce(np.sum(y * x))


@program
def no_number_on_the_root(comm, x):
    comm.allreduce(np.sum(x))


@program
def a_call_in_another_task(comm, x):
    (y,) = zyg.threads.map(lambda k: comm.allreduce(k * x), [1.0])
    return np.sum(y)


@program
def a_call_in_a_checkpoint_of_an_inner_gradient(comm, x):
    return np.sum(zyg.gradient(lambda x: zyg.checkpoint(comm.allreduce, np.sum(x)), x)[0])


@program
def a_receipt_that_leaves_a_checkpoint(comm, x):
    comm.isend(x, comm.rank)
    request, y = zyg.checkpoint(lambda x: (comm.irecv(source=comm.rank), x * 2), x)
    return np.sum(y * request.wait())


@program
def a_send_that_is_asked_for_in_a_checkpoint(comm, x):
    request = comm.isend(x, comm.rank)
    return np.sum(zyg.checkpoint(lambda x: request.test() and x, x) * comm.recv(source=comm.rank))


@program
def a_call_that_ends_in_a_checkpoint(comm, x):
    y = znp.empty(3)
    request = comm.Iallreduce(x, y)
    return np.sum(zyg.checkpoint(lambda x: request.wait() or x, x) * y)


@program
def a_checkpoint_that_raises(comm, x):
    def step(x):
        comm.isend(x, comm.rank)
        raise KeyError("mine")

    with contextlib.suppress(KeyError):
        zyg.checkpoint(step, x)
    return np.sum(comm.recv(source=comm.rank))


@program
def a_checkpoint_that_makes_other_calls(comm, x):
    runs.clear()

    def step(x):
        runs.append(x)
        return comm.allreduce(x) if len(runs) == 1 else comm.bcast(x)

    return np.sum(zyg.checkpoint(step, x))


@program
def a_checkpoint_that_makes_fewer_calls(comm, x):
    runs.clear()

    def step(x):
        runs.append(x)
        if len(runs) == 1:
            comm.isend(x, comm.rank)
        return x * 1.0

    return np.sum(zyg.checkpoint(step, x) * comm.recv(source=comm.rank))


runs = type("Runs", (list,), {})()


@program
def a_checkpoint_that_writes_to_what_it_is_given(comm, x):
    def step(x, y):
        comm.Allreduce(x, y)
        return y * x

    return np.sum(zyg.checkpoint(step, x, znp.empty(3)))


@program
def a_call_in_an_inner_gradient(comm, x):
    return np.sum(zyg.gradient(lambda x: comm.allreduce(np.sum(x)), x)[0])


@program
def a_gradient_inside_it(comm, x):
    return zyg.mpi.value_and_gradient(np.sum, x, comm=comm)[0]


@program
def calls_without_an_adjoint(comm, x):
    """Persistent ones, and those of neighbours and of other processes."""
    refused, grid = [], comm.Create_cart([comm.size])
    for name in ("neighbor_allgather", "Neighbor_alltoall", "Spawn", "Connect", "Ibarrier"):
        try:
            getattr(grid, name)
        except zyg.mpi.RankError:
            refused.append(name)
    assert len(refused) == 5
    return comm.Send_init(x, 0)


@program
def a_window_of_memory(comm, x):
    MPI.Win.Create(x, comm=comm.wrapped)
    return np.sum(x)


@program
def more_gathered_than_asked_for(comm, x):
    y = znp.empty(4) if comm.rank == 0 else None
    comm.Gatherv(x, [y, [3, 1]] if comm.rank == 0 else None)
    return np.sum(y) if comm.rank == 0 else None


@program
def more_scattered_than_asked_for(comm, x):
    y = znp.empty(2)
    comm.Scatterv([np.concatenate([x, x]), [2, 4]] if comm.rank == 0 else None, y)
    return np.sum(y)


@program
def more_exchanged_than_asked_for(comm, x):
    y = znp.empty(2)
    comm.Alltoallv([x, [1, 1 + comm.rank]], [y, [1, 1]])
    return np.sum(y)


@program
def other_counts_of_a_sum(comm, x):
    y = znp.empty(1)
    comm.Reduce_scatter(x, y, [1, 1 + comm.rank])
    return np.sum(y)


@program
def elements_that_cannot_be_divided(comm, x):
    comm.Alltoall(x, znp.empty(3))
    return np.sum(x)


@program
def values_of_other_ranks_for_all(comm, x):
    return np.sum(comm.alltoall([x] * (comm.size + comm.rank)))


@program
def ranks_that_wait_for_each_other(comm, x):
    return np.sum(comm.recv(source=1 - comm.rank))


@program
def a_rank_that_waits_while_the_other_calls_all(comm, x):
    return np.sum(comm.recv(source=1, tag=1)) if comm.rank == 0 else comm.allreduce(np.sum(x))


@program
def a_request_of_several_that_never_ends(comm, x):
    if comm.rank == 1:
        return None
    requests = [comm.irecv(source=1, tag=k) for k in (1, 2)]
    return np.sum(zyg.mpi.Request.waitany(requests)[1])


@program
def a_message_that_is_looked_for_and_not_sent(comm, x):
    if comm.rank == 0:
        comm.probe(MPI.ANY_SOURCE, MPI.ANY_TAG)
    return np.sum(x)


@program
def a_cotangent_that_never_comes(comm, x):
    if comm.rank == 0:
        comm.send(x, 1)
        return comm.recv(source=1)
    y = comm.recv(source=0)
    comm._channel("recv").give_back = lambda *args: None  # as if zyg had lost it
    comm.send(np.sum(y), 0)
    return None


@program
def an_error_that_is_swallowed(comm, x):
    if comm.rank == 1:
        raise KeyError("mine")
    with contextlib.suppress(zyg.mpi.PeerError):
        comm.recv(source=1)
    return np.sum(x)


@alone
def a_gradient_of_one_rank(comm, x):
    zyg.gradient(lambda x: comm.allreduce(np.sum(x)), x)


@alone
def a_gradient_around_it(comm, x):
    def inner(x):
        return zyg.mpi.value_and_gradient(np.sum, x, comm=comm)[0]

    zyg.gradient(inner, x)


@alone
def another_root_of_the_gradient(comm, x):
    zyg.mpi.gradient(lambda x: np.sum(x), x, comm=comm, root=comm.rank)


@alone
def other_settings(comm, x):
    with zyg.config(strong_zero=comm.rank == 0):
        zyg.mpi.gradient(lambda x: np.sum(x), x, comm=comm)


@alone
def a_fraction(comm, x):
    zyg.mpi.gradient(comm.bcast, Fraction(1, 2), comm=comm)


@alone
def no_wrapped_communicator(comm, x):
    zyg.mpi.gradient(np.sum, x, comm=comm.wrapped)


PLAIN = np.empty(3)


def raised_by(comm, f, along=False):
    """By a gradient; or by forward mode, along a direction."""
    x = np.linspace(0.3, 0.9, 3) + comm.rank
    try:
        if f in ALONE:
            f(comm, x)
        elif along:
            zyg.mpi.pushforward(lambda x: f(comm, x), (x,), (x,), comm=comm)
        else:
            zyg.mpi.value_and_gradient(lambda x: f(comm, x), x, comm=comm)
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


def main():
    comm = zyg.mpi.wrap(MPI.COMM_WORLD)
    found = {}
    for name, along in itertools.product(sys.argv[2:] or PROGRAMS, (False, True)):
        mode = f"{name}, along" if along else name
        found[mode] = comm.wrapped.gather(raised_by(comm, PROGRAMS[name], along))
        # The next gradient is right, whatever happened in this one.
        (g,) = zyg.mpi.gradient(lambda x: comm.allreduce(x * x), comm.rank + 1.0, comm=comm)
        assert g == 2 * (comm.rank + 1)
        if comm.rank == 0:
            with open(sys.argv[1], "w") as file:
                json.dump(found, file)


if __name__ == "__main__":
    main()
