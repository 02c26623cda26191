"""Programs of asyncio and of threads whose gradients are known by hand; what outlives one."""

import asyncio
import math
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import SimpleNamespace

import numpy as np
import pytest
import trio as plain_trio

import zyg
import zyg.numpy
from zyg import trio as zyg_trio

KITS = {"zyg.trio": zyg_trio, "trio": plain_trio}


@pytest.fixture(params=KITS)
def trio(request):
    return KITS[request.param]


# Threads from loops


@pytest.mark.parametrize("run", ["zyg", "trio"])
def test_functions_in_threads(run):
    trio = KITS["zyg.trio" if run == "zyg" else "trio"]

    async def f(x):
        return sum([await trio.to_thread.run_sync(lambda k=k: k * np.sin(x)) for k in (1, 2, 3)])

    assert zyg.gradient(f, 0.3)[0] == pytest.approx(6 * math.cos(0.3))


def test_threads_at_the_same_time_that_send_to_the_loop(trio):
    async def f(x):
        send, receive = trio.open_memory_channel(0)

        def work(k):
            plain_trio.from_thread.run(send.send, np.exp(k * x))

        async with trio.open_nursery() as nursery:
            for k in range(1, 4):
                nursery.start_soon(trio.to_thread.run_sync, work, k)
            return sum([await receive.receive() for _ in range(3)])

    expected = sum(k * math.exp(0.2 * k) for k in (1, 2, 3))
    assert zyg.gradient(f, 0.2)[0] == pytest.approx(expected, rel=1e-14)


# asyncio


def under_asyncio(f, *args):
    return asyncio.run(zyg.gradient_async(f, *args))


def test_a_task_group_and_a_queue():
    async def f(x):
        messages = asyncio.Queue(1)

        async def produce():
            for k in range(1, 5):
                await messages.put(k * x)
            await messages.put(None)

        total = 0.0
        async with asyncio.TaskGroup() as group:
            group.create_task(produce())
            while (y := await messages.get()) is not None:
                total = total + y * y
        return total

    assert under_asyncio(f, 3.0) == (180.0,)


def test_gather_futures_timeouts_and_cancelled_tasks():
    async def f(x):
        future = asyncio.get_running_loop().create_future()
        future.set_result(x**2)

        async def cube(k):
            await asyncio.sleep(0)
            return k * x**3

        forever = asyncio.create_task(asyncio.Event().wait())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await forever
        results = await asyncio.gather(*(cube(k) for k in range(4)))
        return sum(results) + await future

    assert under_asyncio(f, 2.0) == (6 * 12 + 4.0,)


def test_asyncio_to_thread_and_semaphores():
    async def f(x):
        limit = asyncio.Semaphore(2)

        async def work(k):
            async with limit:
                return await asyncio.to_thread(lambda: np.sin(k * x))

        return sum(await asyncio.gather(*(work(k) for k in range(1, 6))))

    expected = sum(k * math.cos(0.3 * k) for k in range(1, 6))
    assert under_asyncio(f, 0.3)[0] == pytest.approx(expected, rel=1e-14)


def test_asyncio_exceptions_are_unchanged():
    async def f(x):
        async def fails():
            raise ValueError("as it is")

        async with asyncio.TaskGroup() as group:
            group.create_task(fails())

    with pytest.raises(ExceptionGroup) as caught:
        under_asyncio(f, 1.0)
    assert caught.group_contains(ValueError, match="as it is")


# Threads

THREADS = {"zyg": zyg.threads.Thread, "threading": threading.Thread}


@pytest.fixture(params=THREADS)
def thread(request):
    def start(f, *args):
        made = THREADS[request.param](target=f, args=args, daemon=True)
        made.start()
        return made

    return start


def test_a_queue_between_threads(thread):
    def f(x):
        messages, results = queue.Queue(2), []

        def produce():
            for k in range(1, 5):
                messages.put(k * x)
            messages.put(None)

        def consume():
            total = 0.0
            while (y := messages.get()) is not None:
                total = total + y * y
            results.append(total)

        for started in [thread(produce), thread(consume)]:
            started.join()
        return results[0]

    for _ in range(50):
        assert zyg.gradient(f, 3.0) == (180.0,)


