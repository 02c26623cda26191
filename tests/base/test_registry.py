"""Rules of one's own: adjoint, scalar_rule, nondifferentiable; and the settings."""

import functools
import math
import threading
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import zyg
from zyg import adjoint, config, errors, gradient, pullback
from zyg.base import config as config_module
from zyg.base import registry
from zyg.base.config import setting


@pytest.fixture(autouse=True)
def _same_rules():
    """Whatever a test registers is gone after it."""
    before = dict(registry.rules)
    yield
    registry.rules.clear()
    registry.rules.update(before)


def D(f):  # noqa: N802
    return lambda x: gradient(f, x, zeros=True)[0]


# adjoint, for one's own functions


@adjoint
def cube(x):
    """x to the third."""

    def cube_pullback(y_bar):
        return (3 * x**2 * y_bar,)

    return x**3, cube_pullback


def test_an_adjoint_is_the_function_when_called():
    assert cube(2.0) == 8.0
    assert type(cube(2.0)) is float
    np.testing.assert_array_equal(cube(np.arange(3.0)), [0.0, 1.0, 8.0])


def test_an_adjoint_has_the_name_and_docstring_of_its_function():
    assert cube.__name__ == "cube"
    assert cube.__doc__ == "x to the third."
    assert cube.__wrapped__ is cube.rule


def test_the_rule_is_used():
    @adjoint
    def wrong_on_purpose(x):
        return x * x, lambda y_bar: (y_bar * 100,)

    assert gradient(wrong_on_purpose, 3.0) == (100.0,)
    assert gradient(lambda x: wrong_on_purpose(x) * x, 3.0) == (9 + 300.0,)


def test_a_rule_in_numpy_operations_is_differentiable_to_any_order():
    assert D(D(cube))(2.0) == 12.0
    assert D(D(D(cube)))(2.0) == 6.0
    assert D(lambda x: x * D(lambda y: cube(x * y))(x))(2.0) == 18 * 2.0**5


def test_a_rule_receives_plain_arguments_and_cotangents():
    seen = []

    @adjoint
    def look(x, a, text, *, scale=1.0):
        seen.append((type(x), type(a), text, scale))

        def look_pullback(y_bar):
            seen.append(type(y_bar))
            return y_bar, None, None

        return x * np.sum(a), look_pullback

    gradient(lambda x, a: look(x, a, "text", scale=2.0), 1.0, np.ones(3))
    assert seen[0] == (float, np.ndarray, "text", 2.0)
    assert seen[1] in (float, np.float64)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: power(x, y),
        lambda x, y: power(x, n=y),
        lambda x, y: power(base=x, n=y),
        lambda x, y: power(n=y, base=x),
        lambda x, y: power(*(x,), n=y),
        lambda x, y: functools.partial(power, n=y)(x),
        lambda x, y: power(x, y, 1.0),
        lambda x, y: power(x, y, scale=1.0),
        lambda x, y: power(x, y, flag="plain"),
    ],
)
def test_keywords_reach_the_rule_by_position(call):
    assert gradient(call, 2.0, 3.0) == pytest.approx((12.0, 8 * math.log(2)))


@adjoint
def power(base, n=2.0, scale=1.0, *, flag="plain"):
    assert flag == "plain"
    y = base**n * scale

    def power_pullback(y_bar):
        return y_bar * n * base ** (n - 1), y_bar * y * np.log(base), y_bar * y / scale

    return y, power_pullback


def test_defaults_of_a_rule_hold():
    assert gradient(power, 3.0) == pytest.approx((6.0,))
    assert gradient(lambda x: power(x), 3.0) == pytest.approx((6.0,))


def test_a_watched_keyword_only_argument_is_refused():
    @adjoint
    def scaled(x, *, by):
        return x * by, lambda y_bar: (y_bar * by,)

    with pytest.raises(errors.MissingRuleError, match="keyword-only argument"):
        gradient(lambda x: scaled(x, by=x), 2.0)
    with pytest.raises(errors.MissingRuleError, match="keyword-only argument"):
        gradient(lambda x: scaled(1.0, by=x), 2.0)
    assert gradient(lambda x: scaled(x, by=3.0), 2.0) == (3.0,)


def test_a_wrong_call_is_pythons_own_error():
    with pytest.raises(TypeError, match="argument"):
        gradient(lambda x: cube(x, 1.0), 2.0)
    with pytest.raises(TypeError, match="argument"):
        gradient(lambda x: power(x, nonsense=1), 2.0)
    with pytest.raises(TypeError, match="argument"):
        gradient(lambda x: power(), 2.0)


