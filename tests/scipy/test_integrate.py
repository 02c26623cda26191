"""Differential equations and integrals."""

import copy
import itertools
import math

import numpy as np
import pytest
import scipy.integrate

import zyg
from zyg.errors import AdjointError, ConvergenceError, MissingRuleError
from zyg.scipy import integrate
from zyg.scipy._runge_kutta import steps

Y = np.array([1.0, 0.6])
SHARP = {"rtol": 1e-8, "atol": 1e-8}


def prey(y, t, a, b):
    return np.stack([a * y[0] - b * y[0] * y[1], -y[1] + y[0] * y[1] * 0.5])


def states(y0, t, a, b):
    return integrate.odeint(prey, y0, t, args=(a, b), **SHARP)


def last_state(y0, a, start, end):
    def slope(t, y):
        return [a * y[0] - y[0] * y[1] * 0.3 * t, -y[1] + y[0] * a]

    return integrate.solve_ivp(slope, (start, end), y0, method="DOP853", **SHARP).y[:, -1]


def asked_states(a, times):
    made = integrate.solve_ivp(
        lambda t, y, a: -a * y * t, (0.0, 2.0), [1.0], t_eval=times, args=(a,), **SHARP
    )
    return made.y, made.t


def test_odeint():
    zyg.check_gradient(states, Y, np.array([0.0, 0.3, 0.9]), 0.7, 0.4, order=1, rtol=1e-5)


def test_the_jacobian_given_to_odeint_by_position_is_not_taken_for_another_option():
    def last(rate):
        slopes = (lambda y, t, a: -a * y), (lambda y, t, a: [[-a]])
        return integrate.odeint(slopes[0], 1.0, np.array([0.0, 0.5]), (rate,), slopes[1])[-1, 0]

    assert zyg.gradient(last, 0.7)[0] == pytest.approx(-0.5 * np.exp(-0.35), rel=1e-5)


def test_solve_ivp():
    zyg.check_gradient(last_state, Y, 0.7, 0.1, 0.5, order=1, rtol=1e-5)


def test_solve_ivp_at_given_times():
    zyg.check_gradient(asked_states, 0.7, np.array([0.2, 0.9]), order=1, rtol=1e-5)


def decayed(rate):
    return integrate.odeint(lambda y, t: -rate * y * y, 1.0, np.array([0.0, 0.5]), **SHARP)[-1, 0]


def test_second_derivatives_of_a_solution():
    def slope(rate):
        return zyg.gradient(decayed, rate)[0]

    exact = -0.5 / 1.35**2, 2 * 0.25 / 1.35**3  # of 1 / (1 + rate / 2)

    assert slope(0.7) == pytest.approx(exact[0], rel=1e-6)
    assert zyg.gradient(slope, 0.7)[0] == pytest.approx(exact[1], rel=1e-5)
    assert zyg.pushforward(slope, (0.7,), (1.0,))[1] == pytest.approx(exact[1], rel=1e-5)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "LSODA"])
def test_second_derivatives_by_times(method):
    def total(x):
        def slope(t, y):
            return -x[0] * t * y

        run = integrate.solve_ivp(slope, (x[1], 2.0), [1.0], method, x[2:], **SHARP)
        return np.sum(run.y * np.array([1.0, 2.0]))

    def exact(x):
        return np.sum(np.exp(x[0] * (x[1] ** 2 - x[2:] ** 2) / 2) * np.array([1.0, 2.0]))

    x = np.array([0.7, 0.2, 0.5, 1.1])
    assert zyg.gradient(total, x)[0] == pytest.approx(zyg.gradient(exact, x)[0], rel=1e-6)
    assert zyg.hessian(total, x) == pytest.approx(zyg.hessian(exact, x), rel=1e-5, abs=1e-6)


def test_plain_values_give_scipys_own_result():
    t = np.linspace(0, 1, 4)
    ours = integrate.odeint(prey, Y, t, args=(0.7, 0.4))
    y, _ = zyg.pullback(lambda a: integrate.odeint(prey, Y, t, args=(a, 0.4)), 0.7)

    assert np.array_equal(ours, scipy.integrate.odeint(prey, Y, t, args=(0.7, 0.4)))
    assert np.array_equal(ours, y)


