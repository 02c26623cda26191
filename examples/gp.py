"""
A Gaussian process
==================

How strong is a wine, by its colour? Gaussian-process regression in plain NumPy.

::

    pip install -e '.[examples]' && python examples/gp.py [FILE.png]  # takes seconds

The 178 wines are those of scikit-learn's `load_wine`; their alcohol is predicted from the intensity
of their colour and from their hue. The parameters of the kernel, a dataclass, are those that make
the data most likely, found by Newton's method: gradients and Hessians pass through the Cholesky
factor of the covariance. A quarter of the wines is held out, to compare with a straight line.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from sklearn.datasets import load_wine

import zyg

# %%
# The model
# ---------


@dataclass
class Kernel:
    """The parameters are logarithms: whatever Newton's method makes of them is allowed."""

    log_amplitude: float
    log_lengths: np.ndarray  # for each feature, over which distance wines are alike
    log_noise: float

    @classmethod
    def of(cls, parameters):
        return cls(parameters[0], parameters[1:-1], parameters[-1])

    def covariance(self, a, b):
        distances = (a[:, None] - b) / np.exp(self.log_lengths)
        return np.exp(2 * self.log_amplitude - np.sum(distances**2, axis=2) / 2)

    def factor(self, x):
        """The Cholesky factor of the covariance of observations at x."""
        noise = np.exp(2 * self.log_noise) * np.eye(len(x))
        return np.linalg.cholesky(self.covariance(x, x) + noise)


def surprise(kernel, x, y):
    """Minus the log marginal likelihood (Rasmussen and Williams 2006, equation 2.30)."""
    factor = kernel.factor(x)
    whitened = np.linalg.solve(factor, y)
    log_determinant = 2 * np.sum(np.log(np.diagonal(factor)))
    return (whitened @ whitened + log_determinant + len(y) * np.log(2 * np.pi)) / 2


def predict(kernel, x, y, new):
    """Mean and standard deviation of what would be observed elsewhere, after y at x."""
    factor = kernel.factor(x)
    weights = np.linalg.solve(factor, kernel.covariance(x, new))
    known = np.sum(weights**2, axis=0)
    variance = np.exp(2 * kernel.log_amplitude) - known + np.exp(2 * kernel.log_noise)
    return weights.T @ np.linalg.solve(factor, y), np.sqrt(variance)


def newton(f, v, console):
    """A minimum of f, and the Hessian there; goes down also where f is not convex."""
    while True:
        value, (slope,) = zyg.value_and_gradient(f, v)
        hessian, size = zyg.hessian(f, v), np.linalg.norm(slope)
        console.print(f"log likelihood {-value:9.4f}, slope {size:.0e}", highlight=False)
        if size < 1e-4:
            return v, hessian
        curvatures, directions = np.linalg.eigh(hessian)
        step = directions @ (directions.T @ slope / np.abs(curvatures))
        while not f(v - step) <= value:  # nor NaN
            step = step / 2
        v = v - step


# %%
# The baseline, and the score of both
# -----------------------------------


def straight(x, y, new):
    """As `predict`, of a straight line by least squares."""
    columns, new_columns = (np.hstack([a, np.ones((len(a), 1))]) for a in (x, new))
    weights, (misfit,), rank, _ = np.linalg.lstsq(columns, y)
    return new_columns @ weights, np.full(len(new), np.sqrt(misfit / (len(y) - rank)))


def log_density(y, mean, deviation):
    """The mean log density that was predicted for what was observed."""
    z = (y - mean) / deviation
    return np.mean(-(z**2) / 2 - np.log(deviation * np.sqrt(2 * np.pi)))


def save_picture(path, x, y, test, curve):
    """The wines, those held out in rings, and the prediction with a band of two deviations."""
    intensity, mean, deviation = curve
    figure = plt.figure(layout="constrained")
    axes = figure.subplots()
    axes.fill_between(intensity, mean - 2 * deviation, mean + 2 * deviation, alpha=0.2)
    axes.plot(intensity, mean, label="predicted, at the median hue")
    dots = axes.scatter(x[:, 0], y, s=15, c=x[:, 1], cmap="coolwarm_r")
    axes.scatter(x[test, 0], y[test], s=40, c="none", edgecolors="black", label="held out")
    figure.colorbar(dots, label="hue")
    axes.set(xlabel="intensity of colour", ylabel="alcohol, %", title="wines, and a prediction")
    axes.legend()
    figure.savefig(path)


def main(path=None, seed=0):
    console = Console()
    wines = load_wine()
    columns = [wines.feature_names.index(name) for name in ("color_intensity", "hue", "alcohol")]
    order = np.random.default_rng(seed).permutation(len(wines.data))
    test, training = order[:44], order[44:]
    table = wines.data[:, columns]
    centre, spread = np.mean(table[training], axis=0), np.std(table[training], axis=0)
    scaled = (table - centre) / spread
    x, y = scaled[:, :2], scaled[:, 2]

    def f(parameters):
        return surprise(Kernel.of(parameters), x[training], y[training])

    start = np.zeros(4)
    zyg.check_gradient(f, start)
    console.print("gradient and Hessian agree with finite differences")
    best, hessian = newton(f, start, console)
    deviations = np.sqrt(np.diagonal(np.linalg.inv(hessian)))  # Laplace's approximation
    names = ("amplitude", "length in intensity", "length in hue", "noise")
    for name, value, deviation in zip(names, best, deviations, strict=True):
        console.print(f"{name:20}{np.exp(value):.2f}, give or take {deviation:.0%}")

    kernel = Kernel.of(best)
    predictions = {
        "straight line": straight(x[training], y[training], x[test]),
        "Gaussian process": predict(kernel, x[training], y[training], x[test]),
    }
    for name, (mean, deviation) in predictions.items():
        error = spread[2] * np.sqrt(np.mean((mean - y[test]) ** 2))
        density = log_density(y[test], mean, deviation)
        console.print(f"{name:20}off by {error:.2f} % of alcohol, log density {density:.2f}")

    line = np.linspace(np.min(x[:, 0]), np.max(x[:, 0]), 200)
    grid = np.column_stack([line, np.full(200, np.median(x[:, 1]))])
    mean, deviation = predict(kernel, x[training], y[training], grid)
    path = path or Path(tempfile.gettempdir()) / "gp.png"
    curve = line * spread[0] + centre[0], mean * spread[2] + centre[2], deviation * spread[2]
    save_picture(path, table[:, :2], table[:, 2], test, curve)
    console.print(f"saved as {path}")
    return [log_density(y[test], *prediction) for prediction in predictions.values()]


# %%
# The run
# -------

if __name__ == "__main__":
    line, process = main(*sys.argv[1:2])
    assert process > line + 0.1, f"log density {process:.2f}, of a straight line {line:.2f}"
