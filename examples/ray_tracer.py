"""
A ray tracer whose light is found
=================================

From a picture of three balls on a floor, this finds where the lamp stands and what colour it has.
The picture is made by a small ray tracer: it follows a ray through each pixel, and asks how much
light gets to the point that is hit. The lamp is moved until the traced picture is the one that was
seen; which way to move it, the gradient of the difference says.

::

    pip install -e '.[examples]' && python examples/ray_tracer.py  # takes seconds
"""

import matplotlib.pyplot as plt
import numpy as np

import zyg

# %%
# The scene
# ---------
# Balls have a centre, a radius and a colour. The camera looks along the y axis, from above the
# floor. What a ray hits does not depend on the lamp, so it is computed once.

CENTRES = np.array([[-1.1, 4.0, 0.7], [0.9, 4.6, 1.0], [0.3, 3.0, 0.4]])
RADII = np.array([0.7, 1.0, 0.4])
COLOURS = np.array([[0.9, 0.3, 0.25], [0.3, 0.6, 0.9], [0.95, 0.8, 0.3], [0.75, 0.75, 0.7]])
WIDTH, HEIGHT = 120, 80
EYE = np.array([0.0, -1.5, 2.2])

x, z = np.meshgrid(np.linspace(-1, 1, WIDTH), np.linspace(0.25, -1.08, HEIGHT))
rays = np.stack([x, np.full_like(x, 2.0), z], axis=-1).reshape(-1, 3)
rays /= np.linalg.norm(rays, axis=1, keepdims=True)

along = (CENTRES - EYE) @ rays.T
under = along**2 - np.sum((CENTRES - EYE) ** 2, axis=1)[:, None] + RADII[:, None] ** 2
to_balls = np.where(under > 0, along - np.sqrt(np.maximum(under, 0)), np.inf)
with np.errstate(divide="ignore"):
    to_floor = np.where(rays[:, 2] < 0, -EYE[2] / rays[:, 2], np.inf)
distances = np.vstack([to_balls, np.where(to_floor < 1000, to_floor, np.inf)])
what = np.argmin(distances, axis=0)
seen = np.isfinite(distances[what, np.arange(len(rays))])

what = what[seen]
points = EYE + distances[what, np.flatnonzero(seen)][:, None] * rays[seen]
is_floor = (what == len(RADII))[:, None]
ball = np.minimum(what, len(RADII) - 1)
outward = (points - CENTRES[ball]) / RADII[ball][:, None]
normals = np.where(is_floor, np.array([0.0, 0.0, 1.0]), outward)

# %%
# The light
# ---------
# A point is lit by the cosine at which light falls, over the square of the distance, unless a ball
# is in between. The lamp is not a point, so shadows have soft edges: a derivative sees a shadow
# only where it has an edge that is not sharp.


def shadow(lamp):
    """For each point, the share of the lamp that no ball hides."""
    way = lamp - points
    length = np.linalg.norm(way, axis=1)
    share = 1.0
    for k, (centre, radius) in enumerate(zip(CENTRES, RADII, strict=True)):
        ahead = np.sum((centre - points) * way, axis=1) / length
        nearest = points + ahead[:, None] * way / length[:, None]
        clear = np.linalg.norm(centre - nearest, axis=1) - radius
        between = (what != k) & (ahead > 0) & (ahead < length)
        share = share * np.where(between, 1 / (1 + np.exp(-clear / 0.05)), 1.0)
    return share


def picture(light):
    """The colours of the points seen."""
    way = light["lamp"] - points
    square = np.sum(way**2, axis=1)
    cosine = np.maximum(np.sum(normals * way, axis=1), 0) / np.sqrt(square)
    falling = (cosine * shadow(light["lamp"]) / square)[:, None] * light["colour"]
    return COLOURS[what] * (0.15 + falling)


# %%
# The search
# ----------

TRUTH = {"lamp": np.array([-2.0, 1.5, 4.0]), "colour": np.array([12.0, 10.0, 7.0])}
noise = 0.02 * np.random.default_rng(0).normal(size=points.shape)
photograph = picture(TRUTH) + noise


def difference(light):
    return np.mean((picture(light) - photograph) ** 2)


start = {"lamp": np.array([2.5, 3.0, 3.0]), "colour": np.full(3, 6.0)}
found = zyg.optimize.minimize(difference, start)
for name, true in TRUTH.items():
    print(f"{name:6} guess {start[name]}, found {found.x[name].round(2)}, truth {true}")
print(f"{found.nfev} pictures and gradients")

# %%
# The pictures
# ------------

figure, panels = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
lights = {"first guess": start, "found": found.x}
images = {"photograph": photograph} | {name: picture(light) for name, light in lights.items()}
for axes, (name, colours) in zip(panels, images.items(), strict=True):
    canvas = np.full((HEIGHT * WIDTH, 3), 0.05)
    canvas[seen] = np.clip(colours, 0, 1) ** (1 / 2.2)
    axes.imshow(canvas.reshape(HEIGHT, WIDTH, 3))
    axes.set(title=name, xticks=[], yticks=[])
plt.show()

assert np.linalg.norm(found.x["lamp"] - TRUTH["lamp"]) < 0.05, "the lamp was not found"
assert np.allclose(found.x["colour"], TRUTH["colour"], rtol=0.02), "its colour was not found"
