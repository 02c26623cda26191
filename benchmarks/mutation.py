"""Programs that write into arrays, and what it costs those that do not.

A recurrence written element by element: a write costs the same however long the array is, in both
passes, while PyTorch's in-place assignment goes through the whole array. A five-point stencil that
updates its array in place; the row "numpy" is the program alone, without a gradient. And the
protection of plain arrays that a pullback keeps: the row "unprotected" is zyg without it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

import zyg
from benchmarks import network
from benchmarks.harness import Case, Peers, flat, times_faster, times_slower
from zyg.core import kept

LARGEST = 16000  # at the next size, PyTorch takes 18 s for one gradient


def recurrence(x):
    b = np.zeros_like(x)
    b[0] = x[0]
    for i in range(1, len(x)):
        b[i] = 0.9 * b[i - 1] + x[i]
    return np.sum(b * b)


def diffuse(u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.2 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return np.sum(u * u)


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    for n in (10, 20) if quick else (250, 1000, 4000, 16000, 64000):
        yield of_recurrence(peers, n)
    yield of_stencil(peers, *((8, 3) if quick else (256, 50)))
    yield of_protection("1000 x x = np.sin(x)*a, 100 elements", *chain(20 if quick else 1000))
    sizes, batch = ((8, 6, 4), 5) if quick else ((784, 256, 10), 256)
    yield of_protection(f"{'-'.join(map(str, sizes))}, batch {batch}", *mlp(sizes, batch))


def of_recurrence(peers: Peers, n: int) -> Case:
    x = np.sin(np.arange(n))
    programs = {"zyg": lambda: zyg.gradient(recurrence, x)[0]}
    if n <= LARGEST and (torch := peers.get("torch")):

        def with_torch():
            at = torch.tensor(x, requires_grad=True)
            b = torch.zeros_like(at)
            b[0] = at[0]
            for i in range(1, n):
                b[i] = 0.9 * b[i - 1] + at[i]
            torch.sum(b * b).backward()
            return at.grad.numpy()

        programs["torch"] = with_torch
    return Case(
        f"b[i] = .9*b[i-1] + x[i], n = {n}",
        programs,
        operations=n,
        targets=[flat(1.5, "b[i] = .9*b[i-1]"), times_faster("torch", 4)],
        note="torch left out: too slow at this size" if n > LARGEST else "",
    )


def of_stencil(peers: Peers, n: int, steps: int) -> Case:
    u = np.random.default_rng(0).normal(size=(n, n))

    def primal():
        diffuse(u.copy(), steps)

    programs = {"zyg": lambda: zyg.gradient(diffuse, u, steps)[0], "numpy": primal}
    if torch := peers.get("torch"):

        def with_torch():
            at = torch.tensor(u, requires_grad=True)
            v = at
            for _ in range(steps):
                inner = v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4 * v[1:-1, 1:-1]
                v = v + torch.nn.functional.pad(0.2 * inner, (1, 1, 1, 1))
            torch.sum(v * v).backward()
            return at.grad.numpy()

        programs["torch"] = with_torch
    return Case(
        f"stencil in place, {n} x {n}, {steps} steps",
        programs,
        targets=[times_slower("numpy", 6), times_slower("torch", 1)],
        note="numpy runs the program without a gradient; torch makes new arrays",
    )


def chain(n: int) -> tuple[Callable[..., Any], np.ndarray]:
    a = np.linspace(1.0, 1.3, 100)

    def f(x):
        for _ in range(n):
            x = np.sin(x) * a
        return np.sum(x)

    return f, np.linspace(0.1, 1.5, 100)


def mlp(sizes: tuple[int, int, int], batch: int) -> tuple[Callable[..., Any], dict[str, Any]]:
    rng = np.random.default_rng(0)
    inputs, hidden, outputs = sizes
    model = {
        "W1": rng.normal(size=(inputs, hidden)) / 28, "b1": np.zeros(hidden),
        "W2": rng.normal(size=(hidden, outputs)) / 16, "b2": np.zeros(outputs),
    }  # fmt: skip
    x, y = rng.uniform(size=(batch, inputs)), rng.integers(outputs, size=batch)
    return lambda model: network.loss(model, x, y), model


def of_protection(title: str, f: Callable[..., Any], x: Any) -> Case:
    def gradient():
        (g,) = zyg.gradient(f, x)
        return list(g.values()) if isinstance(g, dict) else g

    users = [m for m in _modules() if getattr(m, "keep", None) is kept.keep]

    def unprotected():
        protect = kept.keep
        for m in users:
            m.keep = lambda strand, a: a
        try:
            return gradient()
        finally:
            for m in users:
                m.keep = protect

    return Case(
        f"nothing written: {title}",
        {"zyg": gradient, "unprotected": unprotected},
        targets=[times_slower("unprotected", 1.03)],
        repeats=41,
    )


def _modules() -> list[ModuleType]:
    return [m for name, m in sys.modules.items() if name.startswith("zyg.")]
