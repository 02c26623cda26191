"""Gradients inside gradients: no perturbation and no sensitivity is ever confused."""

# ruff: noqa: E501 - one case per line

import math
import threading

import numpy as np
import pytest

import zyg
from zyg import gradient, nestlevel, pullback, stop_gradient, value_and_gradient


def D(f):  # noqa: N802 - the operator of the literature
    """The derivative of a function of one number."""
    return lambda x: gradient(f, x, zeros=True)[0]


def hessian(f, x):
    """Rows of the Hessian: the gradient of each element of the gradient."""
    rows = [
        gradient(lambda x, k=k: gradient(f, x, zeros=True)[0].reshape(-1)[k], x, zeros=True)[0]
        for k in range(x.size)
    ]
    return np.array(rows).reshape(x.shape + x.shape)


def differences(f, x, h=1e-6):
    """Central differences of an array-valued (or scalar) function along each element of x."""
    columns = []
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = h
        step = step.reshape(x.shape)
        columns.append((np.asarray(f(x + step)) - np.asarray(f(x - step))) / (2 * h))
    return np.array(columns).reshape(x.shape + np.shape(columns[0]))


# The museum


def test_siskind_pearlmutter_constant_inside():
    # d/dx (x * d/dy (x + y)) = d/dx (x * 1) = 1; a confused system says 2.
    assert D(lambda x: x * D(lambda y: x + y)(1.0))(1.0) == 1.0


def test_siskind_pearlmutter_product_inside():
    # d/dx (x * d/dy (x * y)) = d/dx x**2 = 2x
    assert D(lambda x: x * D(lambda y: x * y)(2.0))(1.0) == 2.0
    assert D(lambda x: x * D(lambda y: x * y)(2.0))(5.0) == 10.0


def test_inner_point_depends_on_outer_variable():
    # d/dx (d/dy y**3 at y = x) = d/dx 3x**2
    assert D(lambda x: D(lambda y: y**3)(x))(2.0) == 12.0


def test_inner_point_and_inner_function_depend_on_outer_variable():
    # d/dy (x**2 y**3) at y = x**2 is 3 x**6
    assert D(lambda x: D(lambda y: x**2 * y**3)(x * x))(2.0) == 18 * 2.0**5


def test_same_function_nested():
    def cube(x):
        return x * x * x

    assert D(D(cube))(4.0) == 24.0
    assert D(D(D(cube)))(4.0) == 6.0
    assert D(D(D(D(cube))))(4.0) == 0.0


def test_same_variable_name_nested():
    assert D(lambda x: x * D(lambda x: x * D(lambda x: x * x)(x))(x))(3.0) == 8 * 3.0


def test_recursion_through_the_derivative():
    def f(x, depth):
        return x**4 if depth == 0 else D(lambda y: f(y, depth - 1))(x) * x

    # (x d/dx)^3 x**4 = 64 x**4
    assert f(2.0, 3) == 64 * 16.0
    assert D(lambda x: f(x, 3))(2.0) == 256 * 8.0


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_higher_orders_of_a_power(order):
    def nth(f, n):
        return f if n == 0 else nth(D(f), n - 1)

    falling = math.perm(5, order)
    assert nth(lambda x: x**5, order)(1.5) == pytest.approx(falling * 1.5 ** (5 - order))
    assert nth(lambda x: x**5.0, order)(1.5) == pytest.approx(falling * 1.5 ** (5 - order))
    assert nth(lambda x: x * x * x * x * x, order)(1.5) == pytest.approx(
        falling * 1.5 ** (5 - order)
    )


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_higher_orders_of_transcendental_functions(order):
    def nth(f, n):
        return f if n == 0 else nth(D(f), n - 1)

    assert nth(lambda x: np.exp(2 * x), order)(0.3) == pytest.approx(2**order * math.exp(0.6))
    assert nth(np.sin, order)(0.7) == pytest.approx(math.sin(0.7 + order * math.pi / 2))
    sign = (-1) ** (order - 1) * math.factorial(order - 1)
    assert nth(np.log, order)(1.7) == pytest.approx(sign / 1.7**order)
    assert nth(lambda x: 1 / x, order)(1.7) == pytest.approx(-sign * order / 1.7 ** (order + 1))


