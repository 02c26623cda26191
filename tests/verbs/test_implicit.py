"""Solutions of equations and fixed points: their derivatives, and what has none."""

from decimal import Decimal
from fractions import Fraction
from functools import reduce

import mpmath
import numpy as np
import pytest

import zyg
from zyg.errors import ConvergenceError, HolomorphicError, StructureError

X = np.array([0.5, -1.2, 2.0])
A = np.array([[4.0, 1.0], [1.0, 3.0]])
B = np.array([1.0, 2.0])


def by(k):
    """The derivative of a function of a number, in reverse (0) or forward (1) mode."""
    return (
        lambda f: lambda x: zyg.gradient(f, x, zeros=True)[0],
        lambda f: lambda x: zyg.pushforward(f, (x,), (1.0,))[1],
    )[k]


def root(a):
    return zyg.implicit(lambda x, a: x * x - a, zyg.primal(a) ** 0.5, a)


def root_by_closure(a):
    return zyg.implicit(lambda x: x * x - a, zyg.primal(a) ** 0.5)


def heron(a):
    return zyg.fixed_point(lambda x, a: (x + a / x) / 2, 1.0, a)


def heron_by_closure(a):
    return zyg.fixed_point(lambda x: (x + a / x) / 2, 1.0)


def damped(a):  # its derivative by x does not vanish
    return zyg.fixed_point(lambda x, a: x - 0.2 * (x * x - a), 1.0, a)


def of_an_array(a):
    def residual(x, a):
        return np.stack([x[0] * x[1] - a, x[0] - x[1]])

    return np.sum(zyg.implicit(residual, np.full(2, zyg.primal(a) ** 0.5), a)) / 2


@pytest.mark.parametrize("f", [root, root_by_closure, heron, heron_by_closure, damped, of_an_array])
def test_roots_to_third_order_in_every_mixture_of_modes(f):
    closed = {1: 0.25, 2: -1 / 32, 3: 3 / 256}
    for order, expected in closed.items():
        for modes in np.ndindex(*[2] * order):
            found = reduce(lambda g, k: by(k)(g), modes, f)(4.0)
            assert found == pytest.approx(expected, rel=1e-6), modes


@pytest.mark.parametrize(
    "a", [4.0, 4, np.float32(4), np.array(4.0), Fraction(4), Decimal(4), mpmath.mpf(4)]
)
def test_other_types_of_numbers(a):
    two = np.array(2.0) if isinstance(a, np.ndarray) else type(a)(2)
    for f in (
        lambda a: zyg.implicit(lambda x, a: x * x - a, two, a),
        lambda a: zyg.fixed_point(lambda x, a: (x + a / x) / 2, two, a),
    ):
        slope = zyg.gradient(f, a)[0]
        y, y_dot = zyg.pushforward(f, (a,), (a / a,))
        assert float(slope) == pytest.approx(0.25, rel=1e-6)
        assert float(y_dot) == pytest.approx(0.25, rel=1e-6)
        assert isinstance(slope, float if isinstance(a, int) else type(a))
        assert isinstance(y_dot, float if isinstance(y, int) else type(y))


def linear(a, b):
    x = np.linalg.solve(zyg.primal(a), zyg.primal(b))
    return zyg.implicit(lambda x, a, b: a @ x - b, x, a, b)


