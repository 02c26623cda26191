"""Pools of threads: what a submitted call costs, and what a gradient gains by two threads.

What zyg takes for a submitted call is what is left of its time once the pool's own ("the pool": the
same program on plain numbers, no gradient) and that of the same operations without tasks
("sequential": their gradient) are taken off.

The gradient of a map-reduce runs on one thread and on two. Beside it stands what plain NumPy gains
on this machine at this moment: the same function, no derivative, in the same turns. On a machine
whose processors are busy, neither says much; their ratio says more.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import zyg
import zyg.threads
from benchmarks.harness import WALL, Case, Peers, Result, Target, overhead
from benchmarks.tasks import sequential


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    yield submitted(20 if quick else 1000)
    for title, shape in shapes(quick).items():
        yield map_reduce(title, *shape, judged=title.startswith("MLP"))


def submitted(n: int) -> Case:
    def program(x: Any, pool: Any) -> Any:
        tasks = [pool.submit(lambda k: x * k, k) for k in range(n)]
        total = 0.0
        for task in tasks:
            total = total + task.result()
        return total

    pool = ThreadPoolExecutor(1)
    wrapped = zyg.wrap_executor(pool)
    return Case(
        "submit to a pool of threads, a product and a sum",
        {
            "zyg": lambda: zyg.gradient(program, 0.3, pool=wrapped)[0],
            "sequential": lambda: zyg.gradient(sequential, 0.3, n=n)[0],
            "the pool": lambda: program(0.3, pool) and None,
        },
        operations=n,
        targets=[overhead(35e-6, "the pool", "sequential")],
    )


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


PLAIN = "numpy, 1 thread", "numpy, 2 threads"


def map_reduce(title: str, f: Callable[..., Any], p: Any, chunks: list[Any], judged: bool) -> Case:
    """The gradient of a sum over chunks; each row as many threads there and back."""
    pools = [ThreadPoolExecutor(1), ThreadPoolExecutor(2)]

    def gradient(threads: int) -> Any:
        def total(p: Any) -> Any:
            return sum(zyg.threads.map(lambda x: f(p, x), chunks, pool=pools[threads - 1]))

        with zyg.config(workers=threads - 1):
            return zyg.gradient(total, p)[0]

    def plain(threads: int) -> None:
        sum(pools[threads - 1].map(lambda x: f(p, x), chunks))

    def gains(r: Result, one: str, two: str) -> list[float]:
        return [a / b for a, b in zip(r.samples[one], r.samples[two], strict=True)]

    def figure(r: Result, _: list[Result]) -> float:
        both = zip(gains(r, "1 thread", "zyg"), gains(r, *PLAIN), strict=True)
        return statistics.median(zygs / numpys for zygs, numpys in both)

    def note(r: Result) -> str:
        zygs, numpys = (statistics.median(gains(r, *two)) for two in (("1 thread", "zyg"), PLAIN))
        return f"two threads {zygs:.2f}x faster than one; NumPy's program {numpys:.2f}x"

    text = "speed-up at least 0.93 of NumPy's"
    return Case(
        f"2 threads: {len(chunks)} x {title}",
        {
            "zyg": lambda: gradient(2),
            "1 thread": lambda: gradient(1),
            PLAIN[1]: lambda: plain(2),
            PLAIN[0]: lambda: plain(1),
        },
        targets=[Target("1 thread", text, figure, 0.93, at_least=True)] if judged else (),
        rtol=1e-8,
        note=note,
        clock=WALL,
    )