def test_inner_function_ignoring_its_argument_gives_none():
    seen = []

    def f(x):
        seen.append(gradient(lambda y: x * x, 3.0))
        return x

    gradient(f, 2.0)
    assert seen == [(None,)]


def test_inner_function_ignoring_its_argument_gives_zeros_that_carry_nothing():
    assert D(lambda x: x * D(lambda y: x * x)(3.0))(2.0) == 0.0


def test_inner_function_returning_the_outer_variable_itself():
    assert gradient(lambda x: x + gradient(lambda y: x, 3.0, zeros=True)[0], 2.0) == (1.0,)


def test_inner_function_returning_its_argument_itself():
    assert gradient(lambda x: x * gradient(lambda y: y, x)[0], 2.0) == (1.0,)


def test_inner_function_constant():
    assert gradient(lambda y: 7.0, 2.0) == (None,)
    assert gradient(lambda y: 7, np.ones(3)) == (None,)


def test_mixed_partials_commute():
    def f(x, y):
        return np.sin(x * y) * x**2 + y / x

    xy = gradient(lambda x: gradient(lambda y: f(x, y), 0.7)[0], 1.3)[0]
    yx = gradient(lambda y: gradient(lambda x: f(x, y), 1.3)[0], 0.7)[0]
    x, y = 1.3, 0.7
    closed = 3 * x**2 * math.cos(x * y) - x**3 * y * math.sin(x * y) - 1 / x**2
    assert xy == pytest.approx(yx, rel=1e-14)
    assert xy == pytest.approx(closed, rel=1e-12)


def test_sensitivities_of_two_inner_gradients_stay_apart():
    def f(x):
        first = D(lambda y: x * y * y)(x)  # 2 x**2
        second = D(lambda y: y + first)(x)  # 1
        third = D(lambda y: y * first)(x)  # first
        return first * second * third

    assert D(f)(1.5) == pytest.approx(16 * 1.5**3)


def test_saddle_point_minimax():
    # min over x of max over y by gradient steps inside a gradient: an outer derivative flows
    # through every step of the inner ascent.
    def best_y(x):
        y = 0.0
        for _ in range(6):
            y = y + 0.25 * D(lambda y: x * y - y * y)(y)
        return y

    # y_{n+1} = y_n / 2 + x / 4, so y_6 = (1 - 2**-6) x / 2
    assert D(best_y)(3.0) == pytest.approx((1 - 2.0**-6) / 2)
    assert D(lambda x: best_y(x) ** 2)(3.0) == pytest.approx(2 * 3.0 * ((1 - 2.0**-6) / 2) ** 2)


def test_newton_iteration_differentiated():
    def root(a):
        x = 1.0
        for _ in range(8):

            def g(x):
                return x * x - a

            x = x - g(x) / D(g)(x)
        return x

    assert D(root)(2.0) == pytest.approx(0.5 / math.sqrt(2))
    assert D(D(root))(2.0) == pytest.approx(-0.25 * 2**-1.5)


def test_outer_gradient_with_respect_to_what_the_inner_closure_holds():
    class Model:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return self.w * x**3

    slope, at = gradient(lambda m, x: gradient(m, x)[0], Model(2.0), 3.0)
    assert slope == zyg.Tangent("Model", w=27.0)
    assert at == 36.0


def test_inner_gradient_of_a_closure_over_the_outer_variable_as_an_argument():
    # The inner gradient takes the closure itself apart: its cell holds an outer-level value.
    def f(x):
        def g(y):
            return x * y

        tangent, _ = gradient(lambda g, y: g(y), g, 4.0)
        return tangent.x * x

    assert gradient(f, 3.0) == (4.0,)


# Pullbacks


