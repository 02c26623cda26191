"""The verbs: what gradient, value_and_gradient, pullback, hook and stop_gradient promise."""

import functools
import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import zyg
from zyg import gradient, hook, is_traced, primal, pullback, stop_gradient, value_and_gradient

X = np.array([0.5, -1.0, 2.0])


# gradient


def test_gradient_is_a_tuple_with_an_entry_per_argument():
    assert gradient(lambda: 1.0) == ()
    assert gradient(lambda x: x * 2, 1.0) == (2.0,)
    assert gradient(lambda x, y, z: x * z, 2.0, "s", 3.0) == (3.0, None, 2.0)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: x * x, 3.0),
        (lambda x: x * x, np.float64(3.0)),
        (lambda x: x * x, 3),
        (lambda x: x * x, np.array(3.0)),
        (lambda x: np.sum(x * x), np.array(3.0)),
        (lambda x: x[0] * x[0], np.array([3.0])),
        (lambda x: np.asarray(7) * x * 6 / 7, 3.0),
        (lambda x: 6 * np.stack([x, x])[0], 3.0),
    ],
)
def test_any_real_number_is_a_loss(f, x):
    assert gradient(f, x)[0] == pytest.approx(6.0)


def test_a_constant_result_has_no_gradient():
    assert gradient(lambda x: 1.0, 2.0) == (None,)
    assert gradient(lambda x: np.float32(1), X) == (None,)
    assert gradient(lambda x: np.array(1.0), X) == (None,)
    np.testing.assert_array_equal(gradient(lambda x: 1.0, X, zeros=True)[0], np.zeros(3))


def test_keyword_arguments_are_passed_on_and_zeros_is_zygs():
    def f(x, *, k, zeros=None):
        assert zeros is None
        return x * k

    assert gradient(f, 1.0, k=3.0) == (3.0,)
    assert gradient(f, 1.0, zeros=True, k=3.0) == (3.0,)
    assert pullback(f, 1.0, k=3.0, zeros=None)[1](1.0) == (3.0,)


def test_any_callable_is_a_function():
    class Square:
        def __call__(self, x):
            return x * x

        def method(self, x):
            return x * x

        @classmethod
        def of_class(cls, x):
            return x * x

    for f in (Square(), Square().method, Square.of_class, functools.partial(pow, exp=2), np.square,
              functools.lru_cache(lambda: None).__wrapped__ and (lambda x: x * x)):  # fmt: skip
        assert gradient(f, 3.0) == (6.0,)


def test_unused_intermediate_values_cost_nothing_and_mean_nothing():
    def f(x):
        1 / (x - 0.5)
        np.log(x)
        return x * 3

    assert gradient(f, 2.0) == (3.0,)


def test_a_value_used_many_times_gets_the_sum():
    def f(x):
        y = x * 2
        return y + y * y + y * 3 + sum([y] * 4)

    assert gradient(f, 1.0) == (2 + 8 + 6 + 8.0,)


def test_a_variable_of_the_same_name_is_rebound_at_will():
    def f(x):
        for _ in range(3):
            x = x * x
        x = x + 1
        return x if x > 0 else 0.0

    assert gradient(f, 1.1)[0] == pytest.approx(8 * 1.1**7)


def test_swapping_two_variables():
    def f(a, b):
        for _ in range(3):
            a, b = b, a * b
        return a * 10 + b

    h = 1e-6
    got = gradient(f, 1.2, 0.7)
    assert got[0] == pytest.approx((f(1.2 + h, 0.7) - f(1.2 - h, 0.7)) / (2 * h))
    assert got[1] == pytest.approx((f(1.2, 0.7 + h) - f(1.2, 0.7 - h)) / (2 * h))


# value_and_gradient


def test_value_and_gradient():
    value, (x_bar,) = value_and_gradient(lambda x: np.sum(x**2), X)
    assert value == 5.25
    assert type(value) is np.float64
    np.testing.assert_array_equal(x_bar, 2 * X)


def test_value_and_gradient_with_aux():
    marker = object()
    value, grads = value_and_gradient(lambda x, y: (x * y, marker, [x, {"y": y}]), 2.0, 3.0)
    assert value == (6.0, marker, [2.0, {"y": 3.0}])
    assert value[1] is marker
    assert type(value[2][0]) is float
    assert grads == (3.0, 2.0)


