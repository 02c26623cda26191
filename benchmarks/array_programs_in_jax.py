"""Programs of `array_programs` in JAX: those that write to arrays, or go round loops.

The others run as they are, with JAX's module for NumPy's. These take JAX and that module first.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any


def of(jax: Any, program: Any) -> Any:
    """A program as a function of JAX's arrays."""
    name = program.__name__
    if written := globals().get(f"_{name}"):
        return lambda *given: written(jax, jax.numpy, *given)
    return by_names_of(jax.numpy, program)


def by_names_of(numpy: Any, program: Any) -> Any:
    """A program with another module for NumPy's."""
    return FunctionType(program.__code__, {**program.__globals__, "np": numpy})


def _symmetric_update(jax, np, a, c):
    lower = np.tril(np.ones_like(c))
    scaled = c * np.where(lower > 0, 1.2, 1.0)
    return np.sum((scaled + 1.5 * lower * (a @ a.T)) ** 2)


def _triangular_solve(jax, np, a, b):
    x = jax.scipy.linalg.solve_triangular(a, b, lower=True)
    return np.sum(x * x)


def _gaussian_process(jax, np, log_sizes, x, y):
    distances = (x[:, None] - x[None, :]) / np.exp(log_sizes[1])
    covariance = np.exp(log_sizes[0]) * np.exp(-0.5 * distances**2)
    factor = np.linalg.cholesky(covariance + np.exp(log_sizes[2]) * np.eye(len(x)))
    z = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
    return 0.5 * (z @ z) + np.sum(np.log(np.diag(factor)))


def _lower_upper(jax, np, a):
    places = np.arange(len(a))

    def step(k, a):
        below = places > k
        column = np.where(below, a[:, k] / a[k, k], 0.0)
        a = a - np.outer(column, np.where(below, a[k], 0.0))
        return a.at[:, k].set(np.where(below, column, a[:, k]))

    return np.sum(np.log(np.abs(np.diag(jax.lax.fori_loop(0, len(a), step, a)))))


def _orthogonalisation(jax, np, a):
    places = np.arange(a.shape[1])

    def step(a, k):
        norm = np.sqrt(a[:, k] @ a[:, k])
        q = a[:, k] / norm
        row = np.where(places > k, q @ a, 0.0)
        return a - np.outer(q, row), np.where(places == k, norm, row)

    _, r = jax.lax.scan(step, a, places)
    return np.sum(r**2 * 0.5 + r)


def _toeplitz_solve(jax, np, r):
    size = len(r)
    places = np.arange(size)

    def step(k, state):
        y, alpha, beta = state
        beta = beta * (1.0 - alpha * alpha)
        back = (k - 1 - places) % size
        inside = places < k
        alpha = -(r[k] + np.sum(np.where(inside, r[back] * y, 0.0))) / beta
        y = y + np.where(inside, alpha * y[back], 0.0)
        return y.at[k].set(alpha), alpha, beta

    start = np.zeros_like(r).at[0].set(-r[0]), -r[0], 1.0
    y, _, _ = jax.lax.fori_loop(1, size, step, start)
    return np.sum(y * y)


def _sparse_product(jax, np, data, x, columns, starts):
    rows = np.repeat(np.arange(len(starts) - 1), 10, total_repeat_length=len(data))
    y = jax.ops.segment_sum(data * x[columns], rows, len(starts) - 1)
    return np.sum(y * y)


def _jacobi_1d(jax, np, a, steps):
    def step(_, both):
        a, b = both
        b = b.at[1:-1].set(0.33333 * (a[:-2] + a[1:-1] + a[2:]))
        return a.at[1:-1].set(0.33333 * (b[:-2] + b[1:-1] + b[2:])), b

    a, _ = jax.lax.fori_loop(0, steps, step, (a, a))
    return np.sum(a * a)


def _jacobi_2d(jax, np, a, steps):
    def inner(a):
        return 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])

    def step(_, both):
        a, b = both
        b = b.at[1:-1, 1:-1].set(inner(a))
        return a.at[1:-1, 1:-1].set(inner(b)), b

    a, _ = jax.lax.fori_loop(0, steps, step, (a, a))
    return np.sum(a * a)


def _heat_3d(jax, np, a, steps):
    def step(_, a):
        middle = a[1:-1, 1:-1, 1:-1]
        return a.at[1:-1, 1:-1, 1:-1].set(
            0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * middle + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * middle + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * middle + a[1:-1, 1:-1, :-2])
            + middle
        )

    a = jax.lax.fori_loop(0, steps, step, a)
    return np.sum(a * a)


