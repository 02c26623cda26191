"""Slopes of another dtype than that of the array they belong to, where parts of it are written."""

import numpy as np
import pytest

import zyg

X = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], np.float32)
SINGLE = 2e-4  # relative, of float32

VIEWS = {
    "a slice": lambda y: y[:, 1:],
    "of a transpose": lambda y: y[::-1].T[1:],
    "swapped": lambda y: np.swapaxes(y, 0, 1)[1:],
    "the diagonal": np.diagonal,
    "windows": lambda y: np.lib.stride_tricks.sliding_window_view(y, 2, axis=1),
}
FUNCTIONS = {
    "a plain base": lambda y: 2.0**y,
    "copysign": lambda y: np.copysign(y, -2.0),
    "ldexp": lambda y: np.ldexp(y, 2),
}


def written(y, part):
    v = part(y)
    if v.flags.writeable:
        v += 1
        v *= v
    return v


@pytest.mark.parametrize("part", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_views_of_float32_arrays_whose_slopes_are_wider(function, part):
    def before(x):
        y = x * 1
        written(y, part)
        return np.sum(function(y) * y)

    def after(x):
        y = function(x)
        v = written(y, part)
        return np.sum(v * v) + np.sum(np.sin(y))

    def squared_slopes(f):
        return lambda x: np.sum(zyg.gradient(f, x)[0] ** 2)

    for f in (before, after):
        for derivative in (
            lambda f, x: zyg.gradient(f, x)[0],
            lambda f, x: zyg.pushforward(f, (x,), (np.ones_like(x),))[1],
            lambda f, x: zyg.gradient(squared_slopes(f), x)[0],
            lambda f, x: zyg.hvp(f, x, np.ones_like(x)),
        ):
            single, double = derivative(f, X), derivative(f, X.astype(np.float64))
            assert np.asarray(single).dtype == np.float32
            np.testing.assert_allclose(single, double, rtol=SINGLE, atol=SINGLE)


def test_a_plain_negative_number_to_a_complex_power():
    p = np.array([1 + 1j, 0.5 - 0.3j])
    zyg.check_gradient(lambda p: ((-2.0) ** p).real + (3.0**p).imag, p, order=2)
    np.testing.assert_allclose(
        zyg.gradient(lambda p: np.sum(((-2.0) ** p).real), p)[0],
        np.conj((-2.0 + 0j) ** p * np.log(-2.0 + 0j)),
    )


WIDE, NARROW = np.array([1.1, 2.3, 0.7]), np.array([1.5, 0.7, 0.3], np.float32)
OF_TWO = {
    "a / b": lambda a, b: a / b,
    "b / a": lambda a, b: b / a,
    "a ** b": lambda a, b: a**b,
    "b ** a": lambda a, b: b**a,
    "hypot": np.hypot,
    "arctan2": np.arctan2,
    "logaddexp": np.logaddexp,
}
SHAPES = {"an array": lambda x: x, "a number": lambda x: x[0], "a column": lambda x: x[:, None]}


@pytest.mark.parametrize("narrow", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("wide", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("f", OF_TWO.values(), ids=OF_TWO)
def test_slopes_by_float64_beside_float32_have_all_digits(f, wide, narrow):
    a, b = wide(WIDE), narrow(NARROW)

    def loss(a, b):
        return np.sum(f(a, b))

    def squared(a, b):
        return np.sum(zyg.gradient(lambda a: loss(a * a, b), a)[0] ** 2)

    for slope in (
        lambda b: zyg.gradient(loss, a, b)[0],
        lambda b: zyg.gradient(lambda a: loss(a, b), a)[0],
        lambda b: zyg.pushforward(lambda a: loss(a, b), (a,), (a * 0 + 1,))[1],
        lambda b: zyg.gradient(lambda a: squared(a, b), a)[0],
    ):
        np.testing.assert_allclose(slope(b), slope(b.astype(np.float64)), rtol=1e-14)
