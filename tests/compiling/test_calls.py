"""A call of a compiled function does what Python does, and a derivative what the tracer does."""

import functools
import inspect
import math
import operator
import pickle
import threading
from collections import namedtuple

import numpy as np
import pytest

import zyg
from tests.calls.compare import difference
from tests.programs import functions
from tests.programs.program import programs
from zyg.errors import ConversionError, MutationError, NonScalarOutputError

X = np.array([0.5, -1.2, 2.0, 0.1])
scale = 2.0
table = np.array([1.0, 2.0, 3.0, 4.0])


@zyg.compile
def wave(x):
    """A wave of a wave."""
    return math.sin(math.cos(x))


@zyg.compile
def scaled(x, by=3.0, *more, shift=0.5):
    return x * by * scale + shift + sum(more)


@zyg.compile
def total(x):
    s = 0.0
    for k in range(len(x)):
        s += table[k] * x[k] * x[k]
    return s


def doubles(x):
    x[0] = 2.0 * x[1]
    x[1] = x[1] / x[2]
    return x[0] + x[2]


compiled_doubles = zyg.compile(doubles)


class Layer:
    def __init__(self, weight, bias):
        self.weight, self.bias = weight, bias

    @zyg.compile
    def __call__(self, x):
        return np.sum(self.weight * x) + self.bias

    @zyg.compile
    def twice(self, x):
        return self.bias * x * 2.0


Pair = namedtuple("Pair", "a b")


@pytest.fixture(autouse=True)
def nothing_falls_back():
    with zyg.config(fallback="error"):
        yield


# What it looks like


def test_a_compiled_function_looks_like_the_function():
    assert wave.__name__ == "wave"
    assert wave.__doc__ == "A wave of a wave."
    assert wave.__wrapped__(0.5) == wave(0.5)
    assert str(inspect.signature(scaled)) == "(x, by=3.0, *more, shift=0.5)"
    assert zyg.compile(wave) is wave
    assert pickle.loads(pickle.dumps(wave)) is wave
    assert "wave" in repr(wave)


def test_compile_takes_options_as_a_decorator():
    @zyg.compile(wrt=0)
    def product(x, y):
        return x * y

    assert product(2.0, 3.0) == 6.0
    assert zyg.gradient(product, 2.0, 3.0) == (3.0, None)
    assert zyg.gradient(lambda x, y: product(x, y), 2.0, 3.0) == (3.0, None)


@pytest.mark.parametrize("wrt", ["y", ["y"], 1, (1,), ("y", 1)])
def test_wrt_takes_names_and_positions(wrt):
    f = zyg.compile(lambda x, y: x * y, wrt=wrt)

    assert zyg.gradient(f, 2.0, 3.0) == (None, 2.0)
    assert zyg.gradient(lambda x, y: f(x, y), 2.0, 3.0) == (None, 2.0)


def refused(x, y, z):
    exec("1")
    return np.sum(x * y) * z


def stopped(x, y, z):
    return np.sum(x * y) * z + 0 * (2**62 * int(z))


@pytest.mark.parametrize("wrt", [0, "y", ("x", "z"), [1, 2]])
@pytest.mark.parametrize("f", [refused, stopped])
def test_arguments_left_out_of_wrt_have_no_gradient_where_python_runs_the_function(f, wrt):
    compiled = zyg.compile(f, wrt=wrt)
    places = compiled.wrt
    args = np.ones(3), np.arange(3.0), 2.0
    with zyg.config(fallback="silent"):
        for found in (
            zyg.gradient(compiled, *args),
            zyg.value_and_gradient(compiled, *args)[1],
            zyg.pullback(compiled, *args)[1](1.0),
            zyg.gradient(lambda *xs: compiled(*xs), *args),
        ):
            for k, (x, y) in enumerate(zip(found, zyg.gradient(f, *args), strict=True)):
                assert (x is None) == (k not in places)
                if k in places:
                    np.testing.assert_array_equal(x, y)


def test_what_is_written_to_stays_watched_though_wrt_leaves_it_out():
    @zyg.compile(wrt=0)
    def filled(x, out):
        out[0] = x[0] * 2
        return np.sum(x * out)

    x, out = np.array([1.0, 2.0]), np.ones(2)
    found = zyg.gradient(lambda x, out: filled(x * 1.0, out * 1.0), x, out)
    np.testing.assert_array_equal(found[0], [4.0, 1.0])


