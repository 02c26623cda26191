"""What suites of derivatives compare tools by: minors, clusters, sums of exponentials, a hand.

The mathematics is that of GradBench (a determinant by minors, k-means, log-sum-exp) and of ADBench
(hand tracking), written anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import zyg
from benchmarks.compiled_matrices import CPP
from benchmarks.harness import Case, times_faster
from benchmarks.loops import log_sum_exp
from benchmarks.suites_cpp import in_cpp


def determinant(matrix):
    """By minors along the first row, which are determinants of what is left of the columns."""
    n = len(matrix)

    def minor(row, left):
        if row == n:
            return 1.0
        total, sign = 0.0, 1.0
        for k in range(n):
            if left & (1 << k):
                total += sign * matrix[row, k] * minor(row + 1, left - (1 << k))
                sign = -sign
        return total

    return minor(0, (1 << n) - 1)


def k_means(centroids, points):
    """The squares of how far each point is from the centroid next to it."""
    total = 0.0
    for i in range(len(points)):
        least = math.inf
        for c in range(len(centroids)):
            square = 0.0
            for k in range(points.shape[1]):
                away = points[i, k] - centroids[c, k]
                square += away * away
            least = min(least, square)
        total += least
    return total


def hand(pose, offsets, bones, weights, places, seen):
    """How far the vertices of a hand are from what was seen, by its pose.

    The pose is a rotation vector and a place of the wrist, and four angles of each finger, whose
    first is a turn sideways. A vertex is fixed to several bones, and is the weighted mean of where
    these have it, by its places in their frames. Bone 0 is the wrist.
    """
    turned, origins = np.zeros((21, 3, 3)), np.zeros((21, 3))
    x, y, z = pose[0], pose[1], pose[2]
    angle = math.sqrt(x * x + y * y + z * z)
    x, y, z = x / angle, y / angle, z / angle
    c, s = math.cos(angle), math.sin(angle)
    d = 1.0 - c
    turned[0, 0, 0] = c + x * x * d
    turned[0, 0, 1] = x * y * d - z * s
    turned[0, 0, 2] = x * z * d + y * s
    turned[0, 1, 0] = x * y * d + z * s
    turned[0, 1, 1] = c + y * y * d
    turned[0, 1, 2] = y * z * d - x * s
    turned[0, 2, 0] = x * z * d - y * s
    turned[0, 2, 1] = y * z * d + x * s
    turned[0, 2, 2] = c + z * z * d
    for i in range(3):
        origins[0, i] = pose[3 + i]
    for bone in range(1, 21):
        joint = (bone - 1) % 4
        before = 0 if joint == 0 else bone - 1
        c, s = math.cos(pose[5 + bone]), math.sin(pose[5 + bone])
        for i in range(3):
            a, b, e = turned[before, i, 0], turned[before, i, 1], turned[before, i, 2]
            origins[bone, i] = origins[before, i] + a * offsets[bone, 0]
            origins[bone, i] += b * offsets[bone, 1] + e * offsets[bone, 2]
            if joint == 0:
                turned[bone, i, 0] = a * c + b * s
                turned[bone, i, 1] = b * c - a * s
                turned[bone, i, 2] = e
            else:
                turned[bone, i, 0] = a
                turned[bone, i, 1] = b * c + e * s
                turned[bone, i, 2] = e * c - b * s
    errors = np.zeros((len(seen), 3))
    for v in range(len(seen)):
        for i in range(3):
            place = 0.0
            for k in range(bones.shape[1]):
                bone = bones[v, k]
                place += weights[v, k] * (
                    turned[bone, i, 0] * places[v, k, 0]
                    + turned[bone, i, 1] * places[v, k, 1]
                    + turned[bone, i, 2] * places[v, k, 2]
                    + origins[bone, i]
                )
            errors[v, i] = seen[v, i] - place
    return errors


_PROGRAMS: dict[str, tuple[Callable[..., Any], float, str]] = {  # how many times ahead of C++
    "determinant": (determinant, 0.8, "determinant of 9 x 9 by minors"),
    "k_means": (k_means, 1.0, "k-means, 10 centroids of 10000 points"),
    "log_sum_exp": (log_sum_exp, 1.0, "log-sum-exp of 640000"),
    "hand": (hand, 1.0, "hand tracking, Jacobian of 544 vertices"),
}


def problem(name: str, quick: bool = False) -> tuple[Any, ...]:
    """What a program is called with; its derivatives are by the first."""
    rng = np.random.default_rng(18)
    r, n = rng.standard_normal, 5 if quick else 544
    if name == "hand":
        weights = rng.uniform(size=(n, 4))
        weights /= np.sum(weights, axis=1, keepdims=True)
        bones = rng.integers(0, 21, (n, 4))
        return 0.3 * r(26), r((21, 3)), bones, weights, r((n, 4, 3)), r((n, 3))
    shapes = {
        "determinant": [(4, 4) if quick else (9, 9)], "log_sum_exp": [9 if quick else 640_000],
        "k_means": [(10, 8), (9 if quick else 10_000, 8)],
    }  # fmt: skip
    return tuple(map(r, shapes[name]))


def cases(quick: bool) -> Iterator[Case]:
    for name, (f, ahead, title) in _PROGRAMS.items():
        given = problem(name, quick)
        programs = {"zyg": _jacobian_of_hand(given) if name == "hand" else _gradient(f, given)}
        if written := in_cpp[name](given):
            programs[CPP] = written
        yield Case(
            title, programs, targets=[times_faster(CPP, ahead)] if written else [],
            note="" if written else "no C++ compiler, so not beside C++",
        )  # fmt: skip


def _gradient(f: Callable[..., Any], given: tuple[Any, ...]) -> Callable[[], Any]:
    compiled = zyg.compile(f, wrt=(0,))

    def run() -> Any:
        value, slopes = zyg.value_and_gradient(compiled, *given)
        return value, slopes[0]

    return run


def _jacobian_of_hand(given: tuple[Any, ...]) -> Callable[[], Any]:
    """The Jacobian by the pose; by the data it would take gigabytes of zeros."""
    pose, *data = given
    compiled = zyg.compile(lambda pose: hand(pose, *data))
    return lambda: zyg.jacobian(compiled, pose)[0]
