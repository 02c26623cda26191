"""A network of two layers, 784-256-10, on a batch of 256: the loss and its gradient.

The row "numpy" is the reverse pass written by hand, as one who knows the answer would write it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import zyg
from benchmarks.harness import Case, Peers, times_slower


def loss(model, x, y):
    hidden = np.maximum(x @ model["W1"] + model["b1"], 0)
    scores = hidden @ model["W2"] + model["b2"]
    scores = scores - np.max(scores, axis=1, keepdims=True)
    log_p = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(len(y)), y])


def by_hand(model, x, y):
    rows = np.arange(len(y))
    hidden = np.maximum(x @ model["W1"] + model["b1"], 0)
    scores = hidden @ model["W2"] + model["b2"]
    scores = scores - np.max(scores, axis=1, keepdims=True)
    e = np.exp(scores)
    total = np.sum(e, axis=1, keepdims=True)
    value = -np.mean((scores - np.log(total))[rows, y])
    scores_bar = e / total
    scores_bar[rows, y] -= 1
    scores_bar /= np.asarray(len(y), x.dtype)
    hidden_bar = scores_bar @ model["W2"].T
    hidden_bar *= hidden > 0
    return value, x.T @ hidden_bar, hidden_bar.sum(0), hidden.T @ scores_bar, scores_bar.sum(0)


def cases(peers: Peers, quick: bool) -> Iterator[Case]:
    sizes, batch = ((8, 6, 4), 5) if quick else ((784, 256, 10), 256)
    for dtype in (np.float64, np.float32):
        yield case(peers, sizes, batch, dtype)


def case(peers: Peers, sizes: tuple[int, int, int], batch: int, dtype: type) -> Case:
    rng = np.random.default_rng(0)
    inputs, hidden, outputs = sizes
    model = {
        "W1": rng.normal(size=(inputs, hidden)).astype(dtype) / 28,
        "b1": np.zeros(hidden, dtype),
        "W2": rng.normal(size=(hidden, outputs)).astype(dtype) / 16,
        "b2": np.zeros(outputs, dtype),
    }
    x = rng.uniform(size=(batch, inputs)).astype(dtype)
    y = rng.integers(outputs, size=batch)

    def with_zyg():
        value, (gradient,) = zyg.value_and_gradient(lambda model: loss(model, x, y), model)
        return [value, *gradient.values()]

    programs = {"zyg": with_zyg, "numpy": lambda: by_hand(model, x, y)}
    if torch := peers.get("torch"):
        parameters = [torch.from_numpy(v).requires_grad_() for v in model.values()]
        x_torch, y_torch = torch.from_numpy(x), torch.from_numpy(y)

        def with_torch():
            W1, b1, W2, b2 = parameters  # noqa: N806
            scores = torch.relu(x_torch @ W1 + b1) @ W2 + b2
            value = torch.nn.functional.cross_entropy(scores, y_torch)
            gradients = torch.autograd.grad(value, parameters)
            return [v.detach().numpy() for v in (value, *gradients)]

        programs["torch"] = with_torch
    return Case(
        f"{'-'.join(map(str, sizes))}, batch {batch}, {np.dtype(dtype).name}",
        programs,
        targets=[times_slower("torch", 1.1)],
        rtol=1e-9 if dtype is np.float64 else 1e-3,
    )
