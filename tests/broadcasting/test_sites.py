"""Calls like one before: the same results to the last bit, of what the function is now."""

import contextlib
import gc
import math
import weakref

import numpy as np
import pytest

import zyg
from zyg.base import buffers
from zyg.broadcasting import calls, sites, verbs
from zyg.core import reverse

from ..kernels.backend import forget_plans, in_python

X = np.linspace(-2, 2, 12).reshape(3, 4)
ROW = np.linspace(0.5, 1.5, 4)
RATE = 2.0


@pytest.fixture(autouse=True)
def _in_python(monkeypatch):
    in_python(monkeypatch)
    with zyg.config(fallback="error"):
        yield
    forget_plans()


@pytest.fixture
def general(monkeypatch):
    """The general way, for a while."""

    def without(call):
        with monkeypatch.context() as patch:
            patch.setattr(verbs, "look", lambda *_: None)
            return call()

    return without


@pytest.fixture
def noted(monkeypatch):
    """The ways back that were noted without the general way."""
    found = []

    def counted(*args):
        found.append(args)
        return calls.kernel_pullback(*args)

    reverse_of = calls.kinds[calls.kernel_pullback]
    monkeypatch.setitem(calls.kinds, counted, reverse_of)
    monkeypatch.setattr(sites, "kernel_pullback", counted)
    return found


def swish(x, a):
    return x * a / (1 + math.exp(-x))


def helper(x):
    return x * x


def of_helper(x):
    return RATE * helper(x)


def root(x):
    return math.sqrt(x) if x > 0 else 0.0


def root_times(x, a):
    return math.sqrt(x) * a if x > 0 else x * a


def address(array):
    return array.__array_interface__["data"][0]


def same(one, other):
    for a, b in zip(one, other, strict=True):
        if a is None or b is None:
            assert a is b
        else:
            assert type(a) is type(b)
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype


def pair(x, y):
    return x * y, math.exp(x) - y


PROGRAMS = {
    "two arrays": (swish, (X, X + 1)),
    "a row": (swish, (X, ROW)),
    "a plain row": (lambda x, a: swish(x, a) * 2, (X, ROW)),
    "cheap": (lambda x, a: x * a + a, (X, ROW)),
    "transposed": (swish, (X.T, np.asfortranarray(X.T))),
    "float32": (swish, (X.astype(np.float32), ROW)),
    "both float32": (swish, (X.astype(np.float32), ROW.astype(np.float32))),
    "float16": (swish, (X.astype(np.float16), ROW.astype(np.float16))),
    "of no axes": (swish, (np.array(0.5), np.array(2.0))),
    "one element": (swish, (X[:1, :1], ROW)),
    "size 0": (swish, (X[:0], ROW)),
    "two results": (pair, (X, ROW)),
    "a column": (swish, (X, X[:, :1])),
}


