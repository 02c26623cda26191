"""What has a rule and no native form runs in Python, called back from machine code."""

import numpy as np
import pytest
from scipy import special

import zyg

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 3))
B = RNG.normal(size=(5, 3))
V = RNG.normal(size=6)


def svd(a):
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    return np.sum(s * u[0] ** 2) + vt[0, 0] ** 2


def eigh_in_a_loop(a, n):
    total = 0.0
    for k in range(n):
        w, v = np.linalg.eigh(a @ a.T + k * np.eye(3))
        if k % 2 == 0:
            total += np.sum(np.log(w)) * k
        else:
            total += np.sum(v[0] ** 2 * w)
        a = a * 0.9 + 0.01 * w[0]
    return total


def qr(a, b):
    q, r = np.linalg.qr(a)
    return np.sum(np.linalg.solve(r, q.T @ b))


def least_squares(a, b):
    x, _, _, s = np.linalg.lstsq(a, b)
    return x @ x + s[0]


def fft(x):
    y = np.fft.fft(x)
    return np.sum(np.abs(y) ** 3) + np.sum((y * y[::-1]).real)


def bessel(x):
    total = 0.0
    k = 1
    while total < 2.0:
        total += special.jv(1.0, x * k) ** 2 + special.gammaln(x + k)
        k += 1
    return total


def in_a_branch(x):
    total = 0.0
    for v in x:
        if v > 0:
            total += special.gammaln(v)
        else:
            total -= v * v
    return total


def unique(x):
    return np.sum(np.unique(x) ** 2)


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


def opaque_rule(x):
    total = 0.0
    for k in range(4):
        total = total + opaque(x * k) * total + opaque(x)
    return np.sum(total)


def in_a_routine(x, n):
    def power(x, n):
        return x if n == 0 else power(x, n - 1) * special.jv(0.0, x)

    return power(x, n)


PROGRAMS = [
    (svd, B),
    (eigh_in_a_loop, A, 5),
    (qr, A, V[:3]),
    (least_squares, B, V[:5]),
    (fft, V),
    (bessel, 1.3),
    (in_a_branch, V),
    (unique, np.array([1.0, 2.0, 1.0])),
    (opaque_rule, V[:3]),
    (in_a_routine, 0.7, 4),
]


@pytest.fixture(autouse=True)
def errors():
    with zyg.config(fallback="error"):
        yield


@pytest.mark.parametrize(
    ("f", "a"), [(f, args) for f, *args in PROGRAMS], ids=[f.__name__ for f, *_ in PROGRAMS]
)
def test_value_and_derivatives_are_those_of_the_traced_engine(f, a):
    compiled = zyg.compile(f)
    x, *rest = a
    u = np.cos(np.arange(np.size(x))).reshape(np.shape(x)) if np.ndim(x) else 0.8

    def of(g):
        return lambda x: g(x, *rest)

    assert compiled(*a) == pytest.approx(f(*a), rel=1e-12)
    for c, d in zip(zyg.gradient(compiled, *a), zyg.gradient(f, *a), strict=True):
        assert (c is None) == (d is None)
        assert c is None or c == pytest.approx(d, rel=1e-10, abs=1e-12)
    (gradient,) = zyg.gradient(of(compiled), x)
    along = zyg.pushforward(of(compiled), (x,), (u,))[1]
    assert along == pytest.approx(np.sum(gradient * u), rel=1e-10)
    hvp = zyg.hvp(of(f), x, u)
    assert zyg.hvp(of(compiled), x, u) == pytest.approx(hvp, rel=1e-8, abs=1e-10)
    twice = zyg.gradient(lambda x: np.sum(zyg.gradient(of(compiled), x)[0] * u), x)[0]
    assert twice == pytest.approx(hvp, rel=1e-8, abs=1e-10)
    assert compiled.inspect(*a)["called back"]
