"""The verbs with async functions, and what their reverse passes do when something goes wrong."""

import asyncio
import functools
import gc
import inspect
import sys
import threading
import warnings

import numpy as np
import pytest
import trio

import zyg
import zyg.numpy
from zyg import trio as zyg_trio
from zyg.core import adjoint_tasks
from zyg.errors import ComplexOutputError, NonScalarOutputError, RunningLoopError, StructureError


def run_in(loop, f, *args, **kwargs):
    async def main():
        return await f(*args, **kwargs)

    return trio.run(main) if loop == "trio" else asyncio.run(main())


@pytest.fixture(params=["trio", "asyncio"])
def loop(request):
    return request.param


async def square(x):
    await adjoint_tasks._checkpoint()()
    return x * x


# What the verbs give


def test_the_three_verbs(loop):
    assert run_in(loop, zyg.gradient_async, square, 3.0) == (6.0,)
    assert run_in(loop, zyg.value_and_gradient_async, square, 3.0) == (9.0, (6.0,))

    async def main():
        y, back = await zyg.pullback_async(square, np.array([1.0, 2.0]))
        return y, await back(np.array([1.0, 10.0])), await back(np.array([10.0, 1.0]))

    y, once, again = run_in(loop, main)
    np.testing.assert_array_equal(y, [1.0, 4.0])
    np.testing.assert_array_equal(once[0], [2.0, 40.0])
    np.testing.assert_array_equal(again[0], [20.0, 4.0])


def test_keywords_auxiliary_values_and_zeros(loop):
    async def f(x, y, *, power):
        return x**power, "a note", {"x": x}

    found = run_in(loop, zyg.value_and_gradient_async, f, 2.0, 5.0, power=3, zeros=True)
    assert found == ((8.0, "a note", {"x": 2.0}), (12.0, 0.0))
    assert run_in(loop, zyg.value_and_gradient_async, f, 2.0, 5.0, power=3)[1] == (12.0, None)


def test_a_function_that_is_not_async_can_be_awaited_too(loop):
    assert run_in(loop, zyg.gradient_async, lambda x: x * x, 3.0) == (6.0,)


def test_sync_verbs_run_async_functions():
    assert zyg.gradient(square, 3.0) == (6.0,)
    assert zyg.value_and_gradient(square, 3.0) == (9.0, (6.0,))
    y, back = zyg.pullback(square, 3.0)
    assert (y, back(2.0), back(1.0)) == (9.0, (12.0,), (6.0,))
    assert zyg.pushforward(square, (3.0,), (1.0,)) == (9.0, 6.0)
    assert zyg.hessian(square, 3.0) == pytest.approx(2.0)


@pytest.mark.parametrize(
    "verb",
    [
        lambda f: zyg.gradient(f, 3.0),
        lambda f: zyg.value_and_gradient(f, 3.0),
        lambda f: zyg.pullback(f, 3.0),
        lambda f: zyg.pushforward(f, (3.0,), (1.0,)),
        lambda f: zyg.jacobian(f, 3.0),
    ],
)
def test_a_sync_verb_inside_a_loop_of_trio_says_what_to_write(verb):
    async def main():
        with pytest.raises(RunningLoopError) as caught:
            verb(square)
        return str(caught.value)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = trio.run(main)
        gc.collect()
    assert "square is async, and a loop of trio is running." in text
    assert "await zyg.gradient_async(f, x)" in text
    assert zyg.nestlevel() == 0


def test_a_sync_verb_in_a_thread_of_a_loop_runs_a_loop_of_its_own(loop):
    async def main():
        if loop == "trio":
            return await trio.to_thread.run_sync(zyg.gradient, square, 3.0)
        return await asyncio.to_thread(zyg.gradient, square, 3.0)

    assert run_in(loop, main) == (6.0,)


def test_results_that_are_no_real_number(loop):
    async def vector(x):
        return x

    async def nothing(x):
        pass

    async def complex_(x):
        return x * 1j

    for f, x, error in [
        (vector, np.ones(2), NonScalarOutputError),
        (nothing, 1.0, NonScalarOutputError),
        (complex_, 1.0, ComplexOutputError),
    ]:
        with pytest.raises(error, match=f.__name__):
            zyg.gradient(f, x)
        with pytest.raises(error, match=f.__name__):
            run_in(loop, zyg.gradient_async, f, x)
        with pytest.raises(error, match=f.__name__):
            run_in(loop, zyg.value_and_gradient_async, f, x)


