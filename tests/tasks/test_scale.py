"""Many tasks and many messages: what they cost, and that nothing of them stays."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import zyg
from zyg import trio


async def pipeline(x, n):
    """n messages through four stages."""
    ends = [trio.open_memory_channel(100) for _ in range(5)]

    async def produce():
        async with ends[0][0] as out:
            for _ in range(n):
                await out.send(x * 0.5)

    async def stage(k):
        async with ends[k + 1][0] as out:
            async for y in ends[k][1]:
                await out.send(y * 2.0)

    total = 0.0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(produce)
        for k in range(4):
            nursery.start_soon(stage, k)
        async for y in ends[4][1]:
            total = total + y
    return total


async def crowd(x, n):
    """n tasks."""
    results = []

    async def one(k):
        results.append(x * k)

    async with trio.open_nursery() as nursery:
        for k in range(n):
            nursery.start_soon(one, k)
    return sum(results)


@pytest.mark.slow
def test_a_hundred_thousand_messages():
    assert zyg.gradient(pipeline, 1.0, n=25_000) == (25_000 * 8.0,)


@pytest.mark.slow
def test_ten_thousand_tasks():
    assert zyg.gradient(crowd, 1.0, n=10_000) == (10_000 * 9_999 / 2,)


@pytest.mark.parametrize("program", [pipeline, crowd])
def test_memory_is_linear(program):
    def peak(n):
        tracemalloc.start()
        zyg.gradient(program, 1.0, n=n)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    one, four = peak(150), peak(600)
    assert four < 5 * one  # a dict doubles now and then
    assert four / 600 < 8000


def by_threads(refs):
    def f(x):
        def one(k):
            y = np.sin(x * k)
            refs.append(weakref.ref(y.primal))
            return y

        first = zyg.threads.map(one, range(3))
        return sum(zyg.threads.map(lambda k: np.sum(first[k] * first[k - 1]), range(3)))

    return f


def by_messages(refs):
    async def f(x):
        send, receive = trio.open_memory_channel(0)

        async def produce():
            async with send:
                for k in range(3):
                    y = np.sin(x * k)
                    refs.append(weakref.ref(y.primal))
                    await send.send(y)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce)
            return sum([np.sum(y * y) async for y in receive])

    return f


@pytest.fixture
def _no_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collection")
@pytest.mark.parametrize("program", [by_threads, by_messages])
def test_arrays_die_with_the_gradient_without_the_cyclic_collector(program):
    x, refs = np.ones(100), []
    zyg.gradient(program(refs), x)
    assert [ref() for ref in refs] == [None] * 3


@pytest.mark.usefixtures("_no_collection")
@pytest.mark.parametrize("program", [by_threads, by_messages])
def test_arrays_live_as_long_as_the_pullback(program):
    x, refs = np.ones(100), []
    _, back = zyg.pullback(program(refs), x)
    back(1.0)
    assert all(ref() is not None for ref in refs)
    del back
    assert [ref() for ref in refs] == [None] * 3
