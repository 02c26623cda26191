"""Integrals of several variables, and sums over samples, against SciPy's and differences."""

import numpy as np
import pytest

import zyg
from zyg.scipy import integrate

Y = np.random.default_rng(13).normal(size=(5, 6))
X = np.cumsum(np.random.default_rng(14).uniform(0.5, 1.5, size=(5, 6)), axis=1)
C = np.array([0.7, 0.3])


def wave(y, x, c):
    return np.sin(x * c[0] + y) * np.exp(c[1] * y)


CALLS = {
    "romb": (lambda y: integrate.romb(y, 0.3, 0), Y),
    "romb by its step": (lambda y, d: integrate.romb(y, d[0]), Y[:, :5], C),
    "cumulative_simpson": (integrate.cumulative_simpson, Y),
    "cumulative_simpson, even": (lambda y: integrate.cumulative_simpson(y, dx=0.3, axis=0), Y),
    "cumulative_simpson, short": (integrate.cumulative_simpson, Y[:, :2]),
    "cumulative_simpson by places": (
        lambda y, x: integrate.cumulative_simpson(y, x=x, initial=0.5), Y, X
    ),
    "cumulative_simpson by one row": (
        lambda y, x, i: integrate.cumulative_simpson(y, x=x, initial=i), Y[:, :5], X[0, :5], 0.3
    ),
    "fixed_quad": (
        lambda a, b, c: integrate.fixed_quad(lambda x, c: np.sin(c[0] * x) + c[1], a, b, (c,))[0],
        0.2, 1.4, C,
    ),
    "fixed_quad, places": (lambda a: integrate.fixed_quad(np.sin, 0.0, a, n=3)[0], 1.2),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_sums_have_scipys_values_and_slopes(name):
    f, *x = CALLS[name]

    np.testing.assert_allclose(zyg.pullback(f, *x)[0], f(*x), rtol=1e-15)
    zyg.check_gradient(f, *x)


def test_double_integrals():
    def f(a, c):
        return integrate.dblquad(wave, 0.0, a, lambda x: x * 0.5, 1.0, (c,))[0]

    assert zyg.pullback(f, 0.8, C)[0] == pytest.approx(f(0.8, C), rel=1e-14)
    zyg.check_gradient(f, 0.8, C, order=1)


def test_double_integrals_whose_inner_ends_and_integrand_hold_what_moves():
    def f(c):
        inner = integrate.dblquad(
            lambda y, x: np.cos(c[0] * x * y), 0.0, 1.0, lambda x: c[1] * x, 1.0
        )
        return inner[0]

    assert zyg.pullback(f, C)[0] == pytest.approx(f(C), rel=1e-14)
    zyg.check_gradient(f, C, order=1)


@pytest.mark.slow
def test_triple_integrals():
    def f(c):
        return integrate.tplquad(
            lambda z, y, x, c: c[0] * x * y + z * c[1] ** 2, 0.0, 1.0, 0.0, lambda x: x + 1.0,
            0.0, lambda x, y: c[1] + y, (c,),
        )[0]  # fmt: skip

    assert zyg.pullback(f, C)[0] == pytest.approx(f(C), rel=1e-14)
    step = 1e-5 * np.array([0.6, 0.8])
    slope = (f(C + step) - f(C - step)) / 2e-5
    assert zyg.gradient(f, C)[0] @ [0.6, 0.8] == pytest.approx(slope, rel=1e-6)


def test_errors_are_scipys():
    with pytest.raises(ValueError, match="finite"):
        zyg.pullback(lambda a: integrate.fixed_quad(np.sin, a, np.inf)[0], 1.0)
    with pytest.raises(ValueError, match="power of 2"):
        zyg.pullback(integrate.romb, Y[:, :4])