def test_gradient_inside_pullback_inside_gradient():
    def f(x):
        y, back = pullback(lambda z: z * D(lambda w: w**3 * x)(z), x * x)
        # y = 3 z**3 x at z = x**2: 3 x**7; dz = 9 z**2 x = 9 x**5
        return y + back(2.0)[0]

    x = 1.1
    assert f(x) == pytest.approx(3 * x**7 + 18 * x**5)
    assert D(f)(x) == pytest.approx(21 * x**6 + 90 * x**4)
    assert D(D(f))(x) == pytest.approx(126 * x**5 + 360 * x**3)


def test_pullback_is_called_twice_with_the_same_answer():
    _, back = pullback(lambda x, y: np.sum(np.sin(x) * y), np.arange(3.0), 2.0)
    first, second = back(1.0), back(1.0)
    np.testing.assert_array_equal(first[0], second[0])
    assert first[1] == second[1]


def test_pullback_from_many_threads():
    x = np.linspace(0, 1, 50)
    _, back = pullback(lambda x: sum(np.sin(v) * v for v in x), x)
    expected = back(1.0)[0]
    results = [None] * 8
    gate = threading.Barrier(8)

    def work(k):
        gate.wait()
        results[k] = back(float(k))[0]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k, result in enumerate(results):
        np.testing.assert_allclose(result, k * expected, rtol=1e-15)
    assert not any(np.shares_memory(results[0], r) for r in results[1:])


def test_pullback_made_outside_called_inside_an_outer_gradient():
    _, back = pullback(lambda x: x**3, 2.0)
    assert gradient(lambda c: back(c)[0] * c, 5.0) == (2 * 12.0 * 5.0,)


def test_pullback_made_outside_called_inside_an_outer_gradient_on_arrays():
    a = np.arange(6.0).reshape(2, 3)
    _, back = pullback(lambda x: a @ np.sin(x), np.array([0.1, 0.2, 0.3]))
    (c_bar,) = gradient(lambda c: np.sum(back(c)[0] ** 2), np.array([1.0, 2.0]))
    jacobian = a * np.cos([0.1, 0.2, 0.3])
    np.testing.assert_allclose(c_bar, 2 * jacobian @ jacobian.T @ [1.0, 2.0])


def test_pullback_of_an_inner_level_used_by_the_outer_level_twice():
    def f(x):
        _, back = pullback(lambda y: x * y**2, x)  # 2 x**2 c
        return back(1.0)[0] * back(x)[0]  # 2 x**2 * 2 x**3

    assert D(f)(1.5) == pytest.approx(20 * 1.5**4)


def test_pullback_that_outlives_the_outer_gradient_is_plain():
    kept = []

    def f(x):
        _, back = pullback(lambda y: x * y**2, x)
        kept.append(back)
        return back(1.0)[0]

    assert gradient(f, 3.0) == (12.0,)
    (y_bar,) = kept[0](1.0)
    assert y_bar == 18.0
    assert not zyg.is_traced(y_bar)
    assert math.sqrt(y_bar) == math.sqrt(18)


def test_pullback_that_outlives_the_outer_gradient_gives_plain_arrays():
    kept = []

    def f(x):
        _, back = pullback(lambda y: np.sum(x * y**2), x)
        kept.append(back)
        return np.sum(back(1.0)[0])

    gradient(f, np.arange(3.0))
    (y_bar,) = kept[0](1.0)
    np.testing.assert_array_equal(np.asarray(y_bar), 2 * np.arange(3.0) ** 2)
    assert type(np.asarray(y_bar)) is np.ndarray


def test_value_of_a_pullback_carries_the_outer_level():
    assert gradient(lambda x: pullback(lambda y: x * y, 5.0)[0], 2.0) == (5.0,)
    assert gradient(lambda x: value_and_gradient(lambda y: x * y, 5.0)[0], 2.0) == (5.0,)


