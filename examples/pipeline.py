"""
A pipeline of tasks
===================

A pipeline of trio tasks, trained as it stands: producer, workers that share a model, reducer.

::

    pip install -e '.[examples]' && python examples/pipeline.py  # takes seconds

The producer cuts a batch of handwritten digits (the 1797 of scikit-learn's `load_digits`) into
pieces and blurs or moves some of the images; the workers take pieces as they get free, and compute
their cost on threads; the reducer adds the costs up. The gradient is that of the whole program. All
workers read the same model, and nobody wrote a line about how their gradients come together.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

# The workers are parallel themselves; threads of BLAS would fight them for the cores. Before NumPy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import matplotlib.pyplot as plt
import numpy as np
from rich.progress import Progress
from sklearn.datasets import load_digits

import zyg
from zyg import trio

WORKERS, PIECE = 3, 100


@dataclass
class Model:
    W1: np.ndarray
    b1: np.ndarray
    W2: np.ndarray
    b2: np.ndarray

    def scores(self, images):
        """One score per class, for each image."""
        return np.maximum(images @ self.W1 + self.b1, 0) @ self.W2 + self.b2

    def cost(self, images, labels):
        """The cross-entropy of these images, added up, and how many are classified right."""
        scores = self.scores(images)
        scores = scores - np.max(scores, axis=1, keepdims=True)
        log_p = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
        right = np.sum(np.argmax(scores, axis=1) == labels)
        return -np.sum(log_p[np.arange(len(labels)), labels]), right


def new_model(rng, pixels=64, hidden=96, classes=10):
    return Model(
        rng.normal(size=(pixels, hidden)) * np.sqrt(2 / pixels),
        np.zeros(hidden),
        rng.normal(size=(hidden, classes)) * np.sqrt(2 / hidden),
        np.zeros(classes),
    )


# %%
# The program, as one writes it with trio
# ---------------------------------------


def pieces(images, labels, seed):
    """The images in pieces, every other image moved by a pixel or less."""
    rng = np.random.default_rng(seed)
    for k in range(0, len(labels), PIECE):
        square = images[k : k + PIECE].reshape(-1, 8, 8).copy()
        step, axis = rng.choice([-1, 1]), rng.choice([1, 2])
        moved = np.roll(square[::2], step, axis)
        square[::2] += rng.uniform(0, 0.5) * (moved - square[::2])
        yield square.reshape(-1, 64), labels[k : k + PIECE]


async def produce(send, images, labels, seed):
    async with send:
        for number, piece in enumerate(pieces(images, labels, seed)):
            await send.send((number, piece))


async def work(model, receive, send):
    async with receive, send:
        async for number, (images, labels) in receive:
            await send.send((number, await trio.to_thread.run_sync(model.cost, images, labels)))


async def reduce(receive):
    """The total cost and the number of hits; in the order of the pieces, not of their arrival."""
    parts = dict([part async for part in receive])
    return [sum(column) for column in zip(*(parts[k] for k in sorted(parts)), strict=True)]


async def loss(model, *, images, labels, seed):
    """The mean cost, and beside it the number of hits."""
    to_workers, pieces_in = trio.open_memory_channel(WORKERS)
    to_reducer, costs_in = trio.open_memory_channel(0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(produce, to_workers, images, labels, seed)
        async with pieces_in, to_reducer:
            for k in range(WORKERS):
                ends = pieces_in.clone(), to_reducer.clone()
                nursery.start_soon(work, model, *ends, name=f"worker-{k}")
        total, right = await reduce(costs_in)
    return total / len(labels), right


def sequential_loss(model, *, images, labels, seed):
    """The same without tasks."""
    costs = [model.cost(*piece)[0] for piece in pieces(images, labels, seed)]
    return sum(costs) / len(labels)


# %%
# Training
# --------


class Momentum:
    """Gradient descent that remembers its direction (Polyak, 1964)."""

    def __init__(self, rate=0.2, decay=0.9):
        self.rate, self.decay, self.speed = rate, decay, {}

    def step(self, model, gradient):
        for name, g in vars(gradient).items():
            self.speed[name] = self.decay * self.speed.get(name, 0) - self.rate * g
            setattr(model, name, getattr(model, name) + self.speed[name])


async def train(model, images, labels, rng, epochs=20, batch=300):
    momentum, accuracies = Momentum(), []
    with Progress() as progress:
        bar = progress.add_task("training", total=epochs)
        for epoch in range(epochs):
            order = rng.permutation(len(labels))
            right = 0
            for k in range(0, len(labels), batch):
                some = order[k : k + batch]
                (_, hits), (gradient,) = await zyg.value_and_gradient_async(
                    loss, model, images=images[some], labels=labels[some], seed=(epoch, k)
                )
                momentum.step(model, gradient)
                right += hits
            accuracies.append(right / len(labels))
            accuracy = f"training, {right / len(labels):.1%} right"
            progress.update(bar, advance=1, description=accuracy)
    return accuracies


def largest_difference(model, images, labels):
    """Between the gradient of the pipeline and that of the loop, relative to its size."""
    data = {"images": images, "labels": labels, "seed": 0}
    (of_tasks,) = zyg.value_and_gradient(loss, model, **data)[1]
    (of_loop,) = zyg.gradient(sequential_loss, model, **data)
    pairs = [(vars(of_tasks)[name], g) for name, g in vars(of_loop).items()]
    return max(np.max(np.abs(a - b)) / np.max(np.abs(b)) for a, b in pairs)


def main(seed=0):
    rng = np.random.default_rng(seed)
    images, labels = load_digits(return_X_y=True)
    images = images / 16.0
    order = rng.permutation(len(labels))
    test, training = order[:360], order[360:]
    model = new_model(rng)
    difference = largest_difference(model, images[training], labels[training])
    print(f"gradient of the tasks and of the loop differ by {difference:.1e}")
    accuracies = trio.run(train, model, images[training], labels[training], rng)
    accuracy = np.mean(np.argmax(model.scores(images[test]), axis=1) == labels[test])
    print(f"test accuracy: {accuracy:.2%} of {len(test)} images held out")
    axes = plt.figure(figsize=(6, 4), layout="constrained").subplots()
    axes.plot(range(1, len(accuracies) + 1), accuracies, "o-", label="in training")
    axes.axhline(accuracy, linestyle="--", color="C1", label="of images held out")
    axes.set(xlabel="epoch", ylabel="share that is right", title="a pipeline learns digits")
    axes.legend()
    return difference, accuracy


# %%
# The run
# -------

if __name__ == "__main__":
    difference, accuracy = main()
    assert difference < 1e-12, f"the gradients differ by {difference:.1e}"
    assert accuracy >= 0.95, f"test accuracy {accuracy:.2%}: it should reach 95 %"
    plt.show()