def test_a_write_to_what_wrt_leaves_out_says_so_where_python_runs_the_function():
    def f(x, out):
        out[0] = x * eval("2.0")
        return out[0] * x

    with zyg.config(fallback="silent"):
        with pytest.raises(ConversionError, match="f runs in Python; name in wrt= the arguments"):
            zyg.gradient(zyg.compile(f, wrt="x"), 3.0, np.zeros(2))
        assert zyg.gradient(zyg.compile(f, wrt=("x", "out")), 3.0, np.zeros(2))[0] == 12.0


@pytest.mark.parametrize("wrt", ["z", 2, -1, 0.5, ("x", "z"), True, "key"])
def test_wrt_of_no_argument_is_refused(wrt):
    with pytest.raises(zyg.errors.ArgumentError, match="is no positional argument of") as caught:
        zyg.compile(lambda x, y, *, key=1: x * y, wrt=wrt)

    assert "x, y" in str(caught.value)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="takes a function, not a int"):
        zyg.compile(3)


# Arguments


def test_defaults_keywords_and_further_arguments():
    assert scaled(1.0) == 6.5
    assert scaled(1.0, 2.0) == 4.5
    assert scaled(1.0, shift=1.0) == 7.0
    assert scaled(1.0, 2.0, 3.0, 4.0) == 11.5
    assert zyg.gradient(scaled, 1.0, 2.0, 3.0, shift=1.0) == (4.0, 2.0, 1.0)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        scaled()
    with pytest.raises(TypeError, match="unexpected keyword"):
        zyg.gradient(scaled, 1.0, colour=3.0)


def test_lambdas_partials_methods_and_callable_objects():
    square = zyg.compile(lambda x: x * x)
    by_four = zyg.compile(functools.partial(lambda a, x: a * x * x, 4.0))
    layer = Layer(X, 0.5)

    assert zyg.gradient(square, 3.0) == (6.0,)
    assert zyg.gradient(by_four, 3.0) == (24.0,)
    assert layer.twice(3.0) == 3.0
    assert zyg.gradient(layer.twice, 3.0) == (1.0,)
    assert zyg.gradient(zyg.compile(layer.twice), 3.0) == (1.0,)
    assert layer(X) == pytest.approx(np.sum(X * X) + 0.5)
    np.testing.assert_array_equal(zyg.gradient(layer, 2 * X)[0], X)


def test_the_gradient_by_an_object_is_a_tangent():
    found = zyg.gradient(lambda layer: layer(2 * X), Layer(X, 0.5))[0]

    assert found == zyg.Tangent("Layer", weight=2 * X, bias=1.0)
    assert zyg.gradient(Layer.twice, Layer(X, 0.5), 3.0)[0].bias == 6.0


@pytest.mark.parametrize(
    "x",
    [X, X.astype(np.float32), np.asfortranarray(np.outer(X, X)), np.outer(X, X)[::2, ::-1],
     np.broadcast_to(X, (2, 4)), X[:0], np.array(2.0)],
    ids=["1-d", "float32", "fortran", "strided", "read-only", "empty", "0-d"],
)  # fmt: skip
def test_arrays_of_every_layout(x):
    f = zyg.compile(lambda x: np.sum(x * x))

    assert f(x) == pytest.approx(np.sum(x * x), rel=1e-6)
    (found,) = zyg.gradient(f, x)
    assert found.dtype == x.dtype
    assert found.shape == x.shape
    np.testing.assert_allclose(found, 2 * x, rtol=1e-6)


def test_numbers_of_numpys_are_numpys():
    f = zyg.compile(lambda x: x * x)

    assert type(f(np.float64(3.0))) is np.float64
    assert type(f(3.0)) is float
    assert type(f(3)) is int
    assert type(zyg.gradient(f, np.float64(3.0))[0]) is np.float64
    assert zyg.value_and_gradient(f, 3) == (9, (6.0,))


