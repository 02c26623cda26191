"""Forward mode: the derivatives of reverse mode, alone and in every mixture; its promises."""

import itertools
import threading
import tracemalloc
import warnings
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce

import mpmath
import numpy as np
import pytest
from uncertainties import ufloat

import zyg
import zyg.numpy as znp
from zyg.errors import (
    AdjointError,
    ConversionError,
    MissingRuleError,
    MutationError,
    NonFiniteError,
    StructureError,
)

X = np.array([0.5, -1.2, 2.0])
U = np.array([1.0, 0.5, -2.0])
push = zyg.pushforward


def slope(f, x, x_dot):
    """The derivative of f at x along x_dot, in forward mode."""
    return push(f, (x,), (x_dot,))[1]


# Every mixture of modes, to third order


@zyg.adjoint
def transposed_cube(x):
    """A rule without forward form."""

    def transposed_cube_pullback(y_bar):
        return (y_bar * 3 * x**2,)

    return x**3, transposed_cube_pullback


@zyg.adjoint
def scaled_and_squared(x, factor=1.0, *, shift=0.0):
    """Several results, keywords, and a forward rule of its own."""

    def scaled_and_squared_pullback(y_bar):
        first, (second,) = y_bar["scaled"], y_bar["rest"]
        return first * factor + 2 * x * second, np.sum(first * x)

    return {"scaled": x * factor + shift, "rest": [x * x]}, scaled_and_squared_pullback


@scaled_and_squared.pushforward
def scaled_and_squared_forward(x, factor=1.0, *, shift=0.0):
    def pushforward(x_dot, factor_dot=None):
        scaled, squared = 0.0 * x, 0.0 * x
        if x_dot is not None:
            scaled, squared = scaled + x_dot * factor, 2 * x * x_dot
        if factor_dot is not None:
            scaled = scaled + x * factor_dot
        return {"scaled": scaled, "rest": [squared]}

    return {"scaled": x * factor + shift, "rest": [x * x]}, pushforward


@zyg.adjoint
def weighted(xs, weights):
    """A rule with a list for an argument, linear in each of the two."""

    def weighted_pullback(y_bar):
        return [y_bar * w for w in weights], [np.sum(y_bar * x) for x in xs]

    return reduce(np.add, [x * w for x, w in zip(xs, weights, strict=True)]), weighted_pullback


weighted.linear = (0, 1)


def scalar_loop(x):
    y = 1.0
    for k in range(4):
        y = y * x[k % 3] + x[1] / (2.0 + k)
        if y > 1.0:
            y = y - x[2] ** 2
    return y**2


def expressions(x):
    return np.sum(np.sin(x) * np.exp(x[::-1]) / (2 + np.cos(x * x[0])))


def views_and_writes(x):
    y = x * 1.0
    v = y[1:]
    v *= x[:2]
    y[0] += v[1] * y[1]
    y[[0, 2]] = np.sin(y[[2, 0]])
    np.add.at(y, [1, 1], x[:2] ** 2)
    z = np.zeros_like(x)
    z[::2] = y[::-2] * x[1]
    np.multiply(z, y, out=z, where=np.array([True, False, True]))
    return np.sum(z * y)


def containers(x):
    parts = {"a": [x[0], x[1:]], "b": (x * 2, "text", None)}
    return np.sum(parts["a"][1] * parts["b"][0][:2]) * parts["a"][0]


@dataclass
class Layer:
    weights: np.ndarray
    bias: float

    def __call__(self, x):
        return np.tanh(self.weights * x + self.bias)


def objects_and_closures(x):
    layer = Layer(x**2, x[1])

    def loss(t):
        return np.sum(layer(t * x))

    return loss(x[0]) * layer.bias


def complex_inside(x):
    z = x[0] + 1j * x
    w = np.exp(z) * np.conj(z[::-1])
    return np.sum(np.abs(w) ** 2) + np.sum(w.imag * z.real)


def linear_algebra(x):
    a = np.outer(x, x) + np.eye(3) * 4
    factor = np.linalg.cholesky(a)
    return np.sum(np.linalg.solve(a, x) * np.sin(x)) + np.log(factor[2, 2])


def linear_marks(x):
    a = np.reshape(np.concatenate([x, x[::-1] ** 2]), (2, 3))
    return np.sum(np.cumsum(a @ x) * np.sum(np.roll(a, 1, axis=1), axis=1))


def own_rules(x):
    made = scaled_and_squared(x, factor=x[1] ** 2, shift=3.0)
    mixed = weighted([x, made["scaled"]], [x[0], x[2] * x[1]])
    return np.sum(transposed_cube(mixed) * made["rest"][0])


def choices(x):
    y = np.where(x > 0, x**3, np.cos(x))
    y = np.sort(np.maximum(y, x[::-1] * 1.1)) * np.arange(1.0, 4.0)
    return np.max(y) * np.min(y) + np.sum(np.clip(y, -1.0, 1.0) ** 2)