def test_variadic_rules():
    @adjoint
    def total(*xs):
        return sum(xs), lambda y_bar: (y_bar,) * len(xs)

    assert gradient(total, 1.0, 2.0, 3.0) == (1.0, 1.0, 1.0)
    assert gradient(lambda x: total(1.0, x, x), 2.0) == (2.0,)
    assert gradient(lambda x: total(x) + 1.0, 2.0) == (1.0,)


def test_callable_cotangents_are_called_only_where_they_are_needed():
    calls = []

    @adjoint
    def product(x, y):
        def product_pullback(z_bar):
            def x_bar():
                calls.append("x")
                return z_bar * y

            def y_bar():
                calls.append("y")
                return z_bar * x

            return x_bar, y_bar

        return x * y, product_pullback

    assert gradient(lambda x: product(x, 3.0), 2.0) == (3.0,)
    assert calls == ["x"]
    calls.clear()
    assert gradient(lambda y: product(2.0, y), 3.0) == (2.0,)
    assert calls == ["y"]
    calls.clear()
    assert gradient(product, 2.0, 3.0) == (3.0, 2.0)
    assert sorted(calls) == ["x", "y"]


def test_none_lets_nothing_flow():
    @adjoint
    def first(x, y):
        return x * 1.0, lambda z_bar: (z_bar, None)

    assert gradient(first, 2.0, 3.0) == (1.0, None)
    assert gradient(first, 2.0, 3.0, zeros=True) == (1.0, 0.0)


def test_a_pullback_is_not_called_where_nothing_flows():
    @adjoint
    def touchy(x):
        def touchy_pullback(y_bar):
            raise AssertionError

        return x * 1.0, touchy_pullback

    def f(x):
        touchy(x)
        return x * 2

    assert gradient(f, 1.0) == (2.0,)


@pytest.mark.parametrize("kind", [tuple, list])
def test_rules_with_several_results(kind):
    @adjoint
    def polar(x, y):
        r = np.hypot(x, y)

        def polar_pullback(bars):
            assert type(bars) is kind
            r_bar, t_bar = bars
            return (r_bar * x / r - t_bar * y / r**2, r_bar * y / r + t_bar * x / r**2)

        return kind((r, np.arctan2(y, x))), polar_pullback

    def use(x, y):
        r, t = polar(x, y)
        return r * np.sin(t)  # y

    assert gradient(use, 3.0, 4.0) == pytest.approx((0.0, 1.0))
    assert gradient(lambda x, y: polar(x, y)[0], 3.0, 4.0) == pytest.approx((0.6, 0.8))
    assert gradient(lambda x, y: polar(x, y)[1], 3.0, 4.0) == pytest.approx((-4 / 25, 3 / 25))


def test_rules_with_results_of_any_structure():
    Pair = namedtuple("Pair", "u v")

    @adjoint
    def spread(x):
        def spread_pullback(bars):
            return (bars["pair"].u + 2 * bars["pair"].v + np.sum(bars["list"][0]),)

        return {"pair": Pair(x, 2 * x), "list": [x * np.ones(2)], "name": "s"}, spread_pullback

    def f(x):
        y = spread(x)
        assert y["name"] == "s"
        return y["pair"].u * y["pair"].v + np.sum(y["list"][0])  # 2x**2 + 2x

    assert gradient(f, 3.0) == (14.0,)
    assert D(D(f))(3.0) == 4.0


def test_rules_whose_results_are_objects():
    @dataclass
    class State:
        position: object
        velocity: object

    @adjoint
    def step(x, v):
        def step_pullback(bar):
            return bar.position, 0.1 * bar.position + bar.velocity

        return State(x + 0.1 * v, v), step_pullback

    def f(x, v):
        s = step(x, v)
        return s.position * s.velocity

    assert gradient(f, 2.0, 3.0) == pytest.approx((3.0, 0.3 + 2.3))


def test_unused_results_get_zero_cotangents():
    seen = []

    @adjoint
    def both(x):
        def both_pullback(bars):
            seen.append(bars)
            return (bars[0] + np.sum(bars[1]),)

        return (x, x * np.ones(2)), both_pullback

    assert gradient(lambda x: both(x)[0], 1.0) == (1.0,)
    np.testing.assert_array_equal(seen[0][1], np.zeros(2))
    gradient(lambda x: np.sum(both(x)[1]), 1.0)
    assert seen[1][0] == 0.0


def test_the_same_container_twice_in_a_result_is_refused():
    @adjoint
    def twice(x):
        inner = [x]
        return [inner, inner], lambda bars: (bars[0][0] + bars[1][0],)

    with pytest.raises(errors.StructureError, match="same container in two places"):
        gradient(lambda x: twice(x)[0][0], 1.0)