def test_cotangent_of_an_outer_level():
    # sum of J^T c with c = x: the pullback is linear in its cotangent.
    def f(x):
        _, back = pullback(lambda y: np.array([1.0, 2.0]) * y, 3.0)
        return back(np.stack([x, x * x]))[0]

    assert gradient(f, 4.0) == (1 + 2 * 2 * 4.0,)


def test_hessian_vector_product_by_either_order():
    a = np.array([[2.0, 1.0], [0.5, 3.0]])

    def f(x):
        return np.sum(np.tanh(a @ x)) + x[0] ** 3

    x, v = np.array([0.3, -0.2]), np.array([1.0, 2.0])
    (outer,) = gradient(lambda x: gradient(f, x)[0] @ v, x)
    np.testing.assert_allclose(outer, hessian(f, x) @ v, rtol=1e-12)
    np.testing.assert_allclose(
        outer, differences(lambda x: gradient(f, x)[0], x).T @ v, rtol=1e-5, atol=1e-8
    )


# What leaks out of a level


def test_values_of_an_inner_level_used_by_the_outer_one():
    def f(x):
        leaked = []

        def inner(y):
            leaked.append(x * y)
            return x * y

        gradient(inner, 3.0)
        return leaked[0] * leaked[0]

    assert gradient(f, 2.0) == (36.0,)  # (3x)**2


def test_values_of_an_inner_level_meet_values_of_the_next_inner_level():
    def f(x):
        leaked = []
        gradient(lambda y: leaked.append(x * y) or y, 3.0)
        return x * D(lambda z: z * leaked[0])(5.0)  # x * 3x

    assert gradient(f, 2.0) == (12.0,)


def test_argument_of_an_inner_level_leaked_and_returned():
    def f(x):
        leaked = []
        gradient(lambda y: leaked.append(y) or y, x * x)
        return leaked[0]

    assert gradient(f, 3.0) == (6.0,)


def test_arrays_of_an_inner_level_used_by_the_outer_one():
    def f(x):
        leaked = []
        gradient(lambda y: np.sum(leaked.append(x * y) or y), np.arange(3.0))
        z = leaked[0]
        return np.sum(z[1:] * z.T[1:]) + z[2] + sum(z) + np.sum(np.stack([z, z]))

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(gradient(f, x)[0], differences(f, x), rtol=1e-6, atol=1e-8)


def _leak(x, f=lambda x: x * 2):
    kept = []
    gradient(lambda x: np.sum(kept.append(f(x)) or x), x)
    return kept[0]


def test_a_number_that_outlives_its_gradient_is_a_plain_number():
    x = _leak(3.0)
    assert float(x) == 6.0
    assert int(x) == 6
    assert complex(x) == 6 + 0j
    assert math.sin(x) == math.sin(6.0)
    assert float(np.asarray(x)) == 6.0
    assert np.asarray(x).dtype == np.float64
    assert not zyg.is_traced(x)
    assert x + 1 == 7.0
    assert type(x + 1) is float
    assert type(x * x) is float
    assert type(1 / x) is float
    assert type(x**2) is float
    assert type(-x) is float
    assert type(np.sin(x)) is np.float64
    assert f"{x:.2f} {x}" == "6.00 6.0"
    assert isinstance(x, float)
    assert x.is_integer()
    buffer = np.zeros(2)
    buffer[0] = x
    assert buffer[0] == 6.0
    assert np.array([x, 1.0]).dtype == np.float64
    assert sorted([x, 1.0])[0] == 1.0
    assert gradient(lambda y: x * y, 2.0) == (6.0,)


