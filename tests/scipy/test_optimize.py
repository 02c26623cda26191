"""Solutions: their derivatives are those of what is solved."""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import zyg
from zyg.core.duals import DualStrand
from zyg.errors import ConvergenceError, ConversionError, MissingRuleError
from zyg.scipy import optimize

M = np.array([[3.0, 0.5], [0.2, 2.0]])
T = np.array([0.7, 0.3])
DECAY = np.linspace(0.0, 1.0, 5)
SEEN = np.array([1.0, 1.2, 1.4, 1.9, 2.6])
SHARP = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}


def by_closure(t):
    return optimize.root(lambda x: M @ x + np.sin(x) * t - t**2, np.zeros(2), tol=1e-13).x


def by_args(t, c):
    def residual(x, t, c):
        return M @ x + np.sin(x) * t - c

    return optimize.root(residual, np.zeros(2), (t, c), tol=1e-13).x


class Equation:
    def __init__(self, c):
        self.c = c

    def __call__(self, x):
        return x**3 - self.c


def by_attribute(c):
    return optimize.fsolve(lambda x: Equation(c)(x), np.array([1.0]), xtol=1e-13)


SCALAR = {
    "brentq": lambda c: optimize.brentq(Equation(c), 0.0, 10.0, xtol=1e-14),
    "bisect": lambda c: optimize.bisect(Equation(c), 0.0, 10.0, xtol=1e-14),
    "toms748": lambda c: optimize.toms748(Equation(c), 0.0, 10.0, xtol=1e-14),
    "newton": lambda c: optimize.newton(Equation(c), 1.0, tol=1e-14),
    "newton with slope": lambda c: optimize.newton(Equation(c), 1.0, lambda x: 3 * x**2),
    "root_scalar": lambda c: optimize.root_scalar(Equation(c), bracket=(0.0, 10.0)).root,
    "full output": lambda c: optimize.brentq(Equation(c), 0.0, 10.0, full_output=True)[0],
    "args": lambda c: optimize.brentq(lambda x, c: x**3 - c, 0.0, 10.0, c),
    "fixed point": lambda c: optimize.fixed_point(lambda x: (2 * x + c / x**2) / 3, 1.5),
}


@pytest.mark.parametrize("name", SCALAR)
def test_the_cube_root(name):
    f = SCALAR[name]

    assert zyg.gradient(f, 8.0)[0] == pytest.approx(1 / 12)
    assert zyg.gradient(lambda c: zyg.gradient(f, c)[0], 8.0)[0] == pytest.approx(-1 / 144)
    assert zyg.pushforward(f, (8.0,), (1.0,))[1] == pytest.approx(1 / 12)


