"""Draws that stay at their places in the distribution, against the distribution functions."""

import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

import zyg
import zyg.numpy as znp
from zyg.scipy import special, stats
from zyg.scipy._incomplete import angle_slope, beta_slopes, gamma_slope, odds_slopes

CDF = {
    "standard_gamma": lambda z, a: scipy.stats.gamma.cdf(z, a),
    "gamma": lambda z, a, s: scipy.stats.gamma.cdf(z, a, scale=s),
    "chisquare": lambda z, df: scipy.stats.chi2.cdf(z, df),
    "beta": lambda z, a, b: scipy.stats.beta.cdf(z, a, b),
    "f": lambda z, n, m: scipy.stats.f.cdf(z, n, m),
    "standard_t": lambda z, df: scipy.stats.t.cdf(z, df),
    "vonmises": lambda z, mu, kappa: scipy.stats.vonmises.cdf(z - mu, kappa),
    "wald": lambda z, mean, scale: scipy.stats.invgauss.cdf(z, mean / scale, scale=scale),
}
PARAMETERS = {
    "standard_gamma": (2.5,), "gamma": (0.7, 2.0), "chisquare": (3.0,), "beta": (0.6, 3.0),
    "f": (4.0, 7.0), "standard_t": (4.0,), "vonmises": (0.3, 2.0), "wald": (1.0, 2.0),
}  # fmt: skip


def draw(name, *parameters, **options):
    return getattr(znp.random.default_rng(5), name)(*parameters, **options)


def difference(f, x, h):
    return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)


@pytest.mark.parametrize("name", CDF)
def test_a_sample_stays_at_its_place_in_the_distribution(name):
    parameters, cdf = PARAMETERS[name], CDF[name]
    z = draw(name, *parameters, size=6)
    slopes = zyg.jacobian(lambda *p: draw(name, *p, size=6), *parameters)
    density = difference(lambda z: cdf(z, *parameters), z, 1e-4 * np.minimum(1, z * z + 1e-3))
    for k, p in enumerate(parameters):
        moved = lambda q: cdf(z, *parameters[:k], q, *parameters[k + 1 :])  # noqa: B023, E731
        expected = -difference(moved, p, 1e-3) / density
        np.testing.assert_allclose(slopes[k], expected, rtol=1e-6, atol=1e-8)


# Two orders: along the curve of equal places, which the quantile function is.
QUANTILES = {
    "standard_gamma": lambda u, a: stats.gamma.ppf(u, a),
    "gamma": lambda u, a, s: stats.gamma.ppf(u, a, scale=s),
    "chisquare": lambda u, df: stats.chi2.ppf(u, df),
    "beta": lambda u, a, b: stats.beta.ppf(u, a, b),
    "standard_t": lambda u, df: stats.t.ppf(u, df),
    "f": lambda u, n, m: stats.f.ppf(u, n, m),
}


@pytest.mark.parametrize("name", QUANTILES)
def test_second_derivatives_are_those_of_the_quantile_function(name):
    parameters = np.array(PARAMETERS[name])
    u = CDF[name](draw(name, *parameters, size=3), *parameters)
    ours = zyg.hessian(lambda p: np.sum(draw(name, *p, size=3)), parameters)
    theirs = zyg.hessian(lambda p: np.sum(QUANTILES[name](u, *p)), parameters)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", CDF)
def test_both_modes_agree_and_parameters_broadcast(name):
    parameters = [np.array([[p], [1.1 * p]]) for p in PARAMETERS[name]]

    def f(*p):
        return draw(name, *p, size=(2, 3))

    dots = [np.ones_like(p) for p in parameters]
    y, y_dot = zyg.pushforward(f, parameters, dots)
    _, back = zyg.pullback(f, *parameters)
    c = np.cos(np.arange(6.0)).reshape(2, 3)
    backward = sum(np.sum(b) for b in back(c))
    np.testing.assert_allclose(np.sum(c * y_dot), backward, rtol=1e-12)
    np.testing.assert_array_equal(y, getattr(np.random.default_rng(5), name)(*parameters, (2, 3)))


@pytest.mark.parametrize("name", ["vonmises", "wald"])
def test_second_derivatives_of_angles_and_first_passages(name):
    p = np.array(PARAMETERS[name])
    u = CDF[name](draw(name, *p), *p)
    turn = (
        (lambda u, mu, k: scipy.stats.vonmises.ppf(u, k, mu))
        if name == "vonmises"
        else (lambda u, mean, scale: scipy.stats.invgauss.ppf(u, mean / scale, scale=scale))
    )
    h = zyg.hessian(lambda p: draw(name, *p), p)
    np.testing.assert_allclose(h, h.T, atol=1e-12)
    for k, e in enumerate(np.eye(2)):
        first = lambda s: difference(lambda t: turn(u, *(p + t * e)), s, 0.02)  # noqa: B023, E731
        np.testing.assert_allclose(h[k, k], difference(first, 0.0, 0.02), rtol=1e-4, atol=1e-5)


# Dirichlet vectors: the expectation of a cost


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [[0.5, 1.0, 3.0], [0.03, 0.05, 0.09]])
def test_dirichlet_vectors_have_the_derivative_of_expectations(alpha):
    alpha, n = np.array(alpha), 10_000

    def f(alpha):
        return np.sum(draw("dirichlet", alpha, size=n) * [1.0, -2.0, 0.5]) / n

    (slope,) = zyg.gradient(f, alpha)
    (exact,) = zyg.gradient(lambda a: np.sum(a * [1.0, -2.0, 0.5]) / np.sum(a), alpha)
    np.testing.assert_allclose(slope, exact, rtol=0.1)


