"""Kernels on operands that do not lie row by row, and on next to no elements.

Each layout is compared with contiguous operands of the same shape, and the same function, a sigmoid
of products. On 4 x 4 numbers a call is Python's own cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import zyg
from benchmarks.cell import sigmoid, update
from benchmarks.harness import Case, Peers, at_most, times_slower
from benchmarks.kernel_problem import Problem, owned


def gate(x, w):
    return sigmoid(x * w)


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    n = 8 if quick else 1024
    with zyg.config(workers=0):
        yield from layouts(n)
        yield from small_calls(peers)


def layouts(n: int) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(n, 2 * n)).astype(np.float32)
    rows = rng.normal(size=(n * n // 3, 3)).astype(np.float32)
    x, w = owned(rng.normal(size=(2, n, n)))
    for title, bound, operands in (
        (f"({len(rows)}, 3) * (3,)", 2, (rows, w[0, :3].copy())),
        (f"every second of ({n}, {2 * n})", 2, (wide[:, ::2], w)),
        (f"transposed, ({n}, {n})", 3, (x.T, w)),
    ):
        packed = [a.copy() for a in np.broadcast_arrays(*operands)]
        y = np.ones_like(packed[0])
        for what, program in (("value", value), ("value and gradient", gradient)):
            yield Case(
                f"kernel, {title}, {what}",
                {"zyg": partial(program, y, *operands), "contiguous": partial(program, y, *packed)},
                targets=[times_slower("contiguous", bound)],
                rtol=1e-6,
            )


def value(out, x, w):
    return zyg.broadcast(gate, x, w, out=out)


def gradient(y_bar, x, w):
    _y, back = zyg.pullback(lambda x: zyg.broadcast(gate, x, w), x)
    return back(y_bar)


def small_calls(peers: Peers) -> Iterator[Case]:
    *wrt, y_bar = owned(np.random.default_rng(0).normal(size=(5, 4, 4)))
    controls = owned(np.array([[0, 1, 0, 1], [1, 1, 0, 0]]))
    F = zyg.elementwise(update)  # noqa: N806 - as in its docstring
    yield Case(
        "kernel call on 4 x 4, no gradient",
        {"zyg": lambda: F(*wrt, *controls)},
        targets=[at_most(8e-6)],
    )
    problem = Problem(update, lambda np, *xs: None, wrt, y_bar, controls)
    programs = {"zyg": problem.traced()}
    yield Case("kernel call on 4 x 4, value and gradient", programs, targets=[at_most(110e-6)])