def test_the_same_number_twice_in_a_result_is_two_results():
    @adjoint
    def twice(x):
        y = x * 2
        return (y, y), lambda bars: (2 * bars[0] + 2 * bars[1],)

    def f(x):
        a, b = twice(x)
        return a + 10 * b

    assert gradient(f, 1.0) == (22.0,)


def test_rules_of_containers():
    @adjoint
    def dot(xs, ys):
        def dot_pullback(z_bar):
            return [z_bar * y for y in ys], {k: z_bar * x for k, x in enumerate(xs)}.values()

        return sum(x * y for x, y in zip(xs, ys, strict=True)), dot_pullback

    @adjoint
    def norm2(d):
        return sum(v * v for v in d["values"]), lambda y_bar: (
            {"values": [2 * v * y_bar for v in d["values"]], "name": None},
        )

    assert gradient(lambda a, b: dot([a, b], [3.0, 4.0]), 1.0, 2.0) == (3.0, 4.0)
    assert gradient(lambda a, b: norm2({"values": [a, b, 5.0], "name": "n"}), 1.0, 2.0) == (
        2.0,
        4.0,
    )
    assert gradient(norm2, {"values": [1.0, 2.0], "name": "n"}) == (
        {"values": [2.0, 4.0], "name": None},
    )


def test_the_same_container_twice_in_the_arguments():
    @adjoint
    def pair(xs, ys):
        def pair_pullback(z_bar):
            return [z_bar * y for y in ys], [z_bar * x for x in xs]

        return sum(x * y for x, y in zip(xs, ys, strict=True)), pair_pullback

    def f(a):
        xs = [a, a * a]
        return pair(xs, xs)  # a**2 + a**4

    assert gradient(f, 2.0) == (4 + 32.0,)

    def g(a):
        xs = [a]
        return nested([xs, xs])

    @adjoint
    def nested(xss):
        return xss[0][0] * xss[1][0], lambda z_bar: ([[z_bar * xss[1][0]], [z_bar * xss[0][0]]],)

    assert gradient(g, 3.0) == (6.0,)


def test_rules_of_objects_and_methods():
    class Model:
        def __init__(self, w):
            self.w = w

        @adjoint
        def scale(self, x):
            def scale_pullback(y_bar):
                return zyg.Tangent("Model", w=y_bar * x), y_bar * self.w

            return self.w * x, scale_pullback

    assert Model(2.0).scale(3.0) == 6.0
    assert gradient(lambda m, x: m.scale(x), Model(2.0), 3.0) == (zyg.Tangent("Model", w=3.0), 2.0)
    assert gradient(lambda x: Model(x).scale(x), 3.0) == (6.0,)
    assert gradient(lambda x: Model.scale(Model(2.0), x), 3.0) == (2.0,)


def test_rules_of_closures():
    @adjoint
    def twice(f, x):
        """f(f(x)), differentiated by taking f's own pullback."""
        y, first = pullback(f, x)
        z, second = pullback(f, y)

        def twice_pullback(z_bar):
            (y_bar,) = second(z_bar)
            return None, first(y_bar)[0]

        return z, twice_pullback

    assert gradient(lambda x: twice(np.sin, x), 0.5) == pytest.approx(
        (math.cos(math.sin(0.5)) * math.cos(0.5),)
    )