def test_dirichlet_vectors_stay_on_the_simplex():
    slopes = zyg.jacobian(lambda a: draw("dirichlet", a, size=5), np.array([0.5, 1.0, 3.0]))[0]
    np.testing.assert_allclose(np.sum(slopes, axis=1), 0, atol=1e-14)


# The slopes, over wide ranges


DIGITS = 320  # far out in the tails a probability is lost in 1


def exactly(f, p):
    """The derivative of a function of mpmath's."""
    with mpmath.workdps(DIGITS):
        h = mpmath.mpf(10) ** -20
        return (f(p + h) - f(p - h)) / (2 * h)


@given(st.floats(-3, 3), st.floats(-250, 3))
def test_slopes_of_gamma_are_exact_over_all_scales(log_a, log_z):
    a, z = 10.0**log_a, 10.0 ** min(log_z, log_a + 1)
    slope = exactly(lambda a: mpmath.gammainc(a, 0, z, regularized=True), a)
    with mpmath.workdps(DIGITS):
        density = mpmath.exp((a - 1) * mpmath.log(z) - z - mpmath.loggamma(a))
        expected = float(-slope / density)
    np.testing.assert_allclose(gamma_slope(a, z), expected, rtol=1e-9)


@pytest.mark.parametrize("a", [0.002, 0.03, 4.0, 200.0])
@pytest.mark.parametrize("b", [0.002, 0.7, 30.0])
@pytest.mark.parametrize("z", [1e-200, 1e-30, 1e-3, 0.6, 1 - 1e-9])
def test_slopes_of_beta_are_exact_over_all_scales(a, b, z):
    with mpmath.workdps(DIGITS):
        power = mpmath.exp((a - 1) * mpmath.log(z) + (b - 1) * mpmath.log1p(-mpmath.mpf(z)))
        density = power / mpmath.beta(a, b)
        by_a = exactly(lambda a: mpmath.betainc(a, b, 0, z, regularized=True), a)
        by_b = exactly(lambda b: mpmath.betainc(a, b, 0, z, regularized=True), b)
        expected = float(-by_a / density), float(-by_b / density)
    np.testing.assert_allclose(beta_slopes(a, b, z), expected, rtol=1e-8)


def test_incomplete_functions_of_small_parameters_have_their_slopes():
    (slope,) = zyg.gradient(lambda a: special.gammainc(a, 1e-30), 0.01)
    expected = exactly(lambda a: mpmath.gammainc(a, 0, 1e-30, regularized=True), 0.01)
    np.testing.assert_allclose(slope, float(expected), rtol=1e-10)
    (slope,) = zyg.gradient(lambda a: special.betainc(a, 2.0, 1e-30), 0.01)
    expected = exactly(lambda a: mpmath.betainc(a, 2, 0, 1e-30, regularized=True), 0.01)
    np.testing.assert_allclose(slope, float(expected), rtol=1e-10)


@given(st.floats(-1.5, 2.5), st.floats(-1.5, 2.5), st.floats(1e-4, 1 - 1e-4))
def test_slopes_of_odds_are_those_of_beta(log_a, log_b, x):
    a, b = 10.0**log_a, 10.0**log_b
    of_odds, of_beta = odds_slopes(a, b, x / (1 - x)), beta_slopes(a, b, x)
    for by_odds, by_x in zip(of_odds, of_beta, strict=True):
        np.testing.assert_allclose(by_odds * (1 - x) ** 2, by_x, rtol=1e-9)


@pytest.mark.parametrize("kappa", [0.0, 1e-3, 0.3, 2.0, 40.0, 1e4])
@pytest.mark.parametrize("depth", [-3.0, -0.5, 1e-3, 0.4, 1.0, 2.5, 8.0])
def test_slopes_of_angles_are_integrals(kappa, depth):
    x = np.clip(depth / max(1.0, np.sqrt(kappa)), -3.1, 3.1)
    mean = scipy.special.i1e(kappa) / scipy.special.i0e(kappa)
    f = lambda t: (np.cos(t) - mean) * np.exp(kappa * (np.cos(t) - np.cos(x)))  # noqa: E731
    below = np.cos(x) >= mean
    side = abs(x)
    width = min(np.pi - side, 60 / max(1.0, np.sqrt(kappa)))
    expected = (
        -quad(f, 0, side, epsabs=0, epsrel=1e-12)[0]
        if below
        else quad(f, side, side + width, epsabs=0, epsrel=1e-12, limit=200)[0]
    )
    np.testing.assert_allclose(angle_slope(kappa, x), np.sign(x) * expected, rtol=1e-8, atol=1e-16)


def test_far_out_in_the_tails_nothing_is_lost():
    assert gamma_slope(0.01, 0.0) == 0.0
    assert np.isnan(gamma_slope(0.0, 0.0))  # the mean moves there, no sample does
    np.testing.assert_allclose(
        gamma_slope(2.0, 800.0), np.log(800.0) - scipy.special.psi(2.0), rtol=1e-2
    )
    (slope,) = zyg.gradient(lambda df: np.sum(draw("standard_t", df, size=50)), 0.05)
    assert np.isfinite(slope)