def lists_of_arguments(x):
    rows = np.stack([x, x * x[0], [x[0], x[1], x[2] ** 2]])
    return np.sum(np.concatenate([rows[0], rows[2]]) ** 2) * np.linalg.det(rows + 3 * np.eye(3))


def composed(x):
    return np.var(x * x[1]) * np.median(x**2) + np.linalg.norm(np.diff(x**3)) + np.ptp(x**2)


def nested(x):
    inner = zyg.gradient(lambda y: np.sum(np.sin(y * x) * y), x)[0]
    return np.sum(inner * slope(lambda y: y**3 * x[0], x, x))


def checkpointed(x):
    y = zyg.checkpoint(lambda v: np.sin(v) * x[1], x)
    return np.sum(y * zyg.forwarddiff(lambda v: v**2 * x[0], x))


def solved(x):
    a = x[0] ** 2 + 1
    root = zyg.implicit(lambda r: r**2 - a, np.sqrt(zyg.primal(a)))
    return root * zyg.fixed_point(lambda p: 0.1 * np.cos(p) * x[1], 0.0) * x[2]


PROGRAMS = [
    scalar_loop, expressions, views_and_writes, containers, objects_and_closures, complex_inside,
    linear_algebra, linear_marks, own_rules, choices, lists_of_arguments, composed, nested,
    checkpointed, solved,
]  # fmt: skip


def in_reverse(f):
    return lambda x: np.sum(zyg.gradient(f, x, zeros=True)[0] * U)


def in_forward(f):
    return lambda x: slope(f, x, U)


def mixtures(order):
    return itertools.product([in_reverse, in_forward], repeat=order)


def along(f, x, h=1e-5):
    """The slope along U, by differences."""
    points = (f(x + s * h * U) for s in (1, -1, 2, -2))
    a, b, a2, b2 = map(float, points)
    return (8 * (a - b) - (a2 - b2)) / (12 * h)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("f", PROGRAMS)
def test_all_mixtures_of_modes_give_the_derivative(f, order):
    lower = reduce(lambda g, mode: mode(g), [in_reverse] * (order - 1), f)
    expected = along(lower, X)
    for modes in mixtures(order):
        found = float(reduce(lambda g, mode: mode(g), modes, f)(X))
        assert found == pytest.approx(expected, rel=2e-6, abs=2e-6), modes


@pytest.mark.parametrize("f", [expressions, views_and_writes, linear_marks, own_rules, choices])
def test_all_mixtures_agree_in_single_precision(f):
    x = X.astype(np.float32)
    for order in (1, 2, 3):
        found = {float(reduce(lambda g, mode: mode(g), modes, f)(x)) for modes in mixtures(order)}
        exact = float(reduce(lambda g, mode: mode(g), [in_reverse] * order, f)(X))
        assert max(abs(v - exact) for v in found) < 1e-4 * max(1, abs(exact)) * 10**order


@pytest.mark.parametrize(
    "number", [Fraction(1, 3), Decimal("0.5"), mpmath.mpf(1) / 3, 2, 0.75, np.float64(1.5)]
)
def test_all_mixtures_are_exact_for_other_types_of_numbers(number):
    one = type(number)(1)
    derivatives = {
        "reverse": lambda f: lambda x: zyg.gradient(f, x)[0],
        "forward": lambda f: lambda x: slope(f, x, one),
    }
    closed = [lambda x: 4 * x**3 - 2, lambda x: 12 * x**2, lambda x: 24 * x]
    for order, exact in enumerate(closed, 1):
        for modes in itertools.product(derivatives, repeat=order):
            f = reduce(lambda f, mode: derivatives[mode](f), modes, lambda x: x**4 - 2 * x)
            found = f(number)
            assert abs(float(found - exact(number))) <= 1e-15 * abs(float(found)), modes
            assert type(found) in (type(number), float, np.float64)
            assert isinstance(number, int) or isinstance(found, type(number))


def test_a_number_of_a_type_that_cannot_be_made_from_zero():
    u = ufloat(2.0, 0.1)
    assert slope(lambda x: x * x + 3 * x, u, 1.0).nominal_value == 7.0
    assert push(lambda x, y: y * y, (u, 3.0), (None, 1.0)) == (9.0, 6.0)


def test_structures_in_and_out():
    d, d_dot = {"a": X, "b": [2.0, "t"]}, {"a": U, "b": [3.0, None]}
    y, y_dot = push(lambda d: (d["a"] * d["b"][0], {"n": d["b"][0] ** 2, "s": "u"}), (d,), (d_dot,))

    np.testing.assert_array_equal(y[0], 2 * X)
    np.testing.assert_array_equal(y_dot[0], 2 * U + 3 * X)
    assert y[1] == {"n": 4.0, "s": "u"}
    assert y_dot[1] == {"n": 12.0, "s": None}


def test_objects_take_and_give_tangents():
    layer = Layer(X, 0.5)
    y, y_dot = push(
        lambda m, x: Layer(m.weights * x, m.bias * x),
        (layer, 2.0),
        (zyg.gradient(lambda m: np.sum(m.weights) + m.bias, layer)[0], 3.0),
    )

    np.testing.assert_array_equal(y.weights, 2 * X)
    np.testing.assert_array_equal(y_dot.weights, 2 + 3 * X)
    assert y_dot.bias == 2 + 3 * 0.5
    assert isinstance(y_dot, zyg.Tangent)


