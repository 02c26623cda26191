"""Boundary value problems, against solutions in closed form and differences."""

import numpy as np
import pytest

import zyg
from zyg.errors import ConvergenceError, MissingRuleError
from zyg.scipy import integrate

X = np.linspace(0.0, 1.0, 5)
C = np.array([0.7, 1.3])


def hanging(c, x=X, **options):
    """y'' = c0 y + sin(x y), from c1 to 1."""

    def rates(t, y):
        return np.stack([y[1], c[0] * y[0] + np.sin(t * y[0])])

    def ends(ya, yb):
        return np.stack([ya[0] - c[1], yb[0] - 1.0])

    return integrate.solve_bvp(rates, ends, x, np.ones((2, len(x))), **options)


def numbers(found):
    return np.concatenate(
        [np.ravel(found.y), np.ravel(found.yp), found.sol(np.array([0.3, 0.77]))[0]]
    )


def test_solutions_move_with_what_their_functions_hold():
    def f(c):
        return numbers(hanging(c))

    np.testing.assert_allclose(zyg.pullback(f, C)[0], f(C), rtol=1e-13, atol=1e-13)
    step = 1e-4 * np.array([0.6, 0.8])
    slope = (f(C + step) - f(C - step)) / 2e-4
    np.testing.assert_allclose(zyg.jacobian(f, C)[0] @ step / 1e-4, slope, rtol=1e-6, atol=1e-7)
    assert type(zyg.pullback(lambda c: hanging(c).y[0], C)[0]) is np.ndarray


def test_a_solution_in_closed_form():
    def f(rate):
        def rates(t, y):
            return np.stack([y[1], -(rate**2) * y[0]])

        def ends(ya, yb):
            return np.stack([ya[0], yb[0] - np.sin(rate)])

        return integrate.solve_bvp(rates, ends, X, np.ones((2, 5)), tol=1e-6).sol(0.4)[0]

    def slope(rate):
        return zyg.gradient(f, rate)[0]

    assert slope(1.1) == pytest.approx(0.4 * np.cos(0.44), abs=1e-6)
    assert zyg.pushforward(f, (1.1,), (1.0,))[1] == pytest.approx(0.4 * np.cos(0.44), abs=1e-6)
    assert zyg.gradient(slope, 1.1)[0] == pytest.approx(-0.16 * np.sin(0.44), abs=1e-5)


def test_parameters_that_are_found():
    """The frequency k of y'' = -k**2 c y is pi / sqrt(c)."""

    def f(c):
        def rates(t, y, p):
            return np.stack([y[1], -(p[0] ** 2) * c * y[0]])

        def ends(ya, yb, p):
            return np.stack([ya[0], yb[0], ya[1] - p[0] * c])

        y = np.stack([np.sin(np.pi * X), np.pi * np.cos(np.pi * X)])
        return integrate.solve_bvp(rates, ends, X, y, p=[3.0], tol=1e-6).p[0]

    assert zyg.gradient(f, 1.2)[0] == pytest.approx(-0.5 * np.pi * 1.2**-1.5, rel=1e-5)


def test_points_that_move():
    def f(end, c):
        found = hanging(c, end * X, tol=1e-6)
        return np.concatenate([found.y[0], found.x])

    step = 1e-4
    slope = (f(1.2 + step, C) - f(1.2 - step, C)) / (2 * step)
    found = zyg.jacobian(lambda end: f(end, C), 1.2)[0]
    np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-7)


def test_lists_and_args_of_the_kind_that_scipy_takes():
    def f(c):
        return integrate.solve_bvp(
            lambda t, y: [y[1], c * y[0]], lambda a, b: [a[0] - 1.0, b[0]], X, np.ones((2, 5))
        ).y[0]

    zyg.check_gradient(f, 0.8, order=1, rtol=1e-3)


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (lambda c: hanging(c, S=np.eye(2)).y, MissingRuleError, "with S"),
        (lambda c: hanging(c, tol=1e-9, max_nodes=6).y, ConvergenceError, "max"),
        (lambda c: np.max(hanging(c).rms_residuals), MissingRuleError, "norms and estimates"),
    ],
)
def test_what_has_no_derivative_says_so(f, error, text):
    with pytest.raises(error, match=text):
        zyg.pullback(f, C)


def test_a_solution_far_from_that_of_its_equations_has_no_derivative():
    def middle(c, tol):
        def rates(t, y):
            return np.stack([y[1], -c * np.exp(y[0])])

        def ends(ya, yb):
            return np.stack([ya[0], yb[0]])

        return integrate.solve_bvp(rates, ends, X, np.zeros((2, 5)), tol=tol).sol(0.5)[0]

    change = (middle(2.001, 1e-8) - middle(1.999, 1e-8)) / 0.002
    assert zyg.gradient(lambda c: middle(c, 1e-3), 2.0)[0] == pytest.approx(change, rel=1e-3)
    with pytest.raises(ConvergenceError, match="Newton step"):
        zyg.gradient(lambda c: middle(c, 1.0), 2.0)


def test_without_anything_watched_it_is_scipys():
    found, _ = zyg.pullback(lambda c: c * hanging(C).y[0], 1.5)
    np.testing.assert_array_equal(found, 1.5 * hanging(C).y[0])
