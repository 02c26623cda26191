"""Views by the way they were got: the same as by their place, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zyg
import zyg.numpy
from zyg.core import indexing, ways
from zyg.watched.arrays import WatchedView

STEPS = [
    lambda a: a.T,
    lambda a: a.reshape(-1),
    lambda a: a.reshape((a.size, 1)),
    lambda a: a.reshape(2, -1) if a.size % 2 == 0 else a,
    lambda a: a[1:],
    lambda a: a[::-1],
    lambda a: a[None],
    lambda a: a[..., :2],
    lambda a: a[0] if a.ndim > 1 else a,
    lambda a: a[0, ...] if a.ndim > 1 else a,
]
CHAINS = st.lists(st.integers(0, len(STEPS) - 1), min_size=1, max_size=4)


def view_of(a, chain):
    for k in chain:
        a = STEPS[k](a)
    return a


def by_place(run):
    """What `run` gives where no view has a way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ways, "_by_step", lambda *_: None)
        return run()


def demand_same(run):
    short, long = run(), by_place(run)
    for a, b in zip(short, long, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.shape(a) == np.shape(b)


X = np.linspace(0.3, 1.7, 12).reshape(3, 4)
V = np.cos(np.arange(12.0)).reshape(3, 4)


@given(CHAINS, CHAINS, st.booleans())
def test_a_way_is_a_place(first, second, write):
    def f(x):
        x = x * 1.5 if write else x
        u, v = view_of(x, first), view_of(x, second)
        y = np.sum(u * u) + np.sum(x)
        if write:
            u[...] = np.sin(u) * 2.0
            y = y + np.sum(x * x)
        return y + np.sum(v * np.cos(v))

    demand_same(lambda: zyg.gradient(f, X))
    demand_same(lambda: zyg.pushforward(f, (X,), (V,)))
    demand_same(lambda: (zyg.hvp(f, X, V),))
    demand_same(lambda: zyg.pullback(lambda x: view_of(x, first), X)[1](view_of(V, first)))
    zyg.check_gradient(f, X)


@given(CHAINS)
def test_views_of_integers_complex_numbers_and_other_orders(chain):
    for x in (np.arange(12).reshape(3, 4), X + 1j * V, np.asfortranarray(X), X[::-1]):
        demand_same(lambda x=x: zyg.gradient(lambda x: abs(np.sum(view_of(x, chain) ** 2)), x))


def test_plain_slices_transposes_and_reshapes_have_a_way():
    def f(x):
        for view in (x[1:], x.T, x.reshape(4, 3), x.T[1:], x[1], x[..., None]):
            assert type(view) is WatchedView
            assert view.where is None
            np.testing.assert_array_equal(zyg.primal(view), zyg.primal(view.place.of(view.whole)))
        assert type(x.T.reshape(-1)) is not WatchedView  # a copy
        return np.sum(x.T)

    np.testing.assert_array_equal(zyg.gradient(f, X)[0], np.ones((3, 4)))


# NumPy says so from 2.5 on, of plain and of watched arrays.
SET_SHAPE = pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")


@SET_SHAPE
def test_a_view_keeps_its_shape_where_that_of_its_base_is_set():
    def f(x):
        a = x * 2.0
        u, v = a.T, a[1]
        y = np.sum(u * V.T)
        a.shape = (12,)
        a[0] = 5.0 * x[0, 1]
        return y + np.sum(u * u) + np.sum(v * 3.0) + np.sum(u.T[0] * V[0])

    demand_same(lambda: zyg.gradient(f, X))
    zyg.check_gradient(f, X)


@SET_SHAPE
def test_a_view_whose_shape_is_set():
    def f(x):
        u = x[1:]
        u.shape = (8,)
        return np.sum(u * np.arange(8.0))

    demand_same(lambda: zyg.gradient(f, X))
    zyg.check_gradient(f, X)


def test_a_view_of_a_view_that_is_read_only_is():
    def f(x):
        a = x * 1.0
        u = a[1:]
        u.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            u.T[0] = 1.0
        a.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            a.T[0] = 1.0
        return np.sum(a)

    zyg.gradient(f, X)


def test_a_view_sees_its_base_once_that_was_copied():
    def f(x):
        u, v = x.T, x[1:].reshape(-1)
        x[1, 1] = x[0, 0] * 7.0  # the caller's memory is copied first
        return np.sum(u * V.T) + np.sum(v * v)

    demand_same(lambda: zyg.gradient(f, X.copy()))
    zyg.check_gradient(f, X.copy())


def test_a_cotangent_of_a_transpose_is_no_part_of_anothers():
    x = np.ones((2, 2))
    (result,) = zyg.gradient(lambda x: np.sum(x.T) + np.sum(x.T * V[:2, :2]), x)
    y, back = zyg.pullback(lambda x: x.T, x)
    c = np.arange(4.0).reshape(2, 2)
    (first,) = back(c)
    c[:] = 9.0
    np.testing.assert_array_equal(result, 1 + V[:2, :2].T)
    np.testing.assert_array_equal(first, [[0, 2], [1, 3]])
    assert y.base is None


@pytest.mark.parametrize("index", [(0, (0, 2)), ((0, 1), 1), ([0, 1], (1, 1)), ((0, 0),)])
def test_a_tuple_inside_of_an_index_picks_elements(index):
    weights = np.arange(1.0, 1 + np.size(X[index])).reshape(np.shape(X[index]))
    zyg.check_gradient(lambda x: np.sum(x[index] * weights), X)


def test_a_view_of_thousands_of_steps():
    def f(x):
        u = x
        for _ in range(3000):
            u = u.T.reshape(4, 3) if u.flags.c_contiguous else u.T
        return np.sum(u * V.reshape(u.shape))

    demand_same(lambda: zyg.gradient(f, X))
    demand_same(lambda: zyg.pushforward(f, (X,), (V,)))


PICKS = [
    3, np.array([6, 1, 4, 1]), np.array([[0, 2], [2, 5]]), np.arange(8) % 3 > 0, np.array(2),
    np.array([], int), np.array([1, 1], np.uint8),
]  # fmt: skip


@pytest.mark.parametrize("index", PICKS, ids=str)
@pytest.mark.parametrize("of_view", [False, True])
def test_elements_are_picked_as_the_general_way_has_it(index, of_view):
    def f(x):
        x = x * 1.5
        u = x[::-1] if of_view else x
        at = index.copy() if type(index) is np.ndarray else index
        y = np.sin(u[at]) * 2.0
        if type(at) is np.ndarray:
            at[...] = 0  # after it was used
        u[1] = np.sum(y)
        return np.sum(u[index] * u[index]) + np.sum(x)

    x, v = np.linspace(0.3, 1.7, 8), np.cos(np.arange(8.0))

    def run():
        values = [zyg.gradient(f, x)[0], zyg.hvp(f, x, v), *zyg.pushforward(f, (x,), (v,))]
        return [*values, zyg.gradient(lambda x: zyg.gradient(f, x)[0] @ v, x)[0]]

    short = run()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexing, "_picked", lambda *_: None)
        long = run()
    for a, b in zip(short, long, strict=True):
        np.testing.assert_array_equal(a, b)
    zyg.check_gradient(f, x)


def test_an_index_out_of_bounds_is_numpys_error():
    for index in (8, np.array([8])):
        with pytest.raises(IndexError, match="out of bounds"):
            zyg.gradient(lambda x, at=index: np.sum(x[at]), np.ones(8))