def test_a_closure_is_an_argument_like_any_other():
    def model(w):
        return lambda x: w * x**2

    f = model(3.0)
    tangent = zyg.gradient(lambda f: f(1.0), f)[0]
    assert push(lambda f, x: f(x), (f, 2.0), (tangent, 1.0)) == (12.0, 4.0 + 12.0)


def test_keyword_arguments_are_constants():
    assert push(lambda x, k=1.0: x * k, (3.0,), (1.0,), k=4.0) == (12.0, 4.0)


COMPLEX = np.array([1 + 2j, 0.5 - 1j])


@pytest.mark.parametrize(
    "f",
    [
        lambda z: z * np.conj(z) * z,
        lambda z: np.abs(z) ** 3,
        lambda z: np.exp(z) + z.real * 1j,
        lambda z: np.sum(z.imag * z[::-1]),
        transposed_cube,
    ],
)
def test_tangents_of_complex_arguments(f):
    if f is transposed_cube:  # holomorphic: what it transposes needs the conjugate
        f = zyg.adjoint(lambda z: (z**3, lambda b: (b * 3 * np.conj(z) ** 2,)))
    for z_dot in (np.array([1, 0j]), np.array([1j, 0]), np.array([2 - 1j, 0.5 + 1j])):
        h = 1e-6
        expected = (zyg.primal(f(COMPLEX + h * z_dot)) - f(COMPLEX - h * z_dot)) / (2 * h)
        found = slope(f, COMPLEX, z_dot)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)
        assert np.iscomplexobj(found) == np.iscomplexobj(f(COMPLEX))


# Levels


@pytest.mark.parametrize("outer", ["forward", "reverse"])
@pytest.mark.parametrize("inner", ["forward", "reverse"])
def test_perturbations_are_not_confused(outer, inner):
    d = {
        "forward": lambda f, x: slope(f, x, 1.0),
        "reverse": lambda f, x: zyg.gradient(f, x, zeros=True)[0],
    }
    outer, inner = d[outer], d[inner]

    assert outer(lambda x: x * inner(lambda y: x + y, 1.0), 1.0) == 1.0
    assert outer(lambda x: x * inner(lambda y: x * y, 2.0), 3.0) == 6.0
    assert inner(lambda y: outer(lambda x: x * y, 2.0) * y, 3.0) == 6.0
    assert outer(lambda x: inner(lambda y: outer(lambda z: x * y * z**2, 3.0) * y, 2.0), 1.0) == 24
    # Amanatides' and Siskind's curried map: s(x)(y) = x * y, differentiated by x, used twice
    s = outer(lambda x: inner(lambda f: f * x, 1.0) + inner(lambda f: f * x, 2.0), 5.0)
    assert s == 2.0


def test_closures_made_at_one_level_and_called_at_another():
    def power(n):
        return (lambda x: 1.0 + 0 * x) if n == 0 else (lambda x: x * power(n - 1)(x))

    def f(x):
        times = [lambda y, k=k: y * x**k for k in range(3)]
        return sum(slope(g, x, 1.0) for g in times)  # 1 + x + x**2

    assert slope(f, 2.0, 1.0) == 5.0
    assert zyg.gradient(f, 2.0) == (5.0,)
    assert slope(lambda x: slope(power(4), x, 1.0), 2.0, 1.0) == 48.0


def test_what_outlives_its_pushforward_is_plain():
    kept = []

    def f(x):
        kept.extend([x, x * x, x[1], x[1:]])
        return x

    slope(f, X, U)
    assert type(kept[1] + 1) is np.ndarray
    assert not zyg.is_traced(kept[0])
    assert float(kept[2]) == X[1]
    np.testing.assert_array_equal(np.sin(kept[3]), np.sin(X[1:]))
    # on another level it is a constant
    np.testing.assert_array_equal(slope(lambda x: x * kept[0], X, U), X * U)
    np.testing.assert_array_equal(zyg.gradient(lambda x: np.sum(x * kept[1]), X)[0], X * X)


def test_a_closed_array_that_outlived_its_level_can_be_written():
    kept = []
    slope(lambda x: kept.append(x * 2.0) or x, X, U)
    kept[0][0] = 7.0
    np.testing.assert_array_equal(kept[0], [7.0, *2 * X[1:]])


def test_values_and_gradients_pass_through_levels_in_either_order():
    def inner(x):
        return np.sum(x**3)

    x_dot = slope(lambda x: zyg.gradient(inner, x)[0], X, U)
    gradient = zyg.gradient(lambda x: slope(inner, x, U), X)[0]
    np.testing.assert_allclose(x_dot, 6 * X * U)
    np.testing.assert_allclose(gradient, 6 * X * U)


