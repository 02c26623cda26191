"""Whole programs on small arrays: filters, simulations, training. One source runs on all systems.

Each is written once, for a module `np` that is NumPy, autograd's or PyTorch, and a `gradient` that
nests. What is nobody's own way of writing it is in `System`. Every program gives its gradients, or
what it found by them, which all systems have to agree on before they are timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import zyg
from benchmarks.harness import Case, Peers, leaves, times_faster

Program = Callable[[], Any]


@dataclass(frozen=True)
class System:
    np: Any
    gradient: Callable[[Callable[..., Any], Any], Any]  # of f at an array, a list or a dict
    array: Callable[[np.ndarray], Any]
    sigmoid: Callable[[Any], Any]

    def arrays(self, *given: np.ndarray) -> list[Any]:
        return [self.array(a) for a in given]


def of_zyg() -> System:
    return System(np, lambda f, x: zyg.gradient(f, x)[0], lambda a: a, logistic(np))


def of_autograd(autograd: Any) -> System:
    import autograd.numpy as anp

    return System(anp, lambda f, x: autograd.grad(f)(x), lambda a: a, logistic(anp))


def of_torch(torch: Any) -> System:
    def gradient(f: Callable[..., Any], x: Any) -> Any:
        before = leaves(x)
        nested = before[0].requires_grad
        at = before if nested else [a.detach().requires_grad_() for a in before]
        slopes = torch.autograd.grad(f(filled(x, at)), at, create_graph=nested)
        return filled(x, [*slopes])

    return System(torch, gradient, torch.from_numpy, torch.sigmoid)


def logistic(np: Any) -> Callable[[Any], Any]:
    return lambda x: 1 / (1 + np.exp(-x))


def filled(tree: Any, with_leaves: list[Any]) -> Any:
    """The container with other arrays."""
    if isinstance(tree, dict):
        return dict(zip(tree, with_leaves, strict=True))
    return with_leaves if isinstance(tree, list) else with_leaves[0]


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    systems = {"zyg": of_zyg()}
    if torch := peers.get("torch"):
        systems["torch"] = of_torch(torch)
    if autograd := peers.get("autograd"):
        systems["autograd"] = of_autograd(autograd)
    for title, (program, operations, size) in PROGRAMS.items():
        n = 2 if quick else size
        programs = {name: program(system, n) for name, system in systems.items()}
        targets = [times_faster("torch", 1.0), times_faster("autograd", 1.7)]
        yield Case(title, programs, operations=operations(n), targets=targets, rtol=1e-8)


def kalman(on: System, steps: int) -> Program:
    """The likelihood of a path in the plane, by its noises and where it begins."""
    rng = np.random.default_rng(0)
    np_, dt = on.np, 0.1
    F = np.eye(4) + dt * np.eye(4, k=2)  # noqa: N806 - as in every book
    H, Q, one = np.eye(2, 4), np.diag([dt**3, dt**3, dt, dt]), np.eye(2)  # noqa: N806
    F, H, Q, one, start = on.arrays(F, H, Q, one, np.eye(4))  # noqa: N806
    path = on.arrays(*np.cumsum(rng.normal(size=(steps, 2)), axis=0) * dt)

    def f(p):
        q, r = np_.exp(p["noises"][0]), np_.exp(p["noises"][1])
        m, P, total = p["begin"], start, 0.0  # noqa: N806
        for y in path:
            m, P = F @ m, F @ P @ F.T + q * Q  # noqa: N806
            S, e = H @ P @ H.T + r * one, y - H @ m  # noqa: N806
            K = np_.linalg.solve(S, H @ P).T  # noqa: N806
            m, P = m + K @ e, P - K @ H @ P  # noqa: N806
            total = total + e @ np_.linalg.solve(S, e) + np_.linalg.slogdet(S)[1]
        return total

    p = {"noises": on.array(np.array([-1.0, -2.0])), "begin": on.array(np.zeros(4))}
    return lambda: on.gradient(f, p)


def sir_fit(on: System, days: int) -> Program:
    """An epidemic by steps of Runge and Kutta, and how far it is from what was seen."""
    infect, recover = on.arrays(np.array([-1.0, 1.0, 0.0]), np.array([0.0, -1.0, 1.0]))
    begin, p = on.arrays(np.array([0.99, 0.01, 0.0]), np.log([0.4, 0.1]))
    seen = np.abs(np.random.default_rng(0).normal(0.1, 0.05, days)).tolist()

    def f(p):
        beta, gamma = on.np.exp(p[0]), on.np.exp(p[1])

        def slope(y):
            return (beta * y[0] * y[1]) * infect + (gamma * y[1]) * recover

        y, loss = begin, 0.0
        for observed in seen:
            k1 = slope(y)
            k2 = slope(y + 0.5 * k1)
            k3 = slope(y + 0.5 * k2)
            k4 = slope(y + k3)
            y = y + (k1 + 2 * k2 + 2 * k3 + k4) / 6
            loss = loss + (y[1] - observed) ** 2
        return loss

    return lambda: on.gradient(f, p)


def hmc(on: System, steps: int) -> Program:
    """A Hamiltonian trajectory through the posterior of a logistic regression."""
    rng = np.random.default_rng(0)
    x, labels, w0, momentum0 = on.arrays(
        rng.normal(size=(20, 8)), rng.integers(0, 2, 20) * 1.0, *rng.normal(size=(2, 8))
    )

    def energy(w):
        z = x @ w
        return on.np.sum(on.np.log(1 + on.np.exp(z)) - labels * z) + 0.5 * on.np.sum(w * w)

    def trajectory():
        w, momentum = w0, momentum0 - 0.05 * on.gradient(energy, w0)
        for _ in range(steps):
            w = w + 0.1 * momentum
            momentum = momentum - 0.1 * on.gradient(energy, w)
        return [w, momentum]

    return trajectory


def mlp_adam(on: System, steps: int) -> Program:
    """A network of three layers, trained by Adam."""
    rng = np.random.default_rng(0)
    sizes = 4, 16, 16, 1
    shapes = [s for n, m in pairwise(sizes) for s in ((n, m), (m,))]
    begin = on.arrays(*(rng.normal(size=shape) / 4 for shape in shapes))
    x, y = on.arrays(rng.normal(size=(32, 4)), rng.normal(size=(32, 1)))

    def loss(p):
        hidden = on.np.tanh(on.np.tanh(x @ p[0] + p[1]) @ p[2] + p[3])
        return on.np.mean((hidden @ p[4] + p[5] - y) ** 2)

    def train():
        p, first, second = begin, [0.0] * len(begin), [0.0] * len(begin)
        for k in range(1, steps + 1):
            slopes = on.gradient(loss, p)
            first = [0.9 * m + 0.1 * g for m, g in zip(first, slopes, strict=True)]
            second = [0.999 * v + 0.001 * g * g for v, g in zip(second, slopes, strict=True)]
            a, b = 0.01 / (1 - 0.9**k), 1 / (1 - 0.999**k)
            p = [
                x - a * m / (on.np.sqrt(b * v) + 1e-8)
                for x, m, v in zip(p, first, second, strict=True)
            ]
        return p

    return train


def maml(on: System, tasks: int) -> Program:
    """Parameters from which one step of each task's own leads far: a gradient in a gradient."""
    rng = np.random.default_rng(0)
    p = on.arrays(*(rng.normal(size=s) for s in ((1, 10), (10,), (10, 1), (1,))))
    sets = []
    for phase in np.linspace(0.0, 3.0, tasks):
        x = rng.uniform(-3, 3, size=(2, 10, 1))
        sets.append(on.arrays(*x, *np.sin(x + phase)))

    def loss(p, x, y):
        return on.np.mean((on.np.tanh(x @ p[0] + p[1]) @ p[2] + p[3] - y) ** 2)

    def meta(p):
        total = 0.0
        for x, x_test, y, y_test in sets:
            slopes = on.gradient(lambda p, x=x, y=y: loss(p, x, y), p)
            adapted = [a - 0.05 * g for a, g in zip(p, slopes, strict=True)]
            total = total + loss(adapted, x_test, y_test)
        return total

    return lambda: on.gradient(meta, p)