def test_a_function_of_several_states_is_refused():
    with pytest.raises(MissingRuleError, match="vectorized"):
        zyg.gradient(
            lambda a: integrate.solve_ivp(lambda t, y: -a * y, (0, 1), [1.0], vectorized=True), 1.0
        )


def test_what_was_reached_by_a_solver_that_failed_has_derivatives():
    def last(a):
        run = integrate.solve_ivp(lambda t, y: a * y**2, (0.0, 2.0), [1.0], **SHARP)
        assert run.status == -1
        return run.y[0, 20] + 0.0 * run.t[20]

    run = scipy.integrate.solve_ivp(lambda t, y: 1.2 * y**2, (0.0, 2.0), [1.0], **SHARP)
    t = run.t[20]
    assert zyg.gradient(last, 1.2)[0] == pytest.approx(t / (1 - 1.2 * t) ** 2, rel=1e-5)


# Events


def thrown(height, speed, gravity, floor, method="RK45"):
    def ground(t, y):
        return y[0] - floor

    ground.terminal, ground.direction = True, -1
    return integrate.solve_ivp(
        lambda t, y: [y[1], -gravity], (0.0, 100.0), [height, speed], method, events=ground, **SHARP
    )


@pytest.mark.parametrize("method", ["RK45", "Radau", "LSODA"])
def test_the_end_at_an_event(method):
    def end(*x):
        run = thrown(*x, method=method)
        return run.t[-1], run.y[1, -1], run.t_events[0], run.y_events[0][0, 1]

    def exact(height, speed, gravity, floor):
        late = np.sqrt(speed**2 + 2 * gravity * (height - floor))
        t = (speed + late) / gravity
        return t, -late, t, -late

    x = 10.0, 3.0, 9.81, 0.4
    zyg.check_gradient(end, *x, order=1, rtol=1e-5)
    weights = np.array([0.3, 0.7, 1.1, -0.6])
    ours, theirs = (
        zyg.hessian(lambda x, f=f: np.sum(np.hstack(f(*x)) * weights), np.array(x))
        for f in (end, exact)
    )
    assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-8)


def test_a_method_may_be_a_class_and_an_event_an_object():
    class Floor:
        terminal, direction = True, -1

        def __init__(self, height):
            self.height = height

        def __call__(self, t, y):
            return y[0] - self.height

    def end(height, floor):
        run = integrate.solve_ivp(
            lambda t, y: [y[1], -9.81], (0, 100), [height, 0], scipy.integrate.RK45,
            events=[Floor(floor)], **SHARP,
        )  # fmt: skip
        return run.t[-1]

    slope = 1 / np.sqrt(2 * 9.81 * 4.6)
    assert zyg.gradient(end, 5.0, 0.4) == (pytest.approx(slope), pytest.approx(-slope))


def test_a_ball_that_bounces():
    def last(height, gravity, kept):
        start, state = 0.0, [height, 0.0]
        for _ in range(3):

            def ground(t, y):
                return y[0]

            ground.terminal, ground.direction = True, -1
            run = integrate.solve_ivp(
                lambda t, y: [y[1], -gravity], (start, 99.0), state, events=ground, **SHARP
            )
            start, state = run.t[-1], [0.0, -kept * run.y[1, -1]]
        return start, state[1]

    zyg.check_gradient(last, 10.0, 9.81, 0.8, order=1, rtol=1e-5)


def damped(x, **options):
    def slope(t, y):
        return [y[1], -x[0] * y[0] - x[1] * y[1]]

    return integrate.solve_ivp(slope, (0.0, 6.0), [1.0, x[2]], **options, **SHARP)


def test_several_events_beside_given_times():
    """They happen several times, between the times, and one of them never."""

    def found(x):
        events = [lambda t, y: y[0] - x[1], lambda t, y: y[1], lambda t, y: y[0] - 9.0]
        run = damped(x, events=events, t_eval=[1.0, 2.0])
        assert [len(t) for t in run.t_events] == [3, 3, 0]
        assert run.y_events[2].shape == (0,)
        return run.t_events[:2], run.y_events[:2], run.y

    zyg.check_gradient(found, np.array([2.0, 0.1, 0.3]), order=1, rtol=1e-5)


