"""Verbs, solvers, rules and threads around each other: nests of what changes a function of vectors.

Each way makes another function of one; some close over their argument, or over a loop's variable.
Derivatives in every mode, of first and second order, are those of differences, or refused.
"""

# ruff: noqa: B023 - loop variables that move on are a part of the matter

import random
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import zyg
from tests.searches.search import Search, main
from zyg.errors import ZygError
from zyg.scipy import integrate, interpolate, optimize

C, V = np.array([0.7, -0.4, 1.1]), np.array([0.3, -1.0, 0.8])
SHARP = {"rtol": 1e-9, "atol": 1e-9}
LEAVES = [
    lambda x: np.sin(x * C) + 0.3 * x, lambda x: np.tanh(np.outer(C, V) @ x + x),
    lambda x: np.roll(x, 1) * 0.5 + 0.2 * np.cos(x), lambda x: x / np.sqrt(1.0 + np.sum(x * x)),
    lambda x: np.stack([np.exp(-x[0] ** 2), x[1] * x[2], x[0]]), lambda x: np.cumsum(0.4 * x * x),
    lambda x: np.linalg.solve(3 * np.eye(3) + np.outer(x, C) * 0.2, x),
]  # fmt: skip


def looped(each):
    """The sum of two functions that close over the variable of a loop."""

    def f(x):
        total = 0.0
        for k in (1, 2):
            total = total + each(x, lambda: k) / k
        k = 7
        return total

    return f


def ruled(h):
    @zyg.adjoint
    def rule(x, a):
        y, back = zyg.pullback(h, x)
        return y * a, lambda c: (back(c * a)[0], lambda: c * y)

    return lambda x: rule(x, np.cos(x))


def written(h):
    def f(x):
        y = np.zeros_like(x)
        y[:] = h(x)
        y[1] += x[0]
        y[::2] *= 0.5
        return y

    return f


def in_thread(h):
    def f(x):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(h, x).result()

    return f


def in_pool(h):
    def f(x):
        with zyg.wrap_executor(ThreadPoolExecutor(2)) as pool:
            return 0.5 * sum(pool.map(h, [x, 0.5 * x]))

    return f


def caught(h):
    def f(x):
        try:
            return h(x) if x[0] > 0.6 else 0.5 * h(np.sin(x))
        except Exception:
            return 100.0 * x

    return f


WAYS = {
    "checkpoint": lambda h: lambda x: zyg.checkpoint(lambda y: h(y) * x * 0.5, x),
    "vmap": lambda h: lambda x: np.mean(zyg.vmap(h)(np.stack([x, 0.5 * x])), axis=0),
    "vmap by closure": lambda h: lambda x: zyg.vmap(lambda s: h(s * x))(np.array([0.5, 1.0]))[0],
    "vmap by None": lambda h: lambda x: zyg.vmap(lambda a, b: h(a)[0] * b, (None, 0))(x, np.sin(x)),
    "compile": zyg.compile,
    "forwarddiff": lambda h: lambda x: zyg.forwarddiff(lambda y: h(y) * x, 0.5 * x),
    "gradient": lambda h: lambda x: 0.5 * zyg.gradient(lambda y: h(y) @ x, x, zeros=True)[0],
    "pushforward": lambda h: lambda x: 0.5 * zyg.pushforward(h, (x,), (np.cos(x),))[1],
    "jacobian": lambda h: lambda x: 0.5 * zyg.jacobian(h, x)[0] @ C,
    "hvp": lambda h: lambda x: 0.3 * zyg.hvp(lambda y: h(y) @ C, x, x),
    "foreign": lambda h: looped(
        lambda x, k: zyg.foreign(
            lambda y: h(y) * k(), jacobian=lambda y: k() * zyg.jacobian(h, y)[0]
        )(x)
    ),
    "spline": lambda h: lambda x: interpolate.CubicSpline([0.0, 0.5, 1.0], h(x))([0.2, 0.6, 0.9]),
    "broadcast": lambda h: lambda x: zyg.broadcast(lambda a, b: 0.5 * a * b + b, h(x), x),
    "along": lambda h: lambda x: np.apply_along_axis(h, 1, np.stack([x, 0.4 * x])).sum(axis=0) / 2,
    "rule": ruled, "written": written, "thread": in_thread, "pool": in_pool, "caught": caught,
}  # fmt: skip
SOLVERS = {
    "quad": lambda h: looped(lambda x, k: x * integrate.quad(lambda t: h(x * t)[k()], 0, 1)[0]),
    "solve_ivp": lambda h: looped(
        lambda x, k: integrate.solve_ivp(lambda t, y: h(y) - k() * y, (0, 0.3), x, **SHARP).y[:, -1]
    ),
    "odeint": lambda h: lambda x: integrate.odeint(
        lambda y, t: h(y) * x - y, x, [0, 0.3], **SHARP
    )[-1],
    "root": lambda h: looped(
        lambda x, k: optimize.root(lambda y: y - x - 0.1 * k() * h(y), x, tol=1e-12).x
    ),
    "fixed_point": lambda h: lambda x: zyg.fixed_point(
        lambda y: x + 0.1 * h(y), np.zeros(3), tolerance=1e-13
    ),
}  # fmt: skip


