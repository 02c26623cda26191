"""The programs of `suites` in C++, with derivatives made by hand: plain loops from the formulas.

The adjoint of the minors keeps each of them on a stack; in the hand, a bone has derivatives by what
moves it alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.compiled_cpp import called
from benchmarks.native_code import library

_DETERMINANT = r"""
#include <cstdint>
#include <vector>
static const double* a;
static double* a_d;
static int64_t n;
static std::vector<double> kept;  // minors, in the order in which they are made

static double minor(int64_t row, int64_t left) {
  if (row == n) return 1;
  double total = 0, sign = 1;
  for (int64_t k = 0; k < n; k++)
    if (left & (int64_t(1) << k)) {
      double below = minor(row + 1, left - (int64_t(1) << k));
      kept.push_back(below);
      total += sign * a[row * n + k] * below;
      sign = -sign;
    }
  return total;
}

static void back(int64_t row, int64_t left, double sign, double bar) {
  if (row == n) return;
  for (int64_t k = n - 1; k >= 0; k--)
    if (left & (int64_t(1) << k)) {
      a_d[row * n + k] += bar * sign * kept.back();
      kept.pop_back();
      back(row + 1, left - (int64_t(1) << k), (n - row) % 2 ? -1 : 1, bar * sign * a[row * n + k]);
      sign = -sign;
    }
}

extern "C" void slopes(const int64_t* sizes, const double* matrix, double* value,
                       double* matrix_d) {
  n = sizes[0], a = matrix, a_d = matrix_d;
  for (int64_t k = 0; k < n * n; k++) a_d[k] = 0;
  *value = minor(0, (int64_t(1) << n) - 1);
  back(0, (int64_t(1) << n) - 1, n % 2 ? 1 : -1, 1);
}
"""

_MEANS = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void slopes(const int64_t* sizes, const double* centroids, const double* points,
                       double* value, double* centroids_d) {
  const int64_t n = sizes[0], d = sizes[1], count = sizes[2];
  std::fill(centroids_d, centroids_d + count * d, 0.0);
  double total = 0;
  for (int64_t i = 0; i < n; i++) {
    double least = INFINITY;
    int64_t next = 0;
    for (int64_t c = 0; c < count; c++) {
      double square = 0;
      for (int64_t k = 0; k < d; k++) {
        const double away = points[i * d + k] - centroids[c * d + k];
        square += away * away;
      }
      if (square < least) least = square, next = c;
    }
    total += least;
    for (int64_t k = 0; k < d; k++)
      centroids_d[next * d + k] += 2 * (centroids[next * d + k] - points[i * d + k]);
  }
  *value = total;
}
"""

_SUM_OF_EXPONENTIALS = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void slopes(const int64_t* sizes, const double* xs, double* value, double* xs_d) {
  const int64_t n = sizes[0];
  const double top = *std::max_element(xs, xs + n);
  double total = 0;
  for (int64_t i = 0; i < n; i++) total += xs_d[i] = std::exp(xs[i] - top);
  for (int64_t i = 0; i < n; i++) xs_d[i] /= total;
  *value = top + std::log(total);
}
"""

_HAND = r"""
#include <cmath>
#include <cstdint>
#include <cstring>

// A bone's frame: nine numbers of its rotation, three of its origin, and their derivatives.
struct frame { double x[12], d[12][26]; };