def test_an_int_is_a_real_number_that_can_also_index_and_count():
    @zyg.compile
    def mean(x, n):
        s = 0.0
        for k in range(n - 1, -1, -1):
            s += x[k] * (k + n)
        return s / n + x[n - 1]

    np.testing.assert_allclose(zyg.gradient(mean, X, 4)[0], [1, 1.25, 1.5, 2.75])
    slope = np.sum(X) / 4 - np.sum(X * (np.arange(4) + 4)) / 16
    assert zyg.gradient(mean, X, 4)[1] == pytest.approx(slope)
    assert zyg.gradient(lambda x, n: mean(x, n), X, 4)[1] == pytest.approx(slope)
    assert zyg.pushforward(mean, (X, 4), (None, 2.0))[1] == pytest.approx(2 * slope)

    power = zyg.compile(lambda x, n: x**n / n)
    assert zyg.gradient(power, 1.5, 3)[1] == pytest.approx(1.125 * (math.log(1.5) - 1 / 3))
    assert zyg.hessian(zyg.compile(lambda n: n * n / 2), 5) == 1.0


def test_a_derivative_by_an_int_that_a_loop_carries_is_traced():
    @zyg.compile
    def doubled(n):
        for _ in range(3):
            n = n * 2
        return n / 3

    assert zyg.gradient(doubled, 3) == (pytest.approx(8 / 3),)


def test_structures_come_and_go():
    @zyg.compile
    def parts(pair, pieces):
        return {"a": pair.a * pieces[0], "b": [pair.b, Pair(pair.a, None)]}

    pair = Pair(2.0, X)
    y = parts(pair, (3.0,))
    assert y["a"] == 6.0
    np.testing.assert_array_equal(y["b"][0], X)
    assert y["b"][1] == Pair(2.0, None)
    bars = zyg.pullback(parts, pair, (3.0,))[1]({"a": 1.0, "b": [X, Pair(5.0, None)]})
    assert bars[0].a == 8.0
    np.testing.assert_array_equal(bars[0].b, X)
    assert bars[1] == (2.0,)


def test_the_same_array_twice_in_an_argument_is_one_variable():
    f = zyg.compile(lambda pair: np.sum(pair[0] * pair[1]))
    x = X.copy()
    (found,) = zyg.gradient(f, (x, x))

    np.testing.assert_allclose(found[0], 2 * x)
    np.testing.assert_allclose(found[1], 2 * x)


def test_zeros_in_the_place_of_none():
    f = zyg.compile(lambda x, a, n, s: x * x)

    assert zyg.gradient(f, 1.0, X, 2, "s") == (2.0, None, None, None)
    found = zyg.gradient(f, 1.0, X, 2, "s", zeros=True)
    np.testing.assert_array_equal(found[1], np.zeros(4))
    assert (found[2], found[3]) == (0.0, None)


# Writes


def test_writes_to_arguments_are_pythons():
    ours, theirs = X.copy(), X.copy()

    assert compiled_doubles(ours) == doubles(theirs)
    np.testing.assert_array_equal(ours, theirs)


def test_writes_to_an_argument_of_another_layout():
    ours, theirs = np.zeros((4, 2)), np.zeros((4, 2))
    ours[:, 1] = theirs[:, 1] = X

    assert compiled_doubles(ours[::-1, 1]) == doubles(theirs[::-1, 1])
    np.testing.assert_array_equal(ours, theirs)


def test_a_gradient_leaves_its_arguments_as_they_are():
    x = X.copy()
    (found,) = zyg.gradient(compiled_doubles, x)

    np.testing.assert_array_equal(x, X)
    np.testing.assert_allclose(found, [0, 2, 1, 0])


def counting(x, counts):
    counts[0] += 1.0
    return x * x * counts[0]


