"""
A network that finds words
==========================

A network that finds out, character by character, where words begin; its cell is one kernel.

::

    pip install -e '.[examples]' && python examples/hmlstm.py [FILE.png]  # takes a minute

The text is Python's own documentation. Of two layers the lower one decides, at each character,
whether there is a boundary; only then does the upper one go on, and the lower one start afresh
(Chung, Ahn and Bengio, Hierarchical Multiscale Recurrent Neural Networks, 2016). The cell with its
three cases is a function of numbers, broadcast over texts and units. A boundary is a step, with the
slope of a ramp. Not as in the paper: a penalty keeps the share of boundaries near a fifth.
"""

from __future__ import annotations

import math
import sys
import tempfile
import timeit
from collections import namedtuple
from functools import partial
from pathlib import Path
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np
from rich.progress import track
from threadpoolctl import threadpool_limits

import zyg
from zyg.scipy.special import logsumexp

UNITS = 96  # of each layer
TEXTS, LENGTH = 64, 24  # read side by side; characters of each in one step of training
SHARE = 0.2  # of boundaries among the characters

State = namedtuple("State", "c h")  # what is remembered, what is shown of it
Gates = namedtuple("Gates", "forget write show new")

# %%
# The cell
# --------


def sigma(x):
    return 1 / (1 + math.exp(-x))


@zyg.elementwise
def cell(old, gates, z, z_below):
    """After a boundary z is 1; at a boundary of the layer below z_below is 1."""
    if z == 0 and z_below == 0:
        return old  # copy
    c = sigma(gates.write) * math.tanh(gates.new)  # flush
    if z == 0:
        c += sigma(gates.forget) * old.c  # update
    return State(c, sigma(gates.show) * math.tanh(c))


@zyg.elementwise
def boundary(x, slope):
    ramp = min(max((slope * x + 1) / 2, 0.0), 1.0)
    return round(ramp) + (ramp - zyg.stop_gradient(ramp))


def cell_of_arrays(old, gates, z, z_below):
    """The same for arrays: all cases everywhere, then a choice."""
    forget, write, show = (1 / (1 + np.exp(-gate)) for gate in gates[:3])
    c = write * np.tanh(gates.new) + np.where(z == 0, forget * old.c, 0)
    copied = (z == 0) & (z_below == 0)
    return State(np.where(copied, old.c, c), np.where(copied, old.h, show * np.tanh(c)))


def compare(rng, shape=(512, 512)):
    """Both cells have the same gradient; how much faster is the kernel?"""
    c, h, *gates = rng.normal(size=(6, *shape)).astype(np.float32)
    z, z_below = rng.integers(2, size=(2, shape[0], 1)).astype(np.float32)

    def total(old, gates, cell):
        new = cell(old, gates, z, z_below)
        return np.sum(new.c) + np.sum(new.h)

    found, seconds = [], []
    for form in (cell, cell_of_arrays):
        call = partial(zyg.gradient, total, State(c, h), Gates(*gates), cell=form)
        found.append(np.concatenate(call()))
        seconds.append(min(timeit.repeat(call, number=1, repeat=10)))
    assert np.allclose(*found, rtol=1e-4, atol=1e-5), "the gradients of both cells should agree"
    print(f"the cell and its gradient: as a kernel {seconds[1] / seconds[0]:.1f} times as fast")


# %%
# The network
# -----------


def new_weights(rng, characters):
    """Of both layers, and of the prediction; the last row of each belongs to a constant input."""
    rows = 2 * UNITS + 1
    shapes = [(characters + rows, 4 * UNITS + 1), (rows, 4 * UNITS), (rows, characters)]
    return [(rng.normal(size=shape) / np.sqrt(UNITS)).astype(np.float32) for shape in shapes]


def new_memory(texts):
    zeros = np.zeros((texts, UNITS), np.float32)
    return State(zeros, zeros), State(zeros, zeros), zeros[:, :1]


def step(weights, lower, upper, z, x, slope):
    """Both layers and the boundaries, one character later."""
    one = np.ones_like(z)
    a = np.concatenate([x, lower.h, z * upper.h, one], axis=1) @ weights[0]
    lower = cell(lower, Gates(*np.split(a[:, :-1], 4, axis=1)), z, one)
    z = boundary(a[:, -1:], slope)
    a = np.concatenate([z * lower.h, upper.h, one], axis=1) @ weights[1]
    upper = cell(upper, Gates(*np.split(a, 4, axis=1)), 0 * one, z)
    return lower, upper, z


