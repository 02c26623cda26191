"""Heat in a rod, by Crank and Nicolson's implicit steps."""

import numpy as np
from scipy.linalg import solve_banded


def conductivity(u, k0, slope):
    return k0 * (1 + slope * u)


def step(u, k, dx, dt, left):
    n = len(u)
    r = k * dt / (2 * dx**2)
    bands = np.zeros((3, n))
    bands[0, 2:] = -r[1:-1]
    bands[1, :] = 1.0
    bands[1, 1:-1] += 2 * r[1:-1]
    bands[2, :-2] = -r[1:-1]
    rhs = u.copy()
    rhs[1:-1] += r[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])
    rhs[0], rhs[-1] = left, 0.0
    return solve_banded((1, 1), bands, rhs)


def simulate(k0, slope, left, n=15, steps=20):
    x = np.linspace(0, 1, n)
    u = np.where(np.abs(x - 0.5) < 0.2, 1.0, 0.0)
    history = np.zeros((steps, n))
    for i in range(steps):
        u = step(u, conductivity(u, k0, slope), x[1] - x[0], 0.01, left)
        history[i] = u
    return x, history


def mean_temperature(k0, slope, left):
    x, history = simulate(k0, slope, left)
    return np.trapezoid(history.mean(axis=0), x) + np.max(history[-1])


if __name__ == "__main__":
    print(mean_temperature(0.3, 0.5, 0.8))
