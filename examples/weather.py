"""
Yesterday's weather
===================

Yesterday's weather from a few stations: the start of a chaotic model, by its gradient.

::

    pip install -e '.[examples]' && python examples/weather.py [FILE.png]  # takes seconds

The model is Lorenz' of 1996: a row of places around the globe, each pushed by a constant forcing
and by its neighbours. Every second place has a station, whose readings are noisy. What is looked
for is the state at the beginning, at all places, and the forcing: those whose run through the
model, by Runge and Kutta's classical steps, fits the readings (four-dimensional variational data
assimilation). The misfit is one function of plain loops; `zyg.compile` makes machine code of it and
of its gradient. The truth, the readings and the run that was found are saved as a picture.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from scipy.optimize import minimize

import zyg

PLACES, STEPS, DT, NOISE = 40, 80, 0.025, 0.3


# %%
# The model
# ---------


def change(x, forcing, dx):
    """How the state moves, into `dx`."""
    n = len(x)
    for i in range(n):
        dx[i] = (x[(i + 1) % n] - x[i - 2]) * x[i - 1] - x[i] + forcing


def step(x, forcing, dt):
    """The state one step of Runge and Kutta later."""
    k1, k2, k3, k4 = np.empty_like(x), np.empty_like(x), np.empty_like(x), np.empty_like(x)
    change(x, forcing, k1)
    change(x + 0.5 * dt * k1, forcing, k2)
    change(x + 0.5 * dt * k2, forcing, k3)
    change(x + dt * k3, forcing, k4)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@zyg.compile
def misfit(start, forcing, readings, before, trust):
    """How far a run is from the readings at every second place, and its start from a guess."""
    x = start
    total = 0.0
    for t in range(len(readings)):
        for k in range(readings.shape[1]):
            error = x[2 * k] - readings[t, k]
            total += error * error
        x = step(x, forcing, DT)
    return total + trust * np.sum((start - before) ** 2)


def run(start, forcing, steps):
    states = [start]
    for _ in range(steps - 1):
        states.append(step(states[-1], forcing, DT))
    return np.array(states)


# %%
# The fit
# -------


def fit(readings, windows=(10, 20, 40, 60, 80)):
    """The start and the forcing that explain the readings best, from a guess without knowledge.

    The window grows: a long one has many minima, and the fit of a short one leads to the best
    (Pires and others, On extending the limits of variational assimilation, 1996).
    """
    around = (readings[0] + np.roll(readings[0], -1)) / 2
    before = np.stack([readings[0], around], axis=1).ravel()
    found, calls = np.append(before, 6.0), 0

    def objective(parameters, window):
        value, (start, forcing, *_) = zyg.value_and_gradient(
            misfit, parameters[:-1], float(parameters[-1]), readings[:window], before, 0.01
        )
        return value, np.append(start, forcing)

    for window in windows:
        result = minimize(objective, found, (window,), jac=True, method="L-BFGS-B")
        found, calls = result.x, calls + result.nfev
    return found[:-1], found[-1], calls


# %%
# The picture
# -----------


def save_picture(path, panels):
    """States over time, side by side: blue below the mean, red above."""
    figure = plt.figure(figsize=(10, 4), layout="constrained")
    every = figure.subplots(1, len(panels), sharey=True)
    for axes, (title, states) in zip(every, panels.items(), strict=True):
        shown = axes.imshow(
            states, cmap="RdBu_r", vmin=-6.5, vmax=11.5, aspect="auto",
            extent=(0, PLACES, STEPS * DT, 0),
        )  # fmt: skip
        axes.set(title=title, xlabel="place")
    every[0].set(ylabel="time")
    figure.colorbar(shown, ax=every, label="state")
    figure.savefig(path, dpi=120)


def main(path=None):
    console = Console()
    rng = np.random.default_rng(1996)
    truth = run(8 + rng.standard_normal(PLACES), 8.0, 400)[-STEPS:]
    readings = truth[:, ::2] + NOISE * rng.standard_normal((STEPS, PLACES // 2))

    began = time.perf_counter()
    start, forcing, calls = fit(readings)
    seconds = time.perf_counter() - began
    found = run(start, forcing, STEPS)

    unseen = slice(1, None, 2)
    guessed = np.repeat(readings, 2, axis=1)
    errors = [np.sqrt(np.mean((states - truth)[:, unseen] ** 2)) for states in (guessed, found)]
    console.print(f"forcing {forcing:.2f} (8 in truth); {calls} gradients in {seconds:.2f} s")
    console.print(
        "error where there is no station: nearest reading {:.2f}, fit {:.2f}".format(*errors)
    )
    path = path or Path(tempfile.gettempdir()) / "weather.png"
    save_picture(path, {"truth": truth, "nearest readings": guessed, "fit": found})
    console.print(f"saved as {path}")
    return errors


# %%
# The run
# -------

if __name__ == "__main__":
    nearest, fitted = main(*sys.argv[1:2])
    assert fitted < NOISE, f"off by {fitted:.2f} where there is no station"
    assert fitted < nearest / 4
