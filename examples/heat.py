"""
Heat, run backwards
===================

Heat run backwards: the image that a plate started with, from the blurred one it ended with.

::

    pip install -e '.[examples]' && python examples/heat.py [FILE.png]  # takes seconds

The solver is a NumPy program that updates a preallocated array in place, step after step; its
conductivity differs from place to place. The image is a digit of scikit-learn's `load_digits`,
enlarged. Gradient descent finds the initial temperatures whose final state is the one observed;
the original, what was observed and what was recovered are saved side by side.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.progress import track
from sklearn.datasets import load_digits

import zyg
import zyg.numpy

SHADES = " .:-=+*#%@"


# %%
# The solver
# ----------


def heat(u, conductivity, steps):
    """The temperatures after so many steps, written into u; those of its border stay."""
    flow = np.zeros_like(u)
    for _ in range(steps):
        flow[1:-1, 1:-1] = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        flow[1:-1, 1:-1] -= 4 * u[1:-1, 1:-1]
        flow *= conductivity
        u += flow
    return u


def recover(observed, conductivity, steps, iterations=400):
    """Temperatures that lead to what was observed: Nesterov's accelerated gradient descent."""

    def misfit(u):
        return np.sum((heat(u, conductivity, steps) - observed) ** 2)

    guess = lead = observed.copy()
    for k in track(range(iterations), description="recovering"):
        (slope,) = zyg.gradient(misfit, lead)
        previous, guess = guess, np.clip(lead - 0.25 * slope, 0, 1)
        lead = guess + k / (k + 3) * (guess - previous)
    return guess


# %%
# A broken program and its repair
# -------------------------------


def coldest_of_rows_broken(u):
    """A buffer made by plain numpy holds plain numbers: a watched one cannot be stored in it."""
    coldest = np.empty(len(u))
    for i in range(len(u)):
        coldest[i] = np.min(u[i])
    return np.sum(coldest**2)


def coldest_of_rows(u):
    """The same with a buffer made by zyg.numpy: usually by importing zyg.numpy as np."""
    coldest = zyg.numpy.empty(len(u))
    for i in range(len(u)):
        coldest[i] = np.min(u[i])
    return np.sum(coldest**2)


def show_broken_and_fixed(console, u):
    try:
        zyg.gradient(coldest_of_rows_broken, u)
    except zyg.errors.ConversionError as error:
        console.print("[b]broken[/b], and refused rather than wrong:")
        console.print(str(error), markup=False, highlight=False)
    else:
        raise AssertionError("a watched number went into a plain array")
    (slope,) = zyg.gradient(coldest_of_rows, u)
    console.print(f"[b]fixed[/b]: {np.count_nonzero(slope)} elements matter, one in each row\n")
    return slope


# %%
# Pictures
# --------


def digit(number, size=4):
    """One of the handwritten digits, from 0 to 1, enlarged, with a cold border around it."""
    image = load_digits().images[number] / 16.0
    return np.pad(np.kron(image, np.ones((size, size))), 4)


def show(console, titles, images):
    """The images as text, side by side."""
    every = images[0].shape[1] // 20
    rows = [image[:: 2 * every, ::every] for image in images]
    width = rows[0].shape[1]
    console.print("   ".join(f"{title:{width}}" for title in titles))
    for lines in zip(*rows, strict=True):
        texts = ["".join(SHADES[int(9 * np.clip(v, 0, 1))] for v in line) for line in lines]
        console.print("   ".join(texts), markup=False, highlight=False)


def save_picture(path, images):
    """The images side by side."""
    figure = plt.figure(figsize=(9, 3), layout="constrained")
    panels = figure.subplots(1, len(images))
    for axes, (title, image) in zip(panels, images.items(), strict=True):
        shown = axes.imshow(image, cmap="inferno", vmin=0, vmax=1)
        axes.set(title=title, xticks=[], yticks=[])
    figure.colorbar(shown, ax=panels, label="temperature")
    figure.savefig(path, dpi=120)


def main(path=None, steps=12):
    console = Console()
    original = digit(3)
    x = np.linspace(-1, 1, len(original))
    conductivity = 0.15 + 0.08 * np.sin(3 * x) * np.cos(2 * x[:, None])  # below 1/4: stable
    observed = heat(original.copy(), conductivity, steps)

    show_broken_and_fixed(
        console, original + 0.01 * np.random.default_rng(0).random(original.shape)
    )
    recovered = recover(observed, conductivity, steps)

    errors = [np.sqrt(np.mean((image - original) ** 2)) for image in (observed, recovered)]
    show(console, ["original", "observed", "recovered"], [original, observed, recovered])
    console.print("root mean square error: observed {:.3f}, recovered {:.3f}".format(*errors))
    path = path or Path(tempfile.gettempdir()) / "heat.png"
    save_picture(path, {"original": original, "observed": observed, "recovered": recovered})
    console.print(f"saved as {path}")
    return errors


# %%
# The run
# -------

if __name__ == "__main__":
    before, after = main(*sys.argv[1:2])
    assert after < before / 2, f"recovered to {after:.3f} only, from {before:.3f}"
