"""Loops over memory: what a round keeps for its adjoint of buffers that are made and swapped."""

import math

import numpy as np

from .program import program

X4 = np.array([0.5, -1.2, 2.0, 0.1])
W3 = np.array([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4], [-0.6, 0.8, 0.5]])
H3 = np.array([0.3, -0.8, 1.1])
RAMP = np.linspace(0.2, 1.4, 8)


@program(X4)
def log_sum_exp(x):
    most = -math.inf
    for v in x:
        most = max(most, v)
    s = 0.0
    for v in x:
        s += math.exp(v - most)
    return most + math.log(s)


@program(RAMP[:0])
@program(RAMP[:5])
@program(RAMP)
def steps_of_two_and_three(x):
    p = 1.0
    for k in range(1, len(x), 2):
        p = math.sin(p * x[k])
    for k in range(len(x) - 1, 0, -3):
        p = math.tanh(p * 1.1 + x[k])
    return p


@program(0.8, 0)
@program(0.8, 1)
@program(0.8, 15)
@program(0.8, 16)
@program(0.8, 17)
@program(0.8, 70)
def long_while_loops_make_their_tapes_anew(x, m):
    s = 0.0
    for _ in range(3):
        y, k = x, 0
        while k < m:
            y = math.sin(1.1 * y)
            k += 1
        s = s * x + y
    return s


@program(1.0, 1.5)
def pendulum(y, k):
    v = 0.0
    for _ in range(50):
        v = v - 0.1 * k * math.sin(y)
        y = y + 0.1 * v
    return y


@program(W3, W3.T.copy())
def product_by_loops(x, y):
    z = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                z[i, j] += x[i, k] * y[k, j]
    return np.sum(np.sin(z))


@program(X4)
@program(-X4)
def buffers_that_are_swapped_and_chosen(x):
    p, q = x.copy(), np.zeros(len(x))
    for _ in range(3):
        for i in range(len(x)):
            q[i] = math.sin(p[i]) * p[1]
        t = p if q[0] > 0.1 else q
        t[2] = q[2] * p[0]
        p, q = q, p
    return np.sum(p * p) + np.sum(np.exp(q))


@program(X4)
def buffers_made_in_a_loop_and_carried(x):
    h = x
    for _ in range(3):
        fresh = np.zeros(len(x))
        for i in range(len(x)):
            fresh[i] = math.tanh(h[i] * h[(i + 1) % len(x)])
        h = fresh
    return np.sum(np.sin(h))


@program(np.array([0.6, -1.2, 0.3]))
def buffers_in_a_while_loop(x):
    h, k = x, 0
    while h[0] < 20.0:
        fresh = np.zeros(len(x))
        for i in range(len(x)):
            fresh[i] = h[i] * 1.2 + h[i] * 0.1 * h[i]
        h = fresh
        k += 1
    return np.sum(h * h) + k


@program(W3, H3)
def products_of_what_is_written_again(w, h):
    h = h.copy()
    for _ in range(3):
        z = w @ h
        for i in range(len(h)):
            h[i] = math.tanh(z[i])
    return np.sum(h * h)


@program(X4, "own")
@program(X4, "other")
@program(X4, "round")
def buffer_written_after_a_load(x, late):
    x = x.copy()
    s, held = 0.0, x
    for _ in range(len(x)):
        fresh = np.zeros(len(x))
        for i in range(len(x)):
            fresh[i] = x[i] * 1.5
        y = math.sin(fresh[0] * held[1])
        if late == "own":
            fresh[0] = y
        elif late == "round":
            held[1] = y * 0.3
        else:
            same = fresh if s > -9.0 else x
            same[0] = y
        s += y * fresh[0]
        held = fresh
    return s


@program(X4, 0.7)
def sum_in_branches(x, y):
    s = 0.0
    for v in x:
        term = math.exp(math.sin(v) * y)
        if v > 0:
            for _ in range(3):
                s = term + s
        else:
            s = s - term
    return s / y


@program(X4)
def sums_whose_adjoint_has_to_wait(x):
    x = x.copy()
    squares = 0.0
    for v in x:
        squares += v * v
    x[1] = x[1] * 3.0
    more = 0.0
    for v in x:
        more += v * v
    return math.sin(squares) + more


