"""reduce, accumulate, reduceat and outer of ufuncs."""

import functools
import itertools
import warnings

import numpy as np
import pytest

import zyg

from ..calls.calls import CUBE, A, V, array

POSITIVE = np.abs(array(2, 3, 4)) / 2
FOLDED = [
    np.logaddexp, np.logaddexp2, np.hypot, np.subtract, np.divide, np.power, np.float_power,
    np.arctan2, np.fmax, np.fmin, np.copysign, np.add, np.multiply, np.maximum, np.minimum,
]  # fmt: skip


def slices(x, axis, first=()):
    return [*first, *np.moveaxis(x, axis, 0)]


def folded(ufunc, x, axis=0, first=()):
    """What a reduction is: NumPy's own can be wrong, see docs/numpy.md."""
    return functools.reduce(ufunc, slices(x, axis, first))


def folded_so_far(ufunc, x, axis=0):
    return np.stack([*itertools.accumulate(slices(x, axis), ufunc)], axis)


def folded_stretches(ufunc, x):
    """Those of [0, 2, 1] along the last of three axes."""
    parts = x[..., 0:2], x[..., 2:3], x[..., 1:]
    return np.stack([folded(ufunc, part, -1) for part in parts], -1)


METHODS = {
    "reduce": (lambda u, x: u.reduce(x), folded),
    "keepdims": (
        lambda u, x: u.reduce(x, axis=-1, keepdims=True),
        lambda u, x: folded(u, x, -1)[..., None],
    ),
    "initial": (
        lambda u, x: u.reduce(x, axis=1, initial=0.7),
        lambda u, x: folded(u, x, 1, [np.full((2, 4), 0.7)]),
    ),
    "accumulate": (lambda u, x: u.accumulate(x), folded_so_far),
    "accumulate-1": (lambda u, x: u.accumulate(x, axis=1), lambda u, x: folded_so_far(u, x, 1)),
    "reduceat": (lambda u, x: u.reduceat(x, [0, 2, 1], axis=2), folded_stretches),
    "outer": (lambda u, x: u.outer(x[0], V * V), lambda u, x: u(x[0][..., None], V * V)),
}


@pytest.mark.parametrize("ufunc", FOLDED)
@pytest.mark.parametrize(("f", "fold"), METHODS.values(), ids=METHODS)
def test_methods_of_ufuncs_are_what_calls_of_them_give(ufunc, f, fold):
    y, back = zyg.pullback(lambda x: f(ufunc, x), POSITIVE)
    expected, back_of_fold = zyg.pullback(lambda x: fold(ufunc, x), POSITIVE)
    y_bar = array(*y.shape)

    np.testing.assert_allclose(y, expected, rtol=1e-13)
    np.testing.assert_allclose(back(y_bar)[0], back_of_fold(y_bar)[0], rtol=1e-11, atol=1e-13)
    if np.allclose(f(ufunc, POSITIVE), expected):  # NumPy is right
        zyg.check_adjoint(lambda x: f(ufunc, x), POSITIVE, complex=True)


LAYOUTS = [np.array, np.asfortranarray, lambda x: np.flip(np.flip(x).copy())]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lay_out", LAYOUTS, ids=["C", "F", "backwards"])
@pytest.mark.parametrize("ufunc", [np.power, np.arctan2])
def test_what_numpy_may_forget_is_in_the_value_as_in_the_derivative(ufunc, lay_out, dtype):
    x = lay_out(np.array([[2, 3, 2], [1.5, 0.5, 3]], dtype))
    for f, expected in [
        (lambda x: ufunc.reduce(x, axis=1), folded(ufunc, x, 1)),
        (lambda x: ufunc.reduce(x[0]), folded(ufunc, x[0])),
        (lambda x: ufunc.reduce(x, axis=1, initial=1.5), folded(ufunc, x, 1, [x[1:, 0]])),
        (lambda x: ufunc.reduceat(x, [0], axis=1)[:, 0], folded(ufunc, x, 1)),
    ]:
        y, back = zyg.pullback(f, x)
        assert type(y) is type(expected)
        assert y.dtype == dtype
        np.testing.assert_allclose(y, expected, rtol=1e-6)
        y, y_dot = zyg.pushforward(f, (x,), (np.ones_like(x),))
        np.testing.assert_allclose(y, expected, rtol=1e-6)
        np.testing.assert_allclose(np.sum(y_dot), np.sum(back(np.ones_like(y))[0]), rtol=1e-5)

    assert zyg.gradient(ufunc.reduce, x[0])[0].all()  # nor is it forgotten there


