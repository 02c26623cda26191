"""Where the elements of arrays lie, what of them is a view, and who may write: as in NumPy."""

import copy

import numpy as np
import pytest

import zyg

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


def test_random_programs_are_numpys():
    refused = [seed for seed in range(400) if check(seed)]
    assert not refused