@pytest.mark.parametrize("mode", ["auto", "cache", "recompute"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_call_like_one_before_gives_the_same_to_the_last_bit(name, mode, general, noted):
    f, args = PROGRAMS[name]

    def parts(y):
        return y if type(y) is tuple else (y,)

    def call(*xs):
        return zyg.broadcast(f, *xs, mode=mode)

    def whole(*xs):
        return sum(np.sum(np.sin(y)) for y in parts(call(*xs)))

    def both():
        y, back = zyg.pullback(call, *args)
        bars = tuple(np.cos(v) for v in parts(y))
        bar = bars if type(y) is tuple else bars[0]
        value, slopes = zyg.value_and_gradient(whole, *args)
        of_first = zyg.gradient(lambda x: whole(x, *args[1:]), args[0])
        return [*parts(call(*args)), *parts(y), *back(bar), *back(bar), value, *slopes, *of_first]

    first = both()
    assert noted
    noted.clear()
    again = both()
    assert len(noted) >= 4
    same(first, again)
    noted.clear()
    same(again, general(both))
    assert noted == []


@pytest.mark.parametrize("name", ["two arrays", "a row", "cheap", "two results"])
def test_derivatives_of_a_call_like_one_before(name, general):
    f, args = PROGRAMS[name]

    def whole(*xs):
        y = zyg.broadcast(f, *xs)
        return np.sum(y[0] * y[1] if type(y) is tuple else y * y)

    zyg.gradient(whole, *args)
    zyg.check_gradient(whole, *args)
    hessian = zyg.hessian(lambda x: whole(x, args[1]), X)
    np.testing.assert_array_equal(
        hessian, general(lambda: zyg.hessian(lambda x: whole(x, args[1]), X))
    )


def test_the_cotangent_may_be_watched_though_no_operand_is_kept():
    for _ in range(2):
        y, back = zyg.pullback(lambda x: zyg.broadcast(swish, x, ROW), X)
        slope = back(np.ones_like(y))[0]
        by_bar = zyg.gradient(lambda w, back=back: np.sum(back(w)[0] * X), np.ones_like(y))[0]
        np.testing.assert_allclose(by_bar, slope * X, rtol=1e-15)


# What the function is now


def test_what_a_closure_holds_is_what_it_is_now():
    def scaled(n, rate, inner):
        return lambda x: inner(x) * rate + n

    for n, rate, inner in [(1, 2.0, helper), (2, 2.0, helper), (1, 3.0, helper), (1, 2.0, root)]:
        f = scaled(n, rate, inner)
        for _ in range(3):
            want = [inner(float(v)) * rate + n for v in ROW]
            np.testing.assert_allclose(zyg.broadcast(f, ROW), want)
            slope = zyg.gradient(lambda x, f=f: zyg.broadcast(f, x).sum(), ROW)[0]
            want = 2 * ROW * rate if inner is helper else rate / 2 / np.sqrt(ROW)
            np.testing.assert_allclose(slope, want)


def test_globals_that_are_given_other_values_are_seen(monkeypatch):
    np.testing.assert_allclose(zyg.broadcast(of_helper, ROW), 2 * ROW * ROW)
    np.testing.assert_allclose(zyg.broadcast(of_helper, ROW), 2 * ROW * ROW)
    monkeypatch.setitem(globals(), "RATE", 5.0)
    np.testing.assert_allclose(zyg.broadcast(of_helper, ROW), 5 * ROW * ROW)
    monkeypatch.setitem(globals(), "RATE", 5)
    np.testing.assert_allclose(zyg.broadcast(of_helper, ROW), 5 * ROW * ROW)
    monkeypatch.setitem(globals(), "helper", lambda x: x + 1)
    np.testing.assert_allclose(zyg.broadcast(of_helper, ROW), 5 * (ROW + 1))
    monkeypatch.setitem(globals(), "RATE", np.float32(0.5))
    np.testing.assert_allclose(zyg.broadcast(of_helper, ROW), (ROW + 1) / 2)


def test_a_captured_number_may_become_watched(monkeypatch):
    def f(rate):
        monkeypatch.setitem(globals(), "RATE", rate)
        return zyg.broadcast(of_helper, ROW).sum()

    for _ in range(3):
        f(2.0)
        np.testing.assert_allclose(zyg.gradient(f, 2.0)[0], (ROW * ROW).sum())


def test_code_defaults_and_rules_may_change():
    def f(x, a=2.0):
        return x * a

    def g(x, a=2.0):
        return x + a

    for _ in range(2):
        np.testing.assert_allclose(zyg.broadcast(f, ROW), 2 * ROW)
    f.__defaults__ = (3.0,)
    np.testing.assert_allclose(zyg.broadcast(f, ROW), 3 * ROW)
    f.__code__ = g.__code__
    np.testing.assert_allclose(zyg.broadcast(f, ROW), 3 + ROW)

    def cube(x):
        return x**3

    def of_cube(x):
        return cube(x) + 1

    def slope():
        return zyg.gradient(lambda x: zyg.broadcast(of_cube, x).sum(), ROW)[0]

    np.testing.assert_allclose(slope(), 3 * ROW**2)
    np.testing.assert_allclose(slope(), 3 * ROW**2)
    zyg.scalar_rule(cube, lambda x, y: 7.0)
    np.testing.assert_allclose(slope(), 7 + 0 * ROW)


def test_settings_are_what_they_are_now(monkeypatch):
    asked = []

    def plan(program, operands, outputs, target):
        asked.append(target.accuracy)
        return patched(program, operands, outputs, target)

    patched = calls.plan_for
    monkeypatch.setattr(calls, "plan_for", plan)
    for accuracy in ("fast", "libm", "fast", "libm"):
        with zyg.config(accuracy=accuracy):
            zyg.broadcast(swish, X, ROW)
    assert asked == ["fast", "libm"]
    with pytest.raises(ValueError, match="mode is"):
        zyg.broadcast(swish, X, ROW, mode="caches")


def test_functions_of_one_code_are_remembered_up_to_a_bound():
    def power(n):
        return lambda x: x**n

    for n in (*range(2, 2 + 2 * sites._MOST), 3, 2):
        np.testing.assert_allclose(zyg.broadcast(power(n), ROW), ROW**n, rtol=1e-12)
    assert max(map(len, sites._sites.values())) <= sites._MOST


def test_no_array_and_no_function_is_held():
    def run():
        x, bar = np.linspace(0, 1, 1000), np.ones(1000)
        rates = [np.float64(2.0)]
        f = (lambda rate: lambda x: x * rate)(rates[0])
        for _ in range(2):
            y, back = zyg.pullback(lambda x: zyg.broadcast(f, x, mode="cache"), x)
            gradient = zyg.gradient(lambda x: zyg.broadcast(f, x).sum(), x)[0]
            slope = back(bar)[0]
        return [weakref.ref(v) for v in (x, bar, f, y, gradient, slope)]

    alive = run()
    gc.collect()
    assert [reference() for reference in alive] == [None] * len(alive)


# What else is done with the operands


def test_views_and_writes_are_seen_as_in_the_general_way(general):
    def f(x):
        y = zyg.broadcast(swish, x[1:], x.T[0, 1:, None])
        x[0] = 3.0
        x[1, 0] = y[0, 0]
        return np.sum(y) + np.sum(zyg.broadcast(swish, x, x))

    first = zyg.gradient(f, X)
    same(first, zyg.gradient(f, X))
    same(first, general(lambda: zyg.gradient(f, X)))
    zyg.check_gradient(f, X)


@pytest.mark.parametrize("mode", ["cache", "recompute"])
def test_an_operand_overwritten_after_the_call_is_noticed_or_harmless(mode):
    for n in (4, 4000):
        x, row = np.linspace(-1, 1, n), np.linspace(1, 2, n)
        want = zyg.gradient(lambda x, row=row: zyg.broadcast(swish, x, row).sum(), x)[0]
        for _ in range(2):
            given = row.copy()
            _y, back = zyg.pullback(lambda x, a=given: zyg.broadcast(swish, x, a, mode=mode), x)
            with contextlib.suppress(ValueError):  # it is read-only
                given[:] = 9.0
            np.testing.assert_array_equal(back(np.ones(n))[0], want)


def test_slopes_that_are_not_finite_keep_the_operands(general):
    x = np.array([0.0, 0.25, 4.0])

    def f(x):
        return zyg.broadcast(lambda t: math.sqrt(t * t), x, mode="cache")

    for _ in range(2):
        _y, back = zyg.pullback(f, x)
        np.testing.assert_array_equal(back(np.ones(3))[0], [0, 1, 1])
    same(back(np.ones(3)), general(lambda: zyg.pullback(f, x)[1](np.ones(3))))


@pytest.mark.parametrize("once", [False, True])
def test_exact_zeros_stay_zero_through_finite_slopes(once, general):
    x = np.array([-1.0, 0.0, 0.5])

    def f(x):
        y = zyg.broadcast(swish, x, ROW[:3], mode="cache")
        return np.sum(np.where(y > 0, np.sqrt(np.maximum(y, 0.0)), 0.0))

    def slope():
        return zyg.gradient(f, x) if once else zyg.pullback(f, x)[1](1.0)

    slope()
    found = slope()
    assert np.isfinite(found[0]).all()
    assert list(found[0][:2]) == [0, 0]
    same(found, general(slope))
    with zyg.config(strong_zero=False):
        assert np.isnan(slope()[0][1])


def test_check_nan_names_the_call():
    def f(x):
        y = zyg.broadcast(swish, x, ROW)
        return np.sum(np.sqrt(y - y))

    zyg.gradient(lambda x: zyg.broadcast(swish, x, ROW).sum(), ROW)
    with zyg.config(check_nan=True), pytest.raises(zyg.errors.NonFiniteError, match="sqrt"):
        zyg.gradient(f, ROW)


# What is not done


@pytest.mark.parametrize(("verb", "arrays"), [("gradient", 3), ("pullback", 5)])
def test_a_gradient_is_written_over_the_slopes_and_a_pullback_is_not(verb, arrays, monkeypatch):
    n = buffers.SMALLEST >> 3  # numbers: smaller arrays are NumPy's
    x, made = np.linspace(-1, 1, n).copy(), []  # with memory of its own

    def counted(*args):
        array = empty(*args)
        made.append(address(array))
        return array

    def found():
        _y, back = zyg.pullback(lambda *xs: zyg.broadcast(swish, *xs), x, x + 2)
        return back(np.ones(n))

    def gradient():
        return zyg.gradient(lambda *xs: zyg.broadcast(swish, *xs).sum(), x, x + 2)

    same(found(), gradient())
    empty = buffers.empty
    monkeypatch.setattr(buffers, "empty", counted)
    bars = gradient() if verb == "gradient" else found()
    assert len(made) == arrays  # the value, two slopes, two gradients
    assert {*map(address, bars)} <= {*made}


def test_nothing_is_summed_to_see_whether_it_is_finite(monkeypatch):
    asked = []

    def non_finite(c):
        asked.append(c)
        return before(c)

    before = reverse.non_finite
    monkeypatch.setattr(reverse, "non_finite", non_finite)
    x = X.copy()
    f = zyg.elementwise(lambda x, y: swish(x, y))
    for _ in range(2):
        asked.clear()
        zyg.gradient(lambda x: f(x, X + 1).sum(), x)
        f.one_pass(X, X, X + 1)
        zyg.partials(swish, X, X + 1)
    assert asked == []
    zyg.gradient(lambda x: f(x, X + 1).sum() + x.sum(), x)  # a sum of two cotangents
    zyg.gradient(lambda x: f(X, x).sum(), ROW)  # a sum over rows
    assert len(asked) == 2
    asked.clear()
    with zyg.config(strong_zero=False):
        zyg.gradient(lambda x: np.sum(np.sin(x)), x)
        f.one_pass(X, X, ROW)
    assert asked == []


def test_partials_make_zeros_only_where_there_is_no_slope(monkeypatch):
    made = []
    zeros_like = np.zeros_like

    def counted(*args, **options):
        made.append(args)
        return zeros_like(*args, **options)

    monkeypatch.setattr(np, "zeros_like", counted)
    _y, (a, b) = zyg.partials(lambda x, y: x * 2.0, X, X)
    assert len(made) == 1
    np.testing.assert_array_equal(a, np.full(X.shape, 2.0))
    np.testing.assert_array_equal(b, np.zeros(X.shape))


def test_no_more_threads_than_the_process_may_run(monkeypatch):
    from zyg.base import config, threads

    monkeypatch.setattr(config.os, "sched_getaffinity", lambda _: {3}, raising=False)
    assert config.cores() == 1
    assert threads.workers() == 1
    with zyg.config(workers=2):
        assert threads.workers() == 3


@pytest.mark.parametrize("mode", ["cache", "recompute"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f", [swish, root_times, pair])
def test_cotangents_that_are_not_finite_give_what_they_give_in_the_general_way(
    f, dtype, mode, general
):
    x, a = np.array([[-1, 0, 0.5, 2, 0, -3], [0, 1, 2, 0, -1, 3]], dtype)
    bars = [0, 1, -2, np.inf, -np.inf, np.nan]

    def found(bar):
        y, back = zyg.pullback(lambda *xs: zyg.broadcast(f, *xs, mode=mode), x, a)
        return back((bar, bar[::-1].copy()) if type(y) is tuple else bar)

    for shift in range(6):
        bar = np.roll(np.array(bars, dtype), shift)
        found(bar)
        same(found(bar), general(lambda bar=bar: found(bar)))
