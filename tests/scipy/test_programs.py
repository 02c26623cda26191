"""Linear programs, least squares between bounds, global minima and differences."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import zyg
from zyg.errors import AdjointError, ConvergenceError, MissingRuleError
from zyg.scipy import optimize

C = np.array([0.7, 0.3])
BOX = [(-3.0, 3.0), (-3.0, 3.0)]
START = np.array([0.1, -0.2])


def hill(x, c):
    return np.sum((x - np.sin(c)) ** 2) + 0.3 * (x[0] * x[1] - c[0]) ** 2


def both(x, c):
    slope = 2 * (x - np.sin(c)) + 0.6 * (x[0] * x[1] - c[0]) * x[::-1]
    return hill(x, c), slope


FINE = {"method": "SLSQP", "options": {"ftol": 1e-14}}
GLOBAL = {
    "basinhopping": lambda c: optimize.basinhopping(
        hill, START, 3, minimizer_kwargs={"args": (c,), "tol": 1e-11}, rng=1
    ),
    "basinhopping with slopes": lambda c: optimize.basinhopping(
        both, START, 3, minimizer_kwargs={"args": (c,), "jac": True, "bounds": BOX}, rng=1
    ),
    "shgo": lambda c: optimize.shgo(
        hill, BOX, (c,), n=8, minimizer_kwargs=FINE
    ),
    "direct": lambda c: optimize.direct(lambda x: hill(x, c), BOX, len_tol=1e-9, vol_tol=1e-19),
}  # fmt: skip
VECTORS = {
    "brute": lambda c: optimize.brute(hill, BOX, (c,), 5),
    "fmin_cobyla": lambda c: optimize.fmin_cobyla(
        hill, START, [lambda x, c: 9 - x @ x], (c,), rhoend=1e-9
    ),
    "fmin_cobyla, one": lambda c: optimize.fmin_cobyla(
        lambda x: hill(x, c), START, lambda x: 9 - x[0], rhoend=1e-9
    ),
}


def exact(c):
    return optimize.minimize(hill, START, (c,), jac="zyg", tol=1e-13).x


@pytest.mark.parametrize("name", GLOBAL)
def test_global_minima_move_with_what_their_function_holds(name):
    def f(c):
        found = GLOBAL[name](c)
        return np.append(found.x, found.fun)

    expected = zyg.jacobian(lambda c: np.append(exact(c), hill(exact(c), c)), C)[0]
    np.testing.assert_allclose(zyg.jacobian(f, C)[0], expected, rtol=2e-4, atol=2e-4)
    np.testing.assert_array_equal(zyg.pullback(lambda c: f(c)[:2], C)[0], f(C)[:2])


@pytest.mark.parametrize("name", VECTORS)
def test_minima_after_a_search_do(name):
    expected = zyg.jacobian(exact, C)[0]
    np.testing.assert_allclose(zyg.jacobian(VECTORS[name], C)[0], expected, rtol=2e-3, atol=2e-3)


def test_further_minima_that_are_returned_move_too():
    def local(c):
        found = optimize.shgo(
            lambda x: (x[0] ** 2 - c[0]) ** 2 + 0.2 * c[1] * x[0],
            [(-2.0, 2.0)],
            n=9,
            sampling_method="sobol",
            minimizer_kwargs=FINE,
        )
        return np.append(found.xl[:, 0], found.funl)

    def lowest(c):
        best = GLOBAL["basinhopping"](c).lowest_optimization_result
        return np.append(best.x, best.fun)

    assert len(local(C)) > 2
    step = 1e-3 * np.array([0.6, 0.8])
    slope = (local(C + step) - local(C - step)) / 2e-3
    np.testing.assert_allclose(zyg.jacobian(local, C)[0] @ step / 1e-3, slope, rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(
        zyg.jacobian(lowest, C)[0][:2], zyg.jacobian(exact, C)[0], rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize(("start", "held"), [(0.1, True), (1.2, False), (3.0, True)])
def test_a_minimum_in_the_last_box_at_an_end_stays_there(start, held):
    def f(c):
        return optimize.direct(lambda x: (x[0] - c) ** 2, [(0.5, 2.0)]).x[0]

    assert zyg.gradient(f, start)[0] == pytest.approx(0.0 if held else 1.0, abs=1e-4)


def test_a_search_that_ends_too_early_has_no_derivative():
    with pytest.raises(ConvergenceError, match="Newton step"):
        zyg.gradient(
            lambda c: optimize.direct(lambda x: (x[0] - c) ** 2, [(0.5, 2.0)], maxiter=2).x[0], 1.2
        )


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda c: optimize.brute(hill, BOX, (c,), 5, finish=None), "finish"),
        (lambda c: optimize.brute(hill, BOX, (c,), 5, full_output=True)[0], "full_output"),
        (lambda c: optimize.fmin_cobyla(hill, START, [lambda x, c: 0.1 - x[0]], (c,)), "hold"),
        (lambda c: optimize.shgo(hill, BOX, (c,), {"type": "ineq", "fun": lambda x, c: x[0]}).x,
         "constraints"),
        (lambda c: optimize.basinhopping(
            hill, START, 1, minimizer_kwargs={"args": (c,), "bounds": [(c[0], 1), (0, 1)]}).x,
         "watched bounds"),
        (lambda c: optimize.line_search(lambda x: hill(x, c), lambda x: both(x, c)[1],
                                        START, -START)[0], "good enough"),
        (lambda c: optimize.linprog(c, bounds=(0, 1), integrality=1).fun, "integrality"),
        (lambda c: optimize.lsq_linear(np.ones((2, 2)) * c, C).x, "more than one"),
    ],
)  # fmt: skip
def test_what_has_no_rule_is_refused_by_name(f, text):
    with pytest.raises(MissingRuleError, match=text):
        zyg.gradient(lambda c: np.sum(f(c)), C)


# Linear programs

COSTS = np.array([-1.0, -2.0, 0.7])
ROWS = np.array([[1.0, 1.0, 0.4], [0.3, 2.0, -1.0]])
SIDE = np.array([4.0, 5.0])
SUM, TOTAL = np.array([[1.0, 0.5, 1.0]]), np.array([3.0])
ENDS = np.array([[0.0, 10.0], [0.2, 10.0], [0.1, 10.0]])


def marginals(c, a, b, a_eq, b_eq, ends):
    found = optimize.linprog(c, a, b, a_eq, b_eq, ends)
    assert found.status == 0
    numbers = [found.x, found.slack, found.con, found.fun, found.lower.marginals]
    numbers += [found.upper.residual, found.upper.marginals, found.lower.residual]
    numbers += [found.ineqlin.marginals, found.ineqlin.residual, found.eqlin.marginals]
    return np.concatenate([np.ravel(x) for x in numbers])


@pytest.mark.slow
def test_linear_programs():
    data = COSTS, ROWS, SIDE, SUM, TOTAL, ENDS
    np.testing.assert_array_equal(zyg.pullback(marginals, *data)[0], marginals(*data))
    zyg.check_gradient(marginals, *data)


BOUNDS = {
    "default": (0, None), "a pair": (0.0, 10.0), "none": None, "pairs": [(0, None)] * 3,
    "one pair": [(0.0, 10.0)], "fixed": [(0, None), (0.3, 0.3), (0.1, 9.0)],
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_as_scipy_takes_them(name):
    def f(c, a, b):
        found = optimize.linprog(c, A_ub=a, b_ub=b, bounds=BOUNDS[name])
        return np.append(found.x, found.fun)

    zyg.check_gradient(f, COSTS, ROWS, SIDE, order=1)


def test_bounds_that_move_in_a_list():
    def f(low, high):
        ends = [(None, high), (low, None), (low * high, 10.0)]
        return optimize.linprog(COSTS, ROWS, SIDE, bounds=ends).x

    zyg.check_gradient(f, 0.3, 1.1)


def test_sparse_matrices():
    def f(c, b):
        return optimize.linprog(c, scipy.sparse.csr_array(ROWS), b).x

    zyg.check_gradient(f, COSTS, SIDE)


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda c: optimize.linprog(c, [[1.0, 1.0], [1.0, 0.0]], [1.0, 1.0]).x, "3 constraints"),
        (lambda c: optimize.linprog([-1.0, -1.0], [[1.0, 1.0]], c[:1]).x, "no part"),
    ],
)
def test_degenerate_vertices_have_no_derivative(f, text):
    with pytest.raises(AdjointError, match=text):
        zyg.pullback(f, np.array([-2.0, -1.0]) if "3" in text else np.array([1.0]))


def test_programs_without_solution_are_scipys():
    found, _ = zyg.pullback(lambda b: optimize.linprog([1.0], [[1.0]], b).status, SIDE[:1] * -1)
    assert found == 2


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 4))
def test_a_minimum_moves_with_costs_by_its_place_and_with_limits_by_its_marginals(seed, n, m):
    rng = np.random.default_rng(seed)
    c, a, b = rng.normal(size=n), rng.normal(size=(m, n)), rng.uniform(0.5, 1.5, m)
    ends = np.stack([-rng.uniform(0.5, 1.0, n), rng.uniform(0.5, 1.0, n)], axis=1)
    found = scipy.optimize.linprog(c, a, b, bounds=ends)

    slopes = zyg.gradient(lambda *x: optimize.linprog(*x[:3], bounds=x[3]).fun, c, a, b, ends)
    weights = found.ineqlin.marginals
    np.testing.assert_allclose(slopes[0], found.x, atol=1e-9)
    np.testing.assert_allclose(slopes[1], -np.outer(weights, found.x), atol=1e-9)
    np.testing.assert_allclose(slopes[2], weights, atol=1e-9)
    both = np.stack([found.lower.marginals, found.upper.marginals], axis=1)
    np.testing.assert_allclose(slopes[3], both, atol=1e-9)


# Least squares

A, B = np.random.default_rng(2).normal(size=(2, 6, 3))
LIMITS = np.array([-0.1, 0.05])


@pytest.mark.parametrize("method", ["trf", "bvls"])
def test_least_squares_between_bounds(method):
    def f(a, b, ends):
        found = optimize.lsq_linear(a, b, (ends[0], ends[1]), method)
        return np.concatenate([found.x, found.fun, [found.cost], found.unbounded_sol[0]])

    plain = scipy.optimize.lsq_linear(A, B[:, 0], (-0.1, 0.05), method)
    assert {*plain.active_mask} > {0}
    np.testing.assert_array_equal(zyg.pullback(f, A, B[:, 0], LIMITS)[0], f(A, B[:, 0], LIMITS))
    zyg.check_gradient(f, A, B[:, 0], LIMITS, rtol=1e-3 if method == "trf" else 1e-4)


@pytest.mark.parametrize("beyond", [0.1, 1e-3, 5e-5, 1e-6])
def test_least_squares_that_end_beside_the_bound_that_holds_them(beyond):
    a, best = A[:, :2], np.array([1.0, 0.5])

    def place(t):
        return optimize.lsq_linear(a, a @ best * t, ([0.0, 0.0], [1.0, 2.0])).x

    exact = [0.0, 0.5 + a[:, 0] @ a[:, 1] / (a[:, 1] @ a[:, 1])]
    np.testing.assert_allclose(zyg.jacobian(place, 1.0 + beyond)[0], exact, atol=1e-9)
    np.testing.assert_allclose(zyg.jacobian(place, 1.0 - beyond)[0], best, atol=1e-9)


def test_least_squares_without_bounds():
    zyg.check_gradient(lambda a, b: optimize.lsq_linear(a, b).x, A, B[:, 0])
    bounds = scipy.optimize.Bounds(-0.1, [0.05, 1.0, 1.0])
    zyg.check_gradient(lambda b: optimize.lsq_linear(A, b, bounds, method="bvls").x, B[:, 0])


# Differences


def several(x, c):
    return np.sin(x * c[0]) + x[::-1] * x[0] * c[1]


@pytest.mark.parametrize("f", [hill, several], ids=lambda f: f.__name__)
def test_differences_are_differentiated_as_they_are_computed(f):
    def differences(x, c, h):
        return optimize.approx_fprime(x, f, h, c)

    x, h = np.array([0.3, -0.8]), np.array([1e-2, 2e-2])
    np.testing.assert_array_equal(
        zyg.pullback(differences, x, C, h)[0], scipy.optimize.approx_fprime(x, f, h, C)
    )
    zyg.check_gradient(differences, x, C, h)
    np.testing.assert_array_equal(
        zyg.pullback(lambda x: optimize.approx_fprime(x, f, 1e-8, C), x)[0],
        scipy.optimize.approx_fprime(x, f, 1e-8, C),
    )


def test_too_many_axes_are_refused_by_scipy():
    with pytest.raises(ValueError, match="1 dimension"):
        zyg.pullback(lambda x: optimize.approx_fprime(x, lambda x: np.outer(x, x)), C)
