"""Functions that run again in the reverse pass are what they were when they were called."""

# ruff: noqa: B023 - loop variables that move on are what this is about

import itertools

import numpy as np
import pytest
import scipy.integrate

import zyg
from zyg.errors import AdjointError, MissingRuleError
from zyg.scipy import integrate, optimize

from .late_programs import HOLDERS, SOLVERS, check, program

A = np.array([0.7, 0.4])
SHARP = {"rtol": 1e-9, "atol": 1e-9}
POINTS = np.linspace(0.1, 1.0, 7)


def differences(f, x, h=1e-5):
    return np.array([(f(x + e) - f(x - e)) / (2 * h) for e in h * np.eye(x.size)])


@pytest.mark.parametrize("chunk", range(2))
def test_random_programs(chunk):
    for seed in range(6 * chunk, 6 * chunk + 6):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(10))
def test_more_random_programs(chunk):
    for seed in range(max(12, 20 * chunk), 20 * chunk + 20):  # after those of above
        check(seed)


def test_every_kind_occurs():
    assert {kind for seed in range(300) for kind in program(seed)[1]} >= {*HOLDERS, *SOLVERS}


def integrals(a):
    s = 0.0
    for i in range(2):
        s = s + integrate.quad(lambda t: np.sin(t * a[i]), 0, 1)[0]
    return s


def solutions(a):
    s = 0.0
    for i in range(2):
        made = integrate.solve_ivp(lambda t, y: -a[i] * y * (i + 1), (0, 1), [1.0], **SHARP)
        s = s + made.y[0, -1]
        y = integrate.odeint(lambda y, t: -a[i] * y * (i + 1), 1.0, [0.0, 1.0], **SHARP)
        s = s + y[-1, 0]
    return s


def fits(a):
    s, k = 0.0, [0.0]
    for i in range(2):
        k[0] = i + 1.0
        s = s + optimize.curve_fit(lambda x, p: p * x * k[0], POINTS, POINTS * a[i], [1.0])[0][0]
    return s


def roots(a):
    s, k = 0.0, [1.0, 3.0]
    for i in range(2):
        s = s + optimize.brentq(lambda v, c: v**2 * k[i] - c, 0, 5, a[i], xtol=1e-14)
    k[:] = [7.0, 7.0]
    return s


def workspaces(a):
    s, memory = 0.0, np.zeros(1000)
    for i in range(2):

        def f(t):
            memory[:] = t * (i + 1)
            return memory[3] * a[i]

        s = s + integrate.quad(f, 0, 1)[0]
    return s


def recorded(a):
    log, memo, n = [], {}, 0

    def f(t):
        nonlocal n
        n += 1
        log.append(a[0] * t)
        if t not in memo:
            memo[t] = np.sin(a[1] * t)
        return memo[t] * a[0]

    y = integrate.quad(f, 0, 1)[0]
    assert n == len(log) == 21
    return y + log[0] + log[3] + memo[0.5]


def recorded_in_what_is_watched(a):
    total, box = a[0] * 0, [a[1] * 1.0]

    def f(t):
        nonlocal total
        total = total + a[1] * t
        box.append(t * a[0])
        return a[0] * t

    return integrate.quad(f, 0, 1)[0] + total + box[3]


def recorded_states(a):
    log, memo = [], {}

    def f(t, y):
        log.append(y)
        if t not in memo:
            memo[t] = np.sin(a[0] * t)
        return -memo[t] * y * a[1]

    return integrate.solve_ivp(f, (0, 1), [1.0], **SHARP).y[0, -1]


def recorded_slope(a):
    log = []

    def f(v):
        log.append(a[0] * a[1])
        return v**2 - a[1]

    return optimize.brentq(f, 0, 5, xtol=1e-14) + log[0]


@pytest.mark.parametrize(
    "f",
    [
        integrals, solutions, fits, roots, workspaces, recorded, recorded_in_what_is_watched,
        recorded_states, recorded_slope,
    ],
)  # fmt: skip
def test_against_differences(f):
    expected = differences(f, A)

    assert zyg.gradient(f, A)[0] == pytest.approx(expected, rel=1e-5)
    assert zyg.jacobian(f, A, mode="forward")[0] == pytest.approx(expected, rel=1e-5)


