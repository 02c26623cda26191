"""Binomials, rising factorials and beta where they are 0, or where poles cancel: against mpmath."""

import mpmath
import numpy as np
import pytest
import scipy.special as sp

import zyg

POINTS = [0.0, 1e-9, -1e-9, 1.0, 2.0, -1.0, -2.0, -30.0, 0.5, -0.5, -2.5, 1.7, 171.0]


def quotient(above, below):
    return lambda a, b: mpmath.gammaprod(above(a, b), below(a, b))


EXACT = {
    sp.binom: mpmath.binomial,
    sp.poch: quotient(lambda z, m: [z + m], lambda z, m: [z]),
    sp.beta: quotient(lambda a, b: [a, b], lambda a, b: [a + b]),
}


def exact_slopes(f, args, place):
    """The first and second derivative by the argument at `place`, by differences in 60 digits."""
    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -12

        def at(t):
            return EXACT[f](*(mpmath.mpf(x) + (t if k == place else 0) for k, x in enumerate(args)))

        try:
            first = (27 * (at(h) - at(-h)) - (at(3 * h) - at(-3 * h))) / (48 * h)
            return float(first), float((at(3 * h) - at(h) - at(-h) + at(-3 * h)) / (8 * h * h))
        except (ZeroDivisionError, ValueError):
            return np.inf, np.inf


def slopes(f, args, place):
    def along(t):
        return f(*args[:place], t, *args[place + 1 :])

    def slope(t):
        return zyg.gradient(along, t, zeros=True)[0]

    return slope(args[place]), zyg.gradient(slope, args[place], zeros=True)[0]


def is_on_a_line(f, args, place):
    """Whether the value is one of a line only: at whole steps from a pole over a pole."""
    a, b = args
    poles = (a, a + b) if f is sp.poch else (0, 0.5)
    return f is sp.poch and place == 1 and all(x <= 0 and x == int(x) for x in poles)


@pytest.mark.parametrize("f", EXACT)
@pytest.mark.parametrize("place", [0, 1])
def test_slopes_at_zeros_and_at_poles_that_cancel(f, place):
    checked = 0
    for args in [(a, b) for a in POINTS for b in POINTS]:
        with np.errstate(all="ignore"):
            y = f(*args)
            expected = exact_slopes(f, args, place)
            if not np.isfinite(y) or abs(y) > 1e6 or is_on_a_line(f, args, place):
                continue
            got = slopes(f, args, place)
        for d, e in zip(got, expected, strict=True):
            if abs(e) < 1e6:
                checked += 1
                assert d == pytest.approx(e, rel=1e-7, abs=1e-7), (args, got, expected)
    assert checked > 90


def test_the_second_derivatives_of_a_product_that_is_a_binomial():
    for x in (0.0, 1e-9, 1e-3, 0.3, 1.0):
        assert slopes(sp.binom, (x, 2), 0) == pytest.approx((x - 0.5, 1.0), rel=1e-7)
        assert slopes(sp.poch, (x, 2), 0) == pytest.approx((2 * x + 1, 2.0), rel=1e-7)


def test_mixed_slopes_of_a_binomial_that_is_zero():
    v, h = np.array([1.0, 2.0]), 1e-4

    def row(v):
        return zyg.gradient(lambda v: sp.binom(v[0], v[1]), v)[0]

    rows = [(row(v + h * e) - row(v - h * e)) / (2 * h) for e in np.eye(2)]
    hessian = zyg.hessian(lambda v: sp.binom(v[0], v[1]), v)
    np.testing.assert_allclose(hessian, rows, rtol=1e-6)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12)


def test_log_beta_where_poles_cancel():
    # beta(a, 1) = 1 / a
    assert zyg.gradient(lambda a: sp.betaln(a, 1.0), -1.0)[0] == pytest.approx(1.0)
    assert zyg.gradient(lambda b: sp.betaln(1.0, b), -3.0)[0] == pytest.approx(1 / 3)
