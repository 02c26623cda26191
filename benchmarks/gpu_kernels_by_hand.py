"""The kernels of the HM-LSTM update as somebody writes them for a GPU: with numba, and in CUDA C++.

Value and four derivatives, worked out on paper; with `scaled`, times a cotangent. That in C++ takes
four neighbours at once.
"""

from __future__ import annotations

import math

import numpy as np
from numba import cuda

ONE, ZERO = np.float32(1), np.float32(0)


@cuda.jit
def update_by_hand(c, f, i, g, z1, z2, y_bar, scaled, y, y_c, y_f, y_i, y_g):
    k, first = cuda.grid(2)
    step_k, step_j = cuda.gridsize(2)
    while k < c.shape[1]:
        flush, copy = z1[k] == ONE, z2[k] == ZERO
        j = first
        while j < c.shape[0]:
            b = y_bar[j, k] if scaled else ONE
            if flush or not copy:
                s, t = ONE / (ONE + math.exp(-i[j, k])), math.tanh(g[j, k])
                v, d_c, d_f = s * t, ZERO, ZERO
                d_i, d_g = v * (ONE - s), s * (ONE - t * t)
                if not flush:
                    d_c = ONE / (ONE + math.exp(-f[j, k]))
                    d_f = c[j, k] * d_c * (ONE - d_c)
                    v += d_c * c[j, k]
            else:
                v, d_c, d_f, d_i, d_g = c[j, k], ONE, ZERO, ZERO, ZERO
            y[j, k], y_c[j, k], y_f[j, k] = v, b * d_c, b * d_f
            y_i[j, k], y_g[j, k] = b * d_i, b * d_g
            j += step_j
        k += step_k


@cuda.jit
def fill(x, value):
    k = cuda.grid(1)
    if k < x.size:
        x[k] = value


@cuda.jit
def spend_time(x, rounds):
    """Keep the device busy, with sums of which each needs the one before."""
    y = x[0]
    for _ in range(rounds):
        y = y * y + ONE
    x[0] = y


CUDA = r"""
__device__ __forceinline__ void cell(float c, float f, float i, float g, float z1, float z2,
                                     float b, float &y, float &yc, float &yf, float &yi,
                                     float &yg) {
    bool flush = z1 == 1.0f, copy = !flush && z2 == 0.0f;
    float sf = 1.0f / (1.0f + expf(-f)), si = 1.0f / (1.0f + expf(-i)), t = tanhf(g);
    float fresh = si * t;
    y = flush ? fresh : (copy ? c : sf * c + fresh);
    yc = b * (flush ? 0.0f : (copy ? 1.0f : sf));
    yf = b * (flush || copy ? 0.0f : c * sf * (1.0f - sf));
    yi = b * (copy ? 0.0f : fresh * (1.0f - si));
    yg = b * (copy ? 0.0f : si * (1.0f - t * t));
}
#define LANE(l) cell(C.l, F.l, I.l, G.l, Z1.l, Z2.l, B.l, Y.l, YC.l, YF.l, YI.l, YG.l)
extern "C" __global__ void update(const float4* __restrict__ c, const float4* __restrict__ f,
        const float4* __restrict__ i, const float4* __restrict__ g, const float4* __restrict__ z1,
        const float4* __restrict__ z2, const float4* __restrict__ b, float4* __restrict__ y,
        float4* __restrict__ yc, float4* __restrict__ yf, float4* __restrict__ yi,
        float4* __restrict__ yg, int n, int m, int scaled) {
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < m; k += gridDim.x * blockDim.x) {
        float4 Z1 = z1[k], Z2 = z2[k], B = make_float4(1, 1, 1, 1), Y, YC, YF, YI, YG;
        for (int j = blockIdx.y; j < n; j += gridDim.y) {
            int q = j * m + k;
            float4 C = c[q], F = f[q], I = i[q], G = g[q];
            if (scaled) B = b[q];
            LANE(x); LANE(y); LANE(z); LANE(w);
            y[q] = Y; yc[q] = YC; yf[q] = YF; yi[q] = YI; yg[q] = YG;
        }
    }
}
"""