def test_a_tangent_may_be_watched():
    np.testing.assert_allclose(
        zyg.gradient(lambda v: np.sum(slope(np.sin, X, v) ** 2), U)[0], 2 * np.cos(X) ** 2 * U
    )
    assert slope(lambda v: slope(lambda x: x**3, 2.0, v), 1.0, 5.0) == 60.0


def test_nestlevel_counts_forward_levels():
    levels = []
    slope(lambda x: levels.append(zyg.nestlevel()) or x, 1.0, 1.0)
    zyg.gradient(lambda x: slope(lambda y: levels.append(zyg.nestlevel()) or y, x, 1.0), 1.0)
    assert levels == [1, 2]
    assert zyg.nestlevel() == 0


@pytest.mark.parametrize(
    "verb",
    [
        lambda f, x: push(f, (x,), (x,)),
        lambda f, x: zyg.jacobian(f, x),
        lambda f, x: zyg.jacobian(f, x, mode="reverse"),
        lambda f, x: zyg.hessian(f, x),
        lambda f, x: zyg.diaghessian(f, x),
        lambda f, x: zyg.hvp(f, x, x),
        lambda f, x: zyg.gradient(lambda x: zyg.checkpoint(f, x), x),
        lambda f, x: zyg.gradient(lambda x: zyg.forwarddiff(f, x), x),
        lambda f, x: push(lambda x: zyg.gradient(f, x), (x,), (x,)),
    ],
)
def test_an_exception_leaves_nothing_dirty(verb):
    large, factor = np.ones(1000), np.ones(1000)
    error = KeyError("mine")

    def f(x):
        y = x * factor
        y[0] = 3.0
        raise error

    with pytest.raises(KeyError) as caught:
        verb(f, large)
    assert caught.value is error
    assert zyg.nestlevel() == 0
    assert large.flags.writeable
    assert factor.flags.writeable
    np.testing.assert_array_equal(large, 1.0)


def test_threads_push_forward_at_the_same_time():
    barrier, found = threading.Barrier(4, timeout=100), {}

    def work(k):
        def f(x):
            barrier.wait()
            y = x * 1.0
            for i in range(30):
                y[i % 3] = np.sin(y[(i + 1) % 3]) * x[k % 3]
            return y

        found[k] = slope(f, X, U)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert len(found) == 4
    np.testing.assert_array_equal(found[0], found[3])
    assert not np.array_equal(found[0], found[1])


def test_an_array_of_an_outer_level_does_not_take_inner_values():
    def f(x):
        y = x * 1.0

        def inner(t):
            y[0] = t * t
            return y[0]

        return np.sum(y) * slope(inner, 2.0, 1.0)

    for call in (lambda: slope(f, X, U), lambda: zyg.gradient(f, X)):
        with pytest.raises(MutationError, match=r"inner gradient[\s\S]*y\[0\] = t \* t"):
            call()


def test_a_buffer_made_inside_an_inner_level_belongs_to_it():
    def f(x):
        def inner(t):
            b = np.zeros_like(x)
            b[0] = t * x[1]
            b[1] = x[2] * t * t
            return np.sum(b * b)

        return slope(inner, 2.0, 1.0)  # 2 t x1^2 + 4 t^3 x2^2

    expected = np.array([0.0, 8 * X[1], 64 * X[2]])
    np.testing.assert_allclose(zyg.gradient(f, X)[0], expected)
    np.testing.assert_allclose(slope(f, X, U), expected @ U)


def test_a_buffer_of_nobody_is_written_by_an_inner_level():
    def f(x):
        b = znp.zeros(2)

        def inner(t):
            b[0] = t * t * x[0]
            return b[0]

        return slope(inner, x[1], 1.0) * x[2]

    expected = np.array([2 * X[1] * X[2], 2 * X[0] * X[2], 2 * X[0] * X[1]])
    np.testing.assert_allclose(zyg.gradient(f, X)[0], expected)
    np.testing.assert_allclose(slope(f, X, U), expected @ U)


# Memory


def peak(f):
    tracemalloc.start()
    try:
        f()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def scalar_steps(n):
    def f(x):
        y = 1.0
        for _ in range(n):
            y = y * x + 0.1
        return y

    return f


def writing_steps(n):
    def f(x):
        y = x * 1.0
        for k in range(n):
            y[k % 10] = y[(k + 1) % 10] * x[0]
            y *= 1.001
            y = np.sin(y)
        return y

    return f


def test_memory_does_not_grow_with_the_number_of_steps():
    slope(scalar_steps(3), 0.5, 1.0)
    few, many = (peak(lambda n=n: slope(scalar_steps(n), 0.5, 1.0)) for n in (100, 3000))
    assert many < few + 10_000
    x = np.linspace(0.1, 0.2, 2000)
    slope(writing_steps(1), x, x)
    few, many = (peak(lambda n=n: slope(writing_steps(n), x, x)) for n in (3, 60))
    assert many < few + x.nbytes


LAYOUTS = {
    "plain": lambda x: x.copy(),
    "Fortran": lambda x: np.asfortranarray(x),
    "strided": lambda x: np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)[::2, ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "read-only": lambda x: _read_only(x.copy()),
    "transposed": lambda x: x.T.copy().T,
}


