"""Executors: gradients of tasks in other processes and on threads, and what goes wrong there."""

import asyncio
import copy
import functools
import gc
import multiprocessing
import os
import pickle
import sys
import threading
from concurrent import futures
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction

import loky
import numpy as np
import pytest
import trio

import zyg
from zyg.errors import ConversionError, RecomputationError, ShippingError
from zyg.tasks.executors import Task

X = np.linspace(0.2, 1.4, 5)


def processes(n):
    return ProcessPoolExecutor(n, mp_context=multiprocessing.get_context("spawn"))


@pytest.fixture(scope="module", params=[pytest.param("processes", marks=pytest.mark.slow)])
def raw():
    with processes(2) as pool:
        yield pool


@pytest.fixture
def pool(raw):
    return zyg.wrap_executor(raw)


class Here(Executor):
    """Runs a task when it is submitted, in the thread that submits it."""

    def submit(self, f, /, *args, **kwargs):
        future = Future()
        try:
            future.set_result(f(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future

    map = Executor.map


class Gate(Executor):
    """Runs its tasks when `opens_at` of them are there, on a thread, the last one first."""

    def __init__(self, opens_at):
        self.opens_at, self.waiting, self.most, self.ran = opens_at, [], 0, 0

    def submit(self, f, /, *args, **kwargs):
        future = Future()
        self.waiting.append((future, functools.partial(f, *args, **kwargs)))
        self.most = max(self.most, len(self.waiting))
        if len(self.waiting) == self.opens_at:
            threading.Thread(target=self.open).start()
        return future

    def open(self):
        while self.waiting:
            future, task = self.waiting.pop()
            if future.set_running_or_notify_cancel():
                self.ran += 1
                try:
                    future.set_result(task())
                except BaseException as error:
                    future.set_exception(error)


class Sequential:
    """What the programs below are compared with: no executor at all, only copies."""

    def submit(self, f, /, *args, **kwargs):
        future = Future()
        future.set_result(f(*copy.deepcopy(args), **kwargs))
        return future

    def map(self, f, *iterables, **kwargs):
        return map(f, *iterables)


# Programs of an executor and an array


def arguments(pool, x):
    return sum(pool.submit(lambda x, k: np.sum(np.sin(k * x)), x, k).result() for k in range(3))


def closures(pool, x):
    scale = np.cos(x)

    def f(k):
        return np.sum(np.tanh(k * x) * scale)

    return sum(pool.map(f, [1.0, 2.0, 3.0]))


def chunks(pool, x):
    return sum(pool.map(lambda k, v: k * np.sum(v * x), range(5), 5 * [x**2], chunksize=2))


def containers(pool, x):
    model = {"w": [x, 2 * x], "name": "model", "k": (3, None)}

    def f(model, *, power):
        u, v = model["w"]
        return {"a": np.sum(u * v) ** power, "n": len(model), "b": [u * v[0], (v, "text")]}

    found = pool.submit(f, model, power=2).result()
    assert found["n"] == 3
    assert found["b"][1][1] == "text"
    return found["a"] + np.sum(found["b"][0] * found["b"][1][0] ** 2)


def several(pool, x):
    def f(x):
        return np.sin(x), np.sum(x), float(len(x))

    tasks = [pool.submit(f, k * x) for k in (1.0, 2.0)]
    return sum(np.sum(t.result()[0]) * t.result()[1] for t in tasks)


def unused(pool, x):
    """Of what a task returns, and of the tasks, some are never used."""
    left = pool.submit(np.exp, x)
    u, _ = pool.submit(lambda x: (x * x, np.sin(x)), x).result()
    futures.wait([left])
    return np.sum(u)


def chained(pool, x):
    y = pool.submit(np.sin, x).result()
    z = pool.submit(np.multiply, y, x)
    if not isinstance(z, Task):
        z = z.result()
    return pool.submit(lambda a: np.sum(a[0]), [z]).result() * y[1]


def views(pool, x):
    def f(a, b):
        return np.sum(a[1::2] * b[0])

    return pool.submit(f, np.reshape(x, (5, 1))[:, 0], x[1:].reshape(2, 2)).result()


def writes(pool, x):
    """What is written after a task was submitted does not reach it, nor what it writes us."""

    def f(x):
        x[1] *= 2
        return np.sum(x * x)

    y = 1 * x
    first = pool.submit(f, y)
    y[0] = y[1] * 7
    second = pool.submit(f, y)
    y[1:] = 0.5
    return first.result() * np.sum(y) + second.result()


def written(pool, x):
    """The result of a task is written to."""
    y = pool.submit(lambda x: x * x, x).result()
    before = np.sum(y**2)
    y[1] = y[0] * 3
    return before + np.sum(y**3)


def inner(pool, x):
    """Tasks that take gradients."""

    def f(k):
        return np.sum(zyg.gradient(lambda y: np.sum(y**3 * x) * k, x)[0])

    return sum(pool.map(f, [1.0, 2.0]))


def numbers(pool, x):
    return pool.submit(lambda a, b: a**b + a, x[0], x[1]).result() * 3 + x[2]


PROGRAMS = [
    arguments, closures, chunks, containers, several, unused, chained, views, writes, written,
    inner, numbers,
]  # fmt: skip
every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)


def norm_of_gradient(f):
    return lambda x: np.sum(zyg.gradient(f, x)[0] ** 2)


@every_program
def test_the_gradient_is_that_of_the_sequential_program(pool, program):
    y, (g,) = zyg.value_and_gradient(functools.partial(program, pool), X)
    y0, (g0,) = zyg.value_and_gradient(functools.partial(program, Sequential()), X)

    assert y == y0
    np.testing.assert_allclose(g, g0, rtol=1e-13, atol=1e-13)
    assert zyg.gradient(functools.partial(program, pool), X)[0].tobytes() == g.tobytes()


@every_program
def test_so_is_that_of_the_gradient(pool, program):
    g = zyg.gradient(norm_of_gradient(functools.partial(program, pool)), X)[0]
    g0 = zyg.gradient(norm_of_gradient(functools.partial(program, Sequential())), X)[0]

    np.testing.assert_allclose(g, g0, rtol=1e-12, atol=1e-12)


@every_program
@pytest.mark.parametrize("make", [Here, lambda: ThreadPoolExecutor(3)], ids=["here", "threads"])
def test_an_executor_may_share_its_memory_with_us(make, program):
    with make() as raw:
        pool = zyg.wrap_executor(raw, recompute=True)
        f, f0 = functools.partial(program, pool), functools.partial(program, Sequential())
        x = X.copy()

        np.testing.assert_allclose(
            zyg.gradient(f, x)[0], zyg.gradient(f0, X)[0], rtol=1e-13, atol=1e-13
        )
        np.testing.assert_allclose(
            zyg.pushforward(f, (x,), (X**2,))[1],
            zyg.pushforward(f0, (X,), (X**2,))[1],
            rtol=1e-13, atol=1e-13,
        )  # fmt: skip
        np.testing.assert_allclose(zyg.hessian(f, x), zyg.hessian(f0, X), rtol=1e-11, atol=1e-11)
        assert x.tobytes() == X.tobytes()


@every_program
def test_threads_are_reversed_with_any_number_of_helpers(program):
    if program is writes:  # on threads it is a race
        return
    f0 = functools.partial(program, Sequential())
    bits = set()
    with ThreadPoolExecutor(3) as raw:
        f = functools.partial(program, zyg.wrap_executor(raw))
        for workers in (0, 1, 7):
            with zyg.config(workers=workers):
                g = zyg.gradient(f, X)[0]
                bits.add(g.tobytes())
                np.testing.assert_allclose(g, zyg.gradient(f0, X)[0], rtol=1e-13, atol=1e-13)
                h, h0 = zyg.gradient(norm_of_gradient(f), X), zyg.gradient(norm_of_gradient(f0), X)
                np.testing.assert_allclose(h[0], h0[0], rtol=1e-12, atol=1e-12)
    assert len(bits) == 1


def test_a_pullback_may_submit_tasks():
    pool = zyg.wrap_executor(Here(), recompute=True)

    @zyg.adjoint
    def square(x):
        def square_pullback(y_bar):
            return (pool.submit(lambda: 2 * y_bar * x).result(),)

        return x * x, square_pullback

    assert zyg.gradient(square, 3.0) == (6.0,)
    assert zyg.pushforward(square, (3.0,), (1.0,)) == (9.0, 6.0)
    assert zyg.hessian(square, 3.0) == 2.0


def test_third_order(pool):
    def f(x):
        return pool.submit(lambda x: np.sin(x) * x, x).result()

    def derivative(f):
        return lambda x: zyg.gradient(f, x)[0]

    third = derivative(derivative(derivative(f)))(0.7)

    assert third == pytest.approx(-3 * np.sin(0.7) - 0.7 * np.cos(0.7), rel=1e-13)


def test_a_task_of_an_outer_level_only(pool):
    def f(x):
        inner = zyg.gradient(lambda y: y**2 * pool.submit(np.sin, x).result(), 3.0)[0]
        return inner * x

    g = zyg.gradient(f, 0.5)[0]

    assert g == pytest.approx(6 * (np.sin(0.5) + 0.5 * np.cos(0.5)))


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: np.sum(x * x), np.float32([1, 2])),
        (lambda x: (x**2 + 3 * x)[0], np.array([1, 2])),
        (lambda x: x * x, 5),
        (lambda x: np.sum(np.abs(x * (1 + 2j)) ** 2), X),
        (lambda z: np.sum(np.abs(z * z)), X + 1j * X[::-1]),
        (lambda x: x * np.sin(x), np.float32(0.3)),
        (lambda x: np.sum(x), np.ones((0, 3))),
        (lambda x: x * 2, np.array(3.0)),
    ],
)
def test_dtypes_and_shapes_are_those_of_the_sequential_program(pool, f, x):
    y, (g,) = zyg.value_and_gradient(lambda x: pool.submit(f, x).result(), x)
    y0, (g0,) = zyg.value_and_gradient(f, x)

    assert type(y) is type(y0)
    assert y == y0
    assert type(g) is type(g0)
    assert np.shape(g) == np.shape(g0)
    assert np.asarray(g).dtype == np.asarray(g0).dtype
    np.testing.assert_allclose(g, g0, rtol=1e-6)


