"""How a benchmark is stated, measured and judged.

A `Case` is one computation, written once for each of the `programs` that are compared. Before
anything is timed, all programs must have given the same gradients. Then they take turns, so that
whatever else the machine does meets all of them alike. A time is the smallest of those turns, in
seconds of the processor unless a case says otherwise: neighbours take away less of it than of the
clock on the wall. Python's cyclic collector stays on, as it does for users.
"""

from __future__ import annotations

import gc
import importlib
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Gradients = Any  # numbers and arrays, in any lists, tuples and dicts; None: nothing to compare
# Where the processor's time is counted too coarsely (Windows), the clock on the wall.
FINE = time.get_clock_info("process_time").resolution <= 1e-6
CPU = time.process_time if FINE else time.perf_counter
WALL = time.perf_counter


@dataclass
class Case:
    """One computation; `programs` maps each contestant's name to a call that returns gradients."""

    title: str
    programs: dict[str, Callable[[], Gradients]]
    operations: int = 1  # how many operations one call does; times are given per operation
    targets: Sequence[Target] = ()
    rtol: float = 1e-9
    repeats: int = 15
    note: str | Callable[[Result], str] = ""  # printed below the table
    clock: Callable[[], float] = CPU
    best: dict[str, Sequence[str]] = field(default_factory=dict)  # rows: the fastest of others


@dataclass
class Result:
    """The seconds per operation of each program of a case, one entry per turn."""

    group: str
    case: Case
    samples: dict[str, list[float]] = field(default_factory=dict)

    def time(self, name: str) -> float:
        return min(self.samples[name])

    def median(self, name: str) -> float:
        return statistics.median(self.samples[name])


def factor(x: float) -> str:
    return f"{x:.2f}x"


@dataclass(frozen=True)
class Target:
    """What is to be seen beside `program`: a `figure` on the right side of its `bound`.

    The figure is of a result and of those of its group; None where this machine could not tell.
    """

    program: str
    text: str
    figure: Callable[[Result, list[Result]], float | None]
    bound: float
    at_least: bool = False
    unit: Callable[[float], str] = factor

    def reached(self, figure: float | None) -> bool | None:
        if figure is None:
            return None
        return figure >= self.bound if self.at_least else figure <= self.bound


def times_faster(peer: str, bound: float, program: str = "zyg") -> Target:
    def figure(r: Result, _: list[Result]) -> float:
        return r.time(peer) / r.time(program)

    text = f"{program} ahead" if bound == 1 else f"{program} at least {bound:g}x its speed"
    text = f"{program} {bound:g}x faster" if bound > 1 else text
    return Target(peer, text, figure, bound, at_least=True)


def times_slower(peer: str, bound: float, program: str = "zyg") -> Target:
    def figure(r: Result, _: list[Result]) -> float:
        return r.time(program) / r.time(peer)

    return Target(peer, f"{program} at most {bound:g}x", figure, bound)


def at_most(seconds: float, program: str = "zyg") -> Target:
    text = f"at most {in_units(seconds)}"
    return Target(program, text, lambda r, _: r.time(program), seconds, unit=in_units)


def overhead(seconds: float, *others: str, program: str = "zyg") -> Target:
    """What `program` takes beyond the others, one after the other."""

    def figure(r: Result, _: list[Result]) -> float:
        return r.time(program) - sum(map(r.time, others))

    text = f"at most {in_units(seconds)} beyond {' and '.join(others)}"
    return Target(program, text, figure, seconds, unit=in_units)


def flat(bound: float, like: str) -> Target:
    """The time per operation to that of the first case whose title begins as this one's does."""

    def figure(r: Result, group: list[Result]) -> float:
        first = next(other for other in group if other.case.title.startswith(like))
        return r.time("zyg") / first.time("zyg")

    return Target("zyg", f"at most {bound:g}x the first size's", figure, bound)


# What compares runs: programs that are none of zyg's, and take the same time when it changes.

YARDSTICKS = (
    "numpy", "ndarray", "floor", "torch", "autograd", "jax", "by hand", "trio", "the pool", "triad",
    "plain", "optax", "scipy by hand", "dask",
)  # fmt: skip


def is_yardstick(program: str) -> bool:
    return program.startswith(YARDSTICKS)


