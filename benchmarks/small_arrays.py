"""Small arrays: 1000 times ``x = np.sin(x)*a`` on 100 elements; two operations each.

The row "numpy" does NumPy's part of the same work by hand: the sines and products of the forward
pass, the cosines and products of the reverse pass. What zyg takes beyond it is its own cost.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import zyg
from benchmarks.harness import Case, Peers, overhead, times_faster


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    n = 20 if quick else 1000
    x = np.linspace(0.1, 1.5, 100)
    a = np.linspace(1.0, 1.3, 100)

    def chain(x, np=np):
        for _ in range(n):
            x = np.sin(x) * a
        return np.sum(x)

    def by_hand():
        seen = []
        at = x
        for _ in range(n):
            seen.append(at)
            at = np.sin(at) * a
        np.sum(at)
        bar = np.ones_like(at)
        for at in reversed(seen):
            bar = bar * a
            bar = bar * np.cos(at)
        return bar

    programs = {"zyg": lambda: zyg.gradient(chain, x)[0], "numpy": by_hand}
    if torch := peers.get("torch"):
        a_torch = torch.from_numpy(a)

        def with_torch():
            at = torch.tensor(x, requires_grad=True)
            y = at
            for _ in range(n):
                y = torch.sin(y) * a_torch
            y.sum().backward()
            return at.grad.numpy()

        programs["torch"] = with_torch
    if autograd := peers.get("autograd"):
        import autograd.numpy as anp

        slope = autograd.grad(lambda x: chain(x, anp))
        programs["autograd"] = lambda: slope(x)
    yield Case(
        f"{n} x x = np.sin(x)*a, 100 elements",
        programs,
        operations=2 * n,
        targets=[
            overhead(2e-6, "numpy"),
            times_faster("torch", 2),
            times_faster("autograd", 3.2),
        ],
    )