def test_an_integer_among_the_results_stays_one(pool):
    def f(x):
        n, y = pool.submit(lambda x: (len(x), np.sum(x)), x).result()
        assert type(n) is int
        return y * n

    assert zyg.gradient(f, np.ones(2))[0].tolist() == [2, 2]


def test_an_object_met_twice_is_one_in_the_worker(pool):
    def f(a, b, c):
        a[0] = 5.0
        return np.sum(b * c["again"])

    def total(x):
        y = 2 * x
        return pool.submit(f, y, y, {"again": y}).result()

    assert zyg.gradient(total, np.ones(3))[0].tolist() == [0, 8, 8]


def test_the_adjoints_of_all_tasks_are_out_together():
    gate = Gate(opens_at=4)
    pool = zyg.wrap_executor(gate)
    order = []

    def f(x):
        tasks = [pool.submit(lambda x, k: np.sin(k * x), x, k) for k in range(1, 5)]
        for task in tasks:
            task.add_done_callback(order.append)
        return sum(k * task.result() for k, task in enumerate(tasks))

    g = zyg.gradient(f, 0.5)[0]

    assert (gate.most, gate.ran) == (4, 8)
    assert g == pytest.approx(sum((k - 1) * k * np.cos(k * 0.5) for k in range(1, 5)))
    assert len(order) == 4


