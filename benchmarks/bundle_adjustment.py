"""Bundle adjustment as of ADBench: the Jacobian of each reprojection error, by 15 numbers.

A camera is a rotation vector, a centre, a focal length, a principal point and two coefficients of
radial distortion. Observation i is that of point ``seen[i, 1]`` by camera ``seen[i, 0]``; its error
is weighted, and the weights have residuals of their own. In C++ the derivatives are derived by
hand, from the formulas of each step; there is one for the compiler of the machine.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import zyg
from benchmarks.native_code import library


def residual(camera, point, weight, feature):
    r0, r1, r2 = camera[0], camera[1], camera[2]
    x0, x1, x2 = point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]
    square = r0 * r0 + r1 * r1 + r2 * r2
    if square != 0.0:
        angle = math.sqrt(square)
        c, s = math.cos(angle), math.sin(angle)
        w0, w1, w2 = r0 / angle, r1 / angle, r2 / angle
        d = (w0 * x0 + w1 * x1 + w2 * x2) * (1.0 - c)
        p0 = x0 * c + (w1 * x2 - w2 * x1) * s + w0 * d
        p1 = x1 * c + (w2 * x0 - w0 * x2) * s + w1 * d
        p2 = x2 * c + (w0 * x1 - w1 * x0) * s + w2 * d
    else:
        p0 = x0 + r1 * x2 - r2 * x1
        p1 = x1 + r2 * x0 - r0 * x2
        p2 = x2 + r0 * x1 - r1 * x0
    u, v = p0 / p2, p1 / p2
    square = u * u + v * v
    scale = (1.0 + camera[9] * square + camera[10] * square * square) * camera[6]
    return np.array([
        weight * (u * scale + camera[7] - feature[0]), weight * (v * scale + camera[8] - feature[1])
    ])  # fmt: skip


def of_weight(weight):
    return 1.0 - weight * weight


def derivatives(cameras, points, weights, features, seen):
    """The derivatives of all residuals: of errors by camera, point, weight; of weights."""
    n = len(seen)
    blocks, slopes = np.zeros((n, 2, 15)), np.zeros(n)
    for i in range(n):
        by = zyg.jacobian(
            lambda camera, point, weight, i=i: residual(camera, point, weight, features[i]),
            cameras[seen[i, 0]], points[seen[i, 1]], weights[i],
        )  # fmt: skip
        blocks[i, :, :11], blocks[i, :, 11:14], blocks[i, :, 14] = by
        slopes[i] = zyg.gradient(of_weight, weights[i])[0]
    return blocks, slopes


SOURCE = """
#include <cmath>
#include <cstdint>

// p = R(r) x, with its derivatives by r and by x
static void rotate(const double* r, const double* x, double* p, double by_r[3][3],
                   double by_x[3][3]) {
  double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
  if (square == 0.0) {
    double cross[3][3] = {{0, -r[2], r[1]}, {r[2], 0, -r[0]}, {-r[1], r[0], 0}};
    double other[3][3] = {{0, x[2], -x[1]}, {-x[2], 0, x[0]}, {x[1], -x[0], 0}};
    for (int i = 0; i < 3; i++) {
      p[i] = x[i];
      for (int j = 0; j < 3; j++) {
        by_x[i][j] = (i == j) + cross[i][j];
        by_r[i][j] = other[i][j];
        p[i] += cross[i][j] * x[j];
      }
    }
    return;
  }
  double angle = std::sqrt(square), c = std::cos(angle), s = std::sin(angle);
  double w[3] = {r[0] / angle, r[1] / angle, r[2] / angle};
  double dot = w[0] * x[0] + w[1] * x[1] + w[2] * x[2];
  double wx[3] = {w[1] * x[2] - w[2] * x[1], w[2] * x[0] - w[0] * x[2], w[0] * x[1] - w[1] * x[0]};
  double cross[3][3] = {{0, -w[2], w[1]}, {w[2], 0, -w[0]}, {-w[1], w[0], 0}};
  double other[3][3] = {{0, x[2], -x[1]}, {-x[2], 0, x[0]}, {x[1], -x[0], 0}};
  for (int i = 0; i < 3; i++) {
    p[i] = x[i] * c + wx[i] * s + w[i] * dot * (1 - c);
    double by_angle = -x[i] * s + wx[i] * c + w[i] * dot * s, by_w[3], along = 0;
    for (int j = 0; j < 3; j++) {
      by_x[i][j] = (i == j) * c + s * cross[i][j] + (1 - c) * w[i] * w[j];
      by_w[j] = s * other[i][j] + (1 - c) * (w[i] * x[j] + (i == j) * dot);
      along += by_w[j] * w[j];
    }
    for (int j = 0; j < 3; j++)
      by_r[i][j] = by_angle * w[j] + (by_w[j] - along * w[j]) / angle;
  }
}

