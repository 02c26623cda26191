"""What a gradient leaves on a cluster when it has been taken, whatever happened in it: nothing."""

import contextlib
import gc
import os
import signal
import time

import numpy as np
import pytest

import zyg
import zyg.distributed
from tests.clusters import client_of

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has only the latter, which kills there
X = np.linspace(0.2, 1.4, 40_000).reshape(200, 200)  # too large to go with each task


@pytest.fixture(scope="module", params=["here", pytest.param("processes", marks=pytest.mark.slow)])
def raw(request):
    with client_of(request.param) as client:
        yield client


@pytest.fixture(params=["worker", "recompute"])
def client(raw, request):
    return zyg.distributed.wrap_client(raw, keep=request.param)


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def demand_nothing_left(raw):
    """No key on a worker, soon: what the client lets go of is told to the scheduler, and on."""
    end = time.monotonic() + 60
    while left := [key for keys in raw.has_what().values() for key in keys]:
        assert time.monotonic() < end, left
        time.sleep(0.01)


def part(w, k):
    return np.sum(np.tanh(w * k) * w[0])


def odd(w, k):
    if k == 3:
        raise KeyError(k)
    return part(w, k)


@zyg.adjoint
def broken(w, k):
    def broken_pullback(y_bar):
        if k == 3:
            raise KeyError("in reverse")
        return y_bar * np.ones_like(w), None

    return np.sum(w), broken_pullback


def submitted(client, x, f=part):
    return [client.submit(f, x, k) for k in range(1, 8)]


def sums(client, x):
    return sum(client.gather(submitted(client, x)))


def mapped(client, x):
    return sum(client.gather(client.map(lambda k: k * np.sum(x[0] ** 2), range(40))))


def with_small_operands(client, x):
    row = np.sin(x[0])
    return sum(client.gather(client.map(lambda k: k * np.sum(row**2), range(40))))


def chained(client, x):
    s = client.submit(np.sin, x)
    return sum(client.gather([client.submit(part, s, k) for k in (1, 2)])) * client.gather(s)[0, 0]


def caught(client, x):
    total = 0.0
    for task in submitted(client, x, odd):
        with contextlib.suppress(KeyError):
            total = total + task.result()
    return total


def first_completed(client, x):
    return 0.0 * next(zyg.distributed.as_completed(submitted(client, x))).result()


def cancelled_meanwhile(client, x):
    first, *rest = submitted(client, x)
    for task in rest:
        task.cancel()
    return first.result()


def cancelled_afterwards(client, x):
    tasks = submitted(client, x)
    values = client.gather(tasks)
    for task in tasks:
        task.cancel()
        task.release()
    return sum(values)


PROGRAMS = [
    sums, mapped, with_small_operands, chained, caught, first_completed, cancelled_meanwhile,
    cancelled_afterwards,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_is_left(raw, client, program):
    found = zyg.gradient(lambda x: program(client, x), X)[0]
    gc.collect()
    demand_nothing_left(raw)
    assert found.tobytes() == zyg.gradient(lambda x: program(client, x), X)[0].tobytes()


@pytest.mark.parametrize("program", [sums, mapped, with_small_operands, chained])
def test_nothing_waits_for_the_garbage_collector(raw, program, no_collector):
    client = zyg.distributed.wrap_client(raw)
    zyg.gradient(lambda x: program(client, x), X)
    demand_nothing_left(raw)


@pytest.mark.parametrize("f", [odd, broken])
def test_nothing_is_left_of_a_gradient_that_failed(raw, client, f):
    with pytest.raises(KeyError):
        zyg.gradient(lambda x: sum(client.gather(submitted(client, x, f))), X)
    gc.collect()
    demand_nothing_left(raw)


def test_nothing_is_left_of_one_that_was_interrupted(raw, client):
    def f(x):
        submitted(client, x)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        zyg.gradient(f, X)
    end = time.monotonic() + 60
    while any(raw.has_what().values()) or any(raw.processing().values()):
        gc.collect()  # when the tasks that ran are done
        assert time.monotonic() < end
        time.sleep(0.01)


def test_values_of_workers_that_are_lost_before_anybody_asks(raw):
    """A task is done, and its value not here: it is made again."""
    if raw.scheduler.address.startswith("inproc"):
        pytest.skip("the worker is this process")
    client = zyg.distributed.wrap_client(raw)
    before = zyg.gradient(lambda x: sums(client, x), X)[0]

    def f(x):
        tasks = submitted(client, x)
        zyg.distributed.wait(tasks)
        for pid in raw.run(os.getpid).values():
            os.kill(pid, KILL)
        return sum(client.gather(tasks))

    assert zyg.gradient(f, X)[0].tobytes() == before.tobytes()
    gc.collect()
    raw.wait_for_workers(2, timeout=100)
    demand_nothing_left(raw)