@program(X4)
def carried_and_used_besides(x):
    s = 0.5
    for v in x:
        s = s + s * v
    t = 0.0
    for v in x:
        s, t = s + v, t + s
    return s + t


def products_of(p, q, n):
    x = p[0]
    q[0] = x * p[1]
    return x * p[0] if n == 0 else products_of(q, p, n - 1) + x * p[0]


@program(X4)
def function_of_memory_that_is_written_later(x):
    x = x.copy()
    s = 0.0
    for _ in range(3):
        y = products_of(x, x, 1)
        x[1] = math.sin(y)
        s += y
    return s


@program(X4)
def branches_that_write_elsewhere(x):
    n = len(x)
    y = np.zeros(n)
    for i in range(n):
        if x[i] > 0.0:
            y[i] = x[i] * x[i]
        else:
            y[n - 1 - i] = math.cos(x[i])
    p = 1.0
    for v in y:
        p *= 1.5 + v
    return y, p


@program(0.7, X4)
@program(-0.7, X4)
def one_of_two_buffers(a, x):
    y, z = np.zeros(len(x)), np.zeros(len(x))
    z[0] = 2.0
    chosen = y if a > 0 else z
    for i in range(len(x)):
        chosen[i] = a * x[i]
    return y[1] + z[0], chosen


@program(0.6)
def list_that_doubles(a):
    kept, y = [], a * a
    while y < 3.0:
        kept.append(y)
        y = 0.3 * y * y + y + 0.1
    for v in kept:
        y = y * 0.9 + v
    return y


@program(X4)
def rows_of_rows_read_backwards(x):
    kept = []
    for i in range(len(x)):
        row = np.zeros(i + 1)
        for j in range(i + 1):
            row[j] = x[i] * x[j]
        kept.append(row)
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        for j in range(i + 1):
            s = math.sin(s + kept[i][j])
    return s


@program(0.7, X4)
def constants_and_ints_in_memory(a, x):
    y, where = np.zeros(len(x)), np.zeros(len(x), dtype=int)
    for i in range(len(x)):
        y[i] = float(i)
        where[i] = i
    return a * x[where[1]], y


def noted_power(x, n, notes):
    if n < 1:
        return 1.0
    y = noted_power(x, n - 1, notes)
    notes[n] = y
    return x * y


@program(0.6, 1.3)
def recursion_that_notes(x, y):
    notes = np.zeros(8)
    a = noted_power(x + 0.5, 5, notes)
    b = noted_power(0.7, 2, np.zeros(8))
    return a * y + b, notes[3]


@program(X4.astype(np.float32))
def single_precision_carried(x):
    s, y = np.float32(1.0), np.zeros(len(x), np.float32)
    for i in range(len(x)):
        u = x[i] * np.sin(x[i])
        v = u if u > 0.2 else np.float32(1.5)
        y[i] = v
        s = s * u + v
    return s, y


