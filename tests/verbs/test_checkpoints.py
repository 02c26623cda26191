"""checkpoint: the same derivatives, less memory, the same random numbers, and what is refused."""

import itertools
import random
import tracemalloc
from collections import namedtuple
from fractions import Fraction
from functools import partial, reduce

import numpy as np
import pytest

import zyg
from zyg.errors import AdjointError

X = np.array([0.5, -1.2, 2.0])
U = np.array([1.0, 0.5, -2.0])
check = zyg.checkpoint
Pair = namedtuple("Pair", "first second")


def in_reverse(f):
    return lambda x: np.sum(zyg.gradient(f, x, zeros=True)[0] * U)


def in_forward(f):
    return lambda x: zyg.pushforward(f, (x,), (U,))[1]


def structured(x):
    made = check(lambda v: {"a": v * v, "b": [v[0], "s", None, 3], "c": Pair(v[1:], v[2])}, x)
    assert made["b"][1:] == ["s", None, 3]
    assert isinstance(made["c"], Pair)
    return np.sum(made["a"]) * made["b"][0] + np.sum(made["c"].first) * made["c"].second


def plainly(x):
    return np.sum(x * x) * x[0] + np.sum(x[1:]) * x[2]


# name: (with checkpoints, without)
SAME = {
    "one": (lambda x: np.sum(check(np.sin, x) ** 2), lambda x: np.sum(np.sin(x) ** 2)),
    "structures": (structured, plainly),
    "nested": (
        lambda x: np.sum(check(lambda v: check(lambda w: w**3, v) * v, x) ** 2),
        lambda x: np.sum(x**8),
    ),
    "a closure": (
        lambda x: np.sum(check(lambda v: np.sin(v) * x[1], x * 2)),
        lambda x: np.sum(np.sin(x * 2) * x[1]),
    ),
    "only a closure": (lambda x: check(lambda: np.sum(x**3)), lambda x: np.sum(x**3)),
    "keywords": (
        lambda x: np.sum(check(lambda v, *, k, n: v * k**n, x, k=x[0], n=2)),
        lambda x: np.sum(x * x[0] ** 2),
    ),
    "an array in two places": (
        lambda x: np.sum(check(lambda p: p[0] * p[1] * p[0], [x, x])),
        lambda x: np.sum(x**3),
    ),
    "views": (
        lambda x: np.sum(check(lambda p: p[0] * p[1] ** 2, [x[1:], x[:2]])),
        lambda x: np.sum(x[1:] * x[:2] ** 2),
    ),
    "the argument itself": (lambda x: np.sum(check(lambda v: v, x) ** 3), lambda x: np.sum(x**3)),
    "a part of the argument": (
        lambda x: np.sum(check(lambda v: v[1:], x) ** 3),
        lambda x: np.sum(x[1:] ** 3),
    ),
    "no dependence": (lambda x: np.sum(x**2) * check(lambda v: 3.0, x), lambda x: 3 * np.sum(x**2)),
    "writes inside": (
        lambda x: np.sum(check(lambda v: _shifted(v * 1.0), x) ** 2),
        lambda x: np.sum(_shifted(x * 1.0) ** 2),
    ),
    "the result is written": (
        lambda x: np.sum(_shifted(check(lambda v: v * v, x)) ** 2),
        lambda x: np.sum(_shifted(x * x) ** 2),
    ),
    "complex": (
        lambda x: np.sum(np.abs(check(lambda v: np.exp(1j * v) * v**2, x)) ** 2),
        lambda x: np.sum(x**4),
    ),
    "a loop": (
        lambda x: np.sum(reduce(lambda v, _: check(lambda w: np.sin(w) * x[0], v), range(2), x)),
        lambda x: np.sum(reduce(lambda v, _: np.sin(v) * x[0], range(2), x)),
    ),
}


def _shifted(y):
    y[1:] *= y[:-1]
    y[0] = y[2] ** 2
    return y


