"""`vmap`: the gradient of a small network for each of 256 examples, beside the same by hand.

"by hand" is the reverse pass written in NumPy for all examples at once; "of the sum" is zyg's
gradient of a loss of all examples, written with matrices, which has one array for each parameter;
in the second case what maps the gradient is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import zyg
from benchmarks.harness import Case, Peers, times_slower

_EXAMPLES = 256


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    rng = np.random.default_rng(0)
    p = {
        "w1": rng.normal(size=(16, 8)) / 3, "b1": np.zeros(16),
        "w2": rng.normal(size=(4, 16)) / 3, "b2": np.zeros(4),
    }  # fmt: skip
    x, y = rng.normal(size=(_EXAMPLES, 8)), rng.normal(size=(_EXAMPLES, 4))

    def loss(p, x, y):
        h = np.tanh(p["w1"] @ x + p["b1"])
        return np.sum((p["w2"] @ h + p["b2"] - y) ** 2)

    def whole(p, x, y):
        h = np.tanh(x @ p["w1"].T + p["b1"])
        return np.sum((h @ p["w2"].T + p["b2"] - y) ** 2)

    def by_hand():
        h = np.tanh(x @ p["w1"].T + p["b1"])
        e = 2 * (h @ p["w2"].T + p["b2"] - y)
        h_bar = (e @ p["w2"]) * (1 - h * h)
        return {
            "w1": h_bar[:, :, None] * x[:, None, :], "b1": h_bar,
            "w2": e[:, :, None] * h[:, None, :], "b2": e,
        }  # fmt: skip

    def of_the_sum():
        zyg.gradient(whole, p, x, y)

    def loop():
        for pair in zip(x, y, strict=True):
            zyg.gradient(loss, p, *pair)

    mapped = zyg.vmap(zyg.grad(loss), (None, 0, 0))
    yield Case(
        "gradients of examples",
        {
            "zyg": lambda: mapped(p, x, y),
            "by hand": by_hand,
            "of the sum": of_the_sum,
            "a loop": loop,
        },
        targets=[times_slower("by hand", 3), times_slower("of the sum", 3)],
    )
    compiled = zyg.compile(mapped)
    yield Case(
        "gradients of examples, compiled",
        {"zyg": lambda: compiled(p, x, y), "by hand": by_hand},
        targets=[times_slower("by hand", 3)],
    )
