"""How gradients scale over many workers: ``python -m benchmarks.scaling [measure | draw]``.

A step is four tasks for each worker, which take 0.1 s there and 0.2 s back; the efficiency is what
they take of the step. `measure` has tasks that sleep, so that two cores are enough for 32 workers.
It writes docs/reference/scaling.json: the efficiencies, that of Dask alone for the way there among
them, and what the coordinator's processor does for a task. `draw` makes docs/_static/scaling.svg of
that: the measured efficiencies are dots, and the lines are simulated from what the coordinator
does, with a network that takes no time.

Needs Dask's `distributed`, and for ranks mpi4py and mpirun.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import zyg
from benchmarks.clusters import mapped, scaled, submitted
from benchmarks.harness import CPU, WALL, machine
from benchmarks.ranks import launcher
from zyg.tasks.batches import cut

DOCS = Path(__file__).parents[1] / "docs"
RUN = DOCS / "reference" / "scaling.json"
PICTURE = DOCS / "_static" / "scaling.svg"
THERE, BACK, EACH = 0.1, 0.2, 4  # seconds of a task, and how many a worker has
WORKERS = (2, 8, 32)
RANKS = (2, 4, 8)
COUNT = 200  # tasks of which the coordinator's time is measured

Row = dict[str, Any]


@zyg.adjoint
def slow(x: Any) -> Any:
    """A number that takes its time, there and back."""
    time.sleep(THERE)

    def slow_pullback(y_bar: Any) -> tuple[Any, ...]:
        time.sleep(BACK)
        return (y_bar,)

    return 1.0 * x, slow_pullback


def part(x: Any, k: float) -> Any:
    return slow(x) * k


def asleep(x: float, k: float) -> float:
    """A task of Dask's alone, there."""
    time.sleep(THERE)
    return x * k


# Measuring


def measured() -> Row:
    """The costs of a task, and the efficiencies; of what is not installed, as they were."""
    before = json.loads(RUN.read_text()) if RUN.exists() else {"costs": {}, "measured": []}
    costs, rows = before["costs"], before["measured"]
    for found, which in ((_of_dask, "distributed"), (_of_ranks, "mpi4py")):
        if find_spec(which):
            more, new = found()
            engines = {row["engine"] for row in new}
            rows = [row for row in rows if row["engine"] not in engines] + new
            costs |= more
    return {"made by": machine(), "costs": costs, "measured": rows}


def _of_dask() -> tuple[Row, list[Row]]:
    costs: Row = {}
    rows = []
    for workers in WORKERS:
        with _tasks(workers) as tasks:
            for name, f in _NUMBERS.items() if not costs else ():
                costs[name] = _costs(f, tasks)
            for engine, step in (("submit", _by_submit), ("map", _by_map)):
                gradient = partial(zyg.gradient, step, 1.0, EACH * workers, tasks)
                rows.append(_row(f"Dask, {engine}", workers, _least(gradient)))
            alone = _least(partial(_by_submit, 1.0, EACH * workers, tasks._client, asleep))
            efficiency = EACH * THERE / alone
            rows.append({"engine": "Dask alone", "workers": workers, "efficiency": efficiency})
    return costs, rows