@pytest.mark.parametrize(("f", "args"), [(by_closure, (T,)), (by_args, (0.7, T))])
def test_systems_of_equations(f, args):
    zyg.check_gradient(f, *args, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::zyg.errors.PerformanceWarning")
def test_residuals_that_numpy_makes_an_array_of_objects_of():
    def f(c):
        return optimize.root(lambda x: np.array([x[0] ** 2 - c, x[1] - c * x[0]]), [1.0, 1.0]).x

    zyg.check_gradient(f, 2.0, order=1)
    np.testing.assert_allclose(zyg.jacobian(f, 4.0)[0], [0.25, 3.0])


def test_what_an_object_holds():
    zyg.check_gradient(by_attribute, 2.0, rtol=1e-6)


def test_minima():
    def place(t):
        f = lambda x: np.sum((x - t) ** 4) + np.sum(x**2) + x[0] * x[1] * t[0]  # noqa: E731
        return optimize.minimize(f, np.zeros(2), tol=1e-12).x

    zyg.check_gradient(place, T, order=1, rtol=1e-3)


def test_the_value_of_a_minimum():
    def least(t):
        return optimize.minimize(lambda x, t: np.sum((x - t) ** 2 + x**2), np.zeros(2), t).fun

    assert zyg.gradient(least, T)[0] == pytest.approx(T, rel=1e-4)


def test_a_bound_that_holds_x_keeps_it():
    def place(t):
        f = lambda x: np.sum((x - t) ** 2)  # noqa: E731
        return optimize.minimize(f, T, bounds=[(0, 0.5), (None, None)], tol=1e-10).x

    _, back = zyg.pullback(place, np.array([1.0, 0.2]))

    assert back(np.ones(2))[0] == pytest.approx([0.0, 1.0])


def test_minima_of_functions_of_one_number():
    got = zyg.gradient(lambda t: optimize.minimize_scalar(lambda x: (x - t) ** 2 + x**2).x, 0.4)
    assert got[0] == pytest.approx(0.5, rel=1e-5)


def test_least_squares():
    def fit(y):
        return optimize.least_squares(
            lambda p: p[0] * np.exp(p[1] * DECAY) - y, np.array([1.0, 0.5]), **SHARP
        ).x

    zyg.check_gradient(fit, SEEN, order=1, rtol=1e-4)


@pytest.mark.parametrize("absolute", [False, True])
def test_curve_fit(absolute):
    def fit(y, sigma):
        return optimize.curve_fit(
            lambda x, a, b: a * np.exp(b * x), DECAY, y, p0=[1.0, 0.5], sigma=sigma,
            absolute_sigma=absolute, **SHARP,
        )  # fmt: skip

    sigma = np.linspace(1.0, 2.0, 5)
    plain = fit(SEEN, sigma)
    y, _ = zyg.pullback(fit, SEEN, sigma)

    for a, b in zip(plain, y, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    zyg.check_gradient(fit, SEEN, sigma, order=1, rtol=1e-4)


def test_the_start_carries_nothing():
    assert zyg.gradient(lambda x0: optimize.newton(lambda x: x**2 - 2, x0), 1.0) == (None,)


def test_constraints_are_refused():
    rule = {"type": "eq", "fun": lambda x: x[0] - 1}
    with pytest.raises(MissingRuleError, match=r"(?s)constraints .*the Lagrangian"):
        zyg.gradient(
            lambda t: optimize.minimize(lambda x: np.sum((x - t) ** 2), T, constraints=rule).fun,
            1.0,
        )


def test_robust_losses_are_refused():
    with pytest.raises(MissingRuleError, match="loss"):
        zyg.gradient(lambda t: optimize.least_squares(lambda x: x - t, T, loss="cauchy").cost, T)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda a: scipy.optimize.brentq(lambda v: v**2 - a, 0, 5), "optimize.brentq"),
        (lambda a: scipy.optimize.brentq(lambda v, a: v**2 - a, 0, 5, (a,)), "optimize.brentq"),
        (lambda a: scipy.optimize.bisect(lambda v: v**2 - a, 0, 5), "optimize.bisect"),
        (lambda a: scipy.optimize.ridder(lambda v: v**2 - a, 0, 5), "optimize.ridder"),
        (lambda a: scipy.integrate.quad(lambda v: v * a, 0, 1)[0], "integrate.quad"),
    ],
)
def test_plain_scipy_says_what_takes_watched_values(f, name):
    for derivative in (zyg.gradient, zyg.jacobian, zyg.hessian):
        with pytest.raises(ConversionError, match=rf"zyg\.scipy\.{name} instead of scipy\.{name}"):
            derivative(f, 2.0)


def test_c_code_that_calls_again_after_a_refusal_does_not_hide_it(monkeypatch):
    """While an exception is set, Python does not find what a class inherits, but in its cache."""
    for derivative in (zyg.jacobian, zyg.hessian):

        def root(a):
            def f(v):
                y = v**2 - a
                if v == 0:
                    monkeypatch.setattr(DualStrand, "unknown", v, raising=False)  # no cache
                return y

            return scipy.optimize.brentq(f, 0, 5)

        with pytest.raises(ConversionError, match=r"instead of scipy\.optimize\.brentq"):
            derivative(root, 2.0)
        monkeypatch.undo()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda a: scipy.optimize.fsolve(lambda v: v**2 - a, [1.0])[0], "fsolve"),
        (lambda a: scipy.optimize.root(lambda v: v**2 - a, [1.0]).x[0], "root"),
        (lambda a: scipy.optimize.leastsq(lambda v: v - a, [1.0])[0][0], "leastsq"),
    ],
)
def test_plain_minpack_says_what_takes_watched_values(f, name, capfd):
    for derivative in (zyg.gradient, zyg.jacobian):
        with pytest.raises(
            ConversionError,
            match=rf"zyg\.scipy\.optimize\.{name} instead of scipy\.optimize\.{name}",
        ):
            derivative(f, 2.0)
    assert "ConversionError" in capfd.readouterr().err  # MINPACK prints what it drops