def test_an_array_that_outlives_its_gradient_is_a_plain_array():
    x = _leak(np.array([1.0, 2.0, 3.0]))
    plain = np.array([2.0, 4.0, 6.0])
    assert type(np.asarray(x)) is np.ndarray
    np.testing.assert_array_equal(np.asarray(x), plain)
    np.testing.assert_array_equal(np.asarray(x + 1), plain + 1)
    assert type(x + 1) is np.ndarray
    assert type(np.exp(x)) is np.ndarray
    assert type(np.sum(x)) is np.float64
    assert type(x.sum()) is np.float64
    assert isinstance(np.reshape(x, (3, 1)), np.ndarray)
    assert type(x @ x) is np.float64
    assert isinstance(x[1:], np.ndarray)
    assert type(x[0]) is np.float64
    assert type(np.concatenate([x, x])) is np.ndarray
    assert not zyg.is_traced(x)
    buffer = np.zeros(3)
    buffer[:] = x
    np.testing.assert_array_equal(buffer, plain)
    buffer += x
    np.testing.assert_array_equal(buffer, 2 * plain)
    np.testing.assert_array_equal(np.asarray(x, dtype=np.float32), plain)
    np.testing.assert_array_equal(gradient(lambda y: np.sum(x * y), np.ones(3))[0], plain)
    np.testing.assert_array_equal(gradient(lambda y: np.sum(y), x)[0], np.ones(3))


def test_a_plain_copy_of_a_leaked_array_does_not_share_its_memory():
    x = _leak(np.array([1.0, 2.0]))
    copy = np.array(x)
    copy[0] = 100.0
    np.testing.assert_array_equal(np.asarray(x), [2.0, 4.0])


def test_a_leaked_value_is_a_fresh_variable_of_the_next_gradient():
    x = _leak(3.0)
    assert gradient(lambda y: y * y, x) == (12.0,)
    assert gradient(lambda y: y["a"] * 2, {"a": x}) == ({"a": 2.0},)
    (result,) = gradient(lambda y: y * y, x)
    assert type(result) is float


def test_a_value_of_three_closed_levels():
    kept = []

    def f(x):
        def g(y):
            def h(z):
                kept.append(x * y * z)
                return z

            gradient(h, 5.0)
            return y

        gradient(g, 3.0)
        return x

    gradient(f, 2.0)
    assert float(kept[0]) == 30.0
    assert type(kept[0] + 0.0) is float


def test_an_inner_closed_value_still_belongs_to_the_open_outer_level():
    def f(x):
        kept = []
        gradient(lambda y: kept.append(x + y) or y, 3.0)
        allowed = zyg.config(swallowed="allow")
        with allowed, pytest.raises(zyg.errors.ConversionError):
            float(kept[0])
        assert zyg.is_traced(kept[0])
        return x

    assert gradient(f, 1.0) == (1.0,)


def test_results_returned_from_inside_hold_plain_values():
    y, _ = pullback(lambda x: [x, {"a": x * x}, np.stack([x, x])], 3.0)
    assert type(y[0]) is float
    assert type(y[1]["a"]) is float
    assert type(y[2]) is np.ndarray


def test_a_returned_closure_holds_plain_values():
    y, _ = pullback(lambda x: lambda z: x * z, 3.0)
    assert type(y(2.0)) is float
    assert math.sin(y(2.0)) == math.sin(6.0)


# Exceptions and generators


class StopError(Exception):
    pass


def test_an_exception_leaves_nothing_behind():
    def f(x):
        assert nestlevel() == 1
        raise StopError(x)

    with pytest.raises(StopError):
        gradient(f, 1.0)
    assert nestlevel() == 0
    assert gradient(lambda x: x * x, 3.0) == (6.0,)


def test_an_exception_of_an_inner_gradient_caught_by_the_outer_one():
    def f(x):
        kept = []

        def inner(y):
            kept.append(x * y)
            raise StopError

        try:
            gradient(inner, x)
        except StopError:
            assert nestlevel() == 1
        return kept[0] + x  # x**2 + x: the inner level has ended

    assert gradient(f, 3.0) == (7.0,)


def test_the_exception_is_the_users_own_object():
    error = StopError("mine")

    def f(x):
        raise error

    with pytest.raises(StopError) as caught:
        gradient(f, 1.0)
    assert caught.value is error


def test_a_refusal_inside_leaves_nothing_behind():
    with pytest.raises(zyg.errors.ConversionError):
        gradient(lambda x: math.sin(x), 1.0)
    assert nestlevel() == 0
    assert gradient(np.sin, 0.0) == (1.0,)


