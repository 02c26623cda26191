"""
Handwritten digits
==================

Handwritten digits: a two-layer classifier in plain NumPy, trained with the gradients of zyg.

::

    pip install -e '.[examples]' && python examples/digits.py [FILE.png]  # takes seconds

The model is a dataclass, the loss is a NumPy program, and `zyg.optimize.fit` makes a new model at
each step. The images are the 1797 of scikit-learn's `load_digits`, 8 x 8 pixels each; a fifth of
them is held out. The picture shows how the loss fell, and what the model takes some images for.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import zyg


@dataclass
class Model:
    W1: np.ndarray
    b1: np.ndarray
    W2: np.ndarray
    b2: np.ndarray
    name: str = "two layers"

    def scores(self, x):
        """One score per class, for each image."""
        hidden = np.maximum(x @ self.W1 + self.b1, 0)
        return hidden @ self.W2 + self.b2


def new_model(rng, pixels, hidden, classes):
    return Model(
        W1=rng.normal(size=(pixels, hidden)) * np.sqrt(2 / pixels),
        b1=np.zeros(hidden),
        W2=rng.normal(size=(hidden, classes)) * np.sqrt(2 / hidden),
        b2=np.zeros(classes),
    )


def loss(model, x, y):
    """The mean cross-entropy."""
    scores = model.scores(x)
    scores = scores - np.max(scores, axis=1, keepdims=True)
    log_p = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(len(y)), y])


def save_picture(path, history, images, predictions, labels):
    """How the loss fell, and images under what the model takes them for: red where it is wrong."""
    figure = plt.figure(figsize=(9, 6.5), layout="constrained")
    above, below = figure.subfigures(2, height_ratios=(2, 3))
    history.plot(above.subplots())
    for axes, image, p, y in zip(
        below.subplots(3, 8).flat, images, predictions, labels, strict=True
    ):
        axes.imshow(image, cmap="gray_r")
        axes.set_axis_off()
        right = p == y
        axes.set_title(
            f"{p}" if right else f"{p}, but is {y}", color="black" if right else "red", fontsize=10
        )
    figure.savefig(path, dpi=120)


def main(path=None, epochs=40, seed=0):
    rng = np.random.default_rng(seed)
    x, y = load_digits(return_X_y=True)
    x = x / 16.0
    order = rng.permutation(len(y))
    test, training = order[:360], order[360:]

    model = new_model(rng, pixels=64, hidden=128, classes=10)
    model, history = zyg.optimize.fit(
        loss, model, (x[training], y[training]), optimizer=zyg.optimize.adam(0.003),
        batch_size=64, epochs=epochs, rng=rng, progress=True,
    )  # fmt: skip

    predictions = np.argmax(model.scores(x[test]), axis=1)
    right = predictions == y[test]
    print(f"test accuracy: {np.mean(right):.2%} of {len(test)} images held out")

    some = np.argsort(right, kind="stable")[:24]  # the mistakes first
    path = path or Path(tempfile.gettempdir()) / "digits.png"
    save_picture(path, history, x[test][some].reshape(-1, 8, 8), predictions[some], y[test][some])
    print(f"picture: {path}")
    return np.mean(right)


# %%
# The run
# -------

if __name__ == "__main__":
    accuracy = main(*sys.argv[1:2])
    assert accuracy >= 0.97, f"test accuracy {accuracy:.2%}: it should reach 97 %"