extern "C" void derivatives(const int64_t* sizes, const double* pose, const double* offsets,
                            const int64_t* bones, const double* weights, const double* places,
                            double* out) {
  static frame frames[21];
  std::memset(frames, 0, sizeof frames);
  frame& wrist = frames[0];
  const double square = pose[0] * pose[0] + pose[1] * pose[1] + pose[2] * pose[2];
  const double angle = std::sqrt(square), c = std::cos(angle), s = std::sin(angle);
  const double w[3] = {pose[0] / angle, pose[1] / angle, pose[2] / angle};
  const double cross[3][3] = {{0, -w[2], w[1]}, {w[2], 0, -w[0]}, {-w[1], w[0], 0}};
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      wrist.x[3 * i + j] = c * (i == j) + s * cross[i][j] + (1 - c) * w[i] * w[j];
      for (int p = 0; p < 3; p++) {
        double w_d[3];  // of the axis by the p-th number
        for (int k = 0; k < 3; k++) w_d[k] = ((k == p) - w[k] * w[p]) / angle;
        const double cross_d[3][3] = {
            {0, -w_d[2], w_d[1]}, {w_d[2], 0, -w_d[0]}, {-w_d[1], w_d[0], 0}};
        wrist.d[3 * i + j][p] =
            w[p] * (s * (w[i] * w[j] - (i == j)) + c * cross[i][j]) + s * cross_d[i][j] +
            (1 - c) * (w_d[i] * w[j] + w[i] * w_d[j]);
      }
    }
    wrist.x[9 + i] = pose[3 + i];
    wrist.d[9 + i][3 + i] = 1;
  }
  for (int b = 1; b < 21; b++) {
    const int joint = (b - 1) % 4, own = 5 + b, first = own - joint;
    const frame& before = frames[joint ? b - 1 : 0];
    frame& now = frames[b];
    const double c = std::cos(pose[own]), s = std::sin(pose[own]), *offset = offsets + 3 * b;
    const int from = joint ? 1 : 0, to = from + 1, still = joint ? 0 : 2;  // the axes that turn
    for (int i = 0; i < 3; i++) {
      const double *x = before.x + 3 * i, *place = before.x + 9 + i;
      now.x[9 + i] = place[0] + x[0] * offset[0] + x[1] * offset[1] + x[2] * offset[2];
      now.x[3 * i + still] = x[still];
      now.x[3 * i + from] = x[from] * c + x[to] * s;
      now.x[3 * i + to] = x[to] * c - x[from] * s;
      auto along = [&](int p) {
        const double x0 = before.d[3 * i][p], x1 = before.d[3 * i + 1][p],
                     x2 = before.d[3 * i + 2][p], xs[3] = {x0, x1, x2};
        now.d[9 + i][p] = before.d[9 + i][p] + x0 * offset[0] + x1 * offset[1] + x2 * offset[2];
        now.d[3 * i + still][p] = xs[still];
        now.d[3 * i + from][p] = xs[from] * c + xs[to] * s;
        now.d[3 * i + to][p] = xs[to] * c - xs[from] * s;
      };
      for (int p = 0; p < 6; p++) along(p);
      for (int p = first; p < own; p++) along(p);
      now.d[3 * i + from][own] = x[to] * c - x[from] * s;
      now.d[3 * i + to][own] = -x[to] * s - x[from] * c;
    }
  }
  const int64_t n = sizes[0], count = sizes[1];
  std::memset(out, 0, n * 3 * 26 * sizeof *out);
  for (int64_t v = 0; v < n; v++)
    for (int64_t k = 0; k < count; k++) {
      const int64_t b = bones[v * count + k];
      const double weight = weights[v * count + k], *place = places + 3 * (v * count + k);
      const frame& at = frames[b];
      const int last = b ? 5 + b : 5, first = b ? last - int(b - 1) % 4 : 6;
      for (int i = 0; i < 3; i++) {
        double* row = out + (3 * v + i) * 26;
        auto along = [&](int p) {
          row[p] -= weight * (at.d[3 * i][p] * place[0] + at.d[3 * i + 1][p] * place[1] +
                              at.d[3 * i + 2][p] * place[2] + at.d[9 + i][p]);
        };
        for (int p = 0; p < 6; p++) along(p);
        for (int p = first; p <= last; p++) along(p);
      }
    }
}
"""


def _gradient(source: str) -> Callable[[tuple[Any, ...]], Callable[[], Any] | None]:
    """The gradient by the first argument; sizes are the shape of the last and its length."""
    return lambda given: called(source, [*given[-1].shape, len(given[0])], given[:1], given[1:])


def _hand(given: tuple[Any, ...]) -> Callable[[], Any] | None:
    if (made := library(_HAND)) is None:
        return None
    pose, offsets, bones, weights, places, _ = given
    out = np.zeros((*places.shape[::2], len(pose)))
    arrays = [np.array(bones.shape), pose, offsets, bones, weights, places, out]
    words = [ctypes.c_void_p(x.ctypes.data) for x in arrays]

    def run() -> Any:
        made.derivatives(*words)
        return out

    run.arrays = arrays  # type: ignore[attr-defined]  # whose addresses it has
    return run


in_cpp: dict[str, Callable[[tuple[Any, ...]], Callable[[], Any] | None]] = {
    "determinant": _gradient(_DETERMINANT),
    "k_means": _gradient(_MEANS),
    "log_sum_exp": _gradient(_SUM_OF_EXPONENTIALS),
    "hand": _hand,
}