def test_what_is_written_outside_of_arguments_is_written_once_in_every_derivative():
    counts, kept, filled = np.zeros(1), np.zeros(1), np.zeros(1)
    of_a_closure = zyg.compile(lambda x: counting(x, counts))
    of_a_partial = zyg.compile(functools.partial(lambda c, x: counting(x, c), kept))
    of_a_keyword = zyg.compile(counting)
    for f, memory in (
        (of_a_closure, counts), (of_a_partial, kept),
        (lambda x: of_a_keyword(x, counts=filled), filled),
    ):  # fmt: skip
        y, back = zyg.pullback(f, 3.0)
        assert (y, *back(1.0), *memory) == (9.0, 6.0, 1.0)
        assert (*zyg.gradient(f, 3.0), *memory) == (12.0, 2.0)
        assert (*zyg.pushforward(f, (3.0,), (1.0,)), *memory) == (27.0, 18.0, 3.0)
        assert (*zyg.value_and_gradient(f, 3.0), *memory) == (36.0, (24.0,), 4.0)
        assert (zyg.hessian(f, 3.0), *memory) == (10.0, 5.0)
        assert (*zyg.gradient(lambda x, f=f: f(x) + f(x), 3.0), *memory) == (78.0, 7.0)
        assert (*zyg.jacobian(f, 3.0), *memory) == (48.0, 8.0)


def test_nothing_is_written_that_python_would_not_have_written():
    ours, theirs = np.array([1, 2, 0, 3]), np.array([1, 2, 0, 3])

    def divides(x):
        x[0] = 7
        x[1] = 1 // int(x[2])

    compiled = zyg.compile(divides)
    with pytest.raises(ZeroDivisionError):
        divides(theirs)
    with pytest.raises(ZeroDivisionError):
        compiled(ours)
    np.testing.assert_array_equal(ours, theirs)


def test_an_argument_that_is_returned_is_itself():
    @zyg.compile
    def filled(x, y):
        x[:] = y
        return x, y

    x = np.zeros(4)
    found = filled(x, X)
    assert found[0] is x
    assert found[1] is X
    np.testing.assert_array_equal(x, X)
    identity = zyg.compile(lambda x: x)
    y, back = zyg.pullback(identity, X)
    assert y is not X
    np.testing.assert_array_equal(back(X)[0], X)


def test_a_read_only_argument_is_not_written():
    x = X.copy()
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled_doubles(x)


def test_arguments_that_overlap_and_are_written():
    @zyg.compile
    def shifts(x, y):
        for k in range(len(x)):
            x[k] = y[k] * 2.0
        return x[0]

    ours, theirs = X.copy(), X.copy()
    assert shifts(ours[1:], ours[:-1]) == shifts.__wrapped__(theirs[1:], theirs[:-1])
    np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(MutationError, match="shares memory") as error:
        zyg.gradient(shifts, ours[1:], ours[:-1])
    assert "[overlap]" in str(error.value)


# What Python raises


@pytest.mark.parametrize(
    ("f", "args", "error"),
    [
        (lambda x, k: x[k], (X, 4), IndexError),
        (lambda x, k: np.sum(x[None][k, 4]), (X, np.zeros(0, int)), IndexError),
        (lambda x, y: x / y, (1.0, 0.0), ZeroDivisionError),
        (lambda x: math.log(x), (-1.0,), ValueError),
        (lambda x: math.exp(x), (1e4,), OverflowError),
        (lambda x, y: np.sum(x + y), (X, X[:3]), ValueError),
        (lambda x, y: x, (1.0,), TypeError),
    ],
    ids=["index", "index of none", "division", "domain", "overflow", "shapes", "arity"],
)
def test_an_exception_is_pythons(f, args, error):
    compiled = zyg.compile(f)
    with pytest.raises(error) as expected:
        f(*args)
    for call in (compiled, functools.partial(zyg.gradient, compiled)):
        with pytest.raises(error) as found:
            call(*args)
        assert str(found.value) == str(expected.value)


def test_a_result_that_is_no_real_number_has_no_gradient():
    f = zyg.compile(lambda x: (x * 2, x))
    with pytest.raises(NonScalarOutputError, match="returned a tuple"):
        zyg.gradient(f, 1.0)
    with pytest.raises(NonScalarOutputError, match="returned an array of shape"):
        zyg.gradient(zyg.compile(lambda x: x * 2.0), X)


# Captures


def test_what_is_captured_is_seen_when_it_changes(monkeypatch):
    assert (scaled(1.0), total(X)) == (6.5, pytest.approx(np.sum(table * X * X)))
    monkeypatch.setitem(globals(), "scale", 10.0)
    monkeypatch.setitem(globals(), "table", np.ones(4))
    assert (scaled(1.0), total(X)) == (30.5, pytest.approx(np.sum(X * X)))
    np.testing.assert_allclose(zyg.gradient(total, X)[0], 2 * X)


