"""Distances of points and of sets of them, against SciPy's and against differences."""

import numpy as np
import pytest
import scipy.spatial

import zyg
from zyg.errors import DegenerateError, MissingRuleError
from zyg.scipy import spatial

U, V = np.random.default_rng(11).normal(size=(2, 5, 3))
E = np.eye(3)
P, Q = np.random.default_rng(12).uniform(0.2, 1.0, size=(2, 4, 3))
E1, E2 = U[0] / np.linalg.norm(U[0]), V[0] / np.linalg.norm(V[0])


def one(y):
    return np.concatenate([np.ravel(p) for p in (y if isinstance(y, tuple) else (y,))])


def unit(x):
    return x / np.linalg.norm(x)


CALLS = {
    **{f"minkowski_distance {p}": (lambda u, v, p=p: spatial.minkowski_distance(u, v, p), U, V)
       for p in (1, 2, 3.5, np.inf)},
    **{f"minkowski_distance_p {p}": (lambda u, v, p=p: spatial.minkowski_distance_p(u, v, p), U, V)
       for p in (1, 2, 3.5, np.inf)},
    "distance_matrix": (spatial.distance_matrix, U, V[:2]),
    "distance_matrix 3": (lambda u, v: spatial.distance_matrix(u, v, 3), U, V[:2]),
    "jensenshannon": (spatial.distance.jensenshannon, P, Q),
    "jensenshannon of rows": (
        lambda p, q: spatial.distance.jensenshannon(p, q, 2.0, axis=1, keepdims=True), P, Q
    ),
    "directed_hausdorff": (lambda u, v: spatial.distance.directed_hausdorff(u, v)[0], U, V),
    "procrustes": (spatial.procrustes, U, V),
    "geometric_slerp": (
        lambda a, b, t: spatial.geometric_slerp(unit(a), unit(b), t), E1, E2, np.array([0.2, 0.7])
    ),
    "geometric_slerp of one": (
        lambda a, b: spatial.geometric_slerp(unit(a), unit(b), 0.3), E1, E2
    ),
}  # fmt: skip


OLD_NAMES = pytest.mark.filterwarnings(r"ignore:.* is deprecated in favor:DeprecationWarning")


@OLD_NAMES
@pytest.mark.parametrize("name", CALLS)
def test_formulas_have_scipys_values_and_slopes(name):
    f, *x = CALLS[name]

    np.testing.assert_array_equal(zyg.pullback(lambda *x: one(f(*x)), *x)[0], one(f(*x)))
    zyg.check_gradient(lambda *x: one(f(*x)), *x)


def test_the_places_of_a_hausdorff_distance_are_scipys():
    found = []
    zyg.pullback(lambda u: found.append(spatial.distance.directed_hausdorff(u, V)) or u, U)

    assert found[0][1:] == scipy.spatial.distance.directed_hausdorff(U, V)[1:]


def test_what_has_no_rule_is_refused_by_name():
    with pytest.raises(MissingRuleError, match="equal ends"):
        zyg.pullback(lambda a: spatial.geometric_slerp(a, a, 0.5), np.array([1.0, 0.0]))


@pytest.mark.parametrize("name", ["yule", "jaccard"])
def test_a_distance_that_is_0_where_a_product_is_moves_with_weights_that_are_not(name):
    """SciPy returns 0 there, and not the formula's value."""
    u, v, w = np.array([1.0, 0.0, 1.0, 0.0]), np.ones(4), np.array([1.0, 2.0, 0.5, 1.5])
    f = getattr(spatial.distance, name)
    zyg.check_gradient(lambda w: f(u, v, w), w)
    with pytest.raises(MissingRuleError, match="at which SciPy takes 0 for it"):
        zyg.pullback(lambda w: f(u, v, w), 0 * w)


def test_what_differs_is_counted_and_does_not_move():
    assert zyg.gradient(lambda a: a[0] * spatial.distance.hamming(a, V[0]), U[0])[0][1] == 0


@OLD_NAMES
def test_squares_of_distances_bend_where_points_are_one():
    def total(u):
        return np.sum(spatial.minkowski_distance_p(u, V))

    np.testing.assert_allclose(zyg.hvp(total, V, U), 2 * U)


def test_the_distance_of_equal_shares_has_slope_zero():
    for f in (spatial.distance.jensenshannon, lambda p, q: spatial.distance.mahalanobis(p, q, E)):
        for slope in zyg.gradient(f, P[0], P[0].copy()):
            np.testing.assert_array_equal(slope, 0.0)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("name", ["sqeuclidean", "cityblock"])
def test_what_a_formula_does_not_give_is_refused(name):
    def f(u):
        return getattr(spatial.distance, name)(u, V[0], w=np.ones(3) + 1j)

    with pytest.raises(MissingRuleError, match="does not give what SciPy does"):
        zyg.pullback(f, U[0] * (1 + 1j))


def test_of_no_points_there_is_no_derivative():
    def f(x):
        return spatial.distance.squareform(spatial.distance.pdist(x))

    np.testing.assert_array_equal(zyg.jacobian(f, U[:1])[0], np.zeros((1, 1, 1, 3)))


def test_fewer_points_than_axes_turn_in_any_way_but_are_as_unlike():
    a, b = np.random.default_rng(3).normal(size=(2, 3, 7))
    unlike = lambda a, b: spatial.procrustes(a, b)[2]  # noqa: E731
    zyg.check_gradient(unlike, a, b, order=1, modes=("reverse",))

    with pytest.raises(DegenerateError, match="polar is undefined here"):
        zyg.gradient(lambda a, b: spatial.procrustes(a, b)[1][0, 0], a, b)
