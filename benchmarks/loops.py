"""Numeric programs as they are written in plain Python: loops over the elements of arrays.

numba compiles each of them as it stands, and so does `zyg.compile`. They are what the papers on
differentiating whole programs measure themselves by, and what scientists write: integrators,
dynamic programs, filters, densities. All arguments that are floats are differentiated.
"""

from __future__ import annotations

import math

import numpy as np


def sin_cos(x):
    return math.sin(math.cos(x))


def sin_cos_of_elements(xs):
    total = 0.0
    for i in range(len(xs)):
        total += math.sin(math.cos(xs[i]))
    return total


def branches(xs):
    total = 0.0
    for i in range(len(xs)):
        x = xs[i]
        if x > 0.0:
            total += x * x
        else:
            total -= math.sin(x)
    return total


def log_sum_exp(xs):
    top = xs[0]
    for i in range(1, len(xs)):
        if xs[i] > top:
            top = xs[i]
    total = 0.0
    for i in range(len(xs)):
        total += math.exp(xs[i] - top)
    return top + math.log(total)


def log_sum_exp_of_vectors(xs):
    top = np.max(xs)
    return top + np.log(np.sum(np.exp(xs - top)))


def logistic_regression(w, x, y):
    margins = y * (x @ w)
    return np.sum(np.log1p(np.exp(-margins))) / len(y)


def two_layers(w1, b1, w2, b2, x, y):
    hidden = np.tanh(x @ w1 + b1)
    scores = hidden @ w2 + b2
    errors = scores - y
    return np.sum(errors * errors) / len(x)


def dot(xs, ys):
    total = 0.0
    for i in range(len(xs)):
        total += xs[i] * ys[i]
    return total


def largest(xs):
    top = xs[0]
    for i in range(1, len(xs)):
        top = max(top, xs[i])
    return top


def factorisation(u, v, ratings):
    """The squared error of a matrix factorisation of rank one; elementwise and products."""
    total = 0.0
    for i in range(len(u)):
        for j in range(len(v)):
            error = ratings[i, j] - u[i] * v[j]
            total += error * error
    return total


def gaussian_mixture(alphas, means, scales, triangles, points):
    """The log-likelihood of points under a mixture, with inverse covariances by their factors."""
    n, d = points.shape
    k = len(alphas)
    log_scales = np.zeros(k)
    factors = np.zeros((k, d))
    for c in range(k):
        for i in range(d):
            log_scales[c] += scales[c, i]
            factors[c, i] = math.exp(scales[c, i])
    terms = np.zeros(k)
    total = 0.0
    for p in range(n):
        top = -1e300
        for c in range(k):
            square = 0.0
            for i in range(d):
                row = factors[c, i] * (points[p, i] - means[c, i])
                for j in range(i):
                    row += triangles[c, i, j] * (points[p, j] - means[c, j])
                square += row * row
            terms[c] = alphas[c] + log_scales[c] - 0.5 * square
            if terms[c] > top:
                top = terms[c]
        summed = 0.0
        for c in range(k):
            summed += math.exp(terms[c] - top)
        total += top + math.log(summed)
    top = alphas[0]
    for c in range(k):
        if alphas[c] > top:
            top = alphas[c]
    summed = 0.0
    for c in range(k):
        summed += math.exp(alphas[c] - top)
    return total - n * (top + math.log(summed))


