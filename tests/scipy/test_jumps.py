"""Integrands that jump: at places that move, which no slope knows, and at those that do not."""

import numpy as np
import pytest

import zyg
from zyg.errors import MissingRuleError
from zyg.scipy import integrate

REFUSED = pytest.raises(MissingRuleError, match="jumps near")
MOVING = {
    "if": lambda x, p: 1.0 if x < p else 0.0,
    "where": lambda x, p: np.where(x < p, np.cos(x), p * x),
    "sign": lambda x, p: np.sign(x - p) * np.exp(x),
    "heaviside": lambda x, p: np.heaviside(x - p, 0.5),
    "floor": lambda x, p: np.floor(x / p),
    "small": lambda x, p: np.exp(x) + 1e-4 * (x > p),
    "two": lambda x, p: float(p < x < 2 * p) + float(x > 0.5),
    "int": lambda x, p: float(int(3 * x - p)),
    "a sum of both": lambda x, p: x > p**2 - p + 0.4,
}
STILL = {
    "abs": lambda x, p: abs(x - p),
    "max": lambda x, p: np.maximum(x - p, 0.0) * np.cos(x),
    "a continuous if": lambda x, p: x * p if x < p else p * p,
    "a fixed jump": lambda x, p: p * np.sign(x - 0.4),
    "a fixed jump at a node": lambda x, p: np.exp(p * x) * (x > 0.5),
    "an endless slope": lambda x, p: p / np.sqrt(x),
    "a logarithm": lambda x, p: np.log(p * x),
    "steep": lambda x, p: np.tanh(1e4 * (x - p)),
    "oscillating": lambda x, p: np.sin(100 * p * x),
}  # fmt: skip


def of_numbers(f, **options):
    return lambda p: integrate.quad(f, 0.0, 1.0, (p,), **options)[0]


def of_arrays(f, **options):
    def both(x, p):
        return f(x, p) * np.array([1.0, -2.0])

    return lambda p: integrate.quad_vec(both, 0.0, 1.0, args=(p,), **options)[0][1]


RULES = pytest.mark.parametrize("rule", [of_numbers, of_arrays])


@RULES
@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("p", [0.3, 0.25])  # the latter: in the middle of an interval
def test_a_jump_that_moves_is_refused(rule, name, p):
    f = rule(MOVING[name])
    with REFUSED:
        zyg.gradient(f, p)


@pytest.mark.slow
@RULES
@pytest.mark.parametrize("name", STILL)
def test_kinks_and_jumps_that_stay_are_not(rule, name):
    f = rule(STILL[name], epsabs=1e-10)
    slope = (f(0.3 + 1e-5) - f(0.3 - 1e-5)) / 2e-5

    assert zyg.gradient(f, 0.3)[0] == pytest.approx(slope, rel=1e-3)


@pytest.mark.parametrize("ends", [(0.0, np.inf), (-np.inf, np.inf), (-np.inf, 0.5), (np.inf, 0.0)])
@pytest.mark.parametrize("rule", [integrate.quad, integrate.quad_vec])
def test_jumps_in_infinite_integrals(rule, ends):
    def smooth(p):
        return rule(lambda x: p * np.exp(-((x - p) ** 2)), *ends)[0]

    with REFUSED:
        zyg.gradient(lambda p: rule(lambda x: np.exp(-(x**2)) * (x > p), *ends)[0], 0.3)
    with REFUSED:
        zyg.gradient(lambda p: rule(lambda x: np.exp(-abs(x)) * (abs(x) < p), *ends)[0], 0.3)
    zyg.check_gradient(smooth, 0.3, order=1)


def test_slopes_are_as_exact_as_values_around_kinks_and_steep_places():
    assert zyg.gradient(of_numbers(STILL["abs"]), 0.3)[0] == pytest.approx(-0.4, abs=1e-11)
    assert zyg.gradient(of_numbers(STILL["steep"]), 0.3)[0] == pytest.approx(-2.0, abs=1e-11)
    slope = zyg.pushforward(of_numbers(STILL["steep"]), (0.3,), (1.0,))[1]
    assert slope == pytest.approx(-2.0, abs=1e-6)


@pytest.mark.slow
@RULES
def test_watched_points_give_the_part_from_the_place(rule):
    def f(p, q):
        return rule(
            lambda x, p: np.where(x < p, np.sin(p * x), q * x**2), points=[p, 0.5, 2.0 + p]
        )(p)

    zyg.check_gradient(f, 0.3, 0.7, order=1 + (rule is of_numbers))


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (1.0, 0.0)])
def test_several_points_between_ends_that_move(a, b):
    def f(a, b, v):
        def step(x):
            return np.select([x < v[0], x < v[1]], [v[2], np.cos(x)], np.exp(v[1] * x))

        return integrate.quad(step, a, b, points=[v[1], v[0]])[0]

    def exact(a, b, v):
        parts = v[2] * (v[0] - a), np.sin(v[1]) - np.sin(v[0])
        return sum(parts) + (np.exp(v[1] * b) - np.exp(v[1] * v[1])) / v[1]

    v = np.array([0.3, 0.6, 1.7])
    zyg.check_gradient(f, a, b, v, order=1)
    if a < b:
        expected = zyg.gradient(exact, a, b, v)
        for found, slope in zip(zyg.gradient(f, a, b, v), expected, strict=True):
            np.testing.assert_allclose(found, slope, rtol=1e-9)


def test_a_step_of_which_only_the_place_moves():
    def f(p):
        return integrate.quad(lambda x: 2.0 if x < 0.3 else 5.0, 0.0, 1.0, points=[p])[0]

    assert zyg.gradient(lambda p: f(p), 0.3)[0] == pytest.approx(-3.0)
    assert zyg.gradient(of_numbers(MOVING["if"], points=[0.5, 7.0]), 2.0) == (0.0,)


def test_a_point_that_is_not_the_place_of_the_jump():
    with REFUSED:
        zyg.gradient(lambda p: of_numbers(MOVING["if"], points=[2 * p])(p), 0.3)
    with REFUSED:
        zyg.gradient(of_numbers(MOVING["if"], points=[0.3]), 0.3)


def test_jumps_inside_of_integrals_of_integrals():
    def f(p, **options):
        inner = lambda y, x: float(y < p * x)  # noqa: E731
        return integrate.nquad(
            inner, [(0.0, 1.0), (0.0, 1.0)], opts=[lambda x: {"points": [p * x], **options}, {}]
        )[0]

    assert zyg.gradient(f, 0.5)[0] == pytest.approx(0.5)
    with REFUSED:
        zyg.gradient(
            lambda p: integrate.dblquad(lambda y, x: float(y < p * x), 0.1, 1.0, 0.0, 1.0)[0], 0.53
        )


def test_a_warning_of_scipys_is_given_once():
    with pytest.warns(integrate.IntegrationWarning, match="maximum number") as told:
        zyg.gradient(lambda p: integrate.quad(lambda x: p * np.cos(9 * x), 0, 99, limit=2)[0], 1.5)
    assert told