def test_aux_does_not_reach_the_gradient():
    assert value_and_gradient(lambda x: (x, x * 100, x * x), 2.0)[1] == (1.0,)
    assert value_and_gradient(lambda x: (1.0, x), 2.0)[1] == (None,)


def test_aux_may_hold_closures_and_objects_over_watched_values():
    class Report:
        def __init__(self, x):
            self.x = x

    def f(x):
        y = x * 2
        return y, lambda: y + 1, Report(y)

    (_, later, report), _ = value_and_gradient(f, 3.0)
    assert later() == 7.0
    assert type(later()) is float
    assert type(report.x) is float


# pullback


def test_pullback_of_an_array():
    y, back = pullback(lambda x: x**2, X)
    assert type(y) is np.ndarray
    np.testing.assert_array_equal(y, X**2)
    np.testing.assert_array_equal(back(np.array([1.0, 0.0, 10.0]))[0], [1.0, 0.0, 40.0])


def test_a_pullback_is_linear():
    _, back = pullback(lambda x, w: np.tanh(w @ x) * x[0], X, np.arange(9.0).reshape(3, 3) / 9)
    u, v = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 0.0])
    for a, b, c in zip(back(u), back(v), back(2 * u - 3 * v), strict=True):
        np.testing.assert_allclose(2 * a - 3 * b, c, atol=1e-12)


def test_a_pullback_can_be_called_again():
    _, back = pullback(lambda x: np.sum(x[1:] * x[:-1]) + x[0], X)
    first = [part.tobytes() for part in back(1.0)]
    for _ in range(3):
        assert [part.tobytes() for part in back(1.0)] == first


def test_zeros_are_asked_for_by_call():
    _, back = pullback(lambda x, y: x * 2, 1.0, X)
    assert back(1.0) == (2.0, None)
    np.testing.assert_array_equal(back(1.0, zeros=True)[1], np.zeros(3))
    assert back(None) == (None, None)
    assert back(None, zeros=True)[0] == 0.0


def test_cotangents_of_other_types_are_brought_to_the_values():
    _, back = pullback(lambda x: x * 2, np.ones(2, np.float32))
    for seed in ([1, 2], (1.0, 2.0), np.array([1, 2]), np.array([1.0, 2.0], np.float32)):
        (x_bar,) = back(seed)
        assert x_bar.dtype == np.float32
        np.testing.assert_array_equal(x_bar, [2.0, 4.0])
    _, back = pullback(lambda x: x * 2, 1.0)
    for seed in (1, 1.0, np.float32(1), np.array(1.0), True):
        (x_bar,) = back(seed)
        assert x_bar == 2.0
        assert type(x_bar) is float


def test_the_cotangent_is_not_modified_and_not_kept():
    _, back = pullback(lambda x: x + 0.0 + x[:], X)
    seed = np.ones(3)
    (x_bar,) = back(seed)
    np.testing.assert_array_equal(seed, np.ones(3))
    x_bar += 7.0
    np.testing.assert_array_equal(seed, np.ones(3))
    seed[:] = 5.0
    np.testing.assert_array_equal(back(np.ones(3))[0], [2.0, 2.0, 2.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x,
        lambda x: x[:],
        lambda x: x * x,
        lambda x: np.exp(x),
        lambda x: np.reshape(x, (3, 1)),
        lambda x: x.T,
        lambda x: np.tanh(x) * np.sum(x),
        lambda x: np.sqrt(x * x),
        lambda x: np.cumsum(np.exp(x)),
    ],
)
def test_mutating_a_value_or_a_result_does_not_alter_later_calls(f):
    y, back = pullback(f, X)
    seed = np.ones_like(y)
    (first,) = back(seed)
    expected = first.copy()
    y[...] = 1e6
    first[...] = -1e6
    np.testing.assert_array_equal(back(seed)[0], expected)


@pytest.mark.parametrize("verb", [gradient, lambda f, *a: pullback(f, *a)[1](1.0)])
def test_the_same_program_gives_the_same_bits(verb):
    rng = np.random.default_rng(1)
    a, x = rng.normal(size=(20, 20)), rng.normal(size=20)

    def f(a, x):
        y = x
        for k in range(5):
            y = np.tanh(a @ y) + x[k] * y
        return np.sum(y) + sum(v * v for v in y)

    first = [part.tobytes() for part in verb(f, a, x)]
    second = [part.tobytes() for part in verb(f, a, x)]
    assert first == second


