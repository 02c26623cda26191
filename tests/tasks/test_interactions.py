"""Tasks together with everything else: nesting, checkpoints, hooks, forward mode, settings."""

import math
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import trio

import zyg
import zyg.numpy
from zyg import trio as zyg_trio
from zyg.errors import MissingRuleError, MutationError, NonFiniteError


def thread_map(f, items):
    return zyg.threads.map(f, items)


def loop_map(f, items):
    """As thread_map, by tasks of trio."""
    items = list(items)
    results = [None] * len(items)

    async def main():
        async def one(k):
            results[k] = f(items[k])

        async with zyg_trio.open_nursery() as nursery:
            for k in range(len(items)):
                nursery.start_soon(one, k)

    trio.run(main)
    return results


def raw_map(f, items):
    """As thread_map, by plain threads."""
    items = list(items)
    results = [None] * len(items)

    def one(k):
        results[k] = f(items[k])

    threads = [threading.Thread(target=one, args=(k,), daemon=True) for k in range(len(items))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results


MAPS = [thread_map, loop_map, raw_map]
WRAPPED = [thread_map, loop_map]


@pytest.fixture(params=MAPS, ids=lambda f: f.__name__)
def pmap(request):
    return request.param


def nth(f, n):
    for _ in range(n):
        f = (lambda g: lambda x: zyg.gradient(g, x)[0])(f)
    return f


# Nesting


@pytest.mark.parametrize("pmap", WRAPPED)
def test_nestlevel_in_tasks(pmap):
    found = []

    def inner(x):
        found.append(pmap(lambda k: zyg.nestlevel(), range(3)))
        return sum(pmap(lambda k: k * x, range(3)))

    def outer(x):
        found.append(pmap(lambda k: zyg.nestlevel(), range(2)))
        return zyg.gradient(inner, x)[0] * x

    assert zyg.gradient(outer, 1.0) == (3.0,)
    assert found == [[1, 1], [2, 2, 2]]
    assert pmap(lambda k: zyg.nestlevel(), range(2)) == [0, 0]


def test_gradients_in_tasks_of_gradients(pmap):
    def f(x):
        return sum(pmap(lambda k: zyg.gradient(lambda y: x * y**k, x)[0], range(1, 6)))

    def plain(x):
        return sum(k * x**k for k in range(1, 6))

    for n in range(4):
        assert nth(f, n)(0.7) == pytest.approx(nth(plain, n)(0.7), rel=1e-12)


def test_no_confusion_of_levels_in_tasks(pmap):
    def f(x):
        return sum(pmap(lambda k: x * zyg.gradient(lambda y: x + y, 1.0)[0], range(3)))

    assert zyg.gradient(f, 2.0) == (3.0,)


def test_many_gradients_at_once(pmap):
    def one(k):
        f = nth(lambda x: sum(zyg.threads.map(lambda j: np.sin(j * x), range(3))), 2)
        return f(0.1 * k)

    found = pmap(one, range(40))
    expected = [-math.sin(0.1 * k) - 4 * math.sin(0.2 * k) for k in range(40)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_values_of_an_outer_level_pass_between_tasks_of_an_inner_one(pmap):
    def f(x):
        def g(y):
            shared = pmap(lambda k: x * k, range(3))  # outer values, made in tasks
            parts = pmap(lambda k: shared[k] * y**2 + shared[2 - k] * y, range(3))
            return sum(parts)  # 3 x y^2 + 3 x y

        return zyg.gradient(g, x)[0]  # 6 x^2 + 3 x

    assert nth(f, 1)(2.0) == pytest.approx(27.0)
    assert nth(f, 2)(2.0) == pytest.approx(12.0)


# Checkpoints


def test_a_checkpoint_around_tasks_and_inside_them(pmap):
    def around(x):
        return zyg.checkpoint(lambda x: sum(pmap(lambda k: np.sin(k * x), range(4))), x) ** 2

    def inside(x):
        return sum(pmap(lambda k: zyg.checkpoint(lambda x: np.sin(k * x), x), range(4))) ** 2

    def plain(x):
        return sum(np.sin(k * x) for k in range(4)) ** 2

    for n in (1, 2):
        expected = nth(plain, n)(0.4)
        assert nth(around, n)(0.4) == pytest.approx(expected, rel=1e-12)
        assert nth(inside, n)(0.4) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("library", [zyg_trio, trio])
def test_a_checkpoint_around_an_async_program(library):
    async def program(x):
        send, receive = library.open_memory_channel(0)

        async def produce():
            async with send:
                for k in (1, 2):
                    await send.send(k * x)

        async with library.open_nursery() as nursery:
            nursery.start_soon(produce)
            return sum([y * y * x async for y in receive])

    def f(x):
        return zyg.checkpoint(program, x) * 0.2  # x^3

    assert zyg.gradient(f, 2.0)[0] == pytest.approx(12.0)
    assert zyg.hessian(f, 2.0) == pytest.approx(12.0)


# Hooks, constants, rules


def test_hooks_in_tasks(pmap):
    seen = []

    def f(x):
        def one(k):
            return k * zyg.hook(lambda c: seen.append(float(c)) or -c, x)

        return sum(pmap(one, range(1, 4)))

    assert zyg.gradient(f, 1.0) == (-6.0,)
    assert sorted(seen) == [1.0, 2.0, 3.0]


def test_stop_gradient_in_tasks(pmap):
    def f(x):
        return sum(pmap(lambda k: x * zyg.stop_gradient(x * k), range(3)))

    assert zyg.gradient(f, 2.0) == (6.0,)


def test_a_missing_rule_in_a_task_says_so(pmap):
    if pmap is raw_map:
        return  # its exception is the thread's

    def f(x):
        return sum(pmap(lambda k: np.busday_count(x, k), range(3)))

    with pytest.raises((MissingRuleError, ExceptionGroup)):
        zyg.gradient(f, np.ones(2))


# Forward mode, Jacobians


def test_forward_mode_through_tasks(pmap):
    def f(x):
        return sum(pmap(lambda k: np.sin(x * k) * x, range(4)))

    def plain(x):
        return sum(np.sin(x * k) * x for k in range(4))

    wanted = zyg.pushforward(plain, (0.3,), (2.0,))
    assert zyg.pushforward(f, (0.3,), (2.0,)) == pytest.approx(wanted)
    x, v = np.array([0.1, 0.2]), np.array([1.0, -2.0])

    def total(x):
        return np.sum(f(x))

    np.testing.assert_allclose(zyg.hvp(total, x, v), zyg.hessian(total, x) @ v, rtol=1e-12)
    np.testing.assert_allclose(
        zyg.hessian(total, x), zyg.hessian(lambda x: np.sum(plain(x)), x), rtol=1e-12
    )
    (by_rows,) = zyg.jacobian(f, x, mode="reverse")
    (by_columns,) = zyg.jacobian(f, x, mode="forward")
    np.testing.assert_allclose(by_rows, zyg.jacobian(plain, x)[0], rtol=1e-12)
    np.testing.assert_allclose(by_columns, by_rows, rtol=1e-12)


def test_forward_mode_of_an_async_function():
    async def f(x):
        results = [None] * 3

        async def one(k):
            results[k] = np.exp(k * x)

        async with zyg_trio.open_nursery() as nursery:
            for k in range(3):
                nursery.start_soon(one, k)
        return sum(results)

    wanted = math.exp(0.5) + 2 * math.exp(1.0)
    assert zyg.pushforward(f, (0.5,), (1.0,))[1] == pytest.approx(wanted)
    assert zyg.jacobian(f, 0.5)[0] == pytest.approx(wanted)
    assert zyg.hvp(f, 0.5, 1.0) == pytest.approx(math.exp(0.5) + 4 * math.exp(1.0))


def test_vmap_like_use_of_one_pullback_by_tasks(pmap):
    _, back = zyg.pullback(lambda x: np.sin(x) * x[::-1], np.array([0.1, 0.2, 0.3]))
    rows = pmap(lambda k: back(np.eye(3)[k])[0], range(3))
    wanted = zyg.jacobian(lambda x: np.sin(x) * x[::-1], np.array([0.1, 0.2, 0.3]))[0]
    np.testing.assert_allclose(np.array(rows), wanted, rtol=1e-14)


def test_the_derivative_of_a_pullback_in_tasks(pmap):
    def f(x):
        _, back = zyg.pullback(lambda y: sum(pmap(lambda k: y**k, range(1, 4))), x)
        return sum(pmap(lambda c: back(c * x)[0], [1.0, 2.0]))  # 3 x (1 + 2 x + 3 x^2)

    assert zyg.gradient(f, 2.0)[0] == pytest.approx(3 + 12 * 2 + 27 * 4)


# Settings and explanations


def test_check_nan_names_the_line_of_a_task(pmap):
    def f(x):
        def one(k):
            return np.sqrt(x * k)  # the derivative at 0 is infinite

        return sum(pmap(one, range(3)))

    with zyg.config(check_nan=True), pytest.raises(NonFiniteError, match="is infinite") as caught:
        zyg.gradient(f, 0.0)
    assert "np.sqrt(x * k)" in str(caught.value)


def test_strong_zeros_in_tasks(pmap):
    def f(x):
        return sum(pmap(lambda k: np.where(x > 0, np.sqrt(x), k * x), range(3)))

    assert zyg.gradient(f, 0.0) == (3.0,)
    with zyg.config(strong_zero=False):
        assert math.isnan(zyg.gradient(f, 0.0)[0])


def test_workers_change_nothing():
    def f(x):
        parts = zyg.threads.map(lambda k: np.sum(np.sin(k * x)) * 1e-3, range(40))
        return sum(parts) * 1e3

    x = np.linspace(0.0, 1.0, 50)
    found = set()
    for workers in (None, 0, 1, 3, 7):
        with zyg.config(workers=workers):
            found.add(zyg.gradient(f, x)[0].tobytes())
    assert len(found) == 1


def test_the_number_of_helping_threads(monkeypatch):
    started = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda t: (started.append(t), start(t))[1])
    _, back = zyg.pullback(lambda x: sum(zyg.threads.map(lambda k: k * x, range(5))), 1.0)
    for workers, number in [(0, 0), (1, 1), (3, 3), (7, 4)]:
        started.clear()
        with zyg.config(workers=workers):
            assert back(1.0) == (10.0,)
        assert len(started) == number


def test_map_by_one_or_many_threads_gives_the_same_bits():
    from concurrent.futures import ThreadPoolExecutor

    def f(x, pool):
        return sum(zyg.threads.map(lambda k: np.sum(np.exp(-k * x)), range(30), pool=pool))

    x = np.linspace(0.0, 1.0, 33)
    found = set()
    for size in (1, 2, 8):
        with ThreadPoolExecutor(size) as pool:
            found.add(zyg.gradient(lambda x, pool=pool: f(x, pool), x)[0].tobytes())
    assert len(found) == 1


def test_a_gradient_in_the_only_worker_of_a_pool_that_uses_another():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:

        def f(x):
            return sum(zyg.threads.map(np.sin, [x, 2 * x], pool=other))

        found = one.submit(zyg.gradient, f, 0.0).result()
    assert found == (3.0,)


def test_explain_takes_concurrent_programs(pmap):
    def f(x):
        return sum(pmap(lambda k: np.sin(k * x), range(3)))

    assert "the value depends on it" in str(zyg.explain(f, 0.5))


# Arrays of outer levels


@pytest.mark.parametrize("pmap", WRAPPED)
def test_an_inner_value_is_not_written_into_an_outer_array_of_another_task(pmap):
    def f(x):
        buffer = zyg.numpy.zeros(3)
        buffer[0] = x

        def g(y):
            def one(k):
                buffer[k] = y * k

            pmap(one, range(3))
            return np.sum(buffer)

        return zyg.gradient(g, x)[0]

    with pytest.raises((MutationError, ExceptionGroup)):
        zyg.gradient(f, 1.0)


def test_what_a_finished_gradient_leaves_in_a_shared_object(pmap):
    shared = SimpleNamespace(values=[])

    def f(x):
        pmap(lambda k: shared.values.append(x * k), range(3))
        return sum(shared.values)

    assert zyg.gradient(f, 2.0) == (3.0,)
    assert sorted(float(v) for v in map(zyg.stop_gradient, shared.values)) == [0.0, 2.0, 4.0]
    shared.values.clear()
    assert zyg.gradient(lambda x: zyg.gradient(f, x)[0] * x, 2.0) == (3.0,)
