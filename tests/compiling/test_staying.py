"""A helper that is not in the language stays in Python alone, if it only computes its result."""

import re
import warnings

import numpy as np
import pytest

import zyg
from tests.compiling import helpers_outside as outside
from zyg.compiling.staying import is_helper
from zyg.errors import CompileError, PerformanceWarning

X = np.array([0.5, 1.2])


@pytest.mark.parametrize("f", outside.PURE, ids=lambda f: f.__name__)
def test_what_only_computes(f):
    assert is_helper(f)


@pytest.mark.parametrize("f", outside.IMPURE, ids=lambda f: f.__name__)
def test_what_may_do_more(f):
    assert not is_helper(f)


def in_a_loop(x):
    total = 1.0
    for k in range(3):
        total = total * x + outside.catches(x - k) + outside.computes_keys(x, k)
    return total


def with_arrays(x):
    square, total, (double, nothing) = outside.several(x)
    if nothing is None:
        return np.sum(square @ double) * total
    return 0.0


@pytest.mark.parametrize(
    ("f", "x"), [(in_a_loop, 1.7), (with_arrays, X)], ids=["numbers", "arrays"]
)
def test_it_is_called_back_with_the_derivatives_of_the_traced_engine(f, x):
    zyg.kernels.clear()
    compiled, u = zyg.compile(f), np.ones_like(x)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert compiled(x) == pytest.approx(f(x), rel=1e-14)
        (slope,) = zyg.gradient(compiled, x)
        along = zyg.pushforward(compiled, (x,), (u,))[1]
        curved = zyg.hvp(compiled, x, u)
        report = compiled.inspect(x)
    assert report["native"]
    assert all("where:" in why for why in report["called back"].values())
    assert along == pytest.approx(np.sum(slope * u))
    step = 1e-5
    steps = [step] if np.ndim(x) == 0 else step * np.eye(2)
    numbers = [(f(x + h) - f(x - h)) / (2 * step) for h in steps]
    assert slope == pytest.approx(numbers[0] if np.ndim(x) == 0 else numbers, rel=1e-8)
    up, down = (zyg.gradient(compiled, x + s * step * u)[0] for s in (1, -1))
    assert curved == pytest.approx((up - down) / (2 * step), rel=1e-7)
    places = [str(w.message) for w in found]
    assert all(w.category is PerformanceWarning for w in found)
    assert len({*places}) == len(places) == len(report["called back"])
    assert all(re.search(r"helpers_outside\.py:\d+: `.+` ?: .+", text) for text in places), places


def test_a_changed_global_of_a_helper_is_seen(monkeypatch):
    with zyg.config(fallback="silent"):
        f = zyg.compile(lambda x: outside.computes_keys(x, 2))
        before = f(1.0)
        monkeypatch.setattr(outside, "SCALE", 3.0)
        assert f(1.0) == 2 * before
        # What is watched is not lost in a helper that has it from outside.
        by_scale = zyg.gradient(lambda s: _with_scale(f, s, monkeypatch), 3.0)
    assert by_scale == (pytest.approx(2.0),)


def _with_scale(f, scale, monkeypatch):
    monkeypatch.setattr(outside, "SCALE", scale)
    return f(1.0)


@pytest.mark.parametrize("name", ["prints", "logs", "counts"])
def test_effects_of_helpers_happen_as_often_as_in_python(name, capsys):
    helper = getattr(outside, name)

    def f(x):
        return helper(x) * x

    outside.LOG.clear()
    outside.count = 0
    with zyg.config(fallback="silent"):
        compiled = zyg.compile(f)
        assert compiled(2.0) == 4.0
        assert zyg.gradient(compiled, 2.0) == (4.0,)
        assert not compiled.inspect(2.0)["native"]
    assert len(outside.LOG) == 2 * (name == "logs")
    assert outside.count == 2 * (name == "counts")
    assert capsys.readouterr().out == "here\n" * (2 * (name == "prints"))


@pytest.mark.parametrize("name", ["writes", "gives_it_back"])
def test_helpers_that_write_to_arguments_or_return_them_take_the_function_with_them(name):
    helper = getattr(outside, name)

    def f(x):
        y = helper(x)
        x[1] = 10.0
        return np.sum(y) + np.sum(x)

    with zyg.config(fallback="silent"):
        compiled = zyg.compile(f)
        one, two = X.copy(), X.copy()
        assert compiled(one) == f(two)
        assert (one == two).all()
        assert not compiled.inspect(X.copy())["native"]


def test_closures_with_other_cells_are_other_helpers():
    def made(k):
        def helper(x):
            try:
                return x * k
            finally:
                pass

        return helper

    def f(x, helper):
        return helper(x) + x

    with zyg.config(fallback="silent"):
        compiled = zyg.compile(f)
        assert [compiled(2.0, made(k)) for k in (1.0, 2.0, 3.0)] == [4.0, 6.0, 8.0]
        by_k = zyg.gradient(lambda k: compiled(2.0, made(k)), 3.0)
    assert by_k == (2.0,)


def test_a_helper_that_falls_back_is_an_error_where_one_asked():
    zyg.kernels.clear()  # it is asked where a program is made
    with zyg.config(fallback="error"), pytest.raises(CompileError, match="try"):
        zyg.compile(in_a_loop)(1.7)


class Loud:
    def __init__(self, x):
        outside.LOG.append(x)
        self.x = x


def made_of(kind, x):
    try:
        return kind(x).x
    finally:
        pass


def test_a_helper_that_is_given_a_class_may_do_anything():
    def f(x):
        return made_of(Loud, x) * x

    assert is_helper(made_of)
    outside.LOG.clear()
    with zyg.config(fallback="silent"):
        assert zyg.compile(f)(2.0) == 4.0
    assert outside.LOG == [2.0]
