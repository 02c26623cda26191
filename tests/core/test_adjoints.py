"""Calls of rules: the short way of operands that are alone is the long one, bit for bit."""

import functools

import numpy as np
import pytest

import zyg
import zyg.numpy as znp
from zyg.core.adjoints import Operands
from zyg.errors import AdjointError

from .programs import program

X = np.array([[0.3, -1.2, 0.7], [1.1, 0.4, -0.6]])
CALLS = {
    "one operand": lambda x: np.linalg.norm(x) + np.prod(x, axis=0)[1],
    "two": lambda x: np.sum(np.matmul(x, x.T) + np.outer(x[0], x[1])[:2, :2]),
    "a plain array": lambda x: np.sum(np.matmul(x, np.arange(12.0).reshape(3, 4))),
    "numbers": lambda x: np.trapezoid(x[0], dx=x[1, 2]) + np.linalg.norm(x[0], 3),
    "a list": lambda x: np.sum(np.concatenate([x, 2 * x]) ** 2),
    "several results": lambda x: np.linalg.qr(x.T[:2])[1].sum(),
    "integers": lambda x: np.sum(np.astype(x, int)) + x[0, 0],
    "views": lambda x: np.sum(np.swapaxes(x, 0, 1)[:2] ** 2),
}


def both_ways(monkeypatch, f, x):
    """What f gives, its gradient and its Hessian: by the short way, and by the long one."""

    def found():
        value, (x_bar,) = zyg.value_and_gradient(f, x)
        return value, x_bar, zyg.hvp(f, x, np.cos(x)), zyg.pushforward(f, (x,), (np.sin(x),))[1]

    short = found()
    taken = []
    monkeypatch.setattr(Operands, "_alone", lambda self, args: taken.append(args))
    assert [type(v) for v in short] == [type(v) for v in found()]
    for one, other in zip(short, found(), strict=True):
        np.testing.assert_array_equal(one, other)
    return taken


@pytest.mark.parametrize("f", CALLS.values(), ids=CALLS)
def test_of_calls_of_all_kinds(monkeypatch, f):
    assert both_ways(monkeypatch, f, X)


@pytest.mark.parametrize("seed", range(20))
def test_of_random_programs(monkeypatch, seed):
    one = program(seed)
    f = one.function()
    both_ways(monkeypatch, lambda x: f(x, znp, []), one.x)


def test_the_short_way_is_for_one_strand_alone(monkeypatch):
    """Values of two levels and of another task go the long way; what has ended goes none."""
    ways = []
    alone = Operands._alone
    monkeypatch.setattr(
        Operands, "_alone", lambda self, args: ways.append(alone(self, args)) or ways[-1]
    )
    left = []

    def f(x):
        left.append(x)
        return np.vdot(x, x)

    assert np.array_equal(zyg.gradient(f, X[0])[0], 2 * X[0])
    assert ways == [True]
    assert np.vdot(left[0], X[0]) == np.vdot(X[0], X[0])
    assert ways == [True]

    def outer(x):
        return zyg.gradient(lambda y: np.vdot(x, y) * 2.0, X[1])[0][0]

    ways.clear()
    zyg.gradient(outer, X[0])
    assert ways[0] is False

    ways.clear()
    zyg.gradient(lambda x: sum(zyg.threads.map(lambda k: np.vdot(x, x) * k, [1.0, 2.0])), X[0])
    assert ways == [False, False]


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def square(self, x):
        return self.factor * x * x, lambda y_bar: (2 * self.factor * x * y_bar,)


@pytest.mark.parametrize(
    "rule",
    [Scaled(3.0).square, functools.partial(Scaled.square, Scaled(3.0))],
    ids=["method", "partial"],
)
def test_a_bound_method_is_a_rule(rule):
    square = zyg.adjoint(rule)
    assert square(2.0) == 12.0
    assert zyg.gradient(square, 2.0) == (12.0,)
    assert zyg.pushforward(square, (2.0,), (1.0,)) == (12.0, 12.0)
    assert zyg.hessian(square, 2.0) == 6.0
    zyg.check_adjoint(square, 2.0)
    with pytest.raises(AdjointError, match="closure"):
        zyg.gradient(lambda k: zyg.adjoint(Scaled(k).square)(k), 2.0)