def test_values_that_left_a_verb_by_a_side_effect_are_refused_if_they_are_used():
    def root(x, used):
        log = []
        zyg.checkpoint(lambda q: log.append(q * q) or q, x)
        return optimize.brentq(lambda v: v**2 - x * (log[0] if used else len(log)), 0.0, 5.0)

    assert zyg.gradient(lambda x: root(x, False), 2.0)[0] == pytest.approx(0.5 / np.sqrt(2.0))
    with pytest.raises(zyg.errors.AdjointError, match=r"left zyg\.checkpoint by a side effect"):
        zyg.gradient(lambda x: root(x, True), 2.0)


@pytest.mark.parametrize(
    ("f", "start"),
    [
        (lambda x, a: x * x - a, 1.0), (lambda x, a: x * x - a, 1),
        (lambda x, a: [x[0] ** 2 - a], [1.0]), (lambda x, a: x[0] ** 2 - a, np.ones(1)),
    ],
)  # fmt: skip
def test_roots_of_equations_whose_value_scipy_takes_for_a_vector(f, start):
    for method in ("hybr", "lm"):
        (slope,) = zyg.gradient(
            lambda a, m=method: optimize.root(f, start, (a,), method=m).x[0], 2.0
        )
        assert slope == pytest.approx(0.5 / math.sqrt(2.0))
    assert zyg.gradient(lambda a: optimize.fsolve(f, start, (a,))[0], 2.0)[0] == pytest.approx(
        slope
    )


def test_a_root_of_zygs_own_solver_that_is_a_number():
    (slope,) = zyg.gradient(lambda a: zyg.optimize.root(lambda x: x * x - a, 1.0).x, 2.0)
    assert slope == pytest.approx(0.5 / math.sqrt(2.0))


@pytest.mark.parametrize(
    "method", ["L-BFGS-B", "TNC", "SLSQP", "Nelder-Mead", "COBYLA", "COBYQA", "trust-constr"]
)
def test_a_bound_beside_which_a_search_ends_keeps_x(method):
    def place(t):
        f = lambda x: (x[0] - t) ** 2 + (x[1] - t * x[0]) ** 2  # noqa: E731
        bounds = [(0, 1), (0, 9)]
        return optimize.minimize(f, [0.5, 0.5], method=method, bounds=bounds).x

    np.testing.assert_allclose(zyg.jacobian(place, 2.0)[0], [0.0, 1.0], atol=1e-3)


def test_residuals_and_curves_that_a_bound_holds():
    def fit(y):
        f = lambda x: np.stack([x[0] - y, x[1] - y * x[0]])  # noqa: E731
        return optimize.least_squares(f, [0.5, 0.5], bounds=([0, 0], [1, 9])).x

    def line(y):
        f = lambda x, a, b: a * x + b * x * x  # noqa: E731
        bounds = ([-9.0, -9.0], [1.0, 9.0])
        return optimize.curve_fit(f, DECAY, y * DECAY * (1 + DECAY), bounds=bounds)[0]

    np.testing.assert_allclose(zyg.jacobian(fit, 2.0)[0], [0.0, 1.0], atol=1e-6)
    slopes = zyg.jacobian(line, 2.0)[0]
    change = (line(2.001) - line(1.999)) / 0.002
    np.testing.assert_allclose(slopes, change, atol=1e-3)
    assert slopes[0] == pytest.approx(0.0, abs=1e-6)


def test_a_minimum_near_a_bound_that_does_not_hold_it():
    def place(t):
        f = lambda x: np.sum((x - t) ** 2)  # noqa: E731
        return optimize.minimize(f, [0.5], method="trust-constr", bounds=[(0, 1)], tol=1e-12).x[0]

    assert zyg.gradient(place, 1.0 - 2e-4)[0] == pytest.approx(1.0, rel=1e-3)
    assert zyg.gradient(place, 1.0 + 2e-4)[0] == pytest.approx(0.0, abs=1e-3)