def lstm(weights, biases, hidden, cells, sequence):
    """Layers of gates of one weight per input, as in the automatic differentiation benchmarks."""
    steps, size = sequence.shape
    layers = len(weights)
    h = hidden.copy()
    c = cells.copy()
    total = 0.0
    for t in range(steps - 1):
        for layer in range(layers):
            for i in range(size):
                x = sequence[t, i] if layer == 0 else h[layer - 1, i]
                forget = 1 / (1 + math.exp(-(x * weights[layer, 0, i] + biases[layer, 0, i])))
                put = 1 / (
                    1 + math.exp(-(h[layer, i] * weights[layer, 1, i] + biases[layer, 1, i]))
                )
                out = 1 / (1 + math.exp(-(x * weights[layer, 2, i] + biases[layer, 2, i])))
                change = math.tanh(h[layer, i] * weights[layer, 3, i] + biases[layer, 3, i])
                c[layer, i] = c[layer, i] * forget + put * change
                h[layer, i] = out * math.tanh(c[layer, i])
        for i in range(size):
            error = h[layers - 1, i] - sequence[t + 1, i]
            total += error * error
    return total


def lorenz(state, sigma, rho, beta, dt, steps):
    """The squared end of an orbit, by the classical method of Runge and Kutta."""
    x, y, z = state[0], state[1], state[2]
    for _ in range(steps):
        k1x, k1y, k1z = sigma * (y - x), x * (rho - z) - y, x * y - beta * z
        u, v, w = x + 0.5 * dt * k1x, y + 0.5 * dt * k1y, z + 0.5 * dt * k1z
        k2x, k2y, k2z = sigma * (v - u), u * (rho - w) - v, u * v - beta * w
        u, v, w = x + 0.5 * dt * k2x, y + 0.5 * dt * k2y, z + 0.5 * dt * k2z
        k3x, k3y, k3z = sigma * (v - u), u * (rho - w) - v, u * v - beta * w
        u, v, w = x + dt * k3x, y + dt * k3y, z + dt * k3z
        k4x, k4y, k4z = sigma * (v - u), u * (rho - w) - v, u * v - beta * w
        x = x + dt / 6 * (k1x + 2 * k2x + 2 * k3x + k4x)
        y = y + dt / 6 * (k1y + 2 * k2y + 2 * k3y + k4y)
        z = z + dt / 6 * (k1z + 2 * k2z + 2 * k3z + k4z)
    return x * x + y * y + z * z


def bodies(positions, velocities, masses, dt, steps):
    """The kinetic energy of bodies that attract each other, after some leaps."""
    n = len(masses)
    p = positions.copy()
    v = velocities.copy()
    for _ in range(steps):
        for i in range(n):
            for j in range(n):
                if i != j:
                    dx, dy, dz = p[j, 0] - p[i, 0], p[j, 1] - p[i, 1], p[j, 2] - p[i, 2]
                    square = dx * dx + dy * dy + dz * dz + 0.01
                    pull = masses[j] / (square * math.sqrt(square))
                    v[i, 0] += dt * pull * dx
                    v[i, 1] += dt * pull * dy
                    v[i, 2] += dt * pull * dz
        for i in range(n):
            for k in range(3):
                p[i, k] += dt * v[i, k]
    energy = 0.0
    for i in range(n):
        energy += 0.5 * masses[i] * (v[i, 0] ** 2 + v[i, 1] ** 2 + v[i, 2] ** 2)
    return energy


def stencil(start, speed, steps):
    """Burgers' equation, in place and back."""
    n = len(start)
    u = start.copy()
    v = start.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] - speed * u[i] * (u[i + 1] - u[i - 1])
        for i in range(n):
            u[i] = v[i]
    total = 0.0
    for i in range(n):
        total += u[i] * u[i]
    return total


