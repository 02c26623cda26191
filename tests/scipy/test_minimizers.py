"""Minima and roots by the solvers that have a function of their own."""

import numpy as np
import pytest
import scipy.optimize

import zyg
from zyg.errors import MissingRuleError
from zyg.scipy import optimize

C = np.array([0.7, 0.3])
QUIET = {"disp": 0}
START = np.array([0.1, -0.2])
BOX = [(-3.0, 3.0), (-3.0, 3.0)]


def hill(x, c):
    return np.sum((x - np.sin(c)) ** 2) + 0.3 * (x[0] * x[1] - c[0]) ** 2


def slope_of(x, c):
    return 2 * (x - np.sin(c)) + 0.6 * (x[0] * x[1] - c[0]) * x[::-1]


def both(x, c):
    return hill(x, c), slope_of(x, c)


def valley(x, c):
    return np.cosh(x - c[0]) + 0.1 * x * c[1]


SMOOTH = {
    "fmin": lambda c: optimize.fmin(hill, START, (c,), 1e-10, 1e-14, **QUIET),
    "fmin_powell": lambda c: optimize.fmin_powell(hill, START, (c,), 1e-10, 1e-14, **QUIET),
    "fmin_bfgs": lambda c: optimize.fmin_bfgs(hill, START, slope_of, (c,), 1e-10, **QUIET),
    "fmin_cg": lambda c: optimize.fmin_cg(hill, START, slope_of, (c,), 1e-9, **QUIET),
    "fmin_ncg": lambda c: optimize.fmin_ncg(hill, START, slope_of, args=(c,), **QUIET),
    "fmin_l_bfgs_b": lambda c: optimize.fmin_l_bfgs_b(both, START, args=(c,), pgtol=1e-10)[0],
    "fmin_tnc": lambda c: optimize.fmin_tnc(both, START, args=(c,), messages=0, pgtol=1e-12)[0],
    "fmin_slsqp": lambda c: optimize.fmin_slsqp(
        hill, START, fprime=slope_of, args=(c,), acc=1e-15, iprint=0
    ),
    "differential_evolution": lambda c: optimize.differential_evolution(
        hill, BOX, (c,), tol=1e-9, rng=1, maxiter=30, popsize=6
    ).x,
    "leastsq": lambda c: optimize.leastsq(lambda x, c: slope_of(x, c), START, (c,))[0],
    "brent": lambda c: optimize.brent(valley, (c,), (-1.0, 2.0), 1e-10),
    "golden": lambda c: optimize.golden(valley, (c,), (-1.0, 2.0), 1e-9),
    "fminbound": lambda c: optimize.fminbound(valley, -3.0, 3.0, (c,), 1e-9),
    **{
        name: lambda c, n=name: getattr(optimize, n)(
            lambda x: slope_of(x, c), START, f_tol=1e-10
        )
        for name in ("broyden1", "broyden2", "anderson", "newton_krylov")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_minima_move_with_what_their_function_holds(name):
    exact = zyg.jacobian(lambda c: optimize.root(lambda x: slope_of(x, c), START, tol=1e-12).x, C)
    if name in ("brent", "golden", "fminbound"):
        exact = zyg.jacobian(
            lambda c: optimize.brentq(
                lambda x: np.sinh(x - c[0]) + 0.1 * c[1], -3.0, 3.0, xtol=1e-13
            ),
            C,
        )

    found = zyg.jacobian(SMOOTH[name], C)
    np.testing.assert_allclose(found[0], exact[0], rtol=1e-5, atol=1e-5)


def test_values_of_minima_move_too():
    def f(c):
        return optimize.fmin_bfgs(hill, START, slope_of, (c,), 1e-10, full_output=1, disp=0)[1]

    def g(c):
        return optimize.fmin_l_bfgs_b(both, START, args=(c,), pgtol=1e-10)[1]

    zyg.check_gradient(f, C, order=1, rtol=1e-4)
    zyg.check_gradient(g, C, order=1, rtol=1e-4)


A, B = np.random.default_rng(2).normal(size=(2, 6, 3))


def test_least_squares_that_are_not_negative():
    assert 0 in scipy.optimize.nnls(A, B[:, 0])[0]
    zyg.check_gradient(lambda a, b: np.append(*optimize.nnls(a, b)), A, B[:, 0])
    x, distance = zyg.pullback(lambda a: optimize.nnls(a, B[:, 0]), A)[0]
    np.testing.assert_array_equal(x, scipy.optimize.nnls(A, B[:, 0])[0])
    assert distance == scipy.optimize.nnls(A, B[:, 0])[1]


@pytest.mark.parametrize("increasing", [True, False])
def test_isotonic_regression(increasing):
    def f(y, w):
        found = optimize.isotonic_regression(y, weights=w, increasing=increasing)
        return np.append(found.x, found.weights)

    zyg.check_gradient(f, np.ravel(A), 0.5 + np.ravel(B) ** 2)
    zyg.check_gradient(lambda y: optimize.isotonic_regression(y).x, np.ravel(A))


@pytest.mark.parametrize("name", ["rosen", "rosen_der", "rosen_hess"])
def test_rosenbrocks_function(name):
    x = np.ravel(A)[:5]
    zyg.check_gradient(getattr(optimize, name), x)
    np.testing.assert_array_equal(
        zyg.pullback(getattr(optimize, name), x)[0], getattr(scipy.optimize, name)(x)
    )


def test_assignments_are_places():
    def f(cost):
        rows, columns = optimize.linear_sum_assignment(cost)
        return np.sum(cost[rows, columns] ** 2)

    zyg.check_gradient(f, A)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda c: optimize.fmin(hill, START, (c,), disp=0, retall=1)[0], "retall"),
        (lambda c: optimize.fminbound(valley, c[0] - 5, 3.0, (C,)), "watched x1"),
        (lambda c: optimize.fmin_slsqp(hill, START, [lambda x, c: x[0]], args=(c,)), "eqcons"),
        (lambda c: optimize.leastsq(hill, START, (c,), full_output=True), "full_output"),
        (lambda c: optimize.milp(c).x, "milp"),
        (lambda c: optimize.minimize(lambda x: hill(x, C), START, bounds=[(c[0], 1), (0, 1)]).x,
         "watched bounds"),
    ],
)  # fmt: skip
def test_what_has_no_rule_is_refused_by_name(f, text):
    with pytest.raises(MissingRuleError, match=text):
        zyg.pullback(f, C)