def test_events_are_scipys_own():
    def run(library, a):
        event = [lambda t, y, a: y[0] - 0.5 * a]
        return library.solve_ivp(
            lambda t, y, a: -a * y, (0, 3), [1.0], events=event, args=(a,), dense_output=True
        )

    def ours(a):
        found = run(integrate, a)
        return found.t_events[0], found.y_events[0], found.sol(0.3), found.sol([0.7, 0.1])

    plain = run(scipy.integrate, 0.7)
    exact = plain.t_events[0], plain.y_events[0], plain.sol(0.3), plain.sol([0.7, 0.1])
    for one, other in zip(zyg.pullback(ours, 0.7)[0], exact, strict=True):
        assert np.array_equal(one, other)


def test_an_event_that_is_a_step():
    def time(a):
        run = integrate.solve_ivp(
            lambda t, y: [a], (0.0, 1.0), [0.0], events=lambda t, y: np.sign(y[0] - 0.4)
        )
        return run.t_events[0][0]

    with pytest.raises(AdjointError, match="it is a step"):
        zyg.gradient(time, 1.0)


def test_an_event_that_keeps_numbers():
    def time(a):
        kept = []

        def event(t, y):
            kept.append(y[0])
            return y[0] - 0.5

        run = integrate.solve_ivp(lambda t, y: -a * y, (0.0, 1.0), [1.0], events=event)
        return run.t_events[0][0]

    with pytest.raises(MissingRuleError, match="keeps is not followed"):
        zyg.gradient(time, 1.0)


@pytest.mark.parametrize("threshold", ["plain", "watched"])
def test_an_event_that_counts(threshold):
    """One that holds what is watched runs as a copy, whose count nobody would see."""

    def time(a):
        calls = [0, a if threshold == "watched" else 0.5]

        def event(t, y):
            calls[0] += 1
            return y[0] - calls[1]

        run = integrate.solve_ivp(lambda t, y: -a * y, (0.0, 2.0), [1.0], events=event)
        assert calls[0] > 3
        return run.t_events[0][0]

    if threshold == "plain":
        assert zyg.gradient(time, 0.6)[0] == pytest.approx(-np.log(2) / 0.36, rel=1e-2)
    else:
        with pytest.raises(MissingRuleError, match="keeps is not followed"):
            zyg.gradient(time, 0.6)


def test_the_solution_at_any_time():
    def at(x, t):
        run = damped(x, dense_output=True)
        assert run.sol.t_max == 6.0
        return copy.copy(run.sol)(t), run.sol(t[0])

    zyg.check_gradient(at, np.array([2.0, 0.1, 0.3]), np.array([3.0, 0.4]), order=1, rtol=1e-5)
    with pytest.raises(MissingRuleError, match=r"from 0\.0 to 6\.0"):
        zyg.gradient(lambda x: np.sum(damped(x, dense_output=True).sol(6.5)), np.ones(3))


def test_complex_states_are_refused():
    with pytest.raises(MissingRuleError, match="real states"):
        zyg.gradient(lambda a: integrate.solve_ivp(lambda t, y: a * y, (0, 1), [1j]).y[0, -1], 1.0)


def test_a_list_of_watched_numbers_is_a_start():
    def end(a):
        return integrate.solve_ivp(lambda t, y: [-y[0], y[0]], (0, 1), [a, 0.0], **SHARP).y[1, -1]

    assert zyg.gradient(end, 2.0)[0] == pytest.approx(1 - np.exp(-1))


# Integrals


def test_quad():
    def f(a, b, c):
        return integrate.quad(lambda t: np.exp(-c * t) * np.sin(t + c), a, b)[0]

    zyg.check_gradient(f, 0.1, 1.2, 0.8, order=1)


@pytest.mark.parametrize("options", [{}, {"points": [0.5]}, {"epsrel": 1e-10}])
@pytest.mark.parametrize("sharp", [1.0, 2e3])
def test_slopes_of_an_integral_are_exact_whatever_it_takes(sharp, options):
    """A smooth one takes one tape; the peak at 0.4 more places than that has."""

    def f(c):
        return integrate.quad(lambda t: np.exp(-sharp * (t - c) ** 2), 0, 1, **options)[0]

    slope = np.exp(-sharp * 0.16) - np.exp(-sharp * 0.36)
    assert zyg.gradient(f, 0.4)[0] == pytest.approx(slope, rel=1e-8)
    second = 2 * sharp * (-0.4 * np.exp(-sharp * 0.16) - 0.6 * np.exp(-sharp * 0.36))
    assert zyg.hessian(f, 0.4) == pytest.approx(second, rel=1e-7, abs=1e-7 * sharp)