def case(number):
    choose = random.Random(number)
    h, names = choose.choice(LEAVES), choose.choices([*WAYS], k=choose.randint(2, 3))
    if choose.random() < 0.4:  # which take their time
        names = [names[0], choose.choice([*SOLVERS])][:: choose.choice([1, -1])]
    for name in names:
        h = (WAYS | SOLVERS)[name](h)
    return names, h, np.random.default_rng(number).uniform(0.2, 1.2, 3)


def differences(f, x, h=1e-3):
    """The Jacobian by differences of fourth order."""

    def slope(e):
        near, far = (f(x + s * e) - f(x - s * e) for s in (h, 2 * h))
        return (8 * near - far) / (12 * h)

    return np.stack([slope(e) for e in np.eye(3)], axis=-1)


def modes(f, x):
    """Derivatives of f, with what they are by its Jacobian; and those of a second order."""

    def loss(y):
        return f(y) @ C

    def slope(y):
        return zyg.gradient(loss, y, zeros=True)[0]

    def along(y):
        return zyg.pushforward(loss, (y,), (V,))[1]

    first = {
        "reverse": (lambda: slope(x), lambda m: C @ m),
        "forward": (lambda: zyg.jacobian(f, x, mode="forward")[0], lambda m: m),
        "sparse": (lambda: zyg.sparse_jacobian(f, x).toarray(), lambda m: m),
        "vmap": (lambda: zyg.vmap(slope)(np.stack([x, x]))[1], lambda m: C @ m),
        "checkpoint": (
            lambda: zyg.gradient(lambda y: zyg.checkpoint(loss, y), x, zeros=True)[0],
            lambda m: C @ m,
        ),
        "compile": (lambda: zyg.gradient(zyg.compile(loss), x, zeros=True)[0], lambda m: C @ m),
    }
    second = {
        "forward over reverse": (lambda: zyg.hvp(loss, x, V), lambda m: m @ V),
        "reverse over reverse": (
            lambda: zyg.gradient(lambda y: slope(y) @ V, x, zeros=True)[0], lambda m: m @ V
        ),
        "reverse over forward": (
            lambda: zyg.gradient(along, x, zeros=True)[0], lambda m: m @ V
        ),
    }  # fmt: skip
    return (f, first), (slope, second)


@np.errstate(all="ignore")
def check(made):
    names, f, x = made
    refused = 0
    with warnings.catch_warnings(), zyg.config(fallback="silent"):
        warnings.simplefilter("ignore")
        for g, derivatives in modes(f, x):
            try:
                expected = differences(g, x)
            except ZygError:
                return "refused"
            for mode, (run, of) in derivatives.items():
                try:
                    found = run()
                except ZygError:
                    refused += 1
                    continue
                size = max(1.0, np.max(np.abs(of(expected))))
                apart = f"{mode} of {' in '.join(names)} at {x}"
                np.testing.assert_allclose(found, of(expected), atol=1e-5 * size, err_msg=apart)
    return f"same, but for {refused} refused" if refused else None


SEARCH = Search(case, check, gate=16)

if __name__ == "__main__":
    main(SEARCH, __doc__)