@pytest.mark.parametrize("ufunc", [np.logaddexp, np.hypot, np.add, np.multiply])
def test_reductions_over_several_axes_and_of_some_elements(ufunc):
    zyg.check_adjoint(lambda x: ufunc.reduce(x, axis=(0, 2)), CUBE, complex=True)
    zyg.check_adjoint(lambda x: ufunc.reduce(x, axis=None), CUBE, complex=True)
    zyg.check_adjoint(lambda x: ufunc.reduce(x, where=A > -1), A, complex=True)
    zyg.check_gradient(lambda x, c: ufunc.reduce(x, initial=c), V, 0.4)


def test_folds_of_nothing_and_of_one():
    assert zyg.gradient(lambda x: np.hypot.reduce(x), np.zeros(0))[0] is None
    assert zyg.gradient(lambda x: np.subtract.reduce(x), np.array([1.5]))[0] == [1.0]
    assert zyg.gradient(lambda x: np.logaddexp.reduce(x), np.float64(1.5)) == (1.0,)


def test_a_fold_is_not_unrolled():
    x = np.linspace(0.1, 0.2, 5000)
    y_bar = np.zeros(5000)
    y_bar[-1] = 1.0
    y, back = zyg.pullback(np.logaddexp.accumulate, x)

    np.testing.assert_array_equal(y, np.logaddexp.accumulate(x))
    np.testing.assert_allclose(back(y_bar)[0], np.exp(x - y[-1]), rtol=1e-10)


@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_a_running_extreme_stays_at_the_first_of_equals(ufunc):
    x = np.array([1.0, 1.0, 1.0])
    (x_bar,) = zyg.gradient(lambda x: np.sum(ufunc.accumulate(x)), x)
    np.testing.assert_array_equal(x_bar, [3.0, 0.0, 0.0])
    (x_bar,) = zyg.gradient(lambda x: ufunc.reduce(x), x)
    np.testing.assert_array_equal(x_bar, [1.0, 0.0, 0.0])


def test_nan_in_a_running_extreme():
    x = np.array([np.nan, 1.0, np.nan, 2.0])
    (x_bar,) = zyg.gradient(lambda x: np.sum(np.fmax.accumulate(x)[1:]), x)
    np.testing.assert_array_equal(x_bar, [0.0, 2.0, 0.0, 1.0])
    (x_bar,) = zyg.gradient(lambda x: np.fmax.reduce(x), x)
    np.testing.assert_array_equal(x_bar, [0.0, 0.0, 0.0, 1.0])
    x = np.array([1.0, np.nan, 3.0])
    y, back = zyg.pullback(np.maximum.accumulate, x)
    np.testing.assert_array_equal(y, [1.0, np.nan, np.nan])
    np.testing.assert_array_equal(back(np.ones(3))[0], [1.0, 2.0, 0.0])


def test_methods_of_comparisons_are_constant():
    (x_bar,) = zyg.gradient(lambda x: np.sum(x * np.logical_and.reduce(x > -1, axis=0)), A)
    np.testing.assert_array_equal(x_bar, np.broadcast_to(np.all(A > -1, axis=0), A.shape))
    assert not zyg.is_traced(np.logical_or.reduce(V))
    (x_bar,) = zyg.gradient(lambda x: np.sum(x * np.logical_or.accumulate(x)), V)
    np.testing.assert_array_equal(x_bar, np.ones(4))


def test_what_cannot_be_folded_is_refused():
    first = np.frompyfunc(lambda a, b: a, 2, 1)
    with pytest.raises(zyg.errors.MissingRuleError, match="reduce has no rule"):
        zyg.pullback(lambda x: first.reduce(x), V)
    with pytest.raises(zyg.errors.MissingRuleError, match="where= has no rule"):
        zyg.pullback(lambda x: np.arctan2.reduce(x, initial=1.0, where=V > 0), V)


def test_a_slice_of_nan_only():
    x = np.array([[np.nan, 1.0], [np.nan, 2.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y, back = zyg.pullback(lambda x: np.fmax.reduce(x), x)
    np.testing.assert_array_equal(y, [np.nan, 2.0])
    np.testing.assert_array_equal(back(np.ones(2))[0], [[0.0, 0.0], [0.0, 1.0]])