def test_a_value_kept_from_a_failed_gradient_is_plain():
    kept = []

    def f(x):
        kept.append(x * 2)
        raise StopError

    with pytest.raises(StopError):
        gradient(f, 1.0)
    assert math.sqrt(kept[0]) == math.sqrt(2.0)
    assert type(kept[0] * kept[0]) is float


def test_a_generator_alive_across_gradients():
    def powers(x):
        y = 1.0
        while True:
            y = y * x
            yield y

    def f(x):
        ones = powers(x)
        a = next(ones)

        def g(z):
            return next(ones) * z  # x**2 z, advanced inside the inner gradient

        b = D(g)(2.0)
        return a + b + next(ones)  # x + x**2 + x**3

    assert gradient(f, 2.0) == (1 + 4 + 12.0,)


def test_a_generator_of_an_inner_level_finished_outside():
    def f(x):
        def numbers(y):
            yield x * y
            yield x * x * y

        kept = []

        def inner(y):
            it = numbers(y)
            kept.append(it)
            return next(it)

        first = D(inner)(3.0)  # x
        return first * next(kept[0])  # x * 3x**2

    assert D(f)(2.0) == pytest.approx(9 * 4.0)


def test_a_generator_that_outlives_everything():
    kept = []

    def count(x):
        while True:
            x = x + 1
            yield x

    def f(x):
        it = count(x)
        kept.append(it)
        return next(it)

    gradient(f, 1.0)
    assert float(next(kept[0])) == 3.0
    assert type(next(kept[0])) is float


def test_a_gradient_taken_inside_a_generator():
    def slopes(x):
        for k in range(1, 4):
            yield D(lambda y, k=k: x * y**k)(x)

    # x + 2x**2 + 3x**3
    assert gradient(lambda x: sum(slopes(x)), 2.0) == (1 + 8 + 36.0,)


# nestlevel


def test_nestlevel_counts_the_gradients_around_this_line():
    seen = []

    def f(x):
        seen.append(nestlevel())
        return x * nestlevel()

    assert nestlevel() == 0
    gradient(lambda x: gradient(lambda y: gradient(f, y)[0] * y, x)[0] * f(x), 1.0)
    assert seen == [3, 1]
    assert nestlevel() == 0


def test_nestlevel_in_a_generator_is_that_of_who_asks():
    def levels():
        while True:
            yield nestlevel()

    it = levels()
    assert next(it) == 0
    gradient(lambda x: x * next(it), 1.0) == (1.0,)  # noqa: B015
    assert next(it) == 0


def test_nestlevel_in_a_fresh_thread_is_zero():
    seen = []

    def f(x):
        t = threading.Thread(target=lambda: seen.append(nestlevel()))
        t.start()
        t.join()
        return x

    gradient(f, 1.0)
    assert seen == [0]


# stop_gradient across levels


def test_stop_gradient_stops_every_level():
    assert D(D(lambda x: x**2 * stop_gradient(x)))(3.0) == 6.0
    assert D(lambda x: D(lambda y: stop_gradient(x) * y)(x))(3.0) == 0.0
    assert D(lambda x: D(lambda y: stop_gradient(y) * x)(x) + x)(3.0) == 1.0


def test_primal_is_plain_at_every_depth():
    def f(x):
        def g(y):
            assert type(zyg.primal(x * y)) is float
            return x * y

        return D(g)(x)

    assert D(f)(3.0) == 1.0


# Second derivatives of array programs

A = np.array([[2.0, 1.0, -1.0], [0.5, 3.0, 0.2], [0.1, -0.7, 1.5]])
X = np.array([0.3, -0.8, 1.1])