def test_a_linear_equation_is_solve():
    def f(a, b):
        return np.sum(linear(a, b) ** 3)

    def g(a, b):
        return np.sum(np.linalg.solve(a, b) ** 3)

    for found, expected in zip(zyg.gradient(f, A, B), zyg.gradient(g, A, B), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(
        zyg.hessian(lambda a: f(a, B), A), zyg.hessian(lambda a: g(a, B), A), atol=1e-14
    )
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(
            zyg.jacobian(lambda b: linear(A, b), B, mode=mode)[0], np.linalg.inv(A), atol=1e-15
        )


def contraction(x, a, b):
    return 0.2 * np.tanh(a @ x) + b


def unrolled(a, b):
    x = np.zeros(2)
    for _ in range(40):
        x = contraction(x, a, b)
    return x


def test_a_fixed_point_has_the_derivatives_of_the_iteration():
    def f(a, b):
        return zyg.fixed_point(contraction, np.zeros(2), a, b)

    a, b = A, 0.1 * B
    np.testing.assert_allclose(f(a, b), unrolled(a, b), rtol=1e-9)
    for found, expected in zip(
        zyg.gradient(lambda a, b: np.sum(f(a, b) ** 2), a, b),
        zyg.gradient(lambda a, b: np.sum(unrolled(a, b) ** 2), a, b),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-8)
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(
            zyg.jacobian(lambda b: f(a, b), b, mode=mode)[0],
            zyg.jacobian(lambda b: unrolled(a, b), b)[0],
            rtol=1e-8,
        )
    np.testing.assert_allclose(
        zyg.hessian(lambda b: np.sum(f(a, b) ** 2), b),
        zyg.hessian(lambda b: np.sum(unrolled(a, b) ** 2), b),
        rtol=1e-7,
    )


@pytest.mark.parametrize("modes", [*np.ndindex(2, 2)])
def test_a_second_derivative_where_the_first_vanishes(modes):
    # The cotangent of the fixed point is 0 there; its derivative is not.
    def f(a):
        return zyg.fixed_point(lambda x, a: 0.5 * x + a, 1.0, a) ** 2

    assert reduce(lambda g, k: by(k)(g), modes, f)(0.0) == pytest.approx(8.0)


def test_the_steps_of_the_iteration_are_not_kept():
    lengths = []

    def f(a):
        x = zyg.fixed_point(lambda x, a: 0.99 * x + a, 0.0, a)
        lengths.append(len(a.strand.tape))
        return x

    zyg.gradient(f, 1.0)
    assert lengths == [5]


def test_a_start_and_a_solution_are_constants():
    assert zyg.gradient(lambda a, x: zyg.implicit(lambda x, a: x - a, x, a), 2.0, 2.0) == (
        1.0,
        None,
    )
    found = zyg.gradient(lambda a, x: zyg.fixed_point(lambda x, a: 0.5 * x + a, x, a), 2.0, 3.0)
    assert found == (pytest.approx(2.0), None)


def test_without_dependence():
    assert zyg.implicit(lambda x: x - 1.0, X) is X
    assert zyg.gradient(lambda a: a * zyg.implicit(lambda x: x * x - 4, 2.0), 4.0) == (2.0,)
    assert zyg.fixed_point(np.cos, 0.5) == pytest.approx(0.7390851332)


@pytest.mark.parametrize("shape", [(0,), (2, 2), ()])
def test_any_shape(shape):
    x = np.full(shape, 2.0)

    def f(a):
        return np.sum(zyg.implicit(lambda x, a: x * x - a, x, a))

    def g(a):
        return np.sum(zyg.fixed_point(lambda x, a: (x + a / x) / 2, x, a))

    for h in (f, g):
        assert zyg.gradient(h, 4.0) == (pytest.approx(0.25 * x.size),)
        found = zyg.gradient(h, 4.0 + 0 * x, zeros=True)[0]
        assert found.shape == shape
        np.testing.assert_allclose(found, 0.25)


def test_float32_converges_to_its_own_precision():
    rng = np.random.default_rng(0)
    for _ in range(10):
        matrix = (0.3 * rng.normal(size=(5, 5))).astype(np.float32)
        b = rng.normal(size=5).astype(np.float32)

        def f(b, matrix=matrix):
            step = lambda x, b: np.tanh(matrix @ x) * np.float32(0.5) + b  # noqa: E731
            return np.sum(zyg.fixed_point(step, np.zeros(5, np.float32), b))

        assert zyg.gradient(f, b)[0].dtype == np.float32


# Complex numbers


def test_complex_fixed_points():
    def f(a):
        return np.real(zyg.fixed_point(lambda z, a: (z + a / z) / 2, 1 + 1j, a))

    (found,), (expected,) = (zyg.gradient(g, -4 + 1j) for g in (f, lambda a: np.real(np.sqrt(a))))
    assert found == pytest.approx(expected)

    def g(a):  # not holomorphic
        step = lambda z, a: 0.3 * np.conj(z) + 0.1j * np.abs(z) ** 2 + a  # noqa: E731
        return np.imag(zyg.fixed_point(step, 0j, a))

    h, a = 1e-6, 0.3 + 0.2j
    expected = (g(a + h) - g(a - h) + 1j * (g(a + 1j * h) - g(a - 1j * h))) / (2 * h)
    assert zyg.gradient(g, a)[0] == pytest.approx(expected, rel=1e-6)
    assert zyg.pushforward(g, (a,), (1j,))[1] == pytest.approx(expected.imag, rel=1e-6)


def test_a_complex_equation_is_refused():
    for x, a in ((2j, -4.0), (2j, -4.0 + 0j), (2.0, 4.0 + 0j)):
        with pytest.raises(
            HolomorphicError, match=r"zyg\.implicit got a complex equation"
        ) as caught:
            zyg.gradient(lambda a, x=x: np.real(zyg.implicit(lambda x: x * x - a, x)), a)
        assert "real and imaginary parts apart" in str(caught.value)
        assert "test_implicit.py" in str(caught.value)
    assert zyg.gradient(lambda a: zyg.implicit(lambda x: x - np.real(a), 2.0), 2 + 1j) == (1 + 0j,)


# What has no derivative


def said(error, f, x, *parts):
    for k in (0, 1):
        with pytest.raises(error) as caught:
            by(k)(f)(x)
        text = str(caught.value)
        for part in (*parts, "test_implicit.py", "why:", "fix:"):
            assert part in text


def test_a_point_that_does_not_solve_the_equation():
    said(
        ConvergenceError,
        lambda a: zyg.implicit(lambda x: x * x - a, 1.0),
        4.0,
        "a Newton step would move it by 1.5",
        "smaller residual",
    )
    said(ConvergenceError, lambda a: zyg.implicit(lambda x: (x - a) * np.nan, 1.0), 4.0, "nan")
    loose = zyg.gradient(lambda a: zyg.implicit(lambda x: x * x - a, 1.9, tolerance=0.1), 4.0)
    assert loose == (pytest.approx(1 / 3.8),)


def test_a_singular_equation():
    for x in (1.0, X):
        f = lambda a, x=x: np.sum(zyg.implicit(lambda x: (x - a) * 0.0, x))  # noqa: E731
        for k in (0, 1):
            with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
                by(k)(f)(4.0)


@pytest.mark.parametrize(
    ("residual", "what"),
    [
        (lambda x, a: np.sum(x - a), "the residual has shape ()"),
        (lambda x, a: np.append(x - a, 1.0), "the residual has shape (4,)"),
        (lambda x, a: np.reshape(x - a, (3, 1)), "the residual has shape (3, 1)"),
        (lambda x, a: [x - a], "the residual is a list"),
        (lambda x, a: None, "the residual is a NoneType"),
    ],
)
def test_a_residual_of_another_shape(residual, what):
    def f(a):
        return np.sum(zyg.implicit(residual, X, a))

    said(StructureError, f, 1.0, what, "of the shape of x, (3,)", "put the unknowns into one array")


@pytest.mark.parametrize("verb", [zyg.implicit, zyg.fixed_point])
def test_unknowns_that_are_no_array(verb):
    for x, kind in (([1.0], "list"), ("text", "str"), (None, "NoneType")):
        f = lambda a, x=x: verb(lambda x, a: x, x, a)  # noqa: E731
        said(StructureError, f, 1.0, f"is a {kind}, where a number or an array is needed")


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (lambda x, a: np.append(x, a), "has shape (4,)"),
        (lambda x, a: x * np.full((2, 1), 0.1) * a, "has shape (2, 3)"),
        (lambda x, a: [x], "is a list"),
        (lambda x, a: None, "is a NoneType"),
    ],
)
def test_a_step_of_another_shape(step, what):
    f = lambda a: np.sum(zyg.fixed_point(step, X, a))  # noqa: E731
    said(StructureError, f, 1.0, f"a step of the iteration {what}")


