"""Verbs of zyg inside of functions, and functions with rules of their own."""

import numpy as np

import zyg

from .program import program

X, Y, Z = np.array([0.5, -1.2, 2.0]), np.array([0.3, 0.7, -0.4]), np.array([[1.0, 0.2, -0.5]] * 2)

OWN = "slopes of their own"
NO = "hooks work in reverse mode only"
BENT = "the slope is not linear in the cotangent"


def cube(x):
    return x * x * x


def wave(w):
    return np.sum(np.sin(w) * w)


@program(1.3)
def first_slope(x):
    return zyg.gradient(cube, x)[0]


def bowl(w):
    return np.sum((w - 1.0) ** 4) + w[0] * w[1]


@program(X, 0.05)
def learned_rate(w, rate):
    after = w - rate * zyg.gradient(bowl, w)[0]
    return bowl(after)


@program(X, 0.02)
def several_steps(w, rate):
    for _ in range(3):
        value, (g,) = zyg.value_and_gradient(bowl, w)
        w = w - rate * g
    return bowl(w) + value


@program(X, Y)
def by_hvp(w, v):
    return np.sum(zyg.hvp(bowl, w, v) ** 2)


@program(X)
def by_hessian(w):
    return np.sum(zyg.hessian(bowl, w) * np.eye(3))


@program(X, differences=OWN)
def stopped(w):
    return np.sum(w * zyg.stop_gradient(w * w))


@program(X)
def checkpointed(w):
    return zyg.checkpoint(bowl, zyg.checkpoint(np.sin, w))


@program(X)
def of_the_diagonal(w):
    return np.sum(zyg.diaghessian(bowl, w) * w)


@zyg.elementwise
def bumpy(a):
    return a if a > 0 else a * a


@program(X)
def elementwise_call(w):
    return np.sum(bumpy(w) * w)


cubed = zyg.scalar_rule(lambda x: x * x * x, lambda x, y: 3 * x * x + 1)


@program(X, differences=OWN)
def with_scalar_rule(w):
    return np.sum(cubed(w) * w) + cubed(w[0])


@zyg.nondifferentiable
def half(x):
    return x * 0.5


@program(X, differences=OWN)
def with_constants(w):
    return np.sum(half(w) * w) + half(w[0]) * w[1] + zyg.primal(w[0]) * w[2]


@program(0.7)
def third_slope(x):
    def second(t):
        return zyg.gradient(first_slope, t)[0]

    return zyg.gradient(second, x * x)[0] * x


@program(2.3)
def newton(a):
    def residual(x):
        return x * x - a

    x = 1.0
    for _ in range(6):
        x = x - residual(x) / zyg.gradient(residual, x)[0]
    return x


@program(2.3)
def newton_until(a):
    x = a
    while abs(x * x * x - a) > 1e-12:
        x = x - (x * x * x - a) / zyg.gradient(lambda t: t * t * t - a, x)[0]
    return x


@program(X, 0.4)
def gradient_of_parts(w, b):
    def loss(p):
        return np.sum(np.tanh(p[0] * 2.0 + p[1])) * b

    dw, db = zyg.gradient(loss, (w, b))[0]
    return np.sum(dw * dw) + db


@program(1.5, 2.0)
def none_for_no_path(x, y):
    gx, gy = zyg.gradient(lambda a, b: a * a, x, y)
    return gx * y if gy is None else x


@program(X, 2.0)
def zeros_for_no_path(w, y):
    gx, gy = zyg.gradient(lambda a, b: b * b, w, y, zeros=True)
    return np.sum(gx * w) + gy


@program(2.0)
def of_an_int(x):
    return x * zyg.gradient(lambda n: n * n * 0.5, 3)[0]


@program(X)
def with_aux(w):
    (loss, aux), (g,) = zyg.value_and_gradient(lambda v: (np.sum(v * v), v * 2.0), w)
    return loss + np.sum(aux * g)


@program(Z, X)
def closure_over_arrays(w, x):
    def model(v):
        return np.sum(np.tanh(w @ v))

    return np.sum(zyg.gradient(model, x)[0] ** 2)


@program(Y)
def physics_informed(p):
    total = 0.0
    for k in range(4):
        t = 0.25 * k

        def u(s):
            return p[0] * np.sin(p[1] * s) + p[2]

        du = zyg.gradient(u, t)[0]
        total += (du + u(t)) ** 2
    return total


@program(X, Y)
def pushed(w, v):
    y, y_dot = zyg.pushforward(lambda a: np.sin(a) * a, (w,), (v,))
    return np.sum(y * y_dot)


@program(X, Y)
def pulled(w, v):
    y, back = zyg.pullback(lambda a: np.sin(a) * a[0], w)
    (c,) = back(v)
    return np.sum(c * y)


@program(Y, 0.4)
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


@program(
    X, 0.7, differences=OWN, forward_mode="a pullback that is not linear", gradient=BENT,
    text_of_derivatives=BENT,
)  # fmt: skip
def by_rules(w, s):
    v = scaled_exp(w, s)
    total = 0.0
    for k in range(3):
        total += clipped_square(v[k]) + rounded(v[k], 4) * v[k]
        v = scaled_exp(v * 0.1, 0.3)
        v[0] = total * 0.1
    return total + np.sum(v)


@program(
    X,
    differences=OWN,
    forward_mode=NO,
    pushforward=NO,
    ir=NO,
    text_of_derivatives=NO,
    gradient=BENT,
)
def hooked(w):
    part = zyg.hook(lambda d: d * d, w[0]) * w[1]
    return np.sum(zyg.hook(lambda d: -2.0 * d, w) ** 2) + part


@program(X, 0.7)
def of_elements(w, s):
    y = zyg.broadcast(lambda a, b: a * b if a > 0 else np.exp(a), w, s)
    return np.sum(y * y)


@program(X, 0.4)
def of_a_dict(w, b):
    def loss(p):
        return np.sum(np.tanh(p["w"]) * p["b"])

    g = zyg.gradient(loss, {"w": w, "b": b, "unused": 1.0})[0]
    return np.sum(g["w"] * w) + g["b"] if g["unused"] is None else b


@program(1.5, 0.7)
def of_a_list(x, y):
    (g,) = zyg.gradient(lambda p: p[0] * p[0] * p[1], [x, y])
    return g[0] * g[1]


@program(X)
def in_a_loop_that_writes(w):
    kept = np.zeros_like(w)
    for k in range(3):
        kept[k] = zyg.gradient(lambda x, k=k: x * x * x * w[k], w[k])[0]
    return np.sum(kept * w)


@program(X)
def two_cotangents(w):
    y, back = zyg.pullback(lambda a: (np.sum(a * a), a[0] * a), w)
    return np.sum(back((1.0, w))[0] * back((y[0], y[1]))[0])
