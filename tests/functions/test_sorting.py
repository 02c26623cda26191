"""What the table of calls cannot say about sorting, selecting and order statistics."""

import numpy as np
import pytest

import zyg

from ..calls.calls import A, V, array, with_zeros
from ..calls.numpy_sorting import FEW, MANY, METHODS

REPEATED = np.array([1.5, -0.5, 1.5, 2.0, -0.5])
COUNT = np.arange(1.0, 6.0)


def read_by(f, x=REPEATED):
    """Which elements a function reads: the gradient of its sum, weighted by 1, 2, 3, ..."""
    (x_bar,) = zyg.gradient(lambda x: np.sum(f(x) * np.arange(1, np.size(f(x)) + 1)), x)
    return x_bar.tolist()


def test_equal_elements_are_sorted_in_their_order():
    assert read_by(np.sort) == [3, 1, 4, 5, 2]
    assert read_by(lambda x: np.sort(x, kind="quicksort")) == [3, 1, 4, 5, 2]
    assert sorted(read_by(lambda x: np.partition(x, 2))) == [1, 2, 3, 4, 5]


def test_the_first_of_equal_elements_stands_for_all():
    assert read_by(np.unique) == [2, 1, 0, 3, 0]
    assert read_by(lambda x: np.unique(x, return_counts=True)[0]) == [2, 1, 0, 3, 0]
    rows = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 5.0]])
    assert read_by(lambda x: np.unique(x, axis=0)[1], rows) == [[1, 2], [0, 0], [0, 0]]


