"""Integrals and sums of functions that take many places, against closed forms and differences."""

import numpy as np
import pytest
import scipy.integrate

import zyg
from zyg.errors import ConvergenceError, MissingRuleError
from zyg.scipy import integrate

C = np.array([0.7, 0.3])
BOX = np.array([0.0, 0.2]), np.array([1.0, 1.4])


def wave(x, c):
    return np.stack([np.sin(c[0] * x[:, 0] + x[:, 1]), np.exp(-c[1] * x[:, 0] * x[:, 1])], axis=1)


@pytest.mark.parametrize("rule", ["gk15", "gauss-kronrod", "genz-malik"])
def test_integrals_over_boxes(rule):
    def f(c):
        return integrate.cubature(wave, *BOX, rule=rule, args=(c,), rtol=1e-9).estimate

    np.testing.assert_array_equal(zyg.pullback(f, C)[0], f(C))
    zyg.check_gradient(f, C)


@pytest.mark.slow
def test_boxes_whose_sides_move():
    def f(a, b, c):
        points = [[0.5, 0.7]]
        return integrate.cubature(lambda x: wave(x, c), a, b, rule="gk15", points=points).estimate

    zyg.check_gradient(f, *BOX, C, order=1)
    zyg.check_gradient(f, BOX[1], BOX[0] * [1.0, 2.0], C, order=1)


def test_intervals_whose_ends_move():
    def f(a, b, c):
        return integrate.cubature(lambda x: np.cos(c[0] * x[:, 0]), a, b, points=[[0.5]]).estimate

    ends = BOX[0][:1], BOX[1][:1]
    zyg.check_gradient(f, *ends, C, order=1)
    zyg.check_gradient(lambda a, b: f(a, b, C), *ends)
    zyg.check_gradient(lambda c: f(*ends, c), C)


def test_a_step_between_the_ends_has_no_part_in_their_derivative():
    def f(b):
        step = integrate.cubature(lambda x: (x[:, 0] > 0.5) * 1.0 + x[:, 0], [0.0], b, atol=1e-9)
        return step.estimate

    assert zyg.gradient(f, np.array([1.2]))[0] == pytest.approx(2.2, rel=1e-9)


def test_slopes_that_are_rougher_than_values_are_refused():
    def f(c):
        return integrate.cubature(
            lambda x: 1 + c * np.exp(-3000 * np.sum((x - 0.4) ** 2, axis=1)), *BOX
        ).estimate

    def g(c):
        return integrate.tanhsinh(lambda x: 1 + c * np.exp(-1000 * (x - 0.4) ** 2), 0, 1).integral

    def kink(c):
        return integrate.tanhsinh(lambda x: np.maximum(x - c, 0.0), 0, 1, rtol=1e-6).integral

    with pytest.raises(ConvergenceError, match="converges slowly"):
        zyg.gradient(kink, 0.25)
    with pytest.raises(ConvergenceError, match="rougher"):
        zyg.gradient(f, 0.0)
    with pytest.raises(ConvergenceError, match="rougher"):
        zyg.pushforward(f, (0.0,), (1.0,))
    assert zyg.gradient(g, 0.0)[0] == pytest.approx(np.sqrt(np.pi / 1000))


def test_boxes_without_ends():
    def f(c):
        return integrate.cubature(
            lambda x: np.exp(-c[0] * x[:, 0] ** 2 - c[1] * x[:, 1]),
            [-np.inf, 0.0], [np.inf, np.inf], rule="gk15", rtol=1e-6,
        ).estimate  # fmt: skip

    exact = np.sqrt(np.pi / 0.7) / 0.3
    assert zyg.gradient(f, C)[0] == pytest.approx([-exact / 1.4, -exact / 0.3], rel=1e-5)


def power(x, c):
    return np.sin(x) + x**c


SPANS = {
    "finite": (lambda a, b, c: (a, b, c), 0.3, 2.0, 0.5),
    "backwards": (lambda a, b, c: (b, a, c), 0.3, 2.0, 0.5),
    "singular": (lambda b, c: (0.0, b, c), 2.0, -0.4),
    "arrays": (lambda b, c: (0.0, b, c), np.array([0.7, 2.0]), np.array([[0.5], [1.5]])),
}


@pytest.mark.parametrize("name", SPANS)
def test_integrals_of_numbers(name):
    span, *x = SPANS[name]

    def f(*x):
        a, b, c = span(*x)
        return integrate.tanhsinh(power, a, b, args=(c,)).integral

    np.testing.assert_array_equal(zyg.pullback(f, *x)[0], f(*x))
    zyg.check_gradient(f, *x)


ENDS = {"above": (0.0, np.inf), "below": (-np.inf, 0.0), "both": (-np.inf, np.inf)}


@pytest.mark.parametrize("name", ENDS)
def test_integrals_without_ends(name):
    def f(c):
        return integrate.tanhsinh(lambda x: np.exp(-c * x * x), *ENDS[name]).integral

    part = 1.0 if name == "both" else 0.5
    assert zyg.gradient(f, 0.8)[0] == pytest.approx(-part * np.sqrt(np.pi) / 2 * 0.8**-1.5)
    zyg.check_gradient(f, 0.8)


