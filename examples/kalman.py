"""
A Kalman filter whose noise is learned
======================================

A boat is tracked by a receiver that is off by some metres. A Kalman filter gives the best guess of
where the boat is, if it is told how large the errors are, and how hard the boat is pushed about by
wind and waves. As a rule such numbers are tuned by hand. Here they are those that make the
readings most likely, found by Newton's method: the filter is a loop in NumPy, and zyg gives the
gradient and the Hessian of what it ends with.

::

    pip install -e '.[examples]' && python examples/kalman.py  # takes seconds
"""

import matplotlib.pyplot as plt
import numpy as np

import zyg

# %%
# The filter
# ----------
# The state has place and speed, in x and y. In each second the speed is changed by a random push.
# The receiver reads the place.

MOVE = np.kron([[1, 1], [0, 1]], np.eye(2))
PUSH = np.kron([[1 / 3, 1 / 2], [1 / 2, 1]], np.eye(2))  # of a push that never rests
READ = np.kron([1, 0], np.eye(2))


def filtered(noise, readings):
    """Minus the log likelihood of the readings, and the states that are the best guesses.

    `noise` has the logarithms of the standard deviations of a reading and of a push.
    """
    reading, push = np.exp(2 * noise[0]) * np.eye(2), np.exp(2 * noise[1]) * PUSH
    state, covariance = np.zeros(4), 1e4 * np.eye(4)
    surprise, states = 0.0, []
    for place in readings:
        expected = READ @ covariance @ READ.T + reading
        error = place - READ @ state
        gain = covariance @ READ.T @ np.linalg.inv(expected)
        weighted = error @ np.linalg.solve(expected, error)
        surprise += (weighted + np.log(np.linalg.det(2 * np.pi * expected))) / 2
        state = state + gain @ error
        covariance = covariance - gain @ READ @ covariance
        states.append(state)
        state, covariance = MOVE @ state, MOVE @ covariance @ MOVE.T + push
    return surprise, np.stack(states)


# %%
# The boat
# --------

SECONDS, TRUTH = 80, np.log([8.0, 0.6])
rng = np.random.default_rng(1)
pushes = np.exp(TRUTH[1]) * rng.normal(size=(SECONDS, 4)) @ np.linalg.cholesky(PUSH).T
track = [np.array([0.0, 0.0, 4.0, 1.0])]
for push in pushes[1:]:
    track.append(MOVE @ track[-1] + push)
track = np.array(track)
readings = track[:, :2] + np.exp(TRUTH[0]) * rng.normal(size=(SECONDS, 2))

# %%
# The fit
# -------
# The inverse of the last Hessian tells how sure the numbers are.


def surprise(noise):
    return filtered(noise, readings)[0]


guess = noise = np.log([3.0, 3.0])
for _ in range(20):
    value, (slope,) = zyg.value_and_gradient(surprise, noise)
    hessian = zyg.hessian(surprise, noise)
    curvatures, directions = np.linalg.eigh(hessian)
    change = directions @ (directions.T @ slope / np.abs(curvatures))
    print(f"log likelihood {-value:9.3f}, standard deviations {np.exp(noise).round(3)}")
    if np.max(np.abs(change)) < 1e-6:
        break
    noise = noise - change / max(1, np.max(np.abs(change)))
errors = np.sqrt(np.diagonal(np.linalg.inv(hessian)))
for k, name in enumerate(["reading", "push"]):
    print(f"{name:8} {np.exp(noise[k]):.2f} ± {errors[k]:.0%}, truth {np.exp(TRUTH[k]):.2f}")

# %%
# The picture
# -----------

tracks = {name: filtered(n, readings)[1] for name, n in [("guess", guess), ("learned", noise)]}
off = {n: np.sqrt(np.mean((t[5:, :2] - track[5:, :2]) ** 2)) for n, t in tracks.items()}
off["readings"] = np.sqrt(np.mean((readings[5:] - track[5:, :2]) ** 2))
print("off by", ", ".join(f"{metres:.1f} m ({name})" for name, metres in off.items()))

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
axes.plot(*readings.T, ".", color="grey", label=f"readings, off by {off['readings']:.1f} m")
axes.plot(*track[:, :2].T, "k", linewidth=1, label="truth")
for (name, states), style in zip(tracks.items(), [":C1", "C0"], strict=True):
    axes.plot(*states[:, :2].T, style, label=f"filter, noise {name}: off by {off[name]:.1f} m")
axes.set(xlabel="x, m", ylabel="y, m", title="A boat, tracked", aspect="equal")
axes.legend()
plt.show()

assert np.all(np.abs(noise - TRUTH) < 3 * errors), "the noise was not learned"
assert off["learned"] < off["guess"] < off["readings"], off