def test_a_cotangent_that_does_not_fit(loop):
    async def main():
        _, back = await zyg.pullback_async(square, 3.0)
        with pytest.raises(StructureError, match="does not fit"):
            await back(np.ones(2))
        return await back(1.0)

    assert run_in(loop, main) == (6.0,)


def test_derivatives_at_the_edge_warn_nobody(loop):
    async def f(x):
        return np.where(x > 0, np.sqrt(x), 0.0)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run_in(loop, zyg.gradient_async, f, 0.0) == (0.0,)


def test_an_exception_of_f_is_unchanged_and_large_arguments_are_writable_again(loop):
    x = np.ones(1000)

    async def f(x):
        await square(x)
        raise KeyError("as it is")

    with pytest.raises(KeyError, match="as it is"):
        run_in(loop, zyg.gradient_async, f, x)
    x[0] = 2.0


def test_nesting_inside_a_loop(loop):
    async def f(x):
        (inner,) = await zyg.gradient_async(lambda y: cube(x, y), x)
        assert zyg.nestlevel() == 1
        return inner

    async def cube(x, y):
        assert zyg.nestlevel() == 2
        await square(0.0)
        return x * y**3

    assert run_in(loop, zyg.gradient_async, f, 2.0) == (36.0,)  # 3 x^3


# Other tasks of the loop, cancellation


@pytest.fixture
def _short_slices(monkeypatch):
    monkeypatch.setattr(adjoint_tasks, "_SLICE", 1e-4)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def many_entries(x, n=20_000):
    for _ in range(n):
        x = x * 1.0001
    return x


@pytest.mark.usefixtures("_short_slices")
@pytest.mark.parametrize("threaded", [False, True])
def test_other_tasks_run_during_a_reverse_pass(threaded):
    turns, enough = [], threading.Event()

    @zyg.adjoint
    def held(x):
        def held_pullback(y_bar):
            if threading.current_thread().name != "test":  # the loop's, which has turns in between
                enough.wait()
            return (y_bar,)

        return x * 1.0, held_pullback

    async def f(x):
        if not threaded:
            return many_entries(x)
        ys = []

        def work():
            ys.append(held(many_entries(x)))

        async with zyg_trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(zyg_trio.to_thread.run_sync, work)
        return ys[0] + ys[1]

    async def main():
        _, back = await zyg.pullback_async(f, 1.0)
        async with trio.open_nursery() as nursery:

            async def others():
                while True:
                    turns.append(1)
                    if len(turns) == 2:
                        enough.set()
                    await trio.lowlevel.checkpoint()

            nursery.start_soon(others)
            found = await back(1.0)
            nursery.cancel_scope.cancel()
        return found

    assert trio.run(main)[0] > 0
    assert len(turns) >= 2


stepped, passes = [], []


@zyg.adjoint
def counted(x):
    def counted_pullback(y_bar):
        stepped.append(1)
        if threading.current_thread().name != "test" and len(passes) == 1:
            with passes[0].changed:
                passes[0].changed.wait_for(lambda: passes[0].stopped)
        return (y_bar,)

    return x * 1.0, counted_pullback


@pytest.fixture
def _threads_step_once(monkeypatch):
    """In the first reverse pass, threads other than the test's take one step, and then wait.

    They go on when the pass has been stopped; else they could be through with it before the loop
    has had a turn, on a machine that is busy.
    """

    class Pass(adjoint_tasks.ReversePass):
        def __init__(self, *args):
            super().__init__(*args)
            passes.append(self)

    monkeypatch.setattr(adjoint_tasks, "ReversePass", Pass)
    yield
    passes.clear()