@program(RAMP, 1.3)
def temporaries_of_a_round_written_again(x, a):
    total = 0.0
    for k in range(3):
        t = np.sin(x * (a + k))
        total += t[0] * t[-1]
        t[2:] = t[:-2] * t[1:-1] * a  # another store to it
        for i in range(4):
            t[i // 2] = t[i // 2] * x[i] + a  # to a place in several rounds
        u = np.zeros(len(x))
        for i in range(len(x)):
            if x[i] > 0.5:
                u[i] = t[i] * a  # in some rounds alone
            u[i] += t[len(x) - 1 - i]
            u[i // 2] -= x[i] * t[0]
        total += np.sum(u * t) + u[1]
    return total


@program(RAMP, 0.7)
def stencil_written_in_place(x, c):
    y, z = x.copy(), np.zeros(len(x))
    for _ in range(3):
        z[1:-1] = y[1:-1] + c * (y[2:] - 2.0 * y[1:-1] + y[:-2])
        y[1:-1] -= c * z[:-2] * z[2:]
        y[0] += z[1] * c
        y += y[::-1].copy()
    return np.sum(y * y), z


# Shapes that are set


@program(RAMP)
def a_shape_that_is_set(x):
    y = x * 2
    z = y
    y.shape = (2, -1)
    return z.sum(axis=0) * y[1]


@program(RAMP)
def shapes_that_are_set_in_a_loop(x):
    y, s = x * 1.5, 0.0
    z = y
    for k in range(3):
        y.shape = (2, 4) if k % 2 else (4, 2)
        s += z[1, 1] * z[0, 1]
        y *= 1.25
        y.shape = 8
    return s * y


@program(RAMP)
def a_shape_of_a_view_that_is_set(x):
    y = x * x
    v, w = y[2:6], y.reshape(4, 2)
    v.shape = (2, 2)
    y.shape = (2, 4)
    v[1] = 7.0
    return y + 1.0, v * w[:2], y.shape


@program(RAMP, raises=ValueError)
def a_shape_that_does_not_fit(x):
    y = x * 2
    y.shape = (3, 3)
    return y


@program(RAMP, 0.7, 4)
@program(RAMP, 0.7, 0)
def array_made_anew_in_each_round(x, h, n):
    y = x
    for k in range(n):
        slope = np.sin(y) * x - h * y
        middle = y + 0.5 * h * slope
        y = y + h * middle * (1.0 + k)
    return np.sum(y * y), y


@program(RAMP.reshape(2, 4), RAMP[:4], 3)
@program(RAMP.reshape(2, 4), RAMP[:4], 0)
def arrays_made_anew_in_nested_rounds(x, w, n):
    y, z = np.zeros((2, 4)), x * 2.0
    for i in range(n):
        for j in range(2):
            y = y + np.cos(x) * w * z[j, i]
        z = z - 0.1 * y * x
    return np.sum(y * z), z


@program(RAMP, 0.3)
def array_made_anew_until_it_is_small(x, h):
    y = x * 1.0
    while np.sum(y * y) > 0.5:
        y = y * h + 0.01 * x
    return y


@program(RAMP, 0.3, 2)
@program(RAMP, 0.3, 0)
def array_that_changes_behind_the_one_made_anew(x, h, n):
    a = x * h
    y = a
    for _ in range(n):
        y = y * 1.5
        a[1] = h * y[0]
    a[0] = 7.0 * h  # if there was no round, y is a
    return np.sum(y * a)


@program(RAMP, 0.3, 3)
def arrays_that_change_places(x, h, n):
    a, b = x * h, np.sin(x)
    for _ in range(n):
        a, b = b, a * h
    return np.sum(a * x) + b[2]


@program(RAMP, 0.3, 3)
def array_made_anew_in_some_rounds(x, h, n):
    y = x * h
    for k in range(n):
        if k % 2:
            y = y * x
        else:
            y[k] *= 2.0
    return y


@program(RAMP, 3)
def array_made_anew_in_other_sizes(x, n):
    y, s = x, 0.0
    for _ in range(n):
        y = y[1:] * y[:-1]
        s += np.sum(y)
    return s, y


@program(np.linspace(0.1, 1.2, 24).reshape(8, 3), 0.5)
@program(np.linspace(0.1, 1.2, 3).reshape(1, 3), 0.5)
def slices_of_points(p, a):
    d = p[1:] - p[:-1]
    d[:, 0] *= a
    e = p[1:] * d
    e[:-1] += d[1:] * 0.5
    return np.sum(e * e), np.sum(d, axis=0), d[::-1] * p[:-1], np.sum((d > 0) * d)


@program(np.linspace(0.1, 1.2, 24).reshape(2, 4, 3), 0.5)
def slices_of_planes(p, a):
    q = np.zeros((2, 2, 3))
    for i in range(2):
        q = q + p[:, i : i + 2] * a + p[:, 1:3]
    return q, np.sum(q[1:] * p[:1, 2:], axis=1)


@program(np.linspace(0.1, 1.2, 24).reshape(2, 4, 3), np.linspace(-1, 1, 6).reshape(3, 2))
def stacked_matrices_and_one(p, w):
    return p @ w, p[:, 1:3] @ w, p[:, ::2] @ w[:, 0], np.dot(p[1:], w[:, 1])
