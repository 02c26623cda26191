"""Two ranks of MPI: messages and steps of a training, beside mpi4py alone.

Needs mpi4py and mpirun. The programs run in one job, `on_ranks`, and take turns there; times are
of the clock on the wall, as a rank that waits is busy too, so the machine has to be free.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.harness import Case, Peers, Target, flat, times_faster, times_slower

ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def launcher() -> str | None:
    """The launcher of this environment, else the machine's; None without mpi4py."""
    own = shutil.which("mpirun", path=str(Path(sys.executable).parent))
    return (own or shutil.which("mpirun")) if find_spec("mpi4py") else None


class Job:
    """Two ranks that run programs by their names, and the seconds that these took in all."""

    def __init__(self, mpirun: str) -> None:
        command = [mpirun, "-n", "2", sys.executable, "-m", "benchmarks.on_ranks"]
        environment = {**os.environ, **ENVIRONMENT}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.seconds = 0.0

    def run(self, name: str, count: int) -> Any:
        """What a program gives for a count."""
        pipes: Any = self.process
        pipes.stdin.write(f"{name} {count}\n")
        pipes.stdin.flush()
        line = next(line for line in pipes.stdout if line.startswith("took "))
        seconds, given = json.loads(line.removeprefix("took "))
        self.seconds += seconds
        return given

    def program(self, name: str, count: int) -> Callable[[], Any]:
        return lambda: self.run(name, count)

    def case(self, title: str, what: str, other: str, count: int, target: Target, per: int) -> Case:
        return Case(
            title,
            {"zyg": self.program(f"{what}: zyg", count),
             other: self.program(f"{what}: {other}", count)},
            operations=per * count, targets=[target], repeats=5, clock=lambda: self.seconds,
        )  # fmt: skip

    def end(self) -> None:
        self.process.communicate("\n")


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    if (mpirun := launcher()) is None:
        return
    job = Job(mpirun)
    try:
        for what, count, bound in (("1 kB", 1000, 2.5), ("10 MB", 5, 2.1)):
            for kind in ("objects", "memory"):
                title = f"a message of {kind}, {what}, there and back"
                target = times_slower("mpi4py", bound)
                some = 2 if quick else count
                yield job.case(title, f"{kind}, {what}", "mpi4py", some, target, 2)
        target = times_faster("by hand", 0.95)
        yield job.case("steps on two ranks", "steps", "by hand", 1 if quick else 5, target, 1)
        for count in (10, 100) if quick else (10_000, 1_000_000):
            yield _many(job, count, count in (10, 10_000))
    finally:
        job.end()


def _many(job: Job, count: int, first: bool) -> Case:
    """Messages of one gradient, which take the same time each however many there are."""
    title = "messages of one gradient"
    return Case(
        f"{title}, {count}",
        {"zyg": job.program("numbers: zyg", count // 2)},
        operations=count,
        targets=[] if first else [flat(1.2, title)],
        repeats=1,
        clock=lambda: job.seconds,
    )
