"""Handwritten digits: a two-layer classifier in plain NumPy, trained with the gradients of zyg.

    python examples/digits.py

The model is a dataclass, the loss is a NumPy program, the optimiser is a loop over the fields of
the gradient. The images are the 1797 of scikit-learn's `load_digits`, 8 x 8 pixels each; a fifth of
them is held out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rich.progress import track
from sklearn.datasets import load_digits

import zyg

SHADES = " .:-=+*#%@"


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
    """The mean cross-entropy, and beside it the number of images that are classified right."""
    scores = model.scores(x)
    scores = scores - np.max(scores, axis=1, keepdims=True)
    log_p = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    right = np.sum(np.argmax(scores, axis=1) == y)
    return -np.mean(log_p[np.arange(len(y)), y]), right


class Adam:
    """Kingma and Ba, 2015. Fields without a gradient, such as the model's name, are left alone."""

    def __init__(self, rate=0.003, decay=(0.9, 0.999)):
        self.rate, self.decay, self.steps = rate, decay, 0
        self.mean, self.square = {}, {}

    def step(self, model, gradient):
        self.steps += 1
        d1, d2 = self.decay
        for name, g in vars(gradient).items():
            if g is None:
                continue
            self.mean[name] = d1 * self.mean.get(name, 0) + (1 - d1) * g
            self.square[name] = d2 * self.square.get(name, 0) + (1 - d2) * g**2
            mean = self.mean[name] / (1 - d1**self.steps)
            square = self.square[name] / (1 - d2**self.steps)
            setattr(model, name, getattr(model, name) - self.rate * mean / (np.sqrt(square) + 1e-8))


def train(model, x, y, rng, epochs, batch=64):
    adam = Adam()
    for _ in track(range(epochs), description=f"training {model.name}"):
        order = rng.permutation(len(y))
        right = 0
        for k in range(0, len(y), batch):
            some = order[k : k + batch]
            (_, hits), (gradient, *_) = zyg.value_and_gradient(loss, model, x[some], y[some])
            adam.step(model, gradient)
            right += hits
    print(f"training accuracy: {right / len(y):.2%}")


def show(images, predictions, labels):
    """The images side by side as text, each under what the model takes it for."""
    titles = [
        f"{p}" if p == y else f"{p}, but is {y}" for p, y in zip(predictions, labels, strict=True)
    ]
    print("   ".join(f"{title:16}" for title in titles).rstrip())
    for row in range(8):
        lines = ["".join(2 * SHADES[int(v * 9)] for v in image[row]) for image in images]
        print("   ".join(lines).rstrip())


def main(epochs=40, seed=0):
    rng = np.random.default_rng(seed)
    x, y = load_digits(return_X_y=True)
    x = x / 16.0
    order = rng.permutation(len(y))
    test, training = order[:360], order[360:]

    model = new_model(rng, pixels=64, hidden=128, classes=10)
    train(model, x[training], y[training], rng, epochs)

    predictions = np.argmax(model.scores(x[test]), axis=1)
    accuracy = np.mean(predictions == y[test])
    some = [*np.flatnonzero(predictions != y[test])[:2], 10, 11, 12]  # two mistakes among them
    show(x[test][some].reshape(-1, 8, 8), predictions[some], y[test][some])
    print(f"test accuracy: {accuracy:.2%} of {len(test)} images held out")
    return accuracy


if __name__ == "__main__":
    accuracy = main()
    assert accuracy >= 0.97, f"test accuracy {accuracy:.2%}: it should reach 97 %"
