"""What got slower, and what faster, between two runs: ``compare BEFORE.json AFTER.json``.

A row is the ratio of its least times. The rows of programs that are none of zyg's (NumPy, PyTorch,
the floor, kernels by hand: the yardsticks) should not have moved. The median of their ratios is the
machine's own change between the two runs, and is divided out; how far nine in ten of them are still
from 1 is the noise between runs. A row of zyg's has changed if it has moved by more than that
noise, and by more than its own turns scatter in either run (the median of them to the least).
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import in_units, is_yardstick

LEAST = 1.05  # no run is better than that
Rows = dict[tuple[str, str], dict[str, Any]]


@dataclass(frozen=True)
class Change:
    case: str
    program: str
    before: float  # seconds
    after: float
    ratio: float  # without the machine's own change
    noise: float

    def __str__(self) -> str:
        times = f"{in_units(self.before)} to {in_units(self.after)}"
        return f"{self.ratio:.2f}x ({times}; noise {self.noise:.2f}x)  {self.case}, {self.program}"


def rows_of(run: dict[str, Any]) -> Rows:
    return {(row["case"], row["program"]): row for row in run["rows"]}


def of_machine(before: Rows, after: Rows) -> tuple[float, float]:
    """The median of the yardsticks' ratios, and how far nine in ten of them are from it."""
    ratios = [
        after[key]["seconds"] / before[key]["seconds"]
        for key in before.keys() & after.keys()
        if is_yardstick(key[1])
    ]
    if not ratios:
        return 1.0, LEAST
    drift = statistics.median(ratios)
    distances = sorted(abs(math.log(ratio / drift)) for ratio in ratios)
    return drift, max(LEAST, math.exp(distances[math.ceil(0.9 * len(distances)) - 1]))


def changes(before: Rows, after: Rows) -> Iterator[Change]:
    """The rows of zyg's that have moved by more than the noise."""
    drift, between = of_machine(before, after)
    for key, old in before.items():
        new = after.get(key)
        if new is None or is_yardstick(key[1]):
            continue
        ratio = new["seconds"] / old["seconds"] / drift
        noise = max(between, *(row["median"] / row["seconds"] for row in (old, new)))
        if abs(math.log(ratio)) > math.log(noise):
            yield Change(*key, old["seconds"], new["seconds"], ratio, noise)


def report(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    before, after = rows_of(old), rows_of(new)
    differing = [
        f"{name} {value} and {new['made by'].get(name)}"
        for name, value in old["made by"].items()
        if name != "load" and value != new["made by"].get(name)
    ]
    if differing:
        yield f"not made by the same: {'; '.join(differing)}"
    drift, between = of_machine(before, after)
    yield f"the machine: {drift:.2f}x, divided out; the noise between the runs: {between:.2f}x"
    found = sorted(changes(before, after), key=lambda change: -change.ratio)
    for title, some in (
        ("slower", [change for change in found if change.ratio > 1]),
        ("faster", [change for change in reversed(found) if change.ratio < 1]),
    ):
        yield f"{title}: {len(some) or 'nothing'}"
        yield from (f"  {change}" for change in some)
    for title, these, others in (("only before", before, after), ("only after", after, before)):
        if keys := [", ".join(key) for key in these if key not in others]:
            yield f"{title}: {'; '.join(keys)}"


def main(arguments: list[str]) -> int:
    """Prints the report; 1 where something got slower."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = parser.parse_args(arguments)
    old, new = (json.loads(file.read_text()) for file in (options.before, options.after))
    for line in report(old, new):
        print(line)
    return int(any(change.ratio > 1 for change in changes(rows_of(old), rows_of(new))))