@pytest.mark.parametrize(
    ("f", "closed"),
    [
        (lambda x: np.sum(x**3), lambda x: np.diag(6 * x)),
        (lambda x: x @ A @ x, lambda x: A + A.T),
        (lambda x: np.dot(x, x), lambda x: 2 * np.eye(3)),
        (lambda x: np.sum(np.exp(A @ x)), lambda x: A.T @ np.diag(np.exp(A @ x)) @ A),
        (lambda x: np.prod(x), lambda x: np.array([[0, x[2], x[1]], [x[2], 0, x[0]], [x[1], x[0], 0]])),
        (lambda x: np.sum(x) ** 2, lambda x: np.full((3, 3), 2.0)),
        (lambda x: np.sum(x), lambda x: np.zeros((3, 3))),
        (lambda x: x[0] * x[1] ** 2, lambda x: np.array(
            [[0, 2 * x[1], 0], [2 * x[1], 2 * x[0], 0], [0, 0, 0]])),
        (lambda x: np.linalg.norm(x), lambda x: (
            np.eye(3) - np.outer(x, x) / (x @ x)) / np.sqrt(x @ x)),
        (lambda x: np.log(np.sum(np.exp(x))), lambda x: np.diag(s := np.exp(x) / np.exp(x).sum())
            - np.outer(s, s)),
    ],
    ids=["cube", "quadratic", "dot", "exp", "prod", "square", "linear", "index", "norm", "softmax"],
)  # fmt: skip
def test_hessian_equals_its_closed_form(f, closed):
    np.testing.assert_allclose(hessian(f, X), closed(X), rtol=1e-12, atol=1e-12)