def _read_only(x):
    x.flags.writeable = False
    return x


def program_on_table(x):
    y = np.sin(x) * x[0, 1]
    y[1:] *= x[:-1]
    y[:, ::2] += x.sum(axis=0)[::2]
    return y @ x.T


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("layout_of_tangent", LAYOUTS)
def test_layouts_give_the_same_and_nothing_is_modified_or_shared(layout, layout_of_tangent):
    table, table_dot = np.outer(X, U[:2]), np.outer(U, X[1:])
    x, x_dot = LAYOUTS[layout](table), LAYOUTS[layout_of_tangent](table_dot)
    y, y_dot = push(program_on_table, (x,), (x_dot,))
    again = push(program_on_table, (x,), (x_dot,))
    expected = push(program_on_table, (table,), (table_dot,))

    np.testing.assert_array_equal(x, table)
    np.testing.assert_array_equal(x_dot, table_dot)
    np.testing.assert_array_equal(y, program_on_table(table))
    np.testing.assert_allclose(y_dot, expected[1], rtol=1e-14)
    assert y_dot.tobytes() == again[1].tobytes()
    made = [y, y_dot, *again]
    assert all(a.flags.writeable for a in made)
    assert not any(np.shares_memory(a, b) for a in made for b in (x, x_dot))
    assert not any(np.shares_memory(a, b) for a, b in itertools.combinations(made, 2))


def test_results_that_are_arguments_or_views_of_them_share_nothing():
    y, y_dot = push(lambda x: (x, x, x[1:], {"v": x.T}), (X,), (U,))
    arrays = [*y[:3], y[3]["v"], *y_dot[:3], y_dot[3]["v"], X, U]
    assert not any(np.shares_memory(a, b) for a, b in itertools.combinations(arrays, 2))
    assert all(a.flags.writeable for a in arrays)


def test_a_tangent_that_is_overwritten_meanwhile_was_taken_before():
    x_dot = np.ones(1000)

    def f(x):
        y = x * 2.0
        x_dot[:] = 100.0
        return x + y

    np.testing.assert_array_equal(slope(f, np.ones(1000), x_dot), 3.0)


def test_the_argument_is_protected_while_f_runs():
    x = np.ones(1000)

    def f(y):
        x[0] = 5.0
        return y

    with pytest.raises(ValueError, match="read-only"):
        slope(f, x, x.copy())
    assert x.flags.writeable


def test_a_plain_operand_may_be_overwritten():
    x, factor = np.ones(1000), np.full(1000, 2.0)

    def f(x):
        y = x * factor
        factor[:] = 50.0
        return y

    np.testing.assert_array_equal(slope(f, x, x), 2.0)


def test_a_read_only_argument_refuses_writes():
    x = _read_only(X.copy())
    with pytest.raises(ValueError, match="read-only"):
        slope(lambda x: x.__setitem__(0, 1.0), x, U)
    np.testing.assert_array_equal(slope(lambda x: x * x, x, U), 2 * X * U)


def test_a_broadcast_argument():
    x = np.broadcast_to(2.0, (2, 3))
    x_dot = np.broadcast_to(U, (2, 3))
    np.testing.assert_array_equal(slope(lambda x: x * x, x, x_dot), 4 * x_dot)


def test_tangents_of_results_are_not_views_of_what_is_written_later():
    def aliases(x):
        a = np.sin(x)
        a[0] = x[1]
        kept = [a + 1.0, +a, a.copy(), a[1:] + 1.0, a.T + 0, np.atleast_2d(a), np.real(a) * 1]
        kept.append(zyg.checkpoint(lambda v: v, a))
        a[:] = 7 * x
        a *= a
        return [*(np.copy(k) for k in kept[:5]), *kept[6:]], a

    y_dot, a_dot = slope(aliases, X, U)
    expected = np.cos(X) * U
    expected[0] = U[1]
    for k, found in enumerate(y_dot):
        np.testing.assert_array_equal(found, expected[1:] if k == 3 else expected)
    np.testing.assert_allclose(a_dot, 98 * X * U)


def test_the_same_array_twice_is_one_variable():
    for x_dot in ([U, U], [U, None]):
        np.testing.assert_array_equal(slope(lambda p: p[0] * p[1], [X, X], x_dot), 2 * X * U)
    np.testing.assert_array_equal(
        push(lambda a, b: a * b, (X, X), (U, None))[1], X * U
    )  # in two arguments they are two


def test_overlapping_views_of_one_base_are_one_variable():
    x = X.copy()
    views = [x[:2], x[1:]]

    def f(p):
        p[0][1] *= 3.0
        return p[0] * p[1]

    expected = slope(lambda x: f([x[:2], x[1:]]), X, U)
    for x_dot in ([U[:2], U[1:]], [U[:2], np.array([0.0, U[2]])], [U[:2], np.array([0, U[2]])]):
        np.testing.assert_allclose(slope(f, views, x_dot), expected)
    np.testing.assert_array_equal(x, X)
    flat = np.arange(4.0)
    pair = [np.broadcast_to(flat[:2], (2, 2)), flat[1:3]]
    ones = [np.ones((2, 2)), np.array([1.0, 0.0])]
    np.testing.assert_array_equal(slope(lambda p: p[0] * p[1], pair, ones), [[1, 2], [1, 2]])


