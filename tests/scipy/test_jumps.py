"""Integrands and right-hand sides that jump: at places that move, which no slope knows, or not."""

import numpy as np
import pytest

import zyg
from zyg.errors import ConvergenceError, MissingRuleError
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


def test_a_warning_of_scipys_is_given_once_of_the_users_line():
    with pytest.warns(integrate.IntegrationWarning, match="maximum number") as told:
        zyg.gradient(lambda p: integrate.quad(lambda x: p * np.cos(9 * x), 0, 99, limit=2)[0], 1.5)
    assert [w.filename for w in told] == [__file__]


@pytest.mark.parametrize("rule", [integrate.quad, integrate.quad_vec])
def test_a_jump_in_the_middle_of_the_only_interval(rule):
    """The rule has places on both sides of it, and settles at once."""
    for ends, middle in ([(0.0, 1.0), 0.5], [(-1.0, 1.0), 0.0], [(-np.inf, np.inf), 0.0]):

        def f(p, ends=ends, middle=middle):
            return rule(lambda x: np.sign(x - p) * np.exp(-((x - middle) ** 2)), *ends)[0]

        with REFUSED:
            zyg.gradient(f, middle)


@RULES
@pytest.mark.parametrize("p", [1e-3, 1 - 1e-3, 0.5 - 1e-5, 0.25 + 1e-7, 0.6484335875845557])
@pytest.mark.parametrize("name", ["if", "heaviside", "where"])
def test_a_jump_between_an_end_of_an_interval_and_where_the_rule_looks(rule, name, p):
    f = rule(MOVING[name])
    with REFUSED:
        zyg.gradient(f, p)


def test_a_jump_by_halves_where_a_place_of_the_search_is_its_own():
    f = of_numbers(lambda x, p: np.exp(1.4 * x) + 0.6 * np.heaviside(x - p, 0.5))
    for p in (0.5621503140142874, 0.5621503140142875, 0.56215031401429):
        with REFUSED:
            zyg.gradient(f, p)


def box(f, low=(0.0, 0.0), high=(1.0, 1.0), **options):
    return lambda p: integrate.cubature(lambda x: f(x, p), low, high, **options).estimate


@pytest.mark.parametrize("rule", ["gk21", "gauss-kronrod", "genz-malik"])
@pytest.mark.parametrize("p", [0.3, 0.5])
def test_jumps_in_boxes(rule, p):
    options = {"rule": rule, "rtol": 1e-2, "atol": 1e-3}
    moving = [
        box(lambda x, p: np.where(x[:, 0] < p, x[:, 1], 0.0), **options),
        box(lambda x, p: np.where(x[:, 0] + x[:, 1] < p, 1.0, p), **options),
        box(lambda x, p: np.sum((x > p) * np.exp(-x), axis=1), **options),
        box(lambda x, p: np.sign(x[:, 0] - p), **options),
        box(lambda x, p: np.exp(-x[:, 0]) * (x[:, 0] < p), high=(np.inf, 1.0), **options),
    ]
    if rule == "gk21":
        options["rule"], line = "gk15", {"low": [0.0], "high": [1.0]}
        moving = [box(lambda x, p: np.where(x[:, 0] < p, 1.0, 0.0), **line, **options)]
    for f in moving:
        with REFUSED:
            zyg.gradient(f, p)
        with REFUSED:
            zyg.pushforward(f, (p,), (1.0,))


def test_a_jump_in_a_box_that_stays():
    def f(p):
        value = box(lambda x, p: p * np.sign(x[:, 0] - 0.25) * np.exp(p * x[:, 1]), rtol=1e-3)
        return value(p) + box(lambda x, p: np.exp(p * x[:, 0] * x[:, 1]), rtol=1e-6)(p)

    zyg.check_gradient(f, 0.3, order=1)


def test_a_jump_in_the_middle_of_doubly_exponential_places():
    with pytest.raises(ConvergenceError, match="tanhsinh"):
        zyg.gradient(lambda p: integrate.tanhsinh(lambda x: np.sign(x - p), 0.0, 1.0).integral, 0.5)


# Right-hand sides

METHODS = pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "BDF", "LSODA", None])
SHARP = {"rtol": 1e-8, "atol": 1e-8}
SWITCHING = {
    "by time": lambda t, y, p: [1.0 if t < p else 3.0],
    "by the state": lambda t, y, p: [1.0 if y[0] < p else 3.0],
    "from a start": lambda t, y, p: [1.0 if y[0] - p < 0.2 else 3.0 + y[0]],
    "of arrays": lambda t, y, p: np.where(y < p, 1.0 + y, 3.0 + y),
    "several times": lambda t, y, p: [-y[0] + (2.0 if np.sin(7 * t) > p else 0.0)],
}
STEADY = {
    "by a time that stays": lambda t, y, p: [p * y[0] + (p if t < 0.5 else 3.0)],
    "a kink": lambda t, y, p: [1.0 + np.maximum(y[0] - p, 0.0)],
    "steep": lambda t, y, p: [1.0 + np.tanh(200 * (y[0] - p))],
}


