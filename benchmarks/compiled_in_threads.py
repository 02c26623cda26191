"""Loops over `prange`, value and gradient: with one thread and with two, by the clock on the wall.

All rows of zyg's are the same bits. "range" is the same function compiled without threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import zyg
from benchmarks.harness import WALL, Case, Peers, times_faster

ONE = "one thread"


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    r = np.random.default_rng(16).standard_normal
    n = 500 if quick else 4000
    yield case(perceptron, (r((n, 200)), r(200)))
    yield case(energies, (r(n // 4),))
    yield case(iterated, (r(n * 5), 40))


def case(function: Callable[..., Any], given: tuple[Any, ...]) -> Case:
    compiled = {True: zyg.compile(function, parallel=True), False: zyg.compile(function)}

    def gradient(parallel: bool, others: int) -> Any:
        with zyg.config(workers=others, fallback="error"):
            value, gradients = zyg.value_and_gradient(compiled[parallel], *given)
        return [value, *(g for g in gradients if isinstance(g, np.ndarray))]

    programs = {
        "zyg": lambda: gradient(True, 1),
        ONE: lambda: gradient(True, 0),
        "range": lambda: gradient(False, 0),
    }
    targets = [times_faster(ONE, 1.5)]
    return Case(function.__name__, programs, targets=targets, clock=WALL, rtol=1e-9)


def perceptron(a, w):  # type: ignore[no-untyped-def]
    s = 0.0
    for i in zyg.prange(a.shape[0]):
        t = 0.0
        for j in range(len(w)):
            t += a[i, j] * np.sin(w[j])
        s += np.tanh(t)
    return s


def energies(x):  # type: ignore[no-untyped-def]
    s = 0.0
    for i in zyg.prange(len(x)):
        for j in range(len(x)):
            s += np.exp(-((x[i] - x[j]) ** 2))
    return s


def iterated(x, n):  # type: ignore[no-untyped-def]
    out = np.zeros_like(x)
    for i in zyg.prange(len(x)):
        y = x[i]
        for _ in range(n):
            y = np.sin(y) + 0.1 * y * y
        out[i] = y
    return np.sum(out * out)
