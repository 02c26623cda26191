"""Solvers that take their derivatives from zyg: as SciPy with derivatives by hand."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from scipy.optimize import rosen, rosen_der, rosen_hess
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import GridSearchCV

import zyg
from zyg.scipy import integrate, optimize

FIRST = ("CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP")
SECOND = ("Newton-CG", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr")
START = np.array([1.2, 1.1, 0.9])


def valley(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize("method", FIRST)
def test_minima_as_with_the_gradient_by_hand(method):
    theirs = scipy.optimize.minimize(rosen, START, method=method, jac=rosen_der)
    ours = optimize.minimize(valley, START, method=method, jac="zyg")
    assert ours.success == theirs.success
    assert ours.nfev == pytest.approx(theirs.nfev, abs=3)
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-4)
    np.testing.assert_allclose(ours.x, 1.0, atol=1e-3)


@pytest.mark.parametrize("method", SECOND)
def test_minima_as_with_the_hessian_by_hand(method):
    theirs = scipy.optimize.minimize(rosen, START, method=method, jac=rosen_der, hess=rosen_hess)
    ours = optimize.minimize(valley, START, method=method, jac="zyg", hess="zyg")
    assert ours.success
    assert theirs.success
    np.testing.assert_allclose(ours.x, theirs.x, atol=1e-4)


@dataclass
class Curve:
    scale: float
    rates: np.ndarray
    name: str = "decay"


def test_the_unknown_may_be_any_structure():
    curve = Curve(1.0, np.array([[1.0], [0.3]]))
    seen = []

    def loss(c, target):
        assert type(c) is Curve
        assert c.rates.shape == (2, 1)
        return (c.scale - target) ** 2 + np.sum((c.rates - 0.5 * c.scale) ** 2)

    found = optimize.minimize(loss, curve, args=(3.0,), jac="zyg", callback=seen.append)
    assert type(found.x) is Curve
    assert found.x.name == "decay"
    assert found.x.scale == pytest.approx(3.0, abs=1e-5)
    np.testing.assert_allclose(found.x.rates, [[1.5], [1.5]], atol=1e-5)
    assert seen
    assert all(type(c) is Curve for c in seen)
    assert curve.scale == 1.0

    def told(intermediate_result):
        seen.append(intermediate_result.x)

    seen.clear()
    optimize.minimize(loss, curve, args=(3.0,), jac="zyg", callback=told)
    assert type(seen[-1]) is Curve


def test_a_complex_unknown_is_two_reals():
    found = optimize.minimize(lambda z: abs(z["z"] - (1 + 2j)) ** 2, {"z": 0j}, jac="zyg")
    assert found.x["z"] == pytest.approx(1 + 2j, abs=1e-6)
    assert type(found.x["z"]) is complex


def test_one_evaluation_for_value_and_gradient():
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        return valley(x)

    found = optimize.minimize(f, START, jac="zyg")
    assert calls == found.nfev == found.njev


def test_a_compiled_function():
    found = optimize.minimize(zyg.compile(valley), START, jac="zyg", tol=1e-10)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)


def test_constraints_see_the_structure():
    def norm(p):
        return np.sum(p["w"] ** 2)

    equal = {"type": "eq", "fun": lambda p: p["w"][0] + 2 * p["w"][1] - 1, "jac": "zyg"}
    found = optimize.minimize(norm, {"w": np.ones(2)}, jac="zyg", constraints=equal)
    np.testing.assert_allclose(found.x["w"], [0.2, 0.4], atol=1e-6)

    curved = scipy.optimize.NonlinearConstraint(
        lambda p: p["w"][0] * p["w"][1], 1.0, 1.0, jac="zyg", hess="zyg"
    )
    found = optimize.minimize(
        norm, {"w": np.array([2.0, 1.0])}, jac="zyg", hess="zyg", method="trust-constr",
        constraints=[curved],
    )  # fmt: skip
    np.testing.assert_allclose(found.x["w"], [1.0, 1.0], atol=1e-3)


TIMES = np.linspace(0.0, 1.0, 30)


def decay(p, t=TIMES):
    return p["a"] * np.exp(-p["k"] * t)


def test_least_squares():
    seen = decay({"a": 3.0, "k": 2.0})
    start = {"a": 1.0, "k": 1.0}
    for method in ("trf", "dogbox", "lm"):
        found = optimize.least_squares(
            lambda p, y: decay(p) - y, start, jac="zyg", args=(seen,), method=method
        )
        assert found.x == pytest.approx({"a": 3.0, "k": 2.0})
    many = np.linspace(0.0, 1.0, 20)  # more unknowns than the forward mode takes at once
    found = optimize.least_squares(lambda x: x**2 - many, np.ones(20), jac="zyg")
    np.testing.assert_allclose(found.x**2, many, atol=1e-6)
    found = optimize.least_squares(
        lambda p: [p["a"] - 1.0, np.reshape(p["k"] - 2.0, (1, 1))], start, jac="zyg"
    )
    assert found.x == pytest.approx({"a": 1.0, "k": 2.0})


def test_roots():
    def equations(p):
        return {"sum": p["a"] + p["b"] - 3, "product": p["a"] * p["b"] - 2}

    for method in ("hybr", "lm"):
        found = optimize.root(equations, {"a": 0.5, "b": 3.0}, jac="zyg", method=method)
        assert found.x == pytest.approx({"a": 1.0, "b": 2.0})


def test_curves_fit():
    seen = decay({"a": 3.0, "k": 2.0})
    model = lambda t, a, k: a * np.exp(-k * t)  # noqa: E731
    best, covariance = optimize.curve_fit(
        model, TIMES, seen + 0.01 * np.cos(TIMES), [1.0, 1.0], jac="zyg"
    )
    theirs = scipy.optimize.curve_fit(model, TIMES, seen + 0.01 * np.cos(TIMES), [1.0, 1.0])
    np.testing.assert_allclose(best, theirs[0], rtol=1e-6)
    np.testing.assert_allclose(covariance, theirs[1], rtol=1e-4)


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_stiff_equations(method):
    def oscillator(t, y, mu):
        return [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]

    def exact(t, y, mu):
        return [[0.0, 1.0], [-2 * mu * y[0] * y[1] - 1, mu * (1 - y[0] ** 2)]]

    given = ((0.0, 20.0), [2.0, 0.0], method)
    ours = integrate.solve_ivp(oscillator, *given, args=(10.0,), jac="zyg")
    theirs = scipy.integrate.solve_ivp(oscillator, *given, args=(10.0,), jac=exact)
    np.testing.assert_array_equal(ours.t, theirs.t)
    np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-10)


def test_equations_in_columns_and_complex_ones():
    turn = np.array([[-50.0, 1.0], [0.0, -0.1]])
    for y0, a in (([1.0, 1.0], turn), ([1.0 + 1j, 1.0], turn * (1 + 0.5j))):
        columns = integrate.solve_ivp(
            lambda t, y, a=a: a @ y, (0.0, 2.0), y0, "BDF", jac="zyg", vectorized=True
        )
        exact = scipy.integrate.solve_ivp(
            lambda t, y, a=a: a @ y, (0.0, 2.0), y0, "BDF", jac=a, vectorized=True
        )
        np.testing.assert_allclose(columns.y, exact.y)


def test_solutions_are_differentiable_as_ever():
    def bottom(c):
        start = {"a": 0.0, "b": 1.0}
        found = optimize.minimize(
            lambda p: (p["a"] - c**2) ** 2 + c * p["b"] ** 2, start, jac="zyg"
        )
        return found.x["a"]

    assert zyg.gradient(bottom, 2.0) == pytest.approx((4.0,))

    def fitted(c):
        return optimize.least_squares(lambda p: [p["a"] - c**2], {"a": 1.0}, jac="zyg").x["a"]

    assert zyg.gradient(fitted, 2.0) == pytest.approx((4.0,))
    assert zyg.gradient(
        lambda c: optimize.root(lambda x: x**3 - c, [1.5], jac="zyg").x[0], 8.0
    ) == pytest.approx((1 / 12,))


def test_without_the_option_it_is_scipys_own():
    assert optimize.minimize == scipy.optimize.minimize
    assert pickle.loads(pickle.dumps(optimize.minimize)) == scipy.optimize.minimize
    ours, theirs = (
        m.minimize(rosen, START, jac=rosen_der, method="BFGS") for m in (optimize, scipy.optimize)
    )
    np.testing.assert_array_equal(ours.x, theirs.x)
    with pytest.warns(RuntimeWarning, match="does not use gradient information"):
        optimize.minimize(valley, START, method="Nelder-Mead", jac="zyg")
    with pytest.raises(ValueError, match="Hessian matrix is required"):
        optimize.minimize(valley, START, method="trust-exact", jac="zyg")


class Decay(RegressorMixin, BaseEstimator):
    """An estimator that fits its parameters by zyg's gradient."""

    def __init__(self, penalty=0.0):
        self.penalty = penalty

    def fit(self, X, y):  # noqa: N803
        def loss(p):
            return np.mean((decay(p, X[:, 0]) - y) ** 2) + self.penalty * p["k"] ** 2

        self.found_ = optimize.minimize(loss, {"a": 1.0, "k": 1.0}, jac="zyg").x
        return self

    def predict(self, X):  # noqa: N803
        return decay(self.found_, X[:, 0])


def test_an_estimator_is_cloned_and_searched_over():
    times = TIMES[::-1, None]
    seen = decay({"a": 3.0, "k": 2.0}, TIMES[::-1])
    search = GridSearchCV(Decay(), {"penalty": [1.0, 0.1, 0.0]}, cv=3).fit(times, seen)
    assert search.best_params_ == {"penalty": 0.0}
    assert clone(search.best_estimator_).fit(times, seen).found_ == pytest.approx(
        {"a": 3.0, "k": 2.0}, rel=1e-3
    )
