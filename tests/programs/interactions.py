"""Functions in which several features of `zyg.compile` meet, each pair of them at least once.

Callbacks into Python, `prange`, derivatives taken inside, recursion, exits, closures, writes,
views, long loops.
"""

import math

import numpy as np
from scipy import special

import zyg
from zyg.scipy import linalg

from .program import program

RNG = np.random.default_rng(11)
A = RNG.normal(size=(5, 3))
S = RNG.normal(size=(3, 3))
V = RNG.normal(size=6)


@zyg.adjoint
def opaque(x):
    state = {}
    try:
        state["slope"] = np.cos(x)
    finally:
        pass

    def back(bar):
        try:
            return (bar * state["slope"],)
        except KeyError:
            return None

    return np.sin(x), back


@zyg.adjoint
def lifted(x):
    y = np.tanh(x)
    return y, lambda bar: (bar * (1.0 - y * y),)


# Callbacks


@program(A, S, called_back="svd")
def svd_in_prange(a, s):
    total = 0.0
    for i in zyg.prange(a.shape[0]):
        w = linalg.svd(s * a[i, 0] + np.outer(a[i], a[i]), compute_uv=False)
        total += w[0] * w[1]
    return total


@program(V, 1.3, called_back="opaque")
def opaque_in_prange(x, w):
    out = np.zeros(len(x))
    for i in zyg.prange(len(x)):
        y = x[i]
        for _ in range(3):
            y = opaque(y * w) + 0.1 * lifted(y)
        out[i] = y
    return np.sum(out * out)


@program(0.7, 2.0, called_back="opaque, jv")
def callback_under_a_gradient(x, w):
    def inner(t):
        return opaque(t * w) * t + special.jv(0.0, t)

    y = x
    for _ in range(3):
        y = y - 0.1 * zyg.gradient(inner, y)[0]
    return y * y


@program(V[:3], 0.5, called_back="jv")
def callback_under_a_jacobian(x, w):
    def inner(t):
        return np.sin(t) * special.jv(0.0, t[0] * w)

    return np.sum(zyg.jacobian(inner, x)[0] ** 2)


@program(0.4, 6, called_back="opaque, jv")
def callback_in_recursion(x, n):
    def down(t, k):
        if k == 0:
            return t
        return 0.5 * down(opaque(t), k - 1) + 0.1 * special.jv(1.0, t)

    return down(x, n)


@program(V, called_back="opaque")
def callback_and_exits(x):
    total = 1.0
    for v in x:
        if v > 1.5:
            return total * v
        if v < -1.0:
            continue
        total += opaque(v) * total
        if total > 3.0:
            break
    else:
        total *= 2.0
    return total


@program(V, called_back="opaque")
def callback_and_writes(x):
    y = x.copy()
    for i in range(len(y) - 1):
        y[i + 1] += opaque(y[i]) * y[i]
        y[::2] *= 0.9
    return np.sum(y * y)


@program(S, called_back="eigh")
def eigh_of_a_view(s):
    t = (s @ s.T)[::-1, ::-1].T
    w, v = linalg.eigh(t)
    return np.sum(np.log(w + 0.5)) + np.sum(v[:, 0] ** 2 * w)


# Matrices


@program(A, S)
def singular_values_in_prange(a, s):
    total = 0.0
    for i in zyg.prange(a.shape[0]):
        w = np.linalg.svdvals(s * a[i, 0] + np.outer(a[i], a[i]))
        total += w[0] * w[1]
    return total


@program(S)
def eigenvectors_of_a_view(s):
    t = (s @ s.T)[::-1, ::-1].T
    w, v = np.linalg.eigh(t)
    return np.sum(np.log(w + 0.5)) + np.sum(v[:, 0] ** 2 * w)


# Derivatives inside


@program(A, V[:3])
def gradient_in_prange(a, w):
    def energy(r, v):
        return np.sum(np.sin(r * v)) * r[0]

    total = 0.0
    for i in zyg.prange(a.shape[0]):
        g = zyg.gradient(energy, a[i], w)[0]
        total += np.sum(g * g)
    return total


@program(A, V[:3])
def jacobian_in_prange(a, w):
    def turned(r, v):
        return np.stack([r[0] * v[1] - np.sin(r[1]), r[2] * v[0] * r[0]])

    total = 0.0
    for i in zyg.prange(a.shape[0]):
        j = zyg.jacobian(turned, a[i], w)[0]
        total += np.sum(j * j)
    return total


@program(0.3, 1.2, 40)
def gradient_in_a_long_loop(x, w, n):
    def energy(t):
        return math.cos(t * w) * t

    for _ in range(n):
        x = x - 0.05 * zyg.gradient(energy, x)[0]
    return x * x


@program(V[:4], 30)
def hvp_in_a_long_loop(x, n):
    def energy(t):
        return np.sum(np.sin(t[1:] * t[:-1]) + t[1:] ** 4 * 0.1)

    for _ in range(n):
        x = x - 0.01 * zyg.hvp(energy, x, x)
    return np.sum(x)