def test_slopes_of_a_smooth_integral_take_one_tape():
    calls = itertools.count()

    def f(a, b):
        def integrand(t):
            next(calls)
            return np.exp(-a * t * t) * np.cos(b * t)

        return integrate.quad(integrand, 0, 2)[0]

    zyg.gradient(f, 1.3, 0.7)
    # SciPy's places; around the middle; beside both ends; all of two rules, plain, and watched.
    assert next(calls) == 21 + 2 + 2 * 5 + 1 + 21 + 1
    zyg.check_gradient(f, 1.3, 0.7, order=1)


INTEGRANDS = {  # with its slope by c
    "smooth": (
        lambda t, c: np.exp(-c * t) * np.cos(c * t), 0.0, 2.0,
        lambda t, c: -t * np.exp(-c * t) * (np.cos(c * t) + np.sin(c * t)),
    ),
    "poles nearby": (
        lambda t, c: 1 / (c + 100 * (t - 1) ** 2), 0.0, 2.0,
        lambda t, c: -1 / (c + 100 * (t - 1) ** 2) ** 2,
    ),
    "a kink": (
        lambda t, c: np.abs(t - c) * np.exp(-t), 0.0, 2.0, lambda t, c: -np.sign(t - c) * np.exp(-t)
    ),
    "a jump": (
        lambda t, c: np.where(t < c, 2 * c, c**2), 0.7, 1.0, lambda t, c: np.where(t < c, 2, 2 * c)
    ),
    "singular ends": (
        lambda t, c: np.log(t) * c + c**2 * t**-0.5, 0.0, 1.0,
        lambda t, c: np.log(t) + 2 * c * t**-0.5,
    ),
    "oscillating": (
        lambda t, c: np.sin(40 * c * t), 0.0, 5.0, lambda t, c: 40 * t * np.cos(40 * c * t)
    ),
    "upwards": (lambda t, c: np.exp(-c * t) * t, 0.5, np.inf, lambda t, c: -t * t * np.exp(-c * t)),
    "downwards": (
        lambda t, c: np.exp(c * t) * t, -np.inf, -0.5, lambda t, c: t * t * np.exp(c * t)
    ),
    "everywhere": (
        lambda t, c: np.exp(-c * t**2) * (1 + t), -np.inf, np.inf,
        lambda t, c: -t * t * np.exp(-c * t**2) * (1 + t),
    ),
    "the other way": (
        lambda t, c: np.exp(-c * t), 2.0, 0.0, lambda t, c: -t * np.exp(-c * t)
    ),
    "of a number": (
        lambda t, c: np.exp(-c * t) if t > 0.5 else c * t, 0.0, 2.0,
        lambda t, c: -t * np.exp(-c * t) if t > 0.5 else t,
    ),
    "by the library": (
        lambda t, c: np.exp(-c * t) * math.sqrt(t + 1), 0.0, 2.0,
        lambda t, c: -t * np.exp(-c * t) * math.sqrt(t + 1),
    ),
    "not by places": (
        lambda t, c: np.sum(np.exp(-c * t)), 0.0, 2.0, lambda t, c: -t * np.exp(-c * t)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INTEGRANDS)
def test_slopes_of_any_integral(name):
    f, a, b, slope = INTEGRANDS[name]

    def integral(c):
        return integrate.quad(f, a, b, args=(c,), limit=500)[0]

    points = [0.5, 0.7] if np.isfinite(a) and np.isfinite(b) else None
    exact = scipy.integrate.quad(slope, a, b, (0.7,), epsabs=1e-12, limit=500, points=points)[0]
    assert zyg.gradient(integral, 0.7)[0] == pytest.approx(exact, rel=2e-8, abs=1e-9)


def test_quad_with_arguments_to_infinity():
    def f(p, q):
        def integrand(t, p, q):
            return np.exp(-p * t) * np.sin(q[0] * t + q[1])

        return integrate.quad(integrand, 0.0, np.inf, args=(p, q))[0]

    zyg.check_gradient(f, 0.7, np.array([0.3, 0.2]), order=1)


def test_second_derivatives_of_an_integral():
    def slope(c):
        return zyg.gradient(lambda c: integrate.quad(lambda t: np.exp(-c * t), 0, np.inf)[0], c)[0]

    assert zyg.gradient(slope, 2.0)[0] == pytest.approx(0.25)
    assert zyg.pushforward(slope, (2.0,), (1.0,))[1] == pytest.approx(0.25)


def test_a_weight_is_refused():
    with pytest.raises(MissingRuleError, match="weight"):
        zyg.gradient(
            lambda c: integrate.quad(lambda t: c * t, 0, 1, weight="cos", wvar=2.0)[0], 1.0
        )


# Along the steps


def waves(t, y, p):
    return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[1] * y[0] * y[1] - y[1] * np.sin(t)])