def test_what_a_rule_returns_is_new_whoever_calls_it():
    """A write to a result is none to the operand, nor to another result: as plain, so watched."""

    @zyg.adjoint
    def same(v):
        return v, lambda bar: (bar,)

    @zyg.adjoint
    def first(v):
        return v[:2], lambda bar: (np.append(bar, 0.0),)

    @zyg.adjoint
    def both(v):
        return {"it": v, "rest": [v[1:]]}, lambda bar: (bar["it"] + np.append(0.0, bar["rest"][0]),)

    @zyg.adjoint
    def other(v, w):
        return w, lambda bar: (None, bar)

    def of_same(u):
        y = same(u)
        y *= 3.0
        return np.sum(y * y) + np.sum(u * u)

    def of_first(u):
        y = first(u)
        u *= 3.0
        return np.sum(y * y) + np.sum(u * u)

    def of_both(u):
        made = both(u)
        made["it"][1] *= 7.0
        made["rest"][0][1] *= 2.0
        return np.sum(made["it"] * u) + np.sum(made["rest"][0])

    def of_other(u):
        w = np.array([1.0, 2.0, 3.0])
        y = other(u, w)
        y[0] = 7.0
        return np.sum(y * u) + np.sum(w * u)

    x = np.array([0.5, -1.2, 2.0])
    for f in (of_same, of_first, of_both, of_other):
        value, (slope,) = zyg.value_and_gradient(lambda x, f=f: f(x * 1.0), x)
        steps = 1e-6 * np.eye(3)
        by_differences = [(f(x + h) - f(x - h)) / 2e-6 for h in steps]
        assert value == pytest.approx(f(x * 1.0))
        np.testing.assert_allclose(slope, by_differences, rtol=1e-6, atol=1e-6)
        ahead = [zyg.pushforward(lambda x, f=f: f(x * 1.0), (x,), (h,))[1] for h in np.eye(3)]
        np.testing.assert_allclose(ahead, slope)


def test_a_rule_may_return_what_cannot_be_watched_where_nothing_is():
    records = np.rec.array([(1, 2.0)], dtype=[("a", int), ("b", float)])

    @zyg.adjoint
    def given(v):
        return records, lambda bar: (None,)

    assert given(np.ones(3)) is records


@zyg.adjoint
def halved(x):
    def back(y_bar):
        y_bar *= 0.5
        return (y_bar,)

    return x * 0.5, back


@zyg.adjoint
def halved_twice(x):
    def back(bars):
        for y_bar in bars:
            y_bar *= 0.5
        return (bars[0] + bars[1],)

    return (x * 0.5, x * 0.5), back


def test_a_pullback_may_write_into_its_cotangent_which_others_have():
    def of_two(x):
        a, b = halved_twice(x)
        return np.sum(a + b + x)

    x = np.ones(3)
    np.testing.assert_array_equal(zyg.gradient(lambda x: np.sum(x + halved(x)), x)[0], 1.5 * x)
    np.testing.assert_array_equal(zyg.gradient(of_two, x)[0], 2 * x)
    with zyg.config(fallback="error"):
        compiled = zyg.compile(lambda x: np.sum(x + halved(x)))
        np.testing.assert_array_equal(zyg.gradient(compiled, x)[0], 1.5 * x)
    bent = zyg.hessian(lambda x: np.sum((x + halved(x)) ** 2), x)
    np.testing.assert_array_equal(bent, 4.5 * np.eye(3))


@zyg.adjoint
def doubled_in_place(x, w):
    x *= 2.0
    return np.sum(x * w), lambda y_bar: (2.0 * y_bar * w, None)


@zyg.adjoint
def doubling_weights(x, w):
    w *= 2.0
    return np.sum(x * w), lambda y_bar: (y_bar * w, None)


@zyg.adjoint
def spoilt_on_the_way_back(x, w):
    def back(y_bar):
        x[0] = 0.0
        return y_bar * w, None

    return np.sum(x * w), back


@pytest.mark.parametrize("rule", [doubled_in_place, doubling_weights, spoilt_on_the_way_back])
@pytest.mark.parametrize("size", [3, 3000])
def test_a_rule_cannot_write_into_an_argument_whose_other_uses_would_have_other_derivatives(
    rule, size
):
    """As with `x *= 2`, after which `np.sum(x)` is twice what it was: no pullback says so."""
    x, w = np.ones(size), np.full(size, 3.0)
    of = {
        "argument": lambda x: rule(x, w) + np.sum(x * w),
        "array of its own": lambda x: rule(x * 1.0, w) + np.sum(x),
        "of a gradient inside": lambda x: zyg.gradient(lambda x: rule(x, w), x)[0][0],
    }
    for f in of.values():
        for verb in (zyg.gradient, zyg.hvp) if size == 3 else (zyg.gradient,):
            with pytest.raises(ValueError, match="read-only"):
                verb(f, x, *([x] if verb is zyg.hvp else []))
    np.testing.assert_array_equal(w, np.full(size, 3.0))


def test_what_a_rule_that_writes_into_its_argument_may_do_instead_is_said():
    def f(x):
        return doubled_in_place(x, 1.0)

    compiled = zyg.compile(f)
    programs = f, lambda x: zyg.gradient(f, x), lambda x: zyg.pushforward(f, (x,), (x,))
    for call in programs:
        with pytest.raises(ValueError, match="read-only") as raised:
            call(np.ones(3))
        assert "Write into a copy of the argument, x.copy()" in raised.value.__notes__[0]
    with pytest.warns(zyg.errors.PerformanceWarning), pytest.raises(ValueError, match="read-only"):
        compiled(np.ones(3))