def _loop(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            total = total + A[i, j] * x[i] * np.sin(x[j])
    return total


def _rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def _recurrence(x):
    h = np.zeros(3)
    for k in range(3):
        h = np.tanh(A @ h + x[k] * x)
    return np.sum(h)


def _assembled(x):
    rows = [np.concatenate([x[k:], x[:k]]) for k in range(3)]
    return np.sum(np.stack(rows) @ A @ x)


def _scalars(x):
    a, b, c = x
    return a * b / c + np.arctan2(a, c) * b**3


PROGRAMS = {
    "loop": _loop,
    "rosenbrock": _rosenbrock,
    "recurrence": _recurrence,
    "assembled": _assembled,
    "scalars": _scalars,
    "where": lambda x: np.sum(np.where(x > 0, x**3, np.sin(x))),
    "where_safe": lambda x: np.sum(np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), x * x)),
    "max": lambda x: np.max(x) ** 3 * np.min(x) ** 2,
    "max_axis": lambda x: np.sum(np.max(np.outer(x, x) * A, axis=0) ** 2),
    "maximum": lambda x: np.sum(np.maximum(x, x[::-1] ** 2) ** 2),
    "builtin_max": lambda x: max(x) ** 2 * min(x) + sum(v * v * v for v in x),
    "abs": lambda x: np.sum(np.abs(x) ** 3 + abs(x) * x),
    "broadcast": lambda x: np.sum(np.exp(x[:, None] * x[None, :]) * A),
    "fancy": lambda x: np.sum(x[[0, 0, 2]] ** 2 * x[np.array([2, 1, 0])]),
    "mask": lambda x: np.sum(x[x > 0] ** 3) + np.sum(x[np.array([True, False, True])] ** 2),
    "cumsum": lambda x: np.sum(np.cumsum(x) ** 3),
    "mean_var": lambda x: np.mean(x) * np.var(x) + np.std(x),
    "matmul": lambda x: np.sum((np.outer(x, x) @ A @ np.outer(x, x)) ** 2),
    "reshape": lambda x: np.sum(np.reshape(np.outer(x, x), (9,))[::2] ** 2),
    "transpose": lambda x: np.sum(np.outer(x, A @ x).T * A * np.sum(x)),
    "division": lambda x: np.sum(x / (1 + x[::-1] ** 2)),
    "power": lambda x: np.sum(np.exp(x) ** x),
    "mod": lambda x: np.sum((x % 0.5) ** 2 * x),
    "mixed": lambda x: x[0] * np.sum(x) + float(2) * x[1] * np.sum(x * x[2]),
    "solve": lambda x: np.sum(np.linalg.solve(A + np.diag(x), x) ** 2),
    "det": lambda x: np.linalg.det(A * x),
    "list": lambda x: sum(v**3 for v in [x[0], x[1] * x[2], np.sum(x)]),
    "sorted": lambda x: sum(k * v**2 * np.sum(x) for k, v in enumerate(sorted(x), start=1)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_reverse_over_reverse_equals_differences(name):
    f = PROGRAMS[name]
    np.testing.assert_allclose(gradient(f, X)[0], differences(f, X), rtol=1e-6, atol=1e-7)
    second = hessian(f, X)
    np.testing.assert_allclose(
        second, differences(lambda x: gradient(f, x)[0], X), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(second, second.T, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", ["loop", "recurrence", "fancy", "broadcast", "max", "matmul"])
def test_third_order_equals_differences_of_the_second(name):
    f = PROGRAMS[name]
    v = np.array([0.2, 1.0, -0.5])

    def curvature(x):
        return gradient(lambda x: gradient(f, x)[0] @ v, x)[0] @ v

    np.testing.assert_allclose(
        gradient(curvature, X)[0], differences(curvature, X), rtol=1e-5, atol=1e-5
    )


def test_scalars_and_arrays_of_two_levels_mixed():
    def f(x, scale):
        inner = gradient(lambda s: np.sum(np.sin(s * x)) * scale, scale)[0]
        return inner * np.sum(x)

    x, scale = np.array([0.1, 0.2]), 1.5
    x_bar, s_bar = gradient(f, x, scale)
    plain = lambda x, s: s * np.sum(x * np.cos(s * x)) * np.sum(x)  # noqa: E731
    np.testing.assert_allclose(x_bar, differences(lambda x: plain(x, scale), x), rtol=1e-7)
    assert s_bar == pytest.approx((plain(x, scale + 1e-6) - plain(x, scale - 1e-6)) / 2e-6)


def test_outer_number_into_inner_array_and_back():
    # inner gradient with respect to an array, of a function closing over an outer number
    def f(t):
        (g,) = gradient(lambda x: np.sum(t * x**2 + t**2 * x), np.arange(3.0))
        return np.sum(g)  # 2t(0+1+2) + 3t**2

    assert gradient(f, 2.0) == (6 + 6 * 2.0,)


def test_outer_array_into_inner_number_and_back():
    def f(x):
        return gradient(lambda t: np.sum(t**2 * x), 3.0)[0]  # 6 sum(x)

    np.testing.assert_array_equal(gradient(f, np.ones(4))[0], np.full(4, 6.0))


def test_the_same_closure_at_two_levels_of_one_program():
    shared = lambda x, y: np.sum(x * y)  # noqa: E731

    def f(x):
        (a,) = gradient(lambda y: shared(x, y), x)  # x
        (b,) = gradient(lambda y: shared(y, x), x * 2)  # x
        return shared(a, b)

    np.testing.assert_array_equal(gradient(f, np.array([1.0, 2.0]))[0], [2.0, 4.0])


def test_second_derivative_of_a_zero_gradient_stays_zero():
    assert D(D(lambda x: stop_gradient(x)))(1.0) == 0.0
    assert D(D(lambda x: np.floor(x) + x))(1.5) == 0.0


def test_gradients_returned_from_inside_are_still_watched_outside():
    def f(x):
        g = gradient(lambda d: d["a"] ** 2 * d["b"][0], {"a": x, "b": [x * x]})[0]
        return g["a"] + g["b"][0]  # 2x * x**2 + x**2

    assert gradient(f, 2.0) == (6 * 4 + 4.0,)


def test_tangent_returned_from_inside_is_still_watched_outside():
    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

    def f(x):
        tangent = gradient(lambda p: p.x**2 * p.y, Point(x, x))[0]
        return tangent.x + tangent.y

    assert gradient(f, 2.0) == (6 * 2.0,)  # 2x**2 + x**2