@contextmanager
def _tasks(workers: int) -> Iterator[Any]:
    """A cluster of two processes with so many threads."""
    distributed = import_module("distributed")
    options = {"threads_per_worker": workers // 2, "dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=2, processes=True, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield zyg.distributed.wrap_client(client)


def _of_ranks() -> tuple[Row, list[Row]]:
    rows, words = [], []
    for ranks in RANKS:
        command = [launcher(), "-n", str(ranks), sys.executable, "-m", "benchmarks.scaling", "rank"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        step, word = json.loads(said.partition("took ")[2])
        rows.append(_row("ranks", ranks, step))
        words.append(word)
    return {"ranks": min(words)}, rows


def _row(engine: str, workers: int, seconds: float) -> Row:
    return {"engine": engine, "workers": workers, "efficiency": EACH * (THERE + BACK) / seconds}


def _by_submit(x: Any, n: int, client: Any, task: Any = part) -> Any:
    return sum(client.gather([client.submit(task, x, float(k), pure=False) for k in range(n)]))


def _by_map(x: Any, n: int, client: Any) -> Any:
    return sum(client.gather(client.map(part, [x] * n, [*map(float, range(n))])))


def _one_by_one(x: Any, n: int, client: Any) -> Any:
    return sum(client.gather(client.map(scaled, [x] * n, range(n), batch_size=1)))


_NUMBERS = {"submit": submitted, "map": mapped, "map, batches of one": _one_by_one}


def _costs(f: Callable[..., Any], tasks: Any) -> list[float]:
    """Seconds of the coordinator's processor for a task, there and back: the least of turns."""
    found = []
    for _ in range(3):
        began = CPU()
        _, back = zyg.pullback(f, 0.3, COUNT, tasks)
        middle = CPU()
        back(1.0)
        found.append(((middle - began) / COUNT, (CPU() - middle) / COUNT))
    return [min(turns) for turns in zip(*found[1:], strict=True)]


def _least(program: Callable[[], Any]) -> float:
    found = []
    for _ in range(3):
        began = WALL()
        program()
        found.append(WALL() - began)
    return min(found[1:])


def rank() -> None:
    """On each rank: the seconds of a step, and those of one without tasks for each other rank."""
    from mpi4py import MPI

    comm = zyg.mpi.wrap(MPI.COMM_WORLD)

    def step(x: Any, parts: int) -> Any:
        x = comm.bcast(x)
        return comm.reduce(sum([part(x, float(k)) for k in range(parts)]))

    def seconds(parts: int) -> float:
        comm.barrier()
        return _least(lambda: zyg.mpi.gradient(step, 1.0, parts, comm=comm))

    found = seconds(EACH), min(seconds(0) for _ in range(5)) / (comm.size - 1)
    if comm.rank == 0:
        print("took", json.dumps(found))


# Simulating


class Item:
    """A task, as far as `cut` asks."""

    request = (None, None, ())
    _operands = (1.0,)


def by_dask(workers: int, costs: Row, engine: str) -> float:
    """The efficiency where one coordinator hands out tasks, one after the other."""
    n = EACH * workers
    if engine == "submit":
        sizes, (there, back) = [1] * n, [(0.0, cost) for cost in costs["submit"]]
    else:
        sizes = [len(batch) for batch in cut([Item()] * n, workers)]
        alone, many = costs["map, batches of one"], costs["map"]
        there, back = [(min(m, a), max(a - m, 0.0)) for a, m in zip(alone, many, strict=True)]
    taken = _phase(workers, sizes, THERE, *there) + _phase(workers, sizes, BACK, *back)
    return EACH * (THERE + BACK) / taken


def _phase(workers: int, sizes: Sequence[int], seconds: float, item: float, batch: float) -> float:
    """How long it takes until the last worker has ended, and the coordinator."""
    free, now = [0.0] * workers, 0.0
    for size in sizes:
        now += size * item + batch
        first = min(range(workers), key=free.__getitem__)
        free[first] = max(free[first], now) + size * seconds
    return max(*free, now)


def by_ranks(ranks: int, costs: Row) -> float:
    """The efficiency where each rank tells every other one word, and nobody is in the middle."""
    return EACH * (THERE + BACK) / (EACH * (THERE + BACK) + costs["ranks"] * (ranks - 1))


# Drawing

LEFT, RIGHT, TOP, BOTTOM, WIDTH, HEIGHT = 60, 620, 50, 300, 760, 350
COLOURS = {
    "Dask, submit": "#c05a1c", "Dask, map": "#6a4c93", "ranks": "#1f6f78", "Dask alone": "#9aa5ac",
}  # fmt: skip
MOST = 1000


def picture(run: Row) -> str:
    """The picture of a run."""
    costs = run["costs"]
    curves: dict[str, Callable[[int], float]] = {
        "Dask, submit": lambda p: by_dask(p, costs, "submit"),
        "Dask, map": lambda p: by_dask(p, costs, "map"),
    }
    if "ranks" in costs:
        curves["ranks"] = lambda p: by_ranks(p, costs)
    places = [*dict.fromkeys(round(10 ** (k / 8)) for k in range(3, 25))]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" fill="#24323d">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="16">Efficiency of a step: four tasks for each worker, 0.1 s there '
        "and 0.2 s back.</text>",
        f'<text x="{LEFT}" y="32">Lines are simulated, dots measured with tasks that sleep.</text>',
        *_axes(),
    ]
    ends = {name: _y(curve(MOST)) + 4 for name, curve in curves.items()}
    place = 0.0
    for name in sorted(curves, key=ends.__getitem__):
        path = " ".join(f"{_x(p)},{_y(curves[name](p))}" for p in places)
        look = f'fill="none" stroke="{COLOURS[name]}" stroke-width="2"'
        place = max(ends[name], place + 15)  # below the name before
        lines.append(f'<polyline points="{path}" {look}/>')
        lines.append(f'<text x="{RIGHT + 8}" y="{place}" fill="{COLOURS[name]}">{name}</text>')
    for row in run["measured"]:
        at = f'cx="{_x(row["workers"])}" cy="{_y(row["efficiency"])}"'
        said = f"{row['engine']}, {row['workers']} workers: {row['efficiency']:.2f}"
        colour = COLOURS[row["engine"]]
        lines.append(f'<circle {at} r="5" fill="{colour}"><title>{said}</title></circle>')
    x, colour = RIGHT + 8, COLOURS["Dask alone"]
    lines.append(f'<circle cx="{x + 4}" cy="{TOP - 4}" r="5" fill="{colour}"/>')
    lines.append(f'<text x="{x + 14}" y="{TOP}" fill="{colour}">Dask alone, there</text>')
    return "\n".join([*lines, "</svg>", ""])


def _axes() -> Iterator[str]:
    for tenth in range(0, 11, 2):
        y = _y(tenth / 10)
        yield f'<path d="M{LEFT} {y}H{RIGHT}" stroke="#dfe4e7"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{tenth / 10:g}</text>'
    for workers in (2, 10, 100, MOST):
        x = _x(workers)
        yield f'<path d="M{x} {TOP}V{BOTTOM}" stroke="#dfe4e7"/>'
        yield f'<text x="{x}" y="{BOTTOM + 18}" text-anchor="middle">{workers}</text>'
    middle = (LEFT + RIGHT) / 2
    yield f'<text x="{middle}" y="{BOTTOM + 38}" text-anchor="middle">workers, or ranks</text>'


def _x(workers: float) -> float:
    return round(LEFT + math.log(workers / 2) / math.log(MOST / 2) * (RIGHT - LEFT), 1)


def _y(efficiency: float) -> float:
    return round(BOTTOM - float(np.clip(efficiency, 0, 1)) * (BOTTOM - TOP), 1)


def main() -> int:
    what = sys.argv[1:2]
    if what == ["rank"]:
        rank()
        return 0
    if what != ["draw"]:
        RUN.write_text(json.dumps(measured(), indent=1) + "\n")
    PICTURE.write_text(picture(json.loads(RUN.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
