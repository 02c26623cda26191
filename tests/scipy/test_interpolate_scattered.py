"""Values at scattered points: radial functions, triangles, neighbours, griddata."""

import numpy as np
import pytest
import scipy.interpolate
from scipy.spatial import Delaunay

import zyg
from zyg.errors import MissingRuleError
from zyg.scipy import interpolate

from ..calls.formulas_interpolation import IN_C
from .test_interpolate import X, Y, check

CHANCE = np.random.default_rng(3)
SPOTS, HEIGHTS = CHANCE.uniform(size=(9, 2)), CHANCE.normal(size=9)
INSIDE = CHANCE.uniform(0.2, 0.8, size=(5, 2))
AT = np.concatenate([INSIDE, [[3.0, 3.0]]])
KERNELS = (
    "linear", "thin_plate_spline", "cubic", "quintic", "multiquadric", "inverse_multiquadric",
    "inverse_quadratic", "gaussian",
)  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
def test_radial_functions(kernel):
    def f(m, y, d, x, epsilon, smoothing):
        d = np.stack([d, d * d], axis=1)
        return m.RBFInterpolator(y, d, None, smoothing, kernel, epsilon, degree=2)(x)

    check(f, SPOTS, HEIGHTS, INSIDE, 1.3, 0.2, order=1, close=1e-7)

    def of_points(m, x):
        return m.RBFInterpolator(SPOTS, HEIGHTS, kernel=kernel, epsilon=1.3)(x)

    check(of_points, INSIDE)


def test_complex_values_of_radial_functions():
    check(lambda m, d: np.abs(m.RBFInterpolator(SPOTS, d * (1 + 2j))(INSIDE)), HEIGHTS, order=1)
    check(lambda m, x: np.abs(m.RBFInterpolator(SPOTS, HEIGHTS * (1 + 2j))(x)), INSIDE, order=1)


@pytest.mark.parametrize("rescale", [False, True])
def test_triangles_and_neighbours(rescale):
    def linear(m, y, d, x, fill):
        return np.sin(m.LinearNDInterpolator(y, d, fill, rescale)(x))

    def nearest(m, y, d, x):
        return np.sin(m.NearestNDInterpolator(y, np.stack([d, d * d], 1), rescale)(x))

    def of_points(m, u, v):
        return m.LinearNDInterpolator(SPOTS, HEIGHTS, 2.0, rescale)(u, v)

    check(linear, SPOTS, HEIGHTS, AT, 0.3)
    check(nearest, SPOTS, HEIGHTS, AT, order=1)
    check(of_points, *AT.T, order=1)


def test_a_given_triangulation():
    def f(m, d, x):
        return m.LinearNDInterpolator(Delaunay(SPOTS), d, 1.0)(x)

    check(f, HEIGHTS, AT)


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_griddata(method):
    def f(m, y, d, x):
        return m.griddata(y, d, x, method, 2.0)

    check(f, SPOTS, HEIGHTS, AT, order=1)
    check(lambda m, u, v: m.griddata(SPOTS, HEIGHTS, (u, v), method, 2.0), *AT.T, order=1)
    check(lambda m, y, d: m.griddata(y, d, INSIDE[:, 0] + 0.5, method), X[::-1].copy(), Y, order=1)


@pytest.mark.skipif(not IN_C, reason="SciPy has it since 1.18")
def test_the_border_of_a_triangle_is_as_wide_as_asked_for():
    """Points that far outside are outside, or on the border, as SciPy has it."""
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    at = np.stack([np.linspace(0.2, 0.8, 12), -np.geomspace(1e-15, 1e-9, 12)], axis=1)
    for wide in (0.1, 1.0, 1e3):

        def f(m, d, x, wide=wide):
            return m.griddata(corners, d, x, "linear", 2.0, simplex_tolerance=wide)

        expected = f(scipy.interpolate, HEIGHTS[:4], at)
        assert 0 < np.sum(expected == 2.0) < 12
        y, back = zyg.pullback(lambda *given: f(interpolate, *given), HEIGHTS[:4], at)
        np.testing.assert_allclose(y, expected, rtol=1e-12)
        assert np.array_equal(back(np.ones(12))[1][:, 0] == 0, expected == 2.0)
    with pytest.raises(ValueError, match="positive"):
        zyg.pullback(lambda d: f(interpolate, d, at, 0.0), HEIGHTS[:4])


def test_pchip_interpolate():
    at = np.array([0.2, 0.93, 2.6])
    check(lambda m, x, y: m.pchip_interpolate(x, y, at, 1), X, Y, order=1)
    check(lambda m, x: m.pchip_interpolate(X, Y, x, [0, 1])[1], at, order=1)


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (lambda d: interpolate.griddata(SPOTS, d, AT, "cubic"), "cubic"),
        (lambda d: interpolate.RBFInterpolator(SPOTS, d, neighbors=3), "neighbors"),
        (
            lambda d: interpolate.RBFInterpolator(SPOTS, HEIGHTS, neighbors=3)(d[:, None] * AT[0]),
            "neighbors",
        ),
        (
            lambda d: interpolate.NearestNDInterpolator(SPOTS, d)(AT, distance_upper_bound=0.1),
            "distance_upper_bound",
        ),
        (lambda d: interpolate.CloughTocher2DInterpolator(SPOTS, d), "CloughTocher"),
    ],
)
def test_what_has_no_rule_is_refused(f, what):
    with pytest.raises(MissingRuleError, match=what):
        zyg.pullback(f, HEIGHTS)
