"""A robot's arm: its joints as 4 x 4 matrices, and the angles that reach a point."""

import math
from functools import reduce

import numpy as np

LINKS = [  # a, alpha, d
    (0.0, math.pi / 2, 0.4),
    (0.5, 0.0, 0.0),
    (0.4, 0.0, 0.1),
]


def joint(theta, a, alpha, d):
    ct, st = math.cos(theta), math.sin(theta)
    ca, sa = math.cos(alpha), math.sin(alpha)
    return np.array(
        [
            [ct, -st * ca, st * sa, a * ct],
            [st, ct * ca, -ct * sa, a * st],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
    )


def hand(angles):
    frames = [joint(t, *link) for t, link in zip(angles, LINKS, strict=True)]
    return reduce(np.matmul, frames)[:3, 3]


def jacobian(angles, h=1e-6):
    J = np.zeros((3, 3))
    for k in range(3):
        moved = list(angles)
        moved[k] += h
        J[:, k] = (hand(moved) - hand(angles)) / h
    return J


def reach(target, angles, damping=0.05, steps=12):
    for _ in range(steps):
        J = jacobian(angles)
        error = target - hand(angles)
        angles = angles + np.linalg.solve(J.T @ J + damping**2 * np.identity(3), J.T @ error)
    return angles


def effort(x, y, z):
    angles = reach(np.array([x, y, z]), np.array([0.1, 0.4, 0.3]))
    elbow = math.atan2(math.sin(angles[2]), math.cos(angles[2]))
    return sum(angle**2 for angle in angles) + abs(elbow)


if __name__ == "__main__":
    print(effort(0.5, 0.2, 0.7))