def test_overlapping_views_are_one_variable_to_an_inner_level_too():
    x = X.copy()
    views, views_dot = [x[:2], x[1:]], [U[:2], U[1:]]

    def f(p):
        return np.sum(p[0] * p[1] ** 2)

    plain = zyg.gradient(f, views)[0]
    inside, inside_dot = push(lambda p: zyg.gradient(f, p)[0], (views,), (views_dot,))
    hessian = np.array([[0, 2 * X[1], 0], [2 * X[1], 2 * X[0], 2 * X[2]], [0, 2 * X[2], 2 * X[1]]])
    for k, part in enumerate((slice(2), slice(1, 3))):
        np.testing.assert_allclose(inside[k], plain[k])
        np.testing.assert_allclose(inside_dot[k], (hessian @ U)[part])
    again = zyg.gradient(lambda p: np.sum(zyg.gradient(f, p)[0][0] * U[:2]), views)[0]
    np.testing.assert_allclose(again[0], (hessian[:2].T @ U[:2])[:2])
    np.testing.assert_allclose(again[1], (hessian[:2].T @ U[:2])[1:])


def test_integers_are_real_and_booleans_are_constants():
    assert push(lambda n: n * n, (5,), (1,)) == (25, 10.0)
    y, y_dot = push(lambda n: n * n, (np.array([1, 2]),), (np.array([1, 1]),))
    assert (y.dtype, y_dot.dtype) == (np.dtype(int), np.dtype(float))
    np.testing.assert_array_equal(y_dot, [2.0, 4.0])
    mask = X > 0
    found = push(lambda x, m, b: np.where(m, x, 0.0) if b else x, (X, mask, True), (U, None, None))
    np.testing.assert_array_equal(found[1], np.where(mask, U, 0.0))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint32, np.int64])
def test_views_of_integer_arrays_at_second_order(dtype):
    n = np.array([1, 2, 3], dtype)

    def f(n):
        back = n[::-1]
        return np.sum(back[:2] ** 2 * n[1:] * n[None, :][:, 1:])

    expected = zyg.hessian(f, n.astype(float))
    for modes in mixtures(2):
        outer, inner = modes
        assert float(outer(inner(f))(n)) == pytest.approx(U @ expected @ U)


def test_real_and_imaginary_parts_are_views():
    def f(z):
        z = z * 1
        part = z.real
        part *= z.imag
        z.imag[0] = part[1] ** 2
        return np.sum(np.abs(z) ** 2 * np.array([1, 2]))

    z_bar = zyg.gradient(f, COMPLEX)[0]
    for z_dot in (np.array([1, 0j]), np.array([0, 1]), np.array([1j, 2 + 1j])):
        expected = np.sum(np.real(np.conj(z_bar) * z_dot))
        assert slope(f, COMPLEX, z_dot) == pytest.approx(expected)


@pytest.mark.parametrize("x", [np.zeros(0), np.zeros((0, 3)), np.zeros((2, 0), np.float32)])
def test_size_zero(x):
    y_dot = slope(lambda x: (np.sin(x) * x, np.sum(x)), x, x)
    assert (y_dot[0].shape, y_dot[0].dtype) == (x.shape, x.dtype)
    assert y_dot[1] == 0.0


def test_zero_dimensions():
    y, y_dot = push(lambda x: x * 1.0, (np.array(2.0),), (np.array(3.0),))
    assert y_dot == 3.0
    y, y_dot = push(lambda x: x.copy(), (np.array(2.0),), (3.0,))
    assert (type(y), type(y_dot)) == (np.ndarray, np.ndarray)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.complex64])
def test_tangents_have_the_dtype_of_the_value(dtype):
    x = X.astype(dtype)
    for f in (np.sin, lambda x: x * 2.0, np.sum, transposed_cube, lambda x: x[0], np.cumsum):
        y, y_dot = push(f, (x,), (x,))
        assert np.asarray(y).dtype == np.asarray(y_dot).dtype == dtype
        assert type(y) is type(y_dot)


def test_two_runs_are_the_same_bit_for_bit():
    for f in PROGRAMS:
        first, second = (np.float64(slope(f, X, U)).tobytes() for _ in range(2))
        assert first == second


# Zeros, infinities, warnings


@zyg.adjoint
def root_by_pullback(x):
    return np.sqrt(x), lambda y_bar: (y_bar / (2 * np.sqrt(x)),)


@zyg.adjoint
def root_by_pushforward(x):
    return np.sqrt(x), lambda y_bar: (y_bar / (2 * np.sqrt(x)),)


@root_by_pushforward.pushforward
def root_forward(x):
    return np.sqrt(x), lambda x_dot: x_dot / (2 * np.sqrt(x))