def machine() -> dict[str, Any]:
    """What the times are of."""
    found: dict[str, Any] = {"processor": platform.processor() or platform.machine()}
    known = Path("/proc/cpuinfo")  # Linux; elsewhere the platform module knows as much
    if known.exists():
        lines = [line for line in known.read_text().splitlines() if line.startswith("model name")]
        found["processor"] = lines[0].partition(":")[2].strip() if lines else found["processor"]
    found["cores"] = os.cpu_count()
    if hasattr(os, "getloadavg"):
        found["load"] = round(os.getloadavg()[0], 1)
    return found


# Peers

_PREPARE: dict[str, Callable[[Any], None]] = {
    "torch": lambda torch: torch.set_num_threads(1),
    "jax": lambda jax: jax.config.update("jax_enable_x64", True),
}


class Peers:
    """The libraries to compare with; `skipped` says why one is left out."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self.wanted = wanted
        self.modules: dict[str, Any] = {}
        self.skipped: dict[str, str] = {}

    def get(self, name: str) -> Any:
        """The module, or None."""
        if name not in self.wanted:
            self.skipped.setdefault(name, "not asked for")
        elif name not in self.modules and name not in self.skipped:
            try:
                self.modules[name] = importlib.import_module(name)
            except ImportError as error:
                self.skipped[name] = f"cannot be imported ({error})"
            else:
                _PREPARE.get(name, lambda module: None)(self.modules[name])
        return self.modules.get(name)


# Measuring


class DisagreementError(Exception):
    """Two programs of a case gave different gradients: they do not compute the same thing."""


def leaves(tree: Any) -> list[Any]:
    """What is in lists, tuples and dicts, in order, but None: no gradient."""
    if isinstance(tree, dict):
        tree = [*tree.values()]
    if isinstance(tree, (list, tuple)):
        return [leaf for x in tree for leaf in leaves(x)]
    return [] if tree is None else [tree]


def once(program: Callable[[], Any]) -> float:
    """The least of two or three calls: one that was held up, or made final code, says nothing."""
    times: list[float] = []
    while len(times) < 2 or (len(times) < 3 and sum(times) < 0.1):
        start = WALL()
        program()
        times.append(WALL() - start)
    return min(times)


def agree(case: Case) -> dict[str, float]:
    """The seconds that a call of each program takes; raises where gradients differ."""
    seconds = {}
    reference = None
    for name, program in case.programs.items():
        given = program()  # the first call also warms up
        seconds[name] = once(program)
        if given is None:
            continue
        arrays = [np.asarray(a) for a in leaves(given)]
        if reference is None:
            reference = name, arrays
        for mine, theirs in zip(arrays, reference[1], strict=True):
            scale = np.max(np.abs(theirs))
            if mine.shape != theirs.shape or not np.allclose(
                mine, theirs, case.rtol, case.rtol * scale
            ):
                raise DisagreementError(
                    f"{case.title}: the gradients of {name} and {reference[0]} differ"
                )
    return seconds


def measure(group: str, case: Case, *, seconds: float, sample: float) -> Result:
    """Times of all programs of a case, taken in turns, for about so many seconds in all.

    One sample calls a program often enough to last about `sample` seconds, after a call that is not
    timed where there are several: what others left in the caches is none of the program's.
    """
    calls = {name: max(1, round(sample / max(t, 1e-9))) for name, t in agree(case).items()}
    result = Result(group, case, {name: [] for name in case.programs})
    gc.collect()
    started, clock = WALL(), case.clock
    for turn in range(case.repeats):
        for name, program in case.programs.items():
            if calls[name] > 1:
                program()
            start = clock()
            for _ in range(calls[name]):
                program()
            elapsed = clock() - start
            result.samples[name].append(elapsed / calls[name] / case.operations)
        if turn >= 4 and WALL() - started > seconds:
            break
    for name, others in case.best.items():
        turns = zip(*(result.samples[other] for other in others), strict=True)
        result.samples[name] = [min(turn) for turn in turns]
    return result


def in_units(seconds: float) -> str:
    """A time with three digits and the unit that suits it; also what one is less than another."""
    if seconds < 0:
        return "-" + in_units(-seconds)
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