def by_odeint(y0, p, times, method, sharp):
    return integrate.odeint(waves, y0, times, args=(p,), tfirst=True, **sharp)


def by_solve_ivp(y0, p, times, method, sharp):
    span = times[0], times[-1]
    return integrate.solve_ivp(waves, span, y0, method, times, args=(p,), **sharp).y.T


METHODS = ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA", None]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("times", [[0.0, 0.4, 0.41, 1.5], [1.5, 0.8, 0.1]], ids=["on", "back"])
def test_derivatives_of_every_method_are_those_of_finite_differences(method, times):
    y0, p, times = np.array([1.0, 0.7]), np.array([0.9, 0.6]), np.array(times)
    sharp = {"rtol": 1e-9, "atol": 1e-9}

    def total(y0, p):
        states = (by_solve_ivp if method else by_odeint)(y0, p, times, method, sharp)
        return np.sum(states * np.cos(np.arange(states.size)).reshape(states.shape))

    along = [np.array([0.3, -0.8]), np.array([0.5, 0.7])]
    ends = (total(*(x + h * d for x, d in zip((y0, p), along, strict=True))) for h in (1e-4, -1e-4))
    slope = np.subtract(*ends) / 2e-4
    found = zyg.gradient(total, y0, p)
    assert sum(np.sum(a * b) for a, b in zip(found, along, strict=True)) == pytest.approx(
        slope, 1e-5
    )
    assert zyg.pushforward(total, (y0, p), along)[1] == pytest.approx(slope, 1e-5)


def slopes_taken(derivative, **options):
    """How many slopes an oscillation takes, and how many this derivative of its end by a number.

    By a counter that stays one where the function runs again with all as it was.
    """
    calls = itertools.count()

    def slope(t, y, a):
        next(calls)
        return np.stack([a * y[1], -y[0]])

    def last(a):
        return integrate.solve_ivp(slope, (0.0, 10.0), [1.0, 0.5], args=(a,), **options).y[0, -1]

    last(1.1)
    value = next(calls)
    derivative(last)
    return value, next(calls) - value - 1


@pytest.mark.parametrize(("t_eval", "few", "most"), [
    (None, 0, 3), (np.linspace(0, 10, 20), 0, 5), (None, 32, 1), (np.linspace(0, 10, 20), 32, 3),
])  # fmt: skip
def test_a_gradient_takes_as_many_slopes_as_a_few_values(t_eval, few, most, monkeypatch):
    """Besides those of the value; the fewest where it has the states of all steps at once."""
    monkeypatch.setattr("zyg.scipy._steps_at_once._FEW", few)
    value, gradient = slopes_taken(lambda f: zyg.gradient(f, 1.1), t_eval=t_eval)
    assert value * 2 <= gradient <= (most + 1) * value + (6 if few else 0)


def by_elements(t, y, p):
    return [p[0] * y[0] - p[1] * y[0] * y[1] * t, y[1] * (p[1] - p[0] * y[0])]


def by_matrix(t, y, p):
    return np.tanh(np.array([[0.3, -1.0], [1.0, 0.2]]) @ y) * p[0] - y * p[1]


def of_one_state(t, y, p):
    return [p[0] * y[1] if t > 0.3 else p[1] * y[0], -y[0] * math.cos(t)]


