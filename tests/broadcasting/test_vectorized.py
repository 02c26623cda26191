"""Ufuncs that numba.vectorize made, in programs as they stand."""

import contextlib
import math

import numba
import numpy as np
import pytest

import zyg


@numba.vectorize
def damped(x, k):
    if x > 0:
        return math.exp(-k * x) * math.sin(x)
    return x * k


@numba.vectorize(["f4(f4)"])
def single(x):
    return x * x


@pytest.mark.slow
def test_the_function_that_was_vectorized_is_differentiated():
    x = np.array([[0.5, -0.25], [2.0, 1.5]])
    zyg.check_gradient(damped, x, 0.7, order=2)
    zyg.check_gradient(lambda k: damped(x[0], k), np.array([[0.3], [0.9]]), order=2)
    y, back = zyg.pullback(damped, x, 0.7)
    np.testing.assert_allclose(zyg.primal(y), damped(x, 0.7), rtol=1e-15)
    assert type(back(np.ones((2, 2)))[1]) is float


@pytest.mark.slow
def test_what_was_compiled_for_one_precision_has_it():
    x = np.array([0.5, 3.0], np.float32)
    y, back = zyg.pullback(single, x)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(back(np.ones(2, np.float32))[0], 2 * x, strict=True)


def squared(x):
    return x * x


OPERANDS = [3, 2.0, np.float64(2.0), 2j, np.array([1.0, 2.0]), np.float32(2.0)]


@pytest.mark.parametrize("x", OPERANDS, ids=lambda x: type(x).__name__)
def test_what_numba_compiled_is_refused_not_given_a_plain_number(x):
    compiled = numba.njit(squared)

    def f(x):
        y = compiled(x)
        return (y * y.conjugate()).real.sum() if isinstance(y, np.ndarray) else abs(y)

    for _ in range(2):  # numba may remember types
        with pytest.raises(zyg.errors.ConversionError, match=r"numba compiled.*\[c-code\]"):
            zyg.gradient(f, x)


@pytest.mark.parametrize("given", [lambda x: (x, 3), lambda x: [x, 3]], ids=["tuple", "list"])
def test_a_watched_int_in_a_list_for_numba_is_refused(given):
    compiled = numba.njit(lambda t: t[0] * t[1])
    with pytest.warns() if given(2) == [2, 3] else contextlib.nullcontext():
        assert compiled(given(2)) == 6
    with pytest.raises(zyg.errors.ConversionError, match="numba compiled"):
        zyg.gradient(lambda x: compiled(given(x)), 2)