@pytest.mark.parametrize("root", [np.sqrt, root_by_pullback, root_by_pushforward])
@pytest.mark.parametrize("x", [0.0, np.zeros(2), np.array([0.0, 4.0])])
def test_a_zero_tangent_stays_zero_through_an_infinite_derivative(root, x):
    zero = 0.0 * x
    assert np.all(slope(root, x, zero) == 0)
    assert np.all(slope(lambda x: root(0 * x), x, zero + 1) == 0)
    assert np.all(np.isinf(np.atleast_1d(slope(root, x, zero + 1))[0]))


def test_strong_zero_can_be_turned_off():
    with zyg.config(strong_zero=False):
        assert np.isnan(slope(lambda x: np.sqrt(0 * x), 0.0, 1.0))
        assert np.isnan(slope(root_by_pullback, 0.0, 0.0))
        assert np.isnan(slope(root_by_pushforward, 0.0, 0.0))


def test_the_branch_not_taken_does_not_poison():
    f = lambda x: np.where(x > 0, np.sqrt(x), 0.0)  # noqa: E731
    np.testing.assert_array_equal(slope(f, np.array([0.0, 4.0]), np.ones(2)), [0.0, 0.25])
    np.testing.assert_array_equal(zyg.hessian(lambda x: np.sum(f(x)), np.zeros(1)), [[0.0]])


