"""
A heat equation, controlled
===========================

A rod is to have a given temperature along it after ten minutes, and may be heated and cooled at
its two ends only. This finds the two temperatures over time that lead there with little effort.
The rod is a NumPy program that takes implicit steps, each a banded system solved by SciPy. The
cost has a hundred unknowns, and one gradient tells what each of them does.

::

    pip install -e '.[examples]' && python examples/heat_control.py  # takes seconds
"""

import matplotlib.pyplot as plt
import numpy as np

import zyg
from zyg.scipy import linalg

# %%
# The rod
# -------
# Crank and Nicolson's steps: half of the flow of heat is that of the old temperatures, half that
# of the new ones. The conductivity falls off where the rod is thin.

POINTS, STEPS = 60, 50
LENGTH, MINUTES = 1.0, 10.0
x = np.linspace(0, LENGTH, POINTS + 2)
times = np.linspace(0, MINUTES, STEPS + 1)
conductivity = 0.03 - 0.015 * np.exp(-(((x[1:] + x[:-1]) / 2 - 0.6) ** 2) / 0.01)  # m² per minute
flow = conductivity * (MINUTES / STEPS) / (x[1] - x[0]) ** 2 / 2

bands = np.zeros((3, POINTS))
bands[0, 1:] = bands[2, :-1] = -flow[1:-1]
bands[1] = 1 + flow[1:] + flow[:-1]


def step(u, before, after):
    """The temperatures inside, one step later; those of the ends go from `before` to `after`."""
    padded = np.concatenate([before[:1], u, before[1:]])
    known = u + np.diff(flow * np.diff(padded))
    ends = np.stack([flow[0] * after[0], flow[-1] * after[1]])
    known = np.concatenate([known[:1] + ends[:1], known[1:-1], known[-1:] + ends[1:]])
    return linalg.solve_banded((1, 1), bands, known)


def run(ends):
    """All temperatures, with time along the first axis, for those of the ends."""
    u = np.zeros(POINTS)
    states = [u]
    before = np.zeros(2)
    for after in ends:
        u = step(u, before, after)
        before = after
        states.append(u)
    return np.stack(states)


# %%
# The control
# -----------
# What is minimized is the distance from the target, the effort and how fast the ends change.

target = 15 * np.sin(2 * np.pi * x[1:-1]) + 10


def cost(ends):
    miss = np.mean((run(ends)[-1] - target) ** 2)
    effort = np.mean(ends**2)
    hurry = np.mean(np.diff(ends, axis=0) ** 2)
    return miss + 1e-4 * effort + 1e-3 * hurry


start = np.zeros((STEPS, 2))
found = zyg.optimize.minimize(cost, start, method="L-BFGS-B", options={"maxiter": 60})
states = run(found.x)
misses = [np.sqrt(np.mean((u - target) ** 2)) for u in (np.full(POINTS, 10.0), states[-1])]
print(f"{found.nfev} gradients by {start.size} unknowns")
print("off by {:.2f} K at a constant temperature, by {:.2f} K with the control".format(*misses))

# %%
# The picture
# -----------

figure, panels = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
panels[0].plot(times[1:], found.x, label=["left end", "right end"])
panels[0].set(xlabel="minutes", ylabel="temperature, °C", title="the control that was found")
panels[0].legend()
image = panels[1].imshow(
    states, aspect="auto", origin="lower", cmap="coolwarm", vmin=-40, vmax=40,
    extent=(0, LENGTH, 0, MINUTES),
)  # fmt: skip
panels[1].set(xlabel="place, m", ylabel="minutes", title="temperature of the rod")
figure.colorbar(image, ax=panels[1], label="°C")
panels[2].plot(x[1:-1], target, "k--", label="target")
panels[2].plot(x[1:-1], states[-1], label="reached")
panels[2].set(xlabel="place, m", ylabel="temperature, °C", title="after ten minutes")
panels[2].legend()
plt.show()

assert misses[1] < 0.1 * misses[0], f"off by {misses} K"
