"""A scalar program: 1000 times ``r = r*x + 0.5``, two operations each; the gradient in x."""

from __future__ import annotations

from collections.abc import Iterator

import zyg
from benchmarks.harness import Case, Peers, at_most, times_faster


def polynomial(x, n):
    r = x
    for _ in range(n):
        r = r * x + 0.5
    return r


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    n = 20 if quick else 1000
    x = 0.9
    programs = {"zyg": lambda: zyg.gradient(polynomial, x, n)[0]}
    if torch := peers.get("torch"):

        def with_torch():
            at = torch.tensor(x, dtype=torch.float64, requires_grad=True)
            polynomial(at, n).backward()
            return at.grad.numpy()

        programs["torch"] = with_torch
    if autograd := peers.get("autograd"):
        slope = autograd.grad(polynomial)
        programs["autograd"] = lambda: slope(x, n)
    yield Case(
        f"{n} x r = r*x + 0.5",
        programs,
        operations=2 * n,
        targets=[at_most(0.6e-6), times_faster("torch", 13), times_faster("autograd", 55)],
    )
