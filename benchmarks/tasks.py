"""Concurrent programs: messages, tasks, threads; trio and the same work without tasks beside them.

What zyg takes for a message or a task is what is left of its time once trio's own ("trio": the same
program on plain numbers, no gradient) and that of the same operations without tasks
("sequential": their gradient) are taken off. "untracked" is the program through the wrappers of
`zyg.trio` while no gradient is being taken.

The map-reduce gradient runs on one thread and on two. Beside it stands what two threads can gain on
this machine at this moment: sines of NumPy without any derivative, the ceiling. It is judged only
where the ceiling is near two; with neighbours on the machine neither says anything.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import trio as plain_trio

import zyg
import zyg.threads
import zyg.trio
from benchmarks.harness import Case, Peers, Result, Target, at_most, in_units

MESSAGE, TASK, UNTRACKED = 12e-6, 25e-6, 1.3


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    n = 20 if quick else 1000
    for capacity in (0, 100):
        yield against_trio(f"message, capacity {capacity}", messages(capacity), n, MESSAGE)
    yield against_trio("task", tasks, n, TASK)
    for title, shape in shapes(quick).items():
        yield map_reduce(title, *shape, judged=title.startswith("MLP"))
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

    def net(r: Result) -> float:
        return r.time("zyg") - r.time("trio") - r.time("sequential")

    text = f"at most {in_units(budget)} net"
    most = f"at most {UNTRACKED:g}x trio"
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
            Target("zyg", text, lambda r, _: net(r) <= budget),
            Target(
                "untracked", most, lambda r, _: r.time("untracked") <= UNTRACKED * r.time("trio")
            ),
        ],
        note=lambda r: f"{in_units(net(r))} net of trio and of the operations",
    )


# Threads


def shapes(quick: bool) -> dict[str, tuple[Callable[..., Any], Any, list[Any]]]:
    """A function of parameters and a chunk, the parameters, the chunks."""
    rng = np.random.default_rng(0)
    scale = 50 if quick else 1

    def chunks(*shape: int) -> list[Any]:
        size = [max(2, shape[0] // scale), *shape[1:]]
        return [rng.normal(size=size) for _ in range(2 if quick else 16)]

    def mlp(p: Any, x: Any) -> Any:
        return np.sum(np.tanh(np.tanh(x @ p[0]) @ p[1]) ** 2)

    def elementwise(p: Any, x: Any) -> Any:
        return np.sum(np.exp(-np.sin(p * x) * x) + np.sqrt(x * x + p))

    def steps(p: Any, x: Any) -> Any:
        for _ in range(2 if quick else 16):
            x = np.sin(p * x) + x
        return np.sum(x)

    def layers(p: Any, x: Any) -> Any:
        for _ in range(2 if quick else 20):
            x = np.tanh(x @ p)
        return np.sum(x)

    return {
        "MLP, 2 layers, 400x300": (
            mlp,
            list(rng.normal(size=(2, 300, 300)) / 20),
            chunks(400, 300),
        ),
        "elementwise, 200 000": (elementwise, 0.7, chunks(200_000)),
        "elementwise, 16 x 12 000": (steps, 0.7, chunks(12_000)),
        "20 layers, 256x64": (layers, rng.normal(size=(64, 64)) / 8, chunks(256, 64)),
        "elementwise, 100": (elementwise, 0.7, chunks(100)),
    }


def map_reduce(title: str, f: Callable[..., Any], p: Any, chunks: list[Any], judged: bool) -> Case:
    """The gradient of a sum over chunks; each row as many threads there and back."""
    sines = [np.linspace(0, 1, 20_000) for _ in range(16)]
    pools = [ThreadPoolExecutor(1), ThreadPoolExecutor(2)]

    def gradient(threads: int) -> Any:
        def total(p: Any) -> Any:
            return sum(zyg.threads.map(lambda x: f(p, x), chunks, pool=pools[threads - 1]))

        with zyg.config(workers=threads - 1):
            return zyg.gradient(total, p)[0]

    def ceiling(threads: int) -> None:
        list(pools[threads - 1].map(lambda x: [np.sin(x) for _ in range(10)], sines))

    def gain(r: Result, one: str, two: str) -> float:
        return r.time(one) / r.time(two)

    def reached(r: Result, _: list[Result]) -> bool | None:
        if gain(r, "sines, 1 thread", "sines, 2 threads") < 1.9:
            return None
        return gain(r, "1 thread", "zyg") >= 1.7

    return Case(
        f"2 threads: {len(chunks)} x {title}",
        {
            "zyg": lambda: gradient(2),
            "1 thread": lambda: gradient(1),
            "sines, 2 threads": lambda: ceiling(2),
            "sines, 1 thread": lambda: ceiling(1),
        },
        targets=[Target("1 thread", "zyg 1.7x faster if sines 1.9x", reached)] if judged else (),
        rtol=1e-8,
        note=lambda r: (
            f"two threads {gain(r, '1 thread', 'zyg'):.2f}x faster than one; the ceiling, sines "
            f"without derivatives, {gain(r, 'sines, 1 thread', 'sines, 2 threads'):.2f}x"
        ),
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