def test_a_pullback_may_return_what_it_was_given_or_what_it_keeps():
    kept = np.ones(3)

    @adjoint
    def same(x, y):
        return x + y, lambda z_bar: (z_bar, z_bar)

    @adjoint
    def constant(x):
        return np.sum(x), lambda y_bar: (kept,)

    a, b = gradient(lambda x, y: np.sum(same(x, y)), np.ones(3), np.ones(3))
    assert not np.shares_memory(a, b)
    a += 5.0
    np.testing.assert_array_equal(b, np.ones(3))
    (c,) = gradient(lambda x: constant(x) + constant(x), np.ones(3))
    np.testing.assert_array_equal(c, [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(kept, np.ones(3))
    (c,) = gradient(constant, np.ones(3))
    c += 1.0
    np.testing.assert_array_equal(kept, np.ones(3))


def test_a_cotangent_of_another_dtype_or_field_is_brought_to_the_arguments():
    @adjoint
    def wide(x):
        return np.sum(x), lambda y_bar: (np.ones(2, complex) * (2 + 5j),)

    (x_bar,) = gradient(wide, np.ones(2, np.float32))
    assert x_bar.dtype == np.float32
    np.testing.assert_array_equal(x_bar, [2.0, 2.0])

    @adjoint
    def integer(x):
        return x * 2.0, lambda y_bar: (2,)

    assert type(gradient(integer, 3.0)[0]) is float


def test_a_rule_that_fails_raises_its_own_error():
    @adjoint
    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        gradient(fails, 1.0)
    assert zyg.nestlevel() == 0

    @adjoint
    def fails_later(x):
        def fails_later_pullback(y_bar):
            raise KeyError("later")

        return x * 1.0, fails_later_pullback

    _, back = pullback(fails_later, 1.0)
    for _ in range(2):
        with pytest.raises(KeyError, match="later"):
            back(1.0)


# adjoint, for functions that dispatch


def test_a_rule_for_a_numpy_function_replaces_the_one_there_was():
    @adjoint(np.sinc)
    def sinc(x):
        return np.sinc(x), lambda y_bar: (y_bar * 42.0,)

    assert gradient(np.sinc, 0.5) == (42.0,)
    assert gradient(lambda x: np.sum(np.sinc(x)), np.ones(2))[0].tolist() == [42.0, 42.0]


def test_a_rule_for_a_numpy_function_that_had_none():
    """The difference of sets of distinct numbers, in the order of the first."""
    assert np.setdiff1d not in registry.rules
    with pytest.raises(errors.MissingRuleError):
        gradient(lambda x: np.sum(np.setdiff1d(x, [1.0])), np.arange(3.0))

    @adjoint(np.setdiff1d)
    def setdiff1d(ar1, ar2, assume_unique=False):
        kept = ~np.isin(ar1, ar2)
        return np.setdiff1d(ar1, ar2, assume_unique), lambda y_bar: (kept * np.sum(y_bar), None)

    for f in (
        lambda x: np.setdiff1d(x, [0.0, 1.0])[0],
        lambda x: np.setdiff1d(x, [0.0, 1.0], assume_unique=True)[0],
        lambda x: np.setdiff1d(ar1=x, ar2=[0.0, 1.0])[0],
    ):
        np.testing.assert_array_equal(gradient(f, np.arange(3.0))[0], [0.0, 0.0, 1.0])


def test_a_rule_for_a_ufunc():
    @adjoint(np.nextafter)
    def nextafter(x1, x2):
        return np.nextafter(x1, x2), lambda y_bar: (y_bar, None)

    assert gradient(lambda x: np.nextafter(x, 10.0), 1.0) == (1.0,)


def test_a_rule_for_a_protocol_of_ones_own():
    """Another library's function that hands itself to its arguments, as NumPy's do."""

    def special(x):
        if zyg.is_traced(x):
            return x.__array_function__(special, (), (x,), {})
        return math.lgamma(x)

    registry.rules[special] = registry.Adjoint(
        special, lambda x: (math.lgamma(x), lambda c: (c * 7,))
    )
    assert gradient(special, 3.0) == (7.0,)


# scalar_rule


def test_a_scalar_rule_for_a_function_of_the_math_module():
    erf = zyg.scalar_rule(math.erf, lambda x, y: 2 / np.sqrt(np.pi) * np.exp(-x * x))
    assert erf(0.5) == math.erf(0.5)
    assert gradient(erf, 0.5) == pytest.approx((2 / math.sqrt(math.pi) * math.exp(-0.25),))
    assert D(D(erf))(0.5) == pytest.approx(-2 * 0.5 * 2 / math.sqrt(math.pi) * math.exp(-0.25))
    assert type(gradient(erf, 0.5)[0]) is float


def test_a_scalar_rule_of_two_arguments_with_a_constant_partial():
    def f(x, y):
        return math.fsum([3 * float(x), float(y) ** 2])

    g = zyg.scalar_rule(f, 3.0, lambda x, y, z: 2 * y)
    assert gradient(g, 2.0, 5.0) == (3.0, 10.0)
    assert gradient(lambda x: g(x, x), 5.0) == (13.0,)
    assert gradient(lambda y: g(1.0, y), 5.0) == (10.0,)
    assert D(D(lambda y: g(1.0, y)))(5.0) == 2.0


def test_a_scalar_rule_reads_the_result_where_that_is_cheaper():
    exp = zyg.scalar_rule(math.exp, lambda x, y: y)
    assert gradient(exp, 1.0) == (math.e,)
    assert D(D(exp))(1.0) == math.e


def test_partials_of_every_kind_of_callable():
    class Partial:
        def __call__(self, x, y):
            return x * 10

        def method(self, x, y):
            return x * 10

        @staticmethod
        def static(x, y):
            return x * 10

    def with_rest(*values):
        return values[0] * 10

    def with_default(x, y, k=10):
        return x * k

    def with_inner(x, y):
        return sum(x for _ in range(10))

    partials = [Partial(), Partial().method, Partial.static, with_rest, with_default, with_inner,
                functools.partial(lambda k, x, y: k * x, 10), lambda *a: a[0] * 10]  # fmt: skip
    for partial in partials:
        rule = zyg.scalar_rule(lambda x: x, partial)
        assert gradient(rule, 2.0) == (20.0,)


def test_a_scalar_rule_for_a_ufunc_works_on_arrays_and_numbers():
    square = np.frompyfunc(lambda x: x * x, 1, 1)
    zyg.scalar_rule(square, lambda x, y: 2 * x)
    assert gradient(lambda x: square(x), 3.0) == (6.0,)


# nondifferentiable


def test_nondifferentiable_functions_of_numpy_run_on_plain_values():
    zyg.nondifferentiable(np.unwrap)
    seen = []

    def f(x):
        y = np.unwrap(x)
        seen.append(type(y))
        return np.sum(x) + np.sum(y)

    np.testing.assert_array_equal(gradient(f, np.ones(3))[0], np.ones(3))
    assert seen == [np.ndarray]


def test_nondifferentiable_functions_of_ones_own():
    @zyg.nondifferentiable
    def rounded(x, *, digits=1):
        """The nearest."""
        assert type(x) is float
        return math.floor(x * 10**digits) / 10**digits

    assert rounded(1.26) == 1.2
    assert rounded.__name__ == "rounded"
    assert gradient(lambda x: x * rounded(x), 1.26) == (1.2,)
    assert gradient(lambda x: x * rounded(x, digits=0), 1.26) == (1.0,)
    assert gradient(lambda x: D(lambda y: y * rounded(y * x))(2.0), 1.26, zeros=True) == (0.0,)


# Settings


def sqrt_of_positive(x):
    return np.where(x > 0, np.sqrt(np.abs(x)), 0.0)


def test_strong_zero_is_on_and_can_be_switched_off_for_a_block():
    assert gradient(sqrt_of_positive, 0.0) == (0.0,)
    with config(strong_zero=False):
        assert math.isnan(gradient(sqrt_of_positive, 0.0)[0])
    assert gradient(sqrt_of_positive, 0.0) == (0.0,)


def test_a_setting_is_restored_after_an_exception():
    with pytest.raises(KeyError), config(strong_zero=False):
        raise KeyError
    assert setting("strong_zero") is True


def test_settings_nest():
    with config(strong_zero=False):
        with config(strong_zero=True):
            assert setting("strong_zero") is True
        assert setting("strong_zero") is False
    assert setting("strong_zero") is True


def test_a_setting_holds_for_the_process_until_it_is_set_again():
    try:
        config(strong_zero=False)
        assert setting("strong_zero") is False
        seen = []
        t = threading.Thread(target=lambda: seen.append(setting("strong_zero")))
        t.start()
        t.join()
        assert seen == [False]
    finally:
        config(strong_zero=True)
    assert setting("strong_zero") is True


def test_a_setting_of_a_block_does_not_reach_other_threads():
    seen = []
    with config(strong_zero=False):
        t = threading.Thread(target=lambda: seen.append(setting("strong_zero")))
        t.start()
        t.join()
    assert seen == [True]


def test_a_block_never_sets_anything_for_other_threads():
    seen = []

    class Watching(dict):
        def update(self, *args):
            seen.append(args)
            super().update(*args)

    before, config_module._defaults = config_module._defaults, Watching(config_module._defaults)
    try:
        with config(strong_zero=False), config(check_nan=True) as nothing:
            assert nothing is None
            assert not setting("strong_zero")
            assert setting("check_nan")
            inside = threading.Thread(target=lambda: seen.append(setting("strong_zero")))
            inside.start()
            inside.join(timeout=60)
        assert seen == [({},), ({},), True]
        config(strong_zero=False)
        assert not setting("strong_zero")
        config(strong_zero=True)
    finally:
        config_module._defaults = before


def test_one_config_can_be_entered_again_and_inside_itself():
    off = config(strong_zero=False)
    for _ in range(2):
        with off:
            assert setting("strong_zero") is False
            with off:
                assert setting("strong_zero") is False
            assert setting("strong_zero") is False
        assert setting("strong_zero") is True


def test_unknown_settings_are_refused_and_change_nothing():
    with pytest.raises(TypeError, match="unknown zyg option 'weak_zero'"):
        config(strong_zero=False, weak_zero=True)
    assert setting("strong_zero") is True
