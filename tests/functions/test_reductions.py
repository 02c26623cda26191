"""What the table of calls cannot say about reductions and cumulative functions."""

import sys
import tracemalloc

import numpy as np
import pytest

import zyg

from ..calls.calls import CUBE, A, V, array
from ..calls.numpy_reductions import HOLES, ROW

EXTREMA = [np.max, np.amax, np.min, np.amin, np.nanmax, np.nanmin]


@pytest.mark.parametrize("f", [np.sum, np.prod, np.nansum, np.nanprod])
def test_where_a_reduction_starts_has_a_derivative(f):
    zyg.check_gradient(lambda x, c: f(x, axis=0, initial=c), A, 1.5)
    zyg.check_gradient(lambda x, c: f(x, initial=c, where=ROW), CUBE, 1.5)
    zyg.check_gradient(lambda x, c: f(x, initial=c), V * [1, 0, 1, 1], 1.5)


@pytest.mark.parametrize("f", EXTREMA)
def test_a_bound_has_a_derivative_where_it_is_reached(f):
    zyg.check_gradient(lambda x, c: f(x, axis=0, initial=c), A, 0.1)
    assert zyg.gradient(lambda x, c: f(x, initial=c), np.zeros(2), 0.0)[1] == 1.0


@pytest.mark.parametrize("f", EXTREMA)
def test_of_equal_elements_the_first_is_extremal(f):
    (x_bar,) = zyg.gradient(lambda x: f(x), np.ones((2, 2)))
    np.testing.assert_array_equal(x_bar, [[1.0, 0.0], [0.0, 0.0]])
    (x_bar,) = zyg.gradient(lambda x: np.sum(f(x, axis=0)), np.ones((2, 2)))
    np.testing.assert_array_equal(x_bar, [[1.0, 1.0], [0.0, 0.0]])
    (x_bar,) = zyg.gradient(lambda x: f(x, initial=1.0), np.ones((2, 2)))
    np.testing.assert_array_equal(x_bar, np.zeros((2, 2)))
    (x_bar,) = zyg.gradient(lambda x: np.ptp(x), np.ones(3))
    np.testing.assert_array_equal(x_bar, np.zeros(3))


@pytest.mark.parametrize("f", EXTREMA[:4])
def test_nan_is_extremal(f):
    (x_bar,) = zyg.gradient(lambda x: f(x), np.array([1.0, np.nan, np.nan]))
    np.testing.assert_array_equal(x_bar, [0.0, 1.0, 0.0])


def test_a_mean_that_is_given():
    def f(x):
        return np.var(x, axis=1, mean=np.mean(x, axis=1, keepdims=True), ddof=1)

    np.testing.assert_allclose(
        zyg.gradient(lambda x: f(x)[0], CUBE[0])[0],
        zyg.gradient(lambda x: np.var(x, axis=1, ddof=1)[0], CUBE[0])[0],
        rtol=1e-13,
    )
    zyg.check_gradient(lambda x, m: np.std(x, axis=0, mean=m), A, np.full((1, 4), 0.1))
    zyg.check_gradient(lambda x, m: np.var(x, mean=m), A, 0.1 * B_LIKE_A)


B_LIKE_A = array(3, 4, seed=1)


@pytest.mark.parametrize("f", [np.std, np.nanstd])
def test_the_deviation_of_equal_elements_has_slope_zero(f):
    for kwargs in ({}, {"where": np.array([True, True, False])}, {"ddof": 1}, {"mean": 2.0}):
        (x_bar,) = zyg.gradient(lambda x, kw=kwargs: f(x, **kw), np.full(3, 2.0))
        np.testing.assert_array_equal(x_bar, np.zeros(3))


@pytest.mark.parametrize("f", [np.var, np.std, np.nanvar, np.nanstd])
def test_ddof_and_correction_exclude_each_other(f):
    with pytest.raises(ValueError, match="ddof and correction"):
        zyg.pullback(lambda x: f(x, ddof=1, correction=1), A)


# NaN


@pytest.mark.parametrize("f", [np.nanmean, np.nanmax, np.nanmin, np.nanvar, np.nanstd])
def test_a_slice_of_nan_only_warns_once_and_has_slope_zero(f):
    x = np.array([[np.nan, np.nan, np.nan], [1.0, 3.0, 2.5]])
    with pytest.warns(RuntimeWarning) as plain:
        expected = f(x, axis=1)
    with pytest.warns(RuntimeWarning) as watched:
        y, back = zyg.pullback(lambda x: f(x, axis=1), x)
    np.testing.assert_array_equal(y, expected)
    assert [str(w.message) for w in watched] == [str(w.message) for w in plain]
    (x_bar,) = back(np.ones(2))
    np.testing.assert_array_equal(x_bar[0], np.zeros(3))
    assert np.any(x_bar[1])


@pytest.mark.parametrize(
    "f",
    [
        np.nansum, np.nanprod, np.nanmean, np.nanmax, np.nanmin, np.nanvar, np.nanstd,
        np.nancumsum, np.nancumprod,
    ],
)  # fmt: skip
def test_nan_has_slope_zero(f):
    (x_bar,) = zyg.gradient(lambda x: np.sum(f(x)), HOLES)

    np.testing.assert_array_equal(x_bar[np.isnan(HOLES)], 0.0)
    assert np.all(np.isfinite(x_bar))


# Products in O(n)


def lines_run(f, *args):
    """How many lines of Python a call runs."""
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        f(*args)
    finally:
        sys.settrace(before)
    return count


PRODUCTS = [
    np.prod, np.nanprod, lambda x: np.sum(np.cumprod(x)), lambda x: np.sum(np.nancumprod(x)),
]  # fmt: skip


@pytest.mark.parametrize("f", PRODUCTS)
def test_products_with_zeros_are_linear_in_the_length(f):
    def second(x):
        return zyg.gradient(lambda x: np.sum(zyg.gradient(f, x)[0]), x)

    def zeros(n):
        x = np.linspace(0.9, 1.1, n)
        x[[1, n // 2]] = 0.0
        return x

    for g in (lambda x: zyg.gradient(f, x), second):
        g(zeros(4))
        assert lines_run(g, zeros(400)) < 2.5 * lines_run(g, zeros(200))
        tracemalloc.start()
        g(zeros(400))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 400 * 8 * 400 / 2


def test_a_product_that_overflows():
    x = np.array([1e200, 1e200, 1e-300])
    (x_bar,) = zyg.gradient(np.prod, np.array([1e-200, 1e-200, 1e300]))
    np.testing.assert_allclose(x_bar, [1e100, 1e100, 0.0])
    with np.errstate(over="ignore"):
        assert zyg.gradient(np.prod, x)[0][2] == np.inf
