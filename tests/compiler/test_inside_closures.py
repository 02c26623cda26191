"""Verbs of zyg in whole functions, of functions that are defined there, and rules of users."""

import numpy as np

import zyg

from .test_inside import X, Y, Z, demand_agreement, first_slope, of_each


def third_slope(x):
    def second(t):
        return zyg.gradient(first_slope, t)[0]

    return zyg.gradient(second, x * x)[0] * x


def newton(a):
    def residual(x):
        return x * x - a

    x = 1.0
    for _ in range(6):
        x = x - residual(x) / zyg.gradient(residual, x)[0]
    return x


def newton_until(a):
    x = a
    while abs(x * x * x - a) > 1e-12:
        x = x - (x * x * x - a) / zyg.gradient(lambda t: t * t * t - a, x)[0]
    return x


def gradient_of_parts(w, b):
    def loss(p):
        return np.sum(np.tanh(p[0] * 2.0 + p[1])) * b

    dw, db = zyg.gradient(loss, (w, b))[0]
    return np.sum(dw * dw) + db


def none_for_no_path(x, y):
    gx, gy = zyg.gradient(lambda a, b: a * a, x, y)
    return gx * y if gy is None else x


def zeros_for_no_path(w, y):
    gx, gy = zyg.gradient(lambda a, b: b * b, w, y, zeros=True)
    return np.sum(gx * w) + gy


def of_an_int(x):
    return x * zyg.gradient(lambda n: n * n * 0.5, 3)[0]


def with_aux(w):
    (loss, aux), (g,) = zyg.value_and_gradient(lambda v: (np.sum(v * v), v * 2.0), w)
    return loss + np.sum(aux * g)


def closure_over_arrays(w, x):
    def model(v):
        return np.sum(np.tanh(w @ v))

    return np.sum(zyg.gradient(model, x)[0] ** 2)


def physics_informed(p):
    total = 0.0
    for k in range(4):
        t = 0.25 * k

        def u(s):
            return p[0] * np.sin(p[1] * s) + p[2]

        du = zyg.gradient(u, t)[0]
        total += (du + u(t)) ** 2
    return total


def pushed(w, v):
    y, y_dot = zyg.pushforward(lambda a: np.sin(a) * a, (w,), (v,))
    return np.sum(y * y_dot)


def pulled(w, v):
    y, back = zyg.pullback(lambda a: np.sin(a) * a[0], w)
    (c,) = back(v)
    return np.sum(c * y)


def by_jacobian(w, a):
    def residuals(v, b):
        return np.exp(v * b) + v[0]

    by_w, by_a = zyg.jacobian(residuals, w, a)
    return np.sum(by_w @ by_w) + np.sum(by_a)


@zyg.adjoint
def clipped_square(x):
    def clipped_square_pullback(y_bar):
        return (np.minimum(np.maximum(2 * x * y_bar, -1.0), 1.0),)

    return x * x, clipped_square_pullback


@zyg.adjoint
def rounded(x, n):
    return np.rint(x * n) / n, lambda y_bar: (y_bar * 1.0, None)


@zyg.adjoint
def scaled_exp(a, b):
    t = np.exp(a)
    y = t * b

    def scaled_exp_pullback(y_bar):
        return lambda: y_bar * y, lambda: np.sum(y_bar * t)

    return y, scaled_exp_pullback


def by_rules(w, s):
    v = scaled_exp(w, s)
    total = 0.0
    for k in range(3):
        total += clipped_square(v[k]) + rounded(v[k], 4) * v[k]
        v = scaled_exp(v * 0.1, 0.3)
        v[0] = total * 0.1
    return total + np.sum(v)


def hooked(w):
    part = zyg.hook(lambda d: d * d, w[0]) * w[1]
    return np.sum(zyg.hook(lambda d: -2.0 * d, w) ** 2) + part


def of_elements(w, s):
    y = zyg.broadcast(lambda a, b: a * b if a > 0 else np.exp(a), w, s)
    return np.sum(y * y)


PROGRAMS = [
    (third_slope, 0.7),
    (newton, 2.3),
    (newton_until, 2.3),
    (gradient_of_parts, X, 0.4),
    (none_for_no_path, 1.5, 2.0),
    (zeros_for_no_path, X, 2.0),
    (of_an_int, 2.0),
    (with_aux, X),
    (closure_over_arrays, Z, X),
    (physics_informed, Y),
    (pushed, X, Y),
    (pulled, X, Y),
    (by_jacobian, Y, 0.4),
    (by_rules, X, 0.7),
    (hooked, X),
    (of_elements, X, 0.7),
]


@of_each(PROGRAMS)
def test_values_gradients_and_second_order(f, args):
    demand_agreement(f, args)


def of_a_dict(w, b):
    def loss(p):
        return np.sum(np.tanh(p["w"]) * p["b"])

    g = zyg.gradient(loss, {"w": w, "b": b, "unused": 1.0})[0]
    return np.sum(g["w"] * w) + g["b"] if g["unused"] is None else b


def of_a_list(x, y):
    (g,) = zyg.gradient(lambda p: p[0] * p[0] * p[1], [x, y])
    return g[0] * g[1]


def in_a_loop_that_writes(w):
    kept = np.zeros_like(w)
    for k in range(3):
        kept[k] = zyg.gradient(lambda x, k=k: x * x * x * w[k], w[k])[0]
    return np.sum(kept * w)


def two_cotangents(w):
    y, back = zyg.pullback(lambda a: (np.sum(a * a), a[0] * a), w)
    return np.sum(back((1.0, w))[0] * back((y[0], y[1]))[0])


@of_each([(of_a_dict, X, 0.4), (of_a_list, 1.5, 0.7), (in_a_loop_that_writes, X),
          (two_cotangents, X)])  # fmt: skip
def test_structures(f, args):
    demand_agreement(f, args)
