"""Broadcast kernels against hand-written ones and peers: value and gradient of scalar functions.

The HM-LSTM update of the paper that the method is from (see zyg.broadcasting), functions of many
operands, chains, a pullback with sums, and the first call of a process. `zyg` is what a user would
write, with the tracer; "kernels" leaves the tracer out. Some rows need one pass over the operands,
as the cotangent is known beforehand: they are compared with each other only. NumPy computes no
gradient.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import zyg
from benchmarks.cell import sigmoid, update, update_arrays
from benchmarks.harness import Case, Peers, Result, Target, at_most, in_units, times_faster
from benchmarks.imports import ENVIRONMENT, fresh
from zyg.broadcasting import calls
from zyg.kernels.scalar import read_for

Program = Callable[[], Any]
MILLION = 1024, 1024
RTOL = {np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-9}


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    with zyg.config(workers=0):
        for dtype in (np.float32,) if quick else (np.float32, np.float64):
            for n in (8,) if quick else (512, 1024, 2048):
                yield hmlstm(peers, n, np.dtype(dtype), quick)
        shape = (8, 8) if quick else MILLION
        for count in (2,) if quick else (1, 2, 4, 8, 12, 16, 20):
            yield arity(peers, shape, count)
        for length in (2,) if quick else (1, 4, 16):
            yield chain(peers, shape, length)
        yield layer(peers, shape)
    yield from fresh_processes(quick)


# One problem, written for all


@dataclass
class Problem:
    """The gradient of a scalar function at arrays, some of which are constant."""

    scalar: Callable[..., Any]
    on_arrays: Callable[..., Any]  # the same of a module like NumPy, and arrays
    wrt: list[np.ndarray]
    y_bar: np.ndarray
    constants: list[np.ndarray] = field(default_factory=list)

    def traced(self, mode: str = "auto") -> Program:
        def program() -> Any:
            _y, back = zyg.pullback(
                lambda *xs: zyg.broadcast(self.scalar, *xs, *self.constants, mode=mode), *self.wrt
            )
            return back(self.y_bar)

        return program

    def one_pass(self) -> Program:
        F = zyg.elementwise(self.scalar)  # noqa: N806 - as in its docstring
        return lambda: F.one_pass(self.y_bar, *self.wrt, *self.constants)[1][: len(self.wrt)]

    def untraced(self, mode: str) -> Program:
        """What the tracer calls: the rule and its pullback, without what belongs to the tracer."""
        arrays = [*self.wrt, *self.constants]
        read = read_for(self.scalar, ("float",) * len(arrays), None, lambda x: x, lambda x: x)
        call = calls.KernelCall(read.kernel, tuple(range(len(self.wrt))), mode)

        def program() -> Any:
            _y, back = calls.kernel_adjoint(call, *arrays)
            return back(self.y_bar, False)[1 : 1 + len(self.wrt)]

        return program

    def numpy(self) -> Program:
        def program() -> None:
            self.on_arrays(np, *self.wrt, *self.constants)

        return program

    def autograd(self) -> Program:
        import autograd.numpy as anp
        from autograd.differential_operators import make_vjp

        places = [*range(len(self.wrt))]
        vjp = make_vjp(lambda *xs: self.on_arrays(anp, *xs, *self.constants), places)
        return lambda: vjp(*self.wrt)[0](self.y_bar)

    def torch(self, torch: Any, compiled: bool = False) -> Program:
        at = [torch.from_numpy(x).requires_grad_() for x in self.wrt]
        y_bar, *constants = map(torch.from_numpy, (self.y_bar, *self.constants))

        def f(*xs):
            return self.on_arrays(torch, *xs, *constants)

        f = torch.compile(f, dynamic=False) if compiled else f
        return lambda: [x_bar.numpy() for x_bar in torch.autograd.grad(f(*at), at, y_bar)]

    def jax(self, jax: Any) -> dict[str, Program]:
        """The value and the gradient by two programs, and by one."""
        at, constants, y_bar = jax.tree.map(
            jax.numpy.asarray, (self.wrt, self.constants, self.y_bar)
        )

        def forward(at, constants):
            return jax.vjp(lambda *xs: self.on_arrays(jax.numpy, *xs, *constants), *at)

        def both(at, constants, y_bar):
            y, back = forward(at, constants)
            return y, back(y_bar)

        def pull(back, y_bar):
            return back(y_bar)

        first, second, only = map(jax.jit, (forward, pull, both))

        def two_programs() -> Any:
            y, back = first(at, constants)
            return [*map(np.asarray, jax.block_until_ready((y, second(back, y_bar)))[1])]

        def one_program() -> Any:
            return [*map(np.asarray, jax.block_until_ready(only(at, constants, y_bar))[1])]

        return {"jax, two programs": two_programs, "jax, one program": one_program}


def owned(stack: np.ndarray, dtype: Any = np.float32) -> list[np.ndarray]:
    """The arrays of a stack, each with memory of its own: what the tracer keeps, it copies else."""
    return [x.astype(dtype) for x in stack]


def programs(peers: Peers, problem: Problem) -> dict[str, Program]:
    """In two phases, as in a program where the cotangent comes later, and in one."""
    found = {"zyg": problem.traced(), "one pass": problem.one_pass()}
    found["numpy value"] = problem.numpy()
    if peers.get("autograd"):
        found["autograd"] = problem.autograd()
    if torch := peers.get("torch"):
        found["torch"] = problem.torch(torch)
    if jax := peers.get("jax"):
        found |= problem.jax(jax)
    return found


def compiled_by_torch(peers: Peers, problem: Problem) -> dict[str, Program]:
    """With torch.compile, where there is a compiler for it."""
    torch = peers.get("torch")
    if not torch:
        return {}
    program = problem.torch(torch, compiled=True)
    try:
        program()
    except Exception as error:  # what it raises without a compiler differs from version to version
        peers.skipped["torch.compile"] = f"fails ({str(error).strip().splitlines()[0]})"
        return {}
    return {"torch.compile": program}


def faster(name: str, peer: str, factor: float) -> Target:
    return Target(
        peer, f"{name} {factor:g}x faster", lambda r, _: r.time(peer) >= factor * r.time(name)
    )


def within(name: str, limit: str, factor: float) -> Target:
    return Target(
        limit, f"{name} at most {factor:g}x", lambda r, _: r.time(name) <= factor * r.time(limit)
    )


# A to D


def hmlstm(peers: Peers, n: int, dtype: np.dtype, quick: bool) -> Case:
    from benchmarks import kernels_by_hand

    rng = np.random.default_rng(0)
    *wrt, y_bar = owned(rng.normal(size=(5, n, n)), dtype)
    controls = owned(rng.integers(0, 2, size=(2, n)), dtype)
    problem = Problem(update, update_arrays, wrt, y_bar, controls)
    found = programs(peers, problem)
    found |= {f"{mode} mode": problem.traced(mode) for mode in ("cache", "recompute")}
    if dtype == np.float32 and not quick:
        found |= compiled_by_torch(peers, problem)
    found |= {f"kernels, {mode}": problem.untraced(mode) for mode in ("cache", "recompute")}
    by_hand = kernels_by_hand.programs(wrt, controls, y_bar)
    found |= {f"by hand, {way}": program for way, program in by_hand.items()}
    pairs = [(f"kernels, {mode}", f"by hand, {mode}") for mode in ("cache", "recompute")]
    targets = [within(*pair, 1.1) for pair in [*pairs, ("one pass", "by hand, one pass")]]
    note: Callable[[Result], str] | str = ""
    if n == 1024 and dtype == np.float32:
        targets += [
            times_faster("autograd", 6), times_faster("torch", 2.5),
            times_faster("torch.compile", 2), times_faster("jax, two programs", 4),
            faster("one pass", "jax, one program", 1.5), within("zyg", "numpy value", 1.0),
        ]  # fmt: skip
    if n == 2048:
        memory = Memory(n * n * dtype.itemsize, 2**26)
        found["triad"] = kernels_by_hand.triad(memory.triad_size)
        targets.append(memory.target("one pass", 0.7))
        note = memory.note
    return Case(
        f"HM-LSTM update, {n} x {n}, {dtype}", found, targets=targets, rtol=RTOL[dtype], note=note
    )


# How many arrays the update reads and writes for value and gradient; writes count twice, as the
# processor reads a line before it writes to it.
MOVED = {"one pass": 5 + 2 * 5, "kernels, recompute": 4 + 2 + 5 + 2 * 4}


@dataclass
class Memory:
    """How much of the machine's bandwidth a program has; STREAM's triad shows what there is."""

    array: int  # bytes
    triad_size: int  # numbers of 4 bytes

    def bandwidth(self, result: Result, name: str) -> float:
        if name == "triad":
            return (2 + 2) * 4 * self.triad_size / result.time(name)
        return MOVED[name] * self.array / result.time(name)

    def target(self, name: str, share: float) -> Target:
        return Target(
            "triad",
            f"{name}: {share:.0%} of its bandwidth",
            lambda r, _: self.bandwidth(r, name) >= share * self.bandwidth(r, "triad"),
        )

    def note(self, result: Result) -> str:
        names = (*MOVED, "triad")
        return ", ".join(f"{n} {self.bandwidth(result, n) / 1e9:.1f} GB/s" for n in names)


def folded(x):
    return -x if x > 0 else x


def product(*xs):
    y = 1.0
    for x in xs:
        y = y * math.tanh(folded(x))
    return y


def product_of_arrays(np: Any, *xs):
    y = 1.0
    for x in xs:
        y = y * np.tanh(np.where(x > 0, -x, x))
    return y


def arity(peers: Peers, shape: tuple[int, int], count: int) -> Case:
    rng = np.random.default_rng(0)
    signs = rng.choice([-1, 1], size=(1 + count, *shape))
    y_bar, *wrt = owned(signs * rng.uniform(0.5, 2.0, size=signs.shape))
    found = programs(peers, Problem(product, product_of_arrays, wrt, y_bar))
    target = faster("one pass", "jax, one program", 4)
    return Case(
        f"product of {count} tanh, {shape[0]} x {shape[1]}",
        found,
        targets=[target] if count == 20 else (),
        rtol=RTOL[y_bar.dtype],
    )


def chain(peers: Peers, shape: tuple[int, int], length: int) -> Case:
    def scalar(x):
        for _ in range(length):
            x = sigmoid(x)
        return x

    def on_arrays(np: Any, x):
        for _ in range(length):
            x = 1 / (1 + np.exp(-x))
        return x

    x, y_bar = owned(np.random.default_rng(0).normal(size=(2, *shape)))
    found = programs(peers, Problem(scalar, on_arrays, [x], y_bar))
    return Case(f"chain of {length} sigmoids, {shape[0]} x {shape[1]}", found, rtol=RTOL[x.dtype])


def layer(peers: Peers, shape: tuple[int, int]) -> Case:
    def on_arrays(np: Any, x, w, b):
        return np.tanh(w * x + b)

    rng = np.random.default_rng(0)
    x, y_bar = owned(rng.normal(size=(2, *shape)))
    w, b = owned(rng.normal(size=(2, shape[1])))
    problem = Problem(lambda x, w, b: math.tanh(w * x + b), on_arrays, [x, w, b], y_bar)
    found = programs(peers, problem)
    return Case(f"tanh(w*x + b) with sums, {shape[0]} x {shape[1]}", found, rtol=RTOL[x.dtype])


# E


@dataclass
class FirstGradient:
    """The first gradient of the update in a new process, with kernels from a directory."""

    directory: str | None = None  # None: an empty one
    steps: list[dict[str, float]] = field(default_factory=list)

    def __call__(self) -> None:
        with tempfile.TemporaryDirectory() as empty:
            environment = {**ENVIRONMENT, "ZYG_CACHE_DIR": self.directory or empty}
            command = [sys.executable, "-m", "benchmarks.cell"]
            done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
        self.steps.append(json.loads(done.stdout))

    def time(self, step: str) -> float:
        return statistics.median(steps[step] for steps in self.steps[1:])  # the first fills it

    def note(self, result: Result) -> str:
        return ", ".join(f"{step} {in_units(self.time(step))}" for step in self.steps[0])


def fresh_processes(quick: bool) -> Iterator[Case]:
    if not quick:
        first = FirstGradient()
        target = Target(
            "zyg", "1 s for kernels", lambda r, _: first.time("make the kernels") <= 1.0
        )
        title = "first gradient of a process, nothing on disk"
        yield Case(title, {"zyg": first}, targets=[target], repeats=5, note=first.note)
    with tempfile.TemporaryDirectory() as directory:
        again = FirstGradient(directory)
        found = {"zyg": again, "import numpy": lambda: fresh("numpy")}
        title = "first gradient of a process, kernels on disk"
        yield Case(
            title, found, targets=[at_most(0.4)], repeats=1 if quick else 15, note=again.note
        )