def of_the_sum(t, y, p):
    return np.stack([p[0] * y[0], p[1] * y[1]]) - np.sum(y) * 0.3


def with_a_constant(t, y, p):
    return [y[1], -p[0]]


def that_writes(t, y, p):
    y *= p[1]
    return y * p[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "slope", [by_elements, by_matrix, of_one_state, of_the_sum, with_a_constant, that_writes]
)
def test_many_states_at_once_give_what_each_gives(slope, method, monkeypatch):
    if slope is that_writes and method in ("Radau", "BDF"):
        pytest.skip("SciPy's own implicit methods do not end where the state is written to")

    def total(y0, p):
        def f(t, y):
            return slope(t, y, p)

        times = np.array([0.0, 0.4, 1.0])
        exact = {"rtol": 1e-12, "atol": 1e-12} if method in (None, "LSODA") else {}
        if method is None:
            states = integrate.odeint(f, y0, times, tfirst=True, **exact)
        else:
            states = integrate.solve_ivp(f, (0.0, 1.2), y0, method, times, **exact).y.T
        return np.sum(states * np.array([[0.3, 1.0], [-0.7, 0.4], [1.1, 0.9]]))

    x = np.array([1.0, 0.6]), np.array([0.8, 0.5])
    ways = (np.array([0.7, -0.2]), np.array([-0.4, 1.0])), (None, np.array([0.3, 0.6]))

    def derivatives():
        pushed = [zyg.pushforward(total, x, way)[1] for way in ways]
        return np.concatenate([*zyg.gradient(total, *x), pushed])

    at_once = [derivatives()]
    monkeypatch.setattr("zyg.scipy._steps_at_once._MOST", 100)  # some steps at once
    at_once.append(derivatives())
    monkeypatch.setattr("zyg.scipy._steps_at_once._FEW", 0)
    expected = derivatives()
    for found in at_once:
        assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
@pytest.mark.parametrize(
    "slope", [by_elements, by_matrix, of_one_state, of_the_sum, with_a_constant, that_writes]
)
def test_second_derivatives_of_many_states_at_once_are_those_of_each(slope, method, monkeypatch):
    def total(x):
        y0, p = x["y0"], x["p"]
        times = np.array([0.0, 0.4, 1.0])
        states = integrate.solve_ivp(
            lambda t, y: slope(t, y, p), (0.0, 1.2), y0, method, times, rtol=1e-2
        ).y.T
        return np.sum(states**2 * np.array([[0.3, 1.0], [-0.7, 0.4], [1.1, 0.9]]))

    x = {"y0": np.array([1.0, 0.6]), "p": np.array([0.8, 0.5])}
    ways = (
        {"y0": np.array([0.7, -0.2]), "p": np.array([-0.4, 1.0])},
        {"y0": np.zeros(2), "p": np.array([0.3, 0.6])},
        {"y0": np.array([0.3, 0.6]), "p": np.zeros(2)},
    )

    def along(x, way):
        gradient = zyg.gradient(total, x)[0]
        return sum(np.sum(gradient[k] * way[k]) for k in way)

    def derivatives():
        found = [zyg.hvp(total, x, way) for way in ways]
        found += [zyg.gradient(lambda x: along(x, way), x, zeros=True)[0] for way in ways]  # noqa: B023
        return np.concatenate([part for each in found for part in each.values()])

    at_once = derivatives()
    monkeypatch.setattr("zyg.scipy._steps_at_once._FEW", 0)
    assert at_once == pytest.approx(derivatives(), rel=1e-10, abs=1e-13)


def test_a_hessian_product_takes_as_many_slopes_as_a_few_gradients():
    _, gradient = slopes_taken(lambda f: zyg.gradient(f, 1.1))
    _, product = slopes_taken(lambda f: zyg.hvp(f, 1.1, 1.0))
    assert product <= 2 * gradient


