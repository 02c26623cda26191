"""The update of an HM-LSTM cell, of numbers and of arrays; run as a program, its first gradient.

The cell keeps its state (COPY), starts it anew (FLUSH) or updates it, as two control numbers say:
J. Chung, S. Ahn and Y. Bengio, Hierarchical Multiscale Recurrent Neural Networks, 2017.
``python -m benchmarks.cell`` prints how long the steps to the first gradient of a process take.
"""

from __future__ import annotations

import importlib
import json
import math
import time
from collections.abc import Callable
from typing import Any


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def update(c, f, i, g, z1, z2):
    if z1 == 1:  # FLUSH
        return sigmoid(i) * math.tanh(g)
    if z2 == 0:  # COPY
        return c
    return sigmoid(f) * c + sigmoid(i) * math.tanh(g)


def sigmoid_of(np: Any) -> Callable[[Any], Any]:
    """Of arrays: the library's own, where it has one."""
    if np.__name__ == "jax.numpy":
        return importlib.import_module("jax").nn.sigmoid
    return getattr(np, "sigmoid", lambda x: 1 / (1 + np.exp(-x)))


def update_arrays(np: Any, c, f, i, g, z1, z2):
    sigmoids = sigmoid_of(np)
    fresh = sigmoids(i) * np.tanh(g)
    return np.where(z1 == 1, fresh, np.where(z2 == 0, c, sigmoids(f) * c + fresh))


def main() -> None:
    marks = [time.perf_counter()]

    def since_mark() -> float:
        marks.append(time.perf_counter())
        return marks[-1] - marks[-2]

    import zyg

    seconds = {"import zyg": since_mark()}
    F = zyg.elementwise(update)  # noqa: N806 - as in its docstring
    F.source()
    seconds["read and differentiate"] = since_mark()

    import numpy as np

    arrays = np.full((4, 8, 8), 0.5, np.float32)
    z1, z2 = np.zeros((2, 8), np.float32)
    _, back = zyg.pullback(lambda *xs: F(*xs, z1, z2), *arrays)
    back(arrays[0])
    calls = since_mark()

    from zyg.compiler.back.compiled import _kernels

    made = sum(kernel.seconds for kernel in _kernels.values())
    seconds["make the kernels"], seconds["the rest of the gradient"] = made, calls - made
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