@pytest.mark.parametrize("name", SAME)
def test_the_derivatives_are_the_same_in_every_mixture_of_modes(name):
    f, plain = SAME[name]
    assert zyg.value_and_gradient(f, X)[0] == pytest.approx(plain(X.copy()), rel=1e-15)
    for order in (1, 2, 3):
        expected = float(reduce(lambda g, mode: mode(g), [in_reverse] * order, plain)(X))
        for choice in np.ndindex(*[2] * order):
            g = reduce(lambda g, k: (in_reverse, in_forward)[k](g), choice, f)
            assert float(g(X)) == pytest.approx(expected, rel=1e-9, abs=1e-9), choice


@pytest.mark.parametrize(
    "x", [2.0, 3, np.float32(2), Fraction(1, 3), 1 + 1j, X.astype(np.float32), np.zeros(0)]
)
def test_any_type_of_argument(x):
    def of(f):
        return zyg.gradient(lambda x: np.sum(abs(f(x)) ** 2) if np.ndim(x) else abs(f(x)) ** 2, x)

    def cube(v):
        return v**3

    (found,), (expected,) = of(lambda x: check(cube, x)), of(cube)
    assert type(found) is type(expected)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


class Named(tuple):
    """A tuple with one more number, beside its places, as SciPy's results are."""


def test_a_tuple_may_have_attributes():
    def f(x):
        y = Named((np.sum(x**2), np.sin(x)))
        y.more = x**3
        return y

    for pick in (lambda y: y[1] * y[0], lambda y: y.more * y[0]):
        zyg.check_gradient(lambda x, pick=pick: pick(check(f, x)), X)


def test_without_a_gradient_it_is_f():
    made = []
    assert check(lambda x, k: made.append(x) or x, made, k=2) is made


def test_how_often_f_runs():
    calls, log = itertools.count(), []

    def cube(v):
        next(calls)
        log.append(1)  # once only: what the second run writes is its own
        return v**3

    def f(x):
        return check(cube, x)

    def count(run):
        log.clear()
        before = next(calls)
        run()
        assert len(log) <= 1
        return next(calls) - before - 1

    assert count(lambda: zyg.gradient(f, 2.0)) == 2
    _, back = zyg.pullback(f, 2.0)
    assert count(lambda: [back(1.0), back(1.0)]) == 2
    assert count(lambda: zyg.hessian(f, 2.0)) == 3
    assert count(lambda: zyg.pullback(f, 2.0)) == 1


def layer(v):
    for _ in range(10):
        v = np.sin(np.cos(v))
    return v


def test_the_steps_of_f_need_no_memory():
    x = np.linspace(0.0, 1.0, 5000)

    def peak(f):
        tracemalloc.start()
        try:
            zyg.gradient(lambda x: np.sum(reduce(lambda v, _: f(v), range(10), x)), x)
            return tracemalloc.get_traced_memory()[1] / x.nbytes
        finally:
            tracemalloc.stop()

    peak(layer)
    assert peak(layer) > 180  # 200 operations that keep an array each
    assert peak(lambda v: check(layer, v)) < 60


# Random numbers

generator = np.random.default_rng(1)
legacy = np.random.RandomState(2)


class Noisy:
    scale = 2.0

    def __init__(self, rng):
        self.rng = rng

    def __call__(self, v):
        return self.scale * v * self.rng.normal()

    def method(self, v):
        return v * self.rng.normal()


def of_global(v):
    return v * generator.normal() * legacy.normal()


def of_comprehension(v):
    return sum(v * generator.normal() for _ in range(3))


def make_noisy():
    rng, other = np.random.default_rng(3), random.Random(4)
    noisy = Noisy(rng)
    return [
        lambda v: v * np.random.rand() * random.random(),
        lambda v: v * rng.normal() * other.random(),
        partial(lambda g, v: v * g.normal(), rng),
        lambda v, g=rng: v * g.normal(),
        noisy,
        noisy.method,
        of_global,
        of_comprehension,
        lambda v: (lambda: v * rng.normal())(),
    ]