@program(0.8, 3)
def gradient_in_recursion(x, n):
    def down(t, k):
        if k == 0:
            return t * t
        return 0.5 * zyg.gradient(lambda u: math.sin(u) * u, down(t, k - 1))[0] + t

    return down(x, n)


@program(0.8, 4)
def gradient_of_recursion(x, n):
    def down(t, k):
        return math.sin(t) if k == 0 else down(t * 0.9, k - 1) * t

    return zyg.gradient(down, x, n)[0] * x


@program(V[:3])
def gradient_of_writes(x):
    def energy(t):
        y = np.zeros(4)
        y[0] = 1.0
        for i in range(3):
            y[i + 1] = y[i] * math.sin(t[i])
        y[1:] *= y[:-1]
        return np.sum(y * y)

    g = zyg.gradient(energy, x)[0]
    return g @ g


@program(V[:3])
def hessian_inside(x):
    def energy(t):
        return np.sum(t**3) * t[0] + math.sin(t[1] * t[2])

    h = zyg.hessian(energy, x)
    return np.sum(h * h)


@program(0.7)
def third_order(x):
    def f(t):
        return math.sin(t) * t**3

    def g(t):
        return zyg.gradient(f, t)[0]

    def h(t):
        return zyg.gradient(g, t)[0] * t

    return zyg.gradient(h, x)[0]


@program(0.7, 2)
def while_under_a_gradient(x, n):
    def f(t):
        k = 0
        while t < 3.0:
            t = t * t + 0.5 * t + 0.1
            k += 1
            if k > 20:
                break
        return t * t

    return zyg.gradient(f, x)[0] * n


@program(V[:3], 1.1)
def pullback_inside(x, w):
    def f(t):
        return np.sin(t * w) * t[0]

    y, back = zyg.pullback(f, x)
    return np.sum(back(y)[0] ** 2) + np.sum(back(np.ones(3))[0])


# Closures, views, recursion


@program(V, 0.6)
def closures_over_what_moves(x, w):
    total = x[0] * w

    def add(k):
        nonlocal total
        total = total + math.sin(x[k] * total) * w

    fs = [lambda t, k=k: t * x[k] for k in range(3)]
    for k in range(len(x)):
        add(k)
    for f in fs:
        total = f(total) + 0.3
    return total


@program(V)
def halves(x):
    def down(u):
        n = len(u)
        if n == 1:
            return math.sin(u[0])
        return down(u[: n // 2]) * 1.1 + down(u[n // 2 :]) * u[0]

    return down(x)


@program(A, 0.9)
def recursion_in_prange(a, w):
    def down(t, k):
        return t if k == 0 else math.sin(down(t, k - 1) * w)

    total = 0.0
    for i in zyg.prange(a.shape[0]):
        total += down(a[i, 0], i)
    return total


@program(A)
def views_of_views(a):
    b = a.copy().T
    c = b[:, ::-1]
    c[0] *= c[1]
    d = c.T[1:]
    d += d[::-1].copy() * 0.5
    return np.sum(a.T * b) + np.sum(d * d)


@program(V)
def prange_and_views(x):
    y = np.zeros((len(x), 2))
    for i in zyg.prange(len(x)):
        row = y[i]
        row[0] = math.sin(x[i])
        row[1:] = x[i] * x[len(x) - 1 - i]
    z = y.T
    return np.sum(z[0] * z[1])


@program(V, 3)
def lists_and_gradients(x, n):
    rows = [zyg.gradient(lambda t: np.sum(np.cos(t) * t), x * k)[0] for k in range(n)]
    total = 0.0
    for r in rows:
        total += np.sum(r * r)
    return total


@program(0.4, 1.1)
def while_tests_and_exits(x, w):
    k = 0
    table = np.zeros(4)
    while k < 4 and (table[k] + x < 5.0 or x > 0):
        table[k] = x * w
        x = math.sin(x) + table[k]
        k += 1
        if k == len(table):
            break
    return x * np.sum(table)


@program(V)
def leaves_at_the_end(x):
    i, total = 0, 0.0
    while x[i] > -9.0:
        total += x[i] * x[i]
        i += 1
        if i == len(x):
            return total
    return total * 2.0


@program(V, 20)
def prange_in_a_long_loop(x, n):
    y = x.copy()
    for _ in range(n):
        z = np.zeros(len(y))
        for i in zyg.prange(len(y)):
            z[i] = math.sin(y[i]) + 0.1 * y[i - 1]
        y = z
    return np.sum(y * y)


@program(V, 12, called_back="opaque")
def callback_in_a_long_loop(x, n):
    for _ in range(n):
        x = opaque(x) * 1.1 + 0.05 * x[0]
    return np.sum(x)


@program(V[:4], 2.0)
def gradient_of_prange(x, w):
    def energy(t):
        s = 0.0
        for i in zyg.prange(len(t)):
            s += math.sin(t[i] * w) * t[0]
        return s

    return np.sum(zyg.gradient(energy, x)[0] ** 2)
