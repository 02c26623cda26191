"""How a benchmark is stated, measured and judged.

A `Case` is one computation, written once for each of the `programs` that are compared. Before
anything is timed, all programs must have given the same gradients. Then they take turns, so that
whatever else the machine does meets all of them alike, and the medians are compared. Python's
cyclic collector stays on, as it does for users.
"""

from __future__ import annotations

import gc
import importlib
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Gradients = (
    Any  # a number, an array, or a sequence of arrays; None where there is nothing to compare
)


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


@dataclass
class Result:
    """The seconds per operation of each program of a case, one entry per repeat."""

    group: str
    case: Case
    samples: dict[str, list[float]] = field(default_factory=dict)

    def time(self, name: str) -> float:
        return statistics.median(self.samples[name])


@dataclass(frozen=True)
class Target:
    """What `program` is to show; `reached` answers from a result and those of its group so far.

    It answers None where this machine could not tell.
    """

    program: str
    text: str
    reached: Callable[[Result, list[Result]], bool | None]


def times_faster(peer: str, factor: float) -> Target:
    return Target(
        peer, f"zyg {factor:g}x faster", lambda r, _: r.time(peer) >= factor * r.time("zyg")
    )


def times_slower(peer: str, factor: float) -> Target:
    return Target(
        peer, f"zyg at most {factor:g}x", lambda r, _: r.time("zyg") <= factor * r.time(peer)
    )


def at_most(seconds: float) -> Target:
    return Target("zyg", f"at most {in_units(seconds)}", lambda r, _: r.time("zyg") <= seconds)


def overhead(peer: str, seconds: float) -> Target:
    return Target(
        peer,
        f"zyg at most {in_units(seconds)} more",
        lambda r, _: r.time("zyg") - r.time(peer) <= seconds,
    )


def flat(factor: float) -> Target:
    """The time per operation at most `factor` times that of the first case of the group."""
    return Target(
        "zyg",
        f"at most {factor:g}x the first",
        lambda r, group: r.time("zyg") <= factor * group[0].time("zyg"),
    )


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


def agree(case: Case) -> dict[str, float]:
    """The seconds that a second call of each program takes; raises where gradients differ."""
    seconds = {}
    reference = None
    for name, program in case.programs.items():
        given = program()  # the first call also warms up
        start = time.perf_counter()
        program()
        seconds[name] = time.perf_counter() - start
        if given is None:
            continue
        arrays = [np.asarray(a) for a in (given if isinstance(given, (list, tuple)) else [given])]
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

    One sample calls a program often enough to last about `sample` seconds.
    """
    once = agree(case)
    calls = {name: max(1, round(sample / max(t, 1e-9))) for name, t in once.items()}
    result = Result(group, case, {name: [] for name in case.programs})
    gc.collect()
    started = time.perf_counter()
    for turn in range(case.repeats):
        for name, program in case.programs.items():
            start = time.perf_counter()
            for _ in range(calls[name]):
                program()
            elapsed = time.perf_counter() - start
            result.samples[name].append(elapsed / calls[name] / case.operations)
        if turn >= 2 and time.perf_counter() - started > seconds:
            break
    return result


def in_units(seconds: float) -> str:
    """A time with three digits and the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