def test_no_warning_comes_out_of_derivatives_but_those_of_f_do():
    for f, x in [(np.sqrt, 0.0), (np.sqrt, np.zeros(2)), (np.cbrt, np.float64(0.0))]:
        assert np.all(np.isinf(slope(f, x, x + 1.0)))  # filterwarnings = error
    huge = np.float64(1e200)
    assert np.isinf(slope(lambda x: x * huge, np.float64(1.0), huge))
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
        slope(np.log, np.array([0.0, 1.0]), np.ones(2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        slope(lambda x: np.exp(x) * x, np.array([800.0]), np.ones(1))
    assert [str(w.message) for w in caught] == ["overflow encountered in exp"]


def test_check_nan_names_the_function_and_the_line():
    def f(x):
        y = x * 2.0
        z = np.sqrt(y)  # the line
        return z + 1.0

    expected = r"result of sqrt is infinite or NaN[\s\S]*z = np\.sqrt\(y\)  # the line"
    with zyg.config(check_nan=True):
        for x in (0.0, np.zeros(3)):
            with pytest.raises(NonFiniteError, match=expected):
                slope(f, x, x + 1.0)
            with pytest.raises(NonFiniteError, match=expected):
                zyg.jacobian(f, x)
        assert slope(f, 2.0, 1.0) == 0.5
        # only where the result is not finite
        assert slope(lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0, 1.0) == 0.0
    assert slope(f, 0.0, 1.0) == np.inf


# What is refused


def refused(error, *args, match):
    with pytest.raises(error, match=match) as caught:
        push(*args)
    text = str(caught.value)
    assert "test_pushforward.py" in text
    assert "why:" in text
    assert "fix:" in text


def test_tangents_that_do_not_fit_are_refused():
    def f(x):
        return x

    refused(StructureError, f, (X,), (U[:2],), match=r"shape \(2,\) does not fit argument 0 of f")
    refused(StructureError, f, (2.0,), (U,), match=r"shape \(3,\) does not fit argument 0 of f")
    refused(StructureError, f, ([2.0],), ({"a": 1},), match="argument 0 of f: at the top it needs")
    refused(StructureError, f, (2.0,), ("a",), match="needs a number or an array, got a str")
    refused(StructureError, f, (2.0,), (1.0, 1.0), match="got 1 arguments and 2 tangents")
    refused(StructureError, f, X, U, match="arguments of f as a tuple")
    refused(StructureError, f, (2.0,), (1j,), match="complex tangent does not fit .* which is real")
    refused(StructureError, f, ([X, X],), ([U, -U],), match="in two places, and their tangents")
    views = [X[:2], X[1:]]
    refused(StructureError, f, (views,), ([U[:2], U[:2]],), match="in two places, and their")


def test_a_tangent_may_be_none_or_a_bool_or_a_list():
    assert push(lambda x, s: x * len(s), (2.0, "ab"), (None, None)) == (4.0, 0.0)
    assert slope(np.square, 2.0, True) == 4.0
    np.testing.assert_array_equal(slope(np.square, X, [1.0, 0.0, 1.0]), [1.0, 0.0, 4.0])


def test_what_does_not_depend_has_zero_tangents():
    y_dot = slope(lambda x: (3.0, 4, X, "s", None, True), 2.0, 1.0)
    assert y_dot[0] == y_dot[1] == 0.0
    np.testing.assert_array_equal(y_dot[2], np.zeros(3))
    assert y_dot[3:] == (None, None, None)


def test_a_hook_is_refused_in_forward_mode():
    def f(x):
        return zyg.hook(lambda d: -d, x)

    refused(MissingRuleError, f, (1.0,), (1.0,), match="hook works in reverse mode only")
    refused(MissingRuleError, f, (X,), (U,), match=r"mode=\"reverse\"")


def test_conversions_and_plain_buffers_are_refused_as_in_reverse():
    buffer = np.zeros(3)

    def stores(x):
        buffer[0] = x[0]

    refused(ConversionError, lambda x: float(x), (1.0,), (1.0,), match=r"float\(x\)")
    refused(ConversionError, stores, (X,), (U,), match="plain NumPy array")
    refused(MissingRuleError, lambda x: np.busday_count(x, x), (X,), (U,), match="has no rule")


# Rules


def test_a_rule_of_ones_own_that_depends_on_a_watched_global_is_refused():
    def f(x):
        rule = zyg.adjoint(lambda y: (y * x, lambda y_bar: (y_bar * x,)))
        return rule(2.0 * x)

    refused(AdjointError, f, (1.0,), (1.0,), match="watched value that is not among its arguments")


def given(pushforward):
    """x**2, with a forward rule made of this."""

    @zyg.adjoint
    def square(x):
        return x * x, lambda y_bar: (2 * y_bar * x,)

    @square.pushforward
    def square_forward(x):
        return x * x, lambda x_dot: pushforward(x, x_dot)

    return square


@pytest.mark.parametrize(
    ("pushforward", "what"),
    [
        (
            lambda x, x_dot: np.sum(x_dot),
            r"tangent of its result has shape \(\); the result \(3,\)",
        ),
        (lambda x, x_dot: x_dot[None], r"tangent of its result has shape \(1, 3\)"),
        (lambda x, x_dot: (2 * x * x_dot,), r"tangent of its result has shape \(1, 3\)"),
        (lambda x, x_dot: [0.0, 0.0, 0.0], "tangent of its result is a list"),
    ],
)
def test_a_broken_pushforward_is_refused(pushforward, what):
    f = given(pushforward)
    refused(AdjointError, f, (X,), (U,), match=rf"rule of square .*test_pushforward.*{what}")


def test_a_pushforward_that_returns_no_function_is_refused():
    square = given(None)
    square.pushforward(lambda x: x * x)
    refused(AdjointError, square, (X,), (U,), match=r"returned ndarray, not \(y, pullback\)")


def test_a_pushforward_may_return_none_for_what_does_not_move():
    np.testing.assert_array_equal(slope(given(lambda x, x_dot: None), X, U), 0.0)
    made = zyg.adjoint(lambda x: ((x, x * x), lambda y_bar: (y_bar[0] + 2 * x * y_bar[1],)))
    made.pushforward(lambda x: ((x, x * x), lambda x_dot: (x_dot, None)))
    first, second = slope(made, X, U)
    np.testing.assert_array_equal(first, U)
    np.testing.assert_array_equal(second, 0.0)


def test_a_pushforward_gets_none_for_what_does_not_move():
    seen = []
    f = zyg.adjoint(lambda x, y, n=2: (x * y * n, lambda b: (b * y * n, b * x * n)))

    @f.pushforward
    def f_forward(x, y, n=2):
        def pushforward(x_dot, y_dot, n_dot=None):
            seen.append((x_dot is None, y_dot is None, n_dot))
            return (0 if x_dot is None else x_dot * y * n) + (0 if y_dot is None else x * y_dot * n)

        return x * y * n, pushforward

    assert push(lambda x: f(x, 3.0), (2.0,), (1.0,)) == (12.0, 6.0)
    assert push(lambda y: f(2.0, y, n=5), (3.0,), (1.0,)) == (30.0, 10.0)
    assert push(f, (2.0, 3.0), (1.0, None)) == (12.0, 6.0)
    assert seen[:2] == [(False, True, None), (True, False, None)]


def test_a_linear_rule_is_applied_to_the_tangents():
    calls = []

    @zyg.adjoint
    def twice(x):
        calls.append(np.copy(zyg.primal(x)))
        return 2 * x, lambda y_bar: (2 * y_bar,)

    twice.linear = (0,)
    np.testing.assert_array_equal(slope(twice, X, U), 2 * U)
    np.testing.assert_array_equal(calls, [X, U])


def test_many_tangents_are_carried_by_one_run_of_f():
    runs = []

    def f(x):
        runs.append(1)
        return np.linalg.solve(np.outer(x, x) + np.eye(15), x)

    found = zyg.jacobian(f, np.linspace(0.1, 0.9, 15), mode="forward")[0]
    assert runs == [1]
    np.testing.assert_allclose(
        found, zyg.jacobian(f, np.linspace(0.1, 0.9, 15), mode="reverse")[0], atol=1e-14
    )


@pytest.mark.parametrize("x_dot", [np.array([0, 1]), np.array([0, 1], np.float32), [0, 1]])
def test_a_tangent_is_of_the_type_of_its_argument(x_dot):
    def f(x):
        x[0] = x[1] * 0.1  # written to the tangent, too
        return x[0]

    _, y_dot = zyg.pushforward(f, (np.array([1.0, 2.0]),), (x_dot,))
    assert y_dot == 0.1