def test_a_search_that_was_broken_off_has_no_derivative():
    def place(t):
        f = lambda x: (1 + t) * (x[0] - t) ** 2 + (t * x[1] - 1) ** 2  # noqa: E731
        return np.sum(optimize.minimize(f, [1.0, 1.0], options={"maxiter": 1}).x)

    with pytest.raises(ConvergenceError, match="a Newton step would move it"):
        zyg.gradient(place, 2.0)


def test_functions_that_give_their_slopes_too():
    both = {"x0": 1.0, "fprime": True}
    for root in (
        lambda a: optimize.root_scalar(lambda x: (x * x - a, 2 * x), **both).root,
        lambda a: (
            optimize.root_scalar(lambda x: (x * x - a, 2 * x, 2.0), **both, fprime2=True).root
        ),
        lambda a: optimize.root(lambda x: (x * x - a, np.diag(2 * x)), [1.0], jac=True).x[0],
    ):
        assert zyg.gradient(root, 2.0)[0] == pytest.approx(0.5 / math.sqrt(2.0))


def test_the_cost_of_residuals_and_the_root_of_a_full_output():
    def cost(a):
        f = lambda x: np.stack([x[0] - a, x[0] * x[1] - 1.0, x[1] + a])  # noqa: E731
        return optimize.least_squares(f, [1.0, 1.0], **SHARP).cost

    zyg.check_gradient(cost, 2.0, order=1, rtol=1e-5)
    for solver in (optimize.brentq, optimize.toms748):

        def root(a, solver=solver):
            return solver(lambda x: x * x - a, 0.0, 3.0, full_output=True)[1].root

        assert zyg.gradient(root, 2.0)[0] == pytest.approx(0.5 / math.sqrt(2.0))


@pytest.mark.parametrize(
    "said",
    [
        lambda f: optimize.minimize(f, [1.0, 1.0]).hess_inv[0, 0],
        lambda f: 2 * optimize.minimize(f, [1.0, 1.0], method="L-BFGS-B").hess_inv,
        lambda f: np.sum(optimize.minimize(f, [1.0, 1.0]).jac ** 2),
        lambda f: np.linalg.norm(optimize.fmin_bfgs(f, [1.0, 1.0], full_output=1, disp=0)[3]),
        lambda f: optimize.fmin_l_bfgs_b(f, [1.0, 1.0], approx_grad=True)[2]["grad"] + 1,
        lambda f: optimize.least_squares(f, [1.0, 1.0]).jac @ np.ones(2),
        lambda f: optimize.fsolve(lambda x: x - f(x), [1.0, 1.0], full_output=True)[1]["fvec"][0],
    ],
)
def test_what_a_solver_says_of_its_steps_is_not_computed_with(said):
    with pytest.raises(MissingRuleError, match="norms and estimates"):
        zyg.gradient(lambda a: said(lambda x: np.sum((x - a) ** 2)), 2.0)
    plain = optimize.minimize(lambda x: np.sum((x - 2.0) ** 2), [1.0, 1.0])
    assert type(plain.hess_inv) is np.ndarray


def test_bounds_of_a_curve_do_not_move():
    def fit(high):
        f = lambda x, a: a * x  # noqa: E731
        return optimize.curve_fit(f, DECAY, 2 * DECAY, bounds=([0.0], [high]))[0][0]

    with pytest.raises(MissingRuleError, match="watched bounds"):
        zyg.gradient(fit, 1.0)


def test_as_many_points_as_parameters_leave_the_covariance_open():
    def fit(y):
        f = lambda x, a, b: a * x + b  # noqa: E731
        with pytest.warns(scipy.optimize.OptimizeWarning):
            return optimize.curve_fit(f, np.array([0.0, 1.0]), y)

    (_, covariance), _ = zyg.pullback(fit, np.array([1.0, 3.0]))
    assert np.all(np.isinf(covariance))


def test_many_roots_of_newtons_method_keep_their_names():
    def roots(a):
        found = optimize.newton(lambda x: x * x - a, np.array([1.0, 2.0]), full_output=True)
        return found.root[np.asarray(found.converged)]

    np.testing.assert_allclose(zyg.jacobian(roots, 2.0)[0], 0.5 / math.sqrt(2.0), rtol=1e-8)
