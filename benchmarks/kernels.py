"""Broadcast kernels against hand-written ones and peers: value and gradient of scalar functions.

The HM-LSTM update of the paper that the method is from (see zyg.broadcasting), functions of many
operands, chains, a pullback with sums. `zyg` is what a user would write, with the tracer, and could
pull back again; so could the best by hand. "one pass" knows the cotangent beforehand, as JAX in one
program does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import zyg
from benchmarks import kernels_by_hand
from benchmarks.cell import sigmoid, sigmoid_of, update, update_arrays
from benchmarks.harness import Case, Peers, Result, Target, times_faster, times_slower
from benchmarks.kernel_problem import RTOL, Problem, owned

MILLION = 1024, 1024
BY_HAND = {512: 1.5, 1024: 1.15, 2048: 1.1}
REUSABLE = "by hand, recompute", "by hand, kept"


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    with zyg.config(workers=0):
        for dtype in (np.float32,) if quick else (np.float32, np.float64):
            for n in (8,) if quick else BY_HAND:
                yield hmlstm(peers, n, np.dtype(dtype))
        shape = (8, 8) if quick else MILLION
        for length in (2,) if quick else (1, 4, 16):
            yield chain(peers, shape, length)
        for count in (2,) if quick else (1, 4, 20):
            yield arity(peers, shape, count)
        yield layer(peers, shape)


def hmlstm(peers: Peers, n: int, dtype: np.dtype) -> Case:
    rng = np.random.default_rng(0)
    *wrt, y_bar = owned(rng.normal(size=(5, n, n)), dtype)
    controls = owned(rng.integers(0, 2, size=(2, n)), dtype)
    problem = Problem(update, update_arrays, wrt, y_bar, controls)
    by_hand = kernels_by_hand.programs(wrt, controls, y_bar)
    found = {"zyg": problem.traced(), "one pass": problem.one_pass()}
    found |= {f"by hand, {way}": program for way, program in by_hand.items()}
    found |= problem.jax(peers)
    targets = [times_faster("jax, one program", 1.0)]
    note: Callable[[Result], str] | str = ""
    if dtype == np.float32:
        targets.append(times_slower("by hand, best", BY_HAND.get(n, math.inf)))
        if n == 1024:
            found |= {"numpy value": problem.numpy()}
            found |= {f"{mode} mode": problem.traced(mode) for mode in ("cache", "recompute")}
            found |= problem.autograd(peers) | problem.torch(peers)
            found |= problem.torch_compile(peers)
            targets += [times_faster("torch.compile", 2), times_faster("torch", 4)]
        if n == 2048:
            memory = Memory(n * n * dtype.itemsize, 2**26)
            found["triad"] = kernels_by_hand.triad(memory.triad_size)
            note = memory.note
    return Case(
        f"HM-LSTM update, {n} x {n}, {dtype}",
        found,
        targets=targets,
        rtol=RTOL[dtype],
        note=note,
        best={"by hand, best": REUSABLE},
    )


# How many arrays the update reads and writes for value and gradient in one pass; writes count
# twice, as the processor reads a line before it writes to it.
MOVED = 5 + 2 * 5


@dataclass
class Memory:
    """How much of the machine's bandwidth one pass has; STREAM's triad shows what there is."""

    array: int  # bytes
    triad_size: int  # numbers of 4 bytes

    def note(self, result: Result) -> str:
        speeds = {
            name: MOVED * self.array / result.time(name)
            for name in ("one pass", "by hand, one pass")
        }
        speeds["triad"] = (2 + 2) * 4 * self.triad_size / result.time("triad")
        return ", ".join(f"{name} {speed / 1e9:.1f} GB/s" for name, speed in speeds.items())


def folded(x):
    return -x if x > 0 else x


def product(*xs):
    y = 1.0
    for x in xs:
        y = y * math.tanh(folded(x))
    return y


def product_of_arrays(np, *xs):
    y = 1.0
    for x in xs:
        y = y * np.tanh(np.where(x > 0, -x, x))
    return y


def beside_peers(peers: Peers, title: str, problem: Problem, targets: list[Target]) -> Case:
    found = {
        "zyg": problem.traced(),
        "one pass": problem.one_pass(),
        "numpy value": problem.numpy(),
    }
    found |= problem.torch(peers) | problem.jax(peers)
    return Case(title, found, targets=targets, rtol=RTOL[problem.y_bar.dtype])


def arity(peers: Peers, shape: tuple[int, int], count: int) -> Case:
    rng = np.random.default_rng(0)
    signs = rng.choice([-1, 1], size=(1 + count, *shape))
    y_bar, *wrt = owned(signs * rng.uniform(0.5, 2.0, size=signs.shape))
    problem = Problem(product, product_of_arrays, wrt, y_bar)
    targets = [times_faster("jax, one program", 4)] if count == 20 else []
    return beside_peers(
        peers, f"product of {count} tanh, {shape[0]} x {shape[1]}", problem, targets
    )


def chain(peers: Peers, shape: tuple[int, int], length: int) -> Case:
    def scalar(x):
        for _ in range(length):
            x = sigmoid(x)
        return x

    def on_arrays(np, x):
        sigmoids = sigmoid_of(np)
        for _ in range(length):
            x = sigmoids(x)
        return x

    x, y_bar = owned(np.random.default_rng(0).normal(size=(2, *shape)))
    title = f"chain of {length} sigmoids, {shape[0]} x {shape[1]}"
    problem = Problem(scalar, on_arrays, [x], y_bar)
    return beside_peers(peers, title, problem, [times_faster("jax, one program", 1.0)])


def layer(peers: Peers, shape: tuple[int, int]) -> Case:
    def on_arrays(np, x, w, b):
        return np.tanh(w * x + b)

    rng = np.random.default_rng(0)
    x, y_bar = owned(rng.normal(size=(2, *shape)))
    w, b = owned(rng.normal(size=(2, shape[1])))
    problem = Problem(lambda x, w, b: math.tanh(w * x + b), on_arrays, [x, w, b], y_bar)
    return beside_peers(peers, f"tanh(w*x + b) with sums, {shape[0]} x {shape[1]}", problem, [])