def test_who_asks_first_does_not_matter():
    def f(x, ask):
        tasks = [pool.submit(np.sin, (0.1 + k) * x) for k in range(6)]
        for k in ask:
            tasks[k].result()
        return sum(zyg.threads.map(lambda t: np.sum(t.result() * x), tasks))

    orders = [], range(6), range(5, -1, -1)
    with ThreadPoolExecutor(2) as raw:
        pool = zyg.wrap_executor(raw, recompute=True)
        found = {zyg.gradient(functools.partial(f, ask=ask), X)[0].tobytes() for ask in orders}

    assert len(found) == 1


def test_the_futures_are_those_of_the_executor_where_nothing_is_watched(pool, raw):
    assert type(pool.submit(pow, 2, 3)) is Future
    assert [*pool.map(pow, [2, 3], [2, 2], chunksize=2)] == [4, 9]

    def f(x):
        future = pool.submit(pow, 2, 3)
        assert type(future) is Future
        return x * future.result()

    assert zyg.gradient(f, 1.0) == (8.0,)


def test_a_task_is_a_future():
    gate = Gate(opens_at=3)
    pool = zyg.wrap_executor(gate)

    def f(x):
        tasks = [pool.submit(np.multiply, x, k) for k in range(2)]
        assert not tasks[0].done()
        assert not tasks[0].running()
        with pytest.raises(TimeoutError):
            tasks[0].result(timeout=0)
        assert tasks[1].cancel()
        assert tasks[1].cancelled()
        assert not tasks[0].cancelled()
        with pytest.raises(futures.CancelledError):
            tasks[1].result()
        tasks[1] = pool.submit(np.multiply, x, 3.0)
        assert futures.wait(tasks) == (set(tasks), set())
        assert not tasks[0].cancel()
        assert tasks[0].exception() is None
        gate.opens_at = 1
        asynchronous = asyncio.run(_awaited(tasks[1]))
        return asynchronous + sum(task.result() for task in futures.as_completed(tasks))

    async def _awaited(task):
        return await asyncio.wrap_future(task)

    assert zyg.gradient(f, 2.0) == (6.0,)


