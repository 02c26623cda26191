"""Random programs of sends, receipts of any source and sums, against the same in one process.

A program is a list of rounds, drawn from a seed that all ranks have. In a round some ranks send
what they have to others, with tags of their own, and all ranks may add something up. The receivers
take memory by its tag and then objects as they come, and sort all by its tag before they use it.
"""

import json
import sys

import numpy as np
from mpi4py import MPI

import zyg
import zyg.numpy as znp


def rounds(seed, size):
    """What is sent in each round: sender, receiver, tag, by memory or not; and what is summed."""
    rng = np.random.default_rng(seed)
    tag = 0
    for _ in range(int(rng.integers(1, 6))):
        sent = []
        for _ in range(int(rng.integers(0, 2 * size))):
            sent.append((int(rng.integers(size)), int(rng.integers(size)), tag, rng.random() < 0.3))
            tag += 1
        yield sent, str(rng.choice(["", "allreduce", "bcast", "scan", "alltoall"]))


def used(x, y, tag):
    return np.tanh(x + 0.5 * y * (1 + tag % 3))


def on_ranks(comm, x, seed, is_logged=lambda k: False):
    """A round may be in zyg.checkpoint; each rank decides for itself."""
    for k, (sent, call) in enumerate(rounds(seed, comm.size)):
        if is_logged(k):
            x = zyg.checkpoint(one_round, comm, x, sent, call)
        else:
            x = one_round(comm, x, sent, call)
    return comm.reduce(np.sum(x**2))


def one_round(comm, x, sent, call):
    requests = []
    for source, to, tag, memory in sent:
        if source == comm.rank:
            begin = comm.Isend if memory else comm.isend
            requests.append(begin(x * 1.0 if memory else {"tag": tag, "x": x}, to, tag))
    ours = [s for s in sent if s[1] == comm.rank]
    got = {}
    for _, _, tag, _ in [s for s in ours if s[3]]:
        y = znp.empty(3)
        comm.Recv(y, tag=tag)
        got[tag] = y
    for _ in [s for s in ours if not s[3]]:
        found = comm.recv()
        got[found["tag"]] = found["x"]
    for tag in sorted(got):
        x = used(x, got[tag], tag)
    zyg.mpi.Request.waitall(requests)
    comm.barrier()  # or a receipt may take what is sent in the next round
    return called(comm, x, call)


def called(comm, x, call):
    if call == "alltoall":
        return x + np.sum(np.stack(comm.alltoall([x * (k + 1) for k in range(comm.size)])), axis=0)
    return x + 0.3 * getattr(comm, call)(np.sin(x)) if call else x


def alone(xs, seed):
    size, xs = len(xs), [*xs]
    for sent, call in rounds(seed, size):
        before = [*xs]
        for r in range(size):
            for source, to, tag, _ in sorted(sent, key=lambda s: s[2]):
                if to == r:
                    xs[r] = used(xs[r], before[source], tag)
        sines, before = [np.sin(x) for x in xs], [*xs]
        for r in range(size):
            if call in ("allreduce", "scan"):
                xs[r] = xs[r] + 0.3 * sum(sines[: r + 1 if call == "scan" else size])
            elif call == "bcast":
                xs[r] = xs[r] + 0.3 * sines[0]
            elif call == "alltoall":
                xs[r] = xs[r] + sum(x * (r + 1) for x in before)
    return sum(np.sum(x**2) for x in xs)


def check(comm, seed):
    xs = [np.linspace(0.3, 0.9, 3) + 0.1 * r for r in range(comm.size)]
    x = xs[comm.rank]
    value, (g,) = zyg.mpi.value_and_gradient(on_ranks_of(comm, seed), x, comm=comm, zeros=True)
    is_logged = lambda k: (k + seed + comm.rank) % 2 == 0  # noqa: E731
    (logged,) = zyg.mpi.gradient(on_ranks_of(comm, seed, is_logged), x, comm=comm, zeros=True)
    expected, (every,) = zyg.value_and_gradient(lambda xs: alone(xs, seed), xs)
    directions = [np.cos(3 * x) for x in xs]
    _, along = zyg.mpi.pushforward(
        on_ranks_of(comm, seed), (x,), (directions[comm.rank],), comm=comm
    )
    slope = sum(np.sum(g * d) for g, d in zip(every, directions, strict=True))
    right = np.allclose(g, every[comm.rank], rtol=1e-12, atol=1e-14) and np.array_equal(logged, g)
    if comm.rank == 0:
        right = right and np.isclose(value, expected, rtol=1e-13)
        right = right and np.isclose(along, slope, rtol=1e-12, atol=1e-14)
    return (
        []
        if right
        else [f"{value} {g} {logged} {along}, alone {expected} {every[comm.rank]} {slope}"]
    )


def on_ranks_of(comm, seed, *is_logged):
    return lambda x: on_ranks(comm, x, seed, *is_logged)


def main():
    comm = zyg.mpi.wrap(MPI.COMM_WORLD)
    found = {}
    for seed in range(40):
        found[seed] = comm.wrapped.gather(check(comm, seed))
    if comm.rank == 0:
        with open(sys.argv[1], "w") as file:
            json.dump(found, file)


if __name__ == "__main__":
    main()
