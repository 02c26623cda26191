"""Where the elements of arrays lie, what of them is a view, and who may write: as in NumPy."""

import copy

import numpy as np
import pytest

import zyg
import zyg.numpy
from zyg import errors
from zyg.core.strand import strip

from .layouts import LAYOUTS, alike, check, moved

X = np.array([1.3, -0.4, 0.7, 2.1])
LARGE = np.linspace(0.5, 1.5, 2000)


# Read-only by the user's own hand


def locked_array(x):
    y = 2 * x
    y.flags.writeable = False
    y[0] = x[1]


def locked_view(x):
    y = (2 * x)[1:]
    y.flags.writeable = False
    y *= x[0]


def view_of_a_locked_array(x):
    y = 2 * x
    y.flags["WRITEABLE"] = False
    y.T[1:] = 3.0


def locked_buffer(x):
    y = np.zeros_like(x)
    y.flags.writeable = False
    y[0] = x[0]


def locked_argument(x):
    x.flags.writeable = False
    np.multiply(x, 2, out=x)


def unlocked_view_of_a_locked_array(x):
    y = 2 * x
    y.flags.writeable = False
    y[1:].flags.writeable = True


def broadcast_view(x):
    np.broadcast_to(x, (2, x.size))[0, 0] = 3.0


def diagonal(x):
    np.diagonal(np.reshape(x, (2, -1)))[0] = 3.0


REFUSED = [
    locked_array, locked_view, view_of_a_locked_array, locked_buffer, locked_argument,
    unlocked_view_of_a_locked_array, broadcast_view, diagonal,
]  # fmt: skip


