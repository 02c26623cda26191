"""reduce, accumulate and reduceat of ufuncs."""

import warnings

import numpy as np
import pytest

import zyg

from .calls import CUBE, A, V, array

POSITIVE = np.abs(array(2, 3, 4)) / 2
FOLDED = [
    np.logaddexp, np.logaddexp2, np.hypot, np.subtract, np.divide, np.power, np.float_power,
    np.arctan2, np.fmax, np.fmin, np.copysign, np.add, np.multiply, np.maximum, np.minimum,
]  # fmt: skip


@pytest.mark.parametrize("ufunc", FOLDED)
@pytest.mark.parametrize(
    "f",
    [
        lambda u, x: u.reduce(x),
        lambda u, x: u.reduce(x, axis=-1, keepdims=True),
        lambda u, x: u.reduce(x, axis=1, initial=0.7),
        lambda u, x: u.accumulate(x),
        lambda u, x: u.accumulate(x, axis=1),
    ],
    ids=["reduce", "keepdims", "initial", "accumulate", "accumulate-1"],
)
def test_methods_of_ufuncs_are_folds(ufunc, f):
    zyg.check_adjoint(lambda x: f(ufunc, x), POSITIVE)


@pytest.mark.parametrize("ufunc", FOLDED)
def test_stretches_are_folded_each(ufunc):
    def f(x):
        return ufunc.reduceat(x, [0, 2, 1], axis=2)

    np.testing.assert_array_equal(zyg.pullback(f, POSITIVE)[0], f(POSITIVE))
    zyg.check_gradient(f, POSITIVE)


@pytest.mark.parametrize("ufunc", [np.logaddexp, np.hypot, np.add, np.multiply])
def test_reductions_over_several_axes_and_of_some_elements(ufunc):
    zyg.check_adjoint(lambda x: ufunc.reduce(x, axis=(0, 2)), CUBE)
    zyg.check_adjoint(lambda x: ufunc.reduce(x, axis=None), CUBE)
    zyg.check_adjoint(lambda x: ufunc.reduce(x, where=A > -1), A)
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


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.subtract.reduce(x, axis=None), lambda x: np.hypot.reduce(x, axis=2),
        lambda x: np.hypot.accumulate(x, axis=5), lambda x: np.add.reduceat(x, [9]),
        lambda x: np.fmax.reduce(x, where=x > 0),
    ],
)  # fmt: skip
def test_the_errors_are_numpys(f):
    with pytest.raises((ValueError, IndexError)) as plain:
        f(A)
    with pytest.raises(plain.type) as watched:
        zyg.pullback(f, A)
    assert str(watched.value) == str(plain.value)


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