def test_conditions_barriers_events_and_locks(thread):
    def f(x):
        slots, barrier, condition = [None] * 4, threading.Barrier(4), threading.Condition()
        total, done, lock = [0.0], [0], threading.Lock()

        def member(k):
            slots[k] = np.sin(x) * k
            barrier.wait()
            y = slots[(k + 1) % 4] * slots[k]
            with lock:
                total[0] = total[0] + y
            with condition:
                done[0] += 1
                condition.notify()

        started = [thread(member, k) for k in range(4)]
        with condition:
            condition.wait_for(lambda: done[0] == 4)
        for t in started:
            t.join()
        return total[0]

    expected = 2 * math.sin(0.4) * math.cos(0.4) * (0 + 2 + 6 + 0)
    for _ in range(20):
        assert zyg.gradient(f, 0.4)[0] == pytest.approx(expected, rel=1e-14)


def test_threads_take_turns_by_semaphores(thread):
    def f(x):
        state, turns = [x], [threading.Semaphore(1), threading.Semaphore(0)]

        def member(k):
            for _ in range(5):
                turns[k].acquire()
                state[0] = state[0] * x if k else state[0] + x
                turns[1 - k].release()

        for t in [thread(member, 0), thread(member, 1)]:
            t.join()
        return state[0]

    def sequential(x):
        y = x
        for _ in range(5):
            y = (y + x) * x
        return y

    expected = zyg.gradient(sequential, 0.8)[0]
    for _ in range(20):
        assert zyg.gradient(f, 0.8)[0] == pytest.approx(expected, rel=1e-13)


def test_the_executor_of_python_with_threads():
    def f(x):
        with ThreadPoolExecutor(3) as pool:
            return sum(pool.map(lambda k: np.sin(k * x), range(5)))

    assert zyg.gradient(f, 0.0)[0] == pytest.approx(10.0)


def test_map_of_threads():
    def f(x):
        return sum(zyg.threads.map(lambda k, y: k * np.sin(y), range(5), [x] * 5, chunksize=2))

    assert zyg.gradient(f, 0.0)[0] == pytest.approx(10.0)


def test_an_exception_in_map_leaves_unchanged():
    error = ValueError("as it is")

    def f(x):
        def fails(k):
            if k == 3:
                raise error
            return k * x

        return sum(zyg.threads.map(fails, range(5)))

    with pytest.raises(ValueError, match="as it is") as caught:
        zyg.gradient(f, 1.0)
    assert caught.value is error


def test_hessian_of_a_program_of_threads():
    def f(x):
        return sum(zyg.threads.map(np.sin, [x, 2 * x]))

    (found,) = zyg.gradient(lambda x: zyg.gradient(f, x)[0], 0.4)
    assert found == pytest.approx(-math.sin(0.4) - 4 * math.sin(0.8), rel=1e-14)


@pytest.mark.parametrize("workers", [0, 1, 7])
def test_a_pipeline_of_twenty_threads(thread, workers):
    def f(x):
        ends = [queue.Queue(1) for _ in range(21)]

        def stage(k):
            for _ in range(3):
                ends[k + 1].put(np.sin(ends[k].get()) + 0.1 * k * x)

        started = [thread(stage, k) for k in range(20)]
        total = 0.0
        for j in range(3):
            ends[0].put(j * x)
            total = total + ends[20].get()
        for t in started:
            t.join()
        return total

    def sequential(x):
        total = 0.0
        for j in range(3):
            y = j * x
            for k in range(20):
                y = np.sin(y) + 0.1 * k * x
            total = total + y
        return total

    with zyg.config(workers=workers):
        found = zyg.gradient(f, 0.3)[0]
    assert found == pytest.approx(zyg.gradient(sequential, 0.3)[0], rel=1e-12)


# Gradients inside tasks, and what outlives them


