"""
Which letters may stand for each other
======================================

Which letters may stand for each other: the scores of an alignment, learned end to end.

::

    pip install -e '.[examples]' && python examples/alignment.py [FILE.png]  # takes seconds

Two words are aligned by a dynamic program (Needleman and Wunsch), whose best score is softened so
that it has a derivative everywhere (Mensch and Blondel, Differentiable Dynamic Programming, 2018).
Some pairs of words are related: one is the other after mutations, of which some are frequent; the
rest are not. Nobody tells the program which mutations there are. It learns the score of each pair
of letters, and the price of a gap, so that related pairs score high. The whole loss, over all
pairs, is one function of plain loops; `zyg.compile` makes machine code of it and of its gradient.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console

import zyg

LETTERS = 8
SHADES = " .:-=+*#%@"


# %%
# The dynamic program
# -------------------


def soft_maximum(a, b, c):
    top = max(a, max(b, c))
    return top + math.log(math.exp(a - top) + math.exp(b - top) + math.exp(c - top))


def alignment(first, second, scores, gap, table):
    """The softened score of the best alignment of two words; `table` is room for the program."""
    n, m = len(first), len(second)
    for i in range(n + 1):
        table[i, 0] = -gap * i
    for j in range(m + 1):
        table[0, j] = -gap * j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            table[i, j] = soft_maximum(
                table[i - 1, j - 1] + scores[first[i - 1], second[j - 1]],
                table[i - 1, j] - gap,
                table[i, j - 1] - gap,
            )
    return table[n, m]


@zyg.compile
def loss(scores, gap, bias, firsts, seconds, related):
    """The mean surprise at which pairs are related, as told from the scores of their alignments."""
    count, length = firsts.shape
    total = 0.0
    for k in range(count):
        table = np.zeros((length + 1, length + 1))
        value = alignment(firsts[k], seconds[k], scores, gap, table) - bias
        total += math.log1p(math.exp(-related[k] * value))
    return total / count


# %%
# The words
# ---------


def pairs(rng, count, length=12):
    """Words, half of which are related: letters 2k and 2k + 1 often stand for each other."""
    firsts = rng.integers(0, LETTERS, (count, length))
    seconds = rng.integers(0, LETTERS, (count, length))
    related = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
    for k in range(0, count, 2):
        swapped = np.where(rng.random(length) < 0.6, firsts[k] ^ 1, firsts[k])
        at = rng.integers(1, length)  # one letter is lost, another is put in at the end
        seconds[k] = np.append(np.delete(swapped, at), rng.integers(0, LETTERS))
    return firsts, seconds, related


def accuracy(parameters, words):
    """The share of pairs that are told rightly."""
    firsts, seconds, related = words
    right = 0
    table = np.zeros((firsts.shape[1] + 1, seconds.shape[1] + 1))
    for k in range(len(related)):
        value = alignment(firsts[k], seconds[k], *parameters[:2], table) - parameters[2]
        right += value * related[k] > 0
    return right / len(related)


def learn(parameters, words, rounds=150, rate=0.1):
    """The parameters after some rounds of Adam (Kingma and Ba, 2015)."""
    means = [0.0 * p for p in parameters]
    squares = [0.0 * p for p in parameters]
    for k in range(1, rounds + 1):
        slopes = zyg.gradient(loss, *parameters, *words)[: len(parameters)]
        for i, slope in enumerate(slopes):
            means[i] = 0.9 * means[i] + 0.1 * slope
            squares[i] = 0.99 * squares[i] + 0.01 * slope**2
            size = rate / (1 - 0.9**k) * means[i]
            parameters[i] = parameters[i] - size / (np.sqrt(squares[i] / (1 - 0.99**k)) + 1e-8)
        parameters[1:] = map(float, parameters[1:])
    return parameters


# %%
# The picture
# -----------


def show(console, scores):
    low, high = scores.min(), scores.max()
    for row in scores:
        line = "".join(2 * SHADES[int(9 * (x - low) / (high - low))] for x in row)
        console.print(line, markup=False, highlight=False)


def save_picture(path, scores):
    figure = plt.figure(figsize=(5, 4), layout="constrained")
    axes = figure.subplots()
    shown = axes.imshow(scores, cmap="viridis")
    axes.set(xlabel="letter", ylabel="letter", title="what may stand for what")
    figure.colorbar(shown, label="score")
    figure.savefig(path, dpi=120)


def main(path=None):
    console = Console()
    rng = np.random.default_rng(1970)
    words, others = pairs(rng, 200), pairs(rng, 100)
    first = [np.eye(LETTERS) - 0.5, 0.5, 0.0]  # letters stand for themselves
    before = accuracy(first, others)
    began = time.perf_counter()
    parameters = learn(first.copy(), words)
    seconds = time.perf_counter() - began
    after = accuracy(parameters, others)
    console.print(f"150 rounds over 200 pairs in {seconds:.1f} s")
    console.print("what may stand for what, as it was learned:")
    show(console, parameters[0])
    console.print(f"right about words it has not seen: {before:.0%} before, {after:.0%} after")
    path = path or Path(tempfile.gettempdir()) / "alignment.png"
    save_picture(path, parameters[0])
    console.print(f"saved as {path}")
    return before, after, parameters[0]


# %%
# The run
# -------

if __name__ == "__main__":
    before, after, scores = main(*sys.argv[1:2])
    assert after > 0.9 > before, f"{after:.0%} are right"
    partners = scores[np.arange(LETTERS), np.arange(LETTERS) ^ 1]
    assert partners.min() > np.median(scores), "the frequent mutations were found"