def loss(weights, memory, text, slope):
    """What training lowers; bits per character, the memory at the end, and all boundaries."""
    shown, marks = [], []
    for x in np.eye(weights[2].shape[1], dtype=np.float32)[text[:-1]]:
        lower, upper, z = memory = step(weights, *memory, x, slope)
        shown.append(np.concatenate([lower.h, upper.h, np.ones_like(z)], axis=1))
        marks.append(z)
    scores = np.concatenate(shown) @ weights[2]
    right = scores[np.arange(len(scores)), text[1:].ravel()]
    bits, marks = np.mean(logsumexp(scores, axis=1) - right) / math.log(2), np.stack(marks)
    return bits + (np.mean(marks) / SHARE - 1) ** 2 / 10, bits, memory, marks


def adam(weights, gradients, moments, k, rate=0.015):
    """Step k of Kingma and Ba, 2015, with gradients that are shortened to a length of one."""
    length = math.sqrt(sum(np.sum(g * g) for g in gradients))
    for w, g, (mean, square) in zip(weights, gradients, moments, strict=True):
        g = g / max(length, 1)
        mean += (g - mean) / 10
        square += (g * g - square) / 100
        w -= rate * mean / (1 - 0.9**k) / (np.sqrt(square / (1 - 0.99**k)) + 1e-8)


def train(weights, text, held_out, steps):
    """Bits per character of the text held out, after so many steps."""
    moments = [(np.zeros_like(w), np.zeros_like(w)) for w in weights]
    scores = {}
    for k in track(range(steps), description="training"):
        at = k % (len(text) // LENGTH) * LENGTH
        if at == 0:
            memory = new_memory(TEXTS)
        slope = 1 + 2 * k / steps  # of the ramp: steeper and steeper
        (_, _, memory, _), (gradients,) = zyg.value_and_gradient(
            loss, weights, memory=memory, text=text[at : at + LENGTH + 1], slope=slope
        )
        adam(weights, gradients, moments, k + 1)
        if k % 25 == 0 or k + 1 == steps:
            _, scores[k + 1], *_ = loss(weights, new_memory(TEXTS), held_out, slope)
    return scores


# %%
# What is shown
# -------------


def save_picture(path, scores, unigram):
    figure = plt.figure(layout="constrained")
    axes = figure.subplots()
    axes.plot(scores.keys(), scores.values(), "o-", label="this network")
    axes.axhline(unigram, linestyle="--", color="grey", label="frequencies of characters")
    axes.set(xlabel="steps", ylabel="bits per character held out", ylim=(0, None), title="training")
    axes.legend()
    figure.savefig(path)


def main(path=None, steps=150, seed=0):
    threadpool_limits(1, "blas")  # more are slower, for matrices of this size
    rng = np.random.default_rng(seed)
    compare(rng)

    characters = "".join(topics[k] for k in sorted(topics))
    alphabet, codes = np.unique(list(characters), return_inverse=True)
    columns = codes[: len(codes) // TEXTS * TEXTS].reshape(TEXTS, -1).T
    text, held_out = columns[:-400], columns[-200:]
    frequencies = np.bincount(text.ravel(), minlength=len(alphabet)) + 1
    unigram = -np.mean(np.log2(frequencies / np.sum(frequencies))[held_out])

    weights = new_weights(rng, len(alphabet))
    scores = train(weights, text, held_out, steps)
    print("bits per character of text held out:")
    print(f"{np.log2(len(alphabet)):.2f} by the size of the alphabet, {unigram:.2f} by frequencies")
    print(", ".join(f"{bits:.2f} after {k}" for k, bits in scores.items()))

    *_, marks = loss(weights, new_memory(TEXTS), held_out, slope=3)
    sample = zip(alphabet[held_out[:-1, 20]], marks[:, 20, 0], strict=True)
    print("".join(character + "|" * int(z) for character, z in sample))
    path = path or Path(tempfile.gettempdir()) / "hmlstm.png"
    save_picture(path, scores, unigram)
    print(f"saved as {path}")
    return unigram, scores[steps]


# %%
# The run
# -------

if __name__ == "__main__":
    unigram, bits = main(*sys.argv[1:2])
    assert bits < unigram - 1, f"{bits:.2f} bits per character, {unigram:.2f} by frequencies"