def moved(slope, method, **options):
    """The end of a solution, by a parameter."""

    def end(p):
        if method is None:
            return integrate.odeint(slope, [0.1], [0.0, 1.0], (p,), tfirst=True, **SHARP)[-1, 0]
        run = integrate.solve_ivp(slope, (0, 1), [0.1], method, args=(p,), **SHARP, **options)
        return run.y[0, -1]

    return end


@METHODS
@pytest.mark.parametrize("name", SWITCHING)
def test_a_switch_that_moves_is_refused(name, method):
    f = moved(SWITCHING[name], method)
    with REFUSED:
        zyg.gradient(f, 0.3)
    with REFUSED:
        zyg.pushforward(f, (0.3,), (1.0,))


@METHODS
@pytest.mark.parametrize("name", STEADY)
def test_switches_that_stay_are_not(name, method):
    f = moved(STEADY[name], method)
    slope = (f(0.3 + 1e-4) - f(0.3 - 1e-4)) / 2e-4

    assert zyg.gradient(f, 0.3)[0] == pytest.approx(slope, rel=1e-2)


@METHODS
def test_rounding_is_no_switch(method):
    """A slope that is 0 but for rounding, and states at rest."""

    def slope(t, y, p):
        a = np.stack([p * np.sin(t), p * np.cos(t), 0.1 * p])
        around = np.sum((y[0] + a) - y[0] - a), np.sum(a * a) - np.sum(a[::-1] * a[::-1])
        return np.stack([-y[0], around[0] + around[1], p * ((y[2] - 1 / 3) * 3 - (3 * y[2] - 1))])

    def end(p, start):
        if method is None:
            return np.sum(integrate.odeint(slope, start, [0, 1], (p,), tfirst=True, **SHARP)[-1])
        run = integrate.solve_ivp(slope, (0, 1), start, method, args=(p,), **SHARP)
        return np.sum(run.y[:, -1])

    for start in ([1.0, 0.7, 0.31], [0.0, 0.3, 0.7]):
        assert zyg.gradient(lambda p, start=start: end(p, start), 0.3)[0] == pytest.approx(
            0.0, abs=1e-7
        )


def test_a_switch_at_times_that_are_asked_for_or_behind_a_start_that_moves():
    by_state = moved(SWITCHING["by the state"], "RK45", t_eval=[0.1, 1.0])
    with REFUSED:
        zyg.gradient(by_state, 0.3)

    def end(y0, p):
        def slope(t, y):
            return [y[1], -y[0] - p * np.sign(y[1])]

        return integrate.solve_ivp(slope, (0.0, 5.0), [y0, 0.1], **SHARP).y[0, -1]

    with REFUSED:
        zyg.gradient(lambda y0: end(y0, 0.3), 3.0)


@pytest.mark.parametrize("method", ["RK45", "Radau", "LSODA"])
def test_a_switch_at_an_event(method):
    """Two calls, each with the function of its side; not with that of both."""

    def end(p, first, second):
        def switch(t, y):
            return y[0] - p

        switch.terminal = True
        given = {"method": method, "rtol": 1e-9, "atol": 1e-9}
        run = integrate.solve_ivp(first, (0.0, 1.0), [0.0], events=switch, **given)
        start = run.t[-1], run.y[:, -1]
        return integrate.solve_ivp(second, (start[0], 1.0), start[1], **given).y[0, -1]

    def exact(p):
        late = np.log(1.0 + p)
        return (3.0 + p) * np.exp(1.0 - late) - 3.0

    slow, fast = lambda t, y: [1.0 + y[0]], lambda t, y: [3.0 + y[0]]
    p = 0.3
    assert zyg.gradient(lambda p: end(p, slow, fast), p)[0] == pytest.approx(
        (exact(p + 1e-5) - exact(p - 1e-5)) / 2e-5, rel=1e-5
    )

    def both(p):
        return lambda t, y: [1.0 + y[0] if y[0] < p else 3.0 + y[0]]

    with REFUSED:
        zyg.gradient(lambda p: end(p, both(p), fast), p)
    if method != "Radau":  # which goes on with the slope of the other side
        with REFUSED:
            zyg.gradient(lambda p: end(p, slow, both(p)), p)


@pytest.mark.parametrize(
    ("p", "rate"),
    [(0.23160581317928106, 1.06), (0.1102648748243106, 0.94)],
)
def test_jumps_in_a_solution_of_few_steps(p, rate):
    def f(p):
        def slope(t, y):
            return np.where(t < p, -rate * y, 0.5 * np.cos(t) - 0 * y)

        return integrate.solve_ivp(slope, (0.0, 1.0), [0.3, 1.0]).y[1, -1]

    with REFUSED:
        zyg.gradient(f, p)
