"""Programs of the kinds that suites of high-performance NumPy have, each a loss of its arrays.

Stencils, linear algebra, recurrences and layers of networks, as one writes them in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# Linear algebra


def general_product(alpha, beta, a, b, c):
    return np.sum((alpha * a @ b + beta * c) ** 2)


def three_products(a, b, c, d):
    return np.sum((a @ b) @ (c @ d))


def rank_two_update(a, u1, v1, u2, v2, y, z):
    b = a + np.outer(u1, v1) + np.outer(u2, v2)
    x = 1.2 * (y @ b) + z
    return np.sum((1.5 * b @ x) ** 2)


def normal_equations(a, x):
    return np.sum((a @ x) @ a) + np.sum(a @ (x @ a.T @ a))


def contraction(a, c):
    return np.sum((a @ c) ** 2)


def covariance(data):
    data = data - np.mean(data, axis=0)
    return np.sum((data.T @ data / (len(data) - 1.0)) ** 2)


def correlation(data):
    data = (data - np.mean(data, axis=0)) / (np.sqrt(len(data)) * np.std(data, axis=0))
    return np.sum((data.T @ data) ** 3)


def symmetric_update(a, c):
    c = c.copy()
    for i in range(len(a)):
        c[i, : i + 1] *= 1.2
        for k in range(a.shape[1]):
            c[i, : i + 1] += 1.5 * a[i, k] * a[: i + 1, k]
    return np.sum(c * c)


def triangular_solve(a, b):
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return np.sum(x * x)


def gaussian_process(log_sizes, x, y):
    distances = (x[:, None] - x[None, :]) / np.exp(log_sizes[1])
    covariance = np.exp(log_sizes[0]) * np.exp(-0.5 * distances**2)
    factor = np.linalg.cholesky(covariance + np.exp(log_sizes[2]) * np.eye(len(x)))
    z = np.linalg.solve(factor, y)
    return 0.5 * (z @ z) + np.sum(np.log(np.diag(factor)))


def lower_upper(a):
    a = a.copy()
    for i in range(len(a)):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, len(a)):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return np.sum(np.log(np.abs(np.diag(a))))


def orthogonalisation(a):
    a, q, r = a.copy(), np.zeros_like(a), np.zeros((a.shape[1], a.shape[1]))
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return np.sum(r**2 * 0.5 + r)


def alignment(a, b):
    u, _, vh = np.linalg.svd(a.T @ b)
    return np.sum((a @ (u @ vh) - b) ** 4)


def regression(x, y):
    q, r = np.linalg.qr(x)
    slopes = np.linalg.solve(r, q.T @ y)
    return np.sum((y - x @ slopes) ** 4) + np.sum(slopes**2)


def toeplitz_solve(r):
    y = np.zeros_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, len(r)):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(r[:k][::-1], y[:k])) / beta
        y[:k] += alpha * y[:k][::-1].copy()
        y[k] = alpha
    return np.sum(y * y)


def sparse_product(data, x, columns, starts):
    y = np.zeros(len(starts) - 1)
    for i in range(len(y)):
        here = slice(starts[i], starts[i + 1])
        y[i] = data[here] @ x[columns[here]]
    return np.sum(y * y)


# Stencils


def jacobi_1d(a, steps):
    a, b = a.copy(), a.copy()
    for _ in range(steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return np.sum(a * a)


def jacobi_2d(a, steps):
    a, b = a.copy(), a.copy()
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (
            a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        )
        a[1:-1, 1:-1] = 0.2 * (
            b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]
        )
    return np.sum(a * a)


def heat_3d(a, steps):
    a = a.copy()
    for _ in range(steps):
        middle = a[1:-1, 1:-1, 1:-1]
        a[1:-1, 1:-1, 1:-1] = (
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * middle + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * middle + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * middle + a[1:-1, 1:-1, :-2])
            + middle
        )
    return np.sum(a * a)


def seidel_2d(a, steps):
    a = a.copy()
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (
                    a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1] + a[i, j - 1] + a[i, j]
                    + a[i, j + 1] + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                ) / 9.0  # fmt: skip
    return np.sum(a * a)


def electromagnetic_2d(ex, ey, hz, source):
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for t in range(len(source)):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.sum(hz * hz)


def horizontal_diffusion(x, coefficient):
    around = x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]
    lap = 4.0 * x[1:-1, 1:-1] - around
    flux = lap[1:, 1:-1] - lap[:-1, 1:-1]
    fx = np.where(flux * (x[2:-1, 2:-2] - x[1:-2, 2:-2]) > 0.0, 0.0, flux)
    flux = lap[1:-1, 1:] - lap[1:-1, :-1]
    fy = np.where(flux * (x[2:-2, 2:-1] - x[2:-2, 1:-2]) > 0.0, 0.0, flux)
    out = x[2:-2, 2:-2] - coefficient * (fx[1:, :] - fx[:-1, :] + fy[:, 1:] - fy[:, :-1])
    return np.sum(out * out)


def pressure(p, b, steps):
    p = p.copy()
    for _ in range(steps):
        before = p.copy()
        p[1:-1, 1:-1] = (
            0.25 * (before[1:-1, 2:] + before[1:-1, :-2] + before[2:, 1:-1] + before[:-2, 1:-1])
            - 0.25 * b[1:-1, 1:-1]
        )
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0.0
    return np.sum(p * p)


def vertical_advection(w, u):
    size = len(u)
    c, d, x = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
    c[0] = 0.25 * w[1] / (1.0 - 0.25 * w[1])
    d[0] = u[0] / (1.0 - 0.25 * w[1])
    for k in range(1, size - 1):
        below, above = -0.25 * w[k], 0.25 * w[k + 1]
        scale = 1.0 / (2.0 - below - above - c[k - 1] * below)
        c[k] = above * scale
        d[k] = (u[k] - d[k - 1] * below) * scale
    x[size - 1] = u[size - 1] - d[size - 2]
    for k in range(size - 2, -1, -1):
        x[k] = d[k] - c[k] * x[k + 1]
    return np.sum(x * x)


# Recurrences and others


def shortest_paths(a):
    path = a.copy()
    for k in range(len(a)):
        path = np.minimum(path, np.add.outer(path[:, k], path[k, :]))
    return np.sum(path)


def diagonal_loop(a):
    trace = 0.0
    for i in range(len(a)):
        trace += np.tanh(a[i, i])
    return np.sum((a + trace) ** 2)


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    h = (
        np.sin((theta_2 - theta_1) / 2) ** 2
        + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    )
    return np.sum(2 * np.arctan2(np.sqrt(h), np.sqrt(1 - h)))


def clipped(a, b, c):
    return np.sum(np.clip(a, -1.0, 1.0) * 4.0 + b * 3.0 * a + c)


def gravity(x, v, mass, steps):
    for _ in range(steps):
        d = x[:, None, :] - x[None, :, :]
        inverse = 1.0 / (np.sum(d * d, axis=2) + 0.01) ** 1.5
        v = v - 0.01 * np.sum(d * (inverse * mass)[:, :, None], axis=1)
        x = x + 0.01 * v
    return np.sum(x * x) + np.sum(v * v)


def spectral_steps(u, waves, steps):
    def slope(u):
        modes = np.fft.fft(u)
        change = np.real(np.fft.ifft(-1j * waves * modes))
        return change * u - np.real(np.fft.ifft(waves**2 * modes))

    for _ in range(steps):
        first = slope(u)
        u = u + 0.005 * (first + slope(u + 0.01 * first))
    return np.sum(u * u)


def smoothing(image):
    y = np.empty_like(image)
    y[:, 0] = 0.3 * image[:, 0]
    for j in range(1, image.shape[1]):
        y[:, j] = 0.3 * image[:, j] + 0.6 * y[:, j - 1]
    z = np.empty_like(image)
    z[:, -1] = y[:, -1]
    for j in range(image.shape[1] - 2, -1, -1):
        z[:, j] = 0.4 * y[:, j] + 0.6 * z[:, j + 1]
    return np.sum(z * z)


# Layers of networks


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return np.sum((e / np.sum(e, axis=-1, keepdims=True)) ** 2)


def layer_norm(x, scale, shift):
    mean = np.mean(x, axis=-1, keepdims=True)
    variance = np.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return np.sum(((x - mean) / np.sqrt(variance + 1e-5) * scale + shift) ** 2)


def perceptron(x, w1, b1, w2, b2, w3, b3):
    h = np.maximum(x @ w1 + b1, 0.0)
    h = np.maximum(h @ w2 + b2, 0.0)
    z = h @ w3 + b3
    z = z - np.max(z, axis=-1, keepdims=True)
    return -np.sum(z[:, 0] - np.log(np.sum(np.exp(z), axis=-1)))


def attention(q, k, v):
    s = q @ k.T / np.sqrt(q.shape[1])
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return np.sum(((e / np.sum(e, axis=-1, keepdims=True)) @ v) ** 2)


def convolution(x, w, bias):
    high, wide = x.shape[1] - w.shape[0] + 1, x.shape[2] - w.shape[1] + 1
    y = np.zeros((x.shape[0], high, wide, w.shape[3]))
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            y = y + x[:, i : i + high, j : j + wide, :] @ w[i, j]
    return np.sum(np.maximum(y + bias, 0.0) ** 2)


def normalised_block(x, w1, w2):
    def normalised(y):
        mean, deviation = np.mean(y, axis=0), np.std(y, axis=0)
        return (y - mean) / np.sqrt(deviation + 1e-5)

    y = np.maximum(normalised(x @ w1), 0.0)
    return np.sum(np.maximum(normalised(y @ w2) + x, 0.0) ** 2)


def _arguments(quick: bool) -> dict[str, tuple[Any, ...]]:
    draw = np.random.default_rng(5)

    def n(full: int, tiny: int = 5) -> int:
        return tiny if quick else full

    def x(*shape: int) -> np.ndarray:
        return draw.standard_normal(shape)

    m = n(120, 6)
    lower = np.tril(x(m, m)) + 3.0 * np.sqrt(m) * np.eye(m)
    starts = np.arange(0, n(400) * 10 + 1, 10)
    columns = draw.integers(0, n(400), len(starts) * 10 - 10)
    steps = n(50, 3)
    return {
        "general_product": (1.5, 1.2, x(m, m), x(m, m), x(m, m)),
        "three_products": (x(m, m), x(m, m), x(m, m), x(m, m)),
        "rank_two_update": (x(m, m), *(x(m) for _ in range(6))),
        "normal_equations": (x(m, m), x(m)),
        "contraction": (x(n(40), n(40), m), x(m, m)),
        "covariance": (x(n(300), m),),
        "correlation": (x(n(300), m),),
        "symmetric_update": (x(n(60), n(50)), x(n(60), n(60))),
        "triangular_solve": (lower, x(m)),
        "gaussian_process": (np.array([0.0, -0.5, -2.0]), np.sort(x(n(100))), x(n(100))),
        "lower_upper": (x(n(60), n(60)) + 20.0 * np.eye(n(60)),),
        "orthogonalisation": (x(n(60), n(40)),),
        "alignment": (x(n(50), 3), x(n(50), 3)),
        "regression": (x(n(100, 7), n(8)), x(n(100, 7))),
        "toeplitz_solve": (0.1 * x(n(200)),),
        "sparse_product": (x(len(columns)), x(n(400)), columns, starts),
        "jacobi_1d": (x(n(1000)), steps),
        "jacobi_2d": (x(n(100), n(100)), steps),
        "heat_3d": (x(n(30), n(30), n(30)), n(20, 3)),
        "seidel_2d": (x(n(60), n(60)), n(10, 3)),
        "electromagnetic_2d": (x(m, m), x(m, m), x(m, m), x(steps)),
        "horizontal_diffusion": (x(n(200, 7), n(200, 7)), 0.1),
        "pressure": (x(n(80), n(80)), x(n(80), n(80)), steps),
        "vertical_advection": (0.1 * x(n(60), n(400)), x(n(60), n(400))),
        "shortest_paths": (np.abs(x(n(80), n(80))) + 0.1,),
        "diagonal_loop": (x(n(300), n(300)),),
        "arc_distance": tuple(0.5 * x(n(20000)) for _ in range(4)),
        "clipped": (x(n(300), n(300)), x(n(300), n(300)), x(n(300), n(300))),
        "gravity": (x(n(40), 3), x(n(40), 3), np.abs(x(n(40))), n(20, 3)),
        "spectral_steps": (x(n(64)), 0.1 * np.fft.fftfreq(n(64), 1 / n(64)), n(20, 3)),
        "smoothing": (x(n(200), n(200)),),
        "softmax": (x(n(256), n(128)),),
        "layer_norm": (x(n(128), n(256)), x(n(256)), x(n(256))),
        "perceptron": (x(n(64), n(200)), 0.1 * x(n(200), n(100)), x(n(100)),
                       0.1 * x(n(100), n(100)), x(n(100)), 0.1 * x(n(100), 10), x(10)),
        "attention": (x(n(64), n(64)), x(n(64), n(64)), x(n(64), n(64))),
        "convolution": (x(n(4, 2), n(32), n(32), 3), x(5, 5, 3, n(16, 2)), x(n(16, 2))),
        "normalised_block": (x(n(512), n(64)), 0.1 * x(n(64), n(64)), 0.1 * x(n(64), n(64))),
    }  # fmt: skip


def programs(quick: bool) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """The programs, each with its arguments."""
    return {name: (globals()[name], given) for name, given in _arguments(quick).items()}