@pytest.mark.slow
@pytest.mark.parametrize("outer", ["forward", "reverse"])
@pytest.mark.parametrize("inner", ["forward", "reverse"])
def test_levels_of_the_state_and_of_the_parameters_are_apart(inner, outer, monkeypatch):
    """Third derivatives: by the parameters, and then by the state, or the other way round."""
    y0, p, way = np.array([1.0, 0.6]), np.array([0.8, 0.5]), np.array([0.7, -0.2])

    def total(y0, p):
        y = integrate.solve_ivp(lambda t, y: by_elements(t, y, p), (0.0, 0.8), y0, rtol=1e-2).y
        return np.sum(y[:, -1] ** 2)

    def along(f, x, mode):
        if mode == "forward":
            return zyg.pushforward(f, (x,), (way,))[1]
        return zyg.gradient(lambda x: np.sum(f(x) * way), x)[0]

    def derivatives():
        by_y0 = along(lambda y: along(lambda p: zyg.gradient(total, y, p)[1], p, inner), y0, outer)
        by_p = along(lambda p: along(lambda y: zyg.gradient(total, y, p)[0], y0, inner), p, outer)
        mixed = along(lambda p: along(lambda y: zyg.gradient(total, y, p)[1], y0, inner), p, outer)
        return np.concatenate([by_y0, by_p, mixed])

    at_once = derivatives()
    monkeypatch.setattr("zyg.scipy._steps_at_once._FEW", 0)
    assert at_once == pytest.approx(derivatives(), rel=1e-10, abs=1e-13)


@pytest.mark.slow
def test_third_derivatives_along_steps():
    def last(a):
        states = integrate.solve_ivp(
            lambda t, y: -(a**2) * y, (0.0, 1.0), [1.0], rtol=1e-8, atol=1e-10
        )
        return states.y[0, -1]

    def second(a):
        return zyg.gradient(lambda a: zyg.gradient(last, a)[0], a)[0]

    a = 0.7
    third = (12 * a - 8 * a**3) * np.exp(-(a**2))
    assert second(a) == pytest.approx((4 * a**2 - 2) * np.exp(-(a**2)), rel=1e-5)
    assert zyg.pushforward(second, (a,), (1.0,))[1] == pytest.approx(third, rel=1e-5)
    assert zyg.gradient(second, a)[0] == pytest.approx(third, rel=1e-5)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_a_tangent_takes_as_many_slopes_as_a_few_values(method):
    value, tangent = slopes_taken(lambda f: zyg.pushforward(f, (1.1,), (1.0,)), method=method)
    assert value * 2 <= tangent <= {"RK45": 3, "Radau": 12}[method] * value


def test_a_jacobian_that_is_infinite_meets_no_tangent_of_zero():
    """The square root's slope at 0 is infinite; nothing flows there, nor does the tangent."""

    def last(a):
        def slope(t, y):
            return np.stack([np.sqrt(y[0]) * y[1], a + 0 * y[1]])

        return integrate.solve_ivp(slope, (0.0, 1.0), [0.0, 0.0], rtol=1e-8).y[1, -1]

    assert zyg.pushforward(last, (2.0,), (1.0,))[1] == pytest.approx(1.0)
    assert zyg.gradient(last, 2.0) == pytest.approx((1.0,))


STIFF = ["Radau", "BDF", "LSODA", None]


def stiff(method, calls):
    def slope(t, y, a):
        next(calls)
        return np.stack([-1e4 * (y[0] - a * np.cos(t)), a * y[0] ** 2 - y[1]])

    def last(a):
        if method is None:
            times = np.array([0.0, 0.3, 1.0])
            return integrate.odeint(slope, [0.0, 1.0], times, args=(a,), tfirst=True)[-1, 1]
        sharp = {"t_eval": [1.0], "rtol": 1e-8, "atol": 1e-10}
        run = integrate.solve_ivp(slope, (0.0, 1.0), [0.0, 1.0], method, args=(a,), **sharp)
        return run.y[1, -1]

    return last


@pytest.mark.parametrize("method", STIFF)
def test_derivatives_of_stiff_equations_are_those_of_finite_differences(method):
    last, a, h = stiff(method, calls := itertools.count()), 1.3, 1e-3
    slope = (last(a + h) - last(a - h)) / (2 * h)
    before = next(calls)
    assert zyg.gradient(last, a)[0] == pytest.approx(slope, rel=1e-4)
    assert zyg.pushforward(last, (a,), (1.0,))[1] == pytest.approx(slope, rel=1e-4)
    assert next(calls) - before < 30_000  # an explicit method takes more


