"""Estimated densities: SciPy's values, and slopes in all that makes them."""

import numpy as np
import pytest
import scipy.stats

import zyg
from zyg.scipy import stats

DATA = np.random.default_rng(0).normal(size=(2, 7))
WEIGHTS = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 0.7])
POINTS = np.array([[0.1, -1.0, 2.0], [0.3, 0.4, -0.5]])


@pytest.mark.parametrize("method", ["evaluate", "logpdf", "pdf", "__call__"])
@pytest.mark.parametrize("bandwidth", [None, "silverman", 0.4, lambda kde: kde.neff**-0.3])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_densities_are_scipys_and_move_with_data_and_points(method, bandwidth, weights):
    expected = getattr(scipy.stats.gaussian_kde(DATA, bandwidth, weights), method)(POINTS)

    def f(data, points):
        return getattr(stats.gaussian_kde(data, bandwidth, weights), method)(points)

    np.testing.assert_array_equal(f(DATA, POINTS), expected)
    y, _ = zyg.pullback(f, DATA, POINTS)
    np.testing.assert_allclose(y, expected, rtol=1e-11)
    zyg.check_gradient(f, DATA, POINTS, order=1)


def test_they_move_with_weights_and_the_bandwidth():
    def f(weights, bandwidth):
        return stats.gaussian_kde(DATA, bandwidth, weights)(POINTS)

    zyg.check_gradient(f, WEIGHTS, 0.4)
    zyg.check_gradient(lambda w: stats.gaussian_kde(DATA[0], weights=w).logpdf(0.3), WEIGHTS)


def test_a_plain_estimate_at_watched_points_and_single_points():
    kde = stats.gaussian_kde(DATA)
    zyg.check_gradient(kde, POINTS)
    zyg.check_gradient(kde.logpdf, POINTS[:, 0])
    zyg.check_gradient(lambda x: stats.gaussian_kde(DATA[0])(x), 0.3)
    assert isinstance(kde, scipy.stats.gaussian_kde)
    assert kde.integrate_box([-9, -9], [9, 9]) == pytest.approx(1.0)


def test_what_defines_no_density_raises_as_in_scipy():
    with pytest.raises(ValueError, match="points have dimension 3, dataset has dimension 2"):
        zyg.gradient(lambda x: stats.gaussian_kde(DATA)(x * np.ones((3, 2))).sum(), 1.0)
    with pytest.raises(ValueError, match="greater than number of samples"):
        zyg.gradient(lambda x: stats.gaussian_kde(x * np.ones((3, 2)))([1, 1, 1]).sum(), 1.0)