@pytest.mark.usefixtures("_short_slices", "_threads_step_once")
@pytest.mark.parametrize("how", ["loop", "thread"])
def test_a_reverse_pass_is_cancelled_between_two_entries(how):
    n = 500

    async def f(x):
        ys = []

        def work():
            y = x
            for _ in range(n):
                y = counted(y)
            ys.append(y)

        async with zyg_trio.open_nursery() as nursery:
            for _ in range(2):
                if how == "thread":
                    nursery.start_soon(zyg_trio.to_thread.run_sync, work)
                else:
                    work()
        return ys[0] + ys[1]

    async def main():
        _, back = await zyg.pullback_async(f, 1.0)
        stepped.clear()
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:

                async def cancel():
                    while not stepped:
                        await trio.lowlevel.checkpoint()
                    scope.cancel()

                nursery.start_soon(cancel)
                await back(1.0)
        assert scope.cancelled_caught
        before = len(stepped)
        await trio.lowlevel.checkpoint()
        assert len(stepped) == before < 2 * n  # nothing goes on
        stepped.clear()
        (found,) = await back(1.0)
        assert len(stepped) == 2 * n
        return found

    threads = threading.active_count()
    assert trio.run(main) == 2.0
    assert threading.active_count() <= threads + 2  # those that trio keeps for the next call


@pytest.mark.usefixtures("_short_slices")
def test_asyncio_cancels_a_reverse_pass():
    async def f(x):
        y = x
        for _ in range(500):
            y = counted(y)
        return y

    async def main():
        _, back = await zyg.pullback_async(f, 1.0)
        stepped.clear()
        task = asyncio.create_task(back(1.0))
        while not stepped:  # noqa: ASYNC110 - it is a rule that steps, with no event to set
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(stepped) < 500
        return await back(1.0)

    assert asyncio.run(main()) == (1.0,)


# Pullbacks called again, and at the same time


def written(x):
    """Writes, in tasks, so that a pullback has something to undo and to do again."""
    buffer = zyg.numpy.zeros(6)

    def fill(k):
        buffer[k] = x[k] ** 2
        buffer[k + 3] = buffer[k] * np.sin(x[k])
        buffer[k] *= 2.0

    zyg.threads.map(fill, range(3))
    kept = np.exp(buffer)
    buffer[1:4] = 0.0
    return np.sum(kept * kept) + np.sum(buffer)


@pytest.mark.parametrize("workers", [0, 3])
def test_pullbacks_from_several_threads(workers):
    x = np.array([0.1, 0.2, 0.3])
    _, back = zyg.pullback(written, x)
    wanted = back(1.0)[0].tobytes()
    found = []

    def call():
        with zyg.config(workers=workers):
            found.append([back(1.0)[0].tobytes() for _ in range(5)])

    threads = [threading.Thread(target=call, daemon=True) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [[wanted] * 5] * 4


def test_pullbacks_from_several_tasks(loop):
    x = np.array([0.1, 0.2, 0.3])
    wanted = zyg.gradient(written, x)[0].tobytes()
    results = []

    async def main():
        async def f(x):
            return many_entries(1.0) * written(x) + 0.0 * many_entries(x[0])

        _, back = await zyg.pullback_async(f, x)

        async def call():
            results.append((await back(1.0))[0])

        if loop == "trio":
            async with trio.open_nursery() as nursery:
                for _ in range(4):
                    nursery.start_soon(call)
        else:
            await asyncio.gather(*(call() for _ in range(4)))

    run_in(loop, main)
    factor = many_entries(1.0)
    assert len({c.tobytes() for c in results}) == 1
    np.testing.assert_allclose(results[0], factor * np.frombuffer(wanted), rtol=1e-12)


def test_run_sync_takes_what_trios_takes():
    ours, theirs = (
        inspect.signature(f) for f in (zyg_trio.to_thread.run_sync, trio.to_thread.run_sync)
    )
    described = [
        [(p.name, p.kind, p.default) for p in s.parameters.values()] for s in (ours, theirs)
    ]
    assert described[0] == described[1]

    async def main(x):
        limiter, name = trio.CapacityLimiter(1), "a thread of a test"
        run = functools.partial(zyg_trio.to_thread.run_sync, limiter=limiter, thread_name=name)
        return await run(lambda: x * (threading.current_thread().name == name))

    assert zyg.gradient(main, 3.0) == (1.0,)
