"""Loops over `prange`, each in its own way: sums, writes, nests, memory of each round."""

import numpy as np

import zyg

from .program import program

RNG = np.random.default_rng(5)
A, W, X = RNG.normal(size=(131, 7)), RNG.normal(size=7), RNG.normal(size=131)


@program(X)
def summed(x):
    s, t = 1.0, 0.0
    for k in zyg.prange(len(x)):
        s += np.sin(x[k] * x[k])
        if x[k] > 0:
            t -= x[k]
    return s * t


@program(A, W)
def shared(a, w):
    s = 0.0
    for i in zyg.prange(a.shape[0]):
        t = 0.0
        for j in range(len(w)):
            t += a[i, j] * w[j]
        s += np.tanh(t)
    return s


@program(A, W)
def product(a, w):
    s = 0.0
    for i in zyg.prange(a.shape[0]):
        s += np.tanh(a[i] @ w)
    return s


@program(X, W)
def kept(x, w):
    out = np.zeros_like(x)
    for i in zyg.prange(len(x)):
        y = x[i]
        for k in range(5):
            y = np.sin(y) + 0.1 * w[(i + k) % len(w)]
        out[i] = y
    return np.sum(out * out)


@program(X, differences="jumps")
def until(x):
    out = np.zeros_like(x)
    for i in zyg.prange(len(x)):
        y = abs(x[i])
        while y < 2:
            y = 0.3 * y * y + y + 0.1
        out[i] = y * x[i]
    return np.sum(out)


@program(X)
def stencil(x):
    out = np.zeros_like(x)
    for i in zyg.prange(1, len(x) - 1):
        out[i] = x[i - 1] * x[i + 1] - 2 * x[i]
    return np.sum(out * out)


@program(A, W)
def rows(a, w):
    out = np.zeros((a.shape[0], a.shape[1], 2))
    for i in zyg.prange(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(2):
                out[i, j, k] = a[i, j] * w[j]
                out[i, j, k] *= np.cos(w[k])
    return np.sum(out**2)


@program(A, W)
def own_memory(a, w):
    s = 0.0
    for i in zyg.prange(a.shape[0]):
        row = np.exp(a[i] * w)
        s += np.log(np.sum(row))
    return s


@program(X)
def twice(x):
    y = np.zeros_like(x)
    for _ in range(3):
        for i in zyg.prange(len(x)):
            y[i] = np.sin(x[i] + y[i])
    return np.sum(y * y)


@program(A, W)
def nested(a, w):
    s = 0.0
    for i in zyg.prange(a.shape[0]):
        for j in zyg.prange(len(w)):
            s += np.sin(a[i, j] * w[j])
    return s


@program(X)
def backwards(x):
    s = 0.0
    for k in zyg.prange(len(x) - 1, -1, -2):
        s += np.cos(x[k]) * k
    return s


@program(A, W)
def repeated(a, w):
    s = 0.0
    for k in range(3):
        for i in zyg.prange(a.shape[0]):
            s += np.sin(a[i, k] * w[k] + k)
    return s


@program(X, W)
def in_turn(x, w):
    y = np.zeros_like(x)
    k = 0
    while k < 3:
        if w[k] > -100:
            for i in zyg.prange(len(x)):
                y[i] = np.sin(y[i] * w[k] + x[i])
        k += 1
    return np.sum(y)


@program(X, W)
def reversed_views(x, w):
    s = 0.0
    y = x[::-1]
    for i in zyg.prange(len(x)):
        s += y[i] * np.sin(x[i]) * w[-1]
    return s


@program(X)
def counted(x):
    s, k, n = 0.0, 0, 100
    for i in zyg.prange(len(x)):
        k += i * i
        if x[i] > 0:
            k -= 3
            n += int(x[i] < 0.5)
        s += x[i] ** 2 * i
    return s * n / (k + 1)


@program(X)
def written(x):
    out = np.zeros_like(x)
    for k in zyg.prange(1, len(x), 2):
        out[k] = np.cos(x[k]) * x[k - 1]
    return np.sum(out * out)


@program(X)
def known_bounds(x):
    s = 0.0
    for k in zyg.prange(100, 0, -3):
        s += x[k] * k
    return s


@program(X[:65], 3)
def ints(a, n):
    k, few, turns = 7, 0, n
    for i in zyg.prange(len(a)):
        k += i * 2
        few += int(a[i] > 0.5)
        turns -= n * i
        if a[i] > 1:
            for j in range(len(a) % 3):
                k += n + j
    return k, few, turns


@program(X[:65], 3)
def numpys(a, n):
    ints, bools, both = 0, 0, 2.5
    for i in zyg.prange(len(a)):
        ints += np.round(a[i] * n).astype(int)
        bools += a[i] > 0.5
        both += i
    return ints, bools, both