def test_a_result_asked_for_when_the_gradient_has_ended_is_plain(pool):
    tasks = []

    def f(x):
        tasks.append(pool.submit(np.sin, x))
        return x * x

    assert zyg.gradient(f, 0.5) == (1.0,)
    assert type(tasks[0].result()) is np.float64


def test_a_pullback_is_called_again_and_by_threads(pool):
    _, back = zyg.pullback(functools.partial(several, pool), X)
    first = back(1.0)[0].tobytes()

    assert {g[0].tobytes() for g in zyg.threads.map(back, 3 * [1.0])} == {first}


def test_in_a_loop(pool):
    async def f(x):
        task = pool.submit(np.sin, x)
        return x * await trio.to_thread.run_sync(task.result)

    expected = np.sin(0.5) + 0.5 * np.cos(0.5)
    assert zyg.gradient(f, 0.5) == (pytest.approx(expected),)
    assert trio.run(zyg.gradient_async, f, 0.5) == (pytest.approx(expected),)


def test_a_timeout_of_the_reverse_pass_cancels_what_is_out():
    gate = Gate(opens_at=1)
    pool = zyg.wrap_executor(gate)

    async def main():
        _, back = await zyg.pullback_async(f, 2.0)
        gate.opens_at = 9
        with trio.move_on_after(0):
            await back(1.0)
        return [future.cancelled() for future, _ in gate.waiting]

    async def f(x):
        tasks = [pool.submit(np.multiply, x, k) for k in range(3)]
        return sum([await trio.to_thread.run_sync(task.result) for task in tasks])

    assert all(trio.run(main))


