"""Compiled functions in processes of their own: the first gradient, and what tapes take.

``python -m benchmarks.compiled_processes NAME`` takes the gradient of a program of `loops` once.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import zyg
from benchmarks.harness import WALL, Case, Result, Target, at_most
from benchmarks.imports import ENVIRONMENT, fresh
from benchmarks.loops import PROGRAMS, arguments

_FIRST = {"branches": 0.8, "lstm": 2.5, "gaussian_mixture": 2.5}
_ROUNDS = 2_000_000


def process(name: str, directory: str | None = None) -> Callable[[], None]:
    """A process that takes one gradient, with machine code from a directory; None: an empty one."""

    def run() -> None:
        with tempfile.TemporaryDirectory() as empty:
            environment = {**ENVIRONMENT, "ZYG_CACHE_DIR": directory or empty}
            command = [sys.executable, "-m", "benchmarks.compiled_processes", name]
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)

    return run


def cases(quick: bool) -> Iterator[Case]:
    repeats = 1 if quick else 3
    for name, most in [*_FIRST.items()][: 1 if quick else None]:
        with tempfile.TemporaryDirectory() as kept:
            yield Case(
                f"first gradient of a process, {name.replace('_', ' ')}",
                {"zyg": process(name), "zyg, code on disk": process(name, kept),
                 "numpy, import": lambda: fresh("numpy")},
                targets=[at_most(most), at_most(0.6, "zyg, code on disk")],
                repeats=repeats, clock=WALL,
            )  # fmt: skip
    yield _memory(1000 if quick else _ROUNDS, repeats)


def iterated(x, rounds):  # type: ignore[no-untyped-def]
    for _ in range(rounds):
        x = math.sin(x) + 0.5
    return x


def _memory(rounds: int, repeats: int) -> Case:
    """A loop that keeps one float a round: all of them, and as many as `tape_bytes` allows."""
    compiled = zyg.compile(iterated)
    kept = compiled.inspect(0.3, rounds)["bytes"]

    def limited() -> Any:
        with zyg.config(tape_bytes=kept // 8):
            return zyg.gradient(compiled, 0.3, rounds)[0]

    def tape(result: Result, group: list[Result]) -> float:
        return float(kept)

    most = Target("zyg", "tape at most 8 bytes a round", tape, 8.0 * rounds, unit=_in_bytes)
    return Case(
        f"{rounds} rounds, one float kept in each",
        {"zyg": lambda: zyg.gradient(compiled, 0.3, rounds)[0], "zyg, an eighth of it": limited},
        targets=[most], repeats=repeats,
    )  # fmt: skip


def _in_bytes(x: float) -> str:
    return f"{x / 1e6:.3g} MB"


if __name__ == "__main__":
    zyg.gradient(zyg.compile(PROGRAMS[sys.argv[1]]), *arguments(sys.argv[1], False))
