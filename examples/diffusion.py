"""
A diffusion model of points
===========================

Noise is turned into a spiral. A small network learns, from points of the spiral to which noise has
been added, which noise it was (Ho, Jain and Abbeel, Denoising diffusion probabilistic models,
2020). Then points of pure noise are moved, step by step, by what it says, and a spiral appears.

::

    pip install -e '.[examples]' && python examples/diffusion.py  # takes seconds
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import zyg

# %%
# Points, and noise
# -----------------
# At level t a point has shrunk by cos t, and the noise has grown to sin t: at 0 there is no noise,
# at π/2 nothing else.

rng = np.random.default_rng(0)


def spiral(count):
    turn = 3 * np.pi * np.sqrt(rng.uniform(0.05, 1, count))
    arm = np.stack([np.cos(turn), np.sin(turn)], axis=1) * turn[:, None] / 6
    return arm + 0.03 * rng.normal(size=(count, 2))


# %%
# The network
# -----------
# It gets a point and the level, as a few waves of different lengths, and says which noise there is.

WIDTH, WAVES = 80, 2.0 ** np.arange(4)


def features(points, level):
    waves = level[:, None] * WAVES
    places = (points[:, :, None] * WAVES[:3]).reshape(len(points), -1)
    return np.concatenate(
        [points, np.sin(places), np.cos(places), np.sin(waves), np.cos(waves)], axis=1
    )


def noise_in(model, points, level):
    x = features(points, level)
    for k, (weights, bias) in enumerate(model):
        x = x @ weights + bias
        if k + 1 < len(model):
            x = x / (1 + np.exp(-x))
    return x


def misfit(model, points, level, noise):
    seen = np.cos(level)[:, None] * points + np.sin(level)[:, None] * noise
    return np.mean((noise_in(model, seen, level) - noise) ** 2)


# %%
# Training
# --------
# The parameters are a list of pairs of arrays. The rate falls as a cosine does.

STEPS, BATCH = 800, 256
sizes = [22, WIDTH, WIDTH, 2]
model = [(rng.normal(size=(a, b)) * np.sqrt(1 / a), np.zeros(b)) for a, b in pairwise(sizes)]
optimizer = zyg.optimize.adam(zyg.optimize.cosine(0.005, STEPS))
state, losses = optimizer.init(model), []
for _ in range(STEPS):
    level = rng.uniform(0.02, np.pi / 2, BATCH)
    noise = rng.normal(size=(BATCH, 2))
    loss, (gradient, *_) = zyg.value_and_gradient(misfit, model, spiral(BATCH), level, noise)
    model, state = optimizer.step(model, gradient, state)
    losses.append(loss)
print(f"misfit {losses[0]:.2f} at first, {np.mean(losses[-50:]):.2f} at the end")

# %%
# From noise to points
# --------------------
# The level goes down from π/2 to 0. In each step the network says what is noise; the rest is the
# point, which is then put back to the next level with the same noise.

levels = np.linspace(np.pi / 2 - 0.02, 0.02, 40)
points, moments = rng.normal(size=(1500, 2)), []
for now, after in pairwise(levels):
    moments.append(points)
    noise = noise_in(model, points, np.full(len(points), now))
    clean = (points - np.sin(now) * noise) / np.cos(now)
    points = np.cos(after) * clean + np.sin(after) * noise
moments.append(points)


def distance(a, b):
    """The mean distance from points of one set to the nearest of the other, both ways."""
    gaps = np.linalg.norm(a[:, None] - b, axis=2)
    return (np.mean(np.min(gaps, axis=0)) + np.mean(np.min(gaps, axis=1))) / 2


true = spiral(1500)
off = {"noise": distance(moments[0], true), "made": distance(points, true)}
off["another spiral"] = distance(spiral(1500), true)
for name, value in off.items():
    print(f"{name:15} off by {value:.3f}")

# %%
# The picture
# -----------

figure, panels = plt.subplots(1, 5, figsize=(14, 3), layout="constrained")
shown = [0, 24, 33, 39]
titles = [f"noise level {levels[k]:.2f}" for k in shown] + ["true points"]
clouds = [moments[k] for k in shown] + [true]
for axes, title, cloud in zip(panels, titles, clouds, strict=True):
    axes.plot(*cloud.T, ".", markersize=2, color="k" if cloud is true else "C0")
    axes.set(title=title, xlim=(-2.2, 2.2), ylim=(-2.2, 2.2), aspect="equal", xlabel="x")
panels[0].set(ylabel="y")
plt.show()

assert off["made"] < 0.2 * off["noise"], off
