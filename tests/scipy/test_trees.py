"""Trees of points that may be watched: the distances that they give have derivatives."""

import copy
import pickle

import numpy as np
import pytest
import scipy.spatial

import zyg
from zyg.scipy import spatial

RNG = np.random.default_rng(3)
POINTS, ASKED = RNG.normal(size=(12, 3)), RNG.normal(size=(5, 3))


def distances(module, points, asked, kind="KDTree", **options):
    far, places = getattr(module, kind)(points).query(asked, **options)
    return np.where(np.isfinite(far), far, 0.0) @ np.arange(1.0, far.shape[-1] + 1), places


@pytest.mark.parametrize("kind", ["KDTree", "cKDTree"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 3},
        {"k": [2]},
        {"k": 2, "p": 1.0},
        {"p": np.inf},
        {"k": 4, "distance_upper_bound": 1.2},
    ],
)
def test_distances_carry_their_derivatives(kind, options):
    def f(points, asked):
        total, places = distances(spatial, points, asked, kind, **options)
        assert np.array_equal(places, scipy.spatial.KDTree(POINTS).query(ASKED, **options)[1])
        return np.sum(total)

    zyg.check_gradient(f, POINTS, ASKED)
    assert f(POINTS, ASKED) == np.sum(distances(scipy.spatial, POINTS, ASKED, **options)[0])


def test_a_box_that_repeats():
    def inside(x):
        return np.concatenate([x[:, :2] % 1.0, x[:, 2:]], axis=1)

    def f(points, asked):
        tree = spatial.KDTree(inside(points), boxsize=[1.0, 1.0, 0.0])
        return tree.query(inside(asked), k=2)[0].sum()

    zyg.check_gradient(f, POINTS, ASKED)


def test_lists_one_point_and_plain_points():
    def f(x, y):
        tree = spatial.KDTree([[x, y], [3.0, 1.0]])
        far, place = tree.query([0.0, 2 * y])
        plain = spatial.KDTree(np.eye(2))
        return far * (place + 1) + plain.query(np.stack([x, y]))[0]

    zyg.check_gradient(f, 0.3, 0.4)


def test_places_and_counts_are_constant():
    def f(points, radius):
        tree, plain = spatial.KDTree(points), scipy.spatial.KDTree(POINTS)
        assert tree.query_ball_point(points[0], r=radius) == plain.query_ball_point(POINTS[0], 1.5)
        assert tree.query_pairs(radius) == plain.query_pairs(1.5)
        assert tree.count_neighbors(tree, radius) == plain.count_neighbors(plain, 1.5)
        assert (tree.n, tree.m) == (12, 3)
        return (tree.data * radius).sum()

    zyg.check_gradient(f, POINTS, 1.5)


def test_a_matrix_of_distances_is_refused():
    def f(points):
        tree = spatial.KDTree(points)
        return tree.sparse_distance_matrix(tree, 2.0).sum()

    assert f(POINTS) > 0
    with pytest.raises(zyg.errors.MissingRuleError, match="query gives distances"):
        zyg.gradient(f, POINTS)


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda s: spatial.KDTree(POINTS % 1.0, boxsize=s).query(ASKED[0])[0], "options"),
        (lambda s: spatial.KDTree(POINTS).query(ASKED[0], p=s)[0], "orders of a norm"),
        (lambda s: spatial.KDTree(POINTS * s).maxes.sum(), "points"),
        (lambda s: spatial.KDTree(POINTS * s).mins.sum(), "points"),
        (lambda s: spatial.KDTree(POINTS * s, leafsize=2).tree.split, "points"),
    ],
)
def test_what_else_depends_on_watched_values_is_refused(f, what):
    f(1.5)
    with pytest.raises(zyg.errors.MissingRuleError, match=f"no rule for watched {what}"):
        zyg.gradient(f, 1.5)


def test_watched_weights_of_pairs_are_refused():
    def f(weights):
        tree = spatial.KDTree(POINTS)
        return tree.count_neighbors(tree, 1.5, weights=(weights, weights))

    assert f(np.ones(12)) > 12
    with pytest.raises(zyg.errors.MissingRuleError, match="no rule for watched weights"):
        zyg.gradient(f, np.ones(12))


def test_a_tree_that_a_module_holds():
    import types

    module = types.ModuleType("clouds")
    module.tree = scipy.spatial.cKDTree(POINTS)
    exec("def f(x): return tree.query(x, k=2)[0].prod()", vars(module))
    with zyg.adopt(module):
        zyg.check_gradient(module.f, ASKED[0])


def test_trees_are_copied_and_pickled():
    for again in (copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))):
        tree = again(spatial.KDTree(POINTS))
        assert type(tree) is spatial.KDTree
        assert np.array_equal(tree.query(ASKED)[0], scipy.spatial.KDTree(POINTS).query(ASKED)[0])
    zyg.check_gradient(lambda x: copy.deepcopy(spatial.KDTree(x)).query(ASKED)[0], POINTS)