def gauss_seidel(source, sweeps):
    n = source.shape[0]
    u = np.zeros((n, n))
    for _ in range(sweeps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                u[i, j] = 0.25 * (around - source[i, j])
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += u[i, j] * u[i, j]
    return total


def binomial_tree(price, strike, rate, volatility, years, steps):
    """The value of an American put."""
    dt = years / steps
    up = math.exp(volatility * math.sqrt(dt))
    down = 1 / up
    discount = math.exp(-rate * dt)
    p = (math.exp(rate * dt) - down) / (up - down)
    values = np.zeros(steps + 1)
    for i in range(steps + 1):
        values[i] = max(strike - price * up ** (2.0 * i - steps), 0.0)
    for step in range(steps - 1, -1, -1):
        for i in range(step + 1):
            held = discount * (p * values[i + 1] + (1 - p) * values[i])
            now = strike - price * up ** (2.0 * i - step)
            values[i] = max(held, now)
    return values[0]


def random_field(emissions, transitions, labels):
    """The negative log-likelihood of a linear chain."""
    steps, k = emissions.shape
    score = emissions[0, labels[0]]
    before = emissions[0].copy()
    after = np.zeros(k)
    for t in range(1, steps):
        score += transitions[labels[t - 1], labels[t]] + emissions[t, labels[t]]
        for j in range(k):
            top = before[0] + transitions[0, j]
            for i in range(1, k):
                top = max(top, before[i] + transitions[i, j])
            total = 0.0
            for i in range(k):
                total += math.exp(before[i] + transitions[i, j] - top)
            after[j] = top + math.log(total) + emissions[t, j]
        for j in range(k):
            before[j] = after[j]
    top = before[0]
    for j in range(1, k):
        top = max(top, before[j])
    total = 0.0
    for j in range(k):
        total += math.exp(before[j] - top)
    return top + math.log(total) - score


def tridiagonal(lower, diagonal, upper, right):
    """The squared solution of a tridiagonal system, by Thomas' elimination."""
    n = len(diagonal)
    c = np.zeros(n)
    d = np.zeros(n)
    c[0] = upper[0] / diagonal[0]
    d[0] = right[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / pivot
        d[i] = (right[i] - lower[i] * d[i - 1]) / pivot
    x = d[n - 1]
    total = x * x
    for i in range(n - 2, -1, -1):
        x = d[i] - c[i] * x
        total += x * x
    return total


def kalman(measured, move_noise, sight_noise, dt):
    """The log-likelihood of positions, by a filter of position and speed."""
    x, v = measured[0], 0.0
    pxx, pxv, pvv = 1.0, 0.0, 1.0
    total = 0.0
    for t in range(1, len(measured)):
        x = x + dt * v
        pxx = pxx + 2 * dt * pxv + dt * dt * pvv + move_noise
        pxv = pxv + dt * pvv
        pvv = pvv + move_noise
        spread = pxx + sight_noise
        error = measured[t] - x
        total -= 0.5 * (math.log(spread) + error * error / spread)
        gx, gv = pxx / spread, pxv / spread
        x = x + gx * error
        v = v + gv * error
        pvv = pvv - gv * pxv
        pxv = pxv - gv * pxx
        pxx = pxx - gx * pxx
    return total


def hidden_markov(start, moves, sights, seen):
    """The log-likelihood of what was seen, by the forward algorithm with scaling."""
    k = len(start)
    a = np.zeros(k)
    b = np.zeros(k)
    total = 0.0
    for i in range(k):
        a[i] = start[i] * sights[i, seen[0]]
    for t in range(1, len(seen)):
        scale = 0.0
        for j in range(k):
            s = 0.0
            for i in range(k):
                s += a[i] * moves[i, j]
            b[j] = s * sights[j, seen[t]]
            scale += b[j]
        for j in range(k):
            a[j] = b[j] / scale
        total += math.log(scale)
    return total


def time_warping(xs, ys, gamma):
    """The soft distance of two sequences (Cuturi and Blondel, Soft-DTW, 2017)."""
    n, m = len(xs), len(ys)
    r = np.full((n + 1, m + 1), 1e10)
    r[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a, b, c = r[i - 1, j - 1], r[i - 1, j], r[i, j - 1]
            low = min(a, min(b, c))
            total = (math.exp((low - a) / gamma) + math.exp((low - b) / gamma)
                     + math.exp((low - c) / gamma))  # fmt: skip
            difference = xs[i - 1] - ys[j - 1]
            r[i, j] = difference * difference + low - gamma * math.log(total)
    return r[n, m]


def alignment(scores, gap):
    """The best alignment of two sequences, by Needleman's and Wunsch's table."""
    n, m = scores.shape
    table = np.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        table[i, 0] = table[i - 1, 0] - gap
    for j in range(1, m + 1):
        table[0, j] = table[0, j - 1] - gap
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best = table[i - 1, j - 1] + scores[i - 1, j - 1]
            best = max(best, table[i - 1, j] - gap)
            table[i, j] = max(best, table[i, j - 1] - gap)
    return table[n, m]


def eight_schools(mean, log_spread, thetas, effects, errors):
    """The log-density of a hierarchical model."""
    spread = math.exp(log_spread)
    total = log_spread - 0.5 * (mean / 5) ** 2 - math.log(1 + (spread / 5) ** 2)
    for i in range(len(thetas)):
        total -= 0.5 * thetas[i] ** 2
        z = (effects[i] - mean - spread * thetas[i]) / errors[i]
        total -= 0.5 * z * z + math.log(errors[i])
    return total


def recurrent(w, u, b, xs):
    """A recurrent network, by loops."""
    n = len(b)
    h = np.zeros(n)
    g = np.zeros(n)
    for t in range(len(xs)):
        for i in range(n):
            s = b[i] + u[i] * xs[t]
            for j in range(n):
                s += w[i, j] * h[j]
            g[i] = math.tanh(s)
        for i in range(n):
            h[i] = g[i]
    total = 0.0
    for i in range(n):
        total += h[i] * h[i]
    return total


def option(price, strike, rate, volatility, years, draws):
    """The value of a call whose payment depends on the mean along a path."""
    paths, steps = draws.shape
    dt = years / steps
    drift = (rate - 0.5 * volatility * volatility) * dt
    noise = volatility * math.sqrt(dt)
    total = 0.0
    for p in range(paths):
        s = price
        mean = 0.0
        for t in range(steps):
            s *= math.exp(drift + noise * draws[p, t])
            mean += s
        mean /= steps
        if mean > strike:
            total += mean - strike
    return math.exp(-rate * years) * total / paths


def pair_energies(positions, depth, size):
    """The energy of bodies after Lennard and Jones."""
    n = len(positions)
    total = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            square = 0.0
            for k in range(3):
                d = positions[i, k] - positions[j, k]
                square += d * d
            ratio = size * size / square
            six = ratio * ratio * ratio
            total += 4 * depth * (six * six - six)
    return total


def quaternions(rates, dt):
    """How far a body is turned by its angular rates."""
    a, b, c, d = 1.0, 0.0, 0.0, 0.0
    for t in range(len(rates)):
        x, y, z = rates[t, 0] * dt / 2, rates[t, 1] * dt / 2, rates[t, 2] * dt / 2
        a, b, c, d = (a - b * x - c * y - d * z, b + a * x + c * z - d * y,
                      c + a * y - b * z + d * x, d + a * z + b * y - c * x)  # fmt: skip
        norm = math.sqrt(a * a + b * b + c * c + d * d)
        a, b, c, d = a / norm, b / norm, c / norm, d / norm
    return (a + 2 * b) ** 2 + (c - d) ** 2


def matrix_product(a, b):
    n, m = a.shape[0], b.shape[1]
    total = 0.0
    for i in range(n):
        for j in range(m):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            total += math.sin(s)
    return total


def tree_network(w, leaves, depth):
    """A network along a balanced tree, by recursion."""

    def node(first, level):
        if level == 0:
            return leaves[first]
        half = 2 ** (level - 1)
        return math.tanh(
            w[0] * node(first, level - 1) + w[1] * node(first + half, level - 1) + w[2]
        )

    return node(0, depth)


def arguments(name: str, quick: bool = False) -> tuple:
    """What a program is called with: made from its name, always the same."""
    rng = np.random.default_rng(16)
    r, u = rng.standard_normal, rng.uniform
    n = 12 if quick else 1000
    d, k, points = (3, 2, 5) if quick else (10, 10, 1000)
    few = 3 if quick else 8
    return {
        "sin_cos": lambda: (0.7,),
        "sin_cos_of_elements": lambda: (r(n),),
        "branches": lambda: (r(n),),
        "log_sum_exp": lambda: (r(n),),
        "log_sum_exp_of_vectors": lambda: (r(n),),
        "logistic_regression": lambda: (r(50), r((200, 50)), np.sign(r(200))),
        "two_layers": lambda: (r((784, 32)) / 28, r(32), r((32, 10)) / 6, r(10), r((64, 784)),
                               r((64, 10))),
        "dot": lambda: (r(n), r(n)),
        "largest": lambda: (r(n),),
        "factorisation": lambda: (r(n // 5), r(n // 5), r((n // 5, n // 5))),
        "gaussian_mixture": lambda: (r(k), r((k, d)), 0.1 * r((k, d)), 0.1 * r((k, d, d)),
                                     r((points, d))),
        "lstm": lambda: (r((2, 4, 14)), r((2, 4, 14)), r((2, 14)), r((2, 14)),
                         r((8 if quick else 1024, 14))),
        "lorenz": lambda: (np.array([1.0, 1.0, 1.0]), 10.0, 28.0, 2.6, 0.01, n // 5),
        "bodies": lambda: (r((few, 3)), 0.1 * r((few, 3)), u(1, 2, few), 0.01, 3 if quick else 50),
        "stencil": lambda: (0.3 * r(n), 0.1, 3 if quick else 20),
        "gauss_seidel": lambda: (r((6, 6) if quick else (40, 40)), 3 if quick else 20),
        "binomial_tree": lambda: (100.0, 105.0, 0.03, 0.2, 1.0, 6 if quick else 100),
        "random_field": lambda: (r((n // 10 + 3, 8)), r((8, 8)), rng.integers(0, 8, n // 10 + 3)),
        "tridiagonal": lambda: (r(n), 5 + u(size=n), r(n), r(n)),
        "kalman": lambda: (np.cumsum(r(n)), 0.1, 0.5, 0.1),
        "hidden_markov": lambda: (u(size=8), u(size=(8, 8)), u(size=(8, 5)),
                                  rng.integers(0, 5, n // 10 + 3)),
        "time_warping": lambda: (r(n // 12), r(n // 12), 0.5),
        "alignment": lambda: (r((n // 12, n // 12)), 0.3),
        "eight_schools": lambda: (1.0, 0.3, r(8), r(8) * 5, u(1, 5, 8)),
        "recurrent": lambda: (r((few * 8, few * 8)) / 8, r(few * 8), r(few * 8), r(20)),
        "option": lambda: (100.0, 95.0, 0.03, 0.2, 1.0, r((n // 10, n // 20 + 1))),
        "pair_energies": lambda: (3 * r((few if quick else 60, 3)), 1.0, 0.5),
        "quaternions": lambda: (r((n, 3)), 0.05),
        "matrix_product": lambda: (r((n // 20 + 4, 6)), r((6, n // 20 + 4))) if quick else (
            r((64, 64)) / 8, r((64, 64)) / 8),
        "tree_network": lambda: (r(3), r(8 if quick else 256), 3 if quick else 8),
    }[name]()  # fmt: skip


PROGRAMS = {
    f.__name__: f
    for f in (
        sin_cos, sin_cos_of_elements, branches, log_sum_exp, log_sum_exp_of_vectors,
        logistic_regression, two_layers, dot, largest, factorisation, gaussian_mixture, lstm,
        lorenz, bodies, stencil, gauss_seidel, binomial_tree, random_field, tridiagonal, kalman,
        hidden_markov, time_warping, alignment, eight_schools, recurrent, option, pair_energies,
        quaternions, matrix_product, tree_network,
    )
}  # fmt: skip
