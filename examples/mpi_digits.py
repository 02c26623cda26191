"""
Handwritten digits on several ranks
===================================

Each rank of MPI has a part of the images, and all have one model.

::

    pip install -e '.[examples-mpi]' && python examples/mpi_digits.py  # on one rank; takes seconds
    mpirun -n 2 python examples/mpi_digits.py

The model is that of rank 0, which broadcasts it in the function whose gradient is taken; the
losses of the parts are added up there. So the gradient comes together at rank 0, which makes the
step. The images are the 1797 of scikit-learn's `load_digits`; a fifth of them is held out.
"""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from mpi4py import MPI
from sklearn.datasets import load_digits

import zyg

# %%
# The program of a rank
# ---------------------

comm = zyg.mpi.wrap(MPI.COMM_WORLD)


@dataclass
class Model:
    W1: np.ndarray
    b1: np.ndarray
    W2: np.ndarray
    b2: np.ndarray

    def scores(self, x):
        """One score per class, for each image."""
        return np.maximum(x @ self.W1 + self.b1, 0) @ self.W2 + self.b2


def new_model(rng, pixels=64, hidden=48, classes=10):
    return Model(
        rng.normal(size=(pixels, hidden)) * np.sqrt(2 / pixels),
        np.zeros(hidden),
        rng.normal(size=(hidden, classes)) * np.sqrt(2 / hidden),
        np.zeros(classes),
    )


def loss(model, x, y, count):
    """The mean cross-entropy of the images of all ranks, on rank 0."""
    scores = comm.bcast(model).scores(x)
    scores = scores - np.max(scores, axis=1, keepdims=True)
    log_p = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return comm.reduce(-np.sum(log_p[np.arange(len(y)), y]) / count)


def main():
    x, y = load_digits(return_X_y=True)
    x, held_out = x / 16, np.arange(len(x)) % 5 == 0
    mine = np.flatnonzero(~held_out)[comm.rank :: comm.size]
    rng = np.random.default_rng(0)  # all ranks draw the same
    model = new_model(rng)
    optimizer = zyg.optimize.adam(0.01)
    state, losses = optimizer.init(model), []
    for step in range(150):
        part = mine[np.random.default_rng(step).random(len(mine)) < 0.3]
        count = comm.allreduce(len(part))
        value, (g,) = zyg.mpi.value_and_gradient(
            lambda model, part=part, count=count: loss(model, x[part], y[part], count),
            model,
            comm=comm,
        )
        if comm.rank == 0:
            model, state = optimizer.step(model, g, state)
            losses.append(value)
            if step % 30 == 0:
                print(f"step {step}: loss {value:.3f}")
    if comm.rank == 0:
        right = np.mean(np.argmax(model.scores(x[held_out]), axis=1) == y[held_out])
        print(f"{comm.size} ranks: {right:.1%} of the images that were held out are right")
        assert right > 0.93
    return losses


# %%
# The run
# -------

if __name__ == "__main__":
    losses = main()
    if comm.rank == 0:
        axes = plt.figure(figsize=(6, 3.5), layout="constrained").subplots()
        axes.semilogy(losses)
        axes.set(xlabel="step", ylabel="cross-entropy", title="One model on all ranks")
        plt.show()
