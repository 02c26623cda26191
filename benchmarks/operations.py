"""Single operations on arrays of 4 to 16 numbers, forward and back, each repeated in one gradient.

The floor is the least that a tape in plain Python costs (`floor_tape`). The text of an operation is
the same for all; the numbers and arrays with one-letter names are watched, the constants are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import zyg
import zyg.numpy
from benchmarks import floor_tape
from benchmarks.harness import Case, Peers, times_faster, times_slower

OPERATIONS = (
    "x = np.sin(x)",
    "x = x * constant",
    "x = x * 0.99",
    "x = x + w",
    "x = x * w",
    "X = X + b",
    "x = s * x",
    "v = matrix @ v",
    "v = W @ v",
    "X = W @ X",
    "s = x @ w + s",
    "X = X.T",
    "X = X.reshape(2, 8).reshape(4, 4)",
    "X = np.reshape(np.reshape(X, (2, 8)), (4, 4))",
    "t = x[1:3] + t",
    "s = x[3] + s",
    "v = X[1] + v",
    "v = X[:, 1] + v",
    "v = x[index] + v",
    "s = x.sum() + s",
    "v = X.sum(axis=0) + v",
    "s = np.mean(x) + s",
    "s = x.max() + s",
    "u = np.concatenate([x, w]) + u",
    "z = np.stack([s, p, q]) + z",
    "z = array([s, p, q]) + z",
    "x = np.where(mask, x, w)",
    "t = np.linalg.solve(S, t) + t",
)
TWO = {op for op in OPERATIONS if op.count("reshape(") == 2}
VIEWS = TWO | {"X = X.T"}  # nothing is computed: what stands above the floor is bookkeeping


def values() -> tuple[dict[str, Any], dict[str, Any]]:
    """What is watched, and the constants; products of many of them stay near 1."""
    rng = np.random.default_rng(0)
    sizes = {"x": 8, "w": 8, "b": 4, "v": 4, "u": 16}
    near_one = {name: rng.uniform(0.99, 1.01, n) for name, n in sizes.items()}
    turned = np.linalg.qr(rng.normal(size=(3, 4, 4)))[0]
    watched = near_one | {
        "t": np.array([0.3, 0.7]), "z": np.array([0.2, 0.4, 0.6]), "s": 1.01, "p": 0.5, "q": 0.7,
        "X": turned[0], "W": turned[1], "S": np.array([[2.0, 0.3], [0.1, 3.0]]),
    }  # fmt: skip
    constants = {
        "constant": rng.uniform(0.99, 1.01, 8), "matrix": turned[2],
        "index": np.array([6, 1, 4, 3]), "mask": np.arange(8) % 3 > 0,
    }  # fmt: skip
    return watched, constants


def program(operation: str, n: int, names: list[str], **known: Any) -> Callable[..., Any]:
    """The operation n times, then the sum of what it gives."""
    name = operation.partition(" ")[0]
    text = [
        f"def f({', '.join(names)}):",
        f"    for _ in range({n}):",
        f"        {operation}",
        f"    return {name if name == 's' else f'np.sum({name})'}",
    ]
    exec("\n".join(text), known)
    return known["f"]


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    for operation in OPERATIONS:
        yield case(peers, operation, 3 if quick else 200)


def case(peers: Peers, operation: str, n: int) -> Case:
    watched, constants = values()
    names = [name for name in watched if re.search(rf"\b{name}\b", operation)]
    args = [watched[name] for name in names]

    def of(module: Any, array: Any, **constants: Any) -> Callable[..., Any]:
        return program(operation, n, names, np=module, array=array, **constants)

    plain = of(np, zyg.numpy.array, **constants)
    floor = of(np, floor_tape.stack, **constants)
    programs = {
        "zyg": lambda: zyg.gradient(plain, *args),
        "floor": lambda: floor_tape.gradient(floor, *args),
    }
    if torch := peers.get("torch"):
        tensors = {name: torch.from_numpy(a) for name, a in constants.items()}
        of_tensors = of(torch, torch.stack, **tensors)

        def with_torch():
            at = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in args]
            of_tensors(*at).backward()
            return [a.grad.numpy() for a in at]

        programs["torch"] = with_torch
    if autograd := peers.get("autograd"):
        import autograd.numpy as anp

        slopes = autograd.grad(of(anp, anp.array, **constants), [*range(len(args))])
        programs["autograd"] = lambda: slopes(*args)
    targets = [
        times_slower("floor", 2.2 if operation in VIEWS else 1.6),
        times_faster("torch", 1.1),
    ]
    return Case(operation, programs, operations=n * (1 + (operation in TWO)), targets=targets)
