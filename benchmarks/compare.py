"""What got slower, and what faster, between two runs: ``compare BEFORE.json AFTER.json``.

A row is the ratio of its least times. The rows of programs that are none of zyg's (NumPy, PyTorch,
the floor, kernels by hand: the yardsticks) should not have moved. The median of their ratios is the
machine's own change, and is divided out: of those in the same case, which took turns with the row,
or of all where the case has none. The noise is how far nearly all of the yardsticks themselves are
from 1 when that is done to them: those of its group, as large arrays are disturbed more than small
ones, or all if those are few. A row of zyg's has changed if it has moved by more than the noise,
and by more than its own turns scatter in either run (the median of them to the least).
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import in_units, is_yardstick

LEAST = 1.05  # no run is better than that
NEARLY_ALL = 0.97
FEW = 10  # yardsticks
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


class Machine:
    """What the yardsticks say of the machine: its own change between two runs, and the noise."""

    def __init__(self, before: Rows, after: Rows) -> None:
        self.of_case: dict[str, list[float]] = {}
        for case, program in before.keys() & after.keys():
            if is_yardstick(program):
                ratio = after[case, program]["seconds"] / before[case, program]["seconds"]
                self.of_case.setdefault(case, []).append(ratio)
        everywhere = [ratio for ratios in self.of_case.values() for ratio in ratios]
        self.yardsticks = len(everywhere)
        self.drift = statistics.median(everywhere or [1.0])
        self.noise = spread(ratio / self.drift for ratio in everywhere)
        self.noise_in_case = spread(
            ratio / statistics.median([*ratios[:k], *ratios[k + 1 :]])
            for ratios in self.of_case.values()
            if len(ratios) > 1
            for k, ratio in enumerate(ratios)
        )

    def at(self, case: str) -> tuple[float, float]:
        """Its change while a case was measured, and the noise of that."""
        if case in self.of_case:
            return statistics.median(self.of_case[case]), self.noise_in_case
        return self.drift, self.noise


def spread(ratios: Iterable[float]) -> float:
    """What nearly all are no further from 1 than."""
    distances = sorted(abs(math.log(ratio)) for ratio in ratios) or [0.0]
    return max(LEAST, math.exp(distances[math.ceil(NEARLY_ALL * len(distances)) - 1]))


def changes(before: Rows, after: Rows) -> Iterator[Change]:
    """The rows of zyg's that have moved by more than the noise."""
    machine = Machine(before, after)
    groups = {
        name: Machine({key: row for key, row in before.items() if row["group"] == name}, after)
        for name in {row["group"] for row in before.values()}
    }
    for key, old in before.items():
        new = after.get(key)
        if new is None or is_yardstick(key[1]):
            continue
        group = groups[old["group"]]
        drift, noise = (machine if group.yardsticks < FEW else group).at(key[0])
        ratio = new["seconds"] / old["seconds"] / drift
        noise = max(noise, *(row["median"] / row["seconds"] for row in (old, new)))
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
    machine = Machine(before, after)
    noise = f"{machine.noise:.2f}x, {machine.noise_in_case:.2f}x beside yardsticks"
    yield f"the machine: {machine.drift:.2f}x, divided out; the noise: {noise}"
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