def test_settings_go_with_a_task(pool):
    def f(x):
        return pool.submit(lambda x: np.where(x > 0, np.sqrt(x), 0.0), x).result()

    assert zyg.gradient(f, 0.0) == (0.0,)
    with zyg.config(strong_zero=False):
        assert np.isnan(zyg.gradient(f, 0.0)[0])


def test_a_worker_forked_inside_of_a_gradient_is_not_in_it():
    if sys.version_info >= (3, 12):
        pytest.skip("forking a process that has threads warns")
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("there is no fork on Windows")

    def f(x):
        return pool.submit(lambda x: x * zyg.nestlevel(), x).result()

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as raw:
        pool = zyg.wrap_executor(raw)
        with pytest.raises(RecomputationError):  # it is 0, and 1 where it is differentiated
            zyg.gradient(f, 2.0)


# What goes wrong


def notes(error):
    return "\n".join(error.__notes__)


def test_an_exception_of_a_task_arrives_with_its_type_and_a_note(pool):
    def bad(x):
        raise KeyError("here")

    with pytest.raises(KeyError, match="here") as caught:
        zyg.gradient(lambda x: pool.submit(bad, x).result(), 1.0)
    assert notes(caught.value) == "zyg: raised by bad, submitted by task 'main'"

    with ThreadPoolExecutor(1) as raw, pytest.raises(KeyError) as caught:
        zyg.gradient(lambda x: zyg.wrap_executor(raw).submit(bad, x).result(), 1.0)
    assert "bad, submitted by task 'main'" in notes(caught.value)


def test_an_exception_of_a_task_may_be_caught(pool):
    def f(x):
        try:
            return pool.submit(lambda x: x[7], x).result()
        except IndexError:
            return np.sum(x)

    assert zyg.gradient(f, np.ones(2))[0].tolist() == [1, 1]


def test_an_exception_of_an_adjoint_names_the_task(pool):
    def rounded(x):
        return float(x) * x

    with pytest.raises(ConversionError, match=r"float") as caught:
        zyg.gradient(lambda x: x * pool.submit(rounded, x).result(), 2.0)

    text = notes(caught.value)
    assert "the adjoint of " in text
    assert "rounded, submitted by the reverse pass" in text
    assert "rounded recorded by task" in text


def test_every_error_of_zyg_can_be_sent():
    error = ShippingError("what", "why", "fix")
    error.add_note("a note")
    again = pickle.loads(pickle.dumps(error))

    assert type(again) is ShippingError
    assert str(again) == str(error)
    assert again.__notes__ == ["a note"]


def test_what_cannot_be_pickled_is_named(pool):
    lock = threading.Lock()

    def guarded(x):
        with lock:
            return x * x

    with pytest.raises(ShippingError) as caught:
        zyg.gradient(lambda x: pool.submit(guarded, x).result(), 1.0)
    text = str(caught.value)
    assert "guarded cannot be sent to a worker: the variable 'lock', a lock, cannot be p" in text
    assert "cannot pickle '_thread.lock' object" in text
    assert "fix:   make locks, files, connections and generators inside the task." in text

    with pytest.raises(ShippingError, match="argument 1, a generator, cannot be pickled"):
        zyg.gradient(lambda x: pool.submit(np.add, x, (k for k in [1])).result(), 1.0)


def test_a_pool_of_interpreters_is_refused():
    class InterpreterPoolExecutor(ThreadPoolExecutor):
        """As Python's own, which is new in 3.14."""

    pools = sys.modules["concurrent.futures"]
    with getattr(pools, "InterpreterPoolExecutor", InterpreterPoolExecutor)(1) as raw:
        assert raw.submit(abs, -3.0).result() == 3.0
        with pytest.raises(ShippingError, match="loaded by one interpreter"):
            zyg.wrap_executor(raw)


