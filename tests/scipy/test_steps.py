"""Steps that are short enough for derivatives, and those that follow LSODA's solution."""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import zyg
from zyg.errors import ConvergenceError
from zyg.scipy import integrate

METHODS = ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA", None]
SHARP = {"rtol": 1e-7, "atol": 1e-9}


def solved(slope, y0, t, p, method):
    """The last state; of odeint without a method."""
    if method is None:
        return integrate.odeint(slope, y0, [0.0, t], (p,), tfirst=True, **SHARP)[-1]
    return integrate.solve_ivp(slope, (0.0, t), y0, method, args=(p,), **SHARP).y[:, -1]


def pendulum(t, y, p):
    return [y[1], -p * np.sin(y[0])]


def pendulum_of_one_state(t, y, p):
    return [y[1], -p * np.sin(y[0]) * (1.0 if y[0] > -9.0 else 2.0)]


@pytest.mark.parametrize("slope", [pendulum, pendulum_of_one_state])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("t", [0.3, 6.0])
def test_what_is_at_rest_has_the_derivatives_of_what_moves(slope, method, t):
    """A solver's steps are as long as it likes where nothing moves."""
    rate = 3.0
    (found,) = zyg.gradient(lambda a: solved(slope, [a, 0.0], t, rate**2, method)[0], 0.0)
    near = 1e-2 if method in ("RK23", "BDF") else 1e-4
    assert found == pytest.approx(np.cos(rate * t), abs=near)


def test_of_what_moves_beside_what_rests():
    """A slow oscillation decides on the steps, and a fast one is at rest."""

    def slope(t, y, p):
        return np.stack([y[1], -y[0], y[3], -p * y[2]])

    def last(a):
        return solved(slope, np.stack([1.0, 0.0, a, 0.0]), 5.0, 400.0, "RK45")[2]

    assert zyg.gradient(last, 0.0)[0] == pytest.approx(np.cos(20.0 * 5.0), abs=1e-3)
    assert zyg.pushforward(last, (0.0,), (1.0,))[1] == pytest.approx(np.cos(100.0), abs=1e-3)


def test_second_derivatives_of_what_is_at_rest():
    def last(a):
        return solved(pendulum, [a[0], a[1]], 6.0, 9.0, None)[0] ** 2

    way = np.array([np.cos(18.0), np.sin(18.0) / 3])
    assert zyg.hessian(last, np.zeros(2)) == pytest.approx(2 * np.outer(way, way), abs=1e-4)


def test_a_rest_that_would_need_too_many_steps_is_refused():
    def last(a):
        slope = lambda t, y, p: -p * (y - 1.0)  # noqa: E731
        return solved(slope, np.stack([a]), 1e3, 1e4, "RK45")[0]

    with pytest.raises(ConvergenceError, match="at rest"):
        zyg.gradient(last, 1.0)


def grid(n, before, at, after):
    return np.diag(np.full(n - 1, before), -1) + at * np.eye(n) + np.diag(np.full(n - 1, after), 1)


def oscillating(springs, damping):
    eye = np.eye(len(springs))
    return np.block([[0 * eye, eye], [springs, -damping * eye]])


AT_REST = {  # slopes for each state, of systems at rest, and a time
    "pendulums": (oscillating(-9.0 * np.eye(55), 0.0), 2.0),
    "springs": (oscillating(-np.diag(np.geomspace(0.1, 100.0, 55)), 0.1), 1.5),
    "damped waves": (oscillating(grid(55, 4.0, -8.0, 4.0), 0.3), 2.0),
    "advection": (grid(110, 110.0, -110.0, 0.0), 0.3),
    "advection and diffusion": (grid(110, 230.0, -350.0, 120.0), 0.3),
    "diffusion": (grid(110, 120.0, -240.0, 120.0), 1.0),
    "relaxation": (-np.diag(np.geomspace(0.1, 300.0, 110)), 1.0),
}


NEAR = {"RK23": 2e-3, "RK45": 1e-4}  # of methods with many steps


SPEEDS = {  # the same of few states
    "what decays in the last step": (-3.0 * np.eye(1), 1.0),
    "what decays before it": (-10.0 * np.eye(1), 1.0),
    "what is gone": (-1e3 * np.eye(1), 1.0),
    "a damped oscillation": (np.array([[0.0, 1.0], [-100.0, -4.0]]), 1.0),
    "fast beside slow": (np.array([[-1.0, 0.5], [0.3, -40.0]]), 1.0),
    "advection": (grid(6, 30.0, -30.0, 0.0), 0.3),
}


def at_many_states_as_at_each(t, y, p):
    return p[0] @ (y - p[1])


def at_one_state_only(t, y, p):
    return p[0] @ (y - p[1]) * math.sqrt(4.0 if y.sum() < -99.0 else 1.0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("slope", [at_many_states_as_at_each, at_one_state_only])
@pytest.mark.parametrize("name", SPEEDS)
def test_what_decays_while_nothing_moves(name, slope, method, monkeypatch):
    """A step is no longer for derivatives because the solution does not move in it."""
    if slope is at_one_state_only:
        monkeypatch.setattr("zyg.scipy._steps_at_once._FEW", 0)
    slopes, t = SPEEDS[name]
    weights, rest = np.cos(np.arange(len(slopes))), np.ones(len(slopes))

    def last(y0, p):
        return weights @ solved(slope, y0, t, (slopes, p), method)

    exact = scipy.linalg.expm(slopes * t).T @ weights
    by_y0, by_p = zyg.gradient(last, rest, rest)
    near = NEAR.get(method, 5e-6)
    assert by_y0 == pytest.approx(exact, abs=near)
    assert by_p == pytest.approx(weights - exact, abs=near)
    pushed = zyg.pushforward(last, (rest, rest), (weights, np.zeros(len(rest))))[1]
    assert pushed == pytest.approx(exact @ weights, abs=near)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "LSODA", "Radau", "BDF"])
