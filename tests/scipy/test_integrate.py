"""Differential equations and integrals."""

import itertools
import math

import numpy as np
import pytest
import scipy.integrate

import zyg
from zyg.errors import MissingRuleError
from zyg.scipy import integrate

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


def test_plain_values_give_scipys_own_result():
    t = np.linspace(0, 1, 4)
    ours = integrate.odeint(prey, Y, t, args=(0.7, 0.4))
    y, _ = zyg.pullback(lambda a: integrate.odeint(prey, Y, t, args=(a, 0.4)), 0.7)

    assert np.array_equal(ours, scipy.integrate.odeint(prey, Y, t, args=(0.7, 0.4)))
    assert np.array_equal(ours, y)


@pytest.mark.parametrize("option", ["events", "dense_output"])
def test_what_solve_ivp_finds_besides_is_refused(option):
    given = {"events": lambda t, y: y[0], "dense_output": True}[option]
    with pytest.raises(MissingRuleError, match=option):
        zyg.gradient(
            lambda a: integrate.solve_ivp(lambda t, y: -a * y, (0, 1), [1.0], **{option: given}),
            1.0,
        )


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
    assert next(calls) == 21 + 1 + 35 + 1  # SciPy's places; all of two rules, plain, and watched
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


@pytest.mark.parametrize(("t_eval", "most"), [(None, 3), (np.linspace(0, 10, 20), 4)])
def test_a_gradient_takes_as_many_slopes_as_a_few_values(t_eval, most):
    calls = 0

    def slope(t, y, a):
        nonlocal calls
        calls += 1
        return np.stack([a * y[1], -y[0]])

    def last(a):
        return integrate.solve_ivp(slope, (0.0, 10.0), [1.0, 0.5], t_eval=t_eval, args=(a,)).y[
            0, -1
        ]

    last(1.1)
    value, calls = calls, 0
    zyg.gradient(last, 1.1)
    assert calls <= (most + 1) * value  # and those of the value


STIFF = ["Radau", "BDF", "LSODA", None]


def stiff(method, calls):
    def slope(t, y, a):
        calls.append(t)
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
def test_the_adjoint_of_stiff_equations_runs_along_their_solution(method):
    last, a, h = stiff(method, calls := []), 1.3, 1e-3
    slope = (last(a + h) - last(a - h)) / (2 * h)
    calls.clear()
    assert zyg.gradient(last, a)[0] == pytest.approx(slope, rel=1e-4)
    assert zyg.pushforward(last, (a,), (1.0,))[1] == pytest.approx(slope, rel=1e-4)
    assert len(calls) < 30_000  # an explicit method takes more


def test_second_derivatives_of_stiff_equations_are_refused():
    with pytest.raises(MissingRuleError, match="they are stiff"):
        zyg.gradient(lambda a: zyg.gradient(stiff("Radau", []), a)[0], 1.3)


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