def van_der_pol(mu, y0, times, method, **options):
    def slope(t, y):
        return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    return integrate.solve_ivp(slope, (0.0, 10.0), y0, method, times, **options)


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_a_derivative_smaller_than_the_tolerance_is_right(method):
    """By default atol is 1e-6; the right one is of a solution with rtol and atol of 1e-13."""

    def last(mu):
        return van_der_pol(mu, [2.0, 0.0], [10.0], method).y[0, -1]

    def slope(mu):
        return zyg.gradient(last, mu)[0]

    assert slope(1e4) == pytest.approx(6.670329e-8, rel=1e-5)
    assert zyg.gradient(slope, 1e4)[0] == pytest.approx(-1.33469e-11, rel=1e-3)


def followed(fast, size, y0, t):
    """What follows size * cos(t), on from 0."""
    late = size * fast / (1 + fast**2)
    return late * (fast * np.cos(t) + np.sin(t)) + (y0 - late * fast) * np.exp(-fast * t)


@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_all_derivatives_of_stiff_equations(method):
    def solved(fast, size, y0, t):
        run = integrate.solve_ivp(
            lambda t, y: -fast * (y - size * np.cos(t)), (0.0, 2.0), [y0], method, [1e-4, t],
            rtol=1e-5,
        )  # fmt: skip
        return np.sum(run.y * np.array([1.0, 2.0]))

    def exact(*x):
        return followed(*x[:3], 1e-4) + 2 * followed(*x)

    def derivatives(f):
        first = zyg.gradient(f, *x)
        along = zyg.pushforward(f, x, (100.0, -0.3, 0.7, 0.2))[1]
        second = [zyg.gradient(lambda *x, k=k: zyg.gradient(f, *x)[k], *x) for k in range(4)]
        return np.array([*first, along]), np.array(second, float)  # NaN where nothing depends

    x = 5e3, 1.3, 0.4, 1.1
    (first, second), exactly = derivatives(solved), derivatives(exact)
    assert first == pytest.approx(exactly[0], rel=1e-2, abs=1e-9)
    assert first[1:3] == pytest.approx(exactly[0][1:3], rel=1e-4)
    assert second == pytest.approx(exactly[1], rel=1e-2, abs=1e-8, nan_ok=True)


def test_stiff_equations_backwards_in_time():
    def first(size):
        run = integrate.solve_ivp(
            lambda t, y: 5e3 * (y - size * np.cos(-t)), (0.0, -2.0), [0.4], "Radau"
        )
        return run.y[0, -1]

    exact = zyg.gradient(lambda size: followed(5e3, size, 0.4, 2.0), 1.3)[0]
    assert zyg.gradient(first, 1.3)[0] == pytest.approx(exact, rel=1e-3)


def test_steps_that_fail():
    with pytest.raises(ConvergenceError, match="Radau's method"):
        steps(lambda t, y: 1e3 * (1 + y**2), [0.0], [0.0, 1.0], "BDF", 0)


@pytest.mark.parametrize("method", ["BDF", "LSODA"])
def test_slopes_that_are_not_defined_everywhere(method):
    """An explicit method looks beyond 0, where this one does not."""

    def slope(t, y, a):
        if y[0] <= 0:
            raise ValueError("the root of a negative number")
        return -a * np.sqrt(y)

    def last(a):
        run = integrate.solve_ivp(slope, (0.0, 1.9), [1.0], method, args=(a,), rtol=1e-8, atol=1e-8)
        return run.y[0, -1]

    assert zyg.gradient(last, 1.0)[0] == pytest.approx(-1.9 * (1 - 0.95), rel=1e-3)


def test_steps_of_no_length():
    def both(a):
        one = integrate.odeint(lambda y, t: -a * y, 1.0, np.array([0.5, 0.5, 0.9, 0.9]))
        two = integrate.solve_ivp(lambda t, y: -a * y, (0.0, 1.0), [a], t_eval=[0.0, 0.7])
        return np.sum(one) + np.sum(two.y)

    a = 0.8
    slope = -0.4 * 2 * np.exp(-0.32) + 1 + (1 - 0.7 * a) * np.exp(-0.7 * a)
    assert zyg.gradient(both, a)[0] == pytest.approx(slope, rel=1e-3)