@pytest.mark.parametrize("name", AT_REST)
def test_many_states_at_rest_have_the_derivatives_of_what_moves(name, method):
    slopes, t = AT_REST[name]
    weights, rest = np.cos(np.arange(len(slopes))), np.ones(len(slopes))

    def last(y0, p):
        return weights @ solved(lambda t, y, p: slopes @ (y - p), y0, t, p, method)

    exact = scipy.linalg.expm(slopes * t).T @ weights
    by_y0, by_p = zyg.gradient(last, rest, rest)
    near = NEAR.get(method, 5e-6)
    assert by_y0 == pytest.approx(exact, rel=3e-6, abs=near)
    assert by_p == pytest.approx(weights - exact, rel=3e-6, abs=near)


SPEED = np.geomspace(0.5, 20.0, 20)


def each_at_its_speed(t, y, p):
    return -SPEED * (y - p)


def to_the_mean(t, y, p):
    return p - y + 0.5 * (np.mean(y) - p)


@pytest.mark.parametrize("method", ["RK45", "Radau", "LSODA", None])
@pytest.mark.parametrize("times", [[0.2], [0.1, 0.2], [0.05, 0.1, 0.2]])
@pytest.mark.parametrize("slope", [each_at_its_speed, to_the_mean])
def test_states_at_rest_are_not_mixed(slope, method, times):
    """As many states as steps have stages give slopes of 0 either way."""

    def last(y0):
        if method is None:
            return (
                weights
                @ integrate.odeint(slope, y0, [0.0, *times], (1.0,), tfirst=True, **SHARP)[-1]
            )
        run = integrate.solve_ivp(slope, (0.0, 0.2), y0, method, times, args=(1.0,), **SHARP)
        return weights @ run.y[:, -1]

    weights = np.cos(np.arange(20.0))
    matrix = (
        -np.diag(SPEED) if slope is each_at_its_speed else np.full((20, 20), 0.025) - np.eye(20)
    )
    exact = scipy.linalg.expm(0.2 * matrix).T @ weights
    assert zyg.gradient(last, np.ones(20))[0] == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_force_without_amplitude_needs_short_steps(method):
    """What nobody has switched on is in no step of the solution."""

    def last(p, **short):
        def slope(t, y):
            return -y + p * np.sin(20 * t)

        if method is None:
            short = {"hmax": short["max_step"]} if short else {}
            return integrate.odeint(slope, [0.0], [0.0, 3.0], tfirst=True, **short)[-1, 0]
        return integrate.solve_ivp(slope, (0.0, 3.0), [0.0], method, **SHARP, **short).y[0, -1]

    exact = (np.sin(60.0) - 20 * np.cos(60.0) + 20 * np.exp(-3.0)) / 401
    with pytest.raises(ConvergenceError, match="the solution rests"):
        zyg.gradient(last, 0.0)
    found = zyg.gradient(lambda p: last(p, max_step=0.02), 0.0)[0]
    assert found == pytest.approx(exact, abs=1e-5)


def robertson(t, y, k):
    a, b, c = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
    return [c - a, a - b - c, b]


def predators(t, y, p):
    return np.tanh(np.array([[0.3, -1.0], [1.0, 0.2]]) @ y) * p[:2] - y * p[2]


@pytest.mark.parametrize("method", ["LSODA", None])
@pytest.mark.parametrize(("slope", "y0", "t", "p"), [
    (robertson, [1.0, 0.0, 0.0], 40.0, np.array([0.04, 3e7, 1e4])),
    (predators, [1.0, 0.5], 10.0, np.array([0.8, 0.5, 0.1])),
])  # fmt: skip
def test_derivatives_that_follow_lsoda(slope, y0, t, p, method):
    def reference(p):
        sharp = {"rtol": 1e-12, "atol": 1e-14}
        return scipy.integrate.solve_ivp(slope, (0.0, t), y0, "Radau", args=(p,), **sharp).y[0, -1]

    def last(p):
        return solved(slope, y0, t, p, method)[0]

    found = p * zyg.gradient(last, p)[0]
    for k, way in enumerate(1e-3 * np.diag(p)):
        near = reference(p + way) - reference(p - way)
        far = reference(p + 2 * way) - reference(p - 2 * way)
        assert found[k] == pytest.approx((8 * near - far) / 12e-3, rel=2e-5, abs=1e-6)
        pushed = zyg.pushforward(last, (p,), (1e3 * way,))[1]
        assert pushed == pytest.approx(found[k], rel=1e-9)


def test_a_gradient_along_lsoda_is_a_few_values(monkeypatch):
    """It is taken along the solution; no other method runs."""
    monkeypatch.setattr("zyg.scipy._runge_kutta._own", pytest.fail)
    count = 0

    def slope(t, y, p):
        nonlocal count
        count += 1
        return [p * y[0] - y[0] * y[1], y[0] * y[1] - y[1]]

    def last(p):
        return np.sum(
            integrate.odeint(slope, [1.0, 0.5], np.linspace(0, 10, 20), (p,), tfirst=True)
        )

    last(1.5)
    value, count = count, 0
    zyg.gradient(last, 1.5)
    assert count < 6 * value
