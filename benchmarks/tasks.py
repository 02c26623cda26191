"""Concurrent programs: messages and tasks; trio and the same work without tasks beside them.

What zyg takes for a message or a task is what is left of its time once trio's own ("trio": the same
program on plain numbers, no gradient) and that of the same operations without tasks
("sequential": their gradient) are taken off. "untracked" is the program through the wrappers of
`zyg.trio` while no gradient is being taken.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import trio as plain_trio

import zyg
import zyg.threads
import zyg.trio
from benchmarks.harness import (
    WALL,
    Case,
    Peers,
    Result,
    at_most,
    overhead,
    times_slower,
)

MESSAGE, TASK, UNTRACKED = 12e-6, 20e-6, 1.3


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    n = 20 if quick else 1000
    for capacity in (0, 100):
        yield against_trio(f"message, capacity {capacity}", messages(capacity), n, MESSAGE)
    yield against_trio("task", tasks, n, TASK)
    yield chain_in_task(20 if quick else 5000)
    for n in (40, 80) if quick else (10**4, 10**5):
        yield many(f"{n} messages through four stages", stages, n)
    for n in (10, 20) if quick else (10**3, 10**4):
        yield many(f"{n} tasks in one gradient", tasks, n)
    yield cancelled("tasks", steps=20 if quick else 400, size=100_000)
    yield cancelled("threads", steps=20 if quick else 400, size=100_000)
    yield idle_child(20 if quick else 1000)


# Messages and tasks


def messages(capacity: int) -> Callable[..., Any]:
    async def program(x: Any, n: int, trio: Any) -> Any:
        send, receive = trio.open_memory_channel(capacity)

        async def produce() -> None:
            async with send:
                for k in range(n):
                    await send.send(x * k)

        total = 0.0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(produce)
            async for y in receive:
                total = total + y
        return total

    return program


async def tasks(x: Any, n: int, trio: Any) -> Any:
    total = 0.0

    async def work(k: int) -> None:
        nonlocal total
        total = total + x * k

    async with trio.open_nursery() as nursery:
        for k in range(n):
            nursery.start_soon(work, k)
    return total


def sequential(x: Any, n: int) -> Any:
    total = 0.0
    for k in range(n):
        total = total + x * k
    return total


def against_trio(what: str, program: Callable[..., Any], n: int, budget: float) -> Case:
    x = 0.3
    return Case(
        f"{what}, a product and a sum",
        {
            "zyg": lambda: zyg.gradient(program, x, n=n, trio=zyg.trio)[0],
            "sequential": lambda: zyg.gradient(sequential, x, n=n)[0],
            "untracked": lambda: plain_trio.run(program, x, n, zyg.trio) and None,
            "trio": lambda: plain_trio.run(program, x, n, plain_trio) and None,
        },
        operations=n,
        targets=[
            overhead(budget, "trio", "sequential"),
            times_slower("trio", UNTRACKED, "untracked"),
        ],
    )


def chain_in_task(n: int) -> Case:
    """Operations of numbers in a task of a nursery, and in the function that is differentiated."""

    def chain(x: Any) -> Any:
        r = x
        for _ in range(n):
            r = r * x + 0.5
        return r

    async def inside(x: Any) -> Any:
        results = []

        async def work() -> None:
            results.append(chain(x))

        async with zyg.trio.open_nursery() as nursery:
            nursery.start_soon(work)
        return results[0]

    async def outside(x: Any) -> Any:
        return chain(x)

    return Case(
        f"{n} x r = r*x + 0.5 in a task",
        {
            "zyg": lambda: zyg.gradient(inside, 0.3)[0],
            "outside": lambda: zyg.gradient(outside, 0.3)[0],
        },
        operations=2 * n,
        targets=[times_slower("outside", 1.15)],
    )


# Sizes


async def stages(x: Any, n: int, trio: Any) -> Any:
    """So many messages: a quarter as many numbers through four channels, squared on the way."""
    links = [trio.open_memory_channel(10) for _ in range(4)]

    async def stage(receive: Any, send: Any) -> None:
        async with send:
            async for y in receive:
                await send.send(y * y)

    async with trio.open_nursery() as nursery:
        for (_, receive), (send, _) in pairwise(links):
            nursery.start_soon(stage, receive, send)
        nursery.start_soon(_feed, links[0][0], x, n // 4)
        total = 0.0
        async for y in links[-1][1]:
            total = total + y
    return total


async def _feed(send: Any, x: Any, n: int) -> None:
    async with send:
        for k in range(n):
            await send.send(x * (k % 7 / 10))


def many(title: str, program: Callable[..., Any], n: int) -> Case:
    """The same at two sizes; the memory is measured apart, because that makes everything slow."""

    def with_zyg() -> Any:
        return zyg.gradient(program, 0.9, n=n, trio=zyg.trio)[0]

    def memory(_: Result) -> str:
        tracemalloc.start()
        with_zyg()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return f"at its peak {peak / n:.0f} bytes for each, {peak / 1e6:.1f} MB in all"

    return Case(title, {"zyg": with_zyg}, operations=n, repeats=2, note=memory)


# Cancelling


def cancelled(kind: str, steps: int, size: int) -> Case:
    """A reverse pass much longer than its timeout of 50 ms; the time until it has returned."""
    x = np.linspace(0.1, 1.0, size)

    def chain(x: Any) -> Any:
        for _ in range(steps):
            x = np.sin(x)
        return np.sum(x)

    async def program(x: Any) -> Any:
        parts = []

        async def work() -> None:
            parts.append(await zyg.trio.to_thread.run_sync(chain, x))

        async with zyg.trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(work)
        return sum(parts)

    async def in_tasks(x: Any) -> Any:
        return chain(x)

    _, back = plain_trio.run(zyg.pullback_async, {"tasks": in_tasks, "threads": program}[kind], x)

    async def cut_short() -> None:
        with plain_trio.move_on_after(0.05):
            await back(1.0)

    return Case(
        f"reverse pass of {kind}, cancelled after 50 ms",
        {"zyg": lambda: plain_trio.run(cut_short)},
        targets=[at_most(0.07)],
        repeats=2 if steps < 100 else 15,
        clock=WALL,
        note=lambda r: f"returns {1e3 * r.time('zyg') - 50:.1f} ms after the timeout",
    )


# Sequential programs


def idle_child(n: int) -> Case:
    """A sequential program beside one whose level has a second strand that does nothing.

    With that strand each operation looks up whose task it is in, which one strand alone spares it:
    the difference is more than what sequential programs pay, which is one test of a flag.
    """

    def chain(x: Any) -> Any:
        for _ in range(n):
            x = np.sin(x) * 1.1
        return x

    def with_child(x: Any) -> Any:
        zyg.threads.in_strand(print, "idle")
        return chain(x)

    return Case(
        f"{n} x x = sin(x)*1.1, a number",
        {
            "zyg": lambda: zyg.gradient(chain, 0.3)[0],
            "with an idle task": lambda: zyg.gradient(with_child, 0.3)[0],
        },
        operations=2 * n,
    )
