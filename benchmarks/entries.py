"""What a call costs that has next to nothing to differentiate: gradients and other derivatives of
a few numbers, arguments in containers, many views of one array; arrays made outside of a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import zyg
import zyg.numpy
from benchmarks.harness import Case, Peers, Target, at_most, flat, leaves, times_slower

THREE = np.array([0.1, 0.2, 0.3])
NUMBERS = {"a": 0.3, "b": 0.7}
SHAPES = {"W1": (4, 3), "b1": 4, "W2": (4, 4), "b2": 4, "W3": (2, 4), "b3": 2}
ARRAYS = {k: np.random.default_rng(0).normal(size=shape) for k, shape in SHAPES.items()}


def identity(np, x):
    return x


def square(np, x):
    return x * x


def sum_of_sines(np, x):
    return np.sin(x).sum()


def of_dict(np, d):
    return d["a"] * d["b"] + d["a"]


def of_arrays(np, d):
    hidden = np.tanh(d["W1"].sum(axis=1) + d["b1"])
    return (d["W3"] @ np.tanh(d["W2"] @ hidden + d["b2"]) + d["b3"]).sum()


def four_operations(np):
    return lambda x: (np.sin(x) * x + x).sum()


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    yield gradient(peers, "gradient of a number", identity, 0.3, at_most(18e-6))
    yield gradient(peers, "gradient of x*x, a number", square, 0.3, at_most(20e-6))
    title = "gradient of np.sin(x).sum(), 3 numbers"
    yield gradient(peers, title, sum_of_sines, THREE, at_most(30e-6))
    yield gradient(peers, "gradient by a dict of 2 numbers", of_dict, NUMBERS, at_most(40e-6))
    yield gradient(peers, "gradient by a dict of 6 arrays", of_arrays, ARRAYS, at_most(130e-6))
    yield pushforward(peers)
    yield hessian_product(peers)
    yield Case(
        "hessian of a dict of 2 numbers",
        {"zyg": lambda: zyg.hessian(lambda d: of_dict(np, d), NUMBERS)},
        targets=[at_most(250e-6)],
    )
    for n in (5, 10) if quick else (100, 200, 400):
        yield views(n)
    yield from outside(20 if quick else 1000)


def gradient(peers: Peers, title: str, f: Callable[..., Any], x: Any, target: Target) -> Case:
    programs = {"zyg": lambda: zyg.gradient(lambda x: f(np, x), x)}
    if torch := peers.get("torch"):

        def tensor(a: Any) -> Any:
            return torch.tensor(a, dtype=torch.float64, requires_grad=True)

        def with_torch() -> list[Any]:
            at = {k: tensor(a) for k, a in x.items()} if isinstance(x, dict) else tensor(x)
            f(torch, at).backward()
            return [a.grad.numpy() for a in leaves(at)]

        programs["torch"] = with_torch
    if autograd := peers.get("autograd"):
        import autograd.numpy as anp

        slope = autograd.grad(lambda x: f(anp, x))
        programs["autograd"] = lambda: slope(x)
    return Case(title, programs, targets=[target])


def pushforward(peers: Peers) -> Case:
    v = np.ones(3)
    programs = {
        "zyg": lambda: zyg.pushforward(four_operations(np), (THREE,), (v,))[1],
        "numpy": lambda: four_operations(np)(THREE) and None,
    }
    if torch := peers.get("torch"):
        from torch.autograd import forward_ad

        at, direction = torch.from_numpy(THREE), torch.from_numpy(v)

        def with_torch() -> Any:
            with forward_ad.dual_level():
                y = four_operations(torch)(forward_ad.make_dual(at, direction))
                return forward_ad.unpack_dual(y).tangent.numpy()

        programs["torch"] = with_torch
    if peers.get("autograd"):
        import autograd.numpy as anp
        from autograd.differential_operators import make_jvp

        push = make_jvp(four_operations(anp))
        programs["autograd"] = lambda: push(THREE)(v)[1]
    return Case("pushforward of 4 operations, 3 numbers", programs, targets=[at_most(43e-6)])


def hessian_product(peers: Peers) -> Case:
    x, v = np.linspace(0.1, 1.0, 10), np.linspace(1.0, 2.0, 10)
    programs = {"zyg": lambda: zyg.hvp(rosenbrock, x, v)}
    if torch := peers.get("torch"):
        direction = torch.from_numpy(v)

        def with_torch() -> Any:
            at = torch.tensor(x, requires_grad=True)
            (slope,) = torch.autograd.grad(rosenbrock(at), at, create_graph=True)
            return torch.autograd.grad(slope, at, direction)[0].numpy()

        programs["torch"] = with_torch
    if autograd := peers.get("autograd"):
        product = autograd.hessian_vector_product(rosenbrock)
        programs["autograd"] = lambda: product(x, v)
    return Case("hvp, 10 numbers", programs, targets=[at_most(500e-6)])


def views(n: int) -> Case:
    """Any of them may share memory with any other, which has to be found out: in linear time."""
    base = np.linspace(0.0, 1.0, 4 * n)
    parts = [base[4 * k : 4 * k + 4] for k in range(n)]

    def f(parts: list[Any]) -> Any:
        return sum(part.sum() for part in parts)

    title = "gradient by views of one array, per view"
    programs = {"zyg": lambda: zyg.gradient(f, parts)[0]}
    return Case(f"{title}, {n}", programs, operations=n, targets=[flat(1.5, title)])


def outside(n: int) -> Iterator[Case]:
    """Programs written with zyg.numpy, where no gradient runs."""

    def elements(np: Any) -> None:
        b = np.zeros(n)
        for k in range(1, n):
            b[k] = b[k - 1] * 0.5 + 1

    def whole(np: Any) -> None:
        b = np.ones(100)
        for _ in range(n):
            b = b * 0.5 + 1

    for title, f in (("b[k] = b[k-1]*.5 + 1", elements), ("b = b*.5 + 1, 100 numbers", whole)):
        yield Case(
            f"no gradient, zyg.numpy: {title}",
            {"zyg": lambda f=f: f(zyg.numpy), "numpy": lambda f=f: f(np)},
            operations=n,
            targets=[times_slower("numpy", 1.1)],
        )
