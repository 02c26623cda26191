"""Derivatives of derivatives where the result is an array: reverse over reverse."""

import numpy as np
import pytest

import zyg

X = np.array([0.5, 1.2, 2.0, 0.7])


@zyg.compile
def elementwise(x):
    return np.sin(x)


@zyg.compile
def matrix(x):
    return np.outer(x, np.sin(x))


@zyg.compile
def written(x):
    y = np.zeros(len(x))
    for k in range(1, len(x)):
        y[k] = x[k] ** 3 * np.sin(x[k - 1])
    return y


@zyg.compile
def chosen(x):
    return x[x > 0.6] ** 3


@zyg.compile
def without_axes(x):
    return np.asarray(np.sum(x**3))


@zyg.compile
def several(x):
    return np.sin(x), np.sum(x**2), x[1:] * x[:-1]


def products(x):
    first, second, third = several(x)
    return np.concatenate([first * second, third**2])


@pytest.mark.slow
@pytest.mark.parametrize("f", [elementwise, matrix, written, chosen, without_axes, products])
def test_second_derivatives_through_an_array(f):
    zyg.check_gradient(lambda x: np.sum(f(x) ** 2), X, order=2)


@pytest.mark.slow
def test_third_derivatives_through_an_array():
    zyg.check_gradient(lambda x: np.sum(matrix(x) ** 2), X[:2], order=3)
