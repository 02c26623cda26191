"""Jacobians and Hessians of compiled functions: beside JAX's, in its faster mode, and beside C++.

The first two are those of the array language that was differentiated by forward mode; bundle
adjustment takes its Jacobians inside the compiled function, for each observation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import zyg
from benchmarks import bundle_adjustment
from benchmarks.harness import Case, Peers, Target, times_faster

CPP = "C++ by hand"
_FIXED = np.random.default_rng(17).standard_normal(1000)


def plus(a):
    return a + _FIXED[: len(a)]


def scaled(s):
    return _FIXED * s


def chained_sines(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += np.sin(x[i] * x[i + 1])
    return total


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    r = np.random.default_rng(16).standard_normal
    n = 12 if quick else 200
    yield _case(peers, "Jacobian of a sum of vectors of 200 by one", zyg.jacobian, plus, r(n),
                lambda jax: (lambda a: a + _FIXED[:n], [jax.jacfwd, jax.jacrev]), 1.0)  # fmt: skip
    yield _case(peers, "Jacobian of 1000 numbers scaled, by the factor", zyg.jacobian, scaled, 1.5,
                lambda jax: (lambda s: _FIXED * s, [jax.jacfwd, jax.jacrev]), 2.0)  # fmt: skip

    def sines(jax: Any) -> Any:
        return lambda x: jax.numpy.sum(jax.numpy.sin(x[:-1] * x[1:])), [jax.hessian]

    yield _case(peers, "Hessian of a chain of 50 sines", zyg.hessian, chained_sines,
                r(6 if quick else 50), sines, 1.0)  # fmt: skip
    yield _bundle(quick)


def _case(
    peers: Peers,
    title: str,
    verb: Callable[..., Any],
    f: Callable[..., Any],
    x: Any,
    theirs: Callable[[Any], tuple[Callable[..., Any], list[Callable[..., Any]]]],
    ahead: float,
) -> Case:
    compiled = zyg.compile(f)
    programs: dict[str, Callable[[], Any]] = {"zyg": lambda: verb(compiled, x)}
    best: dict[str, list[str]] = {}
    if jax := peers.get("jax"):
        g, ways = theirs(jax)
        for way in ways:
            jitted = jax.jit(way(g))
            programs[f"jax {way.__name__}"] = lambda q=jitted: jax.block_until_ready(q(x))
        best["jax"] = [f"jax {way.__name__}" for way in ways]
    targets: list[Target] = [times_faster("jax", ahead)] if best else []
    return Case(title, programs, targets=targets, best=best)


def _bundle(quick: bool) -> Case:
    given = bundle_adjustment.problem(quick)
    compiled = zyg.compile(bundle_adjustment.derivatives)
    programs: dict[str, Callable[[], Any]] = {"zyg": lambda: compiled(*given)}
    written = bundle_adjustment.by_hand(given)
    if written is not None:
        programs[CPP] = written
    return Case(
        "bundle adjustment, Jacobians inside", programs, operations=len(given[-1]),
        targets=[times_faster(CPP, 1.3)] if written else [],
        note="per observation, of which 1000 stay in the caches"
        if written else "no C++ compiler, so not beside C++",
    )  # fmt: skip
