"""
A robot arm around an obstacle
==============================

An arm with four joints reaches for a point and must not hit a ball on its way. First Newton's
method finds angles at which the hand is there, with the Jacobian of a function that knows nothing
but sines and cosines. Then a whole movement is found: forty postures, of which none touches the
ball, with as little acceleration as that allows.

::

    pip install -e '.[examples]' && python examples/robot_arm.py  # takes seconds
"""

import matplotlib.pyplot as plt
import numpy as np

import zyg

# %%
# The arm
# -------
# Each joint turns all that comes after it.

LENGTHS = np.array([1.0, 0.8, 0.6, 0.4])
TARGET = np.array([-0.9, 1.7])
OBSTACLE, RADIUS = np.array([0.9, 1.9]), 0.35


def joints(angles):
    """Where the joints and the hand are, of one posture or of several: x and y come last."""
    turned = np.cumsum(angles, axis=-1)
    bones = LENGTHS[:, None] * np.stack([np.cos(turned), np.sin(turned)], axis=-1)
    return np.cumsum(bones, axis=-2)


def hand(angles):
    return joints(angles)[..., -1, :]


# %%
# Where to
# --------
# Two equations for four angles: the pseudoinverse takes the shortest step that solves them.

start = np.array([0.1, 0.2, 0.2, 0.2])
end = np.array([1.0, 0.5, 0.5, 0.5])
for _ in range(20):
    (jacobian,) = zyg.jacobian(hand, end)
    end = end + np.linalg.pinv(jacobian) @ (TARGET - hand(end))
    miss = np.linalg.norm(hand(end) - TARGET)
    print(f"the hand misses the target by {miss:.1e}")
    if miss < 1e-10:
        break

# %%
# How to get there
# ----------------
# The cost is acceleration, and a price for bones that are nearer to the ball than they should.
# Each bone is asked at five points.

STEPS, MARGIN = 40, 0.12


def clearance(angles):
    """How far points of the bones are from the ball, for each posture."""
    ends = joints(angles)
    begins = np.concatenate([np.zeros_like(ends[..., :1, :]), ends[..., :-1, :]], axis=-2)
    along = np.linspace(0.2, 1, 5)[:, None, None, None]
    points = begins + along * (ends - begins)
    return np.linalg.norm(points - OBSTACLE, axis=-1) - RADIUS


def cost(between):
    path = np.concatenate([start[None], start[None], between, end[None], end[None]])
    effort = np.sum(np.diff(path, 2, axis=0) ** 2)
    return STEPS * effort + 200 * np.sum(np.maximum(MARGIN - clearance(path), 0) ** 2)


straight = np.linspace(start, end, STEPS)[1:-1]
found = zyg.optimize.minimize(cost, straight, method="L-BFGS-B", options={"maxiter": 500})
paths = {
    "straight": np.linspace(start, end, STEPS),
    "found": np.concatenate([start[None], found.x, end[None]]),
}
nearest = {name: np.min(clearance(path)) for name, path in paths.items()}
for name, distance in nearest.items():
    print(f"{name:8} cost {cost(paths[name][1:-1]):8.3f}, nearest to the ball {distance:+.3f}")

# %%
# The picture
# -----------

figure, panels = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for axes, (name, path) in zip(panels, paths.items(), strict=False):
    places = np.concatenate([np.zeros((len(path), 1, 2)), joints(path)], axis=1)
    axes.add_patch(plt.Circle(OBSTACLE, RADIUS, color="C3", alpha=0.6))
    for k in range(0, STEPS, 3):
        axes.plot(*places[k].T, "-o", color=plt.cm.viridis(k / STEPS), markersize=3)
    axes.plot(*places[:, -1].T, ":k", linewidth=1)
    axes.plot(*TARGET, "*", color="C1", markersize=14)
    axes.set(title=f"{name} movement", xlabel="x, m", ylabel="y, m", aspect="equal")
    axes.set(xlim=(-1.9, 2.9), ylim=(-1.7, 2.6))
for joint, angles in enumerate(np.degrees(paths["found"]).T):
    panels[2].plot(np.linspace(0, 1, STEPS), angles, label=f"joint {joint + 1}")
panels[2].set(title="angles of the movement found", xlabel="time", ylabel="degrees")
panels[2].legend()
plt.show()

assert miss < 1e-10, "the hand does not reach the target"
assert nearest["straight"] < 0 < nearest["found"], "the arm hits the ball"