def test_a_helper_and_a_cell_that_change_are_seen():
    def first(x):
        return x * k

    helper, k = first, 2

    @zyg.compile
    def f(x):
        return helper(x) + 1.0

    assert f(3.0) == 7.0
    k = 5
    assert f(3.0) == 16.0

    def other(x):
        return x - 1.0

    helper = other
    assert f(3.0) == 3.0
    assert zyg.gradient(f, 3.0) == (1.0,)


def test_watched_values_that_are_captured_get_their_gradient():
    def outer(b, w):
        @zyg.compile
        def inner(x):
            return b * x * x + np.sum(w * x)

        return inner(3.0)

    found = zyg.gradient(outer, 2.0, X)
    assert found[0] == 9.0
    np.testing.assert_allclose(found[1], np.full(4, 3.0))


def test_the_gradient_by_a_closure_is_a_tangent():
    def power_of(b):
        return lambda x: b * x**3

    @zyg.compile
    def apply(g, x):
        return g(x) * 2

    assert apply(power_of(3.0), 2.0) == 48.0
    found = zyg.gradient(apply, power_of(3.0), 2.0)
    assert found[0].b == 16.0
    assert found[1] == 72.0


# Verbs and nesting


@pytest.mark.slow
def test_every_verb():
    x = 0.7
    slope_at = lambda x: -math.cos(math.cos(x)) * math.sin(x)  # noqa: E731
    slope = slope_at(x)
    bend = (slope_at(x + 1e-5) - slope_at(x - 1e-5)) / 2e-5

    assert zyg.gradient(wave, x) == (pytest.approx(slope),)
    assert zyg.value_and_gradient(wave, x) == (wave(x), (pytest.approx(slope),))
    assert zyg.pushforward(wave, (x,), (2.0,)) == (wave(x), pytest.approx(2 * slope))
    for mode in ("auto", "forward", "reverse"):
        assert zyg.jacobian(wave, x, mode=mode) == (pytest.approx(slope),)
    assert zyg.hessian(wave, x) == pytest.approx(bend, rel=1e-8)
    assert zyg.hvp(wave, x, 2.0) == pytest.approx(2 * bend, rel=1e-8)
    assert zyg.diaghessian(wave, x) == pytest.approx(bend, rel=1e-8)
    zyg.check_gradient(wave, x, order=2)
    zyg.check_gradient(total, X, order=2)


@pytest.mark.parametrize("wrt", [(0,), (1,), (0, 1), None])
def test_jacobians_by_some_arguments_are_zeros_by_the_others(wrt):
    def scaled(a, xs):
        out = np.zeros(len(xs))
        for i in range(len(xs)):
            out[i] = a * xs[i]
        return out

    compiled, args = zyg.compile(scaled, wrt=wrt), (2.0, np.arange(3.0))
    rows = zyg.jacobian(compiled, *args, mode="reverse")
    for found in (zyg.jacobian(compiled, *args, mode=mode) for mode in ("auto", "forward")):
        for block, right in zip(found, rows, strict=True):
            assert type(block) is type(right)
            np.testing.assert_array_equal(block, right)


@pytest.mark.slow
def test_jacobians_and_hessians_are_programs():
    rows = zyg.compile(lambda x, s: np.sin(x) * s)
    loss = zyg.compile(lambda x: np.sum(np.sin(x) * x))
    traced = lambda x: np.sum(np.sin(x) * x)  # noqa: E731

    for mode in ("auto", "forward", "reverse"):
        by_x, by_s = zyg.jacobian(rows, X, 2.0, mode=mode)
        np.testing.assert_allclose(by_x, 2 * np.diag(np.cos(X)))
        np.testing.assert_allclose(by_s, np.sin(X))
    tall = zyg.compile(lambda a: a @ a.T)
    a = np.outer(X, X)[:, :3].copy()
    np.testing.assert_allclose(
        zyg.jacobian(tall, a, mode="forward")[0], zyg.jacobian(tall, a, mode="reverse")[0]
    )
    np.testing.assert_allclose(zyg.hessian(loss, X), zyg.hessian(traced, X))
    np.testing.assert_allclose(zyg.hvp(loss, X, X[::-1]), zyg.hvp(traced, X, X[::-1]))
    assert zyg.hessian(zyg.compile(lambda x: x**3), 2.0) == 12.0
    root = zyg.compile(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)))
    np.testing.assert_array_equal(zyg.jacobian(root, np.array([0.0, 4.0]))[0], [0.0, 0.25])
    with pytest.raises(IndexError):
        zyg.jacobian(zyg.compile(lambda x: x[4] * x), X)