def test_unseeded_random_numbers_are_noticed(pool):
    def noise(seed):
        return np.random.default_rng(seed).normal(size=5)

    def f(x, seed):
        def noisy(x):
            return np.sum(x * noise(seed))

        return pool.submit(noisy, x).result()

    with pytest.raises(RecomputationError, match="noisy gave another value when it was run again"):
        zyg.gradient(lambda x: f(x, None), X)
    assert zyg.gradient(lambda x: f(x, 3), X)[0].tolist() == noise(3).tolist()


def test_the_value_is_compared_up_to_rounding():
    from zyg.tasks.recipes import alike, sketch

    x = np.random.default_rng(0).normal(size=1000)
    nan = np.array([1.0, np.nan, np.inf])

    assert alike(sketch([x, nan, 2.0, 3]), sketch([x * (1 + 1e-15), nan.copy(), 2.0, 3]))
    assert not alike(sketch([x]), sketch([x * (1 + 1e-6)]))
    assert alike(sketch([x]), sketch([x.astype(np.float32)]))
    assert not alike(sketch([x]), sketch([x.reshape(10, 100)]))
    assert not alike(sketch([10**9]), sketch([10**9 + 1]))
    assert not alike(sketch([Fraction(1, 3)]), sketch([Fraction(1, 4)]))


def test_an_executor_closed_before_the_reverse_pass():
    def f(x):
        with zyg.wrap_executor(ThreadPoolExecutor(1), recompute=True) as pool:
            return pool.submit(np.sin, x).result()

    with pytest.raises(RuntimeError, match="after shutdown") as caught:
        zyg.gradient(f, 1.0)
    assert type(caught.value) is RecomputationError
    text = str(caught.value)
    assert text.startswith("the executor refused the adjoint of sin, submitted by task")
    assert "do not open the executor inside the function" in text


@pytest.mark.parametrize("when", ["forward", "reverse"])
def test_a_worker_that_dies(when):
    def dies(x):
        if when == "forward" or zyg.is_traced(x):
            os._exit(1)
        return x * x

    with zyg.wrap_executor(processes(1)) as pool, pytest.raises(futures.BrokenExecutor) as caught:
        zyg.gradient(lambda x: x * pool.submit(dies, x).result(), 2.0)

    assert "dies" in notes(caught.value)
    assert "Open a new one" in notes(caught.value)


def test_a_watched_value_in_a_thread_that_is_in_no_gradient_is_refused(raw):
    """Where nothing says that a gradient is taken, the executor's own pickling does."""
    pool = zyg.wrap_executor(raw)
    caught = []

    def f(x):
        def work():
            try:
                pool.submit(np.sin, x).result()
            except Exception as error:
                caught.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return x

    zyg.gradient(f, 1.0)
    assert isinstance(caught[0], ConversionError)


def test_nothing_is_left_when_a_gradient_has_been_taken(pool):
    f = functools.partial(several, pool)
    zyg.gradient(f, X)
    gc.collect()

    assert not [x for x in gc.get_objects() if type(x) is Task]


@pytest.mark.slow
def test_loky():
    with loky.ProcessPoolExecutor(1) as raw:
        g = zyg.gradient(functools.partial(closures, zyg.wrap_executor(raw)), X)[0]

    assert g == pytest.approx(zyg.gradient(functools.partial(closures, Sequential()), X)[0])


GLOBAL = [1.0]  # which the test sets


def of_global(x):
    return x * GLOBAL[0]


def of_it(x):
    return of_global(x)


def test_a_watched_global_that_a_worker_does_not_have_is_refused(monkeypatch):
    def f(x):
        monkeypatch.setitem(globals(), "GLOBAL", [x])
        with zyg.wrap_executor(ThreadPoolExecutor(1), recompute=True) as pool:
            return pool.submit(of_it, x).result()

    with pytest.raises(ShippingError, match="reads the global variable 'GLOBAL' of"):
        zyg.gradient(f, 3.0)