def test_second_derivatives_over_a_loop_variable():
    expected = differences(lambda a: zyg.gradient(integrals, a)[0], A)
    for outer, inner in itertools.product(("forward", "reverse"), repeat=2):
        found = zyg.jacobian(
            lambda a, inner=inner: zyg.jacobian(integrals, a, mode=inner)[0], A, mode=outer
        )[0]
        assert found == pytest.approx(expected, rel=1e-5)


def iterate(a):
    last = None

    def f(v):
        nonlocal last
        last = a[0] * v
        return v**2 - a[1]

    return optimize.brentq(f, 0, 5) + last


def state(a):
    log = []

    def f(t, y):
        log.append(y)
        return -a[0] * y

    return integrate.solve_ivp(f, (0, 1), [1.0]).y[0, -1] + log[7][0]


@pytest.mark.parametrize(("f", "name"), [(iterate, "brentq"), (state, "solve_ivp")])
def test_a_value_that_depends_on_the_steps_of_a_solver_is_refused(f, name):
    with pytest.raises(MissingRuleError, match=rf"given to scipy\.\w+\.{name} has no derivative"):
        zyg.gradient(f, A)
    assert np.isnan(zyg.pushforward(f, (A,), (np.ones(2),))[1])


def test_a_large_array_is_protected_and_given_back():
    weights = np.ones(1000)

    def f(a):
        y = integrate.quad(lambda t: weights[5] * a * t, 0, 1)[0]
        weights[5] = 2.0
        return y

    with pytest.raises(ValueError, match="read-only"):
        zyg.gradient(f, 1.0)
    weights[5] = 2.0
    assert scipy.integrate.quad(lambda t: weights[5] * t, 0, 1)[0] == pytest.approx(1.0)


class Scaled:
    scale = 2.0
    table = {"w": [1.0]}  # noqa: RUF012 - shared, as by mistake
    calls = made = 0

    def __init__(self):
        Scaled.made += 1

    def __call__(self, t):
        Scaled.calls += 1
        return self.scale * t * table_of_scaled["k"]

    def by_table(self, t):
        return self.table["w"][0] * t


table_of_scaled = {"k": 1.0}


def by_its_name(t):
    return Scaled.scale * t


@pytest.mark.parametrize(
    ("f", "change", "name"),
    [
        (
            lambda: Scaled(),
            lambda p: p.setattr(Scaled, "scale", 4.0),
            "class attribute Scaled.scale",
        ),
        (lambda: by_its_name, lambda p: p.setattr(Scaled, "scale", 4.0), "attribute Scaled.scale"),
        (
            lambda: Scaled().by_table,
            lambda p: p.setitem(Scaled.table, "w", [4.0]),
            "class attribute Scaled.table",
        ),
        (
            lambda: Scaled(),
            lambda p: p.setitem(table_of_scaled, "k", 4.0),
            "global variable table_of_scaled",
        ),
    ],
)
@pytest.mark.parametrize("solver", ["brentq", "quad"])
def test_what_is_read_by_a_class_and_has_changed_is_named(f, change, name, solver, monkeypatch):
    def solve(x):
        g = f()
        if solver == "quad":
            y = integrate.quad(lambda t: g(t) * x, 0.0, 1.0)[0]
        else:
            y = optimize.brentq(lambda t: g(t) - x, -9.0, 9.0)
        Scaled()  # which no call looks at
        return y

    def changed(x):
        y = solve(x)
        change(monkeypatch)
        return y

    assert zyg.gradient(solve, 1.0)[0] == pytest.approx(solve(2.0) - solve(1.0))
    with pytest.raises(AdjointError) as caught:
        zyg.gradient(changed, 1.0)
    assert f"{name} has changed since a function that reads it was given" in str(caught.value)
    assert "in an attribute of the object" in str(caught.value)