def test_results_of_two_arguments_do_not_share_memory():
    a, b = gradient(lambda a, b: np.sum(a + b), X, X)
    assert not np.shares_memory(a, b)
    a += 1.0
    np.testing.assert_array_equal(b, np.ones(3))


def test_a_pullback_in_threads_gives_each_its_own_result():
    w = np.arange(9.0).reshape(3, 3)
    _, back = pullback(lambda x, w: np.sum(np.tanh(w @ x)[:, None] * x[None, :] * w), X, w)
    expected = back(1.0)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda k: back(float(k)), range(24)))
    for k, result in enumerate(results):
        for one, part in zip(result, expected, strict=True):
            np.testing.assert_allclose(one, k * part, rtol=1e-13)
    for k, result in enumerate(results[1:], 1):
        assert not np.shares_memory(result[0], results[k - 1][0])


def test_gradients_in_threads_do_not_meet():
    gate = threading.Barrier(8, timeout=100)

    def work(k):
        def f(x):
            y = x
            for _ in range(50):
                y = y * 1.01 + k
            gate.wait()
            assert zyg.nestlevel() == 1
            return y * k

        return gradient(f, 1.0)[0]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    assert results == pytest.approx([k * 1.01**50 for k in range(8)])


def test_raw_threads_work_on_one_gradient_at_once():
    def f(x, a):
        parts = [None] * 8
        gate = threading.Barrier(8, timeout=100)

        def work(k):
            gate.wait()
            y = x
            for j in range(60):
                y = y * 1.01 + a[(k + j) % 4] * x
            parts[k] = y

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return sum(parts)

    def sequential(x, a):
        total = 0.0
        for k in range(8):
            y = x
            for j in range(60):
                y = y * 1.01 + a[(k + j) % 4] * x
            total = total + y
        return total

    a = np.array([0.1, 0.2, -0.3, 0.4])
    expected = gradient(sequential, 0.7, a)
    for _ in range(3):
        got = gradient(f, 0.7, a)
        assert got[0] == pytest.approx(expected[0], rel=1e-12)
        np.testing.assert_allclose(got[1], expected[1], rtol=1e-12)


def test_an_executor_inside_a_gradient():
    def f(x):
        with ThreadPoolExecutor(4) as pool:
            return sum(pool.map(lambda k: np.sum(np.sin(k * x)), range(1, 6)))

    (x_bar,) = gradient(f, X)
    np.testing.assert_allclose(x_bar, sum(k * np.cos(k * X) for k in range(1, 6)))


def test_arrays_and_tapes_are_freed_with_the_pullback():
    class Big(np.ndarray):
        pass

    kept = []

    def f(x):
        w = np.ones(3)
        marker = w.view(Big)
        kept.append(weakref.ref(marker))
        return np.sum(x * w) + 0 * len(marker)

    gradient(f, X)
    gc.collect()
    assert kept[0]() is None
    _, back = pullback(lambda x: x * 2, X)
    alive = weakref.ref(back)
    del back
    gc.collect()
    assert alive() is None


def test_the_tape_of_a_gradient_is_freed_without_the_cyclic_collector():
    kept = []

    class Marker:
        pass

    @zyg.adjoint
    def marked(x):
        marker = Marker()
        kept.append(weakref.ref(marker))
        return x * 2, lambda y_bar: (y_bar * 2 if marker else None,)

    gc.disable()
    try:
        gradient(lambda x: marked(x) * x, 1.0)
        assert kept[0]() is None
    finally:
        gc.enable()


# hook, stop_gradient, primal, is_traced


def test_hook_changes_the_cotangent_and_not_the_value():
    value, grads = value_and_gradient(lambda x: 3 * hook(lambda c: -c, x), 2.0)
    assert value == 6.0
    assert grads == (-3.0,)


def test_hook_sees_the_total_cotangent_of_what_it_returns():
    seen = []

    def f(x):
        y = hook(lambda c: seen.append(c) or c, x)
        return y * 2 + y * 3

    assert gradient(f, 1.0) == (5.0,)
    assert seen == [5.0]


def test_hook_on_arrays_and_outside_of_a_gradient():
    assert hook(lambda c: 1 / 0, 3.0) == 3.0
    x = np.ones(2)
    np.testing.assert_array_equal(hook(lambda c: c, x), x)
    (x_bar,) = gradient(lambda x: np.sum(hook(lambda c: np.clip(c, -1, 1), x) * 5), X)
    np.testing.assert_array_equal(x_bar, np.ones(3))


