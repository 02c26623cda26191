"""Lazy arrays of Dask: the value and the norm of the gradient, beside the derivative by hand.

On two threads; the peak of memory is that of NumPy's arrays, of data that are made as they are
asked for.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import zyg
from benchmarks.harness import Case, Peers, Result, Target, times_slower


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    if find_spec("dask") and find_spec("array_api_compat"):
        scale = 1000 if quick else 1
        yield _case(10**8 // scale, 25, lambda _: times_slower("by hand", 1.6))
        yield _case(2 * 10**7 // scale, 100, lambda programs: _peak(programs, 50e6))


def _case(n: int, chunks: int, target: Callable[[dict[str, Any]], Target]) -> Case:
    da = import_module("dask.array")
    x = da.arange(n, chunks=n // chunks, dtype=float) / n

    def by_zyg() -> tuple[Any, Any]:
        value, (g,) = zyg.value_and_gradient(lambda x: np.sum(np.sin(x) ** 2 * np.exp(-x)), x)
        return value, g

    def by_hand() -> tuple[Any, Any]:
        s, e = da.sin(x), da.exp(-x)
        return da.sum(s**2 * e), 2 * s * da.cos(x) * e - s**2 * e

    def plainly() -> tuple[Any, Any]:
        with zyg.config(strong_zero=False):
            return by_zyg()

    programs = {
        "zyg": _on_two_threads(by_zyg),
        "zyg, zeros not strong": _on_two_threads(plainly),
        "by hand": _on_two_threads(by_hand),
    }
    title = f"Dask, {n} in {chunks} chunks, two threads"
    return Case(title, programs, targets=[target(programs.copy())], repeats=3)


def _on_two_threads(make: Callable[[], tuple[Any, Any]]) -> Callable[[], list[float]]:
    dask = import_module("dask")

    def run() -> list[float]:
        with dask.config.set(scheduler="threads", num_workers=2):
            value, g = make()
            return [float(x) for x in dask.compute(value, np.sqrt((g * g).sum()))]

    return run


def _peak(programs: dict[str, Any], most: float) -> Target:
    """The peak of memory of one call, and of the same by hand."""

    def figure(result: Result, _: list[Result]) -> float:
        found[:] = [_peak_of(programs[name]) for name in ("zyg", "by hand")]
        return found[0]

    def text(of_zyg: float) -> str:
        return f"{of_zyg / 1e6:.0f} MB, by hand {found[1] / 1e6:.0f}"

    found: list[float] = []
    return Target("zyg", f"peak at most {most / 1e6:.0f} MB", figure, most, unit=text)


def _peak_of(program: Callable[[], Any]) -> float:
    tracemalloc.start()
    try:
        program()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
