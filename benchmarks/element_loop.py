"""A loop over the elements of an array: ``s += x[i]*x[i]``, per element, for growing arrays.

PyTorch and autograd make a dense array of zeros for each element that is read, so their cost per
element grows with the array. They are left out where one gradient would take many seconds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import zyg
from benchmarks.harness import Case, Peers, flat, times_faster

LARGEST = {"torch": 16000, "autograd": 4000}  # at the next size, 10 s and 5 s for one gradient


def squares(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * x[i]
    return s


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    for n in (10, 20) if quick else (250, 1000, 4000, 16000, 64000):
        yield case(peers, n)


def case(peers: Peers, n: int) -> Case:
    x = np.linspace(-1.0, 1.0, n)
    programs = {"zyg": lambda: zyg.gradient(squares, x)[0]}
    if n <= LARGEST["torch"] and (torch := peers.get("torch")):

        def with_torch():
            at = torch.tensor(x, requires_grad=True)
            squares(at).backward()
            return at.grad.numpy()

        programs["torch"] = with_torch
    if n <= LARGEST["autograd"] and (autograd := peers.get("autograd")):
        slope = autograd.grad(squares)
        programs["autograd"] = lambda: slope(x)
    left_out = [name for name, most in LARGEST.items() if n > most]
    return Case(
        f"s += x[i]*x[i], n = {n}",
        programs,
        operations=n,
        targets=[flat(1.5, "s += x[i]*x[i]"), times_faster("torch", 4)],
        note=f"{' and '.join(left_out)} left out: too slow at this size" if left_out else "",
    )
