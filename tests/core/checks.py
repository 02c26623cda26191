"""What must hold of a program that writes into arrays, and the points to check it at."""

import numpy as np
import pytest

import zyg

LINE = np.array([0.3, -1.2, 0.8, 1.7, -0.6, 2.1])
TABLE = np.array([[0.3, -1.2, 0.8, 1.4], [-0.6, 1.1, 0.5, -0.9], [0.7, -0.4, 1.3, 0.2]])
SQUARE = np.vstack([TABLE, [[-0.8, 0.9, 0.1, 1.2]]])


def loss(y):
    """A number to which each element of y contributes in its own way."""
    return np.sum(np.sin(y) * np.linspace(1.0, 2.0, y.size).reshape(y.shape))


def differences(f, x, h=1e-6):
    """Central differences of f along each element of x; f may write into what it is given."""
    slope = np.zeros(np.shape(f(x.copy())) + x.shape)
    for k in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[k] = h
        right, left = (np.asarray(f(np.asarray(x + side * step))) for side in (1, -1))
        slope[(..., *k)] = (right - left) / (2 * h)
    return slope


def check(f, x, order=2):
    """All that is promised of a program that writes."""
    found = x.copy()
    y, back = zyg.pullback(f, x)
    first = back(1.0, zeros=True)[0]

    np.testing.assert_array_equal(y, f(x.copy()), strict=True)
    np.testing.assert_array_equal(x, found)
    np.testing.assert_array_equal(back(1.0, zeros=True)[0], first, strict=True)
    np.testing.assert_array_equal(zyg.gradient(f, x, zeros=True)[0], first, strict=True)
    np.testing.assert_array_equal(x, found)
    assert first.shape == x.shape
    assert first.dtype == x.dtype
    np.testing.assert_allclose(first, differences(f, x), rtol=1e-6, atol=1e-7)
    direction = np.cos(np.arange(x.size)).reshape(x.shape)
    check_forward(f, x, direction, first)
    for _ in range(order - 1):
        lower, f = f, slope_along(f, direction)
        slope = zyg.gradient(f, x, zeros=True)[0]
        np.testing.assert_allclose(slope, differences(f, x), rtol=1e-6, atol=1e-7)
        check_forward(f, x, direction, slope)
        check_forward(slope_forward(lower, direction), x, direction, slope)
        other = zyg.gradient(slope_forward(lower, direction), x, zeros=True)[0]
        np.testing.assert_allclose(other, slope, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(x, found)


def check_forward(f, x, direction, first):
    """The derivative of f in forward mode, along one direction and along all, is `first`."""
    given = direction.copy()
    y, y_dot = zyg.pushforward(f, (x,), (given,))
    np.testing.assert_array_equal(y, zyg.pullback(f, x)[0], strict=True)
    np.testing.assert_array_equal(given, direction)
    np.testing.assert_allclose(y_dot, np.sum(first * direction), rtol=1e-9, atol=1e-9)
    columns = zyg.jacobian(f, x, mode="forward")[0]
    np.testing.assert_allclose(columns, first, rtol=1e-9, atol=1e-9)


def slope_along(f, direction):
    return lambda x: np.sum(zyg.gradient(f, x, zeros=True)[0] * direction)


def slope_forward(f, direction):
    return lambda x: zyg.pushforward(f, (x,), (direction,))[1]


def same_error(f, x):
    """f raises the same on a watched array as on a plain one."""
    with pytest.raises(Exception) as plain:  # noqa: PT011 - whatever NumPy says
        f(x.copy())
    with pytest.raises(type(plain.value)) as watched:
        zyg.gradient(f, x)

    assert str(watched.value) == str(plain.value)
    assert type(watched.value) is type(plain.value)