@pytest.mark.parametrize("k", range(len(make_noisy())))
def test_the_second_run_sees_the_same_random_numbers(k):
    def run(f):
        np.random.seed(5)
        random.seed(6)
        before = generator.bit_generator.state, legacy.get_state()
        value, (slope,) = zyg.value_and_gradient(f, 1.0)
        after = np.random.rand(), random.random(), generator.normal(), legacy.normal()
        generator.bit_generator.state = before[0]
        legacy.set_state(before[1])
        return value, slope, after

    f = make_noisy()[k]
    value, slope, after = run(lambda x: check(f, x))
    assert value == slope  # the function is linear
    f = make_noisy()[k]
    assert run(f) == (value, slope, after)  # the generators are left as one run leaves them


def test_a_generator_as_an_argument():
    rng = np.random.default_rng(7)
    value, (slope,) = zyg.value_and_gradient(
        lambda x: check(
            lambda v, rng, k: v * rng.normal() * k.random(), x, rng, k=random.Random(1)
        ),
        1.0,
    )
    assert value == slope
    assert rng.normal() == np.random.default_rng(7).normal(size=2)[1]


HOLDER = {"generator": np.random.default_rng(5)}


def through_another(v):
    return of_global(v)


def indirectly(v):
    return v * HOLDER["generator"].normal()


def test_a_generator_that_another_function_names():
    value, (slope,) = zyg.value_and_gradient(lambda x: check(through_another, x), 1.0)
    assert value == slope


def test_a_second_run_that_differs_is_refused():
    with pytest.raises(AdjointError) as caught:
        zyg.gradient(lambda x: check(indirectly, x), 1.0)
    text = str(caught.value)
    assert "indirectly gave another value when zyg.checkpoint ran it again" in text
    assert "test_checkpoints.py" in text
    assert "as an argument" in text


variable = 1.0


def of_variable(v):
    return v * variable


def of_difference(v):
    return (v - 2.0) * variable


@pytest.mark.parametrize(
    ("of", "said"),
    [
        (of_variable, "of_variable gave another value"),
        (of_difference, "the global variable variable has changed"),  # and the slope alone
    ],
)
def test_a_global_variable_that_changed_is_noticed(of, said):
    global variable

    def f(x):
        global variable
        y = check(of, x)
        variable = 5.0
        return y

    with pytest.raises(AdjointError, match=said):
        zyg.gradient(f, 2.0)
    variable = 1.0


def in_a_loop(x):
    s = 0.0
    for k in (1.0, 2.0):
        s = s + check(lambda q: (q - 0.7) * k, x)  # noqa: B023
    return s


def by_another_function(x):
    s = 0.0
    for k in (1.0, 2.0):

        def scaled(q):
            return (q - 0.7) * k  # noqa: B023

        s = s + check(lambda q: scaled(q), x)
    return s


def by_a_list_and_a_dict(x):
    factors, more = [1.0, 3.0], {"k": 2.0}
    y = check(lambda q: (q - 0.7) * factors[0] * more["k"], x)
    factors[0], more["k"] = 5.0, 7.0
    return y


def by_the_kind_of_function(x):
    s = 0.0
    for f in (np.sin, np.tan):  # the same value at 0
        s = s + check(lambda q: f(2 * q - 1.4), x)  # noqa: B023
    return s


def by_an_attribute(x):
    noisy = Noisy(None)
    noisy.scale, noisy.calls = 2.0, 0

    def f(q):
        noisy.calls += 1
        return (q - 0.7) * scale[0]

    scale = [3.0]
    y = check(f, x) + check(f, x)
    scale[0] = 1.0
    return y


@pytest.mark.parametrize(
    "f",
    [
        in_a_loop,
        by_another_function,
        by_a_list_and_a_dict,
        by_the_kind_of_function,
        by_an_attribute,
    ],
)
def test_the_second_run_sees_the_closure_as_the_first_one_saw_it(f):
    h = 1e-6
    for x in (0.7, 0.3):
        expected = (f(x + h) - f(x - h)) / (2 * h)
        assert zyg.gradient(f, x)[0] == pytest.approx(expected, rel=1e-8)
        assert zyg.pushforward(f, (x,), (1.0,))[1] == pytest.approx(expected, rel=1e-8)
        curvature = (f(x + 1e-4) - 2 * f(x) + f(x - 1e-4)) / 1e-8
        assert zyg.hessian(f, x) == pytest.approx(curvature, abs=1e-4)