def test_hook_on_a_structure():
    (p_bar,) = gradient(
        lambda p: (q := hook(lambda c: [2 * v for v in c], p))[0] * q[1], [3.0, 5.0]
    )
    assert p_bar == [10.0, 6.0]


def test_the_hook_of_an_inner_gradient_is_differentiated_as_part_of_it():
    # inner: 10 * 3 x**2; its derivative is 60 x, and passes through no hook
    D = lambda f: lambda x: gradient(f, x)[0]  # noqa: E731, N806
    assert D(D(lambda x: hook(lambda c: 10 * c, x) ** 3))(2.0) == 120.0


def test_a_hook_with_a_counter_of_calls():
    calls = []
    _, back = pullback(lambda x: hook(lambda c: calls.append(1) or c, x) * 2, 1.0)
    assert calls == []
    back(1.0)
    back(1.0)
    assert len(calls) == 2


def test_stop_gradient_of_a_structure():
    class Model:
        def __init__(self, w):
            self.w = w

    def f(x, a):
        held = stop_gradient({"x": [x], "m": Model(x), "a": a, "f": lambda: x})
        assert type(held["x"][0]) is float
        assert type(held["m"].w) is float
        assert type(held["a"]) is np.ndarray
        assert type(held["f"]()) is float
        return x * held["x"][0] * held["m"].w * held["f"]() + np.sum(a * held["a"])

    x_bar, a_bar = gradient(f, 2.0, X)
    assert x_bar == 8.0
    np.testing.assert_array_equal(a_bar, X)


def test_stop_gradient_of_plain_values_is_the_value_itself():
    a, o = [1.0, X], object()
    assert stop_gradient(a) is a
    assert stop_gradient(o) is o
    assert stop_gradient(X) is X
    assert stop_gradient(1.0) == 1.0
    assert primal(X) is X


def test_stop_gradient_does_not_modify_what_it_is_given():
    def f(x):
        a = [x, {"x": x}]
        b = stop_gradient(a)
        assert is_traced(a[0])
        assert is_traced(a[1]["x"])
        assert not is_traced(b[0])
        return a[0] * b[1]["x"]

    assert gradient(f, 3.0) == (3.0,)


def test_what_stop_gradient_returns_is_not_written_back():
    def f(x):
        y = stop_gradient(x)
        y = y.copy()
        y[0] = 100.0
        return np.sum(x * y)

    np.testing.assert_array_equal(gradient(f, X)[0], [100.0, -1.0, 2.0])


def test_is_traced():
    assert not is_traced(1.0)
    assert not is_traced([1.0])
    kept = []

    def f(x, a, o):
        kept.append(x)
        assert is_traced(x)
        assert is_traced(x * 2)
        assert is_traced(a)
        assert is_traced(a[0])
        assert is_traced(a.shape) is False
        assert not is_traced(o)
        assert not is_traced(x > 0)
        assert not is_traced(int(x))
        assert not is_traced(np.argmax(a))
        assert not is_traced([x])
        return x

    gradient(f, 1.0, X, "other")
    assert not is_traced(kept[0])


# Strong zero


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 0.0)), 0.0), 0.0, 0.0),
        (lambda x: np.sqrt(x) * 0.0, 0.0, 0.0),
        (lambda x: np.sum(np.where(x > 0, np.log(np.abs(x)), x)), np.array([0.0, 2.0]), [1.0, 0.5]),
        (lambda x: np.sum(np.sqrt(x) * np.array([0.0, 1.0])), np.array([0.0, 4.0]), [0.0, 0.25]),
        (lambda x: np.sum(np.where(x > 1, 1 / (x - x), 3 * x)), np.array([0.5, 0.2]), [3.0, 3.0]),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_a_cotangent_of_zero_stays_zero(f, x, expected):
    np.testing.assert_array_equal(gradient(f, x)[0], expected)


def test_an_infinite_slope_that_counts_is_reported():
    assert gradient(np.sqrt, 0.0) == (np.inf,)
    assert np.isnan(gradient(lambda x: np.sqrt(x) * np.nan, 1.0)[0])


def test_the_reverse_pass_does_not_warn():
    assert gradient(np.sqrt, 0.0) == (np.inf,)
    assert gradient(lambda x: np.sum(np.sqrt(x)), np.zeros(2))[0].tolist() == [np.inf, np.inf]