def _seidel_2d(jax, np, a, steps):
    def row(above, both):
        this, below = both
        known = above[:-2] + above[1:-1] + above[2:] + this[1:-1] + this[2:]
        known = known + below[:-2] + below[1:-1] + below[2:]

        def cell(left, x):
            made = (left + x) / 9.0
            return made, made

        _, made = jax.lax.scan(cell, this[0], known)
        made = np.concatenate([this[:1], made, this[-1:]])
        return made, made

    def sweep(_, a):
        _, rows = jax.lax.scan(row, a[0], (a[1:-1], a[2:]))
        return a.at[1:-1].set(rows)

    a = jax.lax.fori_loop(0, steps, sweep, a)
    return np.sum(a * a)


def _electromagnetic_2d(jax, np, ex, ey, hz, source):
    def step(state, x):
        ex, ey, hz = state
        ey = ey.at[0, :].set(x)
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        change = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
        return (ex, ey, hz.at[:-1, :-1].add(-0.7 * change)), None

    (_, _, hz), _ = jax.lax.scan(step, (ex, ey, hz), source)
    return np.sum(hz * hz)


def _pressure(jax, np, p, b, steps):
    def step(_, p):
        around = p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1]
        p = p.at[1:-1, 1:-1].set(0.25 * around - 0.25 * b[1:-1, 1:-1])
        p = p.at[:, -1].set(p[:, -2])
        p = p.at[0, :].set(p[1, :])
        p = p.at[:, 0].set(p[:, 1])
        return p.at[-1, :].set(0.0)

    p = jax.lax.fori_loop(0, steps, step, p)
    return np.sum(p * p)


def _vertical_advection(jax, np, w, u):
    def down(before, now):
        c, d = before
        w, above, u = now
        below, above = -0.25 * w, 0.25 * above
        scale = 1.0 / (2.0 - below - above - c * below)
        made = above * scale, (u - d * below) * scale
        return made, made

    c = 0.25 * w[1] / (1.0 - 0.25 * w[1])
    d = u[0] / (1.0 - 0.25 * w[1])
    (_, last), (cs, ds) = jax.lax.scan(down, (c, d), (w[1:-1], w[2:], u[1:-1]))

    def up(x, now):
        c, d = now
        x = d - c * x
        return x, x

    x = u[-1] - last
    cs, ds = np.concatenate([c[None], cs]), np.concatenate([d[None], ds])
    _, xs = jax.lax.scan(up, x, (cs, ds), reverse=True)
    return np.sum(xs * xs) + np.sum(x * x)


def _shortest_paths(jax, np, a):
    def step(k, path):
        return np.minimum(path, path[:, k][:, None] + path[k, :][None, :])

    return np.sum(jax.lax.fori_loop(0, len(a), step, a))


def _diagonal_loop(jax, np, a):
    return np.sum((a + np.sum(np.tanh(np.diag(a)))) ** 2)


def _gravity(jax, np, x, v, mass, steps):
    def step(_, state):
        x, v = state
        d = x[:, None, :] - x[None, :, :]
        inverse = 1.0 / (np.sum(d * d, axis=2) + 0.01) ** 1.5
        v = v - 0.01 * np.sum(d * (inverse * mass)[:, :, None], axis=1)
        return x + 0.01 * v, v

    x, v = jax.lax.fori_loop(0, steps, step, (x, v))
    return np.sum(x * x) + np.sum(v * v)


def _spectral_steps(jax, np, u, waves, steps):
    def slope(u):
        modes = np.fft.fft(u)
        change = np.real(np.fft.ifft(-1j * waves * modes))
        return change * u - np.real(np.fft.ifft(waves**2 * modes))

    def step(_, u):
        first = slope(u)
        return u + 0.005 * (first + slope(u + 0.01 * first))

    u = jax.lax.fori_loop(0, steps, step, u)
    return np.sum(u * u)


def _smoothing(jax, np, image):
    def right(y, x):
        y = 0.3 * x + 0.6 * y
        return y, y

    first = 0.3 * image[:, 0]
    last, ys = jax.lax.scan(right, first, image[:, 1:].T)

    def left(z, y):
        z = 0.4 * y + 0.6 * z
        return z, z

    ys = np.concatenate([first[None], ys[:-1]])
    _, zs = jax.lax.scan(left, last, ys, reverse=True)
    return np.sum(zs * zs) + np.sum(last * last)
