"""
A pendulum, fitted
==================

A pendulum's length, its damping and the angle it was let go at, from noisy angles.

::

    pip install -e '.[examples]' && python examples/pendulum.py [FILE.png]  # takes seconds

The observations are simulated: an accurate solver, and noise of a fixed seed. Two programs that
compute the angles are differentiated: a loop of Runge-Kutta steps in plain NumPy, step by step, and
SciPy's `odeint`, by its adjoint and sensitivity equations. The fit is Levenberg and Marquardt's;
its Jacobian, three columns of forward mode, tells the standard errors too.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import astuple, dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.table import Table

import zyg
from zyg.scipy import integrate

GRAVITY = 9.81
TIMES = np.linspace(0, 6, 31)
NOISE = 0.05


@dataclass
class Pendulum:
    length: float
    damping: float
    angle: float  # at which it is let go

    def slope(self, state, t):
        """How fast angle and speed change."""
        angle, speed = state
        return np.stack([speed, -GRAVITY / self.length * np.sin(angle) - self.damping * speed])

    def start(self):
        return np.stack([self.angle, 0.0])


# %%
# Its angles
# ----------


def by_steps(pendulum, substeps=5):
    """At TIMES, by Runge and Kutta's method of fourth order."""
    h = (TIMES[1] - TIMES[0]) / substeps
    state = pendulum.start()
    angles = [state[0]]
    for t in TIMES[:-1]:
        for _ in range(substeps):
            a = pendulum.slope(state, t)  # which does not depend on t
            b = pendulum.slope(state + h / 2 * a, t)
            c = pendulum.slope(state + h / 2 * b, t)
            d = pendulum.slope(state + h * c, t)
            state = state + h / 6 * (a + 2 * b + 2 * c + d)
        angles.append(state[0])
    return np.stack(angles)


def by_odeint(pendulum, times=TIMES, tolerance=1e-7):
    """By SciPy, whose steps are of its own choice."""
    start = pendulum.start()
    return integrate.odeint(pendulum.slope, start, times, rtol=tolerance, atol=tolerance)[:, 0]


# %%
# The fit
# -------


def misfit(pendulum, angles, observed):
    return np.sum((angles(pendulum) - observed) ** 2) / 2


def as_array(derivative):
    """What zyg returns for a pendulum, another of its kind, with the fields along the last axis."""
    return np.stack([derivative.length, derivative.damping, derivative.angle], axis=-1)


def fit(pendulum, angles, observed, console):
    """Levenberg and Marquardt's steps: Gauss and Newton's, shortened where those do not help."""
    caution, before = 1e-2, misfit(pendulum, angles, observed)
    while True:
        console.print(f"misfit {before:.5f} at {pendulum}", highlight=False, soft_wrap=True)
        jacobian = as_array(zyg.jacobian(angles, pendulum)[0])
        slope = jacobian.T @ (angles(pendulum) - observed)
        normal = jacobian.T @ jacobian
        after = np.inf
        while not after <= before:  # after one that does not help, ten times as careful
            step = np.linalg.solve(normal + caution * np.diag(np.diagonal(normal)), slope)
            trial = Pendulum(*(np.array(astuple(pendulum)) - step).tolist())
            after = misfit(trial, angles, observed)
            caution *= 10
        if before - after < 1e-6 * before:
            variance = 2 * after / (len(observed) - len(step))
            return trial, np.sqrt(variance * np.diagonal(np.linalg.inv(normal)))
        pendulum, before, caution = trial, after, caution / 100


# %%
# What is shown
# -------------


def gradients(pendulum, observed, console):
    """Those of the misfit: through all the steps, and by the adjoint equation."""
    table = Table("gradient of the misfit", *vars(pendulum))
    found = []
    for angles in (by_steps, by_odeint):
        (gradient,) = zyg.gradient(misfit, pendulum, angles=angles, observed=observed)
        found.append(as_array(gradient))
        table.add_row(angles.__name__, *(f"{g:.3f}" for g in found[-1]))
    console.print(table)
    return found


def shown(pendulum, errors):
    return [f"{p:.4f} +- {e:.4f}" for p, e in zip(astuple(pendulum), errors, strict=True)]


def save_picture(path, observed, guess, found):
    figure = plt.figure(layout="constrained")
    axes = figure.subplots()
    times = np.linspace(TIMES[0], TIMES[-1], 301)
    axes.plot(times, by_odeint(guess, times), "--", color="grey", label="first guess")
    axes.plot(times, by_odeint(found, times), label="fit")
    axes.errorbar(TIMES, observed, NOISE, fmt=".", color="black", label="observed")
    axes.set(xlabel="seconds", ylabel="angle, radians", title="a pendulum, observed and fitted")
    axes.legend()
    figure.savefig(path)


def main(path=None, seed=0):
    console = Console()
    truth, guess = Pendulum(0.85, 0.25, 2.0), Pendulum(1.0, 0.1, 1.5)
    noise = NOISE * np.random.default_rng(seed).normal(size=len(TIMES))
    observed = by_odeint(truth, tolerance=1e-12) + noise

    both = gradients(guess, observed, console)
    found, errors = fit(guess, by_steps, observed, console)
    console.print("the same fit through odeint, from there")
    again, again_errors = fit(found, by_odeint, observed, console)

    table = Table("", "length", "damping", "angle")
    table.add_row("truth", *map(str, astuple(truth)))
    table.add_row("by_steps", *shown(found, errors))
    table.add_row("by_odeint", *shown(again, again_errors))
    console.print(table)

    path = path or Path(tempfile.gettempdir()) / "pendulum.png"
    save_picture(path, observed, guess, found)
    console.print(f"saved as {path}")
    return both, *((np.array(astuple(p)) - astuple(truth)) / errors for p in (found, again))


# %%
# The run
# -------

if __name__ == "__main__":
    (stepped, solved), *deviations = main(*sys.argv[1:2])
    assert np.allclose(stepped, solved, rtol=1e-4), "the gradients of both programs should agree"
    assert np.max(np.abs(deviations)) < 3, f"off by {deviations} standard errors"
