"""What is compared with differences can be found wrong: beside kinks and ends, and at kinks."""

import numpy as np
import pytest

from .compare import Wrong, quietly
from .slopes import by_differences

X, ALONG = [np.array([0.0, 1.0, -2.0])], [np.array([1.0, 0.5, -1.0])]


def compared(f, slopes, at=X, along=ALONG):
    """By differences, where a function has these slopes by its element."""
    return quietly(by_differences, f, at, lambda w: [slopes * w[0]], along)


@pytest.mark.parametrize("slope", [-1.0, 0.0, 0.3, 1.0])
def test_a_slope_at_a_kink_lies_between_the_sides(slope):
    assert compared(np.abs, np.array([slope, 1.0, -1.0])) == "between the sides of a kink"


@pytest.mark.parametrize("slope", [-1.1, 1.1, 2.0, np.inf, np.nan])
def test_other_slopes_are_wrong(slope):
    with pytest.raises(Wrong):
        compared(np.abs, np.array([slope, 1.0, -1.0]))
    with pytest.raises(Wrong):
        compared(np.abs, np.array([0.0, slope, -1.0]))


def test_what_is_smooth_is_compared_beside_jumps_poles_and_ends():
    def f(x):
        return np.stack([np.floor(x[0]), 1 / x[0], np.sqrt(x[0]), x[1] ** 2, x[2] ** 3])

    def back(wrong):
        return lambda w: [np.array([0.0, 2.0 * w[0][3], (12.0 + wrong) * w[0][4]])]

    assert by_differences(f, X, back(0.0), ALONG) == "some of the outputs"
    with pytest.raises(Wrong):
        by_differences(f, X, back(1e-3), ALONG)


def test_numbers_that_are_not_finite_do_not_hide_the_others():
    x = [np.array([np.nan, 1.0, np.inf])]
    assert compared(np.square, np.array([np.nan, 2.0, np.inf]), x) == "some of the outputs"
    with pytest.raises(Wrong):
        compared(np.square, np.array([np.nan, 2.1, np.inf]), x)


def test_any_of_those_alike_may_be_the_median():
    x, along = [np.ones(3)], [np.array([1.0, 2.0, 5.0])]  # which has the slope 2 on both sides

    def back(slope):
        return lambda w: [slope * w[0]]

    for unit in np.eye(3):
        by_differences(np.median, x, back(unit), along)
    with pytest.raises(Wrong):
        by_differences(np.median, x, back(np.array([0.0, 0.0, 1.3])), along)
