"""Loops that choose one of their rounds, and loops that nearly do."""

import numpy as np

from .program import program

ROWS = np.array([[0.5, -1.2, 2.0], [0.1, 0.4, -0.3], [1.7, 0.2, 0.6], [-0.9, 1.1, 0.8]])
TO = np.array([[0.4, -1.0, 1.8], [1.5, 0.1, 0.5]])
X = np.array([0.5, -1.2, 2.0, 0.1, 1.9])


@program(ROWS, TO)
@program(ROWS[:0], TO)
@program(ROWS.astype(np.float32), TO.astype(np.float32))
def nearest_by_loops(rows, to):
    total = rows.dtype.type(0.0)
    for i in range(len(rows)):
        best = rows.dtype.type(1e9)
        for k in range(len(to)):
            d = rows.dtype.type(0.0)
            for j in range(rows.shape[1]):
                d += (rows[i, j] - to[k, j]) ** 2
            if d < best:
                best = d
        total += np.sqrt(best)
    return total


@program(ROWS, TO)
def nearest_by_arrays(rows, to):
    return np.sum(np.min(np.sum((rows[:, None] - to) ** 2, axis=2), axis=1) ** 0.5)


@program(X, X[0])
@program(X[:0], X[0])
def largest_or_the_first_value(x, start):
    best = start * start
    for i in range(len(x) - 1, -1, -1):
        y = np.sin(x[i]) * start
        best = best if y <= best else y
    return best


@program(X, -5.0)
def none_is_chosen(x, start):
    best = start * x[0]
    for y in x:
        if y * start > 1e3:
            best = y * start
    return best


@program(X, 2.0)
def the_last_of_several_that_are_equal(x, a):
    best, at = 0.0, -1
    for i in range(len(x)):
        y = a * np.round(x[i]) + x[i] * (i % 2) * 0.0
        if y >= best:
            best, at = y, i
    return best, at


@program(X, 1.5)
def two_numbers_of_the_round(x, a):
    best, other = -np.inf, a
    for i in range(0, len(x), 2):
        y = x[i] * a
        if y > best:
            best, other = y, np.exp(x[i - 1]) * a
    return best * other


@program(X, 1.5)
def two_rounds(x, a):
    low, high = np.inf, -np.inf
    for y in x:
        z = y * y * a
        low = z if z < low else low
        high = z if z > high else high
    return high * low


@program(X, 0.9)
def chosen_by_what_was_before(x, a):
    best = x[0]
    for i in range(1, len(x)):
        if x[i] > best:
            best = x[i] + a * best
    return best


@program(X, 0.9)
def used_besides(x, a):
    best, total = x[0], 0.0
    for i in range(1, len(x)):
        if x[i] > best:
            best = x[i] * a
        total += best
    return best * total


@program(ROWS, 0.9)
def with_memory_of_the_round(rows, a):
    best = 0.0
    for row in rows:
        y = np.cumsum(row * a)
        y[1:] *= y[:-1].copy()
        d = np.sum(y * y)
        best = d if d > best else best
    return best


@program(ROWS, 0.9)
def with_memory_of_all_rounds(rows, a):
    best, seen = 0.0, np.zeros(len(rows))
    for i in range(len(rows)):
        seen[i] = np.sum(rows[i]) * a
        d = seen[i] * seen[i // 2]
        best = d if d > best else best
    return best, seen


@program(ROWS, 0.7)
def chosen_of_the_chosen(rows, a):
    outer = -np.inf
    for row in rows:
        inner = np.inf
        for x in row:
            y = np.tanh(x * a) * x
            inner = y if y < inner else inner
        z = inner * row[0]
        outer = z if z > outer else outer
    return outer


@program(X, 3)
def chosen_until_it_is_time(x, n):
    best, i = 0.0, 0
    while i < n:
        y = x[i] ** 3
        best = y if y > best else best
        i += 1
    return best


@program(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.5]]), X[:3])
def rows_whose_slope_is_zero(mask, w):
    total = 0.0
    for row in mask:
        s = 0.0
        for i in range(len(w)):
            s += np.exp(w[i]) * row[i]
        total += np.maximum(s - 2.0, 0.0) ** 2
    return total


@program(np.tile(X, 4), 0.5)
def long_sums_whose_slope_is_zero(x, a):
    total = 0.0
    for k in range(3):
        s = 0.0
        for y in x:
            s += np.sin(y) * y * k
        total += a * s if k > 1 else 0.0
    return total