@pytest.mark.parametrize("x", [X, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("f", REFUSED)
def test_what_numpy_refuses_to_write_is_refused(f, x):
    with pytest.raises(ValueError, match=r"read-only|WRITEABLE"):
        f(x.copy())
    for verb in (zyg.gradient, zyg.hessian):
        with pytest.raises(ValueError, match=r"read-only|WRITEABLE"):
            verb(lambda x: f(x) or np.sum(x), x)
    assert x.flags.writeable


def test_views_made_before_and_arrays_unlocked_again_are_written():
    def f(x):
        y = 2 * x
        before = y[1:]
        y.flags.writeable = False
        before[0] = x[2] ** 2
        assert before.flags.writeable
        assert not y.flags.writeable
        assert not y[1:].flags.writeable
        assert "WRITEABLE : False" in repr(y.flags)
        y.flags.writeable = True
        y[0] *= x[3]
        return np.sum(y * x)

    zyg.check_gradient(f, X)


def test_a_kept_argument_says_that_it_may_be_written():
    assert zyg.gradient(lambda x: np.sum(x) * x.flags.writeable, LARGE)[0][0] == 1
    assert LARGE.flags.writeable


# x.shape = ...


def shape_of_an_array(x):
    y = 3 * x
    before = y[1:3]
    y.shape = (2, 2)
    before *= x[0]
    y[0] *= x[2:]
    return np.sum(np.sin(y) * [[1.0, 2.0], [3.0, 4.0]])


def shape_of_a_view_and_an_argument(x):
    x.shape = (2, 2)
    v = x.T
    x[0] *= 2
    v.shape = (1, 2, 2)
    v[0, 1] *= x[0]
    return np.sum(x**2 * v[0])


def shape_of_a_buffer(x):
    y = np.zeros_like(x)
    y.shape = (2, -1)
    y[1] = x[:2] * x[2:]
    return np.sum(np.exp(y))


# NumPy deprecates it from 2.5 on; a program that does it is differentiated all the same.
SETS_SHAPE = pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")


@SETS_SHAPE
@pytest.mark.parametrize(
    "f", [shape_of_an_array, shape_of_a_view_and_an_argument, shape_of_a_buffer]
)
def test_a_shape_can_be_set(f):
    assert zyg.value_and_gradient(f, X)[0] == f(X.copy())
    zyg.check_gradient(f, X)


@SETS_SHAPE
def test_a_shape_that_does_not_fit_raises_what_numpy_raises():
    def f(x):
        y = np.reshape(2 * x, (2, 2)).T
        y.shape = (4,)
        return y

    with pytest.raises(AttributeError) as plain:
        f(X)
    with pytest.raises(AttributeError) as watched:
        zyg.gradient(f, X)
    assert str(watched.value) == str(plain.value)


# Layouts: what is a view, and what a copy


def copy_of_a_broadcast_view(x):
    y = np.broadcast_to(x, (2, *x.shape)).copy()
    y.reshape(-1)[::3] += x.mean()
    z = np.copy(np.broadcast_to(x, (2, *x.shape)))
    z.reshape(-1)[::3] += x.mean()
    return np.sum(np.sin(y) * y) + np.sum(np.cos(z) * z)


def copies(x):
    total = 0.0
    for y in (x.copy(), np.copy(x), copy.copy(x), copy.deepcopy(x), x.copy("F"), x.flatten("K")):
        for v in (y.reshape(-1), y.ravel("F"), y.T.ravel()):
            v[:2] *= x.mean()
        total = total + np.sum(np.sin(y) * np.linspace(1, 2, y.size).reshape(y.shape))
    return total


def the_argument_itself(x):
    for v in (x.reshape(-1), x.ravel(), x.ravel("F"), x.ravel("K"), x[::-1].reshape(-1)):
        v[1:3] += x.mean()
    return np.sum(np.sin(x) * np.linspace(1, 2, x.size).reshape(x.shape))


def constants_in_another_order(x):
    y = x * np.asfortranarray(np.ones(x.shape)) + 0 * np.asfortranarray(np.ones(x.shape))
    z = np.where(np.asfortranarray(np.ones(x.shape, bool)), x, y)
    y.reshape(-1)[:2] *= 2
    z.reshape(-1)[:2] *= x.mean()
    return np.sum(np.sin(y) + np.cos(z) * np.linspace(1, 2, x.size).reshape(x.shape))


PROGRAMS = [copy_of_a_broadcast_view, copies, the_argument_itself, constants_in_another_order]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (40, 50)], ids=str)
@pytest.mark.parametrize("f", PROGRAMS)
def test_views_are_where_numpy_has_them(f, shape, layout):
    x = LAYOUTS[layout](np.linspace(0.3, 1.4, np.prod(shape)).reshape(shape))
    before = alike(x)
    assert zyg.value_and_gradient(f, x)[0] == pytest.approx(f(alike(x)), rel=1e-13)
    np.testing.assert_array_equal(x, before)
    d = np.cos(np.arange(x.size)).reshape(shape)
    h = 1e-6
    slope = (f(moved(x, h, d)) - f(moved(x, -h, d))) / (2 * h)
    assert np.sum(zyg.gradient(f, x)[0] * d) == pytest.approx(slope, rel=1e-6, abs=2e-9 * x.size)
    assert zyg.pushforward(f, (x,), (d,))[1] == pytest.approx(slope, rel=1e-6, abs=2e-9 * x.size)
    if x.size < 20:
        v = zyg.hvp(f, x, d)
        ends = [zyg.gradient(f, moved(x, k * h, d))[0] for k in (-1, 1)]
        np.testing.assert_allclose(v, (ends[1] - ends[0]) / (2 * h), rtol=1e-5, atol=1e-7)


@pytest.mark.slow
def test_random_programs_are_numpys():
    refused = [seed for seed in range(400) if check(seed)]
    assert not refused


@pytest.mark.parametrize("same", [np.squeeze, np.atleast_1d])
def test_what_gives_back_its_argument_in_numpy_does_so_under_a_gradient(same):
    def f(x):
        y = same(x)
        assert y is x
        return np.sum(y * y)

    np.testing.assert_array_equal(zyg.gradient(f, X)[0], 2 * X)


@SETS_SHAPE
@pytest.mark.parametrize("x", [X[::-1], LARGE[::2], X.reshape(2, 2)[:, ::-1]], ids=str)
def test_views_see_an_array_in_any_layout_whose_shape_is_set(x):
    def f(x):
        before = x[...]
        x.shape = (*x.shape, 1)
        x[0] = before.mean() ** 2
        return np.sum(x**2) + np.sum(3 * before**2)

    assert zyg.value_and_gradient(f, x)[0] == f(alike(x))
    zyg.check_gradient(f, x[:4])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_view_that_outlived_its_gradient_sees_a_write(layout):
    left = []
    x = LAYOUTS[layout](np.arange(6.0).reshape(2, 3))
    zyg.gradient(lambda x: left.extend([x, x[1:, ::2]]) or np.sum(x), x)
    left[0][1, 0] = 100.0
    np.testing.assert_array_equal(zyg.stop_gradient(left[1]), [[100.0, 5.0]])