def test_an_infinite_end_beside_finite_ones():
    def f(a, c):
        ends = np.array([1.5, np.inf])
        return integrate.tanhsinh(lambda x, c: np.exp(-c * x), a, ends, args=(c,)).integral

    zyg.check_gradient(f, 0.3, 1.2)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda c: zyg.gradient(lambda c: integrate.cubature(
            lambda x: c[0] * x[:, 0] ** 2, [0.0], c[:1]).estimate, c)[0], "twice"),
        (lambda c: zyg.pushforward(lambda c: integrate.cubature(
            lambda x: c[0] * x[:, 0] ** 2, [0.0], c[:1]).estimate, (c,), (c,))[1], "twice"),
        (lambda c: integrate.tanhsinh(lambda x: x * c[0], 0, 1, log=True).integral, "log"),
        (lambda c: integrate.tanhsinh(lambda x: x * c[0], 0, 1, preserve_shape=True).integral,
         "preserve_shape"),
    ],
)  # fmt: skip
def test_what_has_no_rule_is_refused(f, text):
    with pytest.raises(MissingRuleError, match=text):
        zyg.pullback(f, C)


def test_plain_integrals_are_scipys():
    found = integrate.tanhsinh(power, 0.3, 2.0, args=(0.5,))
    assert found.integral == scipy.integrate.tanhsinh(power, 0.3, 2.0, args=(0.5,)).integral


SUMS = {
    "finite": (lambda f, c: integrate.nsum(f, 1.0, 20.0, args=(c,)).sum, 1.3),
    "some of an array": (lambda f, a, c: integrate.nsum(f, a, 9.5, args=(c,)).sum,
                         np.array([1.0, 3.0]), np.array([[0.3], [1.4]])),
    "steps": (lambda f, c: integrate.nsum(f, 1.0, 8.1, step=0.5, args=(c,)).sum, 1.3),
    "infinite": (lambda f, c: integrate.nsum(f, 1.0, np.inf, args=(c,)).sum, 2.5),
    "in steps": (lambda f, c: integrate.nsum(f, 1.0, np.inf, step=2.0, args=(c,)).sum, 3.0),
    "from below": (lambda f, c: integrate.nsum(lambda x, c: f(-x, c), -np.inf, -1.0, args=(c,)).sum,
                   3.0),
    "arrays": (lambda f, c: integrate.nsum(f, 1.0, np.inf, args=(c,)).sum, np.array([2.5, 3.0])),
}  # fmt: skip


@pytest.mark.parametrize("name", SUMS)
def test_sums(name):
    f, *x = SUMS[name]

    def g(*x):
        return f(lambda k, c: k**-c, *x)

    np.testing.assert_array_equal(zyg.pullback(g, *x)[0], g(*x))
    zyg.check_gradient(g, *x, **({"order": 1} if name == "steps" else {}))


def test_a_series_in_closed_form():
    def zeta(s):
        return integrate.nsum(lambda k: k**-s, 1.0, np.inf).sum

    assert zyg.gradient(zeta, 2.0)[0] == pytest.approx(-0.9375482543158437, rel=1e-10)

    zyg.check_gradient(zeta, 2.0)

    def both(c):
        return integrate.nsum(lambda k: np.exp(-c * k * k), -np.inf, np.inf).sum

    terms = np.arange(-40.0, 41.0)
    exact = -np.sum(terms**2 * np.exp(-0.3 * terms**2))
    assert zyg.gradient(both, 0.3)[0] == pytest.approx(exact, rel=1e-10)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda c: integrate.nsum(lambda k: c[0] * k, 1, 9, log=True).sum, "log"),
        (lambda c: integrate.nsum(lambda k: c[0] / k**2, 1, [9, np.inf]).sum, "one call"),
        (lambda c: integrate.nsum(lambda k: c[0] / k**2, 1, 999, maxterms=99).sum, "maxterms"),
    ],
)
def test_sums_without_a_rule_are_refused(f, text):
    with pytest.raises(MissingRuleError, match=text):
        zyg.pullback(f, C)


def test_complex_values():
    def of_numbers(b, c):
        return integrate.tanhsinh(lambda x: np.exp(1j * c[0] * x) + c[1], 0.2, b).integral

    zyg.check_gradient(of_numbers, 1.4, C)


def test_parts_of_many_regions(monkeypatch):
    def f(c):
        return integrate.cubature(
            lambda x: np.exp(-50 * c[0] * (x[:, 0] - c[1]) ** 2), [0.0], [3.0]
        )

    whole = zyg.gradient(lambda c: f(c).estimate, C)[0]
    monkeypatch.setattr("zyg.scipy._quadrature_at_places._AT_ONCE", 30)
    assert len(f(C).regions) > 3
    np.testing.assert_allclose(zyg.gradient(lambda c: f(c).estimate, C)[0], whole, rtol=1e-12)
    slope = zyg.pushforward(lambda c: f(c).estimate, (C,), (np.array([0.3, 0.5]),))[1]
    assert slope == pytest.approx(whole @ [0.3, 0.5], rel=1e-12)


def test_a_series_without_a_limit_is_refused():
    with pytest.raises(MissingRuleError, match="places"):
        zyg.pullback(lambda c: integrate.nsum(lambda k: c / k, 1, np.inf).sum, 1.0)


@pytest.mark.parametrize("f", [
    lambda a, b, c: integrate.tanhsinh(power, a, b, args=(c,)).integral,
    lambda a, b, c: integrate.nsum(lambda k, c: k**-c, a, np.inf, args=(c + b,)).sum,
    lambda a, b, c: integrate.cubature(lambda x: c * x[:, 0] ** 2, [a], [b], rtol=1e-4).estimate,
])  # fmt: skip
def test_single_precision(f):
    x = [np.float32(v) for v in (1.5, 2.25, 0.75)]
    y, back = zyg.pullback(f, *x)
    bars = back(np.ones_like(y))
    exact = zyg.gradient(f, *map(float, x))
    assert y.dtype == f(*x).dtype
    np.testing.assert_allclose(bars, exact, rtol=1e-4)
