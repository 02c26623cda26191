"""The first gradient of a process: reading a function, making its kernels, or finding them."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks.harness import WALL, Case, Peers, Result, at_most, in_units
from benchmarks.imports import ENVIRONMENT, fresh


@dataclass
class FirstGradient:
    """The first gradient of the update in a new process, with kernels from a directory."""

    directory: str | None = None  # None: an empty one
    steps: list[dict[str, float]] = field(default_factory=list)

    def __call__(self) -> None:
        with tempfile.TemporaryDirectory() as empty:
            environment = {**ENVIRONMENT, "ZYG_CACHE_DIR": self.directory or empty}
            command = [sys.executable, "-m", "benchmarks.cell"]
            done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
        self.steps.append(json.loads(done.stdout))

    def time(self, step: str) -> float:
        return statistics.median(steps[step] for steps in self.steps[1:])  # the first fills it

    def note(self, result: Result) -> str:
        return ", ".join(f"{step} {in_units(self.time(step))}" for step in self.steps[0])


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    repeats = 1 if quick else 5
    if not quick:
        first = FirstGradient()
        yield Case(
            "first gradient of a process, nothing on disk",
            {"zyg": first, "numpy, import": lambda: fresh("numpy")},
            targets=[at_most(0.8)],
            repeats=repeats,
            note=first.note,
            clock=WALL,
        )
    with tempfile.TemporaryDirectory() as directory:
        again = FirstGradient(directory)
        yield Case(
            "first gradient of a process, kernels on disk",
            {"zyg": again, "numpy, import": lambda: fresh("numpy")},
            targets=[at_most(0.4)],
            repeats=repeats,
            note=again.note,
            clock=WALL,
        )