table = [1.0, 1e-3]


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("change", [1e-4, 1e-6])
def test_a_small_change_and_one_of_a_small_element_are_noticed(place, change):
    def f(x):
        table[:] = [1.0, 1e-3]
        y = check(lambda q: np.stack([q * table[0], q * 1e3 * table[1], q * 1e6]), x)
        table[place] *= 1 + change
        return y[0] + y[1]

    with pytest.raises(AdjointError, match="gave another value"):
        zyg.gradient(f, 0.7)


factors = {"k": [2.0]}
written_by_f = []
calls_of_helper = 0


def helper(v):
    return (v - 2.0) * variable


def of_helper(v):
    return helper(v)


def of_table(v):
    return (v - 2.0) * table[0]


def of_nested_table(v):
    return (v - 2.0) * factors["k"][0]


class Layer:
    def __call__(self, v):
        return helper(v)

    def method(self, v):
        return of_table(v)


@pytest.mark.parametrize(
    ("g", "name"),
    [
        (of_helper, "variable"), (of_table, "table"), (of_nested_table, "factors"),
        (Layer().method, "table"), (partial(of_helper), "variable"),
        (lambda v: of_helper(v), "variable"),
    ],
)  # fmt: skip
def test_globals_of_helper_functions_and_in_containers_that_change_the_slope_are_named(g, name):
    def change(factor):
        global variable
        variable *= factor
        table[0] *= factor
        factors["k"][0] *= factor

    def f(x):
        y = check(g, x)
        change(2.0)
        return y

    with pytest.raises(AdjointError, match=f"the global variable {name} has changed since"):
        zyg.gradient(f, 2.0)
    change(0.5)
    assert zyg.gradient(lambda x: check(g, x), 2.0) != (None,)


def test_what_f_itself_writes_to_globals_is_no_change():
    def counting(v):
        global calls_of_helper
        calls_of_helper += 1
        written_by_f.append(v.shape)
        return v * 2.0

    def g(v):
        return counting(v) * 1.0

    assert np.all(zyg.gradient(lambda x: np.sum(check(g, check(g, x))), X)[0] == 4.0)


def test_a_run_that_only_rounds_in_another_way_is_the_same():
    def chaotic(v):  # where a last bit grows by 2**30
        for _ in range(30):
            v = 4 * v * (1 - v)
        return v * np.linalg.det(np.array([[1.0, 0.3], [0.2, 0.9]]) * v)

    assert zyg.gradient(lambda x: check(chaotic, x), 0.3) == zyg.gradient(chaotic, 0.3)


def test_the_random_state_is_restored_after_an_exception_in_the_second_run():
    class Fails:
        n = 0

        def __call__(self, v):
            Fails.n += 1
            y = v * np.random.rand()
            if Fails.n == 2:
                raise KeyError("second")
            return y

    np.random.seed(8)
    expected = np.random.rand(2)[1]
    np.random.seed(8)
    with pytest.raises(KeyError, match="second"):
        zyg.gradient(lambda x: check(Fails(), x), 1.0)
    assert np.random.rand() == expected
    assert zyg.nestlevel() == 0


# What f may not do


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: zyg.gradient(f, X),
        lambda f: zyg.hessian(f, X),
        lambda f: zyg.pushforward(f, (X,), (U,)),
    ],
)
def test_writes_to_arguments_are_refused(derivative):
    def writes(v):
        v[0] = 1.0
        return v

    with pytest.raises(ValueError, match="read-only"):
        derivative(lambda x: np.sum(check(writes, x)))
    np.testing.assert_array_equal(X, [0.5, -1.2, 2.0])