def robot_arm(on: System, steps: int) -> Program:
    """How far from its goal an arm of two links ends, by the torques of each step."""
    np_, dt = on.np, 0.02
    fixed, turning = np.array([[2.5, 1.0], [1.0, 1.0]]), np.array([[2.0, 1.0], [1.0, 0.0]])
    swing = np.array([[-1.0, -2.0], [1.0, 0.0]])
    fixed, turning, swing, rest = on.arrays(fixed, turning, swing, np.zeros(2))
    torques = on.array(np.random.default_rng(0).normal(size=(steps, 2)))

    def f(torques):
        q, v = rest + 0.1, rest
        for k in range(steps):
            mass = fixed + np_.cos(q[1]) * turning
            force = torques[k] - np_.sin(q[1]) * (swing @ (v * v)) - 0.1 * v
            v = v + dt * np_.linalg.solve(mass, force)
            q = q + dt * v
        x = np_.cos(q[0]) + np_.cos(q[0] + q[1])
        y = np_.sin(q[0]) + np_.sin(q[0] + q[1])
        return (x - 0.5) ** 2 + (y - 1.0) ** 2 + 1e-3 * np_.sum(torques * torques)

    return lambda: on.gradient(f, torques)


def tree_lstm(on: System, count: int) -> Program:
    """Trees of words, each node's memory made of its children's: another program for each tree."""
    rng = np.random.default_rng(0)
    n, words = 8, 20

    def grow(leaves: int) -> Any:
        if leaves == 1:
            return int(rng.integers(words))
        left = int(rng.integers(1, leaves))
        return grow(left), grow(leaves - left)

    trees = [(grow(8), float(rng.normal())) for _ in range(count)]
    shapes = {"words": (words, 2 * n), "W": (5 * n, 2 * n), "b": (5 * n,), "out": (n,)}
    p = {name: on.array(rng.normal(size=shape) / 4) for name, shape in shapes.items()}

    def state(p, tree):
        if isinstance(tree, int):
            word = p["words"][tree]
            return word[:n], word[n:]
        (h_left, c_left), (h_right, c_right) = (state(p, child) for child in tree)
        gates = p["W"] @ on.np.concatenate([h_left, h_right]) + p["b"]
        kept = on.sigmoid(gates[: 4 * n])
        i, left, right, out = (kept[k * n : (k + 1) * n] for k in range(4))
        c = i * on.np.tanh(gates[4 * n :]) + left * c_left + right * c_right
        return out * on.np.tanh(c), c

    def f(p):
        return sum((p["out"] @ state(p, tree)[0] - label) ** 2 for tree, label in trees)

    return lambda: on.gradient(f, p)


# Each with how many times per call its time is given of, and its size.
PROGRAMS: dict[str, tuple[Callable[[System, int], Program], Callable[[int], int], int]] = {
    "Kalman filter, 80 steps": (kalman, lambda n: 1, 80),
    "SIR fit by RK4, 60 days": (sir_fit, lambda n: 1, 60),
    "HMC, per gradient": (hmc, lambda n: n + 1, 10),
    "MLP with Adam, per step": (mlp_adam, lambda n: n, 10),
    "MAML, 5 tasks": (maml, lambda n: 1, 5),
    "robot arm, 100 steps": (robot_arm, lambda n: 1, 100),
    "tree LSTM, 15 trees": (tree_lstm, lambda n: 1, 15),
}
