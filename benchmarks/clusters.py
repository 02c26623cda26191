"""Tasks on a cluster of Dask: what the coordinator does for each, beside Dask alone and by hand.

The client and the scheduler are this process, whose processor time it is; workers are others.
Needs Dask's `distributed`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import zyg
from benchmarks.harness import Case, Peers, Target, times_slower


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    if not find_spec("distributed"):
        return
    distributed = import_module("distributed")
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(
            n_workers=1 if quick else 2, processes=not quick, **options
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        tasks = zyg.distributed.wrap_client(client)
        n = 4 if quick else 300
        yield _of_numbers("submit", submitted, tasks, n, 2.0)
        yield _of_numbers("map", mapped, tasks, n, 1.0)
        yield _of_parameters(tasks, 2 if quick else 8, 20 if quick else 300)


def scaled(x: Any, k: float) -> Any:
    return x * k


def submitted(x: Any, n: int, client: Any) -> Any:
    return sum(client.gather([client.submit(scaled, x, k, pure=False) for k in range(n)]))


def mapped(x: Any, n: int, client: Any) -> Any:
    return sum(client.gather(client.map(scaled, [x] * n, range(n), pure=False)))


def _of_numbers(what: str, f: Callable[..., Any], tasks: Any, n: int, bound: float) -> Case:
    """There and back by zyg, there alone by Dask."""
    return Case(
        f"{n} tasks of a number, {what}",
        {
            "zyg": lambda: zyg.gradient(f, 0.3, n=n, client=tasks)[0],
            "zyg, there": lambda: zyg.pullback(f, 0.3, n=n, client=tasks) and None,
            "dask": lambda: f(0.3, n, tasks._client) and None,
        },
        operations=n,
        targets=[times_slower("dask", bound)],
        repeats=7,
    )


def loss(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ w) ** 2)


def slope(w: Any, x: Any) -> Any:
    y = np.tanh(x @ w)
    return x.T @ (2 * y * (1 - y * y))


def _of_parameters(tasks: Any, parts: int, size: int) -> Case:
    """A step of a training: parameters that are sent once, and data that are there."""
    client = tasks._client
    rng = np.random.default_rng(0)
    data = client.scatter([rng.normal(size=(40, 2 * size)) for _ in range(parts)])
    weights = rng.normal(size=(2 * size, size)) / 20

    def by_zyg() -> Any:
        def total(w: Any) -> Any:
            return sum(tasks.gather([tasks.submit(loss, w, x) for x in data]))

        return zyg.gradient(total, weights)[0]

    def by_hand() -> Any:
        w = client.submit(np.copy, weights, pure=False)
        found = [client.submit(slope, w, x, pure=False) for x in data]
        while len(found) > 1:
            half = len(found) // 2
            found = client.map(np.add, found[:half], found[half:], pure=False)
        return found[0].result()

    programs = {"zyg": by_zyg, "by hand": by_hand}
    title = f"a step on {parts} parts of the data, {weights.nbytes / 1e6:.2g} MB of parameters"
    targets = [times_slower("by hand", 1.5), _bytes(by_zyg, by_hand)]
    return Case(title, programs, targets=targets, repeats=7)


def _bytes(*programs: Callable[[], Any]) -> Target:
    """The bytes that the client and the scheduler write in one step, beside those by hand."""
    by_zyg, by_hand = map(_written_by, programs)
    ratio = by_zyg / max(1, by_hand)
    return Target("zyg", "bytes at most 1.1x by hand", lambda *_: ratio, 1.1)


def _written_by(program: Callable[[], Any]) -> int:
    tcp, counts = import_module("distributed.comm.tcp").TCP, list[int]()
    write = tcp.write

    async def counted(self: Any, *args: Any, **kwargs: Any) -> int:
        counts.append(await write(self, *args, **kwargs))
        return counts[-1]

    tcp.write = counted
    try:
        program()
    finally:
        tcp.write = write
    return sum(counts)
