"""The mixture and the recurrent network of `loops` in C++, with derivatives made by hand.

Plain loops from the formulas, as in the manual programs of ADBench (Šrajer, Kukelova and
Fitzgibbon, A Benchmark of Selected Algorithmic Differentiation Tools, 2018).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.native_code import library

_MIXTURE = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>
typedef std::vector<double> row;

static double log_sum(int64_t k, const double* x, double* parts) {
  double top = *std::max_element(x, x + k), sum = 0;
  for (int64_t c = 0; c < k; c++) sum += parts[c] = std::exp(x[c] - top);
  for (int64_t c = 0; c < k; c++) parts[c] /= sum;
  return top + std::log(sum);
}

extern "C" void slopes(const int64_t* sizes, const double* alphas, const double* means,
                       const double* scales, const double* triangles, const double* points,
                       double* value, double* alphas_d, double* means_d, double* scales_d,
                       double* triangles_d) {
  const int64_t n = sizes[0], d = sizes[1], k = sizes[2];
  std::fill(alphas_d, alphas_d + k, 0.0);
  std::fill(means_d, means_d + k * d, 0.0);
  std::fill(scales_d, scales_d + k * d, 0.0);
  std::fill(triangles_d, triangles_d + k * d * d, 0.0);
  row diagonal(k * d), sums(k), centred(k * d), turned(k * d), terms(k), parts(k), back(d);
  for (int64_t c = 0; c < k; c++)
    for (int64_t i = 0; i < d; i++) {
      diagonal[c * d + i] = std::exp(scales[c * d + i]);
      sums[c] += scales[c * d + i];
    }
  double total = 0;
  for (int64_t p = 0; p < n; p++) {
    for (int64_t c = 0; c < k; c++) {
      double* x = &centred[c * d];
      double* y = &turned[c * d];
      double square = 0;
      for (int64_t i = 0; i < d; i++) {
        x[i] = points[p * d + i] - means[c * d + i];
        y[i] = diagonal[c * d + i] * x[i];
        for (int64_t j = 0; j < i; j++) y[i] += triangles[(c * d + i) * d + j] * x[j];
        square += y[i] * y[i];
      }
      terms[c] = alphas[c] + sums[c] - 0.5 * square;
    }
    total += log_sum(k, terms.data(), parts.data());
    for (int64_t c = 0; c < k; c++) {
      const double* x = &centred[c * d];
      const double* y = &turned[c * d];
      const double part = parts[c];
      alphas_d[c] += part;
      for (int64_t i = 0; i < d; i++) back[i] = diagonal[c * d + i] * y[i];
      for (int64_t i = 0; i < d; i++) {
        scales_d[c * d + i] += part * (1 - diagonal[c * d + i] * x[i] * y[i]);
        const double w = part * y[i];
        for (int64_t j = 0; j < i; j++) {
          triangles_d[(c * d + i) * d + j] -= w * x[j];
          back[j] += triangles[(c * d + i) * d + j] * y[i];
        }
      }
      for (int64_t i = 0; i < d; i++) means_d[c * d + i] += part * back[i];
    }
  }
  *value = total - n * log_sum(k, alphas, parts.data());
  for (int64_t c = 0; c < k; c++) alphas_d[c] -= n * parts[c];
}
"""

_NETWORK = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

struct cell { double x, h, c, forget, put, out, change, squashed; };

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

