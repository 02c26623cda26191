"""Integrals of several variables, and sums over samples, against SciPy's and differences."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import zyg
from zyg.errors import MissingRuleError
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


def test_integrals_of_many_variables():
    def f(a, c):
        return integrate.nquad(
            wave, [lambda x, c: (c[0] * x, 1.0), (0.0, a)], args=(c,), opts={"epsabs": 1e-10}
        )[0]

    assert zyg.pullback(f, 0.8, C)[0] == pytest.approx(f(0.8, C), rel=1e-14)
    zyg.check_gradient(f, 0.8, C, order=1)


@pytest.mark.slow
def test_ranges_and_options_in_lists_and_functions():
    def f(c):
        def options(x):
            return {"points": [c[0] * x, 7.0]}

        ranges = [[0.0, c[1]], lambda: (0.0, c[0])]
        return integrate.nquad(
            lambda y, x: np.cos(c[0] * x * y), ranges, opts=[options, {"limit": 20}]
        )[0]

    assert zyg.pullback(f, C)[0] == pytest.approx(f(C), rel=1e-13)
    zyg.check_gradient(f, C, order=1)
    one = zyg.gradient(lambda a: integrate.nquad(lambda x: a * x, [(0.0, 2.0)])[0], 1.5)[0]
    assert one == pytest.approx(2.0)


def powers(x, c):
    return np.exp(-c[0] * x) * np.array([1.0, 2.0, 3.0]) + c[1] * np.sin(x)


@pytest.mark.slow
def test_integrals_of_arrays():
    def f(a, b, c):
        return integrate.quad_vec(lambda x: powers(x, c), a, b)[0]

    np.testing.assert_array_equal(zyg.pullback(f, 0.2, 1.4, C)[0], f(0.2, 1.4, C))
    zyg.check_gradient(f, 0.2, 1.4, C)


def test_integrals_of_arrays_with_args_and_infinite_ends():
    def f(c):
        return integrate.quad_vec(
            lambda x, c: np.exp(-(x**2)) * np.stack([c, c * x**2]), -np.inf, np.inf, args=(c[0],)
        )[0]

    def number(b, c):
        return integrate.quad_vec(lambda x: np.sin(c[0] * x) * x, 0.0, b, epsabs=1e-10)[0]

    assert zyg.jacobian(f, C)[0][:, 0] == pytest.approx(np.sqrt(np.pi) * np.array([1.0, 0.5]))
    zyg.check_gradient(number, 1.3, C)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda c: integrate.quad_vec(lambda x: c * x, 0, 1, full_output=True)[0], "full_output"),
        (lambda c: integrate.quad_vec(lambda x: c * 1j, 0, 1)[0], "complex"),
        (lambda c: integrate.nquad(lambda x: c[0], [(0, 1)], full_output=True)[0], "full_output"),
        (lambda c: integrate.newton_cotes(np.arange(3) + 0 * c[0])[0], "equal distances"),
    ],
)
def test_what_has_no_rule_is_refused(f, text):
    with pytest.raises(MissingRuleError, match=text):
        zyg.pullback(f, C)


@pytest.mark.parametrize("n", [3, 4])
def test_weights_for_samples(n):
    def f(inner):
        places = np.concatenate([np.zeros(1), inner, np.full(1, float(n))])
        weights, error = integrate.newton_cotes(places)
        return np.append(weights, error)

    zyg.check_gradient(f, np.arange(1.0, n) + 0.2)
    weights = zyg.pullback(lambda x: integrate.newton_cotes(x, 1)[0] * x[0], np.ones(n))[0]
    np.testing.assert_array_equal(weights, integrate.newton_cotes(n - 1, 1)[0])


def test_what_is_said_of_the_parts_of_an_integral_is_not_computed_with():
    def parts(c):
        y, error, said = integrate.quad(lambda x: np.exp(c * x), 0, 1, full_output=True)
        assert error < 1e-12
        assert said["neval"] == 21
        return y + np.sum(said["rlist"][:1])  # the rest is not written

    with pytest.raises(MissingRuleError, match="norms and estimates"):
        zyg.gradient(parts, 0.7)
    assert parts(0.7) > 2.0


def test_all_directions_take_one_integral():
    calls = []

    def f(p):
        def integrand(t):
            calls.append(t)
            return np.exp(-p[0] * t) * np.cos(p[1] * t + p[2])

        return integrate.quad(integrand, p[3], 2.0)[0]

    p = np.array([0.5, 1.5, 0.2, 0.1])
    rows = zyg.jacobian(f, p, mode="reverse")[0]
    reverse = len(calls)
    calls.clear()
    np.testing.assert_allclose(zyg.jacobian(f, p, mode="forward")[0], rows, rtol=1e-12)
    assert len(calls) <= reverse
    zyg.check_gradient(f, p)


def test_an_infinite_slope_of_an_integral_stays_with_its_own_direction():
    def f(p):
        return integrate.quad(lambda t: np.sqrt(p[0]) * t + p[1] * t, 0.0, 1.0)[0]

    for mode in ("forward", "reverse"):
        first, second = zyg.jacobian(f, np.array([0.0, 2.0]), mode=mode)[0]
        assert not np.isfinite(first)
        assert second == pytest.approx(0.5)


def test_a_compiled_integrand_is_called_as_machine_code():
    """Its slopes, too: nothing is noted on a tape, and nothing compiled for a second gradient."""

    @zyg.compile
    def bell(x, p, q):
        return np.exp(-p * x * x) * q

    def total(p, q):
        return integrate.quad(bell, 0.0, 2.0, (p, q))[0]

    zyg.check_gradient(total, 1.3, 0.7)
    stops, entries = dict(bell.stops), len(bell._recalled)
    zyg.gradient(total, 1.4, 0.7)
    assert (dict(bell.stops), len(bell._recalled)) == (stops, entries)
    inner = zyg.gradient(lambda p: integrate.quad(lambda x: bell(x, p, p), 0.0, 2.0)[0], 1.3)
    assert inner[0] == pytest.approx(sum(zyg.gradient(total, 1.3, 1.3)), rel=1e-9)


def several_ways(x, w):
    r = x * w[0]
    y = 1.0 if r < 0.5 else r / 0.5
    for k in range(3):
        y = y * 0.5 + r * w[k]
    return 2.0 + (y - 2.0) * 0.1 if y > 2.0 else y


def test_an_integrand_that_branches_goes_each_way_at_once():
    def total(w):
        return integrate.quad(several_ways, 0.0, 2.0, (w,), epsrel=1e-10)[0]

    def reference(w):
        """In parts without kinks."""
        cut = scipy.optimize.brentq(lambda x: several_ways(x, w) - 2.0, 1.0, 2.0)
        ends = [0.0, 0.5 / w[0], cut, 2.0]
        return sum(scipy.integrate.quad(several_ways, *e, (w,))[0] for e in pairwise(ends))

    w = np.array([1.3, 0.1, 0.3])
    slopes = [(reference(w + d) - reference(w - d)) / 2e-4 for d in 1e-4 * np.eye(3)]
    assert zyg.gradient(total, w)[0] == pytest.approx(slopes, rel=1e-6)


def test_many_parts_have_their_slopes_from_one_pass():
    """A vector of parameters, which no call with many places takes."""
    k = np.arange(12.0)

    def integrand(x, w):
        return np.sum(w * np.cos(4 * k * x)) / (1 + x * x)

    def total(w, a):
        return integrate.quad(integrand, 0.0, a, (w,))[0]

    zyg.check_gradient(total, np.linspace(0.1, 1.0, 12), 3.0)


def test_an_integrand_that_asks_for_the_type_of_its_place():
    """What it does with many places, or with vmap's, is not what it does with each."""

    def integrand(x, p):
        return np.cos(9 * p * x) if isinstance(x, float) else p * x

    def total(p):
        return integrate.quad(integrand, 0.0, 5.0, (p,))[0]

    slope = 5.0 * np.cos(45.0 * 1.3) / 1.3 - np.sin(45.0 * 1.3) / (9 * 1.3**2)
    assert zyg.gradient(total, 1.3)[0] == pytest.approx(slope, rel=1e-7)
