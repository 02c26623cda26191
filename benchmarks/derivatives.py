"""Derivative verbs and rules at size: one expression on 10^6 numbers, Hessians, products with them,
Jacobians, products with zeros, fancy indexing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import zyg
from benchmarks.harness import Case, Peers, flat, times_faster, times_slower
from benchmarks.network import loss


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    yield expression(peers, 100 if quick else 10**6)
    yield hessian(peers, 5 if quick else 100)
    yield hessian_product(peers, (8, 6, 4, 5) if quick else (784, 256, 10, 256))
    yield jacobian(15)
    for n in (10, 20) if quick else (10**4, 10**5, 10**6):
        yield product_with_zeros(n)
    for n in (100, 200) if quick else (10**4, 10**5, 10**6):
        yield fancy_index(n, 5 if quick else 1000)


def expression(peers: Peers, n: int) -> Case:
    x = np.linspace(0.1, 3.0, n)

    def f(x, np=np):
        return np.sum(np.exp(-np.sin(x) * x + np.sqrt(x)))

    programs = {"zyg": lambda: zyg.gradient(f, x)[0], "numpy": lambda: f(x) and None}
    if torch := peers.get("torch"):
        at = torch.from_numpy(x).requires_grad_()
        programs["torch"] = lambda: torch.autograd.grad(f(at, torch), at)[0].numpy()
    if peers.get("autograd"):
        import autograd
        import autograd.numpy as anp

        slope = autograd.grad(lambda x: f(x, anp))
        programs["autograd"] = lambda: slope(x)
    targets = [times_slower("torch", 1.2), times_slower("autograd", 1.0)]
    return Case(f"sum(exp(-sin(x)*x + sqrt(x))), {n} numbers", programs, targets=targets)


def hessian(peers: Peers, n: int) -> Case:
    rng = np.random.default_rng(0)
    a, x = rng.normal(size=(n, n)) / n, rng.uniform(0.5, 1.5, n)

    def f(x, np=np, a=a):
        return np.sum(np.sin(x) * (a @ x)) + np.sum(np.exp(-x * x) * x)

    programs = {"zyg": lambda: zyg.hessian(f, x)}
    if torch := peers.get("torch"):
        a_torch, at = torch.from_numpy(a), torch.from_numpy(x)
        of = torch.autograd.functional.hessian
        programs["torch"] = lambda: of(lambda x: f(x, torch, a_torch), at).numpy()
    if peers.get("autograd"):
        import autograd
        import autograd.numpy as anp

        matrix = autograd.hessian(lambda x: f(x, anp))
        programs["autograd"] = lambda: matrix(x)
    return Case(f"Hessian, {n} variables", programs, targets=[times_faster("autograd", 3)])


def hessian_product(peers: Peers, sizes: tuple[int, int, int, int]) -> Case:
    inputs, hidden, outputs, batch = sizes
    rng = np.random.default_rng(0)
    shapes = {"W1": (inputs, hidden), "b1": hidden, "W2": (hidden, outputs), "b2": outputs}
    model = {name: rng.normal(size=shape) / 16 for name, shape in shapes.items()}
    v = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    x, y = rng.uniform(size=(batch, inputs)), rng.integers(outputs, size=batch)

    def of(model):
        return loss(model, x, y)

    programs = {
        "zyg": lambda: [*zyg.hvp(of, model, v).values()],
        "its gradient": lambda: zyg.gradient(of, model) and None,
    }
    if torch := peers.get("torch"):
        parameters = [torch.from_numpy(p).requires_grad_() for p in model.values()]
        directions = [torch.from_numpy(d) for d in v.values()]
        x_torch, y_torch = torch.from_numpy(x), torch.from_numpy(y)

        def with_torch():
            W1, b1, W2, b2 = parameters  # noqa: N806
            scores = torch.relu(x_torch @ W1 + b1) @ W2 + b2
            value = torch.nn.functional.cross_entropy(scores, y_torch)
            slopes = torch.autograd.grad(value, parameters, create_graph=True)
            along = sum((s * d).sum() for s, d in zip(slopes, directions, strict=True))
            return [h.numpy() for h in torch.autograd.grad(along, parameters)]

        programs["torch"] = with_torch
    title = f"Hessian times a vector, network {inputs}-{hidden}-{outputs}, batch {batch}"
    return Case(title, programs, targets=[times_slower("its gradient", 3)])


def jacobian(n: int) -> Case:
    x, w = np.array([0.3, 0.7]), np.linspace(0.0, 1.0, n)

    def f(x):
        return np.sin(x[0] * w) * np.exp(x[1] * w)

    programs = {
        "zyg": lambda: zyg.jacobian(f, x)[0],
        "by columns": lambda: zyg.jacobian(f, x, mode="forward")[0],
        "by rows": lambda: zyg.jacobian(f, x, mode="reverse")[0],
    }
    return Case(f"Jacobian, 2 x {n}", programs, targets=[times_faster("by rows", 1.5)])


def product_with_zeros(n: int) -> Case:
    x = 1 + np.linspace(-1e-5, 1e-5, n)
    x[n // 3] = 0.0

    def f(x):
        return np.prod(x) + np.sum(np.cumprod(x))

    programs = {"zyg": lambda: zyg.gradient(f, x)[0]}
    title = "prod and cumprod with a zero, per element"
    return Case(f"{title}, {n}", programs, operations=n, targets=[flat(3, title)])


def fancy_index(n: int, reads: int) -> Case:
    x = np.linspace(0.0, 1.0, n)
    places = np.random.default_rng(0).integers(n, size=(reads, 10))

    def f(x):
        total = 0.0
        for index in places:
            total = total + x[index] @ x[index]
        return total

    programs = {"zyg": lambda: zyg.gradient(f, x)[0]}
    title = f"{reads} x s += x[index] @ x[index], per read"
    targets = [flat(3, title)]
    return Case(f"{title}, {n} numbers", programs, operations=2 * reads, targets=targets)
