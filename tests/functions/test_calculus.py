"""Differences, interpolation and sequences: kinks, edges, refusals, arguments that hide."""

import numpy as np
import pytest

import zyg

from ..calls.calls import A, V, array

KNOTS, HEIGHTS = np.array([0.0, 1.0, 3.0]), np.array([2.0, 5.0, 1.0])


@pytest.mark.parametrize(
    ("x", "slope"), [(-0.1, 0), (0.0, 3), (0.5, 3), (1.0, -2), (2.0, -2), (3.0, -2), (3.1, 0)]
)
def test_interpolation_has_the_slope_to_the_right_of_a_knot(x, slope):
    d, d_knots, d_heights = zyg.gradient(np.interp, x, KNOTS, HEIGHTS)

    assert d == slope
    assert np.sum(d_knots) == -slope
    assert np.sum(d_heights) == 1


def test_values_beside_the_knots_are_differentiated():
    points = np.array([-1.0, 0.5, 4.0, 5.0])

    def outside(left, right):
        return np.sum(np.interp(points, KNOTS, HEIGHTS * left, left=left, right=right))

    zyg.check_gradient(outside, 0.7, 0.9)
    d = zyg.gradient(lambda y, c: np.sum(np.interp(points, KNOTS, y, c, c)), HEIGHTS, 0.7)
    np.testing.assert_array_equal(d[0], [0.5, 0.5, 0.0])
    assert d[1] == 3


def test_the_period_of_interpolation_is_differentiated():
    zyg.check_gradient(
        lambda x, p: np.interp(x, KNOTS, HEIGHTS, period=p), np.array([-1.1, 0.4, 7.2]), 4.3
    )


def test_knots_that_coincide_give_no_infinite_slope():
    d = zyg.gradient(np.interp, 1.0, np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0, 4.0]))

    assert all(np.all(np.isfinite(c)) for c in d)


def test_ends_of_differences_are_differentiated():
    zyg.check_gradient(lambda x, c: np.ediff1d(x, c, [c, 2.0]), V, 0.7)
    zyg.check_gradient(lambda x, c: np.diff(x, prepend=c, append=[[c], [1], [2]]), A, 0.7)


def test_equal_distances_each_have_a_derivative_of_their_own():
    """np.gradient takes a shorter way through equal distances, with one distance for all."""
    places, bent = np.arange(5.0), np.arange(5.0) + [0, 1e-6, -1e-6, 2e-6, 0]
    for order in (1, 2):
        even, uneven = (
            zyg.pullback(lambda h: np.gradient(A[0, [0, 1, 2, 3, 0]], h, edge_order=order), h)[1](  # noqa: B023
                np.arange(5.0)
            )[0]
            for h in (places, bent)
        )
        np.testing.assert_allclose(even, uneven, atol=1e-3)


def test_the_trapezoid_rule_on_points_that_move():
    def integral(a, b):
        x = np.linspace(a, b, 201)
        return np.trapezoid(np.exp(x), x)

    d = zyg.gradient(integral, 0.3, 1.1)

    assert d == pytest.approx((-np.exp(0.3), np.exp(1.1)), rel=1e-4)


def test_trapezoids_of_a_plain_list_over_watched_points():
    zyg.check_gradient(lambda x: np.trapezoid([1, 2, 4, 3], x), V)


def test_unwrapped_phases_keep_the_slope_of_the_phases():
    x = np.array([0.0, 2.0, 4.0, -3.0, -1.0, 3.0])
    y, back = zyg.pullback(np.unwrap, x)

    np.testing.assert_array_equal(y, np.unwrap(x))
    np.testing.assert_array_equal(back(np.arange(6.0))[0], np.arange(6.0))
    zyg.check_gradient(lambda x, p: np.unwrap(x, period=p), x, 5.1)


def test_a_sequence_of_integers_has_slope_zero():
    assert zyg.gradient(lambda x: np.sum(np.linspace(x, 9, 4, dtype=int)), 0.5) == (0.0,)


def test_sequences_whose_ends_are_lists():
    zyg.check_gradient(lambda x: np.linspace(x, [x, 2 * x, 3], 4), 0.7)
    zyg.check_gradient(lambda x: np.geomspace(x, [x + 1, 2 * x, 3], 4), 0.7)
    zyg.check_gradient(lambda x, b: np.logspace(0, x, 4, base=b), 0.7, 2.3)


def test_a_geometric_sequence_of_complex_numbers():
    zyg.check_gradient(lambda a, b: np.geomspace(a, b, 5), 1.0 + 0.5j, -0.3 + 2.0j)
    zyg.check_gradient(lambda a, b: np.geomspace(a, b, 5), 1.0, 8.0j)


def test_steps_between_numbers_are_differentiated():
    for endpoint in (True, False):
        zyg.check_gradient(
            lambda a, b: np.linspace(a, b, 5, endpoint, retstep=True),  # noqa: B023
            0.7,
            array(2),
        )
