"""A natural cubic spline through points, by Thomas' algorithm, and its bending energy."""

import numpy as np


def second_derivatives(x, y):
    n = len(x)
    a, b, c, d = np.zeros(n), np.ones(n), np.zeros(n), np.zeros(n)
    for i in range(1, n - 1):
        h0, h1 = x[i] - x[i - 1], x[i + 1] - x[i]
        a[i], b[i], c[i] = h0, 2 * (h0 + h1), h1
        d[i] = 6 * ((y[i + 1] - y[i]) / h1 - (y[i] - y[i - 1]) / h0)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    m = np.zeros(n)
    m[-1] = d[-1] / b[-1]
    for i in range(n - 2, -1, -1):
        m[i] = (d[i] - c[i] * m[i + 1]) / b[i]
    return m


def evaluate(x, y, m, at):
    i = min(max(np.searchsorted(x, at) - 1, 0), len(x) - 2)
    h = x[i + 1] - x[i]
    s, t = (x[i + 1] - at) / h, (at - x[i]) / h
    bend = ((s**3 - s) * m[i] + (t**3 - t) * m[i + 1]) * h**2 / 6
    return s * y[i] + t * y[i + 1] + bend


def roughness(heights, at=1.7):
    x = np.array([0.0, 1.0, 1.5, 2.5, 4.0])
    m = second_derivatives(x, heights)
    energy = np.sum(np.diff(x) * (m[:-1] ** 2 + m[:-1] * m[1:] + m[1:] ** 2) / 3)
    return energy + evaluate(x, heights, m, at)


if __name__ == "__main__":
    print(roughness(np.array([0.0, 1.0, 0.5, -0.5, 0.8])))