@pytest.mark.parametrize("n", [3, 1000])
def test_a_plain_array_that_f_closes_over_is_kept_as_it_was(n):
    x, factor = np.ones(n), np.full(n, 2.0)

    def f(x):
        y = check(lambda v: v * factor, x)
        factor[0] = 100.0
        return np.sum(y)

    if n == 3:  # small arrays are copied
        np.testing.assert_array_equal(zyg.gradient(f, x)[0], 2.0)
        factor[0] = 2.0
        np.testing.assert_array_equal(zyg.hessian(f, x), 0.0)
    else:
        with pytest.raises(ValueError, match="read-only"):
            zyg.gradient(f, x)
        assert factor.flags.writeable


watched_global = None


def of_watched_global(v):
    return v * watched_global


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_a_watched_global_is_refused_and_not_dropped(mode):
    def f(x):
        global watched_global
        watched_global = x * 2
        return check(of_watched_global, x)

    with pytest.raises(AdjointError) as caught:
        zyg.jacobian(f, 2.0, mode=mode)
    text = str(caught.value)
    assert "checkpoint depends on a watched value that is not among its arguments" in text
    assert "return check(of_watched_global, x)" in text
    assert "pass the value as an argument" in text


def test_a_watched_global_where_nothing_else_is_watched():
    def f(x):
        global watched_global
        watched_global = x * 2
        return check(of_watched_global, 3.0)

    assert zyg.gradient(f, 2.0) == (6.0,)


def test_levels_are_kept_apart():
    def f(a):
        return zyg.gradient(lambda x: check(lambda v: v**2 * a**3, x), 2.0)[0]

    assert zyg.gradient(f, 3.0) == (4 * 27.0,)
    assert zyg.pushforward(f, (3.0,), (1.0,))[1] == 4 * 27.0


def test_an_exception_in_f_comes_unchanged():
    error = KeyError("mine")

    def fails(v):
        raise error

    with pytest.raises(KeyError) as caught:
        zyg.gradient(lambda x: check(fails, x), 1.0)
    assert caught.value is error
    assert zyg.nestlevel() == 0


@pytest.mark.parametrize("verb", [zyg.checkpoint, zyg.forwarddiff])
def test_a_result_that_is_computed_later_is_refused(verb):
    with pytest.raises(zyg.errors.StructureError, match="returned an iterator, a map"):
        zyg.gradient(lambda x: next(verb(lambda y: map(np.sin, [y]), x)), 0.3)


def _changes_a_variable():
    count = 0

    def layer(x):
        nonlocal count
        count += 1
        return x * x

    def reset():
        nonlocal count
        count = 0

    return layer, reset, lambda: count


def _changes_an_object():
    class Model:
        count = 0

    model = Model()

    def layer(x):
        model.count += 1
        return x * x

    return layer, lambda: setattr(model, "count", 0), lambda: model.count


def _changes_a_set():
    found = set()

    def layer(x):
        found.add(len(found))
        return x * x

    return layer, found.clear, lambda: len(found)


@pytest.mark.parametrize("make", [_changes_a_variable, _changes_an_object, _changes_a_set])
def test_the_second_run_leaves_alone_what_was_put_back_since_the_first(make):
    layer, reset, count = make()

    def f(x):
        y = zyg.checkpoint(layer, x)
        assert count() == 1
        reset()
        return y

    assert zyg.gradient(f, 3.0) == (6.0,)
    assert count() == 0


@pytest.mark.parametrize("verb", [zyg.checkpoint, zyg.forwarddiff])
@pytest.mark.parametrize("k", range(2))
def test_what_comes_back_is_new_with_and_without_a_gradient(verb, k):
    def f(x):
        u = x * 1.0
        y = [verb(lambda v: v, u), verb(lambda v: v[:], u)][k]
        y *= 3.0
        return np.sum(y * y) + np.sum(u * u)

    x = np.array([0.5, -1.2, 2.0])
    assert zyg.value_and_gradient(f, x)[0] == pytest.approx(f(x))
    assert zyg.gradient(f, x)[0] == pytest.approx(20 * x)