extern "C" void slopes(const int64_t* sizes, const double* weights, const double* biases,
                       const double* hidden, const double* cells, const double* sequence,
                       double* value, double* weights_d, double* biases_d, double* h_d,
                       double* c_d) {
  const int64_t steps = sizes[0], size = sizes[1], layers = sizes[2], all = layers * size;
  std::vector<double> h(hidden, hidden + all), c(cells, cells + all);
  std::vector<cell> kept((steps - 1) * all);
  double total = 0;
  for (int64_t t = 0; t + 1 < steps; t++) {
    for (int64_t l = 0; l < layers; l++) {
      const double* w = weights + 4 * l * size;
      const double* b = biases + 4 * l * size;
      for (int64_t i = 0; i < size; i++) {
        const int64_t k = l * size + i;
        cell& s = kept[t * all + k];
        s.x = l == 0 ? sequence[t * size + i] : h[k - size];
        s.h = h[k];
        s.c = c[k];
        s.forget = sigmoid(s.x * w[i] + b[i]);
        s.put = sigmoid(s.h * w[size + i] + b[size + i]);
        s.out = sigmoid(s.x * w[2 * size + i] + b[2 * size + i]);
        s.change = std::tanh(s.h * w[3 * size + i] + b[3 * size + i]);
        c[k] = s.c * s.forget + s.put * s.change;
        s.squashed = std::tanh(c[k]);
        h[k] = s.out * s.squashed;
      }
    }
    for (int64_t i = 0; i < size; i++) {
      const double error = h[all - size + i] - sequence[(t + 1) * size + i];
      total += error * error;
    }
  }
  *value = total;
  std::fill(weights_d, weights_d + 4 * all, 0.0);
  std::fill(biases_d, biases_d + 4 * all, 0.0);
  std::fill(h_d, h_d + all, 0.0);
  std::fill(c_d, c_d + all, 0.0);
  for (int64_t t = steps - 2; t >= 0; t--) {
    for (int64_t i = 0; i < size; i++) {
      const cell& s = kept[t * all + all - size + i];
      h_d[all - size + i] += 2 * (s.out * s.squashed - sequence[(t + 1) * size + i]);
    }
    for (int64_t l = layers - 1; l >= 0; l--) {
      const double* w = weights + 4 * l * size;
      double* w_d = weights_d + 4 * l * size;
      double* b_d = biases_d + 4 * l * size;
      for (int64_t i = 0; i < size; i++) {
        const int64_t k = l * size + i;
        const cell& s = kept[t * all + k];
        const double bar = c_d[k] + h_d[k] * s.out * (1 - s.squashed * s.squashed);
        const double gates[4] = {
            bar * s.c * s.forget * (1 - s.forget), bar * s.change * s.put * (1 - s.put),
            h_d[k] * s.squashed * s.out * (1 - s.out), bar * s.put * (1 - s.change * s.change)};
        const double given[4] = {s.x, s.h, s.x, s.h};
        for (int64_t g = 0; g < 4; g++) {
          w_d[g * size + i] += gates[g] * given[g];
          b_d[g * size + i] += gates[g];
        }
        c_d[k] = bar * s.forget;
        h_d[k] = gates[1] * w[size + i] + gates[3] * w[3 * size + i];
        if (l > 0) h_d[k - size] += gates[0] * w[i] + gates[2] * w[2 * size + i];
      }
    }
  }
}
"""


def called(
    source: str, sizes: Sequence[int], by: Sequence[np.ndarray], data: Sequence[np.ndarray] = ()
) -> Callable[[], Any] | None:
    """The C++ as a contestant, with the gradient by some arrays; None without a compiler."""
    if (made := library(source)) is None:
        return None
    value, slopes = np.zeros(1), [np.zeros_like(x) for x in by]
    arrays = [np.array(sizes), *by, *data, value, *slopes]
    words = [ctypes.c_void_p(x.ctypes.data) for x in arrays]

    def run() -> Any:
        made.slopes(*words)
        return [value[0], *slopes]

    run.arrays = arrays  # type: ignore[attr-defined]  # whose addresses it has
    return run


def _of_last(source: str) -> Callable[[tuple[Any, ...]], Callable[[], Any] | None]:
    """The gradient by all but the last; sizes are its shape, and the length of the first."""

    def contestant(given: tuple[Any, ...]) -> Callable[[], Any] | None:
        *by, data = given
        return called(source, [*data.shape, len(by[0])], by, [data])

    return contestant


in_cpp: dict[str, Callable[[tuple[Any, ...]], Callable[[], Any] | None]] = {
    "gaussian_mixture": _of_last(_MIXTURE), "lstm": _of_last(_NETWORK),
}  # fmt: skip
