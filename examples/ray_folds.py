"""
Hyperparameters learned through actors of Ray
=============================================

Actors of Ray train models, and the gradient goes through their training.

::

    pip install -e '.[examples-ray]' && python examples/ray_folds.py  # takes half a minute

Ridge regression with more features than samples: how strongly to damp the weights of each group of
features, and how large each step of the training is, decides how well the model predicts. Each of
three actors holds a fold of the data, trains a model on the rest, a few steps at a call, and says
how wrong it is on its fold. The gradient of that by the hyperparameters goes back through all calls
of all actors. The program is one of Ray's, but for its import.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import zyg
from zyg import ray

FOLDS, GROUPS, STEPS = 3, 4, 24

# %%
# The program of an actor
# -----------------------


@ray.remote(num_cpus=0)
class Fold:
    """The samples of a fold, and a model that is trained on all others."""

    def __init__(self, k):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(90, 20 * GROUPS))
        scale = np.repeat([1.0, 0.3, 0.0, 0.0], 20)  # on two groups nothing depends
        y = x @ (scale * rng.normal(size=x.shape[1])) + rng.normal(size=90)
        held_out = np.arange(90) % FOLDS == k
        self.data = x[~held_out], y[~held_out], x[held_out], y[held_out]

    def begin(self, log_damping):
        self.damping = np.repeat(np.exp(log_damping), 20)
        self.w = np.zeros(20 * GROUPS)

    def train(self, rates):
        """One step of the training for each rate."""
        x, y, *_ = self.data
        for rate in rates:
            slope = x.T @ (x @ self.w - y) / len(y) + self.damping * self.w
            self.w = self.w - rate * slope

    def error(self):
        *_, x, y = self.data
        return np.mean((x @ self.w - y) ** 2)


def mean_error(hyper, folds):
    rates = np.exp(hyper["log_rates"])
    for fold in folds:
        fold.begin.remote(hyper["log_damping"])
        for k in range(0, STEPS, 8):
            fold.train.remote(rates[k : k + 8])
    return sum(ray.get([fold.error.remote() for fold in folds])) / len(folds)


def main(rounds=40):
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    folds = [Fold.remote(k) for k in range(FOLDS)]
    hyper = {"log_rates": np.full(STEPS, np.log(0.05)), "log_damping": np.full(GROUPS, -2.0)}
    optimizer = zyg.optimize.adam(0.05)
    state, errors = optimizer.init(hyper), []
    for k in range(rounds):
        error, (g,) = zyg.value_and_gradient(lambda h: mean_error(h, folds), hyper)
        errors.append(error)
        hyper, state = optimizer.step(hyper, g, state)
        if k % 10 == 0:
            print(f"round {k}: mean error {error:.3f}")
    ray.shutdown()
    damping = np.exp(hyper["log_damping"])
    print("damping of the groups:", *(f"{d:.3g}" for d in damping))
    left, right = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")[1]
    left.plot(errors, "o-")
    left.set(xlabel="round", ylabel="mean error on the folds")
    right.bar(range(GROUPS), damping)
    right.set(xlabel="group of features", ylabel="damping", yscale="log")
    assert errors[-1] < 0.5 * errors[0]
    assert damping[0] < 0.1 * min(damping[1:])  # of what the samples depend on most


# %%
# The run
# -------

if __name__ == "__main__":
    main()
    plt.show()