def test_a_pullback_is_reusable_and_knows_its_arguments():
    x = X.copy()
    y, back = zyg.pullback(total, x)
    x[:] = 100.0

    assert y == pytest.approx(np.sum(table * X * X))
    for _ in range(2):
        np.testing.assert_allclose(back(2.0)[0], 4 * table * X)


def test_value_and_gradient_with_other_results():
    f = zyg.compile(lambda x: (x * x, "a note", [x]))

    assert zyg.value_and_gradient(f, 3.0) == ((9.0, "a note", [3.0]), (6.0,))


def test_derivatives_nest_to_any_order():
    def nth(n):
        return wave if n == 0 else lambda x: zyg.gradient(nth(n - 1), x)[0]

    step = 1e-4
    for n in (1, 2, 3):
        slope = (nth(n - 1)(0.7 + step) - nth(n - 1)(0.7 - step)) / (2 * step)
        assert nth(n)(0.7) == pytest.approx(slope, rel=1e-6)
        assert zyg.pushforward(nth(n - 1), (0.7,), (1.0,))[1] == pytest.approx(slope, rel=1e-6)


def test_inside_a_traced_program_it_is_one_entry():
    def program(x):
        y = x[:2] * 3.0
        return total(np.stack([y[0], y[1], wave(y[0]), x[3]])) * wave(x[2])

    zyg.check_gradient(program, X, order=2)
    loss = lambda x: zyg.checkpoint(program, x) + program(x)  # noqa: E731
    np.testing.assert_allclose(zyg.gradient(loss, X)[0], 2 * zyg.gradient(program, X)[0])


def test_an_infinite_slope_on_a_path_not_taken_does_not_reach_the_gradient():
    @zyg.compile
    def f(x):
        y = np.sqrt(x)
        return y if x > 0 else 0.0 * x

    root = zyg.compile(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)))
    assert zyg.gradient(f, np.float64(0.0)) == (0.0,)
    np.testing.assert_array_equal(zyg.gradient(root, np.array([0.0, 4.0]))[0], [0.0, 0.25])
    with zyg.config(strong_zero=False):
        assert np.isnan(zyg.gradient(root, np.array([0.0, 4.0]))[0][0])


def test_eight_threads_compile_and_call_the_same_functions():
    functions = [zyg.compile(lambda x, k=k: math.sin(k * x) * x) for k in range(3)]
    found = [None] * 8

    def work(n):
        found[n] = [
            (f(0.3), zyg.gradient(f, 0.3), zyg.hessian(f, 0.3)) for f in functions for _ in range(5)
        ]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert all(row == found[0] for row in found)
    assert found[0][5][0] == math.sin(0.3) * 0.3
    assert found[0][5][1] == (pytest.approx(math.cos(0.3) * 0.3 + math.sin(0.3)),)


def test_kernels_clear_forgets_what_was_compiled():
    f = zyg.compile(lambda x: x * x * x)
    before = zyg.gradient(f, 2.0)
    zyg.kernels.clear()
    assert zyg.gradient(f, 2.0) == before == (12.0,)


def test_what_python_raises_stands_alone():
    f = zyg.compile(lambda x, n: x / n)
    with pytest.raises(ZeroDivisionError) as caught:
        f(1.0, 0)
    assert caught.value.__context__ is None
    with pytest.raises(ZeroDivisionError) as caught:
        zyg.gradient(f, 1.0, 0.0)
    assert caught.value.__context__ is None


def test_a_number_of_a_tuple_on_which_nothing_depends_has_none_beside_those_of_the_others():
    f = zyg.compile(lambda b, x: b[1] * x + 3.0 * b[2])
    for _ in range(3):  # the general way, and that of the entry
        assert zyg.gradient(f, (1.0, 2.0, 4.0), 5.0) == ((None, 5.0, 3.0), 2.0)


