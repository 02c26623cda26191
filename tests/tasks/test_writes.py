"""Arrays that several tasks write to and read."""

import queue
import threading

import numpy as np
import pytest
import trio

import zyg
import zyg.numpy
from zyg import trio as zyg_trio

X = np.array([0.1, -0.4, 0.7, 1.1])


def second(f):
    return lambda x: np.sum(zyg.gradient(f, x)[0] * np.cos(np.arange(np.size(x))))


def check(f, sequential, x=X, times=5):
    """First and second derivatives are those of the sequential program, each time."""
    first, curvature = zyg.gradient(sequential, x)[0], zyg.gradient(second(sequential), x)[0]
    for _ in range(times):
        np.testing.assert_allclose(zyg.gradient(f, x)[0], first, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(zyg.gradient(second(f), x)[0], curvature, rtol=1e-10, atol=1e-13)


pytestmark = pytest.mark.usefixtures("threads_change_often")


def in_threads(tasks, kind=zyg.threads.Thread):
    """Run functions side by side."""
    errors = []

    def guarded(task):
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [kind(target=guarded, args=(task,), daemon=True) for task in tasks]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


def in_plain_threads(tasks):
    in_threads(tasks, threading.Thread)


def in_tasks(tasks):
    async def main():
        async def one(task):
            await trio.lowlevel.checkpoint()
            task()

        async with zyg_trio.open_nursery() as nursery:
            for task in tasks:
                nursery.start_soon(one, task)

    trio.run(main)


def one_by_one(tasks):
    for task in tasks:
        task()


WAYS = [in_threads, in_plain_threads, in_tasks]


@pytest.fixture(params=WAYS, ids=lambda f: f.__name__)
def way(request):
    return request.param


# Parts of one buffer


@pytest.mark.parametrize("first", ["nothing", "a constant", "a value", "all"])
def test_tasks_fill_parts_of_one_buffer(way, first):
    def program(x, way):
        buffer = np.exp(x) if first == "all" else zyg.numpy.zeros(4)
        if first == "a constant":
            buffer[:] = 2.0
        if first == "a value":
            buffer[0] = x[0]

        def fill(k):
            buffer[k] = buffer[k] + np.sin(x[k]) * x[k - 1]
            for _ in range(10):
                buffer[k] *= 1.1
                buffer[k] += buffer[k] ** 2 * 0.1

        way([lambda k=k: fill(k) for k in range(4)])
        return np.sum(buffer * x)

    check(lambda x: program(x, way), lambda x: program(x, one_by_one))


def test_tasks_fill_rows_views_and_transposes(way):
    def program(x, way):
        buffer = zyg.numpy.zeros((4, 5))
        views = [buffer[0], buffer.T[:, 1], buffer[2:3, ::-1], buffer[3, 1:]]

        def fill(k):
            view = views[k]
            view[...] = np.sin(x[k] * np.arange(view.shape[-1]))
            view *= x[k]
            view[..., 0] = np.sum(view)

        way([lambda k=k: fill(k) for k in range(4)])
        return np.sum(buffer * buffer * x[:, None])

    check(lambda x: program(x, way), lambda x: program(x, one_by_one))


def test_the_argument_itself_is_filled(way):
    def program(x, way):
        def change(k):
            x[k] = np.exp(x[k])
            x[k] += x[k] * x[k]

        way([lambda k=k: change(k) for k in range(4)])
        return np.sum(np.sin(x))

    check(lambda x: program(x, way), lambda x: program(x, one_by_one))
    np.testing.assert_array_equal(X, [0.1, -0.4, 0.7, 1.1])


def test_the_parent_writes_after_its_tasks_read_and_before_they_read_again(way):
    def program(x, way):
        buffer = np.sin(x)
        parts = []
        for round_ in range(3):
            got = [None] * 4

            def use(k, buffer=buffer, got=got):
                got[k] = buffer[k] * np.sum(buffer) + np.sum(buffer[k:] ** 2)

            way([lambda k=k: use(k) for k in range(4)])
            parts += got
            buffer[round_] = np.sum(buffer) * x[3]
            buffer *= 0.5
        return sum(parts)

    check(lambda x: program(x, way), lambda x: program(x, one_by_one))


def test_tasks_write_what_the_parent_then_reads_and_writes(way):
    def program(x, way):
        buffer = zyg.numpy.zeros(4)
        total = 0.0
        for _ in range(3):
            before = np.exp(buffer)  # its pullback keeps what was there
            way([lambda k=k: buffer.__setitem__(k, buffer[k] * 0.5 + x[k]) for k in range(4)])
            total = total + np.sum(before * buffer)
            buffer[1:] = buffer[:-1] * x[1:]
        return total + np.sum(buffer)

    check(lambda x: program(x, way), lambda x: program(x, one_by_one))


def test_sorting_filling_and_everything_in_place(way):
    def program(x, way):
        buffers = [np.sin(x) * k for k in range(1, 7)]

        def sort(b):
            b.sort()

        def fill(b):
            b.fill(x[1])

        def add(b):
            b += x * 0.5

        def out(b):
            np.multiply(b, x, out=b)

        def at(b):
            np.add.at(b, [0, 0, 2], x[0])

        def swap(b):
            b[[0, 1]] = b[[1, 0]]
            b[b > 0] *= 3.0

        changes = [sort, fill, add, out, at, swap]
        way([lambda c=c, b=b: c(b) for c, b in zip(changes, buffers, strict=True)])
        way([lambda c=c, b=b: c(b) for c, b in zip(changes, buffers[::-1], strict=True)])
        return sum(np.sum(b * b * k) for k, b in enumerate(buffers))

    check(lambda x: program(x, way), lambda x: program(x, one_by_one))


# Turns


@pytest.mark.parametrize("kind", [zyg.threads.Thread, threading.Thread])
def test_writers_that_take_turns(kind):
    def program(x, kind):
        buffer = zyg.numpy.zeros(3)
        turns = [queue.Queue() for _ in range(3)]

        def member(k):
            for _ in range(4):
                seen = turns[k].get()
                buffer[k] = np.sum(buffer) * x[k] + seen
                buffer[:] = buffer[::-1] * np.cos(x[3])
                turns[(k + 1) % 3].put(buffer[k] * 0.5)

        turns[0].put(x[0])
        in_threads([lambda k=k: member(k) for k in range(3)], kind)
        return np.sum(buffer**2) + turns[0].get()

    def sequential(x):
        buffer, seen = zyg.numpy.zeros(3), x[0]
        for n in range(12):
            k = n % 3
            buffer[k] = np.sum(buffer) * x[k] + seen
            buffer[:] = buffer[::-1] * np.cos(x[3])
            seen = buffer[k] * 0.5
        return np.sum(buffer**2) + seen

    check(lambda x: program(x, kind), sequential)


def test_writers_that_take_turns_give_the_same_bits_each_time():
    def f(x):
        buffer, turns = zyg.numpy.zeros(50), [threading.Semaphore(k == 0) for k in range(4)]

        def member(k):
            for j in range(5):
                turns[k].acquire()
                buffer[k + j :: 7] += np.sin(x[k] * np.sum(buffer)) + x[j % 4]
                turns[(k + 1) % 4].release()

        in_threads([lambda k=k: member(k) for k in range(4)])
        return np.sum(buffer * buffer)

    assert len({zyg.gradient(f, X)[0].tobytes() for _ in range(10)}) == 1


def test_a_buffer_that_is_sent_from_task_to_task():
    async def f(x):
        ends = [zyg_trio.open_memory_channel(0) for _ in range(5)]

        async def stage(k):
            buffer = await ends[k][1].receive()
            buffer[k % 4] = np.sum(buffer) * x[k % 4]
            buffer += x
            await ends[k + 1][0].send(buffer)

        async with zyg_trio.open_nursery() as nursery:
            for k in range(4):
                nursery.start_soon(stage, k)
            await ends[0][0].send(zyg.numpy.zeros(4))
            return np.sum((await ends[4][1].receive()) ** 2)

    def sequential(x):
        buffer = zyg.numpy.zeros(4)
        for k in range(4):
            buffer[k] = np.sum(buffer) * x[k]
            buffer += x
        return np.sum(buffer**2)

    check(f, sequential)


def test_elements_of_one_list_of_numbers_written_by_threads():
    def f(x):
        container = zyg.numpy.zeros(8)
        in_threads([lambda k=k: container.__setitem__(k, k * x) for k in range(1, 8)])
        container[0] = 8 * x
        return np.sum(container)

    for _ in range(50):
        assert zyg.gradient(f, 1.0) == (36.0,)


# Read-only and shared arguments stay so


def test_a_read_only_argument_stays_so_when_tasks_have_used_it(way):
    x = X.copy()
    x.flags.writeable = False

    def f(x):
        way([lambda k=k: np.sin(x[k]) for k in range(4)])
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1.0
        way([lambda: zyg.stop_gradient(x)])
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1.0
        return np.sum(x)

    np.testing.assert_array_equal(zyg.gradient(f, x)[0], np.ones(4))


def test_memory_is_as_it_was_after_a_reverse_pass(way):
    kept = []

    def f(x):
        buffer = np.sin(x)
        way([lambda k=k: buffer.__setitem__(k, buffer[k] * x[0]) for k in range(4)])
        kept.append(np.exp(buffer))
        way([lambda k=k: buffer.__setitem__(k, 0.0) for k in range(3)])
        kept.append(buffer)
        return np.sum(kept[0]) * buffer[3]

    _, back = zyg.pullback(f, X)
    before = zyg.stop_gradient(kept[1]).tobytes()
    first = back(1.0)[0].tobytes()
    assert zyg.stop_gradient(kept[1]).tobytes() == before
    assert back(1.0)[0].tobytes() == first


# What it costs


def shapes_delivered(monkeypatch, f, x):
    """The shapes of the arrays that cross from task to task in a reverse pass."""
    from zyg.core.adjoint_tasks import AdjointChannel

    shapes, send = [], AdjointChannel.send

    def recording(channel, made, c, **options):
        shapes.append(np.shape(c))
        return send(channel, made, c, **options)

    monkeypatch.setattr(AdjointChannel, "send", recording)
    zyg.gradient(f, x)
    return shapes


def test_what_crosses_is_as_large_as_what_was_read(monkeypatch):
    def rows(x):
        return sum(zyg.threads.map(lambda k: np.sum(x[k] ** 2), range(50)))

    def elements(x):
        return sum(zyg.threads.map(lambda k: x[k, 3] ** 2, range(50)))

    x = np.ones((50, 40))
    assert set(shapes_delivered(monkeypatch, rows, x)) == {(40,), ()}
    monkeypatch.undo()
    assert set(shapes_delivered(monkeypatch, elements, x)) == {()}


def test_what_crosses_is_as_large_as_what_was_written(monkeypatch):
    def f(x):
        buffer = zyg.numpy.zeros((50, 40))
        buffer[0] = x[0]

        def fill(k):
            buffer[k] = x[k] * 2.0
            buffer[k, 0] = buffer[k, 1] * 2.0

        in_threads([lambda k=k: fill(k) for k in range(50)])
        return np.sum(buffer)

    shapes = shapes_delivered(monkeypatch, f, np.ones((50, 40)))
    assert set(shapes) == {(40,), ()}


def test_alternating_writers_do_not_copy_the_whole_array(monkeypatch):
    copied = []
    copy = np.copy

    def counting(a, *args, **kwargs):
        copied.append(np.size(a))
        return copy(a, *args, **kwargs)

    async def f(x):
        buffer = zyg.numpy.zeros(10_000)
        buffer[0] = x

        async def write(k):
            for j in range(20):
                buffer[20 * k + j] = x * (buffer[0] + j)
                await trio.lowlevel.checkpoint()

        async with zyg_trio.open_nursery() as nursery:
            for k in range(1, 10):
                nursery.start_soon(write, k)
        return np.sum(buffer)

    monkeypatch.setattr(np, "copy", counting)
    zyg.gradient(f, 1.5)
    assert sum(copied) < 3 * 10_000