SEARCHES = {
    "fminbound": lambda f: optimize.fminbound(f, 0.5, 2.0),
    "x": lambda f: optimize.minimize_scalar(f, bounds=(0.5, 2.0), method="bounded").x,
    "value": lambda f: optimize.minimize_scalar(f, bounds=(0.5, 2.0)).fun,
}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize(("start", "end"), [(0.1, 0.5), (1.2, None), (3.0, 2.0)])
def test_a_minimum_at_an_end_of_the_interval_stays_there(name, start, end):
    found = zyg.gradient(lambda c: SEARCHES[name](lambda x: (x - c) ** 2), start)[0]
    slope = 0.0 if end is None else 2 * (start - end)
    exact = slope if name == "value" else float(end is None)
    assert found == pytest.approx(exact, abs=1e-4)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_of_complex_data_there_are_the_real_parts():
    def nnls(a):
        return optimize.nnls(a, B[:, 0])[0]

    def monotone(y):
        return optimize.isotonic_regression(y).x

    for f, x in ((nnls, A), (monotone, A[:, 0])):
        y, back = zyg.pullback(f, x * (1 + 2j))
        expected = zyg.pullback(f, x)[1](np.ones_like(y))[0]
        np.testing.assert_array_equal(back(np.ones_like(y))[0], expected + 0j)