def test_the_text_has_the_derivatives_by_ints_too():
    f = zyg.compile(lambda x, n: x * n + n * n)
    names = {}
    for of in ("gradient", "pushforward", "pullback"):
        exec(f.source(2.0, 3, of=of), names)
    assert names["f_gradient"](2.0, 3) == (15.0, zyg.gradient(f, 2.0, 3)) == (15.0, (3.0, 8.0))
    assert names["f_pushforward"]((2.0, 3), (1.0, 1.0)) == (15.0, 11.0)
    _, kept = names["f_forward"](2.0, 3)
    assert names["f_reverse"](kept, 1.0) == (3.0, 8.0)


def test_ints_that_only_index_in_functions_that_call_themselves_need_no_tracer():
    network = programs("functions")["functions: tree_network"]
    assert zyg.compile(network.f).inspect(*network.args)["mode"] == "reverse"
    g = zyg.compile(lambda x, n: functions.recursive_power(x * n, 3))
    assert zyg.gradient(g, 2.0, 3) == pytest.approx((324.0, 216.0))


@pytest.mark.parametrize("f", [np.sum, np.average, np.linalg.norm, np.dot, np.sin, operator.mul])
def test_functions_of_libraries_are_compiled_themselves(f):
    args = (np.array([1.5, 0.5, 2.0]),) * (2 if f in (np.dot, operator.mul) else 1)
    g = zyg.compile(f)
    with zyg.config(fallback="error"):
        np.testing.assert_allclose(g(*args), f(*args), 1e-12)
        found = zyg.gradient(lambda *xs: np.sum(g(*xs)), *args)
    np.testing.assert_allclose(found, zyg.gradient(lambda *xs: np.sum(f(*xs)), *args), 1e-12)


def parts(x, n):
    a, b = np.split(x, 2)
    total = np.hsplit(x, [1, 3])[1].sum() + a @ b
    for part in np.array_split(x, n):
        total += part.sum() * part[0]
    return total


def triangle(x):
    return x[np.triu_indices(3)] * 2.0, x[np.tril_indices(len(x), -1)], x[np.diag_indices(3)]


def made_by_class(x):
    y = np.ndarray((3,), np.float64)
    y[:] = x
    return y * 2.0


@pytest.mark.parametrize(
    ("f", "args"),
    [(parts, (np.arange(6.0), 4)), (triangle, (np.eye(3) + 1,)), (made_by_class, (1.5,))],
)
def test_splits_and_indices_of_triangles_are_machine_code(f, args):
    g = zyg.compile(f)
    with zyg.config(fallback="error"):
        assert not difference(g(*args), f(*args), 1e-12)
    inspected = str(g.inspect(*args))
    assert "machine code" in inspected
    assert "called back" not in inspected


def rows(x, a):
    return np.r_[0.0, x[:2], a[0], x[0] * 1j][1:], np.r_[a, np.ones((1, 3))], np.r_[1, x]


def columns(x, a):
    return np.c_[x, 2 * x, np.ones(3)], np.c_[a, x[:2]], np.c_[x[0], 1.0]


@pytest.mark.parametrize("f", [rows, columns])
def test_arrays_beside_each_other(f, monkeypatch):
    x, a = np.array([1.5, -0.7, 2.0]), np.arange(1.0, 7.0).reshape(2, 3)
    compiled = zyg.compile(f)
    with zyg.config(fallback="error"):
        for y, right in zip(compiled(x, a), f(x, a), strict=True):
            np.testing.assert_array_equal(y, right)
            assert y.dtype == right.dtype
        with monkeypatch.context() as m:
            m.setattr("zyg.compiling.specialize._read", None)  # it is known by now
            compiled(x, a)
        total = zyg.compile(lambda x, a: sum(np.sum(np.abs(y * y[0]) ** 2) for y in f(x, a)))
        zyg.check_gradient(total, x, a)


def test_ranges_and_narrow_numbers_beside_arrays_run_in_python():
    x = np.ones(3)
    for f, given in ((lambda x: np.r_[0:3, x], x), (lambda x: np.c_[x, x], np.float32(x))):
        with zyg.config(fallback="silent"):
            y = zyg.compile(f)(given)
        np.testing.assert_array_equal(y, f(given))
        assert y.dtype == f(given).dtype
