"""Functions of numba's: kernels, whole functions, ufuncs; against differences and NumPy."""

import math
import warnings

import numba
import numpy as np
import pytest

import zyg


@numba.njit
def slope(a):
    return math.sin(a) * a


@numba.njit
def scalar(a, b):
    total = 0.0
    for k in range(3):
        total += slope(a) * b**k
    return total


@numba.njit
def whole(x, n=2):
    y = np.zeros(x.shape[0])
    for k in range(x.shape[0]):
        y[k] = x[k] ** n * slope(x[k - 1])
    return y


X = np.array([0.5, -1.0, 2.0])


@pytest.mark.slow
def test_of_numbers_it_is_a_kernel():
    f = zyg.numba.wrap(scalar)
    assert f(1.0, 2.0) == scalar(1.0, 2.0)
    zyg.check_gradient(f, 1.0, 2.0)
    assert zyg.hessian(lambda a: f(a, 2.0), 0.7) == pytest.approx(
        7 * (2 * math.cos(0.7) - 0.7 * math.sin(0.7))
    )


@pytest.mark.slow
def test_of_arrays_it_is_compiled_by_zyg_without_a_warning():
    f = zyg.numba.wrap(whole)
    assert f(X).tolist() == whole(X).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zyg.check_gradient(lambda x: np.sum(f(x) ** 2), X, order=1)
        zyg.check_gradient(lambda x: np.sum(f(x, n=3) ** 2), X, order=1)


def test_differences_keep_numbas_function():
    f = zyg.numba.wrap(whole, method="difference")
    found = zyg.gradient(lambda x: np.sum(f(x)), X)[0]
    wanted = zyg.gradient(lambda x: np.sum(zyg.numba.wrap(whole)(x)), X)[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-7)


def test_ufuncs_of_vectorize_need_no_wrapping():
    @numba.vectorize
    def f(a, b):
        return math.exp(a) * b

    assert zyg.numba.wrap(f) is f
    found = zyg.gradient(lambda a, b: np.sum(f(a, b)), X, 2.0)
    np.testing.assert_allclose(found[0], 2 * np.exp(X))
    assert found[1] == pytest.approx(np.exp(X).sum())


def test_it_passes_through_arguments_whole():
    found = zyg.gradient(lambda d: d["f"](d["x"], 1.0), {"f": zyg.numba.wrap(scalar), "x": 0.7})
    assert found[0]["x"] == pytest.approx(3 * (math.sin(0.7) + 0.7 * math.cos(0.7)))


def test_others_are_refused_by_name():
    with pytest.raises(TypeError, match=r"numba\.njit, not a function; use zyg\.foreign"):
        zyg.numba.wrap(lambda x: x)
    with pytest.raises(ValueError, match="no method 'tape'"):
        zyg.numba.wrap(scalar, method="tape")
    with pytest.raises(zyg.errors.ConversionError, match=r"zyg\.numba\.wrap\(f\)\(x\)"):
        zyg.gradient(slope, 1.0)