def test_tasks_that_take_gradients_themselves(trio):
    async def f(x):
        results = []

        async def one(k):
            def power(y):
                return k * y**3

            results.append(zyg.gradient(power, x)[0])
            results.append((await zyg.gradient_async(twice, x))[0])

        async def twice(y):
            await trio.lowlevel.checkpoint()
            return y * y

        async with trio.open_nursery() as nursery:
            for k in range(5):
                nursery.start_soon(one, k)
        return sum(results)  # 30 x^2 + 10 x

    assert zyg.gradient(f, 2.0) == (120.0 + 10.0,)


def test_a_raw_thread_that_takes_a_gradient_by_a_captured_value(thread):
    def f(x):
        results = []
        t = thread(lambda: results.append(zyg.gradient(lambda y: x * y**2, x)[0]))
        t.join()
        return results[0]  # 2 x^2

    assert zyg.gradient(f, 3.0) == (12.0,)


def test_a_stored_value_is_a_plain_number_afterwards(trio):
    kept = []

    async def f(x):
        async def store():
            kept.append(x * x)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(store)
        return kept[0]

    assert zyg.gradient(f, 3.0) == (6.0,)
    assert not zyg.is_traced(kept[0])
    assert kept[0] + 1 == 10.0
    assert zyg.gradient(lambda x: x * kept[0], 1.0) == (9.0,)


def inheriting(target, daemon):
    """A thread with the context of who starts it, as threads have without the lock."""
    return threading.Thread(target=copy_context().run, args=(target,), daemon=daemon)


@pytest.mark.parametrize("thread", [zyg.threads.Thread, threading.Thread, inheriting])
def test_a_thread_that_outlives_the_gradient(thread):
    go, state = threading.Event(), SimpleNamespace()

    def f(x):
        def later():
            state.early = zyg.nestlevel()
            go.wait()
            state.y = x * x + x
            state.level = zyg.nestlevel()
            state.inner = zyg.gradient(lambda z: z * x * x, 2.0)
            state.zeros = zyg.numpy.zeros(2)
            with ThreadPoolExecutor(1) as pool:
                state.task = zyg.wrap_executor(pool).submit(pow, x, 2).result()

        state.thread = thread(target=later, daemon=True)
        state.thread.start()
        return x * x

    assert zyg.gradient(f, 3.0) == (6.0,)
    go.set()
    state.thread.join()
    assert state.y == 12.0
    assert not zyg.is_traced(state.y)
    assert state.level == 0
    assert state.inner == (9.0,)
    assert type(state.zeros) is np.ndarray
    assert (type(state.task), state.task) == (float, 9.0)


def test_a_task_that_outlives_the_gradient(trio):
    async def main():
        results = []

        async def f(x, nursery, go):
            async def later():
                await go.wait()
                results.append((x * x, zyg.nestlevel(), zyg.is_traced(x)))

            nursery.start_soon(later)
            return 2 * x

        async with trio.open_nursery() as nursery:
            go = trio.Event()
            gradient = await zyg.gradient_async(f, 3.0, nursery, go)
            go.set()
        return gradient[0], results

    assert trio.run(main) == (2.0, [(9.0, 0, False)])


@pytest.mark.parametrize("kind", THREADS)
def test_threads_that_go_on_computing_while_the_gradient_is_taken(kind):
    stop, errors = threading.Event(), []

    def f(x):
        shared, started = [np.sin(x)], threading.Barrier(4)

        def forever(k):
            try:
                y = x[k] * 1.0
                started.wait()
                while not stop.is_set():
                    y = np.tanh(y + shared[0][k] * x[k - 1])
                    shared[0] = shared[0] * np.cos(x)
            except BaseException as error:
                errors.append(error)

        threads.extend(THREADS[kind](target=forever, args=(k,), daemon=True) for k in range(3))
        for t in threads[-3:]:
            t.start()
        started.wait()
        return np.sum(x * x)

    threads, x = [], np.array([0.3, -0.2, 0.5])
    try:
        for _ in range(20):
            np.testing.assert_allclose(zyg.gradient(f, x)[0], 2 * x)
            stop.set()
            for t in threads:
                t.join()
            stop.clear()
    finally:
        stop.set()
    assert not errors