static void residual(const double* camera, const double* point, double weight,
                     const double* feature, double* out) {
  double x[3] = {point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]};
  double p[3], by_r[3][3], by_x[3][3];
  rotate(camera, x, p, by_r, by_x);
  double flat[2] = {p[0] / p[2], p[1] / p[2]}, focal = camera[6];
  double square = flat[0] * flat[0] + flat[1] * flat[1];
  double scale = 1 + camera[9] * square + camera[10] * square * square;
  double slope = 2 * (camera[9] + 2 * camera[10] * square);
  for (int i = 0; i < 2; i++) {
    double* row = out + 15 * i;
    double by_flat[2], by_p[3];
    for (int j = 0; j < 2; j++)
      by_flat[j] = weight * focal * ((i == j) * scale + slope * flat[i] * flat[j]);
    by_p[0] = by_flat[0] / p[2];
    by_p[1] = by_flat[1] / p[2];
    by_p[2] = -(by_flat[0] * flat[0] + by_flat[1] * flat[1]) / p[2];
    for (int j = 0; j < 3; j++) {
      double r = 0, c = 0;
      for (int k = 0; k < 3; k++) {
        r += by_p[k] * by_r[k][j];
        c += by_p[k] * by_x[k][j];
      }
      row[j] = r;
      row[3 + j] = -c;
      row[11 + j] = c;
    }
    row[6] = weight * scale * flat[i];
    row[7] = i == 0 ? weight : 0;
    row[8] = i == 1 ? weight : 0;
    row[9] = weight * focal * square * flat[i];
    row[10] = weight * focal * square * square * flat[i];
    row[14] = focal * scale * flat[i] + camera[7 + i] - feature[i];
  }
}

extern "C" void derivatives(int64_t n, const double* cameras, const double* points,
                            const double* weights, const double* features, const int64_t* seen,
                            double* blocks, double* slopes) {
  for (int64_t i = 0; i < n; i++) {
    residual(cameras + 11 * seen[2 * i], points + 3 * seen[2 * i + 1], weights[i],
             features + 2 * i, blocks + 30 * i);
    slopes[i] = -2 * weights[i];
  }
}
"""


def by_hand(given: tuple[Any, ...]) -> Callable[[], Any] | None:
    """The C++, called with arrays that are there; None without a compiler."""
    if (made := library(SOURCE)) is None:
        return None
    n = len(given[-1])
    blocks, slopes = np.zeros((n, 2, 15)), np.zeros(n)
    words = [ctypes.c_void_p(x.ctypes.data) for x in (*given, blocks, slopes)]
    count = ctypes.c_int64(n)

    def run() -> Any:
        made.derivatives(count, *words)
        return blocks, slopes

    return run


def problem(quick: bool) -> tuple[Any, ...]:
    """Cameras, points, weights, features, and who sees what."""
    rng = np.random.default_rng(16)
    cameras, points, n = (3, 5, 10) if quick else (49, 7776, 1000)
    where = rng.standard_normal((points, 3)) + np.array([0.0, 0.0, 6.0])
    seen = np.stack([rng.integers(0, cameras, n), rng.integers(0, points, n)], axis=1)
    return (
        0.1 * rng.standard_normal((cameras, 11)), where, rng.uniform(0.5, 1.5, n),
        rng.standard_normal((n, 2)), seen,
    )  # fmt: skip
