"""Pools of Python's own: whatever they have to call is differentiated, or refused by name."""

import asyncio
import concurrent.futures
import multiprocessing.pool
import operator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor
from multiprocessing.pool import Pool, ThreadPool

import pytest

import zyg
from zyg.errors import ConversionError

pytest.importorskip("cloudpickle", reason="needs cloudpickle")
LONG = 100  # seconds, which none of these takes


def public(cls):
    """The names of what a class has to call."""
    return {name for name, x in vars(cls).items() if callable(x) and not name.startswith("_")}


def slope(f, x=3.0, h=1e-6):
    """By a difference."""
    return (f(x + h) - f(x - h)) / (2 * h)


# Pools of multiprocessing

CALLS = {
    "apply": lambda pool, x: pool.apply(pow, (x, 2)),
    "apply_async": lambda pool, x: pool.apply_async(pow, (x, 2)).get(LONG),
    "map": lambda pool, x: sum(pool.map(operator.neg, [x, 2 * x])),
    "map_async": lambda pool, x: sum(pool.map_async(operator.neg, [x, 2 * x]).get(LONG)),
    "starmap": lambda pool, x: sum(pool.starmap(pow, [(x, 2), (x, 3)])),
    "starmap_async": lambda pool, x: sum(pool.starmap_async(pow, [(x, 2), (x, 3)]).get(LONG)),
    "imap": lambda pool, x: sum(pool.imap(operator.neg, [x, 2 * x])),
    "imap_unordered": lambda pool, x: sum(pool.imap_unordered(operator.neg, [x, 2 * x])),
}
NO_CALLS = {"Process", "close", "join", "terminate"}


def test_the_table_has_all_that_a_pool_has():
    assert public(Pool) == {*CALLS} | NO_CALLS
    assert public(ThreadPool) <= NO_CALLS


@pytest.fixture(scope="module")
def processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool


@pytest.mark.slow  # a process is begun
@pytest.mark.parametrize("name", CALLS)
def test_a_pool_of_processes_refuses_and_names_the_bridge(processes, name):
    call = CALLS[name]
    bridge = r"wrap_executor\(ProcessPoolExecutor\(\)\) has calls that are differentiated"
    with pytest.raises(ConversionError, match=bridge):
        zyg.gradient(lambda x: call(processes, x), 3.0)
    assert call(processes, 3.0) == call(_Here(), 3.0)  # and is as it was


@pytest.mark.parametrize("name", CALLS)
def test_a_pool_of_threads_is_differentiated(name):
    call = CALLS[name]
    with ThreadPool(2) as pool:
        (g,) = zyg.gradient(lambda x: call(pool, x), 3.0)
    assert g == pytest.approx(slope(lambda x: call(_Here(), x)), rel=1e-7)


class _Here:
    """A pool that calls."""

    def apply(self, f, args):
        return f(*args)

    def map(self, f, items):
        return [f(item) for item in items]

    def starmap(self, f, items):
        return [f(*item) for item in items]

    def apply_async(self, f, args):
        return _Value(f(*args))

    def map_async(self, f, items):
        return _Value(self.map(f, items))

    def starmap_async(self, f, items):
        return _Value(self.starmap(f, items))

    imap = imap_unordered = map


class _Value:
    def __init__(self, value):
        self.value = value

    def get(self, timeout):
        return self.value


# Executors


def submitted(pool, x):
    return pool.submit(pow, x, 2).result(LONG)


def mapped(pool, x):
    return sum(pool.map(pow, [x, 2 * x, x], (2, 3, 1), timeout=LONG, chunksize=2))


def shut_down(pool, x):
    """A pool that goes on with what it has, and takes nothing new."""
    future = pool.submit(pow, x, 2)
    pool.shutdown(wait=True, cancel_futures=False)
    with pytest.raises(RuntimeError):
        pool.submit(pow, x, 3)
    return future.result()


def waited_for(pool, x):
    futures = [pool.submit(pow, x, k) for k in (1, 2, 3)]
    done, rest = concurrent.futures.wait(futures, LONG, FIRST_COMPLETED)
    assert done
    assert not concurrent.futures.wait(rest, LONG).not_done
    return sum(future.result() for future in futures)


def as_they_come(pool, x):
    futures = [pool.submit(pow, x, k) for k in (1, 2, 3)]
    return sum(future.result() for future in concurrent.futures.as_completed(futures, LONG))


def called_back(pool, x):
    found = []
    future = pool.submit(pow, x, 2)
    future.add_done_callback(lambda done: found.append(done.exception() is None))
    value = future.result()
    assert [future.done(), future.running(), future.cancel(), future.cancelled()] == [
        True, False, False, False,
    ]  # fmt: skip
    assert found == [True]
    return value


def in_a_loop(pool, x):
    async def main():
        loop = asyncio.get_running_loop()
        first = await loop.run_in_executor(pool, pow, x, 2)
        return first * await asyncio.wrap_future(pool.submit(pow, x, 3))

    return asyncio.run(main())


EXECUTORS = [submitted, mapped, waited_for, as_they_come, called_back, in_a_loop]


def test_the_tables_have_all_that_executors_and_futures_have():
    assert public(Executor) == {"submit", "map", "shutdown"}
    own = {"set_exception", "set_result", "set_running_or_notify_cancel"}  # of who makes one
    used = {"add_done_callback", "cancel", "cancelled", "done", "exception", "result", "running"}
    assert public(Future) == used | own


@pytest.mark.parametrize("recompute", [False, True], ids=["noted", "recomputed"])
@pytest.mark.parametrize("program", EXECUTORS, ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_differences(program, recompute):
    with ThreadPoolExecutor(2) as plain:
        pool = zyg.wrap_executor(plain, recompute=recompute)
        (g,) = zyg.gradient(lambda x: program(pool, x), 3.0)
        assert g == pytest.approx(slope(lambda x: program(plain, x)), rel=1e-6)
        _, y_dot = zyg.pushforward(lambda x: program(pool, x), (3.0,), (1.0,))
        assert y_dot == pytest.approx(g, rel=1e-13)


def test_a_pool_that_is_shut_down_has_what_was_noted_and_cannot_recompute():
    def on(recompute):
        return lambda x: shut_down(zyg.wrap_executor(ThreadPoolExecutor(2), recompute=recompute), x)

    assert zyg.gradient(on(False), 3.0) == (6.0,)
    with pytest.raises(zyg.errors.RecomputationError, match="the executor refused the adjoint"):
        zyg.gradient(on(True), 3.0)
