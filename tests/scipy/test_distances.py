"""Distances between vectors, against SciPy's and against differences."""

import numpy as np
import pytest
import scipy.spatial

import zyg
from zyg.errors import MissingRuleError
from zyg.scipy import spatial

from ..calls.calls import array

distance = spatial.distance
XA, XB = np.split(np.random.default_rng(5).normal(size=(5, 4)), [3])
W = np.array([0.3, 1.2, 0.7, 2.0])
METRICS = {
    "euclidean": {}, "sqeuclidean": {"w": W}, "cityblock": {"w": W}, "chebyshev": {},
    "minkowski": {"p": 3, "w": W}, "seuclidean": {"V": W}, "mahalanobis": {"VI": np.eye(4) + 0.1},
    "cosine": {}, "correlation": {}, "canberra": {}, "braycurtis": {},
}  # fmt: skip


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("metric", METRICS)
def test_distances_of_rows_and_of_vectors(metric, order):
    options, plain = METRICS[metric], getattr(scipy.spatial.distance, metric)

    def f(a, b):
        one = getattr(distance, metric)(a[0], b[1], **options)
        both = distance.cdist(a, b, metric, **options)
        inner = distance.squareform(distance.pdist(a, metric, **options))
        assert zyg.primal(one) == plain(zyg.primal(a)[0], zyg.primal(b)[1], **options)
        return one + np.sum(np.sin(both)) + np.sum(np.cos(inner) * [[1.0, 2.0, 3.0]])

    value = zyg.pullback(lambda a: distance.cdist(a, XB, metric, **options), XA)[0]
    np.testing.assert_array_equal(value, scipy.spatial.distance.cdist(XA, XB, metric, **options))
    zyg.check_gradient(f, XA, XB, order=order)


@pytest.mark.parametrize("metric", ["cosine", "correlation", "canberra", "braycurtis"])
def test_weights_of_coordinates(metric):
    zyg.check_gradient(lambda u, v, w: getattr(distance, metric)(u, v, w), XA[0], XB[0], W)
    zyg.check_gradient(lambda x, w: distance.cdist(x, XB, metric, w=w), XA, W)
    zyg.check_gradient(lambda u: distance.correlation(u, XB[0], W, centered=False), XA[0])


def test_a_metric_may_be_a_function():
    def euclidean(u, v, power=2.0):
        return np.sum(np.abs(u - v) ** power) ** (1 / power)

    def f(x, power):
        mine = distance.cdist(x, XB, lambda u, v: power * euclidean(u, v))
        return mine + distance.cdist(x, XB, euclidean, power=power)

    zyg.check_gradient(f, XA, 2.3)
    zyg.check_gradient(lambda x: distance.pdist(x, distance.cosine), XA)
    assert not zyg.pullback(lambda x: distance.cdist(x, XB[:0], euclidean), XA)[0].size


def test_coincident_points_have_slope_zero():
    for metric in ("euclidean", "sqeuclidean", "cityblock", "canberra"):
        (g,) = zyg.gradient(lambda x, m=metric: np.sum(distance.cdist(x, x[:1], m)[0]), XA)
        np.testing.assert_array_equal(g, 0.0)


def test_the_square_form_of_a_matrix_is_its_upper_triangle():
    x = scipy.spatial.distance.squareform(array(6))
    y, back = zyg.pullback(distance.squareform, x)
    np.testing.assert_array_equal(y, array(6))
    np.testing.assert_array_equal(back(np.ones(6))[0], np.triu(np.ones((4, 4)), 1))


def test_metrics_without_formula_are_refused_by_name():
    for options, text in (
        ({"metric": "jaccard"}, "the metric 'jaccard' has no formula"),
        ({"metric": "mahalanobis", "w": W}, "does not know the option 'w'|unexpected"),
        ({"metric": "seuclidean"}, "the rule of 'seuclidean' needs the option 'V'"),
    ):
        with pytest.raises((MissingRuleError, TypeError), match=text):
            zyg.pullback(lambda x, o=options: distance.cdist(x, XB, **o), XA)
