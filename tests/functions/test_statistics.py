"""What the table of calls cannot say about averages, covariances and histograms."""

import numpy as np
import pytest

import zyg
from zyg.errors import MissingRuleError

from ..calls.calls import A, V, array
from ..calls.numpy_statistics import EDGES, POINTS, WEIGHTS


def test_an_average_of_a_list():
    zyg.check_gradient(lambda x, y, w: np.average([x, y, 2.0], weights=w), 1.5, 2.5, V[:3] ** 2)


def test_the_sum_of_the_weights_is_differentiated():
    zyg.check_gradient(lambda x, w: np.average(x, 1, w, True), A, V**2)
    zyg.check_gradient(lambda w: np.average(A, 1, w, True), V**2)


@pytest.mark.parametrize("f", [np.cov, np.corrcoef])
def test_a_sample_of_one_is_numpys(f):
    with pytest.warns(RuntimeWarning) as plain:
        expected = f(np.ones((2, 1)))
    with pytest.warns(RuntimeWarning) as watched:
        y, _ = zyg.pullback(f, np.ones((2, 1)))
    np.testing.assert_array_equal(y, expected)
    assert [str(w.message) for w in watched] == [str(w.message) for w in plain]


def test_variances_of_a_covariance():
    (x_bar,) = zyg.gradient(lambda x: np.trace(np.cov(x)), A)
    (expected,) = zyg.gradient(lambda x: np.sum(np.var(x, axis=1, ddof=1)), A)
    np.testing.assert_allclose(x_bar, expected, rtol=1e-13)


def test_a_correlation_with_itself_is_constant():
    (x_bar,) = zyg.gradient(lambda x: np.trace(np.corrcoef(x)), A)
    np.testing.assert_allclose(x_bar, 0, atol=1e-15)


# Histograms


def test_counts_are_constant_and_edges_move():
    seen = []

    def f(x):
        counts, edges = np.histogram(x, 3)
        seen.append(counts)
        return edges[1]

    (x_bar,) = zyg.gradient(f, V)
    np.testing.assert_array_equal(seen[0], np.histogram(V, 3)[0])
    assert seen[0].dtype == np.histogram(V, 3)[0].dtype
    np.testing.assert_allclose(x_bar, (min(V) == V) * 2 / 3 + (max(V) == V) / 3)


def test_edges_and_range_are_differentiated():
    zyg.check_gradient(lambda x, e: np.histogram(x, e, density=True), V, EDGES)
    zyg.check_gradient(lambda x, c: np.histogram(x, 4, (-c, 2.5), True), V, 1.5)
    zyg.check_gradient(
        lambda x, c: np.histogram2d(x, x, [3, EDGES], [[-c, c], None], True)[0], V, 2.3
    )
    zyg.check_gradient(lambda x, e: np.histogramdd([x, x], [[-e, 0.05, e], 3], None, True), V, 2.4)


def test_bins_of_different_numbers():
    zyg.check_gradient(lambda x: np.histogramdd(x, [3, 4], density=True), POINTS, order=1)
    zyg.check_gradient(lambda x: np.histogram2d(x[:, 0], x[:, 1], [3, EDGES]), POINTS, order=1)


def test_densities_of_weights():
    w = array(7) ** 2
    zyg.check_gradient(lambda x, w: np.histogramdd(x, 3, None, True, w), POINTS, w, order=1)
    zyg.check_gradient(
        lambda x, w: np.histogram2d(x[:, 0], x[:, 1], 3, None, True, w), POINTS, w, order=1
    )
    zyg.check_gradient(lambda x, w: np.histogram(x, 3, None, True, w), A, WEIGHTS, order=1)


def test_edges_that_are_nan_are_refused():
    edges = np.array([0.0, np.nan, 1.0])

    with pytest.raises(MissingRuleError, match="edges that are NaN has no derivative"):
        zyg.gradient(lambda e: np.histogram([0.5], e, density=True)[0].sum(), edges)


def test_elements_on_edges():
    x = np.array([0.0, 1.0, 1.0, 2.0, 3.0, np.nan, 3.5])
    (w_bar,) = zyg.gradient(
        lambda w: np.sum(np.histogram(x, [0, 1, 2, 3], weights=w)[0] * [1, 2, 3]), np.ones(7)
    )
    np.testing.assert_array_equal(w_bar, [1, 2, 2, 3, 3, 0, 0])


def test_weights_of_a_count_at_second_order():
    places = np.array([0, 0, 2])
    zyg.check_gradient(lambda w: np.bincount(places, w * w) ** 2, array(3))
