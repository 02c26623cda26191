"""Threads that compile and call the same functions; memory that goes when a call has ended."""

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import zyg
from zyg.errors import TapeError

resource = pytest.importorskip("resource")


def iterated(x, n):
    for _ in range(n):
        x = 1.2 * x * (1.0 - x) + 0.3 * math.sin(x)
    return x


def weighted(u, n):
    s = 0.0
    for k in range(n):
        for i in range(len(u)):
            s += math.cos(u[i] * k) / (1.0 + s * s)
    return s


def filled(x, n):
    y = np.zeros(n)
    for k in range(n):
        y[k] = math.sin(x * k) + y[k - 1]
    return y[n - 1] / x


def test_eight_threads_compile_and_call_the_same_functions():
    weights = np.linspace(0.1, 0.9, 20)
    programs = [(iterated, (0.3, 500)), (weighted, (weights, 9)), (filled, (0.4, 300))]
    compiled = [zyg.compile(f, wrt=0) for f, _ in programs]
    gate = threading.Barrier(8)

    def work(_):
        gate.wait()
        found = []
        for k in range(30):
            f, (_, args) = compiled[k % 3], programs[k % 3]
            found.append((f(*args), zyg.gradient(f, *args)[0]))
        return found

    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(work, range(8)))

    for k, (f, args) in enumerate(programs):
        np.testing.assert_allclose(rows[0][k][0], f(*args), rtol=1e-12)
        np.testing.assert_allclose(rows[0][k][1], zyg.gradient(zyg.compile(f), *args)[0])
    for row in rows:
        for k, (value, gradient) in enumerate(row):
            assert value == rows[0][k % 3][0]
            np.testing.assert_array_equal(gradient, rows[0][k % 3][1])


def ticks_beside(work):
    """How often this thread is asked while another one works."""
    ticks, done = 0, threading.Event()

    def run():
        work()
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0)
    thread.join()
    return ticks


@pytest.mark.parametrize("call", [lambda f, n: f(0.3, n), lambda f, n: zyg.gradient(f, 0.3, n)])
def test_other_threads_run_during_a_long_call(call):
    f = zyg.compile(iterated, wrt=0)
    call(f, 10), call(f, 10)  # compiled
    n = 100_000

    def long():
        start = time.perf_counter()
        while time.perf_counter() < start + 0.3:
            call(f, n)

    start = time.perf_counter()
    call(f, n)
    assert time.perf_counter() - start > 1e-4
    # With the lock held there is one every 5 ms, some 60, of thousands; the machine may be busy.
    assert ticks_beside(long) > ticks_beside(lambda: time.sleep(0.3)) / 10


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def guarded(x, n):
    y = np.zeros(n)
    for k in range(200):
        y[k] = x * k
    return y[n // 2] + y[3] + 1.0 / x


CALLS = [
    ("a value", lambda f: f(0.3, 100_000)),
    ("a gradient", lambda f: zyg.gradient(f, 0.3, 100_000)),
    ("a pullback", lambda f: zyg.pullback(f, 0.3, 100_000)[1](1.0)),
    ("a failed check", lambda f: f(0.0, 100_000)),
    ("a failed check in a gradient", lambda f: zyg.gradient(f, 0.0, 100_000)),
    ("a tape that is full", lambda f: zyg.gradient(f, 0.3, 1 << 20)),
    ("no memory", lambda f: f(0.3, 1 << 50)),
]


@pytest.mark.parametrize("call", [call for _, call in CALLS], ids=[name for name, _ in CALLS])
@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_nothing_is_left_of_a_call(call):
    if not zyg.base.config.sys.platform.startswith("linux"):
        pytest.skip("memory is read from /proc")
    f = zyg.compile(guarded, wrt=0)

    def run():
        with zyg.config(tape_bytes=4 << 20):
            try:
                call(f)
            except (ZeroDivisionError, TapeError, MemoryError):
                return

    for _ in range(60):  # what the allocator keeps for the next call is no more from then on
        run()
    before = resident()
    for _ in range(60):
        run()
    assert resident() - before < 12 << 20  # sixty times as much, if it stayed