@pytest.mark.parametrize(
    "step",
    [
        lambda x, a: x + a,
        lambda x, a: 2 * x * x + a,  # to infinity, where steps are infinite too
        lambda x, a: x * a * np.nan,
        lambda x, a: -x + 0 * a,
    ],
)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_an_iteration_that_does_not_converge(step):
    for start in (1.0, np.ones(2)):
        said(
            ConvergenceError,
            lambda a, x=start: np.sum(zyg.fixed_point(step, x, a, iterations=50)),
            4.0,
            "no fixed point was reached in 50 iterations",
            "converges only where the map contracts",
            "iterations=",
        )


def test_a_derivative_that_does_not_converge():
    f = lambda a: zyg.fixed_point(lambda x, a: x + (a - 1.0), 1.0, a, iterations=50)  # noqa: E731
    assert f(1.0) == 1.0
    said(ConvergenceError, f, 1.0, "no fixed point was reached")


def test_a_fixed_point_at_zero_or_infinity():
    assert zyg.gradient(lambda a: zyg.fixed_point(lambda x, a: 0.5 * x * a, 1.0, a), 1.0) == (0.0,)
    with pytest.raises(ConvergenceError):
        zyg.fixed_point(lambda x: x, np.inf)


# Steps that write


def test_steps_may_write_into_what_they_are_given():
    def in_place(x):
        np.copyto(x, np.cos(x))
        return x

    buffer = np.zeros(2)

    def into_a_buffer(x):
        return np.cos(x, out=buffer)

    start = np.zeros(2)
    for step in (in_place, into_a_buffer):
        found = zyg.fixed_point(step, start)
        np.testing.assert_allclose(found, 0.7390851332)
        assert not np.shares_memory(found, buffer)
    np.testing.assert_array_equal(start, 0.0)
    slope = zyg.gradient(lambda a: np.sum(zyg.fixed_point(lambda x: in_place(x) * a, start)), 0.5)
    x = zyg.fixed_point(lambda x: 0.5 * np.cos(x), 0.0)
    assert slope == (pytest.approx(2 * np.cos(x) / (1 + 0.5 * np.sin(x))),)


def test_a_plain_array_of_the_equation_is_kept_as_it_was():
    factor = np.array([2.0, 4.0])

    def f(a):
        x = zyg.implicit(lambda x: factor * x - a, zyg.primal(a) / factor)
        y = zyg.fixed_point(lambda x: x / factor + a, np.zeros(2))
        factor[:] = 100.0
        return np.sum(x) + np.sum(y)

    slope = zyg.gradient(f, 1.0)[0]
    assert slope == pytest.approx(1 / 2 + 1 / 4 + 2 + 4 / 3)


def test_the_result_shares_no_memory_with_the_solution():
    x = X.copy()
    y, back = zyg.pullback(lambda a: zyg.implicit(lambda x: x - a, x), X)
    assert not np.shares_memory(y, x)
    np.testing.assert_allclose(back(np.ones(3))[0], 1.0)


def test_a_solution_may_be_overwritten():
    def f(a):
        x = 2.0 * zyg.primal(a)
        y = zyg.implicit(lambda x: x - 2 * a, x)
        x[:] = 99.0
        return np.sum(y**2)

    value, (slope,) = zyg.value_and_gradient(f, X)
    assert value == np.sum((2 * X) ** 2)
    np.testing.assert_allclose(slope, 8 * X)