@pytest.mark.parametrize(
    "f",
    [
        np.unique_values, lambda x: np.unique_counts(x).values,
        lambda x: np.unique_inverse(x).values, lambda x: np.unique_all(x).values,
        lambda x: np.unique(x, sorted=False) if np.__version__ >= "2.3" else np.unique(x),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [float, complex])
def test_unique_values_in_the_order_of_numpy(f, dtype):
    x = REPEATED.astype(dtype)
    y, back = zyg.pullback(f, x)

    np.testing.assert_array_equal(y, f(x))
    (x_bar,) = back(y)
    np.testing.assert_array_equal(x_bar, [1.5, -0.5, 0.0, 2.0, 0.0])


def test_the_other_results_of_unique_are_numpys():
    seen = []

    def f(x):
        seen.extend([np.unique(x, True, True, True), np.unique_all(x)])
        return np.sum(x)

    zyg.gradient(f, REPEATED)
    for made, plain in zip(
        seen, [np.unique(REPEATED, True, True, True), np.unique_all(REPEATED)], strict=True
    ):
        assert type(made) is type(plain)
        for a, b in zip(made[1:], plain[1:], strict=True):
            np.testing.assert_array_equal(a, b)


def test_trimmed_zeros_have_slope_zero():
    x = with_zeros(6, zeros=[0, 3, 5])
    for trim, ends in (("fb", slice(1, 5)), ("f", slice(1, 6)), ("b", slice(0, 5))):
        expected = np.zeros(6)
        expected[ends] = np.arange(1, len(x[ends]) + 1)
        assert read_by(lambda x, t=trim: np.trim_zeros(x, t), x) == expected.tolist()
    assert zyg.gradient(lambda x: np.sum(np.trim_zeros(x)), np.zeros(3))[0].tolist() == [0, 0, 0]


def test_choosing_between_watched_numbers():
    def f(x, y):
        return np.sum(
            np.choose(np.array([0, 1, 1]), [x, y])
            * np.select([np.array([True, False, True])], [x], y)
        )

    zyg.check_gradient(f, 1.5, 2.5)
    zyg.check_gradient(lambda x, d: np.select([A > 0], [x], d), A, 0.5)


def test_methods_of_arrays():
    zyg.check_gradient(lambda x: x.compress([True, False, True], axis=0), A)
    zyg.check_gradient(lambda x: x.compress(A.ravel() > 0), A)


# Order statistics


def test_the_median_of_an_even_number_is_of_two_halves():
    assert zyg.gradient(np.median, np.array([4.0, 1.0, 3.0, 2.0]))[0].tolist() == [0, 0, 0.5, 0.5]
    assert zyg.gradient(np.median, np.array([2.0, 2.0, 2.0]))[0].tolist() == [0, 1, 0]
    assert zyg.gradient(np.nanmedian, np.array([np.nan, 1.0, 5.0]))[0].tolist() == [0, 0.5, 0.5]


@pytest.mark.parametrize("f", [np.quantile, np.nanquantile])
@pytest.mark.parametrize("method", METHODS)
def test_quantiles_are_differentiated_in_q(f, method):
    x = array(3, 5)
    zyg.check_gradient(lambda q: f(x, q, axis=1, method=method), MANY)
    x[0, 1] = np.nan if f is np.nanquantile else 0.1
    zyg.check_gradient(lambda x, q: f(x, q, axis=1, method=method, keepdims=True), x, MANY)


def test_percentiles_are_differentiated_in_q():
    for f in (np.percentile, np.nanpercentile):
        zyg.check_gradient(lambda x, q, f=f: f(x, q, axis=0), A, 100 * MANY)


def test_where_a_quantile_is_an_element_its_slope_in_q_is_that_to_the_right():
    x = np.array([0.0, 1.0, 3.0, 7.0, 15.0])

    def slope(q, **kwargs):
        return zyg.gradient(lambda q: np.quantile(x, q, **kwargs), q)[0]

    assert [slope(q) for q in (0.0, 0.25, 0.5, 0.75, 1.0)] == [4.0, 8.0, 16.0, 32.0, 0.0]
    assert slope(0.01, method="weibull") == 0.0
    assert slope(0.99, method="weibull") == 0.0
    assert slope(0.3, method="lower") is None


def test_weights_choose_and_carry_nothing():
    w = np.array([1.0, 3.0, 1.0, 2.0])

    def f(x, w):
        return np.quantile(x, FEW, method="inverted_cdf", weights=w)

    x_bar, w_bar = zyg.gradient(f, V, w)
    np.testing.assert_array_equal(x_bar, (f(V, w) == V) * 1.0)
    assert w_bar is None


def test_a_quantile_does_not_overwrite():
    for f in (np.median, np.nanmedian, lambda x, **k: np.quantile(x, FEW, **k)):
        x = array(5)
        y, back = zyg.pullback(lambda x, f=f: f(x, overwrite_input=True), x)
        np.testing.assert_array_equal(x, array(5))
        assert y == f(array(5))
        np.testing.assert_array_equal(back(1.0)[0], zyg.gradient(f, array(5))[0])


def test_a_slice_of_nan_only_has_slope_zero():
    x = np.array([[np.nan, np.nan, np.nan], [1.0, 3.0, np.nan]])
    for f in (
        lambda x: np.nanmedian(x, axis=1), lambda x: np.nanquantile(x, 0.5, axis=1),
        lambda x: np.nanpercentile(x, 50, axis=1),
    ):  # fmt: skip
        with pytest.warns(RuntimeWarning, match="All-NaN") as raised:
            y, back = zyg.pullback(f, x)
        assert len(raised) == 1
        np.testing.assert_array_equal(y, [np.nan, 2.0])
        np.testing.assert_array_equal(back(np.ones(2))[0], [[0, 0, 0], [0.5, 0.5, 0]])


def test_nan_is_the_median_of_what_holds_it():
    (x_bar,) = zyg.gradient(np.median, np.array([1.0, np.nan, 3.0]))
    assert x_bar.tolist() == [0.0, 1.0, 0.0]


def test_a_quantile_of_nothing_carries_nothing():
    with pytest.warns(RuntimeWarning, match="empty"), np.errstate(invalid="ignore"):
        assert zyg.gradient(lambda x: np.median(x), np.zeros(0)) == (None,)


def test_a_list_of_watched_numbers():
    zyg.check_gradient(lambda x, q: np.quantile([x, 2.5, [x * x][0]], q), 1.2, 0.3)
