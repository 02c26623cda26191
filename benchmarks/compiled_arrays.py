"""Array programs compiled, value and gradient, beside the traced engine and JAX.

The programs are those of `array_programs`. Where Python ran a call it is said below the table.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import zyg
from benchmarks import array_programs, array_programs_in_jax
from benchmarks.harness import Case, Peers, Result, Target, times_faster

TRACED = "zyg, traced"


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    jax = peers.get("jax")
    for name, (function, given) in array_programs.programs(quick).items():
        yield case(jax, name, function, given)
    others = [TRACED, "jax"] if jax else [TRACED]
    targets = [_ahead(other, bound) for other, bound in zip(others, (1.0, 3.0), strict=False)]
    yield Case("all array programs", {"zyg": lambda: None}, targets=targets)


def case(jax: Any, name: str, function: Callable[..., Any], given: tuple[Any, ...]) -> Case:
    wrt = tuple(k for k, x in enumerate(given) if np.asarray(x).dtype.kind == "f")
    compiled = zyg.compile(function, wrt=wrt)
    traced = array_programs_in_jax.by_names_of(zyg.numpy, function)

    def chosen(found: Any) -> Any:
        value, slopes = found
        return [value, *(slopes[k] for k in wrt)]

    programs = {
        "zyg": lambda: chosen(zyg.value_and_gradient(compiled, *given)),
        TRACED: lambda: chosen(zyg.value_and_gradient(traced, *given)),
    }
    targets = [times_faster(TRACED, 1.0)]
    if jax:
        programs["jax"] = _in_jax(jax, function, given, wrt)
        targets.append(times_faster("jax", 1.0))

    def note(_: Result) -> str:
        said = compiled.inspect(*given)
        stopped = said["stops"]
        return "" if said["native"] and not stopped else f"{name}: not native, stops {stopped}"

    return Case(name.replace("_", " "), programs, targets=targets, rtol=1e-6, repeats=40, note=note)


def _in_jax(jax: Any, function: Any, given: tuple[Any, ...], wrt: tuple[int, ...]) -> Any:
    places = [k for k, x in enumerate(given) if not isinstance(x, int)]
    f = array_programs_in_jax.of(jax, function)

    def of_arrays(*at: Any) -> Any:
        full = [*given]
        for k, x in zip(places, at, strict=True):
            full[k] = x
        return f(*full)

    jitted = jax.jit(jax.value_and_grad(of_arrays, tuple(map(places.index, wrt))))
    at = [jax.numpy.asarray(given[k]) for k in places]

    def run() -> Any:
        value, slopes = jitted(*at)
        return [np.asarray(value), *map(np.asarray, slopes)]

    return run


def _ahead(other: str, bound: float) -> Target:
    """The geometric mean of the ratios to another contestant."""

    def figure(_: Result, group: list[Result]) -> float | None:
        rows = [r for r in group if other in r.samples]
        ratios = [r.time(other) / r.time("zyg") for r in rows]
        return statistics.geometric_mean(ratios) if ratios else None

    return Target("zyg", f"{bound:g}x {other}, geometric mean", figure, bound, at_least=True)