def test_a_write_through_a_view_made_in_another_task_of_a_part():
    def f(x):
        y = 2 * x
        part = y[:2]
        y *= 0.5
        zyg.threads.map(lambda k: part.reshape(-1).__setitem__(k, x[3] ** 2), [0])
        return np.sum(np.sin(y))

    assert zyg.value_and_gradient(f, X)[0] == f(X)
    zyg.check_gradient(f, X)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_results_of_an_argument_that_is_a_broadcast_view_lie_as_numpys(axis):
    shape = [2, 3, 4]
    part = np.ones([1 if k == axis else n for k, n in enumerate(shape)])

    def f(x):
        y = 2 * x
        y.reshape(-1)[::3] += x.sum()
        return np.sum(y * np.exp(x))

    for once, whole in ((part, shape), (part.T, shape[::-1])):
        x = np.broadcast_to(once, whole)
        value, (x_bar,) = zyg.value_and_gradient(f, x)
        ends = [f(np.broadcast_to((1 + h) * once, whole)) for h in (1e-6, -1e-6)]
        assert value == f(x)
        assert np.sum(x_bar * x) == pytest.approx((ends[0] - ends[1]) / 2e-6)


@pytest.mark.parametrize("n", [4, 2000])
def test_an_operand_that_is_a_broadcast_view_is_kept_as_one(n):
    c = np.broadcast_to(np.linspace(0, 1, n), (3, n))
    z = np.ones((2, n, 3)).transpose(0, 2, 1)

    def f(z):
        y = z * c
        assert strip(y).strides == (np.ones_like(z) * c).strides
        return np.sum(y)

    np.testing.assert_array_equal(zyg.gradient(f, z)[0], np.broadcast_to(c, z.shape))


# Views by strides


def own_strides(x):
    pairs = zyg.numpy.lib.stride_tricks.as_strided(x, (3, 2), x.strides * 2)
    return np.sum(np.sum(pairs, 1) ** 2)


def written_through(x):
    y = np.sin(x)
    odd = zyg.numpy.lib.stride_tricks.as_strided(y[1:], (2,), (2 * y.strides[0],))
    odd *= x[0]
    return np.sum(np.cos(y))


def of_a_buffer(x):
    y = np.zeros_like(x)
    backwards = zyg.numpy.lib.stride_tricks.as_strided(y[3:], (4,), (-y.strides[0],))
    backwards[:2] = x[1:3] ** 2
    return np.sum(y**2 * x)


@pytest.mark.parametrize("f", [own_strides, written_through, of_a_buffer])
@pytest.mark.parametrize("x", [X, X[::-1]], ids=["forwards", "backwards"])
def test_views_by_strides(f, x):
    assert zyg.value_and_gradient(f, x)[0] == f(alike(x))
    zyg.check_gradient(f, x)


def test_views_by_strides_that_leave_the_elements_are_refused():
    as_strided = zyg.numpy.lib.stride_tricks.as_strided
    for x, shape, strides in [
        (X, (5,), (8,)), (X, (2,), (-8,)), (X, (2,), (4,)), (np.arange(8.0)[::2], (2,), (8,)),
    ]:  # fmt: skip
        with pytest.raises(errors.ConversionError, match="leaves its elements"):
            zyg.gradient(lambda x: np.sum(as_strided(x, shape, strides)), x)  # noqa: B023
    assert as_strided(X, (2,), (16,)).tolist() == [X[0], X[2]]
    with pytest.raises(errors.MutationError, match="in the same memory"):
        zyg.gradient(lambda x: as_strided(1 * x, (2, 4), (0, 8)).fill(2.0), X)


def test_numpys_own_as_strided_names_the_one_that_takes_watched_arrays():
    with pytest.raises(errors.ConversionError) as caught:
        zyg.gradient(lambda x: np.sum(np.lib.stride_tricks.as_strided(x, (2,), (8,))), X)
    named = "zyg.numpy.lib.stride_tricks.as_strided instead of NumPy's"
    assert named in str(caught.value)


def test_an_argument_whose_elements_share_memory_is_read_but_not_written():
    shared = np.lib.stride_tricks.as_strided(X, (2, 3), (8, 8))
    np.testing.assert_array_equal(zyg.gradient(lambda a: np.sum(a * a), shared)[0], 2 * shared)
    for write in (lambda a: a.fill(1.0), lambda a: a[0].fill(1.0)):
        for verb in (zyg.gradient, zyg.hessian):
            with pytest.raises(errors.MutationError, match="share memory with others of it"):
                verb(lambda a: write(a) or np.sum(a), shared)  # noqa: B023
