"""
A model trained on a cluster
============================

A cluster: a model is trained on data that never leaves the workers of a local Dask cluster.

::

    pip install -e '.[examples]' && python examples/cluster.py  # takes seconds

The digits of scikit-learn are loaded in chunks, by tasks, and stay where they were loaded. In each
step the model goes out to the chunks; their losses come back, and in the reverse pass a number goes
to each worker, and a gradient of the model comes back. The loop is plain NumPy; what makes it a
program of the cluster is `client.submit`, and what differentiates it is `wrap_client`.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster
from rich.progress import track
from sklearn.datasets import load_digits

import zyg
from zyg.distributed import wrap_client

CHUNKS = 4


def load(k):
    """Every CHUNKS-th image, from the k-th on, and the digits that they show."""
    images, digits = load_digits(return_X_y=True)
    return images[k::CHUNKS] / 16, digits[k::CHUNKS]


def new_model(pixels=64, hidden=32, classes=10):
    rng = np.random.default_rng(0)
    return {
        "W1": rng.normal(size=(pixels, hidden)) * np.sqrt(2 / pixels),
        "b1": np.zeros(hidden),
        "W2": rng.normal(size=(hidden, classes)) * np.sqrt(2 / hidden),
        "b2": np.zeros(classes),
    }


def loss_of_chunk(model, chunk):
    """The sum of the cross-entropies of a chunk, and how many images it has."""
    images, digits = chunk
    hidden = np.maximum(images @ model["W1"] + model["b1"], 0)
    scores = hidden @ model["W2"] + model["b2"]
    scores = scores - np.max(scores, axis=1, keepdims=True)
    log_p = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return -np.sum(log_p[np.arange(len(digits)), digits]), len(digits)


def mean_loss(model, client, chunks):
    """The map and the reduction: a task for each chunk, and the mean over all images."""
    losses, counts = zip(
        *client.gather([client.submit(loss_of_chunk, model, chunk) for chunk in chunks]),
        strict=True,
    )
    return sum(losses) / sum(counts)


def sequential_loss(model):
    losses, counts = zip(*[loss_of_chunk(model, load(k)) for k in range(CHUNKS)], strict=True)
    return sum(losses) / sum(counts)


def main(steps=20, rate=0.5):
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as dask,
    ):
        client = wrap_client(dask)
        chunks = client.map(load, range(CHUNKS))
        model, losses = new_model(), []
        for step in track(range(steps), description="training on the cluster"):
            loss, (gradient, *_) = zyg.value_and_gradient(mean_loss, model, client, chunks)
            if step == 0:
                expected = zyg.gradient(sequential_loss, model)[0]
                for name, g in gradient.items():
                    np.testing.assert_allclose(g, expected[name], rtol=1e-10, atol=1e-14)
                print("the gradient is that of the sequential program")
            model = {name: value - rate * gradient[name] for name, value in model.items()}
            losses.append(loss)
    axes = plt.figure(figsize=(6, 4), layout="constrained").subplots()
    axes.plot(losses, "o-")
    axes.set(xlabel="step", ylabel="cross-entropy", title="training on the cluster")
    print(f"cross-entropy: {losses[0]:.3f} before, {losses[-1]:.3f} after {steps} steps")
    assert losses[-1] < 0.5 * losses[0]


# %%
# The run
# -------

if __name__ == "__main__":
    main()
    plt.show()
